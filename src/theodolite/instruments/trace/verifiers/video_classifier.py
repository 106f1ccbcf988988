"""A verifier of actions by a video classifier: any checkpoint that transformers loads for video classification.

The frames of a claim, resampled evenly to the number that the model takes, are classified. A claim is supported if the
classes that it may mean have a total probability of at least `threshold`. Several actions may happen at once and a classifier
names one, so it refutes nothing: otherwise the verdict is ``low recall``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.types import Pixels
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Verdict
from theodolite.instruments.trace.verifiers.annotation import stems
from theodolite.instruments.trace.verifiers.detection import read_pixels
from theodolite.instruments.trace.verifiers.judging import VerifierOptions, negated, unverifiable
from theodolite.worlds.episodes import Episode

Classify = Callable[[Sequence[Pixels]], dict[str, float]]
"""The probability of each class, by its name."""


@dataclass(frozen=True, slots=True)
class VideoClassifierVerifier:
    """A verifier of actions by a video classifier."""

    name: str
    classify: Classify
    labels: tuple[str, ...]
    n_frames: int = 8
    threshold: float = 0.5

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return one verdict per claim. Frames that claims share are classified once."""
        seen: dict[tuple[int, ...], dict[str, float] | str] = {}
        return [self._judge(claim, episode, seen) for claim in claims]

    def _judge(
        self, claim: Claim, episode: Episode, seen: dict[tuple[int, ...], dict[str, float] | str]
    ) -> Verdict:
        if claim.kind != "action":
            return unverifiable("complex", f"a video classifier cannot judge {claim.kind} claims")
        meant = [label for label in self.labels if is_meant(claim, label)]
        if not meant:
            return unverifiable("out of vocabulary", f"no class means {claim.predicate!r}")
        frames = tuple(f for f in claim.frames if 0 <= f < len(episode.frames)) or tuple(
            range(len(episode.frames))
        )
        if frames not in seen:
            pictures = self._clip(frames, episode)
            seen[frames] = pictures if isinstance(pictures, str) else self.classify(pictures)
        shares = seen[frames]
        if isinstance(shares, str):
            return unverifiable("unclear", shares)
        share = sum(shares.get(label, 0.0) for label in meant)
        best = max(shares, key=lambda label: shares[label])
        if share < self.threshold:
            return unverifiable("low recall", f"{share:.0%}; most likely {best}")
        verdict = Verdict(
            "supported", evidence=f"{share:.0%} {best}", truth=claim.predicate, confidence=min(1.0, share)
        )
        return negated(verdict) if claim.is_negated else verdict

    def _clip(self, frames: Sequence[int], episode: Episode) -> list[Pixels] | str:
        """Return evenly spaced pictures among those that can be read, or why none can."""
        left, why = list(frames), ""
        while left:
            chosen = [left[round(x)] for x in np.linspace(0, len(left) - 1, self.n_frames)]
            read = {frame: read_pixels(episode, frame) for frame in dict.fromkeys(chosen)}
            broken = {frame: pixels for frame, pixels in read.items() if isinstance(pixels, str)}
            if not broken:
                return [pixels for frame in chosen if not isinstance(pixels := read[frame], str)]
            left = [frame for frame in left if frame not in broken]
            why = why or next(iter(broken.values()))
        return why


def is_meant(claim: Claim, label: str) -> bool:
    """Return True if a class such as *opening door* may mean a claim: the verb, and the object if the class has one.

    >>> from theodolite.instruments.trace.claims.types import Mention
    >>> is_meant(Claim("action", Mention("person"), "open", Mention("door")), "Opening_door")
    True
    >>> is_meant(Claim("action", Mention("person"), "open", Mention("window")), "opening door")
    False
    """
    first, _, rest = label.casefold().replace("_", " ").partition(" ")
    verb = claim.predicate.partition(" ")[0]
    if not any(verb == stem or words.is_a(stem, claim.predicate) for stem in stems(first)):
        return False
    nouns = [word for word in rest.split() if word not in words.PARTICLES | {"a", "an", "the", "with", "of"}]
    if claim.object is None or not nouns:
        return True
    head = claim.object.head
    return any(words.is_a(noun, head) for noun in nouns)


class VideoClassifier:
    """A video classification checkpoint of transformers, such as VideoMAE, TimeSformer or ViViT."""

    def __init__(self, source: str) -> None:
        from transformers import AutoImageProcessor, AutoModelForVideoClassification

        try:
            self._model: Any = AutoModelForVideoClassification.from_pretrained(
                source, use_safetensors=True
            ).eval()
            self._processor: Any = AutoImageProcessor.from_pretrained(source, backend="pil")
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(
                f"cannot load the video classifier {source}: {str(error).splitlines()[0]}"
            ) from error
        self.names = {int(i): str(name) for i, name in self._model.config.id2label.items()}
        self.n_frames = int(getattr(self._model.config, "num_frames", 8))

    def __call__(self, frames: Sequence[Pixels]) -> dict[str, float]:
        """Return the probability of each class."""
        import torch

        inputs = self._processor([list(frames)], return_tensors="pt")
        with torch.inference_mode():
            shares = self._model(**inputs).logits[0].double().softmax(dim=-1).tolist()
        return {self.names[i]: share for i, share in enumerate(shares)}


def open_video_classifier(text: str) -> VideoClassifierVerifier:
    """Open ``actions:PATH?threshold=0.5``."""
    options = VerifierOptions.read(text, "actions", ("threshold",))
    if not options.target:
        raise UsageError("name the model: actions:FOLDER of a video classifier, or its hub id")
    model = VideoClassifier(options.target)
    labels = tuple(model.names.values())
    return VideoClassifierVerifier(
        f"actions:{text}", model, labels, model.n_frames, options.number("threshold", 0.5)
    )
