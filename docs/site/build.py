"""Builds the documentation, strictly: ``python docs/site/build.py [FOLDER]``, into build/site unless another folder is named.

The pages get notebooks and navigation first, as Markdown in build/pages; then Sphinx makes HTML of them. A page is written only if it has
changed, so that the next build is quick.

``python docs/site/build.py --fill`` remakes what the program says of itself in the pages of the repository: tables, files, the
definitions and the reference of commands.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from _commands import command_names, command_pages
from _definitions import definitions_page
from _notebooks import notebook_pages
from _tables import filled
from sphinx.cmd.build import main as sphinx

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "pages"
SKIPPED = ("site", "notebooks", "known_models")
NAVIGATION: Mapping[str, tuple[str, ...]] = {
    "index": (
        "tutorial",
        "Explain <explain>",
        "Diagnose <diagnose>",
        "Instruments <instruments/index>",
        "Findings <findings>",
        "Numbers <numbers>",
        "Extend <extend/index>",
        "Commands <cli/index>",
    ),
    "diagnose": (
        "Looking <balance>",
        "own",
        "known_models",
        "real_model",
        "{notebooks}",
        "runs",
        "faults",
        "Other harnesses <elsewhere>",
    ),
    "instruments/index": (
        *(f"instruments/{name}" for name in ("ask", "compass", "grid", "scene", "trace", "twins")),
        "Label claims <labelling>",
    ),
    "findings": ("papers",),
    "numbers": ("definitions", "glossary"),
    "extend/index": (
        *(
            f"extend/{kind}"
            for kind in (
                "instrument",
                "model",
                "method",
                "explainer",
                "extractor",
                "verifier",
                "source",
                "edit",
            )
        ),
        "architecture",
        "licences",
    ),
    "cli/index": ("{commands}",),
}
"""The pages below each page. Sphinx warns of a page that is in none, and warnings are errors."""


def pages() -> dict[str, str | bytes]:
    """Path -> content of every page, and of the pictures of notebooks."""
    written = {
        path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(DOCS.rglob("*.md"))
        if path.relative_to(DOCS).parts[0] not in SKIPPED
    }
    notebooks = notebook_pages(DOCS / "notebooks")
    lists = {
        "{notebooks}": [path.removesuffix(".md") for path in notebooks if path.endswith(".md")],
        "{commands}": [f"{name} <cli/{name}>" for name in command_names()],
    }
    found: dict[str, str | bytes] = {}
    for path, content in {**written, "definitions.md": definitions_page(is_built=True), **notebooks}.items():
        if isinstance(content, bytes):
            found[path] = content
            continue
        below = [
            each
            for entry in NAVIGATION.get(path.removesuffix(".md"), ())
            for each in lists.get(entry, [entry])
        ]
        found[path] = _as_myst(content) + _toctree(below)
    return found


def made_pages() -> dict[Path, str]:
    """Path -> content of every page of the repository of which the program makes a part, or the whole."""
    whole = {
        DOCS / path: content
        for path, content in {"definitions.md": definitions_page(is_built=False), **command_pages()}.items()
    }
    written = (path for path in sorted(DOCS.rglob("*.md")) if path not in whole)
    parts = {path: filled(path.read_text(encoding="utf-8")) for path in written}
    return {**parts, **whole}


def fill() -> None:
    """Remake them; pages of commands that no longer exist are removed."""
    pages = made_pages()
    for path, content in pages.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    for path in (DOCS / "cli").glob("*.md"):
        if path not in pages:
            path.unlink()


def _as_myst(markdown: str) -> str:
    """Return what plain Markdown has no word for: the title of a block of code, and an anchor of the definitions.

    The marks of what the program makes are left out.
    """
    markdown = re.sub(r"^ *<!-- (?:made: .*|shown: .*|end) -->\n", "", markdown, flags=re.MULTILINE)
    markdown = re.sub(
        r'^( *)```(\w+) title="([^"\n]+)"$',
        r"\1```{code-block} \2\n\1:caption: \3\n",
        markdown,
        flags=re.MULTILINE,
    )
    return re.sub(r"\]\((?:\.\./)*definitions\.md#", "](#", markdown)


def _toctree(entries: list[str]) -> str:
    """Return the navigation below a page; it is shown beside the text, not in it."""
    rooted = [
        re.sub(
            r"^(?:(.+) <)?([\w/-]+)>?$",
            lambda found: f"{found[1]} </{found[2]}>" if found[1] else f"/{found[2]}",
            each,
        )
        for each in entries
    ]
    return "\n".join(["", "```{toctree}", ":hidden:", "", *rooted, "```", ""]) if entries else ""


def write(folder: Path) -> None:
    """Write what has changed, and remove what is no longer there."""
    found = pages()
    for path, content in found.items():
        target = folder / path
        data = content.encode() if isinstance(content, str) else content
        if not target.is_file() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    shutil.copytree(DOCS / "assets", folder / "assets", dirs_exist_ok=True)
    for path in folder.rglob("*.md"):
        if path.relative_to(folder).as_posix() not in found:
            path.unlink()


def main(site: Path) -> int:
    """Completes the pages and makes the site; returns the exit status."""
    write(PAGES)
    options = [
        "--fail-on-warning",
        "--keep-going",
        "--quiet",
        "--conf-dir",
        str(DOCS / "site"),
        "--doctree-dir",
        str(PAGES.parent / "doctrees"),
    ]
    return sphinx([*options, str(PAGES), str(site)])


if __name__ == "__main__":
    if sys.argv[1:] == ["--fill"]:
        sys.exit(fill())
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"))
