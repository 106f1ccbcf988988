"""The shortcut of the scene instrument: answers predicted from a question's wording and the numbers of its marks.

Marks are numbered at random, so the rule is right only by chance; where it is right, a question is *aligned*.
"""

from __future__ import annotations

from theodolite.instruments.scene.data.graph import Edge, Node, StarGraph
from theodolite.instruments.scene.data.questions import SceneQuestion

_TOLERANCE = 0.1
"""A number agrees with the rule if it is off by less than this share of the truth."""


def scene_shortcut(question: SceneQuestion) -> str:
    """The letter or the number that the rule predicts.

    - *is a … of b?*: yes if a's mark is the lower one
    - *which of the two?*: the lower mark; the higher one if the question says *farther*
    - order of three: by mark
    - counts, positions, sectors: the letter whose number is that of the last mark named
    - lengths: a fixed length for each mark
    """
    marks = question.objects
    if question.form == "number":
        return f"{_number(question):.2f}"
    if question.kind.startswith("is "):
        return "A" if marks[0] < marks[1] else "B"
    if question.kind.startswith("rank"):
        return question.letter_of("-".join(map(str, sorted(marks)))) or "A"
    if len(question.options) == 2:
        lower = min(marks[-2:]) if "farther" not in question.kind else max(marks[-2:])
        return question.letter_of(str(lower)) or "A"
    return question.letters[(marks[-1] - 1) % len(question.options)]


def is_aligned(question: SceneQuestion) -> bool:
    """True if the rule is right."""
    said = scene_shortcut(question)
    if question.form == "choice":
        return said == question.gold
    return abs(float(said) - question.gold_number) < _TOLERANCE * question.gold_number


def _number(question: SceneQuestion) -> float:
    mark = question.objects[-1]
    match question.kind:
        case "distance to camera":
            return distance_m(mark)
        case "length":
            return size_m(mark)[1]
        case "width":
            return size_m(mark)[0]
        case "height":
            return size_m(mark)[2]
        case "distance between":
            return apart_m(*question.objects)
        case _:
            return 1.1 + 0.45 * mark


def distance_m(mark: int) -> float:
    """From the camera."""
    return 2.2 + 0.6 * mark


def size_m(mark: int) -> tuple[float, float, float]:
    """Width, length, height."""
    return 0.3 + 0.07 * mark, 0.4 + 0.12 * mark, 0.55 + 0.24 * mark


def apart_m(one: int, other: int) -> float:
    """From middle to middle."""
    return 1.0 + 0.55 * abs(one - other)


def graph_shortcut(star: StarGraph) -> StarGraph:
    """The graph predicted from the marks: higher numbers are farther to the right and farther away."""
    nodes = tuple(Node(node.id, distance_m(node.id), *size_m(node.id)) for node in star.nodes)
    edges = tuple(
        Edge(
            edge.to,
            apart_m(star.centre, edge.to),
            frozenset({"right", "behind"} if edge.to > star.centre else {"left", "in front of"}),
        )
        for edge in star.edges
    )
    return StarGraph(star.centre, nodes, edges)
