"""The longer tables of ``theodolite scene score``."""

from __future__ import annotations

from theodolite.cli.console import out
from theodolite.cli.output import percent, print_table
from theodolite.instruments.scene.score import SceneScore


def show_graphs(result: SceneScore) -> None:
    """How many graphs could be read, and how many are whole; apart from how good they are."""
    if not result.graphs:
        return
    print_table(
        [
            "graphs",
            "asked",
            "valid JSON",
            "readable",
            "complete",
            "impossible triangles",
            "refused",
            "failed",
            "pending",
        ],
        [
            [
                figures.setting,
                str(figures.asked),
                percent(figures.valid_json),
                percent(figures.readable),
                percent(figures.complete),
                percent(figures.contradicts_itself),
                str(figures.refused),
                str(figures.failed),
                str(figures.pending),
            ]
            for figures in result.graphs
        ],
    )


def show_details(result: SceneScore) -> None:
    """Every group, every part of the graphs, everything that was wrong with them, and cases to look at."""
    print_table(
        ["group", "n", "QA", "derived QA", "consistency", "solver ceiling", "unseeing"],
        [
            [
                f"{group.competency} ({group.form})",
                str(group.n),
                *(
                    percent(part)
                    for part in (group.qa, group.derived, group.consistency, group.ceiling, group.prior)
                ),
            ]
            for group in result.groups
        ],
    )
    print_table(
        ["difficulty of the scene", "QA"],
        [[difficulty, percent(estimate)] for difficulty, estimate in result.difficulties.items()],
    )
    parts = ("size", "distance_to_camera", "distance", "relation", "stated", "sgc_of_read")
    names = (
        "S_size",
        "S_dist_to_cam",
        "S_dist",
        "S_rel",
        "S_rel where a word is true",
        "SGC of readable graphs",
    )
    print_table(
        ["graphs", *(f"{figures.setting}" for figures in result.graphs)],
        [
            [name, *(percent(getattr(figures.parts, part)) for figures in result.graphs)]
            for part, name in zip(parts, names, strict=True)
        ],
    )
    troubles = sorted({kind for figures in result.graphs for kind in figures.troubles})
    if troubles:
        print_table(
            ["in the graphs", *(figures.setting for figures in result.graphs)],
            [[kind, *(str(figures.troubles.get(kind, 0)) for figures in result.graphs)] for kind in troubles],
        )
    if result.failed_derivations:
        print_table(
            ["no answer from its own graph", "questions"],
            [[reason, str(n)] for reason, n in result.failed_derivations.items()],
        )
    for case in result.cases:
        out.print()
        out.print(f"{case.cell}: {case.question} (SGC {100 * (case.sgc or 0):.0f} %)", style="bold")
        out.print(case.text, markup=False)
        out.print(f"gold {case.gold}, said {case.direct}, its graph says {case.derived}", markup=False)
