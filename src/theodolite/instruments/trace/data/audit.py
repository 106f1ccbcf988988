"""Audits the two splits of a world: do they share nothing, and are they equally hard?

The splits must not share pictures, scenarios, colours, kinds of objects, layouts or wordings of missions. Difficulty must not
differ, or a fall of accuracy would say nothing about robustness.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from theodolite import stats
from theodolite.core.definitions import column
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table
from theodolite.worlds.episodes import Episode

Outcome: TypeAlias = Literal["passed", "failed", "undecided"]

MARGIN_SD = 0.5
"""Difficulties are equal if their means are shown to differ by less than this many standard deviations."""
SMALL_SD = 0.2
"""Smaller differences, in standard deviations, never fail."""
BLIND_CHECK = "blind answers"
BLIND_MARGIN = 0.15
"""How far above chance the accuracy of always the same option may be."""
_SHARED = frozenset({"room", "table", "screen", "door"})
"""Kinds of objects that every split has, in its own colours."""


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """One check and its outcome."""

    name: str
    outcome: Outcome
    detail: str
    difference: stats.Estimate | None = None
    """In-distribution − out-of-distribution, of difficulties."""


@dataclass(frozen=True, slots=True)
class WorldAudit:
    """All checks."""

    world: str
    n_in_distribution: int
    n_ood: int
    checks: tuple[AuditCheck, ...]

    @property
    def is_sound(self) -> bool:
        """True if no check failed. An undecided check has not failed."""
        return all(check.outcome != "failed" for check in self.checks)


def audit_world(episodes: Sequence[Episode], *, seed: int = 0) -> WorldAudit:
    """Compares the two splits of one world; edits are left out.

    A difficulty passes if two one-sided tests show that the difference of means is within ±½ standard deviation. It fails if a
    permutation test (Holm over all difficulties, 5 %) finds a difference above a fifth of one. Otherwise it is undecided.

    Raises:
        UsageError: One of the splits is empty.
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
    """The scenario of the episode, without its split."""
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
    """A mission without the names of its objects."""
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
            yield AuditCheck(
                f"difficulty: {name}", "undecided", "known of fewer than two episodes in a split"
            )
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
    found = stats.independent_difference(*sides, level=0.9)
    if p < 0.05 and abs(apart) > SMALL_SD * spread:
        outcome: Outcome = "failed"
    else:
        margin = MARGIN_SD * spread
        outcome = "passed" if found is not None and found.lies_within(-margin, margin) else "undecided"
    return AuditCheck(f"difficulty: {name}", outcome, f"{told}; {apart / spread:+.2f} sd, p = {p:.3f}", found)


def _answers(inside: Sequence[Episode], outside: Sequence[Episode], seed: int) -> Iterator[AuditCheck]:
    """The accuracy of always the same option: it must be equal in both splits, and near chance.

    For each kind of question, the best position in the list of options is always chosen: a model can reach this without
    looking. A split passes up to `BLIND_MARGIN` above chance. Beyond that it fails if answers at random positions would reach
    the same in less than one draw in 20 (Holm over both splits), and would stay within the margin on average; otherwise there
    are too few episodes.
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
    """The accuracy of always the same option in a split."""

    n_hits: int
    n: int
    chance: float
    expected: float
    """The mean accuracy if answers were at random positions."""
    p: float
    """How often random positions reach the same."""


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


def audit_table(result: WorldAudit, *, title: str) -> Table:
    """One row per check, with the conclusion below."""
    columns = [
        Column("check", "check"),
        Column("outcome", "outcome"),
        Column("detail", "in-distribution and ood"),
        column("trace.difficulty", "difference", "difference"),
    ]
    rows = [[check.name, check.outcome, check.detail, check.difference] for check in result.checks]
    return Table.of("trace.audit", title, columns, rows, [_conclusion(result)])


def _conclusion(result: WorldAudit) -> str:
    undecided = [check.name for check in result.checks if check.outcome == "undecided"]
    hard = ", ".join(name.removeprefix("difficulty: ") for name in undecided if name != BLIND_CHECK)
    if not result.is_sound:
        return "The splits cannot be compared."
    if BLIND_CHECK in undecided:
        rest = f", and to compare {hard}" if hard else ""
        return (
            "The splits share nothing; too few episodes to show that always the same option is not right too often"
            f"{rest}: make more."
        )
    if hard:
        return f"The splits share nothing; too few episodes to show that they are equally hard in {hard}: make more."
    return "The splits share nothing and are equally hard."


def contents_table(episodes: Sequence[Episode], *, title: str) -> Table:
    """What a data set holds: one row of counts."""
    frames = [frame for episode in episodes for frame in episode.frames]
    counts = {
        "episodes": len(episodes),
        "units": len({e.unit for e in episodes}),
        "frames": len(frames),
        "frames with a picture": sum(f.picture is not None for f in frames),
        "frames with a pose": sum(f.pose is not None for f in frames),
        "boxes": sum(t.box is not None for f in frames for t in f.objects),
        "objects without a box": sum(t.box is None for f in frames for t in f.objects),
        "relations": sum(len(f.relations) for f in frames),
        "actions": sum(len(e.actions) for e in episodes),
    }
    columns = [Column(name.replace(" ", "_"), name, "count") for name in counts]
    return Table.of("trace.contents", title, columns, [list(counts.values())])
