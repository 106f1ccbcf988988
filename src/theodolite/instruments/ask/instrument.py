"""The instrument `Ask`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from theodolite.core.errors import UsageError
from theodolite.core.options import (
    ANSWER,
    DATA,
    FILL,
    IMAGES,
    MAX_TOKENS,
    Option,
    Options,
    Seed,
    out_of,
    size_of,
)
from theodolite.core.scores import OWN_SPLIT, Capability, ItemScore
from theodolite.core.tables import Table
from theodolite.core.types import Item
from theodolite.instruments.ask.questions import SETTINGS, Setting
from theodolite.instruments.instrument import (
    Instrument,
    Messages,
    Outcome,
    RunOptions,
    RunPlan,
    Study,
    UserData,
    Verb,
)
from theodolite.models import Answering, ask_measurer
from theodolite.pairs import AnsweredPair, Standing
from theodolite.runs import Result, Run

if TYPE_CHECKING:
    from theodolite.instruments.ask.data.questions import Question, Questions

__all__ = [
    "AskRun",
    "DrawEdits",
    "MakeQuestions",
    "draw_edits",
    "make_questions",
    "plan_asked",
]


# What can be done with `ask`: make questions, run, score.


@dataclass(frozen=True, kw_only=True)
class AskRun(RunOptions):
    """What a run asks."""

    data: Annotated[
        Path | None, DATA.but(help="Questions about pictures: JSONL, JSON or CSV.", stored="always")
    ] = None
    images: Annotated[Path | None, IMAGES.but(stored="if given")] = None
    settings: Annotated[
        tuple[Setting, ...],
        Option(f"Some of {', '.join(SETTINGS)}.", can_be_empty=False),
    ] = SETTINGS
    answer: Annotated[Answering, ANSWER] = "write"
    max_tokens: Annotated[int, MAX_TOKENS] = 512
    fill: Annotated[str, FILL] = "copied"


def plan_asked(study: Study, options: AskRun, data: Path) -> RunPlan:
    """Plan a run of the user's questions. A log is asked only what it can answer: without its pictures, no edits."""
    from theodolite.instruments.ask.data.questions import draw_questions, load_questions
    from theodolite.instruments.ask.questions import plan_questions
    from theodolite.models.replay import has_pictures, is_log, recorded_only

    chosen, recorded = options.settings, is_log(study.model)
    loaded = load_questions(data, options.images, may_lack_pictures=recorded)
    if recorded and not has_pictures(study.model):
        chosen = tuple(setting for setting in chosen if setting in {"picture", "swapped"}) or ("picture",)
    if not recorded:
        loaded = draw_questions(loaded, len(loaded.questions), study.seed, fill=options.fill)
    items = partial(
        plan_questions,
        loaded.questions,
        settings=chosen,
        seed=study.seed,
        max_tokens=options.max_tokens,
        folder=None if study.is_preview else study.folder / "edited",
        model=study.model,
        fill=options.fill,
    )
    notes = [f"left out: {n} × {reason}" for reason, n in loaded.unused.items()]
    if recorded and not study.is_preview:
        notes += _missing(study.model, items)
    asked = {**options.stored(), "settings": list(chosen)}
    return RunPlan(
        "",
        "ask",
        {**asked, "questions": len(loaded.questions)} if recorded else asked,
        lambda _: recorded_only(study.model, list(items())) if recorded else items(),
        partial(ask_measurer, answering=options.answer),
        notes=tuple(notes),
    )


def _missing(model: str, items: partial[Iterator[Item]]) -> list[str]:
    """Say why a log has no answer to some items, with an example of each reason."""
    from theodolite.models.replay import missing_answers

    with tempfile.TemporaryDirectory() as scratch:  # there is no run yet to keep edited pictures in
        missing = missing_answers(model, list(items(folder=Path(scratch))))
    return [
        f"not asked: {n} × {kind}" + (f"; for example: {example}" if example != kind else "")
        for kind, (n, example) in missing.items()
    ]


@dataclass(frozen=True, kw_only=True)
class MakeQuestions(Options):
    """What `theodolite ask make` takes."""

    out: Annotated[Path, out_of()]
    size: Annotated[int, size_of("questions")] = 160
    seed: Seed = 0


def make_questions(options: MakeQuestions, messages: Messages) -> Outcome:  # noqa: ARG001 - it is quick
    """Draw coloured squares, and ask where one is relative to another."""
    from theodolite.instruments.ask.data.questions import write_questions
    from theodolite.instruments.ask.data.squares import make_squares

    path = write_questions(make_squares(options.size, seed=options.seed), options.out)
    return Outcome(
        values={"questions": str(path), "n": options.size},
        notes=[f"wrote {options.size} questions to {path}"],
    )


@dataclass(frozen=True, kw_only=True)
class DrawEdits(Options):
    """What `theodolite ask figures` takes."""

    data: Annotated[Path, DATA.but(help="COCO instances: a file, or the folder that holds it.")]
    images: Annotated[Path | None, IMAGES] = None
    out: Annotated[Path, out_of("Where to write the sheets.")]
    fill: Annotated[str, FILL] = "copied"
    size: Annotated[int, size_of("edits per sheet")] = 48
    seed: Seed = 0


def draw_edits(options: DrawEdits, messages: Messages) -> Outcome:
    """Draw sheets of the edits that photographs allow: the accepted, their neutral ones, and the refused, with the reason."""
    from theodolite.instruments.ask.edits import edits_table, try_all, write_sheets
    from theodolite.instruments.coco import find_coco

    found = find_coco(options.data, options.images)
    if found is None:
        raise UsageError(f"{options.data} holds no COCO instances; edits need the boxes of objects")
    trials, unused = try_all(*found, fill=options.fill, seed=options.seed, progress=messages.progress)
    messages.notes(f"left out: {n} × {reason}" for reason, n in unused.items())
    written = write_sheets(trials, options.out, size=options.size, seed=options.seed)
    return Outcome(
        [edits_table(trials)],
        {"sheets": [str(path) for path in written]},
        notes=[f"wrote {path}" for path in written],
    )


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
        """Make questions, score, and draw the edits of photographs."""
        return {
            **super().verbs(),
            "make": Verb(MakeQuestions, make_questions),
            "figures": Verb(DrawEdits, draw_edits),
        }

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
            ask_measurer,
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
        """Yield the answers to the same words about two pictures, and before and after edits."""
        from theodolite.instruments.ask.score import answered_pairs, read_rows

        return answered_pairs(read_rows(run), split=str(run.info.settings.get("split") or ""))

    def implied(self, run: Run) -> Iterator[Result]:
        """Yield the swapped setting of questions whose swapped request is that of another question."""
        from theodolite.instruments.ask.score import implied_results

        return implied_results(run)

    def judge(self, run: Run) -> tuple[Standing, str]:
        """Judge by what another picture, or none, costs."""
        from theodolite.instruments.ask.score import score_ask

        score = score_ask(run, seed=run.info.seed)
        return score.verdict, score.because

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
    """Return the most questions to ask. Recorded answers cost nothing, so all are used unless a number is given."""
    if study.data is not None and study.data.may_lack_pictures and isinstance(study.size, str):
        return len(_load(study.data).questions)
    return _QUESTIONS[study.size] if isinstance(study.size, str) else study.size


def _load(data: UserData) -> Questions:
    from theodolite.instruments.ask.data.questions import load_questions

    return load_questions(data.path, data.images, may_lack_pictures=data.may_lack_pictures)


def _draw(questions: Sequence[Question], study: Study, unused: Mapping[str, int]) -> Questions:
    from theodolite.instruments.ask.data.questions import Questions, draw_questions

    return draw_questions(Questions(tuple(questions), unused), _size(study), study.seed)


def _items(study: Study, run: Run) -> Iterable[Item]:
    """Return the items of a study. A log gets only items it can answer, and edits only if it embeds its pictures."""
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
