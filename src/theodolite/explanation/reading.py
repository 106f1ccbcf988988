"""How much of an answer is left when a picture is changed: by the probabilities of its tokens, or by its words.

A reader takes other versions of a request's pictures, and returns how much each speaks for the answer to the original.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.written import (
    Span,
    WrittenAnswer,
    answer_scores,
    logits_of_variants,
)
from theodolite.core.errors import ModelError
from theodolite.core.types import Picture, Request
from theodolite.models import Checkpoint, VisionLanguageModel
from theodolite.models.openai import OpenAIModel
from theodolite.runs import run_async

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What is left of an answer in each of several versions of the pictures."""

    values: Floats
    """(versions, parts): of each token its log-probability after those before it; or of the whole answer how much is left."""
    is_same: NDArray[np.bool_]
    """(versions,): True if the model would give the same answer."""

    @classmethod
    def joined(cls, parts: Sequence[Reading]) -> Reading:
        """Join readings of several batches."""
        return cls(np.concatenate([p.values for p in parts]), np.concatenate([p.is_same for p in parts]))


class Reader(Protocol):
    """Reads an answer from versions of its pictures, all of the sizes of the original."""

    unit: str
    """``nats`` for log-probabilities, ``share`` for the share of the answer's words that is left."""
    n_calls: int
    """Versions that were read so far."""
    told: Callable[[int], None]
    """Called with that number after each batch."""

    def read(self, versions: Iterable[Sequence[Picture]]) -> Reading:
        """Read some versions of the pictures."""
        ...


class TokenReader:
    """Reads the probabilities of an answer's tokens from a checkpoint: one forward pass for each version."""

    unit = "nats"

    def __init__(
        self, checkpoint: Checkpoint, request: Request, answer: WrittenAnswer, contrast: Span | None = None
    ) -> None:
        """Create a reader.

        Args:
            checkpoint: The model and its processor.
            request: The request.
            answer: Its answer.
            contrast: If given, its token's value is the log-probability against that of the token instead.
        """
        self.checkpoint = checkpoint
        self.request = request
        self.answer = answer
        self.contrast = contrast
        self.n_calls = 0
        self.told: Callable[[int], None] = lambda _: None

    def read(self, versions: Iterable[Sequence[Picture]]) -> Reading:
        """Read some versions of the pictures."""
        import torch

        own = torch.tensor(self.answer.ids)
        parts = []
        with torch.inference_mode():
            for logits in logits_of_variants(self.checkpoint, self.request, self.answer, versions):
                found = answer_scores(logits, own.to(logits.device))
                values, is_same = found.log_probabilities.copy(), found.is_best.all(axis=1)
                if self.contrast is not None and self.contrast.instead is not None:
                    k = self.contrast.tokens[0]
                    pair = logits[:, k, [self.answer.ids[k], self.contrast.instead]].double().cpu().numpy()
                    values[:, k] = pair[:, 0] - pair[:, 1]
                    is_same = values[:, k] > 0
                parts.append(Reading(values, is_same))
                self.n_calls += len(values)
                self.told(self.n_calls)
        return Reading.joined(parts)


_WORD = re.compile(r"\w+")
_BATCH = 64


class TextReader:
    """Reads an answer in words from any model: one request for each version.

    A server that tells the most probable tokens gives log-probabilities: those of the answer's own tokens up to the first
    that the model would no longer write. Otherwise the value is the share of words that both answers have (Dice).
    """

    def __init__(self, model: VisionLanguageModel, request: Request) -> None:
        """Ask for the answer.

        Raises:
            ModelError: If there is none.
        """
        self.model = model
        self.request = request
        self.n_calls = 0
        self.told: Callable[[int], None] = lambda _: None
        self._tops = self._top_tokens([request])[0] if isinstance(model, OpenAIModel) else ()
        self.unit = "nats" if self._tops else "share"
        response = self._answers([request])[0]
        if response is None:
            raise ModelError(f"{model.name} gave no answer: {self._reason}")
        self.text = response

    def read(self, versions: Iterable[Sequence[Picture]]) -> Reading:
        """Read some versions of the pictures. A version without an answer has nothing left of it."""
        parts = []
        left = iter(versions)
        while batch := [self.request.with_pictures(pictures) for pictures in islice(left, _BATCH)]:
            parts.append(self._read_probabilities(batch) if self._tops else self._read_words(batch))
            self.told(self.n_calls)
        return Reading.joined(parts)

    def _read_words(self, requests: Sequence[Request]) -> Reading:
        values = [0.0 if text is None else overlap(self.text, text) for text in self._answers(requests)]
        return Reading(np.array(values)[:, None], np.array(values) == 1.0)

    def _read_probabilities(self, requests: Sequence[Request]) -> Reading:
        own = [next(iter(options)) for options in self._tops]
        values, same = [], []
        for tops in self._top_tokens(requests):
            value, is_same = 0.0, len(tops) >= len(own)
            for token, options in zip(own, tops, strict=False):
                value += options.get(token, min(options.values()))  # at most that of the last one listed
                if token != next(iter(options)):
                    is_same = False
                    break
            values.append(value if tops else np.nan)
            same.append(is_same)
        worst = np.nanmin(values) if not np.isnan(values).all() else 0.0
        return Reading(np.nan_to_num(np.array(values), nan=float(worst))[:, None], np.array(same))

    def _answers(self, requests: Sequence[Request]) -> list[str | None]:
        self.n_calls += len(requests)
        responses = self.model.generate(list(requests))
        self._reason = next((each.reason or each.status for each in responses if not each.is_answered), "")
        return [each.text if each.is_answered else None for each in responses]

    def _top_tokens(self, requests: Sequence[Request]) -> list[tuple[dict[str, float], ...]]:
        """Return the most probable tokens at each position of the answers, the chosen one first."""
        model = self.model
        if not isinstance(model, OpenAIModel):
            return [() for _ in requests]
        self.n_calls += len(requests)
        return run_async(lambda: model.top_tokens(requests))


def overlap(left: str, right: str) -> float:
    """Return the share of words that two texts have in common, regardless of order and case (Dice).

    >>> overlap("A red bus.", "a red bus"), overlap("A red bus", "a blue car")
    (1.0, 0.3333333333333333)
    """
    a, b = (Counter(_WORD.findall(text.casefold())) for text in (left, right))
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else float(left.strip() == right.strip())
