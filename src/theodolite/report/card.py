"""A section of a model card in Markdown: verdict, shares with their intervals, sizes, versions and the command."""

from __future__ import annotations

from theodolite.core.tables import Cell, Column, Estimate, Table, interval, percent
from theodolite.diagnose.api import CAPTION
from theodolite.diagnose.pair_verdicts import OUTCOMES
from theodolite.diagnose.record import Diagnosis, LookingResult
from theodolite.report.html.diagnosis import command_of
from theodolite.report.summary import Summary, summaries
from theodolite.report.tables import as_markdown

__all__ = ["model_card"]


def model_card(diagnosis: Diagnosis) -> str:
    """Write the section of a model card for the models of a diagnosis."""
    every = summaries(diagnosis)
    parts = ["## Does it look at the picture?", ""]
    for summary in every:
        parts += [f"**{_inline(summary.name)}: {summary.headline.lower()}.** {_answers(summary)}", ""]
    columns = [
        Column("model", "model"),
        Column("pictures", "pictures"),
        Column("pairs", "pairs", "count"),
        *(Column(name, words) for name, words in OUTCOMES.items()),
        Column("looking", "looking"),
        Column("accuracy", "accuracy"),
        Column("verdict", "verdict"),
    ]
    rows: list[list[Cell]] = [
        [summary.name, label, looking.n_relevant, *_shares(looking), looking.standing]
        for summary in every
        for label, looking in summary.lookings
    ]
    if rows:
        parts += [as_markdown(Table.of("diagnose.card", "", columns, rows)), ""]
    parts += [
        CAPTION,
        "",
        f"Theodolite {diagnosis.theodolite}, {diagnosis.created:%Y-%m-%d}, size {diagnosis.size}, seed {diagnosis.seed}:",
        "",
        "```bash",
        command_of(diagnosis),
        "```",
    ]
    return "\n".join(parts)


def _answers(summary: Summary) -> str:
    left = f"Not excluded: {', '.join(summary.not_excluded)}." if summary.not_excluded else ""
    return " ".join(filter(None, (summary.claim, summary.at_what, summary.how_sure, left)))


def _shares(looking: LookingResult) -> list[str]:
    counts: list[Estimate | None] = [getattr(looking, name) for name in OUTCOMES]
    shares = ["–" if figure is None else percent(figure.value) for figure in counts]
    told = ["–" if figure is None else interval(figure) for figure in (looking.looking, looking.accuracy)]
    return [*shares, *told]


def _inline(text: str) -> str:
    """Escape a name, so that no mark-up in it is interpreted."""
    return "`" + text.replace("`", "'") + "`"
