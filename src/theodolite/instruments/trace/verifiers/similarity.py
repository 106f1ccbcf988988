"""Claims as captions of pictures: the claim itself, and the same claim with other values of its slot.

The form of a claim decides how many captions there are, so a CLIP is calibrated by form.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.files import check, read_json
from theodolite.core.types import Pixels
from theodolite.core.views import Form, Number
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, ClaimKind, Mention, Verdict
from theodolite.instruments.trace.verifiers.detection import read_pixels
from theodolite.instruments.trace.verifiers.judging import VerifierOptions, unverifiable
from theodolite.worlds.english import with_article
from theodolite.worlds.episodes import Episode

SIDES = tuple(relation for relation, (axis, _) in words.AXES.items() if axis == "side")
DOOR_STATES = ("open", words.opposite_state("open"))
FINE_KINDS: frozenset[ClaimKind] = frozenset({"spatial", "state"})
"""Kinds that CLIP models in general cannot judge; only a calibrated model judges them."""
TWO_THINGS, FROM_ME, MY_ROOM = "spatial, two things", "spatial, from me", "spatial, my room"
"""One object left or right of another, 2 captions; its place relative to the observer, 4; the colour of the observer's room, 11."""
FORMS = ("entity", "attribute", TWO_THINGS, FROM_ME, MY_ROOM, "state")


def captions_of(claim: Claim, episode: Episode) -> list[str]:
    """Return the claim as a caption, then the same with other values; empty if it cannot be expressed as captions."""
    head = claim.subject.head
    if claim.kind == "spatial":
        return _spatial(claim)
    if head in words.FIRST_PERSON or head in words.PRONOUNS:
        return []
    if claim.kind == "attribute" and words.ATTRIBUTES.get(claim.predicate) == "colour":
        return colours_of(head, claim.predicate)
    if claim.kind == "state" and claim.predicate in DOOR_STATES:
        return [in_state(looks_of(claim.subject), state) for state in _and_opposite(claim)]
    if claim.kind != "entity":
        return []
    labels = episode.vocabulary.get("objects") or words.THINGS
    others = [caption(label) for label in labels if not words.may_mean(head, label)]
    return [caption(looks_of(claim.subject)), *others] if others else []


def _spatial(claim: Claim) -> list[str]:
    target, predicate = claim.object, claim.predicate
    if target is None:
        return []
    if claim.subject.head in words.FIRST_PERSON:
        hues = [hue for hue in target.attributes if hue in words.HUES]
        return colours_of(target.head, hues[0]) if predicate == "in" and hues else []
    looks = looks_of(claim.subject)
    if target.head in words.FIRST_PERSON:
        return seen_from_me(looks, predicate) if predicate in words.FROM_ME else []
    if predicate not in SIDES or target.head in words.PRONOUNS:
        return []
    return [beside(looks, side, looks_of(target)) for side in _and_opposite(claim)]


def _and_opposite(claim: Claim) -> list[str]:
    """Return the state or side that a claim states, and the opposite."""
    predicate = claim.predicate
    return [
        predicate,
        words.opposite_state(predicate) if claim.kind == "state" else words.OPPOSITES[predicate],
    ]


def looks_of(mention: Mention) -> str:
    """Return for example *red ball*."""
    return " ".join((*mention.attributes, mention.head))


def caption(looks: str) -> str:
    """Return for example *a picture of a red ball*."""
    return f"a picture of {with_article(looks)}"


def colours_of(head: str, colour: str) -> list[str]:
    """Return the object in this colour, then in each other one."""
    return [caption(f"{hue} {head}") for hue in (colour, *(hue for hue in words.HUES if hue != colour))]


def in_state(looks: str, state: str) -> str:
    """Return for example *a picture of an open red door*."""
    return caption(f"{state} {looks}")


def beside(first: str, side: str, second: str) -> str:
    """Return for example *a picture of a red ball left of a blue cube*."""
    return f"{caption(first)} {side} {with_article(second)}"


def seen_from_me(looks: str, side: str) -> list[str]:
    """Return the place of an object relative to the observer: on this side, then on each other one."""
    sides = (side, *(other_side for other_side in words.FROM_ME if other_side != side))
    return [f"{caption(looks)} {words.FROM_ME[other_side]}" for other_side in sides]


def form_of(claim: Claim) -> str:
    """Return the form of a claim: its kind, and for spatial claims the reference of the place.

    >>> form_of(Claim("spatial", Mention("ball"), "left of", Mention("i")))
    'spatial, from me'
    """
    if claim.kind != "spatial" or claim.object is None:
        return claim.kind
    if claim.subject.head in words.FIRST_PERSON:
        return MY_ROOM
    return FROM_ME if claim.object.head in words.FIRST_PERSON else TWO_THINGS


def values_of(claim: Claim, n: int) -> list[str]:
    """Return the value that each of the n captions of a claim states, in order.

    >>> values_of(Claim("state", Mention("door"), "open"), 2), values_of(Claim("entity", Mention("cup")), 3)
    (['open', 'closed'], ['present', 'absent', 'absent'])
    """
    predicate, form = claim.predicate, form_of(claim)
    if form == "entity":
        return ["present"] + ["absent"] * (n - 1)
    if form in {"state", TWO_THINGS}:
        return _and_opposite(claim)
    if form == FROM_ME:
        return [predicate, *(side for side in words.FROM_ME if side != predicate)]
    if form == MY_ROOM:
        return [predicate] + [f"not {predicate}"] * (n - 1)
    return [predicate, *(hue for hue in words.HUES if hue != predicate)]


# A CLIP of transformers that caches the features of pictures and sentences.


Likeness = Callable[[Sequence[Pixels], Sequence[str]], NDArray[np.float64]]
"""The similarity of each picture with each caption, in the model's own scale: (pictures, captions)."""

_REMEMBERED = 4096
"""Number of pictures, and of sentences, whose features are cached: a few MiB."""


class ClipLikeness:
    """A CLIP checkpoint of transformers, folder or hub id."""

    def __init__(self, source: str) -> None:
        import torch
        from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

        from theodolite.models import quiet_transformers

        try:
            with quiet_transformers():
                self._model: Any = AutoModel.from_pretrained(
                    source, dtype=torch.float32, use_safetensors=True
                ).eval()
                self._processor: Any = AutoImageProcessor.from_pretrained(source, backend="pil")
                self._words: Any = AutoTokenizer.from_pretrained(source)
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(f"cannot load the CLIP model {source}: {str(error).splitlines()[0]}") from error
        if not hasattr(self._model, "logit_scale"):
            raise UsageError(f"{source} is not a CLIP: it has no logit scale")
        self._pictures: OrderedDict[str, Any] = OrderedDict()
        self._sentences: OrderedDict[str, Any] = OrderedDict()

    def __call__(self, pictures: Sequence[Pixels], captions: Sequence[str]) -> NDArray[np.float64]:
        """Return the scaled cosines of each picture with each caption: s = e^τ · cos."""
        import torch

        if not pictures or not captions:
            return np.zeros((len(pictures), len(captions)))
        by_key = {_key(pixels): pixels for pixels in pictures}
        with torch.inference_mode():
            seen = _remembered(
                self._pictures,
                list(map(_key, pictures)),
                lambda new: self._see([by_key[key] for key in new]),
            )
            read = _remembered(self._sentences, list(captions), self._read)
            scores = self._model.logit_scale.double().exp() * (seen.double() @ read.double().T)
        return np.asarray(scores.numpy())

    def _see(self, pictures: list[Pixels]) -> Any:
        from PIL import Image

        inputs = self._processor(images=[Image.fromarray(p) for p in pictures], return_tensors="pt")
        return _unit(self._model.get_image_features(**inputs))

    def _read(self, captions: list[str]) -> Any:
        words = self._words(captions, padding=True, truncation=True, return_tensors="pt")
        return _unit(self._model.get_text_features(**words))


def _key(pixels: Pixels) -> str:
    return f"{pixels.shape}-{hashlib.sha256(pixels.tobytes()).hexdigest()}"


def _unit(features: Any) -> Any:
    from torch.nn.functional import normalize

    return normalize(getattr(features, "pooler_output", features), dim=-1)


def _remembered(kept: OrderedDict[str, Any], keys: Sequence[str], compute: Callable[[list[str]], Any]) -> Any:
    """Return the features of each key, computed if they are not cached. The least recently used are dropped."""
    import torch

    new = [key for key in dict.fromkeys(keys) if key not in kept]
    if new:
        kept.update(zip(new, compute(new), strict=True))
    for key in keys:
        kept.move_to_end(key)
    features = torch.stack([kept[key] for key in keys])
    while len(kept) > _REMEMBERED:
        kept.popitem(last=False)
    return features


# A verifier that compares sentences with frames, by any CLIP of transformers.
#
# A claim becomes the caption *a picture of a red ball* beside *a picture of a blue ball*, *… of a green ball* and so on: other
# values of the same slot (`theodolite.instruments.trace.verifiers.similarity`). With sᵢ the similarity of caption i in the
# model's own scale, the share of the claim is p = e^{s₀} / Σ e^{sᵢ} over the n captions. The claim is supported if p ≥ `high`,
# unsupported if p ≤ `low`, and unclear in between. The bounds are those that the calibration of the model measured for the form
# of claim in the world of the episode. A model without calibration refutes nothing, unless `low` is given. The best frame
# counts.
#
# The confidence compares the odds of p with those of the bound b that it passed: with o(p) = p / (1 − p), it is
# o(p) / (o(p) + o(b)) if supported, o(b) / (o(p) + o(b)) if unsupported: ½ at the bound, towards 1 beyond it.


SHIPPED = Path(__file__).parent / "clip"
"""The small CLIP of the embedded worlds."""
CALIBRATION = "similarity.json"
"""The calibration file beside a checkpoint."""
POOLED = ""
"""All worlds together: for episodes without a world, unless the model knows only the pictures of some worlds."""
HIGH = 0.6
"""The upper bound of a model without calibration."""
_AT_ONCE = 16
"""Pictures in one batch."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The calibrated bounds of a CLIP, by world and form of claim: supported from, unsupported up to."""

    worlds: Mapping[str, Mapping[str, tuple[float, float]]]
    """The worlds that it was calibrated on. The model cannot judge the forms that are missing."""
    words: frozenset[str] = frozenset()
    """The words that the model knows; empty if it was trained on general language."""

    def of(self, world: str, form: str) -> tuple[float, float] | None:
        """Return the bounds of a form of claim; None if the model cannot judge it."""
        return self.worlds.get(world, {}).get(form)

    def unknown(self, caption: str, world: str) -> str:
        """Return why a caption lies outside the calibration; empty if it does not.

        >>> Bounds({"video": {}}, frozenset({"a", "red", "ball"})).unknown("a red dog", "video")
        'the model does not know the word dog'
        """
        if world not in self.worlds:
            known = ", ".join(repr(name) for name in self.worlds if name != POOLED)
            return (
                f"the model was calibrated on pictures of {known or 'no named world'}, not of {world!r};"
                " use a CLIP that is calibrated on such pictures"
            )
        odd = [word for word in caption.split() if self.words and word not in self.words]
        return f"the model does not know the word {odd[0]}" if odd else ""


class _Limits(Form):
    high: Number | None
    low: Number | None


class _CalibrationFile(Form):
    by_world: dict[str, dict[str, _Limits]]
    words: tuple[str, ...]
    pooled: dict[str, _Limits] = Field(default_factory=dict)


def read_bounds(file: Path) -> Bounds:
    """Read a calibration file.

    Raises:
        UsageError: The file is not a calibration file.
    """
    value = read_json(file, "calibration")
    try:
        calibration = check(_CalibrationFile, value)
    except UsageError as error:
        raise UsageError(
            f"{file} is not a calibration; `theodolite trace calibrate --data EPISODES` writes one ({error})"
        ) from error
    measured = dict(calibration.by_world)
    if not calibration.words or POOLED in measured:
        measured[POOLED] = calibration.pooled
    worlds = {
        world: {
            form: (limits.high, limits.low)
            for form, limits in forms.items()
            if limits.high is not None and limits.low is not None
        }
        for world, forms in measured.items()
    }
    return Bounds(worlds, frozenset(calibration.words))


@dataclass(frozen=True, slots=True)
class Found:
    """The share of a claim at the frame where it is largest."""

    share: float | None
    """None if no picture could be read."""
    best: int = 0
    """The caption with the largest share there."""
    unread: str = ""
    """Why a picture could not be read; empty if all could."""


@dataclass(frozen=True, slots=True)
class SimilarityVerifier:
    """A verifier of objects and their attributes; of spatial claims and states if calibrated for them."""

    name: str
    likeness: Likeness
    high: float | None = None
    """The share from which a claim is supported; by default as calibrated, or `HIGH`."""
    low: float | None = None
    """The part of chance, 1 / n, up to which a claim is unsupported; by default as calibrated, else nothing is refuted."""
    bounds: Bounds | None = None
    """The calibration; without it, spatial claims and states are not judged."""

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return one verdict per claim. Each picture is compared once with all captions."""
        asked = [self._asked(claim, episode) for claim in claims]
        put = [(claim, a) for claim, a in zip(claims, asked, strict=True) if isinstance(a, list)]
        shares = iter(self.shares(put, episode))
        return [
            a if isinstance(a, Verdict) else self._verdict(claim, a, next(shares), episode.world)
            for claim, a in zip(claims, asked, strict=True)
        ]

    def _asked(self, claim: Claim, episode: Episode) -> list[str] | Verdict:
        """Return the captions of a claim, or the verdict if it cannot be judged."""
        captions, form = captions_of(claim, episode), form_of(claim)
        if not captions or (self.bounds is None and claim.kind in FINE_KINDS):
            return unverifiable("complex", f"similarity cannot judge {claim.kind} claims")
        if self.bounds is not None:
            odd = self.bounds.unknown(captions[0], episode.world)
            if odd:
                return unverifiable("out of vocabulary", odd)
            if self.bounds.of(episode.world, form) is None:
                where = f" in the world {episode.world!r}" if episode.world else ""
                return unverifiable("complex", f"not calibrated for such claims ({form}){where}")
        return captions

    def shares(self, put: Sequence[tuple[Claim, list[str]]], episode: Episode) -> list[Found]:
        """Return the largest share of each claim at any of its frames."""
        frames = [_frames_of(claim, episode) for claim, _ in put]
        texts = list(dict.fromkeys(text for _, captions in put for text in captions))
        index_of = {text: i for i, text in enumerate(texts)}
        scores, unread = self._scores(
            sorted({f for claim_frames in frames for f in claim_frames}), texts, episode
        )
        largest: list[Found] = []
        for (_, captions), claim_frames in zip(put, frames, strict=True):
            best = Found(None, unread=next((unread[f] for f in claim_frames if f in unread), ""))
            for frame in (f for f in claim_frames if f in scores):
                raw = scores[frame][[index_of[text] for text in captions]]
                share = np.exp(raw - raw.max())
                p = float(share[0] / share.sum())
                if best.share is None or p >= best.share:
                    best = replace(best, share=p, best=int(share.argmax()))
            largest.append(best)
        return largest

    def _scores(
        self, frames: Sequence[int], texts: Sequence[str], episode: Episode
    ) -> tuple[Mapping[int, NDArray[np.float64]], Mapping[int, str]]:
        """Return the scores of all texts by frame, and why some frames cannot be read."""
        scores: dict[int, NDArray[np.float64]] = {}
        unread: dict[int, str] = {}
        for start in range(0, len(frames), _AT_ONCE):
            pixels: dict[int, Pixels] = {}
            for frame in frames[start : start + _AT_ONCE]:
                pixels_or_why = read_pixels(episode, frame)
                if isinstance(pixels_or_why, str):
                    unread[frame] = pixels_or_why
                else:
                    pixels[frame] = pixels_or_why
            if pixels:
                scores.update(zip(pixels, self.likeness(list(pixels.values()), texts), strict=True))
        return scores, unread

    def _bounds_of(self, claim: Claim, n: int, world: str) -> tuple[float, float | None]:
        measured = self.bounds.of(world, form_of(claim)) if self.bounds is not None else None
        high, low = measured if measured is not None else (HIGH, None)
        return (
            self.high if self.high is not None else high,
            self.low / n if self.low is not None else low,
        )

    def _verdict(self, claim: Claim, captions: list[str], result: Found, world: str) -> Verdict:
        if result.share is None:
            return unverifiable("unclear", result.unread or "there are no pictures at these frames")
        share, n = result.share, len(captions)
        high, low = self._bounds_of(claim, n, world)
        summary = f"a share of {share:.2g} among {n} captions"
        if share < high:
            if low is None:
                why = f"{summary}, supported from {high:.2g}; a model without calibration refutes nothing"
                return unverifiable("low recall", why)
            if share > low:
                return unverifiable(
                    "unclear", f"{summary}, between the bounds {_told(low)} and {_told(high)}"
                )
            if result.unread:
                return unverifiable("unclear", f"{summary} at the pictures that can be read; {result.unread}")
        is_there = share >= high
        values = values_of(claim, n)
        if is_there:
            evidence, truth = f"{summary}, supported from {_told(high)}", values[0]
        else:
            evidence = f"{summary}, unsupported up to {_told(low)}; the best is {captions[result.best]!r}"
            truth = values[result.best] if result.best else ""
        bound = high if is_there or low is None else low
        return Verdict(
            "supported" if is_there != claim.is_negated else "unsupported",
            evidence=evidence,
            truth=truth,
            confidence=confidence(share, bound) if is_there else confidence(bound, share),
        )


def _told(bound: float | None) -> str:
    return f"{bound:.2g}"


def confidence(larger: float, smaller: float) -> float:
    """Return the odds of the larger of two shares over the sum of both odds.

    >>> confidence(0.5, 0.5), round(confidence(0.9, 0.5), 3), confidence(1.0, 0.2)
    (0.5, 0.9, 1.0)
    """
    first, second = larger * (1 - smaller), smaller * (1 - larger)
    return first / (first + second) if first + second > 0 else 0.5


def _frames_of(claim: Claim, episode: Episode) -> list[int]:
    """Return the frames of a claim that have a picture; those of the whole episode if it has no frames."""
    n = len(episode.frames)
    frames = [f for f in claim.frames if 0 <= f < n] or range(n)
    return [f for f in frames if episode.frames[f].picture is not None]


def open_similarity(text: str) -> SimilarityVerifier:
    """Open ``similarity:PATH?high=0.6&low=0.5``, or ``similarity`` for the shipped model.

    The calibration beside the checkpoint, or ``calibration=FILE``, decides which claims are judged and by which bounds. Bounds in the
    name replace the calibrated ones, but do not make further claims judged.
    """
    options = VerifierOptions.read(text, "similarity", ("high", "low", "calibration"))
    if not options.target and not (SHIPPED / "config.json").is_file():
        raise UsageError(
            "name the model: similarity:FOLDER of a CLIP checkpoint, or its hub id; the small shipped one is not in this"
            " installation, and `python -m train similarity` trains it"
        )
    source = options.target or str(SHIPPED)
    file = Path(options.settings.get("calibration", Path(source) / CALIBRATION))
    if not file.is_file() and "calibration" in options.settings:
        raise UsageError(
            f"there is no calibration {file}; `theodolite trace calibrate --data EPISODES` writes one"
        )
    high, low = (options.number(name, 0) if name in options.settings else None for name in ("high", "low"))
    return SimilarityVerifier(
        f"similarity:{text}" if text else "similarity",
        ClipLikeness(source),
        high,
        low,
        read_bounds(file) if file.is_file() else None,
    )
