"""Reading a scene graph takes linear time."""

import pytest

from linear import NASTY, assert_linear, assert_linear_up_to_200_kb
from theodolite.answers import text as reader
from theodolite.instruments.scene.graph_parser import parse_graph

GRAPHS = (
    *NASTY,
    '{"objects":[{"id":1,"size":[1,2,3]}],"edges":[{"to":2,"relation":["left"]}]} ',
    '{"objects":[',
    '{"relation": "left and right and ',
    "[[1,",
    '{"objects": {"1": {"size": "1 x 2 x 3 x ',
)


def read(text):
    parse_graph(text, 1, {1, 2, 3})
    parse_graph(f'{{"objects": [{{"id": 1, "distance": "{text}"}}]}}', 1, {1, 2, 3})


@pytest.mark.parametrize("piece", GRAPHS[-5:])
def test_reading_a_graph_is_linear(piece):
    assert_linear(read, piece, 2_000, factor=4, most=1.8)


@pytest.mark.slow
@pytest.mark.parametrize("piece", GRAPHS)
def test_reading_is_linear_up_to_200_kb(piece, monkeypatch):
    monkeypatch.setattr(reader, "LONGEST", 10**9)
    assert_linear_up_to_200_kb(read, piece)
