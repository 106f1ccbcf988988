"""The scenes of one bucket, and the model's logits for each picture with each question."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.world import Flags, Integers
from theodolite.instruments.grid.explainers.game import Convention, Floats
from theodolite.instruments.grid.explainers.readers import Reader, Shown


class Pool:
    """Scenes of one bucket at one density with their cross matrix F[i, j] = f(picture i, question j).

    DIME, EMAP, InterSHAP and PID all use this matrix. No entry is computed twice.

    Args:
        reader: The model; None if the pool holds stored logits only (see `learn`).
        batch: Scenes.
        rows: The scenes of the pool, all of one bucket.
        convention: What is explained.
        seed: Seed of whatever a global explainer draws.
    """

    def __init__(
        self,
        reader: Reader | None,
        batch: SceneBatch,
        rows: Integers,
        convention: Convention,
        *,
        seed: int = 0,
    ) -> None:
        if rows.size == 0 or np.unique(batch.bucket[rows]).size != 1:
            raise UsageError("a pool needs at least one scene, and all of them of one bucket")
        self.reader, self.batch, self.rows, self.convention = reader, batch, rows, convention
        self.seed = seed
        self._known: dict[tuple[int, int], Floats] = {}
        self.found: dict[tuple[object, ...], object] = {}
        """Results that explainers of one family share for a scene."""

    @property
    def calls(self) -> int:
        """Model calls so far, shared by all explanations of the bucket."""
        return len(self._known)

    def logits(self, pictures: Integers, questions: Integers) -> Floats:
        """Logits for every picture with every question, (pictures, questions, answers)."""
        if missing := self.missing(pictures, questions):
            self.learn(missing, self.whole(*(np.array(side) for side in zip(*missing, strict=True))))
        found = [self._known[int(i), int(j)] for i in pictures for j in questions]
        return np.stack(found).reshape(len(pictures), len(questions), -1)

    def whole(self, pictures: Integers, questions: Integers) -> Floats:
        """Logits (m, answers) of whole inputs; not cached."""
        m = len(pictures)
        shown = [np.ones((m, size), bool) for size in (self.batch.cells.shape[1], self.batch.words.shape[1])]
        return self.masked(pictures, questions, *shown)

    def masked(self, pictures: Integers, questions: Integers, cell_mask: Flags, word_mask: Flags) -> Floats:
        """Logits (m, answers) of inputs with parts hidden; not cached."""
        if self.reader is None:
            raise UsageError("this pool has stored answers only; the model is needed here")
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
        """The same pool with the same memory, through another reader of the same model."""
        seen = Pool(reader, self.batch, self.rows, self.convention, seed=self.seed)
        seen._known, seen.found = self._known, self.found
        return seen

    def missing(self, pictures: Integers, questions: Integers) -> list[tuple[int, int]]:
        """Pairs that are not known yet."""
        wanted = dict.fromkeys((int(i), int(j)) for i in pictures for j in questions)
        return [pair for pair in wanted if pair not in self._known]

    def learn(self, pairs: list[tuple[int, int]], logits: Floats) -> None:
        """Adds known logits of some pairs."""
        self._known.update(zip(pairs, logits, strict=True))


def fill_matrices(reader: Reader, pools: Iterable[Pool]) -> None:
    """Computes everything that the cross matrices of some pools still miss, in one batch."""
    missing = [(pool, pool.missing(pool.rows, pool.rows)) for pool in {id(p): p for p in pools}.values()]
    pairs = [pair for _, some in missing for pair in some]
    if not pairs:
        return
    first = missing[0][0]
    found = first.seen_by(reader).whole(*(np.array(side) for side in zip(*pairs, strict=True)))
    for pool, some in missing:
        pool.learn(some, found[: len(some)])
        found = found[len(some) :]
