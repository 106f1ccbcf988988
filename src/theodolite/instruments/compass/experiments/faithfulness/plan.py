"""Which sectors of each pair are hidden, how, and the measurement of the answers."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from theodolite.attribution.hiding import FILLS, Fill, filling
from theodolite.core.errors import UsageError
from theodolite.core.files import check, dump
from theodolite.core.types import Item, Picture, Pixels, Record, Request
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.formulas.baselines import (
    BOX_ONLY,
    UNIFORM_MAP,
    GridMark,
    baseline_key,
    box_only_map,
    name_grids,
    uniform_compass,
)
from theodolite.instruments.compass.formulas.dae import DegenerateError, DirectionMass, Exclusion
from theodolite.instruments.compass.formulas.projection import (
    PAPER,
    PROJECTIONS,
    Bins,
    OnGrid,
    ProjectionOptions,
    project,
)
from theodolite.instruments.compass.measure import Sample, read_samples, shown_key
from theodolite.instruments.compass.questions import PLAIN
from theodolite.models import VisionLanguageModel, ask_measurer
from theodolite.runs import Reuse, Run

# Hiding sectors of a picture: which pixels lie in which sector around the reference, and what replaces them.


RECIPE = "hide/1"
"""Changes whenever the same settings would draw other pixels, so that stored answers are not reused wrongly."""
_KEPT = 255  # the largest uint8, beyond the number of any sector
_ON_EDGE = 1e-9  # so that rounding does not move an angle on an edge into the sector below


@dataclass(frozen=True, slots=True)
class Hiding:
    """Hidden sectors around a point of a picture."""

    centre_px: Annotated[tuple[float, float], Field(alias="centre")]
    """The point where the sectors meet: the reference's centre, as (x, y)."""
    hidden: tuple[int, ...]
    """The sectors' numbers, counter-clockwise from 0°."""
    fill: Fill = "grey"
    sectors: int = PAPER.sectors
    bins: Bins = PAPER.bins
    spared: tuple[float, float, float, float] | None = None
    """A box that stays visible: x0, y0, x1, y1."""

    def __post_init__(self) -> None:
        if self.fill not in FILLS:
            raise UsageError(f"hidden pixels become {' or '.join(FILLS)}, not {self.fill!r}")
        if any(not 0 <= k < self.sectors for k in self.hidden):
            raise UsageError(f"there are sectors 0 to {self.sectors - 1}, not {self.hidden}")

    def hint(self) -> dict[str, Any]:
        """Return the hint of a request, which `check` reads, with the version of the drawing."""
        return {"recipe": RECIPE, **dump(self)}

    def apply(self, pixels: Pixels) -> Pixels:
        """Return the picture with the sectors hidden, as a copy.

        >>> hiding = Hiding((2.0, 2.0), hidden=(0, 1))  # the quarter to the right and above
        >>> hiding.apply(np.zeros((4, 4, 3), np.uint8))[..., 0].tolist()
        [[0, 0, 128, 128], [0, 0, 128, 128], [0, 0, 0, 0], [0, 0, 0, 0]]
        """
        return self._put(pixels, filling(pixels, self.fill))

    def draw(self, picture: Picture) -> Picture:
        """Return the picture with the sectors hidden, as a PNG in memory; the picture itself if none is hidden."""
        if not self.hidden:
            return picture
        from PIL import Image

        buffer = io.BytesIO()
        shown = self._put(*_pixels_andfilling(picture, self.fill))
        # Not compressed: it is decoded at once and not stored.
        Image.fromarray(shown).save(buffer, format="PNG", compress_level=0)
        return Picture.from_bytes(buffer.getvalue())

    def _put(self, pixels: Pixels, filling: Pixels) -> Pixels:
        """Put the filling into the hidden sectors, and keep the pixels elsewhere."""
        height, width = pixels.shape[:2]
        labels = _labels((width, height), self.centre_px, self.sectors, self.bins, self.spared)
        is_hidden = np.zeros(_KEPT + 1, bool)
        is_hidden[list(self.hidden)] = True
        return np.where(is_hidden[labels][..., None], filling, pixels)


# The masked pictures of a pair follow each other and share these.
@lru_cache(maxsize=4)
def _pixels_andfilling(picture: Picture, fill: Fill) -> tuple[Pixels, Pixels]:
    pixels = picture.pixels()
    return pixels, filling(pixels, fill)


@lru_cache(maxsize=4)
def _labels(
    size_px: tuple[int, int],
    centre_px: tuple[float, float],
    sectors: int,
    bins: Bins,
    spared: tuple[float, float, float, float] | None,
) -> NDArray[np.uint8]:
    options = ProjectionOptions(sectors=sectors, bins=bins)
    return sector_labels(size_px, centre_px, options=options, spared=None if spared is None else Box(*spared))


def sector_of(angle_deg: float, options: ProjectionOptions = PAPER) -> int:
    """Return the sector of a direction; a sector contains its lower edge and not its upper one.

    >>> sector_of(0), sector_of(44.9), sector_of(45), sector_of(-1)
    (0, 0, 1, 7)
    """
    position = angle_deg % 360.0 * options.sectors / 360.0 - options.first_edge + _ON_EDGE
    return math.floor(position) % options.sectors


def sector_labels(
    size_px: tuple[int, int],
    centre_px: tuple[float, float],
    *,
    options: ProjectionOptions = PAPER,
    spared: Box | None = None,
) -> NDArray[np.uint8]:
    """Return the sector of each pixel's centre, shape (height, width); 255 where nothing is hidden.

    Args:
        size_px: Width and height.
        centre_px: The point where the sectors meet.
        options: Number of sectors, and where the first begins.
        spared: A box that is never hidden.
    """
    if options.sectors >= _KEPT:
        raise UsageError(f"at most {_KEPT - 1} sectors can be hidden one by one, not {options.sectors}")
    width, height = size_px
    x = np.arange(width) + 0.5
    y = np.arange(height)[:, None] + 0.5
    position = np.arctan2(centre_px[1] - y, x - centre_px[0]) * (options.sectors / (2 * np.pi))
    labels: NDArray[np.int64] = (
        np.floor(position - options.first_edge + _ON_EDGE).astype(np.int64) % options.sectors
    )
    if spared is not None:
        inside = (spared.x0 <= x) & (x < spared.x1) & (spared.y0 <= y) & (y < spared.y1)
        labels[inside] = _KEPT
    return np.asarray(labels, np.uint8)


def visible_shares(grid: TokenGrid, labels: NDArray[np.uint8], n_sectors: int) -> NDArray[np.float64]:
    """Return the share of the visible picture that lies in each sector, shape (K,).

    It is 0 for a sector outside the picture or the model's crop: hiding it changes nothing.

    Args:
        grid: The model's tokens.
        labels: The sector of each pixel, from `sector_labels`.
        n_sectors: K.
    """
    rects = grid.rects_px[grid.has_place]
    seen = np.zeros((grid.height_px, grid.width_px), bool)
    if len(rects):
        seen = grid.paint(np.where(grid.has_place, 1.0, 0.0)) > 0
    counts = np.bincount(labels[seen], minlength=_KEPT + 1)[:n_sectors]
    return np.asarray(counts / max(1, int(seen.sum())), np.float64)


# What is hidden of each pair: true and opposite sector, every map's own order, random orders.


ORDER_BASELINES = (UNIFORM_MAP, BOX_ONLY)
"""Orders that need no model, on every grid that a compared map has: by the layout alone, and by the target's box."""


@dataclass(frozen=True, slots=True)
class FaithfulnessOptions:
    """Which maps, fills and orders a faithfulness run uses."""

    maps: tuple[str, ...] = ()
    """Maps whose orders are tried, as ``method@target``; all maps of the run if empty."""
    projection: str = "paper"
    """The projection that gives orders and peaks."""
    fills: tuple[Fill, ...] = FILLS
    """What replaces single sectors; deletion curves use the first."""
    n_random: int = 4
    """Random orders per pair."""
    n_pairs: int | None = None
    """Sample size, drawn at random; all pairs if None."""
    spare_reference: bool = False
    """Leave the reference's own box visible. The paper does not say that it does."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.projection not in PROJECTIONS:
            raise UsageError(f"the projection is one of {', '.join(PROJECTIONS)}, not {self.projection!r}")
        if not self.fills or any(fill not in FILLS for fill in self.fills):
            raise UsageError(f"fills are some of {', '.join(FILLS)}, not {list(self.fills)}")
        if self.n_random < 1:
            raise UsageError(f"at least one random order is needed; got n_random={self.n_random}")
        if self.n_pairs is not None and self.n_pairs < 1:
            raise UsageError(f"at least one pair is needed, not {self.n_pairs}")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> FaithfulnessOptions:
        """Return the options stored in the settings of a run."""
        try:
            return check(cls, settings.get("options"))
        except UsageError as error:
            raise UsageError(f"the run does not say what was hidden ({error}); measure it again") from error


@dataclass(frozen=True, slots=True, eq=False)
class SectorOrder:
    """The order of the sectors by one map's compass, and its error."""

    order: tuple[int, ...]
    """All sectors, the fullest first; of equal ones the first counter-clockwise from 0°."""
    error_deg: float
    """DAE."""

    @property
    def peak(self) -> int:
        """The fullest sector."""
        return self.order[0]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One pair: its geometry, and the orders in which its sectors are hidden."""

    item_id: str
    """Of the pair's item in the run that holds the maps."""
    cluster: str
    hiding: Hiding
    """With no sector hidden: centre, sectors and the spared box."""
    is_correct: bool
    gold: int
    log_probabilities: NDArray[np.float64]
    """From the run with the maps, shape (options,)."""
    shares: NDArray[np.float64]
    """Of what the model sees, the share in each sector, shape (K,)."""
    true: int
    """The sector of θ_true."""
    opposite: int
    """The sector of θ_true + 180°."""
    orders: Mapping[str, SectorOrder]
    """By map, and by baseline and grid."""
    uniform: Mapping[str, str]
    """Of each of these, the uniform map of its own grid."""
    lost: Mapping[str, Exclusion]
    """Maps without a direction, and why."""
    random_orders: tuple[tuple[int, ...], ...] = field(default=())

    @property
    def adjacent(self) -> tuple[int, int]:
        """The sectors on both sides of the true one."""
        k = len(self.shares)
        return (self.true + 1) % k, (self.true - 1) % k

    def opposite_of(self, sector: int) -> int:
        """Return the sector across from another: the one that contains its centre + 180°."""
        k = len(self.shares)
        return (sector + (k + 1) // 2) % k

    def effective(self, hidden: Iterable[int]) -> frozenset[int]:
        """Return the sectors that are at least partly visible to the model: hiding others changes nothing."""
        return frozenset(k for k in hidden if self.shares[k] > 0)

    def subsets(self, keys: Sequence[str]) -> Iterator[frozenset[int]]:
        """Yield every set of sectors that the deletion curves pass through, each once; the empty set comes first."""
        seen: dict[frozenset[int], None] = {frozenset(): None}
        own = [self.orders[key].order for key in keys if key in self.orders]
        for order in (*own, *(sectors[::-1] for sectors in own), *self.random_orders):
            for n in range(1, len(order) + 1):
                seen[self.effective(order[:n])] = None
        yield from seen


@dataclass(frozen=True, slots=True)
class Trials:
    """All pairs that have a direction, and counts of the others."""

    trials: tuple[Trial, ...]
    keys: tuple[str, ...]
    """The maps that are compared, baselines last."""
    excluded: Mapping[str, int]
    """Counts of what was left out, by reason."""


def make_trials(samples: Iterable[Sample], options: FaithfulnessOptions) -> Trials:
    """Project the maps of a run's plain pairs, and draw the random orders.

    Pairs whose reference or target the model does not see have no direction and are left out and counted. So are further
    prompts of the same pairs, which would count a pair twice.

    Raises:
        UsageError: No pair has one of the maps, or there is no pair.
    """
    everything = [sample for sample in samples if sample.condition == PLAIN]
    if not everything:
        raise UsageError("the run holds no measured pair; run `theodolite compass run` first")
    plain = [sample for sample in everything if sample.prompt == everything[0].prompt]
    n_others = len(everything) - len(plain)
    if options.n_pairs is not None and options.n_pairs < len(plain):
        drawn = np.random.default_rng(options.seed).permutation(len(plain))[: options.n_pairs]
        plain = [plain[i] for i in sorted(drawn)]
    all_keys = list(dict.fromkeys(key for sample in plain for key in sample.maps))
    by_name = {shown_key(key): key for key in all_keys} | {key: key for key in all_keys}
    unknown = [name for name in options.maps if name not in by_name]
    if unknown:
        held = ", ".join(map(shown_key, all_keys))
        raise UsageError(f"the run holds no map {unknown[0]!r}; it holds: {held}")
    keys = tuple(dict.fromkeys(by_name[name] for name in options.maps)) or tuple(all_keys)
    grids, named = name_grids(
        [{key: GridMark.of(sample.maps[key].grid) for key in keys if key in sample.maps} for sample in plain]
    )
    trials: list[Trial] = []
    excluded: dict[str, int] = {"another prompt": n_others} if n_others else {}
    for sample in plain:
        try:
            trials.append(_trial(sample, {key: grids[key] for key in keys if key in sample.maps}, options))
        except DegenerateError as error:
            excluded[error.reason.value] = excluded.get(error.reason.value, 0) + 1
    baselines = [baseline_key(name, grid) for name in ORDER_BASELINES for grid in named]
    return Trials(tuple(trials), (*keys, *baselines), excluded)


def _trial(sample: Sample, grids: Mapping[str, str], options: FaithfulnessOptions) -> Trial:
    """Create the trial of one pair, with the orders of the maps named in `grids` and of the baselines on the same grids."""
    projection = PROJECTIONS[options.projection]
    grid = next(iter(sample.maps.values())).grid
    boxes: dict[str, Any] = {"reference": sample.reference.box, "target": sample.target.box}
    layout = _uniform(sample, grid, projection)
    maps: dict[str, OnGrid] = {key: sample.maps[key] for key in grids}
    uniform = {key: baseline_key(UNIFORM_MAP, name) for key, name in grids.items()}
    orders: dict[str, SectorOrder] = {}
    for key, name in grids.items():
        own, box_only = sample.maps[key].grid, baseline_key(BOX_ONLY, name)
        if uniform[key] not in orders:
            orders[uniform[key]] = _order(_uniform(sample, own, projection))
            maps[box_only] = box_only_map(own, sample.target.box)
            uniform |= {uniform[key]: uniform[key], box_only: uniform[key]}
    lost: dict[str, Exclusion] = {}
    for key, relevance in maps.items():
        try:
            orders[key] = _order(project(relevance, **boxes, options=projection))
        except DegenerateError as error:
            lost[key] = error.reason
    box, k = sample.reference.box, projection.sectors
    spared = (box.x0, box.y0, box.x1, box.y1) if options.spare_reference else None
    labels = sector_labels(
        sample.size_px, box.centre_px, options=projection, spared=box if options.spare_reference else None
    )
    true_deg = float(cast("NDArray[np.float64]", layout.true_deg))
    rng = np.random.default_rng([options.seed, _number(sample.item_id)])
    return Trial(
        item_id=sample.item_id,
        cluster=sample.cluster,
        hiding=Hiding(box.centre_px, (), options.fills[0], k, projection.bins, spared),
        is_correct=sample.is_correct,
        gold=sample.gold,
        log_probabilities=sample.log_probabilities,
        shares=visible_shares(grid, labels, k),
        true=sector_of(true_deg, projection),
        opposite=sector_of(true_deg + 180.0, projection),
        orders=orders,
        uniform=uniform,
        lost=lost,
        random_orders=tuple(
            tuple(int(sector) for sector in rng.permutation(k)) for _ in range(options.n_random)
        ),
    )


def _uniform(sample: Sample, grid: TokenGrid, options: ProjectionOptions) -> DirectionMass:
    compass = uniform_compass(
        [grid], references=[sample.reference.box], targets=[sample.target.box], options=options
    )
    for reason in compass.exclusions():
        raise DegenerateError(reason)
    return compass[0]


def _order(compass: DirectionMass) -> SectorOrder:
    shares = compass.distribution / compass.distribution.max()
    order = np.argsort(-np.round(shares, 9), kind="stable")  # equal but for rounding is equal
    return SectorOrder(tuple(int(k) for k in order), float(compass.error_deg()))


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


# Planning and measuring hidden sectors. Pictures are drawn when they are shown.
#
# An item holds the pair's own picture and, as a hint, which sectors to hide. So a plan of a hundred masked pictures per pair
# takes no space, and the hint is part of the key of a stored answer.


RUN_KIND = "compass-faithfulness"


@dataclass(frozen=True, slots=True)
class FaithfulnessPlan:
    """The items of a run that hides sectors."""

    trials: Trials
    items: tuple[Item, ...]
    """Pair by pair: the whole picture, every single sector, then the deletion curves."""


def plan_faithfulness(run: Run, options: FaithfulnessOptions) -> FaithfulnessPlan:
    """Plan a second run that hides sectors of a compass run's pictures.

    Each set of hidden sectors is asked only once, even if several curves pass through it.

    Args:
        run: A compass run with maps.
        options: Which maps, fills and random orders.
    """
    trials = make_trials(read_samples(run), options)
    wanted = {trial.item_id for trial in trials.trials}
    asked = {result.item.id: result.item for result in run.results() if result.item.id in wanted}
    items = [
        item for trial in trials.trials for item in _items(trial, asked[trial.item_id], trials.keys, options)
    ]
    return FaithfulnessPlan(trials, tuple(items))


def source_of(run: Run) -> dict[str, str]:
    """Identify the run with the maps, for the settings of the run that hides sectors."""
    return {"identity": run.info.identity, "created": run.info.created.isoformat()}


def faithfulness_settings(run: Run, options: FaithfulnessOptions) -> dict[str, Any]:
    """Return the settings of a run that hides sectors of another run's pictures."""
    return {"options": dump(options), "source": source_of(run)}


def is_same_model(maps: Run, hidden: Run) -> bool:
    """Return True if both runs have the same model with the same settings."""
    explained = maps.info.identity.partition("|attribution|")[0]
    return hidden.info.identity == f"{explained}|choose|{RECIPE}"


def _items(trial: Trial, item: Item, keys: Sequence[str], options: FaithfulnessOptions) -> Iterator[Item]:
    planned: dict[tuple[str, frozenset[int]], None] = {("", frozenset()): None}
    for fill in options.fills:
        for sector in range(len(trial.shares)):
            planned[mask_key(trial, fill, (sector,))] = None
    for subset in trial.subsets(keys):
        planned[mask_key(trial, options.fills[0], subset)] = None
    for name, hidden in planned:
        fill = cast("Fill", name or options.fills[0])
        yield _item(item, replace(trial.hiding, hidden=tuple(sorted(hidden)), fill=fill))


def mask_key(trial: Trial, fill: str, hidden: Sequence[int] | frozenset[int]) -> tuple[str, frozenset[int]]:
    """Identify a masked picture of a pair; if nothing visible is hidden, the fill does not matter.

    Args:
        trial: The pair.
        fill: What replaces hidden pixels.
        hidden: The hidden sectors.
    """
    effective = trial.effective(hidden)
    return (fill if effective else "", effective)


def _item(item: Item, hiding: Hiding) -> Item:
    words = "-".join(map(str, hiding.hidden))
    name = f"{hiding.fill}-{words}" if hiding.hidden else "whole"
    request = replace(
        item.request,
        ref=f"{item.request.ref}/{name}",
        hint={**item.request.hint, "hide": hiding.hint()} if hiding.hidden else item.request.hint,
    )
    return Item(
        name=f"{item.name}/{name}",
        request=request,
        options=item.options,
        meta={
            "of": item.id,
            "fill": hiding.fill if hiding.hidden else "",
            "hidden": list(hiding.hidden),
        },
        truth=replace(item.truth, condition=name),
    )


def shown_request(request: Request) -> Request:
    """Return the request with the sectors of its hint hidden."""
    if "hide" not in request.hint:
        return request
    hiding = check(Hiding, request.hint["hide"])
    hint = {name: value for name, value in request.hint.items() if name != "hide"}
    return replace(request.with_pictures([hiding.draw(picture) for picture in request.pictures]), hint=hint)


class HidingMeasurer:
    """Measures log-probabilities of an item's options, with the sectors of its hint hidden."""

    reuse: Reuse = "same request and hint"

    def __init__(self, model: VisionLanguageModel) -> None:
        """Create a measurer for a model that gives log-probabilities.

        Raises:
            UnsupportedError: If the model does not give them.
        """
        self._inner = ask_measurer(model, "choose")
        self.identity = f"{self._inner.identity}|{RECIPE}"
        self.batch_size = self._inner.batch_size

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """Return one record per item."""
        if any(not item.options for item in items):
            raise UsageError("hiding sectors needs items with options")
        drawn = [replace(item, request=shown_request(item.request)) for item in items]
        records = self._inner.measure(drawn)
        return [replace(record, item_id=item.id) for item, record in zip(items, records, strict=True)]

    def close(self) -> None:
        """Release the model."""
        self._inner.close()
