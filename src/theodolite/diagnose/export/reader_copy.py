"""A copy of the modules that read and score answers, for harnesses where Theodolite is not installed.

The files are copied as they are, with everything that they import from Theodolite.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import theodolite

__all__ = ["copied_modules", "write_copy"]

_SOURCE = Path(theodolite.__file__).parent


def write_copy(modules: Iterable[str], folder: Path) -> list[Path]:
    """Write a package ``theodolite`` with these modules into a folder, and return the files."""
    written = []
    for path in copied_modules(modules):
        target = folder / "theodolite" / path.relative_to(_SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        written.append(target)
    return written


def copied_modules(modules: Iterable[str]) -> list[Path]:
    """Return the files of modules and of all that they import when they are loaded."""
    found: set[Path] = set()
    open_names = list(modules)
    while open_names:
        parts = open_names.pop().split(".")
        for n in range(1, len(parts) + 1):
            path = _file(parts[:n])
            if path is not None and path not in found:
                found.add(path)
                open_names += _imports(path)
    return sorted(found)


def _file(parts: list[str]) -> Path | None:
    path = _SOURCE.joinpath(*parts[1:])
    files = (path / "__init__.py", path.with_suffix(".py")) if len(parts) > 1 else (path / "__init__.py",)
    return next((file for file in files if file.is_file()), None)


def _imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports at its top; names from a module may be modules themselves."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] == theodolite.__name__)
