"""The figures of a run against plain implementations, and everything that is missing counted."""

import json
import math
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from statistics import mean

import numpy as np
import pytest
from scene_worlds import answered, asked, box_world, rows_of, scored

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import check
from theodolite.core.scores import definition
from theodolite.core.types import Response
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.data.files import SceneQuestion
from theodolite.instruments.scene.experiments.blind import graph_prior, level, qa_prior
from theodolite.instruments.scene.experiments.curves import ceiling_tables, solver_ceilings
from theodolite.instruments.scene.experiments.interventions import cells_of, confusion_matrices, example_cases
from theodolite.instruments.scene.experiments.noise import noisy_graph, noisy_graphs, scene_rng
from theodolite.instruments.scene.formulas.derived_qa import derived_qa, unsolved_reasons
from theodolite.instruments.scene.formulas.solver import SOLVERS
from theodolite.instruments.scene.graph_parser import star_from_json
from theodolite.instruments.scene.questions import Mode, Settings, plan_scenes
from theodolite.instruments.scene.results import read_results
from theodolite.instruments.scene.score import EXTRA_TABLES, counts_table, qa_table, score_tables


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return box_world(12, seed=2, folder=tmp_path_factory.mktemp("world"))


def sloppy(request):
    """Right about half of the time, from a graph that is about right; no picture, no idea."""
    hint = request.hint
    rng = scene_rng(request.ref, 7)
    if hint["setting"] == "blind" or rng.random() < 0.4:
        return scripts.blind_prior(request)
    if hint["task"] == "graph":
        true = star_from_json(json.loads(hint["gold"]))
        return json.dumps(noisy_graph(true, 0.2, rng).as_json())
    return scripts.oracle(request)


@pytest.fixture(scope="module")
def results(world):
    return asked(world, sloppy)


def plain_mra(said, gold):
    return sum(abs(said - gold) / gold < 1 - (0.5 + 0.05 * i) - 1e-12 for i in range(10)) / 10


def plain_score(question, value):
    if value is None:
        return 0.0
    return float(value == question.gold) if question.options else plain_mra(value, float(question.gold))


def plain_macro(pairs):
    groups = defaultdict(list)
    for question, score in pairs:
        groups[question.form, question.competency].append(score)
    return mean(mean(scores) for scores in groups.values())


def test_table_1_is_the_plain_mean_over_nine_groups(results):
    table = rows_of(qa_table(scored(results)))
    assert list(table) == ["overall", "indoor", "outdoor", "without looking"]
    for domain in ("overall", "indoor", "outdoor"):
        row = table[domain]
        base = [r for r in results.answers("base").values() if domain in {"overall", r.question.domain}]
        expected = plain_macro([(r.question, plain_score(r.question, r.answer.value)) for r in base])
        assert row["qa"].value == pytest.approx(expected)
        assert row["qa"].low < row["qa"].value < row["qa"].high
        assert row["qa"].n == len({r.question.scene for r in base})
        assert row["qa"].n_items == len(base)
        graphs = [r for r in results.graphs["base"].values() if domain in {"overall", r.domain}]
        assert row["sgc"].n == len(graphs)


def test_derived_answers_and_consistency_by_hand(results):
    cases = derived_qa(results)
    for case, base, derived, agreement in zip(
        cases.cases, cases.base, cases.derived, cases.consistency, strict=True
    ):
        direct = case.result.answer.value
        assert base == pytest.approx(plain_score(case.question, direct))
        value = case.derived.value if case.derived.is_solved else None
        assert derived == pytest.approx(plain_score(case.question, value))
        if value is None or direct is None:
            assert agreement == 0
        elif case.question.options:
            assert agreement == (value == direct)
        else:
            assert agreement == pytest.approx(plain_mra(value, direct))


def test_the_matrix_holds_every_question_once(results):
    score = scored(results)
    assert sum(sum(matrix.counts.values()) for matrix in score.confusions) == len(score.cases.cases)
    for matrix in score.confusions:
        assert sum(share.value for share in matrix.shares.values()) == pytest.approx(1)
    choice = score.confusions[0]
    assert choice.counts["consistent hallucination"] > 0
    assert choice.counts["other failure"] > 0


def test_cells_by_hand(results):
    cases = derived_qa(results)
    for case, cell in zip(cases.cases, cells_of(cases), strict=True):
        if not case.question.options or not case.derived.is_solved:
            continue
        direct = case.result.answer.value
        right, derived_right = (
            direct == case.question.gold,
            case.derived.letter == case.question.gold,
        )
        same = direct == case.derived.letter
        if not derived_right and case.from_truth.letter != case.question.gold:
            assert cell == "solver's own error"
            continue
        assert (
            cell
            == {
                (True, True): "grounded success",
                (True, False): "shortcut success",
                (False, True): "disconnect failure",
                (False, False): "consistent hallucination" if same else "other failure",
            }[right, derived_right]
        )


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_solvers_error_is_not_the_models(world, solver):
    # A model that is right in everything: whatever is derived wrongly, the solver derives wrongly from the true graph.
    score = scored(
        asked(world, scripts.oracle, settings=Settings(qa=("base",), graph=("base",))), solver=solver
    )
    assert score.mean("qa").value == score.mean("sgc").value == 1
    by_kind = {
        (case.question.kind, cell)
        for case, cell in zip(score.cases.cases, cells_of(score.cases), strict=True)
    }
    assert {cell for _, cell in by_kind} <= {"grounded success", "solver's own error", "no derived answer"}
    assert all(matrix.counts["shortcut success"] == 0 for matrix in score.confusions)
    assert score.mean("direct_over_derived_solvable").value == 0
    published = confusion_matrices(score.cases, "paper")
    assert all(matrix.counts["solver's own error"] == 0 for matrix in published)
    errors = sum(matrix.counts["solver's own error"] for matrix in score.confusions)
    assert sum(matrix.counts["shortcut success"] for matrix in published) == errors > 0
    assert score.mean("direct_over_derived").value > 0


def test_a_shortcut_is_still_found_where_the_solver_is_right(world):
    score = scored(asked(world, scripts.shortcut, settings=Settings(qa=("base",), graph=("base",))))
    for matrix in score.confusions:
        assert matrix.shares["shortcut success"].value > 0.4
    assert score.mean("direct_over_derived_solvable").value > 0.3


def test_the_clearest_cases_are_examples(results):
    cases = derived_qa(results)
    sgc = {scene: 0.5 + i / 100 for i, scene in enumerate(sorted(set(cases.scenes)))}
    picked = example_cases(cases, sgc, n=2)
    cells = {case.question.id: cell for case, cell in zip(cases.cases, cells_of(cases), strict=True)}
    assert {case.cell for case in picked} == {
        "grounded success",
        "shortcut success",
        "disconnect failure",
        "consistent hallucination",
    }
    for case in picked:
        assert cells[case.case.question.id] == case.cell
    best = [case.case.question.scene for case in picked if case.cell == "grounded success"]
    assert len(set(best)) == 2
    candidates = {
        c.question.scene
        for c, cell, ok in zip(cases.cases, cells_of(cases), cases.is_solvable, strict=True)
        if cell == "grounded success" and ok and c.question.options
    }
    assert best == sorted(candidates, key=lambda scene: -sgc[scene])[:2]


def test_a_drop_is_paired_question_by_question(results):
    blind = scored(results).blind
    pairs = [(row, results.answers("blind")[key]) for key, row in results.answers("base").items()]
    expected = plain_macro(
        [
            (a.question, plain_score(a.question, a.answer.value) - plain_score(b.question, b.answer.value))
            for a, b in pairs
        ]
    )
    assert blind.qa_drop.value == pytest.approx(expected)
    assert blind.gap.value == pytest.approx(blind.qa_drop.value - blind.sgc_drop.value)
    assert blind.refused.value == 0


def test_a_scene_without_a_graph_is_a_counted_failure(world):
    scenes = sorted(world.scenes)
    mute = set(scenes[::3])

    def script(request):
        if request.hint["task"] == "graph" and request.hint["scene"] in mute:
            return "I would rather describe the place in words."
        return scripts.oracle(request)

    score = scored(asked(world, script))
    lost = [question for question in world.questions if question.scene in mute]
    counts = rows_of(counts_table(score))
    assert counts["predicted graph"]["without_graph"] == len(lost) > 0
    assert counts["predicted graph"]["asked"] == len(world.questions) - len(lost)
    figures = {(f.setting, f.layer): f for f in score.interventions}
    whole = figures["predicted graph", None]
    expected = plain_macro([(q, float(q.scene not in mute)) for q in world.questions])
    assert whole.qa.value == pytest.approx(expected)
    assert whole.qa_of_asked.value == 1
    assert whole.gain.value == 0  # where it was asked, nothing was lost
    assert whole.without_graph == len(lost)
    base = next(figures for figures in score.graphs if figures.setting == "base")
    assert base.unreadable == len(mute)
    assert base.valid.value == pytest.approx(1 - len(mute) / len(scenes))
    assert base.parts["sgc_of_read"].value == pytest.approx(1)
    assert score.mean("sgc").value == pytest.approx(1 - len(mute) / len(scenes))
    assert unsolved_reasons(score.cases.cases) == {"no graph": len(lost)}


def test_failed_requests_are_not_wrong_answers(world):
    def script(request):
        if scene_rng(request.ref, 1).random() < 0.3:
            return Response.failed("no connection")
        return scripts.oracle(request)

    score = scored(asked(world, script))
    assert score.mean("qa").value == 1
    counts = rows_of(counts_table(score))["base"]
    assert counts["failed"] > 0
    assert counts["failed"] + counts["asked"] == len(world.questions)


def test_a_graph_that_was_not_given_because_the_request_failed_is_not_a_wrong_graph(world):
    lost = next(iter(world.scenes))

    def script(request):
        if request.hint["task"] == "graph" and request.hint["scene"] == lost:
            return Response.failed("no connection")
        return scripts.oracle(request)

    score = scored(asked(world, script, settings=Settings(qa=("base",), graph=("base",))))
    derived = {each.item: each for each in score.scores if each.metric == "scene.derived"}
    questions = {question.id for question in world.questions if question.scene == lost}
    assert {key for key, each in derived.items() if each.value is None} == questions
    assert {derived[key].reason for key in questions} == {"no graph: failed"}
    assert score.mean("derived").n == len(world.scenes) - 1
    assert sum(sum(matrix.counts.values()) for matrix in score.confusions) == len(derived) - len(questions)


def test_layers_are_told_apart(world):
    def script(request):
        question = request.hint.get("question")
        steps = {"ranking", "counting", "transformation", "deduction"}
        if (
            question
            and check(SceneQuestion, question).competency in steps
            and "true" not in request.hint["setting"]
        ):
            return "no idea"
        return scripts.oracle(request)

    figures = {(f.setting, f.layer): f for f in scored(asked(world, script)).interventions}
    assert figures["base", "atomic"].qa.value == 1
    assert figures["base", "compositional"].qa.value == 0
    assert figures["true graph", "compositional"].gain.value == 1
    assert figures["true graph", "atomic"].gain.value == 0
    assert figures["true graph", "compositional"].test.p_value <= 0.001
    assert figures["predicted graph", "compositional"].gain.value == 0


LEVELS = (0.0, 0.15, 0.4, 1.0)


def test_the_threshold_lies_where_a_graph_begins_to_help(tmp_path):
    world = box_world(15, seed=8, folder=tmp_path)

    def script(request):
        if "graph" in request.hint["setting"]:
            return scripts.trusting(request)
        is_lucky = scene_rng(request.ref, 5).random() < 0.6
        return scripts.oracle(request) if is_lucky else scripts.blind_prior(request)

    rows = asked(world, script, settings=Settings(qa=("base",)), noise=LEVELS)
    found = scored(rows).threshold
    assert [level.noise for level in found.levels] == list(LEVELS)
    qualities = [level.quality.value for level in found.levels]
    gains = [level.gain.value for level in found.levels]
    assert qualities == sorted(qualities, reverse=True)
    assert qualities[0] == pytest.approx(1)
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 0 > gains[-1]
    i = next(i for i, gain in enumerate(gains) if gain < 0)
    share = gains[i - 1] / (gains[i - 1] - gains[i])
    by_hand = qualities[i - 1] + share * (qualities[i] - qualities[i - 1])
    assert found.crossing.value == pytest.approx(by_hand, abs=1e-5)
    assert qualities[i] - 0.05 < found.crossing.low < found.crossing.high < qualities[i - 1] + 0.05


def test_a_graph_that_always_helps_has_no_threshold(world):
    def script(request):
        return scripts.trusting(request) if "graph" in request.hint["setting"] else "no idea"

    rows = asked(world, script, settings=Settings(qa=("base",)), noise=(0.0, 0.1))
    found = scored(rows).threshold
    assert found.crossing is None
    assert "every level" in found.because


def test_baselines_know_no_scene_that_they_are_scored_on(world):
    # A kind with one question only has no other half to learn from.
    lone = [next(q for q in world.questions if q.form == "number")]
    assert qa_prior(lone).tolist() == [0]
    twins = [replace(lone[0], id=f"{i}", scene=f"s{i}") for i in range(4)]
    assert qa_prior(twins).tolist() == [1, 1, 1, 1]
    stars = {scene.id: scene.star() for scene in world.scenes.values()}
    domains = {scene.id: scene.domain for scene in world.scenes.values()}
    floor = graph_prior(stars, domains)
    assert 0.3 < mean(score.sgc for score in floor.values()) < 0.8


def test_levels_between_a_baseline_and_one():
    scenes = [str(i) for i in range(30)]
    half = level(np.full(30, 0.6), np.full(30, 0.2), scenes)
    assert half.value == pytest.approx(0.5)
    assert half.low < 0.5 < half.high
    best = level(np.ones(30), np.full(30, 0.2), scenes)
    assert (best.value, best.high) == (1, 1)
    assert best.low == pytest.approx((stats.wilson_interval(30, 30).low - 0.2) / 0.8)
    assert level(np.ones(30), np.ones(30), scenes) is None
    assert level(np.zeros(0), np.zeros(0), []) is None


def test_readings_have_keys_of_their_own(world):
    def nearly(request):
        question = request.hint.get("question")
        if question and not question.get("options"):
            return repr(float(request.hint["gold"]) * 1.05)
        return scripts.oracle(request)

    rows = asked(world, nearly)
    strict, loose, upstream = scored(rows), scored(rows, comparison="<="), scored(rows, solver="upstream")
    assert loose.mean("qa").value > strict.mean("qa").value
    assert upstream.mean("ceiling").value < strict.mean("ceiling").value
    keys = [{each.metric for each in score.scores} for score in (strict, loose, upstream)]
    assert not any(first & second for first, second in combinations(keys, 2))
    (table,) = [t for t in score_tables(strict, ["readings"]) if t.name == "scene.readings"]
    column = [each.name for each in table.columns].index("qa")
    assert [row[column].value for row in table.rows] == [
        strict.mean("qa").value,
        loose.mean("qa").value,
        strict.mean("qa").value,
        strict.mean("qa").value,
    ]
    solver = [each.name for each in table.columns].index("solver")
    assert [row[solver] for row in table.rows] == ["fused", "fused", "geometric", "upstream"]


def test_tables_are_json_and_scoring_twice_gives_the_same(results):
    first, second = (score_tables(scored(results), EXTRA_TABLES) for _ in range(2))
    assert first == second
    for table in first:
        json.dumps(table.as_json(), allow_nan=False)
        assert table.rows


def test_every_number_of_a_table_has_a_definition(world, results):
    tables = score_tables(scored(results), EXTRA_TABLES)
    tables += ceiling_tables(solver_ceilings(world.scenes, world.questions))
    for table in tables:
        for column in table.columns:
            assert not column.key or definition(column.key).key == column.key


def test_a_run_with_only_graphs_or_only_questions_is_scored(world):
    graphs = scored(asked(world, scripts.oracle, settings=Settings(qa=(), graph=("base",))))
    assert graphs.mean("sgc").value == pytest.approx(1)
    assert graphs.mean("qa") is None
    questions = scored(asked(world, scripts.oracle, settings=Settings(qa=("base",), graph=())))
    assert questions.mean("qa").value == 1
    assert questions.mean("consistency") is None
    assert {s.name for s in questions.signatures if s.is_raised} == set()
    for score in (graphs, questions):
        assert score_tables(score, EXTRA_TABLES)


def test_two_modes_are_not_mixed(world):
    plain, thought = (
        Settings(qa=("base",), graph=()),
        Settings(qa=("base",), graph=(), mode=Mode("chain of thought")),
    )
    results = answered([*plan_scenes(world, plain), *plan_scenes(world, thought)], scripts.oracle)
    with pytest.raises(UsageError, match="several modes"):
        read_results(results, model="m")
    assert read_results(results, model="m", mode="chain of thought").mode == "chain of thought"


def test_noise_grows_with_its_level(world):
    stars = {scene.id: scene.star() for scene in world.scenes.values()}
    assert noisy_graphs(stars, 0.0) == stars
    small, large = (noisy_graphs(stars, level)["indoor-0001"].nodes[0].distance_m for level in (0.1, 0.5))
    true = stars["indoor-0001"].nodes[0].distance_m
    assert math.log(large / true) == pytest.approx(5 * math.log(small / true), rel=0.1, abs=0.05)
    with pytest.raises(UsageError, match="between 0 and 1"):
        noisy_graphs(stars, 1.5)
