"""Prompts that begin alike: pictures and the common beginning are computed once, and what differs branches from there.

Requests with the same pictures form a group. The group's prefix is the longest run of tokens that all its prompts begin
with; it contains all pictures. The keys and values of the prefixes of a batch are computed in one pass, copied for every
branch, and the branches go on together, whatever their prefixes. So nine questions about one picture encode it once, and
the options of a choice share their prompt.

Positions count the tokens that are not padding. A model that counts a picture as fewer positions than tokens (M-RoPE) says
so by its ``rope_deltas``, which hold for what follows the picture.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from theodolite.core.types import Request
from theodolite.models.checkpoint import Checkpoint
from theodolite.models.family import Family


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """A text that a model reads after some pictures."""

    request: Request
    text: str
    """As formatted by `Checkpoint.prompt`, perhaps with an option."""
    ids: tuple[int, ...]
    """Its tokens. Each picture is still one placeholder."""
    n_read: int = 1
    """The logits of this many last tokens are needed, so a prefix ends before them."""


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes of a batch as tensors, padded on the left, and the branches that go on from them."""

    inputs: dict[str, Any]
    has_pictures: bool
    prefix_of: tuple[int, ...]
    """For each prompt the row of its prefix."""
    tails: tuple[tuple[int, ...], ...]
    """For each prompt the tokens after its prefix."""

    def length(self, prompt: int) -> int:
        """Return the number of tokens of a prompt, with those of its pictures."""
        prefix = self.inputs["attention_mask"][self.prefix_of[prompt]].sum()
        return int(prefix) + len(self.tails[prompt])


def groups(requests: Sequence[Request]) -> list[list[int]]:
    """Return the indices of requests that may share a prefix: the same pictures after the same words.

    Without pictures only prompts of the same messages are worth it: the options of a choice.
    """
    found: defaultdict[object, list[int]] = defaultdict(list)
    for i, request in enumerate(requests):
        found[_beginning(request)].append(i)
    return list(found.values())


def batches_of(requests: Sequence[Request], size: int) -> Iterator[list[int]]:
    """Yield the indices of requests for one pass: whole groups of similar length, all with pictures or all without.

    A batch has more than `size` requests only if they are one group.
    """
    own: dict[bool, list[list[int]]] = {True: [], False: []}
    for group in groups(requests):
        own[bool(requests[group[0]].pictures)].append(group)
    for kind in own.values():
        kind.sort(key=lambda group: (len(requests[group[0]].pictures), len(requests[group[0]].text)))
        batch: list[int] = []
        for group in kind:
            if batch and len(batch) + len(group) > size:
                yield batch
                batch = []
            batch = [*batch, *group]
        if batch:
            yield batch


def encode_prefixes(
    checkpoint: Checkpoint, family: Family, prompts: Sequence[PromptTokens]
) -> Prefixes | None:
    """Preprocess each group's pictures once, and cut what its prompts have in common.

    Args:
        checkpoint: The model and its processor.
        family: The model's family.
        prompts: A batch. Either all have pictures or none has.

    Returns:
        None if some prompts do not begin with all their pictures, so that there is nothing to share.
    """
    members = groups([prompt.request for prompt in prompts])
    first = [prompts[own[0]] for own in members]
    cuts = [_common([prompts[i] for i in own]) for own in members]
    inputs = checkpoint.encode([p.text for p in first], [p.request for p in first], padding_side="left")
    ids = inputs["input_ids"].cpu().numpy()
    is_image = family.is_image_token(checkpoint.model, ids)
    width = ids.shape[1]
    drops = [len(p.ids) - cut for p, cut in zip(first, cuts, strict=True)]
    for row, (prompt, drop) in enumerate(zip(first, drops, strict=True)):
        tail = slice(width - drop, width)
        if is_image[row, tail].any() or ids[row, tail].tolist() != list(prompt.ids[len(prompt.ids) - drop :]):
            return None
    widths = [int(n) - drop for n, drop in zip(inputs["attention_mask"].sum(1), drops, strict=True)]
    widest = max(widths)
    if min(widths) < 1 or _crosses_a_limit(checkpoint.model, widest, [len(p.ids) for p in prompts], prompts):
        return None
    own_pad = {"input_ids": checkpoint.tokenizer.pad_token_id}
    cut_inputs = {
        name: _shifted(value, drops, own_pad.get(name, 0))[:, -widest:]
        if getattr(value, "shape", None) == inputs["input_ids"].shape
        else value
        for name, value in inputs.items()
    }
    prefix_of = {i: row for row, own in enumerate(members) for i in own}
    tails = tuple(prompt.ids[cuts[prefix_of[i]] :] for i, prompt in enumerate(prompts))
    rows = tuple(prefix_of[i] for i in range(len(prompts)))
    return Prefixes(cut_inputs, bool(is_image.any()), rows, tails)


class Trunk:
    """The keys and values of the prefixes of a batch."""

    def __init__(self, checkpoint: Checkpoint, prefixes: Prefixes) -> None:
        """Compute them."""
        self._checkpoint = checkpoint
        self._prefixes = prefixes
        inputs = dict(prefixes.inputs)
        self._mask = inputs["attention_mask"]
        base = checkpoint.model.base_model
        has_own_positions = hasattr(base, "get_rope_index") and prefixes.has_pictures
        if not has_own_positions:  # by itself, the model would count the padding
            inputs["position_ids"] = (self._mask.cumsum(1) - 1).clamp(min=0)
        _, self._cache = checkpoint.step(inputs, keep=1)
        none = self._mask.new_zeros(len(self._mask), 1)
        self._offsets = base.rope_deltas.reshape(none.shape) if has_own_positions else none

    def branches(self, size: int, n_more: int = 0) -> Iterator[tuple[list[int], Branches]]:
        """Yield up to `size` prompts at a time: their indices, and their branches before the first token.

        Args:
            size: Branches in memory at once.
            n_more: Tokens that will follow the prompts.
        """
        tails = self._prefixes.tails
        order = sorted(range(len(tails)), key=lambda i: (len(tails[i]), self._prefixes.prefix_of[i]))
        longest = self._mask.shape[1] + max(map(len, tails)) + n_more
        windows = [getattr(layer, "sliding_window", None) for layer in self._cache.layers]
        # Padding between prefix and tail would move a window; it does no harm within.
        is_cut = any(window is not None and window < longest for window in windows)
        part: list[int] = []
        for i in order:
            if part and (len(part) == size or (is_cut and len(tails[part[0]]) != len(tails[i]))):
                yield part, self._branch(part)
                part = []
            part.append(i)
        yield part, self._branch(part)

    def _branch(self, prompts: Sequence[int]) -> Branches:
        import torch

        rows = torch.tensor([self._prefixes.prefix_of[i] for i in prompts], device=self._mask.device)
        cache = copy.copy(self._cache)
        cache.layers = [copy.copy(layer) for layer in self._cache.layers]
        cache.batch_select_indices(rows)  # copies keys and values, so that the prefix stays as it is
        return Branches(self._checkpoint, cache, self._mask[rows], self._offsets[rows])


class Branches:
    """Sequences that are read on together, each from its own prefix."""

    def __init__(self, checkpoint: Checkpoint, cache: Any, mask: Any, offsets: Any) -> None:
        self._checkpoint = checkpoint
        self._cache = cache
        self._mask = mask
        self._offsets = offsets

    def read(self, tokens: Sequence[Sequence[int]], keep: int) -> Any:
        """Read some tokens of each sequence, and return the logits after its last ones: (sequences, keep, vocabulary).

        Args:
            tokens: For each sequence its next tokens, at least one.
            keep: Number of last tokens whose logits are wanted. Those of a shorter sequence come last.
        """
        import torch

        width = max(map(len, tokens))
        ids = np.full((len(tokens), width), self._checkpoint.tokenizer.pad_token_id, np.int64)
        is_token = np.zeros((len(tokens), width), np.int64)
        for row, own in enumerate(tokens):
            ids[row, width - len(own) :] = own
            is_token[row, width - len(own) :] = 1
        device = self._mask.device
        self._mask = torch.cat([self._mask, torch.from_numpy(is_token).to(device, self._mask.dtype)], dim=1)
        positions = (self._mask.cumsum(1) - 1)[:, -width:] + self._offsets
        inputs = {
            "input_ids": torch.from_numpy(ids).to(device),
            "attention_mask": self._mask,
            "position_ids": positions,
            "past_key_values": self._cache,
        }
        logits, self._cache = self._checkpoint.step(inputs, keep=keep)
        return logits

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other sequences."""
        import torch

        kept = torch.tensor(list(rows), device=self._mask.device)
        self._cache.batch_select_indices(kept)
        self._mask, self._offsets = self._mask[kept], self._offsets[kept]


def _beginning(request: Request) -> object:
    """Return what prompts of one group have in common: everything up to the last picture, or else all messages."""
    parts: list[tuple[str, str]] = []
    end = 0
    for number, message in enumerate(request.messages):
        for part in message.content:
            is_text = isinstance(part, str)
            parts.append((f"{number} {message.role}", part if isinstance(part, str) else part.digest))
            end = end if is_text else len(parts)
    return (bool(end), tuple(parts[:end] or parts))


def _common(prompts: Sequence[PromptTokens]) -> int:
    """Return the length of the prefix: the tokens with which all prompts begin, without those whose logits are needed."""
    shortest, longest = min(p.ids for p in prompts), max(p.ids for p in prompts)  # differ the earliest
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(shortest, longest, strict=False)))
    return min(alike, *(len(prompt.ids) - prompt.n_read for prompt in prompts))


def _shifted(value: Any, drops: Sequence[int], blank: int) -> Any:
    """Drop the last columns of each row, and fill up on the left."""
    shifted = value.new_full(value.shape, blank)
    width = value.shape[1]
    for row, drop in enumerate(drops):
        shifted[row, drop:] = value[row, : width - drop]
    return shifted


def _crosses_a_limit(
    model: Any, prefix: int, lengths: Sequence[int], prompts: Sequence[PromptTokens]
) -> bool:
    """Return True if positions would be scaled otherwise for a whole prompt than for its prefix (LongRoPE)."""
    limit = getattr(model.config.get_text_config(), "original_max_position_embeddings", None)
    most = max(n + prompt.request.max_tokens for n, prompt in zip(lengths, prompts, strict=True))
    return limit is not None and prefix + most > limit
