"""Logs of traces that were written elsewhere: each model in them becomes a run, without asking any model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite import __version__
from theodolite.answers.items import FORMAT, format_to_json
from theodolite.core.errors import UsageError
from theodolite.core.files import lines_of, parse_json
from theodolite.core.splits import OWN_SPLIT
from theodolite.core.types import Item, Json, Message, Record, Request, Response, content_hash
from theodolite.instruments.instrument import UserData
from theodolite.runs import LocalEngine, MeasureOptions, Reuse, Run, RunInfo, measure

if TYPE_CHECKING:
    from theodolite.instruments.trace.claims.types import Trace
    from theodolite.instruments.trace.data.episode import Episode

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
    """The models of the logs of a data set. A model without a name takes that of its file.

    Raises:
        UsageError: A log holds no usable trace, or two traces of one model about one episode.
    """
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.data.traces import read_traces

    if not own.logs:
        return []
    episodes = {episode.id: episode for episode in read_episodes(own.path).episodes}
    found: dict[str, dict[str, str]] = {}
    for path in own.logs:
        traces, _ = read_traces(path, episodes)
        raw = dict(_raw(path))
        for trace in traces:
            name = f"{SCHEME}{trace.model or path.stem}"
            told = found.setdefault(name, {})
            if trace.episode in told:
                raise UsageError(
                    f"{path} holds two traces of {name.removeprefix(SCHEME)} about {trace.episode!r}; keep one of them"
                )
            text, answer = raw.get((trace.model, trace.episode), ("", ""))
            told[trace.episode] = text or _text(trace, answer or trace.answer)
    return [LoggedModel(name, texts) for name, texts in found.items()]


def _raw(path: Path) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """By model and episode: the original text and the original answer, where the log has them."""
    for _, line in lines_of(path):
        try:
            row: Any = parse_json(line)
        except ValueError:
            continue  # reported by `read_traces`
        if not isinstance(row, dict):
            continue
        if "object_descriptions" in row:
            said = row.get("raw_response")
            answer = (said[0] if said else "") if isinstance(said, list) else said or ""
            yield ("Video-LLaVA", str(row.get("question_id"))), ("", str(answer))
            continue
        answer = str(row.get("answer") or "")
        text = str(row["text"]) if row.get("text") and row.get("steps") is None else ""
        key = str(row.get("model") or ""), str(row.get("episode"))
        yield key, (f"{text}\nFinal answer: {answer}" if text and answer else text, answer)


def _text(trace: Trace, answer: str) -> str:
    """A trace as a model would have written it, with the frames of its steps."""
    lines = []
    for number, step in enumerate(trace.steps, 1):
        frames = ", ".join(str(frame + 1) for frame in step.frames)
        is_said = not frames or _FRAME.match(step.text)
        about = "" if is_said else f" (frame{'s' if len(step.frames) > 1 else ''} {frames})"
        lines.append(f"Step {number}{about}: {step.text.strip()}")
    return "\n".join([*lines, f"Final answer: {answer}"] if answer else lines)


def write_log_run(model: LoggedModel, own: UserData, folder: Path, seed: int) -> Path:
    """Writes the texts of a logged model as a run.

    Args:
        model: Model of the log.
        own: The data set.
        folder: Folder of the run.
        seed: Seed of the diagnosis.

    Returns:
        The folder.
    """
    from theodolite.instruments.trace.data.dataset import read_episodes

    told = [episode for episode in read_episodes(own.path).episodes if episode.id in model.texts]
    info = RunInfo(
        instrument="trace",
        model=model.name,
        identity=model.identity,
        settings={"data": str(own.path.absolute()), "split": OWN_SPLIT},
        seed=seed,
        theodolite=__version__,
    )
    with closing(LocalEngine(_Remembering(model))) as engine, Run.start(folder, info) as run:
        run.plan(map(_item, told), whole=True)
        measure(run, engine, MeasureOptions())
    return folder


def _item(episode: Episode) -> Item:
    pictures = [frame.picture for frame in episode.frames if frame.picture is not None]
    name = f"{episode.id}/structured"
    request = Request((Message.user(*pictures, episode.task),), ref=name, recall="content")
    meta: dict[str, Json] = {
        "episode": episode.id,
        "style": "structured",
        "wording": "original",
        "cluster": episode.unit,
        "gold": episode.answer,
        FORMAT: format_to_json(episode.format),
    }
    return Item(name, request, meta=meta)


class _Remembering:
    """Answers with the texts of the log."""

    batch_size = 256
    reuse: Reuse = "never"

    def __init__(self, model: LoggedModel) -> None:
        self._texts = model.texts
        self.identity = model.identity

    def measure(self, items: Sequence[Item]) -> list[Record]:
        """One record per item, in order."""
        return [
            Record(item.id, Response("answered", text=self._texts[str(item.meta["episode"])], finish="stop"))
            for item in items
        ]

    def close(self) -> None:
        """Nothing is held."""
