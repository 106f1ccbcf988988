"""The runs of each instrument, on the twins' sets in both splits and on one's own data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from theodolite.core.errors import StorageError
from theodolite.core.scores import Need, can
from theodolite.core.types import Item
from theodolite.diagnose.record import InstrumentName
from theodolite.diagnose.study import ALIGNED, OWN_SPLIT, SPLITS, Parts, Study
from theodolite.diagnose.user_data import write_questions
from theodolite.models import Answering, ask_factory, ask_measurer
from theodolite.runs import Run
from theodolite.twins.parts import (
    Part,
    compass_part,
    explained_part,
    grid_part,
    made,
    scene_parts,
    trace_part,
    write_explained,
    write_grids,
    write_stories,
)

_SCENE_SETTINGS = ("base", "blind")
_OWN_GRAPH = "predicted graph"
"""Asked only of the split that signatures of scenes are read on: they alone need it, and its prompts are the longest."""


def _compass(study: Study, gives: Need) -> Iterator[Part]:
    from theodolite.twins.data import relation_pairs

    n = study.size.pairs
    drawn = {split: partial(relation_pairs, n, seed=study.seed, split=cast("Any", split)) for split in SPLITS}
    # Parts are hidden where accuracy sees nothing.
    yield compass_part("compass", drawn, gives=gives, settings={"n": n}, whole=(ALIGNED,))
    own = study.own_data("compass")
    if own is not None:
        settings = {"data": str(own.path.absolute()), **own.settings(2 * n)}
        drawn = {OWN_SPLIT: partial(own.pairs, 2 * n, study.seed)}
        yield compass_part("compass-own", drawn, gives=gives, settings=settings)


def _grid(study: Study, gives: Need) -> Iterator[Part]:
    from theodolite.twins.data import grid_data

    size, seed = study.size, study.seed
    folders = {
        split: _made(
            study.folder(f"grid-{split}"),
            partial(grid_data, n=size.grids, seed=seed, split=cast("Any", split)),
        )
        for split in SPLITS
    }
    yield grid_part("grid", folders, gives=gives, seed=seed)
    yield _anchors(study, gives)
    if size.explained and can(gives, "choices"):
        # Some scenes of the aligned split: where accuracy sees nothing, maps might.
        folder = _made(study.folder("grid-explained"), partial(write_explained, n=size.explained, seed=seed))
        yield explained_part("grid-explained", folder, gives=gives, budget=size.budget, seed=seed)
    own = study.own_data("grid")
    if own is not None:
        yield grid_part("grid-own", {OWN_SPLIT: own.path}, gives=gives, seed=seed)


def _anchors(study: Study, gives: Need) -> Part:
    """Questions with several anchors, to see which are forgotten."""
    from theodolite.instruments.grid.experiments.anchors import BUCKET_KEYS, INSTRUMENT

    folder = _made(
        study.folder("grid-anchors"),
        partial(write_grids, n=study.size.deep, seed=study.seed, buckets=BUCKET_KEYS),
    )
    answering: Answering = "choose" if can(gives, "choices") else "write"
    return Part(
        "grid-anchors",
        "grid",
        INSTRUMENT,
        {"data": {"free": str(folder.absolute())}, "gives": gives},
        partial(_anchor_items, folder),
        partial(ask_measurer, answering=answering),
        partial(ask_factory, answering=answering),
    )


def _anchor_items(folder: Path, _: Run) -> Iterator[Item]:
    from theodolite.instruments.grid.experiments.anchors import plan_anchors
    from theodolite.instruments.grid.questions import ExplainPlan, prepare

    data = prepare(ExplainPlan(str(folder), ()))
    yield from plan_anchors(data.batch, [f"free/{name}" for name in data.names])


def _scene(study: Study, _: Need) -> Iterator[Part]:
    from theodolite.twins.data import scene_data

    size = study.size
    folders = {
        split: _made(
            study.folder(f"scene-{split}"),
            partial(
                scene_data, n=size.rooms, seed=study.seed, split=cast("Any", split), per_group=size.per_group
            ),
        )
        for split in SPLITS
    }
    own = study.own_data("scene")
    if own is not None:
        folders[OWN_SPLIT] = own.path
        if own.form == "graphs":
            questions = partial(write_questions, own.path, n=9 * size.per_group, seed=study.seed)
            folders[OWN_SPLIT] = _made(study.folder("scene-own"), questions)
    for split, folder in folders.items():
        name = split.replace(" ", "-")
        asked = (*_SCENE_SETTINGS, *((_OWN_GRAPH,) if split == ALIGNED else ()))
        yield from scene_parts(
            (f"scene-{name}", f"scene-pictures-{name}"),
            folder,
            split=split,
            settings=asked,
            seed=study.seed,
        )


def _trace(study: Study, _: Need) -> Iterator[Part]:
    folders = {}
    for folder, split, n, seed in story_sets(study):
        study.makers.wait(folder)
        folders[split] = _made(folder, partial(write_stories, split=split, n=n, seed=seed))
    own = study.own_data("trace")
    if own is not None and own.form == "episodes":
        folders[OWN_SPLIT] = own.path
    for split, folder in folders.items():
        yield trace_part(f"trace-{split.replace(' ', '-')}", folder, split=split)


def story_sets(study: Study) -> list[tuple[Path, str, int, int]]:
    """Folder, split, episodes of each world and seed of every set of stories.

    Stories are named by their seed, and those of one name count as one where intervals are found: each split has its own.
    """
    return [
        (study.folder(f"trace-{split}"), split, study.size.episodes, len(SPLITS) * study.seed + place)
        for place, split in enumerate(SPLITS)
    ]


def _made(folder: Path, make: Callable[[Path], Any]) -> Path:
    """The folder with its data, made if it is not there yet.

    Raises:
        StorageError: there is no room for it.
    """
    try:
        return made(folder, make)
    except OSError as error:
        raise StorageError(
            f"cannot make the data in {folder}: {error.strerror}; free some space or choose another --out"
        ) from error


PARTS: Mapping[InstrumentName, Parts] = {"compass": _compass, "grid": _grid, "scene": _scene, "trace": _trace}
QUESTIONS: Mapping[InstrumentName, str] = {
    "compass": "Does the answer come from the picture, and is the evidence where the question points?",
    "grid": "Does it heed the relation, or count what the words name?",
    "scene": "Do the answers agree with the model's own graph of the scene, and with the picture?",
    "trace": "Is each step of its reasoning supported by the frames?",
}
