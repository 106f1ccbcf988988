"""A run with any answer can be scored, by every instrument, and says why an answer could not be read."""

import json

import pytest
from trace_world import make_episode

from theodolite.answers import reading
from theodolite.cli.main import main
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.compass.data.pair_files import write_pairs
from theodolite.instruments.compass.data.squares import coloured_squares
from theodolite.instruments.scene.reading import graph_parser
from theodolite.instruments.trace.claims import reading as trace_reading
from theodolite.instruments.trace.data.dataset import write_episodes
from theodolite.models.scripted import BEHAVIOURS
from theodolite.report.html.write import write_run_report
from theodolite.runs import Run

BROKEN = "A sentence that breaks the reader. Left"
HOSTILE = (
    "×10^{99999}" * 700,
    '{"' * 4_000,
    "answer:\n" * 2_000,
    "not left " * 2_000,
    "#" * 16_000,
    "{" * 50_000,
    '{"objects":[{"id":' + "9" * 400,
    "{" * 450 + "}" * 450,
    "1e" + "9" * 5_000,
    "5 ft 3 İn",
    "① dogs sit on ② chairs. ½ m²",
    "The man is left of the \ud800 cup.\nFinal answer: left",
    "<answer><think><answer>" * 500,
    "\u0301" * 3_000 + "\u202e\u200bleft",
    "''s" * 2_000,
    "<script>alert(1)</script>",
    "\x00",
    BROKEN,
)  # fmt: skip
INSTRUMENTS = ("ask", "compass", "grid", "scene", "trace")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A small data set of each instrument."""
    folder = tmp_path_factory.mktemp("data")
    write_questions(make_squares(18), folder / "ask")
    write_pairs(coloured_squares(18, seed=2).pairs, folder / "compass")
    grid = ["--buckets", "M-F0-D2", "--size", "9", "--out", str(folder / "grid")]
    assert main(["grid", "make", *grid]) == 0
    scene = ["--indoor", "4", "--outdoor", "0", "--questions", "18", "--out", str(folder / "scene")]
    assert main(["scene", "make", *scene]) == 0
    write_episodes([make_episode(seed) for seed in range(18)], folder / "trace")
    return folder


@pytest.fixture
def hostile(monkeypatch):
    """`scripted:hostile` gives the hostile answers in turn."""
    said = []

    def behaviour(request, options):
        said.append(HOSTILE[len(said) % len(HOSTILE)])
        return said[-1]

    monkeypatch.setitem(BEHAVIOURS, "hostile", behaviour)


def measured(data, name, tmp_path):
    more = {"compass": ["--methods", "", "--answer", "text"]}.get(name, [])
    words = [name, "run", "--data", data / name, "--model", "scripted:hostile", "--out", tmp_path / "run", *more]
    assert main([*map(str, words), "--json"]) == 0
    return tmp_path / "run"


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_any_answers_can_be_scored(data, hostile, name, tmp_path, capsys):
    run = measured(data, name, tmp_path)
    assert main([name, "score", str(run), "--json"]) == 0
