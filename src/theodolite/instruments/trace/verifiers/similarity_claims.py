"""Claims about annotated frames, true ones and false ones, to measure a verifier by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from theodolite.instruments.trace.claims.types import Claim, Mention
from theodolite.instruments.trace.data.episode import EGO, Episode, SceneObject
from theodolite.instruments.trace.verifiers import captions as say

_I = Mention("i")


def claims_about(
    episode: Episode, frame: int, hues: Sequence[str], *, per_kind: int, rng: np.random.Generator
) -> list[Claim]:
    """Some claims of each kind that captions express; who knows the truth decides which of them hold.

    Of things: what is in view, the same thing in another colour, another thing in the same colour, and anything. Of colours: the
    thing's own and another. Of sides and states: the true value and its opposites alike.
    """
    here = episode.frames[frame]
    shown = [thing for thing in here.objects if thing.is_visible]
    labels = episode.vocabulary.get("objects") or tuple(sorted({t.category for t in here.objects}))
    pools = (
        list(_things(shown, labels, hues, rng)),
        list(_colours(shown, hues, rng)),
        [*_sides(episode, frame, shown), *_rooms(episode, frame, hues, rng)],
        list(_states(shown)),
    )
    chosen = [pool[int(i)] for pool in pools for i in rng.permutation(len(pool))[:per_kind]]
    return [replace(claim, frames=(frame,)) for claim in chosen]


def _mention(thing: SceneObject) -> Mention:
    colour = thing.attributes.get("colour")
    return Mention(thing.category, (colour,) if colour else ())


def _things(
    shown: Sequence[SceneObject], labels: Sequence[str], hues: Sequence[str], rng: np.random.Generator
) -> Iterator[Claim]:
    for thing in shown:
        said = _mention(thing)
        yield Claim("entity", said)
        if said.attributes and hues:
            yield Claim("entity", Mention(said.head, (str(rng.choice(hues)),)))
        yield Claim("entity", Mention(str(rng.choice(labels)), said.attributes))
    for _ in shown or (None,):
        colour = (str(rng.choice(hues)),) if hues else ()
        yield Claim("entity", Mention(str(rng.choice(labels)), colour))


def _colours(shown: Sequence[SceneObject], hues: Sequence[str], rng: np.random.Generator) -> Iterator[Claim]:
    for thing in shown:
        colour = thing.attributes.get("colour")
        others = [hue for hue in hues if hue != colour]
        if colour in say.HUES and others:
            yield Claim("attribute", Mention(thing.category), colour)
            yield Claim("attribute", Mention(thing.category), str(rng.choice(others)))


def _sides(episode: Episode, frame: int, shown: Sequence[SceneObject]) -> Iterator[Claim]:
    placed = [thing for thing in shown if thing.box is not None]
    for first, second in combinations(placed, 2):
        if _mention(first) != _mention(second):
            for side in say.SIDES:
                yield Claim("spatial", _mention(first), side, _mention(second))
    if episode.frames[frame].pose is not None and episode.world != "video":  # where the camera is somebody
        for thing in placed:
            for side in say.EGO_SIDES:
                yield Claim("spatial", _mention(thing), side, _I)


def _rooms(episode: Episode, frame: int, hues: Sequence[str], rng: np.random.Generator) -> Iterator[Claim]:
    here = episode.frames[frame]
    for relation in here.relations:
        thing = here.find(relation.object)
        if relation.subject == EGO and relation.predicate == "in" and thing is not None and hues:
            yield Claim("spatial", _I, "in", _mention(thing))
            yield Claim("spatial", _I, "in", Mention(thing.category, (str(rng.choice(hues)),)))


def _states(shown: Sequence[SceneObject]) -> Iterator[Claim]:
    for thing in shown:
        if "open" in thing.states:
            for state in say.DOOR_STATES:
                yield Claim("state", _mention(thing), state)
