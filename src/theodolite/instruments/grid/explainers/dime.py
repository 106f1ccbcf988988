r"""DIME: what picture and question do by themselves, and what only both together do (Lyu et al. 2022).

Over N references F_ij = f(picture i, question j), and for scene i

    UC_i = mean_j F_ij + mean_k F_ki − mean F        MI_i = F_ii − UC_i.

For a perturbed picture x′ row i becomes f(x′, t_j). With R = Σ_j F_ij, C = Σ_k F_ki, Σ = ΣΣF and R′ = Σ_j f(x′, t_j):

    UC′ = R′/N + (C − F_ii + f(x′, t_i))/N − (Σ − R + R′)/N²,        MI′ = f(x′, t_i) − UC′,

and LIME on UC′ and on MI′ gives a weight to every cell; for words the same by columns. LIME is linear in its target, so
LIME(MI) = LIME(f) − LIME(UC) exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import Flags, Integers
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation, Variant
from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.explainers.readers import Pool

_PAPER = "Lyu et al. 2022, DIME"
KERNEL_WIDTH = 0.25
RIDGE = 1.0
MOST_REFERENCES = 32
_MASKS_PER_FEATURE = 4
_FEWEST_CALLS = 16
"""Four masks per side, two references."""


def lime(masks: Flags, targets: Floats) -> Floats:
    """Fit LIME's weights, (features,) or (features, targets).

    The weight of a mask is √exp(−d²/width²), where d = 1 − √(kept share) is its cosine distance from the whole; the fit is a
    ridge regression with an unpenalised intercept.
    """
    kept = masks.mean(axis=1)
    weight = np.sqrt(np.exp(-((1 - np.sqrt(kept)) ** 2) / KERNEL_WIDTH**2))
    total = weight.sum()
    design = masks.astype(np.float64)
    flat = targets.reshape(len(masks), -1)
    design = design - (weight @ design) / total
    flat = flat - (weight @ flat) / total
    gram = design.T @ (weight[:, None] * design) + RIDGE * np.eye(masks.shape[1])
    coefficients = np.linalg.solve(gram, design.T @ (weight[:, None] * flat))
    return np.asarray(coefficients.reshape(masks.shape[1], *targets.shape[1:]))


@dataclass(frozen=True, slots=True)
class Disentangled:
    """DIME's parts of one scene, one number per player, and their cost."""

    full: Floats
    unimodal: Floats
    unimodal_same_question: Floats
    """With R′ = N·f(x′, t_i): a loop that does not vary the question."""
    calls: int
    references: int
    masks: int
    interaction_share: float
    """|MI_i| / (|UC_i| + |MI_i|) at the whole input; 0 where both are 0."""


def disentangle(case: Case) -> Disentangled:
    """Run DIME on one scene: N references, as many masks as the budget allows, one batch per side."""
    pool = case.need_pool()
    features = max(case.game.n_cells, case.game.n_words, 1)
    budget = case.game.budget
    others = pool.rows[pool.rows != case.row]
    most = min(others.size + 1, MOST_REFERENCES)
    n = most if budget is None else int(np.clip(budget // (2 * _MASKS_PER_FEATURE * features), 2, most))
    if n < 2:
        raise UsageError("DIME compares with other scenes: a pool needs at least two")
    k = 100 if budget is None else min(100, budget // (2 * n))
    if k < 2:
        raise UsageError(f"DIME needs a budget of at least 8 model calls, got {budget}")
    rows = np.concatenate([[case.row], others[: n - 1]])
    matrix = case.output(pool.logits(rows, rows))
    picture = _side(case, pool, rows, matrix=matrix, k=k, is_picture=True)
    question = _side(case, pool, rows, matrix=matrix.T, k=k, is_picture=False)
    uc = matrix[0].mean() + matrix[:, 0].mean() - matrix.mean()
    size = abs(uc) + abs(matrix[0, 0] - uc)
    both = np.concatenate([picture, question], axis=0)
    share = float(abs(matrix[0, 0] - uc) / size) if size > 0 else 0.0
    return Disentangled(both[:, 0], both[:, 1], both[:, 2], 2 * n * k, n, k, share)


def _side(case: Case, pool: Pool, rows: Integers, *, matrix: Floats, k: int, is_picture: bool) -> Floats:
    """Return the LIME weights of f, UC and the reference code's UC for the players of one side, (players, 3)."""
    game, n = case.game, len(rows)
    players = game.cells if is_picture else game.words
    if not players.size:
        return np.zeros((0, 3))
    rng = np.random.default_rng([case.seed, int(is_picture)])
    masks = _masks(rng, k, players.size, is_picture=is_picture)
    shown = [np.ones((k * n, size), bool) for size in game.shape]
    shown[0 if is_picture else 1][:, players] = np.repeat(masks, n, axis=0)
    mine, theirs = np.full(k * n, case.row), np.tile(rows, k)
    pictures, questions = (mine, theirs) if is_picture else (theirs, mine)
    outputs = case.output(pool.masked(pictures, questions, *shown)).reshape(k, n)
    own, total = outputs[:, 0], outputs.sum(axis=1)

    def unimodal(changed: Floats) -> Floats:
        column = matrix[:, 0].sum() - matrix[0, 0] + own
        return np.asarray(changed / n + column / n - (matrix.sum() - matrix[0].sum() + changed) / n**2)

    targets = np.stack([own, unimodal(total), unimodal(n * own)], axis=1)
    return lime(masks, targets)


def _masks(rng: np.random.Generator, k: int, n: int, *, is_picture: bool) -> Flags:
    """Draw masks, the whole first; then cells by fair coins, and words by removing a number drawn uniformly from 1 … n."""
    masks = rng.random((k, n)) < 0.5
    if not is_picture:
        removed = rng.integers(1, n + 1, k)
        masks = rng.random((k, n)).argsort(axis=1).argsort(axis=1) >= removed[:, None]
    masks[0] = True
    return masks


def _kept(case: Case) -> Disentangled:
    """Return the decomposition of a scene, computed once: all variants share its masks."""
    pool = case.need_pool()
    key = ("dime", case.row, case.game.budget, case.seed, case.answer)
    if key not in pool.found:
        pool.found[key] = disentangle(case)
    return cast("Disentangled", pool.found[key])


def _explain(case: Case, part: str) -> Explanation:
    """Apply LIME to MI′ (``interaction``), UC′ (``unimodal``), f (``full``), or f − UC with R′ = N·f(x′, t_i)."""
    parts = _kept(case)
    values = {
        "interaction": parts.full - parts.unimodal,
        "unimodal": parts.unimodal,
        "full": parts.full,
        "same question": _without_rounding(parts.full - parts.unimodal_same_question, parts.full),
    }[part]
    return case.explanation(
        values,
        is_exact=False,
        calls=parts.calls,
        method=f"{parts.masks} masks per side, {parts.references} references",
        scalars={"interaction_share": parts.interaction_share},
    )


def _without_rounding(values: Floats, scale: Floats) -> Floats:
    """Set values to zero that are rounding errors relative to the quantities they derive from."""
    return np.where(np.abs(values) > 1e-9 * np.abs(scale).max(initial=1.0), values, 0.0)


def _variant(name: str, summary: str, part: str, reading: Variant = "sound", caveat: str = "") -> Explainer:
    return Explainer(
        name,
        summary,
        partial(_explain, part=part),
        paper=_PAPER,
        reading=reading,
        caveat=caveat,
        samples=True,
        family="dime",
        least=lambda _: _FEWEST_CALLS,
    )


DIME = _variant("dime", "LIME on the interaction of picture and question", "interaction")
DIME_UNIMODAL = _variant(
    "dime-unimodal", "LIME on what picture and question do by themselves", "unimodal", "baseline"
)
DIME_MULTIVIZ = _variant(
    "dime-multiviz",
    "as in MultiViz's code: LIME on the whole model",
    "full",
    "paper",
    "it returns f where DIME means f − UC, so it cannot differ from the whole model",
)
DIME_MDETR = _variant(
    "dime-mdetr",
    "as in the notebook for MDETR: the question is not varied",
    "same question",
    "paper",
    "UC′ is then f plus a constant, so the map of the interaction is 0",
)
