"""Plain text: simple characters, no mark-up."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SHORT = 80
_SIMILAR = str.maketrans(
    {
        **dict.fromkeys("‘’‚ʼ′´", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("−‐‑‒", "-"),
        **dict.fromkeys("\r\v\f\x85\u2028\u2029", "\n"),
        "―": "—",
        "。": ".",
        "、": ",",
        "٫": ".",
        "⁄": "/",
    }
)


class _Simple(dict[int, str]):
    """Maps a code point to simple characters.

    Works character by character, so that the time is linear: `unicodedata.normalize` of a whole text is quadratic in
    the length of a run of combining marks.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code).translate(_SIMILAR)
        category = unicodedata.category(char)
        digit = unicodedata.decimal(char, None)
        form = unicodedata.decomposition(char).partition(" ")[0]
        plain = unicodedata.normalize("NFKC", char).translate(_SIMILAR)
        if category == "Cf" or (category in {"Cc", "Cs"} and char not in "\n\t"):
            plain = " " * (category != "Cf")
        elif digit is not None:
            plain = str(digit)
        elif form in {"<fraction>", "<circle>"}:
            plain = f" {plain}" + " " * (form == "<circle>")
        elif form == "<super>" and plain.isdigit():
            plain = f"^{plain}"
        self[code] = plain
        return plain


_TABLE = _Simple()
_LATEX = re.compile(
    r"\\(?:text|mathrm|mathbf|textbf|mbox|operatorname|mathit|textit)\s?\{(?P<words>[^{}\n]{0,200})\}"
    r"|\\[dt]?frac\s?\{(?P<above>[^{}\n]{0,40})\}\{(?P<below>[^{}\n]{0,40})\}"
    r"|\\(?P<name>[A-Za-z]{2,12})(?![A-Za-z])|\\(?P<sign>[^\sA-Za-z])|\$+"
)
_SIGNS = {
    "times": "×",
    "cdot": "·",
    "approx": "≈",
    "pm": "±",
    "rightarrow": "→",
    "sim": "~",
    "div": "/",
    "circ": "°",
}
_MARKS = re.compile(
    r"\*{2,}|\*(?![ \d])|(?<![ \d])\*|`+|~~+|(?<![^\W_])_+|_+(?![^\W_])|^[ \t]*[#>|•‣●*]+[ \t]", re.MULTILINE
)


def simple(text: str) -> str:
    """The text with simple characters: ASCII digits, straight quotes, no control characters; line breaks stay.

    >>> simple("２½ ﬁt ① m²"), simple("“٣”")
    ('2 1/2 fit  1  m^2', '"3"')
    """
    return text.translate(_TABLE)


def without_marks(text: str) -> str:
    r"""The text without Markdown and LaTeX mark-up; line breaks stay.

    >>> without_marks("### **B**: `No`, $3.2\\,\\text{m}$, dist\\_to\\_cam")
    'B: No,  3.2 m , dist_to_cam'
    """
    return _MARKS.sub("", _LATEX.sub(_latex, text) if "\\" in text or "$" in text else text)


def _latex(match: re.Match[str]) -> str:
    if match["above"] is not None:
        return f"{match['above']}/{match['below']}"
    if match["name"] is not None:
        return _SIGNS.get(match["name"], f" {match['name']} ")
    sign = match["sign"]
    return match["words"] or (sign if sign and sign in "_#%&{}*" else " ")


def normal_form(text: str) -> str:
    """What two answers must share to be the same: lower case, no mark-up or outer punctuation, single spaces.

    >>> normal_form(" **Left**. ") == normal_form("left")
    True
    """
    return _short_form(text) if len(text) <= _SHORT else _normal_form(text)


def _normal_form(text: str) -> str:
    folded = simple(simple(text).casefold())
    return " ".join(re.sub(r"[*_`\"'()\[\]]", " ", folded).split()).strip(" .,:;!?")


_short_form = lru_cache(maxsize=4096)(_normal_form)
"""Short answers are compared many times."""


def word_set(words: str) -> frozenset[str]:
    """The words of a list that is written as one string."""
    return frozenset(words.split())
