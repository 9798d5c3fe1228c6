"""Draws docs/layout.svg, the picture of the data layout in docs/performance.md.

    python3 docs/layout.py        # needs nothing but Python

The colours follow the reader's light or dark setting.
"""

from pathlib import Path

WIDTH, HEIGHT = 900, 616
CELL = 26

LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#b6bec8", "cell": "#f2f4f7",
    "one": "#c9defa", "mark": "#1f6feb", "done": "#d7e8d4", "now": "#ffdfa6", "free": "#f2f4f7",
}
DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "line": "#4a535e", "cell": "#1b222b",
    "one": "#234a7d", "mark": "#6cb0ff", "done": "#25492b", "now": "#7a5512", "free": "#1b222b",
}

# Eight sequences of six symbols, column by column.
SYMBOLS = ["011010", "100110", "010001", "110100", "001011", "101101", "011100", "100010"]


def style(colours: dict[str, str]) -> str:
    filled = ("paper", "ink", "soft", "cell", "one", "done", "now", "free")
    fills = [f".{name}{{fill:{colours[name]}}}" for name in filled]
    line, mark = colours["line"], colours["mark"]
    return "".join(fills) + f".line{{stroke:{line}}}.mark{{stroke:{mark}}}.tip{{fill:{mark}}}"


class Picture:
    def __init__(self) -> None:
        self.parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        place = f'x="{x}" y="{y}" width="{width}" height="{height}"'
        self.parts.append(f'<rect class="{kind} line" {place}/>')

    def outline(self, x: float, y: float, width: float, height: float) -> None:
        place = f'x="{x}" y="{y}" width="{width}" height="{height}"'
        self.parts.append(f'<rect class="mark" fill="none" {place} stroke-width="2.5" rx="3"/>')

    def text(
        self, x: float, y: float, words: str, kind: str = "ink", size: int = 14, anchor: str = "start",
        bold: bool = False,
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        place = f'x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"{weight}'
        self.parts.append(f'<text class="{kind}" {place}>{words}</text>')

    def arrow(self, x: float, y1: float, y2: float) -> None:
        """From the top to the bottom."""
        line = f'x1="{x}" y1="{y1}" x2="{x}" y2="{y2}"'
        self.parts.append(f'<line class="mark" {line} stroke-width="2"/>')
        tip = f"{x},{y2 + 3} {x - 5},{y2 - 6} {x + 5},{y2 - 6}"
        self.parts.append(f'<polygon class="tip" points="{tip}"/>')

    def title(self, x: float, y: float, number: int, words: str) -> None:
        self.text(x, y, f"{number}. {words}", size=16, bold=True)


def block(picture: Picture) -> None:
    """One block: a row is a position, a column a sequence, and a row is what a vector register holds."""
    left, top = 116, 76
    picture.title(24, 34, 1, "Lanes are sequences")
    picture.text(left + 4 * CELL, top - 8, "8 sequences", "soft", 13, "middle")
    for row in range(6):
        y = top + row * CELL
        name = f"position {row}" if row < 5 else "position t − 1"
        y += CELL * 0.5 if row == 5 else 0
        picture.text(left - 8, y + 18, name, "soft", 13, "end")
        for lane in range(8):
            symbol = SYMBOLS[lane][row]
            picture.rect(left + lane * CELL, y, CELL, CELL, "one" if symbol == "1" else "cell")
            picture.text(left + (lane + 0.5) * CELL, y + 18, symbol, size=13, anchor="middle")
    picture.text(left + 4 * CELL, top + 5 * CELL + 9, "⋮", "soft", 12, "middle")
    picture.outline(left - 2, top + 2 * CELL - 2, 8 * CELL + 4, CELL + 4)
    picture.text(24, 272, "One row is one vector: y of position 2 in eight", "ink", 13)
    picture.text(24, 290, "sequences. One instruction does all eight.", "ink", 13)


def batch(picture: Picture) -> None:
    """A batch: blocks, threads, and the order of the sum."""
    left, top = 488, 58
    picture.title(464, 34, 2, "A block of eight is the unit of work")
    for number in range(8):
        x = left + number * 46
        picture.rect(x, top, 36, 44, "one" if number % 2 == 0 else "done")
        picture.text(x + 18, top + 27, str(number), size=14, anchor="middle")
        picture.arrow(x + 18, top + 48, top + 86)
        picture.rect(x, top + 94, 36, 24, "cell")
        picture.text(x + 18, top + 111, f"g{number}", size=12, anchor="middle")
    picture.text(left, top + 146, "g0 + g1 + g2 + … + g7, always in this order", size=14)
    picture.text(464, 236, "A batch of 64 is 8 blocks. Whichever thread is free takes", "ink", 13)
    picture.text(464, 254, "the next one (two colours: two threads). Each block keeps", "ink", 13)
    picture.text(464, 272, "its gradient apart, and the sum has a fixed order: any", "ink", 13)
    picture.text(464, 290, "number of threads gives the same bytes.", "ink", 13)


def groups(picture: Picture) -> None:
    """The last layer: causal pairs, row groups one after the other."""
    left, top, size, rows = 84, 380, 9, 24
    picture.title(24, 344, 3, "The last layer goes by groups of rows")
    for group, kind in enumerate(["done", "now", "free"]):
        for row in range(group * 8, group * 8 + 8):
            picture.rect(left, top + row * size, (row + 1) * size, size, kind)
    picture.text(left, top - 8, "keys j →", "soft", 13)
    picture.text(left - 8, top + 14, "rows i", "soft", 13, "end")
    x = left + rows * size + 14
    for group, words in enumerate(["done: forgotten", "now: in the cache", "not begun"]):
        y = top + group * 8 * size + 30
        picture.text(x, y, words, size=13)
        if group == 1:
            picture.text(x, y + 18, "forward → loss", "soft", 13)
            picture.text(x, y + 34, "→ backward", "soft", 13)
    picture.text(464, 470, "A row’s logits depend on no later row, so a group is", "ink", 13)
    picture.text(464, 488, "finished before the next begins. Each exponential is", "ink", 13)
    picture.text(464, 506, "computed once; no t × t matrix exists.", "ink", 13)


def write(picture: Picture, size: tuple[int, int], label: str, path: Path) -> None:
    """Writes the picture as a page that follows the reader's colours."""
    width, height = size
    font = "Inter, system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"
    page = "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        f'  width="{width}" height="{height}" font-family="{font}" role="img"',
        f'  aria-label="{label}">',
        f"<style>{style(LIGHT)}@media (prefers-color-scheme:dark){{{style(DARK)}}}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        *picture.parts,
        "</svg>",
        "",
    ])
    path.write_text(page, encoding="utf-8")


def main() -> None:
    picture = Picture()
    for part in (block, batch, groups):
        part(picture)
    label = "How a batch lies in memory: eight sequences per vector, blocks, groups of rows"
    write(picture, (WIDTH, HEIGHT), label, Path(__file__).with_suffix(".svg"))


if __name__ == "__main__":
    main()
