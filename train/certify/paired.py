"""Make the certificate of a model of the grid, by tests on new scenes of the test split, which training never sees.

What is tested: `theodolite.instruments.grid.models.certificate`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.batch import (
    ANCHOR_MOVED,
    EXCHANGED,
    IS_COUNT,
    SceneBatch,
    join,
    look,
    move_objects,
    remove_roles,
    shortcut_answer,
    swap_directions,
)
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import ANCHOR_SIDE, BUCKET_KEYS, BUCKETS
from theodolite.instruments.grid.data.recipe import PRESETS, Density
from theodolite.instruments.grid.data.world import Mode
from theodolite.instruments.grid.models.certificate import (
    ACCURACY,
    AGREES,
    FOLLOWS,
    FOLLOWS_ANCHOR,
    FOLLOWS_EXCHANGE,
    FOLLOWS_ONE,
    INVARIANT,
    KEEPS,
    NO_REGION,
    NONE_LEFT,
    CertificateLine,
    GridCertificate,
    PairedKind,
)
from theodolite.instruments.grid.models.paired import PairedReader, open_network, released
from theodolite.runs import write_atomically
from theodolite.stats import wilson_interval

Answerer = Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[np.integer]]
"""A function from cells ``(n, cells)`` and words ``(n, longest)`` to answer indices ``(n,)``."""

DENSITIES: tuple[Density, ...] = ("sparse", "dense")
_RELATIONAL = np.array([bucket.is_relational for bucket in BUCKETS])
_ROWS_AT_ONCE = 512
_DIGITS = 5
"""Decimals of a stored share."""

N_SCENES = 400
"""If all of these are right, the 95 % interval begins above 99 %."""


def certify(
    answer: Answerer,
    *,
    model: str,
    identity: str,
    n: int = N_SCENES,
    seed: int = 2026,
    progress: Callable[[int, int], None] | None = None,
) -> GridCertificate:
    """Test a model on new scenes.

    Args:
        answer: The model.
        model: Its name.
        identity: Its name and the hash of its weights.
        n: Scenes per preset, bucket and density.
        seed: Seed of the scenes.
        progress: Called with scenes answered and in all.
    """
    if n < 2:
        raise UsageError(f"a certificate needs at least 2 scenes per bucket, not {n}")
    model_answers = _Asking(answer, n, progress)
    lines: list[CertificateLine] = []
    for preset in PRESETS:
        for data in ("pure", "spur"):
            for density in DENSITIES:
                scenes = generate(n=n, mode=data, density=density, preset=preset, seed=seed, split="test")
                answers = model_answers.ask(scenes)
                cell = _Cell(preset, data, str(density))
                lines += cell.lines(ACCURACY, scenes, answers == scenes.answer)
                if data == "pure":
                    lines += cell.lines(AGREES, scenes, answers == shortcut_answer(scenes))
        lines += _edit_lines(model_answers, preset, n=-(-n // 2), seed=seed + 1)
    return GridCertificate(model, identity, seed, n, tuple(lines))


def _edit_lines(model_answers: _Asking, preset: str, *, n: int, seed: int) -> list[CertificateLine]:
    """Return the tests with edits, on `n` scenes of each relational bucket and density."""
    few = join(
        [generate(n=n, mode="pure", density=d, preset=preset, seed=seed, split="test") for d in DENSITIES]
    )
    few = few.take(_RELATIONAL[few.bucket])
    cell = _Cell(preset, "pure", "both")
    before = model_answers.ask(few)
    one, every = _swap_one(few, seed), swap_directions(few)
    after_one, after = model_answers.ask(one), model_answers.ask(every)
    lines = cell.lines(FOLLOWS_ONE, one, after_one == one.answer)
    lines += cell.lines(FOLLOWS, every, after == every.answer)
    swapped = join([one, every])
    is_followed = np.concatenate([after_one, after]) == swapped.answer
    has_region = np.asarray(look(swapped.world, swapped.cells, swapped.questions).region(0).any(axis=1))
    is_zero = np.asarray(has_region & (swapped.answer == 0) & IS_COUNT[swapped.bucket])
    for criterion, rows in ((NONE_LEFT, is_zero), (NO_REGION, ~has_region)):
        lines += cell.lines(criterion, swapped.take(rows), is_followed[rows])
    lines += cell.lines(INVARIANT, few, after == before)
    cleared = model_answers.ask(remove_roles(few, ["adversarial"]))
    lines += cell.lines(KEEPS, few, cleared == before)
    for number, (criterion, kind) in enumerate(
        ((FOLLOWS_EXCHANGE, EXCHANGED), (FOLLOWS_ANCHOR, ANCHOR_MOVED))
    ):
        moved = move_objects(few, kind, [seed, number])
        answers = model_answers.ask(moved.scenes)
        is_right = (before == few.answer)[moved.rows] & (answers == moved.scenes.answer)
        lines += cell.lines(criterion, moved.scenes, is_right)
    return lines


def _swap_one(scenes: SceneBatch, seed: int) -> SceneBatch:
    """Reverse one direction of each question, that of an anchor drawn at random."""
    n_anchors = (ANCHOR_SIDE[scenes.bucket] > 0).sum(axis=1)
    chosen = np.random.default_rng(seed).integers(0, n_anchors)
    parts = [np.flatnonzero(chosen == k) for k in np.unique(chosen)]
    swapped = join(
        [swap_directions(scenes.take(rows), k=k) for k, rows in zip(np.unique(chosen), parts, strict=True)]
    )
    return swapped.take(np.concatenate(parts).argsort())


class _Asking:
    """A model that is asked in batches, with progress."""

    def __init__(self, answer: Answerer, n: int, progress: Callable[[int, int], None] | None) -> None:
        self.answer = answer
        self.done = 0
        self.total = len(PRESETS) * n * (4 * len(BUCKETS) + 6 * int(_RELATIONAL.sum()))
        """At most: not every scene has an exchange or a move that changes its answer."""
        self.progress = progress

    def ask(self, scenes: SceneBatch) -> NDArray[np.integer]:
        answers = []
        for start in range(0, len(scenes), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            answers.append(self.answer(scenes.cells[some], scenes.words[some]))
            self.done += len(answers[-1])
            if self.progress:
                self.progress(self.done, self.total)
        return np.concatenate(answers)


@dataclass(frozen=True, slots=True)
class _Cell:
    """The scenes that a line is about."""

    preset: str
    data: Mode
    density: str

    def lines(self, what: str, scenes: SceneBatch, is_so: NDArray[np.bool_]) -> list[CertificateLine]:
        """Return one line per bucket."""
        return [
            CertificateLine(
                what,
                self.preset,
                self.data,
                self.density,
                BUCKET_KEYS[index],
                round(share.value, _DIGITS),
                round(share.low, _DIGITS),
                round(share.high, _DIGITS),
                share.n,
            )
            for index in np.unique(scenes.bucket)
            for rows in [scenes.bucket == index]
            for share in [wilson_interval(int(is_so[rows].sum()), int(rows.sum()))]
        ]


def certify_model(
    kind: PairedKind,
    *,
    weights: Path | None = None,
    n: int = N_SCENES,
    seed: int = 2026,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> GridCertificate:
    """Test a paired model, by default the released one.

    Args:
        kind: Which model of the pair.
        weights: Path of the weights. Default: the released ones.
        n: Scenes per preset, bucket and density.
        seed: Seed of the scenes.
        device: ``cpu`` or ``cuda``.
        progress: Called with scenes answered and in all.
    """
    network, digest = open_network(weights or released(kind), device)
    reader = PairedReader(network, device=device)

    def answer(cells: Any, words: Any) -> Any:
        return reader.logits(cells, words).argmax(axis=1)

    return certify(
        answer, model=f"grid:{kind}", identity=f"grid:{kind}@{digest}", n=n, seed=seed, progress=progress
    )


def write_certificate(certificate: GridCertificate, folder: Path) -> Path:
    """Write the certificate into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{certificate.model.replace(':', '-')}.json"
    write_atomically(path, json.dumps(asdict(certificate), indent=1) + "\n")
    return path
