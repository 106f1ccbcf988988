"""Make the certificate of a pocket model or a checkpoint: ask it new items of all tasks, and score its stored answers.

What the lines of a certificate are, and what each twin must reach: `theodolite.twins.certificate`.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from theodolite import __version__
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.files import check, parse_json, read_gzip
from theodolite.models import open_model
from theodolite.runs import slug, write_atomically
from theodolite.twins.certificate import FILE, TASKS, Certificate, Line, Task
from train.certify.probes import Probe, Row, ask

__all__ = ["CertificateSettings", "certify", "collect", "score", "write_certificate"]

Half: TypeAlias = Literal["plain", "edits"]
"""A task is measured in two halves, stored separately: the unedited items, and the edited ones."""
HALVES: tuple[Half, ...] = get_args(Half)


@dataclass(frozen=True, slots=True)
class CertificateSettings:
    """The sample size, seed and tasks of a certificate."""

    n: int = 1000
    """Minimum number of items per task, split and edit. Parts have fewer; each line has its own n."""
    seed: int = 2026
    """Seed of all items. Training uses other seeds, so no item occurs in training."""
    tasks: tuple[Task, ...] = TASKS
    workers: int = 1
    """Number of processes that draw pictures."""

    def __post_init__(self) -> None:
        if self.n < 10:
            raise UsageError(f"a certificate needs at least 10 items per cell, not {self.n}")
        unknown = [task for task in self.tasks if task not in TASKS]
        if unknown or not self.tasks:
            raise UsageError(f"the tasks are {', '.join(TASKS)}, not {unknown[0] if unknown else 'none'}")

    def answers_path(self, folder: Path, model: str, task: Task, half: Half) -> Path:
        """Return the file of stored answers. Options in the model name, such as the batch size, are ignored."""
        name = slug(model.partition("?")[0])
        return folder / "answers" / name / f"{task}-{half}-{self.n}-{self.seed}.jsonl.gz"

    def episodes_path(self, folder: Path, half: Half) -> Path:
        """Return the folder of the episodes, with their ground truth."""
        return folder / "answers" / f"episodes-{half}-{self.n}-{self.seed}"


def certify(
    models: Sequence[str],
    folder: str | Path,
    settings: CertificateSettings | None = None,
    *,
    progress: Callable[[str, int], None] | None = None,
) -> list[Certificate]:
    """Compute certificates. Answers that are already in the folder are used again.

    Args:
        models: The model names. All models are asked the same items, which are made once.
        folder: The folder for answers and pictures.
        settings: Sample size, seed and tasks.
        progress: Called with the task and half, and with the number of items asked.
    """
    settings = settings or CertificateSettings()
    collect(models, folder, settings, progress=progress)
    return [score(model, folder, settings) for model in models]


def collect(
    models: Sequence[str],
    folder: str | Path,
    settings: CertificateSettings,
    *,
    progress: Callable[[str, int], None] | None = None,
) -> None:
    """Ask every model that has no stored answers, and store its answers. The only step that calls a model.

    Args:
        models: The model names.
        folder: The folder for answers and pictures.
        settings: Sample size, seed and tasks.
        progress: Called with the task and half, and with the number of items asked.

    Raises:
        UsageError: If the folder has answers of other weights under the same model name.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"answers cannot be stored in {folder}: {error.strerror}; --out must be a folder"
        ) from error
    _check_weights(models, folder, settings)
    for task, half in itertools.product(settings.tasks, HALVES):
        waiting = [
            model for model in models if not settings.answers_path(folder, model, task, half).is_file()
        ]
        if not waiting:
            continue
        with ExitStack() as stack:
            opened = [stack.enter_context(closing(open_model(model))) for model in waiting]
            collected: list[list[Row]] = [[] for _ in opened]
            for portion in ask(_probes(task, half, settings, folder), opened):
                for rows, more in zip(collected, portion, strict=True):
                    rows.extend(more)
                if progress is not None:
                    progress(f"{task}, {half}", len(collected[0]))
            for model, own, rows in zip(waiting, opened, collected, strict=True):
                _write_answers(settings.answers_path(folder, model, task, half), own.identity, rows)


def _check_weights(models: Sequence[str], folder: Path, settings: CertificateSettings) -> None:
    """Refuse stored answers of other weights: files are named by model, and its weights may have changed."""
    for model in models:
        places = (
            settings.answers_path(folder, model, *which)
            for which in itertools.product(settings.tasks, HALVES)
        )
        kept = [path for path in places if path.is_file()]
        if not kept:
            continue
        with closing(open_model(model)) as opened:
            is_same = all(_weights(_read_answers(path)[0]) == _weights(opened.identity) for path in kept)
        if not is_same:
            raise UsageError(f"{folder} has answers of {model} with other weights; choose another --out")


@dataclass(frozen=True, slots=True)
class _About:
    """The first line of a file of answers."""

    identity: str


def _read_answers(path: Path) -> tuple[str, list[Row]]:
    """Read the identity of a model and its answers.

    Raises:
        StorageError: If the file is damaged.
    """
    try:
        about, *rows = map(parse_json, read_gzip(path).splitlines())
        return check(_About, about).identity, check(list[dict[str, Any]], rows)
    except (UsageError, ValueError) as error:
        raise StorageError(
            f"the answers in {path} cannot be read ({error}); remove the file to ask again"
        ) from error


def _weights(identity: str) -> str:
    """Return the part of an identity that names the weights, without the precision."""
    return identity.partition("/")[0]


def _probes(task: Task, half: Half, settings: CertificateSettings, folder: Path) -> Iterator[Probe]:
    n, seed, workers = settings.n, settings.seed, settings.workers
    is_plain = half == "plain"
    if task == "relation":
        from train.certify.relation import relation_edits, relation_probes

        return (relation_probes if is_plain else relation_edits)(n, seed, workers)
    if task == "grid":
        from train.certify.grid import grid_edits, grid_probes

        return (grid_probes if is_plain else grid_edits)(n, seed)
    if task == "scene":
        from train.certify.scene import scene_edits, scene_probes

        return (scene_probes if is_plain else scene_edits)(n, seed, folder / "data", workers)
    from train.certify.trace import trace_edits, trace_probes

    return (trace_probes if is_plain else trace_edits)(n, seed, settings.episodes_path(folder, half), workers)


def _write_answers(path: Path, identity: str, rows: Sequence[Row]) -> None:
    """Write one line with the identity of the model, then one line per answer."""
    lines = [{"identity": identity, "theodolite": __version__}, *rows]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, gzip.compress(text.encode(), mtime=0))


def score(model: str, folder: str | Path, settings: CertificateSettings) -> Certificate:
    """Compute the certificate from stored answers. No model is called.

    Tasks may have been measured in different precisions; the certificate names all of them.

    Raises:
        UsageError: If answers to a task are missing.
    """
    folder = Path(folder)
    lines: list[Line] = []
    identities: list[str] = []
    for task in settings.tasks:
        rows: list[Row] = []
        for half in HALVES:
            path = settings.answers_path(folder, model, task, half)
            if not path.is_file():
                raise UsageError(
                    f"{folder} has no answers of {model} to {task}, {half}; run `python -m train certify`"
                )
            identity, own = _read_answers(path)
            identities.append(identity)
            rows += own
        if len(set(map(_weights, identities))) > 1:
            raise UsageError(
                f"the answers of {model} in {folder} are from different weights; choose another --out"
            )
        lines += _lines(task, rows, settings, folder)
    return Certificate(model, " + ".join(dict.fromkeys(identities)), settings.n, settings.seed, tuple(lines))


def _lines(task: Task, rows: Sequence[Row], settings: CertificateSettings, folder: Path) -> Iterator[Line]:
    if task == "relation":
        from train.certify.relation import relation_lines

        return relation_lines(rows)
    if task == "grid":
        from train.certify.grid import grid_lines

        return grid_lines(rows)
    if task == "scene":
        from train.certify.scene import scene_lines

        return scene_lines(rows)
    from train.certify.trace import trace_lines

    return trace_lines(rows, settings.seed, [settings.episodes_path(folder, half) for half in HALVES])


def write_certificate(certificate: Certificate, folder: Path) -> Path:
    """Write ``certificate.json`` into a folder, such as that of the weights."""
    path = folder / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(asdict(certificate), ensure_ascii=False) + "\n")
    return path
