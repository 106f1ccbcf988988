"""Finding the user's own pairs: a pair file, or COCO instances with their pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

import numpy as np

from theodolite.instruments.coco import find_coco
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.pair_files import read_pairs
from theodolite.instruments.compass.data.pairs import Pair
from theodolite.instruments.compass.data.selection import Filter, PairFilters, Sieve
from theodolite.instruments.instrument import UserData
from theodolite.instruments.user_files import first_keys, has_file
from theodolite.pairs.directions import CARDINAL, Vocabulary, vocabulary_of
from theodolite.pairs.pictures.placing import LEAST_GAP_PX, fault_of, is_clear

_MARGIN_DEG = {4: 30.0, 8: 15.0}
"""A direction must be nearer than the next one by this, by the number of directions: at most 30° from the exact one of four, as
in drawn pictures, and 15° of eight."""
_FILE_FAULTS = (
    Filter.BROKEN,
    Filter.ELSEWHERE,
    Filter.MISSING,
    Filter.EMPTY_FILE,
    Filter.NO_PICTURE,
    Filter.DAMAGED,
    Filter.ANOTHER_SIZE,
    Filter.OUTSIDE,
    Filter.EMPTY,
)
"""Told first: the user can mend these."""


def find_pairs(path: Path, images: Path | None) -> UserData | None:
    """A pair file or its folder, or COCO instances or their folder; None if it is neither."""
    if path.is_dir() and has_file(path, "pairs.jsonl"):
        return UserData("compass", "pairs", path)
    if path.name == "pairs.jsonl" or (
        path.suffix == ".jsonl" and {"reference", "target", "picture"} <= first_keys(path)
    ):
        return UserData("compass", "pairs", path)
    found = find_coco(path, images)
    return None if found is None else UserData("compass", "coco", *found)


@dataclass(frozen=True, slots=True)
class OwnPairs:
    """The pairs that a diagnosis asks about, and how many others were left out, by reason."""

    pairs: tuple[Pair, ...]
    unused: Mapping[str, int]

    @property
    def vocabulary(self) -> Vocabulary:
        """The directions that are asked for: eight if one of the pairs is diagonal."""
        return vocabulary_of(pair.direction for pair in self.pairs)


def load_pairs(own: UserData, n: int, seed: int) -> OwnPairs:
    """The pairs of a pair file, or at most `n` from COCO instances, balanced by direction.

    Left out are pairs that lie between two directions, where two answers may be called right, and those whose picture cannot
    be read. Diagonals are directions if the pair file names one.
    From COCO instances, pairs with an object that can be moved are taken first.

    Raises:
        UsageError: No pair is left.
    """
    if own.form != "coco":
        sieve = Sieve(str(own.path), {})
        given = read_pairs(own.path, sieve=sieve)
        vocabulary = vocabulary_of(pair.direction for pair in given)
        found = [pair for pair in given if _is_usable(pair, sieve, vocabulary)]
        sieve.check_any(found)
        told = {reason: n for reason, n in sieve.told().items() if reason != Filter.BROKEN}
        return OwnPairs(tuple(found), {**sieve.broken, **told})
    selection = coco_pairs(
        own.path, own.images or own.path.parent, filters=PairFilters(min_margin_deg=_MARGIN_DEG[4])
    )
    sieve = Sieve(str(own.path), {})
    sieve.candidates = len(selection.pairs)
    drawn = _balanced(selection.pairs, n, seed, sieve)
    sieve.check_any(drawn)
    told = {**selection.report.broken, **selection.report.excluded, **sieve.told()}
    if Filter.NOT_DRAWN.value in told:
        told["not drawn (more with --size)"] = told.pop(Filter.NOT_DRAWN.value)
    first = [*selection.report.broken, *(each.value for each in _FILE_FAULTS if each.value in told)]
    return OwnPairs(tuple(drawn), {reason: told[reason] for reason in dict.fromkeys([*first, *told])})


def _is_usable(pair: Pair, sieve: Sieve, vocabulary: Vocabulary = CARDINAL) -> bool:
    """True if a pair can be asked about; counted if not."""
    nearest = vocabulary.between(pair.reference.box, pair.target.box)
    if nearest.margin_deg < _MARGIN_DEG[len(vocabulary.names)]:
        sieve.drop(Filter.BORDER)
    elif nearest.name != pair.direction:
        sieve.drop(Filter.AGAINST)
    else:
        return True
    return False


def _is_movable(pair: Pair) -> bool:
    """True if reference or target can be cut out whole and alone."""
    a, b = pair.reference.box, pair.target.box
    return is_clear(a, [b], LEAST_GAP_PX) and any(
        fault_of(box, pair.size_px, pair.others) is None for box in (a, b)
    )


def _balanced(pairs: Sequence[Pair], n: int, seed: int, sieve: Sieve) -> list[Pair]:
    """At most `n` pairs, in their order, with directions as even as the pairs allow; first those with an object to move."""
    rng = np.random.default_rng(seed)
    waiting: dict[str, list[int]] = {}
    for place in sorted(
        rng.permutation(len(pairs)).tolist(), key=lambda place: not _is_movable(pairs[place])
    ):
        waiting.setdefault(pairs[place].direction, []).append(place)
    turns = zip_longest(*(waiting[direction] for direction in sorted(waiting)))
    places = (place for turn in turns for place in turn if place is not None)
    readable = (place for place in places if _is_usable(pairs[place], sieve))
    drawn = sorted(islice(readable, n))
    sieve.drop(Filter.NOT_DRAWN, len(pairs) - len(drawn) - sieve.excluded.total())
    return [pairs[place] for place in drawn]
