"""Graphs are read from whatever a model writes; every departure is counted and none is fatal."""

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite.instruments.scene.graph_parser import parse_graph, read_graph
from theodolite.worlds.scene_graph import Edge, Node, StarGraph

TRUE = StarGraph(
    2,
    (Node(1, 4.0, 1.0, 2.0, 0.5), Node(2, 5.0, 0.5, 0.5, 1.5), Node(3, 6.5, 1.2, 1.4, 1.1)),
    (Edge(1, 2.0, frozenset({"left", "in front of"})), Edge(3, 3.0, frozenset({"behind", "up"}))),
)
PLAIN = json.dumps(TRUE.as_json())


OBJECTS, EDGES = (json.dumps(TRUE.as_json()[key]) for key in ("objects", "edges"))


def read(text):
    return parse_graph(text, 2, {1, 2, 3})


@pytest.mark.parametrize(
    "text",
    [
        f'Objects:\n```json\n{{"objects": {OBJECTS}}}\n```\nEdges:\n```json\n{{"edges": {EDGES}}}\n```',
        f'```json\n{{"edges": {EDGES}}}\n```\nand\n```json\n{{"objects": {OBJECTS}}}\n```',
        f"```json\n{OBJECTS}\n```\n```json\n{EDGES}\n```",
        "\n".join(json.dumps(row) for rows in TRUE.as_json().values() for row in rows),
        json.dumps(PLAIN),
        json.dumps({"graph": PLAIN}),
        json.dumps({"objects": OBJECTS, "edges": EDGES}),
        PLAIN.replace('"', '\\"'),
        PLAIN.replace('": ', "”: ").replace(' "', " “"),
        PLAIN.replace("{", "{ /* the graph, as asked */ ", 1),
        PLAIN.replace('"edges": [', '/* from object 2 */ "edges": [ /* object 1\'s edge [sic] */ '),
        PLAIN.replace('"edges": [', '// from object 2\n"edges": [ # left\n'),
    ],
)
def test_blocks_strings_quotes_and_comments_lose_nothing(text):
    reading = read(text)
    assert reading.graph == TRUE
    assert reading.is_complete
    assert reading.status in {"valid", "repaired"}


@pytest.mark.parametrize("empty", ["objects", "edges"])
def test_a_graph_without_edges_or_without_objects_is_not_valid(empty):
    for text in (
        json.dumps(TRUE.as_json() | {empty: []}),
        json.dumps({k: v for k, v in TRUE.as_json().items() if k != empty}),
    ):
        reading = read(text)
        assert reading.status == "partial"
        assert reading.is_read
    assert (
        parse_graph(json.dumps({"objects": TRUE.as_json()["objects"][1:2], "edges": []}), 2, {2}).status
        == "valid"
    )


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"```json\n{PLAIN}\n```",
        f"Sure! Here it is:\n\n```\n{PLAIN}\n```\nHope this helps {{}}.",
        f"<think>{{'objects': []}}</think>{PLAIN}",
        f"The graph is {PLAIN} as asked.",
        json.dumps({"scene_graph": TRUE.as_json()}),
        json.dumps([TRUE.as_json()]),
        PLAIN.replace('"id": 1', '"id": "1"').replace('"to": 3', '"to": "object 3"'),
        PLAIN.replace('"dist_to_cam": 4.0', '"dist_to_cam": "4.0 m"').replace('"w": 1.2', '"w": "120 cm"'),
        PLAIN.replace('["left", "in front of"]', '"to the left and in front"').replace('"up"', '"above"'),
        PLAIN.replace(
            '["left", "in front of"]',
            '{"left": 1, "right": 0, "in front of": true, "behind": 0, "up": "0", "down": false}',
        ),
        PLAIN.replace('{"w": 1.0, "l": 2.0, "h": 0.5}', "[1.0, 2.0, 0.5]"),
        PLAIN.replace('{"w": 1.0, "l": 2.0, "h": 0.5}', '"1.0 x 2.0 x 0.5 m"'),
        PLAIN.replace('{"w": 1.0, "l": 2.0, "h": 0.5}', '{"width": 1.0, "length": 2.0, "height": 0.5}'),
        json.dumps(
            {
                "objects": {
                    str(o["id"]): {k: v for k, v in o.items() if k != "id"} for o in TRUE.as_json()["objects"]
                },
                "edges": {
                    str(e["to"]): {"distance": e["distance"], "relation": e["relation"]}
                    for e in TRUE.as_json()["edges"]
                },
            }
        ),
    ],
)
def test_many_ways_of_writing_one_graph(text):
    reading = read(text)
    assert reading.status == "valid"
    assert reading.graph == TRUE
    assert reading.is_complete
    assert not reading.problems


@pytest.mark.parametrize(
    "text",
    [
        PLAIN[:-1],  # cut off
        PLAIN.replace('"', "'"),
        PLAIN.replace("}, {", "} {"),
        PLAIN.replace('"edges"', "edges"),
        f"```json\n{PLAIN[:-2]}",
    ],
)
def test_broken_json_is_mended_and_said_to_be(text):
    reading = read(text)
    assert reading.status == "repaired"
    assert reading.graph == TRUE


def test_a_graph_that_was_cut_off_keeps_what_is_there():
    reading = read(PLAIN[: PLAIN.index('"edges"')])
    assert reading.status == "partial"
    assert reading.graph.nodes == TRUE.nodes
    assert reading.problems == {"missing edge": 2}
    assert not reading.is_complete


def changed(**changes):
    graph = json.loads(PLAIN)
    for place, value in changes.items():
        kind, number, key = place.split("_", 2)
        if value is None:
            del graph[kind][int(number)][key]
        else:
            graph[kind][int(number)][key] = value
    return graph


@pytest.mark.parametrize(
    ("graph", "troubles"),
    [
        (changed(objects_0_dist_to_cam=math.nan), {"impossible number": 1}),
        (changed(objects_0_dist_to_cam=-3), {"impossible number": 1}),
        (changed(objects_0_dist_to_cam=0), {"impossible number": 1}),
        (changed(objects_0_dist_to_cam=math.inf), {"impossible number": 1}),
        (changed(objects_0_dist_to_cam=None), {"missing number": 1}),
        (changed(objects_0_dist_to_cam="far"), {"missing number": 1}),
        (changed(objects_0_size=None), {"missing number": 3}),
        (changed(objects_0_size="large"), {"missing number": 3}),
        (changed(objects_0_id=9), {"extra node": 1, "missing node": 1}),
        (changed(objects_0_id=2), {"repeated entry": 1, "missing node": 1}),
        (changed(objects_0_id="chair"), {"unreadable entry": 1, "missing node": 1}),
        (changed(edges_0_to=9), {"extra edge": 1, "missing edge": 1}),
        (changed(edges_0_from=3), {"extra edge": 1, "missing edge": 1}),
        (changed(edges_0_relation=None), {"missing relation": 1}),
        (changed(edges_0_relation=["left", "right"]), {"contradictory edge": 1}),
        (changed(edges_0_relation=["leftish"]), {"unknown word": 1}),
        (changed(edges_0_distance=None), {"missing number": 1}),
    ],
)
def test_every_departure_is_counted(graph, troubles):
    reading = read(json.dumps(graph))
    assert reading.is_read
    assert reading.problems == troubles


def test_an_edge_written_the_other_way_round_is_turned():
    graph = changed(edges_0_from=1, edges_0_to=2, edges_0_relation=["right", "behind"])
    reading = read(json.dumps(graph))
    assert reading.graph == TRUE
    assert reading.problems == {"reversed edge": 1}


def test_an_edge_without_words_is_not_an_edge_with_none():
    assert read(json.dumps(changed(edges_0_relation=None))).wordless == {1}
    assert read(json.dumps(changed(edges_0_relation=[]))).wordless == frozenset()


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "unreadable"),
        ("I see three objects.", "unreadable"),
        ("{}", "unreadable"),
        ("[1, 2, 3]", "unreadable"),
        ('{"objects": null, "edges": null}', "unreadable"),
        ('{"objects": [1, "two", null], "edges": 7}', "unreadable"),
        ("I'm sorry, I cannot see the image.", "refused"),
        ('<think>{"objects": [', "cut off"),
    ],
)
def test_what_is_no_graph_is_told_apart_by_why(text, status):
    reading = read(text)
    assert (reading.status, reading.graph) == (status, None)
    assert reading.reason


SCRAPS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 10**30), st.floats(), st.text(max_size=6), st.sampled_from(["1", "left", "1.2 m"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["id", "to", "from", "size", "w", "l", "h", "relation", "distance", "dist_to_cam", "objects", "edges", "1"]),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=300, deadline=2000)
@given(SCRAPS, st.integers(0, 400))
def test_no_json_breaks_the_parser(value, cut):
    reading = read_graph(value, 2, {1, 2, 3})
    assert reading.is_read or reading.reason
    again = read(json.dumps(value)[: -cut or None])
    for graph in (reading.graph, again.graph):
        if graph is not None:
            numbers = [v for n in graph.nodes for v in (n.distance_m, n.width_m, n.length_m, n.height_m)]
            numbers += [edge.distance_m for edge in graph.edges]
            assert all(v is None or (math.isfinite(v) and v > 0) for v in numbers)


@settings(max_examples=200, deadline=2000)
@given(st.text(max_size=200), st.integers(0, 300), st.integers(0, 300))
def test_no_text_breaks_the_parser(noise, start, end):
    first, last = sorted((start, end))
    for text in (noise, PLAIN[:first] + noise + PLAIN[last:]):
        reading = read(text)
        assert reading.is_read or reading.reason


def test_the_last_complete_graph_wins():
    draft = json.dumps({"objects": [{"id": 1, "dist_to_cam": 9.0}], "edges": []})
    cut = PLAIN[: len(PLAIN) // 2]
    assert read(f"Draft: {draft}\nFinal:\n```json\n{PLAIN}\n```").graph == TRUE
    assert read(f"{PLAIN}\nOnce more: {cut}").graph == TRUE
    assert read(f'{PLAIN}\nObject 1 alone: {{"objects": [{{"id": 1}}]}}').graph == TRUE


def test_escaped_underscores_are_read():
    escaped = PLAIN.replace("_", r"\_")
    assert r"dist\_to\_cam" in escaped
    assert read(escaped).graph == TRUE


def test_a_text_that_was_cut_off_says_so():
    assert parse_graph("Let me see. Object 1 is", 2, {1, 2, 3}, is_cut_off=True).status == "cut off"
    assert parse_graph(PLAIN[:-2], 2, {1, 2, 3}, is_cut_off=True).graph == TRUE


@pytest.mark.parametrize(
    "text",
    [
        '{"objects":[{"id":' + "9" * 400,
        "{" * 450,
        '{"objects": [{"id": 1, "dist_to_cam": 1e' + "9" * 5000 + "}]}",
        '{"objects": [{"id": 1, "dist_to_cam": "5 ft 3 İn"}]}',
        '{"' * 50_000,
        "{" * 50_000,
        '{"objects": [' + '{"id": 1, "size": "1 x 2"}, ' * 20_000,
    ],
)
def test_hostile_text_is_read_in_good_time(text):
    started = time.process_time()
    reading = read(text)
    assert reading.is_read or reading.reason
    assert time.process_time() - started < 3


def test_huge_numbers_in_decoded_json_break_nothing():
    huge = 10**400
    value = {
        "objects": [{"id": huge, "dist_to_cam": huge}, {"id": 1, "dist_to_cam": huge}],
        "edges": [{"to": 3, "relation": {"left": huge}}],
    }
    assert read_graph(value, 2, {1, 2, 3}).problems["impossible number"] == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("in-front-of", {"in front of"}),
        ("In_Front_Of", {"in front of"}),
        (["to-the-left", "in-front"], {"left", "in front of"}),
        ("front-right", {"in front of", "right"}),
        ("behind and to the right", {"behind", "right"}),
        (["upper-left of object 1"], {"up", "left"}),
        ({"in-front-of": 1, "left": 0}, {"in front of"}),
        ("closer to the camera", {"in front of"}),
        ("n/a", set()),
    ],
)
def test_relations_in_any_hyphenation(said, words):
    graph = {"objects": [], "edges": [{"from": 1, "to": 2, "distance": 1.0, "relation": said}]}
    found = parse_graph(json.dumps(graph), 1, {1, 2})
    assert found.graph.edges[0].relation == words
    assert "unknown word" not in found.problems


def test_the_last_graph_wins():
    graph = '{"objects": [{"id": 1, "dist_to_cam": %s, "size": [1, 1, 1]}], "edges": []}'
    said = f"A draft: {graph % 2}\nWait. The final graph:\n```json\n{graph % 3}\n```"
    assert parse_graph(said, 1, {1, 2}).graph.nodes[0].distance_m == 3.0
