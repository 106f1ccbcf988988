"""The trace instrument behind the `Instrument` type."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from theodolite.core.errors import UsageError
from theodolite.core.files import counted_problems
from theodolite.core.scores import OWN_SPLIT, Capability, ItemScore, Signature
from theodolite.core.tables import Table
from theodolite.core.types import Item
from theodolite.instruments.instrument import (
    Instrument,
    RecordedModel,
    Reference,
    RunPlan,
    Study,
    UserData,
    made,
)
from theodolite.instruments.trace.verbs import VERBS, TraceRun, plan_relevance, plan_traces
from theodolite.instruments.user_files import first_keys, has_file
from theodolite.instruments.verbs import Verb
from theodolite.models import ask_factory, ask_measurer
from theodolite.pairs.outcomes import with_repeats
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.instruments.rows import View

_EPISODES: Mapping[str, int] = {"quick": 4, "standard": 7, "large": 40}
"""Number of episodes of each world in each split, by size."""
_EPISODES_OF_SIZE = 0.12
"""The same for each item of a size in numbers."""
_MORE_PAIRS = 2
"""Further episodes that are drawn for pairs, as a multiple."""
_PAIRS_OF_EPISODE = 9.75
"""Relevant pairs for each episode of a world and split: of 12 that are drawn for pairs, those with a fitting edit."""
_PAIR_SEEDS = 100_000
"""The episodes of pairs have seeds above it, the others below."""
_REPEATS = 12
"""Requests that are made again, of each split: traces are long."""
_MAX_TOKENS = 320
"""The longest response: four frames in a few short sentences each."""


class Trace(Instrument):
    """Is each step of the reasoning supported by the frames, and does that predict robustness?"""

    name = "trace"
    question = "Is each step of its reasoning supported by the frames?"
    run_kinds = ("trace", "trace-pairs")
    takes = "episodes made by `theodolite trace make` or `theodolite trace import`, or a log of traces beside its episodes"
    run_options = TraceRun
    run_help = "Ask a model to reason about episodes, store every answer, and score."
    makes_data_slowly = True
    grader = "theodolite.instruments.trace.claims.steps:grade"

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Make and import episodes, score, audit; and judge, export, label, predict, calibrate."""
        return VERBS

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Episodes of every split with their edits, each again without its frames; pairs; and the user's own."""
        asked = study.options
        if isinstance(asked, TraceRun) and asked.data is not None:
            yield (plan_relevance if asked.relevance else plan_traces)(study, asked, asked.data)
            return
        self.make_data(study)
        folders = {split: folder for folder, split, _, _ in _sets(study)}
        if study.data is not None and study.data.form == "episodes":
            folders[OWN_SPLIT] = study.data.path
        for split, folder in folders.items():
            yield _run_plan(f"trace-{split.replace(' ', '-')}", folder, split=split)
        for folder, split, _, _ in _pair_sets(study):
            yield _run_plan(f"trace-pairs-{split}", folder, split=split, are_pairs=True)

    def make_data(self, study: Study) -> None:
        """Draws the episodes of a study."""
        from theodolite.instruments.trace.data.stories import write_pairs, write_stories

        for write, sets in ((write_stories, _sets(study)), (write_pairs, _pair_sets(study))):
            for folder, split, n, seed in sets:
                made(folder, partial(write, split=cast("Any", split), n=n, seed=seed))

    def score(self, run: Run) -> list[ItemScore]:
        """Every metric of every episode; none of pairs."""
        from theodolite.instruments.trace.score import item_scores

        return item_scores(run) if run.info.instrument == self.name else []

    def tables(self, run: Run) -> list[Table]:
        """Grounding, consistency and edits; none of pairs."""
        from theodolite.instruments.trace.experiments.run_tables import run_tables

        return run_tables(run) if run.info.instrument == self.name else []

    def view(self, run: Run) -> View:
        """Return the steps of each item with their claims and the verdict on each."""
        from theodolite.instruments.trace.rows import view_of

        return view_of(run)

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Temporal drift, and language prior."""
        from theodolite.instruments.trace.score import trace_signatures

        return trace_signatures(folders, scores, seed=seed)

    def is_plain(self, item: Item) -> bool:
        """True for the original wording with all frames, not in a run of pairs."""
        return item.meta.get("wording") == "original" and not item.meta.get("is_pair")

    def references(self) -> Iterator[Reference]:
        """The lowest and the highest of the paper's eight models on STAR."""
        from theodolite.instruments.trace.experiments.predict import paper_rows

        rows = [row for row in paper_rows() if row.benchmark == "STAR"]
        for key in ("sgr", "hr", "tcs"):
            ordered = sorted(rows, key=lambda row: row.predictors[key])
            for row, word in ((ordered[0], "lowest"), (ordered[-1], "highest")):
                what = f"{row.model} on {row.benchmark}, the {word} of {len(rows)} models"
                yield Reference(
                    f"trace.{key}", round(row.predictors[key], 4), what, "step grounding, Table 1"
                )

    def describe(self, study: Study) -> str:
        """What a study asks about."""
        own = f"; and {study.data.words}" if study.data else ""
        n = 6 * _episodes(study.size)
        return f"{n} drawn stories of four frames, with their edits, half of them against the shortcut{own}"

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """Episodes in a file or folder, or a log of traces beside its episodes."""
        if path.is_dir():
            if not has_file(path, "episodes.jsonl"):
                return None
            logs = tuple(
                each
                for each in sorted(path.glob("*.jsonl"))
                if each.name != "episodes.jsonl" and _is_log(each)
            )
            return UserData("trace", "episodes", path, logs=logs)
        if path.suffix != ".jsonl":
            return None
        if path.name == "episodes.jsonl" or {"task", "frames"} <= first_keys(path):
            return UserData("trace", "episodes", path)
        if not _is_log(path):
            return None
        if not (path.parent / "episodes.jsonl").is_file():
            raise UsageError(
                f"{path} holds traces, but {path.parent} has no episodes.jsonl with their frames; put it there "
                "(`theodolite trace import` makes it from STAR, R2R and TEACh)"
            )
        return UserData("trace", "traces", path.parent, logs=(path,))

    def unused(self, study: Study) -> Mapping[str, int]:
        """The broken lines of a data set."""
        from theodolite.instruments.trace.data.dataset import read_episodes

        return counted_problems(read_episodes(study.data.path).problems) if study.data is not None else {}

    def size_for(self, pairs: int) -> int:
        """The smallest size with that many pairs."""
        return math.ceil(math.ceil(pairs / _PAIRS_OF_EPISODE) / _EPISODES_OF_SIZE)

    def recorded_models(self, data: UserData) -> list[RecordedModel]:
        """The models of the logs."""
        from theodolite.instruments.trace.data.traces import logged_models, write_log_run

        return [
            RecordedModel(each.name, each.identity, partial(write_log_run, each, data))
            for each in logged_models(data)
        ]


TRACE = Trace()


def _episodes(size: str | int) -> int:
    return _EPISODES[size] if isinstance(size, str) else max(2, round(_EPISODES_OF_SIZE * size))


def _sets(study: Study) -> list[tuple[Path, str, int, int]]:
    """Folder, split, episodes of each world and seed of every data set.

    Episodes are named by their seed, and equal names would be one cluster, so each split has its own seed.
    """
    n, splits = _episodes(study.size), study.splits
    return [
        (study.place(f"trace-{split}"), split, n, len(splits) * study.seed + place)
        for place, split in enumerate(splits)
    ]


def _pair_sets(study: Study) -> list[tuple[Path, str, int, int]]:
    """The same of the data sets of pairs."""
    n, splits = _MORE_PAIRS * _episodes(study.size), study.splits
    return [
        (study.place(f"trace-pairs-{split}"), split, n, _PAIR_SEEDS + len(splits) * study.seed + place)
        for place, split in enumerate(splits)
    ]


def _is_log(path: Path) -> bool:
    keys = first_keys(path)
    ours = "episode" in keys and bool({"text", "steps", "reasoning"} & keys)
    return ours or {"question_id", "object_descriptions"} <= keys


def _run_plan(name: str, folder: Path, *, split: str, are_pairs: bool = False) -> RunPlan:
    """Episodes with their edits; unless they are for pairs alone, each again without its frames."""
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.questions import plan_pairs, plan_study

    episodes = read_episodes(folder).episodes
    unedited = {episode.id for episode in episodes if episode.edit is None}

    def items(run: Run) -> Iterator[Item]:
        if not are_pairs:
            return plan_study(episodes, max_tokens=_MAX_TOKENS)
        planned = plan_pairs(episodes, max_tokens=_MAX_TOKENS)
        return with_repeats(
            planned, lambda item: item.meta["episode"] in unedited, model=run.info.model, most=_REPEATS
        )

    return RunPlan(
        name,
        "trace-pairs" if are_pairs else "trace",
        {"data": str(folder.absolute()), "split": split, "max_tokens": _MAX_TOKENS},
        items,
        ask_measurer,
        ask_factory,
    )
