"""Figures of pairs: the shares of all models as bars, and examples with both pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from theodolite.core.drawing import FAINT, INK, Drawing, new_figure, styled
from theodolite.core.errors import UsageError
from theodolite.diagnose.exhibits import picture_of
from theodolite.diagnose.names import short_names
from theodolite.diagnose.pairs_table import lookings
from theodolite.diagnose.record import Diagnosis, ExhibitForm, LookingForm
from theodolite.diagnose.result import Diagnosed
from theodolite.report.summary import OUTCOMES, asked, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["exhibit_figure", "looking_figure", "pair_drawings"]

COLOURS: Mapping[str, str] = {
    "followed": "#00775a",
    "moved": "#b07800",
    "unmoved": "#b8324a",
    "lost": "#c3c9cf",
}
_NARROW = 0.07
_LINE = 44


def looking_figure(diagnosis: Diagnosis, *, title: str = "") -> Drawing:
    """Draw the outcomes of all pairs: one bar for each model and kind of pictures, the user's own data first.

    The dashed line is the bound, the thin line below a bar the 95 % interval of the followed share.

    Raises:
        UsageError: If the diagnosis has no relevant pair.
    """
    names = short_names(model.name for model in diagnosis.models)
    groups: dict[str, list[tuple[str, LookingForm]]] = {}
    for label, view, looking in lookings(diagnosis):
        groups.setdefault(label, []).append((names[view.model], looking))
    if not groups:
        raise UsageError("this diagnosis has no relevant pairs to draw")
    n = sum(len(rows) for rows in groups.values())
    with styled():
        figure = new_figure(8.2, 0.42 * n + 0.34 * len(groups) + 1.2)
        axes = figure.add_subplot()
        y, ticks = 0.0, []
        for label, rows in groups.items():
            axes.text(0, y, label, weight="bold", color=INK, va="bottom", fontsize=10.5)
            y += 0.5
            for model, looking in rows:
                shares_bar(axes, y, looking)
                ticks.append((y, model))
                axes.text(1.015, y, looking.standing, va="center", color=INK, fontsize=9.5)
                y += 1.0
            y += 0.35
        axes.set_ylim(y - 0.3, -0.5)
        axes.set_xlim(0, 1)
        axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        axes.set_xlabel(
            "share of pairs: the same question before and after an edit with another right answer"
        )
        axes.tick_params(left=False)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        _legend(axes)
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12.5)
    return Drawing(figure)


def shares_bar(
    axes: Axes,
    y: float,
    looking: LookingForm,
    *,
    fontsize: float = 9,
    height: float = 0.62,
    left: float = 0.0,
    width_of_number: float = 0.0,
) -> None:
    """Draw one bar with its bound and interval, of width 1, at a place of the axes.

    Shares that are narrower than a number have none; `width_of_number` says how wide it is, in bars.
    """
    start, narrow = left, width_of_number or _NARROW * fontsize / 9
    for name, colour in COLOURS.items():
        figure = getattr(looking, name)
        width = figure.value if figure is not None else 0.0
        if width <= 0:
            continue
        axes.barh(y, width, left=left, height=height, color=colour)
        if width >= narrow:
            axes.text(
                left + width / 2, y, percent(width), color=INK if name == "lost" else "white", ha="center",
                va="center", fontsize=fontsize, weight="bold",
            )  # fmt: skip
        left += width
    followed, below = looking.followed, y + height / 2 + 0.09
    if followed is not None:
        axes.plot(
            [start + followed.low, start + followed.high], [below, below], color=INK, lw=fontsize / 8, marker="|",
            markersize=fontsize / 2, markeredgewidth=fontsize / 8, solid_capstyle="butt", clip_on=False,
        )  # fmt: skip
    reach = height / 2 + 0.11
    axes.plot([start + looking.bound] * 2, [y - reach, y + reach], color=INK, lw=fontsize / 9, ls=(0, (3, 2)))


def _legend(axes: Axes) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(color=colour, label=OUTCOMES[name]) for name, colour in COLOURS.items()]
    handles.append(Line2D([], [], color=INK, lw=1.0, ls=(0, (3, 2)), label="most without looking"))
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=5, frameon=False, fontsize=8.5,
        handlelength=1.1, columnspacing=1.2, borderaxespad=0.2,
    )  # fmt: skip


def exhibit_figure(found: Diagnosed, model: str, instrument: str, *, source: str = "") -> Drawing:
    """Draw the examples of one verdict: both pictures of each pair with the question and the answers.

    Args:
        found: An open diagnosis.
        model: Name of the model.
        instrument: Name of the instrument.
        source: ``own`` or ``drawn``. Default: the first that there is.

    Raises:
        UsageError: If there are no examples.
    """
    chosen = [each for each in found.view(model, instrument).looking if source in {"", each.source}]
    exhibits = chosen[0].exhibits if chosen else []
    if not exhibits:
        raise UsageError(f"{instrument} has no examples of {model}")
    with styled():
        columns = min(2, len(exhibits))
        rows = (len(exhibits) + 1) // 2
        figure = new_figure(5.2 * columns, 3.5 * rows + 0.3)
        for place, inner in enumerate(figure.subfigures(rows, columns, squeeze=False, wspace=0.06).flat):
            if place < len(exhibits):
                _pair(inner.subplots(1, 2), exhibits[place], found.folder)
        name = short_names(each.name for each in found.diagnosis.models)[model]
        figure.suptitle(f"{name}, {instrument}: {chosen[0].standing}", x=0.01, ha="left", weight="bold")
    return Drawing(figure)


def _pair(axes: Sequence[Axes], exhibit: ExhibitForm, folder: Path) -> None:
    question = fill(asked(exhibit.question), _LINE, max_lines=4, placeholder=" …")
    axes[0].set_title(
        f"{OUTCOMES.get(exhibit.outcome, exhibit.outcome)} ({exhibit.edit})\n{question}",
        loc="left",
        fontsize=8.5,
        color=INK,
    )
    for panel, side, word in zip(axes, (exhibit.before, exhibit.after), ("before", "after"), strict=True):
        panel.set_xticks([])
        panel.set_yticks([])
        for spine in panel.spines.values():
            spine.set_visible(True)
            spine.set_color(FAINT)
        pixels = picture_of(side, folder)
        if pixels is not None:
            panel.imshow(pixels)
        is_right = side.read_as == side.gold
        told = fill(side.read_as or side.answer or "no answer", 22, max_lines=2, placeholder=" …")
        colour = COLOURS["followed"] if is_right else COLOURS["unmoved"]
        truth = "" if is_right else f"\n(right: {side.gold})"
        panel.set_xlabel(f"{word}: {told}{truth}", fontsize=9, color=colour)


def pair_drawings(found: Diagnosed) -> dict[str, Drawing]:
    """Draw the bars and the examples of every verdict, by the name of the file."""
    from theodolite.runs import slug

    drawings = {"followed": looking_figure(found.diagnosis)}
    for instrument in found.diagnosis.instruments:
        for view in instrument.models:
            for looking in view.looking:
                if looking.exhibits:
                    name = f"examples-{instrument.name}-{looking.source}-{slug(view.model)}"
                    drawings[name] = exhibit_figure(found, view.model, instrument.name, source=looking.source)
    return drawings
