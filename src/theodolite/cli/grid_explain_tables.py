"""Tables of explained runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.text import Text

from theodolite.cli.console import out
from theodolite.cli.output import p_value, print_table
from theodolite.instruments.grid.estimates import Cell
from theodolite.instruments.grid.published_explanations import (
    RMA,
    SOURCE,
    TABLES_SOURCE,
    PaperCell,
    paper_tables,
)
from theodolite.instruments.grid.score import ExplainScore
from theodolite.stats import Estimate

_TABLES = {
    ("pure", "rma"): "Table 5: RMA in per cent, pure scenario",
    ("pure", "iou"): "Table 6: IoU in per cent, pure scenario",
    ("spurious", "rma"): "Table 7: RMA in per cent, spurious scenario",
    ("spurious", "iou"): "Table 8: IoU in per cent, spurious scenario",
    ("cross", "rma"): "RMA in per cent, cross scenario",
    ("cross", "iou"): "IoU in per cent, cross scenario",
}


def show_score(score: ExplainScore) -> None:
    """Everything, table by table."""
    print_table(
        ["run", "scenario", "model", "data", "scenes", "right", "pending", "failed"],
        [
            [
                str(r[key])
                for key in ("run", "scenario", "model", "mode", "scenes", "right", "pending", "failed")
            ]
            for r in score.runs
        ],
    )
    for run in score.runs:
        for measure in ("rma", "iou"):
            _bucket_table(score, run["scenario"], measure)
    _beside(score)
    _overall(score)
    _words(score)
    _separations(score)
    _gaps(score)
    _depths(score)
    _crosses(score)
    _costs(score)


def _interval(estimate: Estimate | None, digits: int = 2) -> str:
    if estimate is None:
        return "–"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def _bucket_table(score: ExplainScore, scenario: str, measure: str) -> None:
    """The paper's form: a row for each bucket, mean ± standard deviation; what the paper has stands beside its explainer."""
    cells = [c for c in score.tables.get("buckets", ()) if (c.scenario, c.measure) == (scenario, measure)]
    if not cells:
        return
    by_place = {(c.group, c.explainer): c for c in cells}
    paper = {
        (c.group, c.explainer): c for c in paper_tables() if (c.scenario, c.measure) == (scenario, measure)
    }
    columns: list[tuple[str, str]] = []
    for name in _in_order(dict.fromkeys(c.explainer for c in cells), {name for _, name in paper}):
        columns += [(name, "")] + ([(name, "paper")] if any(n == name for _, n in paper) else [])
    title = _TABLES.get((scenario, measure), f"{measure.upper()} in per cent, {scenario}")
    if paper:
        title += f"; paper: {TABLES_SOURCE}"
    for start in range(0, len(columns), _COLUMNS):
        shown = columns[start : start + _COLUMNS]
        rows = [
            [
                group,
                *(
                    (_paper(paper.get((group, n))) if what else _mean(by_place.get((group, n))))
                    for n, what in shown
                ),
            ]
            for group in dict.fromkeys(c.group for c in cells)
        ]
        out.print()
        print_table(["bucket", *(f"{name} {what}".strip() for name, what in shown)], rows, title=title)


_COLUMNS = 8
"""Explainers that fit beside one another."""


def _in_order(names: Iterable[str], first: set[str]) -> list[str]:
    """Those that the paper has, then the others."""
    return sorted(names, key=lambda name: (name not in first, name))


def _paper(cell: PaperCell | None) -> str:
    return "–" if cell is None else f"{100 * cell.mean:.1f} ± {100 * cell.std:.1f}"


def _mean(cell: Cell | None) -> str:
    if cell is None or cell.mean is None or cell.std is None:
        return "–"
    return f"{100 * cell.mean:.1f} ± {100 * cell.std:.1f} ({cell.n})"


def _beside(score: ExplainScore) -> None:
    rows = [
        [
            f"Table {b.table}",
            b.scenario,
            b.explainer,
            b.measure,
            f"{100 * b.ours:.1f}",
            f"{100 * b.paper:.1f}",
            _interval(b.likeness),
            str(b.n),
        ]
        for b in score.beside
    ]
    if rows:
        out.print()
        title = f"Beside the paper ({TABLES_SOURCE}): means in per cent over the buckets that both have, and Spearman over buckets"
        columns = ["", "scenario", "explainer", "ours", "mean", "paper", "likeness", "buckets"]
        print_table(columns, rows, title=title)


def _overall(score: ExplainScore) -> None:
    wanted = ("rma", "area", "normalised rma", "rra", "auc", "iou", "iou (paper)", "adversarial mass")
    cells = {(c.scenario, c.explainer, c.measure): c for c in score.tables.get("all", ())}
    rows = []
    for scenario, explainer in dict.fromkeys((s, e) for s, e, _ in cells):
        first = cells[scenario, explainer, "rma"]
        paper = RMA.get((explainer, scenario))
        rows.append(
            [
                scenario,
                explainer,
                *(
                    _interval(cells[scenario, explainer, m].estimate)
                    if (scenario, explainer, m) in cells
                    else "–"
                    for m in wanted
                ),
                "–" if paper is None else f"{paper:.2f}",
                f"{first.n}+{first.no_relevance}+{first.no_truth}",
            ]
        )
    out.print()
    title = f"All scenes, mean and 95 % interval. n: scored + without relevance + without truth. paper: RMA in {SOURCE}"
    print_table(["scenario", "explainer", *wanted, "paper", "n"], rows, title=title)


def _words(score: ExplainScore) -> None:
    cells = {(c.scenario, c.explainer, c.measure): c for c in score.tables.get("words, relational", ())}
    measures = list(dict.fromkeys(m for _, _, m in cells))
    rows = [
        [s, e, *(_interval(cells[s, e, m].estimate) for m in measures), str(cells[s, e, measures[0]].n)]
        for s, e in dict.fromkeys((s, e) for s, e, _ in cells)
    ]
    out.print()
    print_table(
        ["scenario", "explainer", *measures, "n"], rows, title="Relevance of words, questions with a relation"
    )


def _separations(score: ExplainScore) -> None:
    if not score.separations:
        return
    rows = [
        [
            s.explainer,
            s.figure,
            "–" if s.pure is None else f"{s.pure:.2f} ({s.n_pure})",
            "–" if s.spur is None else f"{s.spur:.2f} ({s.n_spur})",
            _interval(s.auc),
            str(s.left_out),
        ]
        for s in score.separations
    ]
    out.print()
    title = "Does it tell the two models apart, on the same scenes? AUC, clustered by scene; 0.5 is blind"
    print_table(["explainer", "figure", "pure (n)", "spur (n)", "AUC", "left out"], rows, title=title)


def _gaps(score: ExplainScore) -> None:
    rows = [[g.scenario, g.name, g.explainer, _interval(g.estimate), str(g.estimate.n)] for g in score.gaps]
    if rows:
        out.print()
        print_table(["scenario", "difference of RMA", "explainer", "points of 1", "n"], rows)


def _depths(score: ExplainScore) -> None:
    rows = [
        [
            d.scenario,
            d.scalar if d.reading == "plain" else f"{d.scalar}, {d.reading}",
            d.kind,
            d.density,
            " → ".join(f"{d.means[depth]:.2f}" for depth in sorted(d.means)),
            "–" if d.trend is None else p_value(d.trend.p_value),
            "–" if d.likeness is None else _interval(d.likeness.estimate),
            "rises" if d.rises else "stays" if d.stays else "neither shown",
            f"{sum(d.n.values())} ({d.left_out} left out)",
        ]
        for d in score.depths
    ]
    if rows:
        out.print()
        title = "Additive fallacy: synergy over depth. Trend: Jonckheere–Terpstra, increasing; change: deepest less shallowest, 90 %"
        print_table(
            ["scenario", "scalar", "kind", "density", "by depth", "trend p", "change", "verdict", "n"],
            rows,
            title=title,
        )


def _crosses(score: ExplainScore) -> None:
    if not score.crosses:
        return
    names = list(dict.fromkeys(name for c in score.crosses for name in c.figures))
    rows = [
        [
            c.scenario,
            f"{c.bucket} {c.density}",
            str(c.n),
            *(f"{c.figures[n]:.2f}" if n in c.figures else "–" for n in names),
        ]
        for c in score.crosses
    ]
    out.print()
    print_table(
        ["scenario", "bucket", "n", *names], rows, title="Cross matrices: EMAP, InterSHAP, PID (bits)"
    )
    reasons = Counter(f"{name}: {why}" for c in score.crosses for name, why in c.missing.items())
    for reason, count in reasons.items():
        out.print(Text(f"{count} of {len(score.crosses)} without {reason}"))


def _costs(score: ExplainScore) -> None:
    rows = [
        [
            c.scenario,
            c.explainer,
            f"{c.calls_mean:.0f}",
            str(c.calls_most),
            f"{c.exact} of {c.measured}",
            str(c.no_relevance),
            str(c.no_truth),
            str(c.not_measured) + ("".join(f": {reason}" for reason in list(c.reasons)[:1])),
        ]
        for c in score.costs
    ]
    out.print()
    columns = ["scenario", "explainer", "calls", "most", "exact", "no relevance", "no truth", "not measured"]
    print_table(columns, rows, title="What it cost: model calls a scene")
