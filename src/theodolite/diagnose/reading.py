"""Reading runs: readings, rows, counts, and the signatures that need the run itself. No model is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from theodolite import stats
from theodolite.core.scores import Reading, Readout
from theodolite.diagnose import signatures
from theodolite.diagnose.items import ItemRow
from theodolite.diagnose.record import Counts, InstrumentName, SignatureForm
from theodolite.diagnose.rows import Home, Values, rounded
from theodolite.diagnose.study import ALIGNED, SPLITS
from theodolite.diagnose.table import ReadingTable
from theodolite.runs import Run
from theodolite.twins import measuring

_EXPLAINED = "grid-explain"


def readouts_of(instrument: InstrumentName) -> tuple[Readout, ...]:
    """The readouts of an instrument."""
    return _modules(instrument)[0]


def readings_of(instrument: InstrumentName, folders: Sequence[Path]) -> list[Reading]:
    """All readings of the runs of an instrument.

    The splits of scenes have the same rooms and differ in the questions: what is read off a room's graph alone counts once,
    under the first split.
    """
    read = _modules(instrument)[1]
    found: list[Reading] = []
    for folder in folders:
        with Run.open(folder) as run:
            found += read(run)
    return _once_a_room(found) if instrument == "scene" else found


def _once_a_room(readings: Sequence[Reading]) -> list[Reading]:
    from theodolite.instruments.scene.readouts import GRAPH_READOUTS

    first, *others = SPLITS
    read = {r.readout for r in readings if r.split == first} & GRAPH_READOUTS
    return [r for r in readings if not (r.readout in read and r.split in others)]


def rows_of(
    instrument: InstrumentName, folders: Sequence[Path], home: Home, readings: Sequence[Reading]
) -> Iterator[ItemRow]:
    """The rows of the runs of an instrument, one run after the other."""
    for folder in folders:
        with Run.open(folder) as run:
            yield from rows_of_run(instrument, run, home, readings)


def rows_of_run(
    instrument: InstrumentName, run: Run, home: Home, readings: Sequence[Reading]
) -> list[ItemRow]:
    """The rows of one open run."""
    if run.info.instrument == _EXPLAINED:
        return _explained_rows(run, home, _by_item(readings))
    return list(_rows(instrument)(run, home, _by_item(readings)))


def _explained_rows(run: Run, home: Home, values: Values) -> list[ItemRow]:
    """Explained grids with the maps of every explainer."""
    from theodolite.diagnose.browse import browse

    return [
        row.model_copy(
            update={
                "condition": "explained",
                "split": ALIGNED,
                "values": rounded(values.get((row.id, ALIGNED), {})),
            }
        )
        for row in browse(run, home.picture).rows
    ]


def counts_of(folders: Sequence[Path], unreadable: int) -> Counts:
    """What became of the items of some runs."""
    total: Counter[str] = Counter()
    for folder in folders:
        with Run.open(folder) as run:
            tally = run.tally()
        total.update(
            planned=tally.planned, answered=tally.answered, refused=tally.refused, failed=tally.failed
        )
    return Counts(
        planned=total["planned"],
        answered=total["answered"],
        refused=total["refused"],
        failed=total["failed"],
        pending=total["planned"] - total["answered"] - total["refused"] - total["failed"],
        unreadable=unreadable,
    )


def chance_of(instrument: InstrumentName, folders: Sequence[Path]) -> float | None:
    """How often a blind choice is right on the aligned split: the mean of 1/(number of options) over its unchanged items.

    None where the items offer no options, as those of scenes do not.
    """
    numbers: list[int] = []
    for folder in folders:
        with Run.open(folder) as run:
            numbers += _stories_options(run) if instrument == "trace" else _items_options(run)
    offered = [number for number in numbers if number]
    return sum(1 / number for number in offered) / len(offered) if offered else None


def _items_options(run: Run) -> list[int]:
    return [
        len(result.item.options)
        for result in run.results()
        if (result.item.meta.get("split"), result.item.meta.get("condition")) == (ALIGNED, "plain")
    ]


def _stories_options(run: Run) -> list[int]:
    from theodolite.instruments.trace.data.dataset import read_episodes

    data = Path(str(run.info.settings.get("data", "")))
    if run.info.settings.get("split") != ALIGNED or not data.exists():
        return []
    return [len(episode.options) for episode in read_episodes(data).episodes if episode.edit is None]


def seconds_of(folders: Sequence[Path]) -> float:
    """Time spent waiting for the model."""
    total = 0.0
    for folder in folders:
        with Run.open(folder) as run:
            total += sum(result.record.response.seconds for result in run.results() if result.record)
    return total


def signatures_of(
    instrument: InstrumentName,
    folders: Sequence[Path],
    model: str,
    *,
    home: Home,
    readings: Sequence[Reading],
    seed: int,
) -> list[SignatureForm]:
    """The signatures that are read off runs, not off readings: those of scenes and of traces."""
    if instrument == "scene":
        return [found for folder in folders for found in _of_scenes(folder, model, seed)]
    if instrument == "trace":
        return _of_traces(folders, model, home, readings=readings, seed=seed)
    return []


def _of_scenes(folder: Path, model: str, seed: int) -> list[SignatureForm]:
    from theodolite.instruments.scene.results import read_rows
    from theodolite.instruments.scene.score import ScoreOptions, score_rows

    with Run.open(folder) as run:
        if run.info.instrument != "scene" or run.info.settings.get("split") != ALIGNED:
            return []
        score = score_rows(read_rows(run), ScoreOptions(seed=seed))
    return [
        signatures.scene_signature(
            found.name,
            model,
            numbers=found.numbers,
            because=found.because,
            standing=found.standing,
            test=found.test,
        )
        for found in score.signatures
    ]


def _of_traces(
    folders: Sequence[Path], model: str, home: Home, *, readings: Sequence[Reading], seed: int
) -> list[SignatureForm]:
    from theodolite.diagnose.rows_trace import judged_traces
    from theodolite.instruments.trace.formulas.sgr import grounding

    judged = []
    for folder in folders:
        with Run.open(folder) as run:
            judged += [
                trace
                for result, episode, trace in judged_traces(run, home)
                if trace is not None and episode.edit is None and result.item.meta["wording"] == "original"
            ]
    decline = grounding(judged, seed=seed).decline if judged else None
    blind = signatures.pooled(ReadingTable.of({model: readings}), model, "trace.blind_changes", seed=seed)
    return signatures.trace_signatures(
        model, decline=decline, test=_fall_test(judged, seed), blind_changes=blind
    )


def _fall_test(judged: Sequence[object], seed: int) -> stats.HypothesisTest | None:
    """Whether the grounding of steps falls with their number, by a sign flip of each trace's first and last step."""
    from theodolite.instruments.trace.formulas.sgr import step_grounding
    from theodolite.instruments.trace.verifiers.judging import JudgedTrace

    first, last, units = [], [], []
    for trace in judged:
        if isinstance(trace, JudgedTrace) and len(trace.steps) > 1:
            ends = step_grounding(trace.steps[0]), step_grounding(trace.steps[-1])
            if ends[0] is not None and ends[1] is not None:
                first.append(ends[0])
                last.append(ends[1])
                units.append(trace.unit)
    if len(set(units)) < 2:
        return None
    return stats.sign_flip_test(first, last, clusters=units, alternative="greater", seed=seed)


def _by_item(readings: Sequence[Reading]) -> Values:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for reading in readings:
        found.setdefault((reading.item, reading.split), {})[reading.readout] = reading.value
    return found


def _modules(instrument: InstrumentName) -> tuple[tuple[Readout, ...], Callable[[Run], list[Reading]]]:
    """What is read and what reads it; of grids the questions with several anchors too."""
    readouts, read = measuring.readouts_of(instrument), measuring.reader_of(instrument)
    if instrument != "grid":
        return readouts, read
    from theodolite.instruments.grid.experiments import anchors

    def read_grid(run: Run) -> list[Reading]:
        return anchors.readings(run) if run.info.instrument == anchors.INSTRUMENT else read(run)

    return (*readouts, *anchors.READOUTS), read_grid


def _rows(instrument: InstrumentName) -> Callable[[Run, Home, Values], Iterator[ItemRow]]:
    if instrument == "compass":
        from theodolite.diagnose.rows_compass import compass_rows

        return compass_rows
    if instrument == "grid":
        from theodolite.diagnose.rows_grid import grid_rows

        return grid_rows
    if instrument == "scene":
        from theodolite.diagnose.rows_scene import scene_rows

        return scene_rows
    from theodolite.diagnose.rows_trace import trace_rows

    return trace_rows
