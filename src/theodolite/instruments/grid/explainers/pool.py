"""How a model is asked, and the scenes of one bucket with all their pictures and questions crossed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.world import Flags, Integers
from theodolite.instruments.grid.explainers.game import Floats, PlayerSet
from theodolite.instruments.grid.explainers.outputs import EXPLAINED, Explained
from theodolite.instruments.grid.explainers.readers import Fill, Hiding, Reader, Shown, check_hiding


@dataclass(frozen=True, slots=True)
class Convention:
    """What is explained, and how parts are hidden."""

    fill: Fill = "white"
    hiding: Hiding = "mask"
    explained: Explained = "expected"
    answer: Literal["said", "gold"] = "said"
    """Which answer the logit and the log-odds are of: the model's own, or the right one."""
    players: PlayerSet = field(default_factory=PlayerSet)

    def __post_init__(self) -> None:
        if self.answer not in {"said", "gold"}:
            raise UsageError(f"the answer explained is the one said or gold, not {self.answer!r}")
        if self.explained not in EXPLAINED:
            raise UsageError(f"what can be explained is {', '.join(EXPLAINED)}, not {self.explained!r}")
        check_hiding(self.fill, self.hiding)


class Pool:
    """Scenes of one bucket at one density, and the model's logits for each picture with each question.

    F[i, j] = f(picture i, question j): DIME, EMAP and InterSHAP all read this one matrix; no entry is asked for twice.
    """

    def __init__(self, reader: Reader, batch: SceneBatch, rows: Integers, convention: Convention) -> None:
        if rows.size == 0 or np.unique(batch.bucket[rows]).size != 1:
            raise UsageError("the pool of a cross matrix holds scenes of one bucket, and at least one")
        self.reader, self.batch, self.rows, self.convention = reader, batch, rows, convention
        self._known: dict[tuple[int, int], Floats] = {}
        self.found: dict[tuple[object, ...], object] = {}
        """What explainers of one family have worked out for a scene, so that none pays twice."""

    @property
    def calls(self) -> int:
        """Model calls so far; all explanations of the bucket share them."""
        return len(self._known)

    def logits(self, pictures: Integers, questions: Integers) -> Floats:
        """Logits for every picture with every question, (pictures, questions, answers)."""
        if missing := self.missing(pictures, questions):
            self.learn(missing, self.whole(*(np.array(side) for side in zip(*missing, strict=True))))
        found = [self._known[int(i), int(j)] for i in pictures for j in questions]
        return np.stack(found).reshape(len(pictures), len(questions), -1)

    def whole(self, pictures: Integers, questions: Integers) -> Floats:
        """Logits (m, answers) of whole inputs; not kept."""
        m = len(pictures)
        shown = [np.ones((m, size), bool) for size in (self.batch.cells.shape[1], self.batch.words.shape[1])]
        return self.masked(pictures, questions, *shown)

    def masked(self, pictures: Integers, questions: Integers, cell_mask: Flags, word_mask: Flags) -> Floats:
        """Logits (m, answers) of inputs with parts hidden; not kept."""
        shown = Shown(
            self.batch,
            pictures,
            questions,
            cell_mask,
            word_mask,
            self.convention.fill,
            self.convention.hiding,
        )
        return self.reader.logits(shown)

    def seen_by(self, reader: Reader) -> Pool:
        """The same pool and all that it knows, asked through another reader of the same model."""
        seen = Pool(reader, self.batch, self.rows, self.convention)
        seen._known, seen.found = self._known, self.found  # one and the same memory
        return seen

    def missing(self, pictures: Integers, questions: Integers) -> list[tuple[int, int]]:
        """Pairs that were never asked for."""
        wanted = dict.fromkeys((int(i), int(j)) for i in pictures for j in questions)
        return [pair for pair in wanted if pair not in self._known]

    def learn(self, pairs: list[tuple[int, int]], logits: Floats) -> None:
        """Takes in what was found for some pairs."""
        self._known.update(zip(pairs, logits, strict=True))


def fill_matrices(reader: Reader, pools: Iterable[Pool]) -> None:
    """Asks for all that the cross matrices of some pools still miss, in one batch."""
    missing = [(pool, pool.missing(pool.rows, pool.rows)) for pool in {id(p): p for p in pools}.values()]
    pairs = [pair for _, some in missing for pair in some]
    if not pairs:
        return
    first = missing[0][0]
    found = first.seen_by(reader).whole(*(np.array(side) for side in zip(*pairs, strict=True)))
    for pool, some in missing:
        pool.learn(some, found[: len(some)])
        found = found[len(some) :]
