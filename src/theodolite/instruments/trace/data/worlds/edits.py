"""Edits at the source: the scenario is changed and everything that follows from it is made anew, pictures and truth.

``position``    a thing that the task names starts elsewhere
``temporal``    the last part of the sequence is played backwards
``visibility``  a screen, fog or darkness hides things
``irrelevant``  table and wall, floor and ceiling take other colours; nothing that can be claimed changes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.episode import (
    EGO,
    FAMILIES,
    Action,
    Edit,
    Episode,
    Family,
    Frame,
    SceneObject,
)
from theodolite.instruments.trace.data.worlds.make import WORLDS, with_oracle

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
    """The episode after an edit, with its new truth and a trace that is true of it; None if the edit is not to be had.

    ``meta["oracle_before"]`` keeps the trace that was true before.

    Args:
        episode: of a world made here; ``temporal`` takes any that has two frames.
        family: see above.
        magnitude: how strong, in (0, 1]; what was reached is written into `Edit.magnitude`.
        seed: of the draws.

    Raises:
        UsageError: the family or the magnitude is not one of those above, the episode is itself an edit, or it was not made here.
    """
    if family not in FAMILIES:
        raise UsageError(f"there is no family of edits {family!r}; there are {', '.join(FAMILIES)}")
    if not 0 < magnitude <= 1:
        raise UsageError(f"a perturbation's magnitude lies in (0, 1], got {magnitude}")
    if episode.edit is not None:
        raise UsageError(
            f"the episode {episode.id!r} is already an edit of {episode.edit.base!r}; edit that one"
        )
    made = _made(episode, family, magnitude, seed)
    if made is None or "oracle" not in episode.meta:
        return made
    return replace(made, meta={**made.meta, "oracle_before": episode.meta["oracle"]})


def _made(episode: Episode, family: Family, magnitude: float, seed: int) -> Episode | None:
    if family == "temporal":
        return _reversed_end(episode, magnitude)
    scenario_json = episode.meta.get("scenario")
    if episode.world not in WORLDS or not isinstance(scenario_json, dict):
        raise UsageError(
            f"the episode {episode.id!r} was not made by `theodolite trace make`: only temporal edits of it can be made"
        )
    return next(_edited(episode, family, magnitude, seed), None)


def _edited(episode: Episode, family: Family, magnitude: float, seed: int) -> Iterator[Episode]:
    """New episodes that differ from the old one as they should, those whose question has an answer first."""
    spare = []
    world = WORLDS[episode.world]
    scenario = world.read(episode.meta["scenario"])
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
        made = world.episode(new, f"{episode.id}~{family}-{magnitude:g}")
        changed = changed_things(episode, made)
        if bool(changed) == (family == "irrelevant"):
            continue
        there = {t.id for frame in episode.frames for t in frame.objects}
        edited = (touched,) if touched else tuple(name for name in changed if name in there)
        note = _NOTES[family].format(", ".join(edited) or "nothing", reached)
        edit = Edit(episode.id, family, round(reached, 4), edited, note)
        new_episode = replace(made, edit=edit, cluster=episode.unit)
        if made.answer or family != "position":
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
    """The ids of things of which any frame shows something else than before."""
    found = set()
    for a, b in zip(old.frames, new.frames, strict=False):
        mine, theirs = ({t.id: _told(t) for t in frame.objects} for frame in (a, b))
        found |= {name for name in mine | theirs if mine.get(name) != theirs.get(name)}
        if a.pose != b.pose:
            found.add(EGO)
    if len(old.frames) != len(new.frames) or old.actions != new.actions:
        found.add(EGO if any(a.subject == EGO for a in old.actions) else "events")
    return tuple(sorted(found))


def _told(thing: SceneObject) -> tuple[object, ...]:
    """What a frame shows of a thing: where it stands unseen is nothing that a trace could tell."""
    if not thing.is_visible:
        return (False,)
    return thing.box, tuple(thing.states.items()), thing.position_m


def _reversed_end(episode: Episode, magnitude: float) -> Episode | None:
    """The last `magnitude` of the frames in reverse, with all that happens between them."""
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
        edit=Edit(
            episode.id, "temporal", round(length / n, 4), (), f"the last {length} of {n} frames run backwards"
        ),
    )
    if episode.world in WORLDS and "scenario" in episode.meta:
        world = WORLDS[episode.world]
        return with_oracle(replace(new, answer=world.answer(world.read(episode.meta["scenario"]), new)))
    return replace(new, answer="")


def _turned(actions: tuple[Action, ...], start: float, end: float) -> Iterator[Action]:
    """What happens between two times, backwards: *enter* becomes *leave*."""
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
    """What comes and goes where the two parts meet."""
    if not cut:
        return
    before, after = ({t.id for t in frames[i].objects if t.is_visible} for i in (cut - 1, cut))
    when = (frames[cut - 1].time_s + frames[cut].time_s) / 2
    for thing in sorted(before ^ after):
        yield Action("appear" if thing in after else "disappear", thing, (), when, when)
