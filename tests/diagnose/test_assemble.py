"""From scores to statements: models of known make are placed, open questions are counted, and nothing is hidden."""

from dataclasses import replace

import numpy as np
import pytest

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.scores import ItemScore, Metric
from theodolite.core.signatures import Condition, SignatureKind, judge_signature
from theodolite.diagnose.assemble import Measured, Question, Subject, assemble
from theodolite.diagnose.mixture import mix_scores
from theodolite.diagnose.position import MIN_CLUSTERS, Twins
from theodolite.diagnose.record import Counts, LeftOut
from theodolite.diagnose.sample_size import clusters_needed
from theodolite.diagnose.verdict import model_verdict, standing_of
from theodolite.instruments.instrument import Instrument

TWINS = Twins("twin:g", "twin:s")
METRICS = (
    Metric("grid.right", "right", higher_is_grounded=True, origin="ours", needs="text"),
    Metric("grid.bag_of_words", "bag of words", higher_is_grounded=False, origin="ours", needs="text"),
    Metric("grid.swap_changes", "changes", higher_is_grounded=True, origin="ours", needs="text"),
    Metric("grid.dull", "says nothing", higher_is_grounded=True, origin="paper", needs="text"),
)
WORDS = SignatureKind("counts words", "Reverse the direction.", "Look closer.", "a paper, section 2")
RATES = {
    "g": {"grid.right": 0.97, "grid.bag_of_words": 0.03, "grid.swap_changes": 0.95, "grid.dull": 0.5},
    "s": {"grid.right": 0.05, "grid.bag_of_words": 0.95, "grid.swap_changes": 0.04, "grid.dull": 0.5},
}


class Grid(Instrument):
    name = "grid"
    question = "Does it use the relation?"
    run_kinds = ("grid",)
    metrics = METRICS

    def plan(self, study, gives):
        return ()

    def score(self, run):
        return []

    def signatures(self, folders, scores, *, seed):
        agreement = stats.score_mean(self.metrics[1], scores)
        return [
            judge_signature(
                WORDS,
                [Condition("agreement with a bag of words", agreement, lambda x: x.low > 0.5, "above ½")],
            )
        ]


class Boundless(Grid):
    metrics = tuple(replace(metric, bounds=None, unit="number") for metric in METRICS)


class Own(Grid):
    """One that the twins know nothing of."""

    name = "own"
    metrics = (Metric("own.right", "right", higher_is_grounded=True, origin="ours", needs="text"),)
    needs_data = True


def twin(kind, n=60, seed=0):
    rng = np.random.default_rng([seed, ord(kind)])
    return [
        ItemScore(f"scene{i}", key, float(rng.random() < rate), f"scene{i}", "crossed")
        for i in range(n)
        for key, rate in RATES[kind].items()
    ]


def diagnosis(strangers, *, n=60, counts=None, chance=None, instrument=None, others=()):
    """A diagnosis of models, by name and scores."""
    grid = instrument or Grid()
    calibration = {"grid": {"twin:g": twin("g", n), "twin:s": twin("s", n)}}
    measured = [
        Measured(
            name,
            "grid",
            "measured" if found else "left out",
            "" if found else "it gives no text",
            counts=counts or Counts(planned=len(found), answered=len(found)),
            scores=tuple(found),
            signatures=tuple(grid.signatures((), found, seed=0)) if found else (),
            chance=chance,
        )
        for name, found in strangers.items()
    ]
    measured += [
        Measured(
            name,
            "own",
            "measured",
            scores=tuple(ItemScore(f"q{i}", "own.right", 1.0, f"q{i}", "own data") for i in range(30)),
        )
        for name in strangers
        if others
    ]
    return assemble(
        Question(0, "quick", {"grid": "drawn"}, "0.1.0", twins=TWINS),
        [Subject(name, name, ("text",)) for name in strangers],
        [grid, *others],
        measured,
        calibration,
    )


@pytest.mark.parametrize(("share", "standing"), [(0.0, "shortcut"), (0.5, "between"), (1.0, "grounded")])
def test_a_stranger_is_placed_where_it_was_made(share, standing):
    x = mix_scores(twin("g"), twin("s"), share=share, seed=3)
    found = diagnosis({"x": x})
    view = found.instrument("grid").models[0]
    assert view.verdict.standing == standing
    assert view.position.low <= share <= view.position.high
    assert view.rests_on == ["grid.right@crossed", "grid.bag_of_words@crossed", "grid.swap_changes@crossed"]
    assert f"{view.position.value:.2f}" in view.verdict.sentence
    assert found.model("x").verdict.standing == standing


def test_a_metric_that_tells_nothing_is_shown_and_places_nobody():
    dull = diagnosis({"x": twin("g", seed=9)}).instrument("grid").metrics[-1]
    assert dull.key == "grid.dull"
    assert not dull.is_calibrated
    assert "does not separate the twins" in dull.why_not
    assert dull.models[0].figure is not None
    assert dull.models[0].position is None


def test_too_little_data_gives_no_verdict():
    n = MIN_CLUSTERS - 1
    found = diagnosis({"x": twin("g", n, seed=2)}, n=n)
    view = found.instrument("grid").models[0]
    assert view.verdict.standing == "no verdict"
    assert "too little data" in view.verdict.sentence
    assert found.model("x").verdict.standing == "no verdict"
    few = [r for r in twin("g", 60, seed=2) if int(r.item[5:]) < n]
    view = diagnosis({"x": few}).instrument("grid").models[0]
    assert "too little data" in view.verdict.sentence


def test_a_model_without_scores_says_why():
    found = diagnosis({"x": []})
    view = found.instrument("grid").models[0]
    assert (view.status, view.position) == ("left out", None)
    assert view.verdict.sentence == "Not measured: it gives no text."
    assert not found.signatures


def test_scores_of_unknown_metrics_are_refused():
    with pytest.raises(UsageError, match="not a known metric"):
        diagnosis({"x": [ItemScore("scene1", "grid.unheard_of", 1.0, "scene1", "crossed")]})


def test_the_shortcut_twin_raises_its_signature_and_the_other_does_not():
    found = {each.model: each for each in diagnosis({"g": twin("g"), "s": twin("s")}).signatures}
    assert found["s"].standing == "raised"
    assert "agreement with a bag of words" in found["s"].numbers
    assert found["s"].confirming_test
    assert found["s"].remedy_source
    assert found["g"].standing == "not raised"
    assert "but should be" in found["g"].because


def test_pairs_of_models_are_compared_on_the_same_items():
    g, s = twin("g"), twin("s")
    found = {(c.metric, c.first, c.second): c for c in diagnosis({"g": g, "s": s}).comparisons}
    right = found["grid.right", "g", "s"]
    plain = np.mean([r.value for r in g if r.metric == "grid.right"]) - np.mean(
        [r.value for r in s if r.metric == "grid.right"]
    )
    assert right.difference.value == pytest.approx(plain)
    assert right.difference.low > 0
    assert right.test.p_value <= right.p_holm < 0.01
    assert ("grid.dull", "g", "s") not in found  # it places nobody, so it is not tested either


def test_what_is_open_names_the_units_that_would_settle_it():
    x = mix_scores(twin("g", 14), twin("s", 14), share=0.72, seed=1)
    found = diagnosis({"x": x}, n=14)
    assert found.instrument("grid").models[0].verdict.standing == "undecided"
    question = next(q for q in found.open_questions if "position" in q.question)
    assert question.n_now == 14
    assert question.n_needed > 14
    settled = diagnosis({"x": mix_scores(twin("g"), twin("s"), share=0.5, seed=3)})
    assert not [q for q in settled.open_questions if "position" in q.question]


def test_the_clusters_needed_do_settle_it():
    """Drawn anew with the units that are asked for, the mean is told from the line about four times in five."""
    rng = np.random.default_rng(0)
    pilot = rng.normal(0.6, 0.5, 40)
    found = stats.bootstrap(pilot, seed=0)
    needed = clusters_needed(replace(found, value=0.6), 0.75)
    hits = 0
    for _ in range(300):
        drawn = rng.normal(0.6, float(np.std(pilot, ddof=1)), needed)
        hits += drawn.mean() + 1.96 * drawn.std(ddof=1) / np.sqrt(needed) < 0.75
    assert 0.7 < hits / 300 < 0.92


def test_a_value_on_the_line_is_never_settled():
    assert clusters_needed(stats.Estimate(0.75, 0.6, 0.9, n=30, level=0.95, method="x"), 0.75) is None


def test_failures_are_told_as_cautions():
    counts = Counts(planned=100, answered=70, failed=15, refused=15, unreadable=20)
    found = diagnosis({"x": twin("g")}, counts=counts)
    told = [caveat for caveat in found.caveats if caveat.startswith("grid, x")]
    assert len(told) == 3
    assert any("behaviour" in caveat for caveat in found.caveats)


@pytest.mark.parametrize(
    "counts",
    [
        Counts(planned=100, answered=0, refused=100),
        Counts(planned=100, answered=100, unreadable=51),
        Counts(planned=100, answered=70, refused=20, failed=10, unreadable=21),
    ],
)
def test_a_model_that_mostly_gives_no_answer_is_not_placed(counts):
    found = diagnosis({"x": twin("s")}, counts=counts)
    view = found.instrument("grid").models[0]
    assert (view.verdict.standing, view.position) == ("no verdict", None)
    lost = counts.refused + counts.failed + counts.unreadable
    assert f"{lost} of 100 answers were refused" in view.verdict.sentence
    assert "could not be read" in view.verdict.sentence
    assert found.model("x").verdict.standing == "no verdict"


def test_half_of_the_answers_are_enough():
    counts = Counts(planned=100, answered=100, unreadable=50)
    assert diagnosis({"x": twin("s")}, counts=counts).model("x").verdict.standing == "shortcut"


@pytest.mark.parametrize(
    ("rate", "chance", "standing"),
    [(0.28, 0.25, "no verdict"), (0.97, 0.25, "shortcut"), (0.28, None, "shortcut"), (0.5, 0.25, "shortcut")],
)
def test_a_model_that_guesses_where_the_shortcut_is_right_has_no_verdict(rate, chance, standing):
    rng = np.random.default_rng(4)
    easy = [
        ItemScore(f"easy{i}", "grid.right", float(rng.random() < rate), f"easy{i}", "aligned")
        for i in range(60)
    ]
    found = diagnosis({"x": [*twin("s"), *easy]}, chance=chance)
    view = found.instrument("grid").models[0]
    assert view.verdict.standing == found.model("x").verdict.standing == standing
    assert view.position.high < 0.25  # it is shown in either case
    assert ("no better than chance" in view.verdict.sentence) == (standing == "no verdict")


def test_a_guesser_is_not_told_to_ask_more():
    guesses = [
        ItemScore(f"easy{i}", "grid.right", float(i % 4 == 0), f"easy{i}", "aligned") for i in range(60)
    ]
    x = mix_scores(twin("g", 14), twin("s", 14), share=0.72, seed=1)
    found = diagnosis({"x": [*x, *guesses]}, n=14, chance=0.25)
    assert not [question for question in found.open_questions if "position" in question.question]


def test_a_model_beyond_the_twins_is_told_as_outside():
    rng = np.random.default_rng(2)
    x = [ItemScore(r.item, r.metric, r.value - 2 + rng.random(), r.cluster, r.split) for r in twin("s")]
    turned = [
        replace(r, value=4 - r.value) if r.metric == "grid.bag_of_words" else r for r in x
    ]  # less is better there
    found = diagnosis({"x": turned}, instrument=Boundless())
    view = found.instrument("grid").models[0]
    assert view.position.high < 0
    assert view.verdict.standing == "outside"
    assert "outside the range of the twins" in view.verdict.sentence
    assert found.model("x").verdict.standing == "outside"
    assert not [question for question in found.open_questions if "position" in question.question]


@pytest.mark.parametrize(
    ("interval", "standing"),
    [
        ((0.8, 0.9, 1.3), "grounded"),
        ((0.7, 0.8, 0.9), "undecided"),
        ((0.3, 0.5, 0.7), "between"),
        ((-0.2, 0.0, 0.2), "shortcut"),
        ((0.1, 0.5, 0.9), "undecided"),
        ((-3.0, -2.15, -1.5), "outside"),
        ((1.01, 1.2, 1.4), "outside"),
    ],
)
def test_where_the_lines_are(interval, standing):
    low, value, high = interval
    assert standing_of(stats.Estimate(value, low, high, n=30, level=0.95, method="x")) == standing


def test_instruments_that_disagree_give_a_mixed_verdict():
    verdict = model_verdict(
        {"grid": "shortcut", "scene": "grounded", "trace": "undecided", "compass": "no verdict"}
    )
    assert verdict.standing == "mixed"
    assert "no verdict on compass" in verdict.sentence


@pytest.mark.parametrize(
    ("standings", "overall"),
    [
        ("grounded", "grounded"),
        ("outside", "outside"),
        ("undecided", "undecided"),
        ("grounded, no verdict", "undecided"),
        ("grounded, undecided, undecided, undecided", "undecided"),
        ("grounded, no verdict, no verdict, no verdict", "undecided"),
        ("grounded, grounded, undecided, no verdict", "grounded"),
        ("shortcut, shortcut, shortcut, undecided", "shortcut"),
        ("shortcut, shortcut, outside, outside", "shortcut"),
        ("shortcut, outside, undecided, undecided", "undecided"),
        ("outside, outside, undecided, no verdict", "outside"),
        ("outside, undecided, undecided, no verdict", "undecided"),
        ("between, grounded, undecided, undecided", "mixed"),
    ],
)
def test_a_verdict_rests_on_half_of_the_instruments_and_on_two(standings, overall):
    asked = dict(zip(("compass", "grid", "scene", "trace"), standings.split(", "), strict=False))
    found = model_verdict(asked)
    assert found.standing == overall
    assert all(name in found.sentence for name in asked)
    assert all(standing in found.sentence.lower() for standing in asked.values())


def test_an_instrument_that_the_twins_do_not_know_has_no_part_in_the_verdict():
    alone, beside = (diagnosis({"x": twin("g", seed=9)}, others=others) for others in ((), (Own(),)))
    assert beside.model("x").verdict == alone.model("x").verdict
    assert alone.model("x").verdict.standing == "grounded"
    view = beside.instrument("own").models[0]
    assert (view.verdict.standing, view.position) == ("no verdict", None)
    assert "the twins were not measured" in view.verdict.sentence
    assert beside.instrument("own").metrics[0].models[0].figure.value == 1


def test_calls_are_the_responses_that_came():
    counts = Counts(planned=100, answered=70, refused=30, failed=10, pending=5)  # 15 refused in their words
    assert diagnosis({"x": twin("g")}, counts=counts).model("x").calls == 85


def test_left_out_parts_are_in_the_document():
    out = LeftOut(instrument="compass", what="maps", why="it gives no gradients", remedy="hf:PATH")
    subject = Subject("x", "x", ("text",), (out,))
    made = assemble(Question(0, "quick", {}, "0", twins=TWINS), [subject], [], [], {})
    assert made.models[0].left_out == [out]
    assert made.models[0].verdict.standing == "no verdict"
