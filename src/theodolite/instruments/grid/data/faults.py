"""Checks of a data set: what each scene must satisfy, and the scenes that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.instruments.grid.data.batch import GUARANTEES, ROLES, SceneBatch, hash_scenes, split_of
from theodolite.instruments.grid.data.evaluate import bag_of_words, find_anchors
from theodolite.instruments.grid.data.files import StoredDataset
from theodolite.instruments.grid.data.recipe import guarantee_of
from theodolite.instruments.grid.data.render import read_cells
from theodolite.instruments.grid.data.words import Questions
from theodolite.instruments.grid.data.world import ANCHOR_SIDE, BUCKET_KEYS, BUCKETS, World


@dataclass(frozen=True, slots=True)
class Fault:
    """A check that failed."""

    check: str
    """What should hold."""
    count: int
    """How many scenes fail it."""
    example: str
    """One of them, with the reason."""


def _fault(data: StoredDataset, check: str, is_broken: NDArray[np.bool_], how: Callable[[int], str]) -> Fault:
    rows = np.flatnonzero(is_broken)
    example = f"{data.records[int(rows[0])].id}: {how(int(rows[0]))}" if len(rows) else ""
    return Fault(check, len(rows), example)


def broken_scenes(world: World, data: StoredDataset, questions: Questions) -> Iterator[Fault]:
    """Checks bucket, objects and anchors; in spurious data also that a bag of words is right."""
    records = data.records
    asked = np.array([BUCKET_KEYS[i] for i in questions.bucket])
    kept = np.array([record.bucket for record in records])
    yield _fault(data, "the question is of its bucket", asked != kept, lambda i: f"asks {asked[i]}")
    found = (data.cells > 0).sum(axis=1)
    planned = {str(density): data.plan.recipe.objects(density) for density in data.plan.densities}
    wanted = np.array([planned.get(record.density, -1) for record in records])
    yield _fault(
        data,
        "the scene has the objects of its density",
        found != wanted,
        lambda i: f"{found[i]}, not {wanted[i]}",
    )
    places, counts = find_anchors(data.cells, questions)
    is_lost = (ANCHOR_SIDE[questions.bucket][:, : places.shape[1]] > 0) & (counts != 1)
    yield _fault(
        data,
        "every anchor is exactly one object",
        is_lost.any(axis=1),
        lambda i: f"fitting objects {counts[i].tolist()}",
    )
    if data.plan.mode == "spur":
        said = bag_of_words(world, data.cells, questions)
        told = [world.answers[i] for i in said]
        is_wrong = np.array([mine != record.answer for mine, record in zip(told, records, strict=True)])
        yield _fault(
            data, "a bag of words is right", is_wrong, lambda i: f"{told[i]}, not {records[i].answer}"
        )


def broken_labels(data: StoredDataset, scenes: SceneBatch, rows: NDArray[np.int64]) -> Iterator[Fault]:
    """Checks answers, roles and guarantees against those recomputed from the scenes."""
    whole = np.zeros(len(data), bool)

    def marked(is_broken: NDArray[np.bool_]) -> NDArray[np.bool_]:
        spread = whole.copy()
        spread[rows] = is_broken
        return spread

    place = {int(row): i for i, row in enumerate(rows)}
    kept = [data.records[int(row)] for row in rows]
    truth = [scenes.answer_text(i) for i in range(len(scenes))]
    yield _fault(
        data,
        "the answer is what the evaluator says",
        marked(np.array([t != r.answer for t, r in zip(truth, kept, strict=True)])),
        lambda i: f"{data.records[i].answer}, not {truth[place[i]]}",
    )
    roles = [[ROLES[role] for role in row] for row in scenes.roles]
    yield _fault(
        data,
        "the roles are the question's",
        marked(np.array([mine != r.roles for mine, r in zip(roles, kept, strict=True)])),
        lambda i: (
            f"{sum(a != b for a, b in zip(roles[place[i]], data.records[i].roles, strict=False))} cells have others"
        ),
    )
    levels = [GUARANTEES[g] for g in scenes.guarantee]
    yield _fault(
        data,
        "the guarantee is as recorded",
        marked(np.array([mine != r.guarantee for mine, r in zip(levels, kept, strict=True)])),
        lambda i: f"{data.records[i].guarantee}, not {levels[place[i]]}",
    )
    if data.plan.mode == "pure" and data.plan.recipe.law != "balanced":
        guaranteed = [_guaranteed(scenes, i) for i in range(len(scenes))]
        is_less = np.array(
            [GUARANTEES.index(a) < GUARANTEES.index(b) for a, b in zip(levels, guaranteed, strict=True)]
        )
        yield _fault(
            data,
            "Theorem 1 holds as guaranteed",
            marked(is_less),
            lambda i: f"{levels[place[i]]}, not {guaranteed[place[i]]}",
        )


def _guaranteed(scenes: SceneBatch, row: int) -> str:
    """The guarantee that a scene of this bucket, number of objects and answer must have."""
    bucket = BUCKETS[int(scenes.bucket[row])]
    guarantee = guarantee_of(bucket, int((scenes.cells[row] > 0).sum()))
    said = scenes.answer_text(row)
    group = ("1" if said == "1" else "more") if bucket.is_count else said
    return guarantee.by_answer.get(group, guarantee.level)


def broken_splits(data: StoredDataset, words: NDArray[np.uint8]) -> Iterator[Fault]:
    """Checks hashes and splits."""
    hashes = hash_scenes(data.cells, words)
    splits = split_of(hashes)
    stored = np.array([record.hash for record in data.records])
    fresh = np.array([f"{int(each):016x}" for each in hashes])
    yield _fault(data, "the hash is the scene's", stored != fresh, lambda i: f"{stored[i]}, not {fresh[i]}")
    named = np.array([record.split for record in data.records])
    yield _fault(data, "the split is the hash's", named != splits, lambda i: f"{named[i]}, not {splits[i]}")
    if data.plan.split is not None:
        yield _fault(
            data, f"every scene is of {data.plan.split}", splits != data.plan.split, lambda i: str(splits[i])
        )


def compare_pictures(data: StoredDataset, most: int) -> tuple[int, list[Fault]]:
    """Compares pictures with their scenes; returns how many were compared."""
    named = [i for i, record in enumerate(data.records) if record.file_name]
    chosen = [
        named[int(i)] for i in np.unique(np.linspace(0, len(named) - 1, min(most, len(named))).astype(int))
    ]
    is_broken, how = np.zeros(len(data), bool), {}
    for row in chosen:
        try:
            picture = Picture.from_path(data.folder / str(data.records[row].file_name))
            seen = read_cells(data.plan.recipe.world, picture.pixels())
            is_broken[row] = (seen != data.cells[row]).any()
            how[row] = f"{int((seen != data.cells[row]).sum())} cells differ"
        except UsageError as error:
            is_broken[row], how[row] = True, str(error)
    return len(chosen), [_fault(data, "the picture shows the scene", is_broken, lambda i: how[i])]
