"""Which method is best? Maps of models of known reasoning, on pictures where the evidence is known.

pointing     the map's largest value lies on an object of the question
RMA beyond   (share of the map on these objects − their share of the picture) / (1 − their share of the picture)
holds        the map passes the test by hiding
deletion     mean loss while hiding in the map's order, less that of the map moved elsewhere
separation   AUC of the loss with the marked part hidden, less that elsewhere: a model that looks against one that cannot
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from theodolite.core.errors import ModelError, UnsupportedError, UsageError
from theodolite.core.tables import Cell, Column, Table
from theodolite.core.types import Picture
from theodolite.diagnose.request import opened
from theodolite.explanation.api import Box, Choices, explain_request
from theodolite.explanation.record import MapTest
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.drawn import relation_pairs
from theodolite.instruments.compass.data.pairs import Pair
from theodolite.instruments.compass.questions import default_prompt
from theodolite.stats import clustered_mean

BENCH_MODELS = ("pocket:grounded", "pocket:shortcut")
BENCH_METHODS = (
    "attnlrp",
    "chefer",
    "chefer-normalised",
    "gradcam",
    "grad-act-absolute",
    "contrastive-grad-act-sound",
    "integrated-gradients-sound",
    "gradient-norm",
    "tam",
    "attention",
    "attention-rollout",
    "occlusion",
)


@dataclass(frozen=True, slots=True)
class BenchCase:
    """One question with the boxes of the objects that it asks about."""

    question: str
    picture: Picture
    boxes: tuple[Box, ...]


def cases(size: int, seed: int, data: Path | None, images: Path | None) -> list[BenchCase]:
    """Return questions about pairs of objects, drawn or of COCO.

    Raises:
        UsageError: If there is none.
    """
    pairs: Sequence[Pair]
    if data is None:
        pairs = relation_pairs(size, seed=seed)
    else:
        pairs = coco_pairs(data, images or data.parent, n=size, seed=seed).pairs
    if not pairs:
        raise UsageError(f"there is no pair of objects in {data}")
    prompt = default_prompt(pairs)
    return [
        BenchCase(
            prompt.ask(pair),
            pair.picture,
            tuple((r.box.x0, r.box.y0, r.box.x1, r.box.y1) for r in (pair.target, pair.reference)),
        )
        for pair in pairs
    ]


def bench(  # noqa: PLR0913 - one parameter per choice
    models: Sequence[str],
    *,
    methods: Sequence[str] = BENCH_METHODS,
    size: int = 12,
    data: Path | None = None,
    images: Path | None = None,
    tries: int = 20,
    seed: int = 0,
    progress: Callable[[str, int, int | None], None] = lambda *_: None,
) -> Table:
    """Compare methods.

    Args:
        models: Names of models. If the first looks and the second cannot, the last column tells them apart.
        methods: Names of methods.
        size: Number of pictures.
        data: COCO instances. Default: drawn pictures.
        images: The folder of their pictures.
        tries: Number of other places that are hidden for comparison.
        seed: Seed of pictures and places.
        progress: Called with the model, the number done and the total.
    """
    asked = cases(size, seed, data, images)
    found: dict[tuple[str, str], list[MapTest]] = {}
    families: dict[str, str] = {}
    for model in models:
        with opened(model) as ready:
            checkpoint = getattr(ready.model, "checkpoint", None)
            families[model] = checkpoint.model.config.model_type if checkpoint is not None else "–"
            for i, case in enumerate(asked):
                progress(model, i, len(asked))
                choices = Choices(tuple(methods), words=False, boxes=case.boxes, tries=tries, seed=seed)
                try:
                    explanation = explain_request(ready.model, case.question, [case.picture], choices)
                except (ModelError, UnsupportedError) as error:
                    raise type(error)(f"{model}: {error}") from error
                for test in explanation.tests:
                    found.setdefault((model, test.method), []).append(test)
    return _table(found, families, models, list(methods), [case.picture.digest for case in asked])


def _table(
    found: dict[tuple[str, str], list[MapTest]],
    families: dict[str, str],
    models: Sequence[str],
    methods: Sequence[str],
    clusters: Sequence[str],
) -> Table:
    columns = (
        Column("model", "model"),
        Column("family", "family"),
        Column("method", "method"),
        Column("pointing", "pointing", "share"),
        Column("rma", "RMA beyond uniform", "number"),
        Column("holds", "holds", "share"),
        Column("deletion", "deletion gain", "number"),
        Column("insertion", "insertion gain", "number"),
        Column("separation", "separation", "number"),
    )
    rows: list[tuple[Cell, ...]] = []
    for model in models:
        for method in methods:
            tests = found[model, method]
            rows.append(
                (
                    model,
                    families[model],
                    method,
                    _share([_value(t, "pointing") == 1 for t in tests], clusters),
                    float(np.mean([_value(t, "RMA beyond") for t in tests])),
                    _share([t.standing == "holds" for t in tests], clusters),
                    float(np.mean([t.deletion.gain for t in tests])),
                    float(np.mean([t.insertion.gain for t in tests])),
                    _separation(found, models, method) if model == models[0] else None,
                )
            )
    rows.sort(key=lambda row: (models.index(str(row[0])), -float(row[6] or 0)))  # type: ignore[arg-type]
    n = len(next(iter(found.values())))
    notes = (
        f"{n} pictures. Gains are in log-probability (nats), beyond the same map moved elsewhere.",
        f"Separation: AUC of what hiding the marked part costs, {models[0]} against {models[1]}."
        if len(models) > 1
        else "Separation needs a second model, which cannot look.",
    )
    return Table("explain.bench", "Which method is best?", columns, tuple(rows), notes)


def _value(test: MapTest, name: str) -> float:
    return next(float(f.value or 0.0) for f in test.findings if f.name == name)


def _share(values: Sequence[bool], clusters: Sequence[str]) -> Cell:
    return clustered_mean([float(v) for v in values], clusters, bounds=(0.0, 1.0))


def _separation(
    found: dict[tuple[str, str], list[MapTest]], models: Sequence[str], method: str
) -> float | None:
    if len(models) < 2:
        return None
    first, second = (
        np.array([t.loss - float(np.mean(t.other_losses)) for t in found[model, method]])
        for model in models[:2]
    )
    above = (first[:, None] > second[None, :]).mean()
    ties = (first[:, None] == second[None, :]).mean()
    return float(above + ties / 2)
