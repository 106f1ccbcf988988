"""The runs of each instrument, on the twins' sets and on one's own data."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from theodolite.diagnose._study import OWN_SPLIT, SPLITS, Part, Parts, Study
from theodolite.diagnose.record import InstrumentName
from theodolite.errors import StorageError, UsageError
from theodolite.models import Answering, ask_factory, ask_measurer
from theodolite.readings import Need, can
from theodolite.runs import Run
from theodolite.types import Item

if TYPE_CHECKING:
    from theodolite.scene import SceneData, Settings

_SCENE_SETTINGS = ("base", "blind", "predicted graph")
_MAX_TOKENS = 512
"""Of a trace: four frames in a few short sentences each."""


def _answering(gives: Need) -> Answering:
    return "choose" if can(gives, "choices") else "write"


def _compass(study: Study, gives: Need) -> Iterator[Part]:
    from theodolite.compass import read_pairs
    from theodolite.compass.readouts import ReadingMeasurer, plan_readings, readings_factory
    from theodolite.twins.data import relation_pairs

    def part(name: str, settings: dict[str, Any], plan: Callable[[Run], Iterable[Item]]) -> Part:
        return Part(
            name,
            "compass",
            "compass",
            {**settings, "gives": gives},
            plan,
            lambda model: ReadingMeasurer(model, gives),
            partial(readings_factory, gives=gives),
        )

    def drawn(_: Run) -> Iterator[Item]:
        for split in SPLITS:
            pairs = relation_pairs(study.size.pairs, seed=study.seed, split=cast("Any", split))
            yield from plan_readings(pairs, gives=gives, split=split)

    yield part("compass", {"n": study.size.pairs}, drawn)
    own = (study.own or {}).get("compass")
    if own is not None:
        pairs = read_pairs(own)
        yield part(
            "compass-own",
            {"data": str(own.absolute())},
            lambda _: plan_readings(pairs, gives=gives, split=OWN_SPLIT),
        )


def _grid(study: Study, gives: Need) -> Iterator[Part]:
    from theodolite.grid.readouts import INSTRUMENT
    from theodolite.twins.data import grid_data

    folders = {
        split: _made(
            study.folder(f"grid-{split}"),
            partial(grid_data, n=study.size.grids, seed=study.seed, split=cast("Any", split)),
        )
        for split in SPLITS
    }

    def part(name: str, folders: Mapping[str, Path]) -> Part:
        def plan(_: Run) -> Iterator[Item]:
            for split, folder in folders.items():
                yield from _grid_items(folder, split, study.seed)

        return Part(
            name,
            "grid",
            INSTRUMENT,
            {"data": {split: str(folder.absolute()) for split, folder in folders.items()}, "gives": gives},
            plan,
            lambda model: ask_measurer(model, _answering(gives)),
            partial(ask_factory, answering=_answering(gives)),
        )

    yield part("grid", folders)
    own = (study.own or {}).get("grid")
    if own is not None:
        yield part("grid-own", {OWN_SPLIT: own})


def _grid_items(folder: Path, split: str, seed: int) -> Iterator[Item]:
    """The relational scenes of a data set, as they are and changed."""
    from theodolite.grid import BUCKETS
    from theodolite.grid.explaining import ExplainPlan, prepare
    from theodolite.grid.readouts import plan_readings

    data = prepare(ExplainPlan(str(folder), ()))
    rows = [row for row in data.chosen.tolist() if BUCKETS[int(data.batch.bucket[row])].is_relational]
    if not rows:
        raise UsageError(f"{folder} has no scene with a relation; make some of depth one or more")
    names = [f"{split}/{data.names[row]}" for row in rows]
    yield from plan_readings(data.batch.take(np.array(rows)), names, split=split, seed=seed)


def _scene(study: Study, _: Need) -> Iterator[Part]:
    from theodolite.scene import Settings, read_data
    from theodolite.scene.readouts import PICTURES, plan_pictures
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
    own = (study.own or {}).get("scene")
    if own is not None:
        folders[OWN_SPLIT] = own
    for split, folder in folders.items():
        data, settings = read_data(folder), Settings(qa=cast("Any", _SCENE_SETTINGS))
        about = {"data": str(folder.absolute()), "split": split}
        yield Part(
            f"scene-{split.replace(' ', '-')}",
            "scene",
            "scene",
            {**about, "settings": [*_SCENE_SETTINGS, "graphs"]},
            partial(_scene_items, data, settings),
            ask_measurer,
            ask_factory,
        )
        yield Part(
            f"scene-pictures-{split.replace(' ', '-')}",
            "scene",
            PICTURES,
            about,
            partial(_planned, partial(plan_pictures, data, seed=study.seed)),
            ask_measurer,
            ask_factory,
        )


def _scene_items(data: SceneData, settings: Settings, run: Run) -> Iterator[Item]:
    """The plan of a scene run: it grows when the model has given its graphs."""
    from theodolite.scene import run_items

    return run_items(data, settings, ((result.item, result.record) for result in run.results()))


def _planned(plan: Callable[[], Iterable[Item]], _: Run) -> Iterable[Item]:
    """A plan that does not depend on what the run holds."""
    return plan()


def _trace(study: Study, _: Need) -> Iterator[Part]:
    from theodolite.trace import read_episodes
    from theodolite.trace.readouts import plan_readings

    folders = {
        split: _made(study.folder(f"trace-{split}"), partial(_write_stories, study, split))
        for split in SPLITS
    }
    own = (study.own or {}).get("trace")
    if own is not None:
        folders[OWN_SPLIT] = own
    for split, folder in folders.items():
        episodes = read_episodes(folder).episodes
        yield Part(
            f"trace-{split.replace(' ', '-')}",
            "trace",
            "trace",
            {"data": str(folder.absolute()), "split": split, "max_tokens": _MAX_TOKENS},
            partial(_planned, partial(plan_readings, episodes, max_tokens=_MAX_TOKENS)),
            ask_measurer,
            ask_factory,
        )


def _write_stories(study: Study, split: str, folder: Path) -> None:
    """Episodes of all worlds, each with every edit that is to be had of it."""
    from theodolite.trace import write_episodes
    from theodolite.trace.worlds import FAMILIES, perturbed
    from theodolite.twins.data import episodes

    found = []
    for episode in episodes(study.size.episodes, seed=study.seed, split=cast("Any", split)):
        edits = (perturbed(episode, family, seed=study.seed) for family in FAMILIES)
        found += [episode, *(edit for edit in edits if edit is not None)]
    write_episodes(found, folder)


def _made(folder: Path, make: Callable[[Path], Any]) -> Path:
    """The folder with its data, made if it is not there yet; a folder that was left half made is made anew."""
    if folder.exists():
        return folder
    draft = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.parent.mkdir(parents=True, exist_ok=True)
        make(draft)
        draft.replace(folder)
    except OSError as error:
        raise StorageError(
            f"cannot make the data in {folder}: {error.strerror}; free some space or choose another --out"
        ) from error
    return folder


PARTS: Mapping[InstrumentName, Parts] = {"compass": _compass, "grid": _grid, "scene": _scene, "trace": _trace}
QUESTIONS: Mapping[InstrumentName, str] = {
    "compass": "Does the answer come from the picture, and is the evidence where the question points?",
    "grid": "Does it heed the relation, or count what the words name?",
    "scene": "Do the answers agree with the model's own graph of the scene, and with the picture?",
    "trace": "Is each step of its reasoning supported by the frames?",
}
