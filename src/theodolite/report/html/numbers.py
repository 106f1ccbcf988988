"""Format numbers for a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from markupsafe import Markup


class Shown(Protocol):
    """A number with its interval, such as an `Estimate`."""

    value: float
    low: float
    high: float
    n: int
    n_items: int
    level: float
    method: str


def show_number(value: float, unit: str = "", sign: bool = False, with_unit: bool = True) -> str:  # noqa: FBT001, FBT002 - called from templates
    """Format a number with its unit and a proper minus sign.

    >>> show_number(0.9312, "share"), show_number(-0.105, "points"), show_number(47.31, "degrees"), show_number(0.5)
    ('93.1 %', '−10.5 points', '47.3°', '0.50')
    """
    plus = "+" if sign else ""
    if unit == "share":
        text, after = format(100 * value, f"{plus}.1f"), " %"
    elif unit == "points":
        text, after = format(100 * value, f"{plus}.1f"), " points"
    elif unit == "degrees":
        text, after = format(value, f"{plus}.1f"), "°"
    else:
        text, after = format(value, plus + (".2f" if abs(value) < 100 else ".1f")), ""
    if float(text) == 0:
        text = text.replace("-", "").replace("+", "")
    return text.replace("-", "−") + (after if with_unit else "")


_IN_SENTENCE = re.compile(r"(?<![^\s\[(])([-−+])(\d+\.\d+)(?!\w|\.\d)")


def sentence(text: str) -> str:
    """Format the numbers in a sentence as in tables: with a proper minus sign, and zero without a sign.

    >>> sentence("a share of 0.00 [-0.00, 0.09], a difference of -0.133 [-0.400, +0.000] of model-1.5")
    'a share of 0.00 [0.00, 0.09], a difference of −0.133 [−0.400, 0.000] of model-1.5'
    """

    def written(found: re.Match[str]) -> str:
        sign, digits = found.groups()
        return digits if float(digits) == 0 else ("+" if sign == "+" else "−") + digits

    return _IN_SENTENCE.sub(written, text).replace(" %", "\N{NO-BREAK SPACE}%")


def about(figure: Shown) -> str:
    """Describe the interval, sample size and method of a number in one line."""
    items = "" if figure.n_items == figure.n else f" ({figure.n_items} items)"
    return f"{100 * figure.level:.0f} % interval, n = {figure.n}{items}; {figure.method}"


def prose(text: str) -> Markup:
    """Convert backticks in text to code elements. Everything else is escaped.

    >>> prose("run `a <b>`")
    Markup('run <code>a &lt;b&gt;</code>')
    """
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick
        return escape(text)
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if i % 2 else escape(part) for i, part in enumerate(parts))


def duration(seconds: float) -> str:
    """Format a time.

    >>> duration(0.04), duration(7.25), duration(154), duration(7380)
    ('0.04 s', '7.2 s', '2 min 34 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.{0 if seconds >= 10 else 1 if seconds >= 1 else 2}f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def upper_first(text: str) -> str:
    """Write the first letter of a sentence large, and leave the others."""
    return text[:1].upper() + text[1:]


def p_value(value: float) -> str:
    """Format a p-value with three digits.

    >>> p_value(0.0004), p_value(0.0312)
    ('< .001', '.031')
    """
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
