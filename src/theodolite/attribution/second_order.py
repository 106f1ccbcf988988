r"""Second-order gradients: how the relevance of words changes with each image token.

With z the explained output, h_t what the first language layer is given at token t, and s_{w,t} the share of token t's characters
that belong to word w, blanks left out,

    r_w = Σ_t s_{w,t} Σ_d h_{t,d} ∂z/∂h_{t,d},    a = Σ_w |r_w|,    v_i = Σ_d |∂a/∂h_{i,d}|

for image token i; one word at a time, v_i = Σ_w Σ_d |∂r_w/∂h_{i,d}|. The vision tower is not differentiated: between its pixels
and the image tokens stands a processor of each architecture's own. What an architecture adds to later layers past the image tokens
(Qwen3-VL's deep features) is not seen either. Words that a tokenizer joins in one token cannot be told apart: they share it by length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.attribute import checkpoint_of
from theodolite.attribution.precision import wide
from theodolite.attribution.recorder import attention_of, frozen, pre_hook
from theodolite.attribution.shared_pass import Batch, prepare
from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.core.types import Request
from theodolite.geometry import TokenGrid
from theodolite.models import Checkpoint, VisionLanguageModel, find_family

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
        UnsupportedError: the model is a black box, its words cannot be found among its tokens, or its gradients are not finite.
        UsageError: there is no picture, a word does not lie in the text, or the output is not one number.
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
    text = checkpoint.model.config.get_text_config()
    # Of all kernels this one alone has a second derivative.
    with frozen(checkpoint.model), attention_of(text, "sdpa"), sdpa_kernel(SDPBackend.MATH):
        with torch.no_grad(), pre_hook(first, begin):
            last = checkpoint.logits(batch.inputs, 1)[0, -1]
        with torch.enable_grad():
            (hidden,) = leaves
            logits = wide(last)[torch.tensor(batch.option_ids[0], device=last.device)]
            explained = output(logits)
            if explained.numel() != 1:
                raise UsageError(f"the output must be one number, not {explained.numel()}")
            (slope,) = torch.autograd.grad(explained.sum(), hidden, create_graph=True)
            by_token = (wide(hidden) * wide(slope)).sum(-1)[0]
            shares = torch.from_numpy(_shares(checkpoint, request, words, batch))
            relevance = shares.to(by_token) @ by_token
            wanted = relevance if one_by_one else relevance.abs().sum()[None]
            values = torch.zeros(hidden.shape[1], device=hidden.device)
            for place, each in enumerate(wanted):
                (found,) = torch.autograd.grad(each, hidden, retain_graph=place + 1 < len(wanted))
                values = values + wide(found).abs().sum(-1)[0]
    picture = batch.placed[0][0]
    found_words = relevance.detach().double().cpu().numpy()
    found_values = values.double().cpu().numpy()[picture.positions]
    if not (np.isfinite(found_words).all() and np.isfinite(found_values).all()):
        raise UnsupportedError(
            "the second-order gradients are not finite in this precision; open it with ?dtype=float32"
        )
    return SecondOrder(found_words, found_values, picture.grid)


def _shares(
    checkpoint: Checkpoint, request: Request, words: Sequence[tuple[int, int]], batch: Batch
) -> NDArray[np.float64]:
    """How much of each token belongs to each word, by characters that are no blanks, (words, tokens).

    A picture is one token of the prompt and many of the input, so tokens of the text that stand after it are counted from the end.
    """
    text = next(part for part in reversed(request.messages[-1].content) if isinstance(part, str))
    prompt = checkpoint.prompt(request)
    wrong = [word for word in words if not 0 <= word[0] < word[1] <= len(text)]
    if wrong:
        raise UsageError(
            f"the text has {len(text)} characters; there is no word from {wrong[0][0]} to {wrong[0][1]}"
        )
    start = prompt.rfind(text)
    if start < 0:
        raise UnsupportedError(
            "the chat template changes the text of the request, so its words cannot be found"
        )
    ids, spans = checkpoint.token_ids(prompt), checkpoint.token_spans(prompt)
    given = batch.inputs["input_ids"][0].tolist()
    shares = np.zeros((len(words), len(given)))
    for place, (low, high) in enumerate(spans):
        own = [len("".join(prompt[max(low, start + a) : min(high, start + b)].split())) for a, b in words]
        if not any(own):
            continue
        position = len(given) - len(ids) + place
        if position < 0 or given[position] != ids[place]:
            raise UnsupportedError(
                f"the processor puts another token in the place of {prompt[low:high]!r}: words must stand after the picture"
            )
        shares[:, position] = np.array(own) / len("".join(prompt[low:high].split()))
    return shares
