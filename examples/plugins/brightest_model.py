"""An example model: it answers with the brightest side of the picture, whatever the question.

It looks at every picture, but at the wrong thing: `theodolite ask` shows that swapping pictures changes its answers,
but not how often they are correct.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite.core.types import Request, Response
from theodolite.models import ModelName
from theodolite.runs import bisect_failures


class Brightest:
    """Compares the mean brightness of the four halves of the first picture."""

    def __init__(self, name: ModelName) -> None:
        self.name = name.text
        self.identity = f"brightest 1, {name.target}"  # everything that can affect an answer
        self.lacks = {"choose": "it returns text only"}  # missing capabilities, with the reason
        self.batch_size = 8

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Return one response per request, in order. A broken picture fails only its own request."""
        return bisect_failures(self._answer, requests, on_failure=lambda _, reason: Response.failed(reason))

    def _answer(self, requests: Sequence[Request]) -> list[Response]:
        return [Response("answered", text=self._look(request)) for request in requests]

    def _look(self, request: Request) -> str:
        if not request.pictures:
            return "I see nothing."
        light = request.pictures[0].pixels().mean(axis=2)
        height, width = light.shape
        halves = {
            "left": light[:, : width // 2],
            "right": light[:, width // 2 :],
            "above": light[: height // 2],
            "below": light[height // 2 :],
        }
        return max(halves, key=lambda side: float(np.mean(halves[side])))

    def close(self) -> None:
        """Nothing to release."""


def register(add: Any) -> None:
    """Register the model. `--model brightest:v1` then works everywhere; `theodolite check brightest:v1` checks it."""
    add("model", "brightest", f"{__name__}:Brightest", summary="where the light is", example="brightest:v1")
