"""Where a text names an option: by its label, its words or its direction."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from theodolite.answers.directions import OPPOSITE, axis_at, directions_at, is_loose
from theodolite.answers.formats import AnswerFormat
from theodolite.answers.options import ARTICLES, Form, Options, options_of, words_of
from theodolite.answers.plain import word_set
from theodolite.answers.standing import Mention, Passage, Standing

REFERENCES = word_set(
    "object objects obj mark marks marker markers id ids item items step steps node nodes box boxes image images picture photo "
    "frame frames figure fig view point points requirement question scene hole line labeled labelled numbered"
)
"""Nouns after which a number or a letter names a thing: "object 3", "Image B"."""
_BETWEEN = ARTICLES | word_set("- , / ' \" ( ) [ ] > → < & and then finally")
"""What may stand between the words of an option: "3, then 1, and 2"."""
_LEADS = word_set(
    "option choice answer letter index number label is be was so therefore thus hence choose pick select say guess with or and "
    "not neither nor either both"
)
_FOLLOWERS = word_set("because since as or and is was are based given not but nor")
_LABEL_NOUNS = word_set("option choice answer letter options")
_COPULAS = word_set("is are was sits stands lies there")


def option_mentions(passage: Passage, expected: AnswerFormat) -> list[Mention]:
    """All places that name an option by label, words or direction, in order."""
    options = options_of(expected)
    seen_from = words_of(expected.object or options.object)
    names = () if any(word.isdigit() for word in seen_from) else seen_from
    found: list[Mention] = []
    i = 0
    while i < len(passage):
        mentions = list(_directions_at(passage, i, options, names)) or list(_forms_at(passage, i, options))
        found += mentions
        i = max((mention.end for mention in mentions), default=i + 1)
    things = _things(passage, expected.subject or options.subject, expected.object or options.object)
    return (
        found
        if not things
        else [m for mention in found for m in _about_subject(mention, passage, things, options)]
    )


def _directions_at(passage: Passage, i: int, options: Options, names: Sequence[str]) -> Iterator[Mention]:
    """The options whose direction is said: a part of one, as "left" of "front left", names all that have it."""
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
    for form in options.forms.get(passage.norm(i), ()):
        end = _match(passage, i, form.words)
        if end and _means(passage, i, end, form, options):
            yield passage.mention(form.label, i, end, is_label=form.is_label)
            if form.is_label and (other := _contradiction(passage, end, form.label, options)):
                yield passage.mention(other, i, end, is_label=True)
            return


def _match(passage: Passage, i: int, words: tuple[str, ...]) -> int:
    """The end index if the words match at this position, else 0."""
    place = i + 1
    for word in words[1:]:
        limit = place + 3
        while place < limit and passage.norm(place) != word and passage.norm(place) in _BETWEEN:
            place += 1
        if passage.norm(place) != word:
            return 0
        place += 1
    return place


def _means(passage: Passage, i: int, end: int, form: Form, options: Options) -> bool:
    """True if a form means its option here, and is not an article, a list number or a part of something else."""
    if form.words == ("no",):
        return passage.is_interjection(i)
    if not form.is_short:
        return True
    raw, before, after = passage.tokens[i].raw, passage.norm(i - 1), passage.norm(end)
    has_own_text = form.is_label and _agreement(passage, end, options.cores[form.label]) > 0
    is_own_noun = not form.is_label and before.removesuffix("s") in options.words
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
    """True if a digit is no part of a longer number: "-1", "1,5", "1%"."""
    token = passage.tokens[i]
    left, right = passage.text[max(0, token.start - 2) : token.start], passage.text[token.end : token.end + 2]
    is_signed = left[-1:] == "-" and not left[:-1].isalnum()
    return (
        not is_signed
        and right[:1] not in {"%", "°"}
        and not (right[:1] in {",", "."} and right[1:].isdigit())
    )


def _agreement(passage: Passage, end: int, words: tuple[str, ...]) -> int:
    """How many of an option's words follow, in order. Only marks and small words may stand between."""
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
    """The option whose text follows the label of another: "D: object 12, …", "3=below"."""
    if passage.is_word(end):
        return ""
    counts = {other: _agreement(passage, end, words) for other, words in options.cores.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] > counts[label] else ""


def denies_all(passage: Passage, mentions: Sequence[Mention], expected: AnswerFormat) -> bool:
    """True if a text denies what all options share, and not only one of them: "There was no rotation."."""
    stems = options_of(expected).stems
    shared = [i for i, token in enumerate(passage.tokens) if stems and token.norm.startswith(stems)]
    denied = {passage.sentence(i) for i in shared if passage.weights[i].standing == Standing.DENIED}
    denied -= {passage.sentence(m.first) for m in mentions if m.weight.standing == Standing.DENIED}
    return bool(denied) and all(passage.weights[i].standing < Standing.ASSERTED for i in shared)


def _things(passage: Passage, subject_name: str, object_name: str) -> list[tuple[int, str]]:
    """Where the subject and the object of a question are named, by the last words of their names."""
    subject, thing = words_of(subject_name)[-1:], words_of(object_name)[-1:]
    if not subject or not thing or subject == thing:
        return []
    roles = {subject[0]: "subject", thing[0]: "object"}
    return [(i, roles[token.norm]) for i, token in enumerate(passage.tokens) if token.norm in roles]


def _about_subject(
    mention: Mention, passage: Passage, things: Sequence[tuple[int, str]], options: Options
) -> Iterator[Mention]:
    """A direction as said of the subject: "the object is left of the subject" means that the subject is right of it.

    A direction that is said of the object alone does not settle the subject's place, so it is given as an aside
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
    place, after = things[k] if k < len(things) and things[k][0] < end else (mention.end, "")
    gap = frozenset(passage.norms(mention.end, min(place, mention.end + 12)))
    is_reference = bool(after) and gap.isdisjoint(_COPULAS | {",", ":", "and", "but", "while"})
    owner = after if after and gap & _COPULAS and "," not in gap else "".join(before[-1:])
    is_unsure = passage.norm(mention.first - 1) == "its" and len(set(before)) > 1
    if is_reference and after == "subject":
        yield from [replace(mention, value=opposite)] if opposite else []
    elif not is_reference and (owner == "object" or is_unsure):
        aside = replace(mention, weight=mention.weight.at_most(Standing.ASIDE))
        yield from [aside, replace(aside, value=opposite)] if opposite else [aside]
    else:
        yield mention
