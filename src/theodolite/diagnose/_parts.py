"""The runs of each instrument, on the twins' sets and on one's own data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from theodolite.diagnose._making import write_stories
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
_MAX_TOKENS = 320
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
            # Hiding parts costs eighteen answers a pair: it is done where accuracy sees nothing.
            planned: Need = gives if split == "aligned" else "text"
            yield from plan_readings(pairs, gives=planned, split=split)

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
    yield _anchors(study, gives)
    if study.size.explained and can(gives, "choices"):
        yield _explained(study, gives)
    own = (study.own or {}).get("grid")
    if own is not None:
        yield part("grid-own", {OWN_SPLIT: own})


def _anchors(study: Study, gives: Need) -> Part:
    """Questions with several anchors, to see which are forgotten."""
    from theodolite.grid.anchors import BUCKET_KEYS, INSTRUMENT

    folder = _made(study.folder("grid-anchors"), partial(_write_grids, study, BUCKET_KEYS, study.size.deep))
    return Part(
        "grid-anchors",
        "grid",
        INSTRUMENT,
        {"data": {"free": str(folder.absolute())}, "gives": gives},
        partial(_anchor_items, folder),
        lambda model: ask_measurer(model, _answering(gives)),
        partial(ask_factory, answering=_answering(gives)),
    )


def _anchor_items(folder: Path, _: Run) -> Iterator[Item]:
    from theodolite.grid.anchors import plan_anchors
    from theodolite.grid.explaining import ExplainPlan, prepare

    data = prepare(ExplainPlan(str(folder), ()))
    yield from plan_anchors(data.batch, [f"free/{name}" for name in data.names])


def _explained(study: Study, gives: Need) -> Part:
    """Some scenes of the aligned split with every explainer: where accuracy sees nothing, maps might."""
    from theodolite.grid.explainers import CoreReader
    from theodolite.grid.explaining import INSTRUMENT as EXPLAIN
    from theodolite.grid.explaining import ExplainMeasurer, ExplainPlan, explain_factory, plan_explanations
    from theodolite.grid.readouts import EXPLAINERS

    folder = _made(study.folder("grid-explained"), partial(_write_explained, study))
    wanted = tuple(name for name in EXPLAINERS if gives == "gradients" or not name.startswith("relevance:"))
    plan = ExplainPlan(str(folder.absolute()), wanted, study.size.budget, pool=8, seed=study.seed)
    return Part(
        "grid-explained",
        "grid",
        EXPLAIN,
        plan.as_json(),
        partial(_planned, partial(plan_explanations, plan)),
        lambda model: ExplainMeasurer(CoreReader(cast("Any", model)), plan),
        partial(explain_factory, plan=plan),
    )


def _write_explained(study: Study, folder: Path) -> None:
    """Sparse scenes of the relational buckets of depth one, where the shortcut is right."""
    from theodolite.grid import BUCKETS

    keys = tuple(bucket.key for bucket in BUCKETS if bucket.depth == 1 and bucket.is_relational)
    _write_grids(study, keys, study.size.explained, folder, mode="spur")


def _write_grids(
    study: Study, keys: tuple[str, ...], n: int, folder: Path, *, mode: Literal["pure", "spur"] = "pure"
) -> None:
    """Sparse scenes of some buckets, from the test split, apart from those of the main run."""
    from theodolite.grid.data import DatasetPlan, make_dataset, write_dataset

    plan = DatasetPlan(mode, n, study.seed + 1, densities=("sparse",), buckets=keys, split="test")
    write_dataset(make_dataset(plan), folder)


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

    folders = {}
    for folder, split, n, seed in story_sets(study):
        study.makers.wait(folder)
        folders[split] = _made(folder, partial(write_stories, split=split, n=n, seed=seed))
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


def story_sets(study: Study) -> list[tuple[Path, str, int, int]]:
    """Folder, split, episodes of each world and seed of every set of stories."""
    size = study.size
    return [(study.folder(f"trace-{split}"), split, size.episodes, study.seed) for split in SPLITS]


def _made(folder: Path, make: Callable[[Path], Any]) -> Path:
    """The folder with its data, made if it is not there yet.

    Raises:
        StorageError: there is no room for it.
    """
    from theodolite.twins.measuring import made

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
