"""Logs of traces that were written elsewhere: each model in them is judged beside the others, and nobody is asked anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite import __version__
from theodolite.core.errors import UsageError
from theodolite.core.splits import OWN_SPLIT
from theodolite.core.types import Item, Message, Record, Request, Response, content_hash
from theodolite.instruments.instrument import UserData
from theodolite.runs import LocalEngine, MeasureOptions, Reuse, Run, RunInfo, measure

if TYPE_CHECKING:
    from theodolite.instruments.trace.claims.types import Trace
    from theodolite.instruments.trace.data.episode import Episode

_FRAME = re.compile(r"\W*(?:(?:at|in)\s+)?frames?\b", re.IGNORECASE)
SCHEME = "log:"
"""How a model of a log is named: nobody can open it."""


@dataclass(frozen=True, slots=True)
class LoggedModel:
    """What one model said in a log, by episode."""

    name: str
    texts: Mapping[str, str]

    @property
    def identity(self) -> str:
        """The log's content."""
        return f"{SCHEME}{content_hash(dict(sorted(self.texts.items())))[:16]}"


def logged_models(own: UserData) -> list[LoggedModel]:
    """The models of the logs of a data set; one that a log does not name is named by its file.

    Raises:
        UsageError: a log holds no usable trace, or two traces of one model about one episode.
    """
    from theodolite.instruments.trace.data.dataset import read_episodes
    from theodolite.instruments.trace.data.traces import read_traces

    if not own.logs:
        return []
    episodes = {episode.id: episode for episode in read_episodes(own.path).episodes}
    found: dict[str, dict[str, str]] = {}
    for path in own.logs:
        traces, _ = read_traces(path, episodes)
        raw = dict(_raw_texts(path))
        for trace in traces:
            name = f"{SCHEME}{trace.model or path.stem}"
            told = found.setdefault(name, {})
            if trace.episode in told:
                raise UsageError(
                    f"{path} holds two traces of {name.removeprefix(SCHEME)} about {trace.episode!r}; keep one of them"
                )
            told[trace.episode] = raw.get((trace.model, trace.episode)) or _text(trace)
    return [LoggedModel(name, texts) for name, texts in found.items()]


def _raw_texts(path: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """What was written, by model and episode, where a log has it as it was written."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row: Any = json.loads(line)
        except ValueError:
            continue  # `read_traces` has told of it
        if isinstance(row, dict) and row.get("text") and row.get("steps") is None:
            answer = f"\nFinal answer: {row['answer']}" if row.get("answer") else ""
            yield (str(row.get("model") or ""), str(row.get("episode"))), f"{row['text']}{answer}"


def _text(trace: Trace) -> str:
    """A trace as a model would have written it, with the frames that its steps are about."""
    lines = []
    for number, step in enumerate(trace.steps, 1):
        frames = ", ".join(str(frame + 1) for frame in step.frames)
        is_said = not frames or _FRAME.match(step.text)
        about = "" if is_said else f" (frame{'s' if len(step.frames) > 1 else ''} {frames})"
        lines.append(f"Step {number}{about}: {step.text.strip()}")
    return "\n".join([*lines, f"Final answer: {trace.answer}"] if trace.answer else lines)


def write_log_run(model: LoggedModel, own: UserData, folder: Path, seed: int) -> Path:
    """A run that holds what a model said in a log, to be read like any other.

    Args:
        model: of the log.
        own: the data set.
        folder: of the run.
        seed: of the diagnosis.

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
    meta = {
        "episode": episode.id,
        "style": "structured",
        "wording": "original",
        "cluster": episode.unit,
        "gold": episode.answer,
    }
    return Item(name, request, meta=meta)


class _Remembering:
    """Answers with what stands in the log."""

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
