"""Externally written traces: trace files, and logs whose models become runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from theodolite import __version__
from theodolite.answers import read_answer
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, lines_of, parse_json, read_each
from theodolite.core.scores import OWN_SPLIT
from theodolite.core.types import Item, Json, Message, Record, Request, Response, content_hash
from theodolite.core.views import Form, Whole
from theodolite.instruments.instrument import UserData
from theodolite.instruments.trace.claims.reading import align_steps, read_trace
from theodolite.instruments.trace.claims.steps import MOST_STEPS
from theodolite.instruments.trace.claims.types import Step, Trace
from theodolite.instruments.trace.questions import truth_of
from theodolite.runs import LocalEngine, MeasureOptions, Reuse, Run, RunInfo, measure
from theodolite.worlds.episodes import Episode, Frame

# Files of traces.
#
# One JSON object per line, with ``episode`` and either ``text`` (as the model wrote it) or ``steps`` (strings, or objects with
# ``text`` and ``frames`` counted from 1). ``answer``, ``style``, ``model`` and ``reasoning`` are optional. Records of
# Video-LLaVA on STAR (``question_id``, ``object_descriptions``, ``action_analysis``) can be read too.


class _WrittenStep(Form):
    text: str = Field(min_length=1)
    frames: list[Whole] = Field(default_factory=list)


class _WrittenTrace(Form):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    episode: str = Field(min_length=1)
    text: str = ""
    steps: list[_WrittenStep | str] | None = None
    answer: str = ""
    style: str = ""
    model: str = ""
    reasoning: str = ""


class _VideoLlavaRecord(Form):
    """A record of the video-of-thought log of Video-LLaVA on STAR."""

    question_id: str
    targets: str = ""
    object_descriptions: str = ""
    action_analysis: str = ""
    raw_response: list[str] | str | None = None


def read_traces(
    path: str | Path, episodes: Mapping[str, Episode] | None = None
) -> tuple[list[Trace], list[Problem]]:
    """Read a trace file.

    Args:
        path: Path of the file.
        episodes: By id. Without them steps get no frames, which is enough to extract claims.

    Returns:
        The traces, and the problems of lines that gave none. Problems of a trace itself are in `Trace.problems`.
    """
    path = Path(path)
    rows, problems = read_each(lines_of(path), lambda line: _read(_parsed(line), episodes))
    traces = [trace for _, trace in rows]
    problems += [
        Problem(where, f"the trace of {trace.episode!r} has no steps")
        for where, trace in rows
        if not trace.steps and not trace.problems
    ]
    if not traces:
        raise UsageError(f"{path} holds no usable trace" + (f": {problems[0].reason}" if problems else ""))
    return traces, problems


def _parsed(line: bytes) -> Any:
    """Return the value of a line. A lone surrogate, as `json.dumps` writes it for broken text, is read as U+FFFD."""
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
    form = check(_WrittenTrace, data)
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


def _from_steps(form: _WrittenTrace, episode: Episode) -> Trace:
    written = [_WrittenStep(text=step) if isinstance(step, str) else step for step in (form.steps or [])]
    texts = [step.text for step in written]
    problems = (
        [f"{len(texts)} steps; only the first {MOST_STEPS} are read"] if len(texts) > MOST_STEPS else []
    )
    steps, wrong = align_steps(texts[:MOST_STEPS], episode)
    n = len(episode.frames)
    placed = []
    for number, (step, source) in enumerate(zip(steps, written, strict=False), 1):
        inside = tuple(frame - 1 for frame in source.frames if 1 <= frame <= n)
        if len(inside) < len(source.frames):
            problems.append(f"step {number}: names frame {max(source.frames)}, but there are {n}")
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
    form = check(_VideoLlavaRecord, data)
    text = "\n".join(part for part in (form.targets, form.object_descriptions, form.action_analysis) if part)
    raw = form.raw_response
    response = (raw[0] if raw else "") if isinstance(raw, list) else raw or ""
    episode = _episode(form.question_id, episodes)
    answer = read_answer(response, episode.format)
    return read_trace(text, episode, style="video-of-thought", model="Video-LLaVA", answer=answer)


def _episode(name: str, episodes: Mapping[str, Episode] | None) -> Episode:
    if episodes is None:
        return Episode(name, "", (Frame(0.0),))
    if name not in episodes:
        raise UsageError(f"there is no episode {name!r} in the data")
    return episodes[name]


# Logs of traces that were written elsewhere: each model in them becomes a run, without asking any model.


_FRAME = re.compile(r"\W*(?:(?:at|in)\s+)?frames?\b", re.IGNORECASE)
SCHEME = "log:"
"""The prefix of the names of logged models, which cannot be opened."""


@dataclass(frozen=True, slots=True)
class LoggedModel:
    """The texts of one model in a log, by episode."""

    name: str
    texts: Mapping[str, str]

    @property
    def identity(self) -> str:
        """A hash of the content of the log."""
        return f"{SCHEME}{content_hash(dict(sorted(self.texts.items())))[:16]}"


def logged_models(own: UserData) -> list[LoggedModel]:
    """Return the models in the logs of a data set. A model without a name takes that of its file.

    Raises:
        UsageError: A log holds no usable trace, or two traces of one model about one episode.
    """
    from theodolite.instruments.trace.data.dataset import read_episodes

    if not own.logs:
        return []
    episodes = {episode.id: episode for episode in read_episodes(own.path).episodes}
    by_model: dict[str, dict[str, str]] = {}
    for path in own.logs:
        traces, _ = read_traces(path, episodes)
        raw = dict(_raw(path))
        for trace in traces:
            name = f"{SCHEME}{trace.model or path.stem}"
            texts_by_episode = by_model.setdefault(name, {})
            if trace.episode in texts_by_episode:
                raise UsageError(
                    f"{path} holds two traces of {name.removeprefix(SCHEME)} about {trace.episode!r}; keep one of them"
                )
            text, answer = raw.get((trace.model, trace.episode), ("", ""))
            texts_by_episode[trace.episode] = text or _text(trace, answer or trace.answer)
    return [LoggedModel(name, texts) for name, texts in by_model.items()]


def _raw(path: Path) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Yield the original text and the original answer by model and episode, where the log has them."""
    for _, line in lines_of(path):
        try:
            row: Any = parse_json(line)
        except ValueError:
            continue  # reported by `read_traces`
        if not isinstance(row, dict):
            continue
        if "object_descriptions" in row:
            raw = row.get("raw_response")
            answer = (raw[0] if raw else "") if isinstance(raw, list) else raw or ""
            yield ("Video-LLaVA", str(row.get("question_id"))), ("", str(answer))
            continue
        answer = str(row.get("answer") or "")
        text = str(row["text"]) if row.get("text") and row.get("steps") is None else ""
        key = str(row.get("model") or ""), str(row.get("episode"))
        yield key, (f"{text}\nFinal answer: {answer}" if text and answer else text, answer)


def _text(trace: Trace, answer: str) -> str:
    """Return a trace as a model would have written it, with the frames of its steps."""
    lines = []
    for number, step in enumerate(trace.steps, 1):
        frames = ", ".join(str(frame + 1) for frame in step.frames)
        is_said = not frames or _FRAME.match(step.text)
        about = "" if is_said else f" (frame{'s' if len(step.frames) > 1 else ''} {frames})"
        lines.append(f"Step {number}{about}: {step.text.strip()}")
    return "\n".join([*lines, f"Final answer: {answer}"] if answer else lines)


def write_log_run(model: LoggedModel, own: UserData, folder: Path, seed: int) -> Path:
    """Write the texts of a logged model as a run.

    Args:
        model: The model to write.
        own: The data set.
        folder: Folder of the run.
        seed: Seed of the diagnosis.

    Returns:
        The folder.
    """
    from theodolite.instruments.trace.data.dataset import read_episodes

    logged = [episode for episode in read_episodes(own.path).episodes if episode.id in model.texts]
    info = RunInfo(
        instrument="trace",
        model=model.name,
        identity=model.identity,
        settings={"data": str(own.path.absolute()), "split": OWN_SPLIT},
        seed=seed,
        theodolite=__version__,
    )
    with closing(LocalEngine(_Remembering(model))) as engine, Run.start(folder, info) as run:
        run.plan(map(_item, logged), whole=True)
        measure(run, engine, MeasureOptions())
    return folder


def _item(episode: Episode) -> Item:
    pictures = [frame.picture for frame in episode.frames if frame.picture is not None]
    name = f"{episode.id}/structured"
    request = Request((Message.user(*pictures, episode.task),), ref=name, recall="content")
    meta: dict[str, Json] = {"episode": episode.id, "style": "structured", "wording": "original"}
    return Item(name, request, meta=meta, truth=replace(truth_of(episode), split=""))


class _Remembering:
    """A measurer that answers with the texts of the log."""

    batch_size = 256
    reuse: Reuse = "never"

    def __init__(self, model: LoggedModel) -> None:
        self._texts = model.texts
        self.identity = model.identity

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """Return one record per item, in order."""
        return [
            Record(item.id, Response("answered", text=self._texts[str(item.meta["episode"])], finish="stop"))
            for item in items
        ]

    def close(self) -> None:
        """Do nothing: no resource is held."""
