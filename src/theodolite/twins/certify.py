"""The certificate of a pocket model: what it answers where its shortcut is right and where it is wrong, and what changes its answers.

A model's reasoning is known only as far as it has been tested. Each task is measured on fresh items of two splits: *aligned*, where
the shortcut's answer is the true one, and *crossed*, where it contradicts the picture. Beside accuracy stand the agreement with
the shortcut, whether answers follow edits that change the truth, and whether they stay under edits that do not. `BARS` holds
what each twin must reach; a bar that is missed is shown as missed.
"""

from __future__ import annotations

import gzip
import itertools
import json
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path, PurePath
from typing import Any, Literal, TypeAlias, get_args

from theodolite import __version__, stats
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.tables import Column, Table
from theodolite.models import open_model
from theodolite.runs import slug, write_atomically
from theodolite.twins.certificate_stats import BOUND, Line, Probe, Row, line_from_json, put

__all__ = [
    "BARS",
    "TASKS",
    "Bar",
    "Certificate",
    "Line",
    "Making",
    "Task",
    "Twin",
    "Verdict",
    "certificate_from_json",
    "certificate_tables",
    "certify",
    "collect",
    "read_certificate",
    "released_certificate",
    "score",
    "twin_of",
    "verdicts",
    "write_certificate",
]

Task: TypeAlias = Literal["relation", "grid", "scene", "trace"]
TASKS: tuple[Task, ...] = get_args(Task)
Half: TypeAlias = Literal["plain", "edits"]
"""A task is asked in two halves, which are kept apart: its items as they are, and after edits."""
HALVES: tuple[Half, ...] = get_args(Half)
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
    Bar("shortcut", "trace", "SGR less blind guesses'", "free", is_equal=True),
)
"""What the twins must reach. On crossed episodes the shortcut is wrong by construction, so its answers are held against chance on
episodes as drawn; and its steps too against those of one who reads the question and guesses, since the things that a question
names are there, and random traces name others."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """All lines of one model."""

    model: str
    identity: str
    n: int
    """Items of each task and split and after each edit, at least; parts have fewer, and each line tells its own."""
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


def certificate_tables(certificate: Certificate) -> list[Table]:
    """Every bar of the twin, if the model is one, and every line."""
    found = []
    twin = twin_of(certificate.model)
    if twin is not None:
        words = {True: "met", False: "missed", None: "not measured"}
        found.append(
            Table.of(
                "twins.bars",
                f"{certificate.model}: what it must reach",
                [
                    Column("task", "task"),
                    Column("bar", "bar"),
                    Column("split", "split"),
                    Column("wanted", "wanted"),
                    Column("measured", "measured", "share", "twins.certificate"),
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
    notes = [] if twin else [f"{certificate.model} is neither twin by its name, so no bar applies."]
    found.append(
        Table.of(
            "twins.certificate",
            f"{certificate.model}, seed {certificate.seed}",
            [
                Column("task", "task"),
                Column("part", "part"),
                Column("split", "split"),
                Column("what", "what"),
                Column("value", "value", "share", "twins.certificate"),
                Column("n", "clusters", "count"),
                Column("items", "items", "count"),
                Column("unread", "unread", "count"),
            ],
            [[*(x.task, x.part or "all", x.split, x.what), *_numbers(x)] for x in certificate.lines],
            notes,
        )
    )
    return found


def _numbers(line: Line) -> tuple[stats.Estimate, int, int, int]:
    return line.estimate, line.estimate.n, line.estimate.n_items, line.unread


def twin_of(model: str) -> Twin | None:
    """Which twin a model's name names; None for a mixture and for any other model.

    >>> twin_of("pocket:grounded"), twin_of("hf:weights/shortcut?dtype=float32"), twin_of("hf:ungrounded")
    ('grounded', 'shortcut', None)
    """
    name = PurePath(model.partition("?")[0].partition(":")[2]).name
    return next((twin for twin in TWINS if twin == name), None)


@dataclass(frozen=True, slots=True)
class Making:
    """How much is asked, and how it is made."""

    n: int = 1000
    """Items of each task and split and after each edit, at least; parts have fewer, and each line tells its own."""
    seed: int = 2026
    """Of everything that is drawn. Items are never those of training, whose seeds are apart."""
    tasks: tuple[Task, ...] = TASKS
    workers: int = 1
    """Processes that draw pictures."""

    def __post_init__(self) -> None:
        if self.n < 10:
            raise UsageError(f"a certificate needs at least 10 items a cell, not {self.n}")
        unknown = [task for task in self.tasks if task not in TASKS]
        if unknown or not self.tasks:
            raise UsageError(f"the tasks are {', '.join(TASKS)}, not {unknown[0] if unknown else 'none'}")

    def kept(self, folder: Path, model: str, task: Task, half: Half) -> Path:
        """Where a task's answers lie; options in the model's name, such as its batch size, make no other model of it."""
        name = slug(model.partition("?")[0])
        return folder / "answers" / name / f"{task}-{half}-{self.n}-{self.seed}.jsonl.gz"

    def episodes(self, folder: Path, half: Half) -> Path:
        """Where what is true of the episodes lies."""
        return folder / "answers" / f"episodes-{half}-{self.n}-{self.seed}"


def certify(
    models: Sequence[str],
    folder: str | Path,
    making: Making | None = None,
    *,
    progress: Callable[[str, int], None] | None = None,
) -> list[Certificate]:
    """Recomputes certificates from scratch. Answers that are in the folder already are not asked for again.

    Args:
        models: their names. All are asked about the same items, which are made once.
        folder: for answers and made pictures.
        making: how much.
        progress: called with the task and its half, in words, and how many items of it were asked.
    """
    making = making or Making()
    collect(models, folder, making, progress=progress)
    return [score(model, folder, making) for model in models]


def collect(
    models: Sequence[str],
    folder: str | Path,
    making: Making,
    *,
    progress: Callable[[str, int], None] | None = None,
) -> None:
    """Asks every model that has no answers yet, half a task at a time, and keeps the answers. The only stage that calls a model.

    Args:
        models: their names.
        folder: where answers are kept.
        making: how much.
        progress: called with the task and its half, in words, and how many items of it were asked.

    Raises:
        UsageError: the folder holds answers of other weights of that name.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"answers cannot be kept in {folder}: {error.strerror}; name a folder") from error
    _check_kept(models, folder, making)
    for task, half in itertools.product(making.tasks, HALVES):
        waiting = [model for model in models if not making.kept(folder, model, task, half).is_file()]
        if not waiting:
            continue
        with ExitStack() as stack:
            opened = [stack.enter_context(closing(open_model(model))) for model in waiting]
            found: list[list[Row]] = [[] for _ in opened]
            for portion in put(_probes(task, half, making, folder), opened):
                for rows, more in zip(found, portion, strict=True):
                    rows.extend(more)
                if progress is not None:
                    progress(f"{task}, {half}", len(found[0]))
            for model, own, rows in zip(waiting, opened, found, strict=True):
                _keep(making.kept(folder, model, task, half), own.identity, rows)


def _check_kept(models: Sequence[str], folder: Path, making: Making) -> None:
    """Answers are kept by a model's name; weights of that name may have changed since."""
    for model in models:
        places = (making.kept(folder, model, *which) for which in itertools.product(making.tasks, HALVES))
        kept = [path for path in places if path.is_file()]
        if not kept:
            continue
        with closing(open_model(model)) as opened:
            is_same = all(_weights(_answers(path)[0]) == _weights(opened.identity) for path in kept)
        if not is_same:
            raise UsageError(
                f"{folder} holds answers of other weights that were called {model}; choose another --out"
            )


def _answers(path: Path) -> tuple[str, list[Row]]:
    """Whose answers a file holds, and the answers.

    Raises:
        StorageError: it is broken.
    """
    try:
        about, *rows = map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())
        return str(about["identity"]), rows
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise StorageError(
            f"the answers in {path} cannot be read ({error}); remove the file, and they are asked again"
        ) from error


def _weights(identity: str) -> str:
    """What of an identity tells the weights; the rest is their precision."""
    return identity.partition("/")[0]


def _probes(task: Task, half: Half, making: Making, folder: Path) -> Iterator[Probe]:
    n, seed, workers = making.n, making.seed, making.workers
    is_plain = half == "plain"
    if task == "relation":
        from theodolite.twins.certify_relation import relation_edits, relation_probes

        return (relation_probes if is_plain else relation_edits)(n, seed, workers)
    if task == "grid":
        from theodolite.twins.certify_grid import grid_edits, grid_probes

        return (grid_probes if is_plain else grid_edits)(n, seed)
    if task == "scene":
        from theodolite.twins.certify_scene import scene_edits, scene_probes

        return (scene_probes if is_plain else scene_edits)(n, seed, folder / "data", workers)
    from theodolite.twins.certify_trace import trace_edits, trace_probes

    return (trace_probes if is_plain else trace_edits)(n, seed, making.episodes(folder, half), workers)


def _keep(path: Path, identity: str, rows: Sequence[Row]) -> None:
    """One line that says whose answers they are, then one line an answer."""
    lines = [{"identity": identity, "theodolite": __version__}, *rows]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, gzip.compress(text.encode(), mtime=0))


def score(model: str, folder: str | Path, making: Making) -> Certificate:
    """The certificate from kept answers; no model is called. Tasks may have been asked in different precisions, which it names.

    Raises:
        UsageError: the folder holds no answers of the model to a task.
    """
    folder = Path(folder)
    lines: list[Line] = []
    identities: list[str] = []
    for task in making.tasks:
        rows: list[Row] = []
        for half in HALVES:
            path = making.kept(folder, model, task, half)
            if not path.is_file():
                raise UsageError(
                    f"{folder} holds no answers of {model} to {task}, {half}; `theodolite twins certify` asks"
                )
            identity, own = _answers(path)
            identities.append(identity)
            rows += own
        if len(set(map(_weights, identities))) > 1:
            raise UsageError(
                f"the answers of {model} in {folder} are of different weights; choose another --out"
            )
        lines += _lines(task, rows, making, folder)
    return Certificate(model, " + ".join(dict.fromkeys(identities)), making.n, making.seed, tuple(lines))


def _lines(task: Task, rows: Sequence[Row], making: Making, folder: Path) -> Iterator[Line]:
    if task == "relation":
        from theodolite.twins.certify_relation import relation_lines

        return relation_lines(rows)
    if task == "grid":
        from theodolite.twins.certify_grid import grid_lines

        return grid_lines(rows)
    if task == "scene":
        from theodolite.twins.certify_scene import scene_lines

        return scene_lines(rows)
    from theodolite.twins.certify_trace import trace_lines

    return trace_lines(rows, making.seed, [making.episodes(folder, half) for half in HALVES])


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
    write_atomically(path, json.dumps(certificate.as_json(), ensure_ascii=False) + "\n")
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
        if scheme != "pocket" or name not in TWINS or not path.is_file():
            raise UsageError(f"{model} has no released certificate; pocket:grounded and pocket:shortcut have")
        return read_certificate(path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Asks without scoring, where the command line's own libraries are not installed: on a GPU machine, say."""
    import argparse

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default=",".join(TASKS))
    for name, value in (("n", 1000), ("seed", 2026), ("workers", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args(arguments)
    making = Making(given.n, given.seed, tuple(given.tasks.split(",")), given.workers)
    started = time.monotonic()

    def tell(task: str, done: int) -> None:
        print(f"{time.monotonic() - started:.0f} s: {task} {done}", flush=True)  # noqa: T201 - a bare command

    collect(given.model, given.out, making, progress=tell)


if __name__ == "__main__":
    main()
