"""``theodolite trace predict``: does grounding predict robustness?"""

from __future__ import annotations

import json as json_text
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from theodolite.cli import options as o
from theodolite.cli.console import note, out, print_json
from theodolite.cli.output import p_value, print_table
from theodolite.cli.trace_figures import draw_law, tell
from theodolite.cli.trace_tables import number
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.data.dataset import read_episodes
from theodolite.instruments.trace.experiments.paper import paper_rows, paper_tables
from theodolite.instruments.trace.experiments.predict import (
    Association,
    ModelRow,
    Prediction,
    predict_robustness,
)
from theodolite.instruments.trace.experiments.prediction_rows import (
    add_predictors,
    read_model_rows,
    rows_from_scores,
    with_relevance,
)
from theodolite.instruments.trace.experiments.relevance import INSTRUMENT as RELEVANCE
from theodolite.instruments.trace.experiments.robustness import robustness_table
from theodolite.runs import Run

app = typer.Typer()


@app.command("predict")
def predict(  # noqa: PLR0913, PLR0917 - one parameter per option
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]…",
            help="Scored runs, in distribution and out of it; runs of `trace relevance` may be among them.",
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--table", metavar="CSV", help="A table of one's own, as shares.")
    ] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The paper's own Tables 1 to 3.")] = False,
    within: Annotated[
        float, typer.Option("--matched-within", min=0, help="What counts as the same accuracy.")
    ] = 0.01,
    beside: Annotated[
        Path | None,
        typer.Option(
            "--baselines",
            metavar="CSV",
            help="Further predictors of the runs: columns model, benchmark, and any of attention, gradient, …",
        ),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Draw SGR against OOD into this folder.")
    ] = None,
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Does grounding predict robustness? By model, with accuracy beside it."""
    if sum((bool(runs), table is not None, paper)) != 1:
        raise UsageError("give scored runs, or --table, or --paper: exactly one of them")
    if beside is not None and not runs:
        raise UsageError("--baselines goes with runs; a --table has its predictors as columns")
    conditions: list[object] = []
    if paper:
        rows: list[ModelRow] = paper_rows()
    elif table is not None:
        rows = read_model_rows(table)
    else:
        rows, conditions = _from_runs(runs or [])
    if beside is not None:
        rows = add_predictors(rows, beside)
    result = predict_robustness(rows, matched_within=within, seed=seed)
    if figures is not None:
        tell(draw_law(rows, result, figures), figures)
    if json:
        print_json(
            {
                "rows": [asdict(row) for row in rows],
                "prediction": asdict(result),
                "robustness": conditions,
                **({"printed": paper_tables()["printed"]} if paper else {}),
            }
        )
        return
    _show_prediction(result)
    _show_conditions(conditions)
    if paper:
        note(f"{paper_tables()['source']}; the text prints: {json_text.dumps(paper_tables()['printed'])}")


def _show_conditions(conditions: list[object]) -> None:
    if conditions:
        out.print()
        print_table(
            [
                "condition",
                "r with retention",
                "ρ with the reference",
                "shift in points",
                "seconds a sample",
                "models",
            ],
            [[str(cell) for cell in row] for row in _condition_rows(conditions)],
            title="robustness of the finding",
        )


def _from_runs(folders: list[Path]) -> tuple[list[ModelRow], list[object]]:
    scores, worlds, places, baselines = [], [], [], []
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("a run is named twice; give each once")
    for folder in folders:
        with Run.open(folder) as run:
            score = run.scores()
            if score is not None and run.info.instrument == RELEVANCE:
                baselines.append(score)
                continue
            if score is None or run.info.instrument != "trace":
                raise UsageError(
                    f"{folder} is no scored run of trace; `theodolite trace score {folder}` scores it"
                )
            data = Path(str(run.info.settings["data"]))
            world = read_episodes(data).episodes[0].world if data.exists() else ""
        scores.append(score)
        worlds.append(world or data.name)
        places.append(folder)
        if not data.exists():
            note(f"{folder}: its data are no longer at {data}, so the benchmark is called {data.name}")
    rows, conditions, why = rows_from_scores(scores, worlds, folders=places)
    rows, lonely = with_relevance(rows, baselines)
    for reason in (*why, *lonely):
        note(reason)
    retention: dict[str, list[float]] = {}
    for row in rows:
        retention.setdefault(row.model, []).append(row.retention("ratio"))
    styles = list(conditions.values())
    means = {model: sum(values) / len(values) for model, values in retention.items()}
    found = robustness_table(styles[0], styles[1:], means) if styles else []
    return rows, [asdict(row) for row in found]


def _condition_rows(rows: list[object]) -> list[list[str]]:
    found = []
    for row in rows:
        r = dict(row)  # type: ignore[call-overload]  # our own rows, as plain JSON
        found.append(
            [
                str(r["condition"]),
                *(
                    f"{r[k]['value']:.2f} [{r[k]['low']:.2f}, {r[k]['high']:.2f}]" if r[k] else "–"
                    for k in ("r", "rho")
                ),
                "–" if r["shift"] is None else f"{100 * r['shift']:+.1f}",
                "–" if r["seconds"] is None else f"{r['seconds']:.3g}",
                str(r["n_models"]),
            ]
        )
    return found


def _show_prediction(result: Prediction) -> None:
    print_table(
        ["predictor", "retention as", "over", "r", "ρ of models", "p by model", "models", "rows"],
        [_association(a) for a in (*result.associations, *result.partial)],
        title="predicting robustness",
    )
    out.print()
    print_table(
        ["accuracy-matched pair", "on", "SGR gap", "degradation saved"],
        [
            [f"{p.better} over {p.other}", p.benchmark, f"{100 * p.sgr_gap:+.1f}", f"{100 * p.saved:+.1f}"]
            for p in result.pairs
        ],
    )
    for benchmark, count in result.n_sgr_above_accuracy.items():
        out.print(Text(f"{benchmark}: {count} models are better grounded than right"))
    if result.combinations:
        out.print()
        print_table(
            ["components", "r with retention (ratio), pooled"],
            [[a.predictor, number(a.r, 3)] for a in result.combinations],
        )


def _association(a: Association) -> list[str]:
    return [
        a.predictor,
        a.retention,
        a.scope,
        number(a.r, 3) if a.r is not None else f"– ({a.note})",
        number(a.rho),
        "–" if a.p_exact is None else ("< .001" if a.p_exact < 0.001 else p_value(a.p_exact)),
        str(a.n_models),
        str(a.n_rows),
    ]
