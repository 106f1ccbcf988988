"""Synergy scalars of explained runs: of every scene, and of every bucket's cross matrix."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.world import BUCKETS
from theodolite.instruments.grid.explainers.cross import Projection, matrix_of, project
from theodolite.instruments.grid.explainers.global_pid import Estimator, score_pid
from theodolite.instruments.grid.stored import CrossRow, ExplainedRun


@dataclass(frozen=True, slots=True)
class SynergyValue:
    """One scalar of one scene, or of one bucket."""

    scalar: str
    kind: str
    """Question type and form, such as ``M-F0``."""
    depth: int
    density: str
    value: float
    said: int
    """The model's answer."""
    entropy: float
    """Of the model's answers in that bucket, in bits."""


def entropies(run: ExplainedRun) -> dict[tuple[str, str], float]:
    """Entropy in bits of the model's answers, by bucket and density."""
    said: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    density = {row.scene: row.density for row in run.rows}
    places = {row.scene: row.bucket.key for row in run.rows}
    answers = _said_by_scene(run)
    for scene, answer in answers.items():
        said[places[scene], density[scene]][answer] += 1
    for cross in run.crosses:
        if (cross.bucket.key, cross.density) not in said:
            own = cross.logits[np.arange(len(cross.rows)), np.arange(len(cross.rows))].argmax(axis=-1)
            said[cross.bucket.key, cross.density].update(own.tolist())
    found = {}
    for key, counts in said.items():
        shares = np.array(list(counts.values())) / counts.total()
        found[key] = float(-(shares * np.log2(shares)).sum())
    return found


def _said_by_scene(run: ExplainedRun) -> dict[str, int]:
    names = list(dict.fromkeys(row.scene for row in run.rows))
    return dict(zip(names, run.said.values(), strict=True)) if len(names) == len(run.said) else {}


def synergy_values(run: ExplainedRun) -> tuple[list[SynergyValue], Counter[tuple[str, str, str]]]:
    """Every scalar of every scene, and how many are undefined by scalar, kind and density.

    ``emap, intershap`` is |R_ii| / (|a_i| + |b_i| + |R_ii|) of each scene in its cross matrix, which both methods come to;
    ``intershap, once`` counts the interaction by half, as the later package does. ``dime share`` is |MI|/(|UC|+|MI|); the scalars of
    explainers come from their own records.
    """
    bits, answers = entropies(run), _said_by_scene(run)
    found: list[SynergyValue] = []
    missing: Counter[tuple[str, str, str]] = Counter()
    for cross in run.crosses:
        for scalar, weight in (("emap, intershap", 1.0), ("intershap, once", 0.5)):
            shares = _projected(run, cross).local_shares(weight=weight)
            own = cross.logits[np.arange(len(cross.rows)), np.arange(len(cross.rows))].argmax(axis=-1)
            kind = f"{cross.bucket.qtype}-F{cross.bucket.form}"
            missing[scalar, kind, cross.density] += int(np.isnan(shares).sum())
            entropy = bits.get((cross.bucket.key, cross.density), 0.0)
            found += [
                SynergyValue(scalar, kind, cross.bucket.depth, cross.density, float(v), int(said), entropy)
                for v, said in zip(shares, own, strict=True)
                if not np.isnan(v)
            ]
    wanted = {
        ("interacting-words", "interacting_words"): "interacting words",
        ("interacting-words", "higher_order_share"): "higher-order share",
        ("interacting-words", "mean_order"): "mean order",
        ("dime", "interaction_share"): "dime share",
    }
    for row in run.rows:
        kind = f"{row.bucket.qtype}-F{row.bucket.form}"
        for (explainer, key), scalar in wanted.items():
            if row.explainer != explainer:
                continue
            value = row.scalars.get(key)
            if value is None or (key == "interacting_words" and value == 0):
                missing[scalar, kind, row.density] += 1
            else:
                entropy = bits.get((row.bucket.key, row.density), 0.0)
                said = answers.get(row.scene, -1)
                found.append(SynergyValue(scalar, kind, row.bucket.depth, row.density, value, said, entropy))
    return found, missing


def _projected(run: ExplainedRun, cross: CrossRow) -> Projection:
    return project(
        matrix_of(
            cross.logits,
            world=run.batch.world,
            bucket=BUCKETS.index(cross.bucket),
            explained=run.plan.convention.explained,
        )
    )


@dataclass(frozen=True, slots=True)
class CrossFigure:
    """EMAP's and PID's figures of one bucket at one density."""

    scenario: str
    bucket: str
    density: str
    n: int
    figures: dict[str, float]
    """Those that are defined."""
    missing: dict[str, str] = field(default_factory=dict)
    """Why an estimator gave none."""


def cross_figures(
    run: ExplainedRun, *, pid: tuple[Estimator, ...] = ("convex", "gaussian"), seed: int = 0
) -> list[CrossFigure]:
    """Global figures of every bucket, from its stored cross matrix and the answers in it."""
    found = []
    for cross in run.crosses:
        projection = _projected(run, cross)
        n = np.arange(len(cross.rows))
        mass = {
            "picture": float(np.abs(projection.rows).mean()),
            "question": float(np.abs(projection.columns).mean()),
            "interaction": float(np.abs(np.diag(projection.residual)).mean()),
        }
        figures = {f"emap {name} mass": value for name, value in mass.items()}
        shares = {
            "emap interaction share": projection.interaction_share(),
            "intershap share of means": projection.share_of_means(),
        }
        figures |= {name: value for name, value in shares.items() if value is not None}
        local = projection.local_shares()
        if not np.isnan(local).all():
            figures["intershap"] = float(np.nanmean(local))
        said = cross.logits[n, n].argmax(axis=-1)
        missing: dict[str, str] = {}
        for estimator in pid:
            try:
                score = score_pid(
                    run.batch.take(cross.rows), said, estimator=estimator, shuffles=19, seed=seed
                )
            except UsageError as error:
                missing[f"pid {estimator}"] = str(error)
                continue
            figures[f"pid {estimator} synergy"] = score.found.synergy
            figures[f"pid {estimator} synergy above chance"] = score.corrected_synergy
            figures[f"pid {estimator} p"] = score.p_value
        found.append(
            CrossFigure(run.scenario, cross.bucket.key, cross.density, len(cross.rows), figures, missing)
        )
    return found
