"""Draws docs/interventions.svg, the picture of the residual stream in docs/interventions.md.

    python3 docs/interventions.py        # needs nothing but Python
"""

from pathlib import Path

from layout import Picture, write

WIDTH, HEIGHT = 900, 364
STREAM = 234


def line(picture: Picture, points: list[tuple[float, float]], marked: bool = False) -> None:
    """An arrow along the points, up or down at its end."""
    path = " ".join(f"{x},{y}" for x, y in points)
    kind, width = ("mark", 2.5) if marked else ("line", 1.5)
    picture.parts.append(f'<polyline class="{kind}" fill="none" stroke-width="{width}" points="{path}"/>')
    (x, y), before = points[-1], points[-2][1]
    back = 8 if before > y else -8
    tip = f"{x},{y} {x - 4.5},{y + back} {x + 4.5},{y + back}"
    picture.parts.append(f'<polygon class="{"tip" if marked else "soft"}" points="{tip}"/>')


def box(picture: Picture, x: float, y: float, width: float, words: str, kind: str = "cell") -> None:
    picture.rect(x, y, width, 30, kind)
    picture.text(x + width / 2, y + 20, words, size=13, anchor="middle")


def number(picture: Picture, x: float, y: float, which: int) -> None:
    """The place of an intervention."""
    picture.parts.append(f'<circle class="now mark" cx="{x}" cy="{y}" r="11" stroke-width="2"/>')
    picture.text(x, y + 5, str(which), size=13, anchor="middle", bold=True)


def layer(picture: Picture, x: float, index: int) -> None:
    """A layer above the stream: it reads queries, keys and values, and its head writes."""
    picture.text(x, 24, f"layers.{index}.heads.0", size=14, bold=True)
    box(picture, x, 38, 110, "pattern", "one")
    box(picture, x + 126, 38, 100, "mixes values")
    for reader, at in (("queries", 24), ("keys", 84), ("values", 142)):
        line(picture, [(x + at, STREAM), (x + at, 70)])
        picture.text(x + at + 5, 194, reader, "soft", 13)
    line(picture, [(x + 196, 68), (x + 196, STREAM - 2)])
    picture.text(x + 202, 122, "writes", "soft", 13)


def main() -> None:
    picture = Picture()
    picture.rect(24, STREAM, 852, 26, "done")
    picture.text(36, STREAM + 18, "the residual stream: the sum of what is written", size=13)
    box(picture, 24, 148, 76, "embed")
    line(picture, [(62, 178), (62, STREAM - 2)])
    layer(picture, 150, 0)
    layer(picture, 480, 1)
    box(picture, 800, 148, 76, "logits")
    line(picture, [(838, STREAM), (838, 180)])
    number(picture, 250, 38, 1)
    number(picture, 346, 158, 2)
    # The path from the first layer's head to the second layer's keys alone.
    line(picture, [(346, STREAM + 13), (564, STREAM + 13), (564, 70)], marked=True)
    number(picture, 564, 140, 3)
    words = [
        "on a pattern: clamp at layers.0",
        "on what a part writes, for all that read it: ablate at layers.0.heads.0",
        "on one arrow from a source to a reader: ablate at layers.0.heads.0 to layers.1.keys",
    ]
    for index, text in enumerate(words):
        y = 294 + 27 * index
        number(picture, 36, y - 5, index + 1)
        picture.text(56, y, text, size=13)
    label = (
        "Sources write to the residual stream and readers read from it; an intervention sits on an attention "
        "pattern, on what a source writes, or on the path from a source to one reader"
    )
    write(picture, (WIDTH, HEIGHT), label, Path(__file__).with_suffix(".svg"))


if __name__ == "__main__":
    main()
