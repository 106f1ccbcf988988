"""Every prompt that a diagnosis plans is of a kind that the twins were taught.

Explainers of the grid hide words and cells of such prompts, which nothing is taught with.
"""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from theodolite.diagnose.parts import PARTS
from theodolite.diagnose.study import Size, Study

from theodolite.core.types import Record, Response
from theodolite.runs import Result
from train.twins import lessons
from train.twins.tokens import WORDS

SMALL = Size("quick", pairs=4, grids=1, rooms=6, per_group=4, episodes=1)
_VARYING = re.compile(rf"\b(?:{'|'.join(map(re.escape, WORDS))})\b|\d+(?:\.\d+)?")
_SIDE = re.compile(r"\b(left|right) of\b")
_LIST = re.compile(r"·(?:(?:,? (?:and|or) |, | )·)+")


def forms(text, *, sees, task):
    """The lines of a prompt, names and numbers struck out, and whether pictures stand before it.

    Lists may be of any length, but not of the anchors of a grid.
    """
    struck = _VARYING.sub("·", _SIDE.sub(r"\1", text))
    return {
        ((line if task == "grid" else _LIST.sub("·", line)).strip(), sees) for line in struck.splitlines()
    }


@pytest.fixture(scope="module")
def taught():
    rng = np.random.default_rng(0)
    drawn = [lessons.relation_lesson(rng) for _ in range(60)]
    drawn += [*lessons.grid_lessons(1, 2), *lessons.grid_lessons(2, 2)]
    drawn += [lessons.room_lesson(rng, "sample") for _ in range(150)]
    for world in ("video", "navigation", "instruction"):
        for number in range(12):
            is_aligned = True if number % 3 == 0 else None
            drawn += lessons.story_lessons(world, number, seed=1, is_aligned=is_aligned)
    found = {(twin, task): set() for twin in "gs" for task in PARTS}
    for lesson in drawn:
        task = {"relation": "compass", "frame": "trace"}.get(lesson.task, lesson.task)
        opening = [part for part in lesson.opening if part is not None]
        for ask in lesson.asks:
            for twin in set(ask.to) & set("gs"):
                for part in (ask.text, *(opening if ask.sees else ())):
                    found[twin, task] |= forms(part, sees=ask.sees, task=task)
    return found


def sent(part):
    """All items of a run, also those that are planned when the model has given its graphs."""
    run = SimpleNamespace(results=list)
    first = list(part.items(run))
    graphs = [item for item in first if item.request.hint.get("task") == "graph"]
    told = [
        Result(place, item, Record(item.id, Response("answered", text=str(item.request.hint["gold"]))))
        for place, item in enumerate(graphs, 1)
    ]
    return first + list(part.items(SimpleNamespace(results=lambda: told)))


@pytest.mark.parametrize("instrument", list(PARTS))
@pytest.mark.parametrize("twin", ["g", "s"])
def test_every_prompt_is_taught(instrument, twin, taught, tmp_path_factory):
    study = Study(tmp_path_factory.getbasetemp() / "taught", SMALL)
    n = 0
    for part in PARTS[instrument](study, "gradients"):
        for item in sent(part):
            n += 1
            parts = item.request.messages[0].content
            text = [piece for piece in parts if isinstance(piece, str)]
            sees = bool(item.request.pictures)
            found = {form for piece in text for form in forms(piece, sees=sees, task=instrument)}
            strange = found - taught[twin, instrument]
            assert not strange, (item.name, strange)
    assert n > 10
