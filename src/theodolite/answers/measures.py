"""Where a text names a number that could be the answer, and not a label, an operand or a number given beforehand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import replace

from theodolite.answers.choices import REFERENCES
from theodolite.answers.numbers import Quantity, quantities
from theodolite.answers.plain import word_set
from theodolite.answers.standing import Mention, Passage, Standing

_LISTED = word_set(", and or & to - –")
_OPERATORS = word_set("+ * / × ÷ · ^")
_EQUALS = word_set("= ≈ → equals")
_CLAUSE_ENDS = word_set(", ; : and so therefore") | {"\n"}
_BEFORE_ONE = word_set("is are only exactly just be answer count see there total number : = about") | {"\n"}
_AFTER_PRONOUN = word_set("of is that which on in to and at with has closer")
_NOT_PLURAL = word_set("less plus minus this across towards perhaps")
_MULTIPLES = word_set("half third thirds quarter quarters twice double triple tenth")
_BOUNDS = word_set("least most over under exceeding")
_GIVEN = word_set("scale ruler")
_BEFORE_NONE = word_set("are is see there's contains has .") | {"\n"}
_PICTURES = word_set("image picture photo visual video idea way information answer option")
_AMOUNTS = {"single": 1.0, "pair": 2.0, "couple": 2.0}


def number_mentions(passage: Passage, unit: str, *, is_count: bool) -> list[Mention]:
    """All numbers that may answer the question, in order, in the unit asked for."""
    starts = [token.start for token in passage.tokens]
    found: list[Mention] = []
    is_reference, last_end = False, 0
    for quantity in quantities(passage.text):
        first, end = bisect_right(starts, quantity.start) - 1, bisect_left(starts, quantity.end)
        is_listed = (
            is_reference and first - last_end < 4 and _LISTED.issuperset(passage.norms(last_end, first))
        )
        is_reference = (is_listed or _is_reference(passage, first)) and not (
            quantity.unit or quantity.is_word
        )
        last_end = end
        value = _count(quantity) if is_count else quantity.to(unit)
        is_counted = not is_count and not quantity.unit and _counts_word(passage, end)
        if value is not None and not (is_reference or is_counted or _is_other(passage, first, end)):
            found.append(replace(_mention(passage, value, first, end), has_unit=bool(quantity.unit)))
    return _without_parts(passage, found + _amounts(passage)) if is_count else found


def by_value(options: Mapping[str, float], value: float) -> str:
    """The label of the option with this number, empty if there is none."""
    return next(
        (label for label, number in options.items() if abs(number - value) <= 1e-6 * max(1.0, abs(number))),
        "",
    )


def _mention(passage: Passage, value: float, first: int, end: int) -> Mention:
    """A number that is only part of a reason is not said; "…, which is 3 m" is."""
    mention = passage.mention(value, first, end)
    if mention.weight.standing == Standing.REASON:
        return replace(mention, weight=mention.weight.at_most(Standing.NOT_SAID))
    if mention.weight.standing == Standing.ASIDE and "which" in passage.norms(first - 4, first):
        return replace(mention, weight=mention.weight._replace(standing=Standing.ASSERTED))
    return mention


def _count(quantity: Quantity) -> float | None:
    return (
        quantity.value if not quantity.unit and quantity.value >= 0 and quantity.value.is_integer() else None
    )


def _is_reference(passage: Passage, first: int) -> bool:
    """True for the number in "object 3" and "#3"."""
    before = passage.norm(first - (2 if passage.norm(first - 1) in {"number", "(", "["} else 1))
    return before in REFERENCES or passage.norm(first - 1) == "#"


def _is_other(passage: Passage, first: int, end: int) -> bool:
    """True if a number numbers a line, is a pronoun, a bound or an operand, or was given by a scale."""
    before = passage.norm(first - 1)
    is_pronoun = passage.norms(first, end) == ["one"] and before not in _BEFORE_ONE
    is_pronoun &= not passage.is_word(end) or passage.norm(end) in _AFTER_PRONOUN
    if passage.is_list_number(first) or before in _BOUNDS or is_pronoun:
        return True
    clause = passage.norms(first - 6, first)
    while breaks := [i for i, word in enumerate(clause) if word in _CLAUSE_ENDS]:
        clause = clause[breaks[-1] + 1 :]
    is_given = not _GIVEN.isdisjoint([*clause, passage.norm(end)])
    return is_given or not _MULTIPLES.isdisjoint(clause[-2:]) or _is_operand(passage, first, end)


def _is_operand(passage: Passage, first: int, end: int) -> bool:
    """True for all numbers of a calculation but its result: "8.4 - 3.2 = 5.2 m", "25 mm / 2 ="."""
    for operator, other in ((end, end + 1), (first - 1, first - 2)):
        beside = passage.norm(other)
        if passage.norm(operator) in _OPERATORS and (beside in "\n(√" or beside[0].isdigit()):
            return True
    for word in passage.norms(end, end + 40):
        if word in _CLAUSE_ENDS or word in _EQUALS:
            return word in _EQUALS
    return False


def _counts_word(passage: Passage, end: int) -> bool:
    """True if the number counts the word behind it: "4 objects", "3 times"."""
    word = passage.norm(end)
    return word in {"%", "°", "people"} or (word.endswith("s") and len(word) > 3 and word not in _NOT_PLURAL)


def _amounts(passage: Passage) -> list[Mention]:
    """Words other than numbers that count: "none", "no circles", "a pair"."""
    found = []
    for i, token in enumerate(passage.tokens):
        before = passage.norm(i - 1)
        is_no = token.norm == "no" and before in _BEFORE_NONE and not passage.is_interjection(i)
        if token.norm == "none" or (is_no and passage.norm(i + 1) not in _PICTURES):
            found.append(Mention(0.0, i, i + 1, passage.weights[i]))
        elif before == "a" and token.norm in _AMOUNTS:
            found.append(Mention(_AMOUNTS[token.norm], i, i + 1, passage.weights[i]))
    return found


def _without_parts(passage: Passage, found: list[Mention]) -> list[Mention]:
    """Makes asides of the numbers that add up to the one before a colon: "4 circles: 3 red and 1 blue"."""
    kept: list[Mention] = []
    last_end, is_part, sentence = 0, False, (-1, -1)
    for mention in sorted(found, key=lambda mention: mention.first):
        is_new = passage.sentence(mention.first) != sentence
        is_part = not is_new and (is_part or ":" in passage.norms(last_end, mention.first))
        sentence, last_end = passage.sentence(mention.first), mention.end
        kept.append(replace(mention, weight=mention.weight.at_most(Standing.ASIDE)) if is_part else mention)
    return kept
