"""What the paper reports of its own explanations, to stand beside ours. Nothing is held to these numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from theodolite import stats
from theodolite.instruments.grid.estimates import Cell

SOURCE = "GridVQA-X, arXiv 2606.14740, section 5.2"
TABLES_SOURCE = "GridVQA-X, arXiv 2606.14740, Tables 5 to 8"

RMA = {
    ("multiviz", "pure"): 0.44,
    ("multiviz", "spurious"): 0.44,
    ("multishap", "pure"): 0.616,
    ("multishap", "spurious"): 0.689,
}
"""Mean RMA over all buckets that the text gives, by explainer and scenario."""
DEPTH = {("emap", 1): 0.821, ("emap", 3): 0.673, ("intershap", 1): 0.921, ("intershap", 3): 0.629}
"""Synergy scalars of mixed questions of form 0 in the pure scenario, by explainer and depth."""

_NUMBERS = {5: ("pure", "rma"), 6: ("pure", "iou"), 7: ("spurious", "rma"), 8: ("spurious", "iou")}
_FEWEST = 10
"""Buckets that a correlation needs."""


@dataclass(frozen=True, slots=True)
class PaperCell:
    """One entry of the paper's Tables 5 to 8, as a share."""

    table: int
    scenario: str
    measure: str
    explainer: str
    bucket: str
    density: str
    mean: float
    std: float

    @property
    def group(self) -> str:
        """The bucket and density as our tables name them."""
        return f"{self.bucket} {self.density}"


@lru_cache(maxsize=1)
def paper_tables() -> tuple[PaperCell, ...]:
    """All entries of Tables 5 to 8.

    >>> cell = paper_tables()[0]
    >>> cell.table, cell.explainer, cell.group, round(cell.mean, 3), round(cell.std, 3), len(paper_tables())
    (5, 'dime', 'A-F0-D1 sparse', 0.267, 0.098, 456)
    """
    path = Path(__file__).with_name("paper_tables.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            PaperCell(
                int(row["table"]),
                *_NUMBERS[int(row["table"])],
                row["explainer"],
                row["bucket"],
                row["density"],
                float(row["mean"]) / 100,
                float(row["std"]) / 100,
            )
            for row in csv.DictReader(file)
        )


@dataclass(frozen=True, slots=True)
class Beside:
    """The paper's column of one explainer beside ours, over the buckets that both have."""

    table: int
    scenario: str
    explainer: str
    measure: str
    """Ours: the sound reading, or the paper's where its name says so."""
    ours: float
    paper: float
    """Means over those buckets."""
    likeness: stats.Estimate | None
    """Spearman's correlation of the two over buckets; None where there are too few, or one side does not vary."""
    n: int


_READINGS = {"rma": ("rma",), "iou": ("iou", "iou (paper)", "pixel iou (paper)")}


def beside_the_paper(cells: Iterable[Cell], *, seed: int = 0) -> list[Beside]:
    """Each of the paper's columns beside ours: means, and whether the same buckets score high.

    Args:
        cells: Ours, by bucket and density.
        seed: Of the intervals.
    """
    ours = {(c.scenario, c.measure, c.explainer, c.group): c.mean for c in cells if c.mean is not None}
    found = []
    for (table, (scenario, measure)), explainer in (
        (entry, name) for entry in _NUMBERS.items() for name in ("dime", "multishap", "multiviz")
    ):
        theirs = [c for c in paper_tables() if (c.table, c.explainer) == (table, explainer)]
        for reading in _READINGS[measure]:
            pairs = [
                (mean, cell.mean)
                for cell in theirs
                if (mean := ours.get((scenario, reading, explainer, cell.group))) is not None
            ]
            if not pairs:
                continue
            mine, paper = ([pair[side] for pair in pairs] for side in (0, 1))
            is_enough = len(pairs) >= _FEWEST and min(map(len, map(set, (mine, paper)))) > 1
            likeness = stats.spearman(mine, paper, seed=seed) if is_enough else None
            found.append(
                Beside(
                    table,
                    scenario,
                    explainer,
                    reading,
                    sum(mine) / len(mine),
                    sum(paper) / len(paper),
                    likeness,
                    len(pairs),
                )
            )
    return found
