"""Every command line that the documentation of 0.1 showed still works, in the old spelling."""

import shlex
from pathlib import Path

import click
import pytest
import typer.main

from theodolite.cli.main import _FLAGS, TABLE, app, main, renewed

LINES = (Path(__file__).parent / "old_commands.txt").read_text(encoding="utf-8").splitlines()
"""The command lines of README, docs and examples before commands were made from what an instrument declares."""


def parsed(words):
    """Read the words as the program does, without running the command."""
    command, rest, path = typer.main.get_command(app), list(words), []
    while hasattr(command, "list_commands"):
        word = rest.pop(0)
        path.append(word)
        command = command.get_command(click.Context(command), word)
        assert command is not None, f"there is no command {' '.join(path)}"
    return command.make_context(" ".join(path), rest)


def placed(line):
    """The words of a line, with numbers where a shell or a reader would put them."""
    return [word.replace("$share", "50") for word in shlex.split(line.replace("--small N", "--small 3"))]


@pytest.mark.parametrize("line", LINES)
def test_every_old_line_is_read(line):
    words, told = renewed(placed(line))
    parsed(words)
    assert bool(told) == (words != placed(line))


def test_the_new_spelling_is_not_renewed_again():
    for line in LINES:
        words, _ = renewed(placed(line))
        assert renewed(words) == (words, ""), line


def test_an_old_spelling_works_and_says_the_new_one(tmp_path, capsys):
    assert main(["data", "squares", "--size", "8", "--out", str(tmp_path / "pairs"), "--json"]) == 0
    shown = capsys.readouterr()
    told = f"theodolite compass make --world squares --size 8 --out {tmp_path / 'pairs'} --json"
    assert f"old spelling, which the next release drops; write `{told}`" in shown.err
    assert len(shown.err.splitlines()) == 1 + 1, "one line for the spelling, one for the pairs"
    assert main(["data", "check", str(tmp_path / "pairs")]) == 0
    assert main(["compass", "audit", str(tmp_path / "pairs")]) == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("data squares --questions --out a", "ask make --out a"),
        (
            "data coco-pairs --annotations=a.json --no-copy",
            "compass import --format coco --data a.json --no-copy",
        ),
        ("compass faithfulness RUN --out H --score-only", "compass score H --of RUN"),
        (
            "compass faithfulness RUN --out H --projection sound",
            "compass run --of RUN --out H --orders sound",
        ),
        ("grid explain --data d --size 4", "grid run --explainers all --data d --size 4"),
        ("grid make --mode spur --out g", "grid make --variant spur --out g"),
        ("compass score r --projection both --json", "compass score r --projection all --json"),
        ("trace ablate a b --singles", "trace verify --ablate a b --no-pairs"),
        (
            "scene build --source kitti --questions 8 --out s",
            "scene import --format kitti --questions 8 --out s",
        ),
        ("-v scene solver DATA", "-v scene audit DATA"),
    ],
)
def test_options_are_renamed_and_become_arguments(old, new):
    assert shlex.join(renewed(shlex.split(old))[0]) == new


def test_a_command_that_is_gone_says_what_took_its_place(capsys):
    assert main(["twins", "certify"]) == 2
    assert "python -m train certify" in capsys.readouterr().err


def test_the_flags_of_the_table_take_no_value():
    flags = {
        name
        for row in TABLE
        for words in (row.new.split(),)
        for param in parsed_command(words[:2]).params
        if getattr(param, "is_flag", False)
        for name in (*param.opts, *param.secondary_opts)
    }
    named = {new for row in TABLE for old, new in row.options.items() if old in _FLAGS and new}
    assert named <= flags


def parsed_command(words):
    command = typer.main.get_command(app)
    for word in words:
        command = command.get_command(click.Context(command), word)
    return command
