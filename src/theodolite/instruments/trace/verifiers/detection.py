"""Object detectors: pixels in, labelled boxes out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.core.types import Pixels
from theodolite.geometry import Box
from theodolite.instruments.trace.data.episode import Episode

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
    """Finds objects in a picture."""

    @property
    def labels(self) -> Sequence[str]:
        """All labels that it may give."""
        ...

    @property
    def identity(self) -> str:
        """A digest of its weights: what was measured of it holds for this detector alone."""
        ...

    def detect(self, pixels: Pixels, threshold: float) -> list[Detection]:
        """Detections with at least that score, the highest first."""
        ...


def read_pixels(episode: Episode, frame: int) -> Pixels | str:
    """The pixels of a frame, or why there are none: then what needs them is unverifiable, and the rest is judged."""
    picture = episode.frames[frame].picture
    if picture is None:
        return f"there is no picture of frame {frame + 1}"
    try:
        return picture.pixels()
    except UsageError as error:
        return f"the picture of frame {frame + 1} cannot be read: {error}"


def open_detector(target: str) -> Detector:
    """An ONNX file of FastestDet's layout, or a Hugging Face checkpoint for object detection (folder or hub id).

    Raises:
        UsageError: No target was given, or it cannot be loaded.
    """
    if not target:
        raise UsageError(
            "name the detector: detector:FILE.onnx, or detector:FOLDER of a Hugging Face checkpoint"
        )
    if target.endswith(".onnx"):
        return OnnxDetector(Path(target))
    return HuggingFaceDetector(target)


def suppressed(found: Sequence[Detection], overlap: float = 0.45) -> list[Detection]:
    """Of overlapping detections with one label, the one with the highest score (greedy non-maximum suppression)."""
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
    found = []
    for i, j in np.argwhere(scores >= threshold).tolist():
        x, y = (j + np.tanh(raw[1, i, j])) / columns * width, (i + np.tanh(raw[2, i, j])) / rows * height
        w, h = (float(1 / (1 + np.exp(-raw[k, i, j]))) * side for k, side in ((3, width), (4, height)))
        label = labels[int(raw[5:, i, j].argmax())]
        box = Box(float(x) - w / 2, float(y) - h / 2, float(x) + w / 2, float(y) + h / 2)
        found.append(Detection(label, float(scores[i, j]), box))
    return found


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
        found = []
        for score, label, corners in zip(read["scores"], read["labels"], read["boxes"], strict=True):
            x0, y0, x1, y1 = (float(v) for v in corners)
            if x1 > x0 and y1 > y0:
                found.append(
                    Detection(self._names.get(int(label), str(int(label))), float(score), Box(x0, y0, x1, y1))
                )
        return sorted(found, key=lambda d: -d.score)
