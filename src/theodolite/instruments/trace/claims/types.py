"""What a trace says, piece by piece, and what became of each piece when it was checked.

Needs nothing but the standard library. The claims are made by `extract_claims`, judged by a `Verifier`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias, get_args, runtime_checkable

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.episode import Episode

ClaimKind: TypeAlias = Literal[
    "entity", "attribute", "count", "spatial", "action", "temporal", "ego-motion", "state"
]
"""What sort of thing is claimed. Negation and hedging are properties of a claim of any kind, see `Claim`.

| kind | "…" | subject | predicate | object |
| --- | --- | --- | --- | --- |
| entity | there is a red ball | ball | | |
| attribute | the ball is red | ball | red | |
| count | three chairs | chair | 3 | |
| spatial | the cup is left of the book | cup | left of | book |
| spatial | the chair is on my left | chair | left of | I |
| action | the person picks up the cup | person | pick up | cup |
| temporal | he sat down before he ate | he (sit down) | before | he (eat) |
| ego-motion | I turn left | I | turn left | |
| state | the door is open | door | open | |
"""

KINDS: tuple[ClaimKind, ...] = get_args(ClaimKind)

Label: TypeAlias = Literal["supported", "unsupported", "unverifiable"]

LABELS: tuple[Label, ...] = get_args(Label)

Reason: TypeAlias = Literal["abstract", "occluded", "unclear", "complex", "out of vocabulary", "low recall"]
"""Why a claim cannot be judged. ``abstract``: nothing that a frame could show (a purpose, a mood, a guess).
``occluded``: what it is about is hidden, or out of view. ``unclear``: it does not say what it is about ("it", "another
one"), or several things fit. ``complex``: more than this verifier can work out. ``out of vocabulary``: a word, or an
aspect, that the evidence has no labels for. ``low recall``: not found, by a finder that often misses such things."""

REASONS: tuple[Reason, ...] = get_args(Reason)

Alignment: TypeAlias = Literal["index", "time", "order", "position", "whole"]
"""How a step found its frames: a frame number, a timestamp, a word such as *then* or *at the end*, its place among the
steps, or all frames because it speaks of all."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing that a claim is about."""

    head: str
    """The lemma of its noun, lower case: ``dining table``, ``i``, ``it``."""
    attributes: tuple[str, ...] = ()
    """The adjectives that say which one is meant: ``("red",)``."""
    verb: str = ""
    """For the two sides of a temporal claim: what happens, with `object`."""
    object: str = ""
    """For the two sides of a temporal claim: the noun that it is done to."""
    span: tuple[int, int] | None = field(default=None, compare=False)
    """Where its noun stands in the step's text, where it stands in it."""

    def __str__(self) -> str:
        parts = (*self.attributes, self.head)
        return " ".join(parts) + (
            f" ({' '.join(filter(None, (self.verb, self.object)))})" if self.verb else ""
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that is said about what can be seen."""

    kind: ClaimKind
    subject: Mention
    predicate: str = ""
    """A value, a relation, a verb with its particle, or a motion; see `ClaimKind`."""
    object: Mention | None = None
    span: tuple[int, int] = (0, 0)
    """Where it stands in the step's text: first character, and one past the last."""
    is_negated: bool = False
    """"There is no cup", "he is not holding it"."""
    hedge: str = ""
    """The word that makes a guess of it: ``might``, ``probably``, ``suggest``; empty for a plain statement."""
    frames: tuple[int, ...] = ()
    """The frames that it speaks of, by position in the episode; empty if it has not been aligned."""
    is_part: bool = field(default=False, compare=False)
    """Whether a larger claim of the same step holds it: the person and the street in "a person crosses the street". Parts
    are judged, but counted only where every small claim counts."""
    anchor: tuple[int, int] | None = field(default=None, compare=False)
    """Where the word stands that makes the claim: the noun, the adjective, the preposition, the verb, the cue."""

    def __str__(self) -> str:
        said = " ".join(filter(None, (str(self.subject), self.predicate, str(self.object or ""))))
        marks = ("not " if self.is_negated else "") + (f"[{self.hedge}] " if self.hedge else "")
        return f"{self.kind}: {marks}{said}"

    def shifted(self, offset: int) -> Claim:
        """The same claim in a text that has `offset` more characters before it."""
        return replace(
            self,
            span=(self.span[0] + offset, self.span[1] + offset),
            anchor=_moved(self.anchor, offset),
            subject=replace(self.subject, span=_moved(self.subject.span, offset)),
            object=self.object and replace(self.object, span=_moved(self.object.span, offset)),
        )


def _moved(span: tuple[int, int] | None, offset: int) -> tuple[int, int] | None:
    return None if span is None else (span[0] + offset, span[1] + offset)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier makes of one claim.

    >>> Verdict("unverifiable", "occluded").label
    'unverifiable'
    """

    label: Label
    reason: Reason | None = None
    """Why it cannot be judged: given exactly where the label is ``unverifiable``."""
    evidence: str = ""
    """What the judgement rests on, in words."""
    truth: str = ""
    """What holds instead of, or as well as, what was said, in the claim's own terms: ``right of``, ``blue``, ``2``,
    ``present``. Empty where it is not known. Two episodes agree on a fact if their truths are equal."""
    confidence: float = 1.0
    """How sure the verifier is, in [0, 1]."""

    def __post_init__(self) -> None:
        if (self.label == "unverifiable") != (self.reason is not None):
            raise UsageError(
                f"a verdict has a reason exactly where it is unverifiable, got {self.label} with {self.reason}"
            )


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a model's reasoning."""

    text: str
    frames: tuple[int, ...] = ()
    """The frames that it speaks of, by position in the episode."""
    alignment: Alignment = "position"
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """A model's reasoning about one episode, and its answer."""

    episode: str
    """The episode's id."""
    steps: tuple[Step, ...]
    answer: str = ""
    style: str = ""
    """The prompt that it was asked with."""
    model: str = ""
    is_lower_bound: bool = False
    """Whether no steps were written, so that what is measured of the bare answer is a lower bound."""
    problems: tuple[str, ...] = ()
    """What was wrong with it, in words: a frame past the end, steps beyond the limit."""


@runtime_checkable
class Verifier(Protocol):
    """Judges claims by some kind of evidence. A plug-in of the kind ``verifier``.

    The registered target is a function that takes the text after the name (``detector:PATH?threshold=0.5`` gives
    ``PATH?threshold=0.5``) and returns a verifier.
    """

    @property
    def name(self) -> str:
        """What tells its verdicts from another's, options included."""
        ...

    def verify(self, claims: Sequence[Claim], episode: Episode) -> Sequence[Verdict]:
        """One verdict per claim, in order; `Claim.frames` says which frames count, all if it is empty.

        A claim that cannot be judged is unverifiable, with its reason; nothing is raised for it. A hedged or negated
        claim comes as it is: `is_negated` turns supported into unsupported and back; a hedge is the caller's to
        weigh, except that what no frame could show is ``abstract``.
        """
        ...
