"""Computes relevance maps of requests: all methods and targets from one shared pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, cast

import numpy as np

from theodolite.attribution.evidence import Evidence
from theodolite.attribution.maps import Attribution, RelevanceMap, check_targets
from theodolite.attribution.method import FeatureScores, Method, Need, find_methods
from theodolite.attribution.recorder import check_threshold, features_of
from theodolite.attribution.shared_pass import SharedPass, prepare, prepare_answer
from theodolite.attribution.written import AnswerScores, Span, WrittenAnswer, question_tokens
from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.core.scores import Capability
from theodolite.core.types import Request
from theodolite.models import Checkpoint, VisionLanguageModel, is_choosing

if TYPE_CHECKING:
    import torch


def capability_of(model: VisionLanguageModel) -> Capability:
    """Return a model's capability: gradients, log-probabilities of options, or text only."""
    if is_white_box(model):
        return "gradients"
    return "choices" if is_choosing(model) else "text"


def is_white_box(model: VisionLanguageModel) -> bool:
    """Return True if a model provides gradients."""
    return isinstance(getattr(model, "checkpoint", None), Checkpoint)


def checkpoint_of(model: VisionLanguageModel) -> Checkpoint:
    """Return the checkpoint of a model.

    Raises:
        UnsupportedError: If the model is a black box.
    """
    checkpoint = getattr(model, "checkpoint", None)
    if not isinstance(checkpoint, Checkpoint):
        raise UnsupportedError(
            f"{model.name} provides no gradients or attention; attribution needs a checkpoint (hf:…)"
        )
    return checkpoint


def attribute(  # noqa: PLR0913 - one parameter per choice
    model: VisionLanguageModel,
    requests: Sequence[Request],
    options: Sequence[Sequence[str]],
    *,
    methods: Sequence[str | Method] = ("all",),
    targets: Sequence[str] = ("pred",),
    gold: Sequence[int] | None = None,
    batch_size: int | None = None,
    mask_sinks: float | None = None,
) -> list[Attribution]:
    """Compute relevance maps of requests.

    One forward pass serves all methods and targets. Each target costs one backward pass, no deeper than the methods
    need. The next batch is prepared while the model processes the current one.

    Args:
        model: A Hugging Face checkpoint, opened with ``hf:…``.
        requests: Requests with at least one picture each.
        options: The possible answers of each request, the same number for all. Their first tokens must differ.
        methods: Names (``all`` for all registered ones) or `Method` objects.
        targets: The logits to explain: ``pred``, ``gt`` (needs `gold`), ``option:0`` and so on.
        gold: The index of each request's correct option.
        batch_size: Requests per batch. Default: the model's preference.
        mask_sinks: If given, the relevance of attention sinks is set to zero in every map, on the picture and on the text.
            This is their threshold τ (see `theodolite.attribution.recorder`), 20 in the paper.

    Returns:
        One attribution per request, with the maps of all methods and targets.
    """
    checkpoint = checkpoint_of(model)
    chosen = _methods(methods)
    wanted = check_targets(targets)
    check_threshold(mask_sinks)
    _check(requests, options, gold)
    needs = reduce(or_, (method.needs for method in chosen))
    contrastive = any(method.is_contrastive for method in chosen)
    size = batch_size or model.batch_size
    parts = [slice(start, start + size) for start in range(0, len(requests), size)]
    attributions: list[Attribution] = []
    with (
        SharedPass(checkpoint, needs, contrastive=contrastive, mask_sinks=mask_sinks) as shared,
        ThreadPoolExecutor(max_workers=1) as pool,
    ):
        ready = pool.submit(prepare, checkpoint, requests[parts[0]], options[parts[0]])
        for part, following in zip(parts, [*parts[1:], None], strict=True):
            batch = ready.result()
            if following is not None:
                ready = pool.submit(prepare, checkpoint, requests[following], options[following])
            evidence = shared.run(batch, wanted, list(gold[part]) if gold is not None else None)
            attributions.extend(_attributions(evidence, chosen, wanted, options[part]))
            del evidence  # frees its tensors for the next batch
    return attributions


@dataclass(frozen=True, slots=True)
class TokenShares:
    """Where the relevance of an explained word lies; the three shares sum to one."""

    picture: float
    question: float
    earlier: float
    """On the answer's words before it."""
    template: float
    """On what is none of these, such as the chat template: a share of all relevance, which the others leave out."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerAttribution:
    """The results of one pass over a request and its answer."""

    answer: WrittenAnswer
    scores: AnswerScores
    maps: tuple[RelevanceMap, ...]
    """Per method, span and picture; the target is the span's name."""
    shares: Mapping[tuple[str, str], TokenShares]
    """By method and span, for methods that score tokens."""

    def find(self, method: str, span: str) -> tuple[RelevanceMap, ...]:
        """Return the maps of a method and a span, one per picture."""
        return tuple(each for each in self.maps if (each.method, each.target) == (method, span))


def attribute_answer(
    model: VisionLanguageModel,
    request: Request,
    answer: WrittenAnswer,
    spans: Mapping[str, Span],
    *,
    methods: Sequence[str | Method],
) -> AnswerAttribution:
    """Compute relevance maps of an answer in words: one forward pass, and one backward pass for each span.

    Args:
        model: A Hugging Face checkpoint, opened with ``hf:…``.
        request: A request with at least one picture, and its text after the pictures.
        answer: The answer, as from `WrittenAnswer.of_text`.
        spans: What to explain of the answer, by name.
        methods: Names or `Method` objects.
    """
    checkpoint = checkpoint_of(model)
    chosen = _methods(methods)
    if not request.pictures:
        raise UsageError("attribution needs a picture in every request")
    if not answer.ids or not spans:
        raise UsageError("there is no answer to explain")
    needs = reduce(or_, (method.needs for method in chosen))
    contrastive = any(method.is_contrastive for method in chosen)
    batch = prepare_answer(checkpoint, [request], answer)
    with SharedPass(checkpoint, needs, contrastive=contrastive) as shared:
        evidence, scores = shared.run_answer(batch, spans)
        question = question_tokens(checkpoint, [request], evidence.input_ids, answer)
        maps: list[RelevanceMap] = []
        shares: dict[tuple[str, str], TokenShares] = {}
        for method in chosen:
            for span in spans:
                maps.extend(_maps(evidence, method, span)[0])
                sees_text = method.scores_on == "tokens" and not method.needs & Need.PICTURES
                if sees_text and question is not None:
                    relevance = cast("torch.Tensor", method.score(evidence, span))[0]
                    shares[method.name, span] = _token_shares(evidence, relevance, question[0])
    return AnswerAttribution(answer, scores, tuple(maps), shares)


def _token_shares(evidence: Evidence, relevance: torch.Tensor, question: torch.Tensor) -> TokenShares:
    """Return where relevance lies, by the amounts regardless of sign."""
    amounts = relevance.abs().double().cpu().numpy()
    picture = sum(float(amounts[placed.positions].sum()) for placed in evidence.placed[0])
    asked = float(amounts[question.cpu().numpy()].sum())
    n_prompt = len(amounts) if evidence.rows is None else int(evidence.rows[0]) + 1
    earlier = float(amounts[n_prompt:].sum())
    three, total = picture + asked + earlier, float(amounts.sum())
    if three <= 0:
        return TokenShares(0.0, 0.0, 0.0, 1.0 if total > 0 else 0.0)
    return TokenShares(picture / three, asked / three, earlier / three, max(0.0, 1 - three / total))


def _attributions(
    evidence: Evidence, methods: Sequence[Method], wanted: tuple[str, ...], options: Sequence[Sequence[str]]
) -> list[Attribution]:
    maps: list[list[RelevanceMap]] = [[] for _ in options]
    for method in methods:
        for target in wanted if method.has_target else ("",):
            for row, per_picture in zip(maps, _maps(evidence, method, target), strict=True):
                row.extend(per_picture)
    logits = evidence.logits.double().cpu().numpy()
    normal = evidence.log_normaliser.double().cpu().numpy()
    masked: list[int | None] = [None] * len(options)
    if evidence.sinks is not None:
        masked = [sum(int(each.sum()) for each in row) for row in evidence.sinks_on_pictures()]
    return [
        Attribution(tuple(each), row, row - total, tuple(own), n_sinks)
        for each, row, total, own, n_sinks in zip(options, logits, normal, maps, masked, strict=True)
    ]


def _methods(methods: Sequence[str | Method]) -> tuple[Method, ...]:
    names = [method for method in methods if isinstance(method, str)]
    return (
        *(find_methods(names) if names else ()),
        *(method for method in methods if isinstance(method, Method)),
    )


def _check(
    requests: Sequence[Request],
    options: Sequence[Sequence[str]],
    gold: Sequence[int] | None,
) -> None:
    if not requests:
        raise UsageError("there is no request to attribute")
    if any(not request.pictures for request in requests):
        raise UsageError("attribution needs a picture in every request")
    if len(options) != len(requests) or (gold is not None and len(gold) != len(requests)):
        raise UsageError(f"{len(requests)} requests need as many lists of options and correct answers")
    if len({len(choices) for choices in options}) != 1 or len(options[0]) < 2:
        raise UsageError("every request of a batch needs the same number of options, at least two")


def _maps(evidence: Evidence, method: Method, target: str) -> list[list[RelevanceMap]]:
    """Return the maps of one method and one target: per request, per picture."""
    scores = method.score(evidence, target)
    if method.scores_on == "features":
        per_feature = _without_sinks(evidence, cast("FeatureScores", scores))
        return [
            [
                RelevanceMap(method.name, target, grid, np.asarray(values, np.float32), picture=i)
                for i, (grid, values) in enumerate(zip(grids, row, strict=True))
            ]
            for grids, row in zip(evidence.feature_grids, per_feature, strict=True)
        ]
    relevance = cast("torch.Tensor", scores)
    if evidence.sinks is not None:
        relevance = relevance.masked_fill(evidence.sinks.to(relevance.device), 0)
    pictures, text = evidence.on_pictures(relevance)
    return [
        [
            RelevanceMap(method.name, target, placed.grid, np.asarray(values, np.float32), mass, picture=i)
            for i, (placed, values) in enumerate(zip(row, arrays, strict=True))
        ]
        for row, arrays, mass in zip(evidence.placed, pictures, text, strict=True)
    ]


def _without_sinks(evidence: Evidence, scores: FeatureScores) -> FeatureScores:
    """Set features that lie in attention sinks to zero."""
    if evidence.sinks is None:
        return scores
    return [
        [
            np.where(features_of(picture.grid, is_sink, grid), 0, values)
            for picture, is_sink, grid, values in zip(placed, sinks, grids, row, strict=True)
        ]
        for placed, sinks, grids, row in zip(
            evidence.placed, evidence.sinks_on_pictures(), evidence.feature_grids, scores, strict=True
        )
    ]
