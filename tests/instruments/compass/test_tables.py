"""The tables of a score, against plain sums over hand-made samples."""

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from compass_plain import compass as plain_compass
from compass_plain import error, mean_direction, overlap
from compass_samples import SIZE, around, box_at, make_sample, planted
from table_rows import of_map, row_of, rows_of

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.tables import Table
from theodolite.geometry import Box, TokenGrid
from theodolite.instruments.compass.experiments.ablations import (
    ABLATIONS,
    ablations_table,
    development_table,
    split_samples,
)
from theodolite.instruments.compass.formulas.baselines import BASELINES
from theodolite.instruments.compass.formulas.projected import project_samples
from theodolite.instruments.compass.published import published_directions
from theodolite.instruments.compass.tables import TABLES, ScoreSettings, score_samples

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
def score(samples):
    return score_samples(samples, ScoreSettings(tables=("labels", "readouts")))


def plain_peak(sample, values, sigma_factor=1.2):
    """Equation 2 and its peak, token by token."""
    a, b = sample.reference.box.centre_px, sample.target.box.centre_px
    grid = next(iter(sample.maps.values())).grid
    shares = plain_compass(values, grid.rects_px, a, sigma_factor * np.hypot(b[0] - a[0], b[1] - a[1]))
    return shares, CENTRES[int(np.argmax(shares))]


def true_deg(sample):
    a, b = sample.reference.box.centre_px, sample.target.box.centre_px
    return np.degrees(np.arctan2(a[1] - b[1], b[0] - a[0])) % 360


@pytest.mark.parametrize("key", ["lean@gt", "lean@pred", "blind@"])
def test_a_row_is_the_mean_of_its_samples(samples, score, key):
    row = of_map(score.table("framework_paper"), key)
    more = {**of_map(score.table("labels_paper"), key), **of_map(score.table("readouts_paper"), key)}
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
    assert more["mean_dae"].value == pytest.approx(np.mean(means))
    assert more["concentration"].value == pytest.approx(np.mean(lengths))
    assert row.edge_accuracy.value == pytest.approx((errors <= 45).mean())
    assert row.octant_accuracy.value == pytest.approx((errors <= 22.5).mean())
    assert row.excess_dae.value == pytest.approx((errors - layout).mean())
    assert row.excess_edge_accuracy.value == pytest.approx((errors <= 45).mean() - (layout <= 45).mean())
    clusters = [sample.cluster for sample in samples]
    wanted = stats.clustered_mean(errors, clusters, bounds=(0, 180))
    assert (row.dae.low, row.dae.high) == pytest.approx((wanted.low, wanted.high))
    assert (row.dae.n, row.dae.n_items, row.n) == (5, 12, 12)
    labels = ("aligned", "diffuse but usable", "layout-dominated")
    assert sum(more[label].value for label in labels) == pytest.approx(1)


def test_the_shares_are_those_of_all_relevance(samples, score):
    found = of_map(score.table("evidence"), "lean@gt")
    wanted = {"image": [], "reference": [], "target_object": []}
    for sample in samples:
        each = sample.maps["lean@gt"]
        total = each.values.sum() + each.text_mass
        wanted["image"].append(each.values.sum() / total)
        for name, box in (("reference", sample.reference.box), ("target_object", sample.target.box)):
            on = sum(v * overlap(rect, box) for v, rect in zip(each.values, each.grid.rects_px, strict=True))
            wanted[name].append(on / total)
    for name, values in wanted.items():
        assert found[name].value == pytest.approx(np.mean(values), rel=1e-5)
    whole = found.reference.value + found.target_object.value + found.rest.value
    assert whole == pytest.approx(found.image.value)
    assert found.of == "image and text"
    assert of_map(score.table("evidence"), "uniform-map").of == "image alone"


def test_baselines_come_with_every_table_and_from_the_same_pairs(score, samples):
    for name in ("paper", "sound"):
        rows = rows_of(score.table(f"framework_{name}"))
        assert tuple(row.method for row in rows[: len(BASELINES)]) == BASELINES
        assert {row.n for row in rows} == {12}
        oracle, box, _, _, uniform = rows[: len(BASELINES)]
        assert (oracle.dae.value, oracle.edge_accuracy.value) == (0, 1)
        assert box.dae.value < 22.5
        assert uniform.excess_dae is None, "it is compared with itself"
        assert oracle.excess_dae.value == pytest.approx(-uniform.dae.value)
    again = score_samples(samples, ScoreSettings(tables=("labels", "readouts")))
    assert again.tables == score.tables


def test_only_what_points_better_than_the_layout_is_said_to():
    """A map on B is beyond the layout; a uniform one and one opposite to B are not."""
    told = []
    for i, (reference, target) in enumerate(around(40)):
        sample = make_sample(i, maps=[], reference=reference, target=target)
        (ax, ay), (bx, by) = sample.reference.box.centre_px, sample.target.box.centre_px
        grid = TokenGrid.regular(SIZE, (12, 16))
        maps = [
            planted(sample.target.box, grid=grid, method="right"),
            planted(box_at(2 * ax - bx, 2 * ay - by), grid=grid, method="wrong"),
            planted(Box(0, 0, *SIZE), grid=grid, method="flat"),
        ]
        told.append(replace(sample, maps={f"{m.method}@{m.target}": m for m in maps}))
    score = score_samples(told, ScoreSettings(tables=("labels",)))
    for name in ("paper", "sound"):
        table = score.table(f"framework_{name}")
        assert table.notes[1] == "1 of 3 maps point better than the uniform map: right@pred."
        assert of_map(table, "wrong@pred").excess_dae.low > 0
    assert of_map(score.table("framework_paper"), "flat@pred").excess_dae.value == 0
    labels = of_map(score.table("labels_paper"), "wrong@pred")
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
    settings = ScoreSettings(tables=("exclusions",), projections=("paper",))
    score = score_samples([*fine, *odd], settings)
    row = of_map(score.table("exclusions_paper"), "m@pred")
    assert row.n == of_map(score.table("framework_paper"), "m@pred").n == 3
    assert set(row.excluded.split("; ")) == {
        "1 × no relevance is left in any sector",
        "1 × no token sees any of the target's box",
        "1 × this method's map was not measured",
    }
    other = of_map(score.table("exclusions_paper"), "other@pred")
    assert other.excluded == "5 × this method's map was not measured"
    assert of_map(score.table("framework_paper"), "other@pred").dae.n == 1
    assert of_map(score.table("evidence"), "m@pred").excluded == 2  # no relevance, and no map


def test_other_conditions_and_prompts_are_left_out_and_counted(samples):
    more = [
        replace(samples[0], condition="swapped"),
        replace(samples[1], condition="swapped"),
        *(replace(sample, prompt="B") for sample in samples[:4]),
    ]
    more = [replace(sample, item_id=f"more-{i}") for i, sample in enumerate(more)]
    score = score_samples([*samples, *more], ScoreSettings(tables=("prompts",)))
    answers = score.table("answers")
    assert answers.title == " · prompt A · 12 pairs on 5 pictures"
    assert answers.notes[1:] == ("Left out: 2 × condition swapped.", "Left out: 4 × another prompt.")
    other = score_samples([*samples, *more], ScoreSettings(prompt="B")).table("answers")
    assert rows_of(other)[0]["items"] == 4
    # the prompts are compared on the pairs that both were asked about
    prompts = score.table("prompts")
    assert {row.n for row in rows_of(prompts)} == {4}
    assert {row.prompt for row in rows_of(prompts)} == {"A", "B"}
    a, b = (row_of(prompts, prompt=p, method="blind") for p in "AB")
    assert (a.dae, a.accuracy) == (b.dae, b.accuracy)


def test_comparisons_are_means_of_the_same_samples(samples):
    settings = ScoreSettings(projections=("paper",), tables=("targets", "classes", "answers", "readouts"))
    score = score_samples(samples, settings)
    errors = {
        key: np.array([error(plain_peak(s, s.maps[key].values)[1], true_deg(s)) for s in samples])
        for key in ("lean@gt", "lean@pred")
    }
    (control,) = rows_of(score.table("targets_paper"))  # blind has no target
    assert control.method == "lean"
    assert control.difference.value == pytest.approx((errors["lean@gt"] - errors["lean@pred"]).mean())
    right = np.array([sample.is_correct for sample in samples])
    assert 0 < right.sum() < 12
    answers = of_map(score.table("answers_paper"), "lean@pred")
    assert (answers.n_correct, answers.n_incorrect) == (right.sum(), (~right).sum())
    assert answers.correct_dae.value == pytest.approx(errors["lean@pred"][right].mean())
    wanted = errors["lean@pred"][~right].mean() - errors["lean@pred"][right].mean()
    assert answers.gap.value == pytest.approx(wanted)
    classes, maps = score.table("directions_paper"), score.table("direction_maps_paper")
    assert [row.direction for row in rows_of(classes)] == ["left", "right", "above", "below"]
    for row in rows_of(classes):
        own = np.array([sample.direction == row.direction for sample in samples])
        assert row.n == own.sum()
        assert row.accuracy.value == pytest.approx(right[own].mean())
        lean = row_of(maps, direction=row.direction, method="lean", target="gt")
        assert lean.dae.value == pytest.approx(errors["lean@gt"][own].mean())
        assert lean.n == own.sum()
    readouts = of_map(score.table("readouts_paper"), "lean@gt")
    means = [
        error(mean_direction(plain_peak(s, s.maps["lean@gt"].values)[0], CENTRES)[0], true_deg(s))
        for s in samples
    ]
    assert readouts.correlation.value == pytest.approx(np.corrcoef(errors["lean@gt"], means)[0, 1])


def test_ablations_are_projections_of_the_same_maps(samples):
    score = score_samples(samples, ScoreSettings(tables=("ablations",), ablated="lean@gt"))
    rows = {row.configuration: row for row in rows_of(score.table("ablations"))}
    assert rows.keys() == set(ABLATIONS)
    assert rows["default"].change is None
    assert rows["default"].dae == of_map(score.table("framework_paper"), "lean@gt").dae
    assert rows["sound projection"].dae == of_map(score.table("framework_sound"), "lean@gt").dae
    four = []
    for sample in samples:
        each, a, b = sample.maps["lean@gt"], sample.reference.box.centre_px, sample.target.box.centre_px
        sigma = 1.2 * np.hypot(b[0] - a[0], b[1] - a[1])
        shares = plain_compass(each.values, each.grid.rects_px, a, sigma, sectors=4)
        four.append(error(45 + 90 * int(np.argmax(shares)), true_deg(sample)))
    assert rows["K = 4"].dae.value == pytest.approx(np.mean(four))
    assert rows["K = 4"].change.value == pytest.approx(np.mean(four) - rows["default"].dae.value)
    with pytest.raises(UsageError, match="no map 'lean@x' to ablate"):
        score_samples(samples, ScoreSettings(tables=("ablations",), ablated="lean@x"))


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
    score = score_samples(renamed, ScoreSettings(tables=("ablations", "exclusions")))
    ablations = score.table("ablations")
    assert ablations.title == "Ablations of contrastive-grad-act@pred"
    rows = {row.configuration: row for row in rows_of(ablations) if row.of == "method"}
    assert rows.keys() == {"single layer (−2)", "no rival"}
    table = score.table("framework_paper")
    assert rows["no rival"].dae == of_map(table, "grad-act-layers@pred").dae
    assert rows["no rival"].change.value == pytest.approx(
        of_map(table, "grad-act-layers@pred").dae.value - of_map(table, "contrastive-grad-act@pred").dae.value
    )
    assert of_map(table, "grad-act-layers@pred").caveat == "†"
    notes = score.table("exclusions_paper").notes
    assert any("grad-act-layers: at layer −2" in note for note in notes)


def test_a_pair_is_split_once_whatever_prompts_it_was_asked_with(samples):
    twice = [each for s in samples for each in (s, replace(s, prompt="B"))]
    assert split_samples(twice, 3, seed=5) == split_samples(samples, 3, seed=5)


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
    found = development_table(read, "m@pred", split, criterion="dae")
    development = {row.configuration: row.dae.value for row in rows_of(found) if row.part == "development"}
    assert development["K = 4"] < 1
    assert development["default"] > 20
    default, chosen = (row for row in rows_of(found) if row.part == "reported")
    assert development[chosen.configuration] == min(development.values())
    table = ablations_table(read.select(lambda s: s.id in split.reported), "m@pred", model="")
    for row in (default, chosen):
        assert row.dae == row_of(table, configuration=row.configuration).dae
    assert found.notes[0] == f"Chosen on 6 development pairs by dae: {chosen.configuration}."
    assert found.notes[1].startswith("On 6 others: DAE ")
    assert found.notes[2].startswith("Not used: 0 ")


def test_a_score_with_development_pairs_reports_none_of_their_pictures(samples):
    wrong_b = [
        replace(s, prompt="B", item_id=f"B-{s.id}", logits=np.roll(np.eye(4)[s.gold], 1)) for s in samples
    ]
    right_c = [replace(s, prompt="C", item_id=f"C-{s.id}", logits=np.eye(4)[s.gold]) for s in samples]
    score = score_samples(
        [*wrong_b, *right_c],
        ScoreSettings(
            tables=("prompts",), development=4, ablated="lean@pred", projections=("paper",), seed=2
        ),
    )
    split = split_samples(samples, 4, seed=2)
    answers, n = score.table("answers"), len(split.reported)
    # the more accurate prompt on the development pairs, although B was asked first
    assert answers.title.startswith(f" · prompt C · {n} pairs")
    assert answers.notes[1:] == (
        "Left out: 12 × another prompt.",
        f"Left out: {12 - n} × a development picture.",
    )
    assert {row.n for row in rows_of(score.table("prompts"))} == {4}
    assert score.table("development").notes[1].startswith(f"On {n} others")
    dev = {s.cluster for s in samples if s.id in split.development}
    assert not dev & {s.cluster for s in samples if s.id in split.reported}


def test_one_picture_has_the_interval_of_one_observation_and_says_so():
    score = score_samples([make_sample(i, maps=[planted(box_at(130, 55))], cluster="p") for i in range(4)])
    row = of_map(score.table("framework_paper"), "planted@pred")
    assert (row.n, row.dae.n) == (4, 1)
    assert row.dae.high - row.dae.low > 90
    assert any("one picture" in note for note in score.table("answers").notes)


def test_noise_that_beats_the_uniform_map_is_pointed_out():
    """Targets on the small side of their reference: a uniform map always points away, noise sometimes does not."""
    coarse = TokenGrid.regular(SIZE, (4, 4))
    samples = []
    for i in range(40):
        a, b = box_at(115, 30 + 1.5 * i), box_at(150, 30 + 1.5 * i)
        samples.append(make_sample(i, maps=[planted(b, grid=coarse)], reference=a, target=b))
    table = score_samples(samples, ScoreSettings(projections=("paper",))).table("framework_paper")
    assert of_map(table, "random-map").excess_dae.high < 0
    assert len([note for note in table.notes if "random maps beat" in note]) == 1
    fine = [
        replace(s, maps={"planted@pred": planted(s.target.box, grid=TokenGrid.regular(SIZE, (60, 80)))})
        for s in samples
    ]
    finer = score_samples(fine, ScoreSettings(projections=("paper",))).table("framework_paper")
    of_noise = [abs(of_map(each, "random-map").excess_dae.value) for each in (table, finer)]
    assert of_noise[1] < 2 < of_noise[0], "on a fine grid noise beats the uniform map by a degree at most"


def test_published_directions_stand_beside_the_same_model_and_data_only(samples):
    coco = [
        replace(
            s,
            meta={"source": "coco-pairs"},
            maps={"chefer@gt": replace(s.maps["lean@gt"], method="chefer")},
        )
        for s in samples
    ]
    table = score_samples(coco, model="hf:models/Qwen2-VL-7B-Instruct").table("framework_paper")
    (row,) = [row for row in rows_of(table) if row.reported]
    assert row.reported == "47.9° / 63.3 % (CREG, Table 1, COCO-Pairs, n=300)"
    for model in ("hf:Qwen/Qwen2.5-VL-7B-Instruct", "hf:tiny"):
        other = score_samples(coco, model=model).table("framework_paper")
        assert "reported" not in [column.name for column in other.columns]
    assert not published_directions("hf:Qwen/Qwen2-VL-7B-Instruct", "mine", method="chefer", target="gt")


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
    settings = ScoreSettings(tables=("prompts", "ablations"))
    found = score_samples(vsr, settings, model="hf:Qwen/Qwen2-VL-7B-Instruct")
    assert found.table("ablations").notes == (
        "reported: default: DAE 61.8, EA 0.483 (CREG, Table 6, VSR, n=60)",
        "reported: K = 4: DAE 60.9, EA 0.517 (CREG, Table 6, VSR, n=60)",
    )
    assert [note.partition(" (")[0] for note in found.table("prompts").notes] == [
        "reported: A: accuracy 0.567, DAE 57.9",
        "reported: B: accuracy 0.367, DAE 64.3",
    ]
    other = score_samples(vsr, settings, model="hf:llava-1.5-7b-hf")
    assert not other.table("ablations").notes
    mixed = [replace(s, meta={"source": "coco-pairs"}) for s in vsr[:1]] + vsr[1:]
    assert not score_samples(mixed, settings, model="hf:Qwen/Qwen2-VL-7B-Instruct").table("prompts").notes


def test_tables_survive_json(samples):
    asked = tuple(name for name in TABLES if name != "controls")  # which are of a run
    score = score_samples(samples, ScoreSettings(tables=asked, ablated="lean@gt"))
    for table in score.tables:
        assert Table.from_json(json.loads(json.dumps(table.as_json(), allow_nan=False))) == table
    names = [table.name for table in score.tables]
    assert len(set(names)) == len(names)


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
        score_samples(below)
    score = score_samples(below, ScoreSettings(negative="absolute"))
    wanted = score_samples(samples)
    assert (
        of_map(score.table("framework_paper"), "m@gt").dae
        == of_map(wanted.table("framework_paper"), "lean@gt").dae
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"projections": ("mine",)}, "paper, sound, or all; not mine"),
        ({"projections": ()}, "at least one of paper, sound"),
        ({"tables": ("chairs",)}, "--tables takes some of"),
        ({"development": -1}, "--development is at least 0, not -1"),
        ({"coverages": (0.0,)}, "coverage takes"),
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
    chosen = score_samples(samples, ScoreSettings(methods=("blind",))).table("framework_paper")
    assert {row.method for row in rows_of(chosen)} == {"blind", *BASELINES}


def test_right_and_wrong_answers_stand_beside_the_uniform_map(samples):
    score = score_samples(samples, ScoreSettings(tables=("answers",)))
    checked = 0
    for name in ("paper", "sound"):
        for row in rows_of(score.table(f"answers_{name}")):
            parts = [(row.correct_excess_dae, row.n_correct), (row.incorrect_excess_dae, row.n_incorrect)]
            whole = sum(estimate.value * n for estimate, n in parts) / (row.n_correct + row.n_incorrect)
            main = row_of(score.table(f"framework_{name}"), method=row.method, target=row.target)
            assert whole == pytest.approx(main.excess_dae.value)
            checked += 1
    assert checked


def test_rows_do_not_depend_on_the_methods_beside_them():
    """GradCAM is compared with the uniform map of its own grid, whatever else is asked for."""
    coarse, fine = TokenGrid.regular(SIZE, (3, 4)), TokenGrid.regular(SIZE, (12, 16))
    samples = []
    for i, (reference, target) in enumerate(around(16)):
        rng = np.random.default_rng(i)
        maps = [
            replace(planted(target, grid=grid, method=method), values=rng.random(grid.n_tokens).astype("f4"))
            for method, grid in (("chefer", coarse), ("gradient-norm", coarse), ("gradcam", fine))
        ]
        samples.append(make_sample(i, maps=maps, reference=reference, target=target, logits=i % 4))
    wanted = ("labels", "exclusions", "classes", "answers", "utility")
    everything = score_samples(samples, ScoreSettings(tables=wanted))
    for method, grid in (("gradcam", "192"), ("chefer", "12")):
        alone = score_samples(samples, ScoreSettings(tables=wanted, methods=(method,)))
        for table in alone.tables:
            together = rows_of(everything.table(table.name.removeprefix("compass.")))
            for row in rows_of(table):
                without_family = {name: cell for name, cell in row.items() if name != "p_holm"}
                assert any(without_family.items() <= other.items() for other in together), table.name
        framework = alone.table("framework_paper")
        assert {row.grid for row in rows_of(framework)} == {grid}
        uniform = of_map(alone.table("rerank"), "uniform-map").accuracy.value
        row = of_map(alone.table("rerank"), f"{method}@pred")
        assert row.excess.value == pytest.approx(row.accuracy.value - uniform)


def test_random_maps_are_many_draws_and_their_spread_is_in_the_interval(samples):
    projected = project_samples(samples, {"paper": ABLATIONS["default"]}, seed=0)
    (key,) = projected.on_grids("random-map")
    angles = projected.angles["paper"][key]
    assert angles.peak_deg.shape == (12, 100)
    grid = samples[0].maps["blind@"].grid
    errors = []
    for number in (0, 7):
        rng = np.random.default_rng([0, zlib.crc32(samples[number].item_id.encode())])
        drawn = rng.random((100, grid.n_tokens))
        peaks = [plain_peak(samples[number], values)[1] for values in drawn]
        errors.append(np.mean([error(peak, true_deg(samples[number])) for peak in peaks]))
    np.testing.assert_allclose(angles.error_deg[[0, 7]], errors)
    wanted = stats.clustered_mean(angles.error_deg, angles.clusters, bounds=(0, 180))
    row = of_map(score_samples(samples).table("framework_paper"), "random-map")
    assert row.dae == wanted
    assert row.n == 12
