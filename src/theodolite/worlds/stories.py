"""Episodes of the drawn worlds, each with its own seed, and edits of their scenarios."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import check, dump
from theodolite.worlds import clips, houses, missions
from theodolite.worlds.episodes import (
    EGO,
    FAMILIES,
    Action,
    Episode,
    EpisodeEdit,
    Family,
    Frame,
    FrameObject,
    Split,
)
from theodolite.worlds.facts import oracle_text
from theodolite.worlds.palette import SPLITS

# Making episodes: drafts are drawn, each with its own seed, until one is good.


_MOST_DRAFTS = 4000
EXTRA_WORLD = "miniworld"
"""Made by another simulator, which draws with OpenGL."""


@dataclass(frozen=True, slots=True)
class StoryWorld:
    """How one world is made and edited; a scenario determines an episode completely."""

    name: str
    n_kinds: int
    """How many kinds of question take turns."""
    draft: Callable[[np.random.Generator, Split, int], Any]
    is_good: Callable[[Any, int], bool]
    episode: Callable[[Any, str], Episode]
    scenario: type[Any]
    answer: Callable[[Any, Episode], str]
    """The right answer once the frames have been reordered; empty if there is none."""
    move: Callable[[Any, np.random.Generator, float], tuple[Any, str, float] | None]
    """Another scenario with one thing elsewhere, its id, and how far it went as a share."""
    hide: Callable[[Any, np.random.Generator, float], Any]
    restyle: Callable[[Any, float], Any]


WORLDS: dict[str, StoryWorld] = {
    "video": StoryWorld(
        "video",
        len(clips.KINDS),
        clips.draft_video,
        clips.is_good_video,
        clips.video_episode,
        clips.VideoScenario,
        clips.answer_video,
        clips.move_video,
        clips.hide_video,
        clips.restyle_video,
    ),
    "navigation": StoryWorld(
        "navigation",
        len(houses.KINDS),
        houses.draft_navigation,
        houses.is_good_navigation,
        houses.navigation_episode,
        houses.NavigationScenario,
        houses.answer_navigation,
        houses.move_navigation,
        houses.hide_navigation,
        houses.restyle_navigation,
    ),
    "instruction": StoryWorld(
        "instruction",
        len(missions.KINDS),
        missions.draft_instruction,
        missions.is_good_instruction,
        missions.instruction_episode,
        missions.InstructionScenario,
        missions.answer_instruction,
        missions.move_instruction,
        missions.hide_instruction,
        missions.restyle_instruction,
    ),
}


def world_named(name: str) -> StoryWorld:
    """Return the world of this name.

    Raises:
        UsageError: There is no world of that name.
    """
    if name not in WORLDS:
        raise UsageError(f"there is no world {name!r}; there are {', '.join((*WORLDS, EXTRA_WORLD))}")
    return WORLDS[name]


def make_world(name: str, n: int, *, seed: int = 0, splits: tuple[Split, ...] = SPLITS) -> Iterator[Episode]:
    """Make episodes of a world, `n` of each split; the same seed gives the same pixels.

    Kinds of question take turns, and within a kind the right answer runs through the options. ``miniworld`` is an extra.

    Args:
        name: Name of the world.
        n: Number of episodes per split.
        seed: Seed of the draws.
        splits: The splits to make.

    Raises:
        UsageError: There is no such world, or `n` is not positive.
    """
    if n < 1:
        raise UsageError(f"a world needs at least one episode of each split, got n={n}")
    if name == EXTRA_WORLD:
        from theodolite.worlds.miniworld import make_miniworld

        return make_miniworld(n, seed=seed, splits=splits)
    return _made(world_named(name), n, seed, splits)


def _made(world: StoryWorld, n: int, seed: int, splits: tuple[Split, ...]) -> Iterator[Episode]:
    seen: set[str] = set()
    for split in splits:
        for index in range(n):
            scenario = _drawn(world, split, index, seed, seen)
            short = "id" if split == "in-distribution" else "ood"
            yield with_oracle(world.episode(scenario, f"{world.name}-{short}-{seed}-{index:04d}"))


def with_oracle(episode: Episode) -> Episode:
    """Return the episode with a true trace in its ``meta``."""
    return replace(episode, meta={**episode.meta, "oracle": oracle_text(episode)})


def _drawn(world: StoryWorld, split: Split, index: int, seed: int, seen: set[str]) -> Any:
    numbers = [seed, list(WORLDS).index(world.name), SPLITS.index(split), index]
    for attempt in range(_MOST_DRAFTS):
        scenario = world.draft(np.random.default_rng([*numbers, attempt]), split, index)
        if scenario is None:
            continue
        key = json.dumps(dump(scenario), sort_keys=True)
        if key not in seen and world.is_good(scenario, index // world.n_kinds):
            seen.add(key)
            return scenario
    raise UsageError(
        f"no good draft for {world.name} {split} {index} in {_MOST_DRAFTS}; take another seed than {seed}"
    )


# Edits at the source: the scenario is changed, and pictures and truth are made anew from it.
#
# ``position``    a thing in the task starts elsewhere
# ``temporal``    the last part of the sequence is played backwards
# ``visibility``  a screen, fog or darkness hides things
# ``irrelevant``  table and wall, floor and ceiling take other colours; nothing that can be claimed changes


_BACKWARDS = {
    a: b
    for pair in (
        ("enter", "leave"),
        ("pick up", "put down"),
        ("open", "close"),
        ("turn left", "turn right"),
        ("move forward", "move backward"),
        ("look up", "look down"),
        ("appear", "disappear"),
    )
    for a, b in (pair, pair[::-1])
}
_TRIES = 5


def perturbed(episode: Episode, family: Family, *, magnitude: float = 0.5, seed: int = 0) -> Episode | None:
    """Return the episode after an edit, with its new truth and a true trace of it; None if the edit is impossible.

    ``meta["oracle_before"]`` keeps the trace that was true before.

    Args:
        episode: An episode of a world made here; ``temporal`` takes any that has two frames.
        family: Family of the edit; see `FAMILIES`.
        magnitude: Strength, in (0, 1]; the strength that was reached is written into `EpisodeEdit.magnitude`.
        seed: Seed of the draws.

    Raises:
        UsageError: The family or the magnitude is invalid, the episode is itself an edit, or it was not made here.
    """
    if family not in FAMILIES:
        raise UsageError(f"there is no family of edits {family!r}; there are {', '.join(FAMILIES)}")
    if not 0 < magnitude <= 1:
        raise UsageError(f"a perturbation's magnitude lies in (0, 1], got {magnitude}")
    if episode.edit is not None:
        raise UsageError(
            f"the episode {episode.id!r} is already an edit of {episode.edit.base!r}; edit that one"
        )
    edited = _remade(episode, family, magnitude, seed)
    if edited is None or "oracle" not in episode.meta:
        return edited
    return replace(edited, meta={**edited.meta, "oracle_before": episode.meta["oracle"]})


def _remade(episode: Episode, family: Family, magnitude: float, seed: int) -> Episode | None:
    if family == "temporal":
        return _reversed_end(episode, magnitude)
    scenario_json = episode.meta.get("scenario")
    if episode.world not in WORLDS or not isinstance(scenario_json, dict):
        raise UsageError(
            f"the episode {episode.id!r} was not made by `theodolite trace make`: only temporal edits of it can be made"
        )
    return next(_edited(episode, family, magnitude, seed), None)


def _edited(episode: Episode, family: Family, magnitude: float, seed: int) -> Iterator[Episode]:
    """Yield new episodes that differ from the old one as required, first those whose question has an answer."""
    spare = []
    world = WORLDS[episode.world]
    scenario = check(world.scenario, episode.meta["scenario"])
    for attempt in range(_TRIES if family == "position" else 1):
        rng = np.random.default_rng([seed, *episode.id.encode(), FAMILIES.index(family), attempt])
        reached, touched = magnitude, ""
        if family == "position":
            moved = world.move(scenario, rng, magnitude)
            if moved is None:
                continue
            new, touched, reached = moved
        else:
            new = (
                world.hide(scenario, rng, magnitude)
                if family == "visibility"
                else world.restyle(scenario, magnitude)
            )
        redrawn = world.episode(new, f"{episode.id}~{family}-{magnitude:g}")
        changed = changed_things(episode, redrawn)
        if bool(changed) == (family == "irrelevant"):
            continue
        listed = {t.id for frame in episode.frames for t in frame.objects}
        edited = (touched,) if touched else tuple(name for name in changed if name in listed)
        note = _NOTES[family].format(", ".join(edited) or "nothing", reached)
        edit = EpisodeEdit(episode.id, family, round(reached, 4), edited, note)
        new_episode = replace(redrawn, edit=edit, cluster=episode.unit)
        if redrawn.answer or family != "position":
            yield with_oracle(new_episode)
        else:
            spare.append(new_episode)
    yield from map(with_oracle, spare[:1])


_NOTES = {
    "position": "{0} starts elsewhere, {1:.2f} of the world's width away",
    "visibility": "{0} can be seen less",
    "irrelevant": "other colours of what is not asked about, {1:.2f} of the way",
}


def changed_things(old: Episode, new: Episode) -> tuple[str, ...]:
    """Return the ids of things that look different in any frame."""
    changed = set()
    for a, b in zip(old.frames, new.frames, strict=False):
        mine, theirs = ({t.id: _told(t) for t in frame.objects} for frame in (a, b))
        changed |= {name for name in mine | theirs if mine.get(name) != theirs.get(name)}
        if a.pose != b.pose:
            changed.add(EGO)
    if len(old.frames) != len(new.frames) or old.actions != new.actions:
        changed.add(EGO if any(a.subject == EGO for a in old.actions) else "events")
    return tuple(sorted(changed))


def _told(thing: FrameObject) -> tuple[object, ...]:
    """Return the visible properties of a thing: the position of an unseen thing cannot be described in a trace."""
    if not thing.is_visible:
        return (False,)
    return thing.box, tuple(thing.states.items()), thing.position_m


def _reversed_end(episode: Episode, magnitude: float) -> Episode | None:
    """Return the last `magnitude` of the frames in reverse, with all actions between them."""
    n = len(episode.frames)
    length = min(n, max(2, round(magnitude * n)))
    if n < 2:
        return None
    cut = n - length
    start, end = episode.frames[cut].time_s, episode.frames[-1].time_s
    backwards = [
        replace(
            frame, time_s=round(start + end - frame.time_s, 4), state={**frame.state, "played": "backwards"}
        )
        for frame in reversed(episode.frames[cut:])
    ]
    frames = (*episode.frames[:cut], *backwards)
    actions = [a for a in episode.actions if cut and a.end_s < episode.frames[cut - 1].time_s]
    actions += _turned(episode.actions, start, end)
    actions += _jumps(frames, cut)
    new = replace(
        episode,
        id=f"{episode.id}~temporal-{magnitude:g}",
        frames=frames,
        actions=tuple(sorted(actions, key=lambda a: (a.start_s, a.verb, a.subject))),
        cluster=episode.unit,
        edit=EpisodeEdit(
            episode.id, "temporal", round(length / n, 4), (), f"the last {length} of {n} frames run backwards"
        ),
    )
    if episode.world in WORLDS and "scenario" in episode.meta:
        world = WORLDS[episode.world]
        return with_oracle(
            replace(new, answer=world.answer(check(world.scenario, episode.meta["scenario"]), new))
        )
    return replace(new, answer="")


def _turned(actions: tuple[Action, ...], start: float, end: float) -> Iterator[Action]:
    """Yield the actions between two times, backwards: *enter* becomes *leave*."""
    for action in actions:
        if action.end_s < start or action.start_s >= end:
            continue
        first, last = max(start, action.start_s), min(end, action.end_s)
        # a move that fills the time between two frames must not touch the next
        gap = 0.05 if action.subject == EGO and last > first else 0.0
        yield replace(
            action,
            verb=_BACKWARDS.get(action.verb, action.verb),
            start_s=round(start + end - last - gap, 4),
            end_s=round(start + end - first - gap, 4),
        )


def _jumps(frames: tuple[Frame, ...], cut: int) -> Iterator[Action]:
    """Yield the things that appear and disappear where the two parts meet."""
    if not cut:
        return
    before, after = ({t.id for t in frames[i].objects if t.is_visible} for i in (cut - 1, cut))
    when = (frames[cut - 1].time_s + frames[cut].time_s) / 2
    for thing in sorted(before ^ after):
        yield Action("appear" if thing in after else "disappear", thing, (), when, when)
