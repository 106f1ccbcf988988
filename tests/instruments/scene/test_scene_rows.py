"""Rows of what models really say: graphs that contradict themselves are drawn as far as they go."""

from theodolite.instruments.scene.score import said_objects
from theodolite.worlds.scene_graph import Edge, Node, StarGraph


def test_an_edge_to_an_object_that_is_described_nowhere_is_still_drawn():
    graph = StarGraph(1, (Node(1, 8.0, 1.0, 2.0, 3.0),), (Edge(2, 6.0, frozenset({"right"})),))
    found = {thing.mark: thing for thing in said_objects(graph)}
    assert (found[1].width_m, found[1].depth_m) == (2.0, 1.0)
    assert found[2].width_m > 0
    assert found[2].x_m > found[1].x_m


def test_lengths_that_are_none_are_drawn_small():
    graph = StarGraph(1, (Node(1, 8.0, None, 0.0, None),), ())
    assert [(thing.width_m, thing.depth_m) for thing in said_objects(graph)] == [(0.1, 0.1)]
