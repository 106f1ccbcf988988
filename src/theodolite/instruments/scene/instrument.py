"""The scene instrument behind the `Instrument` type."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from theodolite.core.errors import UsageError
from theodolite.core.scores import Capability, ItemScore, Metric
from theodolite.core.signatures import Signature
from theodolite.core.splits import ALIGNED, OWN_SPLIT, SPLITS
from theodolite.core.types import Item
from theodolite.instruments.instrument import Instrument, Place, RunPlan, Study, UserData, made
from theodolite.instruments.user_files import has_file
from theodolite.models import ask_factory, ask_measurer
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.core.views import ItemRow
    from theodolite.instruments.scene.data.files import SceneData
    from theodolite.instruments.scene.questions import Settings

_ROOMS: Mapping[str, int] = {"quick": 14, "standard": 18, "large": 120}
"""Rooms by size; as many questions of each of nine groups, over all rooms."""
_SETTINGS = ("base", "blind")
_OWN_GRAPH = "predicted graph"
"""Asked only on the aligned split, where signatures are judged: they alone need it, and its prompts are the longest."""


class Scene(Instrument):
    """Do answers agree with the model's own 3D scene graph? Is perception or reasoning the bottleneck?"""

    name = "scene"
    question = "Do the answers agree with the model's own graph of the scene, and with the picture?"
    run_kinds = ("scene", "scene-pictures")
    takes = "scenes made by `theodolite scene make` or `theodolite scene build`"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Answers, graphs, their agreement, and what the picture adds."""
        from theodolite.instruments.scene.metrics import METRICS

        return METRICS

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Questions and graphs of every split, with and without the picture, and with another scene's."""
        from theodolite.instruments.scene.data.drawn import scene_data

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
            asked = (*_SETTINGS, *((_OWN_GRAPH,) if split == ALIGNED and is_named else ()))
            yield from _run_plans(folder, split=split, settings=asked, seed=study.seed)

    def score(self, run: Run) -> list[ItemScore]:
        """Every metric of every scene."""
        from theodolite.instruments.scene.metrics import readings

        return readings(run)

    def score_all(self, folders: Sequence[Path]) -> list[ItemScore]:
        """The scores of several runs.

        The splits have the same rooms and differ in the questions: what is scored on a room's graph alone counts once,
        under the first split.
        """
        from theodolite.instruments.scene.metrics import GRAPH_METRICS

        scores = super().score_all(folders)
        first, *others = SPLITS
        once = {score.metric for score in scores if score.split == first} & GRAPH_METRICS
        return [score for score in scores if not (score.metric in once and score.split in others)]

    def rows(self, run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
        """Questions and graphs, with the scene seen from above."""
        from theodolite.instruments.rows import values_by_item
        from theodolite.instruments.scene.rows import scene_rows

        return scene_rows(run, place, values_by_item(scores))

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """CRISP's signatures, on the aligned split."""
        from theodolite.instruments.scene.results import read_rows
        from theodolite.instruments.scene.score import ScoreOptions, score_rows

        found: list[Signature] = []
        for folder in folders:
            with Run.open(folder) as run:
                if run.info.instrument == self.name and run.info.settings.get("split") == ALIGNED:
                    found += score_rows(read_rows(run), ScoreOptions(seed=seed)).signatures
        return found

    def chance(self, folders: Sequence[Path]) -> float | None:
        """None: many questions ask for numbers."""
        return None

    def is_plain(self, item: Item) -> bool:
        """True for the base setting."""
        return item.meta.get("setting") == "base"

    def describe(self, study: Study) -> str:
        """What a study asks about."""
        rooms = _ROOMS[study.size] if isinstance(study.size, str) else max(6, round(0.6 * study.size))
        own = f"; and {study.data.words}" if study.data else ""
        return f"{rooms} drawn rooms, with questions that the shortcut answers rightly and others that it does not{own}"

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """A data set folder, with or without questions."""
        folder = path.parent if path.name in {"questions.jsonl", "scenes.jsonl"} else path
        if not folder.is_dir() or not has_file(folder, "scenes.jsonl"):
            return None
        form = "scenes" if has_file(folder, "questions.jsonl") and path.name != "scenes.jsonl" else "graphs"
        return UserData("scene", form, folder)


SCENE = Scene()


def _run_plans(folder: Path, *, split: str, settings: Sequence[str], seed: int) -> Iterator[RunPlan]:
    """Questions and graphs of scenes, and the same with another scene's picture."""
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.metrics import PICTURES, plan_pictures
    from theodolite.instruments.scene.questions import Settings

    data = read_data(folder)
    asked = Settings(qa=cast("Any", tuple(settings)))
    about = {"data": str(folder.absolute()), "split": split}
    name = split.replace(" ", "-")
    yield RunPlan(
        f"scene-{name}",
        "scene",
        {**about, "settings": [*settings, "graphs"]},
        partial(_items, data, asked),
        ask_measurer,
        ask_factory,
    )
    yield RunPlan(
        f"scene-pictures-{name}",
        PICTURES,
        about,
        lambda _: plan_pictures(data, seed=seed),
        ask_measurer,
        ask_factory,
    )


def _items(data: SceneData, settings: Settings, run: Run) -> Iterator[Item]:
    """The plan of a scene run: it grows when the model has given its graphs."""
    from theodolite.instruments.scene.plan_rounds import run_items

    return run_items(data, settings, ((result.item, result.record) for result in run.results()))


def _write_questions(source: Path, folder: Path, *, n: int, seed: int) -> None:
    """A data set of the scenes of another, with at most `n` questions about them. Pictures are linked, or copied."""
    from theodolite.instruments.scene.data.engine import make_questions, thin_questions
    from theodolite.instruments.scene.data.files import Manifest, read_data, write_data

    shutil.copytree(source, folder, copy_function=_link_or_copy)
    for name, text in (("questions.jsonl", ""), ("manifest.json", Manifest().model_dump_json())):
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8")
    data = read_data(folder)
    scenes = list(data.scenes.values())
    if not all(scene.marked for scene in scenes):
        raise UsageError(
            f"{source} has scenes without marked pictures, and a model must see them; make them without --no-render"
        )
    asked = make_questions(scenes, seed=seed).questions
    questions = thin_questions(asked, min(n, len(asked)), seed=seed)
    for name in ("scenes.jsonl", "questions.jsonl", "manifest.json"):
        (folder / name).unlink()  # a link: writing through it would change the original
    write_data(folder, scenes, questions, data.manifest)


def _link_or_copy(source: str | Path, target: str | Path) -> None:
    """Another name for a file; a copy of it where links are not supported."""
    try:
        Path(target).hardlink_to(Path(source).resolve())
    except OSError:
        shutil.copyfile(source, target)
