"""A compass run, read back: every measured pair with its geometry, its answer and its maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution import RelevanceMap
from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Region
from theodolite.instruments.compass.measure import stored_maps
from theodolite.runs import Result, Run

INSTRUMENT = "compass"


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One measured pair."""

    id: str
    """The pair's id."""
    item_id: str
    condition: str
    prompt: str
    picture: Picture
    size_px: tuple[int, int]
    reference: Region
    target: Region
    others: tuple[Box, ...]
    directions: tuple[str, ...]
    """What each option means, in order."""
    gold: int
    logits: NDArray[np.float64]
    """Shape (options,)."""
    log_probabilities: NDArray[np.float64]
    """Shape (options,): of the options' first tokens, over the whole vocabulary."""
    maps: Mapping[str, RelevanceMap]
    """By ``method@target``."""
    cluster: str
    """The picture that the pair comes from, whatever was done to it."""
    group: str
    meta: Mapping[str, Any]

    @property
    def predicted(self) -> int:
        """The most probable option, by index."""
        return int(np.argmax(self.logits))

    @property
    def is_correct(self) -> bool:
        """Whether the model's answer is the true one."""
        return self.predicted == self.gold

    @property
    def direction(self) -> str:
        """The true answer in words."""
        return self.directions[self.gold]


def read_samples(run: Run) -> Iterator[Sample]:
    """The samples of a run, in plan order; items that failed or wait are left out, the run's tally counts them.

    Raises:
        UsageError: the run is another instrument's.
    """
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT}")
    for result in run.results(arrays=True):
        if result.record is not None and result.record.response.is_answered and result.record.values:
            yield _sample(result)


def _sample(result: Result) -> Sample:
    item, record = result.item, result.record
    if record is None or record.choice is None:
        raise UsageError(f"the item {item.name} holds no relevance")
    meta = cast("Mapping[str, Any]", item.meta)
    size = (int(meta["size"][0]), int(meta["size"][1]))
    return Sample(
        id=str(meta["pair"]),
        item_id=item.id,
        condition=str(meta["condition"]),
        prompt=str(meta["prompt"]),
        picture=item.request.pictures[0],
        size_px=size,
        reference=_region(meta["reference"]),
        target=_region(meta["target"]),
        others=tuple(Box(*corners) for corners in meta["others"]),
        directions=tuple(meta["directions"]),
        gold=int(meta["gold"]),
        logits=np.asarray(record.values["logits"], np.float64),
        log_probabilities=np.asarray(record.choice.log_probabilities),
        maps=stored_maps(record, size),
        cluster=str(meta["cluster"]),
        group=str(meta["group"]),
        meta=meta,
    )


def _region(data: Mapping[str, Any]) -> Region:
    return Region(str(data["name"]), Box(*data["box"]))
