"""The trace task: answers and steps on short episodes of three worlds, against chance, random traces, and edited frames."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from theodolite.core.splits import Split
from theodolite.core.types import Item, Picture
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Trace
from theodolite.instruments.trace.data.dataset import read_episodes, write_episodes
from theodolite.instruments.trace.data.episode import Episode, Family
from theodolite.instruments.trace.data.stories import WORLDS, blind_text, edited_episode, episodes
from theodolite.instruments.trace.experiments.controls import RandomLabels, random_trace
from theodolite.instruments.trace.formulas.sgr import trace_sgr
from theodolite.instruments.trace.questions import plan_traces
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, judge, open_verifier
from theodolite.twins.certificate_stats import Line, Probe, Row, difference, mean, share, spread

_SPLITS: tuple[Split, ...] = ("aligned", "crossed", "free")
_MAX_TOKENS = 320
_PORTION = 10
"""Episodes that are made at once."""
_AHEAD = 8
"""Portions that processes may draw ahead while it is not yet known whether enough episodes are turned by an edit."""
_MOST = 20
"""No more than so many times the episodes are drawn for that."""
_TURNING: tuple[Family, ...] = ("position", "temporal")
"""Edits after which another answer may be right."""


def trace_probes(n: int, seed: int, folder: Path, workers: int = 1) -> Iterator[Probe]:
    """Episodes of all splits. What is true of them is kept in the folder.

    Args:
        n: episodes of each split, at least; the same number of each world.
        seed: of the draw.
        folder: for the episodes, without their pictures.
        workers: processes that draw.
    """
    each = math.ceil(n / len(WORLDS))
    tasks = [
        _task(world, split, seed, place, min(_PORTION, each - start))
        for split in _SPLITS
        for world in WORLDS
        for place, start in enumerate(range(0, each, _PORTION))
    ]
    yield from _keeping(spread(_portion, tasks, workers), folder)


def trace_edits(n: int, seed: int, folder: Path, workers: int = 1) -> Iterator[Probe]:
    """The aligned episodes with their frames edited, and blank; and more of them until so many have an edit that turns them.

    Args:
        n: episodes after each edit, at least; the same number of each world.
        seed: of the draw.
        folder: for the episodes, without their pictures.
        workers: processes that draw.
    """
    each = math.ceil(n / len(WORLDS))
    worlds = (_turned(world, each, seed, workers) for world in WORLDS)
    yield from _keeping(itertools.chain.from_iterable(worlds), folder)


def _turned(world: str, each: int, seed: int, workers: int) -> Iterator[Probe]:
    """The portions of one world, and more until enough episodes have another answer after an edit."""
    n_own, n_turned = math.ceil(each / _PORTION), 0
    own = [(place, min(_PORTION, each - place * _PORTION)) for place in range(n_own)]
    tasks = [(*_task(world, "aligned", seed, place, n), False) for place, n in own]
    for probe in spread(_edited_portion, tasks, workers):
        n_turned += probe.row["kind"] == "turned"
        yield probe
    for first in range(n_own, _MOST * n_own, _AHEAD):
        more = range(first, first + _AHEAD)
        tasks = [(*_task(world, "aligned", seed, place, _PORTION), True) for place in more]
        for probe in spread(_edited_portion, tasks, workers):
            if n_turned == each:
                return
            n_turned += probe.row["kind"] == "turned"
            yield probe


def _task(world: str, split: Split, seed: int, place: int, n: int) -> tuple[str, Split, int, int]:
    return world, split, (seed * 10 + _SPLITS.index(split)) * 1000 + place, n


def _keeping(probes: Iterable[Probe], folder: Path) -> Iterator[Probe]:
    """The probes; when all are made, what is true of their episodes is written."""
    known: list[Episode] = []
    for probe in probes:
        known.append(probe.row.pop("episode"))
        yield probe
    write_episodes(known, folder)


def _portion(task: tuple[str, Split, int, int]) -> list[Probe]:
    world, split, seed, n = task
    return [_probe(e, split, "plain") for e in episodes(n, seed=seed, split=split, worlds=(world,))]


def _edited_portion(task: tuple[str, Split, int, int, bool]) -> list[Probe]:
    """Edits of episodes that are asked as they are too; of `more` ones only the edit that turns them, where there is one."""
    world, split, seed, n, is_more = task
    found = []
    for episode in episodes(n, seed=seed, split=split, worlds=(world,)):
        turned = _with_another_answer(episode, seed)
        if turned is not None:
            found += [_probe(episode, split, "before")] if is_more else []
            found.append(_probe(turned, split, "turned"))
        if not is_more:
            restyled = edited_episode(episode, "irrelevant", seed=seed)
            found += [_probe(restyled, split, "restyled")] if restyled is not None else []
            found.append(_probe(_blank(episode), split, "blank"))
    return found


def _with_another_answer(episode: Episode, seed: int) -> Episode | None:
    """After the first edit that makes another answer right."""
    for family in _TURNING:
        edited = edited_episode(episode, family, seed=seed)
        if edited is not None and edited.answer and edited.answer != episode.answer:
            return edited
    return None


def _blank(episode: Episode) -> Episode:
    """The same with every frame grey all over."""
    frames = tuple(replace(frame, picture=_grey(frame.picture)) for frame in episode.frames)
    return replace(episode, id=f"{episode.id}/blank", frames=frames)


def _grey(picture: Picture | None) -> Picture | None:
    return picture and Picture.from_array(np.full_like(picture.pixels(), 128))


def _probe(episode: Episode, split: str, kind: str) -> Probe:
    (item,) = _items(episode)
    frames = tuple(replace(frame, picture=None) for frame in episode.frames)
    meta = {key: value for key, value in episode.meta.items() if key in {"shortcut", "split"}}
    base = episode.edit.base if episode.edit is not None else episode.id.removesuffix("/blank")
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


def trace_lines(rows: Sequence[Row], seed: int, folders: Sequence[Path]) -> Iterator[Line]:
    """All lines of the task, from kept rows and kept episodes."""
    known = {episode.id: episode for folder in folders for episode in read_episodes(folder).episodes}
    shown = [known[row["name"]] for row in rows]
    traces = [
        read_trace(row["text"], episode, style="structured") for row, episode in zip(rows, shown, strict=True)
    ]
    judged = _judged(traces, known)
    told = [Told(e, row, j) for e, row, j in zip(shown, rows, judged, strict=True)]
    for split in _SPLITS:
        plain = [each for each in told if each.row["split"] == split and each.row["kind"] == "plain"]
        yield from _accuracy(plain, split)
        if split != "aligned":
            yield from _grounding(plain, split, seed)
    yield from _edits(told)


def _judged(traces: Iterable[Trace], known: Mapping[str, Episode]) -> list[JudgedTrace]:
    return judge(with_claims(list(traces)), known, open_verifier("annotation"))


def _accuracy(told: Sequence[Told], split: str) -> Iterator[Line]:
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
        yield Line("trace", "chance", split, mean(chance, units))
        gap = difference([float(each.is_right) for each in told], chance, units)
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
    yield Line("trace", "SGR", split, mean(mine, units), unread=len(told) - len(both))
    for world in sorted({episode.world for *_, episode in both}):
        here = [(sgr, episode.unit) for sgr, _, episode in both if episode.world == world]
        yield Line("trace", "SGR", split, mean([v for v, _ in here], [u for _, u in here]), world)
    yield Line("trace", "SGR of random traces", split, mean(theirs, units))
    yield Line("trace", "SGR less random traces'", split, difference(mine, theirs, units))
    guesses = _guesses([row[2] for row in both])
    yield Line("trace", "SGR of blind guesses", split, mean(guesses, units))
    yield Line("trace", "SGR less blind guesses'", split, difference(mine, guesses, units))


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
    """Frames edited so that another answer is right, frames edited where it does not matter, and frames with nothing in them."""
    before = {each.row["unit"]: each.answer for each in told if each.row["kind"] in {"plain", "before"}}
    by_kind = {
        kind: [each for each in told if each.row["kind"] == kind] for kind in ("turned", "restyled", "blank")
    }
    same = {
        kind: [bool(each.answer) and each.answer == before[each.row["unit"]] for each in some]
        for kind, some in by_kind.items()
    }
    unread = {kind: sum(not each.answer for each in some) for kind, some in by_kind.items()}

    def line(what: str, kind: str, hits: Sequence[bool]) -> Line:
        return Line("trace", what, "aligned", share(hits), unread=unread[kind])

    if by_kind["turned"]:
        yield line("follows: edited frames", "turned", [each.is_right for each in by_kind["turned"]])
        yield line("changes: edited frames", "turned", [not is_same for is_same in same["turned"]])
    if by_kind["restyled"]:
        yield line("keeps: other colours of the room", "restyled", same["restyled"])
    if by_kind["blank"]:
        yield line("changes: blank frames", "blank", [not is_same for is_same in same["blank"]])
