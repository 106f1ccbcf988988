"""Parts of the HTML pages: rendering, numbers, bars, strips, spreads, pictures, tables of items and exhibits."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from theodolite import __version__
from theodolite.core.errors import UsageError
from theodolite.core.pictures import open_image, read_picture
from theodolite.core.scores import difference_unit
from theodolite.core.tables import Unit, duration, format_number, interval, percent, upper_first
from theodolite.core.types import Picture
from theodolite.core.views import UNSEEN, HeatMap, ItemRow
from theodolite.diagnose.pair_verdicts import OUTCOME_COLOURS, OUTCOMES, TONES, outcome_words, tone_of
from theodolite.diagnose.record import (
    Comparison,
    LookingResult,
    MetricEntry,
    MetricResult,
    PairExample,
    PairsResult,
    ShownAnswer,
    short_names,
)
from theodolite.pairs.outcomes import what_was_done
from theodolite.report.glossary import Glossary
from theodolite.report.summary import asked
from theodolite.runs import write_atomically
from theodolite.stats import Estimate

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = [
    "Exhibit",
    "Segment",
    "ShareBar",
    "ShownSide",
    "exhibit",
    "share_bar",
    "write_label_page",
]


# Render pages from templates, with escaping, embedded data and a content security policy.


_PAGE = files("theodolite.report") / "page"
_STYLES = ("style.css", "items.css", "explain.css")
_SCRIPTS = (
    "dom",
    "list",
    "pairs",
    "overlay",
    "above",
    "steps",
    "detail",
    "main",
    "save",
    "labels",
    "explain",
)
_LEAST_PACKED = 20_000
"""Data shorter than this stay readable."""
_HARMLESS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True, slots=True)
class DataBlock:
    """Data in a page, for its script."""

    id: str
    value: Any

    def packed(self) -> str:
        """Return the data as JSON, or if that is much shorter, as gzip in base64, which the page's script unpacks.

        Both are safe inside a page: base64 has no mark-up.
        """
        text = safe_json(self.value)
        if len(text) < _LEAST_PACKED:
            return text
        small = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
        return small if len(small) < len(text) // 2 else text


def unpack(text: str) -> Any:
    """Invert `DataBlock.packed`, like the script of the page."""
    is_packed = text.startswith("H4sI")
    return json.loads(gzip.decompress(base64.b64decode(text)) if is_packed else text)


def safe_json(value: Any) -> str:
    r"""Encode JSON so that no text in it can end its data block.

    >>> safe_json("</script><!--")
    '"\\u003c/script\\u003e\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escaped in _HARMLESS.items():
        text = text.replace(character, escaped)
    return text.encode("utf-8", "backslashreplace").decode()


def render_page(
    template: str, context: Mapping[str, Any], *, data: Sequence[DataBlock] = (), is_served: bool = False
) -> str:
    """Render a page.

    Args:
        template: Name of the template.
        context: Variables of the template.
        data: Data for the script.
        is_served: True if the page may send requests to its own server.
    """
    from markupsafe import Markup

    css, theme, script = style(), _theme(), items_script()
    blocks = [(block.id, Markup(block.packed())) for block in data]  # noqa: S704 - escaped by safe_json
    return (
        environment()
        .get_template(template)
        .render(
            **context,
            version=__version__,
            css=Markup(css),  # noqa: S704 - our own file
            theme_js=Markup(theme),  # noqa: S704 - the same
            items_js=Markup(script),  # noqa: S704 - the same
            policy=policy(is_served=is_served),
            data=blocks,
        )
    )


def finished(
    template: str,
    context: Mapping[str, Any],
    glossary: Glossary,
    data: Sequence[DataBlock] = (),
    *,
    is_served: bool = False,
) -> str:
    """Render a page with its definitions. It is rendered twice, since the first pass collects the links."""
    render_page(template, {**context, "definitions": []}, is_served=is_served)
    return render_page(
        template, {**context, "definitions": glossary.listed()}, data=data, is_served=is_served
    )


@cache
def policy(*, is_served: bool = False) -> str:
    """Return the content security policy of a page."""
    rules = [
        "default-src 'none'",
        f"style-src '{_digest(style())}'",
        f"script-src '{_digest(_theme())}' '{_digest(items_script())}'",
        "img-src 'self' data:" if is_served else "img-src 'self' file: data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if is_served:
        rules.append("connect-src 'self'")
    return "; ".join(rules)


@cache
def style() -> str:
    """Return all style sheets as one text. The colours of outcomes and verdicts come first; a dark page has its own."""
    colours = {**OUTCOME_COLOURS, **{tone.name: tone.colour for tone in TONES.values()}}
    root = ":root {" + "".join(f"--{name}: {colour};" for name, colour in colours.items()) + "}"
    return "\n".join([root, *((_PAGE / name).read_text(encoding="utf-8") for name in _STYLES)])


@cache
def items_script() -> str:
    """Return the item browser as one script, without global names."""
    parts = [(_PAGE / "js" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


@cache
def environment() -> Environment:
    """Return the template environment. All values are escaped, and undefined names are errors."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def load(name: str) -> str:
        return (_PAGE / "templates" / name).read_text(encoding="utf-8")

    return Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _theme() -> str:
    return (_PAGE / "js" / "theme.js").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# Format numbers for a page.


def show_number(value: float, unit: Unit = "", sign: bool = False, with_unit: bool = True) -> str:  # noqa: FBT001, FBT002 - called from templates
    """Format a number as in tables; outside of them, points have their unit.

    >>> show_number(0.9312, "share"), show_number(-0.105, "points"), show_number(47.31, "degrees"), show_number(0.5)
    ('93.1 %', '−10.5 points', '47.3°', '0.50')
    """
    text = format_number(value, unit or "number", signed=sign, with_unit=with_unit)
    return f"{text} points" if unit == "points" and with_unit else text


_IN_SENTENCE = re.compile(r"(?<![^\s\[(])([-−+])(\d+\.\d+)(?!\w|\.\d)")


def sentence(text: str) -> str:
    """Format the numbers in a sentence as in tables: with a proper minus sign, and zero without a sign.

    >>> sentence("a share of 0.00 [-0.00, 0.09], a difference of -0.133 [-0.400, +0.000] of model-1.5")
    'a share of 0.00 [0.00, 0.09], a difference of −0.133 [−0.400, 0.000] of model-1.5'
    """

    def written(match: re.Match[str]) -> str:
        sign, digits = match.groups()
        return digits if float(digits) == 0 else ("+" if sign == "+" else "−") + digits

    return _IN_SENTENCE.sub(written, text).replace(" %", "\N{NO-BREAK SPACE}%")


def about(figure: Estimate) -> str:
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


# The outcomes of pairs as one bar, in percent of the pairs.


_NARROW = 6.0
"""Segments narrower than this, in percent, have no number inside."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One outcome. Coordinates are in percent of the width."""

    outcome: str
    x: float
    width: float
    label: str
    """The share as a whole number, or nothing if it would not fit."""


@dataclass(frozen=True, slots=True)
class ShareBar:
    """The outcomes of some pairs."""

    segments: tuple[Segment, ...]
    low: float
    high: float
    """The ends of the interval of looking that lie on the bar, in percent."""
    words: str
    """A text alternative."""


def share_bar(form: LookingResult | PairsResult) -> ShareBar | None:
    """Place the outcomes of relevant pairs on a bar. None if there is no relevant pair.

    >>> from theodolite.diagnose.record import PairsResult
    >>> share_bar(PairsResult(name="light", is_relevant=False, n=3)) is None
    True
    """
    shares: list[tuple[str, Estimate | None]] = [(name, getattr(form, name)) for name in OUTCOMES]
    looking = form.looking
    if looking is None:
        return None
    x = 0.0
    segments = []
    for name, figure in shares:
        width = 100 * figure.value if figure is not None else 0.0
        if width > 0:
            segments.append(
                Segment(name, round(x, 3), round(width, 3), f"{width:.0f} %" if width >= _NARROW else "")
            )
        x += width
    low, high = (round(100 * max(0.0, end), 3) for end in (looking.low, looking.high))
    return ShareBar(tuple(segments), low, high, outcome_words(form))


@dataclass(frozen=True, slots=True)
class LookingBar:
    """Where looking and its interval lie on an axis from 0 to 100 %. Looking below zero has its length to the left of 100 %."""

    x: float
    width: float
    low: float
    high: float


def looking_bar(form: LookingResult) -> LookingBar:
    """Place looking on an axis from 0 to 100 %; what is below zero is cut off.

    Raises:
        ValueError: If there is no relevant pair.
    """
    if form.looking is None:
        raise ValueError("there is no relevant pair")
    value, low, high = (
        round(100 * min(max(0.0, end), 1.0), 3)
        for end in (form.looking.value, form.looking.low, form.looking.high)
    )
    return LookingBar(0.0, value, low, high)


# Histograms of the item scores of a metric, one outline per model on one axis.
#
# All models have the same bins of equal width, 2√n of them but at least 8 and at most 24, where n is the smallest number of
# items of a model. The height is the share of the items of the model in a bin, divided by the largest share of any model.


FEWEST_BINS, MOST_BINS = 8, 24
LEAST_VALUES = 8
"""Metrics with fewer distinct values have no histogram, since the mean says enough."""
HIGH = 30.0
"""Height of the drawing if its width is 100."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The histogram of one model."""

    model: str
    path: str
    """An SVG path in a box of 100 by `HIGH`, with the base at the bottom."""
    n: int


@dataclass(frozen=True, slots=True)
class Spread:
    """The histograms of one metric."""

    key: str
    name: str
    split: str
    label_low: str
    label_high: str
    outlines: tuple[Outline, ...]

    @property
    def words(self) -> str:
        """A text alternative."""
        counts = ", ".join(f"{outline.n} of {outline.model}" for outline in self.outlines)
        return f"{self.name}: distribution of items ({counts})"


def spread(
    values: Mapping[str, Sequence[float]],
    *,
    key: str,
    name: str,
    split: str,
    label: Callable[[float], str],
) -> Spread | None:
    """Compute the outlines of several models. None if there are too few distinct values.

    Args:
        values: Item scores, by model.
        key: Key of the metric.
        name: Name of the metric.
        split: The split of the items.
        label: Function that formats the ends of the axis.
    """
    held = {model: np.asarray(some, float) for model, some in values.items() if len(some)}
    every = np.concatenate([*held.values(), np.zeros(0)])
    if len(np.unique(every)) < LEAST_VALUES:
        return None
    low, high = float(every.min()), float(every.max())
    fewest = min(map(len, held.values()))
    n_bins = min(MOST_BINS, max(FEWEST_BINS, round(2 * fewest**0.5)))
    edges = np.linspace(low, high, n_bins + 1)
    shares = {model: np.histogram(some, edges)[0] / len(some) for model, some in held.items()}
    highest = max(float(each.max()) for each in shares.values())
    outlines = tuple(
        Outline(model, _outline(each / highest), len(held[model])) for model, each in shares.items()
    )
    return Spread(key, name, split, label(low), label(high), outlines)


def _outline(heights: NDArray[np.float64]) -> str:
    """Return the SVG path of the steps from left to right, and back along the base.

    >>> _outline(np.array([0.5, 1.0]))
    'M0 30V15H50V0H100V30Z'
    """
    width = 100 / len(heights)
    steps = "".join(
        f"V{_short(HIGH * (1 - height))}H{_short((i + 1) * width)}"
        for i, height in enumerate(heights.tolist())
    )
    return f"M0 {_short(HIGH)}{steps}V{_short(HIGH)}Z"


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


# The coordinates of strips, which the templates draw: straight axes in the unit of a metric, in percent of their width.


@dataclass(frozen=True, slots=True)
class Whisker:
    """One number on a strip. Coordinates are in percent of the width, except `y`, which is in pixels."""

    colour: str
    x: float
    low: float
    high: float
    y: float
    shape: str
    """The marker around (0, 0), as an SVG path."""


@dataclass(frozen=True, slots=True)
class Strip:
    """An axis with the twins and the models on one metric."""

    height: float
    axis_y: float
    label_low: str
    label_high: str
    grounded: Whisker | None
    shortcut: Whisker | None
    models: tuple[Whisker, ...]
    zero: float | None
    """The coordinate of zero, if a line is drawn there."""


def shape(number: int, x: float, y: float, r: float) -> str:
    """Return the marker of a series around a point: circle, diamond, square, triangle, and so on again."""
    kind = number % 4
    if kind == 0:
        return f"M{x - r:.2f} {y:.2f}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0Z"
    if kind == 1:
        s = 1.25 * r
        return f"M{x:.2f} {y - s:.2f}L{x + s:.2f} {y:.2f}L{x:.2f} {y + s:.2f}L{x - s:.2f} {y:.2f}Z"
    if kind == 2:
        s = 0.88 * r
        return f"M{x - s:.2f} {y - s:.2f}h{2 * s:g}v{2 * s:g}h{-2 * s:g}Z"
    s = 1.2 * r
    return f"M{x:.2f} {y - s:.2f}L{x + s:.2f} {y + 0.8 * s:.2f}L{x - s:.2f} {y + 0.8 * s:.2f}Z"


def strip(
    models: Sequence[tuple[str, int, Estimate]],
    *,
    grounded: Estimate | None = None,
    shortcut: Estimate | None = None,
    label: Callable[[float], str] = "{:.2f}".format,
    span: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
    show_zero: bool = False,
) -> Strip | None:
    """Place the twins and the models on an axis. None if there is nothing to show.

    Args:
        models: For each model, CSS class, number of the marker shape, and value.
        grounded: The value of the grounded twin.
        shortcut: The value of the shortcut twin.
        label: Function that formats the ends of the axis.
        span: A range that the axis must include.
        bounds: The possible range of values, such as 0 and 1 for shares. Margins of the axis end there.
        show_zero: If True, draw a line at zero, as for differences.
    """
    shown = [estimate for *_, estimate in models] + [e for e in (grounded, shortcut) if e is not None]
    if not shown:
        return None
    low = min(min(e.low, e.value) for e in shown)
    high = max(max(e.high, e.value) for e in shown)
    room = 0.06 * (high - low) or 0.5 * max(abs(high), 1e-6)
    reach = low - room, high + room
    if bounds is not None:
        reach = min(low, max(reach[0], bounds[0])), max(high, min(reach[1], bounds[1]))
    low, high = reach if span is None else (min(low, span[0]), max(high, span[1]))
    if high <= low:  # all values are zero, with zero width
        low, high = low - 0.5, high + 0.5
    lane, top = 13.0, 9.0

    def percent(value: float) -> float:
        return round(100 * (value - low) / (high - low), 3)

    def whisker(colour: str, estimate: Estimate, row: int, mark: int = 0) -> Whisker:
        return Whisker(
            colour,
            percent(estimate.value),
            percent(estimate.low),
            percent(estimate.high),
            top + row * lane,
            shape(mark, 0.0, 0.0, 4.4),
        )

    axis_y = top + max(len(models), 1) * lane
    return Strip(
        height=axis_y + 14.0,
        axis_y=axis_y,
        label_low=label(low),
        label_high=label(high),
        grounded=None if grounded is None else whisker("c-grounded", grounded, 0),
        shortcut=None if shortcut is None else whisker("c-shortcut", shortcut, 0),
        models=tuple(whisker(colour, estimate, i, mark) for i, (colour, mark, estimate) in enumerate(models)),
        zero=percent(0.0) if show_zero else None,
    )


# The colour, marker and short name of each model on a page.


GROUNDED, SHORTCUT = "pocket:grounded", "pocket:shortcut"
_TWIN_COLOURS = {GROUNDED: "c-grounded", SHORTCUT: "c-shortcut"}
N_COLOURS = 6
"""The number of colours in the style sheet."""


class Series:
    """The colour and marker of each model, the same everywhere on a page. The twins have fixed colours."""

    def __init__(self, models: Iterable[str]) -> None:
        """Assign colours in the order of the models."""
        self._order = {model: i for i, model in enumerate(dict.fromkeys(models))}
        others = [model for model in self._order if model not in _TWIN_COLOURS]
        self._names = short_names(self._order)
        self._colours = {model: f"c-{i % N_COLOURS}" for i, model in enumerate(others)} | _TWIN_COLOURS

    def order(self, model: str) -> int:
        """Return the number of a model, which determines its marker."""
        return self._order.setdefault(model, len(self._order))

    def name(self, model: str) -> str:
        """Return the name of a model without folders, address and options, as far as that is unique."""
        return self._names.get(model, model)

    def shortened(self, text: str) -> str:
        """Replace the names of models in a text by short ones."""
        for model, name in sorted(self._names.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(model, name)
        return text

    def colour(self, model: str) -> str:
        """Return the CSS class of the colour of a model."""
        return self._colours.get(model, "c-0")


# The pictures of a report: stored in its folder, or embedded in the page. Each picture is stored once.


FOLDER = "pictures"
_LARGE, _SMALL = (200_000, 960), (40_000, 560)
"""Maximum bytes and longer side. Larger pictures are scaled down for the page. The originals are not changed."""
_DRAWN = 2048
"""Pictures with at most this many colours are drawn, and look the same with 256."""
_KINDS = {"PNG": "png", "JPEG": "jpg", "GIF": "gif", "WEBP": "webp"}


Keep: TypeAlias = Callable[[str, bytes, "Path | None"], None]
"""Function that stores a picture, with its name, its bytes, and the path of a file with the same bytes, if there is one."""


class Pictures:
    """The pictures of a report, with their names in it."""

    def __init__(self, keep: Keep, *, is_small: bool = False) -> None:
        """Start empty. If `is_small`, pictures are scaled down to the size of an example, and take as few bytes as they can."""
        self._keep = keep
        self._convert = small_picture if is_small else readable_picture
        self._names: dict[str, tuple[str, int, int] | None] = {}
        self.missing: dict[str, str] = {}
        """Pictures that could not be shown, with the reason."""

    def take(self, path: Path) -> tuple[str, int, int] | None:
        """Add a picture file. Return its name in the report, and its width and height. None if it cannot be shown."""
        return self._take(str(path), lambda: read_picture(path), path)

    def take_picture(self, picture: Picture) -> tuple[str, int, int] | None:
        """Add a picture of a run. The result is that of `take`."""
        return self._take(picture.digest, picture.read, None)

    def _take(self, key: str, read: Callable[[], bytes], path: Path | None) -> tuple[str, int, int] | None:
        if key not in self._names:
            try:
                original = read()
                content, kind, size = self._convert(original)
            except (OSError, UsageError) as error:
                self.missing[key] = str(error) or type(error).__name__
                self._names[key] = None
            else:
                name = f"{hashlib.sha256(content).hexdigest()[:20]}.{kind}"
                self._keep(name, content, path if content is original else None)
                self._names[key] = name, *size
        return self._names[key]


def into_folder(folder: Path) -> Keep:
    """Return a function that stores pictures as files in a page's folder. Files already in it are linked."""
    home = folder.resolve()

    def keep(name: str, content: bytes, path: Path | None) -> None:
        target = folder / FOLDER / name
        if target.exists():
            return
        if path is not None and path.resolve().is_relative_to(home):
            with suppress(OSError):  # no hard links on this file system: make a copy
                target.parent.mkdir(parents=True, exist_ok=True)
                target.hardlink_to(path.resolve())
                return
        write_atomically(target, content)

    return keep


def into_page(inside: dict[str, str]) -> Keep:
    """Return a function that embeds pictures in the page, as data URLs."""

    def keep(name: str, content: bytes, _: Path | None) -> None:
        inside[name] = f"data:{media_type(name)};base64,{base64.b64encode(content).decode()}"

    return keep


def media_type(name: str) -> str:
    """Return the media type of a picture from its file extension.

    >>> media_type("0a1b.jpg")
    'image/jpeg'
    """
    kind = name.rpartition(".")[2]
    return f"image/{'jpeg' if kind == 'jpg' else kind}"


def small_picture(data: bytes) -> tuple[bytes, str, tuple[int, int]]:
    """Return a picture like `readable_picture` in the fewest bytes: unchanged, as JPEG, or with a palette."""
    from PIL import Image

    content, kind, size = readable_picture(data, *_SMALL)
    with open_image(content) as opened:
        if kind != "png" or opened.mode not in {"RGB", "L", "P"} or "transparency" in opened.info:
            return content, kind, size
        plain = opened.convert("RGB")
    versions = [(content, kind)]
    made = io.BytesIO()
    plain.save(made, "JPEG", quality=88, optimize=True)
    versions.append((made.getvalue(), "jpg"))
    if plain.getcolors(_DRAWN) is not None:
        made = io.BytesIO()
        plain.quantize(256, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
        versions.append((made.getvalue(), "png"))
    return (*min(versions, key=lambda version: len(version[0])), size)


def readable_picture(
    data: bytes, most_bytes: int = _LARGE[0], longest_px: int = _LARGE[1]
) -> tuple[bytes, str, tuple[int, int]]:
    """Return a picture in a format that browsers show, its file extension, and the size of the original.

    Small PNG, JPEG, GIF and WebP files are not changed. Others are converted.

    Args:
        data: The encoded picture.
        most_bytes: Maximum size of a file that is not converted.
        longest_px: Maximum length of the longer side after conversion.

    Raises:
        UsageError: If it is not a picture, or is too large to open safely.
    """
    from PIL import ImageOps

    with open_image(data) as opened:
        is_turned = opened.getexif().get(0x0112, 1) != 1
        opened.load()
        kind = opened.format
        ImageOps.exif_transpose(opened, in_place=True)
        size = opened.size
        if kind in _KINDS and len(data) <= most_bytes and not is_turned:
            return data, _KINDS[kind], size
        has_alpha = opened.mode in {"RGBA", "LA", "PA"} or "transparency" in opened.info
        small = opened.convert("RGBA" if has_alpha else "RGB")
        small.thumbnail((longest_px, longest_px))
        made = io.BytesIO()
        small.save(made, "PNG" if has_alpha else "JPEG", quality=88)
    return made.getvalue(), "png" if has_alpha else "jpg", size


# Functions for the templates, and the axes of metrics and differences.


_COMPARED = 14
"""Number of comparisons of two models that are not folded."""

_ASKED = re.compile(r"(?<= in )(\S+?)(?=(?: \([^)]*\))?\?)")
"""Matches the key of the metric in an open question."""
_DIFFERENCE = re.compile(r"The difference is ([-−+]?\d+\.\d+) \[([-−+]?\d+\.\d+), ([-−+]?\d+\.\d+)\]")


class Helpers:
    """Functions for the templates."""

    def __init__(self, series: Series, glossary: Glossary, metrics: Mapping[str, MetricEntry]) -> None:
        self.series, self.glossary, self.metrics = series, glossary, metrics

    def named(self) -> dict[str, Any]:
        """Return the functions by their names in templates."""
        return {
            "anchor": self.glossary.anchor,
            "unit": self.glossary.unit,
            "difference_unit": self.difference_unit,
            "show": show_number,
            "about": about,
            "p_value": partial(format_number, unit="p"),
            "prose": prose,
            "sentence": sentence,
            "question_words": self.question_words,
            "colour": self.series.colour,
            "order": self.series.order,
            "short": self.series.name,
            "metric_name": lambda key: self.metrics[key].name if key in self.metrics else key,
            "metric_origin": lambda key: self.metrics[key].origin if key in self.metrics else "ours",
            "metric_strip": self.metric_strip,
            "strip_words": self.strip_words,
            "difference_strips": self.difference_strips,
            "shape": shape,
            "share_bar": share_bar,
            "looking_bar": looking_bar,
            "what_was_done": what_was_done,
            "HIGH": HIGH,
            "duration": duration,
            "upper_first": upper_first,
            "outcomes": OUTCOMES,
            "tone": lambda standing: tone_of(standing).name,
            "interval": interval,
            "percent": percent,
            "asked": asked,
        }

    def difference_unit(self, key: str) -> Unit:
        """Return the unit of a difference: points for shares."""
        return difference_unit(self.glossary.unit(key))

    def question_words(self, text: str) -> str:
        """Format a question, with short names, the name of the metric instead of its key, and differences of shares in points."""
        text = self.series.shortened(text)
        match = _ASKED.search(text)
        if match is None or match[1] not in self.metrics:
            return sentence(text)
        named = f"{text[: match.start()]}“{self.metrics[match[1]].name}”{text[match.end() :]}"
        return sentence(_DIFFERENCE.sub(partial(_difference, unit=self.difference_unit(match[1])), named))

    def metric_strip(self, result: MetricResult) -> Strip | None:
        """Place the twins and the models on the axis of a metric."""
        models = [
            (self.series.colour(c.model), self.series.order(c.model), c.figure)
            for c in result.models
            if c.figure is not None
        ]
        return strip(
            models,
            grounded=result.grounded,
            shortcut=result.shortcut,
            label=lambda value: show_number(value, self.glossary.unit(result.key)),
            bounds={"share": (0.0, 1.0), "points": (-1.0, 1.0)}.get(self.glossary.unit(result.key)),
        )

    def strip_words(self, result: MetricResult) -> str:
        """Return the text alternative of a strip."""
        unit = self.glossary.unit(result.key)
        known: list[tuple[str, Estimate | None]] = [
            ("shortcut twin", result.shortcut),
            ("grounded twin", result.grounded),
            *((c.model, c.figure) for c in result.models),
        ]
        return ", ".join(f"{name} {show_number(f.value, unit)}" for name, f in known if f is not None)

    def difference_strips(
        self, rows: Sequence[Comparison], beside: Sequence[Comparison]
    ) -> list[Strip | None]:
        """Place differences on axes around zero, one strip per row. An axis is labelled only if it differs from the one above."""
        strips: list[Strip | None] = []
        axis = None
        for comparison in rows:
            made = self._difference_strip(comparison, beside)
            if made is not None:
                ends = made.label_low, made.label_high
                if ends == axis:
                    made = replace(made, label_low="", label_high="", height=made.axis_y + 3.0)
                axis = ends
            strips.append(made)
        return strips

    def _difference_strip(self, comparison: Comparison, beside: Sequence[Comparison]) -> Strip | None:
        """Place one difference. The axis of points is from −100 to 100; differences of another unit share one axis.

        Metrics that can be negative may differ by more than 100 points. Their axis is wider.
        """
        unit = self.difference_unit(comparison.metric)
        if comparison.difference is None:
            return None
        like = [
            c.difference
            for c in ([comparison] if unit == "points" else beside)
            if c.difference is not None and self.difference_unit(c.metric) == unit
        ]
        widest = max(max(abs(d.low), abs(d.high)) for d in like)
        if unit == "points":
            widest = max(widest, 1.0)
        return strip(
            [(self.series.colour(comparison.first), 0, comparison.difference)],
            label=lambda value: show_number(value, unit, sign=True),
            span=(-widest, widest),
            show_zero=True,
        )


def _difference(match: re.Match[str], *, unit: Unit) -> str:
    value, low, high = (float(part.replace("−", "-")) for part in match.groups())
    ends = ", ".join(show_number(end, unit, sign=True, with_unit=False) for end in (low, high))
    return f"The difference is {show_number(value, unit, sign=True)} [{ends}]"


_Row = TypeVar("_Row")


def folded(rows: Sequence[_Row], most: int) -> tuple[list[_Row], list[_Row]]:
    """Separate the rows that a page shows from those that it folds: none, or at least three."""
    cut = most if len(rows) > most + 2 else len(rows)
    return list(rows[:cut]), list(rows[cut:])


def comparison_groups(
    comparisons: Sequence[Comparison],
) -> list[tuple[str, str, list[Comparison], list[Comparison]]]:
    """Group comparisons by pair of models, with the smallest p first: those to show, and those to fold."""

    def order(c: Comparison) -> tuple[bool, float, float]:
        size = abs(c.difference.value) if c.difference is not None else 0.0
        return c.difference is None, c.p_holm if c.p_holm is not None else 2.0, -size

    groups = []
    for pair in dict.fromkeys((c.first, c.second) for c in comparisons):
        rows = sorted((c for c in comparisons if (c.first, c.second) == pair), key=order)
        groups.append((*pair, *folded(rows, _COMPARED)))
    return groups


# The data of the item browser: a short row per item, and details in chunks that are read on demand.


CHUNK = 100
_LONGEST = 400
"""Maximum length of an answer in the list. The detail view shows all of it."""
_IN_ROW = {"id", "instrument", "model", "split", "condition", "kind", "question", "answer", "gold", "correct", "status", "values", "pictures", "read_as"}  # fmt: skip

_MODEL, _SPLIT, _VALUES = 2, 3, 11
"""Indices of fields in a row."""

Take = Callable[[str], "tuple[str, int, int] | None"]
"""Function from the name of a picture in a row to its name in the page and its size. None if it cannot be shown."""


@dataclass
class ItemTable:
    """The items of a page."""

    names: Mapping[str, str]
    """Names of metrics, by key."""
    models: dict[str, int] = field(default_factory=dict)
    """Models with their indices."""
    metrics: dict[str, int] = field(default_factory=dict)
    rows: list[list[Any]] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)

    def add(self, item: ItemRow, take: Take) -> None:
        """Add an item."""
        row, detail = self.parts(item, take)
        self.rows.append(row)
        self.details.append(detail)

    def parts(self, item: ItemRow, take: Take) -> tuple[list[Any], dict[str, Any]]:
        """Return the row and the details of an item. The order of the fields in a row is that of ``list.js``."""
        pictures = [taken for name in item.pictures if (taken := take(name)) is not None]
        detail = item.model_dump(mode="json", exclude_defaults=True, exclude=_IN_ROW)
        detail["pictures"] = pictures
        if len(item.answer) > _LONGEST:
            detail["answer"] = item.answer
        if item.pictures and not pictures:
            detail["picture_note"] = "The picture could not be read."
        row = [
            item.id,
            item.instrument,
            self.models.setdefault(item.model, len(self.models)),
            item.split,
            item.condition,
            item.kind,
            item.question,
            item.answer[:_LONGEST],
            item.gold,
            None if item.correct is None or item.condition in UNSEEN else int(item.correct),
            item.status,
            [
                part
                for key, value in item.values.items()
                for part in (self.metrics.setdefault(key, len(self.metrics)), round(value, 5))
            ],
            pictures[0][0] if pictures else "",
            item.read_as,
        ]
        return row, detail

    def values(self, key: str, split: str) -> dict[str, list[float]]:
        """Return the item scores of one metric on one split, by model."""
        number = self.metrics.get(key)
        by_model: dict[str, list[float]] = {}
        models = list(self.models)
        for row in self.rows:
            if row[_SPLIT] == split and number in row[_VALUES][::2]:
                position = row[_VALUES][::2].index(number)
                by_model.setdefault(models[row[_MODEL]], []).append(row[_VALUES][2 * position + 1])
        return by_model

    def index(self, glossary: Glossary) -> dict[str, Any]:
        """Return the data of the list."""
        series = Series(self.models)
        return {
            "models": list(self.models),
            "short": [series.name(model) for model in self.models],
            "metrics": [
                {"key": key, "name": self.names.get(key, key), "anchor": glossary.anchor(key)}
                for key in self.metrics
            ],
            "rows": self.rows,
            "chunk": CHUNK,
            "pictures": "pictures/",
        }

    def blocks(self, glossary: Glossary, inside: Mapping[str, str]) -> list[DataBlock]:
        """Return the data blocks of the page. `inside` are embedded pictures."""
        blocks = [DataBlock("items-index", self.index(glossary))]
        blocks += [
            DataBlock(f"items-{i // CHUNK}", self.details[i : i + CHUNK])
            for i in range(0, len(self.details), CHUNK)
        ]
        return [*blocks, DataBlock("items-pictures", dict(inside))] if inside else blocks


def item_table(items: Iterable[ItemRow], names: Mapping[str, str], *, take: Take) -> ItemTable:
    """Build the table of all items of a page."""
    table = ItemTable(names)
    for item in items:
        table.add(item, take)
    return table


def in_words(counts: Sequence[tuple[int, str]]) -> str:
    """Format the counts that are not zero.

    >>> in_words([(3, "answered"), (0, "refused"), (1, "failed")])
    '3 answered, 1 failed'
    """
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "none"


# Pairs that are shown as examples: both pictures with their answers, and a relevance map if there is one.


_FAINT = 0.02
_DEEPEST = 0.78
_MOST_PICTURES = 4

FindRow = Callable[[str], "ItemRow | None"]
"""Function from the id of a row to the row."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of a relevance map, in pixels of the picture."""

    x: float
    y: float
    width: float
    height: float
    opacity: float
    is_positive: bool


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture with a relevance map."""

    source: str
    width: int
    height: int
    heat: tuple[HeatCell, ...] = ()
    method: str = ""
    """The relevance method. Empty if there is no map."""


@dataclass(frozen=True, slots=True)
class ShownSide:
    """One side of a pair."""

    pictures: tuple[ShownPicture, ...]
    answer: str
    gold: str
    is_right: bool | None
    """None if the answer could not be read."""
    link: str
    """The item in the browser of items."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One pair."""

    form: PairExample
    before: ShownSide
    after: ShownSide

    @property
    def why(self) -> str:
        """The rule by which it was chosen, without the outcome, which is shown before it."""
        return self.form.why.removeprefix(f"{self.form.outcome}, ").removeprefix("as ")


def exhibit(
    form: PairExample, place: tuple[str, str], take: Take, inside: Mapping[str, str], row_of: FindRow
) -> Exhibit:
    """Prepare an exhibit for the page.

    Args:
        form: The exhibit in the record.
        place: Instrument and model.
        take: Function that adds a picture to the page.
        inside: Pictures that are embedded in the page, by name.
        row_of: Function that finds the row of an item.
    """
    return Exhibit(
        form,
        _shown(form.before, place, take, inside, row_of),
        _shown(form.after, place, take, inside, row_of),
    )


def _shown(
    side: ShownAnswer, place: tuple[str, str], take: Take, inside: Mapping[str, str], row_of: FindRow
) -> ShownSide:
    row = row_of(side.item)
    heat = row.overlay.maps[0] if row is not None and row.overlay is not None and row.overlay.maps else None
    pictures = []
    for name in _spaced(side.pictures):
        taken = take(name)
        if taken is not None:
            stored, width, height = taken
            source = inside.get(stored, f"pictures/{stored}")
            pictures.append(
                ShownPicture(source, width, height, _cells(heat), heat.name if heat is not None else "")
            )
    return ShownSide(
        tuple(pictures),
        side.read_as or " ".join(side.answer.split())[:120],
        side.gold,
        None if row is None or not row.read_as else row.correct,
        f"#item={quote('/'.join((*place, side.item)))}",
    )


def _spaced(names: list[str]) -> list[str]:
    """Choose at most four pictures of a video, evenly spaced.

    >>> _spaced(list("abcdefg"))
    ['a', 'c', 'e', 'g']
    """
    if len(names) <= _MOST_PICTURES:
        return names
    step = (len(names) - 1) / (_MOST_PICTURES - 1)
    return [names[round(i * step)] for i in range(_MOST_PICTURES)]


def _cells(heat: HeatMap | None) -> tuple[HeatCell, ...]:
    if heat is None or not heat.values:
        return ()
    x0, y0, x1, y1 = heat.place_px
    width, height = (x1 - x0) / len(heat.values[0]), (y1 - y0) / len(heat.values)
    return tuple(
        HeatCell(
            round(x0 + column * width, 2),
            round(y0 + row * height, 2),
            round(width, 2),
            round(height, 2),
            round(_DEEPEST * min(abs(value), 1.0), 3),
            value > 0,
        )
        for row, line in enumerate(heat.values)
        for column, value in enumerate(line)
        if abs(value) >= _FAINT
    )


# A page on which a person labels claims. It opens from disk and saves the file that `theodolite trace annotate` scores.


def write_label_page(rows: Sequence[Mapping[str, Any]], path: Path) -> dict[str, str]:
    """Write the page for labelling claims, with embedded pictures.

    Args:
        rows: The claims, grouped by step.
        path: The page. It saves labels under the same name, as ``.jsonl``.

    Returns:
        Pictures that cannot be shown, with the reason.
    """
    inside: dict[str, str] = {}
    pictures = Pictures(into_page(inside), is_small=True)
    steps, first = [], 0
    for _, group in groupby(rows, key=lambda row: row["id"].rpartition("/")[0]):
        own = list(group)
        shown = [taken[0] for name in own[0]["pictures"] if (taken := pictures.take(Path(name)))]
        step = {"sentence": own[0]["sentence"], "frames": own[0]["frames"], "pictures": shown}
        steps.append({**step, "first": first, "last": (first := first + len(own))})
    key = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]
    name = path.with_suffix(".jsonl").name
    task = {"key": key, "name": name, "rows": rows, "steps": steps, "inside": inside, "pictures": ""}
    page = render_page("labels.html", {"name": name}, data=[DataBlock("labels", task)])
    write_atomically(path, page.encode())
    return pictures.missing
