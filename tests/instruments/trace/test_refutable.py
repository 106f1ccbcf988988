"""False claims made from annotations, what a verifier refutes of them, and the bounds of SGR."""

import pytest

from theodolite.instruments.trace.claims.types import Claim, Mention, Step, Trace, Verdict
from theodolite.instruments.trace.data.sources.star import read_star
from theodolite.instruments.trace.data.sources.teach import read_teach
from theodolite.instruments.trace.data.stories import story
from theodolite.instruments.trace.experiments.grounding import BY_STYLE, TraceGroup, main_tables
from theodolite.instruments.trace.experiments.robustness import refutation_table
from theodolite.instruments.trace.formulas.refutable import SWAPS, false_claims, refuted, trace_refutable
from theodolite.instruments.trace.formulas.sgr import trace_sgr, trace_sgr_bounds
from theodolite.instruments.trace.verifiers.judging import JudgedStep, JudgedTrace, open_verifier
from theodolite.worlds.episodes import Episode, Frame, FrameObject
from theodolite.worlds.stories import make_world

ANNOTATION = open_verifier("annotation")
S, U, X = Verdict("supported"), Verdict("unsupported"), Verdict("unverifiable", "occluded")


class Credulous:
    name = "credulous"

    def verify(self, claims, episode):
        return [S for _ in claims]


@pytest.mark.parametrize("world", ["video", "navigation", "instruction"])
def test_where_everything_is_annotated_every_false_claim_is_refuted(world):
    labels = [label for e in make_world(world, 2, seed=3) for _, label in refuted(e, ANNOTATION)]
    assert len(labels) > 60
    assert labels.count("supported") == 0
    assert trace_refutable(labels) > 0.97


def test_a_movement_made_on_the_way_is_not_taken_for_false():
    """Between two frames of a story several actions are done, and the poses show their sum."""
    stories = [story("instruction", number, seed=5) for number in range(20)]
    judged = [each for e in stories for each in refuted(e, ANNOTATION)]
    labels = [label for swap, label in judged if swap == "motion"]
    assert len(labels) > 20
    assert set(labels) == {"unsupported"}


def test_all_kinds_of_swaps_are_made():
    made = {
        each.swap
        for w in ("video", "navigation", "instruction")
        for e in make_world(w, 2, seed=3)
        for each in false_claims(e)
    }
    assert made == set(SWAPS)


@pytest.mark.parametrize(
    ("read", "folder", "options"), [(read_star, "star", {"video_fps": 30}), (read_teach, "teach_edh", {})]
)
def test_of_partly_annotated_data_some_is_refuted_and_nothing_false_is_credited(
    shared_data, read, folder, options
):
    episodes = read(shared_data / folder, **options).episodes[:12]
    table, problems = refutation_table(episodes, ANNOTATION)
    assert not problems
    rows = {row[0]: row for row in table.rows}
    assert rows["object"][1].value == 0  # an object that is not listed may be there
    everything = rows["any of these"]
    assert 0.3 < everything[1].value < 0.8
    assert everything[2].value == 0
    assert table.notes


def test_a_verifier_that_refutes_nothing_is_told():
    episodes = list(make_world("navigation", 1, seed=0))
    table, _ = refutation_table(episodes, Credulous())
    assert table.rows[-1][1].value == 0
    assert table.rows[-1][2].value == 1


def test_nothing_annotated_nothing_falsified():
    bare = Episode("e", "?", (Frame(0.0), Frame(1.0)))
    assert refuted(bare, ANNOTATION) == []
    assert trace_refutable([]) is None
    one = Episode("e", "?", (Frame(0.0, objects=(FrameObject("a", "cup"),)),), known={"objects": "partial"})
    assert {each.swap for each in false_claims(one)} == {"object"}


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
