"""AttnLRP: relevance propagated from a logit to the tokens by rules (Achtibat et al., ICML 2024), as modified gradients.

Layer-wise relevance propagation hands a logit's relevance down, module by module. With relevance R = h ∘ ∂z/∂h, each of
the published rules is a change of the gradient:

=========================  =============================  =====================================================
module                     rule of the paper              the gradient
=========================  =============================  =====================================================
linear map                 ε rule, ε → 0 (equation 8)     unchanged; a bias keeps its share
softmax                    Taylor (proposition 3.1)       unchanged; its constant term keeps its share
activation y = f(x)        identity (equation 9)          y/x in place of f′(x)
RMSNorm, LayerNorm         identity (proposition 3.4)     the scale counts as a constant
gate, A·V, Q·Kᵀ            uniform (propositions 3.2, 3)  half for each factor
=========================  =============================  =====================================================

The relevance of token j is R_j = Σ_d h_{j,d} g_{j,d} at the input of the first language layer. Features that enter between
later layers (Qwen3-VL's deepstack) add theirs at the layer where they enter.

The rules are put in place by hooks, found by the kind of module, so they hold for every decoder that consists of these
kinds. Any other module raises an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from theodolite.attribution.flow import upcast
from theodolite.attribution.recorder import Recorder, pre_hook, recording, scale_gradient
from theodolite.core.errors import ContractError, UnsupportedError
from theodolite.models import Decoder

if TYPE_CHECKING:
    import torch

_LINEAR = re.compile("Linear|Dropout|Identity|RotaryEmbedding")
"""Classes through which the gradient passes unchanged."""
_GATES = ("gate_proj", "gate_up_proj")
"""The names of the map before a gate, in transformers' decoders; what follows the product is ``down_proj``."""
_SMALL = 1e-12
"""Stands for an exact zero, where y/x is not defined but its limit is."""


class Entries:
    """Where relevance is read: the input of the first layer, and what is added between later layers."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []
        self._values: list[Any] = []
        self._last: Any = None

    def enter(self, _: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Note what a layer receives beyond the output of the layer before."""
        import torch

        hidden = positional[0]
        if self._last is None:
            hidden = hidden.detach().requires_grad_()
            torch.set_grad_enabled(True)
            self.inputs.append(hidden)
            self._values.append(hidden.detach())
        elif hidden is not self._last:
            self.inputs.append(hidden)
            self._values.append((hidden - self._last.to(hidden.device)).detach())
        return (hidden, *positional[1:]), named

    def leave(self, _: Any, __: Any, output: Any) -> None:
        """Keep a layer's output until the next one is entered."""
        self._last = output[0] if isinstance(output, tuple) else output

    def relevance(self, gradients: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return the relevance of every token, (batch, tokens)."""
        parts = [
            (upcast(value) * upcast(gradient)).sum(dim=-1)
            for value, gradient in zip(self._values, gradients, strict=True)
        ]
        total = parts[0]
        for part in parts[1:]:
            total = total + part.to(total.device)
        return total


@contextmanager
def rules(model: Any, decoder: Decoder) -> Iterator[tuple[Recorder, Entries]]:
    """Install the rules within the context.

    Raises:
        UnsupportedError: If the decoder has a module for which there is no rule.
    """
    entries = Entries()
    with ExitStack() as stack:
        for part in (*decoder.layers, decoder.norm):
            for module in part.modules():
                _place(stack, module)
        for layer in decoder.layers:
            stack.enter_context(pre_hook(layer, entries.enter))
            stack.callback(layer.register_forward_hook(entries.leave).remove)
        yield stack.enter_context(recording(model, halves_products=True)), entries


def propagate(explained: Mapping[str, torch.Tensor], entries: Entries) -> dict[str, torch.Tensor]:
    """Propagate the relevance of each role's explained number, one backward pass each.

    Args:
        explained: By role, a number per request from a forward pass under `rules`, (batch,).
        entries: From the same pass.

    Returns:
        Relevance (batch, tokens) by role, float32 or wider, with its sign.
    """
    import torch

    relevance = {}
    for left, (role, numbers) in zip(reversed(range(len(explained))), explained.items(), strict=True):
        gradients = torch.autograd.grad(
            numbers.sum(), entries.inputs, retain_graph=left > 0, allow_unused=True
        )
        if any(gradient is None for gradient in gradients):
            raise ContractError("a layer received no gradient; the model may not use it")
        relevance[role] = entries.relevance(gradients)
    return relevance


def _place(stack: ExitStack, module: Any) -> None:
    """Install the rule of one module, if it needs one."""
    from torch import nn

    if hasattr(module, "experts"):
        raise UnsupportedError(f"AttnLRP has no rule for the choice of experts in {type(module).__name__}")
    if any(hasattr(module, name) for name in _GATES):
        after = getattr(module, "down_proj", None)
        if not isinstance(after, nn.Module):
            raise UnsupportedError(f"AttnLRP does not know how {type(module).__name__} applies its gate")
        stack.enter_context(pre_hook(after, _half))
    if next(module.children(), None) is not None:
        return
    name = type(module).__name__
    if isinstance(module, nn.LayerNorm):
        stack.callback(module.register_forward_hook(_centred).remove)
    elif "RMSNorm" in name or _is_activation(module):
        stack.callback(module.register_forward_hook(_scaled).remove)
    elif not _LINEAR.search(name):
        raise UnsupportedError(f"AttnLRP has no rule for the module {name} of this decoder")


def _is_activation(module: Any) -> bool:
    from transformers.activations import ACT2CLS

    kinds = {entry[0] if isinstance(entry, tuple) else entry for entry in ACT2CLS.values()}
    return type(module) in kinds


def _half(_: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return (scale_gradient(positional[0], 0.5), *positional[1:]), named


def _scaled(module: Any, positional: tuple[Any, ...], output: Any) -> Any:
    """Apply the identity rule where y = x · c(x), element by element: the gradient is c."""
    import torch

    given = positional[0]
    with torch.no_grad():
        safe = torch.where(given == 0, max(_SMALL, torch.finfo(given.dtype).tiny), given)
        ratio = (upcast(module.forward(safe)) / upcast(safe)).to(given.dtype)
    return _with_gradient(output, given * ratio)


def _centred(module: Any, positional: tuple[Any, ...], output: Any) -> Any:
    """Apply the identity rule of a LayerNorm, y = (x − mean) · c(x) + bias: the gradient with c constant."""
    given = upcast(positional[0])
    middle = given - given.mean(dim=-1, keepdim=True)
    scale = (middle.detach().square().mean(dim=-1, keepdim=True) + module.eps).rsqrt()
    weight = 1 if module.weight is None else upcast(module.weight)
    return _with_gradient(output, (middle * scale * weight).to(output.dtype))


def _with_gradient(values: torch.Tensor, route: torch.Tensor) -> torch.Tensor:
    """Return the values unchanged, with the gradient of the route."""
    return values.detach() + (route - route.detach())
