"""The runs of which every instrument is made, on data that are there: what is planned, and what measures it.

`theodolite.twins.measuring` puts them to the twins, one split at a time, and `theodolite.diagnose` to any model, all splits and
one's own data together.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np

from theodolite.attribution import is_white_box
from theodolite.core.errors import UsageError
from theodolite.core.scores import Need, can
from theodolite.core.types import Item
from theodolite.models import Answering, VisionLanguageModel, ask_factory, ask_measurer, is_choosing
from theodolite.runs import Measurer, MeasurerFactory, Run

if TYPE_CHECKING:
    from theodolite.instruments.compass.data.pairs import Pair
    from theodolite.instruments.scene.data.files import SceneData
    from theodolite.instruments.scene.questions import Settings

__all__ = [
    "INSTRUMENTS",
    "TRACE_TOKENS",
    "Instrument",
    "Part",
    "compass_part",
    "explained_part",
    "gives_of_model",
    "grid_part",
    "made",
    "scene_parts",
    "trace_part",
    "write_explained",
    "write_grids",
    "write_stories",
]

Instrument: TypeAlias = Literal["compass", "grid", "scene", "trace"]
INSTRUMENTS: tuple[Instrument, ...] = get_args(Instrument)

TRACE_TOKENS = 320
"""The longest trace: four frames in a few short sentences each."""
_POOL = 8
"""Pictures that stand in for what an explainer takes away."""


@dataclass(frozen=True, slots=True)
class Part:
    """One run: its plan, and what measures it."""

    name: str
    """The folder below the model's own."""
    instrument: Instrument
    kind: str
    """The instrument as the run has it, such as ``grid-behaviour``."""
    settings: Mapping[str, Any]
    items: Callable[[Run], Iterable[Item]]
    """The plan as far as it is known from what the run holds."""
    measurer: Callable[[VisionLanguageModel], Measurer]
    """What measures it, of a model that is open."""
    factory: Callable[[str], MeasurerFactory]
    """The same for workers elsewhere, of a model's name."""


def gives_of_model(model: VisionLanguageModel) -> Need:
    """Whether a model gives text alone, the log-probabilities of options, or gradients."""
    if is_white_box(model):
        return "gradients"
    return "choices" if is_choosing(model) else "text"


def compass_part(
    name: str,
    pairs: Mapping[str, Callable[[], Sequence[Pair]]],
    *,
    gives: Need,
    settings: Mapping[str, Any],
    whole: Iterable[str] | None = None,
) -> Part:
    """Pairs by split.

    Args:
        name: of the run.
        pairs: by split, made when the run is planned.
        gives: what the model gives.
        settings: what the run says of itself.
        whole: the splits in which parts are hidden too, which costs eighteen answers a pair; all if not given.
    """
    from theodolite.instruments.compass.readouts import ReadingMeasurer, plan_readings, readings_factory

    shown = set(pairs) if whole is None else set(whole)

    def plan(_: Run) -> Iterator[Item]:
        for split, make in pairs.items():
            yield from plan_readings(make(), gives=gives if split in shown else "text", split=split)

    return Part(
        name,
        "compass",
        "compass",
        {**settings, "gives": gives},
        plan,
        lambda model: ReadingMeasurer(model, gives),
        partial(readings_factory, gives=gives),
    )


def grid_part(name: str, folders: Mapping[str, Path], *, gives: Need, seed: int) -> Part:
    """The relational scenes of grids, as they are and changed, by split."""
    from theodolite.instruments.grid.readouts import INSTRUMENT

    def plan(_: Run) -> Iterator[Item]:
        for split, folder in folders.items():
            yield from _grid_items(folder, split, seed)

    answering: Answering = "choose" if can(gives, "choices") else "write"
    return Part(
        name,
        "grid",
        INSTRUMENT,
        {"data": {split: str(folder.absolute()) for split, folder in folders.items()}, "gives": gives},
        plan,
        partial(ask_measurer, answering=answering),
        partial(ask_factory, answering=answering),
    )


def _grid_items(folder: Path, split: str, seed: int) -> Iterator[Item]:
    from theodolite.instruments.grid.data.world import BUCKETS
    from theodolite.instruments.grid.questions import ExplainPlan, prepare
    from theodolite.instruments.grid.readouts import plan_readings

    data = prepare(ExplainPlan(str(folder), ()))
    rows = [row for row in data.chosen.tolist() if BUCKETS[int(data.batch.bucket[row])].is_relational]
    if not rows:
        raise UsageError(f"{folder} has no scene with a relation; make some of depth one or more")
    names = [f"{split}/{data.names[row]}" for row in rows]
    yield from plan_readings(data.batch.take(np.array(rows)), names, split=split, seed=seed)


def explained_part(name: str, folder: Path, *, gives: Need, budget: int, seed: int) -> Part:
    """Grids with every explainer that the model allows; `budget` is of model calls for each, all explainers together."""
    from theodolite.instruments.grid.explainers.readers import CoreReader
    from theodolite.instruments.grid.measure import ExplainMeasurer, explain_factory
    from theodolite.instruments.grid.questions import ExplainPlan
    from theodolite.instruments.grid.questions import plan_explanations as explanations
    from theodolite.instruments.grid.readouts import EXPLAINERS, needs_gradients
    from theodolite.instruments.grid.stored import INSTRUMENT

    wanted = tuple(name for name in EXPLAINERS if gives == "gradients" or not needs_gradients(name))
    plan = ExplainPlan(str(folder.absolute()), wanted, budget, pool=_POOL, seed=seed)
    return Part(
        name,
        "grid",
        INSTRUMENT,
        plan.as_json(),
        lambda _: explanations(plan),
        lambda model: ExplainMeasurer(CoreReader(cast("Any", model)), plan),
        partial(explain_factory, plan=plan),
    )


def scene_parts(
    names: tuple[str, str], folder: Path, *, split: str, settings: Sequence[str], seed: int
) -> Iterator[Part]:
    """Questions and graphs of scenes, and the same with another scene's picture.

    Args:
        names: of the two runs.
        folder: of the scenes.
        split: of the questions.
        settings: in which questions are asked; graphs are asked for with the picture and without.
        seed: of which other scene.
    """
    from theodolite.instruments.scene.data.files import read_data
    from theodolite.instruments.scene.questions import Settings
    from theodolite.instruments.scene.readouts import PICTURES, plan_pictures

    data = read_data(folder)
    asked = Settings(qa=cast("Any", tuple(settings)))
    about = {"data": str(folder.absolute()), "split": split}
    yield Part(
        names[0],
        "scene",
        "scene",
        {**about, "settings": [*settings, "graphs"]},
        partial(_scene_items, data, asked),
        ask_measurer,
        ask_factory,
    )
    yield Part(
        names[1],
        "scene",
        PICTURES,
        about,
        lambda _: plan_pictures(data, seed=seed),
        ask_measurer,
        ask_factory,
    )


def _scene_items(data: SceneData, settings: Settings, run: Run) -> Iterator[Item]:
    """The plan of a scene run: it grows when the model has given its graphs."""
    from theodolite.instruments.scene.plan_rounds import run_items

    return run_items(data, settings, ((result.item, result.record) for result in run.results()))


def trace_part(name: str, folder: Path, *, split: str) -> Part:
    """Episodes, their edits among them, and each once more without its frames."""
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.readouts import plan_readings

    episodes = read_episodes(folder).episodes
    return Part(
        name,
        "trace",
        "trace",
        {"data": str(folder.absolute()), "split": split, "max_tokens": TRACE_TOKENS},
        lambda _: plan_readings(episodes, max_tokens=TRACE_TOKENS),
        ask_measurer,
        ask_factory,
    )


def write_explained(folder: Path, n: int, *, seed: int, split: str = "aligned") -> None:
    """Sparse scenes to be explained: the relational buckets of depth one, where the shortcut is right or where it is not."""
    from theodolite.instruments.grid.data.world import BUCKETS

    keys = tuple(bucket.key for bucket in BUCKETS if bucket.depth == 1 and bucket.is_relational)
    write_grids(folder, n, seed=seed, buckets=keys, mode="spur" if split == "aligned" else "pure")


def write_grids(
    folder: Path, n: int, *, seed: int, buckets: tuple[str, ...], mode: Literal["pure", "spur"] = "pure"
) -> None:
    """Sparse scenes of some buckets, `n` of each, from the test split, apart from those of the main run."""
    from theodolite.instruments.grid.data.dataset import DatasetPlan, make_dataset
    from theodolite.instruments.grid.data.files import write_dataset

    plan = DatasetPlan(mode, n, seed + 1, densities=("sparse",), buckets=buckets, split="test")
    write_dataset(make_dataset(plan), folder)


def write_stories(folder: Path, split: str, n: int, seed: int) -> None:
    """Episodes of all worlds, `n` of each, with every edit that is to be had of them."""
    from theodolite.instruments.trace.data.dataset import write_episodes
    from theodolite.twins.data import episodes
    from theodolite.twins.edits import with_edits

    drawn = episodes(n, seed=seed, split=cast("Any", split))
    write_episodes(with_edits(drawn, seed=seed), folder)


def made(folder: Path, make: Callable[[Path], object]) -> Path:
    """The folder with its data, made if it is not there; what was left half made is made anew."""
    if not folder.exists():
        draft = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(draft, ignore_errors=True)
        draft.parent.mkdir(parents=True, exist_ok=True)
        make(draft)
        draft.replace(folder)
    return folder
