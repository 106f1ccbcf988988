"""SGR, HR and their kin: the paper's examples, and plain independent sums."""

import numpy as np
import pytest
from trace_world import KNOWN, SIZE, group_of, thing

from theodolite.core.tables import Column
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.steps import is_right_answer
from theodolite.instruments.trace.claims.types import Claim, Mention, Step, Trace, Verdict
from theodolite.instruments.trace.experiments.grounding import (
    accuracy_gap,
    claims_table,
    hr_against_sgr,
    main_tables,
    sgr_by_stage,
    unverifiable_share,
)
from theodolite.instruments.trace.formulas.sgr import (
    Counting,
    step_grounding,
    step_hallucinates,
    trace_hr,
    trace_sgr,
)
from theodolite.instruments.trace.verifiers.judging import (
    JudgedStep,
    JudgedTrace,
    judge,
    open_verifier,
    verdicts_on,
)
from theodolite.worlds.episodes import Action, Episode, Frame, FrameObject

BY = (Column("group", "group"),)
S, U, X = Verdict("supported"), Verdict("unsupported"), Verdict("unverifiable", "abstract")


def step(*verdicts, parts=()):
    claims = tuple(Claim("entity", Mention(f"thing{i}"), is_part=i in parts) for i in range(len(verdicts)))
    return JudgedStep(Step("…", (0,), claims=claims), tuple(verdicts))


def judged(*steps, unit="u", correct=None):
    return JudgedTrace(Trace(unit, tuple(s.step for s in steps)), tuple(steps), unit, "test", correct)


def scene(*objects, **more):
    frame = Frame(0.0, None, SIZE, objects)
    return Episode("e", "?", (frame,), known=KNOWN, **more)


def read(text, episode):
    claimed = with_claims([read_trace(text, episode)])
    return judge(claimed, {episode.id: episode}, open_verifier("annotation"))[0]


def test_the_papers_worked_examples():
    """Section 3.4: two of three things found give 0.67, one of two gives 0.5."""
    red, blue = thing("a", "red", "chair", 10), thing("b", "blue", "table", 60)
    bulb = "Step 1: I see a red chair, a blue table, and a green bulb.\nStep 2: I see a red chair."
    assert [step_grounding(s) for s in read(bulb, scene(red, blue)).steps] == [pytest.approx(2 / 3), 1.0]
    half = "Step 1: I see a red chair and a blue table.\nStep 2: I see a red chair."
    assert step_grounding(read(half, scene(red)).steps[0]) == 0.5
    assert step_hallucinates(read(half, scene(red)).steps[0])


def test_the_papers_figure_3():
    """A right answer with one unsupported step of three: SGR .67, HR .33."""
    car, light = thing("c", "red", "car", 10), thing("l", "red", "light", 60)
    person = FrameObject("p", "person", car.box.moved(30, 0))
    episode = Episode(
        "e",
        "What colour is the car?",
        tuple(
            Frame(float(t), None, SIZE, (car, light, person, FrameObject("s", "street"))) for t in range(3)
        ),
        answer="red",
        actions=(Action("walk", "p", (), 0.0, 3.0),),
        known=KNOWN,
    )
    text = (
        "Step 1 (frame 1): There is a red car.\nStep 2 (frame 2): A person crosses the street.\n"
        "Step 3 (frame 3): The car is red.\nFinal answer: red"
    )
    found = group_of([read(text, episode)])
    assert found.mean("sgr").value == pytest.approx(2 / 3)
    assert found.mean("hr").value == pytest.approx(1 / 3)
    assert found.mean("right").value == 1.0


@pytest.mark.parametrize(
    ("handling", "expected"), [("exclude", 2 / 3), ("penalise", 2 / 5), ("neutral", (2 + 1) / 5)]
)
def test_three_ways_with_what_cannot_be_judged(handling, expected):
    assert step_grounding(step(S, S, U, X, X), Counting(handling)) == pytest.approx(expected)


def test_steps_without_anything_to_judge_do_not_count():
    assert step_grounding(step(X)) is None
    assert step_grounding(step(X), Counting("penalise")) == 0.0
    assert step_grounding(step()) is None
    assert step_hallucinates(step(X)) is None
    assert trace_sgr(judged(step(S), step(X), step())) == 1.0


def test_parts_count_only_where_every_claim_counts():
    both = step(S, U, S, parts=(0, 2))
    assert step_grounding(both) == 0.0
    assert step_grounding(both, Counting(granularity="every")) == pytest.approx(2 / 3)


def random_traces(seed, n=40):
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        steps = [
            step(*rng.choice([S, S, U, X], size=rng.integers(0, 5)).tolist())
            for _ in range(rng.integers(1, 9))
        ]
        found.append(judged(*steps, unit=f"u{i % 15}", correct=bool(rng.random() < 0.6)))
    return found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_against_plain_sums(seed):
    traces = random_traces(seed)
    found = group_of(traces)
    rates, wrong, all_wrong, silent, flat = [], [], [], [], []
    for t in traces:
        g, h, h_all, mine = [], [], [], []
        for s in t.steps:
            labels = [v.label for v in s.verdicts]
            known = [label for label in labels if label != "unverifiable"]
            mine += labels
            h_all.append("unsupported" in known)
            if known:
                g.append(known.count("supported") / len(known))
                h.append("unsupported" in known)
        if g:
            rates.append(sum(g) / len(g))
            wrong.append(sum(h) / len(h))
        all_wrong.append(sum(h_all) / len(h_all))
        flat += mine
        if mine:
            silent.append(mine.count("unverifiable") / len(mine))
    sgr = found.mean("sgr")
    assert sgr.value == pytest.approx(np.mean(rates))
    assert found.mean("hr").value == pytest.approx(np.mean(wrong))
    assert np.mean([trace_hr(t, of_all=True) for t in traces]) == pytest.approx(np.mean(all_wrong))
    assert unverifiable_share(found).value == pytest.approx(np.mean(silent))
    assert found.mean("unverifiable") == unverifiable_share(found)
    assert sgr.n == 15
    assert sgr.low < sgr.value < sgr.high
    cells = claims_table([found], BY).as_json()["rows"][0]
    for label in ("supported", "unsupported", "unverifiable"):
        assert cells[label] == flat.count(label)
    gap = np.mean([t.is_correct - trace_sgr(t) for t in traces if trace_sgr(t) is not None])
    assert accuracy_gap(found).value == pytest.approx(gap)
    assert -1 <= hr_against_sgr(found, 0).value <= 1


def test_hr_and_sgr_go_together_but_are_not_one():
    alike = group_of([judged(step(v), unit=f"u{i}") for i, v in enumerate([S, U, S, U, S, S])])
    assert hr_against_sgr(alike, 0).value == pytest.approx(1.0)
    assert 0.5 < hr_against_sgr(group_of(random_traces(3)), 0).value < 0.999


def test_the_profile_over_a_trace():
    falling = [judged(step(S), step(S), step(S), step(U), unit=f"u{i}") for i in range(6)]
    profile, decline = sgr_by_stage(group_of(falling))
    assert {stage: estimate.value for stage, estimate in profile.items()} == {
        "early": 1.0,
        "middle": 1.0,
        "late": 0.0,
    }
    assert decline.value == 1.0
    assert sgr_by_stage(group_of([judged(step(S), unit=f"u{i}") for i in range(3)]))[1] is None


@pytest.mark.parametrize("n", range(2, 13))
def test_first_and_last_quarter_are_mirror_images(n):
    """A trace told backwards has early and late exchanged."""
    for place in range(n):
        said = [step(S if i == place else U) for i in range(n)]
        one, other = (sgr_by_stage(group_of([judged(*steps)]))[0] for steps in (said, said[::-1]))
        assert [e and e.value for e in one.values()] == [e and e.value for e in reversed(other.values())]
    assert one["early"] is not None


def test_guesses_are_no_observations():
    ball = thing("a", "red", "ball", 10)
    claims = [Claim("entity", Mention("ball"), hedge="might"), Claim("entity", Mention("ball"))]
    verifier = open_verifier("annotation")
    assert [v.label for v in verdicts_on([claims], scene(ball), verifier)[0]] == ["unverifiable", "supported"]
    stated = verdicts_on([claims], scene(ball), verifier, hedges="as stated")
    assert [v.label for v in stated[0]] == ["supported", "supported"]


def test_a_trace_that_cannot_be_judged_is_counted():
    found = group_of(judge([Trace("gone", ())], {}, open_verifier("annotation")))
    assert (len(found.judged), found.whole, found.mean("sgr")) == (1, [], None)
    assert {score.reason for score in found.scores} == {"there is no episode 'gone'"}
    assert "the verifier failed on 1 of 1 traces" in " ".join(notes_of(found))


def test_lower_bounds_are_flagged():
    bare = JudgedTrace(Trace("u", (), is_lower_bound=True), (step(S),), "u", "test")
    assert "1 of 1 traces have no steps; SGR is a lower bound" in notes_of(group_of([bare]))[0]
    mixed = group_of([bare, judged(step(S)), judged(step(S))])
    assert "1 of 3 traces have no steps; their SGR is a lower bound" in notes_of(mixed)[0]


def notes_of(group):
    return main_tables([group], BY, title="", tau=0.8)[0].notes


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("left", "left", True),
        ("It is on the left.", "left", True),
        ("Step 1: A cup.\nStep 2: A box.\nFinal answer: It is on the left.", "left", True),
        ("top left", "top left", False),
        ("right", "right", False),
        ("", "", False),
        ("left or right", "", False),
    ],
)
def test_answers(text, answer, expected):
    episode = Episode("e", "?", (Frame(0.0),), answer="left", options=("left", "top left", "right"))
    trace = read_trace(text, episode)
    assert (trace.answer, bool(trace.unread)) == (answer, not answer)
    assert is_right_answer(trace.answer, episode.answer, has_options=True) is expected


@pytest.mark.parametrize(("is_there", "expected"), [(True, "unsupported"), (False, "supported")])
def test_absence_is_one_claim_about_the_whole_thing(is_there, expected):
    """ "No red cube" says neither that something is red nor that there is no cube at all."""
    objects = (thing("a", "blue", "cube", 10), *([thing("b", "red", "cube", 60)] if is_there else []))
    found = read("Step 1: There is no red cube.\nStep 2: There is a blue cube.", scene(*objects))
    assert [(str(c), v.label) for c, v in found.steps[0].counted()] == [("entity: not red cube", expected)]
    assert [(str(c), v.label) for c, v in found.steps[1].counted()] == [("entity: blue cube", "supported")]
