"""The tutorial and *How to diagnose your own* run: every block, in order, in an empty folder, and what they show is what comes out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from theodolite.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """Language and content of every block, in order."""
    return [(found[1], found[2]) for found in _BLOCK.finditer(text)]


def words(text):
    return " ".join(text.split())


def check_output(expected, said, where):
    """Every part of what the page shows, between “…” and “…”, stands in the output, in that order; white space apart."""
    rest = words(said)
    for part in expected.split("…"):
        if words(part):
            _, found, rest = rest.partition(words(part))
            assert found, f"{where} shows\n{part}\nbut what comes is\n{said}"


def run_commands(block):
    for line in block.replace("\\\n", " ").splitlines():
        command = shlex.split(line, comments=True)
        if not command:
            continue
        assert command[0] == "theodolite", f"bash blocks hold commands of ours alone, not {line!r}"
        assert main(command[1:]) == 0, line


def run_blocks(text, page, capsys):
    """Run all blocks of a page, or of a part of it; return how many commands were run and outputs compared."""
    names: dict = {}
    said, ran = "", ""
    n_commands = n_outputs = 0
    for language, content in blocks(text):
        if language == "bash":
            run_commands(content)
            n_commands += content.count("theodolite ")
        elif language == "python":
            exec(compile(content, str(page), "exec"), names)  # noqa: S102 - the page's own code is under test
        elif language == "text":
            check_output(content, said, ran)
            n_outputs += 1
            continue
        else:
            assert language == "sh", f"blocks are bash, python, text, or sh where nothing is run: {language}"
            continue
        said, ran = capsys.readouterr().out, content
    return n_commands, n_outputs


def parts(page):
    """The part of a page about photographs, which are not shipped, and the rest."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- photographs -->")
    photographs, _, after = rest.partition("<!-- end of photographs -->")
    return photographs, before + after


@pytest.mark.parametrize(("name", "least_commands", "least_outputs"), [("tutorial", 11, 5), ("own", 4, 4)])
def test_the_page_runs_as_it_is_written(name, least_commands, least_outputs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = DOCS / f"{name}.md"
    n_commands, n_outputs = run_blocks(parts(page)[1], page, capsys)
    assert n_commands >= least_commands
    assert n_outputs >= least_outputs


def test_the_tutorial_runs_on_photographs(shared_data, tmp_path, monkeypatch, capsys):
    """With the public recordings and photographs that the page names, where they lie beside the checkout."""
    (tmp_path / "whatsup" / "results").mkdir(parents=True)
    recorded = shared_data / "whatsup_llava15"
    (tmp_path / "whatsup" / "images").symlink_to(recorded / "images")
    (tmp_path / "whatsup" / "results" / "results.json").symlink_to(recorded / "results.json")
    (tmp_path / "coco").symlink_to(shared_data / "coco_tiny_val")
    monkeypatch.chdir(tmp_path)
    page = DOCS / "tutorial.md"
    n_commands, n_outputs = run_blocks(parts(page)[0], page, capsys)
    assert n_commands >= 6
    assert n_outputs >= 5


def test_the_check_of_outputs_can_fail():
    check_output("a 1\n…\nc", "a   1\nb\nc\n", "x")
    for wrong in ("a 2", "c\n…\na 1", "b c d"):
        with pytest.raises(AssertionError, match="shows"):
            check_output(wrong, "a   1\nb\nc\n", "x")
