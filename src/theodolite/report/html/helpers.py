"""Functions for the templates, and the axes of metrics and differences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from theodolite.diagnose.record import Comparison, Figure, MetricForm, MetricResult
from theodolite.report.html.definitions import Glossary
from theodolite.report.html.numbers import (
    about,
    duration,
    p_value,
    prose,
    sentence,
    show_number,
    upper_first,
)
from theodolite.report.html.series import Series
from theodolite.report.html.shares import share_bar
from theodolite.report.html.spread import HIGH
from theodolite.report.html.strips import Strip, shape, strip
from theodolite.report.summary import OUTCOMES, asked

_COMPARED = 14
"""Number of comparisons of two models that are not folded."""

_ASKED = re.compile(r"(?<= in )(\S+?)(?=(?: \([^)]*\))?\?)")
"""Matches the key of the metric in an open question."""
_DIFFERENCE = re.compile(r"The difference is ([-−+]?\d+\.\d+) \[([-−+]?\d+\.\d+), ([-−+]?\d+\.\d+)\]")


class Helpers:
    """Functions for the templates."""

    def __init__(self, series: Series, glossary: Glossary, metrics: Mapping[str, MetricForm]) -> None:
        self.series, self.glossary, self.metrics = series, glossary, metrics

    def named(self) -> dict[str, Any]:
        """Return the functions by their names in templates."""
        return {
            "anchor": self.glossary.anchor,
            "unit": self.glossary.unit,
            "difference_unit": self.difference_unit,
            "show": show_number,
            "about": about,
            "p_value": p_value,
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
            "HIGH": HIGH,
            "duration": duration,
            "upper_first": upper_first,
            "outcomes": OUTCOMES,
            "asked": asked,
        }

    def difference_unit(self, key: str) -> str:
        """Return the unit of a difference: points for shares."""
        unit = self.glossary.unit(key)
        return "points" if unit == "share" else unit

    def question_words(self, text: str) -> str:
        """Format a question, with short names, the name of the metric instead of its key, and differences of shares in points."""
        text = self.series.shortened(text)
        found = _ASKED.search(text)
        if found is None or found[1] not in self.metrics:
            return sentence(text)
        named = f"{text[: found.start()]}“{self.metrics[found[1]].name}”{text[found.end() :]}"
        return sentence(_DIFFERENCE.sub(partial(_difference, unit=self.difference_unit(found[1])), named))

    def metric_strip(self, result: MetricResult) -> Strip | None:
        """Place the twins and the models on the axis of a metric."""
        models = [
            (self.series.colour(c.model), self.series.order(c.model), c.figure.estimate())
            for c in result.models
            if c.figure is not None
        ]
        return strip(
            models,
            grounded=_estimate(result.grounded),
            shortcut=_estimate(result.shortcut),
            label=lambda value: show_number(value, self.glossary.unit(result.key)),
            bounds={"share": (0.0, 1.0), "points": (-1.0, 1.0)}.get(self.glossary.unit(result.key)),
        )

    def strip_words(self, result: MetricResult) -> str:
        """Return the text alternative of a strip."""
        unit = self.glossary.unit(result.key)
        known: list[tuple[str, Figure | None]] = [
            ("shortcut twin", result.shortcut),
            ("grounded twin", result.grounded),
            *((c.model, c.figure) for c in result.models),
        ]
        return ", ".join(f"{name} {show_number(f.value, unit)}" for name, f in known if f is not None)

    def difference_strips(
        self, rows: Sequence[Comparison], beside: Sequence[Comparison]
    ) -> list[Strip | None]:
        """Place differences on axes around zero, one strip per row. An axis is labelled only if it differs from the one above."""
        found: list[Strip | None] = []
        axis = None
        for comparison in rows:
            made = self._difference_strip(comparison, beside)
            if made is not None:
                ends = made.label_low, made.label_high
                if ends == axis:
                    made = replace(made, label_low="", label_high="", height=made.axis_y + 3.0)
                axis = ends
            found.append(made)
        return found

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
            [(self.series.colour(comparison.first), 0, comparison.difference.estimate())],
            label=lambda value: show_number(value, unit, sign=True),
            span=(-widest, widest),
            show_zero=True,
        )


def _difference(found: re.Match[str], *, unit: str) -> str:
    value, low, high = (float(part.replace("−", "-")) for part in found.groups())
    ends = ", ".join(show_number(end, unit, sign=True, with_unit=False) for end in (low, high))
    return f"The difference is {show_number(value, unit, sign=True)} [{ends}]"


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
        cut = _COMPARED if len(rows) > _COMPARED + 2 else len(rows)
        groups.append((*pair, rows[:cut], rows[cut:]))
    return groups


def _estimate(figure: Figure | None) -> Any:
    return None if figure is None else figure.estimate()
