"""Read the answer in a model's text, in stages; recognise refusals and texts that reject all options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from theodolite.answers.options import (
    Options,
    by_value,
    claim_options,
    denies_all,
    number_mentions,
    option_mentions,
    options_of,
)
from theodolite.answers.text import (
    Assertion,
    Layers,
    Mention,
    Passage,
    announced,
    concluded,
    cut_note,
    guarded,
    is_lead,
    json_values,
    normal_form,
    outer_layers,
    simple,
    without_marks,
    word_set,
)
from theodolite.core.types import AnswerFormat

# What was read in a model's text.


Status: TypeAlias = Literal["value", "none of these", "refused", "cut off", "ambiguous", "unreadable"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read in a model's text.

    Attributes:
        status: ``value`` if there is an answer; otherwise why there is none.
        value: The label of the option, "yes" or "no", the number in the unit asked for, or the text.
        reason: Where the value was found, or why there is none.
    """

    status: Status
    value: str | float | None = None
    reason: str = ""

    @property
    def is_read(self) -> bool:
        """True if there is an answer to score."""
        return self.status == "value"


# All places of a passage that name an answer, and the one answer that they settle on.


_LIST_GAPS = word_set(", ; . : = ( ) - – / \" ' | or and the to on a an option") | {"\n"}
_LONGEST_GAP = 6
_SAME = 0.01
"""Relative difference below which two numbers are the same: "3.2 m (10.5 ft)"."""


def mentions_in(passage: Passage, expected: AnswerFormat) -> list[Mention]:
    """Return all mentions of an answer. Numeric options are matched by value."""
    if not expected.options:
        return number_mentions(passage, expected.unit, is_count=expected.kind == "count")
    mentions, options = option_mentions(passage, expected), options_of(expected)
    if options.numbers:
        taken = {i for mention in mentions for i in range(mention.first, mention.end)}
        for mention in number_mentions(passage, options.unit, is_count=not options.unit):
            label = by_value(options.numbers, float(mention.value))
            mentions += [replace(mention, value=label)] if label and mention.first not in taken else []
        mentions.sort(key=lambda mention: mention.first)
    return _without_echo(mentions, passage, options)


def _without_echo(mentions: list[Mention], passage: Passage, options: Options) -> list[Mention]:
    """Turn each list of all options that a text repeats, with or without labels, into asides."""
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
    """Return the answer that the firmest mentions agree on; None if no mention is asserted.

    If numbers disagree, the last result decides, with a unit or without; if there is none, the numbers with a unit. If
    options disagree, subjects of a statement take precedence, then a label whose own text is named too. If no such group
    agrees either, the answer is ambiguous.

    Args:
        mentions: The mentions of answers.
        expected: What the question asked for.
        reason: The reason to store in the answer.
    """
    candidates = [mention for mention in mentions if mention.weight.assertion > Assertion.NOT_SAID]
    if not candidates:
        return None
    version = max(mention.weight.version for mention in candidates)
    strongest = max(mention.weight.assertion for mention in candidates if mention.weight.version == version)
    firm = [mention for mention in candidates if mention.weight == (strongest, version)]
    labels = [mention for mention in firm if mention.is_label]
    has_own_text = {mention.value for mention in labels} & {
        mention.value for mention in firm if not mention.is_label
    }
    results = [mention for mention in firm if mention.is_result] if expected.kind == "number" else []
    for some in (
        firm,
        results[-1:],
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
    """Return True if an answer at the very end of a truncated text cannot continue, as "1" can to "12"."""
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


_SEE = (
    "see|view|determine|tell|answer|provide|assist|help|analy[sz]e|know|identify|estimate|say|infer|measure|access|comply|"
    "judge|decide|be (?:determined|answered|known|inferred|sure|certain)"
)
_PICTURE = "image|picture|photo|photograph|visual|video|frame"
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am)? (?:very |so )?(?:sorry|afraid)|as an? (?:ai|text|language)\b|"
    rf"(?:can ?not|can't|cant|could(?: not|n't)|unable to|not able to|do(?: not|n't)|(?:im|not )possible to|no way to|"
    rf"(?:hard|difficult|unclear how) to)(?: \w+){{0,3}}? (?:{_SEE})\b|"
    rf"no (?:image|picture|photo|visual|idea)|(?:{_PICTURE})s? (?:is|are|was|were|has|have)(?: not|n't) (?:been )?"
    r"(?:provided|attached|included|available|given|visible|shown)|"
    rf"without (?:the |an |a |any |seeing )?(?:\w+ )?(?:{_PICTURE})|"
    r"(?:not enough|insufficient|not sufficient|no) (?:visual )?(?:information|context|evidence to)|i (?:must )?(?:decline|refuse)|"
    r"(?:answer|it|this) is (?:unknown|indeterminate|undeterminable|unclear)|need (?:to see|more information)|i have no access)",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"(?:\b(?:none|neither|not any)(?: \w+){0,4}? (?:options?|choices?|answers?|alternatives?|above|these|given|listed|them)\b"
    r"|\bno (?:\w+ )?(?:options?|choices?|alternatives?)\b"
    r"|\b(?:none|neither)(?: \w+){0,2}? (?:appl(?:y|ies)|fits?|match(?:es)?|correct)\b"
    r"|\bnot (?:among|one of|in) (?:the |these |those |any of the )?(?:\w+ )?(?:options|choices|answers)"
    r"|\b(?:is|are) not (?:listed|offered|an option)|(?<![\w ])(?:none|neither)(?= ?[,.;:–—]))",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"\W*(?:none|neither|neither one|n/a|not applicable|no option)\W*", re.IGNORECASE)
_FORCED = re.compile(
    r"\b(?:closest|nearest|best(?: \w+){0,3}? (?:is|would be|fit)|choose|pick|select|guess|go with|most likely|forced|had to)\b",
    re.IGNORECASE,
)


def declines(text: str) -> bool:
    """Return True if a text declines to answer.

    >>> declines("There is no picture, so I cannot answer."), declines("There is no cup.")
    (True, False)
    """
    return _REFUSAL.search(text) is not None


def rejects_options(text: str) -> bool:
    """Return True if a text says that no option is right.

    >>> rejects_options("None of the provided options apply."), rejects_options("None of the cups is left of it.")
    (True, False)
    """
    return _NOTHING.fullmatch(text) is not None or _NONE.search(text) is not None


def chooses_anyway(text: str) -> bool:
    """Return True if a text that rejects all options goes on to choose one: "the closest is B"."""
    match = _NONE.search(text)
    return match is not None and _FORCED.search(text, match.end()) is not None


# From a model's text to its answer.
#
# The text is read in stages. The first stage that finds something decides:
#
# 1. tagged: the last answer tag or box, or the answer field of a JSON object, read by stages 2 to 8 by itself;
# 2. announced: "the answer is …", "Answer: …", "I choose …", the last one first;
# 3. rejected: "none of the options applies";
# 4. opening: the text opens with nothing but an answer ("B. …", "Yes, …", "About 3 m.");
# 5. closing: the last sentence is nothing but an answer;
# 6. concluded: "so …", "therefore …", the last one first;
# 7. named: whatever else the text names; of numbers, the last result, else those of the last sentence that has any;
# 8. claimed: the place that a yes-or-no question asks about, or its opposite.
#
# In each stage the places that name an answer are weighed (`assertion`): denied, asked and compared ones do not count, and of the
# others the firmest decide. If they name one value, it is the answer; if they name several, the answer is ambiguous.
#
# A text that was cut off is read by stages 1 to 4 only, since its reasoning was not finished. If no stage finds an answer, the
# status says why: refused, cut off, none of these, or unreadable.


READER = "answers/4"
"""Name and version of the reader, stored beside every answer."""

_EMPTY = "empty"
_ANSWER_FIELDS = ("finalanswer", "answer", "ans", "choice", "option", "prediction", "result")
_OPENERS = word_set(
    "the a an to on in at of it is it's its option choice answer letter about approximately around roughly ca sure ok okay"
)
_AFTER_OPENING = word_set("because since as based given")
_EMPTY_LEAD = frozenset({":", "answer", "final", "\n"})
"""What is left of an announcement with nothing after it: "ANSWER:"."""
_AFTER_YES = word_set("it there the they this that i")


def read_answer(
    text: str, expected: AnswerFormat, *, is_cut_off: bool = False, reasoning: str = ""
) -> Answer:
    """Read the answer that a model gave.

    Args:
        text: The model's text.
        expected: What the question asked for.
        is_cut_off: True if generation stopped at the token limit.
        reasoning: Reasoning that was returned separately. Read only for tagged answers, if the text is empty.

    Returns:
        The answer, or why there is none. Never raises (`answers.guard`); the time is linear in the length of the text.

    >>> sides = AnswerFormat.choice({"A": "to the left", "B": "to the right"}, style="letter")
    >>> read_answer("It is not left but right.", sides).value
    'B'
    >>> read_answer("<think>10 mm?</think>The gap is 12 mm.", AnswerFormat.number("m")).value
    0.012
    >>> read_answer("There is no picture, so I cannot answer.", AnswerFormat.yes_no()).status
    'refused'
    """
    answer = guarded(
        lambda text, reasoning: _read(text, reasoning, expected, is_cut_off=is_cut_off),
        text,
        reasoning,
        unread=lambda why: Answer("unreadable", reason=why),
    )
    return with_note(answer, cut_note(text))


def with_note(answer: Answer, note: str) -> Answer:
    """Return the answer with a note added to its reason."""
    return replace(answer, reason=f"{answer.reason}; {note}") if note else answer


def _read(text: str, reasoning: str, expected: AnswerFormat, *, is_cut_off: bool) -> Answer:
    layers = outer_layers(text)
    if not layers.visible and layers.tagged is None and reasoning:
        inner = outer_layers(reasoning)
        layers = replace(layers, tagged=inner.tagged, is_closed=inner.is_closed)
    for part in _tagged(layers):
        answer = _read_part(part, expected, is_cut_off=is_cut_off and not layers.is_closed)
        if answer.reason != _EMPTY:
            return replace(answer, reason=f"in an answer tag: {answer.reason}")
    if layers.is_unfinished:
        return Answer("cut off", reason="the model was still thinking")
    return _read_part(layers.visible, expected, is_cut_off=is_cut_off)


def _tagged(layers: Layers) -> Iterator[str]:
    """Yield the answer fields of JSON objects, the last object first, and the tagged answer."""
    source = layers.tagged or layers.visible
    for json_value in json_values(source) if "{" in source else ():
        table = json_value.value if isinstance(json_value.value, dict) else {}
        known = {re.sub(r"[\W_]", "", key.lower()): value for key, value in table.items()}
        yield from (
            str(known[key]) for key in _ANSWER_FIELDS if isinstance(known.get(key), str | int | float)
        )
    if layers.tagged:
        yield layers.tagged


def _read_text(text: str, *, is_cut_off: bool) -> Answer:
    """Read free text: what is announced last, or all of it."""
    passage = Passage(without_marks(simple(text)))
    for first, end in announced(passage):
        if (
            value := normal_form(passage.part(first, end).text)
            if not is_cut_off or end < len(passage)
            else ""
        ):
            return Answer("value", value, "announced")
    value = normal_form(passage.text)
    if declines(passage.text):
        return Answer("refused", reason="declines to answer")
    if is_cut_off:
        return Answer("cut off", reason="ends before an answer")
    return Answer("value", value, "the whole text") if value else Answer("unreadable", reason=_EMPTY)


def _read_part(text: str, expected: AnswerFormat, *, is_cut_off: bool) -> Answer:
    """Run stages 2 to 8. If all fail, return the reason."""
    if expected.kind == "text" or (expected.kind == "choice" and not expected.options):
        return _read_text(text, is_cut_off=is_cut_off)
    passage = Passage(without_marks(simple(text)).strip())
    if not len(passage):
        return Answer("cut off" if is_cut_off else "unreadable", reason=_EMPTY)
    mentions = mentions_in(passage, expected)
    is_unfinished = is_cut_off or _breaks_off(passage, mentions, expected)
    stages: list[Callable[[], Answer | None]] = [
        lambda: _announced(passage, expected, is_cut_off=is_cut_off),
        lambda: _rejected(passage, mentions, expected, "says that no option holds"),
        lambda: _opening(passage, mentions, expected, is_cut_off=is_cut_off),
    ]
    if not is_unfinished:
        stages += [
            lambda: _closing(passage, mentions, expected),
            lambda: _concluded(passage, expected),
            lambda: _named(passage, mentions, expected),
            lambda: _claimed(passage, expected),
        ]
    stages += [
        lambda: _not_offered(passage, expected),
        lambda: _unread(passage, expected, is_cut_off=is_unfinished),
    ]
    return next(answer for stage in stages if (answer := stage()))


def _announced(passage: Passage, expected: AnswerFormat, *, is_cut_off: bool) -> Answer | None:
    """Run stage 2: announced answers. Two adjacent announcements that differ are ambiguous."""
    places = announced(passage, is_count=expected.kind == "count")
    for k, (first, end) in enumerate(places):
        part = passage.part(first, end)
        mentions = mentions_in(part, expected)
        if is_cut_off and end == len(passage) and not is_whole(part, mentions, expected):
            continue
        answer = _rejected(part, mentions, expected, "announced") or settled(mentions, expected, "announced")
        if answer is None and (answer := _not_offered(part, expected)) is None:
            continue
        if answer.is_read and k + 1 < len(places) and is_lead(passage, places[k + 1][1], first):
            earlier = settled(mentions_in(passage.part(*places[k + 1]), expected), expected, "announced")
            if earlier and earlier.is_read and earlier.value != answer.value:
                return Answer("ambiguous", reason=f"announces {earlier.value} and {answer.value}")
        return answer
    return None


def _rejected(
    passage: Passage, mentions: Sequence[Mention], expected: AnswerFormat, reason: str
) -> Answer | None:
    """Run stage 3: texts that reject all options."""
    is_rejected = rejects_options(passage.text) and not chooses_anyway(passage.text)
    if expected.options and (is_rejected or denies_all(passage, mentions, expected)):
        return Answer("none of these", reason=reason)
    return None


def _opening(
    passage: Passage, mentions: Sequence[Mention], expected: AnswerFormat, *, is_cut_off: bool
) -> Answer | None:
    """Run stage 4: an answer that opens the text and is not part of a longer statement."""
    end = passage.sentence(0)[1]
    if end <= 3 and passage.norm(end - 1) == "." and expected.options:  # "B. The cup is …"
        end = passage.sentence(end)[1]
    version = max((mention.weight.version for mention in mentions), default=0)
    mentions = [mention for mention in mentions if mention.first < end]
    if not mentions or mentions[0].weight != (Assertion.ASSERTED, version):
        return None
    last = mentions[0]
    for mention in mentions[1:]:
        if mention.value == last.value and mention.first - last.end <= 2:
            last = mention
    after = passage.norm(last.end)
    is_alone = (
        not passage.is_word(last.end)
        or after in _AFTER_OPENING
        or (last.value in {"yes", "no"} and after in _AFTER_YES)
    )
    is_first = all(not passage.is_word(i) or passage.norm(i) in _OPENERS for i in range(mentions[0].first))
    if not is_alone or not is_first:
        return None
    if is_cut_off and end == len(passage) and not is_whole(passage, mentions, expected):
        return None
    return settled(mentions, expected, "opens the text")


def _closing(passage: Passage, mentions: Sequence[Mention], expected: AnswerFormat) -> Answer | None:
    """Run stage 5: a last sentence that is nothing but an answer."""
    first, end = passage.sentences[-1]
    last = [mention for mention in mentions if mention.first >= first]
    if not last or first == 0 or last[0].weight.assertion < Assertion.HEDGED:
        return None
    named = {i for mention in last for i in range(mention.first, mention.end)}
    if any(
        passage.is_word(i) and i not in named and passage.norm(i) not in _OPENERS for i in range(first, end)
    ):
        return None
    return settled(last, expected, "closes the text")


def _concluded(passage: Passage, expected: AnswerFormat) -> Answer | None:
    """Run stage 6: conclusions."""
    parts = (passage.part(*span) for span in concluded(passage))
    answers = (settled(mentions_in(part, expected), expected, "concluded") for part in parts)
    return next(filter(None, answers), None)


def _named(passage: Passage, mentions: Sequence[Mention], expected: AnswerFormat) -> Answer | None:
    """Run stage 7: named answers. Hedged words in a refusal do not count."""
    answer = settled(_of_last_sentence(passage, mentions, expected), expected, "the only one named")
    denied = {mention.value for mention in mentions if mention.weight.assertion == Assertion.DENIED}
    if answer is None:
        is_none = len(denied) > 1 and denied == set(expected.options)
        return Answer("none of these", reason="denies every option") if is_none else None
    firmest = max(mention.weight.assertion for mention in mentions)
    if declines(passage.text) and firmest <= (Assertion.ASIDE if answer.is_read else Assertion.HEDGED):
        return None
    return answer


def _claimed(passage: Passage, expected: AnswerFormat) -> Answer | None:
    """Run stage 8: a statement of what a yes-or-no question asks about."""
    sides = claim_options(expected.claim) if expected.claim else {}
    if not sides:
        return None
    places = AnswerFormat("direction", sides, subject=expected.subject, object=expected.object)
    mentions = mentions_in(passage, places)
    answer = settled(mentions, places, "says where it is")
    denied = {str(mention.value) for mention in mentions if mention.weight.assertion == Assertion.DENIED}
    if answer is None and denied == {"yes"}:
        answer = Answer("value", "no", "denies it")
    if answer is None or not answer.is_read:
        return answer
    labels = {normal_form(text): label for label, text in expected.options.items()}
    label = labels.get(str(answer.value))
    return None if label is None else replace(answer, value=label)


def _of_last_sentence(
    passage: Passage, mentions: Sequence[Mention], expected: AnswerFormat
) -> Sequence[Mention]:
    """Return the numbers of the last sentence that asserts any, unless one of the firmest is a result."""
    if expected.kind != "number" or not mentions:
        return mentions
    firmest = max(mention.weight[::-1] for mention in mentions)
    firm = [mention for mention in mentions if mention.weight[::-1] == firmest]
    if firmest[1] < Assertion.ASSERTED or any(mention.is_result for mention in firm):
        return mentions
    start = passage.sentence(firm[-1].first)[0]
    return [mention for mention in mentions if mention.first >= start]


def _not_offered(passage: Passage, expected: AnswerFormat) -> Answer | None:
    """Return a bare label or number that is none of the options."""
    words = [token.raw for i, token in enumerate(passage.tokens) if passage.is_word(i)]
    if len(words) != 1 or not expected.options or passage.norm(0) in "-+" or not words[0].isascii():
        return None
    has_digits = any(label.isdigit() for label in expected.options) or bool(options_of(expected).numbers)
    is_label = words[0].isdigit() if has_digits else len(words[0]) == 1
    return Answer("none of these", reason=f"{words[0]} was not offered") if is_label else None


def _unread(passage: Passage, expected: AnswerFormat, *, is_cut_off: bool) -> Answer:
    """Return an answer that says why none could be read."""
    if declines(passage.text):
        return Answer("refused", reason="declines to answer")
    if is_cut_off:
        return Answer("cut off", reason="ends before an answer")
    if expected.options and rejects_options(passage.text):
        return Answer("none of these", reason="says that no option holds")
    return Answer("unreadable", reason="names no answer")


def _breaks_off(passage: Passage, mentions: Sequence[Mention], expected: AnswerFormat) -> bool:
    """Return True if reasoning about a number stops in mid-sentence, so that its result is missing."""
    if expected.kind != "number" or len(passage.sentences) < 2:
        return False
    last = len(passage) - 1
    while last > 0 and passage.norm(last) in _EMPTY_LEAD:
        last -= 1
    is_open = not passage.ends_sentence(last) and passage.norm(last) not in {")", '"', "'", "]"}
    return is_open and not passage.norm(last)[0].isdigit() and not (mentions and mentions[-1].end > last)
