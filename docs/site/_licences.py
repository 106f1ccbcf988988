"""The dependencies of every extra with their licences, from pyproject.toml and the metadata of what is installed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, files, metadata, requires
from pathlib import Path

from _rows import table
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT = Path(__file__).parents[2]
_COPYLEFT = re.compile(r"GPL|MPL|EPL|EUPL|CDDL|OSL|General Public|Mozilla|Eclipse|copyleft", re.IGNORECASE)
_TITLE = re.compile(
    r"(?:The )?(?:(?:MIT|BSD|Apache|ISC)\b.*|.* Licen[cs]e)(?:,? Version [\d.]+)?", re.IGNORECASE
)
ABSENT = "not installed where this page was made"
UNKNOWN = "not stated"


@cache
def groups() -> Mapping[str, list[Requirement]]:
    """Return the requirements of the package, under the empty name, and of each extra."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [Requirement(line) for line in lines] for extra, lines in found.items()}


@cache
def described() -> Mapping[str, Mapping[str, str]]:
    """Return what direct dependencies are for, and the copyleft works inside some."""
    return tomllib.loads((_ROOT / "docs" / "dependencies.toml").read_text(encoding="utf-8"))


def licence(name: str) -> str:
    """Return the licence that a distribution states: as an expression, a classifier, a word, or the title of its file."""
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return ABSENT
    if expression := told.get("License-Expression"):
        return str(expression)
    classified = [
        each.rpartition(" :: ")[2]
        for each in told.get_all("Classifier") or []
        if each.startswith("License :: OSI Approved :: ")
    ]
    word = str(told.get("License") or "").strip()
    is_short = bool(word) and "\n" not in word and len(word) < 60
    return " and ".join(classified) or (word if is_short else _title(name) or UNKNOWN)


def _title(name: str) -> str:
    """Return the first line of a distribution's licence files that names a licence; empty if none does."""
    for file in files(name) or []:
        if ".dist-info" in str(file) and re.search(r"licen[cs]e|copying", file.name, re.IGNORECASE):
            text = Path(str(file.locate())).read_text(encoding="utf-8", errors="replace")
            first = next((line.strip() for line in text.splitlines() if line.strip()), "")
            if _TITLE.fullmatch(first):
                return first
    return ""


def is_copyleft(words: str) -> bool:
    """Return True if a licence is one whose conditions extend to changes of the work, or to what it becomes part of."""
    return bool(_COPYLEFT.search(words))


def _marked(words: str, bundled: str = "") -> str:
    shown = f"**{words}** (copyleft)" if is_copyleft(words) else words
    return f"{shown}; contains **{bundled}** (copyleft)" if bundled else shown


def licences() -> str:
    """Return a table of direct dependencies for the package and each extra."""
    use, bundled = described()["use"], described()["bundled"]
    parts = []
    for extra, lines in groups().items():
        rows = [
            [
                f"`{each.name}`",
                str(each.specifier) or "any",
                _marked(licence(each.name), bundled.get(each.name, "")),
                use[each.name],
            ]
            for each in sorted(lines, key=lambda each: each.name)
        ]
        head = f"### Extra `{extra}`" if extra else "### Always installed"
        parts.append(f"{head}\n\n{table(['package', 'versions', 'licence', 'used for'], rows)}")
    return "\n\n".join(parts)


def brought_by(lines: Iterable[Requirement]) -> set[str]:
    """Return the names of the packages that come with requirements, themselves included, as far as they are installed."""
    seen: set[tuple[str, str]] = set()
    waiting = list(lines)
    while waiting:
        each = waiting.pop()
        for key in ((canonicalize_name(each.name), extra) for extra in ("", *each.extras)):
            if key not in seen:
                seen.add(key)
                waiting += _needs(*key)
    return {name for name, _ in seen}


def further() -> dict[str, set[str]]:
    """Return the packages that direct dependencies bring along, each with the extras that need it."""
    direct = {canonicalize_name(each.name) for lines in groups().values() for each in lines}
    found: dict[str, set[str]] = {}
    for extra, lines in groups().items():
        for name in brought_by(lines) - direct:
            found.setdefault(name, set()).add(extra)
    return found


def _needs(name: str, extra: str) -> list[Requirement]:
    """Return what an installed distribution needs here; nothing if it is not installed."""
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return []
    found = [Requirement(line) for line in lines]
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": extra})]


def further_licences() -> str:
    """Return a table of what direct dependencies bring along, at the versions that are installed."""
    rows = []
    for name, extras in sorted(further().items()):
        try:
            version = metadata(name)["Version"]
        except PackageNotFoundError:
            continue
        by = "always" if "" in extras else ", ".join(f"`{extra}`" for extra in sorted(extras))
        rows.append([f"`{name}`", version, _marked(licence(name)), by])
    return table(["package", "version here", "licence", "installed with"], rows)
