"""Steps, claims and verdicts.

Claims are extracted by an `Extractor` and judged by a `Verifier`. Only the standard library is needed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias, get_args, runtime_checkable

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.steps import heading_end
from theodolite.worlds.episodes import Episode

ClaimKind: TypeAlias = Literal[
    "entity",
    "attribute",
    "count",
    "spatial",
    "action",
    "temporal",
    "ego-motion",
    "state",
    "comparison",
    "identity",
    "unread",
]
"""The kind of a claim. Claims of any kind can be negated or hedged, see `Claim`.

| kind | "…" | subject | predicate | object |
| --- | --- | --- | --- | --- |
| entity | there is a red ball | ball | | |
| attribute | the ball is red | ball | red | |
| count | there are at least three chairs | chair | at least 3 | |
| spatial | the cup is left of the book | cup | left of | book |
| spatial | the chair is on my left | chair | left of | I |
| spatial | the cup is between the plate and the fork | cup | between | plate, fork |
| action | the person picks up the cup | person | pick up | cup |
| action | she hands the boy a cup | she | hand | cup, boy |
| action | the chair has a cushion | chair | have | cushion |
| temporal | he sat down before he ate | he (sit down) | before | he (eat) |
| ego-motion | I turn left | I | turn left | |
| state | the door is open | door | open | |
| comparison | the ball is larger than the box | ball | larger than | box |
| comparison | the ball is the largest object | ball | largest | object |
| identity | the animal is a black dog | animal | is | black dog |
| unread | a clause that was not understood | | | |
"""

KINDS: tuple[ClaimKind, ...] = get_args(ClaimKind)

Label: TypeAlias = Literal["supported", "unsupported", "unverifiable"]

LABELS: tuple[Label, ...] = get_args(Label)

Reason: TypeAlias = Literal[
    "abstract",
    "occluded",
    "unclear",
    "complex",
    "out of vocabulary",
    "low recall",
    "undecided",
    "not understood",
]
"""Why a claim cannot be judged. ``not understood``: the clause is beyond the extractor. ``abstract``: nothing that a frame could show (a purpose, a mood, a guess).
``occluded``: what it is about is hidden or out of view. ``unclear``: it does not say what it is about ("it", "another
one"), or several things fit. ``complex``: beyond what this verifier can decide. ``out of vocabulary``: a word or an aspect
that the evidence has no labels for. ``low recall``: not found, but the detector often misses such things. ``undecided``: a judge was asked, and could not tell,
affirmed the opposite as well, or gave no answer."""

REASONS: tuple[Reason, ...] = get_args(Reason)

NOT_UNDERSTOOD: Reason = "not understood"
"""Why claims of the kind ``unread``, and what is named in such clauses, are never judged."""

Alignment: TypeAlias = Literal["index", "time", "order", "position", "whole"]
"""How the frames of a step were found: by frame number, timestamp, a word such as *then* or *at the end*, the position among
the steps, or all frames because the step is about all of them."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An object that a claim is about."""

    head: str
    """The lemma of its noun, lower case: ``dining table``, ``i``, ``it``."""
    attributes: tuple[str, ...] = ()
    """The adjectives that pick it out: ``("red",)``, ``("tallest",)``."""
    quantity: str = ""
    """How many are meant: ``3``, ``at least 3``, ``at most 3``, ``more than 3``, ``fewer than 3``, ``about 3``, ``2 of 3``,
    ``all``, ``most``, ``half``; empty for one or some. *No* is a negated claim."""
    only: str = ""
    """The id of the one object that is meant, while a quantity is judged object by object."""
    verb: str = ""
    """Of an event in a temporal claim: what happens, with `object`."""
    object: str = ""
    """Of an event in a temporal claim: the noun that it is done to."""
    span: tuple[int, int] | None = field(default=None, compare=False)
    """The position of its noun in the text of the step, if it is there."""

    def __str__(self) -> str:
        parts = (*filter(None, [self.quantity]), *self.attributes, self.head)
        return " ".join(parts) + (
            f" ({' '.join(filter(None, (self.verb, self.object)))})" if self.verb else ""
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about what can be seen."""

    kind: ClaimKind
    subject: Mention
    predicate: str = ""
    """A value, a relation, a verb with its particle, or a motion; see `ClaimKind`."""
    object: Mention | None = None
    other: Mention | None = None
    """The second side of *between*, whom something is given to, or where something is moved to or from."""
    span: tuple[int, int] = (0, 0)
    """Its position in the text of the step: first character, and one past the last."""
    is_negated: bool = False
    """"There is no cup", "he is not holding it"."""
    hedge: str = ""
    """The word that marks it as a guess: ``might``, ``probably``, ``suggest``; `NOT_UNDERSTOOD` for what is named in a clause
    that was not understood; empty for a plain statement."""
    is_lasting: bool = False
    """True for *remains*, *is still*, *keeps*: it holds at all frames of the step, not at one of them."""
    frames: tuple[int, ...] = ()
    """The frames that it is about, by position in the episode; empty if it has not been aligned."""
    is_part: bool = field(default=False, compare=False)
    """True if it is contained in a larger claim of the same step, as the person and the street in "a person crosses the
    street". Parts are judged, but counted only at the granularity ``every``."""
    sentence: str = field(default="", compare=False)
    """The sentence that it was read from, for verifiers that read; empty for a claim that stands alone."""
    anchor: tuple[int, int] | None = field(default=None, compare=False)
    """The position of the word that makes the claim: noun, adjective, preposition, verb or temporal cue."""

    def __str__(self) -> str:
        text = " ".join(
            filter(None, (str(self.subject), self.predicate, str(self.object or ""), str(self.other or "")))
        )
        marks = (
            ("still " if self.is_lasting else "")
            + ("not " if self.is_negated else "")
            + (f"[{self.hedge}] " if self.hedge else "")
        )
        return f"{self.kind}: {marks}{text}"

    def shifted(self, offset: int) -> Claim:
        """Return the same claim, moved by `offset` characters."""
        if not offset:
            return self
        return replace(
            self,
            span=(self.span[0] + offset, self.span[1] + offset),
            anchor=_moved(self.anchor, offset),
            subject=replace(self.subject, span=_moved(self.subject.span, offset)),
            object=self.object and replace(self.object, span=_moved(self.object.span, offset)),
            other=self.other and replace(self.other, span=_moved(self.other.span, offset)),
        )


def _moved(span: tuple[int, int] | None, offset: int) -> tuple[int, int] | None:
    return None if span is None else (span[0] + offset, span[1] + offset)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a verifier on one claim.

    >>> Verdict("unverifiable", "occluded").label
    'unverifiable'
    """

    label: Label
    reason: Reason | None = None
    """Why it cannot be judged; given if and only if the label is ``unverifiable``."""
    evidence: str = ""
    """The grounds of the judgement, in words."""
    truth: str = ""
    """What actually holds, in the terms of the claim: ``right of``, ``blue``, ``2``, ``present``. Empty if unknown. Two
    episodes agree on a fact if their truths are equal."""
    confidence: float = 1.0
    """The confidence of the verifier, in [0, 1]."""

    def __post_init__(self) -> None:
        if (self.label == "unverifiable") != (self.reason is not None):
            raise UsageError(
                f"a verdict has a reason if and only if it is unverifiable, got {self.label} with {self.reason}"
            )


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the reasoning."""

    text: str
    frames: tuple[int, ...] = ()
    """The frames that it is about, by position in the episode."""
    alignment: Alignment = "position"
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The reasoning of a model about one episode, and its answer."""

    episode: str
    """The episode's id."""
    steps: tuple[Step, ...]
    answer: str = ""
    """One of the episode's options, or the text of the answer to an open question; empty if none could be read."""
    unread: str = ""
    """Why no answer could be read: refused, cut off, ambiguous …; empty if one was."""
    style: str = ""
    """The style of the prompt."""
    model: str = ""
    is_lower_bound: bool = False
    """True if no steps were written: then the bare answer stands as the only step, and scores are lower bounds."""
    problems: tuple[str, ...] = ()
    """What was wrong with it: a frame past the end, too many steps."""
    failure: str = ""
    """Why its text could not be read at all; then it has no steps."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an extractor found in one trace."""

    claims: tuple[tuple[Claim, ...], ...]
    """The claims of each step, with their positions in its text."""
    problems: tuple[str, ...] = ()
    """What was lost: a list that was cut, claims that were dropped."""


@runtime_checkable
class Extractor(Protocol):
    """Finds the claims of traces. A plug-in of the kind ``extractor``.

    The registered target is a function that takes the text after the name (``MODEL`` of ``model:MODEL``) and returns an
    extractor.
    """

    @property
    def name(self) -> str:
        """Unique to the extractor and its options."""
        ...

    def extract(self, traces: Sequence[Trace]) -> Sequence[Extracted]:
        """Find claims.

        Args:
            traces: Traces with their steps. Claims that they have already are ignored.

        Returns:
            What was found in each, in order, with one tuple of claims per step. `Claim.frames` and `Claim.sentence` are set by
            the caller.
        """
        ...


@runtime_checkable
class Verifier(Protocol):
    """A judge of claims by some kind of evidence. A plug-in of the kind ``verifier``.

    Two attributes are optional: `judges_typed`, True for a verifier that also judges quantities, comparisons and the like (see
    `theodolite.instruments.trace.verifiers.judging.is_typed`; others are never asked about them), and `costs_requests`, True
    if each verdict costs a request, so that fewer claims of known truth are tried.

    The registered target is a function that takes the text after the name (``PATH?threshold=0.5`` of
    ``detector:PATH?threshold=0.5``) and returns a verifier.
    """

    @property
    def name(self) -> str:
        """Unique to the verifier and its options."""
        ...

    def verify(self, claims: Sequence[Claim], episode: Episode) -> Sequence[Verdict]:
        """Judge claims by an episode.

        Args:
            claims: Each is judged at its own `Claim.frames`, at all frames if it has none; `Claim.sentence` is where it
                was read. `is_negated` swaps supported and unsupported. Hedges are left to the caller; claims that no frame could show are ``abstract``.
            episode: The evidence.

        Returns:
            One verdict per claim, in order. A claim that cannot be judged is unverifiable, with its reason; nothing is
            raised for it.
        """
        ...


# The beliefs that a trace states, step by step, as slots with values.


Slot = tuple[str, str, str]
"""Subject, respect, and what it is relative to."""


@dataclass(frozen=True, slots=True)
class Belief:
    """One slot filled by one claim."""

    slot: Slot
    value: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class BeliefState:
    """The beliefs that a step states, and all beliefs held after it."""

    text: str
    """The words of the step: bᵢ of equation 2."""
    frames: tuple[int, ...]
    said: tuple[Belief, ...]
    """Stated in this step."""
    held: tuple[Belief, ...]
    """Held after it: the last value of every slot filled so far."""


def belief_log(steps: Sequence[Step]) -> list[BeliefState]:
    """Return the beliefs of a trace, step by step. Hedged claims are not beliefs."""
    log: list[BeliefState] = []
    held: dict[Slot, Belief] = {}
    for step in steps:
        stated = [belief for claim in step.claims if not claim.hedge for belief in beliefs_of(claim)]
        held = held | {belief.slot: belief for belief in stated}
        words_said = step.text[heading_end(step.text) :]
        log.append(BeliefState(words_said, step.frames, tuple(stated), tuple(held.values())))
    return log


def beliefs_of(claim: Claim) -> list[Belief]:
    """Return the slots that a claim fills; none for an event or a movement, which does not last until the next step.

    >>> from theodolite.instruments.trace.claims.types import Claim, Mention
    >>> beliefs_of(Claim("spatial", Mention("cup"), "left of", Mention("box")))[0].slot
    ('box', 'side', 'cup')
    """
    who = _name(claim.subject)
    no = "not " if claim.is_negated else ""
    if claim.kind == "entity":
        return [Belief((who, "presence", ""), "absent" if claim.is_negated else "present", claim)]
    if claim.kind == "attribute":
        return [
            Belief(
                (words.same_noun(claim.subject.head), words.ATTRIBUTES.get(claim.predicate, "look"), ""),
                no + words.same_attribute(claim.predicate),
                claim,
            )
        ]
    if claim.kind == "count":
        return [Belief((who, "count", ""), no + claim.predicate, claim)]
    if claim.kind == "state":
        name, holds = words.STATES.get(claim.predicate, (claim.predicate, True))
        return [Belief((who, name, ""), str(holds != claim.is_negated), claim)]
    if claim.kind == "spatial" and claim.object is not None and claim.other is None:
        return [_place(claim, who, _name(claim.object))]
    return []


def facts_of(claim: Claim) -> list[Belief]:
    """Return the slots that a claim fills, including events and movements: an edit of the pictures may change these."""
    lasting = beliefs_of(claim)
    if lasting:
        return lasting
    no = "not " if claim.is_negated else ""
    who, what = str(claim.subject), " ".join(str(m) for m in (claim.object, claim.other) if m is not None)
    if claim.kind == "unread":
        return []
    respect = {"action": "doing", "ego-motion": "motion", "temporal": "order"}.get(claim.kind, claim.kind)
    return [Belief((who, respect, what), no + claim.predicate, claim)]


def _name(mention: Mention) -> str:
    """Return a mention in the normal form of its words."""
    return " ".join((*map(words.same_attribute, mention.attributes), words.same_noun(mention.head)))


def _place(claim: Claim, who: str, ground: str) -> Belief:
    """Return a place in one direction: *the box is right of the cup* equals *the cup is left of the box*."""
    relation = words.same_relation(claim.predicate)
    axis, _ = words.AXES.get(relation, (relation, 0))
    opposite = words.OPPOSITES.get(relation)
    if claim.is_negated:
        relation = "not " + relation
    elif ground < who and opposite is not None and axis not in {"inside", "distance"}:
        who, ground, relation = ground, who, opposite
    elif axis == "distance" and ground < who:
        who, ground = ground, who
    return Belief((who, axis, ground), relation, claim)
