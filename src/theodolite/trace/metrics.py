"""Every figure of the trace instrument, from judged traces: grounding, consistency, reliance, controls, agreement."""

from theodolite.trace._ablation import COMPONENTS, Ablation, Component, ablate, across_models
from theodolite.trace._agreement import Agreement, noise_sweep, verifier_agreement
from theodolite.trace._alignment import AlignmentScore, alignment_accuracy
from theodolite.trace._beliefs import Belief, BeliefState, belief_log
from theodolite.trace._conditions import Reference
from theodolite.trace._consistency import (
    TAU,
    Calibration,
    Consistency,
    Transition,
    calibrate_tau,
    consistency_of,
    transitions,
)
from theodolite.trace._counterfactual import INVERSIONS, RandomLabels, counterfactual, random_trace
from theodolite.trace._ego_share import EgoMotion
from theodolite.trace._grounding import (
    HANDLINGS,
    STAGES,
    Grounding,
    Handling,
    grounding,
    step_grounding,
    step_hallucinates,
    trace_sgr,
)
from theodolite.trace._noise import NoisyVerifier
from theodolite.trace._reliance import (
    CLIPS,
    EPSILONS,
    EditedPair,
    Reliance,
    SensitivityCell,
    edited_pair,
    equation_4,
    reliance,
    sensitivity,
    sound_reliance,
)
from theodolite.trace._robustness import CounterCausal, Verbosity, counter_causal, limit_steps, verbosity
from theodolite.trace._score import traces_of_run
from theodolite.trace._tellings import CUES, Cue, CueScore, score_alignment

__all__ = [
    "CLIPS",
    "COMPONENTS",
    "CUES",
    "EPSILONS",
    "HANDLINGS",
    "INVERSIONS",
    "STAGES",
    "TAU",
    "Ablation",
    "Agreement",
    "AlignmentScore",
    "Belief",
    "BeliefState",
    "Calibration",
    "Component",
    "Consistency",
    "CounterCausal",
    "Cue",
    "CueScore",
    "EditedPair",
    "EgoMotion",
    "Grounding",
    "Handling",
    "NoisyVerifier",
    "RandomLabels",
    "Reference",
    "Reliance",
    "SensitivityCell",
    "Transition",
    "Verbosity",
    "ablate",
    "across_models",
    "alignment_accuracy",
    "belief_log",
    "calibrate_tau",
    "consistency_of",
    "counter_causal",
    "counterfactual",
    "edited_pair",
    "equation_4",
    "grounding",
    "limit_steps",
    "noise_sweep",
    "random_trace",
    "reliance",
    "score_alignment",
    "sensitivity",
    "sound_reliance",
    "step_grounding",
    "step_hallucinates",
    "trace_sgr",
    "traces_of_run",
    "transitions",
    "verbosity",
    "verifier_agreement",
]
