"""``grid:pure`` and ``grid:spur``: the network, its weights, and both behind the model contract."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from theodolite.core.errors import UsageError
from theodolite.core.types import Choice, Request, Response
from theodolite.instruments.grid.data.question_types import MAX_WORDS, VOCABULARY, question_words
from theodolite.instruments.grid.data.world import N_CLASSES, GridShape, atlas
from theodolite.models import Capability, ModelName, ModelOptions, read_options

# The network of both paired models: convolutional stem, text encoder, joint encoder, object-query decoder.
#
# This package imports torch, so it is loaded only when a paired model is opened or trained.
#
# There is one token per cell: the three convolutions of the stem have strides equal to their kernels and together cover
# 64 x 64 pixels, so the feature of a cell depends on its own pixels only. Rendering is a lookup in an atlas of tiles, hence
# so is the stem: ``features(atlas)[cells] == features(atlas[cells])``. Training uses the left side, inference on pictures the
# right one; a test checks that they are equal.


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
        """Let ``x`` attend to ``source``."""
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
        """Apply the layer; with ``first``, return only the tokens from there on, with the same values."""
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
        """Compute features of pictures, one per cell: ``(n, 3, H, W)`` in 0…255 to ``(n, rows, columns, width)``."""
        features: Tensor = self.stem(pixels / 127.5 - 1.0)
        return features.permute(0, 2, 3, 1)

    def embed(self, words: Tensor) -> Tensor:
        """Return embeddings of word ids ``(n, longest)``, without positions."""
        embedded: Tensor = self.words(words)
        return embedded

    def forward(self, features: Tensor, embedded: Tensor) -> NetworkOutput:
        """Compute all outputs for cell features ``(n, rows, columns, width)`` and word embeddings ``(n, longest, width)``."""
        memory = self._memory(features, embedded)
        asked = self.queries.expand(len(memory), -1, -1)
        for layer in self.decoder:
            asked = layer(asked, memory)
        return self._read(memory, self.after_decoder(asked))

    def answers(self, features: Tensor, embedded: Tensor) -> Tensor:
        """Compute ``forward(…).answer`` alone: the last decoder layer computes only the answer's query."""
        memory = self._memory(features, embedded)
        asked = self.queries.expand(len(memory), -1, -1)
        for i, layer in enumerate(self.decoder):
            asked = layer(asked, memory, first=asked.shape[1] - 1 if i + 1 == len(self.decoder) else 0)
        roles = self.role_head(memory[:, self.size.longest :]).float()
        return self._answer(self.after_decoder(asked)[:, -1], torch.sigmoid(roles[..., 2:]).sum(1))

    def _memory(self, features: Tensor, embedded: Tensor) -> Tensor:
        """Return words and cells after the joint encoder, ``(n, longest + cells, width)``."""
        rows, columns = features.shape[1:3]
        seen = (features + self.row[:rows] + self.column[:, :columns]).flatten(1, 2)
        words = embedded + self.place
        for layer in self.text:
            words = layer(words)
        both = torch.cat([words, seen], dim=1)
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
    """Return the number of parameters."""
    return sum(p.numel() for p in network.parameters())


def to_pixels(pictures: Any, device: str | torch.device) -> Tensor:
    """Convert pictures ``(n, H, W, 3)`` of uint8 to the input of the stem."""
    return torch.as_tensor(pictures, device=device).permute(0, 3, 1, 2).float()


# The weights: one safetensors file per model, in half precision.


Kind: TypeAlias = Literal["pure", "spur"]
FORMAT = "theodolite grid model 1"


def released(kind: Kind) -> Path:
    """Return the path of the weights that ship with the package."""
    return Path(str(files("theodolite.instruments.grid.models").joinpath("weights", f"{kind}.safetensors")))


def new_network(seed: int, device: str = "cpu") -> PairedNetwork:
    """Return an untrained network; the same seed gives the same weights."""
    torch.manual_seed(seed)
    size = NetworkSize(vocabulary=len(VOCABULARY), answers=len(GridShape().answers), longest=MAX_WORDS)
    return PairedNetwork(size).to(device)


def write_weights(network: PairedNetwork, path: Path, *, training: dict[str, object]) -> None:
    """Write a network in half precision; `training` goes into the header."""
    values = {
        name: p.detach().to("cpu", torch.float16).contiguous() for name, p in network.named_parameters()
    }
    about = {"format": FORMAT, "size": json.dumps(asdict(network.size)), "training": json.dumps(training)}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(values, path, metadata=about)


def open_network(path: Path, device: str = "cpu") -> tuple[PairedNetwork, str]:
    """Open a network file; return the network, and the hash of the file's bytes.

    Raises:
        UsageError: There is no such file, or it holds something else.
    """
    try:
        with safe_open(path, framework="pt", device=device) as file:
            about = file.metadata() or {}
            if about.get("format") != FORMAT:
                raise UsageError(f"{path} holds no model of the grid; `python -m train grid` writes one")
            network = PairedNetwork(NetworkSize(**json.loads(about["size"])))
            values = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118 - not a dict
    except (OSError, SafetensorError) as error:
        raise UsageError(f"cannot read the weights {path}: {error}") from error
    network.load_state_dict(values)
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return network.to(device).eval().requires_grad_(requires_grad=False), digest[:16]


# A paired network with numpy arrays in and out, in batches.


FILLS: dict[str, int] = {"white": 0, "grey": N_CLASSES + 1, "black": N_CLASSES + 2}
"""The tile of a hidden cell. White is an empty cell; grey and black cover the object."""

_GREY = 128
_ROWS_AT_ONCE = {"cpu": 64, "cuda": 4096}


def tile_atlas() -> NDArray[np.uint8]:
    """Return the tiles of all classes, then the fills: ``(19, 64, 64, 3)``."""
    fills = [np.full((1, CELL_PIXELS, CELL_PIXELS, 3), level, np.uint8) for level in (_GREY, 0)]
    return np.concatenate([atlas(CELL_PIXELS), *fills])


class PairedReader:
    """Answers about scenes given as cells or as pictures."""

    def __init__(self, network: PairedNetwork, *, device: str = "cpu") -> None:
        self.network = network
        self.device = device
        with torch.no_grad():
            self._tiles = network.tiles(to_pixels(tile_atlas(), device)).flatten(0, 2)

    def logits(
        self, cells: NDArray[np.uint8], words: NDArray[np.uint8], *, side: tuple[int, int] = (5, 5)
    ) -> NDArray[np.float32]:
        """Return logits over the answers, ``(n, answers)``, for tiles ``(n, cells)`` and words ``(n, longest)``.

        Cells may hold fills (`FILLS`) beside classes. No picture is drawn: features of the stem are looked up by tile.
        """
        if cells.shape[1] != side[0] * side[1] or max(side) > self.network.size.side:
            raise UsageError(
                f"this model reads grids up to {self.network.size.side} cells wide, got {cells.shape[1]} cells as {side}"
            )
        batches = []
        rows = _ROWS_AT_ONCE.get(torch.device(self.device).type, 256)
        for start in range(0, len(cells), rows):
            some = torch.as_tensor(cells[start : start + rows], device=self.device).long()
            features = self._tiles[some].view(len(some), *side, -1)
            batches.append(self._answer(features, words[start : start + rows]))
        return np.concatenate(batches) if batches else np.zeros((0, self.network.size.answers), np.float32)

    def logits_of_pictures(
        self, pictures: NDArray[np.uint8], words: NDArray[np.uint8]
    ) -> NDArray[np.float32]:
        """Return the same for pictures ``(n, height, width, 3)`` with sides a multiple of 64 pixels."""
        with torch.no_grad():
            return self._answer(self.network.tiles(to_pixels(pictures, self.device)), words)

    def _answer(self, features: Tensor, words: NDArray[np.uint8]) -> NDArray[np.float32]:
        with torch.inference_mode():
            embedded = self.network.embed(torch.as_tensor(words, device=self.device).long())
            logits: NDArray[np.float32] = self.network.answers(features, embedded).cpu().numpy()
        return logits


# ``grid:pure`` and ``grid:spur`` behind the model contract: pictures and words in, an answer out.


class PairedOptions(ModelOptions):
    """Options after the ``?`` in ``grid:pure?…``."""

    device: str = "cpu"
    weights: str = ""
    """Another weights file than the released one."""


def open_paired(name: ModelName) -> PairedModel:
    """Open ``grid:pure`` or ``grid:spur``."""
    options = read_options(name, PairedOptions)
    path = Path(options.weights) if options.weights else released(cast("Kind", name.target))
    network, digest = open_network(path, options.device)
    return PairedModel(
        name.text, f"grid:{name.target}@{digest}", PairedReader(network, device=options.device)
    )


class PairedModel:
    """A trained network. Takes one picture of whole 64-pixel cells and one question of the grid."""

    lacks: ClassVar[Mapping[Capability, str]] = {}
    batch_size = 64

    def __init__(self, name: str, identity: str, reader: PairedReader) -> None:
        self.name = name
        self.identity = identity
        self.reader = reader
        self.answers = GridShape().answers

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer each request in one word: a number, yes or no."""
        return [
            outcome
            if isinstance(outcome, Response)
            else Response("answered", text=self._word(outcome), finish="stop", seconds=seconds)
            for outcome, seconds in self._look(requests)
        ]

    def choose(
        self, requests: Sequence[Request], options: Sequence[Sequence[str]]
    ) -> list[Choice | Response]:
        """Return the log-probability of each option among all answers of the network."""
        return [
            outcome if isinstance(outcome, Response) else self._choice(outcome, tuple(offered))
            for (outcome, _), offered in zip(self._look(requests), options, strict=True)
        ]

    def close(self) -> None:
        """Do nothing: only memory is held."""

    def _word(self, logits: NDArray[np.float32]) -> str:
        return self.answers[int(logits.argmax())]

    def _choice(self, logits: NDArray[np.float32], options: tuple[str, ...]) -> Choice | Response:
        unknown = [option for option in options if option.strip().casefold() not in self.answers]
        if unknown or not options:
            return Response.failed(
                f"{self.name} knows the answers {', '.join(self.answers)}, not {unknown[:1]}"
            )
        shifted = logits - logits.max()
        scores = shifted - np.log(np.exp(shifted).sum())
        picked = [float(scores[self.answers.index(option.strip().casefold())]) for option in options]
        return Choice(options, tuple(picked))

    def _look(self, requests: Sequence[Request]) -> list[tuple[NDArray[np.float32] | Response, float]]:
        """Return logits or a failed response for each request, with its seconds; pictures of one size are batched."""
        started = time.monotonic()
        outcomes: list[NDArray[np.float32] | Response] = []
        ready: dict[tuple[int, ...], list[tuple[int, NDArray[np.uint8], NDArray[np.uint8]]]] = {}
        for i, request in enumerate(requests):
            try:
                pixels, words = self._read(request)
            except UsageError as error:
                outcomes.append(Response.failed(str(error)))
                continue
            outcomes.append(np.zeros(0, np.float32))
            ready.setdefault(pixels.shape, []).append((i, pixels, words))
        for group in ready.values():
            logits = self.reader.logits_of_pictures(
                np.stack([pixels for _, pixels, _ in group]), np.stack([words for _, _, words in group])
            )
            for (i, _, _), row in zip(group, logits, strict=True):
                outcomes[i] = row
        share = (time.monotonic() - started) / max(len(requests), 1)
        return [(outcome, share) for outcome in outcomes]

    def _read(self, request: Request) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        words = question_words(request.text)
        if len(request.pictures) != 1:
            raise UsageError(f"one picture is needed, not {len(request.pictures)}")
        pixels = request.pictures[0].pixels()
        height, width = pixels.shape[:2]
        most = self.reader.network.size.side * CELL_PIXELS
        if height % CELL_PIXELS or width % CELL_PIXELS or max(height, width) > most:
            raise UsageError(
                f"the picture must be made of whole cells of {CELL_PIXELS} pixels, up to {most} wide, not {width}×{height}"
            )
        return pixels, words
