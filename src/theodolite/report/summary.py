"""Summarise each model: does it look, at what, and how certain is that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten

from theodolite.core.tables import interval, listed, percent, upper_first
from theodolite.diagnose.compare import lookings
from theodolite.diagnose.record import (
    Diagnosis,
    LookingResult,
    ModelResult,
    PairExample,
    short_names,
)
from theodolite.pairs import Standing

__all__ = ["Summary", "asked", "summaries", "telling"]


_MOST_NAMED = 4
"""Maximum number of shares that are named."""
_LONG = 90
"""Prompts longer than this are shortened to the question in them."""
_LONGEST = 170
"""Maximum length of a prompt without a question mark."""
_SENTENCE = re.compile(r"(?:[^.?!:\n]|:(?!\s*[A-Z]))*\?")
"""A sentence that ends with a question mark. A colon before a capital letter begins a sentence."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The answers for one model, in sentences."""

    model: ModelResult
    name: str
    """Its short name."""
    standing: Standing
    looks: str
    at_what: str
    """Empty if the data do not show it."""
    how_surely: str
    lookings: tuple[tuple[str, LookingResult], ...]
    """The verdicts that decide, by label: those on the user's own data, or else all."""
    followed: tuple[tuple[str, float], ...]
    """What is followed, from the most to the least: instruments, or the relations or edits of a single one."""

    @property
    def is_proven(self) -> bool:
        """True if every deciding verdict excludes blind answers."""
        return bool(self.lookings) and all(
            looking.proof is not None
            and looking.proof.low > looking.bound
            and "blind answers" in looking.excluded
            for _, looking in self.lookings
        )

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        if self.standing == "not settled" and self.is_proven:
            return "Looks, how often is not settled"
        return upper_first(self.standing)

    @property
    def questions(self) -> tuple[tuple[str, str], ...]:
        """Questions and answers, without unanswered ones."""
        every = (
            ("Does it look?", self.looks),
            ("At what?", self.at_what),
            ("How surely?", self.how_surely),
        )
        return tuple(each for each in every if each[1])


def summaries(diagnosis: Diagnosis) -> list[Summary]:
    """Summarise every model of a diagnosis."""
    names = short_names(model.name for model in diagnosis.models)
    results = []
    for model in diagnosis.models:
        every = [(label, each) for label, view, each in lookings(diagnosis) if view.model == model.name]
        deciding = [each for each in every if each[1].source == "own"] or every
        followed = _followed(deciding)
        results.append(
            Summary(
                model,
                names[model.name],
                model.verdict.standing,
                model.verdict.sentence,
                _at_what(followed),
                _how_surely(diagnosis, model.name, deciding),
                tuple(deciding),
                followed,
            )
        )
    return results


def asked(prompt: str) -> str:
    """Return the question in a long prompt; without a question mark, its last sentence. Short prompts are not changed.

    >>> asked("Step 1: Draw a graph. " * 9 + "Step 2: Where is the cup relative to the mug? Answer with one word.")
    'Where is the cup relative to the mug?'
    >>> asked("Objects have marks. " * 9 + "Which one is nearer: object 1 or object 2? Options: A: object 1 B: object 2")
    'Which one is nearer: object 1 or object 2?'
    >>> asked("Objects have marks. " * 9 + "Order these by size: object 1, object 2. Options: A: object 1, object 2 B: …")
    'Order these by size: object 1, object 2.'
    >>> asked("Is it left? Yes or no")
    'Is it left? Yes or no'
    """
    if len(prompt) <= _LONG:
        return prompt
    sentences = _SENTENCE.findall(prompt)
    if sentences:
        return str(sentences[-1]).strip()
    before_options = re.split(r"\s*\bOptions:", prompt)[0]
    last = re.split(r"(?<=[.!])\s+(?=[A-Z])", before_options)[-1]
    return shorten(last, _LONGEST, placeholder=" …")


def telling(exhibits: Sequence[PairExample]) -> list[PairExample]:
    """Sort examples so that the first ones show different outcomes. Otherwise their order is kept."""
    first = {exhibit.outcome: exhibit for exhibit in reversed(exhibits)}
    return sorted(exhibits, key=lambda exhibit: exhibit is not first[exhibit.outcome])


def _followed(deciding: Sequence[tuple[str, LookingResult]]) -> tuple[tuple[str, float], ...]:
    """Return the followed shares by name, the largest first. Empty if most pairs are lost."""
    judged = [(label, each) for label, each in deciding if each.standing != "cannot be read"]
    shares = [(label, each.followed) for label, each in judged]
    if len(judged) == 1:
        forms = judged[0][1].relations
        if len(forms) < 2:
            forms = [form for form in judged[0][1].edits if form.is_relevant]
        shares = [(form.name, form.followed) for form in forms]
    known = [(name, figure.value) for name, figure in shares if figure is not None]
    return tuple(sorted(known, key=lambda each: -each[1]))


def _at_what(followed: Sequence[tuple[str, float]]) -> str:
    """Name what is followed most and least."""
    if not followed:
        return ""
    named = [f"{name} ({percent(share)})" for name, share in followed if share > 0]
    if not named:
        return "Nothing: it followed no pair."
    never = "" if len(named) == len(followed) else "; the others never"
    if len(named) == 1:
        return f"Followed: {named[0]}{never}."
    half = _MOST_NAMED // 2
    if len(named) > _MOST_NAMED:
        return f"Followed most: {listed(named[:half])}; least: {listed(named[-half:])}."
    return f"Followed most: {named[0]}; then {listed(named[1:])}{never}."


def _how_surely(diagnosis: Diagnosis, model: str, deciding: Sequence[tuple[str, LookingResult]]) -> str:
    """State the number of pairs, what the 99 % intervals exclude, and what would settle the rest."""
    judged = [(label, looking.proof, looking) for label, looking in deciding if looking.proof is not None]
    if not judged:
        return ""
    parts = [f"{sum(looking.n_relevant for *_, looking in judged)} pairs"]
    if len(judged) == 1:
        _, proof, looking = judged[0]
        if looking.standing == "cannot be read" and looking.lost is not None:
            return f"{parts[0]}: {interval(looking.lost)} have an answer that cannot be read."
        parts.append(
            f"{interval(proof)} followed (99 % interval), where a model that does not look can follow at most {percent(looking.bound)}"
        )
    else:
        proven = [label for label, proof, looking in judged if proof.low > looking.bound]
        blind = [
            (label, proof.high) for label, proof, looking in judged if looking.standing == "does not look"
        ]
        if proven:
            parts.append(
                f"more are followed than a model that does not look can follow, in {listed(proven)} (99 % intervals)"
            )
        if blind:
            most = percent(max(high for _, high in blind))
            parts.append(
                f"at most {most} followed in {listed([label for label, _ in blind])} (99 % intervals)"
            )
    text = f"{parts[0]}: {'; '.join(parts[1:])}." if len(parts) > 1 else f"{parts[0]}."
    return text + _open(diagnosis, model)


def _open(diagnosis: Diagnosis, model: str) -> str:
    """State the sample size that would settle the open questions."""
    own = [q for q in diagnosis.open_questions if q.model == model and q.is_of_looking]
    if not own:
        return ""
    sizes = [f"`--size {q.size}` ({q.instrument})" for q in own if q.size]
    if sizes:
        return f" To settle the rest: {listed(sizes)}."
    needed = [q.n_needed / q.n_now for q in own if q.n_needed]
    return f" About {max(needed):.0f} times as many pairs would settle the rest." if needed else ""
