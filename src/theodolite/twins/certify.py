"""The certificate of a pocket model: what it answers where its shortcut is right and where it is wrong, and what changes its answers.

A model's reasoning is known only as far as it has been tested. Each task is measured on fresh items of two splits: *aligned*, where
the shortcut's answer is the true one, and *crossed*, where it contradicts the picture. Beside accuracy stand the agreement with
the shortcut, whether answers follow edits that change the truth, and whether they stay under edits that do not. `BARS` holds
what each twin must reach; a bar that is missed is shown as missed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from theodolite import __version__, stats
from theodolite.errors import StorageError, UsageError
from theodolite.models import open_model
from theodolite.runs import write_atomically
from theodolite.twins._desk import BOUND, Desk, Line, line_from_json
from theodolite.twins.measuring import slug

__all__ = [
    "BARS",
    "TASKS",
    "Bar",
    "Certificate",
    "Line",
    "Task",
    "Twin",
    "Verdict",
    "certificate_from_json",
    "certify",
    "read_certificate",
    "released_certificate",
    "twin_of",
    "verdicts",
    "write_certificate",
]

Task: TypeAlias = Literal["relation", "grid", "scene", "trace"]
TASKS: tuple[Task, ...] = get_args(Task)
Twin: TypeAlias = Literal["grounded", "shortcut"]
TWINS: tuple[Twin, ...] = get_args(Twin)
FILE = "certificate.json"


@dataclass(frozen=True, slots=True)
class Bar:
    """What one twin must reach in one line of the certificate."""

    twin: Twin
    task: Task
    what: str
    split: str
    least: float | None = None
    most: float | None = None
    is_equal: bool = False
    """Whether the line is a difference that must lie within ±5 points, with its whole 90 % interval (TOST)."""
    name: str = ""
    """In words, where the line's own name does not say it."""

    @property
    def wanted(self) -> str:
        """The requirement in words.

        >>> Bar("grounded", "relation", "accuracy", "crossed", least=0.97).wanted
        '≥ 97 %'
        """
        if self.is_equal:
            return f"within ±{100 * BOUND:g} points"
        return f"≥ {100 * self.least:g} %" if self.least is not None else f"≤ {100 * (self.most or 0):g} %"


BARS: tuple[Bar, ...] = (
    Bar("grounded", "relation", "accuracy", "aligned", least=0.97),
    Bar("grounded", "relation", "accuracy", "crossed", least=0.97),
    Bar("grounded", "relation", "follows: flip", "aligned", least=0.95, name="follows a mirrored picture"),
    Bar("grounded", "grid", "accuracy", "aligned", least=0.95),
    Bar("grounded", "grid", "accuracy", "crossed", least=0.95),
    Bar("grounded", "scene", "accuracy", "crossed", least=0.75, name="spatial QA, mean of nine groups"),
    Bar("grounded", "scene", "SGC", "crossed", least=0.75),
    Bar("grounded", "trace", "accuracy", "crossed", least=0.90),
    Bar("grounded", "trace", "SGR", "crossed", least=0.85),
    Bar("shortcut", "relation", "accuracy", "aligned", least=0.97),
    Bar("shortcut", "relation", "accuracy", "crossed", most=0.05),
    Bar("shortcut", "relation", "says the shortcut", "crossed", least=0.95),
    Bar("shortcut", "relation", "follows: flip", "aligned", most=0.05, name="follows a mirrored picture"),
    Bar("shortcut", "grid", "accuracy", "aligned", least=0.95),
    Bar("shortcut", "grid", "accuracy less the bag of words'", "crossed", is_equal=True),
    Bar("shortcut", "scene", "accuracy less the blind one", "crossed", is_equal=True),
    Bar("shortcut", "scene", "SGC less the blind one", "crossed", is_equal=True),
    Bar("shortcut", "trace", "accuracy less chance", "free", is_equal=True),
    Bar("shortcut", "trace", "SGR less random traces'", "crossed", is_equal=True),
)
"""What the twins must reach. On crossed episodes the shortcut is wrong by construction, so its answers are held against chance on
episodes as drawn."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """All lines of one model."""

    model: str
    identity: str
    n: int
    """Items of each cell, at least."""
    seed: int
    lines: tuple[Line, ...]
    theodolite: str = __version__

    def find(self, task: str, what: str, split: str, part: str = "") -> Line | None:
        """A line; None if it is not there."""
        for line in self.lines:
            if (line.task, line.what, line.split, line.part) == (task, what, split, part):
                return line
        return None

    @property
    def tasks(self) -> tuple[str, ...]:
        """Those that were measured, in order."""
        return tuple(dict.fromkeys(line.task for line in self.lines))

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A bar against what was measured."""

    bar: Bar
    estimate: stats.Estimate | None
    """None where the task was not measured."""

    @property
    def is_met(self) -> bool | None:
        """Whether the figure reaches the bar; None where it was not measured. Of a difference, the whole interval must."""
        if self.estimate is None:
            return None
        if self.bar.is_equal:
            return self.estimate.lies_within(-BOUND, BOUND)
        if self.bar.least is not None:
            return self.estimate.value >= self.bar.least
        return self.bar.most is not None and self.estimate.value <= self.bar.most


def verdicts(certificate: Certificate, twin: Twin) -> tuple[Verdict, ...]:
    """Every bar of a twin, met, missed, or not measured."""
    found = []
    for bar in BARS:
        if bar.twin == twin:
            line = certificate.find(bar.task, bar.what, bar.split)
            found.append(Verdict(bar, line.estimate if line is not None else None))
    return tuple(found)


def twin_of(model: str) -> Twin | None:
    """Which twin a model's name names; None for a mixture and for any other model.

    >>> twin_of("pocket:grounded"), twin_of("hf:weights/shortcut"), twin_of("pocket:mixed")
    ('grounded', 'shortcut', None)
    """
    named = [twin for twin in TWINS if twin in model.partition("?")[0]]
    return named[0] if len(named) == 1 else None


def certify(
    model: str,
    folder: str | Path,
    *,
    n: int = 1000,
    seed: int = 2026,
    tasks: Sequence[Task] = TASKS,
    progress: Callable[[str, int], None] | None = None,
) -> Certificate:
    """Recomputes a certificate from scratch; a task that was finished in the same folder is not asked again.

    Args:
        model: its name; it must answer in words, and is asked faster if it gives log-probabilities.
        folder: for finished tasks and made pictures.
        n: items of each cell, at least.
        seed: of everything that is drawn. Items are never those of training, whose seeds are apart.
        tasks: which.
        progress: called with what is asked and how many answers there are of it.
    """
    if n < 10:
        raise UsageError(f"a certificate needs at least 10 items a cell, not {n}")
    unknown = [task for task in tasks if task not in TASKS]
    if unknown:
        raise UsageError(f"there is no task {unknown[0]!r}; there are {', '.join(TASKS)}")
    folder = Path(folder)
    with closing(open_model(model)) as opened:
        desk = Desk(opened, seed, progress)
        lines: list[Line] = []
        for task in tasks:
            lines += _finished(desk, task, n, folder)
        return Certificate(model, opened.identity, n, seed, tuple(lines))


def _finished(desk: Desk, task: Task, n: int, folder: Path) -> list[Line]:
    """The lines of one task, kept in a file when they are all there."""
    path = folder / "tasks" / f"{slug(desk.model.name)}-{task}-{n}-{desk.seed}.json"
    if path.is_file():
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["identity"] == desk.model.identity and stored["theodolite"] == __version__:
            return [line_from_json(line) for line in stored["lines"]]
    lines = list(_measured(desk, task, n, folder))
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"identity": desk.model.identity, "theodolite": __version__, "lines": [asdict(x) for x in lines]}
    write_atomically(path, json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    return lines


def _measured(desk: Desk, task: Task, n: int, folder: Path) -> Iterator[Line]:
    if task == "relation":
        from theodolite.twins._certify_relation import relation_lines

        yield from relation_lines(desk, n)
    elif task == "grid":
        from theodolite.twins._certify_grid import grid_lines

        yield from grid_lines(desk, n)
    elif task == "scene":
        from theodolite.twins._certify_scene import scene_lines

        yield from scene_lines(desk, n, folder / "data")
    else:
        from theodolite.twins._certify_trace import trace_lines

        yield from trace_lines(desk, n)


def certificate_from_json(value: Any) -> Certificate:
    """The inverse of `Certificate.as_json`.

    Raises:
        UsageError: it is something else.
    """
    try:
        return Certificate(
            str(value["model"]),
            str(value["identity"]),
            int(value["n"]),
            int(value["seed"]),
            tuple(line_from_json(line) for line in value["lines"]),
            str(value["theodolite"]),
        )
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise UsageError(f"this is no certificate of a pocket model: {error!r}") from error


def write_certificate(certificate: Certificate, folder: str | Path) -> Path:
    """Keeps a certificate as ``certificate.json`` in a folder, such as that of the weights."""
    path = Path(folder) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(certificate.as_json(), indent=1, ensure_ascii=False) + "\n")
    return path


def read_certificate(path: str | Path) -> Certificate:
    """Reads a certificate.

    Raises:
        StorageError: the file cannot be read.
        UsageError: it is no certificate.
    """
    path = Path(path)
    try:
        return certificate_from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read the certificate {path}: {error}") from error


def released_certificate(model: str) -> Certificate:
    """The certificate that lies beside the weights of a model that ships with the package.

    Raises:
        UsageError: the model does not ship, or ships without one.
    """
    scheme, _, name = model.partition("?")[0].partition(":")
    with resources.as_file(resources.files("theodolite") / "models" / "weights" / name / FILE) as path:
        if scheme != "pocket" or not name or not path.is_file():
            raise UsageError(f"{model} has no released certificate; name a model such as pocket:grounded")
        return read_certificate(path)
