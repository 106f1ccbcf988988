"""The card of a CLIP that was trained here: what it is, and what its verdicts are worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theodolite import stats
from theodolite.trace._verifiers._similarity_calibration import SimilarityCalibration


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
        f"| {kind} | {_told(k.auc)} | {_told(k.judged)} | {_told(k.right)} | {k.high:.2g} | {k.low:.2g} | {k.n_true} | {k.n_false} |"
        for kind, k in result.kinds.items()
    ]
    kinds = list(result.kinds)
    areas = [
        f"| {world} | " + " | ".join(_told(told.get(kind)) for kind in kinds) + " |"
        for world, told in result.by_world.items()
    ]
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
                f"Trained by `theodolite trace train-similarity` on {training['n_pictures']:,} pictures of {training['episodes']:,} drafts of"
                f" each world and split, {training['steps']:,} steps of {training['batch']}, seed {training['seed']}, from random weights."
                " No made episode was among the drafts. The licence is that of the package."
            ),
            "",
            (
                f"Measured by `theodolite trace calibrate-similarity` on {data}: claims about single frames, true and false ones by the"
                f" annotations, {result.n_units} episodes. AUC over all of them; bounds set on every other episode, and judged and right"
                " measured on the rest. Intervals are 95 %, clustered by episode."
            ),
            "",
            "| claims | AUC | judged | right, of those | supported from | unsupported up to | true | false |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            *rows,
            "",
            "AUC by world:",
            "",
            "| world | " + " | ".join(kinds) + " |",
            "| --- |" + " --- |" * len(kinds),
            *areas,
            "",
        ]
    )


def _told(estimate: stats.Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
