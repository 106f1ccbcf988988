"""Finding the user's own pairs: a pair file, or COCO instances with their pictures."""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice, zip_longest
from pathlib import Path

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.pair_files import read_pairs
from theodolite.instruments.compass.data.pairs import Pair
from theodolite.instruments.instrument import UserData
from theodolite.instruments.user_files import first_keys, has_file

_COCO_PARTS = (b"images", b"annotations", b"categories")


def find_pairs(path: Path, images: Path | None) -> UserData | None:
    """A pair file or its folder, or COCO instances or their folder; None if it is neither."""
    if path.is_dir():
        return _in_folder(path, images)
    if path.name == "pairs.jsonl" or (
        path.suffix == ".jsonl" and {"reference", "target", "picture"} <= first_keys(path)
    ):
        return UserData("compass", "pairs", path)
    if path.suffix == ".json" and _is_coco(path):
        return _coco(path, images)
    return None


def load_pairs(own: UserData, n: int, seed: int) -> list[Pair]:
    """The pairs of a pair file, or at most `n` from COCO instances, balanced by direction."""
    if own.form != "coco":
        return read_pairs(own.path)
    return _balanced(coco_pairs(own.path, own.images or own.path.parent).pairs, n, seed)


def _balanced(pairs: Sequence[Pair], n: int, seed: int) -> list[Pair]:
    """At most `n` pairs, in their order, with directions as even as the pairs allow."""
    rng = np.random.default_rng(seed)
    waiting: dict[str, list[int]] = {}
    for place in rng.permutation(len(pairs)).tolist():
        waiting.setdefault(pairs[place].direction, []).append(place)
    turns = zip_longest(*(waiting[direction] for direction in sorted(waiting)))
    drawn = [place for turn in turns for place in turn if place is not None]
    return [pairs[place] for place in sorted(drawn[:n])]


def _in_folder(path: Path, images: Path | None) -> UserData | None:
    if has_file(path, "pairs.jsonl"):
        return UserData("compass", "pairs", path)
    files = [
        file
        for place in (path, path / "annotations")
        if place.is_dir()
        for file in sorted(place.glob("*.json"))
        if _is_coco(file)
    ]
    files = [file for file in files if "instances" in file.name] or files
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise UsageError(f"{path} holds several files of COCO instances ({names}); name one of them")
    return _coco(files[0], images) if files else None


def _is_coco(path: Path) -> bool:
    """True if a file has the three parts of COCO instances. It may be large, and is not read into memory."""
    with _bytes_of(path) as data:
        return data is not None and all(data.find(b'"%b"' % part) >= 0 for part in _COCO_PARTS)


def _coco(path: Path, images: Path | None) -> UserData:
    """Instances with the folder of their pictures: the given one, or the one that holds the first of them."""
    if images is not None:
        return UserData("compass", "coco", path, images)
    with _bytes_of(path) as data:
        names = [
            str(json.loads(each[1]))
            for each in islice(re.finditer(rb'"file_name"\s*:\s*("[^"]+")', data or b""), 20)
        ]
    for folder in _picture_folders(path):
        if any((folder / name).is_file() for name in names):
            return UserData("compass", "coco", path, folder)
    raise UsageError(
        f"the pictures of {path} are not beside it; say where they are: --data {path}@FOLDER, with the folder that holds "
        f"{names[0] if names else 'them'}"
    )


@contextmanager
def _bytes_of(path: Path) -> Iterator[mmap.mmap | None]:
    """A file's bytes, memory-mapped; None for a file that is empty or cannot be read."""
    with ExitStack() as stack:
        data = None
        try:
            file = stack.enter_context(path.open("rb"))
            data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):
            pass
        yield data


def _picture_folders(path: Path) -> Iterator[Path]:
    """Where COCO's pictures usually are: beside the annotations, or beside their folder."""
    for home in (path.parent, path.parent.parent):
        yield home
        try:
            yield from sorted(each for each in home.iterdir() if each.is_dir())
        except OSError:
            continue
