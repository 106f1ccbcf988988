"""The verdicts of `theodolite.diagnose` on strangers, next to what is known of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.core.errors import UsageError
from train.zoo.training import ABOUT_FILE

if TYPE_CHECKING:
    from theodolite.core.tables import Estimate
    from theodolite.diagnose.record import Diagnosis

INSTRUMENTS = ("compass", "grid")
"""Those whose questions a stranger is taught."""
KNOWN_SHARE = {"grounded": 1.0, "mixed": 0.5, "shortcut": 0.0}
"""The share of questions that a stranger was taught to answer by looking."""
RIGHT = {
    "grounded": {"looks", "looks at least sometimes"},
    "mixed": {"sometimes looks", "looks at least sometimes"},
    "shortcut": {"does not look", "no looking found"},
}
"""The verdicts that are right. *not settled* is never wrong."""
_TOLERANCE = 0.1
_NUMBERS = ("looking", "followed", "inverted", "moved", "unmoved")


@dataclass(frozen=True, slots=True)
class Stranger:
    """A checkpoint of known reasoning."""

    folder: Path
    architecture: str
    reasoning: str

    @property
    def name(self) -> str:
        """As `theodolite.diagnose` takes it."""
        return f"hf:{self.folder}"


@dataclass(frozen=True, slots=True)
class Row:
    """One stranger by one instrument."""

    architecture: str
    reasoning: str
    instrument: str
    standing: str
    n: int
    """Number of relevant pairs."""
    shares: dict[str, tuple[float, float, float]]
    """Looking, and by outcome the share of the relevant pairs, with their intervals."""
    expected: float | None
    """The known share times looking of the grounded stranger of the same architecture. None if that was not diagnosed."""

    @property
    def is_right(self) -> bool:
        """True if the verdict is right or not settled, and looking is near the expected one."""
        is_near = self.expected is None or abs(self.shares["looking"][0] - self.expected) <= _TOLERANCE
        return self.standing in {*RIGHT[self.reasoning], "not settled"} and is_near


def evaluate_strangers(folders: Sequence[Path], *, out: Path, size: str | int, seed: int) -> str:
    """Diagnose checkpoints by pairs and return the table of results. It is written to ``zoo.json`` in `out` too.

    Args:
        folders: Checkpoints written by `train_strangers`, unpacked.
        out: Folder of the diagnosis.
        size: Size of the diagnosis.
        seed: Seed of the diagnosis.

    Raises:
        UsageError: If a folder is not such a checkpoint.
    """
    strangers = [read_stranger(folder) for folder in folders]
    from theodolite.diagnose.api import diagnose

    names = [stranger.name for stranger in strangers]
    done = diagnose(list(names), out=out, size=size, seed=seed, instruments=INSTRUMENTS)
    rows = list(rows_of(strangers, done.diagnosis))
    stored = {"size": str(size), "seed": seed, "rows": [asdict(row) for row in rows]}
    (out / "zoo.json").write_text(json.dumps(stored, indent=2) + "\n")
    return table(rows)


def read_stranger(folder: Path) -> Stranger:
    """Read what is known of a checkpoint."""
    try:
        about = json.loads((folder / ABOUT_FILE).read_text())
        stranger = Stranger(folder, str(about["architecture"]), str(about["reasoning"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder} is no stranger: {ABOUT_FILE} is missing or damaged; unpack a tar file that "
            "`python -m train zoo --arch` wrote and pass its folder"
        ) from error
    if stranger.reasoning not in KNOWN_SHARE:
        raise UsageError(
            f"{folder}: the reasoning of a stranger is {', '.join(KNOWN_SHARE)}, not {stranger.reasoning}"
        )
    return stranger


def rows_of(strangers: Iterable[Stranger], diagnosis: Diagnosis) -> Iterable[Row]:
    """Yield the rows of the table, by instrument and architecture."""
    order = list(KNOWN_SHARE)
    ordered = sorted(strangers, key=lambda s: (s.architecture, order.index(s.reasoning)))
    for instrument in diagnosis.instruments:
        looked = {view.model: view.looking[0] for view in instrument.models if view.looking}
        grounded = {
            s.architecture: looked[s.name].looking
            for s in ordered
            if s.reasoning == "grounded" and s.name in looked
        }
        for stranger in ordered:
            if stranger.name not in looked:
                continue
            looking = looked[stranger.name]
            best = grounded.get(stranger.architecture)
            yield Row(
                stranger.architecture,
                stranger.reasoning,
                instrument.name,
                looking.standing,
                looking.n_relevant,
                {name: _triple(getattr(looking, name)) for name in _NUMBERS},
                None if best is None else KNOWN_SHARE[stranger.reasoning] * best.value,
            )


def _triple(figure: Estimate | None) -> tuple[float, float, float]:
    if figure is None:
        raise UsageError("a stranger has no relevant pairs; use a larger --size")
    return figure.value, figure.low, figure.high


def table(rows: Iterable[Row]) -> str:
    """Return the results as a Markdown table."""
    head = ("instrument", "stranger", "known share", "verdict", "pairs", *_NUMBERS, "expected", "right")
    lines = [head, tuple("---" for _ in head), *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.instrument,
        f"{row.architecture} {row.reasoning}",
        f"{KNOWN_SHARE[row.reasoning]:.2f}",
        row.standing,
        str(row.n),
        *(f"{value:.2f} [{low:.2f}, {high:.2f}]" for value, low, high in row.shares.values()),
        "" if row.expected is None else f"{row.expected:.2f}",
        "yes" if row.is_right else "no",
    )
