"""Batches of scenes as tensors, and the masking that makes explainers' inputs familiar to the network."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from train.grid.matching import Objects

__all__ = ["Masking", "Sheet", "mask", "objects_of"]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A batch on one device. Cells and words are ids; roles say what the question makes of a cell."""

    cells: Tensor
    """Tile of each cell, ``(n, cells)``: 0 empty, 1… objects, then the fills of masked cells."""
    words: Tensor
    """Word ids, ``(n, longest)``."""
    roles: Tensor
    """0 not asked for, 1 anchor, 2 target, 3 second target of a comparison; ``(n, cells)``."""
    named: Tensor
    """The phrase that names each cell's object, ``(n, cells)``: 0 none, else its number in `phrases`."""
    phrases: Tensor
    """Which phrase each word belongs to, ``(n, longest)``: 0 none, else the number of an anchor or target."""
    kind: Tensor
    """0 count, 1 existence, 2 comparison."""
    answer: Tensor
    bucket: Tensor
    side: tuple[int, int]
    """Rows and columns."""

    def __len__(self) -> int:
        return len(self.cells)

    def part(self, index: Tensor | slice) -> Sheet:
        """Some of the rows."""
        names = ("cells", "words", "roles", "named", "phrases", "kind", "answer", "bucket")
        return replace(self, **{name: getattr(self, name)[index] for name in names})


@dataclass(frozen=True, slots=True)
class Masking:
    """How often and how much is hidden in training, and by what.

    An explainer asks what the network would say with words or cells missing. So that it has an answer, a share of
    the batch is masked: *removed* cells are painted as empty ones, and the answer is that of what is left (an
    anchor may go too: its place then has to be guessed); *hidden* cells are painted in a fill colour and words
    become ``<mask>``, and the answer stays that of the whole scene, so that the network learns what to expect.
    """

    share: float = 0.25
    mask_word: int = 1
    fills: tuple[int, ...] = ()
    """Tiles that hide a cell."""
    yes: int = 0
    no: int = 0
    """The indices of these answers; a count is its own index."""


def mask(sheet: Sheet, masking: Masking, generator: torch.Generator, *, spare: int = 0) -> Sheet:
    """Masks a share of the rows, never the first `spare`; each has its own rates of removal, hiding and masking."""
    n, device = len(sheet), sheet.cells.device

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, device=device, generator=generator)

    chosen = draw(n, 1) < masking.share
    chosen[:spare] = False
    way = torch.randint(
        0, 4, (n, 1), device=device, generator=generator
    )  # cells out, cells hidden, words, all
    rate = draw(n, 1)
    removed = chosen & ((way == 0) | (way == 3)) & (draw(*sheet.cells.shape) < rate)
    hidden = chosen & ((way == 1) | (way == 3)) & (draw(*sheet.cells.shape) < draw(n, 1)) & ~removed
    unsaid = chosen & (way >= 2) & (draw(*sheet.words.shape) < draw(n, 1)) & (sheet.words > 0)
    fills = torch.tensor(masking.fills or (0,), device=device)
    fill = fills[torch.randint(0, len(fills), (n, 1), device=device, generator=generator)]
    cells = torch.where(removed, 0, torch.where(hidden, fill, sheet.cells))
    return replace(
        sheet,
        cells=cells,
        words=torch.where(unsaid, masking.mask_word, sheet.words),
        roles=torch.where(removed, 0, sheet.roles),
        answer=_answer_of_the_rest(sheet, removed, masking),
    )


def _answer_of_the_rest(sheet: Sheet, removed: Tensor, masking: Masking) -> Tensor:
    first = ((sheet.roles == 2) & ~removed).sum(1)
    second = ((sheet.roles == 3) & ~removed).sum(1)
    yes = torch.where(sheet.kind == 1, first > 0, first > second)
    return torch.where(sheet.kind == 0, first, torch.where(yes, masking.yes, masking.no))


def objects_of(sheet: Sheet) -> Objects:
    """The boxes and naming words of anchors and targets, real ones first."""
    rows, columns = sheet.side
    asked = sheet.roles > 0
    order = torch.argsort(asked.int(), dim=1, descending=True, stable=True)
    order = order[:, : max(int(asked.sum(1).max()), 1)]
    real = asked.gather(1, order)
    size = torch.tensor([1 / columns, 1 / rows], device=order.device).expand(*order.shape, 2)
    centre = torch.stack([(order % columns + 0.5) / columns, (order // columns + 0.5) / rows], -1)
    spans = (sheet.phrases[:, None] == sheet.named.gather(1, order)[..., None]) & real[..., None]
    spans = spans.float()
    return Objects(
        boxes=torch.cat([centre, size], -1), spans=spans / spans.sum(-1, keepdim=True).clamp(min=1), real=real
    )
