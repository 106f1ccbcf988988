"""The figures of a run against plain implementations, and everything that is missing counted."""

import json
import math
from collections import defaultdict
from dataclasses import replace
from statistics import mean

import numpy as np
import pytest
from scene_worlds import asked, box_world

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.types import Response
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.estimates import Drawn
from theodolite.instruments.scene.experiments.baselines import graph_floor, qa_floor
from theodolite.instruments.scene.experiments.confusion import cells_of, pick_cases
from theodolite.instruments.scene.experiments.noise import noisy_graph, noisy_graphs, scene_rng
from theodolite.instruments.scene.experiments.threshold import threshold
from theodolite.instruments.scene.formulas.derived import derive
from theodolite.instruments.scene.questions import Settings
from theodolite.instruments.scene.results import read_results, star_from_json
from theodolite.instruments.scene.score import ScoreOptions, score_rows
from theodolite.instruments.scene.settings import Mode

QUICK = ScoreOptions(n_resamples=200)


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
def rows(world):
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


def test_table_1_is_the_plain_mean_over_nine_groups(rows):
    table = score_rows(rows, QUICK).table
    assert [row.domain for row in table] == [None, "indoor", "outdoor"]
    for row in table:
        base = [r for r in rows.of("base").values() if row.domain in {None, r.question.domain}]
        assert row.n_questions == len(base)
        expected = plain_macro([(r.question, plain_score(r.question, r.answer.value)) for r in base])
        assert row.qa.value == pytest.approx(expected)
        assert row.qa.low < row.qa.value < row.qa.high
        assert row.qa.n == len({r.question.scene for r in base})
        assert row.qa.n_items == len(base)
        graphs = [r for r in rows.graphs["base"].values() if row.domain in {None, r.domain}]
        assert row.graphs.sgc.n == len(graphs)


def test_derived_answers_and_consistency_by_hand(rows):
    cases = derive(rows, reading="geometric", comparison="<", seed=0)
    for case, base, derived, agreement in zip(
        cases.cases, cases.base, cases.derived, cases.agreement, strict=True
    ):
        assert base == pytest.approx(plain_score(case.question, case.direct.value))
        value = case.derived.value if case.derived.is_solved else None
        assert derived == pytest.approx(plain_score(case.question, value))
        direct = case.direct.value
        if value is None or direct is None:
            assert agreement == 0
        elif case.question.options:
            assert agreement == (value == direct)
        else:
            assert agreement == pytest.approx(plain_mra(value, direct))


def test_the_matrix_holds_every_question_once(rows):
    score = score_rows(rows, QUICK)
    cases = derive(rows, reading="geometric", comparison="<", seed=0)
    assert sum(sum(matrix.counts.values()) for matrix in score.confusions) == len(cases.cases)
    for matrix in score.confusions:
        assert sum(matrix.by_row.values()) == sum(matrix.counts.values())
        assert sum(share.value for share in matrix.shares.values()) == pytest.approx(1)
    choice = score.confusions[0]
    hallucinated = choice.counts["consistent hallucination"]
    both_wrong = choice.by_row.get("wrong / wrong", 0)
    assert 0 < hallucinated < both_wrong
    assert both_wrong == hallucinated + choice.counts["other failure"]


def test_cells_by_hand(rows):
    cases = derive(rows, reading="geometric", comparison="<", seed=0)
    for case, cell in zip(cases.cases, cells_of(cases), strict=True):
        if not case.question.options or not case.derived.is_solved:
            continue
        right, derived_right = (
            case.direct.letter == case.question.gold,
            case.derived.letter == case.question.gold,
        )
        same = case.direct.letter == case.derived.letter
        assert (
            cell
            == {
                (True, True): "grounded success",
                (True, False): "shortcut success",
                (False, True): "disconnect failure",
                (False, False): "consistent hallucination" if same else "other failure",
            }[right, derived_right]
        )


def test_the_clearest_cases_are_picked(rows):
    cases = derive(rows, reading="geometric", comparison="<", seed=0)
    sgc = {scene: 0.5 + i / 100 for i, scene in enumerate(sorted(set(cases.scenes)))}
    picked = pick_cases(cases, sgc, n=2)
    cells = {case.question.id: cell for case, cell in zip(cases.cases, cells_of(cases), strict=True)}
    assert {case.cell for case in picked} == {
        "grounded success",
        "shortcut success",
        "disconnect failure",
        "consistent hallucination",
    }
    for case in picked:
        assert cells[case.question] == case.cell
    best = [case.scene for case in picked if case.cell == "grounded success"]
    assert len(set(best)) == 2
    candidates = {
        c.question.scene
        for c, cell, ok in zip(cases.cases, cells_of(cases), cases.is_derivable, strict=True)
        if cell == "grounded success" and ok and c.question.options
    }
    assert best == sorted(candidates, key=lambda scene: -sgc[scene])[:2]


def test_a_drop_is_paired_question_by_question(rows):
    blind = score_rows(rows, QUICK).blind
    pairs = [(rows.of("base")[key], rows.of("blind")[key]) for key in rows.of("base")]
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

    rows = asked(world, script)
    score = score_rows(rows, QUICK)
    lost = [question for question in world.questions if question.scene in mute]
    counts = {count.setting: count for count in score.counts}
    assert counts["predicted graph"].without_graph == len(lost) > 0
    assert counts["predicted graph"].asked == len(world.questions) - len(lost)
    figures = {(f.setting, f.layer): f for f in score.interventions}
    whole = figures["predicted graph", None]
    expected = plain_macro([(q, float(q.scene not in mute)) for q in world.questions])
    assert whole.qa.value == pytest.approx(expected)
    assert whole.qa_of_asked.value == 1
    assert whole.gain.value == 0  # where it was asked, nothing was lost
    assert whole.without_graph == len(lost)
    base = next(figures for figures in score.graphs if figures.setting == "base")
    assert base.unreadable == len(mute)
    assert base.valid_json.value == pytest.approx(1 - len(mute) / len(scenes))
    assert base.parts.sgc_of_read.value == pytest.approx(1)
    assert base.parts.sgc.value == pytest.approx(1 - len(mute) / len(scenes))
    assert score.failed_derivations == {"no graph": len(lost)}


def test_failed_requests_are_not_wrong_answers(world):
    def script(request):
        if scene_rng(request.ref, 1).random() < 0.3:
            return Response.failed("no connection")
        return scripts.oracle(request)

    score = score_rows(asked(world, script), QUICK)
    assert score.table[0].qa.value == 1
    counts = {count.setting: count for count in score.counts}["base"]
    assert counts.failed > 0
    assert counts.failed + counts.asked == len(world.questions)


def test_layers_are_told_apart(world):
    def script(request):
        question = request.hint.get("question")
        steps = {"ranking", "counting", "transformation", "deduction"}
        from theodolite.instruments.scene.data.files import question_from_json

        if (
            question
            and question_from_json(question).competency in steps
            and "true" not in request.hint["setting"]
        ):
            return "no idea"
        return scripts.oracle(request)

    figures = {(f.setting, f.layer): f for f in score_rows(asked(world, script), QUICK).interventions}
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
    found = threshold(rows, Drawn(n_resamples=400), "<")
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
    assert qualities[i] < found.crossing.low < found.crossing.high < qualities[i - 1] + 0.05


def test_a_graph_that_always_helps_has_no_threshold(world):
    def script(request):
        return scripts.trusting(request) if "graph" in request.hint["setting"] else "no idea"

    rows = asked(world, script, settings=Settings(qa=("base",)), noise=(0.0, 0.1))
    found = threshold(rows, Drawn(n_resamples=100), "<")
    assert found.crossing is None
    assert "every level" in found.because


def test_floors_know_no_scene_that_they_are_scored_on(world):
    # A kind with one question only has no other half to learn from.
    lone = [next(q for q in world.questions if q.form == "number")]
    assert qa_floor(lone).tolist() == [0]
    twins = [replace(lone[0], id=f"{i}", scene=f"s{i}") for i in range(4)]
    assert qa_floor(twins).tolist() == [1, 1, 1, 1]
    stars = {scene.id: scene.star() for scene in world.scenes.values()}
    domains = {scene.id: scene.domain for scene in world.scenes.values()}
    floor = graph_floor(stars, domains)
    assert 0.3 < mean(score.sgc for score in floor.values()) < 0.8


def test_macro_is_the_clustered_bootstrap_of_stats():
    rng = np.random.default_rng(0)
    scenes = np.repeat(np.arange(40), 3)
    values = rng.random(120)
    found = Drawn(seed=3, n_resamples=500).mean(values, scenes)
    expected = stats.bootstrap(values, clusters=scenes, interval="percentile", n_resamples=500, seed=3)
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-6
    )
    assert (found.n, found.n_items) == (40, 120)


def test_the_interval_of_what_is_always_alike_still_has_a_width():
    found = Drawn(n_resamples=50).mean(np.ones(60), np.arange(60) % 20)
    assert found.value == 1
    assert found.low == pytest.approx(stats.wilson_interval(20, 20).low)
    assert Drawn(n_resamples=50).mean([], []) is None
    one = Drawn(n_resamples=50).mean([0.4, 0.6], ["a", "a"])
    assert one.low < 0.5 < one.high
    assert one.n == 1


def test_levels_of_floor_and_ceiling():
    scenes = np.arange(30)
    drawn, zeros = Drawn(n_resamples=100), np.zeros(30, int)
    half = drawn.level_of(np.full(30, 0.6), np.full(30, 0.2), np.ones(30), zeros, scenes)
    assert half.value == pytest.approx(0.5)
    assert drawn.level_of(np.ones(30), np.ones(30), np.ones(30), zeros, scenes) is None


def test_readings_are_named(world):
    def nearly(request):
        question = request.hint.get("question")
        if question and not question.get("options"):
            return repr(float(request.hint["gold"]) * 1.05)
        return scripts.oracle(request)

    rows = asked(world, nearly)
    row = score_rows(rows, QUICK).table[0]
    assert row.qa_upstream.value > row.qa.value
    assert score_rows(rows, replace(QUICK, comparison="<=")).table[0].qa.value == row.qa_upstream.value
    assert score_rows(rows, replace(QUICK, solver="upstream")).table[0].ceiling.value < row.ceiling.value


def test_the_score_is_json(rows):
    text = json.dumps(score_rows(rows, QUICK).as_json(), allow_nan=False)
    assert json.loads(text)["instrument"] == "scene"


def test_scoring_twice_gives_the_same(rows):
    assert score_rows(rows, QUICK).as_json() == score_rows(rows, QUICK).as_json()


def test_a_run_with_graphs_alone_or_questions_alone_is_scored(world):
    graphs = score_rows(asked(world, scripts.oracle, settings=Settings(qa=(), graph=("base",))), QUICK)
    assert graphs.table[0].graphs.sgc.value == pytest.approx(1)
    assert graphs.table[0].qa is None
    questions = score_rows(asked(world, scripts.oracle, settings=Settings(qa=("base",), graph=())), QUICK)
    assert questions.table[0].qa.value == 1
    assert questions.table[0].consistency is None
    assert {s.name for s in questions.signatures if s.is_raised} == set()


def test_two_modes_are_not_mixed(world):
    from scene_worlds import answered

    from theodolite.instruments.scene.questions import plan_scenes

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
