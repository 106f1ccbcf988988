"""Seeing a model's attention without asking it to return any: an attention function of our own, and hooks.

transformers lets a function be registered that every layer then calls. Ours computes attention exactly as the fast
default does, and tells whoever records. Everything is put back when the block ends, also after an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from theodolite.attribution.flow import AttentionCall, GradientFlow
from theodolite.core.errors import ContractError

if TYPE_CHECKING:
    import torch

_NAME = "theodolite_recording"


@dataclass(slots=True)
class Recorder:
    """What the layers of one forward pass have told, bottom to top."""

    calls: list[AttentionCall] = field(default_factory=list)
    flow: GradientFlow | None = None
    """If set, a gradient that passes a layer's attention moves the flow through that layer."""
    handles: list[Any] = field(default_factory=list)

    def see(self, call: AttentionCall, output: torch.Tensor) -> None:
        """Takes note of a layer's attention."""
        self.calls.append(call)
        if output.requires_grad:
            tensor: Any = output
            self.handles.append(tensor.register_hook(lambda gradient: self._pass(call, gradient)))

    def _pass(self, call: AttentionCall, gradient: torch.Tensor) -> None:
        if self.flow is not None:
            self.flow.pass_layer(call, gradient)

    def close(self) -> None:
        """Removes the hooks and lets the tensors go."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self.calls.clear()


_RECORDER: ContextVar[Recorder | None] = ContextVar("theodolite_recorder", default=None)


@contextmanager
def recording(model: Any) -> Iterator[Recorder]:
    """Lets a recorder see the attention of the language layers while the block runs."""
    _register()
    text_config = model.config.get_text_config()
    recorder = Recorder()
    with ExitStack() as stack:
        stack.enter_context(attention_of(text_config, _NAME))
        token = _RECORDER.set(recorder)
        stack.callback(_RECORDER.reset, token)
        stack.callback(recorder.close)
        yield recorder


def is_recording() -> bool:
    """Whether what happens now is part of the recorded pass."""
    return _RECORDER.get() is not None


@contextmanager
def paused() -> Iterator[None]:
    """No recording while the block runs."""
    token = _RECORDER.set(None)
    try:
        yield
    finally:
        _RECORDER.reset(token)


@contextmanager
def frozen(model: Any) -> Iterator[None]:
    """No parameter asks for a gradient while the block runs."""
    asking = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in asking:
        parameter.requires_grad_(requires_grad=False)
    try:
        yield
    finally:
        for parameter in asking:
            parameter.requires_grad_(requires_grad=True)


@contextmanager
def pre_hook(module: Any, hook: Callable[..., Any]) -> Iterator[None]:
    """A hook that sees, and may change, what a module is called with."""
    handle = module.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def check_seen(recorder: Recorder, n_layers: int) -> None:
    """Makes sure that every language layer was seen.

    Raises:
        ContractError: the architecture does not call transformers' attention functions.
    """
    if len(recorder.calls) != n_layers:
        raise ContractError(
            f"{len(recorder.calls)} of {n_layers} language layers showed their attention: this architecture does not go "
            "through transformers' attention functions, so only methods without attention can be used"
        )


@contextmanager
def attention_of(config: Any, name: str) -> Iterator[None]:
    """Another attention function of transformers while the block runs."""
    before = config._attn_implementation  # noqa: SLF001 - the only place where it stands
    config._attn_implementation = name  # noqa: SLF001
    try:
        yield
    finally:
        config._attn_implementation = before  # noqa: SLF001


def _register() -> None:
    """Makes our attention known to transformers, with the mask that goes with it.

    Without a mask function of the same name transformers passes no mask at all, and padded batches go silently wrong.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    def attend(
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any,
        scaling: float | None = None,
        **more: Any,
    ) -> tuple[Any, None]:
        output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **more)
        recorder = _RECORDER.get()
        if recorder is not None:
            scale = scaling if scaling is not None else query.shape[-1] ** -0.5
            recorder.see(
                AttentionCall(query.detach(), key.detach(), value.detach(), attention_mask, float(scale)),
                output,
            )
        return output, None

    AttentionInterface.register(_NAME, attend)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
