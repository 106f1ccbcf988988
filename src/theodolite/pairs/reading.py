"""Reading: whether answers follow the question, as looking is whether they follow the picture.

In a *quad* two pictures x, x′ are asked two questions q, q′ whose right answers a, b are exchanged, such as "the cup relative to
the plate" and "the plate relative to the cup":

====  ====  ====
..    q     q′
====  ====  ====
x     a     b
x′    b     a
====  ====  ====

Each column is a pair of pictures, each row a pair of questions, with followed and inverted as in `theodolite.pairs.outcomes`. A
strategy that uses the picture alone gives q and q′ the same answer; what it follows in one column it inverts in the other. A
strategy that uses the question alone does the same with rows. So followed − inverted is 0 for both, over columns and over rows,
and a deterministic strategy that ignores either side is never right on all four. What an answer that is not right depends on is
seen from where it changes: between pictures, or between questions.

>>> from theodolite.answers import Answer
>>> from theodolite.pairs.outcomes import MIRROR
>>> def quads(model, n=40):
...     for i in range(n):
...         for question, golds in (("q", ("left", "right")), ("q'", ("right", "left"))):
...             said = (Answer("value", model(picture, question)) for picture in ("x", "x'"))
...             pictures = f"{i} x", f"{i} x'"
...             yield AnsweredPair(f"{i}", MIRROR, str(i), *said, *golds, pictures=pictures, question=question)
>>> truth = {("x", "q"): "left", ("x", "q'"): "right", ("x'", "q"): "right", ("x'", "q'"): "left"}
>>> both = reading_of(quads(lambda picture, question: truth[picture, question]))
>>> both.standing, both.questions.value, both.all_right.value
('both', 1.0, 1.0)
>>> cue = reading_of(quads(lambda picture, _: "left" if picture == "x" else "right"))
>>> cue.standing, cue.questions.value, cue.all_right.value
('the picture alone', 0.0, 0.0)
>>> reading_of(quads(lambda _, question: "left" if question == "q" else "right")).standing
'the question alone'
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from theodolite.answers import Answer
from theodolite.core.tables import Estimate  # pydantic needs it: the record of a diagnosis holds a Reading
from theodolite.pairs.balance import Couple, PairedPictures, couple_of, is_turned, pictures_of, question_of
from theodolite.pairs.outcomes import LEVEL, AnsweredPair, Edit, answer_key, is_answer

__all__ = ["Quad", "Reading", "Uses", "quads_of", "reading_of"]

Uses: TypeAlias = Literal["both", "the picture alone", "the question alone", "neither"]
"""What the answers are shown to use. *Alone*: they surely change with it more often than with the other."""

WORDS: dict[Uses, str] = {
    "both": "Picture and question both matter: the answers follow what the question asks of the picture.",
    "the picture alone": "The picture matters more than the question: answers change with it, whatever is asked.",
    "the question alone": "The question matters more than the picture: answers change with it, whatever is shown.",
    "neither": "Neither the picture nor the question is shown to matter.",
}
"""The verdict in a sentence."""

ANOTHER_QUESTION = Edit("another question", is_relevant=True, keeps=("the picture",))
"""Two questions about one picture, with different right answers."""


@dataclass(frozen=True, slots=True)
class Quad:
    """Two pictures, each asked two questions whose right answers are exchanged."""

    first: AnsweredPair
    """Of one question, about both pictures."""
    second: AnsweredPair
    """Of the other question."""

    @property
    def is_right(self) -> bool:
        """True if all four answers are right."""
        return all(pair.is_right and pair.is_right_after for pair in (self.first, self.second))

    def questions(self) -> Iterator[AnsweredPair]:
        """Yield the answers to both questions about each picture, as pairs whose pictures are the questions."""
        one, two = self.first, self.second
        asked = [f"{pair.cluster} {question_of(pair)}" for pair in (one, two)]
        for side, picture in enumerate(pictures_of(one)):
            places = [pair.asked[side] for pair in (one, two) if pair.asked is not None]
            yield AnsweredPair(
                one.item,
                ANOTHER_QUESTION,
                one.cluster,
                _answer(one, side),
                _answer(two, side),
                gold=_gold(one, side),
                edited_gold=_gold(two, side),
                split=one.split,
                relation=one.relation,
                shown=(one.shown[side], two.shown[side]),
                pictures=(asked[0], asked[1]),
                question=picture,
                others=(one.others[side], two.others[side]),
                asked=(places[0], places[1]) if len(places) == 2 else None,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the answers to quads use. All intervals have level 99 %."""

    standing: Uses
    questions: Estimate
    """Followed minus inverted over pairs of questions about one picture; `n` counts clusters."""
    p_value: float
    """Of the exact test that as many of them are inverted as are followed."""
    pictures: Estimate
    """The same over pairs of pictures, of the quads alone."""
    all_right: Estimate
    """Share of quads with four right answers."""
    picture_minus_question: Estimate | None
    """Share of answers that change between the pictures of a quad minus the share that change between its questions."""
    n_quads: int

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        return WORDS[self.standing]


_FEWEST = 8
"""2 / 2⁸ < .01 < 2 / 2⁷."""


def reading_of(pairs: Iterable[AnsweredPair], *, seed: int = 0) -> Reading | None:
    """Compute reading from relevant pairs.

    None if too few pictures are asked two questions with exchanged answers: with fewer than eight, nothing could be shown at 1 %.

    Args:
        pairs: The pairs of one model, of edits or of pictures as they are; neutral ones take no part.
        seed: Seed of random permutations.
    """
    from theodolite.stats import clustered_difference, clustered_mean

    quads = list(quads_of(pairs))
    clusters = [quad.first.cluster for quad in quads]
    if len(set(clusters)) < _FEWEST:
        return None
    asked = {(pair.pictures, pair.question): pair for quad in quads for pair in quad.questions()}
    shown = {
        (pictures_of(pair), question_of(pair)): pair for quad in quads for pair in (quad.first, quad.second)
    }
    questions = PairedPictures(list(asked.values())).balance(seed)
    pictures = PairedPictures(list(shown.values())).balance(seed)
    between_pictures = [_changed((quad.first, quad.second)) for quad in quads]
    between_questions = [_changed(tuple(quad.questions())) for quad in quads]
    difference = clustered_difference(between_pictures, between_questions, clusters, level=LEVEL)
    all_right = clustered_mean([float(quad.is_right) for quad in quads], clusters, level=LEVEL)
    assert all_right is not None  # noqa: S101 - there is at least one quad
    standing: Uses = "neither"
    if questions.is_proven and questions.looking.value > 0:
        standing = "both"
    elif difference is not None and difference.low > 0:
        standing = "the picture alone"
    elif difference is not None and difference.high < 0:
        standing = "the question alone"
    return Reading(
        standing=standing,
        questions=questions.looking,
        p_value=questions.p_value,
        pictures=pictures.looking,
        all_right=all_right,
        picture_minus_question=difference,
        n_quads=len(quads),
    )


def quads_of(pairs: Iterable[AnsweredPair]) -> Iterator[Quad]:
    """Yield the quads among pairs: the same two pictures, asked two questions whose right answers are exchanged.

    Each pair is in one quad at most. Two pictures as they are have no order, so both pairs of a quad get the same one.
    """
    sides: defaultdict[tuple[tuple[str, str], Couple], tuple[list[AnsweredPair], list[AnsweredPair]]]
    sides = defaultdict(lambda: ([], []))
    for pair in pairs:
        if pair.edit.is_relevant:
            own = pair if not pair.group or pair.pictures == tuple(sorted(pair.pictures)) else pair.turned
            sides[pictures_of(own), couple_of(own)][is_turned(own)].append(own)
    for one, other in sides.values():
        for first, second in zip(one, other, strict=False):
            yield Quad(first, second)


def _answer(pair: AnsweredPair, side: int) -> Answer:
    return (pair.before, pair.after)[side]


def _gold(pair: AnsweredPair, side: int) -> object:
    return (pair.gold, pair.edited_gold)[side]


def _changed(pairs: tuple[AnsweredPair, ...]) -> float:
    """Return the share of pairs with two different answers; lost ones count as unchanged."""
    read = (pair for pair in pairs if is_answer(pair.before) and is_answer(pair.after))
    return sum(answer_key(pair.before) != answer_key(pair.after) for pair in read) / len(pairs)
