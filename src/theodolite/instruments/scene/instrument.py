"""The scene instrument behind the `Instrument` type."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from theodolite.core.errors import UsageError
from theodolite.core.files import counted_problems, link_or_copy
from theodolite.core.scores import ALIGNED, OWN_SPLIT, SPLITS, Capability, ItemScore, Signature
from theodolite.instruments.instrument import Instrument, RunPlan, Study, UserData, made
from theodolite.instruments.scene.verbs import VERBS, SceneRun, plan_scenes
from theodolite.instruments.user_files import has_file
from theodolite.instruments.verbs import Verb
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.core.tables import Table
    from theodolite.instruments.rows import View

_ROOMS: Mapping[str, int] = {"quick": 14, "standard": 18, "large": 120}
"""Rooms by size, and questions of each of the nine groups."""
_ROOM_PAIRS: Mapping[str, int] = {"quick": 40, "standard": 80, "large": 300}
"""Rooms with pairs by size; each has one relevant and one neutral pair. 40 are enough to see that a model does not look."""
_PAIRS_OF_SIZE = 1.6
"""Rooms with pairs for each item of a size in numbers."""
_PAIRS_OF_OWN = 3
"""Pairs of each scene of the user."""
_SETTINGS = ("base", "blind")
_OWN_GRAPH = "predicted graph"
"""Asked only on the aligned split, where signatures are judged: only they need it, and its prompts are the longest."""


class Scene(Instrument):
    """Do answers agree with the model's own 3D scene graph? Is perception or reasoning the bottleneck?"""

    name = "scene"
    question = "Do answers agree with the model's own 3D scene graph (CRISP)?"
    run_kinds = ("scene", "scene-pictures", "scene-pairs")
    run_options = SceneRun
    run_help = "Ask a model for graphs and answers, store them, and score."
    takes = "scenes made by `theodolite scene make` or `theodolite scene import`"
    exported_kinds = ("scene", "scene-pictures")
    formats = ("crisp", "crisp-na")
    grader = "theodolite.instruments.scene.reading.grading:grade"

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Make and import scenes, score, audit."""
        return VERBS

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Questions and graphs of every split, with and without the picture and with another scene's; and pairs."""
        from theodolite.instruments.scene.data.small_rooms import room_pairs, scene_data
        from theodolite.instruments.scene.questions import pairs_plan, run_plans

        asked = study.options
        if isinstance(asked, SceneRun) and asked.data is not None:
            yield plan_scenes(study, asked, asked.data)
            return
        is_named = isinstance(study.size, str)
        rooms = _ROOMS[cast("str", study.size)] if is_named else max(6, round(0.6 * int(study.size)))
        per_group = rooms if is_named else None
        folders = {
            split: made(
                study.place(f"scene-{split}"),
                partial(scene_data, n=rooms, seed=study.seed, split=cast("Any", split), per_group=per_group),
            )
            for split in study.splits
        }
        own = study.data
        if own is not None:
            folders[OWN_SPLIT] = own.path
            if own.form == "graphs":
                ask = partial(_write_questions, own.path, n=9 * rooms, seed=study.seed)
                folders[OWN_SPLIT] = made(study.place("scene-own"), ask)
        for split, folder in folders.items():
            settings = (*_SETTINGS, *((_OWN_GRAPH,) if split == ALIGNED and is_named else ()))
            yield from run_plans(folder, split=split, settings=settings, seed=study.seed)
        if study.splits:
            drawn = partial(room_pairs, n=_room_pairs(study.size), seed=study.seed)
            yield pairs_plan(made(study.place("scene-pairs"), drawn), name="scene-pairs")
        if own is not None:
            edited = made(
                study.place("scene-pairs-own"), partial(_write_pairs, folders[OWN_SPLIT], seed=study.seed)
            )
            if any(edited.iterdir()):
                yield pairs_plan(edited, name="scene-pairs-own", split=OWN_SPLIT)

    def score(self, run: Run) -> list[ItemScore]:
        """Every metric of every question and scene; none of pairs."""
        from theodolite.instruments.scene.score import item_scores

        return [] if _has_pairs(run) else item_scores(run)

    def score_all(self, folders: Sequence[Path]) -> list[ItemScore]:
        """The scores of several runs.

        The splits have the same rooms and differ in the questions, so the metrics of a room's graph count once, under the
        first split.
        """
        from theodolite.instruments.scene.score import GRAPH_METRICS

        scores = super().score_all(folders)
        first, *others = SPLITS
        once = {score.metric for score in scores if score.split == first} & GRAPH_METRICS
        return [score for score in scores if not (score.metric in once and score.split in others)]

    def tables(self, run: Run) -> list[Table]:
        """Tables 1 and 2, graphs, confusion matrix, interventions and signatures."""
        from theodolite.instruments.scene.score import score_run
        from theodolite.instruments.scene.tables import score_tables

        if run.info.instrument != self.name:
            return super().tables(run)
        return score_tables(score_run(run))

    def view(self, run: Run) -> View:
        """The scene from above, as it is and as the model described it."""
        from theodolite.instruments.scene.rows import scene_view

        return scene_view(run)

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """CRISP's signatures, on the aligned split."""
        from theodolite.instruments.scene.formulas.derived_qa import ScoreOptions
        from theodolite.instruments.scene.score import score_run

        found: list[Signature] = []
        for folder in folders:
            with Run.open(folder) as run:
                if run.info.instrument == self.name and run.info.settings.get("split") == ALIGNED:
                    found += score_run(run, ScoreOptions(seed=seed)).signatures
        return found

    def size_for(self, pairs: int) -> int:
        """One room for each pair."""
        return math.ceil(pairs / _PAIRS_OF_SIZE)

    def describe(self, study: Study) -> str:
        """What a study asks about."""
        rooms = _ROOMS[study.size] if isinstance(study.size, str) else max(6, round(0.6 * study.size))
        own = f"; and {study.data.words}" if study.data else ""
        edited = f"{_room_pairs(study.size)} before and after edits"
        return (
            f"{rooms} drawn rooms, with questions that the shortcut answers correctly and others that it does not; "
            f"{edited}{own}"
        )

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """A data set folder, with or without questions."""
        folder = path.parent if path.name in {"questions.jsonl", "scenes.jsonl"} else path
        if not folder.is_dir() or not has_file(folder, "scenes.jsonl"):
            return None
        form = "scenes" if has_file(folder, "questions.jsonl") and path.name != "scenes.jsonl" else "graphs"
        return UserData("scene", form, folder)

    def unused(self, study: Study) -> Mapping[str, int]:
        """The broken lines of a data set."""
        from theodolite.instruments.scene.data.files import read_data

        if study.data is None or study.data.form != "scenes":
            return {}
        return counted_problems(read_data(study.data.path).problems)

    def export(self, source: Path, out: Path, *, to: str) -> dict[str, int]:
        """Writes a run or a data set for CRISP-Bench."""
        from theodolite.instruments.scene.data.files import read_data
        from theodolite.instruments.scene.interop.crisp import export_data, export_run

        if (source / "run.json").exists():
            with Run.open(source) as run:
                return export_run(run, out, to)
        return export_data(read_data(source), out, to)


SCENE = Scene()


def _room_pairs(size: str | int) -> int:
    return _ROOM_PAIRS[size] if isinstance(size, str) else max(12, round(_PAIRS_OF_SIZE * size))


def _has_pairs(run: Run) -> bool:
    return run.info.instrument == "scene-pairs"


def _write_pairs(source: Path, folder: Path, *, seed: int) -> None:
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.data.pairs import editable_data, write_pairs

    write_pairs(folder, editable_data(read_data(source), seed=seed), per_scene=_PAIRS_OF_OWN)


def _write_questions(source: Path, folder: Path, *, n: int, seed: int) -> None:
    """Makes a data set from the scenes of another one, with at most `n` questions. Pictures are linked, or copied."""
    from theodolite.instruments.scene.data.engine import make_questions, thin_questions
    from theodolite.instruments.scene.data.files import read_data, write_data

    shutil.copytree(source, folder, copy_function=link_or_copy)
    for name, text in (("questions.jsonl", ""), ("manifest.json", "{}")):
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8")
    data = read_data(folder)
    scenes = list(data.scenes.values())
    if not all(scene.marked for scene in scenes):
        raise UsageError(
            f"{source} has scenes without marked pictures; make them with pictures (without --no-render)"
        )
    asked = make_questions(scenes, seed=seed).questions
    questions = thin_questions(asked, min(n, len(asked)), seed=seed)
    for name in ("scenes.jsonl", "questions.jsonl", "manifest.json"):
        (folder / name).unlink()  # a link: writing through it would change the original
    write_data(folder, scenes, questions, data.manifest)
