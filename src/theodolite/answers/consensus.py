"""All places of a passage that name an answer, and the one answer that they settle on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theodolite.answers.assertion import Assertion, Mention, Passage
from theodolite.answers.formats import Answer
from theodolite.answers.normalise import normal_form, word_set
from theodolite.answers.options import Options, by_value, number_mentions, option_mentions, options_of
from theodolite.core.truth import AnswerFormat

_LIST_GAPS = word_set(", ; . : = ( ) - – / \" ' | or and the to on a an option") | {"\n"}
_LONGEST_GAP = 6
_SAME = 0.01
"""Relative difference below which two numbers are the same: "3.2 m (10.5 ft)"."""


def mentions_in(passage: Passage, expected: AnswerFormat) -> list[Mention]:
    """The places that name an answer. Options that are numbers are found by value."""
    if not expected.options:
        return number_mentions(passage, expected.unit, is_count=expected.kind == "count")
    found, options = option_mentions(passage, expected), options_of(expected)
    if options.numbers:
        taken = {i for mention in found for i in range(mention.first, mention.end)}
        for mention in number_mentions(passage, options.unit, is_count=not options.unit):
            label = by_value(options.numbers, float(mention.value))
            found += [replace(mention, value=label)] if label and mention.first not in taken else []
        found.sort(key=lambda mention: mention.first)
    return _without_echo(found, passage, options)


def _without_echo(mentions: list[Mention], passage: Passage, options: Options) -> list[Mention]:
    """Makes an aside of each list of all options, with or without their labels, that a text repeats."""
    kept = list(mentions)
    run: list[int] = []
    longest, between = max(map(len, options.texts.values())) + _LONGEST_GAP, _LIST_GAPS | options.words
    for k, mention in enumerate(mentions):
        last = mentions[k - 1] if k else mention
        gap = passage.norms(last.end, mention.first) if mention.first - last.end <= longest else ["…"]
        is_near = k > 0 and between.issuperset(gap)
        is_own_text = is_near and last.is_label and not mention.is_label and mention.value == last.value
        seen = {mentions[j].value for j in run}
        if not is_own_text and (not is_near or mention.value in seen or len(seen) == len(options.texts)):
            run, seen = [], set()
        run.append(k)
        if len(seen | {mention.value}) == len(options.texts) > 1:
            for j in run:
                kept[j] = replace(mentions[j], weight=mentions[j].weight.at_most(Assertion.ASIDE))
    return kept


def settled(mentions: Sequence[Mention], expected: AnswerFormat, reason: str) -> Answer | None:
    """The answer that the firmest mentions agree on; None if none of them is said.

    Where they disagree, numbers with a unit count first, then things of which something is said, then a label whose own
    text is named too.
    """
    said = [mention for mention in mentions if mention.weight.assertion > Assertion.NOT_SAID]
    if not said:
        return None
    version = max(mention.weight.version for mention in said)
    strongest = max(mention.weight.assertion for mention in said if mention.weight.version == version)
    firm = [mention for mention in said if mention.weight == (strongest, version)]
    labels = [mention for mention in firm if mention.is_label]
    has_own_text = {mention.value for mention in labels} & {
        mention.value for mention in firm if not mention.is_label
    }
    for some in (
        firm,
        [mention for mention in firm if mention.has_unit],
        [mention for mention in firm if mention.is_subject],
        labels if has_own_text else [],
    ):
        if some and all(_is_same(mention.value, some[0].value) for mention in some):
            value = some[0].value
            is_count = expected.kind == "count" and not isinstance(value, str)
            return Answer("value", int(value) if is_count else value, reason)
    values = list(dict.fromkeys(str(mention.value) for mention in firm))
    return Answer("ambiguous", reason=f"names several: {', '.join(values[:4])}")


def _is_same(one: str | float, other: str | float) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return abs(one - other) <= _SAME * max(abs(one), abs(other))


def is_whole(part: Passage, mentions: Sequence[Mention], expected: AnswerFormat) -> bool:
    """True if an answer at the very end of a text that was cut off cannot go on, as "1" to "12"."""
    if part.norm(len(part) - 1) in {"or", "and", ",", "not", "-"}:
        return False
    if not mentions or mentions[-1].end < len(part):
        return True
    own = mentions[-1].value
    texts = {label: normal_form(text) for label, text in expected.options.items()}
    return isinstance(own, str) and not any(
        label != own and (text.startswith(texts[own]) or label.startswith(own))
        for label, text in texts.items()
    )
