import json
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import pytest

from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Picture, Request
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.models import HintedModel, ask_measurer, open_model
from theodolite.models.scripted import BEHAVIOURS
from theodolite.runs.engine import measure_batch
from theodolite.testing import check_model


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_every_behaviour_keeps_the_contract(behaviour):
    check_model(f"scripted:{behaviour}")


def test_the_looker_answers_from_the_pixels():
    questions = list(make_squares(120, seed=3))
    looker = open_model("scripted:looker")
    said = [r.text for r in looker.generate([Request.ask(*q.pictures, q.prompt) for q in questions])]
    assert said == [q.answer for q in questions]


def test_the_looker_follows_the_mirrored_picture():
    question = next(make_squares(1))
    mirrored = Picture.from_array(np.ascontiguousarray(question.pictures[0].pixels()[:, ::-1]))
    said = open_model("scripted:looker").generate([Request.ask(mirrored, question.prompt)])[0].text
    assert (question.answer, said) == ("left", "right")


def test_the_looker_without_a_picture_does_not_guess():
    assert (
        "cannot see" in open_model("scripted:looker").generate([Request.ask("Where is the red one?")])[0].text
    )


def test_the_guesser_never_looks():
    guesser = open_model("scripted:guesser")
    for question in make_squares(20):
        black = Picture.from_array(np.zeros((8, 8, 3), np.uint8))
        asked = [Request.ask(*shown, question.prompt) for shown in (question.pictures, (black,), ())]
        assert len({r.text for r in guesser.generate(asked)}) == 1


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Where?\nA) left\nB) right", {"A", "B"}),
        ("Where? Answer with one of: near, far or gone.", {"near", "far", "gone"}),
        ("Where?", {"left", "right", "above", "below"}),
    ],
)
def test_the_guesser_stays_within_the_options(text, options):
    guesser = open_model("scripted:guesser")
    said = {r.text for r in guesser.generate([Request.ask(f"{i} {text}") for i in range(60)])}
    assert said == options


def test_flaky_fails_on_its_share_and_always_on_the_same():
    flaky = open_model("scripted:flaky?every=5")
    requests = [Request.ask(f"question {i}") for i in range(500)]
    first, second = ([r.status for r in flaky.generate(requests)] for _ in range(2))
    assert first == second
    assert 60 < first.count("failed") < 140


def test_only_scripted_models_see_hints():
    item = Item("q", Request((Request.ask("hi").messages), hint={"gold": "left"}))
    scripted = open_model("scripted:echo")
    assert isinstance(scripted, HintedModel)
    assert json.loads(ask_measurer(scripted).measure([item])[0].response.text)["hint"] == {"gold": "left"}

    class Real:
        name = identity = "real"
        lacks = MappingProxyType({})
        batch_size = 1
        seen: ClassVar = []

        def generate(self, requests):
            self.seen.extend(requests)
            return scripted.generate(requests)

        def close(self):
            pass

    ask_measurer(Real()).measure([item])
    assert Real.seen[0].hint == {}


def test_the_oracle_needs_its_gold():
    oracle = open_model("scripted:oracle")
    assert oracle.generate([Request(Request.ask("hi").messages, hint={"gold": "left"})])[0].text == "left"
    assert oracle.generate([Request.ask("hi")])[0].status == "failed"


def test_choosing_puts_the_weight_on_what_would_be_said():
    choice = open_model("scripted:constant?text=Right").choose([Request.ask("?")], [("left", "right", "up")])[
        0
    ]
    assert choice.best == "right"
    assert choice.probabilities == pytest.approx((0.015, 0.97, 0.015))
    even = open_model("scripted:constant?text=no").choose([Request.ask("?")], [("left", "right")])[0]
    assert even.probabilities == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize(
    "name", ["scripted:nobody", "scripted:echo?colour=red", "scripted:echo?delay=-1", "scripted:", "x"]
)
def test_wrong_names_are_refused(name):
    with pytest.raises(UsageError):
        open_model(name)


@pytest.mark.parametrize(
    ("model", "status", "reason"),
    [
        ("scripted:refuser", "refused", "declines"),
        ("scripted:flaky?every=1", "failed", "fails on this request"),
        ("scripted:looker", "failed", "cannot decode the picture"),
    ],
)
def test_what_is_refused_or_fails_in_words_does_so_in_choosing(model, status, reason):
    broken = Picture.from_bytes(b"\x89PNG this is no picture")
    item = Item("q", Request.ask(broken, "Where is the red one of the blue one?"), ("left", "right"))
    record = measure_batch(ask_measurer(open_model(model), "choose"), [item])[0]
    assert (record.response.status, record.choice) == (status, None)
    assert reason in record.response.reason


def test_only_options_that_change_an_answer_are_part_of_the_identity():
    plain, slow, small, other = (
        open_model(f"scripted:constant{options}").identity
        for options in ("", "?delay=0.1&text=left", "?batch_size=1", "?text=right")
    )
    assert plain == slow == small != other
