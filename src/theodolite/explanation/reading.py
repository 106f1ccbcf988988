"""How much of an answer is left when a picture is changed: by the probabilities of its tokens, or by its words.

A reader takes other versions of a request's pictures, and returns how much each speaks for the answer to the original.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
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
from theodolite.core.types import Picture, Request, Response
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

    def row(self, i: int) -> Reading:
        """Return the reading of one version."""
        return Reading(self.values[i : i + 1], np.asarray(self.is_same[i : i + 1]))

    @classmethod
    def joined(cls, parts: Sequence[Reading]) -> Reading:
        """Join readings of several batches."""
        return cls(np.concatenate([p.values for p in parts]), np.concatenate([p.is_same for p in parts]))


class AnswerReader(Protocol):
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
                values, is_same = found.log_probabilities.copy(), np.asarray(found.is_best.all(axis=1))
                if self.contrast is not None and self.contrast.instead is not None:
                    k = self.contrast.tokens[0]
                    pair = logits[:, k, [self.answer.ids[k], self.contrast.instead]].double().cpu().numpy()
                    values[:, k] = pair[:, 0] - pair[:, 1]
                    is_same = np.asarray(values[:, k] > 0)
                parts.append(Reading(values, is_same))
                self.n_calls += len(values)
                self.told(self.n_calls)
        return Reading.joined(parts)


_WORD = re.compile(r"\w+")
_BATCH = 64


class TextReader:
    """Reads an answer in words from any model: one request for each version.

    A server that gives the most probable tokens gives log-probabilities: those of the answer's own tokens up to the first
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
        ((response, tops),) = self._ask([request], with_tokens=isinstance(model, OpenAIModel))
        if not response.is_answered and isinstance(model, OpenAIModel):  # it may refuse to give tokens
            ((response, tops),) = self._ask([request], with_tokens=False)
        if not response.is_answered:
            raise ModelError(f"{model.name} gave no answer: {response.reason or response.status}")
        self.text = response.text
        self._tops = tops if tops and all(len(options) > 1 for options in tops) else ()
        self.unit = "nats" if self._tops else "share"

    def read(self, versions: Iterable[Sequence[Picture]]) -> Reading:
        """Read some versions of the pictures. Nothing of the answer is left where the model refuses to answer.

        Raises:
            ModelError: If a request fails.
        """
        parts = []
        left = iter(versions)
        while batch := [self.request.with_pictures(pictures) for pictures in islice(left, _BATCH)]:
            values, same = [], []
            for response, tops in self._ask(batch, with_tokens=bool(self._tops)):
                if response.status == "failed":
                    raise ModelError(
                        f"{self.model.name} did not answer with a part hidden: {response.reason}"
                    )
                value, is_same = self._along(tops) if self._tops else self._of_text(response)
                values.append(value)
                same.append(is_same)
            parts.append(Reading(np.array(values)[:, None], np.array(same)))
            self.told(self.n_calls)
        return Reading.joined(parts)

    def _of_text(self, response: Response) -> tuple[float, bool]:
        value = overlap(self.text, response.text) if response.is_answered else 0.0
        return value, value == 1.0

    def _along(self, tops: Sequence[dict[str, float]]) -> tuple[float, bool]:
        """Add up the log-probabilities of the answer's own tokens, up to where another is written."""
        own = [next(iter(options)) for options in self._tops]
        if not tops:  # refused
            return min(self._tops[0].values()), False
        value = 0.0
        for token, options in zip(own, tops, strict=False):
            value += options.get(token, min(options.values()))  # at most that of the last one listed
            if token != next(iter(options)):
                return value, False
        return value, len(tops) >= len(own)

    def _ask(
        self, requests: Sequence[Request], *, with_tokens: bool
    ) -> list[tuple[Response, tuple[dict[str, float], ...]]]:
        self.n_calls += len(requests)
        if with_tokens and isinstance(self.model, OpenAIModel):
            return run_async(partial(self.model.answers_with_tokens, requests))
        return [(response, ()) for response in self.model.generate(list(requests))]


def overlap(left: str, right: str) -> float:
    """Return the share of words that two texts have in common, regardless of order and case (Dice).

    >>> overlap("A red bus.", "a red bus"), overlap("A red bus", "a blue car")
    (1.0, 0.3333333333333333)
    """
    a, b = (Counter(_WORD.findall(text.casefold())) for text in (left, right))
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else float(left.strip() == right.strip())
