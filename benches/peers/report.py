"""What a comparison leaves: a table in docs/performance.md, the raw numbers, and for the main one a figure."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

FAILED = "failed"


@dataclass(frozen=True)
class Place:
    """Where a comparison's results go."""

    name: str
    """Of the files, and in the markers around the table"""
    figure: bool = True
    best: bool = False
    """Whether the table is followed by ratios of fastest rounds"""

    @property
    def markers(self) -> tuple[str, str]:
        return f"<!-- {self.name}:begin -->", f"<!-- {self.name}:end -->"


MAIN = Place("peers")
INTERVENTIONS = Place("peers-interventions", figure=False, best=True)
RECURRENT = Place("peers-recurrent", figure=False, best=True)


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from."""

    command: str
    cpu: str
    cores: int
    threads: int
    rounds: int
    seconds: float
    busy: float | None
    """Share of the machine that others used while nothing was timed, at most over the rounds; None where unknown."""
    versions: dict[str, str]


@dataclass(frozen=True)
class Spread:
    """Median and range over rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def text(self, unit: str = "") -> str:
        return f"{number(self.median)}{unit} ({number(self.low)}–{number(self.high)})"


@dataclass(frozen=True)
class Row:
    """One setting: milliseconds a step in every round, of those that did not fail."""

    setting: str
    ours: list[float]
    """Empty if Induct failed: then no peer is in the row either."""
    ours_one_thread: list[float]
    peers: dict[str, list[float]]
    forms: dict[str, list[str]]
    """The form in which each peer ran fastest, in every round."""
    agreement: dict[str, str]
    failures: dict[str, str]
    """What was said by those that failed."""

    def why_not(self, peer: str) -> str:
        """Why a peer has no numbers."""
        return FAILED if peer in self.failures else "not timed"

    def ratio(self, peer: str) -> Spread:
        """How many times longer the peer takes, round by round."""
        return Spread.of([theirs / ours for theirs, ours in zip(self.peers[peer], self.ours, strict=True)])

    def best_ratio(self, peer: str) -> float:
        """The peer's fastest round against Induct's fastest."""
        return min(self.peers[peer]) / min(self.ours)

    def scaling(self) -> Spread:
        """How many times longer one thread takes."""
        return Spread.of([one / all_ for one, all_ in zip(self.ours_one_thread, self.ours, strict=True)])


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    digits = max(0, 2 - math.floor(math.log10(value)))
    return f"{value:.{digits}f}"


def replace_file(path: Path, text: str) -> None:
    """Writes under a temporary name first: a reader never sees half a file."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def write(
    docs: Path, peers: Sequence[str], rows: Sequence[Row], provenance: Provenance, place: Place = MAIN
) -> list[Path]:
    """Writes all of it; the paths."""
    docs.mkdir(exist_ok=True)
    page, figure, raw = docs / "performance.md", docs / f"{place.name}.svg", docs / f"{place.name}.json"
    entries = [entry(row, place) for row in rows]
    replace_file(raw, json.dumps({**asdict(provenance), "settings": entries}, indent=2) + "\n")
    if place.figure:
        replace_file(figure, svg(peers, rows))
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    replace_file(page, with_section(before, section(peers, rows, provenance, place), place))
    return [page, figure, raw] if place.figure else [page, raw]


def entry(row: Row, place: Place) -> dict[str, object]:
    ratios: dict[str, object] = {"ratios": {peer: asdict(row.ratio(peer)) for peer in row.peers}}
    if place.best:
        ratios["best_ratios"] = {peer: row.best_ratio(peer) for peer in row.peers}
    return {**asdict(row), **ratios, "scaling": asdict(row.scaling()) if row.ours else None}


# --- the table ---


def with_section(page: str, text: str, place: Place) -> str:
    """The page with the text between the two markers; everything else stays as it is."""
    first, last = place.markers
    if not page:
        page = f"# Performance\n\n{first}\n{last}\n"
    begin, end = page.find(first), page.find(last)
    if begin < 0 or end < begin:
        page = page.rstrip("\n") + f"\n\n{first}\n{last}\n"
        begin, end = page.find(first), page.find(last)
    return page[: begin + len(first)] + "\n" + text + page[end:]


def section(peers: Sequence[str], rows: Sequence[Row], provenance: Provenance, place: Place) -> str:
    head = ["setting", "Induct", "Induct, 1 thread"]
    head += [column for peer in peers for column in (peer, f"{peer} / Induct")]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for row in rows:
        cells = [row.setting]
        cells += [Spread.of(times).text() if times else FAILED for times in (row.ours, row.ours_one_thread)]
        for peer in peers:
            if peer in row.peers:
                cells += [f"{Spread.of(row.peers[peer]).text()}{form_note(row, peer)}", row.ratio(peer).text("×")]
            else:
                cells += [row.why_not(peer), "–"]
        lines.append("| " + " | ".join(cells) + " |")
    versions = ", ".join(f"{name} {version}" for name, version in provenance.versions.items())
    others = "" if provenance.busy is None else f", other programs using at most {provenance.busy:.0%} of the machine"
    return "\n".join(
        [
            "Milliseconds per training step, sampling of fresh chains included: median over rounds (smallest–largest).",
            "A ratio is the median over rounds of the ratio within a round, so that what slows the machine down slows both.",
            "Before timing, each peer has reproduced Induct's predictions, and the losses and weights of its first steps.",
            "",
            *lines,
            "",
            *([f"![How many times longer each peer takes than Induct]({place.name}.svg)", ""] if place.figure else []),
            *([best_note(rows), ""] if place.best else []),
            f"`{provenance.command}` on {provenance.cpu}, {provenance.cores} cores; {provenance.threads} threads each,",
            f"{provenance.rounds} rounds of {provenance.seconds:g} s{others}; {versions}.",
            f"All numbers: [{place.name}.json]({place.name}.json).",
            "",
        ]
    )


def best_note(rows: Sequence[Row]) -> str:
    """Ratios of fastest rounds."""
    texts = [
        f"`{row.setting}` " + ", ".join(f"{peer} {number(row.best_ratio(peer))}×" for peer in row.peers)
        for row in rows
        if row.peers
    ]
    return f"The fastest round of each against Induct's fastest: {'; '.join(texts)}."


def form_note(row: Row, peer: str) -> str:
    """Which form was fastest; several, where rounds differ."""
    return " " + " or ".join(sorted(set(row.forms[peer])))


# --- the figure ---

WIDTH, LEFT, RIGHT, TOP, LINE, GROUP_GAP = 800, 200, 150, 64, 18, 12
COLOURS = {"jax": ("#0b7285", "#4fc3d9"), "torch": ("#c2410c", "#fb923c")}
"""Each peer's colour on light and on dark ground."""


def svg(peers: Sequence[str], rows: Sequence[Row]) -> str:
    """A dot a setting and peer at the median ratio, a line from the smallest to the largest."""
    ratios = {(row.setting, peer): row.ratio(peer) for row in rows for peer in row.peers}
    low = min([1.0, *(spread.low for spread in ratios.values())])
    high = max([2.0, *(spread.high for spread in ratios.values())])
    plot_width = WIDTH - LEFT - RIGHT

    def x(ratio: float) -> float:
        return LEFT + plot_width * math.log(ratio / low) / math.log(high / low)

    group = LINE * len(peers) + GROUP_GAP
    bottom = TOP + group * len(rows) - GROUP_GAP / 2
    parts = [
        f'<text class="title" x="{LEFT}" y="24">How many times longer a training step takes than in Induct</text>',
        f'<text class="faint" x="{LEFT}" y="44">dot: median of rounds; line: smallest to largest; log scale</text>',
    ]
    for tick in ticks(low, high):
        heavy = " one" if tick == 1 else ""
        parts.append(f'<line class="grid{heavy}" x1="{x(tick):.1f}" y1="{TOP - 8}" x2="{x(tick):.1f}" y2="{bottom}"/>')
        parts.append(f'<text class="faint" text-anchor="middle" x="{x(tick):.1f}" y="{bottom + 18}">{tick:g}×</text>')
    for row_index, row in enumerate(rows):
        top = TOP + group * row_index
        middle = top + LINE * len(peers) / 2 + 4
        if row_index % 2:
            parts.append(f'<rect class="band" x="0" y="{top - GROUP_GAP / 2:g}" width="{WIDTH}" height="{group}"/>')
        parts.append(f'<text text-anchor="end" x="{LEFT - 14}" y="{middle:.1f}">{escape(row.setting)}</text>')
        for peer_index, peer in enumerate(peers):
            y = top + LINE * (peer_index + 0.5)
            if peer not in row.peers:
                parts.append(f'<text class="{peer}" x="{x(1) + 8:.1f}" y="{y + 4:.1f}">{peer} {row.why_not(peer)}</text>')
                continue
            spread = ratios[row.setting, peer]
            start, dot, end = x(spread.low), x(spread.median), x(spread.high)
            parts.append(f'<line class="spread {peer}" x1="{start:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<circle class="{peer}" cx="{dot:.1f}" cy="{y:.1f}" r="5"/>')
            label = f"{number(spread.median)}× {peer}"
            parts.append(f'<text class="{peer}" x="{max(end, dot + 5) + 8:.1f}" y="{y + 4:.1f}">{label}</text>')
    return document(parts, bottom + 34, peers)


def document(parts: Sequence[str], height: float, peers: Sequence[str]) -> str:
    light, dark = ("".join(coloured(peer, COLOURS[peer][ground]) for peer in peers) for ground in (0, 1))
    style = (
        "text{font:13px system-ui,sans-serif;fill:#1f2328}text.title{font-weight:600}text.faint{fill:#59636e;font-size:12px}"
        ".band{fill:#59636e;fill-opacity:.07}.grid{stroke:#d1d9e0}.grid.one{stroke:#59636e}.spread{stroke-width:2}"
        f"{light}"
        "@media (prefers-color-scheme:dark){text{fill:#e6edf3}text.faint{fill:#9198a1}.grid{stroke:#3d444d}"
        f".grid.one{{stroke:#9198a1}}{dark}}}"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
            'aria-label="How many times longer a training step takes in each peer than in Induct">',
            f"<style>{style}</style>",
            *parts,
            "</svg>",
            "",
        ]
    )


def coloured(peer: str, colour: str) -> str:
    """Style of one peer's marks."""
    return f"text.{peer},circle.{peer}{{fill:{colour}}}line.{peer}{{stroke:{colour}}}"


def ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... within the range, thinned to powers of ten where there would be many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    inside = [tick for tick in fine if low <= tick <= high]
    return inside if len(inside) <= 8 else [tick for tick in inside if math.log10(tick).is_integer()]
