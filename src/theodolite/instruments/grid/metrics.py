"""What the grid reads off each scene: whether answers heed the relation, and where explainers see the evidence.

Each scene is asked as it is and after changes whose right answer is known (see `theodolite.instruments.grid.data.interventions`):

swapped     every direction turned into its opposite, where that changes the right answer and not the bag of words'
decoyed     look-alikes of a target put where the question does not look, until a bag of words answers otherwise; the right
            answer stays
cleared     objects that are neither named nor look like a target taken away; the right answer stays
emptied     no object left

Metrics of answers (``text``): right; swap_changes, swap_follows (the answer is another, the right one, after the swap);
decoy_keeps, clear_keeps (the answer stays); empty_changes; bag_of_words (the answer is the bag of words', where that is wrong).
Metrics of log-probabilities (``choices``): swap_shift and decoy_shift, ½ Σ |p − p′| over the possible answers. A model that
reads the relation shifts with the swap and not with decoys; heeds_relation = swap_shift − decoy_shift, from −1 to 1, says both
at once, of scenes that have both changes.

Metrics of maps, by explainer: direction_words, the share of the words' relevance on direction words; anchor_mass and
adversarial_mass, shares of the cells' relevance; interacting_words, how many words act together with the picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.scores import Capability, ItemScore, Metric, Origin
from theodolite.core.types import Item, Message, Picture, Record, Request
from theodolite.instruments.grid.data.batch import OTHER, SceneBatch
from theodolite.instruments.grid.data.evaluate import bag_of_words
from theodolite.instruments.grid.data.interventions import harmless_contents, swap_directions, with_cells
from theodolite.instruments.grid.data.render import render
from theodolite.instruments.grid.data.world import BUCKETS, MATCHES, MOST_SIDES
from theodolite.instruments.grid.experiments.accuracy import prompt_of, said_of
from theodolite.instruments.grid.stored import INSTRUMENT as EXPLAIN
from theodolite.instruments.grid.stored import MapRow, read_explained
from theodolite.runs import Result, Run

__all__ = [
    "EXPLAINERS",
    "INSTRUMENT",
    "METRICS",
    "Changed",
    "changed_scenes",
    "needs_gradients",
    "plan_readings",
    "readings",
    "words_answer",
]

INSTRUMENT = "grid-behaviour"
PLAIN, SWAPPED, DECOYED, CLEARED, EMPTIED = "plain", "swapped", "decoyed", "cleared", "emptied"

EXPLAINERS = (
    "dime",
    "multishap",
    "multiviz",
    "pixelshap-shapley",
    "removal",
    "alike-removal",
    "interacting-words",
    "relevance:chefer",
    "relevance:contrastive-grad-act",
)
"""The explainers that are read: the four published families, and ours."""
_PUBLISHED = {"dime", "multishap", "multiviz", "pixelshap-shapley"}


def needs_gradients(explainer: str) -> bool:
    """Whether one of `EXPLAINERS` differentiates the model.

    >>> [name for name in EXPLAINERS if needs_gradients(name)]
    ['multiviz', 'relevance:chefer', 'relevance:contrastive-grad-act']
    """
    return explainer == "multiviz" or explainer.startswith("relevance:")


_OF_ANSWERS: tuple[tuple[str, str, Capability], ...] = (
    ("right", "answer is right", "text"),
    ("swap_changes", "answer changes with the direction", "text"),
    ("swap_follows", "answer follows the direction", "text"),
    ("decoy_keeps", "answer stays when look-alikes are added elsewhere", "text"),
    ("clear_keeps", "answer stays when other objects go", "text"),
    ("empty_changes", "answer changes with an empty picture", "text"),
    ("bag_of_words", "answer of a bag of words, where it is wrong", "text"),
    ("swap_shift", "shift of the answer with the direction", "choices"),
    ("decoy_shift", "shift of the answer with look-alikes elsewhere", "choices"),
    ("heeds_relation", "shift with the direction less shift with look-alikes", "choices"),
)
_BOUNDS: Mapping[str, tuple[float, float] | None] = {"heeds_relation": (-1.0, 1.0), "interacting_words": None}
_LOWER = {"bow_agreement", "bag_of_words", "decoy_shift", "adversarial_mass"}
_OF_MAPS: tuple[tuple[str, str], ...] = (
    ("direction_words", "words' relevance on directions"),
    ("anchor_mass", "relevance on the anchor"),
    ("adversarial_mass", "relevance on look-alikes elsewhere"),
)
_SPLITS = {"spur": "aligned", "pure": "crossed"}
"""On spurious scenes a bag of words is right, on pure ones it is led astray."""


def _metric(key: str, name: str, origin: Origin, needs: Capability) -> Metric:
    kind = key.partition(":")[0]
    return Metric(
        f"grid.{key}",
        name,
        higher_is_grounded=kind not in _LOWER,
        origin=origin,
        needs=needs,
        bounds=_BOUNDS.get(kind, (0.0, 1.0)),
        unit={"heeds_relation": "points", "interacting_words": "number"}.get(kind, "share"),  # type: ignore[arg-type]
    )


METRICS: tuple[Metric, ...] = (
    _metric("accuracy", "accuracy", "paper", "text"),
    _metric("bow_agreement", "agrees with a bag of words", "ours", "text"),
    *(_metric(key, name, "ours", needs) for key, name, needs in _OF_ANSWERS),
    *(
        _metric(
            f"{key}:{explainer}",
            f"{name} ({explainer})",
            "paper" if explainer in _PUBLISHED else "ours",
            "gradients" if needs_gradients(explainer) else "choices",
        )
        for explainer in EXPLAINERS
        for key, name in _OF_MAPS
        if key != "direction_words" or not explainer.startswith("relevance:")
    ),
    _metric("interacting_words", "words that act together with the picture", "ours", "choices"),
)


@dataclass(frozen=True, slots=True)
class Changed:
    """Scenes after one kind of change, and which of the given scenes they were."""

    kind: str
    scenes: SceneBatch
    rows: NDArray[np.int64]


def changed_scenes(scenes: SceneBatch, *, seed: int) -> list[Changed]:
    """The scenes as they are and after every change; a scene that a change cannot be had of is not among its rows.

    Args:
        scenes: questions with a relation.
        seed: of where decoys go.
    """
    if not all(BUCKETS[int(bucket)].is_relational for bucket in scenes.bucket):
        raise UsageError("these metrics are about relations: give scenes of relational buckets alone")
    everything = np.arange(len(scenes))
    swapped = swap_directions(scenes)
    is_swapped = (swapped.answer != scenes.answer) & (words_answer(swapped) != swapped.answer)
    decoyed, is_decoyed = _with_decoys(scenes, seed)
    others = scenes.roles == OTHER
    cleared = with_cells(scenes, np.where(others, 0, scenes.cells).astype(np.uint8))
    return [
        Changed(PLAIN, scenes, everything),
        Changed(SWAPPED, swapped.take(is_swapped), everything[is_swapped]),
        Changed(DECOYED, decoyed.take(is_decoyed), everything[is_decoyed]),
        Changed(CLEARED, cleared.take(others.any(axis=1)), everything[others.any(axis=1)]),
    ]


def words_answer(scenes: SceneBatch) -> NDArray[np.uint8]:
    """What a bag of words answers, as indices into `World.answers`."""
    return bag_of_words(scenes.world, scenes.cells, scenes.questions)


def _with_decoys(scenes: SceneBatch, seed: int) -> tuple[SceneBatch, NDArray[np.bool_]]:
    """Look-alikes in empty cells where they are harmless, until a bag of words leaves the right answer."""
    rng = np.random.default_rng(seed)
    cells = scenes.cells.copy()
    done = np.zeros(len(scenes), bool)
    for row in range(len(scenes)):
        one = scenes.take(slice(row, row + 1))
        for side in rng.permutation(MOST_SIDES):
            kind = int(one.questions.targets[0, side])
            changed = _decoyed(one, kind, rng) if kind else None
            if changed is not None:
                cells[row], done[row] = changed, True
                break
    return with_cells(scenes, cells), done


def _decoyed(one: SceneBatch, kind: int, rng: np.random.Generator) -> NDArray[np.uint8] | None:
    """One scene's cells with as few decoys of a kind as mislead a bag of words; None if none do."""
    harmless = harmless_contents(one)[0] & MATCHES[kind][None]
    harmless[:, 0] = False
    places = rng.permutation(np.flatnonzero(harmless.any(axis=1) & (one.cells[0] == 0)))
    cells = one.cells.copy()
    for place in places:
        cells[0, place] = rng.choice(np.flatnonzero(harmless[place]))
        if words_answer(with_cells(one, cells))[0] != one.answer[0]:
            return np.asarray(cells[0])
    return None


def plan_readings(
    scenes: SceneBatch, names: Sequence[str], *, split: str = "", seed: int = 0, max_tokens: int = 16
) -> Iterator[Item]:
    """Every scene as it is and changed.

    Args:
        scenes: of relational buckets.
        names: of the scenes, in order.
        split: of the twins' data.
        seed: of where decoys go.
        max_tokens: the longest answer.
    """
    for changed in changed_scenes(scenes, seed=seed):
        pictures = render(changed.scenes.world, changed.scenes.cells)
        shortcut = words_answer(changed.scenes)
        for i, row in enumerate(changed.rows):
            name = names[int(row)]
            said = changed.scenes.world.answers[int(shortcut[i])]
            picture = Picture.from_array(pictures[i])
            yield _item(changed, i, name, picture=picture, shortcut=said, split=split, max_tokens=max_tokens)
            if changed.kind == PLAIN:
                white = Picture.from_array(np.full_like(pictures[i], 255))
                empty = Changed(EMPTIED, changed.scenes, changed.rows)
                yield _item(empty, i, name, picture=white, shortcut="", split=split, max_tokens=max_tokens)


def _item(
    changed: Changed, i: int, name: str, *, picture: Picture, shortcut: str, split: str, max_tokens: int
) -> Item:
    scenes, world = changed.scenes, changed.scenes.world
    is_count = BUCKETS[int(scenes.bucket[i])].is_count
    options = world.answers[: world.max_count + 1] if is_count else world.answers[-2:]
    request = Request(
        (Message.user(picture, prompt_of(scenes.text(i), is_count=is_count)),),
        max_tokens=max_tokens,
        ref=f"{name}/{changed.kind}",
        hint={"gold": scenes.answer_text(i)},
    )
    return Item(
        name=f"{name}/{changed.kind}",
        request=request,
        options=options,
        meta={
            "scene": name,
            "condition": changed.kind,
            "bucket": scenes.bucket_key(i),
            "gold": scenes.answer_text(i),
            "bag_of_words": shortcut,
            "split": split,
        },
    )


def readings(run: Run) -> list[ItemScore]:
    """Every metric of every scene that a run of behaviour, or a run of explanations, holds. No model is called."""
    if run.info.instrument == EXPLAIN:
        return list(_of_maps(run))
    if run.info.instrument != INSTRUMENT:
        raise UsageError(f"{run.folder} is a run of {run.info.instrument}, not of {INSTRUMENT} or {EXPLAIN}")
    scenes: dict[str, dict[str, Result]] = {}
    for result in run.results():
        if result.record is not None and result.record.response.is_answered:
            meta = result.item.meta
            scenes.setdefault(str(meta["scene"]), {})[str(meta["condition"])] = result
    return [reading for rows in scenes.values() if PLAIN in rows for reading in _behaviour(rows)]


def _behaviour(rows: Mapping[str, Result]) -> Iterator[ItemScore]:
    meta = cast("Mapping[str, Any]", rows[PLAIN].item.meta)
    said = {kind: said_of(cast("Record", result.record)) for kind, result in rows.items()}
    gold = {kind: str(result.item.meta["gold"]) for kind, result in rows.items()}
    before = said[PLAIN]

    def reading(key: str, value: float) -> ItemScore:
        return ItemScore(
            str(meta["scene"]), f"grid.{key}", float(value), str(meta["scene"]), str(meta["split"])
        )

    if before is None:
        return
    yield reading("right", before == gold[PLAIN])
    if meta["bag_of_words"] != gold[PLAIN]:
        yield reading("bag_of_words", before == meta["bag_of_words"])
    if (after := said.get(SWAPPED)) is not None:
        yield reading("swap_changes", after != before)
        yield reading("swap_follows", after == gold[SWAPPED])
    for key, kind in (("decoy_keeps", DECOYED), ("clear_keeps", CLEARED)):
        if (after := said.get(kind)) is not None:
            yield reading(key, after == before)
    if (after := said.get(EMPTIED)) is not None:
        yield reading("empty_changes", after != before)
    yield from (reading(key, value) for key, value in _shifts(rows))


def _shifts(rows: Mapping[str, Result]) -> Iterator[tuple[str, float]]:
    swap, decoy = (_shift(rows[PLAIN], rows.get(kind)) for kind in (SWAPPED, DECOYED))
    if swap is not None:
        yield "swap_shift", swap
    if decoy is not None:
        yield "decoy_shift", decoy
    if swap is not None and decoy is not None:
        yield "heeds_relation", swap - decoy


def _shift(before: Result, after: Result | None) -> float | None:
    """½ Σ |p − p′| over the options; None where either has no log-probabilities."""
    choices = [result.record.choice if result and result.record else None for result in (before, after)]
    if choices[0] is None or choices[1] is None:
        return None
    first, second = (np.asarray(choice.probabilities) for choice in choices if choice is not None)
    return 0.5 * float(np.abs(first - second).sum())


def _of_maps(run: Run) -> Iterator[ItemScore]:
    explained = read_explained(run)
    split = _SPLITS[explained.batch.mode]
    for row in explained.rows:
        if row.explainer in EXPLAINERS and row.bucket.is_relational:
            for key, value in _of_row(row):
                yield ItemScore(row.scene, f"grid.{key}", value, row.scene, split)


def _of_row(row: MapRow) -> Iterator[tuple[str, float]]:
    if "direction" in row.words:
        yield f"direction_words:{row.explainer}", row.words["direction"]
    if row.mass:
        yield f"anchor_mass:{row.explainer}", row.mass["anchors"]
        if row.area.get("adversarial", 0.0) > 0:
            yield f"adversarial_mass:{row.explainer}", row.mass["adversarial"]
    if row.explainer == "interacting-words" and "interacting_words" in row.scalars:
        yield "interacting_words", float(row.scalars["interacting_words"])
