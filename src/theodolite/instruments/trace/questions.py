"""Each episode once per prompt style: what a model is asked, and what scoring needs to know of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Message, Picture, Recall, Request
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.prompts import Style, frame_label, trace_prompt

Wording: TypeAlias = Literal["original", "paraphrased"]
"""Whether the task is put as it stands, or after another lead-in: the language side of the counter-causal control."""

_LEAD_INS = (
    "Looking at the frames above, I would like to know this: {}",
    "Please settle the following from what you can see. {}",
    "Here is what has to be found out. {}",
)


def plan_traces(
    episodes: Sequence[Episode],
    *,
    styles: Sequence[Style] = ("structured",),
    wordings: Sequence[Wording] = ("original",),
    max_frames: int | None = None,
    max_tokens: int = 1024,
) -> Iterator[Item]:
    """The items of a run, episode by episode.

    Args:
        episodes: those without pictures cannot be asked about, and are left out; `without_pictures` names them.
        styles: of the prompt.
        wordings: of the task.
        max_frames: show at most so many, evenly spaced; they keep their numbers.
        max_tokens: the longest answer.
    """
    bare = {episode.id for episode in without_pictures(episodes)}
    shown = [episode for episode in episodes if episode.id not in bare]
    if not shown:
        raise UsageError(
            "none of the episodes has pictures to show; `theodolite trace verify` judges existing traces"
        )
    tasks = Counter((episode.task, episode.options) for episode in shown)
    for episode in shown:
        frames = _chosen(episode, max_frames)
        recall = _recall(episode, frames, is_only=tasks[episode.task, episode.options] == 1)
        for style in styles:
            for wording in wordings:
                yield _item(episode, style, wording, frames, recall=recall, max_tokens=max_tokens)


def without_pictures(episodes: Sequence[Episode]) -> list[Episode]:
    """The episodes that no model can be asked about."""
    return [episode for episode in episodes if all(frame.picture is None for frame in episode.frames)]


def _recall(episode: Episode, frames: Sequence[int], *, is_only: bool) -> Recall:
    """How far a replay may go to find its record.

    An edited episode is asked about in the words of the one it was made from, and fewer frames are asked about under the
    same name: there only the very same request will do. Where several episodes share a task, the id must match.
    """
    if episode.edit is not None or len(frames) < len(episode.frames):
        return "content"
    return "words" if is_only else "id"


def _item(
    episode: Episode,
    style: Style,
    wording: Wording,
    frames: Sequence[int],
    *,
    recall: Recall,
    max_tokens: int,
) -> Item:
    task = episode.task if wording == "original" else paraphrase(episode.task, episode.id)
    content: list[str | Picture] = []
    for index in frames:
        frame = episode.frames[index]
        if frame.picture is not None:
            content += [frame_label(index, frame.time_s), frame.picture]
    content.append(trace_prompt(task, style=style, options=episode.options))
    name = f"{episode.id}/{style}" + ("" if wording == "original" else f"/{wording}")
    return Item(
        name=name,
        request=Request(
            (Message.user(*content),),
            max_tokens=max_tokens,
            ref=episode.id if style == "structured" and wording == "original" else name,
            recall=recall,
            hint={
                "gold": str(episode.meta.get("oracle", episode.answer)),
                "answer": episode.answer,
                "episode": episode.id,
                **_before(episode),
            },
        ),
        meta={
            "episode": episode.id,
            "style": style,
            "wording": wording,
            "cluster": episode.unit,
            "gold": episode.answer,
        },
    )


def _before(episode: Episode) -> dict[str, str]:
    """Of an edit, the episode that it was made from and the trace that was true of it: what one knows by heart."""
    if episode.edit is None or "oracle_before" not in episode.meta:
        return {}
    return {"base": episode.edit.base, "before": str(episode.meta["oracle_before"])}


def _chosen(episode: Episode, most: int | None) -> list[int]:
    """At most so many frames, evenly spaced, the first and the last among them."""
    n = len(episode.frames)
    if most is None or n <= most:
        return list(range(n))
    if most == 1:
        return [n // 2]
    return sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})


def paraphrase(task: str, key: str) -> str:
    """The same question, unchanged, after another lead-in; which, depends on `key` alone.

    >>> paraphrase("Which ball is red?", "e1").endswith("Which ball is red?")
    True
    """
    return _LEAD_INS[sum(key.encode()) % len(_LEAD_INS)].format(task)
