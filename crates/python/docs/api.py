"""Writes docs/python-api.md from signatures and docstrings, without importing PyTorch or TransformerLens.

python api.py            writes the page
python api.py --check    fails if the page is not what it would write
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import induct

PACKAGE = Path(__file__).parents[1] / "python" / "induct"
PAGE = Path(__file__).parents[3] / "docs" / "python-api.md"
SECTIONS = {
    "_train": "Training", "_run": "Runs", "_model": "Models", "_recipe": "Recipes", "_sweep": "Sweeps",
    "_schema": "What recipes can say",
    "_parts": "Parts of your own", "_figure": "Figures", "_table": "Tables", "_lab": "The live page",
    "_reproduce": "Reproduction", "_errors": "Errors", "_induct": "Instructions and versions",
}  # fmt: skip
MODULES = {"theory": None, "pytorch": ["build", "weights_of", "Transformer", "Minimal"], "lens": ["bridge"]}
CONSTANTS = {"__version__": "The package's version.", "numerics": "Goes up whenever the bits of any result change."}


def tree(file: str) -> ast.Module:
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


def block(found: re.Match[str]) -> str:
    """An indented block, fenced."""
    text = inspect.cleandoc(found[2])
    try:
        language = "python" if ast.parse(text) else ""
    except SyntaxError:
        language = "text"
    return f"{found[1]}\n\n```{language}\n{text}\n```\n\n"


def markdown(text: str | None) -> str:
    """A docstring, whose markup is that of Sphinx, as Markdown."""
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", inspect.cleandoc(text or "")).replace("``", "`")
    if re.search(r"^(Args|Raises):$", text, flags=re.M):
        text = re.sub(r"^(Args|Raises):$", r"**\1**\n", text, flags=re.M)
        text = re.sub(r"^    (\w+): ", r"- `\1`: ", text, flags=re.M)
        text = re.sub(r"^        (?=\S)", "  ", text, flags=re.M)
    return re.sub(r"(:?):?\n\n((?:    .*\n?|\n)+)", block, text).strip()


def signature(function: ast.FunctionDef, owner: str | None = None) -> str:
    arguments = re.sub(r"(: [^=]*)=", r"\1 = ", ast.unparse(function.args))
    if owner is not None:
        arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    if function.name == "__init__":
        return f"{owner}({arguments})"
    return f"{function.name}({arguments}){returns}"


def fenced(line: str) -> str:
    """A signature; one argument per line if it is long."""
    if len(line) > 100:
        head, _, rest = line.partition("(")
        arguments, _, returns = rest.rpartition(")")
        arguments = re.sub(r", (?=\*|/|\w+: )", ",\n    ", arguments)
        line = f"{head}(\n    {arguments},\n){returns}"
    return f"```python\n{line}\n```\n"


def entry(title: str, text: str | None) -> str:
    lines = markdown(text).replace("\n", "\n  ")
    return re.sub(r" +$", "", f"- **`{title}`**{': ' if lines else ''}{lines}", flags=re.M)


def fields(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Fields of a dataclass, or what a constructor sets and a docstring follows."""
    for statement, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        kind = f": {ast.unparse(statement.annotation)}" if isinstance(statement, ast.AnnAssign) else ""
        target = ast.unparse(statement.targets[0] if isinstance(statement, ast.Assign) else statement.target)
        said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if target.startswith(prefix) and target.removeprefix(prefix)[0] != "_" and (said or (kind and not prefix)):
            yield entry(target.removeprefix(prefix) + kind, ast.literal_eval(after.value) if said else "")  # type: ignore[attr-defined]


def members(owner: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> Iterator[str]:
    for base in owner.bases:
        name = ast.unparse(base).partition("[")[0]
        if name.startswith("_"):
            yield from members(classes[name], classes)
    yield from fields(owner.body)
    for function in (part for part in owner.body if isinstance(part, ast.FunctionDef)):
        if function.name == "__init__":
            yield from fields(function.body, "self.")
        elif not function.name.startswith("_"):
            of_class = any("property" in ast.unparse(decorator) for decorator in function.decorator_list)
            title = signature(function, owner.name)
            yield entry(title.replace("() -> ", ": ") if of_class else title, ast.get_docstring(function))


def definitions(file: str, names: list[str] | None, prefix: str = "induct.") -> Iterator[str]:
    """The given definitions of a file, in its own order; all public ones if none are given."""
    body = tree(file).body
    classes = {found.name: found for found in body if isinstance(found, ast.ClassDef)}
    for found in (part for part in body if isinstance(part, ast.FunctionDef | ast.ClassDef)):
        public = not found.name.startswith("_") if names is None else found.name in names
        if not public or any(ast.unparse(decorator) == "overload" for decorator in found.decorator_list):
            continue
        text = getattr(induct, found.name).__doc__ if file.endswith(".pyi") else ast.get_docstring(found)
        yield f"### {prefix}{found.name}\n"
        if isinstance(found, ast.FunctionDef):
            yield fenced(signature(found))
        elif found.name == "Recipe":
            yield from (fenced(signature(of, "Recipe")) for of in found.body if getattr(of, "name", "") == "__init__")  # type: ignore[arg-type]
        yield f"{markdown(text)}\n"
        if isinstance(found, ast.ClassDef) and (listed := list(members(found, classes))):
            yield "\n".join([*listed, ""])


def wrapped(text: str) -> str:
    """Paragraphs and entries of lists with lines of at most 110 characters; fenced code as it is."""
    parts: list[str] = []
    code = False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        begins = code or fence or not line or re.match(r" *[-#|]", line)
        if begins or not parts or not parts[-1] or parts[-1].lstrip().startswith(("#", "|", "```")):
            parts.append(line)
        else:
            parts[-1] += f" {line.lstrip()}"
        code ^= fence
    return "\n".join(part if (code := code ^ part.lstrip().startswith("```")) else fill(part) for part in parts)


def fill(part: str) -> str:
    indent = re.match(r" *(- )?", part)[0]  # type: ignore[index]
    hanging = " " * len(indent)
    return textwrap.fill(part, 110, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def page() -> str:
    parts = [
        "# Reference\n",
        "Written by `python crates/python/docs/api.py`. [Induct in Python](python.md) has examples.\n",
    ]
    origins = {alias.asname or alias.name: node.module for node in tree("__init__.py").body
               if isinstance(node, ast.ImportFrom) for alias in node.names}  # fmt: skip
    public = [name for name in induct.__all__ if name not in MODULES and name not in CONSTANTS]
    for module, title in SECTIONS.items():
        file = f"{module}.pyi" if module == "_induct" else f"{module}.py"
        parts += [f"## {title}\n", *definitions(file, [name for name in public if origins[name] == module])]
    parts += [f"### induct.{name}\n\n{text}\n" for name, text in CONSTANTS.items()]
    for module, names in MODULES.items():
        # A package's definitions are in its files.
        files = sorted((PACKAGE / module).glob("*.py")) or [PACKAGE / f"{module}.py"]
        about = markdown(ast.get_docstring(tree(str(files[0].relative_to(PACKAGE)))))
        parts += [f"## induct.{module}\n", f"{about}\n"]
        for path in files:
            parts += definitions(str(path.relative_to(PACKAGE)), names, f"induct.{module}.")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(parts))
    missing = [name for name in [*public, *CONSTANTS] if f"### induct.{name}\n" not in text]
    assert not missing, f"no section has {missing}"
    return wrapped(text)


if __name__ == "__main__":
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE.name} is not what the docstrings say; run: python crates/python/docs/api.py")
