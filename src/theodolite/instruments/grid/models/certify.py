"""The certificate of a model of the grid: what it answers, and what changes its answers.

Four tests separate a model that evaluates the question from one that counts as a bag of words:

- accuracy by bucket and density, on pure and on spurious scenes;
- agreement with the bag of words on pure scenes, where the two differ;
- *direction swap*: every direction is reversed. An evaluator gives the new answer, a bag of words the same as before;
- *distractor removal*: all look-alikes of the target outside the valid region are removed. An evaluator gives the same
  answer, a bag of words counts fewer.

Swapped scenes whose new count is 0 are left out and counted: no training scene has that answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table
from theodolite.core.types import Json
from theodolite.instruments.grid.data.batch import SceneBatch, join
from theodolite.instruments.grid.data.edits import remove_roles, shortcut_answer, swap_directions
from theodolite.instruments.grid.data.evaluate import IS_COUNT
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.recipe import Density
from theodolite.instruments.grid.data.world import BUCKET_KEYS, BUCKETS, Mode
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
    """One of `ACCURACY`, `AGREES`, `FOLLOWS`, `INVARIANT` and `KEEPS`."""
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
    """Scenes per bucket and density for accuracy; for each edit, half as many of each density."""
    lines: tuple[CertificateLine, ...]
    left_out: int
    """Swapped scenes with a new count of 0."""

    def pooled(self, what: str, data: Mode, *, relational: bool = False) -> float:
        """The mean over buckets and densities of one kind of line."""
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
            "left_out": self.left_out,
            "lines": [
                {
                    "what": line.what,
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
            int(value["left_out"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"this is not a certificate of the grid: {error!r}") from error


ACCURACY = "accuracy"
AGREES = "agrees with the bag of words"
FOLLOWS = "follows swapped directions"
INVARIANT = "same answer with directions swapped"
KEEPS = "same answer without distractors"


def certify(
    answer: Answerer,
    *,
    model: str,
    identity: str,
    n: int = 1000,
    seed: int = 2026,
    progress: Callable[[int, int], None] | None = None,
) -> Certificate:
    """Tests a model on new scenes of the test split, which training never sees.

    Args:
        answer: The model.
        model: Its name.
        identity: Its name and the hash of its weights.
        n: Scenes per bucket and density.
        seed: Seed of the scenes.
        progress: Called with scenes answered and in all.
    """
    if n < 2:
        raise UsageError(f"a certificate needs at least 2 scenes per bucket, not {n}")
    model_answers = _Asking(answer, n, progress)
    lines: list[CertificateLine] = []
    for data in ("pure", "spur"):
        for density in DENSITIES:
            scenes = generate(n=n, mode=data, density=density, seed=seed, split="test")
            said = model_answers.ask(scenes)
            lines += _lines(ACCURACY, data, str(density), scenes, said == scenes.answer)
            if data == "pure":
                lines += _lines(AGREES, data, str(density), scenes, said == shortcut_answer(scenes))
    few = join(
        [generate(n=-(-n // 2), mode="pure", density=d, seed=seed + 1, split="test") for d in DENSITIES]
    )
    few = few.take(_RELATIONAL[few.bucket])
    before = model_answers.ask(few)
    swapped = swap_directions(few)
    is_asked = (swapped.answer > 0) | ~IS_COUNT[swapped.bucket]
    after = model_answers.ask(swapped)
    lines += _lines(FOLLOWS, "pure", "both", swapped.take(is_asked), (after == swapped.answer)[is_asked])
    lines += _lines(INVARIANT, "pure", "both", few, after == before)
    cleared = model_answers.ask(remove_roles(few, ["adversarial"]))
    lines += _lines(KEEPS, "pure", "both", few, cleared == before)
    return Certificate(model, identity, seed, n, tuple(lines), int((~is_asked).sum()))


class _Asking:
    """Asks a model in batches and reports progress."""

    def __init__(self, answer: Answerer, n: int, progress: Callable[[int, int], None] | None) -> None:
        self.answer = answer
        self.done = 0
        self.total = n * (4 * len(BUCKETS) + 3 * int(_RELATIONAL.sum()))
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


def _lines(
    what: str, data: Mode, density: str, scenes: SceneBatch, is_so: NDArray[np.bool_]
) -> list[CertificateLine]:
    return [
        CertificateLine(
            what, data, density, BUCKET_KEYS[index], wilson_interval(int(is_so[rows].sum()), int(rows.sum()))
        )
        for index in np.unique(scenes.bucket)
        for rows in [scenes.bucket == index]
    ]


def released_certificate(kind: PairedKind) -> Certificate:
    """The certificate that ships with the released weights."""
    folder = files("theodolite.instruments.grid.models").joinpath("weights")
    return certificate_from_json(
        json.loads(folder.joinpath(f"{kind}.certificate.json").read_text(encoding="utf-8"))
    )


def certify_model(
    kind: PairedKind,
    *,
    weights: Path | None = None,
    n: int = 1000,
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
    ("follows", "follows swap", FOLLOWS, "pure", "both", "grid.direction_swap"),
    ("same", "same after swap", INVARIANT, "pure", "both", "grid.swap_invariance"),
    ("keeps", "same without distractors", KEEPS, "pure", "both", "grid.object_removal"),
)


def certificate_tables(certificate: Certificate) -> list[Table]:
    """One row per bucket, one column per test."""
    shares = {
        (line.what, str(line.data), line.density, line.bucket): line.share for line in certificate.lines
    }
    rows = [
        [bucket, *(shares.get((what, data, density, bucket)) for _, _, what, data, density, _ in _COLUMNS)]
        for bucket in BUCKET_KEYS
    ]
    columns = [
        Column("bucket", "bucket"),
        *(Column(name, title, "share", key) for name, title, _, _, _, key in _COLUMNS),
    ]
    notes = [
        f"{certificate.left_out} swapped scenes without a target left are not in 'follows swap'.",
        "Buckets without a direction have no swap.",
    ]
    title = f"{certificate.identity}, {certificate.n} scenes per bucket and density"
    return [Table.of(f"grid.certificate_{certificate.model.partition(':')[2]}", title, columns, rows, notes)]
