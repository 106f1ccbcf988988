"""``grid:pure`` and ``grid:spur`` behind the model contract: pictures and words in, an answer out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Choice, Request, Response
from theodolite.instruments.grid.data.words import question_words
from theodolite.instruments.grid.data.world import World
from theodolite.instruments.grid.models.paired.network import CELL_PIXELS
from theodolite.instruments.grid.models.paired.reader import PairedReader
from theodolite.instruments.grid.models.paired.weights import Kind, open_network, released
from theodolite.models import Capability, ModelName, ModelOptions, read_options


class PairedOptions(ModelOptions):
    """Options after the ``?`` in ``grid:pure?…``."""

    device: str = "cpu"
    weights: str = ""
    """Another weights file than the released one."""


def open_paired(name: ModelName) -> PairedModel:
    """Opens ``grid:pure`` or ``grid:spur``."""
    options = read_options(name, PairedOptions)
    path = Path(options.weights) if options.weights else released(cast("Kind", name.target))
    network, digest = open_network(path, options.device)
    return PairedModel(
        name.text, f"grid:{name.target}@{digest}", PairedReader(network, device=options.device)
    )


class PairedModel:
    """A trained network. Takes one picture of whole 64-pixel cells and one question of the grid."""

    lacks: ClassVar[Mapping[Capability, str]] = {}
    batch_size = 64

    def __init__(self, name: str, identity: str, reader: PairedReader) -> None:
        self.name = name
        self.identity = identity
        self.reader = reader
        self.answers = World().answers

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """One word each: a number, yes or no."""
        return [
            found
            if isinstance(found, Response)
            else Response("answered", text=self._word(found), finish="stop", seconds=seconds)
            for found, seconds in self._look(requests)
        ]

    def choose(
        self, requests: Sequence[Request], options: Sequence[Sequence[str]]
    ) -> list[Choice | Response]:
        """The log-probability of each option among all answers of the network."""
        return [
            found if isinstance(found, Response) else self._choice(found, tuple(each))
            for (found, _), each in zip(self._look(requests), options, strict=True)
        ]

    def close(self) -> None:
        """Holds memory only."""

    def _word(self, logits: NDArray[np.float32]) -> str:
        return self.answers[int(logits.argmax())]

    def _choice(self, logits: NDArray[np.float32], options: tuple[str, ...]) -> Choice | Response:
        unknown = [option for option in options if option.strip().casefold() not in self.answers]
        if unknown or not options:
            return Response.failed(
                f"{self.name} knows the answers {', '.join(self.answers)}, not {unknown[:1]}"
            )
        shifted = logits - logits.max()
        scores = shifted - np.log(np.exp(shifted).sum())
        picked = [float(scores[self.answers.index(option.strip().casefold())]) for option in options]
        return Choice(options, tuple(picked))

    def _look(self, requests: Sequence[Request]) -> list[tuple[NDArray[np.float32] | Response, float]]:
        """Logits or a failed response for each request, with its seconds; pictures of one size are batched."""
        started = time.monotonic()
        found: list[NDArray[np.float32] | Response] = []
        ready: dict[tuple[int, ...], list[tuple[int, NDArray[np.uint8], NDArray[np.uint8]]]] = {}
        for i, request in enumerate(requests):
            try:
                pixels, words = self._read(request)
            except UsageError as error:
                found.append(Response.failed(str(error)))
                continue
            found.append(np.zeros(0, np.float32))
            ready.setdefault(pixels.shape, []).append((i, pixels, words))
        for group in ready.values():
            logits = self.reader.logits_of_pictures(
                np.stack([pixels for _, pixels, _ in group]), np.stack([words for _, _, words in group])
            )
            for (i, _, _), row in zip(group, logits, strict=True):
                found[i] = row
        share = (time.monotonic() - started) / max(len(requests), 1)
        return [(each, share) for each in found]

    def _read(self, request: Request) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        words = question_words(request.text)
        if len(request.pictures) != 1:
            raise UsageError(f"one picture is needed, not {len(request.pictures)}")
        pixels = request.pictures[0].pixels()
        height, width = pixels.shape[:2]
        most = self.reader.network.size.side * CELL_PIXELS
        if height % CELL_PIXELS or width % CELL_PIXELS or max(height, width) > most:
            raise UsageError(
                f"the picture must be made of whole cells of {CELL_PIXELS} pixels, up to {most} wide, not {width}×{height}"
            )
        return pixels, words
