"""Pictures of the embedded worlds with matching captions, false alternatives and boxes.

Drafts are used without selection: a clip without a collision shows shapes just as well. Some are hidden or restyled, as in
the perturbation experiments. Needs only numpy and Pillow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.verifiers import similarity as say
from theodolite.instruments.trace.verifiers.scene import AHEAD_DEG
from theodolite.worlds.episodes import Episode, Frame, FrameObject, Split
from theodolite.worlds.facts import CLEAR_DEG, SIDE_SHARE, named
from theodolite.worlds.palette import SPLITS
from theodolite.worlds.stories import WORLDS, StoryWorld

Spot: TypeAlias = tuple[float, float, float, float, str, str]
"""Left, top, right and bottom in fractions of the picture, category, colour."""
Group: TypeAlias = tuple[str, ...]
"""Captions of which only the first is true."""
_STREAM = 20_260_306
"""Separates these draws from those of `make_world`, so that no generated episode was used in training."""
_NEAR_M = 0.5


@dataclass(frozen=True, slots=True)
class Sample:
    """One picture with its ground truth."""

    pixels: NDArray[np.uint8]
    """(side, side, 3)"""
    looks: tuple[str, ...]
    """Everything it shows, with and without colour: *ball*, *red ball*."""
    groups: tuple[Group, ...]
    """Sides and states, each with its alternatives."""
    spots: tuple[Spot, ...]


def samples_of(name: str, split: Split, indices: Iterable[int], *, seed: int, side: int) -> list[Sample]:
    """Return the pictures of some episodes, each drawn with its own seed.

    Args:
        name: Name of the world.
        split: Split of that world.
        indices: Indices of the episodes.
        seed: Seed of the draws.
        side: Side of the square to which pictures are resized.
    """
    samples: list[Sample] = []
    for index in indices:
        rng = np.random.default_rng([_STREAM, seed, list(WORLDS).index(name), SPLITS.index(split), index])
        episode = _episode(WORLDS[name], split, index, rng)
        samples += [sample_of(episode, frame, side) for frame in range(len(episode.frames))]
    return samples


def _episode(world: StoryWorld, split: Split, index: int, rng: np.random.Generator) -> Episode:
    while True:
        scenario = world.draft(rng, split, index)
        if scenario is None:
            continue
        kind = rng.choice(["as it is", "restyled", "hidden"], p=[0.6, 0.25, 0.15])
        strength = float(rng.uniform(0.1, 1.0))
        if kind == "restyled":
            scenario = world.restyle(scenario, strength)
        elif kind == "hidden":
            scenario = world.hide(scenario, rng, strength)
        return world.episode(scenario, f"{world.name}-{index}")


def sample_of(episode: Episode, index: int, side: int) -> Sample:
    """Convert one frame to a sample."""
    frame = episode.frames[index]
    if frame.picture is None or frame.size_px is None:
        raise UsageError(f"frame {index + 1} of {episode.id} has no picture")
    # the same filter as in the checkpoint's processor
    small = Image.fromarray(frame.picture.pixels()).resize((side, side), Image.Resampling.BICUBIC)
    shown = [thing for thing in frame.objects if thing.is_visible]
    looks = {look for thing in shown for look in (thing.category, named(thing))}
    width, height = frame.size_px
    spots = tuple(
        (
            thing.box.x0 / width,
            thing.box.y0 / height,
            thing.box.x1 / width,
            thing.box.y1 / height,
            thing.category,
            thing.attributes.get("colour", ""),
        )
        for thing in shown
        if thing.box is not None
    )
    return Sample(np.asarray(small), tuple(sorted(looks)), tuple(_groups(episode, frame, shown)), spots)


def _groups(episode: Episode, frame: Frame, shown: Sequence[FrameObject]) -> Iterator[Group]:
    """Yield true statements with their alternatives, for objects whose description is unique."""
    looks = [named(thing) for thing in frame.objects]
    things = [t for t in shown if looks.count(named(t)) == 1 and t.box is not None]
    for thing in things:
        if "open" in thing.states:
            state = "open" if thing.states["open"] else "closed"
            yield tuple(say.in_state(named(thing), s) for s in (state, words.opposite_state(state)))
    if episode.world != "navigation" and frame.size_px is not None:
        for a, b in combinations(things, 2):
            if a.box is None or b.box is None:
                continue
            apart = (a.box.centre_px[0] - b.box.centre_px[0]) / frame.size_px[0]
            if abs(apart) > SIDE_SHARE:
                first, second = (a, b) if apart < 0 else (b, a)
                yield tuple(say.beside(named(first), s, named(second)) for s in ("left of", "right of"))
                yield tuple(say.beside(named(second), s, named(first)) for s in ("right of", "left of"))
    if episode.world != "video" and frame.pose is not None:
        yield from _bearings(frame, things)


def _bearings(frame: Frame, things: Sequence[FrameObject]) -> Iterator[Group]:
    """Yield each true side of an object with the false ones. An object ahead to the left is in front and on the left."""
    held = {relation.object for relation in frame.relations}
    for thing in things:
        if thing.position_m is None or frame.pose is None or thing.id in held:
            continue
        x_m, y_m = thing.position_m[0] - frame.pose.x_m, thing.position_m[1] - frame.pose.y_m
        if np.hypot(x_m, y_m) < _NEAR_M:
            continue
        bearing = frame.pose.bearing_deg(thing.position_m)
        level, away = min(abs(bearing), 180 - abs(bearing)), abs(bearing)
        true = {"right of" if bearing > 0 else "left of"} if level > CLEAR_DEG else set()
        true |= {"in front of"} if away <= AHEAD_DEG else {"behind"} if away >= 180 - AHEAD_DEG else set()
        unsure = {"left of", "right of"} if level <= CLEAR_DEG else set()
        false = [side for side in words.FROM_ME if side not in true | unsure]
        for side in sorted(true):
            yield tuple(
                f"{say.caption(named(thing))} {words.FROM_ME[side_name]}" for side_name in (side, *false)
            )
