"""How well claims are read: precision and recall of whole claims on the labelled sentences of the tests."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from _rows import table

from theodolite.instruments.trace.claims.reading import with_claims
from theodolite.instruments.trace.claims.types import Step, Trace

_LABELS = Path(__file__).parents[2] / "tests" / "instruments" / "trace"


_FIRST = {
    "quantity": ("0.82", "0.82"),
    "comparative": ("1.00", "0.55"),
    "superlative": ("0.80", "0.80"),
    "negation": ("0.91", "0.83"),
    "inversion": ("0.85", "1.00"),
    "ditransitive": ("0.88", "0.88"),
    "coreference": ("1.00", "1.00"),
    "conditional": ("0.40", "1.00"),
    "all": ("0.87", "0.86"),
}
"""Precision and recall on the hard sentences when version 3 of the extractor read them, before any rule was written on them."""


def claim_rates() -> str:
    """By kind of clause on the sentences that were tuned on, and over all on those that were not looked at."""
    compared = _compared()
    rates = _rates()
    seen = rates(found[1:] for found in compared if found[0] in {"tuning", "fresh", "later"})
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


def hard_claims() -> str:
    """By construction on the hard sentences: as they were first read, and now."""
    found = _rates()(each[1:] for each in _compared() if each[0] == "hard")
    lines = [
        ["all of these" if kind == "all" else kind, *first, *_cells(found[kind])]
        for kind, first in _FIRST.items()
    ]
    return table(
        ["construction", "precision at first", "recall at first", "precision", "recall", "claims"], lines
    )


def _rates() -> Any:
    sys.path.insert(0, str(_LABELS))
    from clause_matching import rates

    return rates


@cache
def _compared() -> list[tuple[Any, ...]]:
    """Part, kind of clause, hits, surplus and missed claims of every labelled sentence."""
    sys.path.insert(0, str(_LABELS))
    from clause_matching import asserted, compare, labelled_clauses

    rows = list(labelled_clauses())
    traces = with_claims([Trace("e", (Step(text),)) for _, text, _, _ in rows])
    return [
        (part, clause, *compare(asserted(trace.steps[0].claims), wanted))
        for (part, _, clause, wanted), trace in zip(rows, traces, strict=True)
    ]


def _cells(found: tuple[float, float, int, int]) -> list[str]:
    precision, recall, _, n_wanted = found
    return [f"{precision:.2f}", f"{recall:.2f}", str(n_wanted)]
