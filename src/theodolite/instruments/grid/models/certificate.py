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

Those of the shipped models are stored with their weights; ``python -m train certify`` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Literal, TypeAlias

from theodolite.core.files import check, parse_json, read_gzip
from theodolite.core.scores import column
from theodolite.core.tables import Column, Table
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS, BUCKETS
from theodolite.instruments.grid.data.world import Mode
from theodolite.stats import Estimate

PairedKind: TypeAlias = Literal["pure", "spur"]
"""The released models: ``grid:pure`` evaluates the question, ``grid:spur`` counts as a bag of words."""

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


@dataclass(frozen=True, slots=True)
class CertificateLine:
    """One share: what was tested, on which scenes, and the result with its 95 % Wilson interval."""

    what: str
    """One of `TESTS`."""
    preset: str
    data: Mode
    density: str
    bucket: str
    share: float
    low: float
    high: float
    n: int

    @property
    def estimate(self) -> Estimate:
        """The share as an estimate."""
        return Estimate(self.share, self.low, self.high, self.n, 0.95, "Wilson")


@dataclass(frozen=True, slots=True)
class GridCertificate:
    """All lines of one model, as they are stored."""

    model: str
    identity: str
    seed: int
    n: int
    """Scenes per preset, bucket and density for accuracy; for each edit, half as many of each density."""
    lines: tuple[CertificateLine, ...]

    def pooled(self, what: str, data: Mode, *, relational: bool = False) -> float:
        """Return the mean over presets, buckets and densities of one kind of line.

        Args:
            what: One of `TESTS`.
            data: Mode of the scenes.
            relational: Only buckets whose questions have a relation.
        """
        shares = [
            line.share
            for line in self.lines
            if line.what == what
            and line.data == data
            and (not relational or BUCKETS[BUCKET_KEYS.index(line.bucket)].is_relational)
        ]
        return sum(shares) / len(shares)

    def lowest(self, what: str, data: Mode) -> CertificateLine:
        """Return the worst bucket of one kind of line."""
        lines = (line for line in self.lines if line.what == what and line.data == data)
        return min(lines, key=lambda line: line.share)


def released_certificate(kind: PairedKind) -> GridCertificate:
    """Read the certificate that ships with the released weights."""
    folder = files("theodolite.instruments.grid.models").joinpath("weights")
    with as_file(folder.joinpath(f"{kind}.certificate.json.gz")) as path:
        return check(GridCertificate, parse_json(read_gzip(path)))


_COLUMNS = (
    ("pure_sparse", "right, pure, sparse", ACCURACY, "pure", "sparse", "grid.accuracy"),
    ("pure_dense", "right, pure, dense", ACCURACY, "pure", "dense", "grid.accuracy"),
    ("spurious_sparse", "right, spurious, sparse", ACCURACY, "spur", "sparse", "grid.accuracy"),
    ("spurious_dense", "right, spurious, dense", ACCURACY, "spur", "dense", "grid.accuracy"),
    ("bow_sparse", "like a bag of words, sparse", AGREES, "pure", "sparse", "grid.bow_agreement"),
    ("bow_dense", "like a bag of words, dense", AGREES, "pure", "dense", "grid.bow_agreement"),
    ("follows_one", "follows one swap", FOLLOWS_ONE, "pure", "both", "grid.swap_follows"),
    ("follows", "follows all swapped", FOLLOWS, "pure", "both", "grid.swap_follows"),
    ("zero", "swap to a count of 0", NONE_LEFT, "pure", "both", "grid.swap_follows"),
    ("no_region", "swap to no region", NO_REGION, "pure", "both", "grid.swap_follows"),
    ("same", "same after all swapped", INVARIANT, "pure", "both", "grid.swap_invariance"),
    ("keeps", "same without distractors", KEEPS, "pure", "both", "grid.object_removal"),
    ("exchange", "follows an exchange", FOLLOWS_EXCHANGE, "pure", "both", ""),
    ("anchor", "follows a moved anchor", FOLLOWS_ANCHOR, "pure", "both", ""),
)


def certificate_tables(certificate: GridCertificate) -> list[Table]:
    """Return one table per preset: one row per bucket, one column per test."""
    shares = {
        (line.preset, line.what, str(line.data), line.density, line.bucket): line.estimate
        for line in certificate.lines
    }
    columns = [
        Column("bucket", "bucket"),
        *(
            column(key, name, title) if key else Column(name, title, "share")
            for name, title, _, _, _, key in _COLUMNS
        ),
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
