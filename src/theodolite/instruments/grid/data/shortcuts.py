"""How often shortcuts are right on a bucket, and how much they reveal about the answer.

Success is a share with Wilson's interval. Information is I(shortcut; answer) in bits minus that of shuffled answers: a
shortcut that is always wrong may still be informative, as a bag of words that always counts too many is. Shortcuts that
learn something, such as the most frequent answer, learn it on every other scene and are tried on the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.evaluate import bag_of_words, dropped_anchor, majority
from theodolite.instruments.grid.data.world import (
    BUCKETS,
    COLOUR_OF,
    COLOURS,
    N_CLASSES,
    SHAPE_OF,
    SHAPES,
    Flags,
    class_name,
)
from theodolite.stats import Estimate, MutualInformation, mutual_information, wilson_interval


@dataclass(frozen=True, slots=True)
class Shortcut:
    """One shortcut on one bucket."""

    name: str
    """``prior``, ``bag of words``, ``majority``, ``salience`` or ``without anchor k``."""
    success: Estimate
    """The share of right answers."""
    information: MutualInformation
    """Mutual information of its answer and the right one, in bits."""
    note: str = ""
    """What it learnt, or what it was tried on."""


def try_shortcuts(scenes: SceneBatch, *, n_permutations: int = 199, seed: int = 0) -> list[Shortcut]:
    """All shortcuts on scenes of one bucket and density."""
    world, cells, questions = scenes.world, scenes.cells, scenes.questions
    bucket = BUCKETS[int(scenes.bucket[0])]

    def tried(name: str, said: NDArray[np.uint8], truth: NDArray[np.uint8], note: str = "") -> Shortcut:
        right = int((said == truth).sum())
        information = mutual_information(said, truth, n_permutations=n_permutations, seed=seed)
        return Shortcut(name, wilson_interval(right, len(truth)), information, note)

    frequent, is_tied = majority(world, cells, questions)
    found = [
        tried("prior", *_prior(scenes)),
        tried("bag of words", bag_of_words(world, cells, questions), scenes.answer),
        tried(
            "majority",
            frequent,
            scenes.answer,
            f"{int(is_tied.sum())} scenes with several most frequent kinds",
        ),
        tried("salience", *_salience(scenes)),
    ]
    for k in range(bucket.n_anchors):
        said = dropped_anchor(world, cells, questions, k=k)
        found.append(tried(f"without anchor {k + 1}", said, scenes.answer))
    return found


def _halves(n: int) -> tuple[slice, slice]:
    """Scenes to learn from and scenes to try on; a single scene is used for both."""
    return (slice(0, None, 2), slice(1, None, 2)) if n > 1 else (slice(None), slice(None))


def _prior(scenes: SceneBatch) -> tuple[NDArray[np.uint8], NDArray[np.uint8], str]:
    """The most frequent answer."""
    learn, rest = _halves(len(scenes))
    best = int(np.bincount(scenes.answer[learn]).argmax())
    truth = scenes.answer[rest]
    return np.full_like(truth, best), truth, f"always {scenes.world.answers[best]}"


def _salience(scenes: SceneBatch) -> tuple[NDArray[np.uint8], NDArray[np.uint8], str]:
    """The most predictive colour, shape or class: one answer if it is present, another if not."""
    names, present = _attributes(scenes)
    learn, rest = _halves(len(scenes))
    answers = scenes.answer[learn]
    best, best_right, best_pair = 0, -1, (0, 0)
    for i in range(len(names)):
        there = present[learn, i]
        tables = [
            np.bincount(answers[there == flag], minlength=len(scenes.world.answers)) for flag in (False, True)
        ]
        right = sum(int(table.max()) for table in tables)
        if right > best_right:
            best, best_right, best_pair = i, right, (int(tables[0].argmax()), int(tables[1].argmax()))
    said = np.where(present[rest, best], best_pair[1], best_pair[0]).astype(np.uint8)
    words = scenes.world.answers
    return (
        said,
        scenes.answer[rest],
        f"{names[best]}: {words[best_pair[1]]} if there, {words[best_pair[0]]} if not",
    )


def _attributes(scenes: SceneBatch) -> tuple[list[str], Flags]:
    """Colours, shapes and classes present in each scene, (n, 24)."""
    names = [*COLOURS, *SHAPES, *map(class_name, range(1, N_CLASSES + 1))]
    columns = [(COLOUR_OF[scenes.cells] == i + 1).any(axis=1) for i in range(len(COLOURS))]
    columns += [(SHAPE_OF[scenes.cells] == i + 1).any(axis=1) for i in range(len(SHAPES))]
    columns += [(scenes.cells == i).any(axis=1) for i in range(1, N_CLASSES + 1)]
    return names, np.stack(columns, axis=1)
