"""How often a detector finds what is there, class by class: only where it does, may "not found" refute."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.data.dataset import Problem
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.verifiers.detection import Detection, Detector

SEEN_IOU, PLACED_IOU = 0.1, 0.5


@dataclass(frozen=True, slots=True)
class ClassRecall:
    """Of the annotated boxes of a class, how many the detector answers, by three measures."""

    label: str
    anywhere: stats.Estimate
    """The picture has a detection of the class, perhaps of something else."""
    recall: stats.Estimate
    """A detection of the class touches the box (IoU ≥ 0.1): it was seen. This is what absence is judged by."""
    located: stats.Estimate
    """A detection of the class has the box's place (IoU ≥ 0.5)."""


@dataclass(frozen=True, slots=True)
class DetectorRecall:
    """A detector's recall, and what it could not be measured on."""

    classes: dict[str, ClassRecall]
    problems: tuple[Problem, ...]
    """Pictures that cannot be read, each once, by the episode that shows it first."""


def calibrate_recall(detector: Detector, episodes: Iterable[Episode], *, threshold: float) -> DetectorRecall:
    """The recall of every annotated category that the detector has a label for, with Wilson's intervals.

    Frames are looked at one by one and not kept; a picture that several episodes share counts once. A picture that
    cannot be read is left out and told. A category that no label means is left out: of it the detector says nothing.
    """
    hits: dict[str, list[tuple[bool, bool, bool]]] = {}
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
                hits.setdefault(category, []).append((bool(overlaps), best >= SEEN_IOU, best >= PLACED_IOU))
    classes = {
        category: ClassRecall(
            category, *(stats.wilson_interval(sum(column), len(each)) for column in zip(*each, strict=True))
        )
        for category, each in sorted(hits.items())
    }
    return DetectorRecall(classes, tuple(problems))


def _has(detector: Detector, category: str) -> bool:
    return any(words.may_mean(category, label) for label in detector.labels)


def write_recall(recall: Mapping[str, ClassRecall], path: Path, *, detector: str, threshold: float) -> None:
    """Writes a calibration that ``detector:…?recall=FILE`` reads."""
    value = {
        "detector": detector,
        "threshold": threshold,
        "classes": {
            name: {"anywhere": asdict(r.anywhere), "recall": asdict(r.recall), "located": asdict(r.located)}
            for name, r in recall.items()
        },
    }
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def read_recall(path: Path) -> dict[str, float]:
    """The lower end of each class's recall.

    Raises:
        UsageError: it is no such file.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return {name: float(told["recall"]["low"]) for name, told in value["classes"].items()}
    except OSError as error:
        raise UsageError(f"cannot read the recall of the detector from {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no calibration; write one with `theodolite trace recall`") from error


def found_of(found: Iterable[Detection], head: str) -> list[Detection]:
    """The detections that a noun may mean."""
    return [d for d in found if words.may_mean(head, d.label)]
