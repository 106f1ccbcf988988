"""Commands and code that pages show beside the tutorial: every command exists with its options, every snippet runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import numpy as np
import pytest
import typer.main
from PIL import Image

from theodolite.cli.main import app, main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]
PLUGGED_IN = ("dots",)
"""Commands of the example plug-ins, which test_plugins runs."""
_BLOCK = re.compile(r"^ *```(\w+)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def blocks(path, *languages):
    return [found[2] for found in _BLOCK.finditer(path.read_text(encoding="utf-8")) if found[1] in languages]


def shown_commands(path):
    """The words after ``theodolite`` of every command in a page's blocks for the shell and in its tables of commands."""
    for block in blocks(path, "bash", "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.strip(), comments=True)
            if words and words[0] == "theodolite":
                yield words[1:]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            yield from (
                shlex.split(found)[1:] for found in re.findall(r"`(theodolite [^`]* --[^`…]*)`", line)
            )


def named_commands(path):
    """The words of every command that a page names in its text, perhaps without what it needs: ``theodolite scene score``."""
    for found in re.findall(r"`theodolite ([^`]+)`", path.read_text(encoding="utf-8")):
        yield found.replace("\\|", "|").split()


def program():
    return typer.main.get_command(app)


def find(words):
    """The command that words name, and what comes after them."""
    command, rest, path = program(), list(words), []
    while hasattr(command, "list_commands"):
        context = click.Context(command)
        word = rest.pop(0) if rest else ""
        found = command.get_command(context, word)
        default = getattr(command, "default", "")
        if found is None and default and word:  # the name of this command may be left out
            rest.insert(0, word)
            word, found = default, command.get_command(context, default)
        if found is None and (not word or not word.islower() or "|" in word):
            return command, rest, path  # a noun alone, NAME, or several verbs
        assert found is not None, f"there is no command {' '.join([*path, word])}"
        path.append(word)
        command = found
    return command, rest, path


def parse(words):
    """Finds the command and reads its options, without running it; raises where something does not exist."""
    command, rest, path = find(words)
    assert not hasattr(command, "list_commands"), f"{' '.join(words)} is not a whole command"
    command.make_context(" ".join(path), rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS.parent).as_posix())
def test_every_command_that_a_page_shows_exists_with_its_options(page):
    for words in shown_commands(page):
        if words[0] in PLUGGED_IN:
            continue
        try:
            parse(words)
        except Exception as error:  # noqa: BLE001 - whatever the parser says is the finding
            pytest.fail(f"{page.name} shows `theodolite {shlex.join(words)}`: {error!r}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS.parent).as_posix())
def test_every_command_and_option_that_a_page_names_exists(page):
    for words in named_commands(page):
        if words[0] in PLUGGED_IN or words[0].startswith(("-", "N")):
            continue
        command, rest, path = find(words)
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        if hasattr(command, "list_commands"):
            continue
        unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in known]
        assert not unknown, f"{page.name} names {unknown} of `theodolite {' '.join(path)}`"


@pytest.mark.parametrize(
    "page", [DOCS / "architecture.md", DOCS.parent / "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_every_file_that_a_page_names_exists(page):
    package = DOCS.parent / "src" / "theodolite"
    homes = (DOCS.parent, package, *(package / "instruments").iterdir())
    for name in re.findall(r"`([\w/-]+(?:/|\.(?:py|toml|md|txt)))`", page.read_text(encoding="utf-8")):
        assert any((home / name).exists() for home in homes), f"{page.name} names {name}"


def test_the_trees_of_the_architecture_are_those_of_the_repository():
    root = DOCS.parent / "src" / "theodolite"
    package, compass = blocks(DOCS / "architecture.md", "text")
    for tree, folder in ((package, root), (compass, root / "instruments" / "compass")):
        shown = re.findall(r"^  ([\w.]+)", tree, re.MULTILINE)
        assert sorted(shown) == sorted(
            path.name
            for path in folder.iterdir()
            if not path.name.startswith(("_", ".")) and path.name != "py.typed"
        )


def test_the_check_of_commands_can_fail():
    parse(["compass", "make", "--out", "x"])
    for wrong in (
        ["data", "squars", "--out", "x"],
        ["compass", "make", "--outt", "x"],
        ["compass", "make"],
        ["nothing"],
        ["data"],
    ):
        with pytest.raises(BaseException, match=r".+"):
            parse(wrong)
    assert sum(1 for page in PAGES for _ in shown_commands(page)) > 100
    assert sum(1 for page in PAGES for _ in named_commands(page)) > 100


def test_pages_use_the_words_of_the_glossary_and_plain_english():
    mannered = re.compile(
        r"so many|heeds?\b|had its say|are alike|for want of|told apart|tells? (?:the|them(?! apart)|of)\b|\bwhoever\b|is told as|are told as"
    )
    for page in [*PAGES, DOCS.parent / "CHANGELOG.md"]:
        found = mannered.findall(page.read_text(encoding="utf-8"))
        assert not found, f"{page.name}: {found}"


def test_ones_own_episodes_are_judged_as_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "instruments" / "trace.md"
    files = re.findall(r'^```json title="([^"\n]+)"\n(.*?)^```$', page.read_text(), re.MULTILINE | re.DOTALL)
    for name, lines in files:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(lines)
    episodes, traces = (Path(name) for name, _ in files)
    for picture in re.findall(r"k\d-\d\.png", episodes.read_text()):
        Image.fromarray(np.full((240, 320, 3), 120, np.uint8)).save(episodes.parent / picture)
    words = next(words for words in shown_commands(page) if str(episodes) in words)
    assert str(traces) in words
    assert main([*words, "--json"]) == 0
    tables = {table["name"]: table for table in json.loads(capsys.readouterr().out)["tables"]}
    judged = [(row["episode"], row["verdict"]) for row in tables["trace.steps"]["rows"] if row["claim"]]
    assert {verdict.partition(" ")[0].rstrip(":") for name, verdict in judged if name == "k1"} == {
        "supported"
    }
    assert {verdict.partition(" ")[0].rstrip(":") for name, verdict in judged if name == "k2"} == {
        "unsupported"
    }


@pytest.mark.parametrize("page", ["numbers.md", "extend/source.md"])
def test_snippets_of_python_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(np.full((480, 640, 3), 120, np.uint8)).save("kitchen.jpg")
    found = blocks(DOCS / page, "python")
    assert found
    for code in found:
        exec(compile(code, page, "exec"), {})  # noqa: S102 - the page's own code is under test
    if page == "numbers.md":
        assert "1.000 [0.940, 1.000] (n=60)" in capsys.readouterr().out
    else:
        from theodolite.instruments.compass.data.pairs import read_pairs

        assert [pair.direction for pair in read_pairs(tmp_path / "pairs")] == ["left"]
