"""The card of a CLIP that was trained here: what it is, and what its verdicts are worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theodolite import stats
from theodolite.instruments.trace.verifiers.similarity_calibration import LEAST_AUC, SimilarityCalibration


def card_text(
    result: SimilarityCalibration, training: Mapping[str, Any], *, size_bytes: int, data: str
) -> str:
    """A README for the folder of the checkpoint; every number is read or measured, none is written by hand.

    Args:
        result: the calibration.
        training: what `train_similarity` recorded.
        size_bytes: of the weights.
        data: what it was measured on, in words.
    """
    worlds = ", ".join(result.by_world)
    rows = [
        f"| {world or '–'} | {form} | {_told(k.auc)} | {_told(k.judged)} | {_told(k.right)} | {_bound(k.high)} | {_bound(k.low)}"
        f" | {k.n_true} | {k.n_false} |"
        for world, told in result.by_world.items()
        for form, k in told.items()
    ]
    areas = [f"| {form} | {_told(k.auc)} | {k.n_true} | {k.n_false} |" for form, k in result.pooled.items()]
    return "\n".join(
        [
            "# A small CLIP of the embedded worlds",
            "",
            (
                f"A `CLIPModel` of transformers with {training['n_parameters']:,} parameters, {size_bytes / 2**20:.2f} MiB in half precision."
                f" It knows {len(training['words'])} words and the pictures of {worlds}; of anything else it says nothing."
            ),
            "",
            (
                f"Trained by `python -m train similarity` on {training['n_pictures']:,} pictures of {training['episodes']:,} drafts of"
                f" each world and split, {training['steps']:,} steps of {training['batch']}, seed {training['seed']}, from random weights."
                " No made episode was among the drafts. The licence is that of the package."
            ),
            "",
            (
                f"After training, on {training['n_held_out']:,} pictures it had not seen: the caption of a thing that is there beats that of a"
                f" thing that is not in {100 * training['things_told_apart']:.1f} % of pairs, and the true side or state comes first among its"
                f" like, of 2 or 4, in {100 * training['sides_and_states']:.1f} %."
            ),
            "",
            (
                f"Measured by `theodolite trace calibrate-similarity` on {data}: claims about single frames, true and false ones by the"
                f" annotations, {result.n_units} episodes. AUC over all of them; bounds set on every other episode, and judged and right"
                " measured on the rest. Intervals are 95 %, clustered by episode."
            ),
            "",
            (
                f"Where the lower end of the AUC's interval is not above {LEAST_AUC}, half way between guessing and knowing, there are no"
                " bounds, and such claims are not judged."
            ),
            "",
            "| world | claims | AUC | judged | right, of those | supported from | unsupported up to | true | false |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *rows,
            "",
            "AUC over all worlds:",
            "",
            "| claims | AUC | true | false |",
            "| --- | --- | --- | --- |",
            *areas,
            "",
            *_left(result),
        ]
    )


def _left(result: SimilarityCalibration) -> list[str]:
    """What was left out of the tables, where anything was."""
    told = [
        f"{n:,} {what}"
        for n, what in (
            (result.n_undecided, "claims on which the annotations are silent"),
            (result.n_unread, "pictures that cannot be read"),
        )
        if n
    ]
    return [f"Left out: {', '.join(told)}.", ""] if told else []


def _bound(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"


def _told(estimate: stats.Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
