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
    by_name: tuple[tuple[str, float], ...]
    """Looking from the most to the least: by instrument, or by relation or edit of a single one."""

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
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
        by_name = _by_name(deciding)
        results.append(
            Summary(
                model,
                names[model.name],
                model.verdict.standing,
                model.verdict.sentence,
                _at_what(by_name),
                _how_surely(diagnosis, model.name, deciding),
                tuple(deciding),
                by_name,
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


def _by_name(deciding: Sequence[tuple[str, LookingResult]]) -> tuple[tuple[str, float], ...]:
    """Return looking by name, the largest first. Empty if most pairs are lost."""
    judged = [(label, each) for label, each in deciding if each.standing not in {"cannot be read", "refuses"}]
    shares = [(label, each.looking) for label, each in judged]
    if len(judged) == 1:
        forms = judged[0][1].relations
        if len(forms) < 2:
            forms = [form for form in judged[0][1].edits if form.is_relevant]
        shares = [(form.name, form.looking) for form in forms]
    known = [(name, figure.value) for name, figure in shares if figure is not None]
    return tuple(sorted(known, key=lambda entry: -entry[1]))


def _at_what(by_name: Sequence[tuple[str, float]]) -> str:
    """Name where looking is largest and smallest."""
    named = [f"{name} ({percent(share)})" for name, share in by_name]
    if len(named) < 2:
        return ""
    half = _MOST_NAMED // 2
    if len(named) > _MOST_NAMED:
        return f"Looking is largest for {listed(named[:half])}, smallest for {listed(named[-half:])}."
    return f"Looking: {listed(named)}."


def _how_surely(diagnosis: Diagnosis, model: str, deciding: Sequence[tuple[str, LookingResult]]) -> str:
    """State the claim, the number of pairs, what is not excluded, and what would settle the rest."""
    judged = [(label, each) for label, each in deciding if each.looking is not None]
    if not judged:
        return ""
    n = sum(each.n_relevant for _, each in judged)
    parts = _claim([(label, each) for label, each in judged if each.is_proven], n_judged=len(judged))
    if len(judged) == 1:
        _, only = judged[0]
        if only.standing == "cannot be read" and only.lost is not None:
            return f"{n} pairs: {interval(only.lost)} have an answer that cannot be read."
        if only.accuracy is not None and only.looking is not None:
            pictures = f"{only.looking.n} pictures: looking {interval(only.looking)}, accuracy {percent(only.accuracy.value)}"
            parts.append(f"Of {n} pairs about {pictures}.")
    else:
        parts.append(f"{n} pairs, 99 % intervals.")
    return " ".join(parts) + _open(diagnosis, model)


def _claim(proven: Sequence[tuple[str, LookingResult]], *, n_judged: int) -> list[str]:
    """State what is claimed where looking is proven, as a sentence. None if it is nowhere."""
    if not proven:
        return []
    shares = []
    for label, each in proven:
        low = 0.0 if each.looking is None else each.looking.low
        least = f"at least {percent(low)}" if low >= _LEAST_TOLD else "some"
        shares.append(least + (f" ({label})" if n_judged > 1 else ""))
    return [f"In {listed(shares)} of the pairs the answers used what differs between the pictures."]


_LEAST_TOLD = 0.005
"""Smaller shares would be rounded to zero."""


def _open(diagnosis: Diagnosis, model: str) -> str:
    """State the sample size that would settle the open questions."""
    own = [q for q in diagnosis.open_questions if q.model == model and q.is_of_looking]
    if not own:
        return ""
    sizes = [f"`--size {q.size}` ({q.instrument})" for q in own if q.size]
    if sizes:
        return f" To settle the rest: {listed(sizes)}."
    needed = [q.n_needed / q.n_now for q in own if q.n_needed]
    return f" About {max(needed):.0f} times as many pictures would settle the rest." if needed else ""
