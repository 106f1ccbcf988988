"""Flipped bits in a run and in its pictures: it is resumed, and holds in the end what it held before.

A reader may refuse a run whose damage cannot be undone, in a sentence. It may never return another answer.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fuzz.tally import Tally, attempt
from theodolite.core.errors import TheodoliteError
from theodolite.core.types import Item, Picture, Record, Request, Response
from theodolite.runs import LocalEngine, MeasureOptions, Reuse, Run, RunInfo, measure, verify_run

_INFO = RunInfo(instrument="flips", model="m", identity="flips", settings={"data": "d"}, theodolite="0")
_ITEMS = 12
_MOST_FLIPS = 4


class _Naming:
    """A model that answers with the item's name, and measures an array."""

    batch_size = 4
    reuse: ClassVar[Reuse] = "never"
    identity = "flips"

    def measure(self, items: Sequence[Item]) -> list[Record]:
        return [
            Record(
                item.id, Response("answered", text=item.name), arrays={"a": np.arange(6.0)}, values={"n": 1}
            )
            for item in items
        ]

    def close(self) -> None:
        pass


def run(seed: int, count: int, seconds: float | None = None) -> Tally:
    """Flip bits in copies of a run until `count` were tried or `seconds` have passed."""
    tally, begun = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = Path(home) / "whole"
        _measure(whole)
        truth = _content(whole)
        for number in range(count):
            if seconds is not None and time.monotonic() - begun > seconds:
                break
            folder = shutil.copytree(whole, Path(home) / str(number))
            what = _flip(folder, random.Random(f"flips/{seed}/{number}"))
            place = f"{what} {seed}/{number}"
            attempt(tally, place, lambda folder=folder: _resumed(folder, truth), promised=(TheodoliteError,))
            shutil.rmtree(folder)
    return tally


def _items() -> list[Item]:
    rng = np.random.default_rng(0)
    pictures = [Picture.from_array(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)) for _ in range(_ITEMS)]
    return [Item(f"item-{i}", Request.ask(picture, f"question {i}")) for i, picture in enumerate(pictures)]


def _measure(folder: Path) -> None:
    with closing(LocalEngine(_Naming())) as engine, Run.start(folder, _INFO) as run:
        run.plan(_items(), whole=True)
        measure(run, engine, MeasureOptions())
        run.write_scores({"a": 1})


def _content(folder: Path) -> list[Any]:
    """Return what a run holds: items, answers, arrays and pictures."""
    with Run.open(folder) as run:
        return [
            (
                result.item.id,
                result.record
                and (result.record.response.text, result.record.arrays["a"].tolist(), result.record.values),
                [picture.pixels().tolist() for picture in result.item.request.pictures],
            )
            for result in run.results(arrays=True)
        ]


def _flip(folder: Path, rng: random.Random) -> str:
    """Flip a few bits of one file, and return its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    pictures = [path for path in files if path.suffix == ".png"]
    others = [path for path in files if path.suffix != ".png"]
    path = rng.choice(rng.choice((pictures, others, others)))
    data = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, _MOST_FLIPS)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    return path.name if path.suffix != ".png" else "picture"


def _resumed(folder: Path, truth: list[Any]) -> None:
    """Read a damaged run, resume it, and compare."""
    known = {identity: rest for identity, *rest in truth}
    try:
        for identity, answer, _ in _content(folder):
            if answer is not None and answer != known[identity][0]:
                raise AssertionError(f"{identity} has another answer")
    except TheodoliteError:
        pass  # it is resumed all the same
    _measure(folder)
    if sorted(_content(folder)) != sorted(truth):
        raise AssertionError("the resumed run differs")
    if damage := verify_run(folder):
        raise AssertionError(f"the resumed run is damaged: {damage[0]}")
