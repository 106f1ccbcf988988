"""The prompts, and the items of a run: each episode once per prompt style and wording.

Every prompt numbers the frames from 1 and gives their times, so that steps can be aligned with frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast, get_args

from theodolite.answers import normal_form
from theodolite.answers.grading import format_from_json
from theodolite.core.errors import UsageError
from theodolite.core.types import PLAIN, AnswerFormat, Item, Message, Picture, ReplayMatch, Request, Truth
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.pairs.outcomes import EDIT_FRAMES, EDIT_OTHER_FRAMES
from theodolite.worlds.episodes import Episode

# Items of runs that were stored before items carried their truth.


def with_truth(item: Item, settings: Mapping[str, Any]) -> Item:
    """Return an item with its truth, from its episode in the data of the run; if the data is gone, from the item's meta."""
    meta = cast("dict[str, Any]", dict(item.meta))
    gold, cluster, form = meta.pop("gold", None), meta.pop("cluster", None), meta.pop("format", None)
    wording = str(meta.setdefault("wording", "original"))
    repeats = str(meta.pop("repeats", ""))
    episodes = _episodes(str(settings.get("data", "")))
    episode = episodes.get(str(meta["episode"]))
    if episode is None:
        truth = Truth(
            (str(gold),) if gold else (),
            None if form is None else format_from_json(form),
            subject=str(meta["episode"]),
            cluster=str(cluster or ""),
            grader="trace",
        )
    else:
        truth = truth_of(episode, wording)
        if wording == "original":
            truth = with_edit(replace(item, meta=meta, truth=truth), episode, episodes)
    split = "" if settings.get("split") else truth.split
    return replace(item, meta=meta, truth=replace(truth, split=split, repeats=repeats))


@lru_cache(maxsize=8)
def _episodes(folder: str) -> Mapping[str, Episode]:
    try:
        return {episode.id: episode for episode in read_episodes(folder).episodes} if folder else {}
    except UsageError:
        return {}


def relevance_with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item of a relevance run with its truth."""
    meta = cast("dict[str, Any]", dict(item.meta))
    truth = Truth(
        (str(meta.pop("gold")),),
        AnswerFormat.choice(list(item.options)),
        subject=str(meta["episode"]),
        cluster=str(meta.pop("cluster")),
        split=str(meta.pop("split")),
    )
    return replace(item, meta=meta, truth=truth)


Style: TypeAlias = Literal["structured", "minimal", "neutral", "verbose", "natural", "lite"]
"""``structured``: numbered steps, each with its frame. ``minimal``, ``neutral``, ``verbose``: the same request in few, plain
and many words. ``natural``: the bare question. ``lite``: beliefs at each frame, without explanation (SGR-lite)."""
STYLES: tuple[Style, ...] = get_args(Style)

Wording: TypeAlias = Literal["original", "paraphrased", "blind"]
"""``original``: the task as it stands. ``paraphrased``: after another lead-in, for the two-way control. ``blind``: without
any frame."""
BLIND: Wording = "blind"

_REQUESTS: dict[Style, str] = {
    "structured": (
        "Work it out in numbered steps, in the order of the frames. Begin each step with 'Step <number> (frame <number>):' and"
        " say in one or two short sentences only what that frame shows: which things there are, what they look like, where"
        " they are, what happens. Then write 'Final answer:' and the answer."
    ),
    "minimal": "Think step by step, then write 'Final answer:' and the answer.",
    "neutral": (
        "Describe what you see in the frames, one step at a time, and say which frame each step is about. End with a line that"
        " begins with 'Final answer:'."
    ),
    "verbose": (
        "Reason as carefully and as fully as you can. Go through the frames one after the other. For each of them write a step"
        " that begins with 'Step <number> (frame <number>):' and describe all visible things with their colours, their"
        " number, their places relative to each other and to you, their states, what is happening, what has changed since the"
        " frame before, and what that means for the task. Check each observation against the frame before you write it down."
        " When every frame has been described, draw your conclusion and write it after the words 'Final answer:'."
    ),
    "natural": "",
    "lite": (
        "For each frame write one line 'Frame <number>:' followed by what you believe to be the case at that moment, as short"
        " statements separated by semicolons. Give no reasons and no explanations. Then write 'Final answer:' and the answer."
    ),
}
_LEAD_INS = (
    "Looking at the frames above, I would like to know this: {}",
    "Please settle the following from what you can see. {}",
    "Here is what has to be found out. {}",
)
_NOTHING_SEEN = "Step 1: I see no frame.\nFinal answer: unknown"
"""The true trace of an item without frames, for scripted models."""


def trace_prompt(task: str, *, style: Style = "structured", options: Sequence[str] = ()) -> str:
    """Return the text that follows the frames.

    >>> print(trace_prompt("Which way did you turn?", style="natural", options=("left", "right")))
    Which way did you turn?
    Answer with one of: left, right.
    """
    if style not in STYLES:
        raise UsageError(f"there is no prompt style {style!r}; there are {', '.join(STYLES)}")
    choices = f"Answer with one of: {', '.join(options)}." if options else ""
    return "\n".join(part for part in (task, choices, _REQUESTS[style]) if part)


def frame_label(index: int, time_s: float) -> str:
    """Return the text before a frame.

    >>> frame_label(0, 2.5)
    'Frame 1 (2.5 s):'
    """
    return f"Frame {index + 1} ({time_s:g} s):"


def paraphrase(task: str, key: str) -> str:
    """Return the unchanged task after another lead-in, chosen by `key`.

    >>> paraphrase("Which ball is red?", "e1").endswith("Which ball is red?")
    True
    """
    return _LEAD_INS[sum(key.encode()) % len(_LEAD_INS)].format(task)


def shown_frames(episode: Episode, frames: Sequence[int] | None = None) -> list[str | Picture]:
    """Return the frames of an episode that have a picture, each after its label; all of them by default."""
    content: list[str | Picture] = []
    for index in range(len(episode.frames)) if frames is None else frames:
        frame = episode.frames[index]
        if frame.picture is not None:
            content += [frame_label(index, frame.time_s), frame.picture]
    return content


def plan_study(episodes: Sequence[Episode], *, max_tokens: int = 1024) -> Iterator[Item]:
    """Yield the items of a diagnosis: every episode, including edits, and every unedited one again without its frames.

    Args:
        episodes: Episodes with pictures.
        max_tokens: Maximum length of a response.
    """
    yield from map(_of_run, plan_traces(episodes, max_tokens=max_tokens))
    for episode in episodes:
        if episode.edit is None:
            yield _of_run(_item(episode, "structured", BLIND, (), recall="content", max_tokens=max_tokens))


def plan_pairs(episodes: Sequence[Episode], *, max_tokens: int = 1024) -> Iterator[Item]:
    """Yield the items of a run of pairs: every episode, including edits.

    Args:
        episodes: Episodes with pictures.
        max_tokens: Maximum length of a response.
    """
    for item in plan_traces(episodes, max_tokens=max_tokens):
        of_run = _of_run(item)
        yield replace(
            of_run,
            truth=replace(of_run.truth, condition=of_run.truth.condition if of_run.truth.edit else "before"),
        )


def _of_run(item: Item) -> Item:
    """Return an item with the split of its run: in a diagnosis, the episodes of one split make a run."""
    return replace(item, truth=replace(item.truth, split=""))


def plan_traces(
    episodes: Sequence[Episode],
    *,
    styles: Sequence[Style] = ("structured",),
    wordings: Sequence[Wording] = ("original",),
    max_frames: int | None = None,
    max_tokens: int = 1024,
) -> Iterator[Item]:
    """Yield the items of a run, episode by episode.

    Args:
        episodes: Those without pictures are left out; `without_pictures` lists them.
        styles: Prompt styles.
        wordings: Wordings of the task.
        max_frames: Maximum number of frames to show, evenly spaced. They keep their numbers.
        max_tokens: Maximum length of a response.
    """
    bare = {episode.id for episode in without_pictures(episodes)}
    shown = [episode for episode in episodes if episode.id not in bare]
    if not shown:
        raise UsageError(
            "none of the episodes has pictures to show; `theodolite trace verify` judges existing traces"
        )
    tasks = Counter((episode.task, episode.options) for episode in shown)
    by_id = {episode.id: episode for episode in shown}
    for episode in shown:
        frames = _chosen(episode, max_frames)
        recall = _recall(episode, frames, is_only=tasks[episode.task, episode.options] == 1)
        for style in styles:
            for wording in wordings:
                item = _item(episode, style, wording, frames, recall=recall, max_tokens=max_tokens)
                if style != styles[0]:  # the scores of an episode are those in the first style
                    item = replace(item, truth=replace(item.truth, subject=f"{item.subject}/{style}"))
                yield (
                    item
                    if wording != "original"
                    else replace(item, truth=with_edit(item, episode, by_id, max_frames))
                )


def without_pictures(episodes: Sequence[Episode]) -> list[Episode]:
    """Return the episodes that no model can be asked about."""
    return [episode for episode in episodes if all(frame.picture is None for frame in episode.frames)]


def _recall(episode: Episode, frames: Sequence[int], *, is_only: bool) -> ReplayMatch:
    """Return how loosely a replay may match its record.

    An edit has the same prompt as its original, and a run with fewer frames has the same item names: there the request must
    be identical. If several episodes share a task, the id must match.
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
    recall: ReplayMatch,
    max_tokens: int,
) -> Item:
    task = paraphrase(episode.task, episode.id) if wording == "paraphrased" else episode.task
    name = f"{episode.id}/{style}" + ("" if wording == "original" else f"/{wording}")
    text = trace_prompt(task, style=style, options=episode.options)
    is_plain = style == "structured" and wording == "original"
    return Item(
        name=name,
        request=Request(
            (Message.user(*shown_frames(episode, frames), text),),
            max_tokens=max_tokens,
            ref=episode.id if is_plain else name,
            recall=recall,
            hint=_hint(episode, wording),
        ),
        meta={"episode": episode.id, "style": style, "wording": wording},
        truth=truth_of(episode, wording),
    )


def truth_of(episode: Episode, wording: str = "original") -> Truth:
    """Return the right answer and the rest of the truth of an episode in a wording, without its edit."""
    condition = PLAIN if wording == "original" else wording
    if episode.edit is not None:
        condition = f"{episode.edit.family} edit"
    return Truth(
        (episode.answer,) if episode.answer else (),
        episode.format,
        subject=episode.id if episode.edit is None else episode.edit.base,
        cluster=episode.unit,
        split=episode.split,
        group=episode.world,
        relation=str(episode.meta.get("kind") or ""),
        condition=condition,
        grader="trace",
    )


def with_edit(
    item: Item, episode: Episode, others: Mapping[str, Episode], max_frames: int | None = None
) -> Truth:
    """Return the truth of an item with the edit of its episode, where the effect on the answer is known.

    An edit is relevant if it changes the right answer, and neutral if it changes nothing that the question asks for. The prompt,
    including the times of the frames, must be the same before and after.

    Args:
        item: The item of the edited episode.
        episode: The edited episode.
        others: Episodes by id, including the original.
        max_frames: Maximum number of frames shown.
    """
    edit = episode.edit
    before = others.get(edit.base) if edit is not None else None
    if edit is None or before is None or not (episode.answer and before.answer):
        return item.truth
    is_same_answer = normal_form(before.answer) == normal_form(episode.answer)
    asked = [
        (
            side.task,
            side.options,
            [part for part in shown_frames(side, _chosen(side, max_frames)) if isinstance(part, str)],
        )
        for side in (before, episode)
    ]
    if edit.is_relevant == is_same_answer or asked[0] != asked[1]:
        return item.truth
    name = (EDIT_FRAMES if edit.is_relevant else EDIT_OTHER_FRAMES).name
    relation = str(before.meta.get("kind") or edit.family)
    return replace(item.truth, edit=name, base=f"{before.id}/{item.meta['style']}", relation=relation)


def _hint(episode: Episode, wording: Wording) -> dict[str, str]:
    """Return what scripted models know: the true trace, and, for an edit, the original and its true trace."""
    hint = {"answer": episode.answer, "episode": episode.id}
    if wording == BLIND:
        return {"gold": _NOTHING_SEEN, **hint}
    hint["gold"] = str(episode.meta.get("oracle", episode.answer))
    if episode.edit is not None and "oracle_before" in episode.meta:
        hint |= {"base": episode.edit.base, "before": str(episode.meta["oracle_before"])}
    return hint


def _chosen(episode: Episode, most: int | None) -> list[int]:
    """Return at most this many frames, evenly spaced, including the first and the last."""
    n = len(episode.frames)
    if most is None or n <= most:
        return list(range(n))
    if most == 1:
        return [n // 2]
    return sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})
