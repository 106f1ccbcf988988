"""The instrument `Ask`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.core.scores import OWN_SPLIT, Capability, ItemScore
from theodolite.core.tables import Table
from theodolite.core.types import Item
from theodolite.instruments.ask.verbs import AskRun, MakeQuestions, make_questions, plan_asked
from theodolite.instruments.instrument import Instrument, RunPlan, Study, UserData
from theodolite.instruments.verbs import Verb
from theodolite.models import ask_factory, ask_measurer
from theodolite.pairs import AnsweredPair, Standing
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.instruments.ask.data.questions import Question, Questions

_MAX_TOKENS = 512
_QUESTIONS: Mapping[str, int] = {"quick": 100, "standard": 1000, "large": 10_000}
"""The largest number of questions, by size."""


class Ask(Instrument):
    """Do answers to your own questions depend on your pictures?"""

    name = "ask"
    question = "Do answers to your own questions depend on your pictures?"
    run_kinds = ("ask",)
    takes = "a JSONL, JSON or CSV file of questions with pictures and right answers, or a COCO instances file"
    needs_data = True
    run_options = AskRun
    run_help = "Ask your own questions with the picture, without it, with another one, and with it edited; and score."

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Make questions, and score."""
        return {**super().verbs(), "make": Verb(MakeQuestions, make_questions)}

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Plan the questions with their pictures, without them, with others, and with edited ones."""
        if isinstance(study.options, AskRun) and study.options.data is not None:
            yield plan_asked(study, study.options, study.options.data)
            return
        if study.data is None:
            return
        loaded = _load(study.data)
        settings: dict[str, Any] = {"data": str(study.data.path.absolute()), "split": OWN_SPLIT}
        if study.data.images is not None:
            settings["images"] = str(study.data.images.absolute())
        yield RunPlan(
            "ask-own",
            "ask",
            {**settings, "n": _size(study), "questions": min(_size(study), len(loaded.questions))},
            partial(_items, study),
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
        """Return the answers to the same words about two pictures, and before and after edits."""
        from theodolite.instruments.ask.score import answered_pairs, read_rows

        return answered_pairs(read_rows(run), split=str(run.info.settings.get("split") or ""))

    def judge(self, run: Run) -> tuple[Standing, str]:
        """Judge by what another picture, or none, costs."""
        from theodolite.instruments.ask.score import score_ask

        found = score_ask(run, seed=run.info.seed)
        return found.verdict, found.because

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """Find a question file, or the one in a folder; or COCO instances, whose objects are asked about."""
        from theodolite.instruments.ask.data.questions import find_question_file
        from theodolite.instruments.coco import find_coco

        file = find_question_file(path)
        if file is not None:
            return UserData("ask", "questions", file, images)
        coco = find_coco(path, images)
        return None if coco is None else UserData("ask", "coco", *coco)

    def unused(self, study: Study) -> Mapping[str, int]:
        """Count the rows of the user's file that cannot be used, by reason."""
        if study.data is None:
            return {}
        return _draw(_load(study.data).questions, study, _load(study.data).unused).unused

    def describe(self, study: Study) -> str:
        """Describe the questions in words."""
        if study.data is None:
            return super().describe(study)
        n, known = _size(study), len(_load(study.data).questions)
        return f"{min(n, known)} of {known} questions of {study.data.words}"


def _size(study: Study) -> int:
    return _QUESTIONS[study.size] if isinstance(study.size, str) else study.size


def _load(data: UserData) -> Questions:
    from theodolite.instruments.ask.data.questions import load_questions

    return load_questions(data.path, data.images)


def _draw(questions: Sequence[Question], study: Study, unused: Mapping[str, int]) -> Questions:
    from theodolite.instruments.ask.data.questions import Questions, draw_questions

    return draw_questions(Questions(tuple(questions), unused), _size(study), study.seed)


def _items(study: Study, run: Run) -> Iterable[Item]:
    """The items of a study. A log is asked only what it has an answer to, and for edits only if it embeds its pictures."""
    from theodolite.instruments.ask.questions import SETTINGS, plan_questions
    from theodolite.models.replay import has_pictures, is_log, recorded_only

    if study.data is None:
        return ()
    questions: Sequence[Question] = _load(study.data).questions
    model = run.info.model
    plan = partial(
        plan_questions,
        seed=study.seed,
        max_tokens=_MAX_TOKENS,
        folder=study.folder / "ask-edits",
        model=model,
    )
    if not is_log(model):
        return plan(_draw(questions, study, {}).questions)
    known = recorded_only(model, list(plan(questions, settings=("picture",))))
    names = {item.subject for item in known}
    questions = [question for question in questions if question.id in names]
    settings = SETTINGS if has_pictures(model) else ("picture", "swapped")
    return recorded_only(model, list(plan(_draw(questions, study, {}).questions, settings=settings)))


ASK = Ask()
