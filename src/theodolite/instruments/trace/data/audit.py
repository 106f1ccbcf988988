"""Does the out-of-distribution split show what was never shown, and is it as hard as the other one?

Nothing may stand in both splits: no picture, no scenario, no colour or kind of thing, no layout, no wording of a mission. And
what makes an episode hard must not differ, or a fall of accuracy would say nothing about robustness.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.episode import Episode

Outcome: TypeAlias = Literal["passed", "failed", "undecided"]

MARGIN_SD = 0.5
"""Difficulties are equal if their means are shown to differ by less than this many standard deviations."""
SMALL_SD = 0.2
"""A difference below this is never called one."""
BLIND_CHECK = "blind answers"
BLIND_MARGIN = 0.15
"""How far above chance always the same option may get one."""
_SHARED = frozenset({"room", "table", "screen", "door"})
"""Kinds of things that belong to the world itself: every split has them, in its own colours."""


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """One question, and what came of it."""

    name: str
    outcome: Outcome
    detail: str
    difference: stats.Estimate | None = None
    """In-distribution minus out-of-distribution, for difficulties."""


@dataclass(frozen=True, slots=True)
class WorldAudit:
    """All of them."""

    world: str
    n_in_distribution: int
    n_ood: int
    checks: tuple[AuditCheck, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing failed. What the data are too few to decide has not failed."""
        return all(check.outcome != "failed" for check in self.checks)


def audit_world(episodes: Sequence[Episode], *, seed: int = 0) -> WorldAudit:
    """Compares the two splits of one world; edits of episodes are left out.

    A difficulty passes if two one-sided tests place the difference of means within ±½ standard deviation. It fails if a
    permutation test finds a difference (Holm over all difficulties, 5 %) of more than a fifth of one. Else it is undecided.

    Raises:
        UsageError: one of the splits is empty.
    """
    base = [e for e in episodes if e.edit is None]
    inside, outside = ([e for e in base if e.split == split] for split in ("in-distribution", "ood"))
    if not inside or not outside:
        raise UsageError(
            f"an audit compares two splits; there are {len(inside)} episodes in-distribution and {len(outside)} ood"
        )
    worlds = ", ".join(sorted({e.world for e in base}))
    checks = [
        *_overlaps(inside, outside),
        *_repeats(base),
        *_difficulties(inside, outside, seed),
        *_answers(inside, outside, seed),
    ]
    return WorldAudit(worlds, len(inside), len(outside), tuple(checks))


def _overlaps(inside: Sequence[Episode], outside: Sequence[Episode]) -> Iterator[AuditCheck]:
    for name, marks in (
        ("pictures", _pictures),
        ("scenarios", _scenario),
        ("colours", _colours),
        ("kinds of things", _kinds),
        ("layouts", _layouts),
        ("wordings of missions", _wordings),
    ):
        a, b = ({mark for e in side for mark in marks(e)} for side in (inside, outside))
        if not a and not b:
            continue
        both = sorted(map(str, a & b))
        told = (
            f"{len(a)} and {len(b)}, none in both"
            if not both
            else f"{len(both)} in both: {', '.join(both[:3])}"
        )
        yield AuditCheck(f"overlap of {name}", "failed" if both else "passed", told)


def _pictures(episode: Episode) -> set[str]:
    return {f.picture.digest for f in episode.frames if f.picture is not None}


def _scenario(episode: Episode) -> set[str]:
    """All that the episode follows from, but for its split."""
    found = episode.meta.get("scenario")
    if not isinstance(found, dict):
        return set()
    return {json.dumps({k: v for k, v in found.items() if k != "split"}, sort_keys=True)}


def _things(episode: Episode) -> Iterator[tuple[str, str]]:
    for frame in episode.frames:
        for thing in frame.objects:
            yield thing.attributes.get("colour", ""), thing.category


def _colours(episode: Episode) -> set[str]:
    return {colour for colour, kind in _things(episode) if colour and kind != "screen"}


def _kinds(episode: Episode) -> set[str]:
    return {kind for _, kind in _things(episode) if kind not in _SHARED}


def _layouts(episode: Episode) -> set[str]:
    found = episode.meta.get("scenario")
    if not isinstance(found, dict):
        return set()
    return {f"{key} {found[key]}" for key in ("openings", "is_upright") if key in found}


def _wordings(episode: Episode) -> set[str]:
    """A mission without its things: what stands around *red ball*."""
    mission = episode.meta.get("mission")
    if not isinstance(mission, str):
        return set()
    named = {" ".join(pair) for pair in _things(episode)}
    for name in sorted(named, key=len, reverse=True):
        mission = mission.replace(name, "…")
    return {mission}


def _repeats(episodes: Sequence[Episode]) -> Iterator[AuditCheck]:
    found = [mark for e in episodes for mark in _scenario(e)]
    twice = len(found) - len(set(found))
    if found:
        yield AuditCheck("repeated scenarios", "failed" if twice else "passed", f"{twice} of {len(found)}")


def _difficulties(inside: Sequence[Episode], outside: Sequence[Episode], seed: int) -> Iterator[AuditCheck]:
    names = sorted({name for e in (*inside, *outside) for name in e.difficulty})
    tested = []
    for name in names:
        sides = [
            np.array([e.difficulty[name] for e in side if name in e.difficulty]) for side in (inside, outside)
        ]
        if min(map(len, sides)) < 2:
            yield AuditCheck(f"difficulty: {name}", "undecided", "fewer than two episodes in a split tell it")
        elif not np.ptp(np.concatenate(sides)):
            yield AuditCheck(f"difficulty: {name}", "passed", f"always {sides[0][0]:g}")
        else:
            test = stats.permutation_test(*sides, seed=seed)
            tested.append((name, sides, test.p_value))
    corrected = stats.holm([p for *_, p in tested]).tolist() if tested else []
    for (name, sides, _), p in zip(tested, corrected, strict=True):
        yield _difficulty(name, sides, p)


def _difficulty(name: str, sides: Sequence[np.ndarray], p: float) -> AuditCheck:
    spread = float(np.sqrt(np.mean([side.var(ddof=1) for side in sides])))
    apart = float(sides[0].mean() - sides[1].mean())
    told = f"{sides[0].mean():.3g} and {sides[1].mean():.3g}"
    if not spread:
        return AuditCheck(f"difficulty: {name}", "failed", f"{told}, without any spread")
    test = stats.equivalence_test(*sides, bounds=(-MARGIN_SD * spread, MARGIN_SD * spread))
    if p < 0.05 and abs(apart) > SMALL_SD * spread:
        outcome: Outcome = "failed"
    else:
        outcome = "passed" if test.equivalent else "undecided"
    return AuditCheck(
        f"difficulty: {name}", outcome, f"{told}; {apart / spread:+.2f} sd, p = {p:.3f}", test.estimate
    )


def _answers(inside: Sequence[Episode], outside: Sequence[Episode], seed: int) -> Iterator[AuditCheck]:
    """How far the most frequent answer to a kind of question gets one: as far in both splits, and hardly beyond chance.

    The rate is that of always giving the option at the same place of the list, the best place for each kind: what a
    model can have without looking. Chance is one option in so many. Up to `BLIND_MARGIN` above it a split passes. Beyond, it
    fails if answers put at random places would come so far in less than one draw in 20 (Holm over both splits), and
    would themselves stay within the margin on average; else the episodes are too few.
    """
    found = [_blind(side, seed) for side in (inside, outside)]
    rates = [stats.wilson_interval(b.n_hits, b.n) for b in found]
    told = f"{rates[0].value:.0%} and {rates[1].value:.0%} by always the same option; chance {found[0].chance:.0%} and {found[1].chance:.0%}"
    is_apart = rates[0].low > rates[1].high or rates[1].low > rates[0].high
    far = [rate.value > b.chance + BLIND_MARGIN for rate, b in zip(rates, found, strict=True)]
    sure = [p < 0.05 for p in stats.holm([b.p for b in found]).tolist()]
    enough = [b.expected <= b.chance + BLIND_MARGIN for b in found]
    if is_apart or any(all(one) for one in zip(far, sure, enough, strict=True)):
        yield AuditCheck(BLIND_CHECK, "failed", told)
    elif any(far):
        yield AuditCheck(BLIND_CHECK, "undecided", f"{told}; too few episodes: make more")
    else:
        yield AuditCheck(BLIND_CHECK, "passed", told)


@dataclass(frozen=True, slots=True)
class _Blind:
    """How far always the same option gets one in a split."""

    n_hits: int
    n: int
    chance: float
    expected: float
    """The mean rate were the answers at random places."""
    p: float
    """How often random places get as far."""


_DRAWS = 2000


def _blind(episodes: Sequence[Episode], seed: int) -> _Blind:
    rng = np.random.default_rng([seed, 11])
    hits, drawn, chance = 0, np.zeros(_DRAWS), 0.0
    for kind in sorted({str(e.meta.get("kind", "")) for e in episodes}):
        asked = [e for e in episodes if str(e.meta.get("kind", "")) == kind and e.answer in e.options]
        if not asked:
            continue
        sizes = np.array([len(e.options) for e in asked])
        chance += float((1 / sizes).sum())
        hits += int(np.bincount([e.options.index(e.answer) for e in asked]).max())
        places = rng.integers(0, sizes, (_DRAWS, len(asked)))
        drawn += np.max([(places == place).sum(1) for place in range(sizes.max())], axis=0)
    n = len(episodes)
    p = float((1 + (drawn >= hits).sum()) / (1 + _DRAWS))
    return _Blind(hits, n, chance / n, float(drawn.mean()) / n, p)
