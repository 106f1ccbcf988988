"""The instrument `Ask`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.core.scores import Capability, ItemScore, Metric
from theodolite.core.splits import OWN_SPLIT
from theodolite.core.tables import Table
from theodolite.core.types import Item
from theodolite.instruments.instrument import Instrument, Place, RunPlan, Study, UserData
from theodolite.instruments.user_files import first_keys
from theodolite.models import ask_factory, ask_measurer
from theodolite.pairs import AnsweredPair
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.core.views import ItemRow

_MAX_TOKENS = 512


class Ask(Instrument):
    """Do answers to your own questions depend on your pictures?"""

    name = "ask"
    question = "Do answers to your own questions depend on your pictures?"
    run_kinds = ("ask",)
    takes = "a JSONL file of questions with pictures and answers"
    needs_data = True

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Accuracy by setting, the drop without the picture, and whether answers follow it."""
        from theodolite.instruments.ask.score import METRICS

        return METRICS

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Plan the questions with their pictures, without them, and with others."""
        from theodolite.instruments.ask.data.questions import read_questions
        from theodolite.instruments.ask.questions import plan_questions

        if study.data is None:
            return
        questions = read_questions(study.data.path)
        yield RunPlan(
            "ask-own",
            "ask",
            {"data": str(study.data.path.absolute()), "split": OWN_SPLIT},
            lambda _: plan_questions(questions, seed=study.seed, max_tokens=_MAX_TOKENS),
            partial(ask_measurer, answering="write"),
            partial(ask_factory, answering="write"),
        )

    def score(self, run: Run) -> list[ItemScore]:
        """Compute every metric of every question."""
        from theodolite.instruments.ask.score import item_scores

        return item_scores(run)

    def tables(self, run: Run) -> list[Table]:
        """Build the tables of settings and comparisons, with the verdict."""
        from theodolite.instruments.ask.score import score_ask, score_tables

        return score_tables(score_ask(run, seed=run.info.seed))

    def pairs(self, run: Run) -> Iterator[AnsweredPair]:
        """Return the same question about another picture that has another answer."""
        from theodolite.instruments.ask.score import answered_pairs

        return answered_pairs(run)

    def rows(self, run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
        """Yield a row for every question and setting."""
        from theodolite.instruments.ask.rows import ask_rows

        return ask_rows(run, place, scores)

    def is_plain(self, item: Item) -> bool:
        """Return True for a question with its own picture."""
        return item.meta.get("setting") == "picture"

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """Find a question file, or ``questions.jsonl`` in a folder."""
        file = path / "questions.jsonl" if path.is_dir() else path
        if file.suffix != ".jsonl" or (file.parent / "scenes.jsonl").is_file():
            return None
        return UserData("ask", "questions", file) if {"question", "answer"} <= first_keys(file) else None


ASK = Ask()
