"""A summary of a diagnosis on one slide of 16:9: the verdict, the bars, one example and the key numbers, in large letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill, shorten
from typing import TYPE_CHECKING, TypeAlias

from theodolite.core.drawing import FAINT, INK, QUIET, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.diagnose.exhibits import picture_of
from theodolite.diagnose.record import ExhibitForm, LookingForm, Standing
from theodolite.diagnose.result import Diagnosed
from theodolite.report.pair_figures import COLOURS, shares_bar
from theodolite.report.summary import OUTCOMES, Summary, asked, interval, percent, summaries, telling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["slide_figure"]

_WIDTH, _HEIGHT = 13.333, 7.5
_MOST_MODELS = 3
"""With more models, each has one bar, and there is no example."""
_MOST_BARS = 4
_MOST_BELOW = 6
"""More bars do not stand below each other, but in a table: a row for each kind of pictures, a column for each model."""
_MOST_AT_ALL = 12
_SMALLEST = 14
"""Points: smaller letters cannot be read from the last row."""
_LEAST_HEIGHT = 5.0
"""Height of the axes in bars: few bars do not fill the slide."""
_LETTER = 0.7
"""Width of a bold letter, in its size."""
_TWO_LINES = 19.0
"""A verdict that would be smaller than this is broken into two lines."""
_GAP = 0.09
"""Between the columns of a table, in widths of a bar."""
_TONES: dict[Standing, str] = {"looks": "#00694d", "looks at times": "#755c00", "does not look": "#b00d27"}


_Row: TypeAlias = "tuple[str, list[tuple[Summary, LookingForm]]]"
"""A kind of pictures, and the models with pairs of them."""


def slide_figure(found: Diagnosed) -> Drawing:
    """Draw the slide: title and verdicts above, bars on the left, an example on the right, numbers below.

    Args:
        found: An open diagnosis. Of up to three models four bars each are shown, of more models one each, of twelve at most;
            the page has all of them.

    Raises:
        UsageError: If the diagnosis has no relevant pair.
    """
    every = summaries(found.diagnosis)
    shown = [each for each in every if each.lookings]
    if not shown:
        raise UsageError("this diagnosis has no relevant pairs to draw")
    is_many = len(shown) > _MOST_MODELS
    shown = shown[:_MOST_AT_ALL]
    with styled():
        figure = new_figure(_WIDTH, _HEIGHT)
        figure.set_layout_engine("none")
        title = "Does the model look?" if len(shown) == 1 else "Do the models look?"
        figure.text(0.04, 0.93, title, fontsize=34, weight="bold", color=INK, va="center")
        if is_many:
            _models(figure, shown)
        else:
            _verdicts(figure, shown)
            _evidence(figure, shown, found)
        _foot(figure, found, shown, len(every) - len(shown))
    return Drawing(figure)


def _evidence(figure: Figure, shown: Sequence[Summary], found: Diagnosed) -> None:
    """Draw the bars, and an example if there is one."""
    chosen = _example(shown)
    names = _labels(shown)
    kinds = list(dict.fromkeys(label for each in shown for label, _ in each.lookings))[:_MOST_BARS]
    rows: list[_Row] = [
        (kind, [(each, one) for each in shown for label, one in each.lookings if label == kind])
        for kind in kinds
    ]
    place = (0.04, 0.14, 0.50 if chosen else 0.92, 0.585)
    if len(shown) > 1 and sum(len(bars) for _, bars in rows) > _MOST_BELOW:
        _table(figure.add_axes(place), shown, rows, names)
    else:
        _bars(figure.add_axes(place), shown, rows, names)
    if chosen is not None:
        each, exhibit = chosen
        _pair(figure, exhibit, names[each.name] if len(shown) > 1 else "", found)


def _models(figure: Figure, shown: Sequence[Summary]) -> None:
    """Draw one bar for each of many models, in two columns: of the kind of pictures that most of them have."""
    kinds = [label for each in shown for label, _ in each.lookings]
    kind = max(dict.fromkeys(kinds), key=kinds.count)
    figure.text(0.96, 0.93, kind, fontsize=18, color=QUIET, va="center", ha="right")
    names = _labels(shown)
    half = (len(shown) + 1) // 2
    for column in range(2):
        axes = figure.add_axes((0.04 + 0.48 * column, 0.14, 0.44, 0.72))
        for row, each in enumerate(shown[column * half : (column + 1) * half]):
            looking = next((one for label, one in each.lookings if label == kind), None)
            told = shorten(names[each.name], 26, placeholder=" …")
            axes.text(0, row, told, fontsize=15, color=INK, va="center")
            verdict = each.standing if looking is None else looking.standing
            axes.text(
                1, row, verdict, fontsize=15, weight="bold", color=_TONES.get(verdict, QUIET), va="center", ha="right"
            )  # fmt: skip
            if looking is not None:
                shares_bar(axes, row + 0.42, looking, fontsize=_SMALLEST, height=0.38)
        axes.set_xlim(0, 1)
        axes.set_ylim(max(half, 4) - 0.15, -0.3)
        axes.set_axis_off()


def _verdicts(figure: Figure, shown: Sequence[Summary]) -> None:
    width = 0.92 / len(shown)
    for place, each in enumerate(shown):
        x = 0.04 + place * width
        figure.text(
            x,
            0.845,
            shorten(each.name, 100 // len(shown), placeholder=" …"),
            fontsize=16,
            color=QUIET,
            va="center",
        )
        size = min(30.0, width * _WIDTH * 72 / (_LETTER * len(each.headline)))
        told = each.headline if size > _TWO_LINES else fill(each.headline, 20)
        tone = _TONES.get(each.standing, _TONES["looks at times"] if each.is_proven else QUIET)
        figure.text(
            x,
            0.78,
            told,
            fontsize=max(size, _TWO_LINES),
            weight="bold",
            color=tone,
            va="center",
            linespacing=1.0,
        )


def _labels(shown: Sequence[Summary]) -> dict[str, str]:
    """Name the models beside the bars by what tells them apart.

    The name of a file that all have in common is left out.
    """
    parts = {each.name: each.name.rpartition(":")[2].partition(", ") for each in shown}
    is_common = len(shown) > 1 and len({first for first, *_ in parts.values()}) == 1
    return {name: part[2] if is_common and part[2] else "".join(part) for name, part in parts.items()}


def _table(axes: Axes, shown: Sequence[Summary], rows: Sequence[_Row], names: Mapping[str, str]) -> None:
    """Draw the bars as a table: a row for each kind of pictures, a column for each model."""
    wide = 1 + _GAP
    for column, each in enumerate(shown):
        told = shorten(names[each.name], 40 // len(shown), placeholder=" …")
        axes.text(column * wide, 0, told, fontsize=_SMALLEST + 1, color=QUIET, va="center")
    for row, (kind, bars) in enumerate(rows):
        y = 0.75 + 1.6 * row
        axes.text(
            0, y, kind[:1].upper() + kind[1:], fontsize=_SMALLEST + 1, weight="bold", color=INK, va="center"
        )
        for each, looking in bars:
            x = wide * next(place for place, one in enumerate(shown) if one is each)
            shares_bar(axes, y + 0.68, looking, fontsize=_SMALLEST, height=0.66, left=x, width_of_number=0.27)
    axes.set_xlim(0, len(shown) * wide - _GAP)
    axes.set_ylim(max(0.75 + 1.6 * len(rows), _LEAST_HEIGHT), -0.35)
    axes.set_axis_off()


def _bars(axes: Axes, shown: Sequence[Summary], rows: Sequence[_Row], names: Mapping[str, str]) -> None:
    """Draw a bar for each model and kind of pictures, with the name of the kind above a group of models."""
    y, size = 0.0, _SMALLEST + 1
    axes.set_xlim(-0.34 if len(shown) > 1 else 0, 1)
    for label, bars in rows:
        axes.text(0, y, label[:1].upper() + label[1:], fontsize=size, weight="bold", color=INK, va="center")
        y += 0.75
        for each, looking in bars:
            shares_bar(axes, y, looking, fontsize=size, height=0.72)
            if len(shown) > 1:
                axes.text(
                    -0.015, y, fill(names[each.name], 16, max_lines=2, placeholder=" …"),
                    fontsize=_SMALLEST, color=INK, ha="right", va="center",
                )  # fmt: skip
            y += 0.98
        y += 0.25
    room = _LEAST_HEIGHT - y
    for place, each in enumerate(shown if room > len(shown) else ()):
        named = [f"{name} {percent(share)}" for name, share in each.followed]
        kept = named if len(named) < 4 else [named[0], "…", named[-1]]
        told = (
            f"{names[each.name]} follows {', '.join(kept)}"
            if any(share for _, share in each.followed)
            else ""
        )
        axes.text(axes.get_xlim()[0], y + 0.5 + place * 0.6, told, fontsize=14, color=INK, va="center")
    axes.set_ylim(max(y, _LEAST_HEIGHT), -0.35)
    axes.set_axis_off()


def _example(shown: Sequence[Summary]) -> tuple[Summary, ExhibitForm] | None:
    """Choose one example: of the first model that does not always look, since it shows more; else of the first."""
    having = [
        (each, looking) for each in shown for _, looking in each.lookings if _relevant(looking.exhibits)
    ]
    if not having:
        return None
    each, looking = next((both for both in having if both[0].standing != "looks"), having[0])
    return each, _relevant(looking.exhibits)[0]


def _relevant(exhibits: Sequence[ExhibitForm]) -> list[ExhibitForm]:
    """Return the examples of relevant edits with pictures, those first that turn from right to wrong."""
    found = [
        each
        for each in telling(exhibits)
        if each.is_relevant and each.before.pictures and each.after.pictures
    ]
    return sorted(found, key=lambda each: _rights(each) != (True, False))


def _rights(exhibit: ExhibitForm) -> tuple[bool, ...]:
    return tuple(side.read_as == side.gold for side in (exhibit.before, exhibit.after))


def _pair(figure: Figure, exhibit: ExhibitForm, name: str, found: Diagnosed) -> None:
    left, width = 0.60, 0.36
    figure.text(
        left + 0.008, 0.69, OUTCOMES[exhibit.outcome], fontsize=15, weight="bold", color="white", va="center",
        bbox={"boxstyle": "round,pad=0.3", "facecolor": COLOURS[exhibit.outcome], "edgecolor": "none"},
    )  # fmt: skip
    if name:
        shown = shorten(name, 24, placeholder=" …")
        figure.text(left + width, 0.69, shown, fontsize=15, color=QUIET, va="center", ha="right")
    question = fill(asked(exhibit.question), 33, max_lines=2, placeholder=" …")
    figure.text(left, 0.65, question, fontsize=16, weight="bold", color=INK, va="top", linespacing=1.25)
    for place, side in enumerate((exhibit.before, exhibit.after)):
        panel = figure.add_axes((left + place * (width / 2 + 0.006), 0.22, width / 2 - 0.006, 0.33))
        panel.set_xticks([])
        panel.set_yticks([])
        panel.set_anchor("N")
        for spine in panel.spines.values():
            spine.set_visible(True)
            spine.set_color(FAINT)
        pixels = picture_of(side, found.folder)
        if pixels is not None:
            panel.imshow(pixels)
        is_right = side.read_as == side.gold
        told = shorten(side.read_as or side.answer or "no answer", 18, placeholder=" …")
        panel.set_xlabel(
            f"“{told}” {'✓' if is_right else '✗'}", fontsize=18, weight="bold", labelpad=8,
            color=COLOURS["followed"] if is_right else COLOURS["unmoved"],
        )  # fmt: skip


def _foot(figure: Figure, found: Diagnosed, shown: Sequence[Summary], n_more: int) -> None:
    """Write the key numbers, the legend and where they come from."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Patch | Line2D] = [
        Patch(color=COLOURS[name], label=words) for name, words in OUTCOMES.items()
    ]
    handles.append(Line2D([], [], color=INK, lw=1.6, ls=(0, (3, 2)), label="most without looking"))
    figure.legend(
        handles=handles, loc="center left", bbox_to_anchor=(0.03, 0.105), ncols=5, fontsize=_SMALLEST, handlelength=1.1,
        columnspacing=1.4, handletextpad=0.5, borderaxespad=0,
    )  # fmt: skip
    d = found.diagnosis
    n = max(sum(looking.n_relevant for _, looking in each.lookings) for each in shown)
    more = f"; {n_more} more models in the report" if n_more else ""
    figure.text(
        0.04, 0.045, f"{_numbers(shown)}{n} pairs per model; line below a bar: 95 % interval{more}. "
        f"Theodolite {d.theodolite}, {d.created:%Y-%m-%d}.", fontsize=_SMALLEST, color=QUIET, va="center",
    )  # fmt: skip


def _numbers(shown: Sequence[Summary]) -> str:
    """Tell the numbers of a single model with a single bar. Bars tell those of several."""
    if len(shown) > 1 or len(shown[0].lookings) > 1:
        return ""
    looking = shown[0].lookings[0][1]
    return f"Followed {interval(looking.followed)}. " if looking.followed else ""
