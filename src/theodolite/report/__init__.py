"""Figures, in one look: `Drawing`s that hold matplotlib's figure and can `save` themselves.

Plain arrays, boxes and estimates go in; no figure knows a run. What a figure shows of one instrument lies in a module of
that instrument's name (`theodolite.report.compass_figures`); all draw with the same style.
"""

from __future__ import annotations

from theodolite.report._style import Drawing
from theodolite.report.compass_figures import CompassView, compass_overlay, compass_rows, heat_map, polar_plot
from theodolite.report.score_figures import (
    class_accuracy_and_error,
    deletion_curves,
    method_comparison,
    risk_coverage_curves,
)

__all__ = [
    "CompassView",
    "Drawing",
    "class_accuracy_and_error",
    "compass_overlay",
    "compass_rows",
    "deletion_curves",
    "heat_map",
    "method_comparison",
    "polar_plot",
    "risk_coverage_curves",
]
