"""All items of a run, those included that depend on the model's own graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from theodolite.core.types import Item, Record
from theodolite.instruments.scene.data.files import SceneData
from theodolite.instruments.scene.data.graph import StarGraph
from theodolite.instruments.scene.experiments.noise import NOISE_LEVELS, noisy_graphs
from theodolite.instruments.scene.questions import Settings, plan_scenes, plan_with_graphs
from theodolite.instruments.scene.reading.graph_parser import parse_graph
from theodolite.instruments.scene.settings import Mode


def run_items(
    data: SceneData,
    settings: Settings,
    measured: Iterable[tuple[Item, Record | None]],
    *,
    noise_levels: Sequence[float] = NOISE_LEVELS,
    seed: int = 0,
) -> Iterator[Item]:
    """The plan as far as it is known: it grows when the model has given its graphs.

    Args:
        data: the data set.
        settings: what to ask.
        measured: what the run holds so far; empty at first.
        noise_levels: of the setting ``noisy graph``.
        seed: of the noise.
    """
    yield from plan_scenes(data, settings)
    if "predicted graph" in settings.qa:
        yield from plan_with_graphs(data, predicted_graphs(measured, settings.mode), mode=settings.mode)
    if "noisy graph" in settings.qa:
        stars = {scene.id: scene.star() for scene in data.scenes.values()}
        for level in noise_levels:
            graphs = noisy_graphs(stars, level, seed=seed)
            yield from plan_with_graphs(data, graphs, setting="noisy graph", mode=settings.mode, noise=level)


def predicted_graphs(measured: Iterable[tuple[Item, Record | None]], mode: Mode) -> dict[str, StarGraph]:
    """By scene: the graph that the model itself gave, with the picture before it. Scenes without a readable one are absent."""
    found: dict[str, StarGraph] = {}
    for item, record in measured:
        meta = item.meta
        is_asked = (
            meta.get("task") == "graph" and meta.get("setting") == "base" and meta.get("mode") == mode.name
        )
        if not is_asked or record is None or not record.response.is_answered:
            continue
        true = cast("Mapping[str, Any]", meta["graph"])
        marks = [int(row["id"]) for row in true["objects"]]
        reading = parse_graph(record.response.text, int(str(meta["centre"])), marks)
        if reading.graph is not None:
            found[str(meta["scene"])] = reading.graph
    return found
