"""The tables of a score, against plain sums over hand-made samples."""

import json
from dataclasses import replace

import numpy as np
import pytest
from compass_plain import compass as plain_compass
from compass_plain import error, mean_direction, overlap
from compass_samples import SIZE, around, box_at, make_sample, planted

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.data.pairs import Pair
from theodolite.instruments.compass.experiments.ablations import (
    ABLATIONS,
    ablation_table,
    choose_on_development,
    split_samples,
)
from theodolite.instruments.compass.experiments.framework import framework_table
from theodolite.instruments.compass.formulas.project_samples import project_samples
from theodolite.instruments.compass.formulas.projected import CONTROLS
from theodolite.instruments.compass.formulas.projection_options import PAPER, SOUND
from theodolite.instruments.compass.prompts import development_split
from theodolite.instruments.compass.published import published_figures
from theodolite.instruments.compass.score import score_samples
from theodolite.instruments.compass.score_records import ScoreSettings

CENTRES = [22.5 + 45 * k for k in range(8)]


@pytest.fixture(scope="module")
def samples():
    """Twelve pairs on five pictures, with maps of noise that lean toward B; a third of the answers is wrong."""
    rng = np.random.default_rng(3)
    found = []
    for i, (reference, target) in enumerate(around(12)):
        maps = []
        for method, where in (("lean", "gt"), ("lean", "pred"), ("blind", "")):
            each = planted(target, elsewhere=0.1, text=4.0 + i, method=method, target=where)
            noise = rng.random(each.values.size).astype(np.float32) * (3.0 if method == "blind" else 0.4)
            maps.append(replace(each, values=each.values + noise))
        logits = rng.normal(size=4)
        found.append(
            make_sample(i, maps=maps, reference=reference, target=target, cluster=f"p{i % 5}", logits=logits)
        )
    return found


@pytest.fixture(scope="module")
def projected(samples):
    return project_samples(samples, {"paper": PAPER, "sound": SOUND}, seed=0)


def plain_peak(sample, values, sigma_factor=1.2):
    """Equation 2 and its peak, token by token."""
    a, b = sample.reference.box.centre_px, sample.target.box.centre_px
    grid = next(iter(sample.maps.values())).grid
    shares = plain_compass(values, grid.rects_px, a, sigma_factor * np.hypot(b[0] - a[0], b[1] - a[1]))
    return shares, CENTRES[int(np.argmax(shares))]


def true_deg(sample):
    a, b = sample.reference.box.centre_px, sample.target.box.centre_px
    return np.degrees(np.arctan2(a[1] - b[1], b[0] - a[0])) % 360


def row_of(rows, name):
    return next(row for row in rows if row.name == name)


@pytest.mark.parametrize("key", ["lean@gt", "lean@pred", "blind@"])
def test_a_row_is_the_mean_of_its_samples(samples, projected, key):
    row = row_of(framework_table(projected, "paper", seed=1), key.removesuffix("@"))
    errors, layout, means, lengths = [], [], [], []
    for sample in samples:
        shares, peak = plain_peak(sample, sample.maps[key].values)
        _, flat = plain_peak(sample, np.ones(sample.maps[key].values.size))
        angle, length = mean_direction(shares, CENTRES)
        errors.append(error(peak, true_deg(sample)))
        layout.append(error(flat, true_deg(sample)))
        means.append(error(angle, true_deg(sample)))
        lengths.append(length)
    errors, layout = np.array(errors), np.array(layout)
    assert row.dae.value == pytest.approx(errors.mean())
    assert row.mean_dae.value == pytest.approx(np.mean(means))
    assert row.concentration.value == pytest.approx(np.mean(lengths))
    assert row.edge_accuracy.value == pytest.approx((errors <= 45).mean())
    assert row.octant_accuracy.value == pytest.approx((errors <= 22.5).mean())
    assert row.excess_dae.value == pytest.approx((errors - layout).mean())
    assert row.excess_edge_accuracy.value == pytest.approx((errors <= 45).mean() - (layout <= 45).mean())
    clusters = [sample.cluster for sample in samples]
    wanted = stats.bootstrap(errors, clusters=clusters, seed=1)
    assert (row.dae.low, row.dae.high) == pytest.approx((wanted.low, wanted.high))
    assert (row.dae.n, row.dae.n_items, row.n) == (5, 12, 12)
    assert sum(figure.value for figure in row.labels.values()) == pytest.approx(1)


def test_the_shares_are_those_of_all_relevance(samples, projected):
    found = row_of(framework_table(projected, "paper", seed=0), "lean@gt").evidence
    wanted = {"image": [], "reference": [], "target": []}
    for sample in samples:
        each = sample.maps["lean@gt"]
        total = each.values.sum() + each.text_mass
        wanted["image"].append(each.values.sum() / total)
        for name, box in (("reference", sample.reference.box), ("target", sample.target.box)):
            on = sum(v * overlap(rect, box) for v, rect in zip(each.values, each.grid.rects_px, strict=True))
            wanted[name].append(on / total)
    for name, values in wanted.items():
        assert getattr(found, name).value == pytest.approx(np.mean(values), rel=1e-5)
    whole = found.reference.value + found.target.value + found.rest.value
    assert whole == pytest.approx(found.image.value)
    assert found.of == "image and text"
    assert row_of(framework_table(projected, "paper", seed=0), "uniform-map").evidence.of == "image alone"


def test_controls_come_with_every_table_and_from_the_same_pairs(projected):
    for name in ("paper", "sound"):
        rows = framework_table(projected, name, seed=0)
        assert tuple(row.method for row in rows[: len(CONTROLS)]) == CONTROLS
        assert {row.n for row in rows} == {12}
        oracle, box, _, _, uniform = rows[: len(CONTROLS)]
        assert (oracle.dae.value, oracle.edge_accuracy.value) == (0, 1)
        assert box.dae.value < 22.5
        assert uniform.excess_dae.value == uniform.excess_dae.high == 0
        assert oracle.excess_dae.value == pytest.approx(-uniform.dae.value)
    again = framework_table(projected, "paper", seed=0)
    assert framework_table(projected, "paper", seed=0) == again


def test_only_what_points_better_than_the_layout_is_said_to(samples):
    """A map on B is beyond the layout; a uniform one and one opposite to B are not."""
    told = []
    for sample in samples:
        (ax, ay), (bx, by) = sample.reference.box.centre_px, sample.target.box.centre_px
        grid = TokenGrid.regular(SIZE, (12, 16))
        maps = [
            planted(sample.target.box, grid=grid, method="right"),
            planted(box_at(2 * ax - bx, 2 * ay - by), grid=grid, method="wrong"),
            planted(Box(0, 0, *SIZE), grid=grid, method="flat"),
        ]
        told.append(replace(sample, maps={f"{m.method}@{m.target}": m for m in maps}))
    score = score_samples(told, ScoreSettings(sections=()))
    for name in ("paper", "sound"):
        assert [row.name for row in score.beyond_layout(name)] == ["right@pred"]
        assert row_of(score.tables[name], "wrong@pred").excess_dae.low > 0
    assert row_of(score.tables["paper"], "flat@pred").excess_dae.high == 0
    doubtful = replace(
        row_of(score.tables["paper"], "right@pred"),
        excess_dae=stats.Estimate(-3.0, -9.0, 1.0, n=5, level=0.95, method="made up"),
    )
    assert replace(score, tables={"paper": (doubtful,)}).beyond_layout("paper") == ()
    labels = row_of(score.tables["paper"], "wrong@pred").labels
    assert labels["layout-dominated"].value == 1
    assert labels["layout-dominated"].low < 1


def test_what_has_no_direction_is_counted_and_no_more(samples):
    nothing = planted(box_at(1, 1), method="m")
    nothing = replace(nothing, values=np.zeros_like(nothing.values))
    crop = TokenGrid(TokenGrid.regular((60, 120), (12, 6)).rects_px, *SIZE, part=np.zeros(72, np.int64))
    fine = [make_sample(i, maps=[planted(box_at(130, 55), method="m")]) for i in range(3)]
    odd = [
        make_sample(7, maps=[nothing]),
        make_sample(8, maps=[planted(box_at(40, 60), grid=crop, method="m")], reference=box_at(30, 60)),
        make_sample(9, maps=[planted(box_at(130, 55), method="other")]),
    ]
    score = score_samples([*fine, *odd], ScoreSettings(sections=(), projections=("paper",)))
    row = row_of(score.tables["paper"], "m@pred")
    assert row.n == 3
    assert row.excluded == {
        "no relevance is left in any sector": 1,
        "no token sees any of the target's box": 1,
        "this method's map was not measured": 1,
    }
    assert row_of(score.tables["paper"], "other@pred").excluded == {"this method's map was not measured": 5}
    assert row_of(score.tables["paper"], "other@pred").dae is None  # one picture
    assert row.evidence.excluded == 2  # no relevance, and no map


def test_other_conditions_and_prompts_are_left_out_and_counted(samples):
    more = [
        replace(samples[0], condition="swapped"),
        replace(samples[1], condition="swapped"),
        *(replace(sample, prompt="B") for sample in samples[:4]),
    ]
    score = score_samples([*samples, *more], ScoreSettings(sections=()))
    assert (score.n, score.prompt) == (12, "A")
    assert score.left_out == {"condition swapped": 2, "another prompt": 4}
    assert score_samples([*samples, *more], ScoreSettings(sections=(), prompt="B")).n == 4
    # the prompts are compared on the pairs that both were asked about
    assert {row.n for row in score.prompts} == {4}
    assert {row.prompt for row in score.prompts} == {"A", "B"}
    a, b = (next(r for r in score.prompts if (r.prompt, r.method) == (p, "blind")) for p in "AB")
    assert (a.dae, a.accuracy) == (b.dae, b.accuracy)


def test_comparisons_are_means_of_the_same_samples(samples):
    score = score_samples(samples, ScoreSettings(projections=("paper",)))
    found = score.comparisons["paper"]
    errors = {
        key: np.array([error(plain_peak(s, s.maps[key].values)[1], true_deg(s)) for s in samples])
        for key in ("lean@gt", "lean@pred")
    }
    (control,) = found.targets  # blind has no target
    assert control.method == "lean"
    assert control.difference.value == pytest.approx((errors["lean@gt"] - errors["lean@pred"]).mean())
    right = np.array([sample.is_correct for sample in samples])
    assert 0 < right.sum() < 12
    answers = next(row for row in found.answers if (row.method, row.target) == ("lean", "pred"))
    assert (answers.n_correct, answers.n_incorrect) == (right.sum(), (~right).sum())
    assert answers.correct_dae.value == pytest.approx(errors["lean@pred"][right].mean())
    wanted = errors["lean@pred"][~right].mean() - errors["lean@pred"][right].mean()
    assert answers.gap.value == pytest.approx(wanted)
    assert [row.direction for row in found.classes] == ["left", "right", "above", "below"]
    for row in found.classes:
        own = np.array([sample.direction == row.direction for sample in samples])
        assert row.n == own.sum()
        assert row.accuracy.value == pytest.approx(right[own].mean())
        if row.dae["lean@gt"] is not None:
            assert row.dae["lean@gt"].value == pytest.approx(errors["lean@gt"][own].mean())
    metrics = next(row for row in found.metrics if (row.method, row.target) == ("lean", "gt"))
    means = [
        error(mean_direction(plain_peak(s, s.maps["lean@gt"].values)[0], CENTRES)[0], true_deg(s))
        for s in samples
    ]
    assert metrics.correlation.value == pytest.approx(np.corrcoef(errors["lean@gt"], means)[0, 1])


def test_ablations_are_projections_of_the_same_maps(samples):
    score = score_samples(samples, ScoreSettings(sections=("ablations",), ablated="lean@gt"))
    rows = {row.name: row for row in score.ablations}
    assert rows.keys() == set(ABLATIONS)
    assert rows["default"].change is None
    assert rows["default"].dae == row_of(score.tables["paper"], "lean@gt").dae
    assert rows["sound projection"].dae == row_of(score.tables["sound"], "lean@gt").dae
    four = []
    for sample in samples:
        each, a, b = sample.maps["lean@gt"], sample.reference.box.centre_px, sample.target.box.centre_px
        sigma = 1.2 * np.hypot(b[0] - a[0], b[1] - a[1])
        shares = plain_compass(each.values, each.grid.rects_px, a, sigma, sectors=4)
        four.append(error(45 + 90 * int(np.argmax(shares)), true_deg(sample)))
    assert rows["K = 4"].dae.value == pytest.approx(np.mean(four))
    assert rows["K = 4"].change.value == pytest.approx(np.mean(four) - rows["default"].dae.value)
    with pytest.raises(UsageError, match="no map 'lean@x' to ablate"):
        score_samples(samples, ScoreSettings(ablated="lean@x"))


def test_methods_are_ablated_under_the_default_projection(samples):
    names = ("contrastive-grad-act", "contrastive-grad-act-single", "grad-act-layers")
    renamed = [
        replace(
            sample,
            maps={
                f"{name}@pred": replace(each, method=name, target="pred")
                for name, each in zip(names, sample.maps.values(), strict=True)
            },
        )
        for sample in samples
    ]
    score = score_samples(renamed, ScoreSettings(sections=("ablations",)))
    assert score.ablated == "contrastive-grad-act@pred"
    rows = {row.name: row for row in score.ablations if row.of == "method"}
    assert rows.keys() == {"single layer (−2)", "no rival"}
    table = score.tables["paper"]
    assert rows["no rival"].dae == row_of(table, "grad-act-layers@pred").dae
    assert rows["no rival"].change.value == pytest.approx(
        row_of(table, "grad-act-layers@pred").dae.value - row_of(table, "contrastive-grad-act@pred").dae.value
    )
    assert any("grad-act-layers: at layer −2" in caveat for caveat in score.caveats)


def pair_of(sample):
    return Pair(sample.id, sample.picture, sample.size_px, sample.reference, sample.target, sample.direction)


def test_the_development_split_is_that_of_the_pairs(samples):
    on_pictures = [replace(s, picture=replace(s.picture, digest=s.cluster)) for s in samples]
    twice = [each for s in on_pictures for each in (s, replace(s, prompt="B"))]
    found = split_samples(twice, 3, seed=5)
    wanted = development_split([pair_of(s) for s in on_pictures], 3, seed=5)
    assert found.development == {pair.id for pair in wanted.development}
    assert found.reported == {pair.id for pair in wanted.evaluation}
    assert found.set_aside == {pair.id for pair in wanted.set_aside}


def test_settings_are_chosen_on_some_pictures_and_reported_on_others():
    """On the development pictures only K = 4 points right; on the others only K = 8 does."""
    grid = TokenGrid.regular(SIZE, (60, 80))

    def sample(i, angle_deg):
        here = box_at(80 + 50 * np.cos(np.radians(angle_deg)), 60 - 50 * np.sin(np.radians(angle_deg)), 4)
        return make_sample(i, maps=[planted(here, grid=grid, method="m")], target=here)

    # true angles: 45° is the middle of a sector for K = 4 (45°), 22.5° for K = 8
    everyone = [sample(i, 45) for i in range(6)] + [sample(i, 22.5) for i in range(6, 12)]
    only = {name: ["m@pred"] for name in ABLATIONS}
    read = project_samples(everyone, ABLATIONS, seed=0, only=only)
    split = split_samples(everyone, 4, seed=0)
    split = replace(
        split,
        development=frozenset(f"pair-{i}" for i in range(6)),
        reported=frozenset(f"pair-{i}" for i in range(6, 12)),
        set_aside=frozenset(),
    )
    found = choose_on_development(read, "m@pred", split, criterion="dae", seed=0)
    development = {row.name: row.dae.value for row in found.development}
    assert development["K = 4"] < 1
    assert development["default"] > 20
    assert development[found.chosen] == min(development.values())
    reported = {
        row.name: row
        for row in ablation_table(read.select(lambda s: s.id in split.reported), "m@pred", seed=0)
    }
    assert found.reported == reported[found.chosen]
    assert found.reported_default == reported["default"]
    assert (found.n_development, found.n_reported, found.n_set_aside) == (6, 6, 0)
    with pytest.raises(UsageError, match="excess or dae"):
        choose_on_development(read, "m@pred", split, criterion="luck", seed=0)


def test_a_score_with_development_pairs_reports_none_of_their_pictures(samples):
    wrong_b = [replace(s, prompt="B", logits=np.roll(np.eye(4)[s.gold], 1)) for s in samples]
    right_c = [replace(s, prompt="C", logits=np.eye(4)[s.gold]) for s in samples]
    score = score_samples(
        [*wrong_b, *right_c],
        ScoreSettings(sections=(), development=4, ablated="lean@pred", projections=("paper",), seed=2),
    )
    split = split_samples(samples, 4, seed=2)
    assert score.prompt == "C"  # the more accurate on the development pairs, although B was asked first
    assert score.n == len(split.reported)
    assert score.left_out == {"another prompt": 12, "a development picture": 12 - len(split.reported)}
    assert {row.n for row in score.prompts} == {4}
    assert score.development.n_reported == score.n
    dev = {s.cluster for s in samples if s.id in split.development}
    assert not dev & {s.cluster for s in samples if s.id in split.reported}


def test_one_picture_has_no_interval_and_says_so():
    score = score_samples([make_sample(i, maps=[planted(box_at(130, 55))], cluster="p") for i in range(4)])
    row = row_of(score.tables["paper"], "planted@pred")
    assert row.n == 4
    assert row.dae is row.excess_dae is None
    assert any("one picture" in warning for warning in score.warnings)


def test_noise_that_beats_the_uniform_map_is_pointed_out():
    """Targets on the small side of their reference: a uniform map always points away, noise sometimes does not."""
    coarse = TokenGrid.regular(SIZE, (4, 4))
    samples = []
    for i in range(40):
        a, b = box_at(115, 30 + 1.5 * i), box_at(150, 30 + 1.5 * i)
        samples.append(make_sample(i, maps=[planted(b, grid=coarse)], reference=a, target=b))
    score = score_samples(samples, ScoreSettings(sections=(), projections=("paper",)))
    assert row_of(score.tables["paper"], "random-map").excess_dae.high < 0
    assert len([w for w in score.warnings if "paper projection a random map beats" in w]) == 1
    fine = [
        replace(s, maps={"planted@pred": planted(s.target.box, grid=TokenGrid.regular(SIZE, (60, 80)))})
        for s in samples
    ]
    assert not score_samples(fine, ScoreSettings(sections=())).warnings


def test_published_figures_stand_beside_the_same_model_and_data_only(samples):
    coco = [
        replace(
            s,
            meta={"source": "coco-pairs"},
            maps={"chefer@gt": replace(s.maps["lean@gt"], method="chefer")},
        )
        for s in samples
    ]
    settings = ScoreSettings(sections=())
    (row,) = [
        r
        for r in score_samples(coco, settings, model="hf:models/Qwen2-VL-7B-Instruct").tables["paper"]
        if r.published
    ]
    (figure,) = row.published
    assert (figure.dae_deg, figure.edge_accuracy, figure.n) == (47.9, 0.633, 300)
    assert (figure.source, figure.data) == ("CREG, Table 1", "COCO-Pairs")
    for model in ("hf:Qwen/Qwen2.5-VL-7B-Instruct", "hf:tiny"):
        assert not any(r.published for r in score_samples(coco, settings, model=model).tables["paper"])
    assert not published_figures("hf:Qwen/Qwen2-VL-7B-Instruct", "mine", method="chefer", target="gt")


def test_the_papers_smaller_tables_stand_beside_the_same_model_and_data_only(samples):
    vsr = [
        replace(
            s,
            meta={"source": "vsr"},
            prompt=prompt,
            maps={"contrastive-grad-act@pred": replace(s.maps["lean@pred"], method="contrastive-grad-act")},
        )
        for prompt in "AB"
        for s in samples
    ]
    settings = ScoreSettings(sections=("ablations",))
    found = score_samples(vsr, settings, model="hf:Qwen/Qwen2-VL-7B-Instruct").published
    assert {name: row.figures["DAE"] for name, row in found["ablations"].items()} == {
        "default": 61.8,
        "K = 4": 60.9,
    }
    assert list(found["prompts"]) == ["A", "B"]
    assert found["prompts"]["A"].source == "CREG, Table 9"
    other = score_samples(vsr, settings, model="hf:llava-1.5-7b-hf").published
    assert not other["ablations"]
    mixed = [replace(s, meta={"source": "coco-pairs"}) for s in vsr[:1]] + vsr[1:]
    assert not score_samples(mixed, settings, model="hf:Qwen/Qwen2-VL-7B-Instruct").published["prompts"]


def test_a_score_is_plain_json_without_nan(samples):
    score = score_samples(samples, ScoreSettings(ablated="lean@gt"))
    again = json.loads(json.dumps(score.as_json(), allow_nan=False))
    assert again["tables"]["paper"][0]["dae"]["value"] == 0
    assert again["projections"]["sound"]["leave_out_reference"] is True


def test_relevance_below_zero_needs_a_word(samples):
    below = [
        replace(
            s,
            maps={
                "m@gt": replace(
                    s.maps["lean@gt"], method="m", values=-s.maps["lean@gt"].values, text_mass=None
                )
            },
        )
        for s in samples
    ]
    with pytest.raises(UsageError, match="negative values"):
        score_samples(below, ScoreSettings(sections=()))
    score = score_samples(below, ScoreSettings(sections=(), negative="absolute"))
    wanted = score_samples(samples, ScoreSettings(sections=()))
    assert row_of(score.tables["paper"], "m@gt").dae == row_of(wanted.tables["paper"], "lean@gt").dae


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"projections": ("mine",)}, "paper, sound, not mine"),
        ({"projections": ()}, "not none"),
        ({"sections": ("tables",)}, "sections are some of"),
        ({"development": -1}, "-1 pairs"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, said):
    with pytest.raises(UsageError, match=said):
        ScoreSettings(**settings)


def test_nothing_to_score_and_unknown_methods_are_refused(samples):
    with pytest.raises(UsageError, match="no measured pair"):
        score_samples([])
    with pytest.raises(UsageError, match="no maps of chefer; it holds blind, lean"):
        score_samples(samples, ScoreSettings(methods=("chefer",)))
    assert {
        row.method
        for row in score_samples(samples, ScoreSettings(sections=(), methods=("blind",))).tables["paper"]
    } == {
        "blind",
        *CONTROLS,
    }


def test_right_and_wrong_answers_stand_beside_the_uniform_map(samples):
    score = score_samples(samples, ScoreSettings())
    checked = 0
    for name, found in score.comparisons.items():
        for row in found.answers:
            parts = [(row.correct_excess_dae, row.n_correct), (row.incorrect_excess_dae, row.n_incorrect)]
            if any(figure is None for figure, _ in parts):
                continue
            whole = sum(figure.value * n for figure, n in parts) / (row.n_correct + row.n_incorrect)
            (main,) = (r for r in score.tables[name] if (r.method, r.target) == (row.method, row.target))
            assert whole == pytest.approx(main.excess_dae.value)
            checked += 1
    assert checked
