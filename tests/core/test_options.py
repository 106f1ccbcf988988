"""An option is declared once: Python and the command line check the same things, and a run stores what is marked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer

from theodolite.cli.options import one_command
from theodolite.core.errors import UsageError
from theodolite.core.options import SEED, Option, Options, declared, limit_of, size_of


@dataclass(frozen=True, kw_only=True)
class Shared(Options):
    seed: Annotated[int, SEED] = 0


@dataclass(frozen=True, kw_only=True)
class Drawing(Shared):
    data: Annotated[Path, Option("The data.", stored="always")]
    others: Annotated[tuple[Path, ...], Option("Others.", metavar="OTHER…", is_argument=True)] = ()
    shapes: Annotated[
        tuple[Literal["square", "disc", "ring"], ...], Option("Shapes.", can_be_empty=False, stored="always")
    ] = ("square", "disc", "ring")
    colour: Annotated[Literal["red", "blue"], Option("The colour.", stored="if given")] = "red"
    size: Annotated[int, size_of("pictures")] = 12
    limit: Annotated[int | None, limit_of("pictures")] = None
    shares: Annotated[tuple[float, ...], Option("Shares.")] = (0.5,)
    beside: Annotated[tuple[Path, ...], Option("Beside.", repeats=True)] = ()
    figures: Annotated[bool, Option("Draw figures.")] = False
    render: Annotated[bool, Option("Render.")] = True
    noise: Annotated[float, Option("Noise.", least=0, most=1)] = 0.0


def test_python_takes_words_or_lists():
    assert Drawing(data="a", shapes="disc, square").shapes == ("square", "disc")
    assert Drawing(data="a", shapes=["ring"]).shapes == ("ring",)
    assert Drawing(data="a", shapes="all") == Drawing(data="a")
    assert Drawing(data="a", shares="0.1,1").shares == (0.1, 1.0)
    assert Drawing(data="a").data == Path("a")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shapes": "disc,oval"}, "--shapes takes some of square, disc, ring, or all; not oval"),
        ({"shapes": ""}, "--shapes needs at least one of square, disc, ring, or all"),
        ({"colour": "green"}, "--colour takes red or blue, not 'green'"),
        ({"size": 0}, "--size is at least 1, not 0"),
        ({"noise": 2.0}, "--noise is at most 1, not 2"),
        ({"shares": "a"}, "--shares takes numbers separated by commas, not 'a'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(wrong, message):
    with pytest.raises(UsageError, match=message.replace("'", ".")):
        Drawing(data="a", **wrong)


def test_a_run_stores_what_is_marked():
    stored = Drawing(data="a", shapes="disc").stored()
    assert stored == {"data": str(Path("a").absolute()), "shapes": ["disc"]}
    assert Drawing(data="a", colour="blue").stored()["colour"] == "blue"
    assert Drawing(data="a", size=3, noise=0.5).given() == ["--data", "--size", "--noise"]


def test_arguments_come_first_and_shared_options_last():
    assert [each.name for each in declared(Drawing)][:2] == ["OTHER…", "--data"]
    assert declared(Drawing)[-1].name == "--seed"


def typed(*words):
    given = []
    app = one_command("draw", Drawing, lambda options, json: given.append((options, json)), help="Draw.")
    with pytest.raises(SystemExit) as ended:
        typer.main.get_command(app)(args=list(words), prog_name="draw")
    assert ended.value.code == 0, words
    return given[0] if given else None


def test_the_command_line_gives_the_same_options():
    words = [
        "x",
        "y",
        "--data",
        "a",
        "--shapes",
        "disc",
        "--size",
        "3",
        "--shares",
        "0.1,0.2",
        "--beside",
        "p",
    ]
    options, json = typed(*words, "--beside", "q", "--figures", "--no-render", "--noise", "0.5", "--json")
    assert options == Drawing(
        data="a",
        others=("x", "y"),
        shapes="disc",
        size=3,
        shares=(0.1, 0.2),
        beside=("p", "q"),
        figures=True,
        render=False,
        noise=0.5,
    )
    assert json
    assert typed("--data", "a") == (Drawing(data="a"), False)


def test_help_shows_flags_as_flags_and_words_as_words(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    typed("--help")
    shown = " ".join(capsys.readouterr().out.split())
    assert "bool" not in shown
    for words in (
        "--figures Draw",
        "--render --no-render",
        "--colour red|blue",
        "--shapes LIST",
        "--size N [x>=1]",
    ):
        assert words in shown, shown
    assert "[default: all]" in shown
