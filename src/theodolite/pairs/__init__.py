"""Edits with a known effect on the right answer, and how a model's answers respond to them.

A *pair* is a question asked twice: about a picture, and about the same picture after an edit whose effect on the right
answer is known. Under a *relevant* edit the right answer changes; under a *neutral* edit it stays.

- `EDITS`: the library of edits; `Edit` says what one keeps fixed, and which strategies it excludes
- `AnsweredPair`: both answers and their outcome: followed, moved, unmoved or lost; kept or changed
- `pair_shares`: the share of each outcome, with intervals over clusters
- `group_shares`: the same for one question about several pictures
- `theodolite.pairs.outcomes`: the same request made again, which lowers the bound
- `judge_looking`: whether the model looks, from pairs alone; `pairs_to_settle`: the sample size it needs
"""

from theodolite.pairs.outcomes import (
    EDITS,
    AnsweredGroup,
    AnsweredPair,
    Edit,
    GroupShares,
    Outcome,
    PairShares,
    answered_pairs,
    group_shares,
    pair_shares,
)
from theodolite.pairs.verdict import Looking, Standing, judge_looking, pairs_to_settle

__all__ = [
    "EDITS",
    "AnsweredGroup",
    "AnsweredPair",
    "Edit",
    "GroupShares",
    "Looking",
    "Outcome",
    "PairShares",
    "Standing",
    "answered_pairs",
    "group_shares",
    "judge_looking",
    "pair_shares",
    "pairs_to_settle",
]
