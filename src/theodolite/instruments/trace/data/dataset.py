"""Data sets of episodes: reading, writing and auditing, and the shared parts of the readers of published data sets."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, dump, inside, is_there, read_json, read_lines
from theodolite.core.pictures import stored_size
from theodolite.core.scores import column
from theodolite.core.tables import Column, Table
from theodolite.core.types import Picture
from theodolite.core.views import Whole
from theodolite.worlds.episodes import (
    Aspect,
    Episode,
    Knowledge,
)


def picture_folder(path: str | Path | None) -> Path | None:
    """Return a folder of pictures, or None if none was named.

    Raises:
        UsageError: There is no such folder.
    """
    if path is not None and not Path(path).is_dir():
        raise UsageError(f"there is no folder of pictures {path}")
    return None if path is None else Path(path)


def find_picture(folder: Path, names: Iterable[str]) -> Picture | None:
    """Return the first of the named pictures that exists in a folder; None if there is none.

    Raises:
        UsageError: A name leads out of the folder.
    """
    places = (inside(folder, name, "picture") for name in names)
    path = next((candidate for candidate in places if is_there(candidate)), None)
    return None if path is None else Picture.from_path(path)


def with_own_ids(episodes: Iterable[Episode]) -> list[Episode]:
    """Return the same episodes with unique ids: a second ``q7`` becomes ``q7#2``."""
    seen: Counter[str] = Counter()
    own = []
    for episode in episodes:
        seen[episode.id] += 1
        n = seen[episode.id]
        own.append(episode if n == 1 else replace(episode, id=f"{episode.id}#{n}"))
    return own


def without_pictures(episodes: Sequence[Episode], folder: Path | None, layout: str) -> Iterator[Problem]:
    """Yield a problem if a folder of pictures was named and holds none of the pictures."""
    if folder is not None and not any(f.picture is not None for e in episodes for f in e.frames):
        yield Problem(str(folder), f"no frame has its picture there; they are looked for as {layout}")


# Data sets of episodes on disk.
#
# ``manifest.json``   world, licence, how the set was made, number of episodes
# ``episodes.jsonl``  one episode per line; only ``id``, ``task`` and ``frames`` are required
# ``frames/``         the pictures, named by the episodes with paths relative to the folder
#
# A single JSONL file without a manifest can be read too. A frame may be a bare path. Without ``known``, whatever is listed is
# known partially. Without ``size_px``, the size is read from the picture.
#
# A line with an error is reported with its number, and the other lines are read.


FORMAT_VERSION = 1
_MANIFEST, _EPISODES, _FRAMES = "manifest.json", "episodes.jsonl", "frames"


class EpisodeManifest(BaseModel):
    """The description of a data set."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False)

    format_version: Whole = FORMAT_VERSION
    world: str = ""
    n_episodes: int = Field(ge=0, le=2**53)
    licence: str = ""
    source: str = ""
    """Its origin, or the command that made it."""
    seed: Whole | None = None
    settings: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class EpisodeSet:
    """The episodes of a folder or file."""

    episodes: tuple[Episode, ...]
    problems: tuple[Problem, ...]
    manifest: EpisodeManifest | None = None


def read_episodes(path: str | Path) -> EpisodeSet:
    """Read a data set: a folder, or a single JSONL file.

    Invalid lines, duplicate ids and pictures that cannot be opened are reported as problems; the other episodes are read.

    Raises:
        UsageError: The file cannot be read at all, or holds no usable episode.
    """
    path = Path(path)
    manifest = _read_manifest(path / _MANIFEST) if path.is_dir() else None
    file = path / _EPISODES if path.is_dir() else path
    rows, problems = read_lines(file, lambda value: read_episode(value, file.parent))
    episodes: dict[str, Episode] = {}
    for where, episode in rows:
        if episode.id in episodes:
            problems.append(Problem(where, f"the id {episode.id!r} occurs twice; the first is kept"))
        episodes.setdefault(episode.id, episode)
    if not episodes:
        raise UsageError(f"{file} holds no usable episode" + (f": {problems[0].reason}" if problems else ""))
    if manifest is not None and manifest.n_episodes != len(episodes):
        problems.append(
            Problem(
                str(path / _MANIFEST), f"lists {manifest.n_episodes} episodes, {len(episodes)} are usable"
            )
        )
    return EpisodeSet(tuple(episodes.values()), tuple(problems), manifest)


def write_episodes(
    episodes: Iterable[Episode], folder: str | Path, *, manifest: EpisodeManifest | None = None
) -> Path:
    """Write a data set. A picture that several frames share is written once.

    Returns:
        The folder.
    """
    folder = Path(folder)
    n = 0
    try:
        (folder / _FRAMES).mkdir(parents=True, exist_ok=True)
        with (folder / _EPISODES).open("w", encoding="utf-8") as file:
            for episode in episodes:
                line = dump(episode, exclude_defaults=True, picture=partial(_write_picture, folder))
                line.setdefault("known", {})  # where it is missing, what is listed counts as known
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
                n += 1
        about = (manifest or EpisodeManifest(n_episodes=n)).model_copy(update={"n_episodes": n})
        (folder / _MANIFEST).write_text(about.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the data set into {folder}: {error.strerror}") from error
    return folder


def _read_manifest(path: Path) -> EpisodeManifest | None:
    if not path.exists():
        return None
    value = read_json(path)
    version = value.get("format_version", FORMAT_VERSION) if isinstance(value, dict) else None
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise UsageError(
            f"{path} is of format {version:.3g}, this Theodolite knows {FORMAT_VERSION}: upgrade Theodolite"
        )
    try:
        return check(EpisodeManifest, value)
    except UsageError as error:
        raise UsageError(f"{path} is not a manifest of episodes: {error}") from error


def read_episode(value: Any, folder: Path) -> Episode:
    """Return the episode of a line of ``episodes.jsonl``. Paths of pictures are relative to `folder`.

    Raises:
        UsageError: The line is not a valid episode.
    """
    has_known = isinstance(value, dict) and value.get("known") is not None
    episode = check(Episode, _completed(value), picture=partial(_picture, folder))
    frames = tuple(
        replace(frame, size_px=frame.picture.size)
        if frame.picture is not None and frame.size_px is None
        else frame
        for frame in episode.frames
    )
    partly: dict[Aspect, Knowledge] = dict.fromkeys(_listed(episode), "partial")
    return replace(episode, frames=frames, known=episode.known if has_known else partly)


def _completed(value: Any) -> Any:
    """Return a line with defaults filled in: a frame may be just the path of its picture; its time defaults to its position."""
    if not isinstance(value, dict):
        return value
    frames = value.get("frames")
    if isinstance(frames, list):
        frames = [_completed_frame(frame, index) for index, frame in enumerate(frames)]
    known = value.get("known")
    return {**value, "frames": frames, "known": {} if known is None else known}


def _completed_frame(frame: Any, index: int) -> Any:
    fields = {"picture": frame} if isinstance(frame, str) else frame
    if isinstance(fields, dict) and fields.get("time_s") is None:
        return {**fields, "time_s": float(index)}
    return fields


def _listed(episode: Episode) -> list[Aspect]:
    """Return the aspects for which an episode lists anything."""
    things = [thing for frame in episode.frames for thing in frame.objects]
    says: dict[Aspect, bool] = {
        "objects": bool(things),
        "boxes": any(thing.box is not None for thing in things),
        "attributes": any(thing.attributes for thing in things),
        "states": any(thing.states for thing in things),
        "relations": any(frame.relations for frame in episode.frames),
        "actions": bool(episode.actions),
        "poses": any(frame.pose is not None for frame in episode.frames),
    }
    return [aspect for aspect, is_listed in says.items() if is_listed]


def _picture(folder: Path, name: Any) -> Picture:
    """Return a picture beside the file. Paths outside the folder are refused, since the picture would be sent to the model."""
    target = inside(folder, check(str, name), "picture")
    picture = Picture.from_path(target)
    stored_size(target, name)  # reads the header only
    return picture


def _write_picture(folder: Path, picture: Picture) -> str:
    ending = re.sub(r"\W", "", picture.media_type.partition("/")[2])
    name = f"{_FRAMES}/{picture.digest.partition('-')[2][:24]}.{ending}"
    target = folder / name
    if not target.exists():
        target.write_bytes(picture.read())
    return name


# Audits the two splits of a world: do they share nothing, and are they equally hard?


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
    """Compare the two splits of one world; edits are left out.

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
        result = (
            f"{len(a)} and {len(b)}, none in both"
            if not both
            else f"{len(both)} in both: {', '.join(both[:3])}"
        )
        yield AuditCheck(f"overlap of {name}", "failed" if both else "passed", result)


def _pictures(episode: Episode) -> set[str]:
    return {f.picture.digest for f in episode.frames if f.picture is not None}


def _scenario(episode: Episode) -> set[str]:
    """Return the scenario of the episode, without its split."""
    scenario = episode.meta.get("scenario")
    if not isinstance(scenario, dict):
        return set()
    return {json.dumps({k: v for k, v in scenario.items() if k != "split"}, sort_keys=True)}


def _things(episode: Episode) -> Iterator[tuple[str, str]]:
    for frame in episode.frames:
        for thing in frame.objects:
            yield thing.attributes.get("colour", ""), thing.category


def _colours(episode: Episode) -> set[str]:
    return {colour for colour, kind in _things(episode) if colour and kind != "screen"}


def _kinds(episode: Episode) -> set[str]:
    return {kind for _, kind in _things(episode) if kind not in _SHARED}


def _layouts(episode: Episode) -> set[str]:
    scenario = episode.meta.get("scenario")
    if not isinstance(scenario, dict):
        return set()
    return {f"{key} {scenario[key]}" for key in ("openings", "is_upright") if key in scenario}


def _wordings(episode: Episode) -> set[str]:
    """Return the mission of an episode without the names of its objects."""
    mission = episode.meta.get("mission")
    if not isinstance(mission, str):
        return set()
    named = {" ".join(pair) for pair in _things(episode)}
    for name in sorted(named, key=len, reverse=True):
        mission = mission.replace(name, "…")
    return {mission}


def _repeats(episodes: Sequence[Episode]) -> Iterator[AuditCheck]:
    scenarios = [mark for e in episodes for mark in _scenario(e)]
    twice = len(scenarios) - len(set(scenarios))
    if scenarios:
        yield AuditCheck(
            "repeated scenarios", "failed" if twice else "passed", f"{twice} of {len(scenarios)}"
        )


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
    means = f"{sides[0].mean():.3g} and {sides[1].mean():.3g}"
    if not spread:
        return AuditCheck(f"difficulty: {name}", "failed", f"{means}, without any spread")
    difference = stats.independent_difference(*sides, level=0.9)
    if p < 0.05 and abs(apart) > SMALL_SD * spread:
        outcome: Outcome = "failed"
    else:
        margin = MARGIN_SD * spread
        outcome = (
            "passed" if difference is not None and difference.lies_within(-margin, margin) else "undecided"
        )
    return AuditCheck(
        f"difficulty: {name}", outcome, f"{means}; {apart / spread:+.2f} sd, p = {p:.3f}", difference
    )


def _answers(inside: Sequence[Episode], outside: Sequence[Episode], seed: int) -> Iterator[AuditCheck]:
    """Yield the accuracy of always choosing the same option: it must be equal in both splits, and near chance.

    For each kind of question, the best position in the list of options is always chosen: a model can reach this without
    looking. A split passes up to `BLIND_MARGIN` above chance. Beyond that it fails if answers at random positions would reach
    the same in less than one draw in 20 (Holm over both splits), and would stay within the margin on average; otherwise there
    are too few episodes.
    """
    blind = [_blind(side, seed) for side in (inside, outside)]
    rates = [stats.wilson_interval(b.n_hits, b.n) for b in blind]
    summary = f"{rates[0].value:.0%} and {rates[1].value:.0%} by always the same option; chance {blind[0].chance:.0%} and {blind[1].chance:.0%}"
    is_apart = rates[0].low > rates[1].high or rates[1].low > rates[0].high
    far = [rate.value > b.chance + BLIND_MARGIN for rate, b in zip(rates, blind, strict=True)]
    sure = [p < 0.05 for p in stats.holm([b.p for b in blind]).tolist()]
    enough = [b.expected <= b.chance + BLIND_MARGIN for b in blind]
    if is_apart or any(all(one) for one in zip(far, sure, enough, strict=True)):
        yield AuditCheck(BLIND_CHECK, "failed", summary)
    elif any(far):
        yield AuditCheck(BLIND_CHECK, "undecided", f"{summary}; too few episodes: make more")
    else:
        yield AuditCheck(BLIND_CHECK, "passed", summary)


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
        drawn += np.max([(places == position).sum(1) for position in range(sizes.max())], axis=0)
    n = len(episodes)
    p = float((1 + (drawn >= hits).sum()) / (1 + _DRAWS))
    return _Blind(hits, n, chance / n, float(drawn.mean()) / n, p)


def audit_table(result: WorldAudit, *, title: str) -> Table:
    """Return a table with one row per check, and the conclusion below it."""
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
    """Return a table of the contents of a data set: one row of counts."""
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
