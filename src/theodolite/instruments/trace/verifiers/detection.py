"""Object detectors, their recall by class, and the colours of what they find."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from theodolite import stats
from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.core.files import Problem, check, read_json
from theodolite.core.scores import column
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.types import Pixels
from theodolite.core.views import Form, Number
from theodolite.geometry import Box
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention, Verdict
from theodolite.instruments.trace.verifiers.annotation import AnnotationVerifier
from theodolite.instruments.trace.verifiers.judging import VerifierOptions, negated, unverifiable
from theodolite.worlds.episodes import Episode, Frame, FrameObject

# A verifier that uses an object detector: objects, their number, their places in the picture, their colours.


TRUSTED_RECALL = 0.9
_JUDGED = frozenset({"entity", "count", "attribute", "spatial"})


@dataclass(frozen=True, slots=True)
class DetectorVerifier:
    """A verifier that detects objects frame by frame, then judges by their geometry."""

    name: str
    detector: Detector
    threshold: float = 0.4
    recall: Mapping[str, float] = field(default_factory=dict)
    """The lower limit of each class's recall; other classes are not trusted."""
    trusted: float = TRUSTED_RECALL

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return one verdict per claim. Each frame is read once and not kept."""
        wanted = {f for c in claims for f in (c.frames or range(len(episode.frames))) if c.kind in _JUDGED}
        seen = episode_as_seen(episode, self.detector, self.threshold, wanted)
        geometry = AnnotationVerifier()
        return [self._judge(claim, seen, geometry) for claim in claims]

    def _judge(self, claim: Claim, seen: Episode, geometry: AnnotationVerifier) -> Verdict:
        if claim.kind not in _JUDGED:
            return unverifiable("complex", f"a detector cannot judge {claim.kind} claims")
        for mention in (claim.subject, claim.object):
            if mention is None or mention.head in words.FIRST_PERSON | {"picture"}:
                continue
            if not any(words.may_mean(mention.head, label) for label in self.detector.labels):
                return unverifiable("out of vocabulary", f"no label of the detector means {mention.head!r}")
        frames = claim.frames or tuple(range(len(seen.frames)))
        looked_at = [seen.frames[f] for f in frames if f < len(seen.frames)]
        unread = [str(frame.state["unread"]) for frame in looked_at if "unread" in frame.state]
        if len(unread) == len(looked_at):
            return unverifiable("unclear", unread[0] if unread else "it has no frames")
        plain = replace(claim, is_negated=False)
        verdict = geometry.verify([plain], seen)[0]
        if verdict.label == "unsupported":
            doubtful = self._doubtful(claim, verdict, looked_at)
            if unread:  # the claim may hold at a frame that could not be read
                verdict = unverifiable("unclear", unread[0])
            elif doubtful:
                heads = " and ".join(dict.fromkeys(mention.head for mention in doubtful))
                verdict = unverifiable("low recall", f"not found, and often missed: {heads}")
        return negated(verdict) if claim.is_negated else verdict

    def _doubtful(self, claim: Claim, verdict: Verdict, frames: Sequence[Frame]) -> list[Mention]:
        """Return the mentions without a detection that the detector may have missed; empty if the refutation stands.

        One object that is certainly absent refutes a claim about it and another.
        """
        too_few = (
            claim.kind == "count" and verdict.truth.isdigit() and int(verdict.truth) < int(claim.predicate)
        )
        if verdict.truth != "absent" and not too_few:
            return []
        named = [
            m for m in (claim.subject, claim.object) if m is not None and m.head not in words.FIRST_PERSON
        ]
        labels = {thing.category for frame in frames for thing in frame.objects}
        missing = [m for m in named if not any(words.may_mean(m.head, label) for label in labels)]
        if missing:
            return [] if any(self._is_trusted(m) for m in missing) else missing
        return [m for m in named if not self._is_trusted(m)]  # found, but with other attributes

    def _is_trusted(self, mention: Mention) -> bool:
        known = [low for label, low in self.recall.items() if words.is_a(mention.head, label)]
        return bool(known) and min(known) >= self.trusted


def episode_as_seen(
    episode: Episode, detector: Detector, threshold: float, frames: Iterable[int] | None = None
) -> Episode:
    """Return the episode with the objects that a detector finds, and nothing else.

    Frames that are not requested, have no picture or cannot be read are empty; ``state["unread"]`` gives the reason.

    Args:
        episode: The episode.
        detector: Detector of the objects.
        threshold: Minimum score of a detection.
        frames: Indices of the frames to read. Default: all.
    """
    wanted = set(range(len(episode.frames))) if frames is None else set(frames)
    seen = []
    for i, frame in enumerate(episode.frames):
        pixels = read_pixels(episode, i) if i in wanted else f"frame {i + 1} was not looked at"
        if isinstance(pixels, str):
            seen.append(
                Frame(frame.time_s, size_px=frame.size_px, state={"unread": pixels}, number=frame.number)
            )
            continue
        size = (pixels.shape[1], pixels.shape[0])
        detections = detector.detect(pixels, threshold)
        things = tuple(_thing(d, k, pixels) for k, d in enumerate(detections))
        seen.append(Frame(frame.time_s, None, size, things, number=frame.number))
    return replace(
        episode,
        frames=tuple(seen),
        actions=(),
        known={"objects": "complete", "boxes": "complete", "attributes": "partial"},
        vocabulary={"objects": tuple(detector.labels)},
    )


def _thing(detection: Detection, number: int, pixels: np.ndarray) -> FrameObject:
    colour = hue_of(pixels, detection.box)
    return FrameObject(
        f"{detection.label}-{number}",
        detection.label,
        detection.box,
        attributes={"colour": colour} if colour else {},
    )


def open_detector_verifier(text: str) -> DetectorVerifier:
    """Open ``detector:PATH?threshold=0.4&recall=FILE&trusted=0.9``."""
    options = VerifierOptions.read(text, "detector", ("threshold", "recall", "trusted"))
    file = options.settings.get("recall")
    detector, threshold = open_detector(options.target), options.number("threshold", 0.4)
    return DetectorVerifier(
        f"detector:{text}",
        detector,
        threshold,
        read_recall(Path(file), identity=detector.identity, threshold=threshold) if file else {},
        options.number("trusted", TRUSTED_RECALL),
    )


# Object detectors: pixels in, labelled boxes out.


COCO = tuple(
    "person bicycle car motorcycle airplane bus train truck boat traffic_light fire_hydrant stop_sign parking_meter bench bird cat"
    " dog horse sheep cow elephant bear zebra giraffe backpack umbrella handbag tie suitcase frisbee skis snowboard sports_ball"
    " kite baseball_bat baseball_glove skateboard surfboard tennis_racket bottle wine_glass cup fork knife spoon bowl banana apple"
    " sandwich orange broccoli carrot hot_dog pizza donut cake chair couch potted_plant bed dining_table toilet tv laptop mouse"
    " remote keyboard cell_phone microwave oven toaster sink refrigerator book clock vase scissors teddy_bear hair_drier"
    " toothbrush".replace("_", "\0").split()
)
COCO_LABELS: tuple[str, ...] = tuple(label.replace("\0", " ") for label in COCO)
"""The 80 classes of COCO, in the order of its detectors."""


@dataclass(frozen=True, slots=True)
class Detection:
    """A detected object."""

    label: str
    score: float
    box: Box


class Detector(Protocol):
    """A detector that finds objects in a picture."""

    @property
    def labels(self) -> Sequence[str]:
        """All labels that it may give."""
        ...

    @property
    def identity(self) -> str:
        """A digest of its weights: measured recall is valid for this detector alone."""
        ...

    def detect(self, pixels: Pixels, threshold: float) -> list[Detection]:
        """Return the detections with at least this score, the highest first."""
        ...


def read_pixels(episode: Episode, frame: int) -> Pixels | str:
    """Return the pixels of a frame, or why there are none: claims that need them are unverifiable, and the rest is judged."""
    picture = episode.frames[frame].picture
    if picture is None:
        return f"there is no picture of frame {frame + 1}"
    try:
        return picture.pixels()
    except UsageError as error:
        return f"the picture of frame {frame + 1} cannot be read: {error}"


def open_detector(target: str) -> Detector:
    """Open an ONNX file of FastestDet's layout, or a Hugging Face checkpoint for object detection (folder or hub id).

    Raises:
        UsageError: No target was given, or the target cannot be loaded.
    """
    if not target:
        raise UsageError(
            "name the detector: detector:FILE.onnx, or detector:FOLDER of a Hugging Face checkpoint"
        )
    if target.endswith(".onnx"):
        return OnnxDetector(Path(target))
    return HuggingFaceDetector(target)


def suppressed(found: Sequence[Detection], overlap: float = 0.45) -> list[Detection]:
    """Return, of overlapping detections with one label, the one with the highest score (greedy non-maximum suppression)."""
    kept: list[Detection] = []
    for one in sorted(found, key=lambda d: -d.score):
        if all(one.label != other.label or one.box.iou(other.box) <= overlap for other in kept):
            kept.append(one)
    return kept


class OnnxDetector:
    """A detector of FastestDet's layout: BGR in [0, 1] in; out (5 + classes, rows, columns).

    Per cell (i, j): objectness o, box (a, b, w, h), class probabilities p. The box has its centre at ((j + tanh a)/columns,
    (i + tanh b)/rows) and the size (σ(w), σ(h)) of the picture; the score is o^0.6 · (max p)^0.4.
    """

    def __init__(self, path: Path, labels: Sequence[str] = COCO_LABELS) -> None:
        try:
            import onnxruntime  # type: ignore[import-untyped,unused-ignore]
        except ImportError as error:
            raise MissingExtraError("onnxruntime", "onnx", "a detector in an ONNX file") from error
        if not path.is_file():
            raise UsageError(f"there is no detector {path}")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises classes of its own
            raise UsageError(f"{path} is not an ONNX model: {str(error).splitlines()[0]}") from error
        self._input = self._session.get_inputs()[0]
        self.identity = hashlib.sha256(path.read_bytes()).hexdigest()
        self.labels = tuple(labels)

    def detect(self, pixels: Pixels, threshold: float) -> list[Detection]:
        """See `Detector`."""
        from PIL import Image

        height, width = (d if isinstance(d, int) else 352 for d in self._input.shape[2:])
        small = np.asarray(
            Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR), np.float32
        )
        batch: NDArray[Any] = (small[..., ::-1] / 255.0).transpose(2, 0, 1)[None]
        raw: NDArray[Any] = np.asarray(
            self._session.run(None, {self._input.name: np.ascontiguousarray(batch)})[0]
        )
        raw = raw[0] if raw.ndim == 4 else raw
        if raw.ndim != 3 or len(raw) != 5 + len(self.labels):
            wanted = 5 + len(self.labels)
            raise UsageError(f"the detector gives {raw.shape}; ({wanted}, rows, columns) was expected")
        return suppressed(_cells(raw, pixels.shape[1], pixels.shape[0], threshold, self.labels))


def _cells(
    raw: NDArray[Any], width: int, height: int, threshold: float, labels: Sequence[str]
) -> list[Detection]:
    _, rows, columns = raw.shape
    scores = np.clip(raw[0], 0, None) ** 0.6 * np.clip(raw[5:].max(axis=0), 0, None) ** 0.4
    detections = []
    for i, j in np.argwhere(scores >= threshold).tolist():
        x, y = (j + np.tanh(raw[1, i, j])) / columns * width, (i + np.tanh(raw[2, i, j])) / rows * height
        w, h = (float(1 / (1 + np.exp(-raw[k, i, j]))) * side for k, side in ((3, width), (4, height)))
        label = labels[int(raw[5:, i, j].argmax())]
        box = Box(float(x) - w / 2, float(y) - h / 2, float(x) + w / 2, float(y) + h / 2)
        detections.append(Detection(label, float(scores[i, j]), box))
    return detections


class HuggingFaceDetector:
    """Any checkpoint that transformers loads for object detection, such as DETR, YOLOS or RT-DETR."""

    def __init__(self, source: str) -> None:
        from transformers import AutoImageProcessor, AutoModelForObjectDetection

        try:
            self._processor = AutoImageProcessor.from_pretrained(source, backend="pil")
            self._model = AutoModelForObjectDetection.from_pretrained(source, use_safetensors=True).eval()
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(f"cannot load the detector {source}: {str(error).splitlines()[0]}") from error
        names = self._model.config.id2label
        self._names = {int(i): str(name).casefold().replace("_", " ") for i, name in names.items()}
        self.labels = tuple(self._names.values())

    @cached_property
    def identity(self) -> str:
        """A digest of its weights and labels."""
        digest = hashlib.sha256(repr(sorted(self._names.items())).encode())
        for name, values in sorted(self._model.state_dict().items()):
            digest.update(name.encode() + values.detach().cpu().contiguous().float().numpy().tobytes())
        return digest.hexdigest()

    def detect(self, pixels: Pixels, threshold: float) -> list[Detection]:
        """See `Detector`."""
        import torch
        from PIL import Image

        inputs = self._processor(images=Image.fromarray(pixels), return_tensors="pt")
        with torch.inference_mode():
            outputs = self._model(**inputs)
        sizes = torch.tensor([pixels.shape[:2]])
        read = self._processor.post_process_object_detection(
            outputs, threshold=threshold, target_sizes=sizes
        )[0]
        detections = []
        for score, label, corners in zip(read["scores"], read["labels"], read["boxes"], strict=True):
            x0, y0, x1, y1 = (float(v) for v in corners)
            if x1 > x0 and y1 > y0:
                detections.append(
                    Detection(self._names.get(int(label), str(int(label))), float(score), Box(x0, y0, x1, y1))
                )
        return sorted(detections, key=lambda d: -d.score)


# The dominant colour of a box, by name, and colour histograms.


_HUES_DEG = {"red": 0, "orange": 28, "yellow": 52, "green": 125, "blue": 222, "purple": 277, "pink": 330}
"""The hue of each name."""


def hue_of(pixels: NDArray[np.uint8], box: Box) -> str:
    """Return the name of the most frequent hue in the middle of a box; empty if it is dull, dark or mixed.

    >>> red = np.zeros((8, 8, 3), np.uint8) + np.array([200, 20, 20], np.uint8)
    >>> hue_of(red, Box(0, 0, 8, 8)), hue_of(red // 200 * 90, Box(0, 0, 8, 8)) != "blue"
    ('red', True)
    """
    height, width = pixels.shape[:2]
    x0, x1 = (int(np.clip(box.centre_px[0] + s * box.width_px / 4, 0, width)) for s in (-1, 1))
    y0, y1 = (int(np.clip(box.centre_px[1] + s * box.height_px / 4, 0, height)) for s in (-1, 1))
    patch = pixels[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)].reshape(-1, 3).astype(float)
    if not len(patch):
        return ""
    top, low = patch.max(axis=1), patch.min(axis=1)
    vivid = (top - low > 0.35 * np.maximum(top, 1)) & (top > 60)
    if vivid.mean() < 0.4:
        return ""
    names = list(_HUES_DEG)
    away = np.abs(
        (_hue_deg(patch[vivid])[:, None] - np.array([_HUES_DEG[n] for n in names]) + 180) % 360 - 180
    )
    counts = np.bincount(away.argmin(axis=1), minlength=len(names))
    return names[int(counts.argmax())] if counts.max() >= 0.6 * counts.sum() else ""


def colour_histogram(pixels: NDArray[np.uint8], box: Box) -> NDArray[np.float64]:
    """Return the shares of 64 coarse colours in a box: an appearance vector that needs no model.

    >>> half = np.zeros((4, 4, 3), np.uint8)
    >>> half[:, :2] = 255
    >>> sorted(colour_histogram(half, Box(0, 0, 4, 4)).tolist())[-3:]
    [0.0, 0.5, 0.5]
    """
    height, width = pixels.shape[:2]
    x0, x1 = (int(np.clip(edge, 0, width)) for edge in (box.x0, box.x1))
    y0, y1 = (int(np.clip(edge, 0, height)) for edge in (box.y0, box.y1))
    patch = pixels[y0:y1, x0:x1].reshape(-1, 3) // 64
    counts = np.bincount(patch @ np.array([16, 4, 1]), minlength=64)
    return np.asarray(counts / max(1, counts.sum()), np.float64)


def _hue_deg(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the hue of RGB colours in degrees; they must not be grey."""
    r, g, b = colours.T
    top, low = colours.max(axis=1), colours.min(axis=1)
    spread = np.maximum(top - low, 1e-9)
    hue = np.where(
        top == r, (g - b) / spread % 6, np.where(top == g, (b - r) / spread + 2, (r - g) / spread + 4)
    )
    return np.asarray(60.0 * hue)


# The recall of a detector by class. Only where it is high may "not found" refute a claim.


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
    """Return the recall of every annotated category that the detector has a label for.

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
            detections = detector.detect(pixels, threshold)
            for category, box in shown:
                overlaps = [d.box.iou(box) for d in found_of(detections, category)]
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
    """Return a table with one row per class."""
    key = "trace.detector_recall"
    columns = [
        Column("class", "class"),
        column(key, "anywhere", "found anywhere"),
        column(key, "recall", "found (IoU ≥ 0.1)"),
        column(key, "located", "placed (IoU ≥ 0.5)"),
        Column("boxes", "boxes", "count"),
    ]
    rows: list[list[Cell]] = [
        [name, r.anywhere, r.recall, r.located, r.recall.n_items] for name, r in recall.items()
    ]
    return Table.of("trace.recall", title, columns, rows)


def write_recall(
    recall: Mapping[str, ClassRecall], path: Path, *, detector: str, identity: str, threshold: float
) -> None:
    """Write the file that ``detector:…?recall=FILE`` reads. It is valid for that detector at that threshold.

    Args:
        recall: Recall by class.
        path: The file to write.
        detector: Name of the detector.
        identity: Digest of its weights.
        threshold: Threshold at which it was measured.
    """
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


class _MeasuredLimit(Form):
    low: Number


class _MeasuredClass(Form):
    recall: _MeasuredLimit


class _RecallFile(Form):
    detector: str
    identity: str
    threshold: Number
    classes: dict[str, _MeasuredClass]


def read_recall(path: Path, *, identity: str, threshold: float) -> dict[str, float]:
    """Return the lower confidence limit of each class's recall.

    Args:
        path: A file of `write_recall`.
        identity: Identity of the detector in use.
        threshold: Its threshold.

    Raises:
        UsageError: The file is invalid, or was measured with another detector or at another threshold.
    """
    value = read_json(path, "recall of the detector in")
    try:
        stored = check(_RecallFile, value)
    except UsageError as error:
        raise UsageError(
            f"{path} is not a recall file; `theodolite trace calibrate` writes one ({error})"
        ) from error
    again = f"`theodolite trace calibrate --threshold {threshold:g}` measures it"
    if stored.identity != identity:
        raise UsageError(f"{path} holds the recall of another detector, {stored.detector}; {again}")
    if stored.threshold != threshold:
        raise UsageError(
            f"{path} holds the recall at the threshold {stored.threshold:g}, not {threshold:g}; {again}"
        )
    return {name: entry.recall.low for name, entry in stored.classes.items()}


def found_of(found: Iterable[Detection], head: str) -> list[Detection]:
    """Return the detections that a noun may name."""
    return [d for d in found if words.is_a(d.label, head)]
