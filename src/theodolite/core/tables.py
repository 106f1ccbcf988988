"""Estimates, and tables of them: declared once beside the score they show, rendered anywhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl

from theodolite.core.errors import UsageError

__all__ = [
    "NOTHING",
    "Alternative",
    "Cell",
    "Column",
    "Estimate",
    "HypothesisTest",
    "Table",
    "Unit",
    "duration",
    "format_cell",
    "format_number",
    "interval",
    "listed",
    "percent",
    "short_name",
    "short_names",
    "upper_first",
]

# The result types of estimates and significance tests.


Alternative = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval and the number of independent units.

    `format(estimate, spec)` applies the number format to all three numbers; plain `str` uses `.3f`.
    The interval need not contain the value: that of a biased statistic, such as η², may exclude it.

    >>> print(Estimate(0.812, 0.774, 0.846, n=300, level=0.95, method="Wilson"))
    0.812 [0.774, 0.846] (n=300)
    >>> f"{Estimate(0.812, 0.774, 0.846, n=40, level=0.95, method='BCa', n_items=300):.2f}"
    '0.81 [0.77, 0.85] (n=40, 300 items)'
    """

    value: float
    """The point estimate."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    n: int
    """Number of independent units: clusters if the data are clustered, items otherwise."""
    level: float
    """Confidence level of the interval, between 0 and 1."""
    method: str
    """How the interval was computed; says so if the interval is degenerate."""
    n_items: int = 0
    """Number of items. Default: `n`."""
    p_value: float | None = None
    """Two-sided p-value of the corresponding test, if the function provides one."""

    def __post_init__(self) -> None:
        figures = (self.value, self.low, self.high)
        if not all(math.isfinite(figure) for figure in figures):
            raise UsageError(f"an estimate needs finite numbers, got value, low, high = {figures}")
        if self.low > self.high:
            raise UsageError(f"an interval needs low <= high, got [{self.low}, {self.high}]")
        if self.n < 1 or not 0 < self.level < 1:
            raise UsageError(
                f"an estimate needs n >= 1 and a level between 0 and 1, got {self.n}, {self.level}"
            )
        object.__setattr__(self, "n_items", self.n_items or self.n)

    def __format__(self, spec: str) -> str:
        spec = spec or ".3f"
        count = f"n={self.n}" if self.n_items == self.n else f"n={self.n}, {self.n_items} items"
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}] ({count})"

    def __str__(self) -> str:
        return format(self, "")

    def excludes(self, value: float) -> bool:
        """Return True if `value` lies outside the interval.

        >>> Estimate(0.7, 0.6, 0.8, n=90, level=0.95, method="Wilson").excludes(0.5)
        True
        """
        return not self.low <= value <= self.high

    def lies_within(self, low: float, high: float) -> bool:
        """Return True if the whole interval lies strictly between two bounds (equivalence by inclusion).

        >>> Estimate(0.01, -0.02, 0.04, n=90, level=0.9, method="paired t").lies_within(-0.05, 0.05)
        True
        """
        return low < self.low and self.high < high


@dataclass(frozen=True, slots=True)
class HypothesisTest:
    """The outcome of a significance test.

    >>> print(HypothesisTest(2.5, 0.0004, n=24, method="exact", alternative="two-sided"))
    statistic=2.5, p<0.001 (n=24)
    """

    statistic: float
    """The observed statistic, as documented by the function."""
    p_value: float
    """Probability, under the null hypothesis, of a statistic at least as extreme."""
    n: int
    """Number of independent units: clusters if the data are clustered, items otherwise."""
    method: str
    """How the p-value was computed: exact with the number of arrangements, or approximate."""
    alternative: str
    """The alternative hypothesis."""
    n_items: int = 0
    """Number of items. Default: `n`."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.statistic) or not 0 <= self.p_value <= 1:
            raise UsageError(
                f"a test needs a finite statistic and a p between 0 and 1, got {self.statistic}, {self.p_value}"
            )
        object.__setattr__(self, "n_items", self.n_items or self.n)

    def __str__(self) -> str:
        p = "p<0.001" if self.p_value < 0.001 else f"p={self.p_value:.3f}"
        count = f"n={self.n}" if self.n_items == self.n else f"n={self.n}, {self.n_items} items"
        return f"statistic={self.statistic:.4g}, {p} ({count})"


# A table: declared once beside the score it shows, rendered anywhere.
#
# `theodolite.report.tables` renders it for the terminal, as HTML, as Markdown and as JSON. How a number looks is decided
# here, by the unit of its column.


Unit: TypeAlias = Literal[
    "", "share", "points", "degrees", "bits", "nats", "ratio", "correlation", "number", "count", "p"
]
"""``share`` is shown in per cent, ``points`` as a signed difference of shares; the empty unit is text."""

Cell: TypeAlias = str | int | float | Estimate | None
NOTHING = "–"
"""Shown where there is no value."""

_SIGNED = frozenset({"points"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    """Unique in the table: the name in JSON."""
    title: str
    """The heading people read."""
    unit: Unit = ""
    key: str = ""
    """The definition that the heading links to, such as ``compass.dae``."""
    signed: bool = False
    """Show a plus sign before positive numbers; always so for points."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns.

    >>> table = Table.of("grid.accuracy", "Accuracy", [Column("bucket", "bucket"), Column("right", "right", "share")], [["A", 0.5]])
    >>> table.text_rows()
    [['A', '50.0 %']]
    """

    name: str
    """``<instrument>.<table>``, stable: the name in JSON and of exported files."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """Sentences below the table."""

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise UsageError(f"two columns of the table {self.name} have one name: {names}")
        wrong = next((row for row in self.rows if len(row) != len(names)), None)
        if wrong is not None:
            raise UsageError(
                f"a row of the table {self.name} has {len(wrong)} cells for {len(names)} columns"
            )

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        columns: Iterable[Column],
        rows: Iterable[Sequence[Cell]],
        notes: Iterable[str] = (),
    ) -> Table:
        """Create a table from iterables of columns, rows and notes."""
        return cls(name, title, tuple(columns), tuple(tuple(row) for row in rows), tuple(notes))

    def as_json(self) -> dict[str, Any]:
        """Return plain values. A row is an object by column name, an estimate one with its interval. NaN becomes None.

        >>> table = Table.of("a.b", "A", [Column("x", "x", "share")], [[None]])
        >>> Table.from_json(table.as_json()) == table
        True
        """
        return {
            "name": self.name,
            "title": self.title,
            "columns": [asdict(column) for column in self.columns],
            "rows": [
                {column.name: _plain(cell) for column, cell in zip(self.columns, row, strict=True)}
                for row in self.rows
            ],
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Table:
        """Restore a table from `as_json`.

        Raises:
            UsageError: If it is not a table.
        """
        try:
            columns = [Column(**column) for column in value["columns"]]
            rows = [[_cell(row[column.name]) for column in columns] for row in value["rows"]]
            return cls.of(str(value["name"]), str(value["title"]), columns, rows, map(str, value["notes"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"this is not a table of Theodolite: {error!r:.120}") from error

    def text_rows(self) -> list[list[str]]:
        """Return every cell as text."""
        return [
            [format_cell(cell, column) for cell, column in zip(row, self.columns, strict=True)]
            for row in self.rows
        ]


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Estimate):
        return asdict(cell)
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _cell(value: Any) -> Cell:
    if isinstance(value, Mapping):
        return Estimate(**value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{value!r:.80} is not a cell")


def format_cell(cell: Cell, column: Column) -> str:
    """Format a cell for display.

    >>> estimate = Estimate(0.5, 0.4, 0.6, n=90, level=0.95, method="Wilson")
    >>> format_cell(estimate, Column("x", "x", "share")), format_cell(estimate, Column("x", "x", "points"))
    ('50.0 % [40.0, 60.0]', '+50.0 [+40.0, +60.0]')
    >>> format_cell(None, Column("x", "x", "share")), format_cell(0.0004, Column("p", "p", "p"))
    ('–', '< .001')
    """
    if cell is None:
        return NOTHING
    if isinstance(cell, str):
        return cell
    signed = column.signed or column.unit in _SIGNED
    if isinstance(cell, Estimate):
        value = format_number(cell.value, column.unit, signed=signed)
        low, high = (
            format_number(end, column.unit, signed=signed, with_unit=False) for end in (cell.low, cell.high)
        )
        return f"{value} [{low}, {high}]"
    return format_number(cell, column.unit, signed=signed)


def format_number(value: float, unit: Unit, *, signed: bool = False, with_unit: bool = True) -> str:
    """Format a number in its unit, with a proper minus sign.

    Args:
        value: The number.
        unit: Its unit; shares are shown in per cent.
        signed: True for a plus sign before positive numbers.
        with_unit: False to omit the symbol of the unit.

    >>> format_number(0.9312, "share"), format_number(-0.105, "points"), format_number(47.31, "degrees")
    ('93.1 %', '−10.5', '47.3°')
    >>> format_number(3, "count"), format_number(0.5, "number"), format_number(1234.5, "number")
    ('3', '0.50', '1234.5')
    """
    if not math.isfinite(value):
        return NOTHING
    if unit == "count" or (not unit and isinstance(value, int)):
        return f"{value:d}" if isinstance(value, int) else f"{value:g}"
    if unit == "p":
        return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
    plus = "+" if signed else ""
    if unit in {"share", "points"}:
        text, after = format(100 * value, f"{plus}.1f"), " %" if unit == "share" else ""
    elif unit == "degrees":
        text, after = format(value, f"{plus}.1f"), "°"
    else:
        text, after = format(value, plus + (".2f" if abs(value) < 100 else ".1f")), ""
    if float(text) == 0:
        text = text.replace("-", "").replace("+", "")
    return text.replace("-", "−") + (after if with_unit else "")


# Numbers, lists and durations in sentences.


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed([])
    ('a', 'a, b and c', '')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def upper_first(text: str) -> str:
    """Capitalise the first letter of a sentence, and leave the others."""
    return text[:1].upper() + text[1:]


def percent(share: float) -> str:
    """Format a share as a whole number of percent.

    >>> percent(0.288)
    '29 %'
    """
    return f"{100 * share:.0f} %"


def interval(share: Estimate) -> str:
    """Format a share with its interval, in percent.

    >>> from theodolite.core.tables import Estimate
    >>> interval(Estimate(0.29, 0.22, 0.37, n=9, level=0.95, method=""))
    '29 % [22, 37]'
    """
    return f"{percent(share.value)} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def duration(seconds: float) -> str:
    """Format a duration in at most two units.

    >>> duration(0.4), duration(59.6), duration(185), duration(8000), duration(200_000)
    ('under 1 s', '1 min 00 s', '3 min 05 s', '2 h 13 min', '2 d 7 h')
    """
    if seconds < 1:
        return "under 1 s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


# Short names of models, for tables, figures and pages.


def short_name(model: str) -> str:
    """Shorten the name of a model: no folders, address or options. A replayed run has the name of the model that it recorded.

    >>> short_name("openai:some-vlm@http://127.0.0.1:8000/v1"), short_name("hf:/models/Qwen3-VL-2B?dtype=float16")
    ('openai:some-vlm', 'hf:Qwen3-VL-2B')
    """
    kind, _, rest = model.partition(":")
    rest = rest.partition("@")[0].partition("?")[0].rstrip("/")
    recorded = _recorded_model(Path(rest)) if kind == "replay" else ""
    if recorded:
        return f"replay:{recorded if recorded.startswith('replay:') else short_name(recorded)}"
    return f"{kind}:{rest.rpartition('/')[2]}" if rest else model


def _recorded_model(folder: Path) -> str:
    """Return the name of the model of a run, or of the first of a folder of runs; empty if there is none."""
    from theodolite.core.files import parse_json

    for info in (folder / "run.json", *sorted(folder.glob("*/run.json"))):
        try:
            return str(parse_json(info.read_bytes())["model"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # the path says enough
    return ""


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Shorten the names of several models. Equal short names keep the options in which they differ, or the whole name.

    >>> list(short_names(["replay:a/b.json?prompt=one", "replay:a/b.json?prompt=two words", "pocket:mixed"]).values())
    ['replay:b.json, one', 'replay:b.json, two words', 'pocket:mixed']
    >>> list(short_names(["hf:a/x", "hf:b/x"]).values())
    ['hf:a/x', 'hf:b/x']
    """
    every = list(dict.fromkeys(models))
    alike: dict[str, list[str]] = {}
    for model in every:
        alike.setdefault(short_name(model), []).append(model)
    names = {}
    for short, group in alike.items():
        options = {model: dict(parse_qsl(model.partition("?")[2])) for model in group}
        keys = dict.fromkeys(key for parameters in options.values() for key in parameters)
        telling = [key for key in keys if len({parameters.get(key) for parameters in options.values()}) > 1]
        for model in group:
            values = [options[model][key] for key in telling if key in options[model]]
            names[model] = ", ".join([short, *values])
    used = Counter(names.values())
    return {model: names[model] if used[names[model]] == 1 else model for model in every}
