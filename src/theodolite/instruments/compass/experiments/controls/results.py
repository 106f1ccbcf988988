"""What a control finds: rows of figures, each with its interval, its n, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from theodolite import stats
from theodolite.core.errors import UsageError

FIGURES: Mapping[str, str] = {
    "dae_deg": "direction alignment error",
    "dae_excess_deg": "the error less the uniform map's; below zero the method knows more than the layout",
    "edge_accuracy": "share of errors of at most 45°",
    "delta_deg": "error from this centre minus error from the true one; below zero the true one is worse",
    "delta_excess_deg": "that difference less the uniform map's: what is left of it beyond the layout",
    "peak_shift": "share of pairs of compasses with another peak",
    "tracking_deg": "how far the peak's turn is from the turn that the boxes make; 90° for a peak that knows nothing",
    "prompt_tracking": "PTA: share of probes whose peak is nearest to the probed direction",
    "opposite_jsd_bits": "divergence between the compasses of two opposite probes",
    "peak_accuracy": "share of probes whose peak lies within 45° of where the target is now",
    "peak_accuracy_correct": "the same where the model's answer is right",
    "answer_accuracy": "share of right answers of the model",
    "reversal": "share of peaks within 45° of the opposite of what they were",
    "jsd_bits": "divergence between compasses of the same pair",
    "eta_squared": "share of all variation that the factor explains",
    "consistent": "of the variation within an image, the share that repeats from image to image; 0 for noise",
    "within_image_share": "this factor's part of the two factors' sums of squares within images",
    "within_image_share_per_df": "the same per degree of freedom, for families of unequal size",
    "same_peak": "share of compasses with the most frequent peak",
    "jsd_from_mean_bits": "divergence from the mean compass",
}
"""Every figure by name, with what it is."""

TESTS: Mapping[str, str] = {
    "true_is_better": "one-sided: the true centre has the smaller error",
    "two_sided": "two-sided: the centres differ",
    "over_chance": "one-sided, signs of whole pictures flipped: above one in as many as there are directions",
    "binomial": "one-sided binomial against 25 %, every probe on its own, as in the paper",
    "over_uniform": "one-sided: more hits than the uniform map, pictures as wholes",
}
"""Every test by name, with what it asks."""


class NothingToScoreError(UsageError):
    """What was measured does not hold what a control needs; the message says what that is."""


@dataclass(frozen=True, slots=True)
class ControlRow:
    """One method under one condition."""

    method: str
    """``method@target``, or a baseline such as ``uniform-map``."""
    projection: str
    """``paper`` or ``sound``."""
    condition: str
    figures: Mapping[str, stats.Estimate]
    """By the names of `FIGURES`."""
    tests: Mapping[str, stats.HypothesisTest] = field(default_factory=dict)
    """By the names of `TESTS`."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Reason -> how many samples, probes or centres are not in the figures."""


@dataclass(frozen=True, slots=True)
class Published:
    """A number of the paper, to stand beside ours; never a bar."""

    source: str
    condition: str
    values: Mapping[str, float]
    model: str = "Qwen2-VL-7B"
    """Whose it is, in the paper's words."""


@dataclass(frozen=True, slots=True)
class ControlScore:
    """The outcome of one control."""

    control: str
    question: str
    """What the control asks, in words."""
    rows: tuple[ControlRow, ...]
    notes: tuple[str, ...] = ()
    published: tuple[Published, ...] = ()

    def row(self, method: str, condition: str, projection: str = "paper") -> ControlRow:
        """The row of a method under a condition.

        Raises:
            KeyError: there is none.
        """
        for row in self.rows:
            if (row.method, row.condition, row.projection) == (method, condition, projection):
                return row
        raise KeyError((method, condition, projection))

    def as_json(self) -> dict[str, Any]:
        """The outcome as plain JSON."""
        return asdict(self)
