"""Measuring pairs, the only part that calls a model; and measured pairs read back from a run.

A white-box model gives the answer and every relevance map from one shared pass. A diagnosis asks each pair under several
conditions and needs maps of the plain one only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution import (
    Attribution,
    RelevanceMap,
    attribute,
    check_targets,
    checkpoint_of,
    find_methods,
)
from theodolite.attribution.recorder import check_threshold
from theodolite.core.errors import UsageError
from theodolite.core.scores import Capability, covers, definition
from theodolite.core.types import SENT, Choice, Item, Json, Picture, Record, Response, content_hash
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.data.pairs import Region
from theodolite.instruments.compass.formulas.resampling import with_resampled
from theodolite.instruments.compass.questions import NO_MAPS, directions_of, gold_index, shown_item
from theodolite.models import VisionLanguageModel, ask_measurer
from theodolite.runs import Measurer, Result, Reuse, Run

RUN_KIND = "compass"
TARGETS = ("gt", "pred")
"""Whose logit is explained: the true answer's and the given answer's."""

SINKS = "sinks"
"""The value of a record that counts its masked attention sinks; the settings of a run hold their threshold."""

METHODS = definition("compass.dae_paper").variants
"""The methods of a diagnosis: all published ones that need one backward pass. Integrated gradients need fifty."""


@dataclass(frozen=True, slots=True)
class MapOptions:
    """Which relevance maps are measured."""

    methods: Sequence[str] = METHODS
    """Names of relevance methods, or ``all``."""
    targets: Sequence[str] = TARGETS[:1]
    """The logits to explain; an item's ``meta["targets"]`` replaces them."""
    mask_sinks: float | None = None
    """If given, the threshold τ above which attention sinks are masked in every map."""

    def __post_init__(self) -> None:
        """Check the threshold."""
        check_threshold(self.mask_sinks)


class AttributionMeasurer:
    """Turns items with a picture, options and a gold option into records with relevance maps.

    An item may name its own targets in ``meta["targets"]``.
    """

    reuse: Reuse = "never"

    def __init__(self, model: VisionLanguageModel, maps: MapOptions) -> None:
        checkpoint_of(model)  # raises if the model is a black box
        self.model = model
        self.methods = [method.name for method in find_methods(maps.methods)]
        self.targets = list(check_targets(maps.targets))
        self.mask_sinks = maps.mask_sinks
        self.identity = f"{model.identity}|attribution|{'+'.join(self.methods)}|{'+'.join(self.targets)}"
        if self.mask_sinks is not None:
            self.identity += f"|sinks {self.mask_sinks:g}"
        self.batch_size = model.batch_size * 4  # the next batch is prepared while the model works

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """Return one record per item: the most probable option as the answer, with maps and logits."""
        groups: dict[tuple[str, ...], list[Item]] = {}
        for item in items:
            own = cast("list[str]", item.meta.get("targets") or self.targets)
            groups.setdefault(tuple(own), []).append(item)
        records: dict[str, Record] = {}
        for targets, group in groups.items():
            explained = attribute(
                self.model,
                [item.request for item in group],
                [item.options for item in group],
                methods=self.methods,
                targets=list(targets),
                gold=[gold_index(item) for item in group],
                mask_sinks=self.mask_sinks,
            )
            records |= {
                item.id: _record(item, attribution)
                for item, attribution in zip(group, explained, strict=True)
            }
        return [records[item.id] for item in items]

    def close(self) -> None:
        """Release the model."""
        self.model.close()


class ConditionsMeasurer:
    """Measures relevance maps of plain pairs and of controls, and only the answer under every other condition.

    A batch is asked in two parts, those with maps and those without. Which comes first depends on a hash of the batch, so
    that pictures as they are do not come before their edits.
    """

    reuse: Reuse = "never"

    def __init__(self, model: VisionLanguageModel, gives: Capability, maps: MapOptions | None = None) -> None:
        self.model = model
        self._asking = ask_measurer(model, "choose" if covers(gives, "choices") else "write")
        self._explaining: Measurer = self._asking
        if gives == "gradients":
            self._explaining = AttributionMeasurer(model, maps or MapOptions())
        self.identity = f"{self._explaining.identity}|readings"
        self._places = count(1)
        self.batch_size = model.batch_size * 4

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """Return one record per item, in order."""
        records: dict[str, Record] = {}
        parts = [(self._explaining, True), (self._asking, False)]
        if int(content_hash([item.id for item in items]), 16) % 2:
            parts.reverse()
        for measurer, is_explained in parts:
            chosen = [item for item in items if _is_explained(item) == is_explained]
            for start in range(0, len(chosen), measurer.batch_size):
                part = chosen[start : start + measurer.batch_size]
                shown = [shown_item(item) for item in part]
                for item, sent, record in zip(part, shown, measurer.measure(shown), strict=True):
                    values = {} if sent is item else {SENT: sent.request.digest}
                    records[item.id] = replace(
                        record, item_id=item.id, values={**record.values, **values}, place=next(self._places)
                    )
        return [records[item.id] for item in items]

    def close(self) -> None:
        """Release the model."""
        self.model.close()


def _is_explained(item: Item) -> bool:
    """Return True for a plain pair asked for the first time, unless its maps are left out, and for a control's edits."""
    if "control" in item.meta:
        return True
    return item.truth.is_plain and NO_MAPS not in item.meta


def _record(item: Item, attribution: Attribution) -> Record:
    arrays: dict[str, NDArray[Any]] = {}
    text: dict[str, Json] = {}
    grids: dict[str, Json] = {}
    shapes: dict[bytes, str] = {}
    for relevance in attribution.maps:
        if relevance.picture:
            continue  # a pair has one picture
        key = map_key(relevance.method, relevance.target)
        shape = relevance.grid.rects_px.tobytes()
        if shape not in shapes:
            shapes[shape] = f"grid{len(shapes)}"
            arrays[f"{shapes[shape]}.rects"] = relevance.grid.rects_px.astype(np.float32)
            arrays[f"{shapes[shape]}.part"] = relevance.grid.part.astype(np.int16)
        arrays[key] = relevance.values
        text[key], grids[key] = relevance.text_mass, shapes[shape]
    choice = Choice(attribution.options, tuple(float(value) for value in attribution.log_probabilities))
    logits = [float(value) for value in attribution.logits]
    values: dict[str, Json] = {"logits": logits, "text_mass": text, "grids": grids}
    if attribution.n_sinks is not None:
        values[SINKS] = attribution.n_sinks
    return Record(
        item.id,
        Response("answered", text=attribution.options[attribution.predicted], finish="choice"),
        choice,
        values,
        arrays,
    )


def map_key(method: str, target: str) -> str:
    """Return the name of a map: ``method@target``; the target is empty for methods that explain no logit.

    >>> map_key("chefer", "gt")
    'chefer@gt'
    """
    return f"{method}@{target}"


def split_key(key: str) -> tuple[str, str]:
    """Split a map's name into method and target."""
    method, _, target = key.partition("@")
    return method, target


def shown_key(key: str) -> str:
    """Return a map's name for readers, without the ``@`` of an empty target.

    >>> shown_key("chefer@gt"), shown_key("attention-rollout@")
    ('chefer@gt', 'attention-rollout')
    """
    return key.removesuffix("@")


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One measured pair with its geometry, answer and maps."""

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
    """The direction of each option, in order."""
    gold: int
    logits: NDArray[np.float64]
    """Shape (options,)."""
    log_probabilities: NDArray[np.float64]
    """Shape (options,): of the options' first tokens, over the whole vocabulary."""
    maps: Mapping[str, RelevanceMap]
    """By ``method@target``. Where every option was explained, ``gt`` and ``pred`` are two of them."""
    cluster: str
    """The original picture, whatever was done to it."""
    group: str
    meta: Mapping[str, Any]
    split: str = ""

    @property
    def name(self) -> str:
        """The item of its scores and pairs: ``<pair>/<prompt>``."""
        return f"{self.id}/{self.prompt}"

    @property
    def predicted(self) -> int:
        """The index of the most probable option."""
        return int(np.argmax(self.logits))

    @property
    def is_correct(self) -> bool:
        """True if the model's answer is right."""
        return self.predicted == self.gold

    @property
    def direction(self) -> str:
        """The right answer in words."""
        return self.directions[self.gold]


def read_samples(run: Run) -> Iterator[Sample]:
    """Yield the samples of a run, in plan order. Items that failed or are not measured yet are left out.

    Raises:
        UsageError: If the run is another instrument's.
    """
    check_kind(run)
    for result in run.results(arrays=True):
        if (
            result.record is not None
            and result.record.response.is_answered
            and "logits" in result.record.values
        ):
            yield _sample(result)


def sinks_note(run: Run) -> list[str]:
    """Return a sentence on the attention sinks that were masked in the maps of a run; none if they were kept."""
    threshold = run.info.settings.get("mask_sinks")
    if threshold is None:
        return []
    counts = [
        cast("int", result.record.values[SINKS])
        for result in run.results()
        if result.record is not None and SINKS in result.record.values
    ]
    mean = sum(counts) / max(1, len(counts))
    some = sum(count > 0 for count in counts)
    return [
        f"Attention sinks (τ = {threshold:g}) are masked in every map: {mean:.1f} image tokens per item, in {some} of {len(counts)} items with maps."
    ]


def check_kind(run: Run) -> None:
    """Raise a `UsageError` if a run is not of this instrument."""
    if run.info.instrument != RUN_KIND:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {RUN_KIND}")


def _sample(result: Result) -> Sample:
    item, record = result.item, result.record
    if record is None or record.choice is None:
        raise UsageError(f"the item {item.name} holds no relevance")
    meta = cast("Mapping[str, Any]", item.meta)
    size = (int(meta["size"][0]), int(meta["size"][1]))
    logits = np.asarray(record.values["logits"], np.float64)
    return Sample(
        id=str(meta["pair"]),
        item_id=item.id,
        condition=item.truth.condition,
        prompt=str(meta["prompt"]),
        picture=item.request.pictures[0],
        size_px=size,
        reference=_region(meta["reference"]),
        target=_region(meta["target"]),
        others=tuple(Box(*corners) for corners in meta["others"]),
        directions=directions_of(item),
        gold=gold_index(item),
        logits=logits,
        log_probabilities=np.asarray(record.choice.log_probabilities),
        maps=with_answers(_maps(record, size), gold=gold_index(item), predicted=int(np.argmax(logits))),
        cluster=item.cluster,
        group=item.truth.group,
        split=item.truth.split,
        meta=meta,
    )


def with_answers(maps: Mapping[str, RelevanceMap], *, gold: int, predicted: int) -> dict[str, RelevanceMap]:
    """Return the maps by name; where options were explained, ``gt`` and ``pred`` are added as names of two of them.

    Args:
        maps: Maps by name.
        gold: The index of the right option.
        predicted: The index of the most probable option.
    """
    named = dict(maps)
    for target, option in (("gt", gold), ("pred", predicted)):
        for key in [key for key in maps if key.endswith(f"@option:{option}")]:
            named.setdefault(map_key(split_key(key)[0], target), maps[key])
    return named


def _region(data: Mapping[str, Any]) -> Region:
    return Region(str(data["name"]), Box(*data["box"]))


def _maps(record: Record, size_px: tuple[int, int]) -> dict[str, RelevanceMap]:
    """Return the maps of a record, by `map_key`; maps on vision features also on the tokens' grid."""
    text = cast("dict[str, float | None]", record.values["text_mass"])
    grids = cast("dict[str, str]", record.values["grids"])
    placed = {name: _grid(record, name, size_px) for name in set(grids.values())}
    maps = {}
    for key, name in grids.items():
        values = np.asarray(record.arrays[key], np.float32)
        maps[key] = RelevanceMap(*split_key(key), placed[name], values, text[key])
    return with_resampled(maps)


def _grid(record: Record, name: str, size_px: tuple[int, int]) -> TokenGrid:
    rects = np.asarray(record.arrays[f"{name}.rects"], np.float64)
    return TokenGrid(rects, *size_px, part=np.asarray(record.arrays[f"{name}.part"], np.int64))
