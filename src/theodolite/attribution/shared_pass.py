"""The shared pass: one forward pass, and as few backward passes as the targets need.

Gradients start where the deepest method needs them: at the vision features, at the first language layer, or four
layers below the top. Everything before runs without a graph. A full backward pass serves all methods for its target.
The rival of a contrastive target is only propagated through the last four layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from theodolite.attribution.evidence import LAYERS, Evidence, count_features, kept_logits
from theodolite.attribution.flow import GradientFlow, upcast
from theodolite.attribution.maps import SpanTargets, Targets
from theodolite.attribution.method import Need
from theodolite.attribution.recorder import (
    FIRST_LAYER,
    Recorder,
    SinkCount,
    check_seen,
    frozen,
    is_recording,
    paused,
    pre_hook,
    recording,
)
from theodolite.attribution.rules import propagate, rules
from theodolite.attribution.written import (
    AnswerScores,
    Columns,
    Span,
    WrittenAnswer,
    answer_rows,
    answer_scores,
    encode_answer,
    logits_of_variants,
    question_tokens,
)
from theodolite.core.errors import ContractError, UnsupportedError, UsageError
from theodolite.core.types import Picture, Request
from theodolite.geometry import TokenGrid
from theodolite.models import Checkpoint, Family, PlacedPicture, find_family, place_pictures

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests prepared for the model by the processor, on the CPU."""

    inputs: Any
    option_ids: list[list[int]]
    """The first token of each request's options."""
    placed: list[list[PlacedPicture]]
    feature_grids: list[list[TokenGrid]]
    requests: Sequence[Request]
    answer: WrittenAnswer | None = None
    """The answer that follows the prompt; None if options are explained."""

    @property
    def rows(self) -> torch.Tensor | None:
        """The position before each token of the answer, (tokens,); None without an answer."""
        return None if self.answer is None else answer_rows(self.inputs, self.answer)


def prepare_answer(checkpoint: Checkpoint, requests: Sequence[Request], answer: WrittenAnswer) -> Batch:
    """Prepare requests followed by the same answer. Their prompts must have as many tokens.

    Args:
        checkpoint: The model and its processor.
        requests: Requests with the same text, and pictures of the same sizes.
        answer: The answer.
    """
    family = find_family(checkpoint.model)
    inputs = encode_answer(checkpoint, requests, answer)
    sizes = [picture.size for request in requests for picture in request.pictures]
    grids = iter(family.feature_grids(checkpoint.processor, sizes, inputs) if sizes else ())
    return Batch(
        inputs=inputs,
        option_ids=[],
        placed=place_pictures(checkpoint, requests, inputs, family),
        feature_grids=[[next(grids) for _ in request.pictures] for request in requests],
        requests=requests,
        answer=answer,
    )


def prepare(checkpoint: Checkpoint, requests: Sequence[Request], options: Sequence[Sequence[str]]) -> Batch:
    """Prepare a batch: tokens, pixels, and the positions of image tokens.

    Args:
        checkpoint: The model and its processor.
        requests: Requests with at least one picture each.
        options: The options of each request, the same number for all.
    """
    family = find_family(checkpoint.model)
    texts = [checkpoint.prompt(request) for request in requests]
    inputs = checkpoint.encode(texts, requests, padding_side="left")
    sizes = [picture.size for request in requests for picture in request.pictures]
    grids = iter(family.feature_grids(checkpoint.processor, sizes, inputs))
    return Batch(
        inputs=inputs,
        option_ids=[
            option_tokens(checkpoint, r, choices) for r, choices in zip(requests, options, strict=True)
        ],
        placed=place_pictures(checkpoint, requests, inputs, family),
        feature_grids=[[next(grids) for _ in request.pictures] for request in requests],
        requests=requests,
    )


class SharedPass:
    """Runs batches through the model. Use as a context manager, so that all hooks are removed."""

    def __init__(
        self, checkpoint: Checkpoint, needs: Need, *, contrastive: bool, mask_sinks: float | None = None
    ) -> None:
        """Create the pass.

        Args:
            checkpoint: The model and its processor.
            needs: The combined needs of the methods.
            contrastive: True if any method needs the rival's gradient.
            mask_sinks: The threshold of attention sinks, if they are to be found.
        """
        self.checkpoint = checkpoint
        self.needs = needs
        self.contrastive = contrastive
        self.mask_sinks = mask_sinks
        self._sinks: SinkCount | None = None
        self.family: Family = find_family(checkpoint.model)
        self.decoder = self.family.decoder(checkpoint.model)
        self._stack = ExitStack()
        self._leaves: list[torch.Tensor] = []
        self._hidden: dict[int, torch.Tensor] = {}
        self._layer_calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self._recorder = Recorder()
        self._final: torch.Tensor | None = None

    def __enter__(self) -> Self:
        model = self.checkpoint.model
        try:
            self._stack.enter_context(frozen(model))
            self._recorder = self._stack.enter_context(recording(model))
            self._place_hooks()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._leaves.clear()
        self._hidden.clear()
        self._layer_calls.clear()

    def run(self, batch: Batch, wanted: tuple[str, ...], gold: list[int] | None) -> Evidence:
        """Run the forward pass and the backward passes of the targets.

        Args:
            batch: A batch from `prepare`.
            wanted: The targets to explain.
            gold: The index of each request's correct option, for the target ``gt``.
        """
        import torch

        scores = self._forward(batch)
        ids = torch.tensor(batch.option_ids, device=batch.inputs["input_ids"].device)
        with torch.enable_grad():
            logits = kept_logits(scores, ids, None)
        evidence = self._evidence(batch, logits, ids, Targets.choose(logits.detach(), wanted, gold))
        evidence.log_normaliser = torch.logsumexp(upcast(scores.detach()[:, -1]), dim=-1)
        return self._complete(evidence, batch, logits, wanted)

    def run_answer(self, batch: Batch, spans: Mapping[str, Span]) -> tuple[Evidence, AnswerScores]:
        """Run the forward pass over a prompt and its answer, and one backward pass for each span.

        Args:
            batch: A batch of one request, from `prepare_answer`.
            spans: The spans to explain, by name.

        Returns:
            The evidence, and how probable each token of the answer is.
        """
        import torch

        rows = batch.rows
        if rows is None or batch.answer is None or len(batch.requests) != 1:
            raise UsageError("the spans of an answer are explained for one request, prepared with its answer")
        scores = self._forward(batch)
        own = torch.tensor(batch.answer.ids, device=scores.device)
        found = answer_scores(scores.detach(), own)
        columns = Columns.of(spans, own, found.best_other[0])
        with torch.enable_grad():
            logits = kept_logits(scores, columns.ids[None], columns.offsets)
        evidence = self._evidence(batch, logits, columns.ids[None], columns.targets(spans), columns.offsets)
        evidence.seeds = columns.seeds(spans, rows, batch.inputs["input_ids"].shape[1])
        evidence.log_normaliser = torch.logsumexp(upcast(scores.detach()[:, -1]), dim=-1)
        return self._complete(evidence, batch, logits, tuple(spans)), found

    def _forward(self, batch: Batch) -> torch.Tensor:
        """Return the logits at the last position, or before each token of the answer."""
        import torch

        self._leaves.clear()
        self._hidden.clear()
        self._layer_calls.clear()
        self._final = None
        self._recorder.close()
        is_token = batch.inputs["attention_mask"].bool()
        self._sinks = SinkCount(self.mask_sinks, is_token) if self.mask_sinks is not None else None
        with torch.no_grad():  # hooks enable gradients where they are needed
            logits: torch.Tensor = self.checkpoint.logits(
                batch.inputs, 1 if batch.rows is None else batch.rows
            )
        if self.needs & (Need.ATTENTION | Need.ATTENTION_GRADIENT):
            check_seen(self._recorder, len(self.decoder.layers))
        return logits

    def _evidence(
        self,
        batch: Batch,
        logits: torch.Tensor,
        ids: torch.Tensor,
        targets: Targets | SpanTargets,
        offsets: torch.Tensor | None = None,
    ) -> Evidence:
        """Return what the forward pass has given."""
        return Evidence(
            logits=logits.detach(),
            log_normaliser=logits.detach()[:, 0],
            targets=targets,
            is_token=batch.inputs["attention_mask"].bool(),
            sinks=None if self._sinks is None else self._sinks.sinks(),
            placed=batch.placed,
            decoder=self.decoder,
            option_ids=ids,
            input_ids=batch.inputs["input_ids"],
            calls=list(self._recorder.calls),
            hidden=dict(self._hidden),
            layer_calls=list(self._layer_calls),
            final=self._final,
            is_question=question_tokens(
                self.checkpoint, batch.requests, batch.inputs["input_ids"], batch.answer
            )
            if self.needs & Need.FINAL
            else None,
            rows=batch.rows,
            offsets=offsets,
            requests=batch.requests,
            rerun=partial(self._rerun, batch, ids, offsets),
        )

    def _complete(
        self, evidence: Evidence, batch: Batch, logits: torch.Tensor, wanted: tuple[str, ...]
    ) -> Evidence:
        """Run the backward passes."""
        self._keep_features(evidence, batch)
        self._backwards(evidence, logits, wanted)
        if self.needs & Need.RULES:
            self._propagate(evidence, batch, wanted)
        return evidence

    def _rerun(
        self,
        batch: Batch,
        ids: torch.Tensor,
        offsets: torch.Tensor | None,
        row: int,
        variants: Iterable[Sequence[Picture]],
    ) -> torch.Tensor:
        """Return the kept logits of one request with other pictures of the same sizes, (variants, logits)."""
        import torch

        own = ids[row : row + 1] if batch.answer is None else ids
        with paused(), torch.no_grad():
            parts = [
                kept_logits(scores, own, offsets)
                for scores in logits_of_variants(self.checkpoint, batch.requests[row], batch.answer, variants)
            ]
        return torch.cat(parts)

    def _propagate(self, evidence: Evidence, batch: Batch, wanted: tuple[str, ...]) -> None:
        """Run the second pass, in which relevance is propagated by rules."""
        import torch

        with rules(self.checkpoint.model, self.decoder) as (recorder, entries):
            with torch.no_grad():  # enabled from the first layer on
                scores = self.checkpoint.logits(batch.inputs, 1 if batch.rows is None else batch.rows)
            check_seen(recorder, len(self.decoder.layers))
            with torch.enable_grad():
                logits = kept_logits(scores, evidence.option_ids, evidence.offsets)
            gap = evidence.gap(logits, scores.dtype)
            if gap:
                raise ContractError(f"with the rules of AttnLRP the model gives other logits (by {gap:.3g})")
            same = evidence.targets.repeated(wanted)
            with torch.enable_grad():
                explained = {
                    role: evidence.targets.explained(logits, role) for role in wanted if role not in same
                }
            evidence.propagated = propagate(explained, entries)
        for role, other in same.items():
            evidence.share(role, other)

    def _place_hooks(self) -> None:
        """Install hooks that keep hidden states and layer arguments, and one that starts the graph."""
        layers = self.decoder.layers
        first = 0 if self.needs.is_deep else len(layers) + min(LAYERS) + 1
        if first < 0:
            raise UnsupportedError(
                f"the model has {len(layers)} layers; these methods read the last {-min(LAYERS) - 1}"
            )
        if self.needs & Need.FINAL:
            handle = self.decoder.norm.register_forward_hook(self._keep_final)
            self._stack.callback(handle.remove)
        begins_at_features = bool(self.needs & Need.FEATURE_GRADIENT)
        if begins_at_features:
            self._stack.enter_context(pre_hook(self.family.projector(self.checkpoint.model), self._begin))
        for i, layer in enumerate(layers):
            begins = i == first and not begins_at_features and self._needs_graph
            keeper = self._keeper(i - len(layers) - 1, begins=begins, counts=i >= FIRST_LAYER)
            self._stack.enter_context(pre_hook(layer, keeper))

    def _keep_final(self, _: Any, __: Any, output: torch.Tensor) -> None:
        if is_recording():
            self._final = output.detach()

    @property
    def _needs_graph(self) -> bool:
        return bool(self.needs & (Need.HIDDEN_GRADIENT | Need.ATTENTION_GRADIENT | Need.FEATURE_GRADIENT))

    def _begin(
        self, _: Any, positional: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Make a module's first input a leaf of the graph, and enable gradients. A projector may be called repeatedly."""
        import torch

        if not is_recording():
            return positional, named
        leaf = positional[0].detach().requires_grad_()
        self._leaves.append(leaf)
        torch.set_grad_enabled(True)
        return (leaf, *positional[1:]), named

    def _keeper(self, layer: int, *, begins: bool, counts: bool) -> Any:
        def keep(
            module: Any, positional: tuple[Any, ...], named: dict[str, Any]
        ) -> tuple[Any, dict[str, Any]]:
            if not is_recording():
                return positional, named
            if begins:
                positional, named = self._begin(module, positional, named)
            if layer in LAYERS:
                self._hidden[layer] = positional[0]
            if counts and self._sinks is not None:
                self._sinks.see(positional[0])
            self._layer_calls.append((positional[1:], named))
            return positional, named

        return keep

    def _keep_features(self, evidence: Evidence, batch: Batch) -> None:
        if not self.needs & Need.FEATURE_GRADIENT:
            return
        if not self._leaves:
            raise UnsupportedError("a method that reads vision features needs a picture in every request")
        evidence.feature_grids = batch.feature_grids
        evidence.features = _joined([leaf.detach() for leaf in self._leaves])
        if len(evidence.features) != count_features(evidence.feature_grids):
            raise ContractError(
                f"the projector received {len(evidence.features)} vision features, but the family places "
                f"{count_features(evidence.feature_grids)}"
            )

    def _backwards(self, evidence: Evidence, logits: torch.Tensor, wanted: tuple[str, ...]) -> None:
        """Run one backward pass per role: full for the targets if a method needs it, else to the last layers only."""
        if not self._needs_graph:
            return
        roles = evidence.targets.with_rivals(wanted) if self.contrastive else list(wanted)
        same = evidence.targets.repeated(roles)
        pending = [role for role in roles if role not in same]
        for i, role in enumerate(pending):
            deep = self.needs.is_deep and (role in wanted or any(same.get(name) == role for name in wanted))
            chosen = evidence.targets.explained(logits, role).sum()
            self._backward(evidence, chosen, role, deep=deep, retain=i < len(pending) - 1)
        for role, other in same.items():
            evidence.share(role, other)

    def _backward(
        self, evidence: Evidence, chosen: torch.Tensor, role: str, *, deep: bool, retain: bool
    ) -> None:
        import torch

        hidden = list(evidence.hidden.values()) if self.needs & Need.HIDDEN_GRADIENT or not deep else []
        sources = [*hidden, *self._leaves] if deep else hidden
        if deep and self.needs & Need.ATTENTION_GRADIENT:
            starts = role if role in evidence.seeds else ""  # all options start at the last token
            rolls = bool(self.needs & Need.ATTENTION) and starts not in evidence.rolled
            seed = evidence.seed(role)
            self._recorder.flow = GradientFlow.start(seed, rollout=rolls)
        try:
            gradients = torch.autograd.grad(chosen, sources, retain_graph=retain, allow_unused=True)
        finally:
            flow, self._recorder.flow = self._recorder.flow, None
        if any(gradient is None for gradient in gradients):
            raise ContractError("a layer received no gradient; the model may not use it")
        if hidden:
            named = zip(evidence.hidden, gradients, strict=False)
            evidence.hidden_gradients[role] = {layer: upcast(gradient) for layer, gradient in named}
        if flow is not None:
            flow.reference -= seed.to(
                flow.reference
            )  # it marks where the propagation starts; it is not relevance
            evidence.flows[role], evidence.normalised_flows[role] = flow.reference, flow.normalised
            if flow.rollout is not None:
                evidence.rolled[starts] = flow.rollout
        if deep and evidence.features is not None:
            evidence.feature_gradients[role] = _joined(gradients[len(hidden) :])


def _joined(features: Sequence[torch.Tensor]) -> torch.Tensor:
    """Concatenate the features of several calls, (features, width)."""
    import torch

    return torch.cat([part.reshape(-1, part.shape[-1]) for part in features])


def option_tokens(checkpoint: Checkpoint, request: Request, options: Sequence[str]) -> list[int]:
    """Return the first token of each option as it would follow the prompt.

    Raises:
        UsageError: If two options share it, because their logits could not be distinguished.
    """
    prompt = checkpoint.prompt(request)
    bare = checkpoint.token_ids(prompt)
    first: dict[int, str] = {}
    for option in options:
        tokens = checkpoint.token_ids(prompt + option)
        if tokens[: len(bare)] != bare or len(tokens) == len(bare):
            raise UsageError(
                f"the option {option!r} changes the prompt's tokens or adds none; start it differently"
            )
        token = tokens[len(bare)]
        if token in first:
            raise UsageError(
                f"the options {first[token]!r} and {option!r} begin with the same token, so their logits cannot be distinguished; "
                "use numbers or letters"
            )
        first[token] = option
    return list(first)
