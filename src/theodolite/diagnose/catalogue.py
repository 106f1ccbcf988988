"""What is known of each signature beside its numbers: what would confirm it, and what the papers propose.

The remedies are the papers' own guesses. None of the papers has shown that its remedy helps; every one is told as a hypothesis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_CRISP, _CREG, _GRID, _STEPS = "CRISP", "CREG", "GridVQA-X", "step grounding"


@dataclass(frozen=True, slots=True)
class Entry:
    """What belongs to a signature besides its numbers."""

    confirming_test: str
    remedy: str
    """Empty where the papers propose none."""
    source: str


CATALOGUE: Mapping[str, Entry] = {
    "layout-driven": Entry(
        "Change only the option whose logit is explained: a map that follows the question turns with it, one that follows the "
        "layout stays (`theodolite compass controls`).",
        "At test time, not in training: abstain where the compass points far from the answer, or answer by its peak.",
        f"{_CREG}, sections 4.5 and 5.1",
    ),
    "semantic shortcut": Entry(
        "Put the true scene graph beside the picture: if answers then become right, reasoning was there and lacked perception "
        "(`theodolite scene run --settings base,true-graph`). On grids: turn the direction word round.",
        "A larger vision encoder, to refine metric perception; or training that supervises where the model looks.",
        f"{_CRISP}, section 6; {_GRID}, appendix A.2",
    ),
    "perception–reasoning disconnect": Entry(
        "Answer the questions from the model's own graphs with a solver: what the solver gets right and the model does not was "
        "seen and not used (`theodolite scene score`).",
        "Another alignment between vision encoder and language model, so that what is seen is used.",
        f"{_CRISP}, section 6",
    ),
    "modality trust bias": Entry(
        "Put its own graph beside the picture again, with graded noise: the more it follows the noise, the less it looks "
        "(`theodolite scene run --settings noisy-graph`).",
        "A stronger language backbone that resolves conflicts between text and picture.",
        f"{_CRISP}, section 6",
    ),
    "temporal drift": Entry(
        "Show the same frames in another order, or the late frames first: drift follows the number of the step, not the frame "
        "(`theodolite trace perturb`).",
        "Keep beliefs about the scene grounded as the task goes on; the paper does not say how.",
        f"{_STEPS}, sections 5.4, 7.1 and 8",
    ),
    "language prior": Entry(
        "Show the picture of another scene: an answer that stays was never about the picture (`theodolite ask run`).",
        "Enforce consistency between answers and perceived structure in training, and balance the answers of the data.",
        f"{_CRISP}, section 6; {_GRID}, appendix B.1",
    ),
    "structural alignment": Entry(
        "Repeat on scenes of one's own: alignment that holds only on drawn scenes is not yet alignment "
        "(`theodolite scene build`).",
        "",
        f"{_CRISP}, section 6",
    ),
    "cognitive scaffold": Entry(
        "Give another scene's graph in the place of its own: a scaffold helps by its content, not by its form.",
        "Let the model write the graph before it answers compositional questions.",
        f"{_CRISP}, section 5.3",
    ),
    "semantic–geometric gap": Entry(
        "Score estimates and relations of the graphs apart (`theodolite scene score`): the gap lies in the estimates.",
        "",
        f"{_CRISP}, section 1",
    ),
    "refusal": Entry(
        "Read some of the refused answers in the item browser: a refusal is no failure to see.",
        "",
        f"{_CRISP}, section 4.2",
    ),
    "format failure": Entry(
        "Read some of the unreadable answers in the item browser; ask again with more tokens.",
        "",
        f"{_CRISP}, section 4.2",
    ),
}
