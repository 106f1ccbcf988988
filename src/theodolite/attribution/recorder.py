"""Records a model's attention with our own attention functions and hooks, without asking the model to return it.

transformers calls a registered attention function in every layer. Ours compute attention exactly like the
implementation that the model was opened with (``eager``, or else the fast default) and report it to the recorder.
Everything is restored when the block ends, even after an exception.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.flow import AttentionCall, GradientFlow, upcast
from theodolite.core.errors import ContractError, UnsupportedError, UsageError
from theodolite.geometry import TokenGrid

if TYPE_CHECKING:
    import torch


_NAMES = {"sdpa": "theodolite_sdpa", "eager": "theodolite_eager"}
"""Our attention functions, by the implementation that they reproduce."""


@dataclass(slots=True)
class Recorder:
    """The attention calls of one forward pass, bottom to top."""

    calls: list[AttentionCall] = field(default_factory=list)
    flow: GradientFlow | None = None
    """If set, a gradient that reaches a layer's attention propagates the flow through that layer."""
    handles: list[Any] = field(default_factory=list)
    halves_products: bool = False
    """True in the pass of AttnLRP, where each factor of a product receives half of its relevance."""

    def see(self, call: AttentionCall, output: torch.Tensor) -> None:
        """Record a layer's attention."""
        self.calls.append(call)
        if output.requires_grad:
            tensor: Any = output
            self.handles.append(tensor.register_hook(lambda gradient: self._pass(call, gradient)))

    def _pass(self, call: AttentionCall, gradient: torch.Tensor) -> None:
        if self.flow is not None:
            self.flow.pass_layer(call, gradient)

    def close(self) -> None:
        """Remove the hooks and release the tensors."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self.calls.clear()


_RECORDER: ContextVar[Recorder | None] = ContextVar("theodolite_recorder", default=None)


@contextmanager
def recording(model: Any, *, halves_products: bool = False) -> Iterator[Recorder]:
    """Record the attention of the language layers within the context."""
    _register()
    text_config = model.config.get_text_config()
    used = text_config._attn_implementation  # noqa: SLF001 - there is no public attribute
    recorder = Recorder(halves_products=halves_products)
    with ExitStack() as stack:
        if used not in _NAMES.values():
            stack.enter_context(attention_of(text_config, _NAMES.get(used, _NAMES["sdpa"])))
        token = _RECORDER.set(recorder)
        stack.callback(_RECORDER.reset, token)
        stack.callback(recorder.close)
        yield recorder


def is_recording() -> bool:
    """Return True if the current computation is part of the shared pass, not of a later one."""
    recorder = _RECORDER.get()
    return recorder is not None and not recorder.halves_products


@contextmanager
def paused() -> Iterator[None]:
    """Disable recording within the context."""
    token = _RECORDER.set(None)
    try:
        yield
    finally:
        _RECORDER.reset(token)


@contextmanager
def frozen(model: Any) -> Iterator[None]:
    """Disable parameter gradients within the context."""
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trainable:
        parameter.requires_grad_(requires_grad=False)
    try:
        yield
    finally:
        for parameter in trainable:
            parameter.requires_grad_(requires_grad=True)


@contextmanager
def pre_hook(module: Any, hook: Callable[..., Any]) -> Iterator[None]:
    """Install a hook that sees, and may change, the inputs of a module."""
    handle = module.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def check_seen(recorder: Recorder, n_layers: int) -> None:
    """Check that all language layers were recorded.

    Raises:
        ContractError: If the architecture does not call transformers' attention functions.
    """
    if len(recorder.calls) != n_layers:
        raise ContractError(
            f"attention was recorded in {len(recorder.calls)} of {n_layers} language layers: this architecture does not "
            "call transformers' attention functions, so only methods without attention can be used"
        )


@contextmanager
def attention_of(config: Any, name: str) -> Iterator[None]:
    """Use another attention function of transformers within the context; not in parts with a separate config."""
    before = config._attn_implementation  # noqa: SLF001 - there is no public attribute
    config._attn_implementation = {"": name}  # noqa: SLF001
    try:
        yield
    finally:
        config._attn_implementation = {"": before}  # noqa: SLF001


def scale_gradient(tensor: torch.Tensor, factor: float) -> torch.Tensor:
    """Return the same values. Gradients that pass through them are multiplied by the factor."""
    if not tensor.requires_grad:
        return tensor
    same: Any = tensor.view_as(tensor)
    same.register_hook(lambda gradient: gradient * factor)
    return cast("torch.Tensor", same)


def _register() -> None:
    """Register our attention functions with transformers, together with their mask functions.

    Without a mask function of the same name transformers passes no mask, and padded batches are silently wrong.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import eager_mask, sdpa_mask

    for name, forward, mask in (
        (_NAMES["sdpa"], sdpa_attention_forward, sdpa_mask),
        (_NAMES["eager"], _eager, eager_mask),
    ):
        AttentionInterface.register(name, _recorded(forward))
        AttentionMaskInterface.register(name, mask)


def _recorded(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return an attention function that also reports what it was called with."""

    def attend(
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any,
        scaling: float | None = None,
        **more: Any,
    ) -> tuple[Any, None]:
        recorder = _RECORDER.get()
        if recorder is not None and recorder.halves_products:
            # half of the relevance of A·V is V's; half of what is left is Q's, half is K's
            query, key, value = (
                scale_gradient(tensor, share) for tensor, share in ((query, 0.25), (key, 0.25), (value, 0.5))
            )
        scale = scaling if scaling is not None else query.shape[-1] ** -0.5
        output, _ = forward(module, query, key, value, attention_mask, scaling=scale, **more)
        if recorder is not None:
            recorder.see(
                AttentionCall(query.detach(), key.detach(), value.detach(), attention_mask, float(scale)),
                output,
            )
        return output, None

    return attend


def _eager(
    _: Any, query: Any, key: Any, value: Any, mask: Any, *, scaling: float, **more: Any
) -> tuple[Any, None]:
    """Compute attention without fused kernels: whole matrices, the softmax in float32 or wider."""
    import torch

    if more.get("softcap") is not None:
        raise UnsupportedError("attention with a soft cap on its scores is not supported")
    groups = query.shape[1] // key.shape[1]
    key, value = (tensor.repeat_interleave(groups, dim=1) for tensor in (key, value))
    scores = query @ key.transpose(2, 3) * scaling + mask[..., : key.shape[2]]
    weights = torch.softmax(upcast(scores), dim=-1).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous(), None


# Attention sinks: tokens that attract attention whatever is asked, and hold relevance that says nothing about the answer.
#
# A token is a sink if it has a massive activation in one of the dimensions in which the first token of the prompt has one
# (Kang et al., *See what you are told: visual attention sink in large multimodal models*, ICLR 2025, who found that image
# tokens with such activations are attended to whatever the question; massive activations are of Sun et al., COLM 2024). With
# h_j the hidden state of token j and p_jd = |h_jd| / rms(h_j), in the input of one layer
#
#     D = {d : p_1d ≥ τ},   token j is a sink if max over d in D of p_jd ≥ τ,   τ = 20 in the paper
#
# The paper reads D from the beginning-of-sequence token once per model; here it is read from the first token of each prompt.
# Massive activations appear after the first layers and then stay, so a token counts as a sink if it is one in at least half
# of the layers from the third on. Since p ≤ √width, models of fewer than τ² dimensions have no sinks.


THRESHOLD = 20.0
"""τ of Kang et al."""
FIRST_LAYER = 2
"""The first layer, from 0, whose input is looked at."""


def check_threshold(threshold: float | None) -> None:
    """Raise a `UsageError` if a threshold τ is invalid; None means that sinks are kept."""
    if threshold is not None and not 0 < threshold < math.inf:
        raise UsageError(
            f"the threshold of attention sinks must be a finite number above 0, not {threshold:g}"
        )


class SinkCount:
    """Counts in how many layers each token of a batch is a sink."""

    def __init__(self, threshold: float, is_token: torch.Tensor) -> None:
        """Start to count.

        Args:
            threshold: τ.
            is_token: True for real tokens, (batch, tokens).
        """
        self._threshold = threshold
        self._first = is_token.int().argmax(dim=1)
        self._is_token = is_token
        self._count = is_token.int() * 0
        self._layers = 0

    def see(self, hidden: torch.Tensor) -> None:
        """Look at the input of a layer, (batch, tokens, width)."""
        values = upcast(hidden.detach())
        peaks = values.abs() / values.square().mean(dim=-1, keepdim=True).sqrt().clamp(min=1e-30)
        rows = self._first.to(peaks.device)[:, None, None].expand(-1, 1, peaks.shape[-1])
        in_sink_dimension = peaks.gather(1, rows) >= self._threshold
        is_sink = ((peaks >= self._threshold) & in_sink_dimension).any(dim=-1)
        self._count += is_sink.to(self._count)
        self._layers += 1

    def sinks(self) -> torch.Tensor:
        """Return True for sinks, (batch, tokens)."""
        is_sink: torch.Tensor = self._is_token & (2 * self._count >= max(1, self._layers))
        return is_sink


def features_of(tokens: TokenGrid, is_sink: NDArray[np.bool_], features: TokenGrid) -> NDArray[np.bool_]:
    """Return which vision features lie in sinks, (features,).

    A feature belongs to the tokens of its own part of the picture; if the grids have other parts, to those of all parts.

    Args:
        tokens: The grid of the tokens.
        is_sink: True for tokens that are sinks.
        features: The grid of the vision features.
    """
    same_parts = set(tokens.part[tokens.has_place]) == set(features.part[features.has_place])
    in_sink = np.zeros(features.n_tokens, bool)
    x, y = features.centres_px.T
    for token in np.flatnonzero(is_sink & tokens.has_place):
        x0, y0, x1, y1 = tokens.rects_px[token]
        inside = (x0 <= x) & (x < x1) & (y0 <= y) & (y < y1)
        in_sink |= inside & (features.part == tokens.part[token]) if same_parts else inside
    return in_sink
