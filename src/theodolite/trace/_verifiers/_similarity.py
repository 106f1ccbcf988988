"""The verifier that compares sentences with frames: any CLIP of transformers.

A claim is put as *a picture of a red ball* beside *a picture of a blue ball*, *… of a green ball* and so on: other values of the same
slot. With s the similarity of a caption in the model's own scale, the share of the claim is p = e^{s₀} / Σ e^{sᵢ} over the m + 1
captions; supported where p ≥ `high`, unsupported where p ≤ `low` / (m + 1) of chance, unclear between. The best frame counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.errors import UsageError
from theodolite.trace import _lexicon as words
from theodolite.trace._claims import Claim, Verdict
from theodolite.trace._episode import Episode
from theodolite.trace._scene import unverifiable
from theodolite.trace._verifiers._options import VerifierOptions
from theodolite.types import Pixels

_HUES = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "brown", "grey", "black", "white")
_THINGS = (
    "person",
    "table",
    "chair",
    "ball",
    "box",
    "door",
    "cup",
    "book",
    "lamp",
    "plant",
    "bag",
    "car",
    "dog",
    "tree",
)
Likeness = Callable[[Pixels, Sequence[str]], NDArray[np.float64]]
"""The similarity of a picture with each of some captions, in the model's own scale."""


@dataclass(frozen=True, slots=True)
class SimilarityVerifier:
    """Judges what there is and what it looks like."""

    name: str
    likeness: Likeness
    high: float = 0.6
    low: float = 0.5
    """Of chance."""

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """One verdict per claim; pictures are read one by one."""
        return [self._judge(claim, episode) for claim in claims]

    def _judge(self, claim: Claim, episode: Episode) -> Verdict:
        captions = captions_of(claim, episode)
        if not captions:
            return unverifiable("complex", f"similarity does not tell of {claim.kind}")
        frames = [f for f in claim.frames if 0 <= f < len(episode.frames)] or range(len(episode.frames))
        pictures = [p for f in frames if (p := episode.frames[f].picture) is not None]
        if not pictures:
            return unverifiable("unclear", "there are no pictures at these frames")
        best, truth = 0.0, ""
        for picture in pictures:
            raw = self.likeness(picture.pixels(), captions)
            shares = np.exp(raw - raw.max())
            shares /= shares.sum()
            if shares[0] >= best:
                best, truth = float(shares[0]), captions[int(shares.argmax())]
        verdict = self._verdict(best, len(captions), truth)
        if not claim.is_negated or verdict.label == "unverifiable":
            return verdict
        return replace(verdict, label="unsupported" if verdict.label == "supported" else "supported")

    def _verdict(self, share: float, n: int, truth: str) -> Verdict:
        told = f"{share:.0%} among {n} captions"
        if share >= self.high:
            return Verdict("supported", evidence=told, truth=truth, confidence=share)
        if share <= self.low / n:
            return Verdict("unsupported", evidence=told, truth=truth, confidence=1 - share)
        return unverifiable("unclear", told)


def captions_of(claim: Claim, episode: Episode) -> list[str]:
    """The claim as a caption, and the same with other values; empty if it cannot be put so."""
    head = claim.subject.head
    if claim.kind == "attribute" and words.ATTRIBUTES.get(claim.predicate) == "colour":
        others = [hue for hue in _HUES if hue != claim.predicate]
        return [f"a picture of a {hue} {head}" for hue in (claim.predicate, *others)]
    if claim.kind != "entity" or head in words.FIRST_PERSON or head in words.PRONOUNS:
        return []
    looks = " ".join((*claim.subject.attributes, head))
    labels = episode.vocabulary.get("objects") or _THINGS
    others = [label for label in labels if not words.may_mean(head, label)]
    return [f"a picture of a {looks}", *(f"a picture of a {label}" for label in others)] if others else []


class ClipLikeness:
    """A CLIP checkpoint of transformers, folder or hub id; captions are encoded once."""

    def __init__(self, source: str) -> None:
        from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

        try:
            self._model: Any = AutoModel.from_pretrained(source).eval()
            self._pictures: Any = AutoImageProcessor.from_pretrained(source, backend="pil")
            self._words: Any = AutoTokenizer.from_pretrained(source)
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(f"cannot load the CLIP model {source}: {str(error).splitlines()[0]}") from error
        if not hasattr(self._model, "logit_scale"):
            raise UsageError(f"{source} is no CLIP: it has no scale of similarity")

    def __call__(self, pixels: Pixels, captions: Sequence[str]) -> NDArray[np.float64]:
        """Scaled cosines of the picture with each caption."""
        import torch
        from PIL import Image

        inputs = self._words(list(captions), padding=True, truncation=True, return_tensors="pt")
        picture = self._pictures(images=Image.fromarray(pixels), return_tensors="pt")
        with torch.inference_mode():
            outputs = self._model(**inputs, **picture)
        return np.asarray(outputs.logits_per_image[0].double().numpy())


def open_similarity(text: str) -> SimilarityVerifier:
    """The plug-in's target: ``similarity:PATH?high=0.6&low=0.5``."""
    options = VerifierOptions.read(text, "similarity", ("high", "low"))
    if not options.target:
        raise UsageError("name the model: similarity:FOLDER of a CLIP checkpoint, or its hub id")
    return SimilarityVerifier(
        f"similarity:{text}",
        ClipLikeness(options.target),
        options.number("high", 0.6),
        options.number("low", 0.5),
    )
