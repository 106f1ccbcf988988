"""Making episodes: a draft is drawn until it is a good one, each from a seed of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.episode import Episode, Split
from theodolite.instruments.trace.data.worlds import instruction, navigation, video
from theodolite.instruments.trace.data.worlds.facts import oracle_text
from theodolite.instruments.trace.data.worlds.palette import SPLITS

_MOST_DRAFTS = 4000
EXTRA_WORLD = "miniworld"
"""Made by another simulator, which draws with OpenGL."""


@dataclass(frozen=True, slots=True)
class World:
    """How one world is made and edited; a scenario is all that an episode follows from."""

    name: str
    n_kinds: int
    """How many kinds of question take turns."""
    draft: Callable[[np.random.Generator, Split, int], Any]
    is_good: Callable[[Any, int], bool]
    episode: Callable[[Any, str], Episode]
    read: Callable[[Any], Any]
    answer: Callable[[Any, Episode], str]
    """The right answer once the frames have been reordered; empty if there is none."""
    move: Callable[[Any, np.random.Generator, float], tuple[Any, str, float] | None]
    """Another scenario with one thing elsewhere, its id, and how far it went as a share."""
    hide: Callable[[Any, np.random.Generator, float], Any]
    restyle: Callable[[Any, float], Any]


WORLDS: dict[str, World] = {
    "video": World(
        "video",
        len(video.KINDS),
        video.draft_video,
        video.is_good_video,
        video.video_episode,
        video.VideoScenario.from_json,
        video.answer_video,
        video.move_video,
        video.hide_video,
        video.restyle_video,
    ),
    "navigation": World(
        "navigation",
        len(navigation.KINDS),
        navigation.draft_navigation,
        navigation.is_good_navigation,
        navigation.navigation_episode,
        navigation.NavigationScenario.from_json,
        navigation.answer_navigation,
        navigation.move_navigation,
        navigation.hide_navigation,
        navigation.restyle_navigation,
    ),
    "instruction": World(
        "instruction",
        len(instruction.KINDS),
        instruction.draft_instruction,
        instruction.is_good_instruction,
        instruction.instruction_episode,
        instruction.InstructionScenario.from_json,
        instruction.answer_instruction,
        instruction.move_instruction,
        instruction.hide_instruction,
        instruction.restyle_instruction,
    ),
}


def world_named(name: str) -> World:
    """A world of the table.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in WORLDS:
        raise UsageError(f"there is no world {name!r}; there are {', '.join((*WORLDS, EXTRA_WORLD))}")
    return WORLDS[name]


def make_world(name: str, n: int, *, seed: int = 0, splits: tuple[Split, ...] = SPLITS) -> Iterator[Episode]:
    """Episodes of a world, `n` of each split; the same seed gives the same pixels.

    Kinds of question take turns, and within a kind the right answer runs through the options. ``miniworld`` is an extra.

    Raises:
        UsageError: there is no such world, or none of it is wanted.
    """
    if n < 1:
        raise UsageError(f"a world needs at least one episode of each split, got n={n}")
    if name == EXTRA_WORLD:
        from theodolite.instruments.trace.data.sources.miniworld import make_miniworld

        return make_miniworld(n, seed=seed, splits=splits)
    return _made(world_named(name), n, seed, splits)


def _made(world: World, n: int, seed: int, splits: tuple[Split, ...]) -> Iterator[Episode]:
    seen: set[str] = set()
    for split in splits:
        for index in range(n):
            scenario = _drawn(world, split, index, seed, seen)
            short = "id" if split == "in-distribution" else "ood"
            yield with_oracle(world.episode(scenario, f"{world.name}-{short}-{seed}-{index:04d}"))


def with_oracle(episode: Episode) -> Episode:
    """The episode with a true trace in its ``meta``."""
    return replace(episode, meta={**episode.meta, "oracle": oracle_text(episode)})


def _drawn(world: World, split: Split, index: int, seed: int, seen: set[str]) -> Any:
    numbers = [seed, list(WORLDS).index(world.name), SPLITS.index(split), index]
    for attempt in range(_MOST_DRAFTS):
        scenario = world.draft(np.random.default_rng([*numbers, attempt]), split, index)
        if scenario is None:
            continue
        key = json.dumps(scenario.as_json(), sort_keys=True)
        if key not in seen and world.is_good(scenario, index // world.n_kinds):
            seen.add(key)
            return scenario
    raise UsageError(
        f"no good draft for {world.name} {split} {index} in {_MOST_DRAFTS}; take another seed than {seed}"
    )
