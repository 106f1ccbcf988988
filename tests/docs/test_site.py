"""The site builds strictly from the repository, holds every command and every definition, and asks nothing of the outside."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
import typer.main

from theodolite.cli.main import app
from theodolite.core.scores import definitions

ROOT = Path(__file__).parents[2]
INSTRUMENTS = ("ask", "compass", "grid", "scene", "trace", "twins")
FINDINGS = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
KINDS = ("instrument", "model", "method", "explainer", "verifier", "source")

for package in ("sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx_copybutton"):
    pytest.importorskip(package, reason="the site is built with the extra `docs`")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    told = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "site" / "build.py"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return folder


class Page(HTMLParser):
    """What a page fetches, what can be linked to in it, and what it says."""

    def __init__(self, path):
        super().__init__()
        self.fetched, self.ids, self.classes, self.tags, self.words = [], set(), set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.ids.add(found.get("id"))
        self.classes |= set((found.get("class") or "").split())
        if tag in {"script", "img", "iframe", "source", "video", "embed"}:
            self.fetched.append(found.get("src"))
        if tag == "link" and found.get("rel") not in {"canonical", "next", "prev"}:
            self.fetched.append(found.get("href"))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def commands(command, path=()):
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        if hasattr(below, "list_commands"):
            yield from commands(below, (*path, name))
        elif not below.hidden:
            yield (*path, name), below


def test_every_command_and_option_of_the_program_is_described(site):
    found = list(commands(typer.main.get_command(app)))
    assert len(found) > 40, "the program has lost its commands"
    index = Page(site / "cli" / "index.html").text
    for words, command in found:
        page = Page(site / "cli" / f"{words[0]}.html")
        assert len(words) == 1 or "-".join(words) in page.ids, words
        assert "`" not in page.text, "a cell was cut at its bar"
        assert f"theodolite {' '.join(words)}" in index, words
        for option in command.params:
            if option.param_type_name == "option" and not option.hidden and "--help" not in option.opts:
                assert option.opts[0] in page.text, (words, option.opts)


def bare(formula):
    """Without white space, and without the marks of indices, which the page sets lower."""
    return re.sub(r"[\s_{}]", "", formula)


def test_every_definition_can_be_linked_to_and_says_its_formula(site):
    page = Page(site / "definitions.html")
    said = bare(page.text)
    for each in definitions().values():
        assert each.anchor in page.ids, each.key
        assert bare(each.formula) in said, each.key


def test_no_page_fetches_anything_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for path in pages:
        page = Page(path)
        outside = [url for url in page.fetched if url and re.match(r"(https?:)?//", url)]
        assert not outside, (path.name, outside)
        assert "mermaid" not in page.classes, "diagrams would be drawn by a script from elsewhere"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text()), sheet.name


def test_formulas_are_mathml_and_none_is_left_as_it_was_written(site):
    for name in ("compass", "grid", "scene", "trace"):
        page = Page(site / "instruments" / f"{name}.html")
        assert page.tags.count("math") >= 3, name
        assert "math" not in page.classes, "Sphinx has left a formula as it was written"
        assert "merror" not in page.tags, name
    shown = Page(site / "instruments" / "compass.html")
    assert {"mfrac", "msup", "mover"} <= set(shown.tags)


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_each_instrument_has_its_page_with_readings_and_limits(site, name):
    page = Page(site / "instruments" / f"{name}.html")
    assert "when-not-to-trust-it" in page.ids
    assert f"theodolite {name}" in page.text
    if name not in {"ask", "twins"}:
        assert {"paper-against-sound", "the-formulas"} <= page.ids


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_plug_in_is_shown_whole(site, kind):
    (file,) = (ROOT / "examples" / "plugins").glob(f"*_{kind}.py")
    page = Page(site / "extend" / f"{kind}.html")
    shown = re.sub(r"\s+", "", page.text)
    for line in file.read_text().splitlines():
        assert re.sub(r"\s+", "", line) in shown, line


def test_tables_are_worked_out_and_none_is_left_open(site):
    for path in site.rglob("*.html"):
        assert "made:" not in path.read_text(encoding="utf-8"), path.name
    text = Page(site / "papers.html").text
    assert "EA +1.0 +1.0" in text, "the composites follow from the printed tables"
    assert "GPT-4o 6.31 6.48 8.77" in text, "equation 4 of Table 3"
    assert "bag of words spur all buckets 100.0 % 100.0 %" in text


def test_pages_open_from_disk_in_a_browser_without_an_error_or_a_request(site):
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api", reason="pages are tried with Playwright")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in (
            *("index", "tutorial", "known_models", "definitions", "papers"),
            *("instruments/compass", "cli/compass"),
        ):
            for scheme in ("light", "dark"):
                page = browser.new_page(color_scheme=scheme, viewport={"width": 390, "height": 844})
                troubles: list[str] = []
                page.on("pageerror", lambda error, seen=troubles: seen.append(str(error)))
                page.on(
                    "request",
                    lambda asked, seen=troubles: (
                        None if asked.url.startswith(("file:", "data:", "blob:")) else seen.append(asked.url)
                    ),
                )
                page.goto((site / f"{name}.html").as_uri())
                assert not troubles, (name, troubles)
                assert page.evaluate("document.documentElement.dataset.theme") == scheme
                width = page.evaluate("document.documentElement.scrollWidth")
                assert width <= 390, f"{name} is {width} px wide on a phone of 390"
                if name == "instruments/compass":
                    box = page.locator(".formula math").first.bounding_box()
                    assert box["height"] > 20, "a fraction is taller than a line"
                page.close()
        page = browser.new_page()
        page.goto((site / "search.html").as_uri() + "?q=hallucination+rate")
        page.locator("#search-results a[href*='definitions']").first.wait_for(timeout=20_000)
        browser.close()


def test_both_grounds_are_offered(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    assert "theme-switch-button" in text
    assert 'data-default-mode=""' in text, "the reader's own choice is the default"


def test_every_figure_of_the_findings_stands_on_the_page_that_it_links_to(site):
    rows = re.findall(r"^\| (?!claim|---)(.+?) \| .*? \| .*? \| (.+?) \| `.*` \|$", FINDINGS, re.MULTILINE)
    assert len(rows) > 15
    for claim, measured in rows:
        (link,) = re.findall(r"\]\(([\w/]+)\.md", measured)
        said = Page(site / f"{link}.html").text.replace("\xa0", " ")
        told = measured.rpartition(" ([")[0]
        for number in re.findall(r"(?<![\w.])[−-]?\d*\.\d+|\b\d+ of \d+\b", told):
            assert number in said, (claim, number, link)


def test_a_notebook_becomes_a_page_with_its_outputs(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    from _notebooks import notebook_pages

    picture = {
        "output_type": "display_data",
        "data": {"image/png": base64.b64encode(b"png").decode(), "text/plain": "<Figure>"},
    }
    outputs = [{"output_type": "stream", "name": "stdout", "text": ["looks\n"]}, picture]
    cells = [
        {"cell_type": "markdown", "source": ["# One model\n", "\n", "Text."]},
        {"cell_type": "code", "source": ["found"], "outputs": outputs},
    ]
    (tmp_path / "one.ipynb").write_text(json.dumps({"cells": cells}))
    found = notebook_pages(tmp_path)
    page = found.pop("notebooks/one.md")
    assert page.startswith("# One model\n\n*A notebook")
    assert "```python\nfound\n```\n\n```text\nlooks\n```" in page
    ((name, content),) = found.items()
    assert content == b"png"
    assert f"]({Path(name).name})" in page
