"""The prompt sweep (Table 9): accuracy and direction for each prompt, on the pairs that were asked with all of them."""

from __future__ import annotations

import numpy as np

from theodolite.core.tables import Column, Table
from theodolite.instruments.compass.experiments.framework import DAE, EA, EXCESS, METHOD, TARGET, N
from theodolite.instruments.compass.formulas.projected import ProjectedRun
from theodolite.instruments.compass.measure import split_key
from theodolite.instruments.compass.published import published_notes
from theodolite.stats import clustered_mean


def prompts_of(projected: ProjectedRun) -> tuple[str, ...]:
    """The prompts of a run, in order."""
    return tuple(dict.fromkeys(sample.prompt for sample in projected.samples))


def prompts_table(projected: ProjectedRun, projection: str, *, model: str, on: str = "all pairs") -> Table:
    """One row per prompt and map.

    Args:
        projected: Asked with several prompts.
        projection: One of its projections.
        model: Its name, to find what the paper reports.
        on: Which pairs these are, for the title.
    """
    prompts = prompts_of(projected)
    asked = [{s.id for s in projected.samples if s.prompt == name} for name in prompts]
    common = set.intersection(*asked)
    rows = []
    for prompt in prompts if common else ():
        own = np.array([s.prompt == prompt and s.id in common for s in projected.samples])
        accuracy = clustered_mean(projected.is_correct[own].astype(float), projected.clusters[own])
        for key in projected.keys:
            kept = projected.angles[projection][key][own].kept
            rows.append(
                [
                    prompt,
                    accuracy,
                    *split_key(key),
                    kept.mean_error(),
                    kept.excess(),
                    kept.edge_accuracy(),
                    len(kept),
                ]
            )
    return Table.of(
        "compass.prompts",
        f"Prompts, on {on} asked with each of them, {projection} projection",
        [
            Column("prompt", "prompt"),
            Column("accuracy", "answers right", "share", "compass.accuracy"),
            METHOD,
            TARGET,
            DAE,
            EXCESS,
            EA,
            N,
        ],
        rows,
        published_notes(model, projected.sources, "prompts", prompts),
    )


def best_prompt(projected: ProjectedRun) -> str:
    """The most accurate prompt on the pairs asked with all of them; the first of equals."""
    prompts = prompts_of(projected)
    common = set.intersection(*({s.id for s in projected.samples if s.prompt == name} for name in prompts))
    if not common:
        return prompts[0]
    right = {
        name: np.mean([s.is_correct for s in projected.samples if s.prompt == name and s.id in common])
        for name in prompts
    }
    return max(prompts, key=lambda name: right[name])
