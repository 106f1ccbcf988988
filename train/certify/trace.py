"""The trace task: answers and steps on short episodes of three worlds, with baselines and edited frames."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from theodolite.core.scores import Split
from theodolite.core.types import Item, Picture
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Trace
from theodolite.instruments.trace.data.dataset import read_episodes, write_episodes
from theodolite.instruments.trace.data.stories import WORLDS, blind_text, edited_episode, episodes
from theodolite.instruments.trace.experiments.robustness import RandomLabels, random_trace
from theodolite.instruments.trace.formulas.sgr import trace_sgr
from theodolite.instruments.trace.questions import plan_traces
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, judge, open_verifier
from theodolite.twins.certificate import Line
from theodolite.worlds.episodes import Episode, Family
from train.certify.probes import Probe, Row, difference, make_probes, mean, share

_SPLITS: tuple[Split, ...] = ("aligned", "crossed", "free")
_MAX_TOKENS = 320
_PORTION = 10
"""Number of episodes made at a time."""
_AHEAD = 8
"""Number of portions drawn at a time while more relevant edits are needed."""
_MOST = 20
"""At most this many times the planned portions are drawn to find enough relevant edits."""
_RELEVANT: tuple[Family, ...] = ("position", "temporal")
"""Edits that may change the right answer."""


def trace_probes(n: int, seed: int, folder: Path, workers: int = 1) -> Iterator[Probe]:
    """Yield episodes of all splits, and store them.

    Args:
        n: Minimum number of episodes per split. Every world has the same number.
        seed: Seed of the draw.
        folder: The folder for the episodes, without their pictures.
        workers: Number of processes that draw pictures.
    """
    per_world = math.ceil(n / len(WORLDS))
    tasks = [
        _task(world, split, seed, number, min(_PORTION, per_world - start))
        for split in _SPLITS
        for world in WORLDS
        for number, start in enumerate(range(0, per_world, _PORTION))
    ]
    yield from _storing(make_probes(_portion, tasks, workers), folder)


def trace_edits(n: int, seed: int, folder: Path, workers: int = 1) -> Iterator[Probe]:
    """Yield aligned episodes with edited and with blank frames, and more until n of them have a relevant edit.

    Args:
        n: Minimum number of episodes after each edit. Every world has the same number.
        seed: Seed of the draw.
        folder: The folder for the episodes, without their pictures.
        workers: Number of processes that draw pictures.
    """
    per_world = math.ceil(n / len(WORLDS))
    worlds = (_edited_world(world, per_world, seed, workers) for world in WORLDS)
    yield from _storing(itertools.chain.from_iterable(worlds), folder)


def _edited_world(world: str, per_world: int, seed: int, workers: int) -> Iterator[Probe]:
    """Yield the portions of one world, and more until enough episodes have another answer after an edit."""
    n_own, n_turned = math.ceil(per_world / _PORTION), 0
    own = [(number, min(_PORTION, per_world - number * _PORTION)) for number in range(n_own)]
    tasks = [(*_task(world, "aligned", seed, number, n), False) for number, n in own]
    for probe in make_probes(_edited_portion, tasks, workers):
        n_turned += probe.row["kind"] == "turned"
        yield probe
    for first in range(n_own, _MOST * n_own, _AHEAD):
        more = range(first, first + _AHEAD)
        tasks = [(*_task(world, "aligned", seed, number, _PORTION), True) for number in more]
        for probe in make_probes(_edited_portion, tasks, workers):
            if n_turned == per_world:
                return
            n_turned += probe.row["kind"] == "turned"
            yield probe


def _task(world: str, split: Split, seed: int, number: int, n: int) -> tuple[str, Split, int, int]:
    return world, split, (seed * 10 + _SPLITS.index(split)) * 1000 + number, n


def _storing(probes: Iterable[Probe], folder: Path) -> Iterator[Probe]:
    """Yield the probes, then write their episodes."""
    known: list[Episode] = []
    for probe in probes:
        known.append(probe.row.pop("episode"))
        yield probe
    write_episodes(known, folder)


def _portion(task: tuple[str, Split, int, int]) -> list[Probe]:
    world, split, seed, n = task
    return [_probe(e, split, "plain") for e in episodes(n, seed=seed, split=split, worlds=(world,))]


def _edited_portion(task: tuple[str, Split, int, int, bool]) -> list[Probe]:
    """Make the edits of a portion. For additional episodes (`is_more`) only the relevant edit, with the unedited episode."""
    world, split, seed, n, is_more = task
    probes = []
    for episode in episodes(n, seed=seed, split=split, worlds=(world,)):
        turned = _with_another_answer(episode, seed)
        if turned is not None:
            probes += [_probe(episode, split, "before")] if is_more else []
            probes.append(_probe(turned, split, "turned"))
        if not is_more:
            restyled = edited_episode(episode, "irrelevant", seed=seed)
            probes += [_probe(restyled, split, "restyled")] if restyled is not None else []
            probes.append(_probe(_blank(episode), split, "blank"))
    return probes


def _with_another_answer(episode: Episode, seed: int) -> Episode | None:
    """Apply the first edit that changes the right answer. None if there is none."""
    for family in _RELEVANT:
        edited = edited_episode(episode, family, seed=seed)
        if edited is not None and edited.answer and edited.answer != episode.answer:
            return edited
    return None


def _blank(episode: Episode) -> Episode:
    """Replace every frame by a grey one."""
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
class _Judged:
    """An episode with the judged trace of a model."""

    episode: Episode
    row: Row
    judged: JudgedTrace

    @property
    def is_right(self) -> bool:
        """True if the answer is right."""
        return bool(self.judged.is_correct)

    @property
    def answer(self) -> str:
        """The answer in lower case, without punctuation at its ends."""
        return " ".join(self.judged.trace.answer.casefold().strip(" .*").split())


def trace_lines(rows: Sequence[Row], seed: int, folders: Sequence[Path]) -> Iterator[Line]:
    """Compute all lines of the task from stored rows and episodes."""
    known = {episode.id: episode for folder in folders for episode in read_episodes(folder).episodes}
    shown = [known[row["name"]] for row in rows]
    traces = [
        read_trace(row["text"], episode, style="structured") for row, episode in zip(rows, shown, strict=True)
    ]
    judged = _judged(traces, known)
    scored = [_Judged(e, row, j) for e, row, j in zip(shown, rows, judged, strict=True)]
    for split in _SPLITS:
        plain = [trace for trace in scored if trace.row["split"] == split and trace.row["kind"] == "plain"]
        yield from _accuracy(plain, split)
        if split != "aligned":
            yield from _grounding(plain, split, seed)
    yield from _edits(scored)


def _judged(traces: Iterable[Trace], known: Mapping[str, Episode]) -> list[JudgedTrace]:
    return judge(with_claims(list(traces)), known, open_verifier("annotation"))


def _accuracy(scored: Sequence[_Judged], split: str) -> Iterator[Line]:
    unread = sum(not trace.judged.trace.answer for trace in scored)
    yield Line("trace", "accuracy", split, share([trace.is_right for trace in scored]), unread=unread)
    for world in sorted({trace.episode.world for trace in scored}):
        own = [trace.is_right for trace in scored if trace.episode.world == world]
        yield Line("trace", "accuracy", split, share(own), world)
    if split == "crossed":
        says = [trace.answer == trace.row["shortcut"].casefold() for trace in scored]
        yield Line("trace", "says the shortcut", split, share(says))
    if split == "free":
        chance = [1 / len(trace.episode.options) for trace in scored]
        units = [trace.episode.unit for trace in scored]
        yield Line("trace", "chance", split, mean(chance, units))
        gap = difference([float(trace.is_right) for trace in scored], chance, units)
        yield Line("trace", "accuracy less chance", split, gap)


def _grounding(scored: Sequence[_Judged], split: str, seed: int) -> Iterator[Line]:
    """Compute SGR, and its difference from random traces and from blind guesses on the same episodes."""
    shown = {trace.episode.id: trace.episode for trace in scored}
    labels = RandomLabels(list(shown.values()))
    null = _judged([random_trace(trace.episode, labels, seed=seed) for trace in scored], shown)
    both = [
        (own, drawn, trace.episode)
        for trace, other in zip(scored, null, strict=True)
        if (own := trace_sgr(trace.judged)) is not None and (drawn := trace_sgr(other)) is not None
    ]
    if not both:
        return
    mine, theirs = [row[0] for row in both], [row[1] for row in both]
    units = [row[2].unit for row in both]
    yield Line("trace", "SGR", split, mean(mine, units), unread=len(scored) - len(both))
    for world in sorted({episode.world for *_, episode in both}):
        here = [(sgr, episode.unit) for sgr, _, episode in both if episode.world == world]
        yield Line("trace", "SGR", split, mean([v for v, _ in here], [u for _, u in here]), world)
    yield Line("trace", "SGR of random traces", split, mean(theirs, units))
    yield Line("trace", "SGR less random traces'", split, difference(mine, theirs, units))
    guesses = _guesses([row[2] for row in both])
    yield Line("trace", "SGR of blind guesses", split, mean(guesses, units))
    yield Line("trace", "SGR less blind guesses'", split, difference(mine, guesses, units))


def _guesses(shown: Sequence[Episode]) -> list[float]:
    """Compute for each episode the expected SGR of a blind guess: the mean over the options of the question.

    Random traces name random things, which are rarely in the episode. A blind guess names the things in the question, which
    are. This is the SGR that can be reached from the question alone.
    """
    known = {episode.id: episode for episode in shown}
    guessed = [
        read_trace(blind_text(episode, "structured", option), episode, style="structured")
        for episode in known.values()
        for option in episode.options
    ]
    judged = iter(_judged(guessed, known))
    expected = {}
    for episode in known.values():
        rates = [trace_sgr(next(judged)) for _ in episode.options]
        expected[episode.id] = math.fsum(sgr or 0.0 for sgr in rates) / len(rates)
    return [expected[episode.id] for episode in shown]


def _edits(scored: Sequence[_Judged]) -> Iterator[Line]:
    """Compute the lines of relevant edits, of neutral edits and of blank frames."""
    before = {trace.row["unit"]: trace.answer for trace in scored if trace.row["kind"] in {"plain", "before"}}
    by_kind = {
        kind: [trace for trace in scored if trace.row["kind"] == kind]
        for kind in ("turned", "restyled", "blank")
    }
    same = {
        kind: [bool(trace.answer) and trace.answer == before[trace.row["unit"]] for trace in some]
        for kind, some in by_kind.items()
    }
    unread = {kind: sum(not trace.answer for trace in some) for kind, some in by_kind.items()}

    def line(quantity: str, kind: str, hits: Sequence[bool]) -> Line:
        return Line("trace", quantity, "aligned", share(hits), unread=unread[kind])

    if by_kind["turned"]:
        yield line("follows: edited frames", "turned", [trace.is_right for trace in by_kind["turned"]])
        yield line("changes: edited frames", "turned", [not is_same for is_same in same["turned"]])
    if by_kind["restyled"]:
        yield line("keeps: other colours of the room", "restyled", same["restyled"])
    if by_kind["blank"]:
        yield line("changes: blank frames", "blank", [not is_same for is_same in same["blank"]])
