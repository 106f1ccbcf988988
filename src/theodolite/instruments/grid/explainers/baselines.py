"""Baselines: maps that do not use the model, and oracles that are given the truth."""

from __future__ import annotations

import numpy as np

from theodolite.instruments.grid.data.masks import MaskName, cell_mask, word_roles
from theodolite.instruments.grid.data.words import PAD
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation


def uniform(case: Case) -> Explanation:
    """The same relevance everywhere: its mass on a mask is the mask's area."""
    words = (case.batch.words[case.row] != PAD).astype(np.float64)
    return Explanation(np.ones(case.game.shape[0]), words, method="no model call")


def random(case: Case) -> Explanation:
    """Relevance drawn uniformly from 0 … 1."""
    rng = np.random.default_rng([case.seed, case.row])
    words = (case.batch.words[case.row] != PAD) * rng.random(case.game.shape[1])
    return Explanation(rng.random(case.game.shape[0]), words, method="no model call")


def _marked(case: Case, masks: tuple[MaskName, ...], roles: list[str]) -> Explanation:
    one = case.batch.take(slice(case.row, case.row + 1))
    cells = np.any([cell_mask(one, name)[0].reshape(-1) for name in masks], axis=0)
    words = np.isin(word_roles(one)[0], roles)
    return Explanation(cells.astype(np.float64), words.astype(np.float64), method="the truth, no model call")


def oracle(case: Case) -> Explanation:
    """Anchors and targets, and the words that name them and their relations: the truth for a right model."""
    return _marked(case, ("anchors", "targets"), ["target", "anchor", "direction"])


def bow_oracle(case: Case) -> Explanation:
    """Everything that looks like a target, and the target's words: the truth for a bag of words."""
    return _marked(case, ("targets", "adversarial"), ["target"])


def all_objects(case: Case) -> Explanation:
    """Every object alike, as a detector would show."""
    one = case.batch
    words = (one.words[case.row] != PAD).astype(np.float64)
    return Explanation((one.cells[case.row] > 0).astype(np.float64), words, method="no model call")


UNIFORM = Explainer("uniform", "the same everywhere", uniform, reading="baseline")
RANDOM = Explainer("random", "drawn at random", random, reading="baseline")
ALL_OBJECTS = Explainer("all-objects", "every object alike", all_objects, reading="baseline")
ORACLE = Explainer(
    "oracle",
    "anchors and targets: the truth for a model that uses the relation",
    oracle,
    reading="baseline",
    needs_truth=True,
)
BOW_ORACLE = Explainer(
    "bow-oracle",
    "everything that looks like a target: the truth for a bag of words",
    bow_oracle,
    reading="baseline",
    needs_truth=True,
)
