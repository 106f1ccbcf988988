"""False claims made from annotations, what a verifier refutes of them, and the bounds of SGR."""

import pytest

from theodolite.core.types import content_hash
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Claim, Mention, Step, Trace, Verdict
from theodolite.instruments.trace.data.sources.star import read_star
from theodolite.instruments.trace.data.sources.teach import read_teach
from theodolite.instruments.trace.data.stories import story
from theodolite.instruments.trace.experiments.calibration import calibrate, calibration_table
from theodolite.instruments.trace.experiments.grounding import BY_STYLE, TraceGroup, main_tables
from theodolite.instruments.trace.experiments.verify import LoadedTraces, verify_tables
from theodolite.instruments.trace.formulas.refutable import (
    NOT_DRAWN,
    SWAPS,
    known_claims,
    known_of,
    trace_refutable,
)
from theodolite.instruments.trace.formulas.sgr import trace_sgr, trace_sgr_bounds
from theodolite.instruments.trace.score import TraceScoreOptions
from theodolite.instruments.trace.verifiers.judging import JudgedStep, JudgedTrace, open_verifier
from theodolite.worlds.episodes import Episode, Frame, FrameObject
from theodolite.worlds.stories import make_world

ANNOTATION = open_verifier("annotation")
S, U, X = Verdict("supported"), Verdict("unsupported"), Verdict("unverifiable", "occluded")


class Says:
    """Says the same of every claim."""

    def __init__(self, name, verdict):
        self.name = name
        self.verdict = verdict

    def verify(self, claims, episode):
        return [self.verdict for _ in claims]


class Coin:
    """Says what a coin says, which costs a request."""

    name = "coin"
    costs_requests = True

    def verify(self, claims, episode):
        return [S if content_hash([str(c), episode.id, c.frames])[0] < "8" else U for c in claims]


def verdicts(episode, *, is_true=False):
    """Return kinds and verdicts of the annotation on claims of known truth."""
    found = known_of([episode], ANNOTATION)[episode.id]
    return [(each.swap, label) for each, label in found if each.is_true == is_true]


@pytest.mark.parametrize("world", ["video", "navigation", "instruction"])
def test_where_everything_is_annotated_every_false_claim_is_refuted(world):
    episodes = list(make_world(world, 2, seed=3))
    labels = [label for e in episodes for _, label in verdicts(e)]
    assert len(labels) > 60
    assert labels.count("supported") == 0
    assert trace_refutable(labels) > 0.97
    true = [label for e in episodes for _, label in verdicts(e, is_true=True)]
    assert len(true) > 60
    assert true.count("supported") > 0.97 * len(true)


def test_a_movement_made_on_the_way_is_not_taken_for_false():
    """Between two frames of a story several actions are done, and the poses show their sum."""
    stories = [story("instruction", number, seed=5) for number in range(20)]
    labels = [label for e in stories for swap, label in verdicts(e) if swap == "motion"]
    assert len(labels) > 20
    assert set(labels) == {"unsupported"}


def test_all_kinds_of_claims_are_made_true_and_false():
    made = {
        (each.swap, each.is_true)
        for w in ("video", "navigation", "instruction")
        for e in make_world(w, 2, seed=3)
        for each in known_claims(e)
    }
    assert made == {(swap, is_true) for swap in SWAPS for is_true in (True, False)}


def test_no_claim_is_both_true_and_false():
    for world in ("video", "navigation", "instruction"):
        for episode in make_world(world, 2, seed=8):
            sides = {True: set(), False: set()}
            for each in known_claims(episode):
                sides[each.is_true].add(each.claim)
            assert not sides[True] & sides[False]


@pytest.mark.parametrize(
    ("read", "folder", "options"), [(read_star, "star", {"video_fps": 30}), (read_teach, "teach_edh", {})]
)
def test_of_partly_annotated_data_some_is_refuted_and_nothing_false_is_credited(
    shared_data, read, folder, options
):
    episodes = read(shared_data / folder, **options).episodes[:12]
    found = calibrate(ANNOTATION, episodes)
    assert not found.problems
    assert not found.fault
    kinds = found.rates_by_kind()
    assert kinds["object"].judged_false.value == 0  # an object that is not listed may be there
    assert found.rates.specificity.value == 1
    assert found.rates.sensitivity.value == 1
    assert 0.3 < found.rates.judged_false.value < 0.8
    assert found.rates.judged_true.value > 0.7
    assert any("is not tried" in note for note in calibration_table([found]).notes)


@pytest.mark.parametrize(
    ("verifier", "fault"),
    [
        (Says("credulous", S), "refutes nothing"),
        (Says("sceptic", U), "supports nothing"),
        (Says("silent", X), "judges nothing"),
        (Coin(), "may be a coin"),
        (ANNOTATION, ""),
    ],
)
def test_a_verifier_that_cannot_be_believed_is_named_before_the_numbers(verifier, fault):
    episodes = {e.id: e for e in make_world("navigation", 3, seed=0)}
    traces = with_claims([read_trace(str(e.meta["oracle"]), e) for e in episodes.values()])
    tables, _ = verify_tables(
        LoadedTraces(traces, episodes), [verifier], TraceScoreOptions(sentence_model="none")
    )
    named = [table for table in tables if table.name == "trace.fault"]
    assert bool(named) == bool(fault)
    if fault:
        assert tables[0].name == "trace.fault"
        assert named[0].rows[0][:2] == (verifier.name, fault)
    assert calibrate(verifier, list(episodes.values())).fault == fault


def test_a_verifier_that_costs_requests_is_tried_on_some_episodes():
    episodes = list(make_world("video", 25, seed=1))
    found = known_of(episodes, Coin())
    tried = [known for known in found.values() if known != NOT_DRAWN]
    assert 0 < len(tried) < len(episodes)
    assert 300 < sum(map(len, tried)) < 500
    assert calibrate(Coin(), episodes).n_episodes == len(tried)


def test_nothing_annotated_nothing_falsified():
    bare = Episode("e", "?", (Frame(0.0), Frame(1.0)))
    assert known_claims(bare) == []
    assert trace_refutable([]) is None
    one = Episode("e", "?", (Frame(0.0, objects=(FrameObject("a", "cup"),)),), known={"objects": "partial"})
    assert {each.swap for each in known_claims(one)} == {"object"}
    assert calibrate(ANNOTATION, [bare]).rates.sensitivity is None


def judged(*steps):
    claim = Claim("entity", Mention("cup"))
    made = tuple(Step("A cup.", (0,), "index", tuple(claim for _ in verdicts)) for verdicts in steps)
    trace = Trace("e", made)
    return JudgedTrace(
        trace, tuple(JudgedStep(s, v) for s, v in zip(made, steps, strict=True)), "e", "annotation"
    )


def test_bounds_of_sgr():
    assert trace_sgr_bounds(judged((S, U, X, X), (X,))) == (0.125, 0.875)
    assert trace_sgr(judged((S, U, X, X), (X,))) == 0.5
    assert trace_sgr_bounds(judged((S,), (U,))) == (0.5, 0.5)
    assert trace_sgr_bounds(judged((X, X))) == (0.0, 1.0)
    assert trace_sgr_bounds(judged(())) == (None, None)


def test_that_most_claims_cannot_be_judged_is_said_before_the_numbers():
    few = TraceGroup(("structured", "ood"), [], [judged((S, X, X))], [])
    tables = main_tables([few], BY_STYLE, title="t", tau=0.8)
    assert tables[0].name == "trace.caution"
    assert tables[0].rows[0][-2:] == (1, 3)
    many = TraceGroup(("structured", "ood"), [], [judged((S, U, X))], [])
    assert main_tables([many], BY_STYLE, title="t", tau=0.8)[0].name == "trace.grounding"
