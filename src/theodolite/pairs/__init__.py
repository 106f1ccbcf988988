"""Edits with a known effect on the right answer, and how a model's answers respond to them.

A *pair* is a question asked twice: about a picture, and about the same picture after an edit whose effect on the right
answer is known, or about another picture. Under a *relevant* edit the right answer changes; under a *neutral* edit it stays.

- `EDITS`: the library of edits; `Edit` says what one keeps fixed, and which strategies it excludes
- `AnsweredPair`: both answers and their outcome: followed, inverted, moved, unmoved or lost; kept or changed
- `pair_shares`: the share of each outcome, with intervals over clusters
- `balance_of`: looking, that is followed minus inverted, with an exact test and an interval
- `reading_of`: the same for two questions about one picture, and whether picture, question or both matter
- `judge_looking`: whether the model looks, from pairs alone; `by_design` separates edits from pictures as they are
"""

from theodolite.pairs.balance import Balance, balance_of, pair_shares
from theodolite.pairs.outcomes import (
    EDITS,
    AnsweredPair,
    Edit,
    Outcome,
    PairShares,
    answered_pairs,
)
from theodolite.pairs.reading import Reading, reading_of
from theodolite.pairs.verdict import Looking, Standing, by_design, judge_looking

__all__ = [
    "EDITS",
    "AnsweredPair",
    "Balance",
    "Edit",
    "Looking",
    "Outcome",
    "PairShares",
    "Reading",
    "Standing",
    "answered_pairs",
    "balance_of",
    "by_design",
    "judge_looking",
    "pair_shares",
    "reading_of",
]
