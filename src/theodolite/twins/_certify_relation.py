"""The relation task: four-way accuracy with three prompts, what edits of the picture do to the answer, and what they must not do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from theodolite.compass import PROMPTS, Pair, Prompt, pair_item
from theodolite.compass.edited import brighter, mirrored
from theodolite.compass.readouts import read_option
from theodolite.twins._desk import Asked, Desk, Line, mean, share
from theodolite.twins.data import Split, edited_pair, relation_pairs

FOLLOWED: dict[str, Callable[[Pair, int], Pair]] = {
    "flip": lambda pair, _: mirrored(pair),
    "mirror": lambda pair, seed: edited_pair(pair, "mirror", seed=seed),
    "move": lambda pair, seed: edited_pair(pair, "move", seed=seed),
    "swap": lambda pair, seed: edited_pair(pair, "swap", seed=seed),
    "roles": lambda pair, _: _roles(pair),
}
"""Edits that change the right answer. ``flip``: all pixels turned over along the asked axis. ``mirror``: every thing at its mirrored
place, itself unchanged. ``move``: the target on another side. ``swap``: the two exchange places. ``roles``: the question
exchanges them."""
KEPT: dict[str, Callable[[Pair, int], Pair]] = {
    "ground": lambda pair, seed: edited_pair(pair, "ground", seed=seed),
    "clutter": lambda pair, seed: edited_pair(pair, "clutter", seed=seed),
    "brighter": lambda pair, _: brighter(pair),
}
"""Edits that leave the right answer as it is."""
_OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}
_PORTION = 200
"""Pairs that are drawn at once."""


def _roles(pair: Pair) -> Pair:
    return replace(pair, reference=pair.target, target=pair.reference, direction=_OPPOSITE[pair.direction])


def relation_lines(desk: Desk, n: int) -> Iterator[Line]:
    """All lines of the task.

    Args:
        desk: where to ask.
        n: pairs of each split, each on its own picture.
    """
    splits: tuple[Split, ...] = ("aligned", "crossed")
    for split in splits:
        said: dict[str, list[tuple[str | None, str, str]]] = {name: [] for name in PROMPTS}
        for pairs in _portions(n, desk.seed, split):
            for name, prompt in PROMPTS.items():
                answers = _ask(desk, pairs, prompt, f"relation {split}")
                said[name] += [
                    (answer, pair.direction, str(pair.meta["shortcut"]))
                    for answer, pair in zip(answers, pairs, strict=True)
                ]
        yield from _accuracy(said, split, desk.seed)
    yield from _edits(desk, n)


def _accuracy(said: dict[str, list[tuple[str | None, str, str]]], split: str, seed: int) -> Iterator[Line]:
    whats = {"accuracy": 1} if split == "aligned" else {"accuracy": 1, "says the shortcut": 2}
    unread = sum(answer is None for rows in said.values() for answer, *_ in rows)
    for what, place in whats.items():
        hits = {name: [row[0] == row[place] for row in rows] for name, rows in said.items()}
        names = [f"{i}" for rows in hits.values() for i in range(len(rows))]
        pooled = mean([float(hit) for rows in hits.values() for hit in rows], names, seed=seed)
        yield Line("relation", what, split, pooled, unread=unread)
        for name, rows in hits.items():
            yield Line("relation", what, split, share(rows), f"prompt {name}")


def _edits(desk: Desk, n: int) -> Iterator[Line]:
    """On aligned pairs, where both twins answer right before the edit."""
    prompt = PROMPTS["A"]
    before: list[str | None] = []
    after: dict[str, list[tuple[str | None, str]]] = {name: [] for name in (*FOLLOWED, *KEPT, "blank")}
    for pairs in _portions(n, desk.seed, "aligned"):
        before += _ask(desk, pairs, prompt, "relation edits")
        for name in after:
            edited = [_edited(pair, name, desk.seed) for pair in pairs]
            answers = _ask(desk, edited, prompt, "relation edits")
            after[name] += [(a, pair.direction) for a, pair in zip(answers, edited, strict=True)]
    for name, rows in after.items():
        unread = sum(answer is None for answer, _ in rows)
        changed = [answer != first for (answer, _), first in zip(rows, before, strict=True)]
        if name in FOLLOWED:
            follows = share([answer == truth for answer, truth in rows])
            yield Line("relation", f"follows: {name}", "aligned", follows, unread=unread)
        if name in KEPT:
            yield Line(
                "relation", f"keeps: {name}", "aligned", share([not c for c in changed]), unread=unread
            )
        else:
            yield Line("relation", f"changes: {name}", "aligned", share(changed), unread=unread)


def _edited(pair: Pair, name: str, seed: int) -> Pair:
    if name == "blank":
        return edited_pair(pair, "blank")
    return {**FOLLOWED, **KEPT}[name](pair, seed)


def _portions(n: int, seed: int, split: Split) -> Iterator[list[Pair]]:
    """Pairs a few at a time; a portion's seed is the certificate's and its own place."""
    for place, start in enumerate(range(0, n, _PORTION)):
        yield relation_pairs(min(_PORTION, n - start), seed=seed * 1000 + place, split=split)


def _ask(desk: Desk, pairs: Sequence[Pair], prompt: Prompt, what: str) -> list[str | None]:
    """The direction that is said of each pair."""
    items = (pair_item(pair, prompt) for pair in pairs)
    read = partial(read_option, options=prompt.options)
    said = desk.answers((Asked(item.request, item.options, read) for item in items), what)
    return [None if token is None else prompt.options[token] for token in said]
