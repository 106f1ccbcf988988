"""Beliefs over time: equation 2 as written, and what it cannot see."""

from dataclasses import replace

import numpy as np
import pytest
from trace_world import claimed, navigation

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.types import Verdict, belief_log
from theodolite.instruments.trace.experiments.tau import LabelledPair, calibrate_tau
from theodolite.instruments.trace.experiments.verify import LoadedTraces, verify_tables
from theodolite.instruments.trace.formulas.tcs import (
    TAU,
    open_embedder,
    trace_contradictions,
    trace_tcs,
    trace_tcs_aware,
    transitions,
)
from theodolite.instruments.trace.score import TraceScoreOptions
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.worlds.episodes import FrameObject

VERIFIER = open_verifier("annotation")


class Fragile:
    """Judges by annotation, but cannot judge some episodes."""

    name = "fragile"

    def __init__(self, *fails_on):
        self.fails_on = fails_on

    def verify(self, claims, episode):
        if episode.id in self.fails_on:
            raise UsageError("the picture is broken")
        return VERIFIER.verify(claims, episode)


def test_an_episode_that_cannot_be_judged_fails_alone():
    one = navigation()
    other = replace(one, id="other")
    text = "Step 1 (frame 1): The red chair is on my left.\nStep 2 (frame 2): The red chair is on my left."
    traces = [claimed(text, one), claimed(text, other)]
    fragile = Fragile("other")
    loaded = LoadedTraces(traces, {"nav": one, "other": other})
    tables, problems = verify_tables(loaded, [fragile], TraceScoreOptions())
    assert [(problem.where, problem.reason) for problem in problems] == [
        ("other", "fragile: the picture is broken")
    ]
    alone, _ = verify_tables(LoadedTraces(traces[:1], {"nav": one}), [fragile], TraceScoreOptions())
    both = [next(t for t in some if t.name == "trace.consistency") for some in (tables, alone)]
    assert both[0].rows == both[1].rows


class Plain:
    """Judges single facts only, and credits whatever it is asked."""

    name = "plain"

    def __init__(self):
        self.asked = []

    def verify(self, claims, episode):
        self.asked += claims
        return [Verdict("supported") for _ in claims]


def test_what_a_verifier_cannot_judge_is_not_credited_in_transitions():
    episode, plain = navigation(), Plain()
    text = (
        "Step 1 (frame 1): There are at least two chairs.\nStep 2 (frame 2): There are at least two chairs."
    )
    (move,) = transitions(claimed(text, episode), episode, plain)
    assert not any(claim.kind == "count" for claim in plain.asked)
    assert (move.n_kept, move.n_unverifiable, move.n_justified) == (1, 1, 0)


def test_guesses_are_beliefs_if_they_are_judged_as_stated():
    episode = navigation()
    said = [
        f"Step {i} (frame {i}): The red chair {verb} on my left." for i, verb in ((1, "is"), (2, "may be"))
    ]
    trace = claimed("\n".join(said), episode)
    assert any(claim.hedge for claim in trace.steps[1].claims)
    (abstract,), (stated,) = (
        transitions(trace, episode, VERIFIER, hedges=h) for h in ("abstract", "as stated")
    )
    assert (abstract.n_kept, stated.n_kept) == (0, 1)
    plain = claimed("\n".join(said).replace("may be", "is"), episode)
    (move,) = transitions(plain, episode, VERIFIER)
    assert (stated.n_justified, stated.is_justified) == (move.n_justified, move.is_justified)


def test_the_papers_navigation_example():
    """After a turn left the chair is said to be "now on my right": equation 2 finds nothing wrong, the slots do."""
    episode = navigation()
    wrong = claimed(
        "Step 1 (frame 1): The red chair is on my left.\nStep 2 (frame 2): The red chair is now on my right.",
        episode,
    )
    move = transitions(wrong, episode, VERIFIER)[0]
    assert move.similarity > 0.9  # so the flip counts as a belief that stays
    assert move.is_justified  # and the evidence supports the old belief
    assert (move.n_changed, move.n_justified) == (1, 0)
    assert trace_tcs([move]) > 0.9
    assert trace_tcs_aware([move]) == 0.0
    assert trace_contradictions([move]) == 1.0
    right = claimed(
        "Step 1 (frame 1): The red chair is on my left.\nStep 2 (frame 2): The red chair is on my left.",
        episode,
    )
    assert trace_tcs_aware(transitions(right, episode, VERIFIER)) == 1.0


def test_a_change_that_is_right_beside_a_belief_that_stays_wrong_contradicts_nothing():
    table = FrameObject("t", "table", attributes={"colour": "blue"}, position_m=(4.0, 2.5, 0.0))
    here = navigation()
    frames = tuple(replace(frame, objects=(*frame.objects, table)) for frame in here.frames)
    episode = replace(here, frames=frames)
    said = (
        "Step 1 (frame 1): The red chair is on my right. The blue table is on my {}.\n"
        "Step 2 (frame 2): The red chair is on my left. The blue table is on my left."
    )
    for before, kept, wrongly in (("left", 1, 0), ("right", 0, 1)):
        told = claimed(said.format(before), episode)
        move = transitions(told, episode, VERIFIER)[0]
        assert (move.n_kept, move.n_changed, move.n_justified) == (kept, 2 - kept, 1)
        assert move.n_changed_wrongly == wrongly
        assert trace_contradictions([move]) == wrongly


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("The red chair is on my left.", "The red chair is on my right.", 0.969),
        ("The chair is left of the table.", "The table is left of the chair.", 0.993),
        ("The person is holding a bottle.", "The person is not holding a bottle.", 0.843),
    ],
)
def test_the_embeddings_are_those_of_the_real_model(first, second, expected):
    assert open_embedder().similarity([first], [second])[0] == pytest.approx(expected, abs=0.02)


def test_embeddings_are_kept_and_of_length_one():
    vectors = open_embedder().embed(["A cup.", "A book.", "A cup."])
    assert vectors.shape == (3, 384)
    assert (vectors[0] == vectors[2]).all()
    assert (vectors**2).sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_equation_2_by_hand():
    episode = navigation()
    text = "Step 1 (frame 1): The red chair is on my left.\nStep 2 (frame 2): A giraffe is on my left."
    trace_ = claimed(text, episode)
    move = transitions(trace_, episode, VERIFIER)[0]
    assert move.similarity < TAU
    assert move.is_justified is False  # the old belief still holds, so the change is not justified
    assert trace_tcs([move]) == 0.0
    above = transitions(trace_, episode, VERIFIER, tau=move.similarity - 0.01)[0]
    assert above.is_justified is True  # as a belief that stays, it is maintained


def test_what_is_believed_is_the_last_thing_said():
    texts = ("The red ball is left of the cube.", "The door is open.", "The cube is left of the red ball.")
    steps = claimed("\n".join(f"Step {i}: {t}" for i, t in enumerate(texts, 1)), navigation()).steps
    log = belief_log(steps)
    places = [{b.slot: b.value for b in state.held if b.slot[1] == "side"} for state in log]
    assert list(places[0]) == list(places[2])  # one slot, whichever way round it is said
    assert places[0] == places[1]
    assert set(places[0].values()) != set(places[2].values())


def test_one_step_has_no_transition():
    episode = navigation()
    assert transitions(claimed("Step 1: A chair.", episode), episode, VERIFIER) == []
    assert trace_tcs([]) is trace_tcs_aware([]) is trace_contradictions([]) is None


def test_tau_is_chosen_on_labelled_pairs():
    def pair(first, second, same):
        return LabelledPair(first=first, second=second, same=same)

    same = [
        pair("A red cup is on the table.", "There is a red cup on the table.", same=True),
        pair("He opens the door.", "The man opens the door.", same=True),
    ]
    changed = [
        pair("A red cup is on the table.", "The dog runs away.", same=False),
        pair("He opens the door.", "A blue car stops.", same=False),
    ]
    found = calibrate_tau(same * 3 + changed * 3)
    assert 0.2 < found.tau < 0.9
    assert found.accuracy.value == 1.0
    assert (found.n_same, found.n_changed) == (6, 6)
    with pytest.raises(UsageError, match="at least 4"):
        calibrate_tau(same)


class Alike:
    """An embedder that finds everything equally alike."""

    def __init__(self, value):
        self.value = value

    def similarity(self, first, second):
        return np.full(len(first), self.value)


@pytest.mark.parametrize(
    ("similarity", "before", "after", "justified"),
    [
        (0.9, "left", "left", True),  # a belief that stays, and holds
        (0.9, "right", "right", False),  # a belief that stays, and does not hold
        (0.5, "right", "left", True),  # a belief that was wrong, and was mended
        (0.5, "left", "left", False),  # a change of words without need
        (0.5, "left", "right", False),  # a change for the worse
        (0.5, "right", "right", False),  # wrong before and after
    ],
)
def test_every_case_of_equation_2(similarity, before, after, justified):
    episode = navigation()
    text = f"Step 1 (frame 1): The red chair is on my {before}.\nStep 2 (frame 2): The red chair is on my {after}."
    move = transitions(claimed(text, episode), episode, VERIFIER, embedder=Alike(similarity))[0]
    assert move.is_justified is justified
    assert move.similarity == similarity
