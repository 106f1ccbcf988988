"""How well a CLIP tells true claims from false ones, by world and form of claim, and the bounds that follow.

With p the share of a claim (`_similarity`): AUC is the probability that a true claim has a larger p than a false one. Shares of one
form are not those of another: they are out of 2, 4 or 11 captions, and the same caption is more or less sure in another world. So
each world and form (`_similarity_forms`) has bounds of its own. On every other unit, `high` is set so that at most the share `error`
of false claims reaches it, and `low` so that at most that share of true claims is at or below it; where the two would cross, both
are put in the middle, in log-odds. What comes of the bounds is measured on the other units.

Bounds are set only where the lower end of the AUC's 95 % interval is above ¾, half way between guessing and knowing: there the model
surely knows more than it guesses. Elsewhere it is left out, with the reason, and such claims are not judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.estimates import mean_estimate
from theodolite.instruments.trace.verifiers.annotation import AnnotationVerifier
from theodolite.instruments.trace.verifiers.captions import captions_of
from theodolite.instruments.trace.verifiers.similarity import SimilarityVerifier
from theodolite.instruments.trace.verifiers.similarity_claims import claims_about
from theodolite.instruments.trace.verifiers.similarity_clip import Likeness
from theodolite.instruments.trace.verifiers.similarity_forms import FORMS, form_of

ERROR = 0.02
LEAST_AUC = 0.75
"""What the lower end of an AUC's interval has to be above, for bounds to be set."""


@dataclass(frozen=True, slots=True)
class KindCalibration:
    """What a model's shares say of one form of claim, against the annotations."""

    high: float | None
    """None, like `low`, where the model does not tell such claims; then nothing is judged."""
    low: float | None
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

    by_world: dict[str, dict[str, KindCalibration]]
    """By world and form of claim."""
    pooled: dict[str, KindCalibration]
    """By form of claim over all worlds: for episodes that name no world."""
    left_out: dict[str, str]
    """World and form of claims that are not judged, and why."""
    n_undecided: int
    """Claims on which the annotations are silent; not counted."""
    n_unread: int
    """Pictures that could not be read; not counted."""
    n_units: int
    words: tuple[str, ...]
    """Every word that a caption was made of."""


@dataclass(frozen=True, slots=True)
class _Row:
    form: str
    world: str
    unit: str
    is_true: bool
    share: float


@dataclass(frozen=True, slots=True)
class _Asked:
    rows: tuple[_Row, ...]
    n_undecided: int
    n_unread: int
    words: frozenset[str]


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
        UsageError: no form of claim could be measured.
    """
    asked = _ask(likeness, episodes, per_kind, seed)
    by_world: dict[str, dict[str, KindCalibration]] = {}
    left_out: dict[str, str] = {}
    for world in sorted({row.world for row in asked.rows}):
        rows = [row for row in asked.rows if row.world == world]
        by_world[world], why = _calibrated_forms(rows, error, seed)
        left_out |= {f"{world or 'no world'}: {form}": reason for form, reason in why.items()}
    pooled, _ = _calibrated_forms(asked.rows, error, seed)
    if not pooled:
        unread = f" and {asked.n_unread} pictures cannot be read" if asked.n_unread else ""
        reason = next(iter(left_out.values()), "they have no pictures with annotated things in view")
        raise UsageError(f"nothing to calibrate on in these {len(episodes)} episodes: {reason}{unread}")
    return SimilarityCalibration(
        by_world,
        pooled,
        left_out,
        asked.n_undecided,
        asked.n_unread,
        len({row.unit for row in asked.rows}),
        tuple(sorted(asked.words)),
    )


def _ask(likeness: Likeness, episodes: Sequence[Episode], per_kind: int, seed: int) -> _Asked:
    truth, verifier = AnnotationVerifier(), SimilarityVerifier("calibrated", likeness)
    rows: list[_Row] = []
    n_undecided, unread, words = 0, set[str](), set[str]()
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
        for (claim, captions), verdict, found in zip(
            put, verdicts, verifier.shares(put, episode), strict=True
        ):
            words.update(word for text in captions for word in text.split())
            if found.share is None:
                picture = episode.frames[claim.frames[0]].picture
                unread.add(picture.digest if picture is not None else "")
            elif verdict.label == "unverifiable":
                n_undecided += 1
            else:
                is_true = verdict.label == "supported"
                rows.append(_Row(form_of(claim), episode.world, episode.unit, is_true, found.share))
    return _Asked(tuple(rows), n_undecided, len(unread), frozenset(words))


def _calibrated_forms(
    rows: Sequence[_Row], error: float, seed: int
) -> tuple[dict[str, KindCalibration], dict[str, str]]:
    """What was measured of each form, and which of them are not judged, and why."""
    found: dict[str, KindCalibration] = {}
    left_out: dict[str, str] = {}
    for form in FORMS:
        part = [row for row in rows if row.form == form]
        if not part:
            continue
        try:
            auc = _auc(part, seed)
        except UsageError as why:
            left_out[form] = str(why)
            continue
        found[form] = KindCalibration(None, None, auc, None, None, *_counts(part))
        if auc.low <= LEAST_AUC:
            left_out[form] = (
                f"its AUC, {auc.value:.3f} [{auc.low:.3f}, {auc.high:.3f}], is not surely above {LEAST_AUC}"
            )
            continue
        try:
            found[form] = _with_bounds(part, auc, error, seed)
        except UsageError as why:
            left_out[form] = str(why)
    return found, left_out


def _counts(rows: Sequence[_Row]) -> tuple[int, int]:
    return sum(row.is_true for row in rows), sum(not row.is_true for row in rows)


def _with_bounds(rows: Sequence[_Row], auc: stats.Estimate, error: float, seed: int) -> KindCalibration:
    """Bounds on every other unit; what comes of them on the rest."""
    units = sorted({row.unit for row in rows})
    ours = set(units[::2])
    true, false = ([r.share for r in rows if r.unit in ours and r.is_true is told] for told in (True, False))
    if not true or not false:
        raise UsageError(f"{len(true)} true and {len(false)} false claims are too few for bounds")
    low, high = _least_above(true, error, up=False), _least_above(false, error, up=True)
    if low >= high:
        low = high = _middle(low, high)
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
        *_counts(rows),
    )


def _least_above(shares: Sequence[float], error: float, *, up: bool) -> float:
    """The bound that at most the share `error` of the values reaches, from below or from above.

    >>> _least_above([0.1, 0.2, 0.3, 0.4], 0.25, up=True) > 0.3, _least_above([0.1, 0.2], 0.0, up=False) < 0.1
    (True, True)
    """
    allowed = int(error * len(shares))
    return float(np.nextafter(sorted(shares, reverse=up)[allowed], np.inf if up else -np.inf))


def _middle(first: float, second: float) -> float:
    """The share half way between two in log-odds: shares lie orders of magnitude apart.

    >>> round(_middle(0.001, 0.999), 9), f"{_middle(1e-12, 1e-4):.1e}"
    (0.5, '1.0e-08')
    """
    inside = np.clip([first, second], np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
    return float(1 / (1 + np.exp(-np.mean(np.log(inside) - np.log1p(-inside)))))


def _auc(rows: Sequence[_Row], seed: int) -> stats.Estimate:
    return stats.roc_auc(
        [row.share for row in rows],
        [row.is_true for row in rows],
        clusters=[row.unit for row in rows],
        seed=seed,
    )


def write_calibration(
    result: SimilarityCalibration, file: Path, *, model: str, words: Sequence[str] = ()
) -> None:
    """Writes what `similarity:…` reads: bounds by world and form of claim, with the figures they rest on.

    Args:
        result: what was measured.
        file: where to.
        model: how the model is called.
        words: the only words the model knows; empty for one trained on language at large.
    """
    told = asdict(result)
    value: Mapping[str, object] = {"model": model, **told, "words": sorted(words)}
    file.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
