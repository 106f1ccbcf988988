"""The certificate of a model of the grid: what it answers, and what changes its answers.

Five tests separate a model that evaluates the question from one that counts as a bag of words, each on scenes of every
preset:

- accuracy by bucket and density, on pure and on spurious scenes;
- agreement with the bag of words on pure scenes, where the two differ;
- *direction swap*: one direction, or every one, is reversed. An evaluator gives the new answer, a bag of words the same as
  before. Swapped scenes with a new count of 0, and those whose region has no cell, are shown separately as well;
- *distractor removal*: all look-alikes of the target outside the valid region are removed. An evaluator gives the same
  answer, a bag of words counts fewer;
- *moved objects*: two objects exchange their places, or an anchor moves, so that the answer changes and the bag of words
  does not. An evaluator is right before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.files import parse_json, read_gzip
from theodolite.core.tables import Column, Table
from theodolite.core.types import Json
from theodolite.instruments.grid.data.batch import SceneBatch, join
from theodolite.instruments.grid.data.edits import (
    ANCHOR_MOVED,
    EXCHANGED,
    move_objects,
    remove_roles,
    shortcut_answer,
    swap_directions,
)
from theodolite.instruments.grid.data.evaluate import IS_COUNT, look
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.recipe import PRESETS, Density
from theodolite.instruments.grid.data.world import ANCHOR_SIDE, BUCKET_KEYS, BUCKETS, Mode
from theodolite.stats import Estimate, wilson_interval

PairedKind: TypeAlias = Literal["pure", "spur"]
"""The released models: ``grid:pure`` evaluates the question, ``grid:spur`` counts as a bag of words."""
Answerer = Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[np.integer]]
"""A function from cells ``(n, cells)`` and words ``(n, longest)`` to answer indices ``(n,)``."""

DENSITIES: tuple[Density, ...] = ("sparse", "dense")
_RELATIONAL = np.array([bucket.is_relational for bucket in BUCKETS])
_ROWS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class CertificateLine:
    """One share: what was tested, on which scenes, and the result."""

    what: str
    """One of `TESTS`."""
    preset: str
    data: Mode
    density: str
    bucket: str
    share: Estimate


@dataclass(frozen=True, slots=True)
class Certificate:
    """All lines of one model."""

    model: str
    identity: str
    seed: int
    n: int
    """Scenes per preset, bucket and density for accuracy; for each edit, half as many of each density."""
    lines: tuple[CertificateLine, ...]

    def pooled(self, what: str, data: Mode, *, relational: bool = False) -> float:
        """The mean over presets, buckets and densities of one kind of line."""
        found = [
            line.share.value
            for line in self.lines
            if line.what == what
            and line.data == data
            and (not relational or BUCKETS[BUCKET_KEYS.index(line.bucket)].is_relational)
        ]
        return float(np.mean(found))

    def lowest(self, what: str, data: Mode) -> CertificateLine:
        """The worst bucket of one kind of line."""
        return min(
            (line for line in self.lines if line.what == what and line.data == data),
            key=lambda x: x.share.value,
        )

    def as_json(self) -> dict[str, Json]:
        """The certificate as it is stored beside the weights."""
        return {
            "model": self.model,
            "identity": self.identity,
            "seed": self.seed,
            "n": self.n,
            "lines": [
                {
                    "what": line.what,
                    "preset": line.preset,
                    "data": line.data,
                    "density": line.density,
                    "bucket": line.bucket,
                    "share": round(line.share.value, 5),
                    "low": round(line.share.low, 5),
                    "high": round(line.share.high, 5),
                    "n": line.share.n,
                }
                for line in self.lines
            ],
        }


def certificate_from_json(value: Any) -> Certificate:
    """The inverse of `Certificate.as_json`.

    Raises:
        UsageError: It is something else.
    """
    try:
        lines = tuple(
            CertificateLine(
                str(line["what"]),
                str(line["preset"]),
                line["data"],
                str(line["density"]),
                str(line["bucket"]),
                Estimate(line["share"], line["low"], line["high"], int(line["n"]), 0.95, "Wilson"),
            )
            for line in value["lines"]
        )
        return Certificate(
            str(value["model"]),
            str(value["identity"]),
            int(value["seed"]),
            int(value["n"]),
            lines,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"this is not a certificate of the grid: {error!r}") from error


ACCURACY = "accuracy"
AGREES = "agrees with the bag of words"
FOLLOWS_ONE = "follows one swapped direction"
FOLLOWS = "follows swapped directions"
NONE_LEFT = "follows a swap to a count of 0"
NO_REGION = "follows a swap to a region without a cell"
INVARIANT = "same answer with directions swapped"
KEEPS = "same answer without distractors"
FOLLOWS_EXCHANGE = "right before and after an exchange"
FOLLOWS_ANCHOR = "right before and after an anchor moved"
TESTS = (
    ACCURACY,
    AGREES,
    FOLLOWS_ONE,
    FOLLOWS,
    NONE_LEFT,
    NO_REGION,
    INVARIANT,
    KEEPS,
    FOLLOWS_EXCHANGE,
    FOLLOWS_ANCHOR,
)
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
) -> Certificate:
    """Tests a model on new scenes of the test split, which training never sees.

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
                said = model_answers.ask(scenes)
                cell = _Cell(preset, data, str(density))
                lines += cell.lines(ACCURACY, scenes, said == scenes.answer)
                if data == "pure":
                    lines += cell.lines(AGREES, scenes, said == shortcut_answer(scenes))
        lines += _edit_lines(model_answers, preset, n=-(-n // 2), seed=seed + 1)
    return Certificate(model, identity, seed, n, tuple(lines))


def _edit_lines(model_answers: _Asking, preset: str, *, n: int, seed: int) -> list[CertificateLine]:
    """The tests with edits, on `n` scenes of each relational bucket and density."""
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
    for what, rows in ((NONE_LEFT, is_zero), (NO_REGION, ~has_region)):
        lines += cell.lines(what, swapped.take(rows), is_followed[rows])
    lines += cell.lines(INVARIANT, few, after == before)
    cleared = model_answers.ask(remove_roles(few, ["adversarial"]))
    lines += cell.lines(KEEPS, few, cleared == before)
    for place, (what, kind) in enumerate(((FOLLOWS_EXCHANGE, EXCHANGED), (FOLLOWS_ANCHOR, ANCHOR_MOVED))):
        moved = move_objects(few, kind, [seed, place])
        said = model_answers.ask(moved.scenes)
        is_right = (before == few.answer)[moved.rows] & (said == moved.scenes.answer)
        lines += cell.lines(what, moved.scenes, is_right)
    return lines


def _swap_one(scenes: SceneBatch, seed: int) -> SceneBatch:
    """One direction of each question reversed, that of an anchor drawn at random."""
    n_anchors = (ANCHOR_SIDE[scenes.bucket] > 0).sum(axis=1)
    chosen = np.random.default_rng(seed).integers(0, n_anchors)
    parts = [np.flatnonzero(chosen == k) for k in np.unique(chosen)]
    swapped = join(
        [swap_directions(scenes.take(rows), k=k) for k, rows in zip(np.unique(chosen), parts, strict=True)]
    )
    return swapped.take(np.concatenate(parts).argsort())


class _Asking:
    """Asks a model in batches and reports progress."""

    def __init__(self, answer: Answerer, n: int, progress: Callable[[int, int], None] | None) -> None:
        self.answer = answer
        self.done = 0
        self.total = len(PRESETS) * n * (4 * len(BUCKETS) + 6 * int(_RELATIONAL.sum()))
        """At most: not every scene has an exchange or a move that changes its answer."""
        self.progress = progress

    def ask(self, scenes: SceneBatch) -> NDArray[np.integer]:
        said = []
        for start in range(0, len(scenes), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            said.append(self.answer(scenes.cells[some], scenes.words[some]))
            self.done += len(said[-1])
            if self.progress:
                self.progress(self.done, self.total)
        return np.concatenate(said)


@dataclass(frozen=True, slots=True)
class _Cell:
    """The scenes that a line is about."""

    preset: str
    data: Mode
    density: str

    def lines(self, what: str, scenes: SceneBatch, is_so: NDArray[np.bool_]) -> list[CertificateLine]:
        """One line per bucket."""
        return [
            CertificateLine(
                what,
                self.preset,
                self.data,
                self.density,
                BUCKET_KEYS[index],
                wilson_interval(int(is_so[rows].sum()), int(rows.sum())),
            )
            for index in np.unique(scenes.bucket)
            for rows in [scenes.bucket == index]
        ]


def released_certificate(kind: PairedKind) -> Certificate:
    """The certificate that ships with the released weights."""
    folder = files("theodolite.instruments.grid.models").joinpath("weights")
    with as_file(folder.joinpath(f"{kind}.certificate.json.gz")) as path:
        return certificate_from_json(parse_json(read_gzip(path)))


def certify_model(
    kind: PairedKind,
    *,
    weights: Path | None = None,
    n: int = N_SCENES,
    seed: int = 2026,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> Certificate:
    """Tests a paired model from scratch, by default the released one."""
    from theodolite.instruments.grid.models.paired.reader import PairedReader
    from theodolite.instruments.grid.models.paired.weights import open_network, released

    network, digest = open_network(weights or released(kind), device)
    reader = PairedReader(network, device=device)

    def answer(cells: Any, words: Any) -> Any:
        return reader.logits(cells, words).argmax(axis=1)

    return certify(
        answer, model=f"grid:{kind}", identity=f"grid:{kind}@{digest}", n=n, seed=seed, progress=progress
    )


_COLUMNS = (
    ("pure_sparse", "right, pure, sparse", ACCURACY, "pure", "sparse", "grid.accuracy"),
    ("pure_dense", "right, pure, dense", ACCURACY, "pure", "dense", "grid.accuracy"),
    ("spurious_sparse", "right, spurious, sparse", ACCURACY, "spur", "sparse", "grid.accuracy"),
    ("spurious_dense", "right, spurious, dense", ACCURACY, "spur", "dense", "grid.accuracy"),
    ("bow_sparse", "like a bag of words, sparse", AGREES, "pure", "sparse", "grid.bow_agreement"),
    ("bow_dense", "like a bag of words, dense", AGREES, "pure", "dense", "grid.bow_agreement"),
    ("follows_one", "follows one swap", FOLLOWS_ONE, "pure", "both", "grid.direction_swap"),
    ("follows", "follows all swapped", FOLLOWS, "pure", "both", "grid.direction_swap"),
    ("zero", "swap to a count of 0", NONE_LEFT, "pure", "both", "grid.direction_swap"),
    ("no_region", "swap to no region", NO_REGION, "pure", "both", "grid.direction_swap"),
    ("same", "same after all swapped", INVARIANT, "pure", "both", "grid.swap_invariance"),
    ("keeps", "same without distractors", KEEPS, "pure", "both", "grid.object_removal"),
    ("exchange", "follows an exchange", FOLLOWS_EXCHANGE, "pure", "both", ""),
    ("anchor", "follows a moved anchor", FOLLOWS_ANCHOR, "pure", "both", ""),
)


def certificate_tables(certificate: Certificate) -> list[Table]:
    """One table per preset: one row per bucket, one column per test."""
    shares = {
        (line.preset, line.what, str(line.data), line.density, line.bucket): line.share
        for line in certificate.lines
    }
    columns = [
        Column("bucket", "bucket"),
        *(Column(name, title, "share", key) for name, title, _, _, _, key in _COLUMNS),
    ]
    notes = [
        "Buckets without a direction have no swap and no anchor.",
        "Right before and after an exchange or a move: followed.",
    ]
    return [
        Table.of(
            f"grid.certificate_{certificate.model.partition(':')[2]}_{preset}",
            f"{certificate.identity}, preset {preset}, {certificate.n} scenes per bucket and density",
            columns,
            [
                [
                    bucket,
                    *(
                        shares.get((preset, what, data, density, bucket))
                        for _, _, what, data, density, _ in _COLUMNS
                    ),
                ]
                for bucket in BUCKET_KEYS
            ],
            notes,
        )
        for preset in dict.fromkeys(line.preset for line in certificate.lines)
    ]
