"""How well filled places pass for what was there: places of photographs with nothing in them, in the shape of real objects.

Needs a folder with COCO instances (``instances.json``, ``images/``), named by the environment variable THEODOLITE_COCO.
Each place is filled, and compared with the photograph as it was: its error, its detail, and the share of good fills that the
limits of `theodolite.pairs.pictures.quality` would refuse. With OpenCV installed, its inpainting stands beside ours.
"""

import importlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from scipy import ndimage

from bench.result import Result
from theodolite.core.types import Picture
from theodolite.instruments.coco import AnnotatedPicture, read_instances
from theodolite.pairs.pictures.filling import grown, growth_px, patched, without
from theodolite.pairs.pictures.quality import LIMITS, Measure, foreign_share, remaining_edge
from theodolite.pairs.pictures.whole import box_alpha, outline_alpha

_PER_PICTURE, _TRIED, _AREAS = 2, 60, (0.004, 0.06)
_EDGE_PX = 12


def run() -> Iterator[Result]:
    """Yield errors, detail, and how many fills of empty places the limits refuse."""
    folder = os.environ.get("THEODOLITE_COCO")
    if folder is None:
        return
    values = defaultdict(list)
    for pixels, alpha, taken in _places(Path(folder)):
        hole = grown(alpha > 0, growth_px(alpha))
        patch = patched(pixels, alpha, avoid=taken)
        is_fit = patch is not None and patch.misfit <= LIMITS["misfit"].most
        values["filled by a copied piece, share of places"].append(float(is_fit))
        values["an edge in the place as it was, share beyond the limit"].append(
            float(remaining_edge(pixels, alpha) > LIMITS["remains"].most)
        )
        if patch is None or not is_fit:
            continue
        values["smear, share beyond the limit"].append(float(patch.smear > LIMITS["smear"].most))
        measured: dict[Measure, float] = {
            "remains": remaining_edge(patch.pixels, alpha),
            "foreign": foreign_share(pixels, patch.pixels, alpha),
        }
        for measure, value in measured.items():
            values[f"{measure}, share of copied pieces beyond the limit"].append(
                float(value > LIMITS[measure].most)
            )
        fills = {"copied": patch.pixels, "blurred": without(pixels, alpha)}
        fills |= {name: fill(pixels, hole) for name, fill in _opencv().items()}
        for name, filled in fills.items():
            error = np.abs(filled.astype(float) - pixels)[hole].mean()
            values[f"{name}, error in grey levels"].append(float(error))
            values[f"{name}, detail as a share of what was there"].append(
                _detail(filled, hole) / max(_detail(pixels, hole), 0.3)
            )
    for name, each in values.items():
        middle = np.median(each) if "detail" in name else np.mean(each)
        yield Result(f"{name} ({len(each)} places)", float(middle), "")


def _detail(pixels: np.ndarray, hole: np.ndarray) -> float:
    return float(ndimage.gaussian_gradient_magnitude(pixels.astype(float).mean(axis=2), 1)[hole].mean())


def _places(folder: Path) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield photographs, the shape of a place with nothing in it, and what all objects cover."""
    instances, rng = read_instances(folder / "instances.json"), np.random.default_rng(1)
    shapes = [
        (thing.outline, thing.box)
        for picture in instances.pictures
        for thing in picture.instances
        if thing.outline and thing.box and thing.mask_area and _AREAS[0] < thing.mask_area < _AREAS[1]
    ]
    for picture in instances.pictures:
        covered = _covered(picture)
        taken = grown(covered, 4)
        height, width = taken.shape
        left = _PER_PICTURE
        for _ in range(_TRIED):
            outline, box = shapes[rng.integers(len(shapes))]
            room = width - box.width_px - _EDGE_PX, height - box.height_px - _EDGE_PX
            if min(room) <= _EDGE_PX or not left:
                continue
            at = rng.uniform(_EDGE_PX, room[0]), rng.uniform(_EDGE_PX, room[1])
            moved = [
                (np.reshape(polygon, (-1, 2)) - (box.x0, box.y0) + np.array(at)).ravel()
                for polygon in outline
            ]
            alpha = outline_alpha((width, height), moved)
            if not taken[alpha > 0].any():
                left -= 1
                photo = Picture.from_path(folder / "images" / Path(picture.file_name).name)
                yield photo.pixels(), alpha, covered.astype(np.float32)


def _covered(picture: AnnotatedPicture) -> np.ndarray:
    covered = np.zeros(picture.size_px[::-1], bool)
    for thing in picture.instances:
        if thing.box is not None:
            size = picture.size_px
            covered |= (
                outline_alpha(size, thing.outline) if thing.outline else box_alpha(size, thing.box)
            ) > 0
    return covered


def _opencv() -> dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]:
    """Return OpenCV's inpainting, if it is installed."""
    try:
        cv2 = importlib.import_module("cv2")
    except ImportError:
        return {}

    def fill(flag: int, pixels: np.ndarray, hole: np.ndarray) -> np.ndarray:
        return np.asarray(cv2.inpaint(pixels, hole.astype(np.uint8) * 255, 5, flag))

    kinds = {"Telea": cv2.INPAINT_TELEA, "Navier and Stokes": cv2.INPAINT_NS}
    return {name: partial(fill, flag) for name, flag in kinds.items()}
