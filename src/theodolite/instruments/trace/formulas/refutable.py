"""The share of false claims about an episode that a verifier refutes.

True claims are taken from the annotation and made false, each in one respect:

    refutable = refuted / falsified

A verifier that cannot refute gives a high SGR to any trace. A respect without any annotation (colours in STAR) cannot be
falsified here, and no false claim about it can be refuted either: the table of
`theodolite trace audit` names such respects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal, TypeAlias, get_args

from theodolite.answers import guarded
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Label, Mention, Verifier
from theodolite.instruments.trace.verifiers.annotation import motion_between, stems
from theodolite.instruments.trace.verifiers.judging import verdicts_on
from theodolite.instruments.trace.verifiers.scene import plain_relation
from theodolite.worlds.episodes import EGO, Action, Episode, Frame, FrameObject

Swap: TypeAlias = Literal[
    "object", "attribute", "state", "count", "side", "relation", "room", "action", "order", "motion"
]
"""What is exchanged: the object for one that is not there, a colour, open for closed, the number, left for right, a relation or
what it relates to, the room, an action or what it is done to, before for after, a movement."""
SWAPS: tuple[Swap, ...] = get_args(Swap)

PER_SWAP = 6
"""The most false claims of one kind about one episode."""
_CLEAR = 0.05
"""Two objects are left and right of each other if they are farther apart than this share of the picture."""
_CLEAR_DEG = 20.0
_REVERSED = {**{a: (b,) for a, b in words.OPPOSITES.items()}, "on": ("below",), "below": ("above", "on")}
_WORDS_OF_STATES = {state: word for word, state in reversed(words.STATES.items())}


@dataclass(frozen=True, slots=True)
class FalseClaim:
    """A true claim made false."""

    swap: Swap
    claim: Claim


def trace_refutable(labels: Sequence[Label]) -> float | None:
    """Return the share of false claims that are refuted; None if there are none."""
    return sum(label == "unsupported" for label in labels) / len(labels) if labels else None


def refuted_or_why(episode: Episode, verifier: Verifier) -> list[tuple[Swap, Label]] | str:
    """Return the verdict on each false claim about an episode, or why the verifier failed."""

    def judged() -> list[tuple[Swap, Label]] | str:
        return refuted(episode, verifier)

    return guarded(judged, unread=str)


def refuted(episode: Episode, verifier: Verifier) -> list[tuple[Swap, Label]]:
    """Return the verdict on each false claim about an episode."""
    false = false_claims(episode)
    (verdicts,) = verdicts_on([[false_claim.claim for false_claim in false]], episode, verifier)
    return [(false_claim.swap, verdict.label) for false_claim, verdict in zip(false, verdicts, strict=True)]


def false_claims(episode: Episode, *, most: int = PER_SWAP) -> list[FalseClaim]:
    """Return false claims about an episode, at most `most` of each kind, evenly spread over its frames."""
    by_swap: dict[Swap, list[Claim]] = {swap: [] for swap in SWAPS}
    for index in range(len(episode.frames)):
        for swap, claim in _about_frame(episode, index):
            by_swap[swap].append(claim)
    for swap, claim in _about_actions(episode):
        by_swap[swap].append(claim)
    return [
        FalseClaim(swap, claims[int(i * len(claims) / min(most, len(claims)))])
        for swap, claims in by_swap.items()
        for i in range(min(most, len(claims)))
    ]


def _about_frame(episode: Episode, index: int) -> Iterator[tuple[Swap, Claim]]:
    frame = episode.frames[index]
    shown = [t for t in frame.objects if t.is_visible]
    often = Counter(t.category for t in frame.objects)
    alone = [t for t in shown if often[t.category] == 1]
    at = (index,)
    for other in _absent(episode, shown, index):
        yield "object", Claim("entity", Mention(other), frames=at)
    for thing in alone:
        yield from (("attribute", claim) for claim in _other_attributes(episode, thing, at))
        for name, holds in thing.states.items():
            if word := _WORDS_OF_STATES.get((name, not holds)):
                yield "state", Claim("state", Mention(thing.category), word, frames=at)
    for category, n in Counter(t.category for t in shown).items():
        if often[category] == n and n > 1:
            yield "count", Claim("count", Mention(category), str(n - 1), frames=at)
        if often[category] == n and episode.knows("objects") == "complete":
            yield "count", Claim("count", Mention(category), str(n + 1), frames=at)
    yield from (("side", claim) for claim in _sides(frame, alone, at))
    yield from _relations(frame, alone, at)
    if index + 1 < len(episode.frames):
        yield from (("motion", claim) for claim in _movements(episode, index))


def _absent(episode: Episode, shown: Sequence[FrameObject], index: int) -> Iterator[str]:
    """Yield, for each object of a frame, a label that applies to nothing in the episode."""
    if episode.knows("objects") == "none":
        return
    listed = {t.category for frame in episode.frames for t in frame.objects}
    labels = episode.vocabulary.get("objects", ()) or words.ABSENT
    spare = [label for label in labels if not any(words.may_mean(label, other) for other in listed)]
    for i, _ in enumerate(shown if spare else ()):
        yield spare[(index + i) % len(spare)]


def _other_attributes(episode: Episode, thing: FrameObject, at: tuple[int, ...]) -> Iterator[Claim]:
    """Yield the object with another value of each attribute that is a word of claims."""
    for name, value in thing.attributes.items():
        seen = {t.attributes[name] for f in episode.frames for t in f.objects if name in t.attributes}
        values = sorted(seen | set(words.HUES if name in {"colour", "color"} else ()))
        others = [v for v in values if v in words.ATTRIBUTES and not words.may_mean(v, value)]
        if others:
            yield Claim("attribute", Mention(thing.category), others[at[0] % len(others)], frames=at)


def _sides(frame: Frame, alone: Sequence[FrameObject], at: tuple[int, ...]) -> Iterator[Claim]:
    """Yield left for right: of two objects by their boxes, of one object and the observer by its bearing."""
    boxed = [t for t in alone if t.box is not None]
    for one, other in combinations(boxed, 2) if frame.size_px else ():
        if one.box is None or other.box is None or frame.size_px is None:
            continue
        apart = (one.box.centre_px[0] - other.box.centre_px[0]) / frame.size_px[0]
        if abs(apart) > _CLEAR:
            side = "left of" if apart > 0 else "right of"
            yield Claim("spatial", Mention(one.category), side, Mention(other.category), frames=at)
    for thing in alone if frame.pose is not None else ():
        if frame.pose is None or thing.position_m is None:
            continue
        if thing.position_m[:2] == (frame.pose.x_m, frame.pose.y_m):
            continue
        bearing = frame.pose.bearing_deg(thing.position_m)
        if _CLEAR_DEG < abs(bearing) < 180 - _CLEAR_DEG:
            side = "left of" if bearing > 0 else "right of"
            yield Claim("spatial", Mention(thing.category), side, Mention("i"), frames=at)


def _relations(
    frame: Frame, alone: Sequence[FrameObject], at: tuple[int, ...]
) -> Iterator[tuple[Swap, Claim]]:
    """Yield each relation as its opposite, or to another object."""
    things = {t.id: t for t in frame.objects}
    held = {(r.subject, plain_relation(r.predicate), r.object) for r in frame.relations}
    for subject, predicate, target in sorted(held):
        who = Mention("i") if subject == EGO else _mention(things.get(subject))
        target_mention = _mention(things.get(target))
        if who is None or target_mention is None:
            continue
        reversed_ = [
            opposite for opposite in _REVERSED.get(predicate, ()) if (subject, opposite, target) not in held
        ]
        if things[target].category == "room":
            rooms = {v for t in frame.objects if t.category == "room" for v in t.attributes.values()}
            others = [hue for hue in words.HUES if hue not in rooms]
            yield "room", Claim("spatial", who, predicate, Mention("room", (others[0],)), frames=at)
        elif reversed_:
            yield from (
                ("relation", Claim("spatial", who, opposite, target_mention, frames=at))
                for opposite in reversed_
            )
        elif predicate.partition(" ")[0].endswith("ing"):
            verb, ends = _lemma(predicate), {subject, target}
            free = [t for t in alone if (subject, predicate, t.id) not in held and t.id not in ends]
            for thing in free[:2]:
                yield "relation", Claim("action", who, verb, Mention(thing.category), frames=at)


def _mention(thing: FrameObject | None) -> Mention | None:
    return None if thing is None else Mention(thing.category)


def _lemma(verb: str) -> str:
    """Return the lemma of an -ing form, with what follows it."""
    first, _, rest = verb.partition(" ")
    stem = min(stems(first), key=lambda form: (form not in words.KINDS, len(form)))
    return f"{stem} {rest}".strip()


def _movements(episode: Episode, index: int) -> Iterator[Claim]:
    """Yield the opposite of each movement from a frame to the next, unless the observer made it on the way."""
    before, after = episode.frames[index].pose, episode.frames[index + 1].pose
    if before is None or after is None:
        return
    names = motion_between(before, after)
    done = {*names, *(a.verb for a in episode.actions_at((index,)) if a.subject == EGO)}
    for name in names:
        reverse = words.OPPOSITES.get(name)
        if reverse is not None and not words.MOTIONS.get(reverse, frozenset({reverse})) & done:
            yield Claim("ego-motion", Mention("i"), reverse, frames=(index,))


def _about_actions(episode: Episode) -> Iterator[tuple[Swap, Claim]]:
    things = {t.id: t for frame in episode.frames for t in frame.objects}
    done = [a for a in episode.actions if a.subject == EGO or a.subject in things]
    for action in done:
        frames = _frames_of(action, episode)
        if not frames:
            continue
        meanwhile = [a for a in episode.actions_at(frames) if _actor(a, things) == _actor(action, things)]
        yield from (("action", claim) for claim in _other_actions(action, meanwhile, things, frames))
    events = [(a, _event(a, things)) for a in done if not _own(a)]
    once = Counter((event.verb, event.head) for _, event in events)
    single = [(a, event) for a, event in events if once[event.verb, event.head] == 1]
    for (first, earlier), (second, later) in pairwise(sorted(single, key=lambda entry: entry[0].start_s)):
        if first.end_s < second.start_s:
            yield "order", Claim("temporal", earlier, "after", later)


def _actor(action: Action, things: dict[str, FrameObject]) -> str:
    """Return the word for the actor of an action."""
    return EGO if action.subject == EGO or action.subject not in things else things[action.subject].category


def _own(action: Action) -> str:
    """Return movements such as *turn left*, which the observer makes and which are not events in an order."""
    return action.verb if action.subject == EGO and not action.objects else ""


def _other_actions(
    action: Action, meanwhile: Sequence[Action], things: dict[str, FrameObject], frames: tuple[int, ...]
) -> Iterator[Claim]:
    """Yield the opposite of an action, and the action done to another object."""
    who = Mention("i") if action.subject == EGO else Mention(things[action.subject].category)
    patient = _mention(things.get(action.objects[0])) if action.objects else None
    verbs = {a.verb for a in meanwhile}
    reverse = words.OPPOSITES.get(action.verb)
    if reverse is not None and reverse not in verbs and not _own(action):
        yield Claim("action", who, reverse, patient, frames=frames)
    handled = {name for a in meanwhile for name in a.objects} | {action.subject}
    others = sorted(
        {t.category for name, t in things.items() if name not in handled and t.category != "room"}
    )
    same = {things[name].category for name in handled if name in things}
    others = [category for category in others if not any(words.may_mean(category, other) for other in same)]
    if patient is not None and others:
        yield Claim("action", who, action.verb, Mention(others[frames[0] % len(others)]), frames=frames)


def _event(action: Action, things: dict[str, FrameObject]) -> Mention:
    head = "i" if action.subject == EGO else things[action.subject].category
    target = things.get(action.objects[0]) if action.objects else None
    return Mention(head, verb=action.verb, object="" if target is None else target.category)


def _frames_of(action: Action, episode: Episode) -> tuple[int, ...]:
    """Return the frames that an action overlaps."""
    return tuple(
        i
        for i, frame in enumerate(episode.frames)
        if action.start_s < episode.until_s(i) and action.end_s >= frame.time_s
    )
