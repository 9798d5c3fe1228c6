"""The live page, in a notebook and as a file."""

from __future__ import annotations

import base64
import webbrowser
from collections.abc import Callable
from functools import cached_property
from html import escape
from importlib import resources
from pathlib import Path

from ._errors import RunError

PAGE = "lab.html"
ZOOM = 0.65


class LabPage:
    """The laboratory's page with a run inside. A notebook shows it live; it also works as a file, offline."""

    def __init__(self, fill: Callable[[str], tuple[str, int]], height: int) -> None:
        self._fill = fill
        self._height = height

    @cached_property
    def html(self) -> str:
        """The whole page."""
        base = resources.files("induct").joinpath(PAGE)
        if not base.is_file():
            raise RunError("this build of the package has no page: `./wheel` in a clone of Induct makes one that has")
        page, _ = self._fill(base.read_text(encoding="utf-8"))
        return page

    def save(self, path: str | Path) -> Path:
        """Writes the page to a file, which any browser opens."""
        path = Path(path)
        path.write_text(self.html, encoding="utf-8")
        return path

    def open(self, path: str | Path = "lab-run.html") -> Path:
        """Writes the page to a file and opens it in the browser."""
        path = self.save(path)
        webbrowser.open(path.resolve().as_uri())
        return path

    def __repr__(self) -> str:
        return f"<LabPage: {len(self.html) / 1e6:.1f} MB; save('lab-run.html') writes it to a file>"

    def _repr_html_(self) -> str:
        # The page is larger than notebooks let an attribute be, and it needs an address of its own for its links: a
        # script makes one.
        page = base64.b64encode(self.html.encode()).decode()
        frame = (
            # Smaller than life, so that curves and attention find room beside each other.
            f'<iframe title="Induct" style="zoom:{ZOOM};width:100%;height:{int(self._height / ZOOM)}px;'
            'border:1px solid #8884;border-radius:6px"></iframe>'
        )
        script = (
            "(() => {"
            "const frame = document.currentScript.previousElementSibling;"
            f"const bytes = Uint8Array.from(atob('{page}'), (letter) => letter.charCodeAt(0));"
            "frame.src = URL.createObjectURL(new Blob([bytes], {type: 'text/html'}));"
            "})()"
        )
        return f"{frame}<script>{script}</script><noscript>{escape(repr(self))}</noscript>"
