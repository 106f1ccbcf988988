"""True graphs with graded noise, for the threshold experiment and the curves of the solvers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.worlds.scene_graph import DECIMALS, PAIRS, Edge, Node, Predicate, StarGraph

NOISE_LEVELS = (0.0, 0.1, 0.2, 0.35, 0.6, 1.0)
"""From the true graph to a nearly random one."""

Noisy: TypeAlias = Literal["words", "lengths", "words and lengths", "rounding"]
"""What noise is put on; ``rounding`` writes all lengths as multiples of a step."""
NOISY: tuple[Noisy, ...] = get_args(Noisy)


def noisy_graph(
    graph: StarGraph, level: float, rng: np.random.Generator, *, on: Noisy = "words and lengths"
) -> StarGraph:
    """Return a graph with noise.

    Every length is multiplied by exp(level · z) with z normal; with probability `level`, each pair of words is replaced by either
    word or neither, equally likely. Rounding has no draws: the level is the step in metres, and no length becomes shorter than that.

    Args:
        graph: The true graph.
        level: From 0, no noise, to 1.
        rng: Rng of the draws.
        on: Only words, only lengths, both, or the rounding of lengths.

    >>> graph = StarGraph(1, (Node(1, 4.0, 1, 1, 1), Node(2, 5.0, 1, 2, 1)), (Edge(2, 2.0, frozenset({"left"})),))
    >>> noisy_graph(graph, 0.0, np.random.default_rng(0)) == graph
    True
    """
    if not 0 <= level <= 1:
        raise UsageError(f"a noise level lies between 0 and 1, got {level}")
    is_rounding = on == "rounding"
    stretch = 0.0 if on == "words" or is_rounding else level
    swap = 0.0 if on == "lengths" or is_rounding else level

    def shaken(length: float | None) -> float | None:
        if is_rounding and level and length is not None:
            return round(max(1, round(length / level)) * level, DECIMALS)
        factor = float(np.exp(stretch * rng.standard_normal()))
        if length is None:
            return None
        return max(0.01, round(length * factor, DECIMALS)) if stretch else length

    nodes = tuple(
        Node(
            node.id,
            distance_m=shaken(node.distance_m),
            width_m=shaken(node.width_m),
            length_m=shaken(node.length_m),
            height_m=shaken(node.height_m),
        )
        for node in graph.nodes
    )
    edges = []
    for edge in graph.edges:
        words: set[Predicate] = set(edge.relation)
        for pair in PAIRS:
            if rng.random() < swap:
                words -= set(pair)
                words |= ({pair[0]}, {pair[1]}, set[Predicate]())[int(rng.integers(3))]
        edges.append(Edge(edge.to, distance_m=shaken(edge.distance_m), relation=frozenset(words)))
    return StarGraph(graph.centre, nodes, tuple(edges))


def noisy_graphs(
    graphs: Mapping[str, StarGraph], level: float, *, on: Noisy = "words and lengths", seed: int = 0
) -> dict[str, StarGraph]:
    """Return noisy graphs by scene. A scene's noise depends only on its name and the seed, so it grows evenly with the level.

    Args:
        graphs: True graphs by scene.
        level: From 0, no noise, to 1.
        on: Only words, only lengths, both, or the rounding of lengths.
        seed: Seed of the noise.
    """
    return {
        scene: noisy_graph(graph, level, scene_rng(scene, seed), on=on) for scene, graph in graphs.items()
    }


def scene_rng(scene: str, seed: int) -> np.random.Generator:
    """Return the random generator of a scene."""
    digest = hashlib.sha256(scene.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
