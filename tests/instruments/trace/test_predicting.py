"""Predicting robustness: what the paper's own tables give, and tables whose answer is known."""

import itertools

import numpy as np
import pytest

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Estimate, Table
from theodolite.instruments.trace.experiments.predict import (
    ModelRow,
    ScoredRun,
    add_predictors,
    paper_rows,
    paper_tables,
    paper_vrs,
    predict_robustness,
    read_model_rows,
    rows_from_runs,
    with_relevance,
)
from theodolite.instruments.trace.experiments.robustness import MeasuringCondition, robustness


@pytest.fixture(scope="module")
def paper():
    return predict_robustness(paper_rows())


def r(prediction, retention, scope, predictor="sgr"):
    found = [
        a
        for a in (*prediction.associations, *prediction.partial)
        if (a.predictor, a.retention, a.scope) == (predictor, retention, scope)
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("retention", "scope", "expected"),
    [
        ("ood accuracy", "pooled", 0.906),
        ("drop", "pooled", 0.684),
        ("ratio", "pooled", 0.951),
        ("ood accuracy", "STAR", 0.998),
        ("ood accuracy", "R2R", 0.988),
        ("ood accuracy", "TEACh", 0.997),
        ("drop", "STAR", 0.993),
        ("drop", "R2R", 0.973),
        ("drop", "TEACh", 0.941),
        ("ratio", "STAR", 0.994),
        ("ratio", "R2R", 0.986),
        ("ratio", "TEACh", 0.989),
        ("ratio", "within 7B", 0.876),
        ("drop", "within 7B", 0.240),
        ("ood accuracy", "within 7B", 0.887),
        ("ratio", "given accuracy", 0.981),
        ("drop", "given accuracy", 0.959),
    ],
)
def test_what_the_papers_tables_really_give(paper, retention, scope, expected):
    assert r(paper, retention, scope).r.value == pytest.approx(expected, abs=0.0006)


def test_none_of_them_is_what_the_text_prints(paper):
    printed = paper_tables()["printed"]
    for scope, name in (("pooled", "r pooled"), ("STAR", "r STAR"), ("R2R", "r R2R"), ("TEACh", "r TEACh")):
        for retention in ("ratio", "drop", "ood accuracy"):
            assert abs(r(paper, retention, scope).r.value - printed[name]) > 0.05


def test_models_are_permuted_whole(paper):
    found = r(paper, "ood accuracy", "pooled")
    assert found.p_exact == pytest.approx(2 / 40320)  # the observed order is the most extreme of 8!
    assert (found.n_models, found.n_rows) == (8, 24)
    assert (found.r.n, found.r.n_items) == (8, 24)


def test_accuracy_predicts_within_a_benchmark_as_well(paper):
    for benchmark in ("STAR", "R2R", "TEACh"):
        assert r(paper, "ratio", benchmark, "accuracy").r.value > 0.98


def test_matched_pairs_and_grounding_above_accuracy(paper):
    assert paper.n_sgr_above_accuracy == {"STAR": 0, "R2R": 0, "TEACh": 6}
    saved = [100 * pair.saved for pair in paper.pairs]
    assert (min(saved), max(saved)) == (pytest.approx(-0.5), pytest.approx(1.6))
    assert all(abs(pair.accuracy_gap) <= 0.0101 and pair.sgr_gap > 0 for pair in paper.pairs)


@pytest.mark.parametrize(
    ("model", "fractions", "points"),
    [("GPT-4o", 6.48, 8.77), ("CLIP-ViL", 1.71, 1.92), ("VideoChat", 2.49, 2.85), ("LLaVA-1.6", 4.52, 5.64)],
)
def test_equation_4_on_table_3(model, fractions, points):
    assert paper_vrs(model) == pytest.approx(fractions, abs=0.006)
    assert paper_vrs(model, in_points=True) == pytest.approx(points, abs=0.006)


def test_consistency_goes_with_grounding_in_the_tables():
    star = [row for row in paper_rows() if row.benchmark == "STAR"]
    tcs, sgr, accuracy = (
        [get(row) for row in star]
        for get in (lambda x: x.predictors["tcs"], lambda x: x.predictors["sgr"], lambda x: x.accuracy)
    )
    assert np.corrcoef(tcs, accuracy)[0, 1] == pytest.approx(0.994, abs=0.001)
    assert np.corrcoef(tcs, sgr)[0, 1] == pytest.approx(0.999, abs=0.001)
    gap = {row.model: 100 * (row.accuracy - row.predictors["sgr"]) for row in star}
    assert (gap["GPT-4o"], gap["GPT-4V"]) == (pytest.approx(5.5), pytest.approx(6.3))


def test_components_alone_and_in_pairs(paper):
    assert [a.predictor for a in paper.combinations] == [
        "sgr",
        "hr",
        "tcs",
        "sgr + hr",
        "sgr + tcs",
        "hr + tcs",
        "sgr + hr + tcs",
    ]
    assert all(a.r.value > 0.9 for a in paper.combinations)


def known_rows(n=9, seed=0, slope=1.0):
    rng = np.random.default_rng(seed)
    sgr = np.linspace(0.2, 0.9, n)
    return [
        ModelRow(
            f"m{i}",
            b,
            0.7,
            float(np.clip(0.7 * (0.5 + slope * 0.4 * s + 0.02 * rng.normal()), 0, 1)),
            {"sgr": float(s)},
        )
        for i, s in enumerate(sgr)
        for b in ("one", "two")
    ]


def test_a_law_that_holds_is_found_and_one_that_does_not_is_not():
    assert r(predict_robustness(known_rows()), "ratio", "pooled").r.low > 0.9
    assert abs(r(predict_robustness(known_rows(slope=0.0, seed=4)), "ratio", "pooled").r.value) < 0.6


def test_what_cannot_be_correlated_says_so():
    rows = [ModelRow(f"m{i}", "one", 0.5, 0.4, {"sgr": 0.5}) for i in range(4)]
    found = predict_robustness(rows)
    assert all(a.r is None and a.note for a in found.associations)
    with pytest.raises(UsageError, match="three models"):
        predict_robustness(rows[:2])
    with pytest.raises(UsageError, match="shares"):
        ModelRow("m", "b", 62.3, 48.7, {})


def test_a_table_of_ones_own(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(
        "model,benchmark,accuracy,ood_accuracy,sgr,gradient\na,x,0.6,0.5,0.4,\nb,x,0.7,0.6,0.5,0.3\n"
    )
    rows = read_model_rows(file)
    assert rows[0].predictors == {"sgr": 0.4}
    assert rows[1].predictors == {"sgr": 0.5, "gradient": 0.3}
    file.write_text("model,benchmark,accuracy,ood_accuracy,sgr\na,x,high,0.5,0.4\n")
    with pytest.raises(UsageError, match="line 2: accuracy is 'high'"):
        read_model_rows(file)
    file.write_text("model,benchmark,accuracy,ood_accuracy,sgr\na,x,0.6,0.5,nan\n")
    with pytest.raises(UsageError, match="line 2: sgr is 'nan'"):
        read_model_rows(file)
    file.write_text("model,benchmark\n")
    with pytest.raises(UsageError, match="no column"):
        read_model_rows(file)


def test_baselines_of_ones_own_stand_beside_the_runs(tmp_path):
    rows = [ModelRow(f"m{i}", "x", 0.8, 0.4 + 0.1 * i, {"sgr": 0.2 * i}) for i in range(4)]
    file = tmp_path / "baselines.csv"
    lines = [f"m{i},x,{0.1 * i**2},{7 if i else ''}" for i in range(4)]
    file.write_text("\n".join(["model,benchmark,attention,parameters_b", *lines]))
    found = add_predictors(rows, file)
    assert [row.predictors["attention"] for row in found] == pytest.approx([0.0, 0.1, 0.4, 0.9])
    assert [row.parameters_b for row in found] == [None, 7, 7, 7]
    assert found[2].predictors["sgr"] == 0.4
    names = {a.predictor for a in predict_robustness(found).associations}
    assert names == {"sgr", "attention", "accuracy"}
    file.write_text("model,benchmark,attention\nnobody,x,0.3\n")
    with pytest.raises(UsageError, match="no run of nobody on x"):
        add_predictors(rows, file)


def test_a_model_counts_once_per_benchmark():
    rows = [ModelRow(f"m{i % 4}", "x", 0.8, 0.4 + 0.1 * i, {"sgr": 0.1 * i}) for i in range(5)]
    with pytest.raises(UsageError, match="m0 on x occurs twice"):
        predict_robustness(rows)


def test_the_robustness_table():
    models = [f"m{i}" for i in range(6)]
    reference = MeasuringCondition(
        "structured", dict(zip(models, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), strict=True)), 3.0
    )
    shifted = MeasuringCondition("minimal", {m: v - 0.05 for m, v in reference.sgr.items()}, 1.0)
    turned = MeasuringCondition("noise 50 %", dict(zip(models, (0.6, 0.5, 0.4, 0.3, 0.2, 0.1), strict=True)))
    retention = {m: 0.5 + 0.5 * v for m, v in reference.sgr.items()}
    rows = {row.condition: row for row in robustness(reference, [shifted, turned], retention)}
    assert rows["structured"].r.value == pytest.approx(1.0)
    assert rows["structured"].rho is None
    assert rows["minimal"].rho.value == pytest.approx(1.0)
    assert rows["minimal"].shift == pytest.approx(-0.05)
    assert rows["minimal"].seconds == 1.0
    assert rows["noise 50 %"].r.value == pytest.approx(-1.0)
    assert rows["noise 50 %"].rho.value == pytest.approx(-1.0)
    few = robustness(MeasuringCondition("a", {"m0": 0.1}), [], retention)[0]
    assert few.r is None


def test_the_exact_test_against_all_permutations():
    rows = [
        ModelRow(f"m{i}", b, 0.8, o, {"sgr": s})
        for i, (s, o) in enumerate(((0.1, 0.2), (0.4, 0.5), (0.5, 0.3), (0.9, 0.7)))
        for b in ("x", "y")
    ]
    found = r(predict_robustness(rows), "ood accuracy", "pooled")
    sgr, ood = np.array([0.1, 0.4, 0.5, 0.9]), np.array([0.2, 0.5, 0.3, 0.7])
    observed = np.corrcoef(sgr, ood)[0, 1]
    all_r = [np.corrcoef(sgr, ood[list(order)])[0, 1] for order in itertools.permutations(range(4))]
    upper = np.mean([value >= observed - 1e-12 for value in all_r])
    assert found.p_exact == pytest.approx(min(1.0, 2 * upper))


def test_a_perfect_order_of_few_models_is_shown_without_an_interval(tmp_path, capsys):
    table = tmp_path / "models.csv"
    rows = [f"m{i},b,{0.9 - 0.01 * i * i},{0.8 - 0.1 * i},{0.7 - 0.1 * i}" for i in range(4)]
    table.write_text("\n".join(["model,benchmark,accuracy,ood_accuracy,sgr", *rows]))
    assert main(["trace", "predict", "--table", str(table)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "sgr ratio b" in shown
    assert "1.00 [1.00, 1.00]" not in shown


def table(name, *rows):
    """A stored table with these columns."""
    columns = [Column(key, key) for key in rows[0]]
    return Table.of(name, "", columns, [list(row.values()) for row in rows])


def estimate(value):
    return Estimate(value, value - 0.1, value + 0.1, 9, 0.95, "test")


def scored_run(model, sgr, *, benchmark="video", vrs=None, folder="run"):
    """The tables of ``trace score``, as far as predicting reads them."""

    def group(split, accuracy):
        right = {"right": estimate(accuracy), "hr": None, "seconds": 1.0}
        return {"style": "structured", "split": split, "sgr": estimate(sgr), **right}

    tables = [
        table("trace.grounding", group("in-distribution", 0.8), group("ood", 0.6)),
        table("trace.conditions", {"condition": "at most 2 steps", "sgr": estimate(sgr), "seconds": "1"}),
    ]
    if vrs:
        cell = {"family": "position", "truth": "the old truth (paper)", "delta_accuracy": estimate(-0.25)}
        tables += [
            table("trace.reliance", {"vrs": estimate(vrs), "vrs_sound": None}),
            table("trace.sensitivity", cell),
        ]
    return ScoredRun(model, benchmark, folder, "trace", tables)


def relevance_run(model, share, *, benchmark="video"):
    rows = [{"baseline": "attention", "share": estimate(share)}, {"baseline": "gradient", "share": None}]
    return ScoredRun(model, benchmark, "r", "trace relevance", [table("trace.relevance", *rows)])


@pytest.mark.parametrize("order", [1, -1])
def test_a_run_and_a_run_on_edits_give_one_row(order):
    runs = [
        scored_run("m", 0.7, folder="runs/trace"),
        scored_run("m", 0.3, vrs=4.0, folder="runs/edited"),
    ][::order]
    rows, conditions, why = rows_from_runs(runs)
    assert [row.predictors for row in rows] == [{"sgr": 0.7, "vrs": 4.0, "perturbation": 0.25}]
    assert [dict(c.sgr) for c in conditions] == [{"m": 0.7}, {"m": 0.7}]  # not the mean of both
    assert len(why) == 1
    assert "accuracy are from runs/trace, VRS and falls from runs/edited" in why[0]


@pytest.mark.parametrize("vrs", [None, 2.0])
def test_two_runs_of_a_kind_are_refused_by_name(vrs):
    runs = [scored_run("m", 0.7, vrs=vrs, folder="runs/a"), scored_run("m", 0.3, vrs=vrs, folder="runs/b")]
    with pytest.raises(UsageError, match="m on video occurs twice, in runs/a and runs/b"):
        rows_from_runs(runs)
    other = scored_run("m", 0.3, vrs=vrs, benchmark="navigation")
    assert len(rows_from_runs([runs[0], other])[0]) == 2


def test_baselines_of_a_white_box_are_added_to_its_row():
    runs = [scored_run("m", 0.7), scored_run("n", 0.5), relevance_run("m", 0.4), relevance_run("x", 0.4)]
    rows, _, why = rows_from_runs(runs)
    assert rows[0].predictors == {"sgr": 0.7, "attention": 0.4}
    assert rows[1].predictors == {"sgr": 0.5}
    assert why == ["x on video: there is relevance, but no run to compare it with"]


def test_rows_and_baselines_that_occur_twice_are_refused(tmp_path):
    rows = [ModelRow("m", "x", 0.8, 0.4, {"sgr": 0.1}), ModelRow("m", "x", 0.8, 0.5, {"sgr": 0.9})]
    file = tmp_path / "baselines.csv"
    file.write_text("model,benchmark,attention\nm,x,0.3\n")
    for join in (lambda: with_relevance(rows, []), lambda: add_predictors(rows, file)):
        with pytest.raises(UsageError, match="m on x occurs twice"):
            join()
    twice = [relevance_run("m", v, benchmark="x") for v in (0.1, 0.2)]
    with pytest.raises(UsageError, match="relevance of m on x was measured twice"):
        with_relevance(rows[:1], twice)


def test_models_on_as_many_but_other_benchmarks_are_not_permuted():
    """Two rows each, and yet no block of one model stands for the block of another."""
    on = {"m0": "ab", "m1": "ab", "m2": "bc", "m3": "ac"}
    rows = [
        ModelRow(model, b, 0.8, 0.3 + 0.1 * i + 0.02 * j, {"sgr": 0.2 * i + 0.05 * j})
        for i, (model, benchmarks) in enumerate(on.items())
        for j, b in enumerate(benchmarks)
    ]
    found = r(predict_robustness(rows), "ratio", "pooled")
    assert found.p_exact is None
    assert "different benchmarks" in found.note
    same = [row for row in rows if row.model in {"m0", "m1"}]
    same += [ModelRow("m4", b, 0.8, 0.35 + 0.1 * j, {"sgr": 0.3}) for j, b in enumerate("ab")]
    assert r(predict_robustness(same), "ratio", "pooled").p_exact is not None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a,x,0.6,0.5,0.4,7,more", "line 2: has more cells than the 6 columns"),
        ("a,x,0.6,0.5,0.4,0", "line 2: parameters_b is 0; "),
        ("a,x,0.6,0.5,0.4,-7", "line 2: parameters_b is -7; "),
        ("a,x,0.6,0.5,62.3,7", "line 2: sgr is 62.3; it is a share"),
        ("a,x,0.6,0.5,-0.1,7", "line 2: sgr is -0.1; it is a share"),
        (",x,0.6,0.5,0.4,7", "line 2: model is empty"),
    ],
)
def test_a_bad_table_is_refused_in_a_sentence(line, told, tmp_path, capsys):
    file = tmp_path / "rows.csv"
    file.write_text(f"model,benchmark,accuracy,ood_accuracy,sgr,parameters_b\n{line}\n")
    assert main(["trace", "predict", "--table", str(file)]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    with pytest.raises(UsageError, match="above zero"):
        ModelRow("m", "b", 0.5, 0.5, {}, parameters_b=0)


def test_a_table_with_a_byte_order_mark(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("model,benchmark,accuracy,ood_accuracy,sgr\na,x,0.6,0.5,0.4\n", encoding="utf-8-sig")
    assert read_model_rows(file)[0].model == "a"
