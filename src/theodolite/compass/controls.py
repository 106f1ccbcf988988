"""Is a compass organised by the direction asked for, or by the picture's layout? Interventions that tell.

From stored maps alone: `centre_control` (reference-centre randomisation), `reference_swap`, `prompt_direction` (maps for every
option), `variance_control` and `partition`. With a model: `plan_controls` makes the items (the pictures as they are, and edited),
`controls_factory` what measures them, and `score_controls` scores whatever a run holds.

Every outcome is a `ControlScore`: rows of figures with intervals over pictures, for the paper's projection and the sound one,
beside box-only, uniform and random maps, with what was left out, and the paper's own numbers by source.
"""

from __future__ import annotations

from theodolite.compass._controls.centres import centre_control
from theodolite.compass._controls.edits import EDITS, Edit, EditReport, Unfit, find_edits
from theodolite.compass._controls.families import score_family
from theodolite.compass._controls.measure import ControlMeasurer, controls_factory
from theodolite.compass._controls.placing import PlacingOptions
from theodolite.compass._controls.plan import MEASURED, ControlPlan, plan_controls
from theodolite.compass._controls.prompt_direction import prompt_direction
from theodolite.compass._controls.reference_swap import reference_swap
from theodolite.compass._controls.results import FIGURES, TESTS, ControlRow, ControlScore, Published
from theodolite.compass._controls.score import CONTROLS, ControlScores, score_controls
from theodolite.compass._controls.sheets import edit_sheet
from theodolite.compass._controls.squares import score_squares
from theodolite.compass._controls.swaps import score_swap
from theodolite.compass._controls.variance import Responses, VariancePartition, partition, variance_control

__all__ = [
    "CONTROLS",
    "EDITS",
    "FIGURES",
    "MEASURED",
    "TESTS",
    "ControlMeasurer",
    "ControlPlan",
    "ControlRow",
    "ControlScore",
    "ControlScores",
    "Edit",
    "EditReport",
    "PlacingOptions",
    "Published",
    "Responses",
    "Unfit",
    "VariancePartition",
    "centre_control",
    "controls_factory",
    "edit_sheet",
    "find_edits",
    "partition",
    "plan_controls",
    "prompt_direction",
    "reference_swap",
    "score_controls",
    "score_family",
    "score_squares",
    "score_swap",
    "variance_control",
]
