"""Maps from elsewhere: relevance methods of white-box models, and arrays of your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.core.types import Picture, Request
from theodolite.geometry import TokenGrid
from theodolite.instruments.grid.data.batch import SceneBatch
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.data.world import GridShape, render
from theodolite.instruments.grid.explainers.contract import Case, Explainer, Explanation
from theodolite.instruments.grid.explainers.game import Floats
from theodolite.instruments.grid.questions import prompt_of


def as_cells(values: ArrayLike, world: GridShape) -> Floats:
    """Reduce a map to one number per cell. It may be given by cell, as rows × columns, or by pixel (values are summed).

    >>> as_cells(np.ones((320, 320)), GridShape()).tolist()[:2]
    [4096.0, 4096.0]

    Raises:
        UsageError: The map has another size, or a value that is not finite.
    """
    array = np.asarray(values, np.float64)
    width, height = world.size_px
    if not np.isfinite(array).all():
        raise UsageError("a map must be finite everywhere")
    if array.shape == (world.n_cells,):
        return array
    if array.shape == (world.rows, world.columns):
        return array.reshape(-1)
    if array.shape == (height, width):
        px = world.cell_px
        return np.asarray(array.reshape(world.rows, px, world.columns, px).sum(axis=(1, 3)).reshape(-1))
    raise UsageError(
        f"a map of this grid has shape ({world.n_cells},), ({world.rows}, {world.columns}) or ({height}, {width}), "
        f"got {array.shape}"
    )


def token_map_as_cells(values: ArrayLike, grid: TokenGrid, world: GridShape) -> Floats:
    """Convert relevance of image tokens to relevance of cells; each token is divided among cells by area.

    Args:
        values: Relevance of each token.
        grid: Where the tokens lie in the picture.
        world: The grid of cells.
    """
    tokens = np.asarray(values, np.float64).reshape(-1)
    if not np.isfinite(tokens).all():
        raise UsageError("a map must be finite everywhere; in half precision, try ?dtype=float32")
    # A token without a place covers nothing.
    rects = np.nan_to_num(np.asarray(grid.rects_px, np.float64).reshape(-1, 4))
    if len(tokens) != len(rects):
        raise UsageError(f"{len(rects)} tokens need as many values, got {len(tokens)}")
    if (grid.width_px, grid.height_px) != world.size_px:
        raise UsageError(
            f"the map is of a picture {grid.width_px}×{grid.height_px}, the grid's is {world.size_px}"
        )
    boxes = np.array([world.box_px(cell) for cell in range(world.n_cells)], np.float64)
    low = np.maximum(rects[:, None, :2], boxes[None, :, :2])
    high = np.minimum(rects[:, None, 2:], boxes[None, :, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=2)  # (tokens, cells)
    area = shared.sum(axis=1, keepdims=True)
    return np.asarray(tokens @ np.divide(shared, area, out=np.zeros_like(shared), where=area > 0))


def array_explainer(name: str, maps: Mapping[int, ArrayLike] | Sequence[ArrayLike]) -> Explainer:
    """Return an explainer from existing maps: ``maps[row]`` is the map of scene ``row``.

    >>> explainer = array_explainer("mine", {0: np.eye(5)})
    >>> explainer.scope
    'local'
    """

    def explain(case: Case) -> Explanation:
        try:
            values = maps[case.row]
        except (KeyError, IndexError):
            raise UsageError(f"{name} has no map for scene {case.row}") from None
        return Explanation(as_cells(values, case.batch.world), method="given")

    return Explainer(name, "maps that were given", explain)


def relevance_explainers(methods: str) -> list[Explainer]:
    """Return one relevance method of `theodolite.attribution`, or ``all``, for white-box models."""
    from theodolite.attribution import find_methods

    return [relevance_explainer(method.name) for method in find_methods([methods])]


def relevance_explainer(method: str) -> Explainer:
    """Return a relevance method of `theodolite.attribution`, for white-box models."""
    from theodolite.attribution import find_methods

    (entry,) = find_methods([method])

    def explain(case: Case) -> Explanation:
        return _attributed(case, method)

    return Explainer(
        f"relevance:{method}",
        entry.summary,
        explain,
        paper=entry.paper or "",
        caveat=entry.caveat or "",
        needs_gradients=True,
        least=lambda _: 1,
    )


def asked_of(batch: SceneBatch, row: int, answer: int) -> tuple[Request, tuple[str, ...]]:
    """Return the request of a scene for a white-box model, and its options.

    First tokens must differ, so counts end at 9.

    Args:
        batch: Scenes that include this one.
        row: The row of the scene.
        answer: The explained answer, an index into `GridShape.answers`.

    Raises:
        UsageError: The explained answer is above 9.
    """
    world, asks = batch.world, BUCKETS[int(batch.bucket[row])].asks
    options = asks.options(world)[:10]
    if world.answers[answer] not in options:
        raise UsageError(
            f"gradients identify answers by their first token, so {world.answers[answer]!r} cannot be explained"
        )
    picture = Picture.from_array(render(world, batch.cells[row][None])[0])
    prompt = prompt_of(batch.text(row), asks)
    return Request.ask(picture, prompt, max_tokens=4), options


def _attributed(case: Case, method: str) -> Explanation:
    from theodolite.attribution import attribute
    from theodolite.instruments.grid.explainers.readers import CoreReader

    if not isinstance(case.reader, CoreReader):
        name = case.reader.name if case.reader is not None else "this game"
        raise UnsupportedError(
            f"relevance methods need a Hugging Face checkpoint, such as hf:PATH; {name} is not one"
        )
    world = case.batch.world
    request, options = asked_of(case.batch, case.row, case.answer)
    gold = options.index(world.answers[case.answer])
    (attribution,) = attribute(
        case.reader.model, [request], [options], methods=[method], targets=["gt"], gold=[gold]
    )
    maps = [token_map for token_map in attribution.maps if token_map.picture == 0]
    if not maps:
        raise UnsupportedError(f"{method} gave no map")
    cells = token_map_as_cells(maps[0].values, maps[0].grid, world)
    return Explanation(cells, method=f"{method} on {maps[0].grid.rects_px.shape[0]} image tokens", calls=1)
