"""How well a CLIP tells true claims from false ones, kind by kind, and the bounds that follow.

With p the share of a claim (`_similarity`): AUC is the probability that a true claim has a larger p than a false one. On every other
unit, `high` is set so that at most the share `error` of false claims reaches it, and `low` so that at most that share of true claims
is at or below it; where the two would cross, both are put in the middle. What comes of the bounds is measured on the other units.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from theodolite import stats
from theodolite.errors import UsageError
from theodolite.trace._annotation import AnnotationVerifier
from theodolite.trace._claims import KINDS, ClaimKind
from theodolite.trace._episode import Episode
from theodolite.trace._estimates import mean_estimate
from theodolite.trace._verifiers._captions import captions_of
from theodolite.trace._verifiers._similarity import Likeness, SimilarityVerifier
from theodolite.trace._verifiers._similarity_claims import claims_about

ERROR = 0.02


@dataclass(frozen=True, slots=True)
class KindCalibration:
    """What a model's shares say of one kind of claim, against the annotations."""

    high: float
    low: float
    auc: stats.Estimate
    judged: stats.Estimate | None
    """Share of claims beyond either bound, on units that the bounds were not set on."""
    right: stats.Estimate | None
    """Share of right verdicts among those."""
    n_true: int
    n_false: int


@dataclass(frozen=True, slots=True)
class SimilarityCalibration:
    """A model, measured."""

    kinds: dict[ClaimKind, KindCalibration]
    by_world: dict[str, dict[ClaimKind, stats.Estimate]]
    """The AUC in each world."""
    left_out: dict[str, str]
    """Kinds that could not be measured, and why."""
    n_undecided: int
    """Claims on which the annotations are silent; not counted."""
    n_units: int
    words: tuple[str, ...]
    """Every word that a caption was made of."""


@dataclass(frozen=True, slots=True)
class _Asked:
    kind: ClaimKind
    world: str
    unit: str
    is_true: bool
    share: float


def calibrate_similarity(
    likeness: Likeness, episodes: Sequence[Episode], *, error: float = ERROR, per_kind: int = 2, seed: int = 0
) -> SimilarityCalibration:
    """Measures a model on annotated episodes with pictures.

    Args:
        likeness: the model.
        episodes: whose annotations are the truth.
        error: how often, at most, a bound may be wrong on the units that it is set on.
        per_kind: claims of each kind about each frame.
        seed: of the draw of claims.

    Raises:
        UsageError: no kind of claim could be measured.
    """
    asked, n_undecided, words = _ask(likeness, episodes, per_kind, seed)
    kinds: dict[ClaimKind, KindCalibration] = {}
    left_out: dict[str, str] = {}
    for kind in KINDS:
        rows = [row for row in asked if row.kind == kind]
        if rows:
            try:
                kinds[kind] = _calibrated(rows, error, seed)
            except UsageError as why:
                left_out[kind] = str(why)
    if not kinds:
        reason = next(iter(left_out.values()), "they have no pictures with annotated things in view")
        raise UsageError(f"nothing to calibrate on in these {len(episodes)} episodes: {reason}")
    worlds = sorted({row.world for row in asked})
    by_world = {world: _areas([row for row in asked if row.world == world], seed) for world in worlds}
    return SimilarityCalibration(
        kinds, by_world, left_out, n_undecided, len({row.unit for row in asked}), tuple(sorted(words))
    )


def _ask(
    likeness: Likeness, episodes: Sequence[Episode], per_kind: int, seed: int
) -> tuple[list[_Asked], int, set[str]]:
    truth, verifier = AnnotationVerifier(), SimilarityVerifier("calibrated", likeness)
    found: list[_Asked] = []
    n_undecided, words = 0, set[str]()
    hues = sorted(
        {
            t.attributes["colour"]
            for e in episodes
            for f in e.frames
            for t in f.objects
            if "colour" in t.attributes
        }
    )
    for index, episode in enumerate(episodes):
        rng = np.random.default_rng([seed, index])
        frames = [i for i, frame in enumerate(episode.frames) if frame.picture is not None]
        claims = [c for i in frames for c in claims_about(episode, i, hues, per_kind=per_kind, rng=rng)]
        put = [(claim, captions) for claim in claims if (captions := captions_of(claim, episode))]
        verdicts = truth.verify([claim for claim, _ in put], episode)
        for (claim, captions), verdict, share in zip(
            put, verdicts, verifier.shares(put, episode), strict=True
        ):
            words.update(word for text in captions for word in text.split())
            if verdict.label == "unverifiable" or share is None:
                n_undecided += 1
                continue
            is_true = verdict.label == "supported"
            found.append(_Asked(claim.kind, episode.world, episode.unit, is_true, share[0]))
    return found, n_undecided, words


def _calibrated(rows: Sequence[_Asked], error: float, seed: int) -> KindCalibration:
    """Bounds on every other unit; what comes of them on the rest."""
    auc = _auc(rows, seed)
    units = sorted({row.unit for row in rows})
    ours = set(units[::2])
    true, false = ([r.share for r in rows if r.unit in ours and r.is_true is told] for told in (True, False))
    if not true or not false:
        raise UsageError(f"{len(true)} true and {len(false)} false claims are too few for bounds")
    low, high = _least_above(true, error, up=False), _least_above(false, error, up=True)
    if low >= high:
        low = high = (low + high) / 2
    rest = [row for row in rows if row.unit not in ours]
    judged = [row for row in rest if row.share >= high or row.share <= low]
    return KindCalibration(
        high,
        low,
        auc,
        mean_estimate(
            [float(row.share >= high or row.share <= low) for row in rest], [r.unit for r in rest], seed=seed
        ),
        mean_estimate(
            [float((row.share >= high) == row.is_true) for row in judged], [r.unit for r in judged], seed=seed
        ),
        sum(row.is_true for row in rows),
        sum(not row.is_true for row in rows),
    )


def _least_above(shares: Sequence[float], error: float, *, up: bool) -> float:
    """The bound that at most the share `error` of the values reaches, from below or from above.

    >>> _least_above([0.1, 0.2, 0.3, 0.4], 0.25, up=True) > 0.3, _least_above([0.1, 0.2], 0.0, up=False) < 0.1
    (True, True)
    """
    allowed = int(error * len(shares))
    return float(np.nextafter(sorted(shares, reverse=up)[allowed], np.inf if up else -np.inf))


def _auc(rows: Sequence[_Asked], seed: int) -> stats.Estimate:
    return stats.roc_auc(
        [row.share for row in rows],
        [row.is_true for row in rows],
        clusters=[row.unit for row in rows],
        seed=seed,
    )


def _areas(rows: Sequence[_Asked], seed: int) -> dict[ClaimKind, stats.Estimate]:
    found: dict[ClaimKind, stats.Estimate] = {}
    for kind in KINDS:
        part = [row for row in rows if row.kind == kind]
        if len({row.is_true for row in part}) == 2:
            found[kind] = _auc(part, seed)
    return found


def write_calibration(
    result: SimilarityCalibration, file: Path, *, model: str, words: Sequence[str] = ()
) -> None:
    """Writes what `similarity:…` reads: bounds by kind, with the figures they rest on.

    Args:
        result: what was measured.
        file: where to.
        model: how the model is called.
        words: the only words the model knows; empty for one trained on language at large.
    """
    value: Mapping[str, object] = {
        "model": model,
        "worlds": sorted(result.by_world),
        "words": sorted(words),
        "kinds": {kind: asdict(told) for kind, told in result.kinds.items()},
        "by_world": {
            world: {kind: asdict(auc) for kind, auc in told.items()}
            for world, told in result.by_world.items()
        },
        "left_out": result.left_out,
        "n_undecided": result.n_undecided,
        "n_units": result.n_units,
    }
    file.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
