"""The compass behind the `Instrument` type."""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.scores import Capability, ItemScore, Metric
from theodolite.core.signatures import Signature
from theodolite.core.splits import OWN_SPLIT
from theodolite.core.types import Item
from theodolite.instruments.instrument import Instrument, Place, Reference, RunPlan, Study, UserData
from theodolite.instruments.user_files import first_keys
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.core.views import ItemRow
    from theodolite.instruments.compass.data.pairs import Pair

_PAIRS: Mapping[str, int] = {"quick": 14, "standard": 24, "large": 200}
"""Drawn pictures of each split, by size."""
_COCO_PARTS = (b"images", b"annotations", b"categories")
_CREG_MODEL, _CREG_DATA = "Qwen2-VL-7B", "coco-pairs"


class Compass(Instrument):
    """Is attribution organised by the queried direction, or by image layout?"""

    name = "compass"
    question = "Does the answer come from the picture, and is the evidence where the question points?"
    run_kinds = ("compass",)
    takes = "a COCO instances file (or its folder) with its pictures, or a file of pairs made by `theodolite data`"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Answers under edits, options' log-probabilities, and relevance maps."""
        from theodolite.instruments.compass.metrics import METRICS

        return METRICS

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Drawn pairs of every split in one run, and the user's own in another."""
        from theodolite.instruments.compass.data.drawn import relation_pairs

        n = _PAIRS[study.size] if isinstance(study.size, str) else study.size
        drawn = {
            split: partial(relation_pairs, n, seed=study.seed, split=cast("Any", split))
            for split in study.splits
        }
        # Parts are hidden where accuracy sees nothing.
        yield _run_plan("compass", drawn, gives=gives, settings={"n": n}, whole=study.splits[:1])
        own = study.data
        if own is not None:
            settings: dict[str, Any] = {"data": str(own.path.absolute())}
            if own.form == "coco":
                settings |= {"images": str((own.images or Path()).absolute()), "n": 2 * n}
            pairs = {OWN_SPLIT: partial(own_pairs, own, 2 * n, study.seed)}
            yield _run_plan("compass-own", pairs, gives=gives, settings=settings)

    def score(self, run: Run) -> list[ItemScore]:
        """Every metric of every pair."""
        from theodolite.instruments.compass.metrics import readings

        return readings(run)

    def rows(self, run: Run, place: Place, scores: Sequence[ItemScore]) -> Iterator[ItemRow]:
        """Pictures with boxes, relevance maps and sector masses."""
        from theodolite.instruments.compass.rows import compass_rows
        from theodolite.instruments.rows import values_by_item

        return compass_rows(run, place, values_by_item(scores))

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Layout-driven, and language prior."""
        from theodolite.instruments.compass.signatures import compass_signatures

        return compass_signatures(scores)

    def references(self) -> Iterator[Reference]:
        """CREG's angles and edge accuracies, by method."""
        from theodolite.instruments.compass.metrics import METHODS
        from theodolite.instruments.compass.published import published_figures

        for method in METHODS:
            for target in ("gt", "pred", ""):
                found = published_figures(_CREG_MODEL, _CREG_DATA, method=method, target=target)
                each = next(iter(found), None)
                if each is None:
                    continue
                what = f"{_CREG_MODEL} on {each.data}, n={each.n}"
                for key, value in (("dae_paper", each.dae_deg), ("ea_paper", each.edge_accuracy)):
                    yield Reference(f"compass.{key}:{method}", value, what, each.source)
                break

    def describe(self, study: Study) -> str:
        """What a study asks about."""
        n = _PAIRS[study.size] if isinstance(study.size, str) else study.size
        own = f"; and {study.data.words}" if study.data else ""
        return f"{2 * n} drawn pictures of two to five things, half of them against the shortcut{own}"

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """A pair file, or COCO instances with their pictures."""
        if path.is_dir():
            return _in_folder(path, images)
        if path.name == "pairs.jsonl" or (
            path.suffix == ".jsonl" and {"reference", "target", "picture"} <= first_keys(path)
        ):
            return UserData("compass", "pairs", path)
        if path.suffix == ".json" and _is_coco(path):
            return _coco(path, images)
        return None


COMPASS = Compass()


def _run_plan(
    name: str,
    pairs: Mapping[str, Callable[[], Sequence[Pair]]],
    *,
    gives: Capability,
    settings: Mapping[str, Any],
    whole: Iterable[str] | None = None,
) -> RunPlan:
    """Pairs by split, made when the run is planned.

    Args:
        name: Of the run.
        pairs: By split.
        gives: The model's capability.
        settings: Of the run.
        whole: The splits in which parts are hidden too, at 18 answers a pair; all if not given.
    """
    from theodolite.instruments.compass.metrics import ReadingMeasurer, plan_readings, readings_factory

    shown = set(pairs) if whole is None else set(whole)

    def plan(_: Run) -> Iterator[Item]:
        for split, make in pairs.items():
            yield from plan_readings(make(), gives=gives if split in shown else "text", split=split)

    return RunPlan(
        name,
        "compass",
        {**settings, "gives": gives},
        plan,
        lambda model: ReadingMeasurer(model, gives),
        partial(readings_factory, gives=gives),
    )


def own_pairs(own: UserData, n: int, seed: int) -> list[Pair]:
    """The pairs of a pair file, or at most `n` from COCO instances, balanced by direction."""
    if own.form != "coco":
        from theodolite.instruments.compass.data.pair_files import read_pairs

        return read_pairs(own.path)
    from theodolite.instruments.compass.data.coco import coco_pairs

    return _balanced(coco_pairs(own.path, own.images or own.path.parent).pairs, n, seed)


def _balanced(pairs: Sequence[Pair], n: int, seed: int) -> list[Pair]:
    """At most `n` pairs, in their order, drawn so that directions are as even as the pairs allow."""
    rng = np.random.default_rng(seed)
    waiting: dict[str, list[int]] = {}
    for place in rng.permutation(len(pairs)).tolist():
        waiting.setdefault(pairs[place].direction, []).append(place)
    turns = zip_longest(*(waiting[direction] for direction in sorted(waiting)))
    drawn = [place for turn in turns for place in turn if place is not None]
    return [pairs[place] for place in sorted(drawn[:n])]


def _in_folder(path: Path, images: Path | None) -> UserData | None:
    pairs = path / "pairs.jsonl"
    if pairs.is_file() and pairs.stat().st_size:
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
    """Instances with the folder of their pictures: the one that was named, or the one where the first of them is."""
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
    """A file's bytes without reading them all; None for a file that is empty or cannot be read."""
    with ExitStack() as stack:
        data = None
        try:
            file = stack.enter_context(path.open("rb"))
            data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):
            pass
        yield data


def _picture_folders(path: Path) -> Iterator[Path]:
    """Where COCO's pictures usually lie: beside the annotations, or beside their folder."""
    for home in (path.parent, path.parent.parent):
        yield home
        try:
            yield from sorted(each for each in home.iterdir() if each.is_dir())
        except OSError:
            continue
