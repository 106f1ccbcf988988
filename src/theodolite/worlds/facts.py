"""True sentences about an episode that claims can express, and how each is made false.

The selection of facts at a frame depends only on the cluster's name and the frame's number, not on the truth there: a
trace of an edited episode mentions the same things as a trace of the original.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from theodolite.worlds.english import with_article, with_right_articles
from theodolite.worlds.episodes import EGO, Action, Episode, FrameObject
from theodolite.worlds.palette import COLOURS, PAINTS

SIDE_SHARE = 0.05
"""Two things are left and right of each other if their centres are farther apart than this share of the picture."""
CLEAR_DEG = 15.0
"""A thing is told as left or right if its bearing is so far from straight ahead and straight behind."""
_UNTOLD = frozenset({"room", "table", "screen"})
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def named(thing: FrameObject) -> str:
    """Return for example *red ball*."""
    return " ".join(filter(None, (thing.attributes.get("colour", ""), thing.category)))


def oracle_text(episode: Episode, *, per_frame: int = 2) -> str:
    """Return a trace that is true throughout: for each frame its objects and actions, then the order of events, then the answer.

    Args:
        episode: The episode to describe.
        per_frame: Number of things, and of pairs of things, to describe at each frame.
    """
    lines: list[str] = []
    for frame in range(len(episode.frames)):
        sentences = facts_at(episode, frame, per_frame=per_frame)
        if sentences:
            lines.append(f"Step {len(lines) + 1} (frame {frame + 1}): {' '.join(sentences)}")
    order = list(order_facts(episode))
    if order:
        lines.append(f"Step {len(lines) + 1} (frames 1 to {len(episode.frames)}): {' '.join(order)}")
    return "\n".join([*lines, f"Final answer: {episode.answer}"])


def facts_at(episode: Episode, frame: int, *, per_frame: int = 2) -> list[str]:
    """Return true sentences about one frame."""
    sentences = [*_states(episode, frame), *_places(episode, frame, per_frame), *_doings(episode, frame)]
    return list(dict.fromkeys(sentences))


def _rank(episode: Episode, frame: int) -> Callable[[Sequence[str]], bytes]:
    """Return a sort key for slots that depends on the cluster and the frame only."""
    return lambda slot: hashlib.sha256("|".join((episode.unit, str(frame), *slot)).encode()).digest()


def _states(episode: Episode, frame: int) -> Iterator[str]:
    """Yield the room of the observer and the thing held, whether a door is open, whether a thing moves, and what is missing."""
    here = episode.frames[frame]
    things = [t for t in here.objects if t.category not in _UNTOLD]
    for held in here.relations:
        target = here.find(held.object)
        if held.subject == EGO and target is not None:
            yield f"I am {'in' if target.category == 'room' else held.predicate} the {named(target)}."
    for thing in things:
        if "open" in thing.states and thing.is_visible:
            yield f"The {named(thing)} is {'open' if thing.states['open'] else 'closed'}."
    ranked = sorted(things, key=lambda t: _rank(episode, frame)((t.id, "state")))
    yield from _presence(ranked[:1], things)
    for thing in [t for t in ranked if "moving" in t.states][1:2]:
        if thing.is_visible:
            yield f"The {named(thing)} is {'moving' if thing.states['moving'] else 'stationary'}."


def _presence(chosen: Sequence[FrameObject], things: Sequence[FrameObject]) -> Iterator[str]:
    """Yield that a thing is there, or that it is not, unless another of its kind is."""
    for thing in chosen:
        if thing.is_visible:
            yield f"There is {with_article(named(thing))}."
        elif not any(o.is_visible and o.category == thing.category for o in things):
            yield f"There is no {named(thing)}."


def _places(episode: Episode, frame: int, most: int) -> Iterator[str]:
    """Yield sides: of pairs where they do not depend on the viewpoint, and of single things where they do."""
    here = episode.frames[frame]
    things = [t for t in here.objects if t.category not in _UNTOLD]
    order = _rank(episode, frame)
    if episode.world != "navigation":
        for a, b in sorted(combinations(things, 2), key=lambda p: order((p[0].id, p[1].id)))[:most]:
            if a.box is None or b.box is None or here.size_px is None:
                continue
            apart = (a.box.centre_px[0] - b.box.centre_px[0]) / here.size_px[0]
            if abs(apart) > SIDE_SHARE:
                yield f"The {named(a)} is {'right' if apart > 0 else 'left'} of the {named(b)}."
    if episode.world == "video" or here.pose is None:
        return
    listed = (
        things
        if episode.world == "navigation"
        else sorted(things, key=lambda t: order((t.id, "bearing")))[:most]
    )
    held = {r.object for r in here.relations}
    for thing in listed:
        if not thing.is_visible or thing.position_m is None or thing.id in held:
            continue
        if np.hypot(thing.position_m[0] - here.pose.x_m, thing.position_m[1] - here.pose.y_m) < 0.5:
            continue
        bearing = here.pose.bearing_deg(thing.position_m)
        if CLEAR_DEG < abs(bearing) < 180 - CLEAR_DEG:
            yield f"The {named(thing)} is on my {'right' if bearing > 0 else 'left'}."
        else:
            yield f"The {named(thing)} is {'in front of' if abs(bearing) <= CLEAR_DEG else 'behind'} me."


def _doings(episode: Episode, frame: int) -> Iterator[str]:
    """Yield the events that begin between a frame and the next."""
    start, end = episode.frames[frame].time_s, episode.until_s(frame)
    described: set[frozenset[str]] = set()
    for action in episode.actions:
        if not start <= action.start_s < end:
            continue
        pair = frozenset((action.verb, action.subject, *action.objects))
        text = event_text(episode, action)
        if text and pair not in described:
            described.add(pair)
            yield text + "."


def event_text(episode: Episode, action: Action) -> str:
    """Return an event in words, without the full stop; empty if it is not described."""
    things = {o.id: o for f in episode.frames for o in f.objects}
    if action.subject == EGO:
        if action.verb in {"turn left", "turn right", "move forward", "move backward"}:
            return f"I {action.verb}"
        if action.verb in {"pick up", "put down", "open", "close"} and action.objects[0] in things:
            return f"I {action.verb} the {named(things[action.objects[0]])}"
        return ""
    who = f"The {named(things[action.subject])}"
    if action.verb == "collide":
        return f"{who} collides with the {named(things[action.objects[0]])}"
    return f"{who} {action.verb}s the picture" if action.verb in {"enter", "leave"} else ""


def order_facts(episode: Episode) -> Iterator[str]:
    """Yield which of two events comes first, where each happens only once and they are at least half a second apart."""
    first_actions: dict[tuple[str, str, frozenset[str]], Action] = {}
    often: set[tuple[str, str]] = set()
    seen: set[tuple[str, frozenset[str]]] = set()
    for action in episode.actions:
        if action.verb not in {"collide", "enter", "leave", "pick up", "put down", "open", "close"}:
            continue
        both = (action.verb, frozenset((action.subject, *action.objects)))
        if action.verb == "collide" and both in seen:
            continue
        seen.add(both)
        key = (action.verb, action.subject)
        often |= {key} if any(k[:2] == key for k in first_actions) else set()
        first_actions[*key, frozenset(action.objects)] = action
    events = [a for k, a in first_actions.items() if k[:2] not in often and event_text(episode, a)]
    for first, second in pairwise(events):
        if second.start_s - first.start_s >= 0.5:
            later = event_text(episode, second)
            yield f"{event_text(episode, first)} before {later if later.startswith('I ') else later[0].lower() + later[1:]}."


_EXCHANGED = (
    ("on my left", "on my right"),
    ("in front of me", "behind me"),
    ("left of", "right of"),
    ("is moving", "is stationary"),
    ("is open", "is closed"),
    ("turn left", "turn right"),
    ("move forward", "move backward"),
    (" before ", " after "),
    ("pick up", "put down"),
    ("I open", "I close"),
    ("enters", "leaves"),
)


def falsified(sentence: str, rng: np.random.Generator) -> str:
    """Return the same sentence, made false: sides, states and orders exchanged, or a colour of the other split.

    >>> falsified("The red ball is left of the blue cube.", np.random.default_rng(0))
    'The red ball is right of the blue cube.'
    """
    for first, second in _EXCHANGED:
        for a, b in ((first, second), (second, first)):
            if a in sentence:
                return sentence.replace(a, b)
    if "There is no " in sentence:
        return with_right_articles(sentence.replace("There is no ", "There is a "))
    colours = [word for word in re.findall(r"[a-z]+", sentence) if word in PAINTS]
    if not colours:
        return sentence
    shown = next(group for group in COLOURS.values() if colours[-1] in group or colours[-1] == "grey")
    others = [c for c in PAINTS if c not in shown and c != colours[-1]]
    return with_right_articles(sentence.replace(colours[-1], others[int(rng.integers(len(others)))]))


def sentences_of(line: str) -> tuple[str, list[str]]:
    """Return the heading of an oracle's line, and its sentences."""
    heading, _, rest = line.partition(": ")
    return f"{heading}: ", [s if s.endswith(".") else s + "." for s in rest.split(". ")]
