"""What the program says of itself in the pages of the repository is what it says now."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from theodolite.instruments.instrument import instruments

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"

for package in ("sphinx", "myst_parser"):
    pytest.importorskip(package, reason="pages are made with the extra `docs`")


@pytest.fixture(scope="module")
def made():
    """What the program would write now, by page."""
    sys.path.insert(0, str(SITE))
    try:
        from build import made_pages

        return made_pages()
    finally:
        sys.path.remove(str(SITE))


def test_every_page_is_as_the_program_would_write_it(made):
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in made.items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    assert not stale, f"python docs/site/build.py --fill remakes {', '.join(stale)}"
    assert not {*(ROOT / "docs" / "cli").glob("*.md")} - {*made}


def test_no_page_waits_for_a_build(made):
    for path, text in made.items():
        marks = re.findall(r"<!-- (made|shown|end)\b", text)
        assert marks[1::2] == ["end"] * (len(marks) // 2) == marks[1::2], path
        assert not re.search(r"-->\n\n<!-- end", text), path


def test_every_link_to_a_page_leads_to_one(made):
    for path, text in made.items():
        for link in re.findall(r"\]\(([\w/.-]+\.md)(?:#[^)]*)?\)", text):
            assert (path.parent / link).exists(), f"{path.name} links to {link}"


def test_signatures_of_all_instruments_are_listed(made):
    text = made[ROOT / "docs" / "diagnose.md"]
    for instrument in instruments():
        if instrument.name != "ask":
            assert f"| {instrument.name} | **" in text, instrument.name
