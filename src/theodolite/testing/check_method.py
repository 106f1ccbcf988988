"""Check that a relevance method fulfils its contract."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.attribution import Attribution, Evidence, Method, Need, attribute, find_methods
from theodolite.core.registry import registry
from theodolite.core.types import Picture, Request
from theodolite.models import VisionLanguageModel, open_model
from theodolite.runs import describe
from theodolite.testing.findings import Findings, Remark, examine, not_a
from theodolite.testing.tiny import Family, tiny_checkpoint

_FAMILIES: tuple[Family, ...] = ("llava", "qwen2_vl")
"""One with a fixed grid of tokens, and one whose grid depends on the picture's size and is coarser than its features."""
_OPTIONS = ("left", "right", "above", "below")
_TARGETS = ("option:0", "option:1")
_CLOSE = 1e-3
"""Largest difference that rounding may make, relative to the largest score."""
_ROUNDING = 1e-6
"""Scores of the tiny checkpoints that are smaller are rounding errors."""


def _ones(evidence: Evidence, _: str) -> Any:
    return evidence.is_token.float()


_EVERYTHING = Method(
    "check-everything", "asks for all that the shared pass offers", "", reduce(or_, Need), _ones
)


def check_method(method: str | Method) -> Findings:
    """Check a relevance method against its contract, on tiny checkpoints of two architectures with random weights.

    Args:
        method: The method, or its name.

    Raises:
        BrokenContractError: If a check fails. The message lists all failures.

    >>> check_method("gradient-norm").remarks
    ()
    """
    tested = find_methods([method])[0] if isinstance(method, str) else method
    if not isinstance(tested, Method):
        raise not_a("method", tested, "it is not a theodolite.attribution.Method")
    with tempfile.TemporaryDirectory() as folder:
        models = {
            family: open_model(f"hf:{tiny_checkpoint(Path(folder) / family, family)}") for family in _FAMILIES
        }
        return examine("method", tested.name, _Trial(tested, models), _CHECKS)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A method, and models to try it on."""

    method: Method
    models: dict[Family, VisionLanguageModel]

    def maps(self, model: VisionLanguageModel, *others: Method, batch_size: int = 2) -> list[np.ndarray]:
        """Return the method's maps, computed together with those of other methods."""
        return _of(self.method.name, _attribute(model, [self.method, *others], batch_size))


def _attribute(
    model: VisionLanguageModel, methods: Sequence[Method], batch_size: int = 2
) -> list[Attribution]:
    requests = _requests()
    return attribute(
        model,
        requests,
        [_OPTIONS] * len(requests),
        methods=methods,
        targets=_TARGETS,
        batch_size=batch_size,
    )


def _requests() -> list[Request]:
    """Return two requests with texts and pictures of different sizes, so that a batch of both is padded."""
    rng = np.random.default_rng(0)
    pictures = [
        Picture.from_array(rng.integers(0, 256, size, np.uint8)) for size in ((56, 56, 3), (56, 84, 3))
    ]
    return [
        Request.ask(pictures[0], "where is red?", max_tokens=1),
        Request.ask(pictures[1], "where is the blue thing, seen from the red thing?", max_tokens=1),
    ]


def _is_described(trial: _Trial) -> Iterator[str]:
    method = trial.method
    if not (method.name and method.summary):
        yield "it has no name, or no summary"
    if not isinstance(method.needs, Need):
        yield f"needs is {method.needs!r}, not a theodolite.attribution.Need"
    if method.scores_on not in {"tokens", "features"}:
        yield f"scores_on is {method.scores_on!r}, not tokens or features"
    known = {entry.name for entry in registry().entries("method")}
    if method.sound_variant and method.sound_variant not in known:
        yield f"its sound variant {method.sound_variant!r} is no registered method"


def _scores_every_token_or_feature(trial: _Trial) -> Iterator[str]:
    for family, model in trial.models.items():
        faults: list[str] = []

        def watched(evidence: Evidence, target: str, faults: list[str] = faults) -> Any:
            scores = trial.method.score(evidence, target)
            faults += _faults(scores, evidence, trial.method)
            return scores

        try:
            _attribute(model, [replace(trial.method, score=watched), _EVERYTHING])
        except Exception as error:  # noqa: BLE001 - any exception is reported
            faults = faults or [f"it raised {describe(error)}"]
        yield from (f"on a {family}, {fault}" for fault in dict.fromkeys(faults))


def _faults(scores: Any, evidence: Evidence, method: Method) -> Iterator[str]:
    import torch

    if method.scores_on == "tokens":
        wanted = tuple(evidence.is_token.shape)
        if not isinstance(scores, torch.Tensor):
            yield f"it returned a {type(scores).__name__}; scores on tokens are a tensor (batch, tokens)"
        elif tuple(scores.shape) != wanted:
            yield f"its scores have shape {tuple(scores.shape)}, not (batch, tokens) = {wanted}"
        elif not bool(torch.isfinite(scores[evidence.is_token.to(scores.device)]).all()):
            yield "a score is not finite"
        return
    sizes = [[grid.n_tokens for grid in grids] for grids in evidence.feature_grids]
    try:
        given = [[np.asarray(values) for values in row] for row in scores]
    except TypeError:
        yield f"it returned a {type(scores).__name__}; scores on features are a list of arrays for each request"
        return
    if [[values.shape for values in row] for row in given] != [[(n,) for n in row] for row in sizes]:
        yield f"it gives {[[values.shape for values in row] for row in given]} scores for {sizes} features"
    elif not all(np.isfinite(values).all() for row in given for values in row):
        yield "a score is not finite"


def _reads_only_what_it_needs(trial: _Trial) -> Iterator[str]:
    for family, model in trial.models.items():
        together = trial.maps(model, _EVERYTHING)
        try:
            alone = trial.maps(model)
        except Exception as error:  # noqa: BLE001 - any exception is reported
            yield f"`needs` leaves out what it reads: alone on a {family} it raised {describe(error)}"
            continue
        if not _are_close(alone, together):
            yield f"on a {family} its scores depend on which other methods are computed with it"


def _is_deterministic(trial: _Trial) -> Iterator[str]:
    for family, model in trial.models.items():
        maps = trial.maps(model)
        if not all(map(np.array_equal, maps, trial.maps(model))):
            yield f"on a {family} the same requests get different scores"
        if max(float(np.abs(values).max()) for values in maps) < _ROUNDING:
            yield Remark(f"on a {family} all scores are below {_ROUNDING:g}: they are rounding errors")


def _is_independent_of_the_batch(trial: _Trial) -> Iterator[str]:
    for family, model in trial.models.items():
        if not _are_close(trial.maps(model), trial.maps(model, batch_size=1)):
            yield f"on a {family} a request gets other scores in a batch than alone"


def _depends_on_the_target(trial: _Trial) -> Iterator[str]:
    if not trial.method.has_target:
        return
    for family, model in trial.models.items():
        rows = _attribute(model, [trial.method])
        first, second = ([row.find(trial.method.name, target).values for row in rows] for target in _TARGETS)
        if all(map(np.array_equal, first, second)):
            yield f"on a {family} all targets get the same scores; set has_target=False"


def _leaves_the_shared_pass_unchanged(trial: _Trial) -> Iterator[str]:
    others = [
        replace(method, name=f"check-{method.name}")
        for method in find_methods(["grad-act-layers", "gradient-norm", "chefer", "gradcam"])
    ]
    for family, model in trial.models.items():
        before, after = _attribute(model, [*others]), _attribute(model, [trial.method, *others])
        for other in others:
            if not _are_close(_of(other.name, before), _of(other.name, after)):
                name = other.name.removeprefix("check-")
                yield f"on a {family} it changes the scores of {name}, which is computed after it"


def _of(name: str, rows: Sequence[Attribution]) -> list[np.ndarray]:
    return [
        relevance_map.values for row in rows for relevance_map in row.maps if relevance_map.method == name
    ]


def _are_close(one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> bool:
    return len(one) == len(other) and all(
        a.shape == b.shape and bool(np.abs(a - b).max() <= max(_CLOSE * np.abs(a).max(), _ROUNDING))
        for a, b in zip(one, other, strict=True)
    )


_CHECKS: tuple[Callable[[_Trial], Iterator[str]], ...] = (
    _is_described,
    _scores_every_token_or_feature,
    _reads_only_what_it_needs,
    _is_deterministic,
    _is_independent_of_the_batch,
    _depends_on_the_target,
    _leaves_the_shared_pass_unchanged,
)
