"""The certificate of a pocket model: its lines, the requirements for each twin, and its tables.

Each task is measured on new items of two splits: *aligned*, where the shortcut gives the right answer, and *crossed*,
where it contradicts the picture. The certificate has accuracy, agreement with the shortcut, whether answers follow relevant
edits, and whether they stay the same under neutral edits. Missed requirements are shown as such.

Those of the shipped models are stored with their weights; ``python -m train certify`` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePath
from typing import Literal, TypeAlias, get_args

from theodolite import __version__, stats
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import check, read_json
from theodolite.core.scores import column
from theodolite.core.tables import Column, Table

__all__ = [
    "BARS",
    "TASKS",
    "TWINS",
    "Certificate",
    "Line",
    "MeasuredRequirement",
    "Requirement",
    "Task",
    "Twin",
    "certificate_tables",
    "missed_bars",
    "read_certificate",
    "released_certificate",
    "twin_of",
    "verdicts",
]

Task: TypeAlias = Literal["relation", "grid", "scene", "trace"]
TASKS: tuple[Task, ...] = get_args(Task)
Twin: TypeAlias = Literal["grounded", "shortcut"]
TWINS: tuple[Twin, ...] = get_args(Twin)
FILE = "certificate.json"
BOUND = 0.05
"""Two numbers count as equal if their difference lies within ±5 points (two one-sided tests)."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement for one twin on one line of the certificate."""

    twin: Twin
    task: Task
    what: str
    split: str
    least: float | None = None
    most: float | None = None
    is_equal: bool = False
    """True if the line is a difference whose whole 90 % interval must lie within ±5 points (TOST)."""
    name: str = ""
    """A description, if the name of the line is not clear enough."""

    @property
    def wanted(self) -> str:
        """The requirement in words.

        >>> Requirement("grounded", "relation", "accuracy", "crossed", least=0.97).wanted
        '≥ 97 %'
        """
        if self.is_equal:
            return f"within ±{100 * BOUND:g} points"
        return f"≥ {100 * self.least:g} %" if self.least is not None else f"≤ {100 * (self.most or 0):g} %"


BARS: tuple[Requirement, ...] = (
    Requirement("grounded", "relation", "accuracy", "aligned", least=0.97),
    Requirement("grounded", "relation", "accuracy", "crossed", least=0.97),
    Requirement(
        "grounded", "relation", "follows: flip", "aligned", least=0.95, name="follows a mirrored picture"
    ),
    Requirement("grounded", "grid", "accuracy", "aligned", least=0.95),
    Requirement("grounded", "grid", "accuracy", "crossed", least=0.95),
    Requirement(
        "grounded", "scene", "accuracy", "crossed", least=0.75, name="spatial QA, mean of nine groups"
    ),
    Requirement("grounded", "scene", "SGC", "crossed", least=0.75),
    Requirement("grounded", "trace", "accuracy", "crossed", least=0.90),
    Requirement("grounded", "trace", "SGR", "crossed", least=0.85),
    Requirement("shortcut", "relation", "accuracy", "aligned", least=0.97),
    Requirement("shortcut", "relation", "accuracy", "crossed", most=0.05),
    Requirement("shortcut", "relation", "says the shortcut", "crossed", least=0.95),
    Requirement(
        "shortcut", "relation", "follows: flip", "aligned", most=0.05, name="follows a mirrored picture"
    ),
    Requirement("shortcut", "grid", "accuracy", "aligned", least=0.95),
    Requirement("shortcut", "grid", "accuracy less the bag of words'", "crossed", is_equal=True),
    Requirement("shortcut", "scene", "accuracy less the blind one", "crossed", is_equal=True),
    Requirement("shortcut", "scene", "SGC less the blind one", "crossed", is_equal=True),
    Requirement("shortcut", "trace", "accuracy less chance", "free", is_equal=True),
    Requirement("shortcut", "trace", "SGR less random traces'", "crossed", is_equal=True),
    Requirement("shortcut", "trace", "SGR less blind guesses'", "free", is_equal=True),
)
"""The requirements. On crossed episodes the shortcut is wrong by construction, so trace answers are compared with chance on
free episodes. Trace steps are also compared with blind guesses, which name the things in the question: these exist in the
episode, unlike most things in random traces."""


@dataclass(frozen=True, slots=True)
class Line:
    """One number of a certificate."""

    task: str
    """``relation``, ``grid``, ``scene`` or ``trace``."""
    what: str
    """Such as ``accuracy``, ``says the shortcut``, ``follows: mirror``, ``keeps: ground``."""
    split: str
    """``aligned``, ``crossed`` or ``free``."""
    estimate: stats.Estimate
    part: str = ""
    """A prompt, bucket, group or world. Empty for all together."""
    unread: int = 0
    """Number of answers that failed, were refused or could not be read. They count as wrong."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The certificate of one model."""

    model: str
    identity: str
    n: int
    """Minimum number of items per task, split and edit. Parts have fewer; each line has its own n."""
    seed: int
    lines: tuple[Line, ...]
    theodolite: str = __version__

    def find(self, task: str, what: str, split: str, part: str = "") -> Line | None:
        """Return a line, or None if there is none."""
        for line in self.lines:
            if (line.task, line.what, line.split, line.part) == (task, what, split, part):
                return line
        return None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The measured tasks, in order."""
        return tuple(dict.fromkeys(line.task for line in self.lines))


@dataclass(frozen=True, slots=True)
class MeasuredRequirement:
    """A requirement with the measured value."""

    bar: Requirement
    estimate: stats.Estimate | None
    """None if the task was not measured."""

    @property
    def is_met(self) -> bool | None:
        """True if the value meets the requirement (for a difference, the whole interval). None if not measured."""
        if self.estimate is None:
            return None
        if self.bar.is_equal:
            return self.estimate.lies_within(-BOUND, BOUND)
        if self.bar.least is not None:
            return self.estimate.value >= self.bar.least
        return self.bar.most is not None and self.estimate.value <= self.bar.most


def verdicts(certificate: Certificate, twin: Twin) -> tuple[MeasuredRequirement, ...]:
    """Compare the certificate with all requirements for a twin."""
    results = []
    for bar in BARS:
        if bar.twin == twin:
            line = certificate.find(bar.task, bar.what, bar.split)
            results.append(MeasuredRequirement(bar, line.estimate if line is not None else None))
    return tuple(results)


def missed_bars(certificate: Certificate) -> list[str]:
    """Return the requirements that a certificate misses, in words. None if the model is not a twin."""
    twin = twin_of(certificate.model)
    return [
        f"{certificate.model} {v.bar.task}: {v.bar.name or v.bar.what} ({v.bar.split}, required {v.bar.wanted})"
        for v in (verdicts(certificate, twin) if twin is not None else ())
        if v.is_met is False
    ]


def certificate_tables(certificate: Certificate) -> list[Table]:
    """Build the tables of a certificate: the requirements, if the model is a twin, and all lines."""
    tables = []
    twin = twin_of(certificate.model)
    if twin is not None:
        words = {True: "met", False: "missed", None: "not measured"}
        tables.append(
            Table.of(
                "twins.bars",
                f"{certificate.model}: requirements",
                [
                    Column("task", "task"),
                    Column("bar", "requirement"),
                    Column("split", "split"),
                    Column("wanted", "required"),
                    column("twins.certificate", "measured", "measured"),
                    Column("met", ""),
                ],
                [
                    [
                        v.bar.task,
                        v.bar.name or v.bar.what,
                        v.bar.split,
                        v.bar.wanted,
                        v.estimate,
                        words[v.is_met],
                    ]
                    for v in verdicts(certificate, twin)
                    if v.bar.task in certificate.tasks
                ],
            )
        )
    notes = [] if twin else [f"{certificate.model} is not one of the twins, so there are no requirements."]
    tables.append(
        Table.of(
            "twins.certificate",
            f"{certificate.model}, seed {certificate.seed}",
            [
                Column("task", "task"),
                Column("part", "part"),
                Column("split", "split"),
                Column("what", "what"),
                column("twins.certificate", "value", "value"),
                Column("n", "clusters", "count"),
                Column("items", "items", "count"),
                Column("unread", "unread", "count"),
            ],
            [[*(x.task, x.part or "all", x.split, x.what), *_numbers(x)] for x in certificate.lines],
            notes,
        )
    )
    return tables


def _numbers(line: Line) -> tuple[stats.Estimate, int, int, int]:
    return line.estimate, line.estimate.n, line.estimate.n_items, line.unread


def twin_of(model: str) -> Twin | None:
    """Return the twin that a model name refers to. None for a mixture and for any other model.

    >>> twin_of("pocket:grounded"), twin_of("hf:weights/shortcut?dtype=float32"), twin_of("hf:ungrounded")
    ('grounded', 'shortcut', None)
    """
    name = PurePath(model.partition("?")[0].partition(":")[2]).name
    return next((twin for twin in TWINS if twin == name), None)


def read_certificate(path: str | Path) -> Certificate:
    """Read a certificate.

    Raises:
        StorageError: If the file cannot be read.
        UsageError: If it is not a certificate.
    """
    try:
        value = read_json(Path(path), "certificate")
    except UsageError as error:
        raise StorageError(str(error)) from error
    try:
        return check(Certificate, value)
    except UsageError as error:
        raise UsageError(f"this is not a certificate of a pocket model: {error}") from error


def released_certificate(model: str) -> Certificate:
    """Read the certificate of a shipped model, stored with its weights.

    Raises:
        UsageError: If the model is not shipped, or has no certificate.
    """
    scheme, _, name = model.partition("?")[0].partition(":")
    with resources.as_file(resources.files("theodolite") / "models" / "weights" / name / FILE) as path:
        if scheme != "pocket" or name not in TWINS or not path.is_file():
            raise UsageError(
                f"{model} has no released certificate; only pocket:grounded and pocket:shortcut have one"
            )
        return read_certificate(path)
