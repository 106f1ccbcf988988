"""Model text through every reader: answers, numbers, JSON, scene graphs, traces, claims and what is judged of them.

A reader must return for any text. What the guard has to catch is counted as uncaught here: it saves the run, but it is still
a fault of the reader. Time and memory are bounded for each text by its length.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from fuzz.tally import Tally, attempt
from fuzz.texts import text
from theodolite.answers import AnswerFormat, json_values, normal_form, outer_layers, quantities, read_answer
from theodolite.instruments.scene.data.make import make_questions, make_scenes
from theodolite.instruments.scene.formulas.sgc import score_graph
from theodolite.instruments.scene.formulas.solver import SOLVERS, Solver
from theodolite.instruments.scene.graph_parser import parse_graph
from theodolite.instruments.scene.score import said_objects
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import belief_log
from theodolite.instruments.trace.data.stories import episodes
from theodolite.instruments.trace.formulas.sgr import AS_PAPER
from theodolite.instruments.trace.score import of_trace
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.worlds.episodes import Episode

FORMATS = (
    AnswerFormat.choice(
        {"A": "to the left", "B": "to the right", "C": "above", "D": "below"}, style="letter"
    ),
    AnswerFormat.choice(["object 3", "object 5", "object 9, object 1"], style="letter"),
    AnswerFormat.choice(["Clockwise rotation", "Counterclockwise rotation", "No rotation"], style="index"),
    AnswerFormat.choice(["lamp", "potted plant", "the same"], style="word"),
    AnswerFormat.choice(["2", "3", "4"], style="letter"),
    AnswerFormat.choice(["1.5 m", "2.0 m", "30 cm"], style="letter"),
    AnswerFormat.directions(("left", "right", "front left"), subject="the cup", object="the plate"),
    AnswerFormat.yes_no(),
    AnswerFormat.number("m"),
    AnswerFormat.number(),
    AnswerFormat.count(),
    AnswerFormat.count({"A": "1", "B": "2"}, style="letter"),
    AnswerFormat.text(),
    AnswerFormat("choice", {"": "", "½": "①", "\ud800": "\x00"}),
)
_SECONDS, _SECONDS_PER_CHARACTER = 2.0, 1e-4
_MEGABYTES = 256.0


def run(seed: int, count: int, seconds: float | None = None) -> Tally:
    """Give each text to one reader, and stop after `count` texts or `seconds`."""
    tally = Tally()
    for _, reader in READERS:
        reader(random.Random(0), "")  # loads what is loaded once
    weights = [weight for weight, _ in READERS]
    begun = time.monotonic()
    for number in range(count):
        if seconds is not None and time.monotonic() - begun > seconds:
            break
        rng = random.Random(f"parsers/{seed}/{number}")
        response = text(rng)
        reader = rng.choices(READERS, weights)[0][1]
        attempt(
            tally,
            f"{reader.__name__}, seed {seed}, input {number}, {response[:80]!r}",
            partial(reader, rng, response),
            seconds=_SECONDS + _SECONDS_PER_CHARACTER * len(response),
            megabytes=_MEGABYTES,
        )
    return tally


def input_text(seed: int, number: int) -> str:
    """Return the text of one input, to reproduce a fault."""
    return text(random.Random(f"parsers/{seed}/{number}"))


def _answer(rng: random.Random, response: str) -> None:
    expected = rng.choice(FORMATS)
    reasoning = text(rng) if rng.random() < 0.1 else ""
    answer = read_answer(response, expected, is_cut_off=rng.random() < 0.2, reasoning=reasoning)
    _check(answer.reason)
    if answer.is_read and expected.options and answer.value not in expected.options:
        raise ValueError(f"{answer.value!r} was not offered")


def _parts(_: random.Random, response: str) -> None:
    json_values(response)
    outer_layers(response)
    quantities(response)
    if normal_form(normal_form(response)) != normal_form(response):
        raise ValueError("the normal form is not stable")


def _graph(rng: random.Random, response: str) -> None:
    true, questions = _scene()
    reading = parse_graph(
        response, true.centre, {node.id for node in true.nodes}, is_cut_off=rng.random() < 0.2
    )
    _check(reading.reason)
    score = score_graph(reading, true)
    if not 0 <= score.sgc <= 1:
        raise ValueError(f"SGC is {score.sgc}")
    if reading.graph is not None:
        said_objects(reading.graph)
        for name in SOLVERS:
            solver = Solver(reading.graph, name)
            for question in questions:
                _check(solver.solve(question).reason)


def _trace(rng: random.Random, response: str) -> None:
    episode = rng.choice(_episodes())
    reasoning = text(rng) if rng.random() < 0.1 else ""
    _check(read_trace(response, episode, reasoning=reasoning).failure)


def _claims(rng: random.Random, response: str) -> None:
    known = {episode.id: episode for episode in _episodes()}
    trace = with_claims([read_trace(response, rng.choice(_episodes()))])[0]
    _check(trace.failure)
    belief_log(trace.steps)
    judged = judge([trace], known, open_verifier("annotation"))[0]
    _check(judged.failure)
    for _ in of_trace(judged, [], AS_PAPER):
        pass


def _check(reason: str) -> None:
    """Raise if a reader failed and the guard caught the exception."""
    if "the reader failed" in reason:
        raise RuntimeError(reason)


@cache
def _episodes() -> Sequence[Episode]:
    return episodes(1)


@cache
def _scene() -> tuple[Any, Any]:
    made = make_scenes(1, 0).scenes[0].graph
    return made.star(), make_questions([made]).questions


Reader = Callable[[random.Random, str], None]
READERS: Sequence[tuple[float, Reader]] = (
    (73, _answer),
    (12, _parts),
    (6, _graph),
    (7, _trace),
    (2, _claims),
)
"""How often each is drawn, in per cent: the slow ones more rarely."""
