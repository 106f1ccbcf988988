"""The trace task: answers and steps on short episodes of three worlds, against chance, random traces, and edited frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from theodolite.trace import (
    Episode,
    JudgedTrace,
    Trace,
    judge,
    open_verifier,
    plan_traces,
    read_trace,
    with_claims,
)
from theodolite.trace.metrics import RandomLabels, random_trace, trace_sgr
from theodolite.twins._desk import Desk, Line, difference, mean, share
from theodolite.twins.data import WORLDS, Split, episodes
from theodolite.twins.edits import edited_episode
from theodolite.types import Response

_SPLITS: tuple[Split, ...] = ("aligned", "crossed", "free")
_MAX_TOKENS = 320
_EDITED_SHARE = 0.2
"""Of the aligned episodes that are also shown edited: an edit costs as much as an episode."""


def trace_lines(desk: Desk, n: int) -> Iterator[Line]:
    """All lines of the task.

    Args:
        desk: where to ask.
        n: episodes of each split, at least; the same number of each world.
    """
    each = math.ceil(n / len(WORLDS))
    for split in _SPLITS:
        shown = episodes(each, seed=desk.seed, split=split)
        told = _told(desk, shown, f"trace {split}")
        yield from _accuracy(told, split, desk.seed)
        if split != "aligned":
            yield from _grounding(told, split, desk.seed)
        else:
            yield from _edits(desk, told[:: round(1 / _EDITED_SHARE)])


@dataclass(frozen=True, slots=True)
class Told:
    """An episode with what was said of it."""

    episode: Episode
    response: Response
    judged: JudgedTrace

    @property
    def is_right(self) -> bool:
        """Whether the answer is the true one."""
        return bool(self.judged.is_correct)

    @property
    def answer(self) -> str:
        """In plain words."""
        return " ".join(self.judged.trace.answer.casefold().strip(" .*").split())


def _told(desk: Desk, shown: Sequence[Episode], what: str) -> list[Told]:
    items = plan_traces(shown, max_tokens=_MAX_TOKENS)
    responses = desk.texts((item.request for item in items), what)
    traces = [
        read_trace(response.text, episode, style="structured", reasoning=response.reasoning)
        for episode, response in zip(shown, responses, strict=True)
    ]
    judged = _judged(traces, shown)
    return [Told(e, r, j) for e, r, j in zip(shown, responses, judged, strict=True)]


def _judged(traces: Iterable[Trace], shown: Sequence[Episode]) -> list[JudgedTrace]:
    by_id = {episode.id: episode for episode in shown}
    return judge(with_claims(list(traces)), by_id, open_verifier("annotation"))


def _accuracy(told: Sequence[Told], split: str, seed: int) -> Iterator[Line]:
    unread = sum(not each.judged.trace.answer for each in told)
    yield Line("trace", "accuracy", split, share([each.is_right for each in told]), unread=unread)
    for world in WORLDS:
        rows = [each for each in told if each.episode.world == world]
        yield Line("trace", "accuracy", split, share([each.is_right for each in rows]), world)
    if split == "crossed":
        says = [each.answer == str(each.episode.meta["shortcut"]).casefold() for each in told]
        yield Line("trace", "says the shortcut", split, share(says))
    if split == "free":
        chance = [1 / len(each.episode.options) for each in told]
        units = [each.episode.unit for each in told]
        yield Line("trace", "chance", split, mean(chance, units, seed=seed))
        gap = difference([float(each.is_right) for each in told], chance, units, seed=seed)
        yield Line("trace", "accuracy less chance", split, gap)


def _grounding(told: Sequence[Told], split: str, seed: int) -> Iterator[Line]:
    """SGR; and against traces drawn at random, whose claims are judged alike, on the same episodes."""
    shown = [each.episode for each in told]
    labels = RandomLabels(shown)
    null = _judged([random_trace(episode, labels, seed=seed) for episode in shown], shown)
    both = [
        (own, drawn, each.episode)
        for each, other in zip(told, null, strict=True)
        if (own := trace_sgr(each.judged)) is not None and (drawn := trace_sgr(other)) is not None
    ]
    if not both:
        return
    mine, theirs = [row[0] for row in both], [row[1] for row in both]
    units = [row[2].unit for row in both]
    yield Line("trace", "SGR", split, mean(mine, units, seed=seed), unread=len(told) - len(both))
    for world in WORLDS:
        rows = [(sgr, episode.unit) for sgr, _, episode in both if episode.world == world]
        if rows:
            yield Line(
                "trace", "SGR", split, mean([r[0] for r in rows], [r[1] for r in rows], seed=seed), world
            )
    yield Line("trace", "SGR of random traces", split, mean(theirs, units, seed=seed))
    yield Line("trace", "SGR less random traces'", split, difference(mine, theirs, units, seed=seed))


def _edits(desk: Desk, told: Sequence[Told]) -> Iterator[Line]:
    """Frames edited so that another answer is right, and frames edited where it does not matter."""
    before = {each.episode.id: each for each in told}
    moved, restyled = [], []
    for each in told:
        for family in ("position", "temporal"):
            edited = edited_episode(each.episode, family, seed=desk.seed)
            if edited is not None and edited.answer and edited.answer != each.episode.answer:
                moved.append(edited)
                break
        edited = edited_episode(each.episode, "irrelevant", seed=desk.seed)
        if edited is not None:
            restyled.append(edited)
    for name, shown in (("edited frames", moved), ("other colours of the room", restyled)):
        after = _told(desk, shown, "trace edits") if shown else []
        same = [row.answer == _base(row, before).answer for row in after]
        if after and name == "edited frames":
            yield Line("trace", f"follows: {name}", "aligned", share([row.is_right for row in after]))
            yield Line("trace", f"changes: {name}", "aligned", share([not s for s in same]))
        elif after:
            yield Line("trace", f"keeps: {name}", "aligned", share(same))


def _base(row: Told, before: dict[str, Told]) -> Told:
    edit = row.episode.edit
    return before[edit.base if edit is not None else row.episode.id]
