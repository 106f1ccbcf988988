"""Is each step of the reasoning supported by the frames, and does that predict robustness?

A model reasons about an `Episode` step by step; a `Trace` is what it wrote. Its claims are extracted (`with_claims`), a
`Verifier` judges each against the frames (`judge`), and the metrics are made of the verdicts (`theodolite.trace.metrics`,
`theodolite.trace.predicting`). Everything below loads when it is first used: types and prompts need numpy and Pillow only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.trace._annotate import AnnotationScore, export_labels, score_labels
    from theodolite.trace._claims import Claim, Mention, Step, Trace, Verdict, Verifier
    from theodolite.trace._dataset import EpisodeSet, Manifest, Problem, read_episodes, write_episodes
    from theodolite.trace._episode import EGO, Action, Edit, Episode, Frame, Pose, Relation, SceneObject
    from theodolite.trace._judging import JudgedStep, JudgedTrace, judge, open_verifier
    from theodolite.trace._plan import Wording, paraphrase, plan_traces, without_pictures
    from theodolite.trace._prompts import STYLES, Style, frame_label, trace_prompt
    from theodolite.trace._reading import read_trace, with_claims
    from theodolite.trace._score import ScoreOptions, TraceScore, score_traces
    from theodolite.trace._traces import read_traces

__all__ = [
    "EGO",
    "STYLES",
    "Action",
    "AnnotationScore",
    "Claim",
    "Edit",
    "Episode",
    "EpisodeSet",
    "Frame",
    "JudgedStep",
    "JudgedTrace",
    "Manifest",
    "Mention",
    "Pose",
    "Problem",
    "Relation",
    "SceneObject",
    "ScoreOptions",
    "Step",
    "Style",
    "Trace",
    "TraceScore",
    "Verdict",
    "Verifier",
    "Wording",
    "export_labels",
    "frame_label",
    "judge",
    "open_verifier",
    "paraphrase",
    "plan_traces",
    "read_episodes",
    "read_trace",
    "read_traces",
    "score_labels",
    "score_traces",
    "trace_prompt",
    "with_claims",
    "without_pictures",
    "write_episodes",
]

_MODULES = {
    "_annotate": ("AnnotationScore", "export_labels", "score_labels"),
    "_claims": ("Claim", "Mention", "Step", "Trace", "Verdict", "Verifier"),
    "_dataset": ("EpisodeSet", "Manifest", "Problem", "read_episodes", "write_episodes"),
    "_judging": ("JudgedStep", "JudgedTrace", "judge", "open_verifier"),
    "_plan": ("Wording", "paraphrase", "plan_traces", "without_pictures"),
    "_prompts": ("STYLES", "Style", "frame_label", "trace_prompt"),
    "_reading": ("read_trace", "with_claims"),
    "_score": ("ScoreOptions", "TraceScore", "score_traces"),
    "_traces": ("read_traces",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'theodolite.trace' has no attribute {name!r}")
    return getattr(import_module(f"theodolite.trace.{_HOMES.get(name, '_episode')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
