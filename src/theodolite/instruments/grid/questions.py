"""Prompts, forms of answers, and the items of every kind of run.

grid             every scene of a data set, as it is (accuracy)
grid-behaviour   scenes as they are and after edits with known effect
grid-anchors     questions with several anchors
grid-explain     scenes to be explained, and one cross matrix for each bucket and density
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.answers import read_answer
from theodolite.core.errors import UsageError
from theodolite.core.files import dump
from theodolite.core.scores import ALIGNED, CROSSED
from theodolite.core.types import PLAIN, Item, Json, Message, Picture, Request, Truth
from theodolite.instruments.grid.data.batch import (
    EMPTIED,
    PICTURE_EDITS,
    EditedScenes,
    SceneBatch,
    complete,
    dropped_anchor,
    edited_scenes,
    shortcut_answer,
    with_questions,
)
from theodolite.instruments.grid.data.files import StoredDataset, read_dataset
from theodolite.instruments.grid.data.question_types import (
    ANCHOR_SIDE,
    BUCKETS,
    NUMBERS,
    YES_OR_NO,
    Asks,
    bucket_index,
    read_questions,
    words_of,
    write_questions,
)
from theodolite.instruments.grid.data.world import DIRECTIONS, GridShape, Integers, render
from theodolite.instruments.grid.explainers.game import Convention

# Items of runs that were stored before items carried their truth.


def with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item with its truth, rebuilt from its meta."""
    meta = cast("dict[str, Any]", dict(item.meta))
    gold = str(meta.pop("gold"))
    meta.pop("format", None)
    condition = str(meta.pop("condition", EXPLAINED if "kind" in meta else PLAIN))
    scene, edit = str(meta.pop("scene", "")), PICTURE_EDITS.get(condition)
    truth = Truth(
        () if condition == EMPTIED else (gold,),
        (NUMBERS if gold.isdigit() else YES_OR_NO).format,
        subject=scene,
        split=str(meta.pop("split", "")),
        group=str(meta.pop("bucket", "")),
        relation=str(meta.pop("relation", "")),
        condition=condition,
        edit=edit.name if edit else "",
        base=f"{scene}/{PLAIN}" if edit else "",
        repeats=str(meta.pop("repeats", "")),
    )
    return replace(item, meta=meta, truth=truth)


PLAIN_RUN, EDITS_RUN, ANCHORS_RUN, EXPLAIN_RUN = "grid", "grid-behaviour", "grid-anchors", "grid-explain"
"""The kinds of run, as ``run.json`` names them."""
EXPLAINED = "explained"
"""The condition of a scene that is explained, and of a cross matrix."""
TURNED = "turned"
"""The condition of a scene with another question, whose right answers before and after an edit are the other way round."""
SPLITS = {"spur": ALIGNED, "pure": CROSSED}
"""The split of a diagnosis by mode: a bag of words is right on spurious scenes, and misled on pure ones."""
MAX_TOKENS = 16
DEFAULT_BUDGET = 2000
MOST_DROPPED = 3
"""The most anchors of a question with one group of targets."""
ANCHOR_BUCKETS = tuple(
    bucket.key for bucket in BUCKETS if bucket.depth > 1 and bucket.is_relational and not bucket.is_comparison
)
"""Counting and existence at depth two and three."""


def prompt_of(question: str, asks: Asks) -> str:
    """Return the question with a hint about the form of its answer."""
    return f"{question} {asks.answers.hint}"


def read_text(text: str, asks: Asks) -> str | None:
    """Return the answer in a text in the grid's own form; None if it cannot be read.

    >>> from theodolite.instruments.grid.data.question_types import COUNT
    >>> read_text("There are **three** of them.", COUNT), read_text("4 or 5", COUNT)
    ('3', None)
    """
    answer = read_answer(text, asks.answers.format)
    return str(answer.value) if answer.is_read else None


def _item(
    name: str,
    picture: Picture,
    question: str,
    *,
    world: GridShape,
    truth: Truth,
    meta: dict[str, Json],
    max_tokens: int = MAX_TOKENS,
) -> Item:
    """Make an item. An empty picture keeps the hint of its scene, though no answer is right."""
    asks = BUCKETS[bucket_index(truth.group)].asks
    (gold,) = truth.golds
    request = Request(
        (Message.user(picture, prompt_of(question, asks)),),
        max_tokens=max_tokens,
        ref=name,
        hint={"gold": gold},
    )
    golds = () if truth.condition == EMPTIED else truth.golds
    truth = replace(truth, golds=golds, format=asks.answers.format)
    return Item(name, request, asks.options(world), meta, truth)


def plan_accuracy(data: StoredDataset, *, max_tokens: int = MAX_TOKENS) -> Iterator[Item]:
    """Yield one item for each scene.

    Raises:
        UsageError: The data set was made without pictures.
    """
    scenes = scenes_of(data)
    shortcut = shortcut_answer(scenes)
    for row, record in enumerate(data.records):
        if record.file_name is None:
            raise UsageError(f"{data.folder} has no pictures; make it again without --no-pictures")
        picture = _picture(data.folder / record.file_name)
        meta: dict[str, Json] = {
            "density": record.density,
            "mode": data.plan.mode,
            "preset": data.plan.recipe.name,
            "bag_of_words": scenes.world.answers[int(shortcut[row])],
        }
        yield _item(
            record.id,
            picture,
            record.question,
            world=scenes.world,
            truth=Truth((record.answer,), group=record.bucket),
            meta=meta,
            max_tokens=max_tokens,
        )


def _picture(path: Path) -> Picture:
    """Return a picture; one that cannot be read fails when a model looks at it, so that it costs its own item."""
    try:
        return Picture.from_path(path)
    except UsageError:
        return Picture("bytes-missing", path=path)


def plan_edits(scenes: SceneBatch, names: Sequence[str], *, split: str = "", seed: int = 0) -> Iterator[Item]:
    """Yield every scene unedited and after each edit, and both pictures of an edit of places with its turned question as well.

    Args:
        scenes: Scenes of relational buckets.
        names: Names of the scenes, in order.
        split: Split of the data.
        seed: Seed of the places of decoys, and of what is exchanged and moved.
    """
    plain: dict[tuple[int, str], str] = {}
    for edited in edited_scenes(scenes, seed=seed):
        world = edited.scenes.world
        pictures = render(world, edited.scenes.cells)
        shortcut = shortcut_answer(edited.scenes)
        for i, row in enumerate(edited.rows):
            by_words = world.answers[int(shortcut[i])]
            yield _edited_item(edited, i, names[int(row)], pictures[i], shortcut=by_words, split=split)
            if edited.kind == PLAIN:
                empty = EditedScenes(EMPTIED, edited.scenes, edited.rows)
                white = np.full_like(pictures[i], 255)
                yield _edited_item(empty, i, names[int(row)], white, shortcut="", split=split)
        if edited.turned is not None and len(edited.rows):
            yield from _turned_items(edited, scenes.take(edited.rows), names, plain, split=split)


def _turned_items(
    edited: EditedScenes,
    before: SceneBatch,
    names: Sequence[str],
    plain: dict[tuple[int, str], str],
    *,
    split: str,
) -> Iterator[Item]:
    """Yield the turned questions of an edit about the pictures before and after it.

    Args:
        edited: The scenes after the edit.
        before: The same scenes before it.
        names: Names of all scenes.
        plain: The items about pictures before an edit, by scene and question; those that are new are added.
        split: Split of the data.
    """
    assert edited.turned is not None  # noqa: S101 - the caller knows
    sides = [with_questions(side, edited.turned) for side in (before, edited.scenes)]
    pictures = [render(side.world, side.cells) for side in sides]
    for i, row in enumerate(edited.rows.tolist()):
        key = row, sides[0].text(i)
        base = plain.get(key)
        for side, drawn, kind in zip(sides, pictures, (PLAIN, edited.kind), strict=True):
            condition = TURNED if kind == PLAIN else f"{TURNED}, {kind}"
            if kind == PLAIN and base is not None:
                continue
            name = f"{names[row]}/{TURNED} of {edited.kind}" + ("" if kind == PLAIN else "/after")
            if kind == PLAIN:
                base = plain[key] = name
            truth = Truth(
                (side.answer_text(i),),
                subject=names[row],
                split=split,
                group=side.bucket_key(i),
                relation=_relation(side, i),
                condition=condition,
                edit="" if kind == PLAIN else PICTURE_EDITS[kind].name,
                base="" if kind == PLAIN else str(base),
            )
            picture = Picture.from_array(drawn[i])
            yield _item(name, picture, side.text(i), world=side.world, truth=truth, meta={})


def _edited_item(
    edited: EditedScenes, i: int, name: str, pixels: NDArray[np.uint8], *, shortcut: str, split: str
) -> Item:
    scenes = edited.scenes
    edit = PICTURE_EDITS.get(edited.kind)
    truth = Truth(
        (scenes.answer_text(i),),
        subject=name,
        split=split,
        group=scenes.bucket_key(i),
        relation=_relation(scenes, i),
        condition=edited.kind,
        edit=edit.name if edit else "",
        base=f"{name}/{PLAIN}" if edit else "",
    )
    return _item(
        f"{name}/{edited.kind}",
        Picture.from_array(pixels),
        scenes.text(i),
        world=scenes.world,
        truth=truth,
        meta={"bag_of_words": shortcut},
    )


def _relation(scenes: SceneBatch, row: int) -> str:
    """Return the direction of a question, such as ``left of``; ``several`` if it has different ones."""
    names = {DIRECTIONS[way] for way in scenes.questions.directions[row].tolist() if way}
    return names.pop() if len(names) == 1 else "several"


def plan_anchors(scenes: SceneBatch, names: Sequence[str], *, split: str = "free") -> Iterator[Item]:
    """Yield one item for each scene, with the answer that results from dropping each anchor.

    Args:
        scenes: Scenes of buckets with two anchors or more.
        names: Names of the scenes, in order.
        split: Split of the data.
    """
    shallow = [BUCKETS[int(b)].key for b in scenes.bucket if BUCKETS[int(b)].depth < 2]
    if shallow:
        raise UsageError(f"only questions with several anchors can drop one; {shallow[0]} has at most one")
    world, questions = scenes.world, scenes.questions
    pictures = render(world, scenes.cells)
    shortcut = shortcut_answer(scenes)
    without = [dropped_anchor(world, scenes.cells, questions, k=k) for k in range(MOST_DROPPED)]
    for i, name in enumerate(names):
        sides = ANCHOR_SIDE[int(scenes.bucket[i])]
        meta: dict[str, Json] = {
            "bag_of_words": world.answers[int(shortcut[i])],
            "dropped": [world.answers[int(without[k][i])] if sides[k] else None for k in range(MOST_DROPPED)],
        }
        yield _item(
            f"{name}/anchors",
            Picture.from_array(pictures[i]),
            scenes.text(i),
            world=world,
            truth=Truth((scenes.answer_text(i),), subject=name, split=split, group=scenes.bucket_key(i)),
            meta=meta,
        )


@dataclass(frozen=True, slots=True)
class ExplainPlan:
    """What is explained, by which explainers, and at what cost."""

    data: str
    """The folder of the data set."""
    explainers: tuple[str, ...]
    budget: int = DEFAULT_BUDGET
    """Model calls for each scene, all explainers together."""
    pool: int = 32
    """The most scenes of a bucket whose cross matrix is measured."""
    n: int | None = None
    """Scenes of each bucket at each density; by default all."""
    convention: Convention = field(default_factory=Convention)
    seed: int = 0
    buckets: tuple[str, ...] = ()
    """Only these, such as ``M-F0-D2``; all if empty."""
    densities: tuple[str, ...] = ()
    """Only these, as the data set names them; all if empty."""

    def settings(self) -> dict[str, Any]:
        """Return the plan as the settings of a run, which `check` reads; empty filters are left out."""
        names = {"buckets", "densities"}
        return {name: value for name, value in dump(self).items() if value or name not in names}


def scenes_of(stored: StoredDataset) -> SceneBatch:
    """Return the scenes of a stored data set. Questions are parsed from their words; all else follows from the cells."""
    words = np.stack([words_of(record.question) for record in stored.records])
    questions = read_questions(words)
    return complete(
        stored.plan.recipe.world,
        stored.plan.mode,
        cells=stored.cells,
        questions=questions,
        written=write_questions(questions),
    )


@dataclass(frozen=True, slots=True)
class PreparedData:
    """The scenes of a data set, and which of them are used."""

    batch: SceneBatch
    names: list[str]
    density: NDArray[np.str_]
    chosen: Integers
    """The rows that are used."""

    @property
    def groups(self) -> list[tuple[int, str]]:
        """Every bucket and density among the chosen rows."""
        return list(dict.fromkeys((int(self.batch.bucket[r]), str(self.density[r])) for r in self.chosen))

    def members(self, bucket: int, density: str) -> Integers:
        """Return the chosen rows of one bucket at one density."""
        rows = self.chosen
        return np.asarray(rows[(self.batch.bucket[rows] == bucket) & (self.density[rows] == density)])


def prepare(plan: ExplainPlan) -> PreparedData:
    """Read the data and choose the first `n` scenes of each bucket and density.

    Raises:
        UsageError: A bucket or density of the plan is not in the data.
    """
    stored = read_dataset(plan.data)
    batch = scenes_of(stored)
    density = np.array([str(record.density) for record in stored.records])
    keys = np.array([batch.bucket_key(row) for row in range(len(batch))])
    is_wanted = _among(keys, plan.buckets, "bucket") & _among(density, plan.densities, "density")
    seen: dict[tuple[int, str], int] = {}
    chosen = []
    for row in np.flatnonzero(is_wanted).tolist():
        key = int(batch.bucket[row]), str(density[row])
        seen[key] = seen.get(key, 0) + 1
        if plan.n is None or seen[key] <= plan.n:
            chosen.append(row)
    names = [record.id for record in stored.records]
    return PreparedData(batch, names, density, np.array(chosen, np.int64))


def _among(names: NDArray[np.str_], wanted: Sequence[str], what: str) -> NDArray[np.bool_]:
    """Return where a name is among the wanted ones; everywhere if none is wanted."""
    there = list(dict.fromkeys(names.tolist()))
    for name in wanted:
        if name not in there:
            raise UsageError(f"no scene of the data has the {what} {name!r}; there are: {', '.join(there)}")
    return np.isin(names, wanted) if wanted else np.ones(len(names), bool)


def plan_explanations(plan: ExplainPlan) -> Iterator[Item]:
    """Yield one item for each scene, then one for the cross matrix of each bucket and density."""
    from theodolite.instruments.grid.explainers.find import find_explainers

    data = prepare(plan)
    explainers = find_explainers(plan.explainers)
    if any(explainer.scope == "local" for explainer in explainers):
        for row in data.chosen:
            yield _explained_item(data, int(row), "scene", data.names[int(row)])
    if any(explainer.scope == "global" for explainer in explainers):
        for bucket, density in data.groups:
            row = int(data.members(bucket, density)[0])
            yield _explained_item(data, row, "cross", f"cross/{data.batch.bucket_key(row)}-{density}")


def _explained_item(data: PreparedData, row: int, kind: str, name: str) -> Item:
    batch = data.batch
    picture = Picture.from_array(render(batch.world, batch.cells[row][None])[0])
    truth = Truth(
        (batch.answer_text(row),),
        BUCKETS[int(batch.bucket[row])].asks.answers.format,
        split=SPLITS.get(batch.mode, ""),
        group=batch.bucket_key(row),
        condition=EXPLAINED,
    )
    meta: dict[str, Json] = {"kind": kind, "row": row, "density": str(data.density[row])}
    request = Request.ask(picture, batch.text(row), max_tokens=4, ref=name)
    return Item(name, request, meta=meta, truth=truth)
