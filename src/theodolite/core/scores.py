"""Metrics, their values on items, and signatures: the forms in which every instrument states a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate, HypothesisTest, Unit

__all__ = [
    "ALIGNED",
    "CAPABILITIES",
    "CROSSED",
    "LESSON_SEEDS",
    "OWN_SPLIT",
    "SPLITS",
    "Average",
    "Capability",
    "Condition",
    "ItemScore",
    "Metric",
    "Origin",
    "Signature",
    "SignatureKind",
    "SignatureStanding",
    "Split",
    "by_metric",
    "check_split",
    "covers",
    "judge_signature",
]


# Splits of drawn data, by whether a known shortcut gives the right answer.
#
# *Aligned*: the shortcut's answer is the true one, so accuracy cannot tell who looks. *Crossed*: the shortcut contradicts
# the picture. *Free*: as drawn.


Split: TypeAlias = Literal["aligned", "crossed", "free"]
ALIGNED: Split = "aligned"
CROSSED: Split = "crossed"
SPLITS: tuple[Split, ...] = (ALIGNED, CROSSED)
"""The splits of a diagnosis."""
OWN_SPLIT = "own data"
"""The split of the user's own items."""
LESSON_SEEDS = 1_000_000
"""Training data have seeds below it, these sets above."""


def check_split(split: str) -> None:
    """Raises a `UsageError` for an unknown split."""
    if split not in get_args(Split):
        raise UsageError(f"the split is {', '.join(get_args(Split))}, not {split!r}")


# Metrics, and their values on single items: the one form in which every instrument scores a run.
#
# A stored run is scored item by item. A row names the item, the metric, the split and the cluster, and holds the value or
# the reason why there is none. Tables, intervals, the diagnosis and exports all aggregate these rows, so a stored run has
# one number under one name. Rows are computed from stored answers; no model is called.


Origin: TypeAlias = Literal["paper", "sound", "ours"]
"""``paper``: as published. ``sound``: the published idea without its defect. ``ours``: not in any of the four papers."""

Capability: TypeAlias = Literal["text", "choices", "gradients"]
"""What a model gives: text answers, log-probabilities of options, or gradients and attention. Each includes the ones before."""
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)

Average: TypeAlias = Literal["items", "groups"]
"""``items``: the mean over items. ``groups``: the macro mean, over groups of items."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number that an instrument computes for an item.

    >>> Metric("compass.mirrored", "answer follows the mirrored picture", True, "ours", "text").instrument
    'compass'
    """

    key: str
    """``<instrument>.<name>``, with ``:<method>`` where several methods give it: ``compass.dae_paper:chefer``."""
    name: str
    """As tables and figures show it."""
    higher_is_grounded: bool
    """True if a model that looks should score higher."""
    origin: Origin
    needs: Capability
    bounds: tuple[float, float] | None = (0.0, 1.0)
    """The least and the largest possible value; None if there are none."""
    unit: Unit = "share"
    average: Average = "items"

    def __post_init__(self) -> None:
        if not all(self.key.partition(".")[::2]):
            raise UsageError(f"a metric's key is <instrument>.<name>, not {self.key!r}")
        if self.needs not in CAPABILITIES or self.origin not in get_args(Origin):
            raise UsageError(f"the metric {self.key} has the origin {self.origin!r}, needs {self.needs!r}")

    @property
    def instrument(self) -> str:
        """The part of the key before the first dot."""
        return self.key.partition(".")[0]

    @property
    def kind(self) -> str:
        """The key without its method: what a definition is of.

        >>> Metric("compass.dae_paper:chefer", "DAE", False, "paper", "gradients").kind
        'compass.dae_paper'
        """
        return self.key.partition(":")[0]

    def towards_grounded(self, value: float) -> float:
        """The value, with its sign flipped where lower is grounded."""
        return value if self.higher_is_grounded else -value


@dataclass(frozen=True, slots=True)
class ItemScore:
    """The value of one metric on one item.

    >>> ItemScore("pair-1", "compass.right", None, "picture-1", reason="refused").is_scored
    False
    """

    item: str
    """The pair, question, scene or episode: the same in runs of other models on the same data."""
    metric: str
    """The metric's key."""
    value: float | None
    cluster: str
    """The picture, scene or episode that the item shares with others."""
    split: str = ""
    """``aligned``, ``crossed`` or ``free`` for drawn data; empty otherwise."""
    group: str = ""
    """The group of a macro mean: the kind of question, say."""
    reason: str = ""
    """Why there is no value: refused, unreadable, failed …"""

    def __post_init__(self) -> None:
        if self.value is None and not self.reason:
            raise UsageError(f"an item score without a value needs a reason ({self.metric} of {self.item})")
        if self.value is not None and not math.isfinite(self.value):
            raise UsageError(
                f"an item score is a finite number, not {self.value} ({self.metric} of {self.item})"
            )

    @property
    def is_scored(self) -> bool:
        """True if there is a value."""
        return self.value is not None


def by_metric(scores: Iterable[ItemScore]) -> Mapping[str, list[ItemScore]]:
    """The scores of each metric, in order.

    >>> list(by_metric([ItemScore("a", "grid.swap", 1.0, "a"), ItemScore("b", "grid.swap", 0.0, "b")]))
    ['grid.swap']
    """
    found: dict[str, list[ItemScore]] = {}
    for score in scores:
        found.setdefault(score.metric, []).append(score)
    return found


def covers(given: Capability, needed: Capability) -> bool:
    """True if the model's capability covers the metric's requirement.

    >>> covers("choices", "text"), covers("choices", "gradients")
    (True, False)
    """
    return CAPABILITIES.index(given) >= CAPABILITIES.index(needed)


# Signatures: patterns of behaviour, each with the numbers behind it. They name behaviour, not its cause.
#
# A signature is *raised* if each of its conditions holds for the whole interval of its number, *not raised* if one fails,
# and *not measured* if a number is missing.


SignatureStanding: TypeAlias = Literal["raised", "not raised", "not measured"]


@dataclass(frozen=True, slots=True)
class SignatureKind:
    """The description of a signature."""

    name: str
    confirming_test: str
    """The experiment that would confirm it."""
    remedy: str = ""
    """What the papers propose; empty if nothing. A hypothesis: none of them has shown that it helps."""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A number and the requirement on it."""

    label: str
    estimate: Estimate | None
    """None if it was not measured."""
    holds: Callable[[Estimate], bool]
    words: str
    """The requirement in words: "below a tenth"."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The result for one signature: raised or not, and why."""

    kind: SignatureKind
    standing: SignatureStanding
    because: str
    numbers: Mapping[str, Estimate] = field(default_factory=dict)
    test: HypothesisTest | None = None
    """The significance test that belongs to it, where there is one."""

    @property
    def name(self) -> str:
        """The name of its kind."""
        return self.kind.name

    @property
    def is_raised(self) -> bool:
        """True if the run shows it."""
        return self.standing == "raised"


def judge_signature(
    kind: SignatureKind, conditions: Sequence[Condition], *, test: HypothesisTest | None = None
) -> Signature:
    """Return the signature, raised if every condition holds.

    >>> changed = Estimate(0.02, 0.0, 0.06, n=60, level=0.95, method="Wilson")
    >>> few = Condition("answers that change", changed, lambda x: x.high < 0.1, "below a tenth")
    >>> judge_signature(SignatureKind("language prior", "show another picture"), [few]).because
    'answers that change 0.02 [0.00, 0.06], which is below a tenth'
    """
    missing = [condition.label for condition in conditions if condition.estimate is None]
    measured = [(c, c.estimate) for c in conditions if c.estimate is not None]
    failing = [(c, e) for c, e in measured if not c.holds(e)]
    numbers = {condition.label: estimate for condition, estimate in measured}
    if missing:
        return Signature(kind, "not measured", f"not measured: {', '.join(missing)}", numbers, test)
    verb = "but should be" if failing else "which is"
    because = "; ".join(
        f"{c.label} {e.value:.2f} [{e.low:.2f}, {e.high:.2f}], {verb} {c.words}"
        for c, e in failing or measured
    )
    return Signature(kind, "not raised" if failing else "raised", because, numbers, test)
