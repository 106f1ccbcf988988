"""What the paper reports of its own explanations, to stand beside ours. Nothing is held to these numbers."""

from __future__ import annotations

SOURCE = "GridVQA-X, arXiv 2606.14740, section 5.2"

RMA = {
    ("multiviz", "pure"): 0.44,
    ("multiviz", "spurious"): 0.44,
    ("multishap", "pure"): 0.616,
    ("multishap", "spurious"): 0.689,
}
"""Mean RMA over all buckets that the text gives, by explainer and scenario."""
DEPTH = {("emap", 1): 0.821, ("emap", 3): 0.673, ("intershap", 1): 0.921, ("intershap", 3): 0.629}
"""Synergy scalars of mixed questions of form 0 in the pure scenario, by explainer and depth."""
