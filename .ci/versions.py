"""Prints the constraints of ``make test-lowest`` and ``make test-newest``.

``lowest`` pins every dependency with a lower bound in pyproject.toml to that bound; ``newest`` leaves all free. Both keep the
torch of constraints.txt: pip would fetch gigabytes of GPU libraries with another.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FIXED = "torch"


def requirements() -> Iterator[Requirement]:
    """Every requirement of the package and of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for lines in (project["dependencies"], *project["optional-dependencies"].values()):
        yield from map(Requirement, lines)


def constraints(which: str) -> list[str]:
    """Return the lines of a constraints file."""
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    fixed = [line for line in pins if line.startswith(f"{FIXED}==")]
    if which == "newest":
        return fixed
    lowest: dict[str, Version] = {}
    for each in requirements():
        bounds = [Version(bound.version) for bound in each.specifier if bound.operator == ">="]
        if bounds and each.name != FIXED:
            lowest[each.name] = max(*bounds, lowest.get(each.name, bounds[0]))
    return [*fixed, *(f"{name}=={version}" for name, version in sorted(lowest.items()))]


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints(sys.argv[1])) + "\n")
