"""Makes a PyTorch from PyPI importable on Linux x86-64 without NVIDIA's packages.

    pip install --no-deps torch==2.15.0
    python cpu_only_torch.py

PyPI's wheel is linked against a dozen NVIDIA libraries, gigabytes in all, of which nothing runs on a machine without a
GPU. This puts empty libraries of the same names beside PyTorch's own. Their functions all answer "no device", so
PyTorch finds no GPU and computes on the CPU. It needs gcc and binutils. Libraries that are there are left alone.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

NVIDIA = re.compile(r"lib(cu(?!da\.)|nv|nccl)")
"""All but the driver, libcuda, which no package brings."""
FUNCTION = re.compile(r"_*(cu|nccl|nv)")
NO_DEVICE = 100
"""cudaErrorNoDevice, on which PyTorch counts no devices, without a warning."""


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def is_there(library: str, folder: Path) -> bool:
    """Whether the linker would find it: beside PyTorch, in NVIDIA's packages, or in the system."""
    packages = folder.parent.parent / "nvidia"
    if (folder / library).exists() or any(packages.glob(f"*/lib/{library}")):
        return True
    return library in output("ldconfig", "-p")


def wanted(folder: Path) -> dict[str, dict[str, str]]:
    """Functions that PyTorch's libraries want from missing ones: library to function to version ("" if it has none)."""
    libraries: dict[str, dict[str, str]] = {}
    by_version: dict[str, str] = {}
    unversioned: set[str] = set()
    defined: set[str] = set()
    versioned: list[tuple[str, str]] = []
    for path in sorted(folder.glob("*.so*")):
        for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", str(path))):
            if NVIDIA.match(needed) and not is_there(needed, folder):
                libraries.setdefault(needed, {})
        file = ""
        for line in output("readelf", "-VW", str(path)).splitlines():
            if found := re.search(r"File: (\S+)", line):
                file = found[1]
            elif found := re.search(r"Name: (\S+)\s+Flags", line):
                by_version[found[1]] = file
        for line in output("nm", "-D", str(path)).splitlines():
            kind, symbol = line.split()[-2:]
            name, _, version = symbol.partition("@")
            if kind not in "Uw":
                defined.add(name)
            elif FUNCTION.match(name) and version:
                versioned.append((name, version.lstrip("@")))
            elif FUNCTION.match(name):
                unversioned.add(name)
    for name, version in versioned:
        if by_version.get(version) in libraries:
            libraries[by_version[version]][name] = version
    if libraries:
        # Which library has these does not matter, as long as one has.
        libraries[min(libraries)].update(dict.fromkeys(unversioned - defined, ""))
    return libraries


def write(path: Path, functions: dict[str, str]) -> None:
    """A library with functions that do nothing."""
    lines = ['text: .string "no CUDA: this is a library without content"', ".text"]
    for name in functions:
        answer = "lea text(%rip), %rax" if name.endswith(("String", "ErrorName")) else f"mov ${NO_DEVICE}, %eax"
        lines += [f".globl {name}", f".type {name}, @function", f"{name}: {answer}", "ret"]
    lines.append('.section .note.GNU-stack, "", @progbits')
    names_by_version: dict[str, list[str]] = defaultdict(list)
    for name, version in functions.items():
        if version:
            names_by_version[version].append(name)
    versions = [f"{version} {{ {'; '.join(names)}; }};" for version, names in names_by_version.items()]
    with tempfile.TemporaryDirectory() as folder:
        source, script = Path(folder, "empty.s"), Path(folder, "versions")
        source.write_text("\n".join(lines) + "\n")
        script.write_text("\n".join(versions) + "\n")
        command = ["gcc", "-shared", "-nostdlib", "-o", str(path), f"-Wl,-soname,{path.name}", str(source)]
        subprocess.run(command + [f"-Wl,--version-script,{script}"] * bool(versions), check=True)


def main() -> None:
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        raise SystemExit("PyTorch is not installed: pip install --no-deps torch")
    folder = Path(torch.origin).parent / "lib"
    libraries = wanted(folder)
    for library, functions in libraries.items():
        write(folder / library, functions)
    print(f"{len(libraries)} empty libraries in {folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
