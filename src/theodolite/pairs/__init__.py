"""Edits with a known effect on the right answer, and how a model's answers respond to them.

A *pair* is a question asked twice: about a picture, and about the same picture after an edit whose effect on the right
answer is known. Under a *relevant* edit the right answer changes; under a *neutral* edit it stays.

- `Edit`: an edit, what it keeps fixed, and the strategies it excludes
- `AnsweredPair`: both answers and their outcome: followed, moved, unmoved or lost; kept or changed
- `pair_shares`: the share of each outcome, with intervals over clusters
- `judge_looking`: whether the model looks, from pairs alone
"""

from theodolite.pairs.edits import Edit
from theodolite.pairs.outcomes import AnsweredPair, Outcome, PairShares, pair_shares
from theodolite.pairs.verdict import Looking, judge_looking

__all__ = ["AnsweredPair", "Edit", "Looking", "Outcome", "PairShares", "judge_looking", "pair_shares"]
