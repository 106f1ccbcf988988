"""Is each step of the reasoning supported by the frames, and does that predict robustness?

A model reasons about an `Episode` step by step; a `Trace` is what it wrote. Its claims are extracted, a `Verifier`
judges each against the frames, and the metrics are made of the verdicts. Everything below loads when it is first used:
the types and the prompts need numpy and Pillow only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.trace._claims import Claim, Mention, Step, Trace, Verdict, Verifier
    from theodolite.trace._dataset import EpisodeSet, Manifest, Problem, read_episodes, write_episodes
    from theodolite.trace._episode import (
        EGO,
        Action,
        Edit,
        Episode,
        Frame,
        Pose,
        Relation,
        SceneObject,
    )

__all__ = [
    "EGO",
    "Action",
    "Claim",
    "Edit",
    "Episode",
    "EpisodeSet",
    "Frame",
    "Manifest",
    "Mention",
    "Pose",
    "Problem",
    "Relation",
    "SceneObject",
    "Step",
    "Trace",
    "Verdict",
    "Verifier",
    "read_episodes",
    "write_episodes",
]

_HOMES = {
    **dict.fromkeys(("Claim", "Mention", "Step", "Trace", "Verdict", "Verifier"), "_claims"),
    **dict.fromkeys(("EpisodeSet", "Manifest", "Problem", "read_episodes", "write_episodes"), "_dataset"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'theodolite.trace' has no attribute {name!r}")
    return getattr(import_module(f"theodolite.trace.{_HOMES.get(name, '_episode')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
