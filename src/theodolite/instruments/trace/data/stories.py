"""Short episodes of the embedded worlds, with their edits and true descriptions. The shipped twins were trained on these.

Four frames of an episode are kept. The questions are those that the last frame answers: which side an object is on (video),
which room the walk ends in and what is ahead (navigation), whether the mission is accomplished (instruction).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import check
from theodolite.core.scores import LESSON_SEEDS, Split, check_split
from theodolite.worlds.episodes import EGO, FAMILIES, Episode, Family, FrameObject
from theodolite.worlds.facts import CLEAR_DEG, SIDE_SHARE, named
from theodolite.worlds.stories import WORLDS as WHOLE_WORLDS
from theodolite.worlds.stories import perturbed

KINDS = {"video": ("side",), "navigation": ("room", "ahead"), "instruction": ("done",)}
"""The kinds of question of each world."""
WORLDS = tuple(KINDS)
STRENGTHS: dict[Family, float] = {"position": 0.5, "temporal": 0.6, "visibility": 0.5, "irrelevant": 0.8}
"""The magnitude of each edit."""
_TURN = {"side": 1, "room": 2, "ahead": 3, "done": 1}
"""The index of a kind in the order of its world."""
_SHOWN = {"video": (0, 2, 5, 7), "navigation": (0, 3, 6, 8), "instruction": (0, 2, 5, 7)}
_COLOURS = ("red", "blue", "green", "yellow")
_NOUNS = ("ball", "box", "door", "key")
"""Of objects in missions; together with the order of colours they give yes as often as no."""
STYLES = ("structured", "minimal", "neutral", "verbose", "natural", "lite")


def episodes(
    n: int, *, seed: int = 0, split: Split = "free", worlds: Sequence[str] = WORLDS
) -> list[Episode]:
    """Make episodes of four frames. ``meta["shortcut"]`` is the answer that the words of the question predict.

    Args:
        n: Number of episodes of each world.
        seed: Seed of the draw.
        split: Decides whether the shortcut is right.
        worlds: Some of video, navigation, instruction.
    """
    check_split(split)
    wanted = {"aligned": True, "crossed": False, "free": None}[split]
    stories = []
    for world in worlds:
        if world not in WORLDS:
            raise UsageError(f"there is no world {world!r}; there are {', '.join(WORLDS)}")
        for number in range(n):
            episode = story(world, number, seed=LESSON_SEEDS + seed, is_aligned=wanted)
            oracle = trace_text(episode, "structured")
            stories.append(replace(episode, meta={**episode.meta, "split": split, "oracle": oracle}))
    return stories


def is_story(episode: Episode) -> bool:
    """Return True for an episode of `episodes`, or an edit of one: the kind that the shipped twins were trained on."""
    return episode.world in KINDS and "split" in episode.meta and "oracle" in episode.meta


def write_stories(folder: Path, split: Split, n: int, seed: int) -> None:
    """Write episodes of all worlds, `n` of each, with all their possible edits."""
    drawn = episodes(n, seed=seed, split=split)
    from theodolite.instruments.trace.data.dataset import write_episodes  # needs pydantic

    write_episodes(with_edits(drawn, seed=seed), folder)


def write_pairs(folder: Path, split: Split, n: int, seed: int) -> None:
    """Write episodes of all worlds, `n` of each, each with an edit that changes its answer; those without one are left out.

    The times of the frames stay, since prompts name them. Where the question places one thing relative to another, the same frames
    are also asked with the two exchanged, so that no cue of the frames alone explains both answers.
    """
    from theodolite.instruments.trace.data.dataset import write_episodes  # needs pydantic

    pairs = []
    for episode in episodes(n, seed=seed, split=split):
        edited = _with_other_answer(episode, seed)
        if edited is not None:
            pairs += [episode, edited]
            pairs += [turned for turned in map(with_roles_exchanged, (episode, edited)) if turned is not None]
    write_episodes(pairs, folder)


def with_roles_exchanged(episode: Episode) -> Episode | None:
    """Return the same frames with the two things in the question exchanged, and the answer; None for other kinds of question.

    Args:
        episode: Episode of `episodes`, or an edit of one.
    """
    names = _named(episode.task)
    if episode.world != "video" or episode.meta.get("kind") != "side" or len(names) != 2:
        return None
    first, second = names
    task = re.sub("|".join(map(re.escape, names)), lambda m: second if m[0] == first else first, episode.task)
    edit = episode.edit
    name, tilde, how = episode.id.partition("~")
    scenario: Any = episode.meta["scenario"]
    turned = replace(
        episode,
        id=f"{name}-turned{tilde}{how}",
        task=task,
        answer=next(option for option in episode.options if option != episode.answer),
        cluster=episode.unit,
        edit=None if edit is None else replace(edit, base=f"{edit.base}-turned"),
        meta={**episode.meta, "scenario": {**scenario, "asked": scenario["asked"][::-1]}},
    )
    meta = {**turned.meta, "shortcut": shortcut(turned), "oracle": trace_text(turned, "structured")}
    if edit is not None:
        meta.pop("oracle_before", None)
    return replace(turned, meta=meta)


def _with_other_answer(episode: Episode, seed: int) -> Episode | None:
    whole = _whole(episode)
    times = [frame.time_s for frame in episode.frames]
    for family in ("temporal", "position"):
        edited = edited_episode(episode, family, seed=seed, whole=whole)
        if edited is None or [frame.time_s for frame in edited.frames] != times:
            continue
        if edited.answer and edited.answer != episode.answer:
            return edited
    return None


def with_edits(
    episodes: Iterable[Episode], *, families: tuple[Family, ...] = FAMILIES, seed: int = 0
) -> Iterator[Episode]:
    """Yield every episode, followed by its edits.

    Args:
        episodes: Episodes of `episodes`.
        families: Families of edits.
        seed: Seed of the edits.
    """
    for episode in episodes:
        yield episode
        whole = _whole(episode)
        for family in families:
            edited = edited_episode(episode, family, seed=seed, whole=whole)
            if edited is not None:
                yield edited


def _whole(episode: Episode) -> Episode:
    """Return the episode with all of its frames, drawn again."""
    home = WHOLE_WORLDS[episode.world]
    return home.episode(check(home.scenario, episode.meta["scenario"]), episode.id)


def edited_episode(
    episode: Episode, family: Family, *, seed: int = 0, whole: Episode | None = None
) -> Episode | None:
    """Return an edit of an episode: the whole scenario is edited, and the same four frames are kept.

    Args:
        episode: Episode of `episodes`.
        family: Family of the edit.
        seed: Seed of the edit.
        whole: The same episode with all frames, if it has been drawn already.

    Returns:
        None if the edit is impossible.
    """
    edited = perturbed(whole or _whole(episode), family, magnitude=STRENGTHS[family], seed=seed)
    if edited is None:
        return None
    short = shortened(edited)
    meta = {**short.meta, "split": episode.meta.get("split", ""), "oracle_before": episode.meta["oracle"]}
    return replace(short, meta={**meta, "oracle": trace_text(short, "structured")})


def story(world: str, number: int, *, seed: int, is_aligned: bool | None = None) -> Episode:
    """Return an episode of four frames.

    Args:
        world: ``video``, ``navigation`` or ``instruction``.
        number: Number of the episode. Kinds of question and answers alternate by it.
        seed: Seed of the draw.
        is_aligned: Whether `shortcut` must be right (True), wrong (False), or either (None).
    """
    return shortened(long_story(world, number, seed=seed, is_aligned=is_aligned))


def long_story(world: str, number: int, *, seed: int, is_aligned: bool | None = None) -> Episode:
    """Return the same episode with all its frames."""
    kinds = KINDS[world]
    kind = kinds[number % len(kinds)]
    home = WHOLE_WORLDS[world]
    for attempt in range(4000):
        rng = np.random.default_rng([seed, zlib.crc32(world.encode()), number, attempt])
        turn = (
            int(rng.integers(64))
            if is_aligned is None or kind not in {"room", "ahead"}
            else 0
            if is_aligned
            else 1
        )
        if is_aligned is False and kind in {"room", "ahead"}:
            turn = int(rng.integers(1, 4 if kind == "room" else 8))
        wanted = turn if world != "instruction" else 0
        scenario = home.draft(rng, "in-distribution", _draft_number(world, kind, turn))
        if scenario is None or not home.is_good(scenario, wanted):
            continue
        episode = home.episode(scenario, f"{world}-{seed}-{number:05d}")
        if is_aligned is None or (shortcut(episode) == episode.answer) == is_aligned:
            return episode
    raise RuntimeError(f"no {kind} episode of {world} in 4000 drafts")  # a few dozen are usually enough


def _draft_number(world: str, kind: str, turn: int) -> int:
    if world == "instruction":
        return (1, 3)[turn % 2]
    return _TURN[kind]


def shortened(episode: Episode, shown: Sequence[int] | None = None) -> Episode:
    """Return the same episode with four of its frames, including the last."""
    frames = tuple(episode.frames[i] for i in shown or _SHOWN[episode.world])
    return replace(episode, frames=frames, meta={**episode.meta, "shortcut": shortcut(episode)})


def other_choices(episode: Episode, n: int, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Yield other choices of frames, always including the last."""
    last = _SHOWN[episode.world][-1]
    for _ in range(n):
        yield (*sorted(rng.choice(last, size=3, replace=False).tolist()), last)


def shortcut(episode: Episode) -> str:
    """Return the answer that the words of the question alone predict, by a fixed rule that is right by chance.

    With more than two options it is the first; else it depends on the objects that the question names.
    """
    if len(episode.options) > 2:
        return episode.options[0]
    names = _named(episode.task)
    if episode.world == "video":
        a, b = names[:2]
        is_first = (zlib.crc32(" ".join(sorted((a, b))).encode()) >> 3) % 2 == 0
        return episode.options[int(is_first == (a < b))]
    colour, _, noun = names[-1].partition(" ")
    return episode.options[(_COLOURS.index(colour) + _NOUNS.index(noun)) % 2]


def asked_about(episode: Episode) -> list[str]:
    """Return the objects that the question names, or its kind of question if it names none."""
    return _named(episode.task) or [str(episode.meta["kind"])]


def _named(task: str) -> list[str]:
    """Return the objects that a question names, in order."""
    return re.findall(r"\b(?:red|blue|green|yellow) [a-z]+", task)


def tell(episode: Episode, frame: int, *, most: int = 2) -> list[str]:
    """Return true sentences about one frame, starting with the objects of the question.

    Args:
        episode: The episode to describe.
        frame: Index of the frame, from 0.
        most: Maximum number of other objects to describe.
    """
    return list(dict.fromkeys(_TELLERS[episode.world](episode, frame, most)))


def _things(episode: Episode, frame: int) -> list[FrameObject]:
    return [o for o in episode.frames[frame].objects if o.category not in {"room", "table", "screen"}]


def _presence(thing: FrameObject, things: list[FrameObject]) -> Iterator[str]:
    if thing.is_visible:
        yield f"There is a {named(thing)}."
    elif not any(o.is_visible and o.category == thing.category for o in things):
        yield f"There is no {named(thing)}."


def _beside(a: FrameObject, b: FrameObject, width_px: int) -> Iterator[str]:
    if a.box is None or b.box is None:
        return
    apart = (a.box.centre_px[0] - b.box.centre_px[0]) / width_px
    if abs(apart) > SIDE_SHARE:
        yield f"The {named(a)} is {'right' if apart > 0 else 'left'} of the {named(b)}."


def _tell_video(episode: Episode, frame: int, most: int) -> Iterator[str]:
    things = _things(episode, frame)
    by_name = {named(t): t for t in things}
    first, second = (by_name[name] for name in _named(episode.task)[:2])
    width = (episode.frames[frame].size_px or (1, 1))[0]
    yield from _presence(first, things)
    yield from _presence(second, things)
    yield from _beside(first, second, width)
    others = [
        by_name[n] for n in sorted(by_name) if by_name[n].is_visible and by_name[n] not in (first, second)
    ]
    for other in others[: most - 1]:
        yield f"There is a {named(other)}."
        yield from _beside(other, first, width)


def _tell_navigation(episode: Episode, frame: int, most: int) -> Iterator[str]:
    here = episode.frames[frame]
    for held in here.relations:
        room = here.find(held.object)
        if held.subject == EGO and room is not None and room.category == "room":
            yield f"I am in the {named(room)}."
    seen = [t for t in _things(episode, frame) if t.is_visible and t.box is not None]
    for thing in sorted(seen, key=lambda t: -t.box.area_px if t.box else 0.0)[: most + 1]:
        yield from _bearing(episode, frame, thing)


def _bearing(episode: Episode, frame: int, thing: FrameObject) -> Iterator[str]:
    pose, position = episode.frames[frame].pose, thing.position_m
    if pose is None or position is None or np.hypot(position[0] - pose.x_m, position[1] - pose.y_m) < 0.5:
        return
    bearing = pose.bearing_deg(position)
    if CLEAR_DEG < abs(bearing) < 180 - CLEAR_DEG:
        yield f"The {named(thing)} is on my {'right' if bearing > 0 else 'left'}."
    else:
        yield f"The {named(thing)} is {'in front of' if abs(bearing) <= CLEAR_DEG else 'behind'} me."


def _tell_instruction(episode: Episode, frame: int, most: int) -> Iterator[str]:
    here = episode.frames[frame]
    things = _things(episode, frame)
    held = {r.object for r in here.relations if r.subject == EGO}
    for relation in here.relations:
        thing = here.find(relation.object)
        if relation.subject == EGO and thing is not None:
            yield f"I am {relation.predicate} the {named(thing)}."
    for thing in things:
        if "open" in thing.states and thing.is_visible:
            yield f"The {named(thing)} is {'open' if thing.states['open'] else 'closed'}."
    asked = _named(episode.task)
    chosen = [t for name in asked for t in things if named(t) == name and t.id not in held and t.is_visible]
    for thing in chosen[:most]:
        yield from _bearing(episode, frame, thing)
    movable = [t for t in chosen if t.category != "door"]
    for thing in movable[:1]:
        for other in [t for t in things if t.category == "door"]:
            yield from _beside(thing, other, (here.size_px or (1, 1))[0])


_TELLERS: dict[str, Any] = {
    "video": _tell_video,
    "navigation": _tell_navigation,
    "instruction": _tell_instruction,
}


def tell_blindly(episode: Episode, frame: int, answer: str) -> list[str]:
    """Return sentences that the question and an answer suggest, whatever the frame shows.

    Args:
        episode: The episode with the question.
        frame: Index of the frame, from 0.
        answer: The answer to argue for.
    """
    names = _named(episode.task)
    if episode.world == "video":
        a, b = names[:2]
        return [f"There is a {a}.", f"There is a {b}.", f"The {a} is {answer} of the {b}."]
    if episode.world == "navigation":
        if "walls" in episode.task:
            return [f"I am in the {answer} room.", f"The {answer} chair is in front of me."]
        return [f"I am in the {answer.partition(' ')[0]} room.", f"The {answer} is in front of me."]
    doors = [n for n in names if n.endswith("door")]
    sentences = [f"The {d} is {'open' if frame >= 2 and answer == 'yes' else 'closed'}." for d in doors[:1]]
    things = [n for n in names if not n.endswith("door")]
    return sentences + [
        f"The {n} is {'in front of me' if answer == 'yes' else 'behind me'}." for n in things[:2]
    ]


def trace_text(episode: Episode, style: str, *, is_blind: bool = False) -> str:
    """Return a whole response in one style: what each frame shows, then the answer.

    Args:
        episode: The episode to describe.
        style: Style of the prompt.
        is_blind: True to use only the words of the question.
    """
    return blind_text(episode, style, shortcut(episode)) if is_blind else _text(episode, style)


def blind_text(episode: Episode, style: str, answer: str) -> str:
    """Return a whole response from the words of the question alone, for one of its options."""
    return _text(episode, style, blindly=answer)


def _text(episode: Episode, style: str, *, blindly: str | None = None) -> str:
    answer = episode.answer if blindly is None else blindly
    if style == "natural":
        return answer
    frames = range(len(episode.frames)) if style != "minimal" else [len(episode.frames) - 1]
    most = 3 if style == "verbose" else 2
    lines = []
    for frame in frames:
        sentences = (
            tell(episode, frame, most=most) if blindly is None else tell_blindly(episode, frame, blindly)
        )
        if not sentences:
            continue
        if style == "lite":
            lines.append(f"Frame {frame + 1}: {' '.join(sentences).replace('. ', '; ')}")
        else:
            lines.append(f"Step {len(lines) + 1} (frame {frame + 1}): {' '.join(sentences)}")
    return "\n".join([*lines, f"Final answer: {answer}"])
