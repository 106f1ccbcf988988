"""Find the options that an answer names: by letter, number, words or direction."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any

from theodolite.answers.numbers import NUMBER_WORDS, Quantity, quantities
from theodolite.answers.text import Assertion, Mention, Passage, Words, normal_form, simple, word_set
from theodolite.core.types import AnswerFormat

__all__ = [
    "LETTERS",
    "LONGEST_ANSWER",
    "NoSuchOption",
    "Offered",
    "named_option",
    "options_in_words",
]


# The options that a question lists in its own words, and the one that an answer key names.


LETTERS = "ABCDEFGHIJ"
LONGEST_ANSWER = 12
"""The longest answer to an open question, in words. Longer ones cannot be compared with a model's words."""
_MARK = re.compile(r"(?<![\w'])(?:\(?([A-J])\s?[).:]|\(([a-j])\))\s*(?=\S)")
"""A letter before an option. A small one stands in parentheses: "i.e. a) …" lists nothing."""
_LISTED = re.compile(r"\b(?:one of|choose from|options)\b[^:\n]{0,40}:\s*([^\n.?!]+)", re.IGNORECASE)
_END = re.compile(r"\n|(?<=[.?!])\s+(?=[A-Z])")
Offered = tuple[str, ...]


class NoSuchOption(ValueError):  # noqa: N818 - it is counted, not reported
    """The answer names none of the options. The message is the reason."""


def options_in_words(text: str) -> tuple[Offered, bool]:
    """Return the options that a question lists in its text, and whether they are lettered. Empty if it lists none.

    >>> options_in_words("Where is it? A :To the left, B: On top")
    (('To the left', 'On top'), True)
    >>> options_in_words("(a) Open (b) Closed")
    (('Open', 'Closed'), True)
    >>> options_in_words("Your answer must be exactly one of: Left, Right, or Under.")
    (('Left', 'Right', 'Under'), False)
    """
    marks = [((found[1] or found[2]).upper(), found) for found in _MARK.finditer(text)]
    starts = [i for i, (letter, _) in enumerate(marks) if letter == "A"]
    for start in reversed(starts):
        run = [mark for (own, mark), letter in zip(marks[start:], LETTERS, strict=False) if own == letter]
        ends = [mark.start() for mark in run[1:]] + [len(text)]
        parts = [text[mark.end() : end] for mark, end in zip(run, ends, strict=True)]
        options = tuple(_END.split(part.strip())[0].strip(" ,;.") for part in parts)
        if len(options) > 1 and _are_distinct(options):
            return options, True
    listed = _LISTED.search(text)
    parts = re.split(r",\s*(?:or\s+|and\s+)?|\s+or\s+|;|\||/", listed[1]) if listed else []
    options = tuple(part.strip(" '\"") for part in parts if part.strip(" '\""))
    return (options, False) if len(options) > 1 and _are_distinct(options) else ((), False)


def _are_distinct(options: Sequence[str]) -> bool:
    normal = [normal_form(option) for option in options]
    return "" not in normal and len(set(normal)) == len(normal)


def named_option(answer: Any, options: Offered) -> str:
    """Return the option that an answer names: by its words, letter or index (from 0), or the only one with those words.

    Raises:
        NoSuchOption: If the options are not distinct, or the answer is none of them.

    >>> [named_option(answer, ("To the left", "On top")) for answer in ("on top", "(B)", 1, "Left")]
    ['On top', 'On top', 'On top', 'To the left']
    """
    if not _are_distinct(options):
        raise NoSuchOption("options not distinct")
    text = str(answer).strip()
    normal = {normal_form(option): option for option in options}
    if normal_form(text) in normal:
        return normal[normal_form(text)]
    lettered = re.fullmatch(r"\(?([A-Ja-j])(?:[).:]\s*(.*)|\)?)", text, flags=re.DOTALL)
    index = (
        LETTERS.index(lettered[1].upper())
        if lettered
        else int(text)
        if re.fullmatch(r"\d{1,2}", text)
        else -1
    )
    if 0 <= index < len(options):
        return options[index]
    words = set(normal_form(text).split())
    having = [option for option in options if words and words <= set(normal_form(option).split())]
    if len(having) == 1:
        return having[0]
    raise NoSuchOption("answer not among the options")


# Words for directions, alone or together: "left", "behind and to the right".


_WORDS: Mapping[str, str] = {
    "left": "left leftward leftwards lefthand leftmost",
    "right": "right rightward rightwards righthand rightmost",
    "up": "above atop up upward upwards upper over top higher",
    "down": "below beneath under underneath down downward downwards lower bottom",
    "front": "front forward forwards ahead",
    "back": "behind back backward backwards rear",
    "near": "closer nearer",
    "far": "farther further away",
    "clockwise": "clockwise",
    "counterclockwise": "counterclockwise anticlockwise",
}
AXIS: Mapping[str, str] = {word: axis for axis, words in _WORDS.items() for word in words.split()}
"""Word to direction."""
_AXES = list(_WORDS)
OPPOSITE: Mapping[str, str] = {axis: _AXES[i ^ 1] for i, axis in enumerate(_AXES)}
"""Direction to opposite. `_WORDS` lists opposites next to each other, so the index of one is that of the other ^ 1."""
_LOOSE = word_set("up upper over top higher down lower bottom front ahead back rear further away")
"""Words that often mean something else. As synonyms of an option they count only beside another direction."""
_GLUE = word_set("- and to the on in at slightly also a bit side , hand it its them me you your")
_FILLERS = _GLUE | word_set("of an from toward towards is")
_AFTER_ADJECTIVE = word_set("answer answers option choice question one now away next beside at there")
"""Before these, "right" is no direction: "the right answer", "right next to"."""
_LONGEST_GLUE = 6


def directions_at(words: Words, i: int, names: Collection[str] = ()) -> tuple[frozenset[str], int]:
    """Return the directions named together from a token on, and the index after the last one.

    Args:
        words: The text.
        i: The first token.
        names: The words of the reference object, which may stand between directions.

    >>> sorted(directions_at(Words("behind and to the right of it"), 0)[0])
    ['back', 'right']
    >>> sorted(directions_at(Words("behind object 1 and to its left"), 0)[0])
    ['back', 'left']
    >>> sorted(directions_at(Words("left of the table and above it"), 0, ["table"])[0])
    ['left', 'up']
    """
    axis, end = axis_at(words, i)
    axes = {axis} - {""}
    position = end
    while axes and position - end <= _LONGEST_GLUE + len(names):
        axis, after = axis_at(words, position)
        if axis and axis not in axes and OPPOSITE[axis] not in axes:
            axes.add(axis)
            position = end = after
        elif words.norm(position) == "object" and "its" in words.norms(position + 2, position + 6):
            position += 2
        elif (
            words.norm(position) in _GLUE
            or words.norm(position) in names
            or _is_glued_of(words, position, names)
        ):
            position += 1
        else:
            break
    return frozenset(axes), end


def _is_glued_of(words: Words, i: int, names: Collection[str]) -> bool:
    """Return True for an "of" without a new object: "left of, and above, it", "left of the table and above it"."""
    if words.norm(i) != "of":
        return False
    return words.norm(i + 1) in {"and", ",", "it", "them"} or any(
        word in names for word in words.norms(i + 1, i + 3)
    )


def axis_at(words: Words, i: int) -> tuple[str, int]:
    """Return the direction of a single word and the index after it; an empty string if it has none."""
    word = words.norm(i)
    if word in {"counter", "anti"}:
        end = i + 2 + (words.norm(i + 1) == "-")
        return ("counterclockwise", end) if words.norm(end - 1) == "clockwise" else ("", i)
    if word == "right" and (words.norm(i + 1) in _AFTER_ADJECTIVE or words.norm(i - 1) == "that"):
        return "", i  # "the right answer", "that's right"
    return AXIS.get(word, ""), i + 1


def axes_of(words: Sequence[str], ignored: Collection[str]) -> frozenset[str]:
    """Return the directions that make up an option's text; empty if it contains any other word.

    >>> sorted(axes_of(["to", "the", "front", "left"], ())), axes_of(["left", "shoe"], ())
    (['front', 'left'], frozenset())
    """
    if any(word not in AXIS and word not in _FILLERS and word not in ignored for word in words):
        return frozenset()
    return frozenset(AXIS[word] for word in words if word in AXIS)


def is_loose(words: Words, i: int, offered: Collection[str]) -> bool:
    """Return True if a direction word is too vague to stand for an option that does not use it."""
    word, after = words.norm(i), words.norm(i + 1)
    return word in _LOOSE and word not in offered and AXIS.get(after) != AXIS[word]


# The options of a question, prepared for finding them in texts.


ARTICLES = word_set("the a an")
_SYNONYMS = {
    "yes": "yeah yep yup true correct certainly indeed affirmative y 是 对 是_的 对_的 正_确",
    "no": "nope false incorrect n 否 不 不_是 不_对 错_误",
}
_DIGITS = {str(i): word for i, word in enumerate(NUMBER_WORDS[:10])}
_SMALL_WORDS = word_set("the are was and located situated placed")
_STEM = 5


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write an option."""

    words: tuple[str, ...]
    label: str
    is_label: bool
    is_short: bool
    """True for a digit, a letter or a vague word, which mean the option only in certain places."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a question, prepared for finding them in texts."""

    forms: Mapping[str, Sequence[Spelling]]
    """By first word, the longest first."""
    texts: Mapping[str, tuple[str, ...]]
    """The words of each option."""
    are_orders: bool
    """True if the options are the same things in different orders."""
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
    """Return the prepared options of a format."""
    return _prepared(tuple(expected.options.items()))


@lru_cache(maxsize=256)
def _prepared(items: tuple[tuple[str, str], ...]) -> Options:
    texts = {label: words_of(text) for label, text in items}
    counts = Counter(word for words in texts.values() for word in set(words))
    shared = {word for word, count in counts.items() if count == len(texts) > 1}
    are_orders = any(shared.issuperset(words) for words in texts.values())
    if are_orders:
        shared = {word for word in shared if not word.isdigit()}
    cores = {
        label: tuple(word for word in words if word not in shared | ARTICLES) or words
        for label, words in texts.items()
    }
    measured = {label: number for label, text in items if (number := _number(text))}
    unit = next((number.unit for number in measured.values() if number.unit), "")
    frequent = {word for word, count in counts.items() if count > max(1, len(texts) / 2)}
    axes = {label: directions for label, words in texts.items() if (directions := axes_of(words, frequent))}
    axes = {
        label: directions for label, directions in axes.items() if list(axes.values()).count(directions) == 1
    }
    worded = texts.keys() - measured.keys() - axes.keys()
    return Options(
        forms=_by_first_word(texts, cores, worded),
        texts=texts,
        are_orders=are_orders,
        cores=cores,
        axes={directions: label for label, directions in axes.items()},
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
) -> Mapping[str, Sequence[Spelling]]:
    """Return the spellings of each option, by first word. One shared by two options is dropped unless it is a label."""
    forms: dict[tuple[str, ...], dict[str, Spelling]] = {}
    for label, words in texts.items():
        own = words_of(label) if words_of(label) != words else ()
        vague = [tuple(word.split("_")) for word in _SYNONYMS.get(" ".join(words), "").split()]
        vague += [(_DIGITS[word],) for word in own if word in _DIGITS]
        for form in (own, *((words, cores[label]) if label in worded else ()), *vague):
            is_short = form in vague or (len(form) == 1 and (form[0].isdigit() or len(form[0]) == 1))
            if form:
                forms.setdefault(form, {}).setdefault(label, Spelling(form, label, form == own, is_short))
    spellings: dict[str, list[Spelling]] = {}
    for words in sorted(forms, key=len, reverse=True):
        labels = [form for form in forms[words].values() if form.is_label]
        if len(chosen := labels or list(forms[words].values())) == 1:
            spellings.setdefault(words[0], []).append(chosen[0])
    return spellings


def _shared_thing(texts: Sequence[Sequence[str]], *, is_suffix: bool = False) -> str:
    """Return the last noun that all texts start with, or end with if `is_suffix` and the texts are reversed."""
    shared = [words[0] for words in takewhile(lambda words: len(set(words)) == 1, zip(*texts, strict=False))]
    nouns = [word for word in shared if len(word) > 2 and word not in _SMALL_WORDS]
    return nouns[0 if is_suffix else -1] if nouns and len(texts) > 1 else ""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text, in lower case."""
    words = Words(simple(text))
    return tuple(words.norm(i) for i in range(len(words)) if words.is_word(i))


def _number(text: str) -> Quantity | None:
    """Return the number that an option's text consists of."""
    numbers, plain = quantities(text), simple(text)
    is_all = len(numbers) == 1 and not (plain[: numbers[0].start] + plain[numbers[0].end :]).strip(" .")
    return numbers[0] if is_all else None


# Where a text names an option: by its label, its words or its direction.


REFERENCES = word_set(
    "object objects obj mark marks marker markers id ids item items step steps node nodes box boxes image images picture photo "
    "frame frames figure fig view point points requirement question scene hole line labeled labelled numbered 体"
)
"""Nouns after which a number or a letter names a thing: "object 3", "Image B"."""
_THINGS = word_set(
    "object objects obj objs mark marks marked marker node item id number numbered labeled labelled no # 体 物"
)
"""Nouns that name the same thing by its number, whichever of them an option uses."""
_BETWEEN = ARTICLES | word_set("- , / ' \" ( ) [ ] > → < & and then finally")
"""What may stand between the words of an option: "3, then 1, and 2"."""
_BETWEEN_RANKS = (
    _BETWEEN
    | _THINGS
    | word_set(
        ". : ; = – — m followed by next lastly last first second third st nd rd th is at comes with the meters metres"
    )
    | {"\n"}
)
"""What may stand between the things that an option puts in order, besides the numbers of lines and lengths in metres."""
_LONGEST_GAP, _LONGEST_RANK_GAP = 3, 14
_LEADS = word_set(
    "option choice answer letter index number label is be was so therefore thus hence choose pick select say guess with or and "
    "not neither nor either both"
)
_FOLLOWERS = word_set("because since as or and is was are based given not but nor")
_LABEL_NOUNS = word_set("option choice answer letter options")
_COPULAS = word_set("is are was sits stands lies there")


def option_mentions(passage: Passage, expected: AnswerFormat) -> list[Mention]:
    """Return all mentions of an option by label, words or direction, in order."""
    options = options_of(expected)
    seen_from = words_of(expected.object or options.object)
    names = () if any(word.isdigit() for word in seen_from) else seen_from
    named: list[Mention] = []
    i = 0
    while i < len(passage):
        mentions = list(_directions_at(passage, i, options, names)) or list(_forms_at(passage, i, options))
        named += mentions
        i = max((mention.end for mention in mentions), default=i + 1)
    things = _things(passage, expected.subject or options.subject, expected.object or options.object)
    return (
        named
        if not things
        else [m for mention in named for m in _about_subject(mention, passage, things, options)]
    )


def _directions_at(passage: Passage, i: int, options: Options, names: Sequence[str]) -> Iterator[Mention]:
    """Yield the options whose direction is named. A part, as "left" of "front left", names all that contain it."""
    axes, end = directions_at(passage, i, names) if options.axes else (frozenset(), i)
    if len(axes) > 1 and not any(axes <= offered for offered in options.axes):
        axis, end = axis_at(passage, i)
        axes = frozenset({axis})
        if axis == "right" and axis_at(passage, end)[0]:
            return  # "right above" is above
    if not axes or (len(axes) == 1 and is_loose(passage, i, options.words)):
        return
    exact = options.axes.get(axes)
    for label in [exact] if exact else [label for offered, label in options.axes.items() if axes < offered]:
        yield passage.mention(label, i, end)


def _forms_at(passage: Passage, i: int, options: Options) -> Iterator[Mention]:
    if options.are_orders and _is_rank(passage, i):
        return
    for form in options.forms.get(passage.norm(i), ()):
        end = _match(passage, i, form.words, is_order=options.are_orders)
        if end and _means(passage, i, end, form, options):
            yield passage.mention(form.label, i, end, is_label=form.is_label)
            if form.is_label and (other := _contradiction(passage, end, form.label, options)):
                yield passage.mention(other, i, end, is_label=True)
            return


def _match(passage: Passage, i: int, words: tuple[str, ...], *, is_order: bool = False) -> int:
    """Return the end index if the words match at this position, else 0."""
    position = i + 1
    for word in words[1:]:
        limit = position + (_LONGEST_RANK_GAP if is_order else _LONGEST_GAP)
        while position < limit and not (
            passage.norm(position) == word and not (is_order and _is_rank(passage, position))
        ):
            between = passage.norm(position)
            is_between = between in _BETWEEN_RANKS or between.endswith("est") or _is_rank(passage, position)
            if not (is_between if is_order else between in _BETWEEN):
                break
            position += 1
        if position >= len(passage) or passage.norm(position) != word:
            return 0
        position += 1
    return position


def _is_rank(passage: Passage, i: int) -> bool:
    """Return True for a number that names no thing: of a line, of a rank ("2nd") or of a length ("3.0 m")."""
    if not passage.norm(i)[0].isdigit():
        return False
    after = passage.norm(i + 1)
    return passage.is_list_number(i) or after in {"st", "nd", "rd", "th", "m", "meters", "metres"}


def _means(passage: Passage, i: int, end: int, form: Spelling, options: Options) -> bool:
    """Return True if a spelling stands for its option here: it is no article, list number or part of another phrase."""
    if form.words == ("no",):
        return passage.is_interjection(i)
    if not form.is_short:
        return True
    raw, before, after = passage.tokens[i].raw, passage.norm(i - 1), passage.norm(end)
    has_own_text = form.is_label and _agreement(passage, end, options.cores[form.label]) > 0
    is_own_noun = not form.is_label and (
        before.removesuffix("s") in options.words
        or (before in _THINGS and not options.words.isdisjoint(_THINGS))
    )
    if not form.is_label and before == "." and passage.norm(i - 2) in _THINGS:  # "Obj. 7"
        is_own_noun = True
    is_led = not passage.is_word(i - 1) or before in _LEADS or is_own_noun
    is_followed = not passage.is_word(end) or after in _FOLLOWERS or has_own_text
    if raw.isupper() and len(raw) == 1:
        is_joined = after in {"-", "&", "/"} and passage.tokens[end].start == passage.tokens[i].end
        is_beside = len(after) == 1 and after.isalpha() and passage.tokens[end].raw.isupper()
        is_led = not is_joined
        is_followed |= raw not in "AI" or is_beside or before in _LABEL_NOUNS
    elif raw.isdigit() and not has_own_text:
        is_followed &= not (passage.has_list and passage.is_list_number(i)) and _is_alone(passage, i)
    return is_led and is_followed and (before not in REFERENCES or is_own_noun)


def _is_alone(passage: Passage, i: int) -> bool:
    """Return True if a digit is not part of a longer number: "-1", "1,5", "1%"."""
    token = passage.tokens[i]
    left, right = passage.text[max(0, token.start - 2) : token.start], passage.text[token.end : token.end + 2]
    is_signed = left[-1:] == "-" and not left[:-1].isalnum()
    return (
        not is_signed
        and right[:1] not in {"%", "°"}
        and not (right[:1] in {",", "."} and right[1:].isdigit())
    )


def _agreement(passage: Passage, end: int, words: tuple[str, ...]) -> int:
    """Count how many of an option's words follow, in order. Only marks and small words may stand between."""
    count = 0
    for i in range(end, min(len(passage), end + 3 * len(words) + 3)):
        if count < len(words) and passage.norm(i) == words[count]:
            count += 1
        elif passage.norm(i) == "\n" or (
            passage.is_word(i) and passage.norm(i) not in ARTICLES | {"object", "to", "on"}
        ):
            break
    return count


def _contradiction(passage: Passage, end: int, label: str, options: Options) -> str:
    """Return the option whose text follows the label of another: "D: object 12, …", "3=below"."""
    if passage.is_word(end):
        return ""
    counts = {other: _agreement(passage, end, words) for other, words in options.cores.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] > counts[label] else ""


def denies_all(passage: Passage, mentions: Sequence[Mention], expected: AnswerFormat) -> bool:
    """Return True if a text denies what all options have in common, not just one of them: "There was no rotation."."""
    stems = options_of(expected).stems
    shared = [i for i, token in enumerate(passage.tokens) if stems and token.norm.startswith(stems)]
    denied = {passage.sentence(i) for i in shared if passage.weights[i].assertion == Assertion.DENIED}
    denied -= {passage.sentence(m.first) for m in mentions if m.weight.assertion == Assertion.DENIED}
    return bool(denied) and all(passage.weights[i].assertion < Assertion.ASSERTED for i in shared)


def _things(passage: Passage, subject_name: str, object_name: str) -> list[tuple[int, str]]:
    """Return where the subject and the object of a question are named, by the last words of their names."""
    subject, thing = words_of(subject_name)[-1:], words_of(object_name)[-1:]
    if not subject or not thing or subject == thing:
        return []
    roles = {subject[0]: "subject", thing[0]: "object"}
    return [(i, roles[token.norm]) for i, token in enumerate(passage.tokens) if token.norm in roles]


def _about_subject(
    mention: Mention, passage: Passage, things: Sequence[tuple[int, str]], options: Options
) -> Iterator[Mention]:
    """Yield a direction as it applies to the subject.

    "The object is left of the subject" means that the subject is right of it.

    A direction stated of the object alone does not determine the subject's place, so it is yielded as an aside
    together with its opposite.
    """
    axes = next((axes for axes, label in options.axes.items() if label == mention.value), frozenset())
    if mention.is_label or not axes:
        yield mention
        return
    opposite = options.axes.get(frozenset(OPPOSITE[axis] for axis in axes))
    first, end = passage.sentence(mention.first)
    k = bisect_left(things, (mention.end, ""))
    before = [role for i, role in things[max(0, k - 4) : k] if first <= i < mention.first]
    start, after = things[k] if k < len(things) and things[k][0] < end else (mention.end, "")
    gap = frozenset(passage.norms(mention.end, min(start, mention.end + 12)))
    is_reference = bool(after) and gap.isdisjoint(_COPULAS | {",", ":", "and", "but", "while"})
    owner = after if after and gap & _COPULAS and "," not in gap else "".join(before[-1:])
    is_unsure = passage.norm(mention.first - 1) == "its" and len(set(before)) > 1
    if is_reference and after == "subject":
        yield from [replace(mention, value=opposite)] if opposite else []
    elif not is_reference and (owner == "object" or is_unsure):
        aside = replace(mention, weight=mention.weight.at_most(Assertion.ASIDE))
        yield from [aside, replace(aside, value=opposite)] if opposite else [aside]
    else:
        yield mention


def claim_options(claim: str) -> Mapping[str, str]:
    """Return the places that a yes and a no to a claim amount to; nothing if it is not one direction.

    >>> dict(claim_options("in front of"))
    {'yes': 'in front of', 'no': 'back'}
    """
    axes = axes_of(words_of(claim), ())
    return {"yes": claim, "no": OPPOSITE[next(iter(axes))]} if len(axes) == 1 else {}


# Where a text names a number that could be the answer, and not a label, an operand or a number given beforehand.


_SEVERAL = word_set(", and or & to - –")
_OPERATORS = word_set("+ * / × ÷ · ^")
_EQUALS = word_set("= ≈ → equals")
_CLAUSE_ENDS = word_set(", ; : and so therefore") | {"\n"}
_LONGEST_LEAD = 12
_BEFORE_ONE = word_set("is are only exactly just be answer count see there total number : = about") | {"\n"}
_AFTER_PRONOUN = word_set("of is that which on in to and at with has closer")
_NOT_PLURAL = word_set("fits seems looks makes gives less plus minus this across towards perhaps")
_MULTIPLES = word_set("half third thirds quarter quarters twice double triple tenth")
_BOUNDS = word_set("least most over under exceeding")
_GIVEN = word_set("scale ruler")
_PRECISION = word_set("confidence certainty error uncertainty accuracy tolerance probability")
_SHARES = word_set("each per apiece every /")
_DETERMINERS = word_set("a an the this that its their")
_ADJECTIVES = word_set("tall high long wide deep")
_LENGTHS = word_set(
    "distance gap height width length depth separation space difference offset clearance distances apart"
)
_AFTER_LENGTH = word_set(
    "from to of away in on at and or but is are was were which that as for between behind above below left right into with "
    "than so because closer farther further nearer ahead horizontally vertically across total each per would seems looks by"
)
_RESULTS = word_set(
    "= ≈ → equals equal so therefore thus hence gives give giving yields yielding total totals totalling sum makes making leaves "
    "leaving becomes result results resulting ie comes amounts say suggests"
)
_RESULT_PHRASES = frozenset(
    {
        ("i", ".", "e"),
        ("that", "is"),
        ("which", "is"),
        ("-", ">"),
        ("more", "likely"),
        ("probably", "about"),
        ("go", "with"),
    }
)
"""What a text arrives at its result by. A number after one of these, and before any other number, is the result."""
_BEFORE_NONE = word_set("are is see there's contains has .") | {"\n"}
_PICTURES = word_set("image picture photo visual video idea way information answer option")
_AMOUNTS = {"single": 1.0, "pair": 2.0, "couple": 2.0}


def number_mentions(passage: Passage, unit: str, *, is_count: bool) -> list[Mention]:
    """Return all numbers that may answer the question, in order, in the requested unit."""
    starts = [token.start for token in passage.tokens]
    mentions: list[Mention] = []
    is_reference, last_end = False, 0
    for quantity in quantities(passage.text):
        first, end = bisect_right(starts, quantity.start) - 1, bisect_left(starts, quantity.end)
        is_listed = (
            is_reference and first - last_end < 4 and _SEVERAL.issuperset(passage.norms(last_end, first))
        )
        is_reference = (is_listed or _is_reference(passage, first)) and not (
            quantity.unit or quantity.is_word
        )
        before, last_end = last_end, end
        value = _count(quantity) if is_count else quantity.to(unit)
        is_counted = not is_count and not quantity.unit and _counts_word(passage, end)
        if value is not None and not (is_reference or is_counted or _is_other(passage, first, end)):
            mention = _mention(passage, value, first, end)
            if quantity.is_bound:
                mention = replace(mention, weight=mention.weight.at_most(Assertion.HEDGED))
            is_result = _is_result(passage, before, first)
            mentions.append(replace(mention, has_unit=bool(quantity.unit), is_result=is_result))
    return _without_parts(passage, mentions + _amounts(passage)) if is_count else mentions


def by_value(options: Mapping[str, float], value: float) -> str:
    """Return the label of the option with this number. Empty if there is none."""
    return next(
        (label for label, number in options.items() if abs(number - value) <= 1e-6 * max(1.0, abs(number))),
        "",
    )


def _mention(passage: Passage, value: float, first: int, end: int) -> Mention:
    """Return the mention of a number. One in a reason does not count as an answer; one in "…, which is 3 m" does."""
    mention = passage.mention(value, first, end)
    if mention.weight.assertion == Assertion.REASON:
        return replace(mention, weight=mention.weight.at_most(Assertion.NOT_SAID))
    if mention.weight.assertion == Assertion.ASIDE and "which" in passage.norms(first - 6, first):
        return replace(mention, weight=mention.weight._replace(assertion=Assertion.ASSERTED))
    return mention


def _count(quantity: Quantity) -> float | None:
    return (
        quantity.value if not quantity.unit and quantity.value >= 0 and quantity.value.is_integer() else None
    )


def _is_result(passage: Passage, before: int, first: int) -> bool:
    """Return True if a sign or a word of a result stands between the number before and this one, in one sentence."""
    words = passage.norms(max(before, passage.sentence(first)[0], first - _LONGEST_LEAD), first)
    if not _RESULTS.isdisjoint(words):
        return True
    return any(
        tuple(words[i : i + len(phrase)]) == phrase for phrase in _RESULT_PHRASES for i in range(len(words))
    )


def _is_reference(passage: Passage, first: int) -> bool:
    """Return True for the number in "object 3" and "#3"."""
    if passage.norm(first - 1) in {"to", "of", "and"} and passage.norm(first + 1) in _COPULAS:
        return True  # "the distance to 5 is 1.2"
    before = passage.norm(first - (2 if passage.norm(first - 1) in {"number", "(", "["} else 1))
    return before in REFERENCES or passage.norm(first - 1) == "#"


def _is_other(passage: Passage, first: int, end: int) -> bool:
    """Return True if a number is a line number, a pronoun, a bound, an operand, or given by a scale."""
    before = passage.norm(first - 1)
    is_pronoun = passage.norms(first, end) == ["one"] and before not in _BEFORE_ONE
    is_pronoun &= not passage.is_word(end) or passage.norm(end) in _AFTER_PRONOUN
    if passage.is_list_number(first) or before in _BOUNDS or is_pronoun:
        return True
    if passage.norm(end) in _SHARES or not _PRECISION.isdisjoint(passage.norms(first - 3, first)):
        return True
    if before in _DETERMINERS and _describes(passage, end):
        return True
    clause = passage.norms(first - 6, first)
    while breaks := [i for i, word in enumerate(clause) if word in _CLAUSE_ENDS]:
        clause = clause[breaks[-1] + 1 :]
    is_given = not _GIVEN.isdisjoint([*clause, passage.norm(end)])
    return is_given or not _MULTIPLES.isdisjoint(clause[-2:]) or _is_operand(passage, first, end)


def _describes(passage: Passage, end: int) -> bool:
    """Return True if the word behind a length with an article is a thing that it describes: "the 2 m sofa", "a 1.7 m tall man"."""
    end += passage.norm(end) in _ADJECTIVES
    word = passage.norm(end)
    return word.isalpha() and word not in _AFTER_LENGTH and word not in _LENGTHS and word not in _ADJECTIVES


def _is_operand(passage: Passage, first: int, end: int) -> bool:
    """Return True for all numbers of a calculation but its result: "8.4 - 3.2 = 5.2 m", "25 mm / 2 ="."""
    for operator, other in ((end, end + 1), (first - 1, first - 2)):
        beside = passage.norm(other)
        if passage.norm(operator) in _OPERATORS and (beside in "\n(√" or beside[0].isdigit()):
            return True
    for word in passage.norms(end, end + 40):
        if word in _CLAUSE_ENDS or word in _EQUALS:
            return word in _EQUALS
    return False


def _counts_word(passage: Passage, end: int) -> bool:
    """Return True if the number counts the word behind it: "4 objects", "3 times"."""
    word = passage.norm(end)
    return word in {"%", "°", "people"} or (word.endswith("s") and len(word) > 3 and word not in _NOT_PLURAL)


def _amounts(passage: Passage) -> list[Mention]:
    """Return words other than numbers that state a count: "none", "no circles", "a pair"."""
    mentions = []
    for i, token in enumerate(passage.tokens):
        before = passage.norm(i - 1)
        is_no = token.norm == "no" and before in _BEFORE_NONE and not passage.is_interjection(i)
        if token.norm == "none" or (is_no and passage.norm(i + 1) not in _PICTURES):
            mentions.append(Mention(0.0, i, i + 1, passage.weights[i]))
        elif before == "a" and token.norm in _AMOUNTS:
            mentions.append(Mention(_AMOUNTS[token.norm], i, i + 1, passage.weights[i]))
    return mentions


def _without_parts(passage: Passage, mentions: list[Mention]) -> list[Mention]:
    """Turn the numbers that add up to the one before a colon into asides: "4 circles: 3 red and 1 blue"."""
    kept: list[Mention] = []
    last_end, is_part, sentence = 0, False, (-1, -1)
    for mention in sorted(mentions, key=lambda mention: mention.first):
        is_new = passage.sentence(mention.first) != sentence
        is_part = not is_new and (is_part or ":" in passage.norms(last_end, mention.first))
        sentence, last_end = passage.sentence(mention.first), mention.end
        kept.append(replace(mention, weight=mention.weight.at_most(Assertion.ASIDE)) if is_part else mention)
    return kept
