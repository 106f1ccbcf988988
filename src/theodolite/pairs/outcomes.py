"""Outcomes of pairs: followed, inverted, unmoved, moved or lost under relevant edits, kept or changed under neutral edits.

Let Y be the right answers to a question about a picture, and Y′ those after a relevant edit, or about another picture. The
model answers A to the first and A′ to the second.

============ ===========================================================================================
followed     A is right for the first picture alone (in Y, not in Y′), and A′ for the second alone
inverted     each answer is right for the *other* picture alone
unmoved      the same answer twice
moved        different answers, but neither of the above
lost         an answer that cannot be read, or failed. A refusal is an answer of its own
============ ===========================================================================================

A strategy that does not use what tells the pictures apart inverts as often as it follows (`theodolite.pairs.balance`). Under
neutral edits, which leave the right answer as it is, an answer is *kept* or *changed*; the share of changed answers is
the baseline for answers that change with the picture but not with the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from theodolite.answers import Answer, normal_form
from theodolite.answers.grading import golds_of, is_right, read_item
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Record, content_hash

if TYPE_CHECKING:
    from theodolite.core.tables import Estimate
    from theodolite.runs import Result, Run

__all__ = [
    "EDITS",
    "IN_KIND",
    "LEVEL",
    "MOST_REPEATS",
    "AnsweredPair",
    "Edit",
    "Outcome",
    "PairShares",
    "answer_key",
    "answered_pairs",
    "is_answer",
    "pair_of",
    "picture_of",
    "repeated_pairs",
    "split_of",
    "with_repeats",
]


PICTURE = "picture"
"""The key of an item's meta with the edit by which its picture was made, where that is not the edit in its truth."""


# Edits: what they keep fixed, and the strategies they exclude.


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a picture, scene or episode whose effect on the right answer is known.

    A strategy that uses only what an edit keeps fixed inverts a relevant pair as often as it follows it
    (`theodolite.pairs.balance`). So the edit excludes every strategy that uses only what it keeps.
    """

    name: str
    """Such as ``mirror``."""
    is_relevant: bool
    """True if the right answer changes."""
    keeps: tuple[str, ...] = ()
    """What does not change: the words of the question, the objects, their sizes …"""
    excludes: tuple[str, ...] = ()
    """The strategies that cannot follow it. For relevant edits only."""
    leaves: tuple[str, ...] = ()
    """Strategies that can follow it although they do not use all that the question asks for."""
    misleads: tuple[str, ...] = ()
    """Strategies that a neutral edit is made to mislead. Such an edit says nothing about how stable answers are."""


_QUESTION = "the question"
_BLIND = ("blind answers", "the words of the question", "the most frequent answer")
_OBJECTS = "which objects there are"
_TARGET, _REFERENCE = "the place of the target alone", "the place of the reference alone"


def _relevant(
    name: str, keeps: tuple[str, ...], excludes: tuple[str, ...] = (), leaves: tuple[str, ...] = ()
) -> Edit:
    return Edit(
        name, is_relevant=True, keeps=(_QUESTION, *keeps), excludes=(*_BLIND, *excludes), leaves=leaves
    )


def _neutral(name: str) -> Edit:
    return Edit(name, is_relevant=False, keeps=(_QUESTION, "the right answer"))


MIRROR = _relevant(
    "mirror",
    ("the objects", "their sizes", "their heights in the picture"),
    (_OBJECTS, "what is usually left or right"),
    (_TARGET, _REFERENCE),
)
"""Left and right exchanged, for questions about left and right."""
FLIP = _relevant(
    "upside down",
    ("the objects", "their sizes", "their columns in the picture"),
    (_OBJECTS, "what is usually on top"),
    (_TARGET, _REFERENCE),
)
"""Top and bottom exchanged, for questions about above and below. Unnatural for photographs."""
EXCHANGE = _relevant(
    "exchange",
    ("the objects", "the places that are taken"),
    (_OBJECTS, "which places are taken"),
    (_TARGET, _REFERENCE),
)
"""Two objects exchange their places."""
MOVE_TARGET = _relevant(
    "move the target",
    ("the objects", "everything but the place of the target"),
    (_OBJECTS, _REFERENCE),
    (_TARGET,),
)
MOVE_REFERENCE = _relevant(
    "move the reference",
    ("the objects", "everything but the place of the reference"),
    (_OBJECTS, _TARGET),
    (_REFERENCE,),
)
MOVE_OBJECT = _relevant(
    "move an object",
    ("the objects", "everything but the place of one object"),
    (_OBJECTS, "the places of the other objects"),
    ("the place of that object alone",),
)
"""One of the objects in the question stands elsewhere."""
OTHER_CAMERA = _relevant(
    "another camera",
    ("the objects", "their sizes", "their places in the room"),
    (_OBJECTS, "their sizes", "which object stands beside which"),
    ("the place of one object in the picture alone",),
)
"""The same room from another place, for questions about what is seen from the camera."""
EXCHANGE_MARKS = _relevant(
    "exchange the marks",
    ("the picture apart from the marks",),
    ("the numbers of the marks", "the picture without its marks"),
    ("the place of one mark alone",),
)
"""Two numbered marks of a scene exchange their objects."""
REMOVE = _relevant(
    "remove", ("everything but one object",), ("everything but the object",), ("how full the picture is",)
)
"""One object is removed, for questions about existence and number."""
EDIT_FRAMES = _relevant(
    "edit the frames", ("the other frames",), ("the frames that stay",), ("one edited frame alone",)
)
"""Frames of an episode are rendered again with other events."""
NATURAL = _relevant("another picture", (), (), ("anything else in which the two pictures differ",))
"""Another picture of the same question, with another answer."""

LIGHT = _neutral("light")
NOISE = _neutral("noise")
REENCODE = _neutral("re-encode")
"""Compressed as JPEG."""
WALLS = _neutral("other walls")
DECOY = Edit(
    "decoy elsewhere", is_relevant=False, keeps=(_QUESTION, "the right answer"), misleads=(_OBJECTS,)
)
"""An object like the target is added where it does not matter."""
CLEAR = _neutral("unrelated objects removed")
MIRROR_UNASKED = _neutral("mirror, not asked for")
"""Left and right exchanged, for questions that are not about left and right."""
FLIP_UNASKED = _neutral("upside down, not asked for")
"""Top and bottom exchanged, for questions that are not about above and below."""
EXCHANGE_UNASKED = _neutral("exchange, not asked for")
"""Two objects exchange their places without a change of the answer."""
MOVE_UNASKED = _neutral("move, not asked for")
"""An object moves about as far as under a relevant edit, and the answer stays: one that is not in the question, if there is one."""
OTHER_CAMERA_UNASKED = _neutral("another camera, not asked for")
"""The same room from another place, from which the answer is the same."""
EXCHANGE_MARKS_UNASKED = _neutral("exchange the marks, not asked for")
"""Two numbered marks exchange their objects without a change of the answer."""
REMOVE_UNASKED = _neutral("remove, not asked for")
"""An object that is not in the question is removed."""
EDIT_OTHER_FRAMES = _neutral("edit other frames")
"""Frames of an episode are rendered again without a change to what the question asks for."""
AGAIN = _neutral("ask again")
"""The same request once more. The share of changed answers is 0 for a deterministic model."""

EDITS: dict[str, Edit] = {
    edit.name: edit
    for edit in (
        MIRROR,
        FLIP,
        EXCHANGE,
        MOVE_TARGET,
        MOVE_REFERENCE,
        MOVE_OBJECT,
        OTHER_CAMERA,
        EXCHANGE_MARKS,
        REMOVE,
        EDIT_FRAMES,
        NATURAL,
        LIGHT,
        NOISE,
        REENCODE,
        WALLS,
        DECOY,
        CLEAR,
        MIRROR_UNASKED,
        FLIP_UNASKED,
        EXCHANGE_UNASKED,
        MOVE_UNASKED,
        OTHER_CAMERA_UNASKED,
        EXCHANGE_MARKS_UNASKED,
        REMOVE_UNASKED,
        EDIT_OTHER_FRAMES,
        AGAIN,
    )
}
"""The library of edits, by name."""


IN_KIND: dict[str, Edit] = {
    MIRROR.name: MIRROR_UNASKED,
    FLIP.name: FLIP_UNASKED,
    EXCHANGE.name: EXCHANGE_UNASKED,
    MOVE_TARGET.name: MOVE_UNASKED,
    MOVE_REFERENCE.name: MOVE_UNASKED,
    MOVE_OBJECT.name: MOVE_UNASKED,
    OTHER_CAMERA.name: OTHER_CAMERA_UNASKED,
    EXCHANGE_MARKS.name: EXCHANGE_MARKS_UNASKED,
    REMOVE.name: REMOVE_UNASKED,
    EDIT_FRAMES.name: EDIT_OTHER_FRAMES,
}
"""For each relevant edit, by its name, the neutral edit of the same kind and strength."""


Outcome: TypeAlias = Literal["followed", "inverted", "moved", "unmoved", "kept", "changed", "lost"]

LEVEL = 0.99
"""Confidence level of every interval of pairs, to match the test at 1 %."""

_OWN_ANSWERS = ("refused", "none_of_these")
"""Unread answers that are answers of their own: the model declines, or says that no option fits."""


def is_answer(answer: Answer) -> bool:
    """Return True if an answer counts: it could be read, or it declines.

    >>> is_answer(Answer("refused")), is_answer(Answer("unreadable"))
    (True, False)
    """
    return answer.is_read or answer.status in _OWN_ANSWERS


def answer_key(answer: Answer) -> str:
    """Return what two equal answers have in common; empty for an answer that is lost.

    >>> answer_key(Answer("value", "Left.")) == answer_key(Answer("value", "left")), answer_key(Answer("value", 3.0))
    (True, '3')
    """
    if answer.is_read:
        return normal_form(answer.value) if isinstance(answer.value, str) else f"{answer.value:g}"
    return f"({answer.status})" if answer.status in _OWN_ANSWERS else ""


@dataclass(frozen=True, slots=True)
class AnsweredPair:
    """One question before and after an edit, with both answers.

    >>> mirror = Edit("mirror", is_relevant=True)
    >>> left, right = Answer("value", "left"), Answer("value", "right")
    >>> AnsweredPair("q1", mirror, "picture-1", left, right, gold="left", edited_gold="right").outcome
    'followed'
    >>> AnsweredPair("q1", mirror, "picture-1", right, left, gold="left", edited_gold="right").outcome
    'inverted'
    """

    item: str
    edit: Edit
    cluster: str
    """The picture, scene or episode."""
    before: Answer
    after: Answer
    gold: object
    edited_gold: object
    """The right answer after the edit; the same as `gold` under a neutral edit."""
    split: str = ""
    relation: str = ""
    """The relation in the question, or the kind of change, for tables by relation."""
    shown: tuple[str, str] = ("", "")
    """The names of the two items in the run, for exhibits."""
    group: str = ""
    """For two pictures as they are: the question that both are asked. Empty for an edit."""
    pictures: tuple[str, str] = ("", "")
    """What identifies the two pictures. Empty: the cluster, before and after the edit."""
    question: str = ""
    """What identifies the question among those about the same pictures. Empty: `item`."""
    others: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Further right answers, before and after."""
    asked: tuple[int, int] | None = None
    """The places of the two requests in the order in which the model was asked. None if they are not known."""
    is_half_reused: bool = False
    """True if one of the two answers comes from a cache, and the other does not."""
    more: tuple[tuple[str, str, Answer], ...] = ()
    """For two pictures as they are: the other pictures that are asked this question and are in no pair, because more pictures have
    their right answer than have another. Each with its right answer and the answer."""

    @property
    def outcome(self) -> Outcome:
        """The outcome of the pair."""
        if not (is_answer(self.before) and is_answer(self.after)):
            return "lost"
        is_same = answer_key(self.before) == answer_key(self.after)
        if not self.edit.is_relevant:
            return "kept" if is_same else "changed"
        if is_same:
            return "unmoved"
        sides = self.side(self.before), self.side(self.after)
        return "followed" if sides == (1, -1) else "inverted" if sides == (-1, 1) else "moved"

    @property
    def sign(self) -> int:
        """1 for a followed pair, −1 for an inverted one, 0 for any other. Looking is its mean."""
        return {"followed": 1, "inverted": -1}.get(self.outcome, 0)

    def side(self, answer: Answer) -> int:
        """Return 1 for an answer that is right before the edit alone, −1 for one that is right after it alone, else 0."""
        golds = ((str(self.gold), *self.others[0]), (str(self.edited_gold), *self.others[1]))
        before, after = (any(is_right(answer, gold) for gold in side) for side in golds)
        return int(before) - int(after)

    @property
    def turned(self) -> AnsweredPair:
        """The same pair with its two pictures in the other order, which means nothing for pictures as they are."""
        return replace(
            self,
            before=self.after,
            after=self.before,
            gold=self.edited_gold,
            edited_gold=self.gold,
            shown=(self.shown[1], self.shown[0]),
            pictures=(self.pictures[1], self.pictures[0]),
            others=(self.others[1], self.others[0]),
            asked=None if self.asked is None else (self.asked[1], self.asked[0]),
        )

    @property
    def is_right(self) -> bool:
        """True if the answer before the edit is right."""
        return any(is_right(self.before, gold) for gold in (str(self.gold), *self.others[0]))

    @property
    def is_right_after(self) -> bool:
        """True if the answer after the edit is right."""
        return any(is_right(self.after, gold) for gold in (str(self.edited_gold), *self.others[1]))

    @property
    def direction(self) -> int | None:
        """For numbers: 1 if the answer moves in the direction of the right one, −1 if in the other, 0 if it stays.

        None if the right answers are not numbers. An answer that is no number does not move.
        """
        golds = _number(self.gold), _number(self.edited_gold)
        if golds[0] is None or golds[1] is None or golds[0] == golds[1]:
            return None
        values = _number(self.before.value), _number(self.after.value)
        if values[0] is None or values[1] is None:
            return 0
        moved = (values[1] - values[0]) * (golds[1] - golds[0])
        return (moved > 0) - (moved < 0)

    def towards(self, answer: Answer) -> float:
        """Return the number of an answer, counted in the direction in which the right one moves; NaN without numbers."""
        value, *golds = map(_number, (answer.value, self.gold, self.edited_gold))
        if value is None or golds[0] is None or golds[1] is None:
            return math.nan
        return value * math.copysign(1, golds[1] - golds[0])


def _number(value: object) -> float | None:
    """Return a number, or one in the text of an option; None for anything else."""
    try:
        found = float(str(value))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


SHARES = ("followed", "inverted", "moved", "unmoved", "lost", "kept")
"""The names of the shares in `PairShares`."""


def split_of(run: Run, item: Item) -> str:
    """Return the split of an item: its own, else that of its run."""
    return item.truth.split or str(item.meta.get("split") or run.info.settings.get("split") or "")


def answered_pairs(run: Run) -> Iterator[AnsweredPair]:
    """Yield the answers before and after every edit of a run, of items that were asked both times."""
    asked = {result.item.name: result for result in run.results() if result.record is not None}
    for after in asked.values():
        truth = after.item.truth
        before = asked.get(truth.base)
        if truth.edit and before is not None:
            if truth.edit not in EDITS or not (truth.golds and before.item.truth.golds):
                raise UsageError(
                    f"the item {after.item.name!r} of {run.folder} has an unknown edit, or no right answer"
                )
            yield pair_of(run, before, after, EDITS[truth.edit])


def pair_of(run: Run, before: Result, after: Result, edit: Edit) -> AnsweredPair:
    """Return the pair of two results."""
    asked, is_half_reused = order_of(before.record, after.record)
    first, second = (golds_of(side.item) for side in (before, after))
    answers = [read_item(side.item, side.record) for side in (before, after)]
    truth = before.item.truth
    return AnsweredPair(
        before.item.subject,
        edit,
        before.item.cluster,
        answers[0],
        answers[1],
        gold=first[0],
        edited_gold=second[0],
        split=split_of(run, before.item),
        relation=truth.relation or after.item.truth.relation,
        shown=(before.item.name, after.item.name),
        pictures=(picture_of(before.item), picture_of(after.item)),
        question=content_hash([before.item.request.text, list(before.item.options)]),
        others=(first[1:], second[1:]),
        asked=asked,
        is_half_reused=is_half_reused,
    )


def order_of(before: Record | None, after: Record | None) -> tuple[tuple[int, int] | None, bool]:
    """Return the places of two requests if both are known, and True if one of the answers alone comes from a cache."""
    if before is None or after is None:
        return None, False
    is_known = before.place is not None and after.place is not None
    asked = cast("tuple[int, int]", (before.place, after.place)) if is_known else None
    return asked, before.is_cached != after.is_cached


def picture_of(item: Item) -> str:
    """Return what identifies the picture of an item. Runs may store the name of an edit instead of the edited picture.

    It is the name of the item's own edit, unless its meta has that of another question about the same edited picture.
    """
    digests = [picture.digest for picture in item.request.pictures]
    return content_hash([digests or item.cluster, str(item.meta.get(PICTURE, item.truth.edit))])


@dataclass(frozen=True, slots=True)
class PairShares:
    """The share of each outcome. None if there are no such pairs."""

    n_relevant: int
    n_neutral: int
    followed: Estimate | None = None
    """`followed`, `inverted`, `moved`, `unmoved` and `lost` are shares of the relevant pairs, and add up to 1."""
    inverted: Estimate | None = None
    moved: Estimate | None = None
    unmoved: Estimate | None = None
    lost: Estimate | None = None
    kept: Estimate | None = None
    """Share of the neutral pairs that are not lost."""


# The same request made again: how often a model's answer changes by itself. No verdict rests on it.
#
# Texts are compared, not what is read in them: equal texts are read alike, so the share of changed answers is at most this.


MOST_REPEATS = 24
"""Requests that are made twice in a run."""


def with_repeats(
    items: Iterable[Item], is_plain: Callable[[Item], bool], *, model: str = "", most: int = MOST_REPEATS
) -> Iterator[Item]:
    """Yield items, then the first plain ones once more.

    Args:
        items: The items of a run.
        is_plain: True for an item with its own picture, as it is.
        model: The name of the model. A log has one answer to each request, so nothing is repeated.
        most: Number of items that are repeated.
    """
    from theodolite.models.replay import is_log  # pairs of drawn data need no model

    plain: list[Item] = []
    for item in items:
        if len(plain) < most and is_plain(item):
            plain.append(item)
        yield item
    if not (model.startswith("replay:") and is_log(model)):
        yield from map(_repeat, plain)


def _repeat(item: Item) -> Item:
    # A seed does not affect greedy decoding, but makes it another request, which no cache answers.
    request = replace(
        item.request, seed=1, recall="content", ref=item.request.ref and f"{item.request.ref}/again"
    )
    return replace(
        item, name=f"{item.name}/again", request=request, truth=replace(item.truth, repeats=item.name)
    )


def repeated_pairs(run: Run) -> Iterator[AnsweredPair]:
    """Yield the first and the second answer to each repeated request of a run."""
    for first, second in run.repeats():
        item = first.item
        asked, is_half_reused = order_of(first.record, second.record)
        yield AnsweredPair(
            item.name,
            AGAIN,
            item.truth.cluster or str(item.meta.get("cluster") or item.name),
            _text(first),
            _text(second),
            gold="",
            edited_gold="",
            split=split_of(run, item),
            shown=(first.item.name, second.item.name),
            asked=asked,
            is_half_reused=is_half_reused,
        )


def _text(result: Result) -> Answer:
    response = result.record.response if result.record is not None else None
    if response is None or response.status != "answered":
        return Answer("unreadable", reason="there is no answer")
    return Answer("value", content_hash(response.text))  # compared to the letter
