"""Check that a verifier fulfils its contract."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.trace.claims.types import Claim, Mention, Verifier
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.testing.findings import Findings, examine, not_a
from theodolite.worlds.episodes import Episode, Frame, FrameObject

_LABELS = {"supported", "unsupported", "unverifiable"}


def check_verifier(verifier: str | Verifier) -> Findings:
    """Check a verifier against its contract, on a small scene and on an empty one.

    This does not check whether its verdicts are correct. For that, measure its agreement with ``annotation``.

    Args:
        verifier: The verifier, or its name.

    Raises:
        BrokenContractError: If a check fails. The message lists all failures.

    >>> check_verifier("annotation").remarks
    ()
    """
    tested = open_verifier(verifier) if isinstance(verifier, str) else verifier
    if not isinstance(tested, Verifier):
        raise not_a("verifier", tested, "it lacks a name, or verify(claims, episode)")
    return examine("verifier", tested.name, tested, _CHECKS)


def _episodes() -> list[Episode]:
    pixels = np.full((60, 80, 3), 240, np.uint8)
    pixels[20:40, 10:30] = (200, 30, 30)
    ball = FrameObject("a", "ball", Box(10, 20, 30, 40), attributes={"colour": "red"})
    cup = FrameObject("b", "cup", Box(50, 20, 70, 40), attributes={"colour": "blue"})
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


def _one_verdict_per_claim(verifier: Verifier) -> Iterator[str]:
    for episode in _episodes():
        verdicts = verifier.verify(_claims(), episode)
        if len(verdicts) != len(_claims()):
            yield f"{len(verdicts)} verdicts for {len(_claims())} claims of {episode.id!r}"
        for claim, verdict in zip(_claims(), verdicts, strict=False):
            label, confidence = getattr(verdict, "label", None), getattr(verdict, "confidence", -1.0)
            if label not in _LABELS or not 0 <= confidence <= 1:
                yield f"invalid verdict on {claim}: {verdict!r}"
    if list(verifier.verify([], _episodes()[0])):
        yield "verdicts were returned for no claims"


def _is_deterministic(verifier: Verifier) -> Iterator[str]:
    episode = _episodes()[0]
    if list(verifier.verify(_claims(), episode)) != list(verifier.verify(_claims(), episode)):
        yield "the same claims get different verdicts the second time"


def _is_independent_of_other_claims(verifier: Verifier) -> Iterator[str]:
    episode = _episodes()[0]
    for claim, together in zip(_claims(), verifier.verify(_claims(), episode), strict=False):
        alone = verifier.verify([claim], episode)[0]
        if alone.label != together.label:
            yield f"{claim} is {alone.label} alone and {together.label} among others"


def _negation_flips_the_verdict(verifier: Verifier) -> Iterator[str]:
    episode = _episodes()[0]
    negated = [replace(claim, is_negated=True) for claim in _claims()]
    flipped = {"supported": "unsupported", "unsupported": "supported", "unverifiable": "unverifiable"}
    for claim, plain, no in zip(
        _claims(), verifier.verify(_claims(), episode), verifier.verify(negated, episode), strict=False
    ):
        if no.label != flipped[plain.label]:
            yield f"{claim} is {plain.label}, and its negation {no.label}"


def _leaves_inputs_unchanged(verifier: Verifier) -> Iterator[str]:
    episode, claims = _episodes()[0], _claims()
    before = copy.deepcopy((episode, claims))
    verifier.verify(claims, episode)
    if (episode, claims) != before:
        yield "the claims or the episode were changed"


_CHECKS: tuple[Callable[[Verifier], Iterator[str]], ...] = (
    _one_verdict_per_claim,
    _is_deterministic,
    _is_independent_of_other_claims,
    _negation_flips_the_verdict,
    _leaves_inputs_unchanged,
)
