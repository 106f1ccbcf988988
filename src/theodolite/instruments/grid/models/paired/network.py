"""The network of both paired models: convolutional stem, text encoder, joint encoder, object-query decoder.

This package imports torch, so it is loaded only when a paired model is opened or trained.

There is one token per cell: the three convolutions of the stem have strides equal to their kernels and together cover
64 x 64 pixels, so the feature of a cell depends on its own pixels only. Rendering is a lookup in an atlas of tiles, hence
so is the stem: ``features(atlas)[cells] == features(atlas[cells])``. Training uses the left side, inference on pictures the
right one; a test checks that they are equal.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

CELL_PIXELS = 64
"""The side of a cell in pixels."""


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """The sizes that determine the shapes of the weights."""

    vocabulary: int
    answers: int
    longest: int
    """Words of a question, padding included."""
    side: int = 8
    """The most rows and columns of a grid."""
    width: int = 160
    heads: int = 5
    text_layers: int = 1
    joint_layers: int = 6
    decoder_layers: int = 2
    queries: int = 25
    counts: int = 26
    """Levels of the counting path, from 0."""

    def as_json(self) -> dict[str, int]:
        """Plain numbers, for the file beside the weights."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class NetworkOutput:
    """The outputs of the network for a batch."""

    answer: Tensor
    """Logits over the answers, ``(batch, answers)``."""
    roles: Tensor
    """Logits of each cell: no role, anchor, target, second target; ``(batch, cells, 4)``."""
    boxes: Tensor
    """Boxes of the object queries as centre and size in fractions of the picture, ``(batch, queries, 4)``."""
    tokens: Tensor
    """Logits of the word that names a query's object, last column: no object; ``(batch, queries, longest + 1)``."""
    query_embedding: Tensor
    """Unit vectors of the queries for contrastive alignment."""
    word_embedding: Tensor
    """Unit vectors of the words for contrastive alignment."""
    counts: Tensor
    """Expected number of first and second targets, ``(batch, 2)``."""


class Attention(nn.Module):
    """Multi-head attention of one sequence over another (or itself), fused."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        """``x`` attends to ``source``."""
        batch, length, width = x.shape
        split = (batch, -1, self.heads, width // self.heads)
        query = self.query(x).view(split).transpose(1, 2)
        key, value = self.key_value(source).chunk(2, dim=-1)
        mixed = functional.scaled_dot_product_attention(
            query, key.reshape(split).transpose(1, 2), value.reshape(split).transpose(1, 2)
        )
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return out


class Layer(nn.Module):
    """A pre-norm transformer layer; with ``crossed`` it also attends to a memory."""

    def __init__(self, size: NetworkSize, *, growth: int, crossed: bool = False) -> None:
        super().__init__()
        width = size.width
        self.before_self = nn.LayerNorm(width)
        self.self_attention = Attention(width, size.heads)
        self.before_cross = nn.LayerNorm(width) if crossed else None
        self.cross_attention = Attention(width, size.heads) if crossed else None
        self.before_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, growth * width), nn.GELU(), nn.Linear(growth * width, width)
        )

    def forward(self, x: Tensor, memory: Tensor | None = None, *, first: int = 0) -> Tensor:
        """One layer; only the tokens from ``first`` on are returned, unchanged by that."""
        normal = self.before_self(x)
        x = x[:, first:] + self.self_attention(normal[:, first:], normal)
        if self.cross_attention is not None and self.before_cross is not None and memory is not None:
            x = x + self.cross_attention(self.before_cross(x), memory)
        out: Tensor = x + self.mlp(self.before_mlp(x))
        return out


class PairedNetwork(nn.Module):
    """Answers a question about a picture of cells, and locates the objects it names.

    Counting path: softmax attention averages and cannot count, so the expected number of targets is a sum over
    cells, ``s_k = sum_c sigmoid(z_c,k)`` with ``z_c,k`` the logit of role ``k`` at cell ``c``, and enters the
    answer head as ``exp(-4 (s_k - j)^2)`` for ``j = 0, 1, ...`` beside the answer query of the *last* decoder
    layer.
    """

    def __init__(self, size: NetworkSize) -> None:
        super().__init__()
        self.size = size
        width = size.width
        self.stem = nn.Sequential(
            nn.Conv2d(3, 32, 4, 4), nn.GELU(), nn.Conv2d(32, 48, 4, 4), nn.GELU(), nn.Conv2d(48, width, 4, 4)
        )
        self.words = nn.Embedding(size.vocabulary, width)
        self.place = nn.Parameter(torch.randn(size.longest, width) * 0.02)
        self.row = nn.Parameter(torch.randn(size.side, 1, width) * 0.02)
        self.column = nn.Parameter(torch.randn(1, size.side, width) * 0.02)
        self.queries = nn.Parameter(torch.randn(size.queries + 1, width) * 0.02)
        self.text = nn.ModuleList(Layer(size, growth=2) for _ in range(size.text_layers))
        self.joint = nn.ModuleList(Layer(size, growth=4) for _ in range(size.joint_layers))
        self.decoder = nn.ModuleList(Layer(size, growth=2, crossed=True) for _ in range(size.decoder_layers))
        self.after_joint = nn.LayerNorm(width)
        self.after_decoder = nn.LayerNorm(width)
        self.role_head = nn.Linear(width, 4)
        self.box_head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 4))
        self.token_head = nn.Linear(width, size.longest + 1)
        self.align_query = nn.Linear(width, 64)
        self.align_word = nn.Linear(width, 64)
        self.answer_head = nn.Sequential(
            nn.Linear(width + 2 * size.counts + 1, width), nn.GELU(), nn.Linear(width, size.answers)
        )

    def tiles(self, pixels: Tensor) -> Tensor:
        """Features of pictures, one per cell: ``(n, 3, H, W)`` in 0…255 to ``(n, rows, columns, width)``."""
        features: Tensor = self.stem(pixels / 127.5 - 1.0)
        return features.permute(0, 2, 3, 1)

    def embed(self, words: Tensor) -> Tensor:
        """Embeddings of word ids ``(n, longest)``, without positions."""
        embedded: Tensor = self.words(words)
        return embedded

    def forward(self, features: Tensor, embedded: Tensor) -> NetworkOutput:
        """All outputs for cell features ``(n, rows, columns, width)`` and word embeddings ``(n, longest, width)``."""
        memory = self._memory(features, embedded)
        asked = self.queries.expand(len(memory), -1, -1)
        for layer in self.decoder:
            asked = layer(asked, memory)
        return self._read(memory, self.after_decoder(asked))

    def answers(self, features: Tensor, embedded: Tensor) -> Tensor:
        """``forward(…).answer`` alone: the last decoder layer computes only the answer's query."""
        memory = self._memory(features, embedded)
        asked = self.queries.expand(len(memory), -1, -1)
        for place, layer in enumerate(self.decoder):
            asked = layer(asked, memory, first=asked.shape[1] - 1 if place + 1 == len(self.decoder) else 0)
        roles = self.role_head(memory[:, self.size.longest :]).float()
        return self._answer(self.after_decoder(asked)[:, -1], torch.sigmoid(roles[..., 2:]).sum(1))

    def _memory(self, features: Tensor, embedded: Tensor) -> Tensor:
        """Words and cells after the joint encoder, ``(n, longest + cells, width)``."""
        rows, columns = features.shape[1:3]
        seen = (features + self.row[:rows] + self.column[:, :columns]).flatten(1, 2)
        told = embedded + self.place
        for layer in self.text:
            told = layer(told)
        both = torch.cat([told, seen], dim=1)
        for layer in self.joint:
            both = layer(both)
        memory: Tensor = self.after_joint(both)
        return memory

    def _answer(self, asked: Tensor, counts: Tensor) -> Tensor:
        known = torch.cat([asked, self._count_features(counts).to(asked.dtype)], -1)
        logits: Tensor = self.answer_head(known).float()
        return logits

    def _read(self, memory: Tensor, asked: Tensor) -> NetworkOutput:
        longest = self.size.longest
        objects, answer = asked[:, :-1], asked[:, -1]
        roles = self.role_head(memory[:, longest:]).float()
        counts = torch.sigmoid(roles[..., 2:]).sum(1)
        return NetworkOutput(
            answer=self._answer(answer, counts),
            roles=roles,
            boxes=torch.sigmoid(self.box_head(objects).float()),
            tokens=self.token_head(objects).float(),
            query_embedding=functional.normalize(self.align_query(objects).float(), dim=-1),
            word_embedding=functional.normalize(self.align_word(memory[:, :longest]).float(), dim=-1),
            counts=counts,
        )

    def _count_features(self, counts: Tensor) -> Tensor:
        levels = torch.arange(self.size.counts, device=counts.device, dtype=counts.dtype)
        bumps = torch.exp(-4.0 * (counts[..., None] - levels) ** 2).flatten(1)
        more = torch.tanh(2.0 * (counts[:, :1] - counts[:, 1:]))
        return torch.cat([bumps, more], dim=-1)


def parameters_of(network: nn.Module) -> int:
    """The number of parameters."""
    return sum(p.numel() for p in network.parameters())


def to_pixels(pictures: Any, device: str | torch.device) -> Tensor:
    """Pictures ``(n, H, W, 3)`` of uint8 as input of the stem."""
    return torch.as_tensor(pictures, device=device).permute(0, 3, 1, 2).float()
