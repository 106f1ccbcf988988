"""Words for directions, alone or together: "left", "behind and to the right"."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from theodolite.answers.plain import word_set
from theodolite.answers.words import Words

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
"""Each direction stands beside its opposite in the table."""
_LOOSE = word_set("up upper over top higher down lower bottom front ahead back rear further away")
"""Words that often mean something else. As synonyms of an option they count only beside another direction."""
_GLUE = word_set("- and to the on in at slightly also a bit side , hand it its them me you your")
_FILLERS = _GLUE | word_set("of an from toward towards is")
_AFTER_ADJECTIVE = word_set("answer answers option choice question one now away next beside at there")
"""Before these, "right" is no direction: "the right answer", "right next to"."""
_LONGEST_GLUE = 6


def directions_at(words: Words, i: int, names: Collection[str] = ()) -> tuple[frozenset[str], int]:
    """The directions that are said together from a token on, and where they end.

    Args:
        words: The text.
        i: The first token.
        names: The words of the thing that directions are seen from, which may stand between them.

    >>> sorted(directions_at(Words("behind and to the right of it"), 0)[0])
    ['back', 'right']
    >>> sorted(directions_at(Words("behind object 1 and to its left"), 0)[0])
    ['back', 'left']
    >>> sorted(directions_at(Words("left of the table and above it"), 0, ["table"])[0])
    ['left', 'up']
    """
    axis, end = axis_at(words, i)
    axes = {axis} - {""}
    place = end
    while axes and place - end <= _LONGEST_GLUE + len(names):
        axis, after = axis_at(words, place)
        if axis and axis not in axes and OPPOSITE[axis] not in axes:
            axes.add(axis)
            place = end = after
        elif words.norm(place) == "object" and "its" in words.norms(place + 2, place + 6):
            place += 2
        elif words.norm(place) in _GLUE or words.norm(place) in names or _is_glued_of(words, place, names):
            place += 1
        else:
            break
    return frozenset(axes), end


def _is_glued_of(words: Words, i: int, names: Collection[str]) -> bool:
    """True for "of" before what is no new thing: "left of, and above, it", "left of the table and above it"."""
    if words.norm(i) != "of":
        return False
    return words.norm(i + 1) in {"and", ",", "it", "them"} or any(
        word in names for word in words.norms(i + 1, i + 3)
    )


def axis_at(words: Words, i: int) -> tuple[str, int]:
    """The direction of a single word and where it ends; an empty string if it has none."""
    word = words.norm(i)
    if word in {"counter", "anti"}:
        end = i + 2 + (words.norm(i + 1) == "-")
        return ("counterclockwise", end) if words.norm(end - 1) == "clockwise" else ("", i)
    if word == "right" and words.norm(i + 1) in _AFTER_ADJECTIVE:
        return "", i
    return AXIS.get(word, ""), i + 1


def axes_of(words: Sequence[str], ignored: Collection[str]) -> frozenset[str]:
    """The directions that make up an option's text; empty if it holds any other word.

    >>> sorted(axes_of(["to", "the", "front", "left"], ())), axes_of(["left", "shoe"], ())
    (['front', 'left'], frozenset())
    """
    if any(word not in AXIS and word not in _FILLERS and word not in ignored for word in words):
        return frozenset()
    return frozenset(AXIS[word] for word in words if word in AXIS)


def is_loose(words: Words, i: int, offered: Collection[str]) -> bool:
    """True if a direction word is too vague to stand for an option that does not use it."""
    word, after = words.norm(i), words.norm(i + 1)
    return word in _LOOSE and word not in offered and AXIS.get(after) != AXIS[word]
