"""The tables of ``compass score`` beside its main one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.text import Text

from theodolite.cli.compass_cells import NOTHING, counts, degrees, share
from theodolite.cli.console import out
from theodolite.cli.output import percent, print_table
from theodolite.instruments.compass.published_tables import PublishedRow
from theodolite.instruments.compass.score_records import Comparisons, CompassScore


def show_details(result: CompassScore, name: str) -> None:
    """Prints one further table, for every projection where it has one for each."""
    out.print()
    if name in _ONCE:
        _ONCE[name](result)
        return
    for projection, comparisons in result.comparisons.items():
        _BY_PROJECTION[name](result, projection, comparisons)


def show_published(rows: Mapping[str, PublishedRow]) -> None:
    """What the paper reports in the same rows of the same model and data."""
    for name, row in rows.items():
        out.print(Text(f"reported: {name}: {row}"), style="dim")


def _targets(_: CompassScore, projection: str, found: Comparisons) -> None:
    print_table(
        [
            "method",
            "gt: DAE",
            "− uniform",
            "EA",
            "pred: DAE",
            "− uniform",
            "EA",
            "gt − pred",
            "same peak",
            "n",
        ],
        [
            [
                row.method,
                degrees(row.gt_dae),
                degrees(row.gt_excess_dae, signed=True),
                share(row.gt_edge_accuracy),
                degrees(row.pred_dae),
                degrees(row.pred_excess_dae, signed=True),
                share(row.pred_edge_accuracy),
                degrees(row.difference, signed=True),
                percent(row.same_peak),
                str(row.n),
            ]
            for row in found.targets
        ],
        title=f"whose logit is explained · {projection}",
    )


def _classes(_: CompassScore, projection: str, found: Comparisons) -> None:
    rows = found.classes
    keys = list(rows[0].dae) if rows else []
    print_table(
        ["", *(f"{row.direction} (n={row.n})" for row in rows)],
        [
            ["answers right", *(percent(row.accuracy) for row in rows)],
            ["uniform-map", *(degrees(row.uniform_dae) for row in rows)],
            *(
                line
                for key in keys
                for line in (
                    [key.removesuffix("@"), *(degrees(row.dae[key]) for row in rows)],
                    ["  − uniform-map", *(degrees(row.excess_dae[key], signed=True) for row in rows)],
                )
            ),
        ],
        title=f"by true direction: accuracy of the answers, and DAE · {projection}",
    )


def _answers(_: CompassScore, projection: str, found: Comparisons) -> None:
    print_table(
        [
            "method",
            "for",
            "right: DAE",
            "− uniform",
            "EA",
            "wrong: DAE",
            "− uniform",
            "EA",
            "wrong − right",
            "of the uniform map",
            "n",
        ],
        [
            [
                row.method,
                row.target,
                degrees(row.correct_dae),
                degrees(row.correct_excess_dae, signed=True),
                share(row.correct_edge_accuracy),
                degrees(row.incorrect_dae),
                degrees(row.incorrect_excess_dae, signed=True),
                share(row.incorrect_edge_accuracy),
                degrees(row.gap, signed=True),
                degrees(row.uniform_gap, signed=True),
                f"{row.n_correct} + {row.n_incorrect}",
            ]
            for row in found.answers
        ],
        title=f"right and wrong answers · {projection}",
    )


def _readouts(_: CompassScore, projection: str, found: Comparisons) -> None:
    print_table(
        [
            "method",
            "for",
            "peak: DAE",
            "− uniform",
            "EA",
            "circular mean: DAE",
            "EA",
            "mean − peak",
            "r",
            "n",
        ],
        [
            [
                row.method,
                row.target,
                degrees(row.peak_dae),
                degrees(row.peak_excess_dae, signed=True),
                share(row.peak_edge_accuracy),
                degrees(row.mean_dae),
                share(row.mean_edge_accuracy),
                degrees(row.difference, signed=True),
                share(row.correlation),
                str(row.n),
            ]
            for row in found.readouts
        ],
        title=f"peak against circular mean · {projection}",
    )


def _labels(result: CompassScore, projection: str, _: Comparisons) -> None:
    rows = result.tables[projection]
    labels = list(rows[0].labels)
    print_table(
        ["method", "for", *labels],
        [[row.method, row.target, *(percent(row.labels[label]) for label in labels)] for row in rows],
        title=f"what each pair's compass shows · {projection}",
    )
    out.print(result.thresholds, style="dim")


def _exclusions(result: CompassScore, projection: str, _: Comparisons) -> None:
    print_table(
        ["method", "for", "n", "tied peaks", "no mean", "left out"],
        [
            [row.method, row.target, str(row.n), str(row.tied), str(row.without_mean), counts(row.excluded)]
            for row in result.tables[projection]
        ],
        title=f"what was left out · {projection}",
    )
    for caveat in result.caveats:
        out.print(f"– {caveat}")


def _prompts(result: CompassScore) -> None:
    if not result.prompts:
        out.print(
            f"prompts: only {result.prompt} was asked; `compass run --prompt all` asks all three, `--prompt FILE` your own"
        )
        return
    on = "development pairs" if result.development is not None else "all pairs"
    print_table(
        ["prompt", "answers right", "method", "for", "DAE", "− uniform", "EA", "n"],
        [
            [
                row.prompt,
                percent(row.accuracy),
                row.method,
                row.target,
                degrees(row.dae),
                degrees(row.excess_dae, signed=True),
                share(row.edge_accuracy),
                str(row.n),
            ]
            for row in result.prompts
        ],
        title=f"prompts, on {on} asked with each of them · {next(iter(result.tables))}",
    )
    show_published(result.published.get("prompts", {}))


def _ablations(result: CompassScore) -> None:
    print_table(
        ["configuration", "of the", "DAE", "− uniform", "EA", "− default", "n"],
        [
            [
                row.name,
                row.of,
                degrees(row.dae),
                degrees(row.excess_dae, signed=True),
                share(row.edge_accuracy),
                degrees(row.change, signed=True) if row.change is not None else NOTHING,
                str(row.n),
            ]
            for row in result.ablations
        ],
        title=f"ablations of {result.ablated}",
    )
    show_published(result.published.get("ablations", {}))


_ONCE: Mapping[str, Callable[[CompassScore], None]] = {"prompts": _prompts, "ablations": _ablations}
_BY_PROJECTION: Mapping[str, Callable[[CompassScore, str, Comparisons], None]] = {
    "targets": _targets,
    "classes": _classes,
    "answers": _answers,
    "readouts": _readouts,
    "labels": _labels,
    "exclusions": _exclusions,
}
