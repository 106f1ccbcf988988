"""Episodes of the twins with their edits: the whole scenario is edited and told anew, and the same four frames are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from theodolite.instruments.trace.data import stories
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.data.worlds.edits import FAMILIES, Family, perturbed
from theodolite.instruments.trace.data.worlds.make import WORLDS as WHOLE
from theodolite.instruments.trace.data.worlds.make import World

__all__ = ["STRENGTHS", "edited_episode", "with_edits"]

STRENGTHS: dict[Family, float] = {"position": 0.5, "temporal": 0.6, "visibility": 0.5, "irrelevant": 0.8}
"""How strong each edit is, of the largest that there is."""


def with_edits(
    episodes: Iterable[Episode], *, families: tuple[Family, ...] = FAMILIES, seed: int = 0
) -> Iterator[Episode]:
    """Every episode, followed by each of its edits that is to be had.

    Args:
        episodes: from `theodolite.twins.data.episodes`.
        families: of edits.
        seed: of what edits draw.
    """
    for episode in episodes:
        yield episode
        whole = _whole(episode)
        for family in families:
            edited = edited_episode(episode, family, seed=seed, whole=whole)
            if edited is not None:
                yield edited


def _whole(episode: Episode) -> Episode:
    """The episode with all of its frames, drawn anew."""
    home: World = WHOLE[episode.world]
    return home.episode(home.read(episode.meta["scenario"]), episode.id)


def edited_episode(
    episode: Episode, family: Family, *, seed: int = 0, whole: Episode | None = None
) -> Episode | None:
    """One edit of an episode of four frames; None where the edit is not to be had.

    Args:
        episode: from `theodolite.twins.data.episodes`.
        family: of the edit.
        seed: of what it draws.
        whole: the same with all of its frames, where that has been drawn already.
    """
    edited = perturbed(whole or _whole(episode), family, magnitude=STRENGTHS[family], seed=seed)
    if edited is None:
        return None
    short = stories.shortened(edited)
    meta = {**short.meta, "split": episode.meta.get("split", ""), "oracle_before": episode.meta["oracle"]}
    return replace(short, meta={**meta, "oracle": stories.trace_text(short, "structured")})
