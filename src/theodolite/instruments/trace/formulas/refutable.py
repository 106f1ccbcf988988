"""Claims of known truth about an episode, and what a verifier says of them.

True claims are taken from the annotation, and made false, each in one respect:

    refutable = refuted / falsified

A verifier that cannot refute gives a high SGR to any trace. A respect without any annotation (colours in STAR) cannot be
falsified here, and no false claim about it can be refuted either: the table of `theodolite trace calibrate` names such respects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
"""The most true and the most false claims of one kind about one episode."""
MOST_ASKED = 400
"""About so many claims of known truth are judged by a verifier that costs requests."""
_CLEAR = 0.05
"""Two objects are left and right of each other if they are farther apart than this share of the picture."""
_CLEAR_DEG = 20.0
_REVERSED = {**{a: (b,) for a, b in words.OPPOSITES.items()}, "on": ("below",), "below": ("above", "on")}
_WORDS_OF_STATES = {state: word for word, state in reversed(words.STATES.items())}


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """A claim of known truth."""

    swap: Swap
    """What was exchanged to make it false; of a true claim, what its false partner exchanges."""
    claim: Claim
    is_true: bool


_Pair: TypeAlias = tuple[Swap, Claim | None, Claim | None]
"""A true claim, and the same made false; None where the annotation does not give one of the two."""


def trace_refutable(labels: Sequence[Label]) -> float | None:
    """Return the share of false claims that are refuted; None if there are none."""
    return sum(label == "unsupported" for label in labels) / len(labels) if labels else None


def gap_claims(episode: Episode) -> list[Claim]:
    """Return claims that a thing is there, at frames that do not list it though those before and after do.

    Most of them are true: an annotation that is not complete leaves out things that are still there.
    """
    if episode.knows("objects") != "partial":
        return []
    listed = [{t.category for t in frame.objects if t.is_visible} for frame in episode.frames]
    return [
        Claim("entity", Mention(category), frames=(i,))
        for i in range(1, len(listed) - 1)
        for category in sorted((listed[i - 1] & listed[i + 1]) - listed[i])
    ]


Known: TypeAlias = "list[tuple[KnownClaim, Label]] | str"
"""The verdicts on the claims of known truth about an episode, or why there are none."""

NOT_DRAWN = "not among the episodes on whose claims the verifier was tried"


def known_of(episodes: Sequence[Episode], verifier: Verifier) -> dict[str, Known]:
    """Return what a verifier says of the claims of known truth about episodes, by id. Edits are left out.

    If each verdict costs a request (`Verifier.costs_requests`), only about `MOST_ASKED` claims are judged: one of each kind, true
    and false, about episodes evenly spread.
    """
    base = [episode for episode in episodes if episode.edit is None]
    if not getattr(verifier, "costs_requests", False):
        return {episode.id: _judged_or_why(known_claims(episode), episode, verifier) for episode in base}
    few = [known_claims(episode, most=1) for episode in base]
    per_episode = sum(map(len, few)) / len(few) if few else 0
    n = min(len(base), max(1, round(MOST_ASKED / per_episode))) if per_episode else 0
    chosen = {i * len(base) // n for i in range(n)}
    return {
        episode.id: _judged_or_why(few[i], episode, verifier) if i in chosen else NOT_DRAWN
        for i, episode in enumerate(base)
    }


def _judged_or_why(known: Sequence[KnownClaim], episode: Episode, verifier: Verifier) -> Known:
    def judged() -> Known:
        (verdicts,) = verdicts_on([[each.claim for each in known]], episode, verifier)
        return [(each, verdict.label) for each, verdict in zip(known, verdicts, strict=True)]

    return guarded(judged, unread=str)


def known_claims(episode: Episode, *, most: int = PER_SWAP) -> list[KnownClaim]:
    """Return true and false claims about an episode, of each kind at most `most` of both, evenly spread over its frames."""
    pairs = [pair for index in range(len(episode.frames)) for pair in _about_frame(episode, index)]
    pairs += _about_actions(episode)
    by_kind: dict[tuple[Swap, bool], dict[Claim, None]] = {
        (swap, is_true): {} for swap in SWAPS for is_true in (True, False)
    }
    for swap, true, false in pairs:
        for claim, is_true in ((true, True), (false, False)):
            if claim is not None:
                by_kind[swap, is_true][claim] = None
    return [
        KnownClaim(swap, list(claims)[int(i * len(claims) / min(most, len(claims)))], is_true)
        for (swap, is_true), claims in by_kind.items()
        for i in range(min(most, len(claims)))
    ]


def _about_frame(episode: Episode, index: int) -> Iterator[_Pair]:
    frame = episode.frames[index]
    shown = [t for t in frame.objects if t.is_visible]
    often = Counter(t.category for t in frame.objects)
    alone = [t for t in shown if often[t.category] == 1]
    at = (index,)
    for thing in shown:
        yield "object", Claim("entity", Mention(thing.category), frames=at), None
    for other in _absent(episode, shown, index):
        yield "object", None, Claim("entity", Mention(other), frames=at)
    for thing in alone:
        yield from _other_attributes(episode, thing, at)
        for name, holds in thing.states.items():
            word, opposite = (_WORDS_OF_STATES.get((name, is_so)) for is_so in (holds, not holds))
            if word and opposite:
                who = Mention(thing.category)
                true = Claim("state", who, word, frames=at)
                yield "state", true, replace(true, predicate=opposite)
    yield from _counts(episode, Counter(t.category for t in shown), often, at)
    yield from _sides(frame, alone, at)
    yield from _relations(frame, alone, at)
    if index + 1 < len(episode.frames):
        yield from _movements(episode, index)


def _counts(
    episode: Episode, shown: Mapping[str, int], often: Mapping[str, int], at: tuple[int, ...]
) -> Iterator[_Pair]:
    """Yield the number of things of each kind, and one less and one more."""
    for category, n in shown.items():
        if often[category] != n:
            continue
        true = Claim("count", Mention(category), str(n), frames=at)
        is_complete = episode.knows("objects") == "complete"
        if n > 1:
            yield "count", true if is_complete else None, replace(true, predicate=str(n - 1))
        if is_complete:
            yield "count", true, replace(true, predicate=str(n + 1))


def _absent(episode: Episode, shown: Sequence[FrameObject], index: int) -> Iterator[str]:
    """Yield, for each object of a frame, a label that applies to nothing in the episode."""
    if episode.knows("objects") == "none":
        return
    listed = {t.category for frame in episode.frames for t in frame.objects}
    labels = episode.vocabulary.get("objects", ()) or words.ABSENT
    spare = [label for label in labels if not any(words.may_mean(label, other) for other in listed)]
    for i, _ in enumerate(shown if spare else ()):
        yield spare[(index + i) % len(spare)]


def _other_attributes(episode: Episode, thing: FrameObject, at: tuple[int, ...]) -> Iterator[_Pair]:
    """Yield the object with its value and with another value of each attribute that is a word of claims."""
    for name, value in thing.attributes.items():
        seen = {t.attributes[name] for f in episode.frames for t in f.objects if name in t.attributes}
        values = sorted(seen | set(words.HUES if name in {"colour", "color"} else ()))
        others = [v for v in values if v in words.ATTRIBUTES and not words.may_mean(v, value)]
        if others:
            false = Claim("attribute", Mention(thing.category), others[at[0] % len(others)], frames=at)
            is_word = value in words.ATTRIBUTES
            yield "attribute", replace(false, predicate=value) if is_word else None, false


def _sides(frame: Frame, alone: Sequence[FrameObject], at: tuple[int, ...]) -> Iterator[_Pair]:
    """Yield left and right: of two objects by their boxes, of one object and the observer by its bearing."""
    boxed = [t for t in alone if t.box is not None]
    for one, other in combinations(boxed, 2) if frame.size_px else ():
        if one.box is None or other.box is None or frame.size_px is None:
            continue
        apart = (one.box.centre_px[0] - other.box.centre_px[0]) / frame.size_px[0]
        if abs(apart) > _CLEAR:
            yield _side(one, Mention(other.category), at, is_left=apart < 0)
    for thing in alone if frame.pose is not None else ():
        if frame.pose is None or thing.position_m is None:
            continue
        if thing.position_m[:2] == (frame.pose.x_m, frame.pose.y_m):
            continue
        bearing = frame.pose.bearing_deg(thing.position_m)
        if _CLEAR_DEG < abs(bearing) < 180 - _CLEAR_DEG:
            yield _side(thing, Mention("i"), at, is_left=bearing < 0)


def _side(thing: FrameObject, ground: Mention, at: tuple[int, ...], *, is_left: bool) -> _Pair:
    true, false = ("left of", "right of")[:: 1 if is_left else -1]
    claim = Claim("spatial", Mention(thing.category), true, ground, frames=at)
    return "side", claim, replace(claim, predicate=false)


def _relations(frame: Frame, alone: Sequence[FrameObject], at: tuple[int, ...]) -> Iterator[_Pair]:
    """Yield each relation, and as its opposite or to another object."""
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
            colour = tuple(things[target].attributes.values())[:1]
            true = Claim("spatial", who, predicate, Mention("room", colour), frames=at)
            yield "room", true, replace(true, object=Mention("room", (others[0],)))
        elif reversed_:
            true = Claim("spatial", who, predicate, target_mention, frames=at)
            yield from (("relation", true, replace(true, predicate=opposite)) for opposite in reversed_)
        elif predicate.partition(" ")[0].endswith("ing"):
            verb, ends = _lemma(predicate), {subject, target}
            true = Claim("action", who, verb, target_mention, frames=at)
            yield "relation", true, None
            free = [t for t in alone if (subject, predicate, t.id) not in held and t.id not in ends]
            for thing in free[:2]:
                yield "relation", None, replace(true, object=Mention(thing.category))


def _mention(thing: FrameObject | None) -> Mention | None:
    return None if thing is None else Mention(thing.category)


def _lemma(verb: str) -> str:
    """Return the lemma of an -ing form, with what follows it."""
    first, _, rest = verb.partition(" ")
    stem = min(stems(first), key=lambda form: (form not in words.KINDS, len(form)))
    return f"{stem} {rest}".strip()


def _movements(episode: Episode, index: int) -> Iterator[_Pair]:
    """Yield each movement from a frame to the next, and its opposite unless the observer made it on the way."""
    before, after = episode.frames[index].pose, episode.frames[index + 1].pose
    if before is None or after is None:
        return
    names = motion_between(before, after)
    done = {*names, *(a.verb for a in episode.actions_at((index,)) if a.subject == EGO)}
    for name in names:
        reverse = words.OPPOSITES.get(name)
        if reverse is not None and not words.MOTIONS.get(reverse, frozenset({reverse})) & done:
            true = Claim("ego-motion", Mention("i"), name, frames=(index,))
            yield "motion", true, replace(true, predicate=reverse)


def _about_actions(episode: Episode) -> Iterator[_Pair]:
    things = {t.id: t for frame in episode.frames for t in frame.objects}
    done = [a for a in episode.actions if a.subject == EGO or a.subject in things]
    for action in done:
        frames = _frames_of(action, episode)
        if not frames:
            continue
        meanwhile = [a for a in episode.actions_at(frames) if _actor(a, things) == _actor(action, things)]
        yield from _other_actions(action, meanwhile, things, frames)
    events = [(a, _event(a, things)) for a in done if not _own(a)]
    once = Counter((event.verb, event.head) for _, event in events)
    single = [(a, event) for a, event in events if once[event.verb, event.head] == 1]
    for (first, earlier), (second, later) in pairwise(sorted(single, key=lambda entry: entry[0].start_s)):
        if first.end_s < second.start_s:
            true = Claim("temporal", earlier, "before", later)
            yield "order", true, replace(true, predicate="after")


def _actor(action: Action, things: dict[str, FrameObject]) -> str:
    """Return the word for the actor of an action."""
    return EGO if action.subject == EGO or action.subject not in things else things[action.subject].category


def _own(action: Action) -> str:
    """Return movements such as *turn left*, which the observer makes and which are not events in an order."""
    return action.verb if action.subject == EGO and not action.objects else ""


def _other_actions(
    action: Action, meanwhile: Sequence[Action], things: dict[str, FrameObject], frames: tuple[int, ...]
) -> Iterator[_Pair]:
    """Yield an action, its opposite, and the action done to another object."""
    who = Mention("i") if action.subject == EGO else Mention(things[action.subject].category)
    patient = _mention(things.get(action.objects[0])) if action.objects else None
    verbs = {a.verb for a in meanwhile}
    reverse = words.OPPOSITES.get(action.verb)
    true = Claim("action", who, action.verb, patient, frames=frames)
    if not _own(action):
        yield "action", true, None
        if reverse is not None and reverse not in verbs:
            yield "action", None, replace(true, predicate=reverse)
    handled = {name for a in meanwhile for name in a.objects} | {action.subject}
    others = sorted(
        {t.category for name, t in things.items() if name not in handled and t.category != "room"}
    )
    same = {things[name].category for name in handled if name in things}
    others = [category for category in others if not any(words.may_mean(category, other) for other in same)]
    if patient is not None and others:
        yield "action", None, replace(true, object=Mention(others[frames[0] % len(others)]))


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
