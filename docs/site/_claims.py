"""How well claims are read: precision and recall of whole claims on the labelled sentences of the tests."""

from __future__ import annotations

import sys
from pathlib import Path

from _rows import table

from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.types import Step, Trace

_LABELS = Path(__file__).parents[2] / "tests" / "instruments" / "trace"


def claim_rates() -> str:
    """By kind of clause on the sentences that were tuned on, and over all on those that were not looked at."""
    sys.path.insert(0, str(_LABELS))
    from clause_matching import asserted, compare, labelled_clauses, rates

    rows = list(labelled_clauses())
    traces = with_claims([Trace("e", (Step(text),)) for _, text, _, _ in rows])
    compared = [
        (part, clause, *compare(asserted(trace.steps[0].claims), wanted))
        for (part, _, clause, wanted), trace in zip(rows, traces, strict=True)
    ]
    seen = rates(found[1:] for found in compared if "unseen" not in found[0])
    names = {"all": "all of these"}
    kinds = sorted(
        (kind for kind in seen if kind != "all" and seen[kind][3]), key=lambda kind: -seen[kind][3]
    )
    lines = [[names.get(kind, kind), *_cells(seen[kind])] for kind in (*kinds, "all")]
    for part, name in (
        ("unseen", "unseen half of the first set"),
        ("fresh unseen", "unseen half of the second"),
    ):
        lines.append([f"**{name}**", *_cells(rates(f[1:] for f in compared if f[0] == part)["all"])])
    return table(["kind of clause", "precision", "recall", "claims"], lines)


def _cells(found: tuple[float, float, int, int]) -> list[str]:
    precision, recall, _, n_wanted = found
    return [f"{precision:.2f}", f"{recall:.2f}", str(n_wanted)]
