"""Summarise each model: what is claimed of it, how sure that is, and what else could explain its answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten

from theodolite.core.tables import interval, listed, percent, upper_first
from theodolite.diagnose.compare import claim, deciding
from theodolite.diagnose.pair_verdicts import tone_of
from theodolite.diagnose.record import (
    Diagnosis,
    LookingResult,
    ModelResult,
    PairExample,
    short_names,
)
from theodolite.pairs import Standing

__all__ = ["Summary", "asked", "example", "summaries", "telling"]


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
    claim: str
    """What is claimed, in one sentence. Empty if nothing was measured."""
    at_what: str
    """Where looking is largest and smallest. Empty if the data do not show it."""
    how_sure: str
    not_excluded: tuple[str, ...]
    """Strategies that could explain the answers where looking is proven."""
    lookings: tuple[tuple[str, LookingResult], ...]
    """The verdicts that decide, by label: those on the user's own data, or else all."""
    by_name: tuple[tuple[str, float], ...]
    """Looking from the most to the least: by instrument, or by relation or edit of a single one."""

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return upper_first(self.standing)

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """What is said below the claim, with a heading each."""
        every = (("At what?", self.at_what), ("How sure?", self.how_sure))
        return tuple(each for each in every if each[1])


def summaries(diagnosis: Diagnosis) -> list[Summary]:
    """Summarise every model of a diagnosis."""
    names = short_names(model.name for model in diagnosis.models)
    results = []
    for model in diagnosis.models:
        own = deciding(diagnosis, model.name)
        by_name = _by_name(own)
        results.append(
            Summary(
                model,
                names[model.name],
                model.verdict.standing,
                claim(diagnosis, model),
                _at_what(by_name) if len(own) == 1 else "",
                _how_sure(diagnosis, model.name, own),
                _not_excluded(own),
                tuple(own),
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


def example(
    shown: Sequence[Summary], *, needs_pictures: bool = False
) -> tuple[Summary, str, PairExample] | None:
    """Choose one example, with its model and the label of its pictures. None if there is none.

    It has the most frequent outcome of the model that looks least, since that shows most; it turns from right to wrong if one
    does. Those with pictures come first: a log need not have them.

    Args:
        shown: The models to choose from.
        needs_pictures: If True, no example without them is chosen.
    """
    having = [
        (summary, label, _relevant(looking.exhibits, needs_pictures=needs_pictures))
        for summary in sorted(shown, key=lambda each: _TONES.index(tone_of(each.standing).name))
        for label, looking in summary.lookings
    ]
    return next(((summary, label, known[0]) for summary, label, known in having if known), None)


_TONES = ("bad", "unsure", "good", "quiet")


def _relevant(exhibits: Sequence[PairExample], *, needs_pictures: bool) -> list[PairExample]:
    every = [exhibit for exhibit in exhibits if exhibit.is_relevant]
    pictured = [exhibit for exhibit in every if exhibit.before.pictures and exhibit.after.pictures]
    relevant = pictured if pictured or needs_pictures else every
    frequent = relevant[0].outcome if relevant else ""
    return sorted(
        relevant, key=lambda exhibit: (exhibit.outcome != frequent, _rights(exhibit) != (True, False))
    )


def _rights(exhibit: PairExample) -> tuple[bool, ...]:
    return tuple(side.read_as == side.gold for side in (exhibit.before, exhibit.after))


def _by_name(lookings: Sequence[tuple[str, LookingResult]]) -> tuple[tuple[str, float], ...]:
    """Return looking by name, the largest first. Empty if most pairs are lost."""
    judged = [(label, each) for label, each in lookings if each.standing not in {"cannot be read", "refuses"}]
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


def _how_sure(diagnosis: Diagnosis, model: str, lookings: Sequence[tuple[str, LookingResult]]) -> str:
    """State the number of pairs, and what would settle what is not settled."""
    judged = [each for _, each in lookings if each.looking is not None]
    if not judged:
        return ""
    n = sum(each.n_relevant for each in judged)
    if len(judged) == 1 and judged[0].standing == "cannot be read" and judged[0].lost is not None:
        return f"{n} pairs: {interval(judged[0].lost)} have an answer that cannot be read."
    pictures = sum(each.looking.n for each in judged if each.looking is not None)
    return f"{n} pairs of {pictures} pictures, 99 % intervals." + _open(diagnosis, model)


def _not_excluded(lookings: Sequence[tuple[str, LookingResult]]) -> tuple[str, ...]:
    """Return the strategies that no proven looking excludes."""
    proven = [each for _, each in lookings if each.is_proven]
    excluded = {name for each in proven for name in each.excluded}
    return tuple(dict.fromkeys(name for each in proven for name in each.not_excluded if name not in excluded))


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
