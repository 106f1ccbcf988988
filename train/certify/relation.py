"""The relation task: four-way accuracy with three prompts, and answers under relevant and neutral edits of the picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from theodolite.core.scores import Split
from theodolite.instruments.compass.data.drawn import edited_pair, mirrored, relation_pairs
from theodolite.instruments.compass.data.pairs import Pair
from theodolite.instruments.compass.questions import PROMPTS, TABLE_9, pair_item, read_direction
from theodolite.pairs.pictures import light
from theodolite.twins.certificate import Line
from train.certify.probes import Probe, Row, make_probes, mean, share

FOLLOWED: dict[str, Callable[[Pair, int], Pair]] = {
    "flip": lambda pair, _: mirrored(pair),
    "mirror": lambda pair, seed: edited_pair(pair, "mirror", seed=seed),
    "move": lambda pair, seed: edited_pair(pair, "move", seed=seed),
    "swap": lambda pair, seed: edited_pair(pair, "swap", seed=seed),
    "roles": lambda pair, _: _roles(pair),
}
"""Relevant edits. ``flip``: the picture is mirrored along the axis of the question. ``mirror``: the positions of all objects
are mirrored, the objects themselves are not. ``move``: the target is moved to another side. ``swap``: reference and target
exchange places. ``roles``: the question exchanges them."""
KEPT: dict[str, Callable[[Pair, int], Pair]] = {
    "ground": lambda pair, seed: edited_pair(pair, "ground", seed=seed),
    "clutter": lambda pair, seed: edited_pair(pair, "clutter", seed=seed),
    "brighter": lambda pair, _: replace(pair, picture=light(pair.picture)),
}
"""Neutral edits."""
_BLANK = "blank"
_OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}
_SPLITS: tuple[Split, ...] = ("aligned", "crossed")
_PORTION = 50
"""Number of pairs drawn at a time."""
_CROWDED = 500
"""Offset of the seed for the extra pairs with clutter, which replace pairs without clutter."""


def _roles(pair: Pair) -> Pair:
    return replace(pair, reference=pair.target, target=pair.reference, direction=_OPPOSITE[pair.direction])


def relation_probes(n: int, seed: int, workers: int = 1) -> Iterator[Probe]:
    """Yield every pair with every prompt.

    Args:
        n: Number of pairs per split, each with its own picture.
        seed: Seed of the draw.
        workers: Number of processes that draw pictures.
    """
    yield from make_probes(_portion, [task for split in _SPLITS for task in _tasks(n, seed, split)], workers)


def relation_edits(n: int, seed: int, workers: int = 1) -> Iterator[Probe]:
    """Yield the aligned pairs, where both twins are right, after every edit.

    Args:
        n: Number of pairs, each with its own picture.
        seed: Seed of the draw.
        workers: Number of processes that draw pictures.
    """
    yield from make_probes(_edited_portion, _tasks(n, seed, "aligned"), workers)


def _tasks(n: int, seed: int, split: Split) -> list[tuple[Split, int, int]]:
    return [
        (split, seed * 1000 + number, min(_PORTION, n - start))
        for number, start in enumerate(range(0, n, _PORTION))
    ]


def _portion(task: tuple[Split, int, int]) -> list[Probe]:
    split, seed, n = task
    pairs = relation_pairs(n, seed=seed, split=split)
    return [_probe(pair, pair, prompt, "plain") for pair in pairs for prompt in TABLE_9]


def _edited_portion(task: tuple[Split, int, int]) -> list[Probe]:
    split, seed, n = task
    pairs = relation_pairs(n, seed=seed, split=split)
    n_without = sum(not pair.others for pair in pairs)
    crowded = relation_pairs(n_without, seed=seed + _CROWDED, split=split, n_things=3)
    probes = [_probe(pair, pair, "A", "before") for pair in crowded]
    for pair in pairs:
        probes += [_probe(pair, edit(pair, seed), "A", kind) for kind, edit in FOLLOWED.items()]
        probes += [
            _probe(pair, edit(pair, seed), "A", kind) for kind, edit in KEPT.items() if kind != "clutter"
        ]
        probes.append(_probe(pair, edited_pair(pair, "blank"), "A", _BLANK))
    for pair in [*(pair for pair in pairs if pair.others), *crowded]:
        probes.append(_probe(pair, KEPT["clutter"](pair, seed), "A", "clutter"))
    return probes


def _probe(pair: Pair, shown: Pair, prompt: str, kind: str) -> Probe:
    item = pair_item(shown, PROMPTS[prompt])
    row: Row = {
        "split": str(pair.meta["split"]),
        "kind": kind,
        "part": f"prompt {prompt}",
        "unit": pair.id,
        "gold": PROMPTS[prompt].token_for(shown.direction),
        "shortcut": PROMPTS[prompt].token_for(str(pair.meta["shortcut"])),
    }
    return Probe(
        item.request, row, item.options, partial(read_direction, options=dict(PROMPTS[prompt].options))
    )


def relation_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Compute all lines of the task from stored rows."""
    for split in _SPLITS:
        plain = [row for row in rows if row["split"] == split and row["kind"] == "plain"]
        whats = ("gold",) if split == "aligned" else ("gold", "shortcut")
        for key in whats:
            quantity = {"gold": "accuracy", "shortcut": "says the shortcut"}[key]
            hits = [row["said"] == row[key] for row in plain]
            units = [row["unit"] for row in plain]
            unread = sum(row["said"] is None for row in plain)
            pooled = mean([float(hit) for hit in hits], units)
            yield Line("relation", quantity, split, pooled, unread=unread)
            for part in sorted({row["part"] for row in plain}):
                own = [hit for hit, row in zip(hits, plain, strict=True) if row["part"] == part]
                yield Line("relation", quantity, split, share(own), part)
    yield from _edits(rows)


def _edits(rows: Sequence[Row]) -> Iterator[Line]:
    aligned = [row for row in rows if row["split"] == "aligned" and row["part"] == "prompt A"]
    before = {row["unit"]: row["said"] for row in aligned if row["kind"] in {"plain", "before"}}
    for kind in (*FOLLOWED, *KEPT, _BLANK):
        edited = [row for row in aligned if row["kind"] == kind]
        if not edited:
            continue
        unread = sum(row["said"] is None for row in edited)
        same = [row["said"] is not None and row["said"] == before[row["unit"]] for row in edited]
        if kind in FOLLOWED:
            follows = share([row["said"] == row["gold"] for row in edited])
            yield Line("relation", f"follows: {kind}", "aligned", follows, unread=unread)
        if kind in KEPT:
            yield Line("relation", f"keeps: {kind}", "aligned", share(same), unread=unread)
        else:
            yield Line("relation", f"changes: {kind}", "aligned", share([not s for s in same]), unread=unread)
