"""Commands and code that pages show beside the tutorial: every command exists with its options, every snippet runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer.main
from PIL import Image

from theodolite.cli.main import app, main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]
_BLOCK = re.compile(r"^ *```(\w+)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def blocks(path, *languages):
    return [found[2] for found in _BLOCK.finditer(path.read_text(encoding="utf-8")) if found[1] in languages]


def shown_commands(path):
    """The words after ``theodolite`` of every command in a page's blocks for the shell."""
    for block in blocks(path, "bash", "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.strip(), comments=True)
            if words and words[0] == "theodolite":
                yield words[1:]


def parse(words):
    """Finds the command and reads its options, without running it; raises where something does not exist."""
    command, rest = typer.main.get_command(app), list(words)
    path = []
    while getattr(command, "commands", None):
        word = rest.pop(0) if rest else ""
        assert word in command.commands, f"there is no command {' '.join([*path, word])}"
        path.append(word)
        command = command.commands[path[-1]]
    command.make_context(" ".join(path), rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS.parent).as_posix())
def test_every_command_that_a_page_shows_exists_with_its_options(page):
    for words in shown_commands(page):
        try:
            parse(words)
        except Exception as error:  # noqa: BLE001 - whatever the parser says is the finding
            pytest.fail(f"{page.name} shows `theodolite {shlex.join(words)}`: {error!r}")


def test_the_check_of_commands_can_fail():
    parse(["ask", "make", "--out", "x"])
    for wrong in (["ask", "mak", "--out", "x"], ["ask", "make", "--outt", "x"], ["ask", "make"], ["nothing"]):
        with pytest.raises(BaseException, match=r".+"):
            parse(wrong)
    assert sum(1 for page in PAGES for _ in shown_commands(page)) > 40


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
    found = json.loads(capsys.readouterr().out)
    assert found["problems"] == []
    labels = [
        [
            verdict["label"]
            for step in trace["steps"]
            for claim, verdict in zip(step["step"]["claims"], step["verdicts"], strict=True)
            if not claim["is_part"]
        ]
        for trace in found["traces"]
    ]
    assert labels == [["supported", "supported"], ["unsupported", "unsupported"]]


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
        from theodolite.instruments.compass.data.pair_files import read_pairs

        assert [pair.direction for pair in read_pairs(tmp_path / "pairs")] == ["left"]
