"""The utility of a compass, against plain counts over hand-made samples."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from compass_samples import DIRECTIONS, SIZE, around, box_at, make_sample, planted
from table_rows import of_map, row_of, rows_of

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.geometry.directions import Vocabulary
from theodolite.instruments.compass.experiments.faithfulness.score import composite_scores
from theodolite.instruments.compass.experiments.utility import (
    HONEST,
    all_confidences,
    compass_confidences,
    diagnosis_table,
    honest_options,
    logit_confidences,
    rerank_table,
    risk_curves,
)
from theodolite.instruments.compass.formulas.dae import edge_hit
from theodolite.instruments.compass.formulas.projected import project_samples
from theodolite.instruments.compass.formulas.projection import PAPER, SOUND
from theodolite.instruments.compass.tables import ScoreSettings, score_samples


def utility_of(samples, model="", **settings):
    return score_samples(samples, ScoreSettings(tables=("utility",), **settings), model=model)


@pytest.fixture(scope="module")
def samples():
    """Forty pairs on ten pictures; maps of noise with a little of B, answers right in about half."""
    rng = np.random.default_rng(8)
    found = []
    for i, (reference, target) in enumerate(around(40, seed=4)):
        maps = []
        for method, where in (("noisy", "gt"), ("noisy", "pred"), ("plain", "")):
            each = planted(target, text=5.0, method=method, target=where)
            noise = rng.random(each.values.size).astype(np.float32) * rng.uniform(0.05, 0.9)
            maps.append(replace(each, values=each.values + noise))
        sample = make_sample(i, maps=maps, reference=reference, target=target, cluster=f"p{i % 10}")
        logits = rng.normal(size=4)
        logits[sample.gold] += 1.0
        found.append(replace(sample, logits=logits))
    return found


@pytest.fixture(scope="module")
def projected(samples):
    return project_samples(samples, {"paper": PAPER, HONEST: honest_options(PAPER)}, seed=0)


def test_the_auc_is_the_share_of_pairs_in_order(projected):
    table = diagnosis_table(projected, "paper", model="", seed=0)
    right = projected.is_correct
    angles = projected.angles["paper"]

    def plain(errors):
        pairs = list(product(errors[right], errors[~right]))
        return sum((a < b) + (a == b) / 2 for a, b in pairs) / len(pairs)

    layout = plain(angles["uniform-map@192"].error_deg)
    assert of_map(table, "uniform-map").auc.value == pytest.approx(layout)
    assert of_map(table, "uniform-map").excess_auc is None
    for key in ("noisy@pred", "noisy@gt", "plain@"):
        row = of_map(table, key)
        assert row.auc.value == pytest.approx(plain(angles[key].error_deg))
        assert row.excess_auc.value == pytest.approx(row.auc.value - layout)
        assert row.excess_auc.low < row.excess_auc.value < row.excess_auc.high
        assert row.auc.n == 10
        errors = angles[key].error_deg
        assert row.gap.value == pytest.approx(errors[~right].mean() - errors[right].mean())
        assert row.correct_dae.value == pytest.approx(errors[right].mean())


def test_no_auc_without_right_and_wrong_answers(samples):
    every = [replace(s, logits=np.eye(4)[s.gold]) for s in samples]
    read = project_samples(every, {"paper": PAPER}, seed=0)
    for row in rows_of(diagnosis_table(read, "paper", model="", seed=0)):
        assert row.auc is row.excess_auc is row.gap is row.incorrect_dae is None
        assert (row.n_correct, row.n_incorrect) == (40, 0)


def test_logit_confidences_are_what_their_names_say(samples):
    found = {each.name: each.values for each in logit_confidences(samples)}
    for i, sample in enumerate(samples):
        p = np.exp(sample.logits) / np.exp(sample.logits).sum()
        first, second = sorted(sample.logits)[::-1][:2]
        assert found["max probability"][i] == pytest.approx(p.max())
        assert found["margin"][i] == pytest.approx(first - second)
        assert found["negative entropy"][i] == pytest.approx(sum(q * math.log(q) for q in p))
    assert np.ptp(found["random"]) == 0


def test_the_random_row_has_the_known_area(samples):
    """AURC of chance is the error rate r; E-AURC = r − (r + (1 − r) ln(1 − r))."""
    row = row_of(utility_of(samples).table("selective"), score="random")
    error = 1 - np.mean([sample.is_correct for sample in samples])
    assert row.aurc.value == pytest.approx(error)
    assert row.excess_aurc.value == pytest.approx(-(1 - error) * math.log(1 - error))
    assert row["at_0.7"].value == pytest.approx(1 - error)


def test_selective_rows_rank_by_their_own_confidence(samples, projected):
    score = utility_of(samples, coverages=(0.25, 0.7))
    by_name = {each.name: each for each in all_confidences(projected, "paper")}
    curves = risk_curves(projected, list(by_name.values()))
    assert curves.keys() == score.curves.keys()
    right = projected.is_correct
    for row in rows_of(score.table("selective")):
        each = by_name[row.score]
        assert row.aurc.value == pytest.approx(curves[row.score].area)
        assert {"at_0.25", "at_0.7"} <= row.keys()
        values = each.values
        if len(set(values.tolist())) == len(values):  # without ties: the ten surest
            best = np.argsort(-values)[:10]
            assert row["at_0.25"].value == pytest.approx(right[best].mean())


def moved(sample, gold):
    """The same sample with another true answer and another target box, as far as the maps can tell."""
    (x, y), _ = sample.reference.box.centre_px, None
    angle = {"left": math.pi, "right": 0, "above": math.pi / 2, "below": -math.pi / 2}[DIRECTIONS[gold]]
    box = box_at(x + 30 * math.cos(angle), y - 30 * math.sin(angle))
    return replace(sample, gold=gold, target=replace(sample.target, box=box))


@pytest.mark.parametrize("readout", ["peak", "mean"])
@pytest.mark.parametrize("options", [PAPER, SOUND])
def test_honest_confidence_knows_neither_answer_nor_target_box(samples, options, readout):
    other = [moved(sample, (sample.gold + 1) % 4) for sample in samples]
    projections = {"own": options, HONEST: honest_options(options)}
    found, again = (
        {
            each.name: each
            for each in compass_confidences(
                project_samples(every, projections, seed=0), "own", readout=readout
            )
        }
        for every in (samples, other)
    )
    honest = [name for name, each in found.items() if each.source == "honest"]
    assert honest == ["uniform-map@192 agreement", "noisy@pred agreement", "plain agreement"]
    for name in honest:
        assert found[name].values == pytest.approx(again[name].values)
    for name in ("noisy@pred DAE", "plain DAE"):
        assert found[name].source == "knows the truth"
        assert np.abs(found[name].values - again[name].values).max() > 20


def test_agreement_is_the_angle_to_the_answer_given(samples, projected):
    angles = {"left": 180, "right": 0, "above": 90, "below": 270}
    (found,) = [c for c in all_confidences(projected, "paper") if c.name == "noisy@pred agreement"]
    peaks = projected.angles[HONEST]["noisy@pred"].peak_deg
    for value, peak, sample in zip(found.values, peaks, samples, strict=True):
        gap = abs((peak - angles[DIRECTIONS[sample.predicted]] + 180) % 360 - 180)
        assert value == pytest.approx(-gap)


def test_the_compass_as_the_answer(samples, projected):
    table = rerank_table(projected, HONEST, seed=3)
    rows = {(row.method, row.target): row for row in rows_of(table)}
    assert {key: row.role for key, row in rows.items()} == {
        ("box-only", ""): "baseline",
        ("uniform-map", ""): "baseline",
        ("noisy", "gt"): "upper bound",
        ("noisy", "pred"): "answer",
        ("plain", ""): "answer",
    }
    clusters = [sample.cluster for sample in samples]
    model = np.array([sample.is_correct for sample in samples], float)

    def answers(key):
        names = {0: "right", 1: "above", 2: "left", 3: "below"}
        peaks = projected.angles[HONEST][key].peak_deg
        return np.array(
            [names[round(p / 90) % 4] == s.direction for p, s in zip(peaks, samples, strict=True)], float
        )

    layout = answers("uniform-map@192")
    for key in ("noisy@gt", "noisy@pred", "plain@"):
        row, own = rows[tuple(key.split("@"))], answers(key)
        assert row.accuracy.value == pytest.approx(own.mean())
        assert row.model_accuracy.value == pytest.approx(model.mean())
        assert row.gain.value == pytest.approx((own - model).mean())
        assert row.p == stats.sign_flip_test(own, model, clusters=clusters, seed=3).p_value
        assert row.excess.value == pytest.approx((own - layout).mean())
        hits = edge_hit(projected.angles[HONEST][key].error_deg)
        assert row.edge_accuracy.value == pytest.approx(hits.mean())
    tested = [rows["noisy", "pred"], rows["plain", ""]]
    assert [row.p_holm for row in tested] == pytest.approx(stats.holm([row.p for row in tested]).tolist())
    assert rows["noisy", "gt"].p_holm is None


def test_answering_by_the_nearest_direction_is_not_the_edge_accuracy():
    """A target at 44° is to the right; a peak at 67.5° is within 45° of it and yet says above."""
    samples = []
    for i in range(6):
        here = box_at(80 + 50 * math.cos(math.radians(40)), 60 - 50 * math.sin(math.radians(40)))
        up = box_at(80 + 30 * math.cos(math.radians(67)), 60 - 30 * math.sin(math.radians(67)), 4)
        samples.append(make_sample(i, maps=[planted(up, method="m")], target=here))
    read = project_samples(samples, {HONEST: honest_options(PAPER)}, seed=0)
    row = row_of(rerank_table(read, HONEST, seed=0), method="m")
    assert row.edge_accuracy.value == 1
    assert row.accuracy.value == 0
    assert row.gain.value == -1


def test_a_layout_alone_can_answer_better_than_a_model(samples):
    """References near an edge: a uniform map finds the target, so the gain is not the model's."""
    rng = np.random.default_rng(0)
    told = []
    for i in range(24):
        a, b = [(box_at(15, 60), box_at(120, 60)), (box_at(80, 14), box_at(80, 100))][i % 2]
        flat = planted(Box(0, 0, *SIZE), method="flat")
        told.append(
            make_sample(i, maps=[flat], reference=a, target=b, logits=rng.normal(size=4), cluster=f"p{i % 8}")
        )
    row = row_of(utility_of(told).table("rerank"), method="flat")
    assert row.gain.low > 0
    assert row.excess.value == 0


def test_composites_as_in_the_paper():
    names = ["chefer", "contrastive", "rollout", "gradcam"]
    found = composite_scores(
        names,
        edge_accuracy=[0.633, 0.553, 0.367, 0.310],
        mdf=[1.54, 2.50, 1.45, 3.85],
        auc=[0.620, 0.575, 0.541, 0.476],
    )
    by_name = {each.name: each for each in found}
    assert {name: round(each.correlation.value, 3) for name, each in by_name.items()} == {
        "EA": 1.0,
        "harmonic": 0.8,
        "DFS": 0.0,
        "geometric": 0.0,
        "MDF": -0.4,
    }
    assert by_name["DFS"].values["contrastive"] == pytest.approx(1.3825)
    assert by_name["harmonic"].values["gradcam"] == pytest.approx(2 / (1 / 3.85 + 1 / 0.310))
    assert by_name["geometric"].values["chefer"] ** 2 == pytest.approx(1.54 * 0.633)
    assert by_name["EA"].correlation.p_value == pytest.approx(2 / 24)  # exact, two-sided: not below .05


def test_a_faithfulness_below_zero_has_no_means():
    found = composite_scores(
        ["a", "b", "c", "d"], edge_accuracy=[0.5, 0.6, 0.7, 0.8], mdf=[-2, 1, 2, 3], auc=[0.5, 0.6, 0.7, 0.8]
    )
    by_name = {each.name: each for each in found}
    assert by_name["geometric"].values["a"] is by_name["harmonic"].values["a"] is None
    assert (by_name["geometric"].undefined, by_name["geometric"].correlation.n) == (1, 3)
    assert by_name["DFS"].values["a"] == pytest.approx(-1)
    assert by_name["DFS"].undefined == 0
    (ea, *_) = composite_scores(["a", "b"], edge_accuracy=[0.5, 0.6], mdf=[1, 2], auc=[0.5, 0.6])
    assert ea.correlation is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"edge_accuracy": [0.5], "mdf": [1, 2], "auc": [0.5, 0.5]}, "one EA, MDF and AUC each"),
        ({"edge_accuracy": [0.5, 1.5], "mdf": [1, 2], "auc": [0.5, 0.5]}, "between 0 and 1"),
        ({"edge_accuracy": [0.5, 0.5], "mdf": [1, math.nan], "auc": [0.5, 0.5]}, "finite"),
    ],
)
def test_composites_refuse_what_makes_no_sense(given, said):
    with pytest.raises(UsageError, match=said):
        composite_scores(["a", "b"], **given)


def test_what_the_paper_reports_stands_beside_the_same_rows(samples):
    coco = [
        replace(
            s,
            meta={"source": "coco-pairs"},
            maps={"chefer@gt": replace(s.maps["noisy@gt"], method="chefer"), "plain@": s.maps["plain@"]},
        )
        for s in samples
    ]
    found = utility_of(coco, model="hf:Qwen/Qwen2-VL-7B-Instruct")
    assert found.table("diagnosis").notes == (
        "reported: chefer@gt: AUC 0.62, right 35.5, wrong 56.4 (CREG, section 4.5, COCO-Pairs, n=300)",
    )
    assert "reported: chefer@gt: EA 0.633, model 0.413" in found.table("rerank").notes[0]
    reported = [note.split(": ")[1] for note in found.table("selective").notes]
    assert reported == ["max probability", "margin", "negative entropy", "random", "chefer@gt DAE"]
    other = utility_of(coco, model="hf:tiny")
    assert not any("reported" in note for table in other.tables for note in table.notes)


def test_a_sound_projection_is_honest_already(samples):
    assert honest_options(SOUND) == SOUND
    names = [table.name for table in utility_of(samples, projections=("sound",)).tables]
    assert "compass.rerank" in names
    assert "compass.rerank_sound" not in names
    assert "compass.rerank_paper" in [table.name for table in utility_of(samples).tables]


def test_directions_of_ones_own_need_their_angles(samples):
    names = ("port", "starboard", "ahead", "astern")
    renamed = [replace(sample, directions=names) for sample in samples]
    with pytest.raises(UsageError, match="no angle is known for the direction"):
        utility_of(renamed)
    mine = Vocabulary({"port": 180, "starboard": 0, "ahead": 90, "astern": 270})
    options = {HONEST: honest_options(PAPER)}
    read = project_samples(renamed, options, seed=0)
    wanted = rerank_table(project_samples(samples, options, seed=0), HONEST, seed=0)
    assert rerank_table(read, HONEST, vocabulary=mine, seed=0) == wanted
