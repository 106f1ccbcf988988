"""Every prompt that a diagnosis plans is of a kind that the twins were taught.

Explainers of the grid hide words and cells of such prompts, which nothing is taught with.
"""

import re
from collections import defaultdict
from itertools import count, islice
from types import SimpleNamespace

import numpy as np
import pytest

from theodolite.core.types import Record, Response
from theodolite.instruments.instrument import Study, find_instruments
from theodolite.runs import Result
from train.twins import lessons
from train.twins.tokens import WORDS

TASKS = ("compass", "grid", "scene", "trace")
SIZES = {"grid": "quick", "scene": "quick"}
"""Sizes at which every kind of prompt is asked; few items hold all of them elsewhere."""
INFO = SimpleNamespace(model="pocket:grounded")
MOST = 60
"""Portions of lessons after which a form counts as never taught."""
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


def drawn(task):
    """Lessons of a task, in portions, without end."""
    rng = np.random.default_rng(0)
    for number in count():
        if task == "compass":
            yield [lessons.relation_lesson(rng) for _ in range(60)]
        elif task == "grid":
            yield list(lessons.grid_lessons(number + 1, 2))
        elif task == "scene":
            yield [lessons.room_lesson(rng, "sample") for _ in range(50)]
        else:
            is_aligned = True if number % 3 == 0 else None
            yield [
                lesson
                for world in ("video", "navigation", "instruction")
                for lesson in lessons.story_lessons(world, number, seed=1, is_aligned=is_aligned)
            ]


class Taught:
    """The forms of prompts that each twin is taught; more lessons are drawn while one is missing."""

    def __init__(self):
        self.found = defaultdict(set)
        self.lessons = {task: islice(drawn(task), MOST) for task in TASKS}

    def lacks(self, twin, task, asked):
        while asked - self.found[twin, task]:
            portion = next(self.lessons[task], None)
            if portion is None:
                break
            for lesson in portion:
                self._learn(task, lesson)
        return asked - self.found[twin, task]

    def _learn(self, task, lesson):
        opening = [part for part in lesson.opening if part is not None]
        for ask in lesson.asks:
            for twin in set(ask.to) & set("gs"):
                for part in (ask.text, *(opening if ask.sees else ())):
                    self.found[twin, task] |= forms(part, sees=ask.sees, task=task)


@pytest.fixture(scope="module")
def taught():
    return Taught()


def sent(plan):
    """All items of a run, also those that are planned when the model has given its graphs."""
    run = SimpleNamespace(results=list, info=INFO)
    first = list(plan.items(run))
    graphs = [item for item in first if item.request.hint.get("task") == "graph"]
    told = [
        Result(place, item, Record(item.id, Response("answered", text=str(item.request.hint["gold"]))))
        for place, item in enumerate(graphs, 1)
    ]
    return first + list(plan.items(SimpleNamespace(results=lambda: told, info=INFO)))


@pytest.mark.parametrize("instrument", TASKS)
@pytest.mark.parametrize("twin", ["g", "s"])
def test_every_prompt_is_taught(instrument, twin, taught, tmp_path_factory):
    study = Study(tmp_path_factory.getbasetemp() / "taught", SIZES.get(instrument, 6))
    n = 0
    for plan in find_instruments([instrument])[0].plan(study, "gradients"):
        for item in sent(plan):
            n += 1
            parts = item.request.messages[0].content
            text = [piece for piece in parts if isinstance(piece, str)]
            sees = bool(item.request.pictures)
            found = {form for piece in text for form in forms(piece, sees=sees, task=instrument)}
            assert not (strange := taught.lacks(twin, instrument, found)), (item.name, strange)
    assert n > 10
