"""The twins' sets put to any model, instrument by instrument, into runs that resume; and what the runs read.

data/<set>                       made once, for all models
runs/<model>/<instrument>…       one folder a run
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from theodolite import __version__
from theodolite.core.errors import UsageError
from theodolite.core.scores import Need, Reading, Readout, can
from theodolite.models import open_model
from theodolite.runs import AnswerCache, LocalEngine, MeasureOptions, Run, RunInfo, Tally, measure
from theodolite.twins.data import Split
from theodolite.twins.parts import (
    INSTRUMENTS,
    Instrument,
    Part,
    compass_part,
    explained_part,
    gives_of_model,
    grid_part,
    made,
    scene_parts,
    trace_part,
    write_explained,
    write_stories,
)

__all__ = [
    "INSTRUMENTS",
    "Instrument",
    "Lab",
    "Sizes",
    "gives_of",
    "kept_readings",
    "measure_part",
    "parts_of",
    "reader_of",
    "readings_of",
    "readouts_of",
    "slug",
]


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


def gives_of(model: str) -> Need:
    """What a model gives: gradients, log-probabilities of options, or words alone."""
    with closing(open_model(model)) as opened:
        return gives_of_model(opened)


def slug(name: str) -> str:
    """A model's name as the name of a folder.

    >>> slug("hf:models/tiny?dtype=float32")
    'hf-models-tiny-dtype-float32'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def readouts_of(instrument: Instrument) -> tuple[Readout, ...]:
    """Every readout of an instrument."""
    if instrument not in INSTRUMENTS:
        raise UsageError(f"there is no instrument {instrument!r}; there are {', '.join(INSTRUMENTS)}")
    readouts: tuple[Readout, ...] = import_module(f"theodolite.instruments.{instrument}.readouts").READOUTS
    return readouts


def readings_of(model: str, instrument: Instrument, lab: Lab, *, gives: Need | None = None) -> list[Reading]:
    """Measures what is pending, and reads every run of one instrument.

    Args:
        model: its name.
        instrument: which.
        lab: where, and how much.
        gives: what the model gives; found out if not given.
    """
    found: list[Reading] = []
    for part in parts_of(instrument, lab, gives=gives or gives_of(model)):
        with measure_part(model, part, lab) as run:
            found += reader_of(instrument)(run)
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
            found += reader_of(instrument)(run)
    return found


def reader_of(instrument: Instrument) -> Callable[[Run], list[Reading]]:
    """What reads the runs of an instrument."""
    reader: Callable[[Run], list[Reading]] = import_module(f"theodolite.instruments.{instrument}.readouts").readings
    return reader


def measure_part(model: str, part: Part, lab: Lab) -> Run:
    """Starts a run or takes it up, and measures what is pending. The run is open for reading when it comes back."""
    folder = lab.runs(model) / part.name
    progress = None
    if lab.progress is not None:
        progress = partial(lab.progress, f"{model} {part.name}")
    with (
        closing(LocalEngine(part.factory(model)())) as engine,
        Run.start(
            folder,
            RunInfo(
                instrument=part.kind,
                model=model,
                identity=engine.identity,
                settings=dict(part.settings),
                seed=lab.seed,
                theodolite=__version__,
            ),
        ) as run,
        AnswerCache(lab.home / "answers") as cache,
    ):
        run.plan(part.items(run), whole=True)
        measure(run, engine, MeasureOptions(cache=cache, progress=progress))
    return Run.open(folder)


def parts_of(instrument: Instrument, lab: Lab, *, gives: Need) -> Iterator[Part]:
    """The runs of one instrument, with their data made where they are not there yet."""
    parts: dict[Instrument, Callable[[Lab, Need], Iterator[Part]]] = {
        "compass": _compass,
        "grid": _grid,
        "scene": _scene,
        "trace": _trace,
    }
    yield from parts[instrument](lab, gives)


def _compass(lab: Lab, gives: Need) -> Iterator[Part]:
    from theodolite.twins.data import relation_pairs

    pairs = partial(relation_pairs, lab.sizes.pairs, seed=lab.seed, split=lab.split)
    settings = {"n": lab.sizes.pairs, "split": lab.split}
    yield compass_part(f"compass-{lab.split}", {lab.split: pairs}, gives=gives, settings=settings)


def _grid(lab: Lab, gives: Need) -> Iterator[Part]:
    from theodolite.twins.data import grid_data

    sizes = lab.sizes
    folder = made(
        _folder("grid", lab, sizes.grids), partial(grid_data, n=sizes.grids, seed=lab.seed, split=lab.split)
    )
    yield grid_part(f"grid-{lab.split}", {lab.split: folder}, gives=gives, seed=lab.seed)
    if can(gives, "choices"):
        folder = made(
            _folder("explained", lab, sizes.explained),
            partial(write_explained, n=sizes.explained, seed=lab.seed, split=lab.split),
        )
        yield explained_part(
            f"grid-explained-{lab.split}", folder, gives=gives, budget=sizes.budget, seed=lab.seed
        )


def _scene(lab: Lab, _: Need) -> Iterator[Part]:
    from theodolite.twins.data import scene_data

    n = lab.sizes.rooms
    folder = made(_folder("scene", lab, n), partial(scene_data, n=n, seed=lab.seed, split=lab.split))
    yield from scene_parts(
        (f"scene-{lab.split}", f"scene-pictures-{lab.split}"),
        folder,
        split=lab.split,
        settings=("base", "blind"),
        seed=lab.seed,
    )


def _trace(lab: Lab, _: Need) -> Iterator[Part]:
    n = lab.sizes.episodes
    folder = made(_folder("trace", lab, n), partial(write_stories, split=lab.split, n=n, seed=lab.seed))
    yield trace_part(f"trace-{lab.split}", folder, split=lab.split)


def _folder(name: str, lab: Lab, n: int) -> Path:
    """A place for made data. Its name says all that decides what is in it."""
    return lab.home / "data" / f"{name}-{lab.split}-{n}-{lab.seed}"


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
            for part in parts_of(instrument, lab, gives=gives):
                with measure_part(model, part, lab) as run:
                    print(f"{model} {part.name}: {run.tally()}", flush=True)  # noqa: T201 - a bare command


if __name__ == "__main__":
    main()
