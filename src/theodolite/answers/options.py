"""The options of a question, prepared for finding them in texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from theodolite.answers.directions import axes_of
from theodolite.answers.formats import AnswerFormat
from theodolite.answers.numbers import NUMBER_WORDS, Quantity, quantities
from theodolite.answers.plain import simple, word_set
from theodolite.answers.words import Words

ARTICLES = word_set("the a an")
_SYNONYMS = {
    "yes": "yeah yep yup true correct certainly indeed affirmative y",
    "no": "nope false incorrect n",
}
_DIGITS = {str(i): word for i, word in enumerate(NUMBER_WORDS[:10])}
_SMALL_WORDS = word_set("the are was and located situated placed")
_STEM = 5


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write an option."""

    words: tuple[str, ...]
    label: str
    is_label: bool
    is_short: bool
    """True for a digit, a letter or a vague word, which mean the option only in certain places."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a question, prepared for finding them in texts."""

    forms: Mapping[str, Sequence[Form]]
    """By first word, the longest first."""
    texts: Mapping[str, tuple[str, ...]]
    """The words of each option."""
    cores: Mapping[str, tuple[str, ...]]
    """The same without those that all options share."""
    axes: Mapping[frozenset[str], str]
    """The directions of those options that consist of directions."""
    numbers: Mapping[str, float]
    """The values of those options that are numbers, in `unit`."""
    unit: str
    words: frozenset[str]
    stems: tuple[str, ...]
    """The beginnings of the longer words that all options share, as "rotat" of "rotation"."""
    subject: str
    object: str
    """The things that all options place, as in "The cup is left of the plate"."""


def options_of(expected: AnswerFormat) -> Options:
    """The prepared options of a format."""
    return _prepared(tuple(expected.options.items()))


@lru_cache(maxsize=256)
def _prepared(items: tuple[tuple[str, str], ...]) -> Options:
    texts = {label: words_of(text) for label, text in items}
    counts = Counter(word for words in texts.values() for word in set(words))
    shared = {word for word, count in counts.items() if count == len(texts) > 1}
    if any(shared.issuperset(words) for words in texts.values()):  # the options differ in order alone
        shared = {word for word in shared if not word.isdigit()}
    cores = {
        label: tuple(word for word in words if word not in shared | ARTICLES) or words
        for label, words in texts.items()
    }
    measured = {label: number for label, text in items if (number := _number(text))}
    unit = next((number.unit for number in measured.values() if number.unit), "")
    frequent = {word for word, count in counts.items() if count > max(1, len(texts) / 2)}
    axes = {label: found for label, words in texts.items() if (found := axes_of(words, frequent))}
    axes = {label: found for label, found in axes.items() if list(axes.values()).count(found) == 1}
    worded = texts.keys() - measured.keys() - axes.keys()
    return Options(
        forms=_by_first_word(texts, cores, worded),
        texts=texts,
        cores=cores,
        axes={found: label for label, found in axes.items()},
        numbers={
            label: value for label, number in measured.items() if (value := number.to(unit)) is not None
        },
        unit=unit,
        words=frozenset(counts),
        stems=tuple(word[:_STEM] for word in shared if word.isalpha() and len(word) >= _STEM),
        subject=_shared_thing(list(texts.values())),
        object=_shared_thing([words[::-1] for words in texts.values()], is_suffix=True),
    )


def _by_first_word(
    texts: Mapping[str, tuple[str, ...]], cores: Mapping[str, tuple[str, ...]], worded: Collection[str]
) -> Mapping[str, Sequence[Form]]:
    """The ways to write each option. What could mean two options means neither, unless it is the label of one."""
    forms: dict[tuple[str, ...], dict[str, Form]] = {}
    for label, words in texts.items():
        own = words_of(label) if words_of(label) != words else ()
        vague = [(word,) for word in _SYNONYMS.get(" ".join(words), "").split()]
        vague += [(_DIGITS[word],) for word in own if word in _DIGITS]
        for form in (own, *((words, cores[label]) if label in worded else ()), *vague):
            is_short = form in vague or (len(form) == 1 and (form[0].isdigit() or len(form[0]) == 1))
            if form:
                forms.setdefault(form, {}).setdefault(label, Form(form, label, form == own, is_short))
    found: dict[str, list[Form]] = {}
    for words in sorted(forms, key=len, reverse=True):
        labels = [form for form in forms[words].values() if form.is_label]
        if len(chosen := labels or list(forms[words].values())) == 1:
            found.setdefault(words[0], []).append(chosen[0])
    return found


def _shared_thing(texts: Sequence[Sequence[str]], *, is_suffix: bool = False) -> str:
    """The last noun of what all texts begin with, or, if they are turned round, end with."""
    shared = [words[0] for words in takewhile(lambda words: len(set(words)) == 1, zip(*texts, strict=False))]
    nouns = [word for word in shared if len(word) > 2 and word not in _SMALL_WORDS]
    return nouns[0 if is_suffix else -1] if nouns and len(texts) > 1 else ""


def words_of(text: str) -> tuple[str, ...]:
    """The words and numbers of a text, in lower case."""
    words = Words(simple(text))
    return tuple(words.norm(i) for i in range(len(words)) if words.is_word(i))


def _number(text: str) -> Quantity | None:
    """The number that an option's text consists of."""
    found, plain = quantities(text), simple(text)
    is_all = len(found) == 1 and not (plain[: found[0].start] + plain[found[0].end :]).strip(" .")
    return found[0] if is_all else None
