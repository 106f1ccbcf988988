"""What is right about an item: its right answers, the form they have, and how the item relates to others.

Every item carries its `Truth`, and the reading of answers, the pairs, the rows, chance and the exported rubric are made
from it, once for all instruments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

__all__ = ["PLAIN", "AnswerFormat", "Kind", "Style", "Truth"]

Kind: TypeAlias = Literal["choice", "yes-no", "number", "count", "direction", "text"]
Style: TypeAlias = Literal["letter", "index", "word", ""]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "yes-no": ("yes", "no"),
    "direction": ("left", "right", "above", "below"),
}
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})

PLAIN = "plain"
"""The condition of an item that shows its own picture, unedited."""


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """The form of the answer that a question asks for.

    Attributes:
        kind: What is asked for. ``direction`` is a choice between places such as *left* or *front right*.
        options: Label to option text, in the order shown. Empty for open questions; "yes-no" and "direction" have defaults.
        style: How an option is to be named: by its letter, its index or its own words.
        unit: The unit asked for. Numbers are converted to it.
        subject: The thing whose place was asked for, where known.
        object: The thing it is placed against, where known.
    """

    kind: Kind
    options: Mapping[str, str] = field(default_factory=lambda: _NO_OPTIONS)
    style: Style = ""
    unit: str = ""
    subject: str = ""
    object: str = ""

    def __post_init__(self) -> None:
        if not self.options and self.kind in _DEFAULTS:
            object.__setattr__(self, "options", {name: name for name in _DEFAULTS[self.kind]})

    @classmethod
    def choice(
        cls, options: Mapping[str, str] | list[str] | tuple[str, ...], style: Style = ""
    ) -> AnswerFormat:
        """One of several options.

        Args:
            options: Label to text, or the texts alone. Texts alone are labelled by letter or by index, starting at 0,
                if `style` says so; otherwise each is its own label.
            style: How the option is to be named.

        >>> AnswerFormat.choice(["yes", "no"], style="letter").options
        {'A': 'yes', 'B': 'no'}
        """
        if not isinstance(options, Mapping):
            labels = {"letter": list(_LETTERS), "index": [str(i) for i in range(len(options))]}.get(
                style, list(options)
            )
            options = dict(zip(labels, options, strict=False))
        return cls("choice", options, style)

    @classmethod
    def yes_no(cls) -> AnswerFormat:
        """Yes or no."""
        return cls("yes-no", style="word")

    @classmethod
    def number(cls, unit: str = "") -> AnswerFormat:
        """A number in a unit such as "m". Without a unit, numbers are returned as written."""
        return cls("number", unit=unit)

    @classmethod
    def count(cls, options: Mapping[str, str] = _NO_OPTIONS, style: Style = "") -> AnswerFormat:
        """A whole number of things. With options, the label of the option is returned."""
        return cls("count", options, style)

    @classmethod
    def directions(
        cls,
        options: Mapping[str, str] | tuple[str, ...] = (),
        style: Style = "word",
        *,
        subject: str = "",
        object: str = "",  # noqa: A002 - the field's name
    ) -> AnswerFormat:
        """A place relative to something, such as "left" or "front right"; by default left, right, above or below."""
        offered = options if isinstance(options, Mapping) else {name: name for name in options}
        return cls("direction", offered, style, subject=subject, object=object)

    @classmethod
    def text(cls) -> AnswerFormat:
        """Free text."""
        return cls("text")


@dataclass(frozen=True, slots=True)
class Truth:
    """What scoring needs to know about an item. It is stored with the item, and never sent to a model.

    >>> before = Truth(("left",), subject="q1", cluster="picture-1")
    >>> after = Truth(("right",), subject="q1", cluster="picture-1", condition="mirrored", edit="mirror", base="q1/plain")
    >>> before.is_plain, after.is_plain
    (True, False)
    """

    golds: tuple[str, ...] = ()
    """All right answers in words: texts of options, *yes* or *no*, numbers as text. Empty if no answer is right or wrong."""
    format: AnswerFormat | None = None
    """The form of the answer. None: one of the item's options, or free text if it has none."""
    subject: str = ""
    """The question, pair, scene or episode: the same under all conditions and for all models. Empty: the item's name."""
    cluster: str = ""
    """The picture, scene or episode that the item shares with others. Empty: the subject."""
    split: str = ""
    """Empty: that of the run."""
    group: str = ""
    """The kind of question, for results by group."""
    relation: str = ""
    """What the question asks for and an edit changes, for pairs by relation."""
    condition: str = PLAIN
    """What was done to the item: plain, mirrored, blank, swapped …"""
    edit: str = ""
    """The name of the edit whose effect on the right answer is known (`theodolite.pairs.EDITS`). Empty if there is none."""
    base: str = ""
    """The name of the item before the edit."""
    repeats: str = ""
    """The name of the item whose request this one makes again."""
    grader: str = ""
    """The registered grader of the answer. Empty: the common reader, and equality with a right answer."""

    @property
    def is_plain(self) -> bool:
        """True for the first request about an item's own picture, unedited."""
        return self.condition == PLAIN and not self.repeats
