"""One diagnosis from beginning to end: plan, measure, read, assemble, write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from theodolite import __version__
from theodolite.core.errors import MissingExtraError, UnsupportedError
from theodolite.core.scores import Reading
from theodolite.diagnose.assemble import Instrument, Measured, Question, Subject, assemble
from theodolite.diagnose.background_data import making
from theodolite.diagnose.calibration import items_hash, read_calibration, shipped_path
from theodolite.diagnose.dedupe_images import keep_once
from theodolite.diagnose.items import ItemRow, write_items
from theodolite.diagnose.measuring import Opened, check_models, left_out, measure_part, opened
from theodolite.diagnose.parts import PARTS, QUESTIONS, story_sets
from theodolite.diagnose.reading import (
    chance_of,
    counts_of,
    readings_of,
    readouts_of,
    rows_of,
    seconds_of,
    signatures_of,
)
from theodolite.diagnose.record import Diagnosis, InstrumentName, write_diagnosis
from theodolite.diagnose.references import references_of
from theodolite.diagnose.request import CACHE, Order, data_words, settings_of
from theodolite.diagnose.rows import Home
from theodolite.diagnose.trace_logs import logged_models, write_log_run
from theodolite.models import open_model
from theodolite.runs import AnswerCache, Tally
from theodolite.twins.parts import Part


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What measuring one model gave."""

    subject: Subject
    measured: list[Measured]
    folders: Mapping[InstrumentName, list[Path]]
    rows: list[ItemRow]


def run_diagnosis(order: Order) -> Diagnosis:
    """Measures, reads, and writes ``diagnosis.json`` and ``items.jsonl``."""
    check_models(order.models[1:])  # the first is opened at once
    with making(story_sets(order.study) if "trace" in order.instruments else ()) as makers:
        order = replace(order, study=replace(order.study, makers=makers))
        outcomes = [_diagnose_model(order, name) for name in order.models]
        outcomes += _diagnose_logs(order)
        calibration = _calibration(order, outcomes)
    instruments = [Instrument(name, QUESTIONS[name], readouts_of(name)) for name in order.instruments]
    question = Question(
        seed=order.study.seed,
        size=order.study.size.name,
        data=data_words(order),
        version=__version__,
        settings=settings_of(order),
        references=tuple(references_of(order.instruments)),
        twins=order.twins,
    )
    diagnosis = assemble(
        question,
        [outcome.subject for outcome in outcomes],
        instruments,
        [measured for outcome in outcomes for measured in outcome.measured],
        calibration,
    )
    write_items((row for outcome in outcomes for row in outcome.rows), order.folder)
    write_diagnosis(diagnosis, order.folder)
    keep_once(order.folder)
    return diagnosis


def _diagnose_model(order: Order, name: str) -> _Outcome:
    """All instruments on one model; it is opened once."""
    with opened(name) as model:
        folders: dict[InstrumentName, list[Path]] = {}
        why: dict[InstrumentName, str] = {}
        for instrument in order.instruments:
            try:
                folders[instrument] = _measure(order, model, instrument)
            except (UnsupportedError, MissingExtraError) as error:
                why[instrument] = str(error)
                order.tell(name, instrument, "left out")
        subject = Subject(
            name,
            model.identity,
            model.capabilities,
            left_out({i: readouts_of(i) for i in order.instruments if i not in why}, model.gives, name),
            is_twin=name in tuple(order.twins),
        )
        measured, rows = [], []
        for instrument in order.instruments:
            if instrument in why:
                measured.append(Measured(name, instrument, "left out", why[instrument]))
                continue
            order.tell(name, instrument, "reading")
            found, shown = _read(order, subject, instrument, folders[instrument])
            measured.append(found)
            rows += shown
            order.tell(name, instrument, "done")
    return _Outcome(subject, measured, folders, rows)


def _diagnose_logs(order: Order) -> list[_Outcome]:
    """The models of logs of traces: each is read like the others, by one instrument."""
    own = order.study.own_data("trace")
    if own is None or "trace" not in order.instruments:
        return []
    outcomes = []
    for model in logged_models(own):
        folder = write_log_run(
            model, own, order.run_folder(model.name, "trace-own-data"), seed=order.study.seed
        )
        order.tell(model.name, "trace", "reading")
        subject = Subject(model.name, model.identity, ("text",))
        found, rows = _read(order, subject, "trace", [folder])
        others = [
            Measured(model.name, name, "left out", "a log of traces says nothing of it")
            for name in order.instruments
            if name != "trace"
        ]
        outcomes.append(_Outcome(subject, [*others, found], {"trace": [folder]}, rows))
        order.tell(model.name, "trace", "done")
    return outcomes


def _measure(order: Order, model: Opened, instrument: InstrumentName) -> list[Path]:
    """Measures all runs of an instrument; what two of them ask alike is asked once."""
    order.tell(model.name, instrument, "making data")
    parts: list[Part] = list(PARTS[instrument](order.study, model.gives))
    done = Tally()
    folders = []
    with AnswerCache(order.folder / CACHE) as cache:
        for part in parts:
            before = done
            folder = order.run_folder(model.name, part.name)
            tally = measure_part(
                part,
                model,
                folder,
                how=order.how,
                seed=order.study.seed,
                cache=cache,
                progress=partial(_tell, order, model.name, instrument, before),
            )
            done = _added(before, tally)
            folders.append(folder)
    return folders


def _tell(order: Order, model: str, instrument: InstrumentName, before: Tally, tally: Tally) -> None:
    order.tell(model, instrument, _added(before, tally))


def _added(first: Tally, second: Tally) -> Tally:
    return Tally(
        first.planned + second.planned,
        first.answered + second.answered,
        first.refused + second.refused,
        first.failed + second.failed,
        first.reused + second.reused,
    )


def _read(
    order: Order, subject: Subject, instrument: InstrumentName, folders: Sequence[Path]
) -> tuple[Measured, list[ItemRow]]:
    """What the runs of one model and instrument say."""
    name = subject.name
    readings = readings_of(instrument, folders)
    home = Home(order.folder)
    rows = list(rows_of(instrument, folders, home, readings))
    counts = counts_of(folders, sum(row.status == "unreadable" for row in rows))
    lacking = [each for each in subject.left_out if each.instrument == instrument]
    status, because = ("measured", "")
    if not readings:
        status, because = "failed", _why_failed(rows, counts.planned)
    elif lacking:
        status, because = "partly measured", "; ".join(each.what for each in lacking)
    found = Measured(
        name,
        instrument,
        status,  # type: ignore[arg-type]  # one of the statuses
        because,
        counts=counts,
        runs=tuple(folder.relative_to(order.folder).as_posix() for folder in folders),
        seconds=seconds_of(folders),
        readings=tuple(readings),
        signatures=tuple(
            signatures_of(instrument, folders, name, home=home, readings=readings, seed=order.study.seed)
            if readings
            else ()
        ),
        chance=chance_of(instrument, folders),
    )
    return found, rows


def _why_failed(rows: Iterable[ItemRow], planned: int) -> str:
    reasons = [row.reason for row in rows if row.reason]
    first = f"; the first said: {reasons[0]}" if reasons else ""
    return f"none of its {planned} items gave a reading{first}"


def _calibration(
    order: Order, outcomes: Sequence[_Outcome]
) -> dict[InstrumentName, dict[str, Sequence[Reading]]]:
    """The twins' readings: from this very diagnosis, from the package, or measured now."""
    own = {outcome.subject.name: outcome for outcome in outcomes}
    found: dict[InstrumentName, dict[str, Sequence[Reading]]] = {}
    lacking: list[InstrumentName] = []
    for instrument in order.instruments:
        if all(twin in own for twin in order.twins):
            found[instrument] = {
                twin: next(m.readings for m in own[twin].measured if m.instrument == instrument)
                for twin in order.twins
            }
            continue
        folders = next((o.folders[instrument] for o in outcomes if instrument in o.folders), None)
        if folders is None:
            continue
        shipped = _shipped(order, instrument, folders)
        if shipped is None:
            lacking.append(instrument)
        else:
            found[instrument] = dict(shipped)
    bare = replace(order, study=replace(order.study, own=()))  # a position is on the twins' own sets
    for twin in order.twins if lacking else ():
        with opened(twin) as model:
            for instrument in lacking:
                found.setdefault(instrument, {})[twin] = readings_of(
                    instrument, _measure(bare, model, instrument)
                )
                order.tell(twin, instrument, "done")
    return found


def _shipped(
    order: Order, instrument: InstrumentName, folders: Sequence[Path]
) -> dict[str, list[Reading]] | None:
    path = shipped_path(order.study, instrument)
    if not path.is_file():
        return None
    identities = {}
    for twin in order.twins:
        model = open_model(twin)
        identities[twin] = model.identity
        model.close()
    return read_calibration(path, items=items_hash(folders), identities=identities)
