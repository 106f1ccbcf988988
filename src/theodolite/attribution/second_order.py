r"""Second-order gradients: how the relevance of words changes with each image token.

With z the explained output, h_t the input of the first language layer at token t, and s_{w,t} the share of token t's
non-blank characters that belong to word w,

    r_w = Σ_t s_{w,t} Σ_d h_{t,d} ∂z/∂h_{t,d},    a = Σ_w |r_w|,    v_i = Σ_d |∂a/∂h_{i,d}|

for image token i; one word at a time, v_i = Σ_w Σ_d |∂r_w/∂h_{i,d}|. The vision tower is not differentiated, because the
processing between pixels and image tokens differs between architectures. Features that enter later layers directly
(Qwen3-VL's deepstack) are not included either. Words that share a token are weighted by their length in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.attribute import checkpoint_of
from theodolite.attribution.flow import upcast
from theodolite.attribution.recorder import attention_of, frozen, pre_hook
from theodolite.attribution.shared_pass import Batch, prepare
from theodolite.attribution.written import text_tokens
from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.core.types import Request
from theodolite.geometry import TokenGrid
from theodolite.models import Checkpoint, VisionLanguageModel, find_family

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class SecondOrder:
    """The result for one request."""

    words: NDArray[np.float64]
    """r_w, in the order of the words."""
    values: NDArray[np.float64]
    """v_i, one per image token of the first picture."""
    grid: TokenGrid
    """The positions of these tokens."""


def second_order(
    model: VisionLanguageModel,
    request: Request,
    options: Sequence[str],
    words: Sequence[tuple[int, int]],
    output: Callable[[Tensor], Tensor],
    *,
    one_by_one: bool = False,
) -> SecondOrder:
    """Differentiate an output by words, and the words' relevance by image tokens.

    Args:
        model: A Hugging Face checkpoint, opened with ``hf:…``.
        request: A request with its text after the pictures.
        options: The possible answers. Their first tokens must differ.
        words: Start and end of each word in the text, in characters.
        output: Maps the options' logits to the explained number.
        one_by_one: If True, differentiate each word separately, so that words cannot cancel. Needs one backward pass
            per word.

    Raises:
        UnsupportedError: If the model is a black box, its tokens cannot be matched to words, or its gradients are not
            finite.
        UsageError: If there is no picture, a word is not in the text, or the output is not a single number.
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
    # The only attention kernel with a second derivative.
    with frozen(checkpoint.model), attention_of(text, "sdpa"), sdpa_kernel(SDPBackend.MATH):
        with torch.no_grad(), pre_hook(first, begin):
            last = checkpoint.logits(batch.inputs, 1)[0, -1]
        with torch.enable_grad():
            (hidden,) = leaves
            logits = upcast(last)[torch.tensor(batch.option_ids[0], device=last.device)]
            explained = output(logits)
            if explained.numel() != 1:
                raise UsageError(f"the output must be one number, not {explained.numel()}")
            (slope,) = torch.autograd.grad(explained.sum(), hidden, create_graph=True)
            by_token = (upcast(hidden) * upcast(slope)).sum(-1)[0]
            shares = torch.from_numpy(_shares(checkpoint, request, words, batch))
            relevance = shares.to(by_token) @ by_token
            wanted = relevance if one_by_one else relevance.abs().sum()[None]
            values = torch.zeros(hidden.shape[1], device=hidden.device)
            for index, term in enumerate(wanted):
                (gradient,) = torch.autograd.grad(term, hidden, retain_graph=index + 1 < len(wanted))
                values = values + upcast(gradient).abs().sum(-1)[0]
    picture = batch.placed[0][0]
    word_values = relevance.detach().double().cpu().numpy()
    image_values = values.double().cpu().numpy()[picture.positions]
    if not (np.isfinite(word_values).all() and np.isfinite(image_values).all()):
        raise UnsupportedError(
            "the second-order gradients are not finite in this precision; open the model with ?dtype=float32"
        )
    return SecondOrder(word_values, image_values, picture.grid)


def _shares(
    checkpoint: Checkpoint, request: Request, words: Sequence[tuple[int, int]], batch: Batch
) -> NDArray[np.float64]:
    """Return the share of each token that belongs to each word, by non-blank characters, (words, tokens)."""
    text = next(part for part in reversed(request.messages[-1].content) if isinstance(part, str))
    wrong = [word for word in words if not 0 <= word[0] < word[1] <= len(text)]
    if wrong:
        raise UsageError(
            f"the text has {len(text)} characters; there is no word from {wrong[0][0]} to {wrong[0][1]}"
        )
    input_ids = batch.inputs["input_ids"][0].tolist()
    shares = np.zeros((len(words), len(input_ids)))
    for token in text_tokens(checkpoint, request, input_ids, within=words):
        own = [len("".join(text[max(token.low, a) : min(token.high, b)].split())) for a, b in words]
        shares[:, token.position] = np.array(own) / token.n_letters
    return shares
