"""Batches of scenes as tensors, and the masking that prepares the network for the inputs of explainers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from train.grid.matching import Objects


@dataclass(frozen=True, slots=True)
class Sheet:
    """A batch of scenes on one device. Cells and words are ids; roles give the function of a cell in the question."""

    cells: Tensor
    """Tile of each cell, ``(n, cells)``: 0 empty, 1… objects, then the fills of masked cells."""
    words: Tensor
    """Word ids, ``(n, longest)``."""
    roles: Tensor
    """0 not asked about, 1 anchor, 2 target, 3 second target of a comparison; ``(n, cells)``."""
    named: Tensor
    """The phrase that names each cell's object, ``(n, cells)``: 0 none, else its number in `phrases`."""
    phrases: Tensor
    """The phrase of each word, ``(n, longest)``: 0 none, else the number of an anchor or target."""
    kind: Tensor
    """0 count, 1 existence, 2 comparison."""
    answer: Tensor
    bucket: Tensor
    side: tuple[int, int]
    """Number of rows and columns."""

    def __len__(self) -> int:
        return len(self.cells)

    def part(self, index: Tensor | slice) -> Sheet:
        """Return some of the rows."""
        names = ("cells", "words", "roles", "named", "phrases", "kind", "answer", "bucket")
        return replace(self, **{name: getattr(self, name)[index] for name in names})


@dataclass(frozen=True, slots=True)
class Masking:
    """How much is masked during training.

    Explainers query the network with words or cells missing. To prepare it for that, a share of the batch is masked.
    *Removed* cells are painted as empty, and the answer is that of the remaining scene (an anchor may be removed too;
    its position then has to be guessed). *Hidden* cells are painted in a fill colour and words become ``<mask>``, and the
    answer remains that of the whole scene, so that the network learns the expected answer.
    """

    share: float = 0.25
    mask_word: int = 1
    fills: tuple[int, ...] = ()
    """Tiles that hide a cell."""
    yes: int = 0
    no: int = 0
    """The indices of these answers. A count is its own index."""


def mask(sheet: Sheet, masking: Masking, generator: torch.Generator, *, spare: int = 0) -> Sheet:
    """Mask a share of the rows, except the first `spare`. Each row has its own rates of removal, hiding and masking.

    Args:
        sheet: The batch.
        masking: How much is masked.
        generator: Random generator on the device.
        spare: Number of rows at the beginning that are not masked.
    """
    n, device = len(sheet), sheet.cells.device

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, device=device, generator=generator)

    chosen = draw(n, 1) < masking.share
    chosen[:spare] = False
    # 0: remove cells, 1: hide cells, 2: mask words, 3: all of these
    way = torch.randint(0, 4, (n, 1), device=device, generator=generator)
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
        answer=_remaining_answer(sheet, removed, masking),
    )


def _remaining_answer(sheet: Sheet, removed: Tensor, masking: Masking) -> Tensor:
    first = ((sheet.roles == 2) & ~removed).sum(1)
    second = ((sheet.roles == 3) & ~removed).sum(1)
    yes = torch.where(sheet.kind == 1, first > 0, first > second)
    return torch.where(sheet.kind == 0, first, torch.where(yes, masking.yes, masking.no))


def objects_of(sheet: Sheet) -> Objects:
    """Return the boxes and naming words of anchors and targets, followed by padding."""
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
