"""The twins' sets put to any model, instrument by instrument, into runs that resume; and what the runs read.

data/<set>                       made once, for all models
runs/<model>/<instrument>…       one folder a run
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from theodolite import __version__
from theodolite.attribution import checkpoint_of
from theodolite.errors import UnsupportedError, UsageError
from theodolite.models import Answering, ask_factory, is_choosing, open_model
from theodolite.readings import Need, Reading, Readout, can
from theodolite.runs import (
    AnswerCache,
    LocalEngine,
    MeasureOptions,
    MeasurerFactory,
    Run,
    RunInfo,
    Tally,
    measure,
)
from theodolite.twins.data import Split
from theodolite.types import Item, Picture

__all__ = [
    "INSTRUMENTS",
    "Instrument",
    "Lab",
    "Planned",
    "Sizes",
    "gives_of",
    "kept_readings",
    "measure_planned",
    "plans_of",
    "readings_of",
    "readouts_of",
    "slug",
]

Instrument: TypeAlias = Literal["compass", "grid", "scene", "trace"]
INSTRUMENTS: tuple[Instrument, ...] = get_args(Instrument)

_TRACE_TOKENS = 320
"""The longest trace: four frames in a few short sentences each."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of each set is asked."""

    pairs: int = 100
    grids: int = 7
    """Scenes of each bucket of depth one at each of two densities."""
    explained: int = 4
    """Scenes of each relational bucket, sparse, that are explained."""
    budget: int = 160
    """Model calls for each explained scene, all explainers together."""
    rooms: int = 60
    episodes: int = 12
    """Of each of the three worlds; each is shown with up to four edits."""

    @classmethod
    def of(cls, n: int) -> Sizes:
        """`n` pictures, and as many scenes and episodes as cost about the same.

        >>> Sizes.of(100) == Sizes()
        True
        """
        if n < 6:
            raise UsageError(f"an instrument needs at least 6 items, not {n}")
        return cls(
            pairs=n,
            grids=max(1, round(0.07 * n)),
            explained=max(2, round(0.04 * n)),
            rooms=max(6, round(0.6 * n)),
            episodes=max(2, round(0.12 * n)),
        )


@dataclass(frozen=True, slots=True)
class Lab:
    """Where data and runs lie, and what is asked."""

    home: Path
    split: Split = "aligned"
    sizes: Sizes = Sizes()
    seed: int = 0
    progress: Callable[[str, Tally], None] | None = None
    """Called with a run's name and how far it is."""

    def runs(self, model: str) -> Path:
        """Where a model's runs lie; options in its name, such as its batch size, make no other model of it."""
        return self.home / "runs" / slug(model.partition("?")[0])


@dataclass(frozen=True, slots=True)
class Planned:
    """One run to be measured."""

    name: str
    instrument: str
    """As the run has it, such as ``grid-behaviour``."""
    settings: dict[str, Any]
    items: Iterable[Item]
    factory: MeasurerFactory


def gives_of(model: str) -> Need:
    """What a model gives: gradients, log-probabilities of options, or words alone."""
    with closing(open_model(model)) as opened:
        try:
            checkpoint_of(opened)
        except UnsupportedError:
            return "choices" if is_choosing(opened) else "text"
        return "gradients"


def slug(name: str) -> str:
    """A model's name as the name of a folder.

    >>> slug("hf:models/tiny?dtype=float32")
    'hf-models-tiny-dtype-float32'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def readouts_of(instrument: Instrument) -> tuple[Readout, ...]:
    """Every readout of an instrument."""
    if instrument == "compass":
        from theodolite.compass.readouts import READOUTS
    elif instrument == "grid":
        from theodolite.grid.readouts import READOUTS
    elif instrument == "scene":
        from theodolite.scene.readouts import READOUTS
    elif instrument == "trace":
        from theodolite.trace.readouts import READOUTS
    else:
        raise UsageError(f"there is no instrument {instrument!r}; there are {', '.join(INSTRUMENTS)}")
    return READOUTS


def readings_of(model: str, instrument: Instrument, lab: Lab, *, gives: Need | None = None) -> list[Reading]:
    """Measures what is pending, and reads every run of one instrument.

    Args:
        model: its name.
        instrument: which.
        lab: where, and how much.
        gives: what the model gives; found out if not given.
    """
    found: list[Reading] = []
    for planned in plans_of(model, instrument, lab, gives=gives or gives_of(model)):
        with measure_planned(model, planned, lab) as run:
            found += _reader(instrument)(run)
    return found


def kept_readings(model: str, instrument: Instrument, lab: Lab) -> list[Reading]:
    """What the runs say that are there already; nothing is asked, and the model is not opened.

    Raises:
        UsageError: there is no run of the instrument.
    """
    names = [path for path in sorted(lab.runs(model).glob(f"{instrument}*-{lab.split}")) if path.is_dir()]
    if not names:
        raise UsageError(
            f"{lab.runs(model)} holds no run of {instrument} on the {lab.split} split; ask first"
        )
    found: list[Reading] = []
    for path in names:
        with Run.open(path) as run:
            found += _reader(instrument)(run)
    return found


def _reader(instrument: Instrument) -> Callable[[Run], list[Reading]]:
    from importlib import import_module

    reader: Callable[[Run], list[Reading]] = import_module(f"theodolite.{instrument}.readouts").readings
    return reader


def measure_planned(model: str, planned: Planned, lab: Lab) -> Run:
    """Starts a run or takes it up, and measures what is pending. The run is open for reading when it comes back."""
    folder = lab.runs(model) / planned.name
    progress = None
    if lab.progress is not None:
        progress = partial(lab.progress, f"{model} {planned.name}")
    with (
        closing(LocalEngine(planned.factory())) as engine,
        Run.start(
            folder,
            RunInfo(
                instrument=planned.instrument,
                model=model,
                identity=engine.identity,
                settings=planned.settings,
                seed=lab.seed,
                theodolite=__version__,
            ),
        ) as run,
        AnswerCache(lab.home / "answers") as cache,
    ):
        run.plan(planned.items, whole=True)
        measure(run, engine, MeasureOptions(cache=cache, progress=progress))
    return Run.open(folder)


def plans_of(model: str, instrument: Instrument, lab: Lab, *, gives: Need) -> Iterator[Planned]:
    """The runs of one instrument, with their data made where they are not there yet."""
    plans: dict[Instrument, Callable[[str, Lab, Need], Iterator[Planned]]] = {
        "compass": _compass,
        "grid": _grid,
        "scene": _scene,
        "trace": _trace,
    }
    yield from plans[instrument](model, lab, gives)


def _compass(model: str, lab: Lab, gives: Need) -> Iterator[Planned]:
    from theodolite.compass.readouts import plan_readings, readings_factory
    from theodolite.twins.data import relation_pairs

    pairs = relation_pairs(lab.sizes.pairs, seed=lab.seed, split=lab.split)
    folder = made(
        lab.home / "data" / _set_name("relation", lab, lab.sizes.pairs),
        lambda place: _write({place / f"{pair.id}.png": pair.picture.read() for pair in pairs}),
    )
    stored = [replace(pair, picture=Picture.from_path(folder / f"{pair.id}.png")) for pair in pairs]
    yield Planned(
        f"compass-{lab.split}",
        "compass",
        {"data": str(folder.absolute()), "gives": gives, "split": lab.split},
        plan_readings(stored, gives=gives, split=lab.split),
        readings_factory(model, gives=gives),
    )


def _grid(model: str, lab: Lab, gives: Need) -> Iterator[Planned]:
    from theodolite.grid import BUCKETS
    from theodolite.grid.explaining import INSTRUMENT as EXPLAIN
    from theodolite.grid.explaining import ExplainPlan, explain_factory, plan_explanations, prepare
    from theodolite.grid.readouts import EXPLAINERS, INSTRUMENT, plan_readings
    from theodolite.twins.data import grid_data

    sizes = lab.sizes
    folder = made(
        lab.home / "data" / _set_name("grid", lab, sizes.grids),
        lambda place: grid_data(place, sizes.grids, seed=lab.seed, split=lab.split),
    )
    data = prepare(ExplainPlan(str(folder), ()))
    rows = [row for row in data.chosen.tolist() if BUCKETS[int(data.batch.bucket[row])].is_relational]
    names = [data.names[row] for row in rows]
    answering: Answering = "choose" if can(gives, "choices") else "write"
    yield Planned(
        f"grid-{lab.split}",
        INSTRUMENT,
        {"data": str(folder.absolute()), "split": lab.split, "answering": answering},
        plan_readings(data.batch.take(np.array(rows)), names, split=lab.split, seed=lab.seed),
        ask_factory(model, answering),
    )
    if not can(gives, "choices"):
        return
    folder = made(
        lab.home / "data" / _set_name("explained", lab, sizes.explained),
        lambda place: _explained_scenes(place, lab),
    )
    wanted = tuple(name for name in EXPLAINERS if gives == "gradients" or not name.startswith("relevance:"))
    plan = ExplainPlan(str(folder.absolute()), wanted, sizes.budget, pool=8, seed=lab.seed)
    yield Planned(
        f"grid-explained-{lab.split}",
        EXPLAIN,
        plan.as_json(),
        list(plan_explanations(plan)),
        explain_factory(model, plan),
    )


def _explained_scenes(folder: Path, lab: Lab) -> Path:
    """Sparse scenes of the relational buckets of depth one, from the test split."""
    from theodolite.grid import BUCKETS
    from theodolite.grid.data import DatasetPlan, make_dataset, write_dataset

    keys = tuple(bucket.key for bucket in BUCKETS if bucket.depth == 1 and bucket.is_relational)
    mode: Literal["pure", "spur"] = "spur" if lab.split == "aligned" else "pure"
    plan = DatasetPlan(
        mode, lab.sizes.explained, lab.seed + 1, densities=("sparse",), buckets=keys, split="test"
    )
    return write_dataset(make_dataset(plan), folder)


def _scene(model: str, lab: Lab, _: Need) -> Iterator[Planned]:
    from theodolite.scene import Settings, plan_scenes, read_data
    from theodolite.scene.readouts import PICTURES, plan_pictures
    from theodolite.twins.data import scene_data

    folder = made(
        lab.home / "data" / _set_name("scene", lab, lab.sizes.rooms),
        lambda place: scene_data(place, lab.sizes.rooms, seed=lab.seed, split=lab.split),
    )
    data = read_data(folder)
    settings = {"data": str(folder.absolute()), "split": lab.split, "settings": ["base", "blind"]}
    plan = Settings(qa=("base", "blind"), graph=("base", "blind"))
    yield Planned(f"scene-{lab.split}", "scene", settings, plan_scenes(data, plan), ask_factory(model))
    items = plan_pictures(data, seed=lab.seed)
    yield Planned(f"scene-pictures-{lab.split}", PICTURES, settings, items, ask_factory(model))


def _trace(model: str, lab: Lab, _: Need) -> Iterator[Planned]:
    from theodolite.trace import read_episodes, write_episodes
    from theodolite.trace.readouts import plan_readings
    from theodolite.twins.data import episodes
    from theodolite.twins.edits import with_edits

    n = lab.sizes.episodes
    folder = made(
        lab.home / "data" / _set_name("trace", lab, n),
        lambda place: write_episodes(
            with_edits(episodes(n, seed=lab.seed, split=lab.split), seed=lab.seed), place
        ),
    )
    items = plan_readings(read_episodes(folder).episodes, max_tokens=_TRACE_TOKENS)
    settings = {"data": str(folder.absolute()), "split": lab.split, "max_tokens": _TRACE_TOKENS}
    yield Planned(f"trace-{lab.split}", "trace", settings, items, ask_factory(model))


def _set_name(name: str, lab: Lab, n: int) -> str:
    return f"{name}-{lab.split}-{n}-{lab.seed}"


def _write(files: Mapping[Path, bytes]) -> None:
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def made(folder: Path, make: Callable[[Path], object]) -> Path:
    """The folder with its data, made if it is not there; what was left half made is made anew."""
    if not folder.exists():
        draft = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(draft, ignore_errors=True)
        draft.parent.mkdir(parents=True, exist_ok=True)
        make(draft)
        draft.replace(folder)
    return folder


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures without reading, where the command line's own libraries are not installed: on a GPU machine, say."""
    import argparse

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--instruments", default=",".join(INSTRUMENTS))
    parser.add_argument("--split", default="aligned")
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    lab = Lab(given.out, given.split, Sizes.of(given.n), given.seed)
    for model in given.model:
        gives = gives_of(model)
        for instrument in given.instruments.split(","):
            for planned in plans_of(model, instrument, lab, gives=gives):
                with measure_planned(model, planned, lab) as run:
                    print(f"{model} {planned.name}: {run.tally()}", flush=True)  # noqa: T201 - a bare command


if __name__ == "__main__":
    main()
