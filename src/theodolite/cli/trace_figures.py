"""The pictures of ``theodolite trace score --figures`` and ``theodolite trace predict --figures``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from theodolite.cli.console import note
from theodolite.core.drawing import Drawing
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Trace
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.experiments.predict import ModelRow, Prediction, Retention
from theodolite.instruments.trace.figures import (
    grounding_against_retention,
    progress_profile,
    reliance_bars,
    sensitivity_chart,
    trace_row,
)
from theodolite.instruments.trace.score import ScoreOptions, TraceScore
from theodolite.instruments.trace.verifiers.judging import JudgedTrace, judge, open_verifier
from theodolite.runs import Run

_ROWS = 3
_LOOKED_AT = 24
"""How many answers are looked through for the rows that are drawn."""


def draw_score(scores: Mapping[str, TraceScore], folder: Path) -> list[Path]:
    """What runs share: SGR over progress, reliance; and the sensitivity of each to edits.

    Args:
        scores: by the name to show.
        folder: to write into.
    """
    drawings: dict[str, Drawing] = {}
    profiles = {
        name if len(scores) > 1 else f"{group.style}, {group.split}": group.grounding
        for name, score in scores.items()
        for group in (score.groups[:1] if len(scores) > 1 else score.groups)
    }
    if any(estimate is not None for g in profiles.values() for estimate in g.profile.values()):
        drawings["progress"] = progress_profile(profiles)
    relied = {name: score.reliance for name, score in scores.items() if score.reliance is not None}
    if relied:
        drawings["reliance"] = reliance_bars(relied)
    for i, (name, score) in enumerate(scores.items(), 1):
        if any(cell.delta_sgr is not None for cell in score.sensitivity):
            drawings[f"sensitivity_{i}"] = sensitivity_chart(
                score.sensitivity, title=f"What editing the pictures does: {name}"
            )
    return [_save(drawing, folder / f"{name}.png") for name, drawing in drawings.items()]


def draw_rows(run: Run, options: ScoreOptions, folder: Path, *, data: Path | None) -> list[Path]:
    """Traces step by step, those with the most refuted claims first."""
    place = data or Path(str(run.info.settings["data"]))
    episodes = {episode.id: episode for episode in read_episodes(place).episodes}
    judged = judge(
        with_claims(_traces(run, episodes)), episodes, open_verifier(options.verifier), hedges=options.hedges
    )
    found: list[Path] = []
    for trace in sorted((t for t in judged if t.steps and not t.failure), key=_n_refuted, reverse=True)[
        :_ROWS
    ]:
        drawing = trace_row(trace, episodes[trace.trace.episode], steps=_telling(trace))
        found.append(_save(drawing, folder / f"steps_{len(found) + 1}.png"))
    return found


def draw_law(rows: Sequence[ModelRow], prediction: Prediction, folder: Path) -> list[Path]:
    """SGR against OOD accuracy and against the share of accuracy that is kept, each with its interval."""
    found = []
    kinds: tuple[tuple[Retention, str], ...] = (("ratio", "retention"), ("ood accuracy", "ood_accuracy"))
    for kind, name in kinds:
        law = next(a for a in prediction.associations if (a.predictor, a.retention) == ("sgr", kind))
        drawing = grounding_against_retention(rows, law, retention=kind)
        found.append(_save(drawing, folder / f"sgr_{name}.png"))
    return found


def tell(drawn: Sequence[Path], folder: Path) -> None:
    """Says what was drawn, or that nothing could be."""
    note(f"drew {len(drawn)} figures into {folder}" if drawn else "there is nothing to draw")


def _traces(run: Run, episodes: Mapping[str, Episode]) -> list[Trace]:
    found: list[Trace] = []
    for result in run.results():
        meta = result.item.meta
        episode = episodes.get(str(meta["episode"]))
        if (
            episode is None
            or episode.edit is not None
            or meta.get("wording") != "original"
            or result.record is None
            or not result.record.response.is_answered
        ):
            continue
        response = result.record.response
        found.append(
            read_trace(response.text, episode, style=str(meta["style"]), reasoning=response.reasoning)
        )
        if len(found) == _LOOKED_AT:
            break
    return found


def _n_refuted(trace: JudgedTrace) -> int:
    return sum(verdict.label == "unsupported" for step in trace.steps for _, verdict in step.counted())


def _telling(trace: JudgedTrace) -> list[int]:
    """At most four steps that have something to judge, evenly spaced."""
    said = [i for i, step in enumerate(trace.steps) if step.counted()] or list(range(len(trace.steps)))
    return sorted({said[round(i * (len(said) - 1) / 3)] for i in range(4)})


def _save(drawing: Drawing, path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return drawing.save(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
