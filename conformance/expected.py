"""The figures of runs as computed by Theodolite, which the harnesses must reproduce."""

from pathlib import Path

from theodolite.diagnose.export.samples import SampledRun, read_samples
from theodolite.pairs import balance_of, pair_shares
from theodolite.pairs.outcomes import SHARES
from theodolite.runs import Run

HEADLINES = {
    "ask": "ask.accuracy:picture",
    "compass": "compass.right",
    "grid": "grid.right",
    "scene": "scene.qa",
    "trace": "trace.right",
}


def figures_of(folder: Path) -> dict[str, float]:
    """Return headline means of plain items, by split, and outcomes of pairs, by ``<run>/<condition or outcome>``."""
    run = read_samples(folder, folder.name)
    figures = {}
    splits = {sample.row.split for sample in run.samples}
    for figure in run.figures:
        if figure.key == HEADLINES[run.instrument.name]:
            split = f", {figure.split}" if len(splits) > 1 else ""
            figures[f"{run.name}/plain{split}"] = figure.figure.value
        if figure.key == "scene.sgc":
            figures[f"{run.name}/graph/plain"] = figure.figure.value
    with Run.open(folder) as opened:
        pairs = list(run.instrument.pairs(opened))
    relevant = [pair for pair in pairs if pair.edit.is_relevant]
    if relevant:
        figures[f"{run.name}/looking"] = balance_of(relevant).looking.value
    shares = pair_shares(pairs)
    for name in SHARES:
        share = getattr(shares, name)
        if share is not None:
            figures[f"{run.name}/{name}"] = share.value
    return figures


def answers_of(runs: list[Path]) -> dict[str, dict[str, str]]:
    """Return the model's text by run and sample id."""
    read: list[SampledRun] = [read_samples(folder, folder.name) for folder in runs]
    return {run.name: {sample.id: sample.record.response.text for sample in run.samples} for run in read}
