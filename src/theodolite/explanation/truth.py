"""Is a map true? What hiding the marked part costs the answer, beside what hiding as much elsewhere costs.

    loss(H)    = v(picture) − v(picture with H hidden),   v: log-probability of the explained tokens, or what is left of the answer
    marked     = the cells with the largest relevance, one tenth of all
    elsewhere  = the marked cells of the same map moved to another place, which so has as many cells, as close together
    p          = (1 + moved maps that cost as much) / (1 + moved maps)
    deletion   = ∫ loss(first x of the cells hidden) dx,   insertion = ∫ loss(all hidden) − loss(all but the first x hidden) dx

The cells are those of a raster over what the model sees of each picture; those of several pictures are ranked together. Where
relevance is equal, chance decides. A uniform map hides cells that are spread evenly over the picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from theodolite.attribution.hiding import Fill, Raster, filling, hide
from theodolite.core.types import Picture, Pixels
from theodolite.explanation.reading import AnswerReader, Reading
from theodolite.explanation.record import Curve, MapTest

Floats = NDArray[np.float64]
Cells = list[NDArray[np.bool_]]
"""Cells of each picture's raster, (rows, columns)."""

SHARE = 0.1
"""The share of the picture that a map marks."""
STEPS = (SHARE, 0.3, 0.6)
"""Shares of the picture that are hidden or shown in turn."""
TRIES = 20
"""Moved maps; with fewer than 19 no map could hold at 5 %."""
N_CURVES = 4
"""Moved maps whose whole curves are measured."""
_LARGEST_OVERLAP = 0.2
"""Of the marked part with a moved one, if there is such a place."""
_DRAWS = 40
_STRIDES = 0.7548776662466927, 0.5698402909980532
"""The additive recurrence with the least discrepancy in two dimensions (Roberts 2018)."""


@dataclass(frozen=True)
class HidingScene:
    """The pictures of a request with their rasters, of which parts can be hidden."""

    pictures: tuple[Picture, ...]
    rasters: tuple[Raster, ...]
    fill: Fill = "grey"

    @cached_property
    def _pixels(self) -> list[tuple[Pixels, Pixels]]:
        return [(own := picture.pixels(), filling(own, self.fill)) for picture in self.pictures]

    @property
    def n_cells(self) -> int:
        """Number of cells of all rasters."""
        return sum(raster.n_cells for raster in self.rasters)

    def hidden(self, cells: Cells) -> list[Picture]:
        """Return the pictures with some cells hidden."""
        return [
            hide(pixels, raster.pixels_of(mask), filled) if mask.any() else picture
            for picture, raster, mask, (pixels, filled) in zip(
                self.pictures, self.rasters, cells, self._pixels, strict=True
            )
        ]

    @property
    def nothing(self) -> Cells:
        """No cell."""
        return [np.zeros(raster.shape, bool) for raster in self.rasters]

    @property
    def everything(self) -> Cells:
        """All cells."""
        return [np.ones(raster.shape, bool) for raster in self.rasters]

    def even(self) -> list[Floats]:
        """Return amounts whose first cells, however many, are spread evenly over the pictures."""
        amounts = []
        for raster in self.rasters:
            row, column = np.indices(raster.shape)
            amounts.append((0.5 + row * _STRIDES[0] + column * _STRIDES[1]) % 1)
        return amounts


def first_cells(amounts: Sequence[Floats], share: float, rng: np.random.Generator) -> Cells:
    """Return the cells with the largest amounts, a share of all; of equal ones, by chance.

    >>> first_cells([np.array([[1.0, 3.0], [2.0, 0.0]])], 0.5, np.random.default_rng(0))[0].tolist()
    [[False, True], [True, False]]
    """
    flat = np.concatenate([each.ravel() for each in amounts])
    chosen = np.zeros(len(flat), bool)
    chosen[np.lexsort((rng.random(len(flat)), -flat))[: max(1, round(share * len(flat)))]] = True
    parts = np.split(chosen, np.cumsum([each.size for each in amounts])[:-1])
    return [part.reshape(each.shape) for part, each in zip(parts, amounts, strict=True)]


def moved(amounts: Sequence[Floats], rng: np.random.Generator) -> list[Floats]:
    """Return a map moved to another place: rolled around each picture, and between pictures with rasters of one shape."""
    order = list(range(len(amounts)))
    for shape in {each.shape for each in amounts}:
        same = [i for i, each in enumerate(amounts) if each.shape == shape]
        for place, source in zip(same, rng.permutation(same), strict=True):
            order[place] = int(source)
    return [
        np.roll(
            amounts[i],
            (int(rng.integers(amounts[i].shape[0])), int(rng.integers(amounts[i].shape[1]))),
            (0, 1),
        )
        for i in order
    ]


def elsewhere(amounts: Sequence[Floats], n: int, rng: np.random.Generator) -> list[list[Floats]]:
    """Return maps moved so that what they mark overlaps little with what the map marks."""
    own = first_cells(amounts, SHARE, rng)

    def common(other: list[Floats]) -> float:
        marked = first_cells(other, SHARE, rng)
        both = sum(int((a & b).sum()) for a, b in zip(own, marked, strict=True))
        return both / max(1, sum(int(a.sum()) for a in own))

    found = []
    for _ in range(n):
        draws = []
        for _ in range(_DRAWS):
            draws.append((common(other := moved(amounts, rng)), other))
            if draws[-1][0] <= _LARGEST_OVERLAP:
                break
        found.append(min(draws, key=lambda draw: draw[0])[1])
    return found


@dataclass(slots=True)
class HidingPlan:
    """Which cells are hidden, one version of the pictures after the other, by name."""

    scene: HidingScene
    rng: np.random.Generator
    n_tries: int = TRIES
    versions: dict[tuple[object, ...], Cells] = field(default_factory=dict)

    def add_map(self, method: str, amounts: Sequence[Floats]) -> None:
        """Plan the test of a map: its own curves, those of a uniform map, and the map moved elsewhere."""
        self._add_curves(("own", method), amounts)
        if not any(name[0] == "even" for name in self.versions):
            self._add_curves(("even",), self.scene.even())
        for i, other in enumerate(elsewhere(amounts, self.n_tries, self.rng)):
            name = ("other", method, i)
            if i < min(N_CURVES, self.n_tries):
                self._add_curves(name, other)
            else:
                self.versions[*name, "hidden", SHARE] = first_cells(other, SHARE, self.rng)

    def add_word(self, span: str, amounts: Sequence[Floats]) -> None:
        """Plan the test of a word's own map."""
        self.versions["word", span] = first_cells(amounts, SHARE, self.rng)

    def _add_curves(self, name: tuple[object, ...], amounts: Sequence[Floats]) -> None:
        for share in STEPS:
            cells = first_cells(amounts, share, self.rng)
            self.versions[*name, "hidden", share] = cells
            self.versions[*name, "shown", share] = [~mask for mask in cells]

    def pictures(self) -> Iterator[list[Picture]]:
        """Yield the versions of the pictures."""
        for cells in self.versions.values():
            yield self.scene.hidden(cells)

    def read(self, reader: AnswerReader, whole: Reading, blank: Reading) -> HidingResult:
        """Read all versions.

        Args:
            reader: The reader.
            whole: The reading of the pictures themselves.
            blank: That of the pictures with everything hidden.
        """
        reading = reader.read(self.pictures())
        rows = {name: i for i, name in enumerate(self.versions)}
        return HidingResult(reading, rows, self, whole, blank, self.n_tries, reader.unit)


@dataclass(frozen=True, slots=True)
class HidingResult:
    """The readings of a plan."""

    reading: Reading
    rows: Mapping[tuple[object, ...], int]
    plan: HidingPlan
    whole: Reading
    blank: Reading
    n_tries: int
    unit: str

    def loss(self, name: tuple[object, ...], parts: Sequence[int]) -> float:
        """Return what some parts of the answer lose in a version."""
        chosen = list(parts)
        return float((self.whole.values[0, chosen] - self.reading.values[self.rows[name], chosen]).sum())

    def others(self, method: str, parts: Sequence[int]) -> tuple[float, ...]:
        """Return what some parts of the answer lose with as much hidden elsewhere."""
        return tuple(self.loss(("other", method, i, "hidden", SHARE), parts) for i in range(self.n_tries))

    def whole_loss(self, parts: Sequence[int]) -> float:
        """Return what some parts of the answer lose without the picture."""
        chosen = list(parts)
        return float((self.whole.values[0, chosen] - self.blank.values[0, chosen]).sum())

    def _curves(self, names: Sequence[tuple[object, ...]], kind: str, parts: Sequence[int]) -> Floats:
        most = self.whole_loss(parts)
        rows = []
        for name in names:
            steps = [self.loss((*name, kind, share), parts) for share in STEPS]
            inner = steps if kind == "hidden" else [most - step for step in steps]
            rows.append([0.0, *inner, most])
        return np.array(rows)

    def curve(self, method: str, kind: str, parts: Sequence[int]) -> Curve:
        """Return a curve of deletion (``hidden``) or insertion (``shown``)."""
        others = [("other", method, i) for i in range(min(N_CURVES, self.n_tries))]
        return Curve(
            np.array([0.0, *STEPS, 1.0]),
            self._curves([("own", method)], kind, parts)[0],
            self._curves([("even",)], kind, parts)[0],
            self._curves(others, kind, parts),
        )

    def test(self, method: str, parts: Sequence[int], *, is_own: bool) -> MapTest:
        """Return the test of a method's map of some parts of the answer."""
        at = self.rows["own", method, "hidden", SHARE]
        changed = [
            not self.reading.is_same[self.rows["other", method, i, "hidden", SHARE]]
            for i in range(self.n_tries)
        ]
        return MapTest(
            method=method,
            share=SHARE,
            loss=self.loss(("own", method, "hidden", SHARE), parts),
            other_losses=self.others(method, parts),
            whole_loss=self.whole_loss(parts),
            changes=not bool(self.reading.is_same[at]),
            n_others_change=sum(changed),
            whole_changes=not bool(self.blank.is_same[0]),
            unit=self.unit,
            is_own=is_own,
            deletion=self.curve(method, "hidden", parts),
            insertion=self.curve(method, "shown", parts),
            marked=tuple(
                outline(raster, cells)
                for raster, cells in zip(
                    self.plan.scene.rasters, self.plan.versions["own", method, "hidden", SHARE], strict=True
                )
            ),
        )


def outline(raster: Raster, cells: NDArray[np.bool_]) -> Floats:
    """Return the lines between cells that are marked and others, in pixels: x0, y0, x1, y1, (lines, 4).

    >>> outline(Raster.over((2, 1), (0, 0, 2, 1), 2), np.array([[True, False]])).tolist()
    [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]]
    """
    rows, columns = cells.shape
    x0, y0, x1, y1 = raster.region_px
    xs, ys = np.linspace(x0, x1, columns + 1), np.linspace(y0, y1, rows + 1)
    padded = np.pad(cells, 1)
    upright = np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1])
    level = np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1])
    lines = [[xs[c], ys[r], xs[c], ys[r + 1]] for r, c in upright]
    lines += [[xs[c], ys[r], xs[c + 1], ys[r]] for r, c in level]
    return np.array(lines, np.float64).reshape(-1, 4)


def likeness(first: Sequence[Floats], second: Sequence[Floats]) -> float | None:
    """Return Spearman's rank correlation of two maps on the same rasters; None if one is the same everywhere.

    >>> likeness([np.array([[1.0, 2.0, 3.0]])], [np.array([[2.0, 4.0, 9.0]])])
    1.0
    """
    a, b = (rankdata(np.concatenate([each.ravel() for each in one])) for one in (first, second))
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return round(float(a @ b) / scale, 12) if scale > 0 else None


def pointing(amounts: Sequence[Floats], inside: Cells) -> tuple[bool, float, float]:
    """Compare a map with a mask: whether its largest cell lies inside, RMA, and the mask's share of the picture.

    Args:
        amounts: The map on each picture's raster.
        inside: The cells of the mask.

    >>> pointing([np.array([[1.0, 3.0]])], [np.array([[False, True]])])
    (True, 0.75, 0.5)
    """
    flat = np.concatenate([each.ravel() for each in amounts])
    mask = np.concatenate([each.ravel() for each in inside])
    total = float(flat.sum())
    mass = float(flat[mask].sum()) / total if total > 0 else float(mask.mean())
    return bool(mask[int(flat.argmax())]), mass, float(mask.mean())
