"""Token activation maps (Li et al., *Token Activation Map to Visually Explain Multimodal LLMs*, ICCV 2025).

With f_j the last hidden state of token j and w_c the head's row of token c, the activation of an explained token c is
a_j = (w_c · f_j)⁺. Words that came before leave their own activation on the picture, which is taken out:

    m_k      activation on the picture of each earlier word k of the question and of the answer, if k ≠ c
    i        Σ_k v_k m_k / Σ_k v_k,   v_k the activation of c where word k stands
    a − s i  with s by least squares, negative values set to zero

Picture and text are then scaled together to 0 … 1. Last, a rank filter smooths the picture: the nine values around a
token are sorted and averaged with Gaussian weights around the median, whose width is their standard deviation over
their mean.

An earlier word of the question stands at its own position, one of the answer at the position before it, where it was
written. The published code takes the last token of the template in place of the answer's first word, and what the model
would write after the question's first word in place of that word; here both are the words themselves. A span has the sum
of its tokens' maps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.evidence import Evidence
from theodolite.attribution.flow import upcast
from theodolite.attribution.method import Method, Need
from theodolite.core.errors import ContractError
from theodolite.geometry import TokenGrid

if TYPE_CHECKING:
    import torch

Values = NDArray[np.float64]

SIDE = 3
"""Tokens per side of the rank filter's window."""
_SMALL = 1e-8


class TokenAt(NamedTuple):
    """A token before the explained one."""

    position: int
    """Where it stands, or was written."""
    token: int


def without_interference(own: Values, earlier: Values, weights: Values) -> Values:
    """Subtract the activation of earlier words from that of the explained one.

    Args:
        own: Activation of the explained token on the picture, (image tokens,).
        earlier: That of earlier words, (words, image tokens).
        weights: Activation of the explained token where they stand, (words,).

    >>> without_interference(np.array([3.0, 1.0]), np.array([[0.0, 1.0]]), np.array([2.0])).round(6).tolist()
    [3.0, 0.0]
    """
    if not len(earlier):
        return own
    shared = weights / (weights.sum() + _SMALL) @ earlier
    power = float(shared @ shared)
    scale = float(own @ shared) / power if power > 0 else 0.0
    return np.asarray(np.clip(own - scale * shared, 0, None))


def rank_filter(values: Values) -> Values:
    """Smooth rows and columns of values, which are mirrored at the edges.

    >>> rank_filter(np.array([[0.0, 0, 0], [0, 9, 0], [0, 0, 0]]))[1].round(3).tolist()
    [0.737, 0.525, 0.737]
    """
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(values, SIDE // 2, mode="reflect"), (SIDE, SIDE)
    )
    ordered = np.sort(windows.reshape(*values.shape, -1), axis=-1)
    mean = ordered.mean(axis=-1, keepdims=True)
    width = ordered.std(axis=-1, keepdims=True) / np.where(mean > 0, mean, 1)
    steps = np.arange(SIDE**2) - SIDE**2 // 2
    kernel = np.exp(-(steps**2) / (2 * np.maximum(width, _SMALL) ** 2))
    smooth = (ordered * kernel).sum(axis=-1) / kernel.sum(axis=-1)
    return np.asarray(np.where(mean[..., 0] > 0, smooth, 0.0))


def filtered(grid: TokenGrid, values: Values) -> Values:
    """Filter each part of a grid whose tokens form rows and columns; others stay as they are."""
    result = values.copy()
    for part in np.unique(grid.part[grid.has_place]):
        chosen = np.flatnonzero(grid.part == part)
        rows = len(np.unique(grid.rects_px[chosen, 1].round(6)))
        if len(chosen) % rows == 0 and min(rows, len(chosen) // rows) > 1:
            shape = (rows, len(chosen) // rows)
            result[chosen] = rank_filter(values[chosen].reshape(shape)).ravel()
    return result


def _tam(evidence: Evidence, target: str) -> torch.Tensor:
    import torch

    relevance = torch.zeros_like(upcast(evidence.is_token.float()))
    for row in range(len(relevance)):
        for position, token, weight in evidence.explained_tokens(target, row):
            scores = activation_map(
                evidence, row, TokenAt(position, token), earlier_words(evidence, row, position)
            )
            relevance[row] += weight * torch.from_numpy(scores).to(relevance)
    return relevance.clamp(min=0)


def earlier_words(evidence: Evidence, row: int, position: int) -> list[TokenAt]:
    """Return the words of the question, and those of the answer that were written before a position."""
    ids = evidence.input_ids[row].tolist()
    if evidence.is_question is not None:
        question = torch_positions(evidence.is_question[row])
    else:  # the chat template's own words are then among them
        first = 1 + max(int(picture.positions.max()) for picture in evidence.placed[row])
        question = list(range(first, position + 1))
    written = [] if evidence.rows is None else [p for p in evidence.rows.tolist() if p < position]
    return [*(TokenAt(p, ids[p]) for p in question), *(TokenAt(p, ids[p + 1]) for p in written)]


def torch_positions(mask: torch.Tensor) -> list[int]:
    """Return where a mask is true."""
    positions: list[int] = mask.nonzero()[:, 0].tolist()
    return positions


def activation_map(evidence: Evidence, row: int, explained: TokenAt, earlier: list[TokenAt]) -> Values:
    """Return the map of one token, (tokens,), between 0 and 1.

    Args:
        evidence: Evidence with the last hidden states.
        row: The request.
        explained: The explained token, and the position before it.
        earlier: The words before it, in order.
    """
    if evidence.final is None:
        raise ContractError("token activation maps need the last hidden states")
    hidden = evidence.final[row]
    own = _activation(evidence, hidden, [explained.token])[0]
    pictures = evidence.placed[row]
    columns = np.concatenate([picture.positions for picture in pictures])
    others = [word for word in earlier if word.token != explained.token]
    maps = _activation(evidence, hidden[columns], [word.token for word in others])
    image = without_interference(own[columns], maps, own[[word.position for word in others]])
    text = own[[word.position for word in earlier]]
    low, high = (pick(np.concatenate([image, text])) for pick in (np.min, np.max))
    scale = 1 / (high - low) if high > low else 0.0
    scores = np.zeros(len(own))
    scores[[word.position for word in earlier]] = (text - low) * scale
    start = 0
    for picture in pictures:
        values = (image[start : start + len(picture.positions)] - low) * scale
        scores[picture.positions] = filtered(picture.grid, values)
        start += len(picture.positions)
    return scores


def _activation(evidence: Evidence, hidden: torch.Tensor, tokens: list[int]) -> Values:
    """Return the positive logits of some tokens at some hidden states, (tokens, hidden states)."""
    import torch

    head = evidence.decoder.head
    ids = torch.tensor(tokens, dtype=torch.long, device=head.weight.device)
    bias = None if getattr(head, "bias", None) is None else head.bias[ids]
    with torch.no_grad():
        logits = torch.nn.functional.linear(hidden.to(head.weight.device), head.weight[ids], bias)
    return upcast(logits).clamp(min=0).T.double().cpu().numpy()


TAM = Method(
    name="tam",
    summary="activation of the answer's token on the picture, without that of earlier words",
    paper="Li et al., ICCV 2025",
    needs=Need.FINAL,
    score=_tam,
)
