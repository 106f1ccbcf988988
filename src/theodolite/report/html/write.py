"""Write the HTML report: a page that opens from disk, without a network.

`write_report` is for a diagnosis, `write_run_report` for runs, `write_comparison` for a comparison of two of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from theodolite.core.types import Picture
from theodolite.diagnose.api import browse
from theodolite.diagnose.compare import LookingChange, Verdicts, looking_summary
from theodolite.diagnose.record import Comparison, MetricEntry
from theodolite.report.glossary import Glossary
from theodolite.report.html.diagnosis import diagnosis_page, missing_words
from theodolite.report.html.parts import (
    Helpers,
    Pictures,
    Series,
    comparison_groups,
    finished,
    into_folder,
    into_page,
    item_table,
)
from theodolite.report.html.runs import run_view, runs_context
from theodolite.runs import Run, write_atomically

__all__ = ["write_comparison", "write_report", "write_run_report"]

ALPHA = 0.05
PAGE = "index.html"


def write_report(folder: str | Path, *, out: str | Path | None = None, one_file: bool = False) -> Path:
    """Write the page of a diagnosis.

    Args:
        folder: The folder of ``diagnosis.json``. Items are shown if it has ``items.jsonl``.
        out: The folder of the page. Default: that of the diagnosis.
        one_file: If True, pictures are embedded in the page.

    Returns:
        The path of the page.
    """
    folder = Path(folder)
    home = folder if folder.is_dir() else folder.parent
    target = Path(out) if out is not None else home
    inside: dict[str, str] = {}
    page = diagnosis_page(folder, Pictures(into_page(inside) if one_file else into_folder(target)), inside)
    return _write(target, page)


def write_run_report(runs: Sequence[str | Path], *, out: str | Path, one_file: bool = False) -> Path:
    """Write one page for several runs.

    Args:
        runs: The folders of the runs.
        out: The folder of the page.
        one_file: If True, pictures are embedded in the page.

    Returns:
        The path of the page.
    """
    target = Path(out)
    inside: dict[str, str] = {}
    pictures = Pictures(into_page(inside) if one_file else into_folder(target))
    held: dict[str, Picture] = {}

    def place(picture: Picture) -> str:
        held[picture.digest] = picture
        return picture.digest

    views, rows = [], []
    names: dict[str, str] = {}
    for folder in map(Path, runs):
        with Run.open(folder) as run:
            browsed = browse(run, place)
            views.append(run_view(run, browsed, name=folder.name))
        rows += browsed.rows
        names |= {figure.key: figure.name for figure in browsed.figures}
    glossary = Glossary(names)
    table = item_table(rows, names, take=lambda name: pictures.take_picture(held[name]))
    blocks = table.blocks(glossary, inside)
    context = {**runs_context(views, glossary), "items_note": missing_words(pictures)}
    return _write(target, finished("run.html", context, glossary, blocks))


def write_comparison(
    comparisons: Sequence[Comparison],
    *,
    metrics: Sequence[MetricEntry],
    out: str | Path,
    title: str = "",
    notes: Sequence[str] = (),
    verdicts: Sequence[Verdicts] = (),
    looking: Sequence[LookingChange] = (),
) -> Path:
    """Write the page of paired comparisons of two runs, or of the models of a diagnosis.

    Args:
        comparisons: The differences.
        metrics: The metrics.
        out: The folder of the page.
        title: Title of the page. Default: the names of the models.
        notes: Notes to show at the top.
        verdicts: The verdicts on both models, by instrument.
        looking: Looking of both models, by instrument and kind of pictures.

    Returns:
        The path of the page.
    """
    models = list(dict.fromkeys(name for c in comparisons for name in (c.first, c.second)))
    series = Series(models)
    known = {metric.key: metric for metric in metrics}
    glossary = Glossary({key: metric.name for key, metric in known.items()})
    measured = [c for c in comparisons if c.difference is not None]
    n_different = sum(c.p_holm is not None and c.p_holm < ALPHA for c in measured)
    context = {
        **Helpers(series, glossary, known).named(),
        "comparison_groups": comparison_groups,
        "d": {"comparisons": comparisons},
        "title": title or " against ".join(map(series.name, models)) or "Nothing to compare",
        "eyebrow": "Paired comparison on the same items",
        "summary": _summary(looking, models, series, n_different, len(measured)),
        "looking": looking,
        "notes": notes,
        "verdicts": verdicts,
        "sides": models,
        "has_items": False,
    }
    return _write(Path(out), finished("comparison.html", context, glossary))


def _summary(
    looking: Sequence[LookingChange], models: Sequence[str], series: Series, n_different: int, n: int
) -> str:
    """Return the first words of a comparison: pairs, then metrics."""
    pairs = looking_summary(looking, *map(series.name, models[:2])) if len(models) > 1 else ""
    metrics = f"{n_different} of {n} metrics differ with a corrected p below {ALPHA:g}."
    return f"{pairs}{metrics if n else 'No metric could be compared.'}"


def _write(target: Path, page: str) -> Path:
    path = target / PAGE
    write_atomically(path, page)
    return path
