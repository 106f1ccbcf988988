"""What the scenes of a bucket promise, in one sentence; `audit` holds data to it."""

from __future__ import annotations

from dataclasses import dataclass

from theodolite.core.tables import Cell, Column, Table
from theodolite.instruments.grid.data.balanced import room_of
from theodolite.instruments.grid.data.dataset import DatasetPlan
from theodolite.instruments.grid.data.learned import ALLOWED, FAMILIES
from theodolite.instruments.grid.data.recipe import Recipe, guarantee_of
from theodolite.instruments.grid.data.world import BUCKETS, Bucket, Mode

_WORDS = {
    "look-alikes": "the number of look-alikes",
    "dropped anchor": "counts without an anchor",
    "half target": "half a description of the target",
    "half, dropped": "half a description of the target without an anchor",
    "half anchor": "half a description of an anchor",
    "objects": "numbers of objects",
    "positions": "places",
    "joint": "look-alikes together with numbers of objects or a count without an anchor",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """What holds for the scenes of a bucket."""

    sentence: str
    covers: tuple[str, ...] = ()
    """Families of learned shortcuts that do not pay."""
    leaks: tuple[str, ...] = ()
    """Families that are known to pay."""


def promise_of(bucket: Bucket, objects: int, recipe: Recipe, mode: Mode) -> Promise:
    """The promise of a bucket with a number of objects.

    >>> from theodolite.instruments.grid.data.recipe import PAPER, SOUND
    >>> from theodolite.instruments.grid.data.world import bucket_index
    >>> promise_of(BUCKETS[bucket_index("M-F0-D2")], 17, PAPER, "pure").sentence
    'Without any one of its anchors, a question gets a wrong answer (Theorem 1).'
    >>> promise_of(BUCKETS[bucket_index("M-F0-D2")], 17, SOUND, "pure").leaks
    ('half, dropped',)
    """
    if mode == "spur":
        return Promise("A bag of words is right.")
    if recipe.law == "balanced":
        return _balanced(bucket, objects, recipe)
    if not bucket.n_anchors:
        return Promise("Nothing: the question has no relation.")
    if recipe.law == "released":
        return Promise(
            "Nothing: Theorem 1 is claimed, but the public generator leaves confuser regions empty."
        )
    return _theorem(bucket, objects)


def _theorem(bucket: Bucket, objects: int) -> Promise:
    guarantee = guarantee_of(bucket, objects)
    theorem = "Without any one of its anchors, a question gets a wrong answer (Theorem 1)"
    if bucket.is_comparison:
        theorem = "Without any anchor whose absence can mislead, a question gets a wrong answer (Theorem 1)"
    if guarantee.level == "full":
        return Promise(f"{theorem}.")
    if guarantee.by_answer:
        kept = " or ".join(answer for answer, level in guarantee.by_answer.items() if level == "full")
        return Promise(f"{theorem}, if the answer is {kept}: {guarantee.reason}.")
    return Promise(f"As far as objects suffice: {theorem[0].lower()}{theorem[1:]}; {guarantee.reason}.")


def _balanced(bucket: Bucket, objects: int, recipe: Recipe) -> Promise:
    left_out = (
        set()
        if bucket.is_relational
        else {"look-alikes", "dropped anchor", "half, dropped", "half anchor", "positions", "joint"}
    )
    leaks: list[str] = []
    if bucket.qtype in {"SO", "CO"}:
        left_out |= {"half target", "half, dropped", "half anchor"}
    elif not room_of(bucket, objects, recipe).has_halves:
        leaks = ["half target", "half, dropped"]
    elif bucket.anchors_per_side > 1:
        leaks = ["half, dropped"]
    covers = tuple(family for family in FAMILIES if family not in {*left_out, *leaks})
    parts = [_WORDS[family] for family in covers]
    listed = f"{', '.join(parts[:-1])} or {parts[-1]}"
    points = f"{round(100 * ALLOWED)} points"
    words = [f"No map from {listed} is right {points} more often than the best constant answer"]
    if bucket.is_comparison and bucket.is_relational:
        words[0] += " or, if it counts one group rightly, than the best map from that count"
        words.append(f"that count alone is more than {points} above the best constant answer")
    if leaks:
        words.append(f"{' and '.join(_WORDS[family] for family in leaks)} can tell the answer")
    return Promise("; ".join(words) + ".", covers, tuple(leaks))


def promise_table(plan: DatasetPlan) -> Table:
    """Every promise of a plan, with its buckets."""
    found: dict[str, dict[str, list[int]]] = {}
    for objects in map(plan.recipe.objects, plan.densities):
        for bucket in BUCKETS:
            if bucket.key in plan.buckets:
                sentence = promise_of(bucket, objects, plan.recipe, plan.mode).sentence
                found.setdefault(sentence, {}).setdefault(bucket.key, []).append(objects)
    everything = sorted({plan.recipe.objects(density) for density in plan.densities})
    rows: list[list[Cell]] = []
    for sentence, buckets in found.items():
        named = [
            key if sorted(counts) == everything else f"{key} with {', '.join(map(str, counts))} objects"
            for key, counts in buckets.items()
        ]
        rows.append([sentence, ", ".join(named)])
    notes = []
    if plan.mode == "pure" and plan.recipe.law != "balanced":
        notes = ["Nothing is promised of what can be learned from counts; `grid audit` measures it."]
    columns = [Column("promise", "promise"), Column("buckets", "buckets")]
    return Table.of("grid.promises", f"What the preset {plan.recipe.name} promises", columns, rows, notes)
