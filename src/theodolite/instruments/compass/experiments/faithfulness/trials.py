"""What is to be hidden of each pair, and why: true and opposite sector, every map's own order, random orders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.experiments.faithfulness.hiding import (
    FILLS,
    Fill,
    Hiding,
    sector_labels,
    sector_of,
    visible_shares,
)
from theodolite.instruments.compass.experiments.framework import shown_key
from theodolite.instruments.compass.formulas.baselines import box_only_map, uniform_map
from theodolite.instruments.compass.formulas.distribution import Compass
from theodolite.instruments.compass.formulas.exclusions import DegenerateError, Exclusion
from theodolite.instruments.compass.formulas.projection import project
from theodolite.instruments.compass.formulas.projection_options import PAPER, SOUND, ProjectionOptions
from theodolite.instruments.compass.formulas.token_map import OnGrid
from theodolite.instruments.compass.questions import PLAIN
from theodolite.instruments.compass.samples import Sample

Projection: TypeAlias = Literal["paper", "sound"]

PROJECTIONS: Mapping[Projection, ProjectionOptions] = {"paper": PAPER, "sound": SOUND}
UNIFORM, BOX_ONLY = "uniform-map", "box-only"
CONTROLS = (UNIFORM, BOX_ONLY)
"""Orders that need no model: by the layout alone, and by the target's box."""


@dataclass(frozen=True, slots=True)
class FaithfulnessOptions:
    """What is hidden, and how often."""

    maps: tuple[str, ...] = ()
    """Which maps' orders are tried, as ``method@target``; all that the run holds if empty."""
    projection: Projection = "paper"
    """Which compass gives orders and peaks."""
    fills: tuple[Fill, ...] = FILLS
    """What single sectors are hidden with; deletion curves use the first."""
    n_random: int = 4
    """Random orders per pair."""
    n_pairs: int | None = None
    """How many pairs, drawn at random; all if None."""
    spare_reference: bool = False
    """Whether the reference's own box stays visible. The paper does not say that it does."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.projection not in PROJECTIONS:
            raise UsageError(f"the projection is one of {', '.join(PROJECTIONS)}, not {self.projection!r}")
        if not self.fills or any(fill not in FILLS for fill in self.fills):
            raise UsageError(f"fills are some of {', '.join(FILLS)}, not {list(self.fills)}")
        if self.n_random < 1:
            raise UsageError(f"a random order is needed to compare with; got n_random={self.n_random}")
        if self.n_pairs is not None and self.n_pairs < 1:
            raise UsageError(f"at least one pair is needed, not {self.n_pairs}")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> FaithfulnessOptions:
        """What `as_settings` wrote into a run."""
        try:
            data = dict(settings["options"])
            return cls(**{**data, "maps": tuple(data["maps"]), "fills": tuple(data["fills"])})
        except (KeyError, TypeError) as error:
            raise UsageError(f"the run does not say what was hidden ({error}); measure it again") from error

    def as_settings(self) -> dict[str, Any]:
        """Plain JSON."""
        return {**asdict(self), "maps": list(self.maps), "fills": list(self.fills)}


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What one map's compass says about one pair."""

    order: tuple[int, ...]
    """All sectors, the fullest first; of equal ones the first counter-clockwise from 0°."""
    dae_deg: float

    @property
    def peak(self) -> int:
        """The fullest sector."""
        return self.order[0]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One pair: its geometry, the orders in which its sectors are hidden, and what could not be read."""

    item_id: str
    """Of the pair's item in the run that holds the maps."""
    cluster: str
    hiding: Hiding
    """Nothing hidden yet: centre, sectors and what is spared."""
    is_correct: bool
    gold: int
    log_probabilities: NDArray[np.float64]
    """As the run of the maps has them, shape (options,)."""
    shares: NDArray[np.float64]
    """Of what the model sees, the share in each sector, shape (K,)."""
    true: int
    """The sector of θ_true."""
    opposite: int
    """The sector of θ_true + 180°."""
    readings: Mapping[str, Reading]
    lost: Mapping[str, Exclusion]
    """Maps without a compass, and why."""
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
        """Those of some sectors that hold anything to see: hiding others changes no pixel that the model is shown."""
        return frozenset(k for k in hidden if self.shares[k] > 0)

    def subsets(self, keys: Sequence[str]) -> Iterator[frozenset[int]]:
        """Every set of sectors that the deletion curves pass through, each once; nothing hidden comes first."""
        seen: dict[frozenset[int], None] = {frozenset(): None}
        own = [self.readings[key].order for key in keys if key in self.readings]
        for order in (*own, *(each[::-1] for each in own), *self.random_orders):
            for n in range(1, len(order) + 1):
                seen[self.effective(order[:n])] = None
        yield from seen


@dataclass(frozen=True, slots=True)
class Trials:
    """All pairs that can be tried, and how many cannot."""

    trials: tuple[Trial, ...]
    keys: tuple[str, ...]
    """The maps that are compared, controls last."""
    excluded: Mapping[str, int]
    """What was left out: pairs without a direction, by reason, and other prompts."""


def make_trials(samples: Iterable[Sample], options: FaithfulnessOptions) -> Trials:
    """Reads the compasses of a run's plain pairs and draws the random orders.

    A pair whose reference or target lies outside what the model sees has no direction; it is left out and counted, as is
    every further prompt of the same pairs: asked twice, a pair would be counted twice.

    Raises:
        UsageError: a map was asked for that no pair has, or there is no pair.
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
    trials: list[Trial] = []
    excluded: dict[str, int] = {"another prompt": n_others} if n_others else {}
    for sample in plain:
        try:
            trials.append(_trial(sample, keys, options))
        except DegenerateError as error:
            excluded[error.reason.value] = excluded.get(error.reason.value, 0) + 1
    return Trials(tuple(trials), (*keys, *CONTROLS), excluded)


def _trial(sample: Sample, keys: Sequence[str], options: FaithfulnessOptions) -> Trial:
    projection = PROJECTIONS[options.projection]
    grid = next(iter(sample.maps.values())).grid
    layout = _compass(sample, uniform_map(grid), projection)  # raises where there is no direction at all
    maps: dict[str, OnGrid] = {key: sample.maps[key] for key in keys if key in sample.maps}
    readings: dict[str, Reading] = {}
    lost: dict[str, Exclusion] = {}
    for key, relevance in {**maps, BOX_ONLY: box_only_map(grid, sample.target.box)}.items():
        try:
            readings[key] = _reading(_compass(sample, relevance, projection))
        except DegenerateError as error:
            lost[key] = error.reason
    readings[UNIFORM] = _reading(layout)
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
        readings=readings,
        lost=lost,
        random_orders=tuple(
            tuple(int(sector) for sector in rng.permutation(k)) for _ in range(options.n_random)
        ),
    )


def _compass(sample: Sample, relevance: OnGrid, options: ProjectionOptions) -> Compass:
    return project(relevance, reference=sample.reference.box, target=sample.target.box, options=options)


def _reading(compass: Compass) -> Reading:
    shares = compass.distribution / compass.distribution.max()
    order = np.argsort(-np.round(shares, 9), kind="stable")  # equal but for rounding is equal
    return Reading(tuple(int(k) for k in order), float(compass.dae_deg()))


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
