"""What can be done with `ask`: make questions, run, score."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from theodolite.core.options import ANSWER, DATA, IMAGES, MAX_TOKENS, Option, Options, Seed, out_of, size_of
from theodolite.core.types import Item
from theodolite.instruments.ask.questions import SETTINGS, Setting
from theodolite.instruments.instrument import RunPlan, Study
from theodolite.instruments.verbs import Messages, Outcome, RunOptions
from theodolite.models import Answering, ask_factory, ask_measurer

__all__ = ["AskRun", "MakeQuestions", "make_questions", "plan_asked"]


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


def plan_asked(study: Study, options: AskRun, data: Path) -> RunPlan:
    """Plan a run of the user's questions. A log is asked only what it can answer: without its pictures, no edits."""
    from theodolite.instruments.ask.data.questions import draw_questions, load_questions
    from theodolite.instruments.ask.questions import plan_questions
    from theodolite.models.replay import has_pictures, is_log, recorded_only

    loaded, chosen, recorded = load_questions(data, options.images), options.settings, is_log(study.model)
    if recorded and not has_pictures(study.model):
        chosen = tuple(each for each in chosen if each in {"picture", "swapped"}) or ("picture",)
    if not recorded:
        loaded = draw_questions(loaded, len(loaded.questions), study.seed)
    items = partial(
        plan_questions,
        loaded.questions,
        settings=chosen,
        seed=study.seed,
        max_tokens=options.max_tokens,
        folder=None if study.is_preview else study.folder / "edited",
        model=study.model,
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
        partial(ask_factory, answering=options.answer),
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
