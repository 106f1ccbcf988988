"""A model of one's own: it says on which side of the picture the light is, whatever the question.

It looks at every picture, and still at the wrong thing: `theodolite ask` tells that swapping pictures changes its
answers and not how often they are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite.core.types import Request, Response
from theodolite.models import ModelName
from theodolite.runs import isolate


class Brightest:
    """Compares the mean brightness of the four halves of the first picture."""

    def __init__(self, name: ModelName) -> None:
        self.name = name.text
        self.identity = f"brightest 1, {name.target}"  # whatever can change an answer
        self.lacks = {"choose": "it returns text alone"}  # what it cannot do, and why
        self.batch_size = 8

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """One response per request, in order; a broken picture costs its own request alone."""
        return isolate(self._answer, requests, on_failure=lambda _, reason: Response.failed(reason))

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
        """Nothing to free."""


def register(add: Any) -> None:
    """`--model brightest:v1` then works everywhere, and `theodolite models check brightest:v1` checks it."""
    add("model", "brightest", f"{__name__}:Brightest", summary="where the light is", example="brightest:v1")
