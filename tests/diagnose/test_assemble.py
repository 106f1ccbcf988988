"""From pairs and scores to the document: verdicts, exhibits, open questions, and nothing is hidden."""

from dataclasses import replace

import numpy as np
import pytest

from theodolite import stats
from theodolite.answers import Answer
from theodolite.core.errors import UsageError
from theodolite.core.scores import OWN_SPLIT, Condition, ItemScore, Metric, SignatureKind, judge_signature
from theodolite.core.views import ItemRow
from theodolite.diagnose.assemble import Measured, Question, Subject, assemble
from theodolite.diagnose.pair_verdicts import model_verdict, pair_rows
from theodolite.diagnose.record import Counts, LeftOut
from theodolite.diagnose.running import unscored_columns
from theodolite.diagnose.separation import Twins
from theodolite.instruments.instrument import Instrument, find_instruments
from theodolite.pairs import AnsweredPair
from theodolite.pairs.outcomes import LIGHT, MIRROR, NATURAL
from theodolite.stats.power import clusters_needed

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


def twin(kind, n=60, seed=0):
    rng = np.random.default_rng([seed, ord(kind)])
    return [
        ItemScore(f"scene{i}", key, float(rng.random() < rate), f"scene{i}", "crossed")
        for i in range(n)
        for key, rate in RATES[kind].items()
    ]


def diagnosis(strangers, *, n=60, counts=None, pairs=(), rows=()):
    """A diagnosis of models, by name and scores."""
    grid = Grid()
    calibration = {"grid": {"twin:g": twin("g", n), "twin:s": twin("s", n)}}
    measured = [
        Measured(
            name,
            "grid",
            "measured" if found else "left out",
            "" if found else "it gives no text",
            counts=counts or Counts(planned=len(found), answered=len(found)),
            scores=tuple(score for score in found if score.value is not None),
            unscored=unscored_columns(found),
            signatures=tuple(grid.signatures((), found, seed=0)) if found else (),
            pairs=pairs,
            rows=rows,
        )
        for name, found in strangers.items()
    ]
    return assemble(
        Question(0, "quick", {"grid": "drawn"}, "0.1.0", twins=TWINS),
        [Subject(name, name, ("text",)) for name in strangers],
        [grid],
        measured,
        calibration,
    )


def pairs_of(share, n=120, split="crossed", lost=0.0):
    """Pairs of a model that looks at a share of the pictures, with as many neutral ones; both orders of the right answers."""
    sides, none = ("left", "right"), Answer("unreadable")
    found = []
    for i in range(n):
        gold, edited = sides if i % 2 else sides[::-1]
        before = Answer("value", gold)
        after = Answer("value", edited) if (i * 0.6180339887) % 1 < share else before
        if (i * 0.7548776662) % 1 < lost:
            after = none
        shown = (f"q{i}", f"q{i}m")
        found.append(AnsweredPair(f"q{i}", MIRROR, f"p{i}", before, after, gold, edited, split, shown=shown))
        found.append(AnsweredPair(f"q{i}", LIGHT, f"p{i}", before, before, gold, gold, split))
    return tuple(found)


def row(name, gold):
    return ItemRow(
        id=name, instrument="grid", model="x", split="crossed", cluster=name, question="Where?", answer=gold,
        read_as=gold, gold=gold, correct=True, status="answered", pictures=[f"{name}.png"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("share", "standing"), [(0.0, "does not look"), (0.5, "sometimes looks"), (1.0, "looks")]
)
def test_the_verdict_rests_on_pairs_alone(share, standing):
    """The scores are those of the other twin: they place nobody."""
    scores = twin("s" if share > 0.5 else "g")
    found = diagnosis({"x": scores}, pairs=pairs_of(share))
    view = found.instrument("grid").models[0]
    (looking,) = view.looking
    assert view.verdict.standing == looking.standing == found.model("x").verdict.standing == standing
    assert (looking.source, looking.n_relevant, looking.n_neutral) == ("drawn", 120, 120)
    assert looking.looking.low <= share <= looking.looking.high
    assert looking.kept.value == 1
    assert [each.name for each in looking.edits] == ["mirror", "light"]
    assert ("blind answers" in looking.excluded) == (share > 0)
    assert "the place of the target alone" in looking.not_excluded
    assert f"of 120 pairs, {round(120 * looking.followed.value)} followed" in view.verdict.sentence.lower()


def test_own_data_come_first_and_decide():
    own = pairs_of(0.0, split=OWN_SPLIT)
    found = diagnosis({"x": twin("g")}, pairs=(*pairs_of(1.0), *own))
    view = found.instrument("grid").models[0]
    assert [each.source for each in view.looking] == ["own", "drawn"]
    assert view.verdict.standing == "does not look"
    verdict = found.model("x").verdict
    assert verdict.standing == "does not look"
    assert (
        verdict.sentence == "Does not look in your pictures, edited (grid). On drawn pictures: looks in grid."
    )


def test_exhibits_are_chosen_by_rule():
    rows = [each for i in range(120) for each in (row(f"q{i}", "left"), row(f"q{i}m", "right"))]
    found = diagnosis({"x": twin("g")}, pairs=pairs_of(0.7, lost=0.1), rows=tuple(rows))
    exhibits = found.instrument("grid").models[0].looking[0].exhibits
    assert [each.outcome for each in exhibits] == ["followed", "followed", "unmoved", "lost"]
    first = exhibits[0]
    assert first.before.pictures == [f"{first.before.item}.png"]
    assert first.after.item == f"{first.before.item}m"
    assert "blind answers" in first.excludes
    assert exhibits[0].before.item != exhibits[1].before.item


def test_pairs_to_look_through_are_those_judged():
    pairs = pairs_of(0.7, lost=0.1)
    found = list(pair_rows("x", "grid", pairs))
    assert [(each.before, each.after, each.outcome) for each in found] == [
        (*pair.shown, pair.outcome) for pair in pairs if all(pair.shown)
    ]
    assert {each.pictures for each in found} == {"grid"}


def test_each_picture_as_it_is_is_shown_once_for_a_question():
    left, right = Answer("value", "left"), Answer("value", "right")
    pairs = [
        AnsweredPair(
            f"l{i}", NATURAL, f"l{i}", left, right, "left", "right", shown=(f"l{i}", f"r{j}"), group="where"
        )
        for i in range(4)
        for j in range(6)
    ]
    found = list(pair_rows("x", "ask", pairs))
    shown = [name for each in found for name in (each.before, each.after)]
    assert len(shown) == len(set(shown))
    assert 2 <= len(found) <= 4


def test_relations_have_their_own_shares():
    pairs = [replace(pair, relation=("left", "above")[i // 2 % 2]) for i, pair in enumerate(pairs_of(0.5))]
    forms = diagnosis({"x": twin("g")}, pairs=tuple(pairs)).instrument("grid").models[0].looking[0].relations
    assert [(each.name, each.n) for each in forms] == [("above", 60), ("left", 60)]


def test_a_metric_that_tells_nothing_is_shown_and_places_nobody():
    dull = diagnosis({"x": twin("g", seed=9)}).instrument("grid").metrics[-1]
    assert dull.key == "grid.dull"
    assert not dull.separates
    assert "does not separate the twins" in dull.why_not
    assert dull.models[0].figure is not None


def test_a_metric_that_was_not_computed_is_shown_with_the_reason():
    """Whether the twins have it or not; a metric with some values has a mean."""
    scores = twin("g", seed=9)
    gone = [
        replace(score, value=None, reason="not computed: no model", split=split)
        for score in scores
        if score.metric == "grid.dull"
        for split in ("crossed", "free")
    ]
    kept = [score for score in scores if score.metric != "grid.dull"]
    some = [replace(kept[0], item="another", cluster="another", value=None, reason="refused")]
    found = diagnosis({"x": [*kept, *some, *gone]}).instrument("grid").metrics
    told = {(each.key, each.split): each.models[0] for each in found}
    for split in ("crossed", "free"):
        assert told["grid.dull", split].figure is None
        assert told["grid.dull", split].why_not == "not computed: no model"
    assert all(mean.figure is not None for (key, _), mean in told.items() if key != "grid.dull")


def test_a_model_without_scores_says_why():
    found = diagnosis({"x": []})
    view = found.instrument("grid").models[0]
    assert (view.status, view.looking) == ("left out", [])
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


def test_what_is_not_settled_names_the_size_that_would_settle_it():
    found = diagnosis({"x": twin("s", 14)}, n=14, pairs=pairs_of(0.0, 20))
    assert found.instrument("grid").models[0].verdict.standing == "not settled"
    question = next(q for q in found.open_questions if q.question.startswith("Does it look"))
    assert question.n_now == 20
    assert question.n_needed > 36
    assert question.size == question.n_needed
    assert (
        question.settled_by
        == f"About {question.n_needed} pictures would settle it, now there are 20: --size {question.size}."
    )
    settled = diagnosis({"x": twin("s")}, pairs=pairs_of(0.0, question.n_needed))
    assert settled.instrument("grid").models[0].verdict.standing == "does not look"
    assert not [q for q in settled.open_questions if q.question.startswith("Does it look")]


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


def test_a_model_whose_answers_cannot_be_read_is_quoted():
    rows = [each for i in range(120) for each in (row(f"q{i}", "left"), row(f"q{i}m", "who knows"))]
    found = diagnosis({"x": twin("s")}, pairs=pairs_of(1.0, lost=0.9), rows=tuple(rows))
    verdict = found.instrument("grid").models[0].verdict
    assert verdict.standing == "cannot be read"
    assert "most often it says “left” (120) and “who knows” (120)" in verdict.sentence


@pytest.mark.parametrize(
    ("standings", "overall"),
    [
        ("looks", "looks"),
        ("not settled", "not settled"),
        ("looks, not settled, not measured", "looks"),
        ("looks, cannot be read", "looks"),
        ("looks, sometimes looks", "sometimes looks"),
        ("looks, looks at least sometimes", "looks at least sometimes"),
        ("looks, does not look, not settled", "sometimes looks"),
        ("does not look, not settled", "does not look"),
        ("answers the other way round, no looking found", "answers the other way round"),
        ("refuses, not settled", "not settled"),
        ("refuses, not measured", "refuses"),
        ("cannot be read, cannot be read", "cannot be read"),
        ("not measured", "not measured"),
    ],
)
def test_the_verdict_over_all_instruments(standings, overall):
    asked = dict(zip(("compass", "grid", "scene", "trace"), standings.split(", "), strict=False))
    found = model_verdict(asked)
    assert found.standing == overall
    assert all(name in found.sentence for name in asked)
    assert all(standing in found.sentence.lower() for standing in asked.values())


def test_calls_are_the_responses_that_came():
    counts = Counts(planned=100, answered=70, refused=30, failed=10, pending=5)  # 15 refused in their words
    assert diagnosis({"x": twin("g")}, counts=counts).model("x").calls == 85


def test_left_out_parts_are_in_the_document():
    out = LeftOut(instrument="compass", what="maps", why="it gives no gradients", remedy="hf:PATH")
    subject = Subject("x", "x", ("text",), (out,))
    made = assemble(Question(0, "quick", {}, "0", twins=TWINS), [subject], [], [], {})
    assert made.models[0].left_out == [out]
    assert made.models[0].verdict.standing == "not measured"


@pytest.mark.parametrize("name", ["compass", "grid", "scene", "trace"])
def test_the_size_of_every_instrument_grows_with_the_pairs(name):
    (instrument,) = find_instruments([name])
    sizes = [instrument.size_for(pairs) for pairs in (6, 120, 240, 480)]
    assert 2 <= sizes[0] < sizes[1] < sizes[2] < sizes[3]
    assert sizes[3] == pytest.approx(2 * sizes[2], rel=0.2)
