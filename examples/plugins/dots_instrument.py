"""An example instrument: how many dots are there? Each picture is shown as it is and blank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from theodolite.answers import AnswerFormat
from theodolite.answers.grading import answers_right, read_item
from theodolite.core.scores import Capability, ItemScore, Metric
from theodolite.core.types import Item, Picture, Request, Truth
from theodolite.instruments.instrument import Instrument, RunPlan, Study
from theodolite.models import ask_measurer
from theodolite.runs import Run

SIZES = {"quick": 16, "standard": 40, "large": 200}
RIGHT, CHANGES = (
    Metric(f"dots.{key}", name, higher_is_grounded=True, origin="ours", needs="text")
    for key, name in (("right", "count is right"), ("changes", "count changes with a blank picture"))
)


class Dots(Instrument):
    """Does it count what the picture shows?"""

    name = "dots"
    question = "Does it count what the picture shows?"
    run_kinds = ("dots",)
    metrics = (RIGHT, CHANGES)

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:  # noqa: ARG002 - text is enough
        """Plan one run: every picture as it is and blank."""
        n = SIZES[study.size] if isinstance(study.size, str) else study.size
        items = list(draw_items(n, study.seed))
        yield RunPlan("dots", "dots", {"n": n}, lambda _: items, ask_measurer)

    def score(self, run: Run) -> list[ItemScore]:
        """Score whether each count is right, and whether it changes if the picture is blank."""
        answers = {r.item.name: read_item(r.item, r.record) for r in run.results()}
        items = {r.item.subject: r.item for r in run.results() if r.item.truth.is_plain}
        scores = []
        for name, item in items.items():
            plain, blank = answers[f"{name}/plain"], answers[f"{name}/blank"]
            right, changes = float(answers_right(item, plain)), float(blank.value != plain.value)
            for metric, value, needed in ((RIGHT, right, (plain,)), (CHANGES, changes, (plain, blank))):
                unread = [answer.status for answer in needed if not answer.is_read]
                score = (None, unread[0]) if unread else (value, "")
                scores.append(ItemScore(name, metric.key, score[0], name, reason=score[1]))
        return scores


def draw_items(n: int, seed: int) -> Iterator[Item]:
    """Draw one to five red squares at random places of a 4 × 4 grid."""
    words = "How many red dots are there? Answer with a number alone."
    for number in range(n):
        count, places = 1 + number % 5, np.random.default_rng([seed, number]).permutation(16)
        pixels = np.full((96, 96, 3), 235, np.uint8)
        blank = Picture.from_array(pixels)
        for place in places[:count]:
            row, column = 24 * (place // 4) + 6, 24 * (place % 4) + 6
            pixels[row : row + 12, column : column + 12] = (200, 30, 30)
        for condition, shown in (("plain", Picture.from_array(pixels)), ("blank", blank)):
            name = f"dots-{number}"
            truth = Truth((str(count),), AnswerFormat.count(), subject=name, condition=condition)
            yield Item(f"{name}/{condition}", Request.ask(shown, words, max_tokens=16), truth=truth)


DOTS = Dots()


def register(add: Any) -> None:
    """Register the instrument for `theodolite diagnose`, `list`, the report and `theodolite dots run`."""
    add("instrument", "dots", f"{__name__}:DOTS", summary="does it count what the picture shows?")
