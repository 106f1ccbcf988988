"""Faithfulness against plain arithmetic: a model whose confidence is known from the pixels that are left."""

import math
from dataclasses import replace

import faithfulness_made as made
import numpy as np
import pytest
from compass_plain import sector_of as plain_sector_of
from table_rows import Row, row_of, rows_of

from theodolite.core.errors import UsageError
from theodolite.core.tables import Estimate
from theodolite.core.types import Choice
from theodolite.instruments.compass.experiments.faithfulness.plan import (
    ORDER_BASELINES,
    FaithfulnessOptions,
    plan_faithfulness,
    shown_request,
)
from theodolite.instruments.compass.experiments.faithfulness.score import (
    beyond_area,
    leak_of,
    mdf_of,
    paper_maps,
    ranked_against,
    score_faithfulness,
)
from theodolite.instruments.compass.formulas.dae import Exclusion
from theodolite.instruments.compass.measure import read_samples
from theodolite.instruments.compass.published import PUBLISHED_RHO
from theodolite.runs import AnswerCache, Run, RunInfo

MAPS = {"seer@gt": made.at_target, "blind@gt": made.across}
OPTIONS = FaithfulnessOptions(n_random=3, seed=5)


@pytest.fixture(scope="module")
def pairs():
    return made.made_pairs()


@pytest.fixture(scope="module")
def runs(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("faithfulness")
    maps = made.planted_run(folder / "maps", pairs, MAPS)
    hidden = made.hide(maps, folder / "hidden", OPTIONS)
    yield maps, hidden
    maps.__exit__()
    hidden.__exit__()


@pytest.fixture(scope="module")
def score(runs):
    return score_faithfulness(*runs, seed=1, with_curves=True)


def red_by_sector(pair):
    """Of the red square, the share in each of eight sectors around the blue one's centre, pixel by pixel."""
    x0, y0 = pair.reference.box.centre_px
    box, counts = pair.target.box, [0] * 8
    for x in range(int(box.x0), int(box.x1)):
        for y in range(int(box.y0), int(box.y1)):
            counts[plain_sector_of(x + 0.5 - x0, y + 0.5 - y0, 8, "edge")] += 1
    return [count / sum(counts) for count in counts]


def pixels_by_sector(pair):
    x0, y0 = pair.reference.box.centre_px
    counts = [0] * 8
    for x in range(made.SIZE):
        for y in range(made.SIZE):
            counts[plain_sector_of(x + 0.5 - x0, y + 0.5 - y0, 8, "edge")] += 1
    return [count / made.SIZE**2 for count in counts]


def effect(red, hidden):
    left = 1 - sum(red[k] for k in set(hidden))
    return made.log_p(left) - made.log_p(1)


def among(red, hidden):
    """The same among the options alone: they hold .99 of all probability whatever is hidden."""
    return effect(red, hidden)


def area(steps, places):
    return sum(
        (b + a) / 2 * (q - p) for a, b, p, q in zip(steps, steps[1:], places, places[1:], strict=False)
    )


def curve(red, order):
    return [effect(red, order[:k]) for k in range(9)]


def by_key(score, key):
    """The cells of a map in all tables; the leak is that of its own peak."""
    tables = (score.table(name) for name in ("deletion_paper", "deletion_sound", "masking"))
    cells = [row_of(table, map=key) for table in tables]
    return Row({**cells[2], **cells[1], **cells[0], "gain_p": cells[1].p})


def sectors_of(score, fill, variant):
    return row_of(score.table("hidden_sectors"), fill=fill, variant=variant)


def value_of(cell):
    return cell.value if isinstance(cell, Estimate) else cell


def note_of(score, start):
    return next((note for note in score.table("hidden_sectors").notes if note.startswith(start)), None)


def test_cos_is_the_difference_of_hiding_both_sides(score, pairs):
    paper = sectors_of(score, "grey", "paper")
    true, opposite, adjacent, cos = [], [], [], []
    for pair in pairs:
        red = red_by_sector(pair)
        k = int(pair.true_deg // 45)
        true.append(effect(red, [k]))
        opposite.append(effect(red, [(k + 4) % 8]))
        adjacent.append((effect(red, [(k + 1) % 8]) + effect(red, [(k - 1) % 8])) / 2)
        cos.append(opposite[-1] - true[-1])
    assert paper.true.value == pytest.approx(np.mean(true))
    assert value_of(paper.opposite) == pytest.approx(np.mean(opposite), abs=1e-9)
    assert paper.adjacent.value == pytest.approx(np.mean(adjacent))
    assert paper.cos.value == pytest.approx(np.mean(cos))
    assert paper.beyond_adjacent.value == pytest.approx(np.mean(adjacent) - np.mean(true))
    assert paper.cos.low > 0
    assert paper.p < 0.01
    assert paper.leak.value == pytest.approx(0, abs=1e-9)
    assert (paper.cos.n, paper.cos.n_items) == (16, 16)


def test_sound_cos_is_what_the_size_of_the_sector_does_not_explain(score, pairs):
    sound = sectors_of(score, "grey", "sound")
    expected = []
    for pair in pairs:
        red, shares = red_by_sector(pair), pixels_by_sector(pair)
        k = int(pair.true_deg // 45)
        others = [j for j in range(8) if j != k]
        rate = sum(among(red, [j]) for j in others) / sum(shares[j] for j in others)
        expected.append(rate * shares[k] - among(red, [k]))
    assert sound.cos.value == pytest.approx(np.mean(expected))
    assert sound.bounded_leak.value == pytest.approx(0, abs=1e-9)


def test_a_model_that_only_minds_how_much_is_hidden_has_a_paper_cos_but_no_sound_one(tmp_path):
    class Shy(made.RedSeer):
        name = identity = "shy"

        def choose(self, requests, options):
            found = []
            for request, each in zip(requests, options, strict=True):
                grey = (request.pictures[0].pixels() == 128).all(axis=2).mean()
                right = 0.9 * math.exp(-2 * grey)
                other = (0.99 - right) / (len(each) - 1)
                values = [math.log(right if o == request.hint["gold"] else other) for o in each]
                found.append(Choice(tuple(each), tuple(values)))
            return found

    # Targets on the far side of the picture: the true sector is larger than the opposite one.
    pairs = [p for p in made.made_pairs(64) if pixels_by_sector(p)[int(p.true_deg // 45)] > 0.2][:12]
    assert len(pairs) == 12
    with made.planted_run(tmp_path / "maps", pairs, MAPS) as maps:
        options = FaithfulnessOptions(maps=("seer@gt",), fills=("grey",), n_random=4)
        with made.hide(maps, tmp_path / "hidden", options, model=Shy()) as hidden:
            found = score_faithfulness(maps, hidden)
    paper, sound = rows_of(found.table("hidden_sectors"))
    assert paper.cos.low > 0.2
    assert abs(sound.cos.value) < 0.05 * paper.cos.value
    assert sound.bounded_leak.value == pytest.approx(0.5, abs=0.02)
    assert note_of(found, "Orders come from maps of red-seer, answers from shy") is not None


@pytest.mark.parametrize("key", ["seer@gt", "blind@gt", "box-only@256", "uniform-map@256"])
def test_the_areas_are_those_of_the_curves(score, runs, pairs, key):
    method = by_key(score, key)
    trials = plan_faithfulness(runs[0], OPTIONS).trials.trials
    own, opposite, random, gains, against = [], [], [], [], []
    counted = np.linspace(0, 1, 9)
    for pair, trial in zip(pairs, trials, strict=True):
        red, shares = red_by_sector(pair), pixels_by_sector(pair)
        assert trial.shares == pytest.approx(shares)

        def by_share(order, red=red, shares=shares):
            return area(curve(red, order), [0, *np.cumsum([shares[k] for k in order])])

        order = trial.orders[key].order
        assert sorted(order) == list(range(8))
        own.append(area(curve(red, order), counted))
        opposite.append(area(curve(red, order[::-1]), counted))
        random.append(np.mean([area(curve(red, each), counted) for each in trial.random_orders]))
        gains.append(np.mean([by_share(each) for each in trial.random_orders]) - by_share(order))
        against.append(by_share(order[::-1]) - by_share(order))
    assert value_of(method.area_own) == pytest.approx(np.mean(own))
    assert value_of(method.area_opposite) == pytest.approx(np.mean(opposite))
    assert value_of(method.area_random) == pytest.approx(np.mean(random))
    assert method.mdf.value == pytest.approx(np.mean(own) / np.mean(random))
    assert not method.doubtful
    assert value_of(method.gain) == pytest.approx(np.mean(gains))
    assert value_of(method.gain_over_opposite) == pytest.approx(np.mean(against))
    hits = [trial.orders[key].error_deg <= 45 for trial in trials]
    assert method.edge_accuracy.value == pytest.approx(np.mean(hits))
    assert method.dfs.value == pytest.approx(np.mean(own) / np.mean(random) * np.mean(hits))
    assert value_of(method.dfs_per_pair) == pytest.approx(np.mean(np.array(gains) * hits))


def test_orders_that_know_and_orders_that_do_not(score):
    seer, blind, box = (by_key(score, key) for key in ("seer@gt", "blind@gt", "box-only@256"))
    assert seer.gain.low > 0
    assert blind.gain.high < 0
    assert seer.mdf.low > 1 > blind.mdf.high
    assert seer.gain_over_uniform.low > 0
    assert box.gain.value == pytest.approx(seer.gain.value, rel=0.05)
    assert by_key(score, "uniform-map@256").gain_over_uniform is None, "it is compared with itself"
    assert list(score.curves) == ["blind@gt", "seer@gt", "uniform-map@256", "box-only@256"]
    assert seer.masked.value < -0.5
    assert value_of(blind.masked) == pytest.approx(0, abs=1e-9)
    assert seer.masked_size.value == pytest.approx(-seer.masked.value)
    assert seer.masked_beyond_area.low > 0
    assert seer.bounded_leak.value == pytest.approx(0, abs=1e-9)
    assert blind.bounded_leak.value > 0.99
    assert blind.leak is None  # its own peak never matters, so there is nothing to divide by


def test_curves_begin_whole_and_end_with_everything_hidden(score):
    for curves in score.curves.values():
        for points in curves.values():
            assert len(points) == 9
            assert points[0].effect == 0
            assert points[0].hidden_share == 0
            assert points[-1].hidden_share == pytest.approx(1)
            assert value_of(points[-1].effect) == pytest.approx(made.log_p(0) - made.log_p(1))
        own, opposite = curves["own"], curves["opposite"]
        assert own[3].hidden_share + opposite[5].hidden_share == pytest.approx(1)
    table = score.table("deletion_curves")
    assert (
        row_of(table, map="seer@gt", order="own", step=2).effect == score.curves["seer@gt"]["own"][2].effect
    )


def test_every_masking_is_asked_once_and_all_are_counted(score, runs):
    maps, hidden = runs
    plan = plan_faithfulness(maps, OPTIONS)
    names = [item.name for item in plan.items]
    assert len(set(names)) == len(names) == len(plan.items)
    assert len({item.id for item in plan.items}) == len(plan.items)
    n = len(plan.items)
    assert note_of(score, "Requests") == f"Requests: {n} planned, {n} answered."
    assert note_of(score, "On whole pictures") is None
    assert note_of(score, "Orders come") is None
    assert note_of(score, "Left out") is None
    assert score.table("hidden_sectors").title == "Single sectors hidden, 16 pairs on 16 pictures"
    assert tuple(hidden.tables()) == score.tables
    per_pair = n / 16
    assert per_pair < 1 + 2 * 8 + 1 + 4 * 12 + 3 * 6  # curves share what they pass through


def test_the_stored_hint_draws_the_picture_that_was_shown(runs, pairs):
    maps, hidden = runs
    sample = next(iter(read_samples(maps)))
    drawn = 0
    for result in hidden.results():
        if result.item.meta["of"] != sample.item_id:
            continue
        request = shown_request(result.item.request)
        assert "hide" not in request.hint
        seen = made.red_share(request.pictures[0].pixels())
        if result.item.meta["fill"] != "blur":
            gold = result.item.options.index(request.hint["gold"])
            assert result.record.choice.log_probabilities[gold] == pytest.approx(made.log_p(seen))
        drawn += bool(result.item.meta["hidden"])
    assert drawn > 40
    assert pairs[0].picture.digest == next(iter(hidden.results())).item.request.pictures[0].digest


def test_blur_leaves_less_than_it_hides(score):
    grey, blur = (sectors_of(score, fill, "paper") for fill in ("grey", "blur"))
    assert blur.true.value == pytest.approx(grey.true.value, rel=0.05)  # no pure red is left in either


FEW = FaithfulnessOptions(maps=("seer@gt",), fills=("grey",), n_random=1, n_pairs=6, seed=5)


def test_interrupted_work_goes_on_and_cached_answers_are_not_mixed_up(tmp_path, runs):
    maps, _ = runs
    plan = plan_faithfulness(maps, FEW)
    first = made.RedSeer()
    with made.hide(maps, tmp_path / "plain", FEW) as plain:
        score = score_faithfulness(maps, plain, seed=1)
    with AnswerCache(tmp_path / "cache") as cache:
        with made.hide(maps, tmp_path / "a", FEW, model=first, limit=50, cache=cache) as half:
            partial = score_faithfulness(maps, half, seed=1)
        assert first.calls == 50
        assert f"{len(plan.items) - 50} pending" in note_of(partial, "Requests")
        assert by_key(partial, "seer@gt").lost.endswith(" × not everything of it was measured")
        with made.hide(maps, tmp_path / "a", FEW, model=first, cache=cache) as whole:
            again = score_faithfulness(maps, whole, seed=1)
        assert first.calls == len(plan.items)
        second = made.RedSeer()
        with made.hide(maps, tmp_path / "b", FEW, model=second, cache=cache) as reused:
            cached = score_faithfulness(maps, reused, seed=1)
        assert second.calls == 0
        assert f"{len(plan.items)} reused" in note_of(cached, "Requests")
    for mine, other, third in zip(score.tables, again.tables, cached.tables, strict=True):
        assert mine.rows == other.rows == third.rows


def test_failed_maskings_are_counted_and_cost_their_pair_alone(tmp_path, runs):
    maps, _ = runs
    options = replace(FEW, fills=("grey", "blur"))
    lost = plan_faithfulness(maps, options).items[0].request.ref.partition("/")[0]
    model = made.RedSeer(fails=lambda request: request.ref == f"{lost}/grey-0")
    with made.hide(maps, tmp_path / "hidden", options, model=model) as hidden:
        found = score_faithfulness(maps, hidden)
    assert "1 failed" in note_of(found, "Requests")
    assert by_key(found, "seer@gt").n_pairs == 5
    assert by_key(found, "seer@gt").lost == "1 × not everything of it was measured"
    grey, blur = (sectors_of(found, fill, "paper") for fill in ("grey", "blur"))
    assert (grey.n_pairs, blur.n_pairs) == (5, 6)


def test_maps_without_a_compass_and_pairs_without_a_direction_are_counted(tmp_path, pairs):
    region = (0.0, 0.0, 160.0, 100.0)  # the model sees the upper part alone
    with made.planted_run(tmp_path / "maps", pairs, {**MAPS, "dead@gt": made.nothing}, region) as maps:
        options = FaithfulnessOptions(fills=("grey",), n_random=1)
        with made.hide(maps, tmp_path / "hidden", options) as hidden:
            found = score_faithfulness(maps, hidden)
    sectors = found.table("hidden_sectors")
    lost = [note.split(" pairs: ") for note in sectors.notes if note.startswith("Left out")]
    outside = sum(int(words.split()[-1]) for words, _ in lost)
    reasons = {Exclusion.REFERENCE_OUTSIDE.value, Exclusion.TARGET_OUTSIDE.value}
    assert {reason.removesuffix(".") for _, reason in lost} <= reasons
    assert outside >= 2
    assert sectors.title.startswith(f"Single sectors hidden, {16 - outside} pairs")
    dead = by_key(found, "dead@gt")
    assert dead.lost == f"{16 - outside} × {Exclusion.ZERO_MASS.value}"
    assert (dead.n_pairs, dead.mdf, dead.gain, dead.dae) == (0, None, None, None)
    assert "dead@gt" not in found.curves
    assert "dead@gt" not in [column.name for column in found.table("composites").columns]


def test_what_the_model_never_sees_is_not_asked(tmp_path, pairs):
    region = (0.0, 0.0, 160.0, 100.0)
    with made.planted_run(tmp_path / "maps", pairs, MAPS, region) as maps:
        plan = plan_faithfulness(maps, FaithfulnessOptions(fills=("grey",), n_random=1))
    for trial in plan.trials.trials:
        assert trial.shares.sum() == pytest.approx(1)
        asked = [item for item in plan.items if item.meta["of"] == trial.item_id]
        empty = {k for k in range(8) if trial.shares[k] == 0}
        assert all(not empty & set(item.meta["hidden"]) for item in asked)
    assert any((trial.shares == 0).any() for trial in plan.trials.trials)


def test_the_reference_can_be_spared(tmp_path, pairs):
    blue = (0, 0, 255)
    with made.planted_run(tmp_path / "maps", pairs[:2], MAPS) as maps:
        plan = plan_faithfulness(maps, FaithfulnessOptions(spare_reference=True))
        bare = plan_faithfulness(maps, FaithfulnessOptions())

    def blue_left(items):
        everything = next(item for item in items if len(item.meta["hidden"]) == 8)
        return int((shown_request(everything.request).pictures[0].pixels() == blue).all(axis=2).sum())

    assert blue_left(plan.items) == 24 * 24
    assert blue_left(bare.items) == 0
    assert plan.trials.trials[0].shares.sum() == pytest.approx(1 - 24 * 24 / 160**2)


def test_random_orders_come_from_the_seed_and_the_pair_alone(runs):
    maps, _ = runs
    orders = [
        [trial.random_orders for trial in plan_faithfulness(maps, options).trials.trials]
        for options in (OPTIONS, OPTIONS, FaithfulnessOptions(n_random=3, seed=6))
    ]
    assert orders[0] == orders[1] != orders[2]
    assert len({order for each in orders[0] for order in each}) > 40
    some = FaithfulnessOptions(n_random=3, seed=5, n_pairs=5)
    drawn = plan_faithfulness(maps, some).trials.trials
    known = {trial.item_id: trial.random_orders for trial in plan_faithfulness(maps, OPTIONS).trials.trials}
    assert [known[trial.item_id] for trial in drawn] == [trial.random_orders for trial in drawn]
    assert len(drawn) == 5


def test_runs_that_do_not_belong_together_are_refused(tmp_path, runs, pairs):
    maps, hidden = runs
    with made.planted_run(tmp_path / "other", pairs, MAPS) as other:
        with pytest.raises(UsageError, match="maps of another run"):
            score_faithfulness(other, hidden)
        with pytest.raises(UsageError, match="a run of compass, not of compass-faithfulness"):
            score_faithfulness(maps, other)
    with pytest.raises(UsageError, match="holds no map 'nobody@gt'; it holds: blind@gt, seer@gt"):
        plan_faithfulness(maps, FaithfulnessOptions(maps=("nobody@gt",)))
    with pytest.raises(UsageError, match="holds none of the paper's maps"):
        paper_maps(maps)
    info = RunInfo(instrument="compass", model="x", identity="x", theodolite="0")
    with Run.start(tmp_path / "empty", info) as empty, pytest.raises(UsageError, match="no measured pair"):
        plan_faithfulness(empty, OPTIONS)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"fills": ("green",)}, "fills are some of grey, blur"),
        ({"fills": ()}, "fills are some of"),
        ({"projection": "mine"}, "one of paper, sound"),
        ({"n_random": 0}, "random order is needed"),
        ({"n_pairs": 0}, "at least one pair"),
    ],
)
def test_options_that_mean_nothing_are_refused(wrong, words):
    with pytest.raises(UsageError, match=words):
        FaithfulnessOptions(**wrong)


def test_summaries_are_ranked_against_the_auc_over_the_maps_that_have_all():
    mdf = {"a": -1.0, "b": 2.0, "c": 1.5, "d": 1.2, "e": 9.0}
    ea = {"a": 0.2, "b": 0.4, "c": 0.6, "d": 0.5, "e": 0.1}
    auc = {"a": 0.4, "b": 0.5, "c": 0.7, "d": 0.6}
    gain = {"a": 4.0, "b": 3.0, "c": 1.0, "d": 2.0}
    found = {c.name: c for c in ranked_against(auc, {"EA": ea, "MDF": mdf, "gain": gain}, seed=0)}
    assert list(found) == ["EA", "harmonic", "DFS", "geometric", "MDF", "gain"]
    assert found["EA"].correlation.value == pytest.approx(1)
    assert found["EA"].correlation.p_value == pytest.approx(2 / 24)
    assert found["gain"].correlation.value == pytest.approx(-1)
    assert found["harmonic"].undefined == 1
    assert set(found["MDF"].values) == {"a", "b", "c", "d"}
    assert ranked_against({}, {"EA": ea, "MDF": mdf}, seed=0) == ()


def test_the_papers_own_correlations_come_out_of_its_own_tables():
    names = ["gradcam", "contrastive", "chefer", "rollout"]
    mdf = dict(zip(names, [3.85, 2.50, 1.54, 1.45], strict=True))
    ea = dict(zip(names, [0.310, 0.553, 0.633, 0.367], strict=True))
    auc = dict(zip(names, [0.476, 0.575, 0.620, 0.541], strict=True))
    found = {c.name: c.correlation.value for c in ranked_against(auc, {"EA": ea, "MDF": mdf}, seed=0)}
    assert found == pytest.approx(PUBLISHED_RHO)


class Corner(made.RedSeer):
    """log p(gold) falls with every hidden pixel, the more the further right and down it lies; the others' stay."""

    name = identity = "corner"

    def choose(self, requests, options):
        found = []
        for request, each in zip(requests, options, strict=True):
            grey = (request.pictures[0].pixels() == 128).all(axis=2)
            right = math.log(0.5) - weight_of(grey)
            found.append(
                Choice(
                    tuple(each), tuple(right if o == request.hint["gold"] else math.log(0.1) for o in each)
                )
            )
        return found


def weight_of(grey):
    y, x = np.nonzero(grey)
    return float((x + 3 * y).sum()) / made.SIZE**3


def test_every_sector_and_both_confidences_count_as_they_should(tmp_path):
    pairs = made.made_pairs(6, seed=3)
    options = FaithfulnessOptions(maps=("seer@gt",), fills=("grey",), n_random=1)
    with (
        made.planted_run(tmp_path / "maps", pairs, MAPS) as maps,
        made.hide(maps, tmp_path / "hidden", options, model=Corner()) as hidden,
    ):
        found = score_faithfulness(maps, hidden)
    expected = {variant: [] for variant in ("paper", "sound")}
    for pair in pairs:
        labels = np.array(plain_labels(pair))
        drops = [-weight_of(labels == k) for k in range(8)]
        k = int(pair.true_deg // 45)
        for variant, rows in expected.items():
            change = drops if variant == "paper" else [among_four(d) - among_four(0) for d in drops]
            rows.append([change[k], change[(k + 4) % 8], (change[(k + 1) % 8] + change[(k - 1) % 8]) / 2])
    for sectors in rows_of(found.table("hidden_sectors")):
        true, opposite, adjacent = np.mean(expected[sectors.variant], axis=0)
        assert sectors.true.value == pytest.approx(true)
        assert sectors.opposite.value == pytest.approx(opposite)
        assert sectors.adjacent.value == pytest.approx(adjacent)
        assert sectors.leak.value == pytest.approx(abs(opposite / true))
        if sectors.variant == "paper":
            assert sectors.cos.value == pytest.approx(opposite - true)
    assert not np.allclose(expected["paper"], expected["sound"], rtol=0.1)


def plain_labels(pair):
    x0, y0 = pair.reference.box.centre_px
    return [
        [plain_sector_of(x + 0.5 - x0, y + 0.5 - y0, 8, "edge") for x in range(made.SIZE)]
        for y in range(made.SIZE)
    ]


def among_four(drop):
    """log p of the right one among four, the others at .1."""
    right = math.log(0.5) + drop
    return right - math.log(math.exp(right) + 0.3)


def test_a_ratio_whose_denominator_rises_is_doubtful():
    rng, clusters = np.random.default_rng(0), [str(i) for i in range(30)]
    own, random = rng.normal(0.6, 0.1, 30), rng.normal(0.3, 0.1, 30)
    assert not mdf_of(-own, -random, clusters, seed=0).is_doubtful
    rising = mdf_of(own, random, clusters, seed=0)  # hiding helps, most of all in its own order
    assert rising.estimate.value == pytest.approx(own.mean() / random.mean())
    assert rising.is_doubtful
    assert leak_of(random, own, clusters, seed=0).is_doubtful
    assert not leak_of(-random, -own, clusters, seed=0).is_doubtful
    assert leak_of(random, -own, clusters, seed=0).estimate.value == pytest.approx(random.mean() / own.mean())
    assert mdf_of(own, np.zeros(30), clusters, seed=0) is None
    assert mdf_of(own[:2], random[:2], ["a", "a"], seed=0) is None


def test_beyond_area_where_nothing_lies_elsewhere():
    assert beyond_area(np.array([-0.4, 0.0]), np.array([1.0, 0.0]), 0) == pytest.approx(0.4)


def test_a_ratio_says_when_its_denominator_may_be_zero(tmp_path, runs):
    class Moody(made.RedSeer):
        """Its confidence wavers with the picture, to no side."""

        name = identity = "moody"

        def choose(self, requests, options):
            found = []
            for request, each in zip(requests, options, strict=True):
                noise = np.random.default_rng(int(request.pictures[0].digest[-8:], 16)).normal(
                    0, 0.3, len(each)
                )
                found.append(Choice(tuple(each), tuple((np.log(0.24) + noise).tolist())))
            return found

    maps, _ = runs
    with made.hide(maps, tmp_path / "hidden", FEW, model=Moody()) as hidden:
        found = score_faithfulness(maps, hidden)
    seer = by_key(found, "seer@gt")
    assert seer.doubtful == "?"
    assert seer.area_random.low < 0 < seer.area_random.high
    assert seer.gain.low < 0 < seer.gain.high
    assert note_of(found, "Orders come from maps of red-seer, answers from moody") is not None
    assert ORDER_BASELINES == ("uniform-map", "box-only")
