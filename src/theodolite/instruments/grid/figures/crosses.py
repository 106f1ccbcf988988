"""Figures of cross matrices: what EMAP and InterSHAP say of every bucket, sparse beside dense."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.core.drawing import FAINT, INK, PEAK, QUIET, SERIES, Drawing, new_figure, styled
from theodolite.instruments.grid.data.world import BUCKETS
from theodolite.instruments.grid.formulas.synergy import CrossFigure
from theodolite.instruments.grid.score import ExplainScore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = {
    "A": "no relation (A)",
    "SO": "named by shape (SO)",
    "CO": "named by colour (CO)",
    "M": "named by both (M)",
    "CMP": "two groups compared (CMP)",
}
_BY_DEPTH = ("#c9a9de", "#9a62bd", PEAK)
_PARTS = {"interaction": PEAK, "picture": SERIES[5], "question": SERIES[4]}
_TITLES = {
    "emap": "EMAP: how much of the output takes picture and question together",
    "intershap": "InterSHAP: share of the interaction, mean over scenes",
}
_UNDEFINED = "the same output everywhere"


def cross_figure(score: ExplainScore, scenario: str, what: str) -> Drawing:
    """EMAP's masses or InterSHAP's shares of one scenario, bucket by bucket."""
    found = {(c.bucket, c.density): c for c in score.crosses if c.scenario == scenario}
    densities = list(dict.fromkeys(density for _, density in found))
    lines = _lines({bucket for bucket, _ in found})
    with styled():
        figure = new_figure(2.6 + 3.9 * len(densities), 1.2 + 0.22 * len(lines))
        panels = figure.subplots(1, len(densities), squeeze=False, sharey=True)[0]
        for axes, density in zip(panels, densities, strict=True):
            for place, (key, _) in enumerate(lines):
                cross = found.get((key, density))
                if cross is not None:
                    _bar(axes, place, cross, what)
            scenes = sorted({cross.n for (_, at), cross in found.items() if at == density})
            counted = "–".join(str(n) for n in dict.fromkeys((scenes[0], scenes[-1])))
            axes.set_title(f"{density}, {counted} scenes crossed in each bucket", fontsize=9, color=QUIET)
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
            axes.grid(axis="x", color=FAINT)
            axes.tick_params(axis="y", length=0)
        first = panels[0]
        first.set_yticks(range(len(lines)), [words for _, words in lines], fontsize=8)
        for label, (key, _) in zip(first.get_yticklabels(), lines, strict=True):
            label.set_fontweight("normal" if key else "bold")
        first.set_ylim(len(lines) - 0.4, -0.6)
        _legend(first, what)
        figure.legend(loc="outside lower center", ncols=3)
        about = next((run for run in score.runs if run["scenario"] == scenario), None)
        told = f"{scenario}: {about['model']} on {about['mode']} scenes" if about else scenario
        figure.suptitle(f"{_TITLES[what]}\n{told}", x=0.01, ha="left", fontsize=11)
    return Drawing(figure)


def _lines(there: set[str]) -> list[tuple[str, str]]:
    """Every line from above: a kind's heading, with no bucket, and its buckets in words."""
    lines: list[tuple[str, str]] = []
    for kind, words in _KINDS.items():
        buckets = [b for b in BUCKETS if b.qtype == kind and b.key in there]
        if buckets:
            lines.append(("", words))
        for bucket in sorted(buckets, key=lambda b: (b.form, b.depth)):
            asked = (
                "are there more" if bucket.is_comparison else "is there any" if bucket.form else "how many"
            )
            lines.append((bucket.key, f"{asked}, depth {bucket.depth}"))
    return lines


def _bar(axes: Axes, place: int, cross: CrossFigure, what: str) -> None:
    depth = next(b.depth for b in BUCKETS if b.key == cross.bucket)
    if what == "emap":
        masses = {part: cross.figures[f"emap {part} mass"] for part in _PARTS}
        total = sum(masses.values())
        if total <= 0:
            _say(axes, place, 0.0, _UNDEFINED)
            return
        left = 0.0
        for part, colour in _PARTS.items():
            axes.barh(place, masses[part] / total, 0.78, left=left, color=colour)
            left += masses[part] / total
        share = masses["interaction"] / total
        inside = share > 0.12
        axes.text(
            share - 0.015 if inside else share + 0.015,
            place,
            f"{share:.2f}",
            ha="right" if inside else "left",
            va="center",
            fontsize=7,
            color="white" if inside else INK,
        )
        return
    value = cross.figures.get("intershap")
    if value is None:
        _say(axes, place, 0.0, _UNDEFINED)
        return
    axes.barh(place, value, 0.78, color=_BY_DEPTH[depth - 1])
    _say(axes, place, value, f"{value:.2f}")


def _say(axes: Axes, place: int, after: float, words: str) -> None:
    axes.text(after + 0.012, place, words, va="center", fontsize=7, color=INK if after else QUIET)


def _legend(axes: Axes, what: str) -> None:
    if what == "emap":
        for part, colour in _PARTS.items():
            name = "together" if part == "interaction" else f"{part} alone"
            axes.barh([0], [0], color=colour, label=name)
    else:
        for depth, colour in enumerate(_BY_DEPTH, 1):
            axes.barh([0], [0], color=colour, label=f"depth {depth}")
