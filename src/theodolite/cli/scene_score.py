"""``theodolite scene score`` and ``scene solver``: what a run is worth, and what its solver can reach."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from rich.text import Text

from theodolite.cli import options as o
from theodolite.cli.console import note, out, print_json
from theodolite.cli.output import p_value, percent, points, print_table
from theodolite.cli.scene_figures import draw_cases, draw_scores
from theodolite.cli.scene_tables import show_details, show_graphs
from theodolite.core.errors import UsageError
from theodolite.core.signatures import Signature
from theodolite.instruments.scene.data.files import read_data
from theodolite.instruments.scene.experiments.ceiling import Ceiling, solver_ceilings
from theodolite.instruments.scene.formulas.sgc import Comparison as MraComparison
from theodolite.instruments.scene.formulas.solver import Solving
from theodolite.instruments.scene.results import read_rows
from theodolite.instruments.scene.score import DomainScore, SceneScore, ScoreOptions, score_rows, score_scenes
from theodolite.runs import Run
from theodolite.stats import Estimate

_COLOURS = {"raised": "bold red", "not raised": "dim", "not measured": "yellow"}

SolverOption = Annotated[
    str, typer.Option("--solver", metavar="geometric|upstream", help="How answers are derived from graphs.")
]
MraOption = Annotated[
    str, typer.Option("--mra", metavar="<|<=", help="The paper's comparison in MRA, or the public code's.")
]


def options_of(solver: str, mra: str, seed: int) -> ScoreOptions:
    """The readings that were asked for."""
    if solver not in get_args(Solving):
        raise UsageError(f"--solver takes {' or '.join(get_args(Solving))}, not {solver!r}")
    if mra not in get_args(MraComparison):
        raise UsageError(f"--mra takes {' or '.join(get_args(MraComparison))}, not {mra!r}")
    return ScoreOptions(seed, cast("MraComparison", mra), cast("Solving", solver))


def score(  # noqa: PLR0913, PLR0917 - one parameter per option
    run: o.RunFolder,
    solver: SolverOption = "geometric",
    mra: MraOption = "<",
    mode: Annotated[
        str | None, typer.Option("--mode", help="Which mode of answering, of a run that has several.")
    ] = None,
    seed: o.Seed = 0,
    details: Annotated[
        bool, typer.Option("--details", help="Also groups, troubles of the graphs, and picked cases.")
    ] = False,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Draw the figures into this folder.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option("--beside", metavar="RUN", help="Draw this run beside it; may be repeated."),
    ] = None,
    json: o.AsJson = False,
) -> None:
    """Score a run from its stored answers: Tables 1 and 2, the confusion matrix, the interventions, the signatures."""
    options = options_of(solver, mra, seed)
    mode = mode.replace("-", " ") if mode is not None else None
    if beside and figures is None:
        raise UsageError("--beside draws other runs into the figures: name a folder for them with --figures")
    with Run.open(run, writable=True) as opened:
        result = score_scenes(opened, options, mode=mode)
        if figures is not None:
            scores = {result.model: result}
            for other in beside or ():
                with Run.open(other) as there:
                    scores[_free(there.info.model, scores)] = score_rows(read_rows(there, mode=mode), options)
            drawn = [*draw_scores(scores, figures), *draw_cases(opened, result, figures)]
            note(f"drew {len(drawn)} figures into {figures}")
    if json:
        print_json(result.as_json())
        return
    show_score(result)
    if details:
        show_details(result)


def _free(name: str, taken: dict[str, SceneScore]) -> str:
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def show_score(result: SceneScore) -> None:
    """The tables of a score."""
    _table_1(result)
    show_graphs(result)
    _table_2(result)
    _confusion(result)
    _interventions(result)
    _threshold(result)
    _signatures(result.signatures)


def _table_1(result: SceneScore) -> None:
    rows = [_row_1(row) for row in result.table]
    first = result.table[0]
    rows.append(["without looking", bare(first.qa_prior), bare(first.sgc_prior), *[""] * 5])
    print_table(
        ["in per cent", "QA", "SGC", "S_est", "S_rel", "consistency", "derived QA", "solver ceiling"],
        rows,
        title=f"Table 1: {result.model}, {result.mode}; MRA {result.options.comparison}, solver {result.options.solver}",
    )
    counts = [
        (c.setting, c.asked, c.pending, c.failed, c.refused, c.unreadable, c.ambiguous, c.without_graph)
        for c in result.counts
    ]
    if any(any(row[2:]) for row in counts):
        columns = ("asked", "pending", "failed", "refused", "unreadable", "ambiguous", "for want of a graph")
        print_table(["questions", *columns], [list(map(str, row)) for row in counts])


def _row_1(row: DomainScore) -> list[str]:
    graphs = row.graphs
    return [
        row.domain or "overall",
        bare(row.qa),
        *(bare(getattr(graphs, part) if graphs else None) for part in ("sgc", "estimate", "relation")),
        bare(row.consistency),
        bare(row.derived),
        bare(row.ceiling),
    ]


def bare(estimate: Estimate | None) -> str:
    """A share with its interval, in per cent without the sign."""
    return percent(estimate).replace(" %", "")


def _table_2(result: SceneScore) -> None:
    blind = result.blind
    if blind is None:
        return
    print_table(
        ["without the picture", "score", "drop in points", "refused"],
        [
            ["QA", percent(blind.qa), _points(blind.qa_drop), percent(blind.refused)],
            ["SGC", percent(blind.sgc), _points(blind.sgc_drop), percent(blind.refused_graphs)],
            ["drop of QA − drop of SGC", "", _points(blind.gap), ""],
            ["same answer as with it", percent(blind.same_answer), "", ""],
        ],
        title="Table 2: the blind test",
    )


def _confusion(result: SceneScore) -> None:
    first = result.table[0]
    if first.derived is None:
        return
    cells = list(dict.fromkeys(cell for matrix in result.confusions for cell in matrix.shares))
    print_table(
        ["base QA against derived QA", *(f"{matrix.form}s" for matrix in result.confusions)],
        [[cell, *(percent(matrix.shares[cell]) for matrix in result.confusions)] for cell in cells],
    )
    gap, ceiling = _points(first.base_minus_derived), percent(first.ceiling)
    out.print(f"base QA minus derived QA, in points: {gap}; solver ceiling {ceiling}", markup=False)


def _interventions(result: SceneScore) -> None:
    if len({figures.setting for figures in result.interventions}) < 2:
        return
    print_table(
        ["setting", "questions", "QA", "gain over base", "p", "for want of a graph"],
        [
            [
                figures.setting,
                figures.layer or "all",
                percent(figures.qa),
                _points(figures.gain),
                p_value(figures.test.p_value) if figures.test is not None else "–",
                str(figures.without_graph or ""),
            ]
            for figures in result.interventions
        ],
        title="Interventions",
    )


def _threshold(result: SceneScore) -> None:
    found = result.threshold
    if found is None:
        return
    print_table(
        ["noise", "SGC of the graph", "QA with it", "gain over base"],
        [
            [f"{level.noise:g}", percent(level.quality), percent(level.qa), _points(level.gain)]
            for level in found.levels
        ],
        title="How good must a graph be to help?",
    )
    note(f"crossing at an SGC of {percent(found.crossing)}" if found.crossing is not None else found.because)


def _signatures(signatures: tuple[Signature, ...]) -> None:
    out.print()
    for signature in signatures:
        said = Text(f"{signature.standing:13}", style=_COLOURS[signature.standing])
        test = (
            f" (p {p_value(signature.test.p_value)})"
            if signature.test is not None and signature.is_raised
            else ""
        )
        out.print(said, Text(f"{signature.name}{test}: {signature.because}"), soft_wrap=True)


def solver(
    data: Annotated[Path, typer.Argument(metavar="DIR", help="A data set of scenes.")],
    mra: MraOption = "<",
    seed: o.Seed = 0,
    json: o.AsJson = False,
) -> None:
    """Answer every question from the true graph: the ceiling of derived QA and of self-consistency, for both solvers."""
    found = read_data(data)
    if not found.questions:
        raise UsageError(f"{data} holds no question, so there is nothing to solve")
    options = options_of("geometric", mra, seed)
    ceilings = solver_ceilings(found.scenes, found.questions, comparison=options.comparison, seed=seed)
    if json:
        print_json([ceiling.as_json() for ceiling in ceilings])
        return
    _show_ceilings(ceilings)


def _show_ceilings(ceilings: tuple[Ceiling, ...]) -> None:
    """A table for each solver, so that every figure has room for its interval."""
    for name in dict.fromkeys(ceiling.solver for ceiling in ceilings):
        part = [ceiling for ceiling in ceilings if ceiling.solver == name]
        groups = list(dict.fromkeys(group for ceiling in part for group in ceiling.groups))
        print_table(
            ["true graph, solved", *(c.domain or "overall" for c in part)],
            [
                *([group, *(percent(c.groups.get(group)) for c in part)] for group in groups),
                ["macro", *(percent(c.macro) for c in part)],
                ["questions without an answer", *(str(sum(c.failed.values())) for c in part)],
                ["impossible triangles", *(f"{c.broken_triangles} of {c.triangles}" for c in part)],
            ],
            title=f"solver {name}",
        )


def _points(estimate: Estimate | None) -> str:
    return points(estimate) if estimate is not None else "–"
