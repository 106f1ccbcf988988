"""What is hidden of each pair: true and opposite sector, every map's own order, random orders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.geometry import TokenGrid
from theodolite.instruments.compass.experiments.faithfulness.hiding import (
    FILLS,
    Fill,
    Hiding,
    sector_labels,
    sector_of,
    visible_shares,
)
from theodolite.instruments.compass.formulas.baselines import (
    BOX_ONLY,
    UNIFORM_MAP,
    GridMark,
    baseline_key,
    box_only_map,
    name_grids,
    uniform_compass,
)
from theodolite.instruments.compass.formulas.compass import Compass
from theodolite.instruments.compass.formulas.exclusions import DegenerateError, Exclusion
from theodolite.instruments.compass.formulas.projection import project
from theodolite.instruments.compass.formulas.projection_options import PROJECTIONS, ProjectionOptions
from theodolite.instruments.compass.formulas.token_map import OnGrid
from theodolite.instruments.compass.measure import Sample, shown_key
from theodolite.instruments.compass.questions import PLAIN

ORDER_BASELINES = (UNIFORM_MAP, BOX_ONLY)
"""Orders that need no model, on every grid that a compared map has: by the layout alone, and by the target's box."""


@dataclass(frozen=True, slots=True)
class FaithfulnessOptions:
    """What is hidden."""

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
        """The inverse of `as_settings`."""
        try:
            data = dict(settings["options"])
            return cls(**{**data, "maps": tuple(data["maps"]), "fills": tuple(data["fills"])})
        except (KeyError, TypeError) as error:
            raise UsageError(f"the run does not say what was hidden ({error}); measure it again") from error

    def as_settings(self) -> dict[str, Any]:
        """Plain JSON."""
        return {**asdict(self), "maps": list(self.maps), "fills": list(self.fills)}


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
        """The sector across from another: the one that holds its middle + 180°."""
        k = len(self.shares)
        return (sector + (k + 1) // 2) % k

    def effective(self, hidden: Iterable[int]) -> frozenset[int]:
        """The sectors that the model sees anything of: hiding others changes nothing."""
        return frozenset(k for k in hidden if self.shares[k] > 0)

    def subsets(self, keys: Sequence[str]) -> Iterator[frozenset[int]]:
        """Every set of sectors that the deletion curves pass through, each once; the empty set comes first."""
        seen: dict[frozenset[int], None] = {frozenset(): None}
        own = [self.orders[key].order for key in keys if key in self.orders]
        for order in (*own, *(each[::-1] for each in own), *self.random_orders):
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
    """Projects the maps of a run's plain pairs and draws the random orders.

    Pairs whose reference or target the model does not see have no direction; they are left out and counted, and so are
    further prompts of the same pairs, which would count a pair twice.

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
    known = list(dict.fromkeys(key for sample in plain for key in sample.maps))
    by_name = {shown_key(key): key for key in known} | {key: key for key in known}
    unknown = [name for name in options.maps if name not in by_name]
    if unknown:
        held = ", ".join(map(shown_key, known))
        raise UsageError(f"the run holds no map {unknown[0]!r}; it holds: {held}")
    keys = tuple(dict.fromkeys(by_name[name] for name in options.maps)) or tuple(known)
    grids, named = name_grids(
        [{key: GridMark.of(each.maps[key].grid) for key in keys if key in each.maps} for each in plain]
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
    """One pair, with the orders of the maps that `grids` names, and of the baselines on the same grids."""
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


def _uniform(sample: Sample, grid: TokenGrid, options: ProjectionOptions) -> Compass:
    found = uniform_compass(
        [grid], references=[sample.reference.box], targets=[sample.target.box], options=options
    )
    for reason in found.exclusions():
        raise DegenerateError(reason)
    return found[0]


def _order(compass: Compass) -> SectorOrder:
    shares = compass.distribution / compass.distribution.max()
    order = np.argsort(-np.round(shares, 9), kind="stable")  # equal but for rounding is equal
    return SectorOrder(tuple(int(k) for k in order), float(compass.error_deg()))


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
