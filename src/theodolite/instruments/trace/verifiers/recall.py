"""The recall of a detector by class. Only where it is high may "not found" refute a claim."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, read_json
from theodolite.core.forms import Form, Number
from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.verifiers.detection import Detection, Detector

SEEN_IOU, PLACED_IOU = 0.1, 0.5


@dataclass(frozen=True, slots=True)
class ClassRecall:
    """The share of annotated boxes of a class that are detected, by three criteria. Intervals are clustered by video."""

    label: str
    anywhere: stats.Estimate
    """The picture has a detection of the class, perhaps of another object."""
    recall: stats.Estimate
    """A detection of the class touches the box (IoU ≥ 0.1). Absence is judged by this."""
    located: stats.Estimate
    """A detection of the class has the place of the box (IoU ≥ 0.5)."""


@dataclass(frozen=True, slots=True)
class DetectorRecall:
    """The recall of a detector."""

    classes: dict[str, ClassRecall]
    problems: tuple[Problem, ...]
    """Pictures that cannot be read, each once, with the first episode that shows it."""


def calibrate_recall(detector: Detector, episodes: Iterable[Episode], *, threshold: float) -> DetectorRecall:
    """The recall of every annotated category that the detector has a label for.

    Frames are read one by one and not kept. A picture that several episodes share counts once. A picture that cannot be read
    is left out and reported.
    """
    hits: dict[str, list[tuple[float, float, float]]] = {}
    units: dict[str, list[str]] = {}
    done: set[str] = set()
    problems: list[Problem] = []
    for episode in episodes:
        for number, frame in enumerate(episode.frames, 1):
            shown = [
                (t.category, t.box)
                for t in frame.objects
                if t.box is not None and t.is_visible and _has(detector, t.category)
            ]
            if frame.picture is None or not shown or frame.picture.digest in done:
                continue
            done.add(frame.picture.digest)
            try:
                pixels = frame.picture.pixels()
            except UsageError as error:
                problems.append(Problem(f"{episode.id}, frame {number}", str(error)))
                continue
            found = detector.detect(pixels, threshold)
            for category, box in shown:
                overlaps = [d.box.iou(box) for d in found_of(found, category)]
                best = max(overlaps, default=0.0)
                met = (float(bool(overlaps)), float(best >= SEEN_IOU), float(best >= PLACED_IOU))
                hits.setdefault(category, []).append(met)
                units.setdefault(category, []).append(episode.unit)
    classes = {category: _recall(category, hits[category], units[category]) for category in sorted(hits)}
    return DetectorRecall(classes, tuple(problems))


def _recall(category: str, hits: list[tuple[float, float, float]], units: list[str]) -> ClassRecall:
    shares = [stats.clustered_mean(column, units) for column in zip(*hits, strict=True)]
    return ClassRecall(category, *(share for share in shares if share is not None))


def _has(detector: Detector, category: str) -> bool:
    return any(words.may_mean(category, label) for label in detector.labels)


def recall_table(recall: Mapping[str, ClassRecall], *, title: str) -> Table:
    """One row per class."""
    key = "trace.detector_recall"
    columns = [
        Column("class", "class"),
        Column("anywhere", "found anywhere", "share", key),
        Column("recall", "found (IoU ≥ 0.1)", "share", key),
        Column("located", "placed (IoU ≥ 0.5)", "share", key),
        Column("boxes", "boxes", "count"),
    ]
    rows: list[list[Cell]] = [
        [name, r.anywhere, r.recall, r.located, r.recall.n_items] for name, r in recall.items()
    ]
    return Table.of("trace.recall", title, columns, rows)


def write_recall(
    recall: Mapping[str, ClassRecall], path: Path, *, detector: str, identity: str, threshold: float
) -> None:
    """Writes the file that ``detector:…?recall=FILE`` reads. It holds for that detector at that threshold."""
    value = {
        "detector": detector,
        "identity": identity,
        "threshold": threshold,
        "classes": {
            name: {"anywhere": asdict(r.anywhere), "recall": asdict(r.recall), "located": asdict(r.located)}
            for name, r in recall.items()
        },
    }
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


class _LimitForm(Form):
    low: Number


class _ClassForm(Form):
    recall: _LimitForm


class _RecallForm(Form):
    detector: str
    identity: str
    threshold: Number
    classes: dict[str, _ClassForm]


def read_recall(path: Path, *, identity: str, threshold: float) -> dict[str, float]:
    """The lower confidence limit of each class's recall.

    Args:
        path: A file of `write_recall`.
        identity: Of the detector that is used.
        threshold: At which it is used.

    Raises:
        UsageError: It is not such a file, or was measured with another detector or at another threshold.
    """
    value = read_json(path, "recall of the detector in")
    try:
        found = check(_RecallForm, value)
    except UsageError as error:
        raise UsageError(
            f"{path} is not a recall file; `theodolite trace recall` writes one ({error})"
        ) from error
    again = f"`theodolite trace recall --threshold {threshold:g}` measures it"
    if found.identity != identity:
        raise UsageError(f"{path} holds the recall of another detector, {found.detector}; {again}")
    if found.threshold != threshold:
        raise UsageError(
            f"{path} holds the recall at the threshold {found.threshold:g}, not {threshold:g}; {again}"
        )
    return {name: told.recall.low for name, told in found.classes.items()}


def found_of(found: Iterable[Detection], head: str) -> list[Detection]:
    """The detections of what a noun names."""
    return [d for d in found if words.is_a(d.label, head)]
