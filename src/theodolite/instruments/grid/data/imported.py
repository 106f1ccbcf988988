"""Imports GridVQA-X as published: ``qa_*.jsonl``, ``grounding_*.jsonl`` and pictures.

The published lines name the objects of the answer alone, so every scene is read from its picture. Questions and answers are
kept as published; roles, phrases and guarantees are computed. `audit` then checks the published answers like any others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, inside, read_lines
from theodolite.core.types import Picture
from theodolite.instruments.grid.data.batch import SceneBatch, complete
from theodolite.instruments.grid.data.dataset import Dataset, DatasetPlan, PublishedText
from theodolite.instruments.grid.data.evaluate import answer, bag_of_words, find_anchors, look_alikes
from theodolite.instruments.grid.data.recipe import PAPER
from theodolite.instruments.grid.data.render import read_cells
from theodolite.instruments.grid.data.words import Questions, read_questions, words_of, write_questions
from theodolite.instruments.grid.data.world import ANCHOR_SIDE, BUCKET_KEYS, Mode, World

IMPORTED = "imported"
"""The name of an imported data set's recipe."""
_QUESTIONS, _GROUNDING = "qa_", "grounding_"
_PLACE = re.compile(r"g(\d+)_d(\d+)")
"""Size of the grid and share of taken cells, in a picture's path: ``g5_d07``."""


class _Line(BaseModel):
    """One line of ``qa_*.jsonl``. Files without their ``grounding_*.jsonl`` name the picture themselves."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    image_id: int | str | None = None
    file_name: str | None = None
    question: str
    answer: int | str


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question with its scene and the name of its picture."""

    name: str
    line: _Line
    words: Any
    cells: Any
    picture: Picture


@dataclass(frozen=True, slots=True)
class Import:
    """An imported data set, with what could not be read."""

    data: Dataset
    pictures: list[Picture]
    problems: list[Problem]


def import_published(folder: str | Path, *, mode: Mode | None = None) -> Import:
    """Reads a folder of the published data, or one ``qa_*.jsonl`` in it.

    Args:
        folder: The folder with ``qa_*.jsonl``, ``grounding_*.jsonl`` and the pictures that they name.
        mode: ``pure`` or ``spur``; by default ``spur`` if a bag of words is right about every relation.

    Raises:
        UsageError: There is nothing to import, or pictures differ in size.
    """
    path = Path(folder)
    files = [path] if path.is_file() else sorted(path.glob(f"{_QUESTIONS}*.jsonl"))
    if not files:
        raise UsageError(f"{path} has no {_QUESTIONS}*.jsonl; give the folder of the published data")
    home = path.parent if path.is_file() else path
    problems: list[Problem] = []
    asked: list[_Asked] = []
    world: World | None = None
    for file in files:
        places, broken = _places(file)
        lines, more = read_lines(file, lambda value: check(_Line, value))
        problems += [*broken, *more]
        for where, line in lines:
            try:
                name = _picture_name(line, places)
                picture = Picture.from_path(inside(home, name, "picture"))
                world = world or _world(name, picture)
                asked.append(_read(name, line, picture, world))
            except UsageError as error:
                problems.append(Problem(where, str(error)))
    if world is None or not asked:
        raise UsageError(
            f"nothing of {path} could be read"
            + (f"; the first problem: {problems[0]}" if problems else ": there is no question")
        )
    return _join(asked, world, mode, problems)


def _places(file: Path) -> tuple[dict[str, str], list[Problem]]:
    """The picture of each image_id, from the grounding lines of the same split."""
    other = file.with_name(file.name.replace(_QUESTIONS, _GROUNDING, 1))
    if other == file or not other.is_file():
        return {}, []

    def place(value: Any) -> tuple[str, str]:
        image = check(dict[str, Any], value).get("image")
        if not isinstance(image, dict) or not isinstance(image.get("file_name"), str):
            raise UsageError("image: must have an id and a file_name")
        return str(image.get("id")), image["file_name"]

    found, problems = read_lines(other, place)
    return dict(each for _, each in found), problems


def _picture_name(line: _Line, places: dict[str, str]) -> str:
    name = line.file_name or places.get(str(line.image_id))
    if name is None:
        raise UsageError(f"no picture has the image_id {line.image_id!r}")
    return name


def _world(name: str, picture: Picture) -> World:
    """The grid of the data, from the path and size of its first picture; 5×5 cells unless the path says otherwise."""
    said = _PLACE.search(name)
    side = int(said.group(1)) if said else World().rows
    width, height = picture.size
    if width != height or side < 1 or width % side:
        raise UsageError(f"a picture of {width}×{height} pixels cannot show {side}×{side} square cells")
    return World(side, side, width // side)


def _read(name: str, line: _Line, picture: Picture, world: World) -> _Asked:
    words = words_of(line.question)
    questions = read_questions(words[None])
    cells = read_cells(world, picture.pixels())
    places, counts = find_anchors(cells[None], questions)
    is_asked = ANCHOR_SIDE[questions.bucket][:, : places.shape[1]] > 0
    if (counts[is_asked] != 1).any():
        raise UsageError(f"{line.question!r}: an anchor fits {counts[is_asked].max()} objects of the picture")
    return _Asked(name, line, words, cells, picture)


def _join(asked: list[_Asked], world: World, mode: Mode | None, problems: list[Problem]) -> Import:
    cells = np.stack([each.cells for each in asked])
    questions = read_questions(np.stack([each.words for each in asked]))
    most = int(look_alikes(cells, questions.targets[:, 0]).sum(axis=1).max())
    world = replace(world, max_count=max(world.max_count, most))
    if mode is None:
        mode = _mode(world, cells, questions)
    scenes = complete(world, mode, cells=cells, questions=questions, written=write_questions(questions))
    density = [_density(each.name, row) for each, row in zip(asked, cells, strict=True)]
    keys = [BUCKET_KEYS[i] for i in sorted(set(questions.bucket.tolist()))]
    groups = list(zip(questions.bucket.tolist(), density, strict=True))
    plan = DatasetPlan(
        mode,
        max(groups.count(group) for group in set(groups)),
        seed=0,
        recipe=replace(PAPER, name=IMPORTED, world=world),
        densities=tuple(word for word in ("sparse", "dense") if word in density),
        buckets=tuple(keys),
    )
    text = PublishedText(
        tuple(_names(scenes, density)),
        tuple(each.line.question for each in asked),
        tuple(str(each.line.answer) for each in asked),
    )
    data = Dataset(plan, scenes, np.array(density), text)
    return Import(data, [each.picture for each in asked], problems)


def _mode(world: World, cells: Any, questions: Questions) -> Mode:
    """``spur`` if there are questions with a relation, and a bag of words is right about all of them."""
    is_relational = ANCHOR_SIDE[questions.bucket][:, 0] > 0
    is_right = bag_of_words(world, cells, questions) == answer(world, cells, questions)
    return "spur" if is_relational.any() and is_right[is_relational].all() else "pure"


def _density(name: str, cells: Any) -> str:
    """As the path says; by the number of objects if it does not."""
    said = _PLACE.search(name)
    share = float(f"0.{said.group(2).lstrip('0')}") if said and int(said.group(2)) else (cells > 0).mean()
    return "sparse" if share < (PAPER.sparse + PAPER.dense) / 2 else "dense"


def _names(scenes: SceneBatch, density: list[str]) -> Iterator[str]:
    """Names as those of made data, numbered within bucket and density."""
    seen: dict[tuple[str, str], int] = {}
    for row, word in enumerate(density):
        key = scenes.bucket_key(row), word
        yield f"{key[0]}-{word}-{seen.setdefault(key, 0):05d}"
        seen[key] += 1
