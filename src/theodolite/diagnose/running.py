"""Run a diagnosis: measure and score all models, and write ``diagnosis.json``, ``items.jsonl`` and ``pairs.jsonl``.

A line of ``items.jsonl`` has everything that a page needs to show one item, except the pictures, which are files in
the same folder.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from theodolite import __version__
from theodolite.core.errors import MissingExtraError, UnsupportedError, UsageError
from theodolite.core.files import check, lines_of, parse_json
from theodolite.core.scores import ItemScore
from theodolite.core.types import Picture
from theodolite.core.views import ItemRow, PairRow
from theodolite.diagnose.assemble import Measured, Question, Subject, assemble
from theodolite.diagnose.background_data import Makers, make_in_background
from theodolite.diagnose.pair_verdicts import pair_rows
from theodolite.diagnose.record import Counts, Diagnosis, Status, write_diagnosis
from theodolite.diagnose.request import CACHE, DiagnosisRequest, Opened, check_models, left_out, opened
from theodolite.diagnose.separation import ScoreColumn, items_hash, read_calibration, shipped_path
from theodolite.instruments.instrument import Instrument, item_rows, pairs_of_runs, score_runs
from theodolite.models import open_model
from theodolite.pairs import AnsweredPair, Standing
from theodolite.runs import AsyncMeasurer, Run, RunSettings, Tally, measure_run, write_atomically

__all__ = [
    "PictureStore",
    "run_diagnosis",
    "unscored_columns",
]


ITEMS_FILE = "items.jsonl"
PAIRS_FILE = "pairs.jsonl"
_Row = TypeVar("_Row", ItemRow, PairRow)


def write_items(rows: Iterable[ItemRow], folder: Path) -> Path:
    """Write ``items.jsonl`` into a folder, atomically.

    Returns:
        The path of the file.
    """
    return _write_rows(rows, folder / ITEMS_FILE)


def read_items(folder: str | Path) -> Iterator[ItemRow]:
    """Yield the rows of ``items.jsonl`` in a folder.

    Raises:
        UsageError: If there is none, or if a line is not valid.
    """
    return _read_rows(ItemRow, Path(folder) / ITEMS_FILE)


def write_pairs(rows: Iterable[PairRow], folder: Path) -> Path:
    """Write ``pairs.jsonl`` into a folder, atomically.

    Returns:
        The path of the file.
    """
    return _write_rows(rows, folder / PAIRS_FILE)


def read_pairs(folder: str | Path) -> Iterator[PairRow]:
    """Yield the rows of ``pairs.jsonl`` in a folder.

    Raises:
        UsageError: If there is none, or if a line is not valid.
    """
    return _read_rows(PairRow, Path(folder) / PAIRS_FILE)


def _write_rows(rows: Iterable[_Row], path: Path) -> Path:
    write_atomically(path, (row.model_dump_json(exclude_defaults=True) + "\n" for row in rows))
    return path


def _read_rows(kind: type[_Row], path: Path) -> Iterator[_Row]:
    for where, line in lines_of(path):
        try:
            yield check(kind, parse_json(line))
        except (UsageError, ValueError) as error:
            raise UsageError(f"{path.parent / where}: {error}") from error


# Store each picture of a diagnosis once: files with the same content become hard links to one file.


_KINDS = {".png", ".jpg", ".jpeg", ".webp", ".gif"}


def dedupe_images(folder: Path) -> int:
    """Replace pictures with the same content below a folder by hard links to one of them.

    Every run has its own copy of the pictures that its model was shown, and so has the report. If the file system
    has no hard links, the copies stay.

    Returns:
        The number of bytes freed.
    """
    by_size: defaultdict[int, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.suffix in _KINDS and path.is_file() and not path.is_symlink():
            by_size[path.stat().st_size].append(path)
    freed = 0
    for size, paths in by_size.items():
        first: dict[bytes, Path] = {}
        for path in paths if len(paths) > 1 else ():
            kept = first.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
            if not kept.samefile(path) and _replaced(path, kept):
                freed += size
    return freed


def _replaced(path: Path, kept: Path) -> bool:
    """Replace a file by a hard link to `kept`. Return False if that failed. The file exists at all times."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)
        beside.hardlink_to(kept)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        return False
    return True


# Run a diagnosis: plan, measure, score, assemble, write.


_BATCHES_IN_FLIGHT = 8
"""Batches that are measured at a time, since requests of different lengths cannot share one."""


@dataclass(frozen=True, slots=True)
class _MeasuredModel:
    """The runs of one model, before they are scored."""

    subject: Subject
    folders: Mapping[str, list[Path]]
    """The run folders, by instrument."""
    left_out: Mapping[str, str]
    """Why an instrument was left out."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The results of one model."""

    subject: Subject
    measured: list[Measured]
    folders: Mapping[str, list[Path]]
    """The run folders, by instrument."""
    rows: list[ItemRow]


def run_diagnosis(request: DiagnosisRequest) -> Diagnosis:
    """Measure and score all models, and write ``diagnosis.json``, ``items.jsonl`` and ``pairs.jsonl``."""
    check_models(
        name for name in request.models[1:] if name not in request.given
    )  # the first is opened right away
    for name in request.models:
        for instrument in request.instruments:
            request.progress(name, instrument.name, "waiting")
    slow = [instrument for instrument in request.instruments if instrument.makes_data_slowly]
    study = replace(request.study(slow[0]), data=None) if slow else None
    with make_in_background(slow if study else (), study) as makers:  # type: ignore[arg-type]  # unused if None
        outcomes = [_score_model(request, measure_model(request, name, makers)) for name in request.models]
        outcomes += _diagnose_recorded(request)
        calibration = _calibration(request, outcomes, makers)
    question = Question(
        seed=request.seed,
        size=str(request.size),
        data=request.described(),
        version=__version__,
        settings=request.settings(),
        references=tuple(
            reference for instrument in request.instruments for reference in instrument.references()
        ),
        twins=request.twins,
    )
    measured = [each for outcome in outcomes for each in outcome.measured]
    diagnosis = assemble(
        question,
        [outcome.subject for outcome in outcomes],
        request.instruments,
        measured,
        calibration,
    )
    write_items((row for outcome in outcomes for row in outcome.rows), request.folder)
    write_pairs(
        (row for each in measured for row in pair_rows(each.model, each.instrument, each.pairs)),
        request.folder,
    )
    write_diagnosis(diagnosis, request.folder)
    dedupe_images(request.folder)
    return diagnosis


def measure_model(request: DiagnosisRequest, name: str, makers: Makers | None = None) -> _MeasuredModel:
    """Measure one model with all instruments. It is opened once.

    Args:
        request: The request for the diagnosis.
        name: The name of the model.
        makers: Processes that make data in the background, to wait for.
    """
    with opened(name, request.given) as model:
        folders: dict[str, list[Path]] = {}
        why: dict[str, str] = {}
        for instrument in request.instruments:
            try:
                folders[instrument.name] = _measure(request, model, instrument, makers)
            except (UnsupportedError, MissingExtraError) as error:
                why[instrument.name] = str(error)
                request.progress(name, instrument.name, "left out")
        subject = Subject(
            name,
            model.identity,
            model.capabilities,
            left_out(
                (instrument for instrument in request.instruments if instrument.name not in why),
                model.gives,
                name,
            ),
            is_twin=name in tuple(request.twins),
        )
    return _MeasuredModel(subject, folders, why)


def _score_model(request: DiagnosisRequest, model: _MeasuredModel) -> _Outcome:
    """Score one model with all instruments."""
    name = model.subject.name
    measured, rows = [], []
    for instrument in request.instruments:
        if instrument.name in model.left_out:
            measured.append(Measured(name, instrument.name, "left out", model.left_out[instrument.name]))
            continue
        result, shown = _score(request, model.subject, instrument, model.folders[instrument.name])
        measured.append(result)
        rows += shown
    return _Outcome(model.subject, measured, model.folders, rows)


def _diagnose_recorded(request: DiagnosisRequest) -> list[_Outcome]:
    """Score models whose answers are part of the user's data, each with one instrument."""
    outcomes = []
    for instrument in request.instruments:
        own = request.study(instrument).data
        for model in instrument.recorded_models(own) if own is not None else ():
            folder = request.run_folder(model.name, f"{instrument.name}-own-data")
            model.write_run(folder, request.seed)
            subject = Subject(model.name, model.identity, ("text",), is_recorded=True)
            result, rows = _score(request, subject, instrument, [folder])
            others = [
                Measured(
                    model.name, other.name, "left out", f"only answers for {instrument.name} were recorded"
                )
                for other in request.instruments
                if other is not instrument
            ]
            outcomes.append(_Outcome(subject, [*others, result], {instrument.name: [folder]}, rows))
    return outcomes


def _measure(
    request: DiagnosisRequest, model: Opened, instrument: Instrument, makers: Makers | None
) -> list[Path]:
    """Measure all runs of an instrument. A request that occurs in several runs is sent once."""
    request.progress(model.name, instrument.name, "making data")
    if makers is not None:
        makers.wait(instrument)
    done = Tally()
    folders = []
    for plan in list(instrument.plan(request.study(instrument), model.gives)):
        before, folder = done, request.run_folder(model.name, plan.name)
        how = replace(request.options, cache=request.folder / CACHE)
        if how.engine == "local":
            measurer = plan.measurer(model.model)
            if how.workers is None and not isinstance(measurer, AsyncMeasurer):
                how = replace(
                    how, workers=max(measurer.batch_size, model.model.batch_size * _BATCHES_IN_FLIGHT)
                )
        tally = measure_run(
            folder,
            RunSettings(plan.kind, model.name, request.seed, plan.settings),
            plan.items,
            measurer if how.engine == "local" else plan.factory(model.name),
            options=how,
            progress=partial(_add_progress, request, model.name, instrument.name, before),
        )
        done = before + tally
        folders.append(folder)
    return folders


def _add_progress(
    request: DiagnosisRequest, model: str, instrument: str, before: Tally, tally: Tally
) -> None:
    request.progress(model, instrument, before + tally)


def _score(
    request: DiagnosisRequest, subject: Subject, instrument: Instrument, folders: Sequence[Path]
) -> tuple[Measured, list[ItemRow]]:
    """Score the runs of one model and instrument."""
    request.progress(subject.name, instrument.name, "scoring")
    scores = score_runs(instrument, folders)
    store = PictureStore(request.folder)
    rows: list[ItemRow] = []
    for folder in folders:
        with Run.open(folder) as run:
            rows += item_rows(instrument, run, store.place, scores)
    counts, seconds = _counts(folders, rows)
    missing = [reason for reason in subject.left_out if reason.instrument == instrument.name]
    scored = [score for score in scores if score.value is not None]
    status: Status = "measured"
    because = ""
    if not scored:
        status, because = "failed", _why_failed(rows, counts.planned)
    elif missing:
        status, because = "partly measured", "; ".join(reason.what for reason in missing)
    has_answers = counts.answered + counts.refused > 0
    pairs = tuple(pairs_of_runs(instrument, folders)) if has_answers else ()
    measured = Measured(
        subject.name,
        instrument.name,
        status,
        because,
        counts=counts,
        runs=tuple(folder.relative_to(request.folder).as_posix() for folder in folders),
        seconds=seconds,
        scores=tuple(scored),
        unscored=unscored_columns(scores),
        signatures=tuple(instrument.signatures(folders, scored, seed=request.seed) if scored else ()),
        pairs=pairs,
        rows=tuple(rows),
        judged=_judged(instrument, folders, pairs) if has_answers else None,
        unused=instrument.unused(request.study(instrument)) if request.study(instrument).data else {},
    )
    request.progress(subject.name, instrument.name, "done")
    return measured, rows


def unscored_columns(scores: Iterable[ItemScore]) -> dict[ScoreColumn, str]:
    """Return the metrics on splits where no item has a value, each with its most frequent reason."""
    reasons: dict[ScoreColumn, Counter[str]] = {}
    for score in scores:
        counter = reasons.setdefault((score.metric, score.split), Counter())
        counter[score.reason if score.value is None else ""] += 1
    return {column: counter.most_common(1)[0][0] for column, counter in reasons.items() if not counter[""]}


def _judged(
    instrument: Instrument, folders: Sequence[Path], pairs: Sequence[AnsweredPair]
) -> tuple[Standing, str] | None:
    """Return the verdict of the first run that has one without pairs. None if there are relevant pairs."""
    for folder in () if any(pair.edit.is_relevant for pair in pairs) else folders:
        with Run.open(folder) as run:
            verdict = instrument.judge(run)
        if verdict is not None:
            return verdict
    return None


def _counts(folders: Sequence[Path], rows: Sequence[ItemRow]) -> tuple[Counts, float]:
    """Count the items of runs by outcome, and add up the seconds spent waiting for the model."""
    total: Counter[str] = Counter()
    seconds = 0.0
    for folder in folders:
        with Run.open(folder) as run:
            for result in run.results(with_repeats=True):
                record = result.record
                seconds += record.response.seconds if record else 0.0
                if result.item.truth.repeats:
                    total["repeated"] += record is not None
                else:
                    total.update(["planned", *([record.response.status] if record else [])])
    statuses = Counter(row.status for row in rows)
    in_words = max(statuses["refused"] - total["refused"], 0)
    counts = Counts(
        planned=total["planned"],
        answered=total["answered"],
        refused=total["refused"] + in_words,
        failed=total["failed"],
        pending=total["planned"] - total["answered"] - total["refused"] - total["failed"],
        none_of_these=statuses["none of these"],
        cut_off=statuses["cut off"],
        ambiguous=statuses["ambiguous"],
        unreadable=statuses["unreadable"],
        repeated=total["repeated"],
    )
    return counts, seconds


def _why_failed(rows: Iterable[ItemRow], planned: int) -> str:
    reasons = [row.reason for row in rows if row.reason]
    first = f"; the first reason: {reasons[0]}" if reasons else ""
    return f"none of its {planned} items gave a score{first}"


@dataclass(frozen=True, slots=True)
class PictureStore:
    """The pictures of rows, below one folder, with relative names."""

    folder: Path

    def place(self, picture: Picture) -> str:
        """Return the path of a picture relative to the folder. A picture from elsewhere is copied."""
        folder = self.folder.resolve()
        if picture.path is not None:
            path = Path(os.path.abspath(picture.path))  # noqa: PTH100 - links stay links
            if path.is_relative_to(folder):
                return path.relative_to(folder).as_posix()
        name = f"pictures/{picture.digest}.{picture.media_type.partition('/')[2]}"
        if not (folder / name).exists():
            (folder / "pictures").mkdir(parents=True, exist_ok=True)
            write_atomically(folder / name, picture.read())
        return name


def _calibration(
    request: DiagnosisRequest, outcomes: Sequence[_Outcome], makers: Makers
) -> dict[str, dict[str, Sequence[ItemScore]]]:
    """Return the scores of the twins: from this diagnosis, from the package, or measured now."""
    own = {outcome.subject.name: outcome for outcome in outcomes}
    calibration: dict[str, dict[str, Sequence[ItemScore]]] = {}
    missing: list[Instrument] = []
    for instrument in request.instruments:
        if instrument.needs_data:
            continue  # the twins are not trained for user data
        if all(twin in own for twin in request.twins):
            calibration[instrument.name] = {
                twin: next(m.scores for m in own[twin].measured if m.instrument == instrument.name)
                for twin in request.twins
            }
            continue
        folders = next((o.folders[instrument.name] for o in outcomes if instrument.name in o.folders), None)
        if folders is None:
            continue
        shipped = _shipped(request, instrument, folders)
        if shipped is None:
            missing.append(instrument)
        else:
            calibration[instrument.name] = dict(shipped)
    bare = replace(request, data=())  # the twins are not trained for user data
    for twin in request.twins if missing else ():
        for instrument in missing:
            request.progress(twin, instrument.name, "waiting")
    for twin in request.twins if missing else ():
        with opened(twin) as model:
            for instrument in missing:
                scores = score_runs(instrument, _measure(bare, model, instrument, makers))
                calibration.setdefault(instrument.name, {})[twin] = [s for s in scores if s.value is not None]
                request.progress(twin, instrument.name, "done")
    return calibration


def _shipped(
    request: DiagnosisRequest, instrument: Instrument, folders: Sequence[Path]
) -> dict[str, list[ItemScore]] | None:
    path = shipped_path(instrument.name, request.size, request.seed)
    if not path.is_file():
        return None
    identities = {}
    for twin in request.twins:
        model = open_model(twin)
        identities[twin] = model.identity
        model.close()
    return read_calibration(path, items=items_hash(folders), identities=identities)
