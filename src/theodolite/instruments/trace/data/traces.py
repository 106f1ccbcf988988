"""Files of traces.

One JSON object per line, with ``episode`` and either ``text`` (as the model wrote it) or ``steps`` (strings, or objects with
``text`` and ``frames`` counted from 1). ``answer``, ``style``, ``model`` and ``reasoning`` are optional. Records of
Video-LLaVA on STAR (``question_id``, ``object_descriptions``, ``action_analysis``) can be read too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from theodolite.answers import read_answer
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, lines_of, parse_json, read_each
from theodolite.core.forms import Whole
from theodolite.instruments.trace.claims.align import align_steps
from theodolite.instruments.trace.claims.reading import read_trace
from theodolite.instruments.trace.claims.steps import MOST_STEPS
from theodolite.instruments.trace.claims.types import Step, Trace
from theodolite.instruments.trace.data.episode import Episode, Frame


class _StepForm(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str = Field(min_length=1)
    frames: list[Whole] = []


class _TraceForm(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    episode: str = Field(min_length=1)
    text: str = ""
    steps: list[_StepForm | str] | None = None
    answer: str = ""
    style: str = ""
    model: str = ""
    reasoning: str = ""


class _VideoLlavaForm(BaseModel):
    """A record of the video-of-thought log of Video-LLaVA on STAR."""

    model_config = ConfigDict(extra="ignore")

    question_id: str
    targets: str = ""
    object_descriptions: str = ""
    action_analysis: str = ""
    raw_response: list[str] | str | None = None


def read_traces(
    path: str | Path, episodes: Mapping[str, Episode] | None = None
) -> tuple[list[Trace], list[Problem]]:
    """Reads a trace file.

    Args:
        path: Path of the file.
        episodes: By id. Without them steps get no frames, which is enough to extract claims.

    Returns:
        The traces, and the problems of lines that gave none. Problems of a trace itself are in `Trace.problems`.
    """
    path = Path(path)
    found, problems = read_each(lines_of(path), lambda line: _read(_parsed(line), episodes))
    traces = [trace for _, trace in found]
    problems += [
        Problem(where, f"the trace of {trace.episode!r} has no steps")
        for where, trace in found
        if not trace.steps and not trace.problems
    ]
    if not traces:
        raise UsageError(f"{path} holds no usable trace" + (f": {problems[0].reason}" if problems else ""))
    return traces, problems


def _parsed(line: bytes) -> Any:
    """The value of a line. Half a character, as `json.dumps` writes it for broken text, is read as U+FFFD."""
    try:
        return parse_json(line)
    except ValueError as error:
        if not re.search(rb"\\u[dD][89a-fA-F]", line):
            raise
        try:
            return parse_json(json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace"))
        except RecursionError:
            raise error from None


def _read(data: Any, episodes: Mapping[str, Episode] | None) -> Trace:
    if not isinstance(data, dict):
        raise UsageError(
            f"a trace is an object with 'episode' and 'text' or 'steps', not {type(data).__name__}"
        )
    if "object_descriptions" in data:
        return _from_video_llava(data, episodes)
    form = check(_TraceForm, data)
    if form.steps is None and "text" not in data and "reasoning" not in data:
        raise UsageError(f"the trace of {form.episode!r} has neither 'text' nor 'steps'")
    episode = _episode(form.episode, episodes)
    if form.steps is None:
        return read_trace(
            form.text,
            episode,
            style=form.style,
            model=form.model,
            reasoning=form.reasoning,
            answer=read_answer(form.answer, episode.format) if form.answer else None,
        )
    return _from_steps(form, episode)


def _from_steps(form: _TraceForm, episode: Episode) -> Trace:
    given = [_StepForm(text=step) if isinstance(step, str) else step for step in (form.steps or [])]
    texts = [step.text for step in given]
    problems = (
        [f"{len(texts)} steps; only the first {MOST_STEPS} are read"] if len(texts) > MOST_STEPS else []
    )
    steps, wrong = align_steps(texts[:MOST_STEPS], episode)
    n = len(episode.frames)
    placed = []
    for number, (step, said) in enumerate(zip(steps, given, strict=False), 1):
        inside = tuple(frame - 1 for frame in said.frames if 1 <= frame <= n)
        if len(inside) < len(said.frames):
            problems.append(f"step {number}: names frame {max(said.frames)}, but there are {n}")
        placed.append(Step(step.text, inside, "index") if inside else step)
    answer = read_answer(form.answer, episode.format)
    return Trace(
        episode.id,
        tuple(placed),
        str(answer.value) if answer.is_read else "",
        "" if answer.is_read else answer.status,
        form.style,
        form.model,
        is_lower_bound=not placed,
        problems=(*problems, *wrong),
    )


def _from_video_llava(data: dict[str, Any], episodes: Mapping[str, Episode] | None) -> Trace:
    form = check(_VideoLlavaForm, data)
    text = "\n".join(part for part in (form.targets, form.object_descriptions, form.action_analysis) if part)
    said = form.raw_response
    response = (said[0] if said else "") if isinstance(said, list) else said or ""
    episode = _episode(form.question_id, episodes)
    answer = read_answer(response, episode.format)
    return read_trace(text, episode, style="video-of-thought", model="Video-LLaVA", answer=answer)


def _episode(name: str, episodes: Mapping[str, Episode] | None) -> Episode:
    if episodes is None:
        return Episode(name, "", (Frame(0.0),))
    if name not in episodes:
        raise UsageError(f"there is no episode {name!r} in the data")
    return episodes[name]
