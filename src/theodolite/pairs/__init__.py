"""Edits with known truth, and what a model's answers do under them.

A *pair* is a question asked twice: about a picture, and about the same picture after an edit whose effect on the right
answer is known. Under a *relevant* edit the right answer changes; under a *neutral* edit it stays.

- `Edit`: what an edit keeps fixed, and so which strategies it excludes
- `AnsweredPair`: both answers, and what they amount to: followed, moved, unmoved or lost; kept or changed
- `pair_shares`: the shares of each, with intervals clustered by picture
"""

from theodolite.pairs.edits import Edit
from theodolite.pairs.outcomes import AnsweredPair, Outcome, PairShares, pair_shares

__all__ = ["AnsweredPair", "Edit", "Outcome", "PairShares", "pair_shares"]
