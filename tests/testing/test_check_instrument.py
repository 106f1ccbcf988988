"""The check of instruments finds every broken promise."""

import re
from dataclasses import replace

import numpy as np
import pytest

from theodolite.core.errors import ContractError, UsageError
from theodolite.core.scores import ItemScore, Metric
from theodolite.instruments.instrument import UserData, find_instruments
from theodolite.testing import check_instrument
from toy_instrument import TOY, Toy

_DRAWS = np.random.default_rng()


def test_a_sound_instrument_passes():
    assert check_instrument(TOY).problems == ()


def scored(change):
    """An instrument whose scores are changed."""

    class Scored(Toy):
        def score(self, run):
            return change(super().score(run))

    return Scored()


class Untitled(Toy):
    question = "It counts."
    run_kinds = ("dots",)


class Foreign(Toy):
    metrics = (*Toy.metrics, Metric("dots.right", "right", True, "ours", "text"))


class Twice(Toy):
    metrics = (*Toy.metrics, Toy.metrics[0])


class OtherKind(Toy):
    def plan(self, study, gives):
        return [replace(plan, kind="dots", settings={"n": {1}}) for plan in super().plan(study, gives)]


class Planless(Toy):
    def plan(self, study, gives):
        return ()


class Empty(Toy):
    def plan(self, study, gives):
        return [replace(plan, items=lambda _: []) for plan in super().plan(study, gives)]


class Namesakes(Toy):
    def plan(self, study, gives):
        def items(run):
            return [replace(item, name=item.name.partition("/")[2]) for item in plan.items(run)]

        (plan,) = super().plan(study, gives)
        return [replace(plan, items=items)]


class Drawn(Toy):
    def plan(self, study, gives):
        return super().plan(replace(study, seed=int(_DRAWS.integers(1 << 30))), gives)


class Fragile(Toy):
    def tables(self, run):
        return [1 / 0]

    def view(self, run):
        return lambda _: {"values": "none"}

    def signatures(self, folders, scores, *, seed):
        return ["pattern"]


class Greedy(Toy):
    def find_data(self, path, images):
        return UserData("toy", "any", path)


@pytest.mark.parametrize(
    ("instrument", "told"),
    [
        (
            Untitled(),
            ["does not end with a question mark", r"run_kinds is .* its own name, 'toy', comes first"],
        ),
        (Foreign(), ["the key of the metric dots.right does not begin with 'toy'"]),
        (Twice(), ["the metric toy.right is there 2 times"]),
        (OtherKind(), ["is of the kind 'dots'", "the settings of 'toy' cannot be written as JSON"]),
        (Planless(), ["there is no run for a model that gives text", "its plan has no items"]),
        (Empty(), ["its plan has no items"]),
        (Namesakes(), [r"\d+ items of one run are called 'plain'"]),
        (Drawn(), ["the same study and seed give other items the second time"]),
        (scored(lambda _: []), ["a model that answers gets no item score"]),
        (scored(lambda found: [score.value for score in found]), ["scores are of the type ItemScore"]),
        (scored(lambda found: [*found, found[0]]), [r"aligned-0/plain has 2 scores of toy.right"]),
        (scored(lambda found: [replace(each, metric="toy.x") for each in found]), ["none of its metrics"]),
        (
            scored(lambda found: [ItemScore(each.item, each.metric, 7.0, "") for each in found]),
            [r"toy.right is 7 for .* outside \(0.0, 1.0\)", "names no cluster"],
        ),
        (
            scored(lambda found: [replace(each, value=float(_DRAWS.random()), reason="") for each in found]),
            ["the scores of a model that answers are others the second time"],
        ),
        (
            scored(lambda found: [each for each in found if each.is_scored]),
            [r"\d+ unanswered items have no score, not even one without a value and with a reason"],
        ),
        (
            Fragile(),
            [
                "tables of .* raised ZeroDivisionError",
                "rows of .* raised",
                "there is a str, not a Sig",
            ],
        ),
        (Greedy(), ["find_data takes 'foreign', which it cannot read"]),
    ],
)
def test_each_broken_promise_is_found(instrument, told):
    with pytest.raises(ContractError, match="toy does not fulfil the instrument contract") as error:
        check_instrument(instrument)
    for sentence in told:
        assert re.search(sentence, str(error.value)), str(error.value)


def test_a_metric_that_unanswered_items_lack_is_a_remark():
    some = scored(lambda found: [each for each in found if each.is_scored or each.metric == "toy.right"])
    (remark,) = check_instrument(some).remarks
    assert re.search(r"\d+ unanswered items have no score of toy.changes", remark)


def test_an_instrument_without_data_of_its_own_asks_for_some(tmp_path):
    with pytest.raises(UsageError, match="ask needs data that it can read, with --data"):
        check_instrument("ask")
    with pytest.raises(UsageError, match="toy needs data that it can read, with --data: it takes none"):
        check_instrument(TOY, tmp_path)


def test_what_is_no_instrument_is_refused():
    with pytest.raises(ContractError, match="it is not a theodolite"):
        check_instrument(find_instruments)
