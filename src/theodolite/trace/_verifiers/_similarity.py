"""The verifier that compares sentences with frames: any CLIP of transformers.

A claim is put as *a picture of a red ball* beside *a picture of a blue ball*, *… of a green ball* and so on: other values of the same
slot (`_captions`). With s the similarity of a caption in the model's own scale, the share of the claim is p = e^{s₀} / Σ e^{sᵢ} over
the n captions. Supported where p ≥ `high`, unsupported where p ≤ `low` / n, that is `low` of chance, unclear between; where the model
was calibrated (`_similarity_calibration`), by the bounds that were measured for the kind of claim. The best frame counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.errors import UsageError
from theodolite.trace._claims import Claim, Verdict
from theodolite.trace._episode import Episode
from theodolite.trace._scene import unverifiable
from theodolite.trace._verifiers._captions import FINE_KINDS, captions_of
from theodolite.trace._verifiers._options import VerifierOptions
from theodolite.trace._verifiers._similarity_bounds import CALIBRATION, Bounds, read_bounds
from theodolite.types import Pixels

Likeness = Callable[[Sequence[Pixels], Sequence[str]], NDArray[np.float64]]
"""The similarity of each picture with each caption, in the model's own scale: (pictures, captions)."""

SHIPPED = Path(__file__).parents[1] / "_clip"
"""The small CLIP of the embedded worlds."""
_AT_ONCE = 16
"""Pictures that are looked at together; no more are held."""


@dataclass(frozen=True, slots=True)
class SimilarityVerifier:
    """Judges what there is and what it looks like."""

    name: str
    likeness: Likeness
    high: float = 0.6
    low: float = 0.5
    """Of chance."""
    bounds: Bounds | None = None
    """What was measured of this model; without it, sides and states are not judged."""

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """One verdict per claim; each picture is looked at once, with all that is said of any."""
        asked = [self._asked(claim, episode) for claim in claims]
        put = [(claim, a) for claim, a in zip(claims, asked, strict=True) if isinstance(a, list)]
        shares = iter(self.shares(put, episode))
        return [
            a if isinstance(a, Verdict) else self._verdict(claim, a, next(shares))
            for claim, a in zip(claims, asked, strict=True)
        ]

    def _asked(self, claim: Claim, episode: Episode) -> list[str] | Verdict:
        """The captions of a claim, or why it cannot be put as one."""
        captions = captions_of(claim, episode)
        known = (
            FINE_KINDS.isdisjoint({claim.kind}) if self.bounds is None else claim.kind in self.bounds.kinds
        )
        if not captions or not known:
            return unverifiable("complex", f"similarity does not tell of {claim.kind}")
        odd = self.bounds.unknown(captions[0], episode.world) if self.bounds is not None else ""
        return unverifiable("out of vocabulary", odd) if odd else captions

    def shares(
        self, put: Sequence[tuple[Claim, list[str]]], episode: Episode
    ) -> list[tuple[float, str] | None]:
        """The share of each claim at the frame where it is largest, and that frame's best caption; None without pictures."""
        frames = [_frames_of(claim, episode) for claim, _ in put]
        texts = list(dict.fromkeys(text for _, captions in put for text in captions))
        place = {text: i for i, text in enumerate(texts)}
        scores = self._scores(sorted({f for each in frames for f in each}), texts, episode)
        found: list[tuple[float, str] | None] = []
        for (_, captions), each in zip(put, frames, strict=True):
            best: tuple[float, str] | None = None
            for frame in each:
                raw = scores[frame][[place[text] for text in captions]]
                share = np.exp(raw - raw.max())
                p = float(share[0] / share.sum())
                if best is None or p >= best[0]:
                    best = (p, captions[int(share.argmax())])
            found.append(best)
        return found

    def _scores(
        self, frames: Sequence[int], texts: Sequence[str], episode: Episode
    ) -> Mapping[int, NDArray[np.float64]]:
        scores: dict[int, NDArray[np.float64]] = {}
        for start in range(0, len(frames), _AT_ONCE):
            some = frames[start : start + _AT_ONCE]
            pixels = [p.pixels() for f in some if (p := episode.frames[f].picture) is not None]
            scores.update(zip(some, self.likeness(pixels, texts), strict=True))
        return scores

    def _verdict(self, claim: Claim, captions: list[str], found: tuple[float, str] | None) -> Verdict:
        if found is None:
            return unverifiable("unclear", "there are no pictures at these frames")
        share, truth = found
        high, low = self.high, self.low / len(captions)
        if self.bounds is not None:
            high, low = self.bounds.kinds[claim.kind]
        told = f"{share:.0%} among {len(captions)} captions"
        if share < high and share > low:
            return unverifiable("unclear", told)
        holds = share >= high
        verdict = Verdict(
            "supported" if holds else "unsupported",
            evidence=told,
            truth=truth,
            confidence=share if holds else 1 - share,
        )
        if not claim.is_negated:
            return verdict
        return replace(verdict, label="unsupported" if holds else "supported")


def _frames_of(claim: Claim, episode: Episode) -> list[int]:
    """The frames of a claim that have a picture; of all frames, if it names none."""
    n = len(episode.frames)
    frames = [f for f in claim.frames if 0 <= f < n] or range(n)
    return [f for f in frames if episode.frames[f].picture is not None]


class ClipLikeness:
    """A CLIP checkpoint of transformers, folder or hub id."""

    def __init__(self, source: str) -> None:
        import torch
        from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

        try:
            self._model: Any = AutoModel.from_pretrained(source, dtype=torch.float32).eval()
            self._pictures: Any = AutoImageProcessor.from_pretrained(source, backend="pil")
            self._words: Any = AutoTokenizer.from_pretrained(source)
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(f"cannot load the CLIP model {source}: {str(error).splitlines()[0]}") from error
        if not hasattr(self._model, "logit_scale"):
            raise UsageError(f"{source} is no CLIP: it has no scale of similarity")

    def __call__(self, pictures: Sequence[Pixels], captions: Sequence[str]) -> NDArray[np.float64]:
        """Scaled cosines of each picture with each caption."""
        import torch
        from PIL import Image

        words = self._words(list(captions), padding=True, truncation=True, return_tensors="pt")
        seen = self._pictures(images=[Image.fromarray(p) for p in pictures], return_tensors="pt")
        with torch.inference_mode():
            outputs = self._model(**words, **seen)
        return np.asarray(outputs.logits_per_image.double().numpy())


def open_similarity(text: str) -> SimilarityVerifier:
    """The plug-in's target: ``similarity:PATH?high=0.6&low=0.5``, or ``similarity`` for the model that ships.

    A calibration beside the checkpoint, or one named by ``calibration=FILE``, says what is judged and by which bounds; bounds that
    are given in the name are kept to instead.
    """
    options = VerifierOptions.read(text, "similarity", ("high", "low", "calibration"))
    if not options.target and not (SHIPPED / "config.json").is_file():
        raise UsageError(
            "name the model: similarity:FOLDER of a CLIP checkpoint, or its hub id; the small one of the embedded worlds is not in"
            " this installation, and `theodolite trace train-similarity` trains it"
        )
    source = options.target or str(SHIPPED)
    file = Path(options.settings.get("calibration", Path(source) / CALIBRATION))
    if not file.is_file() and "calibration" in options.settings:
        raise UsageError(
            f"there is no calibration {file}; `theodolite trace calibrate-similarity` writes one"
        )
    given = {"high", "low"} & set(options.settings)
    return SimilarityVerifier(
        f"similarity:{text}" if text else "similarity",
        ClipLikeness(source),
        options.number("high", 0.6),
        options.number("low", 0.5),
        read_bounds(file) if file.is_file() and not given else None,
    )
