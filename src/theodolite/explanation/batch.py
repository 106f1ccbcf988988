"""Explanations of many questions: of every picture in a folder, or of every row of a question file, with an index page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from theodolite.core.errors import ModelError, TheodoliteError, UsageError
from theodolite.core.types import Picture
from theodolite.diagnose.request import ModelLike, given_models, opened
from theodolite.explanation.api import FRAMES, VIDEOS, Choices, Progress, explain_request, read_pictures
from theodolite.explanation.figure import map_picture
from theodolite.explanation.page import Row, numbers, page, write_index
from theodolite.explanation.record import Explanation
from theodolite.instruments.ask.data.questions import read_questions
from theodolite.runs import slug, write_atomically

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"})
_ENOUGH = 3
"""Models that fail this often before they succeed once are given up."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question about some pictures."""

    name: str
    question: str
    pictures: tuple[Picture, ...]


def of_folder(folder: Path, question: str, frames: int = FRAMES) -> Iterator[Asked]:
    """Ask one question about every picture and video in a folder.

    Raises:
        UsageError: If there is none.
    """
    paths = [p for p in sorted(folder.iterdir()) if p.suffix.casefold() in PICTURES | VIDEOS]
    if not paths:
        raise UsageError(f"there is no picture in {folder}")
    for path in paths:
        yield Asked(path.name, question, read_pictures(path, frames))


def of_questions(path: Path, images: Path | None = None) -> Iterator[Asked]:
    """Ask the questions of a file, in the layouts that `theodolite ask` reads."""
    for each in read_questions(path, images):
        yield Asked(each.id, each.prompt, each.pictures)


def explain_all(
    model: ModelLike,
    asked: Sequence[Asked],
    out: Path,
    choices: Choices,
    progress: Progress = lambda *_: None,
) -> Path:
    """Explain several answers of one model, and write a page for each and an index.

    A question that cannot be explained is listed with the reason; the others go on.

    Returns:
        The index.

    Raises:
        ModelError: If the model fails from the beginning.
    """
    rows: list[Row] = []
    failed: list[tuple[str, str]] = []
    with given_models(model) as given:
        ((name, own),) = given.items()
        with opened(name, {} if own is None else {name: own}) as ready:
            for i, each in enumerate(asked):
                progress(each.name, i, len(asked))
                try:
                    found = explain_request(ready.model, each.question, each.pictures, choices)
                    rows.append(_write(found, each, out, i))
                except TheodoliteError as error:
                    failed.append((each.name, str(error)))
                    if not rows and len(failed) >= min(_ENOUGH, len(asked)):
                        raise ModelError(
                            f"none of the first {len(failed)} could be explained: {error}"
                        ) from error
                write_index(
                    out, name, rows, failed
                )  # after each, so that the page can be looked at meanwhile
    return out / "index.html"


def _write(found: Explanation, asked: Asked, out: Path, number: int) -> Row:
    name = f"{number + 1:03d}-{slug(Path(asked.name).stem)[:40]}"
    write_atomically(out / f"{name}.html", page(found, index=True).encode())
    write_atomically(out / f"{name}.json", numbers(found).encode())
    found.plot().save(out / f"{name}.png")
    map_picture(found).save(out / f"{name}-map.jpg", quality=88)
    return Row(asked.name, name, asked.question, found.answer, found.sentence, found.test.standing)
