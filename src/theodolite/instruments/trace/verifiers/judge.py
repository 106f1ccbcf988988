"""A vision-language model as a judge: it sees the frames and the sentence, and is asked about a claim and about its opposite.

Who says *supported* to both, or *contradicted* to a claim and to its negation, has not looked: the claim is undecided. So a judge
that always says yes judges nothing. Negation is not asked: the verdict on *there is no cup* is that on *there is a cup*, turned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from theodolite.answers import read_answer
from theodolite.core.types import AnswerFormat, Message, Picture, Request, Response
from theodolite.instruments.trace.claims.types import Claim, Label, Verdict
from theodolite.instruments.trace.claims.wording import falsified, worded
from theodolite.instruments.trace.helpers import Helper
from theodolite.instruments.trace.questions import shown_frames
from theodolite.instruments.trace.verifiers.annotation import AnnotationVerifier
from theodolite.instruments.trace.verifiers.judging import negated, unverifiable
from theodolite.worlds.episodes import EGO, Episode

SAYS: Mapping[str, Label] = {
    "supported": "supported",
    "contradicted": "unsupported",
    "cannot tell": "unverifiable",
}
"""What a judge says, and the label."""

MOST_FRAMES = 8
"""Of longer steps so many frames are shown, evenly spread."""
_MOST_TOKENS = 256
_FORMAT = AnswerFormat.choice(tuple(SAYS), style="word")
_ASKED = (
    "Do these pictures show that the following statement is true?\n"
    "Statement: {claim}\n"
    "{sentence}"
    "Judge the statement alone, by what can be seen. Answer with one of: supported (they show that it is true), contradicted"
    " (they show that it is false), cannot tell."
)
_SENTENCE = 'It was taken from this sentence, which may say more: "{sentence}"\n'
_TOLD = "Known about these pictures, though not all that is true:\n{facts}\n"
_LONGEST = 600
"""Of a sentence that is shown, in characters."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks a model whether frames show a claim, and whether they show its opposite."""

    helper: Helper
    is_told: bool = False
    """Whether the annotation is told as text."""
    judges_typed: ClassVar[bool] = True
    costs_requests: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """``judge:`` and the name of the model."""
        return f"{'informed-judge' if self.is_told else 'judge'}:{self.helper.name}"

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return one verdict per claim; see `Verifier`."""
        plain = [replace(claim, is_negated=False) for claim in claims]
        shown = {claim: self._shown(claim, episode) for claim in plain}
        asked = [claim for claim in dict.fromkeys(plain) if shown[claim]]
        pairs = [each for claim in asked for each in (claim, falsified(claim))]
        requests = [
            self._request(each, pairs[i - i % 2], shown[pairs[i - i % 2]], episode)
            for i, each in enumerate(pairs)
        ]
        said = [_said(response) for response in self.helper.ask(requests)] if requests else []
        verdicts = {
            claim: _verdict(said[2 * i], said[2 * i + 1], falsified(claim)) for i, claim in enumerate(asked)
        }
        blind = unverifiable("undecided", "no frame of it has a picture")
        return [
            negated(verdict) if claim.is_negated else verdict
            for claim, bare in zip(claims, plain, strict=True)
            for verdict in [verdicts.get(bare, blind)]
        ]

    def _shown(self, claim: Claim, episode: Episode) -> list[str | Picture]:
        """Return the frames of a claim, with the annotation if the judge is told it; empty if there is nothing to see."""
        n = len(episode.frames)
        frames = sorted(frame for frame in claim.frames if frame < n) or list(range(n))
        if claim.kind == "ego-motion":  # it leads to the next frame
            frames = sorted({*frames, min(frames[-1] + 1, n - 1)})
        if claim.kind == "temporal":
            frames = list(range(n))
        if len(frames) > MOST_FRAMES:
            frames = [frames[i * len(frames) // MOST_FRAMES] for i in range(MOST_FRAMES)]
        content = shown_frames(episode, frames)
        facts = "\n".join(facts_in_words(episode, frames)) if self.is_told else ""
        return [*content, _TOLD.format(facts=facts)] if facts else content

    def _request(
        self, claim: Claim, about: Claim, shown: Sequence[str | Picture], episode: Episode
    ) -> Request:
        """Return the request about a claim, or about the opposite of one."""
        sentence = _SENTENCE.format(sentence=claim.sentence[:_LONGEST]) if claim.sentence else ""
        text = _ASKED.format(claim=worded(claim), sentence=sentence)
        hint = _hint(claim, about, episode) if self.helper.takes_hints else {}
        return Request((Message.user(*shown, text),), _MOST_TOKENS, hint=cast("Any", hint))


def _hint(claim: Claim, about: Claim, episode: Episode) -> dict[str, str]:
    """Return what the annotation says, for scripted judges; where it is silent, that a claim holds and its opposite does not."""
    (verdict,) = AnnotationVerifier().verify([claim], episode)
    words = {label: word for word, label in SAYS.items()}
    silent: Label = "supported" if claim is about else "unsupported"
    label = silent if verdict.label == "unverifiable" else verdict.label
    return {"claim": str(claim), "about": str(about), "gold": words[label]}


def _said(response: Response) -> Label | str:
    """Return the label that a judge gave, or why there is none."""
    if not response.is_answered:
        return response.reason or response.status
    answer = read_answer(response.text, _FORMAT, is_cut_off=response.finish == "length")
    return SAYS[str(answer.value)] if answer.is_read else f"its answer is {answer.status}"


def _verdict(said: str, opposite: str, other: Claim) -> Verdict:
    if said not in SAYS.values():
        return unverifiable("undecided", f"the judge gave no answer: {said}")
    if said == "unverifiable":
        return unverifiable("undecided", "the judge cannot tell")
    if opposite not in SAYS.values():
        return unverifiable("undecided", f"the judge gave no answer on the opposite: {opposite}")
    if said == opposite and (said == "supported" or other.is_negated):
        return unverifiable("undecided", f"the judge says the same of the opposite: {worded(other)}")
    return Verdict(cast("Label", said), evidence="said by the judge, and not of the opposite")


def facts_in_words(episode: Episode, frames: Sequence[int]) -> Iterator[str]:
    """Yield what is known about frames, a line each; nothing for frames without annotation."""
    for index in frames:
        frame = episode.frames[index]
        facts = []
        things = [t for t in frame.objects if t.is_visible]
        alone = Counter(t.category for t in things)
        for thing in things:
            qualities = (*thing.attributes.values(), *(name for name, holds in thing.states.items() if holds))
            named = thing.category if alone[thing.category] == 1 else thing.id
            facts.append(f"{named} ({', '.join(qualities)})" if qualities else named)
        names = {t.id: t.category for t in frame.objects} | {EGO: "the camera"}
        facts += [
            f"{names.get(r.subject, r.subject)} {r.predicate} {names.get(r.object, r.object)}"
            for r in frame.relations
        ]
        facts += [
            " ".join((names.get(a.subject, a.subject), a.verb, *(names.get(o, o) for o in a.objects)))
            for a in episode.actions_at((index,))
        ]
        if facts:
            yield f"Frame {index + 1}: {'; '.join(facts)}."


def open_judge(model: str) -> Judge:
    """Open ``judge:MODEL``."""
    return Judge(Helper.of(model, "judge:MODEL"))


def open_informed_judge(model: str) -> Judge:
    """Open ``informed-judge:MODEL``."""
    return Judge(Helper.of(model, "informed-judge:MODEL"), is_told=True)
