"""Outcomes of pairs: followed, moved, unmoved or lost under relevant edits, kept or changed under neutral edits.

Let y be the right answer to a question about a picture, and y′ ≠ y the right answer after a relevant edit. The pair is
*followed* if the model answers y before and y′ after.

**Bound.** A strategy whose answer does not depend on what the edit changes follows a pair with probability at most ¼, and
never if it is deterministic. Proof: let p and p′ be the probabilities of the answers y and y′, which are the same before
and after. Then P(followed) = p·p′ ≤ ((p + p′)/2)² ≤ ¼, since p + p′ ≤ 1. A deterministic strategy gives the same answer
twice, and y ≠ y′.

**Bound from repetition.** Let d be the probability that such a strategy gives two different answers to the same request.
The two answers before and after are independent draws from one distribution, so (y, y′) is as likely as (y′, y), and
P(followed) ≤ d/2. A model that always repeats its answer (d = 0) follows no pair without using what was edited.

**Bound of groups.** One question about k pictures with k different right answers makes k(k−1)/2 pairs. A strategy that
does not use the picture gives these answers with probabilities p₁ … p_k, and follows Σ_{i<j} p_i p_j = ((Σp)² − Σp²)/2 ≤
(1 − 1/k)/2 of them on average, that is a share of at most 1/k². Of some of these pairs it follows at most (1 − 1/ω)/2, where
ω is the largest number of answers that are all paired with each other (Motzkin and Straus 1965): ¼ of a single pair.

So a share of followed pairs significantly above ¼ (above 0 for deterministic decoding) shows that the answers depend on
what was edited. The other pairs are *moved* (the answer changed, but not from right to right), *unmoved* (the same answer
twice) or *lost* (one of the two answers could not be read, was refused or failed). Under neutral edits an answer is *kept*
or *changed*; the share of changed answers is the baseline for *moved*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

from theodolite.answers import Answer
from theodolite.answers.grading import golds_of, is_right, read_item
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, content_hash

if TYPE_CHECKING:
    from theodolite.core.tables import Estimate
    from theodolite.runs import Result, Run

__all__ = [
    "EDITS",
    "MOST_REPEATS",
    "RANDOM_BOUND",
    "AnsweredGroup",
    "AnsweredPair",
    "Edit",
    "GroupShares",
    "Outcome",
    "PairShares",
    "answered_pairs",
    "group_shares",
    "outcome_of",
    "pair_of",
    "pair_shares",
    "random_bound",
    "repeated_pairs",
    "split_of",
    "with_repeats",
]


# Edits: what they keep fixed, and the strategies they exclude.


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a picture, scene or episode whose effect on the right answer is known.

    A strategy that uses only what an edit keeps fixed gives the same answer before and after it. Under a relevant edit it
    cannot be right both times if it is deterministic, and is right both times with probability at most ¼ if it is random
    (`theodolite.pairs.outcomes`). So the edit excludes every strategy that uses only what it keeps.
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
        EDIT_OTHER_FRAMES,
        AGAIN,
    )
}
"""The library of edits, by name."""


Outcome: TypeAlias = Literal["followed", "moved", "unmoved", "kept", "changed", "lost"]

RANDOM_BOUND = 0.25
"""The largest expected share of pairs that a strategy can follow without using what was edited."""


def outcome_of(before: Answer, after: Answer, *, are_right: bool, is_relevant: bool) -> Outcome:
    """Return the outcome of a pair.

    Args:
        before: The answer before the edit.
        after: The answer after it.
        are_right: True if both are right.
        is_relevant: True if the edit changes the right answer.
    """
    if not (before.is_read and after.is_read):
        return "lost"
    is_same = is_right(before, str(after.value))
    if not is_relevant:
        return "kept" if is_same else "changed"
    if are_right:
        return "followed"
    return "unmoved" if is_same else "moved"


@dataclass(frozen=True, slots=True)
class AnsweredPair:
    """One question before and after an edit, with both answers.

    >>> mirror = Edit("mirror", is_relevant=True)
    >>> left, right = Answer("value", "left"), Answer("value", "right")
    >>> AnsweredPair("q1", mirror, "picture-1", left, right, gold="left", edited_gold="right").outcome
    'followed'
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
    """The group of pictures of one question that the pair is taken from; empty for a pair of its own."""

    @property
    def outcome(self) -> Outcome:
        """The outcome of the pair."""
        are_right = self.is_right and is_right(self.after, str(self.edited_gold))
        return outcome_of(self.before, self.after, are_right=are_right, is_relevant=self.edit.is_relevant)

    @property
    def is_right(self) -> bool:
        """True if the answer before the edit is right."""
        return is_right(self.before, str(self.gold))


SHARES = ("followed", "moved", "unmoved", "lost", "kept")
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
    """Return the pair of two results. One of several right answers counts as the first of them."""
    golds = [golds_of(side.item) for side in (before, after)]
    answers = [_named(read_item(side.item, side.record), *golds) for side in (before, after)]
    truth = before.item.truth
    return AnsweredPair(
        before.item.subject,
        edit,
        before.item.cluster,
        answers[0],
        answers[1],
        gold=golds[0][0],
        edited_gold=golds[1][0],
        split=split_of(run, before.item),
        relation=truth.relation or after.item.truth.relation,
        shown=(before.item.name, after.item.name),
    )


def _named(answer: Answer, *golds: Sequence[str]) -> Answer:
    """Return an answer that is one of several right ones as the first of them."""
    for several in golds:
        if any(is_right(answer, gold) for gold in several):
            return replace(answer, value=several[0])
    return answer


@dataclass(frozen=True, slots=True)
class PairShares:
    """The share of each outcome. None if there are no such pairs."""

    n_relevant: int
    n_neutral: int
    followed: Estimate | None = None
    """`followed`, `moved`, `unmoved` and `lost` are shares of the relevant pairs, and add up to 1."""
    moved: Estimate | None = None
    unmoved: Estimate | None = None
    lost: Estimate | None = None
    kept: Estimate | None = None
    """Share of the neutral pairs with two readable answers."""


def pair_shares(pairs: Iterable[AnsweredPair], *, level: float = 0.95) -> PairShares:
    """Compute the share of each outcome, with its interval over clusters."""
    found = list(pairs)
    relevant = [pair for pair in found if pair.edit.is_relevant]
    neutral = [pair for pair in found if not pair.edit.is_relevant]
    read = [pair for pair in neutral if pair.outcome != "lost"]
    return PairShares(
        len(relevant),
        len(neutral),
        _share(relevant, "followed", level),
        _share(relevant, "moved", level),
        _share(relevant, "unmoved", level),
        _share(relevant, "lost", level),
        _share(read, "kept", level),
    )


def random_bound(relevant: Sequence[AnsweredPair]) -> float:
    """Return the largest expected share of relevant pairs that a strategy can follow without using what was edited.

    >>> mirror, said = Edit("mirror", is_relevant=True), Answer("value", "left")
    >>> random_bound([AnsweredPair("q", mirror, "p", said, said, "left", "right")])
    0.25
    """
    groups: dict[str, set[frozenset[str]]] = {}
    alone = 0
    for pair in relevant:
        if pair.group:
            groups.setdefault(pair.group, set()).add(frozenset({str(pair.gold), str(pair.edited_gold)}))
        else:
            alone += 1
    of_groups = sum((1 - 1 / _clique(edges)) / 2 for edges in groups.values())
    return (RANDOM_BOUND * alone + of_groups) / len(relevant)


def _clique(edges: AbstractSet[frozenset[str]]) -> int:
    """Return the largest number of answers that are all paired with each other. Groups have few answers."""
    answers = sorted(frozenset[str]().union(*edges))
    for size in range(len(answers), 2, -1):
        for some in combinations(answers, size):
            if all(frozenset(each) in edges for each in combinations(some, 2)):
                return size
    return 2


def _share(pairs: Sequence[AnsweredPair], outcome: Outcome, level: float) -> Estimate | None:
    from theodolite.stats import clustered_mean  # takes a second to import

    hits = [float(pair.outcome == outcome) for pair in pairs]
    return clustered_mean(hits, [pair.cluster for pair in pairs] if pairs else None, level=level)


# Groups: one question about k pictures with k different right answers.
#
# **Bound.** A strategy that does not use the picture is right on all k with probability at most k^−k, and never if it is
# deterministic and k > 1. Proof: with the probabilities p₁ … p_k of the k right answers, which sum to at most 1, it is right
# on all of them with probability p₁ ⋯ p_k, which is largest for p_i = 1/k. It is right on at most one picture in k on average.


@dataclass(frozen=True, slots=True)
class AnsweredGroup:
    """The answers to one question about several pictures, all with different right answers."""

    question: str
    cluster: str
    answers: tuple[Answer, ...]
    golds: tuple[object, ...]

    @property
    def right(self) -> tuple[bool, ...]:
        """Whether the answer is right, by picture. Answers that could not be read are not."""
        return tuple(
            is_right(answer, str(gold)) for answer, gold in zip(self.answers, self.golds, strict=True)
        )

    @property
    def bound(self) -> float:
        """The largest probability with which a blind strategy is right on all pictures: k^−k.

        >>> AnsweredGroup("Where?", "q", (Answer("value", "left"),) * 2, ("left", "right")).bound
        0.25
        """
        return float(len(self.golds)) ** -len(self.golds)


@dataclass(frozen=True, slots=True)
class GroupShares:
    """How often the answers about all pictures of a group are right."""

    all_right: Estimate
    """Share of groups with only right answers, with its interval over clusters."""
    bound: float
    """The largest expected share for a strategy that does not use the pictures."""
    each_right: Estimate
    """Share of right answers, over all pictures."""


def group_shares(groups: Iterable[AnsweredGroup], *, level: float = 0.95) -> GroupShares | None:
    """Compute the shares of right groups and of right answers. None if there is no group of two or more pictures."""
    from theodolite.stats import clustered_mean

    found = [group for group in groups if len(group.golds) > 1]
    clusters = [group.cluster for group in found]
    if not found:
        return None
    whole = clustered_mean([float(all(group.right)) for group in found], clusters, level=level)
    single = clustered_mean(
        [float(right) for group in found for right in group.right],
        [group.cluster for group in found for _ in group.right],
        level=level,
    )
    if whole is None or single is None:
        return None
    return GroupShares(whole, sum(group.bound for group in found) / len(found), single)


# The same request made again: how often a model's answer changes by itself.
#
# The share of changed answers lowers the bound on what a strategy can follow without using what was edited
# (`theodolite.pairs.outcomes`). Texts are compared, not what is read in them: equal texts are read alike, so the share of
# changed answers is at most this.


MOST_REPEATS = 24
"""Requests that are made twice in a run. If none of their answers changes, the bound falls from ¼ to 7 %."""


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
        )


def _text(result: Result) -> Answer:
    response = result.record.response if result.record is not None else None
    if response is None or response.status != "answered":
        return Answer("unreadable", reason="there is no answer")
    return Answer("value", content_hash(response.text))  # compared to the letter
