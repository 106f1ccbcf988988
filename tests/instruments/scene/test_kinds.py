"""A kind of question is one record: adding one is enough for asking, answering and solving it."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from scene_made import strewn_scenes

from theodolite.core.errors import UsageError
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.data.crisp import write_question
from theodolite.instruments.scene.data.files import SceneData, SceneQuestion
from theodolite.instruments.scene.data.make import QUOTAS, make_questions
from theodolite.instruments.scene.formulas.solver import SOLVERS, Solver
from theodolite.instruments.scene.kinds import HEIGHT, KINDS, QuestionKind, Shape, Which
from theodolite.instruments.scene.questions import Settings, is_graph, plan_scenes, question_of

LOWER = QuestionKind(
    "lower", "size", Which(HEIGHT, is_largest=False), "In the real world, which is less tall: {0} or {1}?"
)


@pytest.fixture
def scenes(monkeypatch):
    monkeypatch.setitem(KINDS, LOWER.name, LOWER)
    return strewn_scenes(60, seed=4)


def test_a_new_kind_is_asked_answered_and_solved(scenes):
    data = SceneData({scene.id: scene for scene in scenes}, make_questions(scenes, seed=1).questions)
    asked = [question for question in data.questions if question.kind == "lower"]
    assert len(asked) >= 10
    for question in asked:
        scene = data.scenes[question.scene]
        low = min(question.objects, key=lambda mark: scene[mark].height_m)
        assert question.letter_of(str(low)) == question.gold
        for solver in SOLVERS:
            assert Solver(scene.star(), solver).solve(question).value == question.gold
        assert question.text in write_question(question, "a.png", dataset="d")["conversations"][0]["value"]
    for item in plan_scenes(data, Settings(qa=("true graph alone",), graph=())):
        if not is_graph(item):
            question = question_of(item)
            assert question in data.questions
            assert scripts.oracle(item.request) == question.gold


def test_the_kinds_of_the_documentation_are_asked_and_solved(monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "instruments" / "scene.md").read_text(encoding="utf-8")
    monkeypatch.setattr("theodolite.instruments.scene.kinds.KINDS", kinds := dict(KINDS))
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(example, "scene.md", "exec"), {})  # noqa: S102 - the page's own code is under test
    new = [kinds[name] for name in kinds.keys() - KINDS.keys()]
    assert {kind.name for kind in new} == {"rank by width", "covers more ground"}
    for kind in new:
        monkeypatch.setitem(KINDS, kind.name, kind)
    scenes = strewn_scenes(60, seed=4)
    data = SceneData({scene.id: scene for scene in scenes}, make_questions(scenes, seed=1).questions)
    asked = Counter()
    for question in data.questions:
        scene = data.scenes[question.scene]
        if question.kind == "rank by width":
            order = sorted(question.objects, key=lambda mark: -scene[mark].width_m)
            assert question.letter_of("-".join(map(str, order))) == question.gold
        elif question.kind == "covers more ground":
            most = max(question.objects, key=lambda mark: scene[mark].length_m * scene[mark].width_m)
            assert question.letter_of(str(most)) == question.gold
        else:
            continue
        asked[question.kind] += 1
        for solver in SOLVERS:
            assert Solver(scene.star(), solver).solve(question).value == question.gold
        assert question.text in write_question(question, "a.png", dataset="d")["conversations"][0]["value"]
    assert min(asked["rank by width"], asked["covers more ground"]) >= 10


def test_what_one_kind_reveals_no_other_asks(scenes):
    quotas = {level: {"size": 30} for level in QUOTAS}
    by_pair = {}
    for question in make_questions(scenes, quotas=quotas).questions:
        if question.kind in {"lower", "taller"}:
            key = question.scene, frozenset(question.objects)
            assert by_pair.setdefault(key, question.kind) == question.kind


def test_a_kind_needs_a_solver_and_a_text():
    class Unsolved(Shape):
        def draw(self, kinds, scene, rng):
            return iter(())

    with pytest.raises(TypeError, match="solve"):
        Unsolved()
    with pytest.raises(UsageError, match="competency"):
        replace(LOWER, competency="taste")
    with pytest.raises(UsageError, match="unknown field"):
        replace(LOWER, text="Which is {what}?")
    with pytest.raises(UsageError, match="names no object"):
        replace(LOWER, text="Which is it?")
    with pytest.raises(UsageError, match="no kind of question 'higher'"):
        SceneQuestion("q", "s", "indoor", "higher", "?", (1, 2), "A", "easy")
