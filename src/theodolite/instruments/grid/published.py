"""Numbers that the paper reports, shown beside ours for comparison only.

GridVQA-X, arXiv 2606.14740.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

SOURCE = "GridVQA-X, arXiv 2606.14740, section 5.2"
TABLES_SOURCE = "GridVQA-X, arXiv 2606.14740, Tables 5 to 8"


@dataclass(frozen=True, slots=True)
class PublishedShortcut:
    """How often a shortcut is right on the paper's data."""

    name: str
    mode: str
    """``pure``, ``spur``, or empty if the paper does not say."""
    bucket: str
    """A bucket, or empty for all."""
    density: str
    success: float
    words: str
    """The paper's remark."""


SHORTCUTS = (
    PublishedShortcut("bag of words", "pure", "", "", 0.3607, "over the whole data set"),
    PublishedShortcut("bag of words", "spur", "", "", 1.0, "over the whole data set"),
    PublishedShortcut("majority", "", "", "", 0.44, "about 44 %, average over the buckets it was tried on"),
    PublishedShortcut("without anchor 1", "pure", "M-F0-D2", "dense", 0.1640, ""),
    PublishedShortcut("without anchor 2", "pure", "M-F0-D2", "dense", 0.1687, ""),
    PublishedShortcut("prior", "", "M-F0-D3", "sparse", 0.372, "the most frequent answer, 1"),
)


def published_shortcut(
    name: str, mode: str, *, bucket: str = "", density: str = ""
) -> PublishedShortcut | None:
    """Return the paper's number for a shortcut, if it reports one.

    Args:
        name: As the audit names it.
        mode: ``pure`` or ``spur``.
        bucket: A bucket, or empty for all.
        density: A density, or empty for all.
    """
    return next(
        (
            shortcut
            for shortcut in SHORTCUTS
            if (shortcut.name, shortcut.bucket, shortcut.density) == (name, bucket, density)
            and shortcut.mode in {"", mode}
        ),
        None,
    )


RMA = {
    ("multiviz", "pure"): 0.44,
    ("multiviz", "spurious"): 0.44,
    ("multishap", "pure"): 0.616,
    ("multishap", "spurious"): 0.689,
}
"""Mean RMA over all buckets, by explainer and scenario; from the text."""
DEPTH = {("emap", 1): 0.821, ("emap", 3): 0.673, ("intershap", 1): 0.921, ("intershap", 3): 0.629}
"""Synergy scalars of mixed questions of form 0 in the pure scenario, by explainer and depth."""
TABLES = {5: ("pure", "rma"), 6: ("pure", "iou"), 7: ("spurious", "rma"), 8: ("spurious", "iou")}
"""Scenario and measure of the paper's tables by bucket."""
PRINTED_EXPLAINERS = ("dime", "multishap", "multiviz")
"""The explainers of those tables."""


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
        """Bucket and density, as our tables name them."""
        return f"{self.bucket} {self.density}"


@lru_cache(maxsize=1)
def paper_tables() -> tuple[PaperCell, ...]:
    """Return all entries of Tables 5 to 8.

    >>> cell = paper_tables()[0]
    >>> cell.table, cell.explainer, cell.group, round(cell.mean, 3), round(cell.std, 3), len(paper_tables())
    (5, 'dime', 'A-F0-D1 sparse', 0.267, 0.098, 456)
    """
    path = Path(__file__).with_name("paper_tables.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    cells = []
    for row in rows:
        table, bucket = int(row.pop("table")), row.pop("bucket")
        for name, cell in row.items():  # such as "dime sparse": 26.7±9.8
            explainer, _, density = name.partition(" ")
            mean, std = (float(number) / 100 for number in cell.split("±"))
            cells.append(PaperCell(table, *TABLES[table], explainer, bucket, density, mean, std))
    return tuple(cells)


@lru_cache(maxsize=1)
def paper_accuracies() -> dict[str, dict[str, float]]:
    """Return the accuracy on pure scenes by model, and by bucket and density: Tables 3 and 4, 50 questions each.

    >>> found = paper_accuracies()
    >>> len(found), found["spur"]["M-F0-D2 sparse"], found["qwen3-vl-30b"]["M-F0-D3 dense"]
    (6, 0.08, 0.1)
    """
    path = Path(__file__).with_name("paper_accuracy.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    models = [name for name in rows[0] if name not in {"table", "bucket", "density"}]
    return {
        model: {f"{row['bucket']} {row['density']}": float(row[model]) / 100 for row in rows}
        for model in models
    }
