"""Options, declared once: a frozen dataclass per command gives the command line, the checks, the settings and the keywords.

A command declares a subclass of `Options`. Each field is one option: its type, its default, and an `Option` with the help
text and the bounds. `theodolite.cli.options` makes the parameters of the command line from it, Python takes the same
fields as keywords, both check them here, and `Options.stored` gives what a run stores.

The options that several commands share stand below, so a name means the same everywhere.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, kw_only=True)
... class Drawing(Options):
...     size: Annotated[int, size_of("pictures")] = 12
...     shapes: Annotated[tuple[Literal["square", "disc"], ...], Option("The shapes.", stored="always")] = ("square",)
>>> Drawing(shapes="all").shapes
('square', 'disc')
>>> Drawing(shapes="disc").stored()
{'shapes': ['disc']}
>>> Drawing(size=0)
Traceback (most recent call last):
theodolite.core.errors.UsageError: --size is at least 1, not 0
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, Union, cast, get_args, get_origin, get_type_hints

from theodolite.core.errors import UsageError

__all__ = [
    "Declared",
    "Option",
    "Options",
    "PlanChoice",
    "declared",
    "limit_of",
    "numbers",
    "one_of",
    "out_of",
    "size_of",
    "some_of",
    "words",
]


@dataclass(frozen=True, slots=True)
class Option:
    """The metadata of a field of `Options` beyond its type and default."""

    help: str
    name: str = ""
    """Its name on the command line. Default: that of the field."""
    metavar: str = ""
    """What stands for its value in the help. Default: made from its type."""
    least: float | None = None
    most: float | None = None
    known: tuple[str, ...] = ()
    """The words that it takes, if the type does not list them. A list takes ``all`` as well."""
    can_be_empty: bool = True
    """False for a list that needs at least one word."""
    repeats: bool = False
    """True for a list that is given by repeating the option, not by commas."""
    is_argument: bool = False
    """True if it stands on the command line without a name."""
    stored: Literal["", "always", "if given"] = ""
    """Whether it is part of the stored settings of a run; ``if given``: only a value other than the default."""
    completion: str = ""
    """The kind of plug-ins whose names complete it."""

    def but(self, **changes: Any) -> Self:
        """Return a copy of the option with some changes."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Declared:
    """An option with its name, type and default."""

    field: str
    option: Option
    type: Any
    """The type of one value: bool, int, float, str or Path."""
    is_list: bool
    known: tuple[str, ...]
    default: Any
    """`dataclasses.MISSING` if it is required."""

    @property
    def name(self) -> str:
        """The name on the command line, such as ``--max-tokens``; of an argument, its placeholder."""
        if self.option.is_argument:
            return self.option.metavar or self.field.upper()
        return f"--{self.option.name or self.field.replace('_', '-')}"

    @property
    def is_flag(self) -> bool:
        """True if it takes no value."""
        return self.type is bool

    @property
    def is_comma_list(self) -> bool:
        """True if it is written as words between commas."""
        return self.is_list and not self.option.repeats and not self.option.is_argument

    def checked(self, value: Any) -> Any:
        """Convert a value to the option's type and check it.

        Raises:
            UsageError: If the value is invalid.
        """
        if self.is_list:
            return self._checked_list(value)
        if value is None:
            return None
        return self._checked_value(value)

    def _checked_value(self, value: Any) -> Any:
        if self.type is Path:
            return Path(value)
        if self.known and value != self.default:
            return one_of(str(value), self.known, self.name)
        if self.type in {int, float} and not isinstance(value, str):
            least, most = self.option.least, self.option.most
            if least is not None and value < least:
                raise UsageError(f"{self.name} is at least {least:g}, not {value:g}")
            if most is not None and value > most:
                raise UsageError(f"{self.name} is at most {most:g}, not {value:g}")
        return value

    def _checked_list(self, value: Any) -> tuple[Any, ...]:
        if value is None:
            return ()
        given: list[Any] = [value] if isinstance(value, str | Path) else list(value)
        if self.is_comma_list:
            given = [word for part in given for word in (words(part) if isinstance(part, str) else [part])]
        if self.known:
            return some_of(given, self.known, self.name, can_be_empty=self.option.can_be_empty)
        if not given and not self.option.can_be_empty:
            raise UsageError(f"{self.name} is empty; give at least one name, or all")
        if self.type is float:
            return numbers(given, self.name)
        return tuple(self._checked_value(item) for item in given)


class Options:
    """The options of a command. Subclasses are frozen dataclasses with keyword-only fields."""

    def __post_init__(self) -> None:
        for option in declared(type(self)):
            object.__setattr__(self, option.field, option.checked(getattr(self, option.field)))

    def stored(self) -> dict[str, Any]:
        """Return the options that a run stores, as JSON."""
        return {
            option.field: _plain(getattr(self, option.field))
            for option in declared(type(self))
            if option.option.stored == "always"
            or (option.option.stored == "if given" and getattr(self, option.field) != option.default)
        }

    def given(self) -> list[str]:
        """Return the names of the options whose value differs from the default."""
        return [
            option.name for option in declared(type(self)) if getattr(self, option.field) != option.default
        ]

    def part(self, kind: type[Options]) -> dict[str, Any]:
        """Return the values of the fields that another class of options also has."""
        return {option.field: getattr(self, option.field) for option in declared(kind)}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.absolute())
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def declared(kind: type[Options]) -> tuple[Declared, ...]:
    """Return the options of a class: arguments, its own options in the order of declaration, then inherited ones."""
    if kind not in _DECLARED:
        _DECLARED[kind] = _read(kind)
    return _DECLARED[kind]


_DECLARED: dict[type[Options], tuple[Declared, ...]] = {}


def _read(kind: type[Options]) -> tuple[Declared, ...]:
    hints = get_type_hints(kind, include_extras=True)
    order = list(
        dict.fromkeys(name for base in kind.__mro__ for name in vars(base).get("__annotations__", {}))
    )
    options = []
    for field in sorted(fields(cast("Any", kind)), key=lambda field: order.index(field.name)):
        hint, *more = get_args(hints[field.name])
        option = next(part for part in more if isinstance(part, Option))
        value_type, is_list, known = _unpacked(hint)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        options.append(Declared(field.name, option, value_type, is_list, option.known or known, default))
        if default is not MISSING:
            default = options[-1].checked(default)
            options[-1] = replace(options[-1], default=default)
    return tuple(sorted(options, key=lambda option: not option.option.is_argument))


def _unpacked(hint: Any) -> tuple[Any, bool, tuple[str, ...]]:
    """Return the type of one value, whether the option is a list, and the words that it accepts."""
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        kinds = [member for member in get_args(hint) if member is not type(None)]
        return _unpacked(kinds[0]) if len(kinds) == 1 else (str, False, ())
    if origin is tuple:
        value_type, _, known = _unpacked(get_args(hint)[0])
        return value_type, True, known
    if origin is Literal:
        return str, False, get_args(hint)
    return hint, False, ()


# What options take.


def words(text: str) -> list[str]:
    """Split a comma-separated list.

    >>> words("a, b,,c")
    ['a', 'b', 'c']
    """
    return [word.strip() for word in text.split(",") if word.strip()]


def some_of(
    given: Iterable[str], known: Sequence[str], option: str, *, can_be_empty: bool = True
) -> tuple[str, ...]:
    """Check a list of known words, or ``all``. The result is in the order of `known`.

    Args:
        given: The words.
        known: The words that are accepted.
        option: The name of the option, for the message.
        can_be_empty: True if no word is needed.

    Raises:
        UsageError: If a word is unknown, or none is given and one is needed.
    """
    asked = list(given)
    wanted = list(known) if asked == ["all"] else asked
    unknown = [word for word in wanted if word not in known]
    if unknown:
        raise UsageError(f"{option} takes some of {', '.join(known)}, or all; not {', '.join(unknown)}")
    if not wanted and not can_be_empty:
        raise UsageError(f"{option} needs at least one of {', '.join(known)}, or all")
    return tuple(word for word in known if word in wanted)


def one_of(text: str, known: Sequence[str], option: str) -> str:
    """Check that a word is known, and return it.

    Args:
        text: The word.
        known: The words that are accepted.
        option: The name of the option, for the message.

    Raises:
        UsageError: If it is not.
    """
    if text not in known:
        raise UsageError(f"{option} takes {', '.join(known[:-1])} or {known[-1]}, not {text!r}")
    return text


def numbers(given: Iterable[str | float], option: str) -> tuple[float, ...]:
    """Read numbers.

    Raises:
        UsageError: If an entry is not a number.
    """
    values = []
    for number in given:
        try:
            values.append(float(number))
        except ValueError:
            raise UsageError(f"{option} takes numbers separated by commas, not {number!r}") from None
    return tuple(values)


# The options that several commands share.


MODEL = Option(
    "The model, such as hf:PATH, openai:NAME@URL or pocket:grounded; see `theodolite list models`.",
    metavar="MODEL",
    completion="model",
)
DATA = Option("The data set.")
IMAGES = Option("The folder with the pictures. Default: that of the data.", metavar="DIR")
FILL = Option(
    "What fills the place of an object that is cut out: one of `theodolite list edits`.",
    metavar="NAME",
    stored="if given",
)
RUN = Option("A run folder.", metavar="RUN", is_argument=True)
RUNS = Option("Run folders.", metavar="RUN…", is_argument=True, can_be_empty=False)
SEED = Option("Seed of all random draws.", least=0)
FIGURES = Option("Also draw the figures into this folder.", metavar="DIR")
INSTRUMENTS = Option("Instruments, separated by commas; see `theodolite list`.")
MAX_TOKENS = Option("Maximum length of an answer, in tokens.", least=1, stored="always")
ANSWER = Option("Answer in text, or by the log-probabilities of the options.", stored="always")
DEVICE = Option("Device of paired networks, such as cuda.", metavar="DEVICE")
CACHE = Option("Reuse deterministic answers of other runs, stored in this folder.", metavar="DIR")
BESIDE = Option("Another run to draw for comparison; may be repeated.", metavar="RUN", repeats=True)
WORKERS = Option(
    "Number of items in a batch, requests in flight, Ray actors, or processes that draw pictures.", least=1
)
SIZES = ("quick", "standard", "large")
_FEWEST = 6

Seed = Annotated[int, SEED]
Figures = Annotated[Path | None, FIGURES]


def size_of(units: str, more: str = "", *, least: int = 1) -> Option:
    """Return the option ``--size``: how many units a command makes, draws or uses, by the seed."""
    return Option(f"Sample size: the number of {units}.{more}", name="size", metavar="N", least=least)


def named_size_of(units: str) -> Option:
    """Return the option ``--size`` of a command that also takes the names of sizes."""
    return Option(f"Sample size; N is a number of {units}.", name="size", metavar="|".join((*SIZES, "N")))


def find_size(given: str | int) -> str | int:
    """Parse a size: a name, or a number of pairs.

    Raises:
        UsageError: If there is no such size.

    >>> find_size("quick"), find_size("40"), find_size(6)
    ('quick', 40, 6)
    """
    if given in SIZES:
        return given
    number = int(given) if str(given).isdecimal() else 0
    if number < _FEWEST:
        raise UsageError(
            f"there is no size {given!r}; choose {', '.join(SIZES)}, or a whole number of pairs, at least {_FEWEST}"
        )
    return number


def limit_of(units: str = "items") -> Option:
    """Return the option ``--limit``: a command uses only the first units."""
    return Option(f"Use only the first N {units}.", name="limit", metavar="N", least=1)


def out_of(what: str = "Where to write.", metavar: str = "DIR") -> Option:
    """Return the option ``--out``: where a command writes."""
    return Option(what, name="out", metavar=metavar)


NEW_FOLDER = out_of("Where to write; must be new or empty.")
RESUMED_FOLDER = out_of("Where to write; an existing run is resumed.")
KEPT_FOLDER = out_of("Where to write; existing results are kept.")


@dataclass(frozen=True, kw_only=True)
class PlanChoice(Options):
    """Whether to show only what a command would take."""

    plan: Annotated[
        bool,
        Option(
            "Show what a run would take (requests, pictures, tokens, time), and exit. A few items are asked to find out."
        ),
    ] = False
    price: Annotated[
        str,
        Option(
            "With --plan: US dollars per million tokens, for all or for prompts and answers, to show the cost.",
            metavar="USD[,USD]",
        ),
    ] = ""
