"""Calibration of a CLIP as a verifier: how well it separates true from false claims, and the resulting bounds.

With p the share of a claim (`theodolite.instruments.trace.verifiers.similarity`), the AUC is the probability that a true
claim has a larger p than a false one. Shares of different forms cannot be compared: they are among 2, 4 or 11 captions, and
differ between worlds. So each world and form has its own bounds. They are set on every other unit: `high` so that at most the
share `error` of false claims reaches it, `low` so that at most that share of true claims is at or below it. If they cross,
both are put in the middle, in log-odds. Their effect is measured on the other units.

Bounds are set only if the lower limit of the AUC's 95 % interval is above ¾, half-way between chance and perfection.
Otherwise such claims are not judged, and the reason is reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import check, read_json
from theodolite.core.scores import column
from theodolite.core.tables import Column, Table
from theodolite.instruments.trace.claims.lexicon import FROM_ME, HUES
from theodolite.instruments.trace.claims.types import Claim, Mention
from theodolite.instruments.trace.data.dataset import EpisodeSet
from theodolite.instruments.trace.verifiers import similarity as say
from theodolite.instruments.trace.verifiers.annotation import AnnotationVerifier
from theodolite.instruments.trace.verifiers.similarity import (
    CALIBRATION,
    SHIPPED,
    ClipLikeness,
    Likeness,
    SimilarityVerifier,
)
from theodolite.worlds.episodes import EGO, Episode, FrameObject

ERROR = 0.02
LEAST_AUC = 0.75
"""The lower limit of the AUC must be above this for bounds to be set."""
_I = Mention("i")


@dataclass(frozen=True, slots=True)
class KindCalibration:
    """How well a model judges one form of claim, against the annotations."""

    high: float | None
    """None, like `low`, if the model cannot judge such claims."""
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
    """The calibration of a model."""

    by_world: dict[str, dict[str, KindCalibration]]
    """By world and form of claim."""
    pooled: dict[str, KindCalibration]
    """By form of claim over all worlds, for episodes without a world."""
    left_out: dict[str, str]
    """Worlds and forms of claims that are not judged, and why."""
    n_undecided: int
    """Claims that the annotations cannot judge; not counted."""
    n_unread: int
    """Pictures that could not be read; not counted."""
    n_units: int
    words: tuple[str, ...]
    """Every word of the captions."""


@dataclass(frozen=True, slots=True)
class _ClaimShare:
    form: str
    world: str
    unit: str
    is_true: bool
    share: float


@dataclass(frozen=True, slots=True)
class _Shares:
    rows: tuple[_ClaimShare, ...]
    n_undecided: int
    n_unread: int
    words: frozenset[str]


def calibrate_similarity(
    likeness: Likeness, episodes: Sequence[Episode], *, error: float = ERROR, per_kind: int = 2, seed: int = 0
) -> SimilarityCalibration:
    """Calibrate a model on annotated episodes with pictures.

    Args:
        likeness: The model.
        episodes: Episodes whose annotations are the truth.
        error: The highest error rate of a bound on the units that it is set on.
        per_kind: Number of claims of each kind about each frame.
        seed: Seed of the draw of claims.

    Raises:
        UsageError: No form of claim could be measured.
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


def _ask(likeness: Likeness, episodes: Sequence[Episode], per_kind: int, seed: int) -> _Shares:
    truth, verifier = AnnotationVerifier(), SimilarityVerifier("calibrated", likeness)
    rows: list[_ClaimShare] = []
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
        put = [(claim, captions) for claim in claims if (captions := say.captions_of(claim, episode))]
        verdicts = truth.verify([claim for claim, _ in put], episode)
        for (claim, captions), verdict, result in zip(
            put, verdicts, verifier.shares(put, episode), strict=True
        ):
            words.update(word for text in captions for word in text.split())
            if result.share is None:
                picture = episode.frames[claim.frames[0]].picture
                unread.add(picture.digest if picture is not None else "")
            elif verdict.label == "unverifiable":
                n_undecided += 1
            else:
                is_true = verdict.label == "supported"
                rows.append(
                    _ClaimShare(say.form_of(claim), episode.world, episode.unit, is_true, result.share)
                )
    return _Shares(tuple(rows), n_undecided, len(unread), frozenset(words))


def _calibrated_forms(
    rows: Sequence[_ClaimShare], error: float, seed: int
) -> tuple[dict[str, KindCalibration], dict[str, str]]:
    """Return the calibration of each form, and why some are not judged."""
    calibrations: dict[str, KindCalibration] = {}
    left_out: dict[str, str] = {}
    for form in say.FORMS:
        part = [row for row in rows if row.form == form]
        if not part:
            continue
        try:
            auc = _auc(part, seed)
        except UsageError as why:
            left_out[form] = str(why)
            continue
        calibrations[form] = KindCalibration(None, None, auc, None, None, *_counts(part))
        if auc.low <= LEAST_AUC:
            left_out[form] = (
                f"the lower limit of its AUC, {auc.value:.3f} [{auc.low:.3f}, {auc.high:.3f}], is not above {LEAST_AUC}"
            )
            continue
        try:
            calibrations[form] = _with_bounds(part, auc, error)
        except UsageError as why:
            left_out[form] = str(why)
    return calibrations, left_out


def _counts(rows: Sequence[_ClaimShare]) -> tuple[int, int]:
    return sum(row.is_true for row in rows), sum(not row.is_true for row in rows)


def _with_bounds(rows: Sequence[_ClaimShare], auc: stats.Estimate, error: float) -> KindCalibration:
    """Set bounds on every other unit, and measure their effect on the others."""
    units = sorted({row.unit for row in rows})
    ours = set(units[::2])
    true, false = (
        [r.share for r in rows if r.unit in ours and r.is_true is truth] for truth in (True, False)
    )
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
        stats.clustered_mean([r.share >= high or r.share <= low for r in rest], [r.unit for r in rest]),
        stats.clustered_mean([(r.share >= high) == r.is_true for r in judged], [r.unit for r in judged]),
        *_counts(rows),
    )


def _least_above(shares: Sequence[float], error: float, *, up: bool) -> float:
    """Return the bound that at most the share `error` of the values reaches.

    >>> _least_above([0.1, 0.2, 0.3, 0.4], 0.25, up=True) > 0.3, _least_above([0.1, 0.2], 0.0, up=False) < 0.1
    (True, True)
    """
    allowed = int(error * len(shares))
    return float(np.nextafter(sorted(shares, reverse=up)[allowed], np.inf if up else -np.inf))


def _middle(first: float, second: float) -> float:
    """Return the middle of two shares in log-odds, since shares differ by orders of magnitude.

    >>> round(_middle(0.001, 0.999), 9), f"{_middle(1e-12, 1e-4):.1e}"
    (0.5, '1.0e-08')
    """
    inside = np.clip([first, second], np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
    return float(1 / (1 + np.exp(-np.mean(np.log(inside) - np.log1p(-inside)))))


def _auc(rows: Sequence[_ClaimShare], seed: int) -> stats.Estimate:
    return stats.roc_auc(
        [row.share for row in rows],
        [row.is_true for row in rows],
        clusters=[row.unit for row in rows],
        seed=seed,
    )


def write_calibration(
    result: SimilarityCalibration, file: Path, *, model: str, words: Sequence[str] = ()
) -> None:
    """Write the file that `similarity:…` reads: bounds by world and form of claim, with the numbers behind them.

    Args:
        result: The calibration.
        file: Where to write it.
        model: Name of the model.
        words: The only words that the model knows; empty if it was trained on general language.
    """
    fields = asdict(result)
    value: Mapping[str, object] = {"model": model, **fields, "words": sorted(words)}
    file.write_text(json.dumps(value) + "\n", encoding="utf-8")


def calibrate_checkpoint(
    model: str, sets: Sequence[EpisodeSet], out: Path | None, *, error: float = ERROR, seed: int = 0
) -> tuple[SimilarityCalibration, Path | None]:
    """Calibrate a checkpoint and write its calibration, with the model card if the checkpoint was trained here.

    Args:
        model: A folder or hub id; empty for the shipped model.
        sets: Annotated episodes.
        out: File or folder to write to. Default: beside the checkpoint. The shipped model is not changed.
        error: As for `calibrate_similarity`.
        seed: As for `calibrate_similarity`.

    Returns:
        The calibration, and the file that was written, if any.
    """
    source = Path(model) if model else SHIPPED
    training = _training_record(source)
    target = out or (source / CALIBRATION if model else None)
    if target is not None and target.is_dir():
        target /= CALIBRATION
    if target is not None and not target.parent.is_dir():
        raise UsageError(f"{target.parent} is not a folder; name a file for the calibration with --out")
    episodes = [episode for episode_set in sets for episode in episode_set.episodes]
    result = calibrate_similarity(ClipLikeness(model or str(SHIPPED)), episodes, error=error, seed=seed)
    if target is None:
        return result, None
    try:
        write_calibration(result, target, model=source.name, words=training.get("words", ()))
        if training and out is None:
            size = (source / "model.safetensors").stat().st_size
            sources = [
                f"`{m.source}`" if m.source else m.world
                for episode_set in sets
                if (m := episode_set.manifest)
            ]
            card = card_text(
                result, training, size_bytes=size, data=", ".join(sources) or "annotated episodes"
            )
            target.with_name("README.md").write_text(card, encoding="utf-8")
    except OSError as why:
        raise UsageError(f"cannot write {target}: {why.strerror}") from why
    return result, target


def _training_record(folder: Path) -> dict[str, Any]:
    """Return the record of the training, if the checkpoint was trained here."""
    path = folder / "training.json"
    return check(dict[str, Any], read_json(path)) if path.is_file() else {}


def claims_about(
    episode: Episode, frame: int, hues: Sequence[str], *, per_kind: int, rng: np.random.Generator
) -> list[Claim]:
    """Return some claims of each kind that captions can express, true and false ones.

    Objects: a visible one, the same in another colour, another in the same colour, and any. Colours: the true one and
    another. Sides and states: all values.

    Args:
        episode: The episode.
        frame: Index of the frame.
        hues: Colours to draw false claims from.
        per_kind: Number of claims of each kind.
        rng: Random generator.
    """
    here = episode.frames[frame]
    shown = [thing for thing in here.objects if thing.is_visible]
    labels = episode.vocabulary.get("objects") or tuple(sorted({t.category for t in here.objects}))
    pools = (
        list(_things(shown, labels, hues, rng)),
        list(_colours(shown, hues, rng)),
        [*_sides(episode, frame, shown), *_rooms(episode, frame, hues, rng)],
        list(_states(shown)),
    )
    chosen = [pool[int(i)] for pool in pools for i in rng.permutation(len(pool))[:per_kind]]
    return [replace(claim, frames=(frame,)) for claim in chosen]


def _mention(thing: FrameObject) -> Mention:
    colour = thing.attributes.get("colour")
    return Mention(thing.category, (colour,) if colour else ())


def _things(
    shown: Sequence[FrameObject], labels: Sequence[str], hues: Sequence[str], rng: np.random.Generator
) -> Iterator[Claim]:
    for thing in shown:
        mention = _mention(thing)
        yield Claim("entity", mention)
        if mention.attributes and hues:
            yield Claim("entity", Mention(mention.head, (str(rng.choice(hues)),)))
        yield Claim("entity", Mention(str(rng.choice(labels)), mention.attributes))
    for _ in shown or (None,):
        colour = (str(rng.choice(hues)),) if hues else ()
        yield Claim("entity", Mention(str(rng.choice(labels)), colour))


def _colours(shown: Sequence[FrameObject], hues: Sequence[str], rng: np.random.Generator) -> Iterator[Claim]:
    for thing in shown:
        colour = thing.attributes.get("colour")
        others = [hue for hue in hues if hue != colour]
        if colour in HUES and others:
            yield Claim("attribute", Mention(thing.category), colour)
            yield Claim("attribute", Mention(thing.category), str(rng.choice(others)))


def _sides(episode: Episode, frame: int, shown: Sequence[FrameObject]) -> Iterator[Claim]:
    placed = [thing for thing in shown if thing.box is not None]
    for first, second in combinations(placed, 2):
        if _mention(first) != _mention(second):
            for side in say.SIDES:
                yield Claim("spatial", _mention(first), side, _mention(second))
    if episode.frames[frame].pose is not None and episode.world != "video":  # the camera is an agent
        for thing in placed:
            for side in FROM_ME:
                yield Claim("spatial", _mention(thing), side, _I)


def _rooms(episode: Episode, frame: int, hues: Sequence[str], rng: np.random.Generator) -> Iterator[Claim]:
    here = episode.frames[frame]
    for relation in here.relations:
        thing = here.find(relation.object)
        if relation.subject == EGO and relation.predicate == "in" and thing is not None and hues:
            yield Claim("spatial", _I, "in", _mention(thing))
            yield Claim("spatial", _I, "in", Mention(thing.category, (str(rng.choice(hues)),)))


def _states(shown: Sequence[FrameObject]) -> Iterator[Claim]:
    for thing in shown:
        if "open" in thing.states:
            for state in say.DOOR_STATES:
                yield Claim("state", _mention(thing), state)


def calibration_table(result: SimilarityCalibration, *, title: str) -> Table:
    """Return a table with one row per world and form of claim."""
    key = "trace.similarity_calibration"
    columns = [
        Column("world", "world"),
        Column("form", "claims"),
        column(key, "auc", "AUC"),
        column(key, "judged", "judged"),
        column(key, "right", "right, of those"),
        Column("high", "supported from"),
        Column("low", "unsupported up to"),
        Column("true", "true", "count"),
        Column("false", "false", "count"),
    ]
    rows = [
        [world or "–", form, k.auc, k.judged, k.right, _bound(k.high), _bound(k.low), k.n_true, k.n_false]
        for world, forms in result.by_world.items()
        for form, k in forms.items()
    ]
    notes = [f"{where}: not judged, {why}" for where, why in result.left_out.items()]
    if result.n_undecided:
        notes.append(f"{result.n_undecided} claims that the annotations cannot judge are left out")
    if result.n_unread:
        notes.append(f"{result.n_unread} pictures that cannot be read are left out")
    return Table.of("trace.similarity", title, columns, rows, notes)


def card_text(
    result: SimilarityCalibration, training: Mapping[str, Any], *, size_bytes: int, data: str
) -> str:
    """Return a README for the folder of a checkpoint that was trained here. Every number is read or measured.

    Args:
        result: The calibration.
        training: The record of the training.
        size_bytes: Size of the weights.
        data: Description of the calibration data.
    """
    worlds = ", ".join(result.by_world)
    rows = [
        f"| {world or '–'} | {form} | {_told(k.auc)} | {_told(k.judged)} | {_told(k.right)} | {_bound(k.high)} | {_bound(k.low)}"
        f" | {k.n_true} | {k.n_false} |"
        for world, forms in result.by_world.items()
        for form, k in forms.items()
    ]
    areas = [f"| {form} | {_told(k.auc)} | {k.n_true} | {k.n_false} |" for form, k in result.pooled.items()]
    return "\n".join(
        [
            "# A small CLIP of the embedded worlds",
            "",
            (
                f"A `CLIPModel` of transformers with {training['n_parameters']:,} parameters, {size_bytes / 2**20:.2f} MiB in half precision."
                f" It knows {len(training['words'])} words and the pictures of {worlds}; of anything else it says nothing."
            ),
            "",
            (
                f"Trained by `python -m train similarity` on {training['n_pictures']:,} pictures of {training['episodes']:,} drafts of"
                f" each world and split, {training['steps']:,} steps of {training['batch']}, seed {training['seed']}, from random weights."
                " No made episode was among the drafts. The licence is that of the package."
            ),
            "",
            (
                f"After training, on {training['n_held_out']:,} pictures it had not seen: the caption of a thing that is there beats that of a"
                f" thing that is not in {100 * training['things_told_apart']:.1f} % of pairs, and the true side or state comes first among its"
                f" like, of 2 or 4, in {100 * training['sides_and_states']:.1f} %."
            ),
            "",
            (
                f"Measured by `theodolite trace calibrate` on {data}: claims about single frames, true and false ones by the"
                f" annotations, {result.n_units} episodes. AUC over all of them; bounds set on every other episode, and judged and right"
                " measured on the rest. Intervals are 95 %, clustered by episode."
            ),
            "",
            (
                f"Where the lower end of the AUC's interval is not above {LEAST_AUC}, half way between guessing and knowing, there are no"
                " bounds, and such claims are not judged."
            ),
            "",
            "| world | claims | AUC | judged | right, of those | supported from | unsupported up to | true | false |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *rows,
            "",
            "AUC over all worlds:",
            "",
            "| claims | AUC | true | false |",
            "| --- | --- | --- | --- |",
            *areas,
            "",
            *_omitted(result),
        ]
    )


def _omitted(result: SimilarityCalibration) -> list[str]:
    """Return the forms of claim that the tables leave out, and why."""
    reasons = [
        f"{n:,} {reason}"
        for n, reason in (
            (result.n_undecided, "claims on which the annotations are silent"),
            (result.n_unread, "pictures that cannot be read"),
        )
        if n
    ]
    return [f"Left out: {', '.join(reasons)}.", ""] if reasons else []


def _bound(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"


def _told(estimate: stats.Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
