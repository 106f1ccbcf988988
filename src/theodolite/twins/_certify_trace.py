"""The trace task: answers and steps on short episodes of three worlds, against chance, random traces, and edited frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from theodolite.trace import (
    Episode,
    JudgedTrace,
    Trace,
    judge,
    open_verifier,
    plan_traces,
    read_episodes,
    read_trace,
    with_claims,
    write_episodes,
)
from theodolite.trace.metrics import RandomLabels, random_trace, trace_sgr
from theodolite.trace.worlds import Family
from theodolite.twins._desk import Line, Probe, Row, difference, mean, share, spread
from theodolite.twins._stories import blind_text
from theodolite.twins.data import WORLDS, Split, episodes
from theodolite.twins.edits import edited_episode
from theodolite.types import Item

_SPLITS: tuple[Split, ...] = ("aligned", "crossed", "free")
_MAX_TOKENS = 320
_PORTION = 10
"""Episodes that are made at once."""
_EVERY = 5
"""Every so many-th aligned episode is also shown edited: an edit costs as much as an episode."""
_TURNING: tuple[Family, ...] = ("position", "temporal")
"""Edits after which another answer may be right."""


def trace_probes(n: int, seed: int, folder: Path, workers: int = 1) -> Iterator[Probe]:
    """Episodes of all splits, and some aligned ones with their frames edited. What is true of them is kept in the folder.

    Args:
        n: episodes of each split, at least; the same number of each world.
        seed: of the draw.
        folder: for the episodes, without their pictures.
        workers: processes that draw.
    """
    each = math.ceil(n / len(WORLDS))
    tasks = [
        (world, split, (seed * 10 + _SPLITS.index(split)) * 1000 + place, min(_PORTION, each - start))
        for split in _SPLITS
        for world in WORLDS
        for place, start in enumerate(range(0, each, _PORTION))
    ]
    known: list[Episode] = []
    for probe in spread(_portion, tasks, workers):
        known.append(probe.row.pop("episode"))
        yield probe
    write_episodes(known, folder)


def _portion(task: tuple[str, Split, int, int]) -> list[Probe]:
    world, split, seed, n = task
    found = []
    for number, episode in enumerate(episodes(n, seed=seed, split=split, worlds=(world,))):
        found.append(_probe(episode, split, "plain"))
        if split == "aligned" and number % _EVERY == 0:
            found += [_probe(edited, split, kind) for kind, edited in _edited(episode, seed)]
    return found


def _edited(episode: Episode, seed: int) -> Iterator[tuple[str, Episode]]:
    """The first edit after which another answer is right, and one that leaves it."""
    turned = (edited_episode(episode, family, seed=seed) for family in _TURNING)
    for edited in turned:
        if edited is not None and edited.answer and edited.answer != episode.answer:
            yield "turned", edited
            break
    restyled = edited_episode(episode, "irrelevant", seed=seed)
    if restyled is not None:
        yield "restyled", restyled


def _probe(episode: Episode, split: str, kind: str) -> Probe:
    (item,) = _items(episode)
    frames = tuple(replace(frame, picture=None) for frame in episode.frames)
    meta = {key: value for key, value in episode.meta.items() if key in {"shortcut", "split"}}
    base = episode.edit.base if episode.edit is not None else episode.id
    row: Row = {
        "split": split,
        "kind": kind,
        "part": episode.world,
        "unit": base,
        "name": episode.id,
        "shortcut": str(episode.meta["shortcut"]),
        "episode": replace(episode, frames=frames, meta=meta),
    }
    return Probe(item.request, row)


def _items(episode: Episode) -> Iterable[Item]:
    return plan_traces([episode], max_tokens=_MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class Told:
    """An episode with what was said of it."""

    episode: Episode
    row: Row
    judged: JudgedTrace

    @property
    def is_right(self) -> bool:
        """Whether the answer is the true one."""
        return bool(self.judged.is_correct)

    @property
    def answer(self) -> str:
        """In plain words."""
        return " ".join(self.judged.trace.answer.casefold().strip(" .*").split())


def trace_lines(rows: Sequence[Row], seed: int, folder: Path) -> Iterator[Line]:
    """All lines of the task, from kept rows and kept episodes."""
    known = {episode.id: episode for episode in read_episodes(folder).episodes}
    shown = [known[row["name"]] for row in rows]
    traces = [
        read_trace(row["text"], episode, style="structured") for row, episode in zip(rows, shown, strict=True)
    ]
    judged = _judged(traces, known)
    told = [Told(e, row, j) for e, row, j in zip(shown, rows, judged, strict=True)]
    for split in _SPLITS:
        plain = [each for each in told if each.row["split"] == split and each.row["kind"] == "plain"]
        yield from _accuracy(plain, split, seed)
        if split != "aligned":
            yield from _grounding(plain, split, seed)
    yield from _edits(told)


def _judged(traces: Iterable[Trace], known: Mapping[str, Episode]) -> list[JudgedTrace]:
    return judge(with_claims(list(traces)), known, open_verifier("annotation"))


def _accuracy(told: Sequence[Told], split: str, seed: int) -> Iterator[Line]:
    unread = sum(not each.judged.trace.answer for each in told)
    yield Line("trace", "accuracy", split, share([each.is_right for each in told]), unread=unread)
    for world in sorted({each.episode.world for each in told}):
        own = [each.is_right for each in told if each.episode.world == world]
        yield Line("trace", "accuracy", split, share(own), world)
    if split == "crossed":
        says = [each.answer == each.row["shortcut"].casefold() for each in told]
        yield Line("trace", "says the shortcut", split, share(says))
    if split == "free":
        chance = [1 / len(each.episode.options) for each in told]
        units = [each.episode.unit for each in told]
        yield Line("trace", "chance", split, mean(chance, units, seed=seed))
        gap = difference([float(each.is_right) for each in told], chance, units, seed=seed)
        yield Line("trace", "accuracy less chance", split, gap)


def _grounding(told: Sequence[Told], split: str, seed: int) -> Iterator[Line]:
    """SGR; and against traces drawn at random, whose claims are judged alike, on the same episodes."""
    shown = {each.episode.id: each.episode for each in told}
    labels = RandomLabels(list(shown.values()))
    null = _judged([random_trace(each.episode, labels, seed=seed) for each in told], shown)
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
    for world in sorted({episode.world for *_, episode in both}):
        here = [(sgr, episode.unit) for sgr, _, episode in both if episode.world == world]
        yield Line("trace", "SGR", split, mean([v for v, _ in here], [u for _, u in here], seed=seed), world)
    yield Line("trace", "SGR of random traces", split, mean(theirs, units, seed=seed))
    yield Line("trace", "SGR less random traces'", split, difference(mine, theirs, units, seed=seed))
    guesses = _guesses([row[2] for row in both])
    yield Line("trace", "SGR of blind guesses", split, mean(guesses, units, seed=seed))
    yield Line("trace", "SGR less blind guesses'", split, difference(mine, guesses, units, seed=seed))


def _guesses(shown: Sequence[Episode]) -> list[float]:
    """For each episode the expected SGR of one who reads the question and draws an option: the mean over the options.

    Random traces name things at random, which are seldom there. Whoever has read the question names things that are: this is
    how far that alone carries.
    """
    known = {episode.id: episode for episode in shown}
    told = [
        read_trace(blind_text(episode, "structured", option), episode, style="structured")
        for episode in known.values()
        for option in episode.options
    ]
    judged = iter(_judged(told, known))
    found = {}
    for episode in known.values():
        each = [trace_sgr(next(judged)) for _ in episode.options]
        found[episode.id] = math.fsum(sgr or 0.0 for sgr in each) / len(each)
    return [found[episode.id] for episode in shown]


def _edits(told: Sequence[Told]) -> Iterator[Line]:
    """Frames edited so that another answer is right, and frames edited where it does not matter."""
    before = {each.row["unit"]: each.answer for each in told if each.row["kind"] == "plain"}
    turned, restyled = (
        [each for each in told if each.row["kind"] == kind] for kind in ("turned", "restyled")
    )
    if turned:
        yield Line("trace", "follows: edited frames", "aligned", share([each.is_right for each in turned]))
        changed = share([each.answer != before[each.row["unit"]] for each in turned])
        yield Line("trace", "changes: edited frames", "aligned", changed)
    if restyled:
        same = share([each.answer == before[each.row["unit"]] for each in restyled])
        yield Line("trace", "keeps: other colours of the room", "aligned", same)
