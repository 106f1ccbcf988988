"""The verifier contract as a test that anyone can run on a verifier of their own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from theodolite.core.errors import ContractError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.trace.claims.types import Claim, Mention, Verifier
from theodolite.instruments.trace.data.episode import Episode, Frame, SceneObject
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.runs import describe

_LABELS = {"supported", "unsupported", "unverifiable"}


def check_verifier(verifier: str | Verifier) -> None:
    """Holds a verifier to every promise of the contract, on a small scene and on one that shows nothing.

    Whether its verdicts are right is not checked: that is what its agreement with ``annotation`` is for.

    Args:
        verifier: the verifier, or its name.

    Raises:
        ContractError: it breaks at least one promise; the message lists all of them.

    >>> check_verifier("annotation")
    """
    tested = open_verifier(verifier) if isinstance(verifier, str) else verifier
    if not isinstance(tested, Verifier):
        raise ContractError(f"{type(tested).__name__} lacks a name, or verify(claims, episode)")
    broken = [
        f"{check.__name__[1:].replace('_', ' ')}: {fault}"
        for check in (
            _one_verdict_each,
            _same_every_time,
            _one_by_one_as_together,
            _denial_turns_it_round,
            _changes_nothing,
        )
        for fault in _faults(check, tested)
    ]
    if broken:
        raise ContractError(f"{tested.name} breaks the verifier contract:\n  " + "\n  ".join(broken))


def _faults(check: Callable[[Verifier], Iterator[str]], verifier: Verifier) -> list[str]:
    try:
        return list(check(verifier))
    except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
        return [f"it raised {describe(error)}"]


def _episodes() -> list[Episode]:
    pixels = np.full((60, 80, 3), 240, np.uint8)
    pixels[20:40, 10:30] = (200, 30, 30)
    ball = SceneObject("a", "ball", Box(10, 20, 30, 40), attributes={"colour": "red"})
    cup = SceneObject("b", "cup", Box(50, 20, 70, 40), attributes={"colour": "blue"})
    frames = tuple(Frame(float(t), Picture.from_array(pixels), (80, 60), (ball, cup)) for t in range(2))
    known = {"objects": "complete", "boxes": "complete", "attributes": "complete"}
    return [Episode("scene", "?", frames, known=known), Episode("empty", "?", (Frame(0.0),))]  # type: ignore[arg-type]  # aspects by name


def _claims() -> list[Claim]:
    ball, cup = Mention("ball"), Mention("cup")
    return [
        Claim("entity", ball, frames=(0,)),
        Claim("entity", Mention("giraffe"), frames=(1,)),
        Claim("attribute", ball, "red"),
        Claim("attribute", ball, "green"),
        Claim("count", cup, "2"),
        Claim("spatial", ball, "left of", cup, frames=(0, 1)),
        Claim("action", ball, "roll"),
        Claim("state", cup, "open"),
        Claim("ego-motion", Mention("i"), "turn left", frames=(0,)),
        Claim("temporal", Mention("ball", verb="roll"), "before", Mention("cup", verb="fall")),
        Claim("entity", Mention("it"), frames=(7,)),
    ]


def _one_verdict_each(verifier: Verifier) -> Iterator[str]:
    for episode in _episodes():
        verdicts = verifier.verify(_claims(), episode)
        if len(verdicts) != len(_claims()):
            yield f"{len(verdicts)} verdicts on {len(_claims())} claims of {episode.id!r}"
        for claim, verdict in zip(_claims(), verdicts, strict=False):
            label, sure = getattr(verdict, "label", None), getattr(verdict, "confidence", -1.0)
            if label not in _LABELS or not 0 <= sure <= 1:
                yield f"no proper verdict on {claim}: {verdict!r}"
    if list(verifier.verify([], _episodes()[0])):
        yield "verdicts on no claims"


def _same_every_time(verifier: Verifier) -> Iterator[str]:
    episode = _episodes()[0]
    if list(verifier.verify(_claims(), episode)) != list(verifier.verify(_claims(), episode)):
        yield "the same claims get other verdicts the second time"


def _one_by_one_as_together(verifier: Verifier) -> Iterator[str]:
    episode = _episodes()[0]
    for claim, together in zip(_claims(), verifier.verify(_claims(), episode), strict=False):
        alone = verifier.verify([claim], episode)[0]
        if alone.label != together.label:
            yield f"{claim} is {alone.label} alone and {together.label} among others"


def _denial_turns_it_round(verifier: Verifier) -> Iterator[str]:
    episode = _episodes()[0]
    denied = [replace(claim, is_negated=True) for claim in _claims()]
    other = {"supported": "unsupported", "unsupported": "supported", "unverifiable": "unverifiable"}
    for claim, plain, no in zip(
        _claims(), verifier.verify(_claims(), episode), verifier.verify(denied, episode), strict=False
    ):
        if no.label != other[plain.label]:
            yield f"{claim} is {plain.label}, and its denial {no.label}"


def _changes_nothing(verifier: Verifier) -> Iterator[str]:
    episode, claims = _episodes()[0], _claims()
    before = copy.deepcopy((episode, claims))
    verifier.verify(claims, episode)
    if (episode, claims) != before:
        yield "the claims or the episode are not what they were"
