r"""Second-order gradients: how the relevance of words changes with each image token.

With z the explained output, h_t what the first language layer is given at token t, and s_{w,t} the share of token t's characters
that belong to word w,

    r_w = Σ_t s_{w,t} Σ_d h_{t,d} ∂z/∂h_{t,d},    a = Σ_w |r_w|,    v_i = Σ_d |∂a/∂h_{i,d}|

for image token i; one word at a time, v_i = Σ_w Σ_d |∂r_w/∂h_{i,d}|. The vision tower is not differentiated: between its pixels
and the image tokens stands a processor of each architecture's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution._attribute import checkpoint_of
from theodolite.attribution._pass import Batch, prepare
from theodolite.attribution._precision import wide
from theodolite.attribution._recorder import frozen, pre_hook
from theodolite.errors import ContractError, UsageError
from theodolite.geometry import TokenGrid
from theodolite.models import Checkpoint, VisionLanguageModel, find_family
from theodolite.types import Request

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class SecondOrder:
    """What came of one request."""

    words: NDArray[np.float64]
    """r_w, in the order of the words."""
    values: NDArray[np.float64]
    """v_i, one for each image token of the first picture."""
    grid: TokenGrid
    """Where these tokens lie."""


def second_order(
    model: VisionLanguageModel,
    request: Request,
    options: Sequence[str],
    words: Sequence[tuple[int, int]],
    output: Callable[[Tensor], Tensor],
    *,
    one_by_one: bool = False,
) -> SecondOrder:
    """Differentiates an output by words, and the words' relevance by image tokens.

    Args:
        model: a Hugging Face checkpoint, opened with ``hf:…``.
        request: one text, after its pictures.
        options: what may be answered; their first tokens must differ.
        words: where each word begins and ends in the text, in characters.
        output: from the options' logits to the number that is explained.
        one_by_one: whether each word is differentiated by itself, so that words cannot cancel; a backward pass for each.

    Raises:
        UnsupportedError: the model is a black box, or its tokenizer does not tell where its tokens stand.
        UsageError: there is no picture.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    checkpoint = checkpoint_of(model)
    if not request.pictures:
        raise UsageError("second-order gradients need a picture")
    batch = prepare(checkpoint, [request], [options])
    leaves: list[Tensor] = []

    def begin(
        _: Any, positional: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        leaves.append(positional[0].detach().requires_grad_())
        torch.set_grad_enabled(True)
        return (leaves[0], *positional[1:]), named

    first = find_family(checkpoint.model).decoder(checkpoint.model).layers[0]
    with frozen(checkpoint.model), sdpa_kernel(SDPBackend.MATH):  # the only kernel with a second derivative
        with torch.no_grad(), pre_hook(first, begin):
            last = checkpoint.logits(batch.inputs, 1)[0, -1]
        with torch.enable_grad():
            (hidden,) = leaves
            logits = wide(last)[torch.tensor(batch.option_ids[0], device=last.device)]
            (slope,) = torch.autograd.grad(output(logits), hidden, create_graph=True)
            by_token = (wide(hidden) * wide(slope)).sum(-1)[0]
            shares = torch.from_numpy(_shares(checkpoint, request, words, batch))
            relevance = shares.to(by_token) @ by_token
            wanted = relevance if one_by_one else relevance.abs().sum()[None]
            values = torch.zeros(hidden.shape[1], device=hidden.device)
            for place, each in enumerate(wanted):
                (found,) = torch.autograd.grad(each, hidden, retain_graph=place + 1 < len(wanted))
                values = values + wide(found).abs().sum(-1)[0]
    picture = batch.placed[0][0]
    return SecondOrder(
        relevance.detach().double().cpu().numpy(),
        values.double().cpu().numpy()[picture.positions],
        picture.grid,
    )


def _shares(
    checkpoint: Checkpoint, request: Request, words: Sequence[tuple[int, int]], batch: Batch
) -> NDArray[np.float64]:
    """How much of each token belongs to each word, by characters, (words, tokens).

    A picture is one token of the prompt and many of the input, so tokens of the text that stand after it are counted from the end.
    """
    text = next(part for part in reversed(request.messages[-1].content) if isinstance(part, str))
    prompt = checkpoint.prompt(request)
    start = prompt.rfind(text)
    if start < 0:
        raise ContractError("the chat template changes the text of the request, so its words cannot be found")
    ids, spans = checkpoint.token_ids(prompt), checkpoint.token_spans(prompt)
    given = batch.inputs["input_ids"][0].tolist()
    shares = np.zeros((len(words), len(given)))
    for place, (low, high) in enumerate(spans):
        own = [min(high, start + stop) - max(low, start + begin) for begin, stop in words]
        if high == low or max(own, default=0) <= 0:
            continue
        position = len(given) - len(ids) + place
        if given[position] != ids[place]:
            raise ContractError(f"the processor puts another token in the place of {prompt[low:high]!r}")
        shares[:, position] = np.clip(own, 0, None) / (high - low)
    return shares
