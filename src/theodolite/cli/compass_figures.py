"""The figures of ``compass score`` and ``compass utility``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from theodolite.cli.console import note
from theodolite.instruments.compass.experiments.ablations import default_key
from theodolite.instruments.compass.experiments.framework import Row
from theodolite.instruments.compass.figures.plots import (
    DirectionFigures,
    class_accuracy_and_error,
    method_comparison,
    risk_coverage_curves,
)
from theodolite.instruments.compass.score_records import CompassScore
from theodolite.stats import RiskCoverage


def save_score_figures(result: CompassScore, folder: Path) -> None:
    """Every method beside the uniform map, and accuracy beside error for each direction (Figure 5), per projection."""
    for name, rows in result.tables.items():
        methods = {row.name: row.dae for row in rows if row.kind == "method" and row.dae is not None}
        if methods:
            uniform = next(row.dae for row in rows if row.method == "uniform-map")
            drawing = method_comparison(
                methods,
                layout=uniform,
                published={row.name: row.published[0].dae_deg for row in rows if row.published},
                source=_source(rows),
                title=f"{Path(result.model.partition('?')[0]).name}, {name} projection",
            )
            note(f"wrote {drawing.save(folder / f'methods-{name}.png')}")
        classes = result.comparisons[name].classes
        key = default_key(list(classes[0].dae)) if classes else ""
        shown = {
            row.direction: DirectionFigures(row.accuracy, dae, row.uniform_dae)
            for row in classes
            if row.accuracy is not None and (dae := row.dae[key]) is not None
        }
        if shown:
            drawing = class_accuracy_and_error(
                shown, chance=result.chance, title=f"{key.removesuffix('@')}, {name} projection"
            )
            note(f"wrote {drawing.save(folder / f'classes-{name}.png')}")


def _source(rows: tuple[Row, ...]) -> str:
    """Where the paper's figures come from."""
    found = dict.fromkeys(f"{each.source}, {each.data}" for row in rows for each in row.published)
    return "; ".join(found)


def save_risk_coverage(curves: Mapping[str, RiskCoverage], folder: Path, *, at: float) -> None:
    """What ranks by logits, by the paper's own map and by the layout, with and without the truth."""
    keys = [name.removesuffix(" agreement") for name in curves if name.endswith(" agreement")]
    own = default_key([key for key in keys if key != "uniform-map"]) if len(keys) > 1 else keys[0]
    named = {
        "max probability": "max probability",
        "random": "random",
        "map, with the truth": f"{own} DAE",
        "layout, with the truth": "uniform-map DAE",
        "map, honest": f"{own} agreement",
        "layout, honest": "uniform-map agreement",
    }
    shown = {words: curves[name] for words, name in named.items() if name in curves}
    drawing = risk_coverage_curves(shown, at=at, title=f"answering only where one is sure: {own}")
    note(f"wrote {drawing.save(folder / 'risk-coverage.png')}")
