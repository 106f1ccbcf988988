"""A plan counts all items and asks a few; what it cannot know it does not guess."""

import time

import pytest

from theodolite.core.errors import ModelError, UsageError
from theodolite.core.types import Item, Picture, Record, Request, Response
from theodolite.runs import Cost, Price, RunSettings, plan_cost

SETTINGS = RunSettings("toy", "toy:model")
SHOWN = Picture.from_bytes(b"a")


class Counting:
    """Answers at once, and counts."""

    identity, batch_size, reuse = "counting", 8, "never"

    def __init__(self, tokens=(50, 2), seconds=0.0, status="answered"):
        self.tokens, self.seconds, self.status, self.asked = tokens, seconds, status, []

    def measure(self, items):
        self.asked += [item.name for item in items]
        time.sleep(self.seconds * len(items))
        prompt, answer = self.tokens
        if self.status == "failed":
            return [Record(item.id, Response.failed("no memory")) for item in items]
        said = Response("answered", text="a", prompt_tokens=prompt, completion_tokens=answer)
        return [Record(item.id, said) for item in items]

    def close(self):
        self.is_closed = True


def items(n):
    return [
        Item(f"item {i}", Request.ask(*([SHOWN] if i % 2 else []), f"What is {i}?", max_tokens=10))
        for i in range(n)
    ]


def test_what_is_counted_and_what_is_measured():
    measurer = Counting(seconds=0.002)
    cost = plan_cost(items(400), measurer, SETTINGS, calls=3, more=100)
    assert (cost.requests, cost.calls, cost.pictures, cost.longest_answers_tokens) == (500, 1500, 250, 5000)
    assert (cost.prompt_tokens, cost.answer_tokens) == (25_000, 1000)
    assert 1.0 <= cost.seconds < 60
    assert cost.timed == 32
    assert set(measurer.asked[1:]) == {
        f"item {i * 400 // 32}" for i in range(32)
    }  # after the first, evenly over the plan
    assert not hasattr(measurer, "is_closed")
    assert cost.usd(Price(2.0, 10.0)) == pytest.approx(0.05 + 0.01)


def test_a_slow_model_is_asked_once(monkeypatch):
    monkeypatch.setattr("theodolite.runs.planning._TIMED_S", 0.01)
    measurer = Counting(seconds=0.05)
    cost = plan_cost(items(10), measurer, SETTINGS)
    assert measurer.asked == ["item 0"]
    assert cost.seconds >= 10 * 0.05


def test_a_factory_is_opened_and_closed_and_a_limit_kept():
    measurer = Counting()
    cost = plan_cost(
        lambda run: items(40) if run.info.model == "toy:model" else (), lambda: measurer, SETTINGS, limit=6
    )
    assert cost.requests == 6
    assert measurer.is_closed


def test_what_is_not_known_is_said():
    def nowhere():
        raise ModelError("no server answers")

    for source, why in (
        (nowhere, "no server answers"),
        (None, "no model is named"),
        (Counting(status="failed"), "no answer in 4 requests: no memory"),
    ):
        cost = plan_cost(items(4), source, SETTINGS)
        assert (cost.requests, cost.seconds, cost.usd(Price(1, 1)), cost.why_not) == (4, None, None, why)
    silent = plan_cost(items(4), Counting(tokens=(0, 0)), SETTINGS)
    assert (silent.prompt_tokens, silent.why_not) == (None, "")
    assert silent.seconds is not None
    assert (silent + Cost(requests=2)).requests == 6
    assert (silent + Cost()).prompt_tokens is None
    assert plan_cost([], None, SETTINGS) == Cost()


@pytest.mark.parametrize("text", ["", "a", "1,2,3", "-1", "nan", "1,inf"])
def test_a_price_is_one_or_two_numbers(text):
    with pytest.raises(UsageError, match="US dollars per million tokens"):
        Price.parse(text)
