"""What a question asks for, and what was read in a model's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["choice", "yes-no", "number", "count", "direction", "text"]
Style: TypeAlias = Literal["letter", "index", "word", ""]
Status: TypeAlias = Literal["value", "none of these", "refused", "cut off", "ambiguous", "unreadable"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "yes-no": ("yes", "no"),
    "direction": ("left", "right", "above", "below"),
}
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


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
