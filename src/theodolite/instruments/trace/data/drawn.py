"""Short episodes of the three embedded worlds with their edits. The pocket twins know these stories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.splits import LESSON_SEEDS, Split, check_split
from theodolite.instruments.trace.data import stories
from theodolite.instruments.trace.data.episode import Episode

__all__ = ["WORLDS", "episodes", "write_stories"]

WORLDS = tuple(stories.KINDS)
"""The embedded worlds."""


def episodes(
    n: int, *, seed: int = 0, split: Split = "free", worlds: Sequence[str] = WORLDS
) -> list[Episode]:
    """Episodes of four frames, `n` of each world; ``meta["shortcut"]`` is what the question's words predict.

    Args:
        n: of each world.
        seed: of the draw.
        split: whether the shortcut is right.
        worlds: some of video, navigation, instruction.
    """
    check_split(split)
    wanted = {"aligned": True, "crossed": False, "free": None}[split]
    found = []
    for world in worlds:
        if world not in WORLDS:
            raise UsageError(f"there is no world {world!r}; there are {', '.join(WORLDS)}")
        for number in range(n):
            episode = stories.story(world, number, seed=LESSON_SEEDS + seed, is_aligned=wanted)
            oracle = stories.trace_text(episode, "structured")
            found.append(replace(episode, meta={**episode.meta, "split": split, "oracle": oracle}))
    return found


def write_stories(folder: Path, split: Split, n: int, seed: int) -> None:
    """Episodes of all worlds, `n` of each, with every edit that is to be had of them."""
    from theodolite.instruments.trace.data.dataset import write_episodes
    from theodolite.instruments.trace.data.story_edits import with_edits

    drawn = episodes(n, seed=seed, split=split)
    write_episodes(with_edits(drawn, seed=seed), folder)
