"""Judges what goes beyond one fact at one frame: quantities, *remains*, comparisons, *between*, identity and possession.

Each is reduced to plain claims about single objects, which the verdicts of `annotation` decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention, Verdict
from theodolite.instruments.trace.verifiers.judging import negated, unverifiable
from theodolite.instruments.trace.verifiers.scene import Scene
from theodolite.worlds.episodes import SceneObject

Judge: TypeAlias = Callable[[Claim, Scene], Verdict]

_MOST_SINGLE = 40
"""Objects that a quantity is judged over; with more, it is not judged."""


def judged(claim: Claim, scene: Scene, judge: Judge) -> Verdict:
    """The verdict on a claim: *remains* over negation, negation over quantity, quantity over single objects."""
    ranked = next((m for m in _mentions(claim) if is_ranked(m)), None)
    if ranked is not None:
        return unverifiable("complex", f"which one is the {ranked} is not known")
    if claim.is_lasting and len(scene.frames) > 1:
        return _lasting([judged(replace(claim, is_lasting=False), scene.at(f), judge) for f in scene.frames])
    if claim.is_negated:
        return negated(judged(replace(claim, is_negated=False), scene, judge))
    return _quantified(replace(claim, is_lasting=False), scene, judge)


def is_ranked(said: Mention) -> bool:
    """True if a superlative or an ordinal picks it out: *the tallest man*, *the second chair*."""
    return any(word not in words.ATTRIBUTES and word not in words.STATES for word in said.attributes)


def _mentions(claim: Claim) -> list[Mention]:
    return [m for m in (claim.subject, claim.object, claim.other) if m is not None]


def _lasting(verdicts: list[Verdict]) -> Verdict:
    """It holds at all frames that can be judged."""
    for label in ("unsupported", "supported", "unverifiable"):
        found = next((v for v in verdicts if v.label == label), None)
        if found is not None:
            return found
    return unverifiable("unclear", "it has no frames")


# quantities


def _quantified(claim: Claim, scene: Scene, judge: Judge) -> Verdict:
    counted = [name for name in ("subject", "object", "other") if _quantity(getattr(claim, name))]
    if not counted or (claim.kind == "spatial" and claim.predicate == "between"):
        return judge(claim, scene)
    if len(counted) > 1:
        return unverifiable("complex", "two quantities in one claim")
    said: Mention = getattr(claim, counted[0])
    one = replace(said, quantity="")
    missing = scene.missing(one)
    if missing is not None and missing.label == "unverifiable":
        return missing
    ids = sorted({thing.id for thing in scene.visible(one)})
    if len(ids) > _MOST_SINGLE:
        return unverifiable("complex", f"{len(ids)} objects may be meant")
    labels = [judge(_about(claim, counted[0], replace(one, only=i)), scene).label for i in ids]
    is_complete = scene.episode.knows("objects") == "complete"
    yes, unsure = labels.count("supported"), labels.count("unverifiable")
    return _of_range(said.quantity, yes, unsure, len(ids), is_complete=is_complete)


def _about(claim: Claim, slot: str, said: Mention) -> Claim:
    if slot == "subject":
        return replace(claim, subject=said)
    return replace(claim, object=said) if slot == "object" else replace(claim, other=said)


def _quantity(said: Mention | None) -> str:
    return "" if said is None else said.quantity


def _of_range(quantity: str, yes: int, unsure: int, total: int, *, is_complete: bool) -> Verdict:
    """The verdict if between `yes` and `yes + unsure` of `total` objects fit, and more if not all are annotated."""
    possible = [holds(quantity, k, total) for k in range(yes, yes + unsure + 1)]
    if not is_complete:  # further objects may fit, or not
        n = max([int(word) for word in quantity.split() if word.isdigit()], default=0)
        more = {0, 1, 1000, *(k for k in (n - yes - 1, n - yes, n - yes + 1) if k > 0)}
        possible += [holds(quantity, yes + a, total + a + b) for a in more for b in more]
    evidence = f"{yes} of {total}" + (f", {unsure} unclear" if unsure else "")
    if all(possible):
        return Verdict("supported", evidence=evidence, truth=quantity)
    if not any(possible):
        return Verdict("unsupported", evidence=evidence, truth=str(yes))
    return unverifiable("low recall", f"{evidence}, and there may be others")


def holds(quantity: str, number: int, total: int) -> bool:
    """True if a number of objects, of a total, is a quantity.

    >>> holds("at least 3", 4, 4), holds("fewer than 4", 4, 4), holds("2 of 3", 2, 3), holds("most", 2, 3), holds("all", 2, 3)
    (True, False, True, True, False)
    """
    if quantity in {"all", "most", "half"}:
        share = Fraction(number, total) if total else Fraction(0)
        return (
            bool(total)
            and {
                "all": share == 1,
                "most": share > Fraction(1, 2),
                "half": abs(share - Fraction(1, 2)) <= Fraction(1, 10),
            }[quantity]
        )
    bound, _, said = quantity.rpartition(" ")
    if bound.endswith(" of"):
        return number == int(bound.split()[0]) and total == int(said)
    n = int(said)
    return {
        "at least": number >= n,
        "at most": number <= n,
        "more than": number > n,
        "fewer than": number < n,
        "about": abs(number - n) <= max(1, n // 5),
    }.get(bound, number == n)


def count_verdict(claim: Claim, scene: Scene) -> Verdict:
    """The number of objects in the frame that shows the most of them."""
    if scene.episode.knows("objects") == "none":
        return unverifiable("out of vocabulary", "objects are not annotated")
    most = max((len(scene.visible_at(claim.subject, frame)) for frame in scene.frames), default=0)
    is_complete = scene.episode.knows("objects") == "complete"
    verdict = _of_range(claim.predicate, most, 0, most, is_complete=is_complete)
    if verdict.label == "unsupported" and scene.wider_label(claim.subject):
        fewer = (_of_range(claim.predicate, n, 0, n, is_complete=True) for n in range(most))
        if any(each.label == "supported" for each in fewer):
            return unverifiable("out of vocabulary", f"{most} are in view, of a wider kind")
    if verdict.label == "unverifiable":
        return unverifiable("low recall", f"{most} are annotated, there may be others")
    return replace(verdict, evidence=f"{most} are in view", truth=str(most))


# relations of objects


def between_verdict(claim: Claim, scene: Scene) -> Verdict:
    """Between two others: its centre lies along the line that joins theirs, and not far from it."""
    sides = [m for m in (claim.object, claim.other) if m is not None]
    for said in (claim.subject, *sides):
        missing = scene.missing(replace(said, quantity=""))
        if missing is not None:
            return missing
    found: list[Verdict] = []
    for frame in scene.frames:
        grounds = [scene.visible_at(replace(m, quantity=""), frame) for m in sides]
        pair = grounds[0] if len(grounds) == 1 else [g[0] for g in grounds if len(g) == 1]
        if len(pair) != 2:
            continue
        taken = {p.id for p in pair}
        found += [
            _is_between(thing, pair[0], pair[1])
            for thing in scene.visible_at(claim.subject, frame)
            if thing.id not in taken
        ]
    for label in ("supported", "unsupported", "unverifiable"):
        verdict = next((v for v in found if v.label == label), None)
        if verdict is not None:
            return verdict
    return unverifiable("unclear", "it is not clear which two are meant")


def _is_between(thing: SceneObject, a: SceneObject, b: SceneObject) -> Verdict:
    places = [_centre(t) for t in (thing, a, b)]
    if any(p is None for p in places):
        return unverifiable("occluded", "the place of one of them is unknown")
    (x, y), (ax, ay), (bx, by) = (p for p in places if p is not None)
    length = math.hypot(bx - ax, by - ay)
    if length < 1e-6:
        return unverifiable("unclear", "the two are at one place")
    along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length**2
    off = abs((x - ax) * (by - ay) - (y - ay) * (bx - ax)) / length**2
    is_between = 0 < along < 1 and off <= 0.5
    evidence = f"{along:.0%} of the way from {a.id} to {b.id}, {off:.0%} aside"
    return Verdict(
        "supported" if is_between else "unsupported",
        evidence=evidence,
        truth="between" if is_between else "not between",
    )


def _centre(thing: SceneObject) -> tuple[float, float] | None:
    if thing.position_m is not None:
        return thing.position_m[0], thing.position_m[1]
    return thing.box.centre_px if thing.box is not None and thing.is_visible else None


def comparison_verdict(claim: Claim, scene: Scene) -> Verdict:
    """Numbers by counting, sizes by the attribute, leftmost and rightmost by boxes, near by positions; else not judged."""
    for said in _mentions(claim):
        missing = scene.missing(said) if said.head not in words.GENERIC_NOUNS else None
        if missing is not None:
            return missing
    if claim.predicate in {"more numerous than", "less numerous than"} and claim.object is not None:
        return _numbers(claim, claim.object, scene)
    if claim.predicate in {"leftmost", "rightmost"}:
        return _outermost(claim, scene)
    first = claim.predicate.split()[0]
    if claim.object is None or first not in words.IS_LARGER or not claim.predicate.endswith(" than"):
        return unverifiable("complex", f"{claim.predicate!r} cannot be judged by what is known")
    sizes = [
        {words.SIZE_RANKS.get(t.attributes.get("size", "")) for t in scene.known(m)}
        for m in (claim.subject, claim.object)
    ]
    if any(len(s) != 1 or None in s for s in sizes) or sizes[0] == sizes[1]:
        return unverifiable("out of vocabulary", "their sizes are not annotated, or the same")
    is_larger = max(s for s in sizes[0] if s is not None) > max(s for s in sizes[1] if s is not None)
    truth = "larger" if is_larger else "smaller"
    wanted = "larger" if words.IS_LARGER[first] else "smaller"
    return Verdict(
        "supported" if truth == wanted else "unsupported", evidence="by their sizes", truth=f"{truth} than"
    )


def _numbers(claim: Claim, other: Mention, scene: Scene) -> Verdict:
    if scene.episode.knows("objects") != "complete":
        return unverifiable("low recall", "not all objects are annotated")
    n, m = (len({t.id for t in scene.visible(said)}) for said in (claim.subject, other))
    truth = "as numerous as" if n == m else ("more" if n > m else "less") + " numerous than"
    is_so = truth == claim.predicate
    return Verdict("supported" if is_so else "unsupported", evidence=f"{n} against {m}", truth=truth)


def _outermost(claim: Claim, scene: Scene) -> Verdict:
    if scene.episode.knows("objects") != "complete":
        return unverifiable("low recall", "not all objects are annotated")
    sign = 1 if claim.predicate == "leftmost" else -1
    kind = None if claim.object is None or claim.object.head in words.GENERIC_NOUNS else claim.object
    for frame in scene.frames:
        shown = (
            [t for t in scene.episode.frames[frame].objects if t.is_visible]
            if kind is None
            else scene.visible_at(kind, frame)
        )
        placed = sorted((sign * t.box.centre_px[0], t.id) for t in shown if t.box is not None)
        mine = {t.id for t in scene.visible_at(claim.subject, frame)}
        if placed and mine:
            is_so = placed[0][1] in mine
            return Verdict("supported" if is_so else "unsupported", evidence=placed[0][1], truth=placed[0][1])
    return unverifiable("occluded", "it is not in view")


def identity_verdict(claim: Claim, scene: Scene) -> Verdict:
    """*The animal is a black dog*: one of the objects that the first may mean is also meant by the second."""
    if claim.object is None:
        return unverifiable("unclear", "it does not say what it is")
    missing = scene.missing(claim.subject)
    if missing is not None:
        return missing
    if scene.ids(claim.subject) & scene.ids(claim.object):
        return Verdict(
            "supported",
            evidence=", ".join(sorted(scene.ids(claim.subject) & scene.ids(claim.object))[:4]),
            truth="is",
        )
    if scene.ids(replace(claim.object, attributes=())) & scene.ids(claim.subject):
        return Verdict("unsupported", evidence="it looks different", truth="is not")
    lost = scene.missing(claim.object)
    if lost is not None:
        return lost
    return Verdict("unsupported", evidence="no object is both", truth="is not")
