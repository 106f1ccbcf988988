"""The reference verifier, on scenes whose truth is plain."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_world import KNOWN, SIZE, thing

from theodolite.core.errors import UsageError
from theodolite.geometry import Box
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Claim, Mention
from theodolite.instruments.trace.experiments.calibration import calibrate, calibration_table
from theodolite.instruments.trace.formulas.refutable import gap_claims
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.worlds.episodes import EGO, Action, Episode, Frame, FrameObject, Pose, Relation

VERIFIER = open_verifier("annotation")


def scene(*objects, frames=1, known=None, **more):
    shown = tuple(Frame(float(t), None, SIZE, tuple(objects)) for t in range(frames))
    return Episode("e", "?", shown, known=KNOWN | (known or {}), **more)


def judged(claim, episode):
    verdict = VERIFIER.verify([claim], episode)[0]
    return verdict.label, verdict.reason, verdict.truth


RED, BLUE = thing("a", "red", "ball", 10), thing("b", "blue", "cube", 70)


@pytest.mark.parametrize(
    ("claim", "label", "truth"),
    [
        (Claim("entity", Mention("ball")), "supported", "present"),
        (Claim("entity", Mention("sphere")), "supported", "present"),  # a synonym
        (Claim("entity", Mention("cone")), "unsupported", "absent"),
        (Claim("entity", Mention("cone"), is_negated=True), "supported", "absent"),
        (Claim("entity", Mention("ball", ("green",))), "unsupported", "absent"),
        (Claim("attribute", Mention("ball"), "red"), "supported", "red"),
        (Claim("attribute", Mention("ball"), "green"), "unsupported", "red"),
        (Claim("attribute", Mention("cone"), "green"), "unsupported", "absent"),
        (Claim("count", Mention("ball"), "1"), "supported", "1"),
        (Claim("count", Mention("ball"), "2"), "unsupported", "1"),
        (Claim("spatial", Mention("ball"), "left of", Mention("cube")), "supported", "left of"),
        (Claim("spatial", Mention("cube"), "left of", Mention("ball")), "unsupported", "right of"),
        (Claim("spatial", Mention("ball"), "left of", Mention("picture")), "supported", "left of"),
        (Claim("spatial", Mention("cube"), "left of", Mention("i")), "unsupported", "right of"),
        (Claim("spatial", Mention("ball", ("blue",)), "left of", Mention("cube")), "unsupported", "absent"),
        (
            Claim("spatial", Mention("ball"), "left of", Mention("cube"), is_negated=True),
            "unsupported",
            "left of",
        ),
    ],
)
def test_what_two_boxes_tell(claim, label, truth):
    assert judged(claim, scene(RED, BLUE)) == (label, None, truth)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (Claim("entity", Mention("it")), "unclear"),
        (Claim("entity", Mention("purpose")), "abstract"),
        (Claim("entity", Mention("floor")), "out of vocabulary"),
        (Claim("attribute", Mention("ball"), "wooden"), "out of vocabulary"),
        (Claim("state", Mention("ball"), "open"), "out of vocabulary"),
        (Claim("spatial", Mention("ball"), "above", Mention("cube")), "unclear"),  # on one level
        (Claim("action", Mention("ball"), "think"), "abstract"),
        (Claim("temporal", Mention("ball", verb="roll"), "then"), "complex"),
        (Claim("ego-motion", Mention("i"), "turn left"), "out of vocabulary"),
    ],
)
def test_what_cannot_be_judged_says_why(claim, reason):
    known = {"actions": "none"} if claim.kind == "ego-motion" else {}
    assert judged(claim, scene(RED, BLUE, known=known))[:2] == ("unverifiable", reason)


def test_absence_refutes_only_where_all_is_listed():
    partly = scene(RED, known={"objects": "partial"}, vocabulary={"objects": ("ball", "cone")})
    assert judged(Claim("entity", Mention("cone")), partly)[:2] == ("unverifiable", "low recall")
    assert judged(Claim("entity", Mention("giraffe")), partly)[:2] == ("unverifiable", "out of vocabulary")
    assert judged(Claim("count", Mention("ball"), "3"), partly)[:2] == ("unverifiable", "low recall")
    hidden = scene(replace(RED, is_visible=False), known={"objects": "partial"})
    assert judged(Claim("entity", Mention("ball")), hidden)[:2] == ("unverifiable", "occluded")
    assert judged(Claim("entity", Mention("ball")), scene(replace(RED, is_visible=False)))[0] == "unsupported"


def test_only_the_frames_of_the_claim_count():
    frames = (Frame(0.0, None, SIZE, (RED,)), Frame(1.0, None, SIZE, (BLUE,)))
    episode = Episode("e", "?", frames, known=KNOWN)
    ball = Claim("entity", Mention("ball"))
    assert judged(replace(ball, frames=(0,)), episode)[0] == "supported"
    assert judged(replace(ball, frames=(1,)), episode)[0] == "unsupported"
    assert judged(replace(ball, frames=(0, 1)), episode)[0] == "supported"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 85), st.integers(0, 85), st.integers(0, 45), st.integers(0, 45))
def test_left_and_right_exclude_each_other(x0, x1, y0, y1):
    a, b = replace(RED, box=Box(x0, y0, x0 + 10, y0 + 10)), replace(BLUE, box=Box(x1, y1, x1 + 10, y1 + 10))
    found = {
        relation: judged(Claim("spatial", Mention("ball"), relation, Mention("cube")), scene(a, b))[0]
        for relation in ("left of", "right of", "above", "below")
    }
    for first, second, gap, full in (("left of", "right of", x1 - x0, 100), ("above", "below", y1 - y0, 60)):
        if abs(gap) / full <= 0.02:
            assert found[first] == found[second] == "unverifiable"
        else:
            assert found[first] == ("supported" if gap > 0 else "unsupported")
            assert found[second] == ("supported" if gap < 0 else "unsupported")


def posed(*poses, position=(0.0, 5.0, 0.0)):
    chair = FrameObject("c", "chair", is_visible=False, position_m=position)
    frames = tuple(Frame(float(t), None, None, (chair,), pose=pose) for t, pose in enumerate(poses))
    return Episode("e", "?", frames, known={"objects": "complete", "poses": "complete"})


@pytest.mark.parametrize(
    ("heading", "truth"),
    [(0, "in front of"), (90, "left of"), (-90, "right of"), (180, "behind"), (250, "right of")],
)
def test_bearings_tell_sides(heading, truth):
    episode = posed(Pose(0, 0, heading_deg=heading))
    assert judged(Claim("spatial", Mention("chair"), truth, Mention("i")), episode)[0] == "supported"
    for other in {"left of", "right of"} - {truth}:
        claim = Claim("spatial", Mention("chair"), other, Mention("i"))
        expected = "unverifiable" if truth in {"in front of", "behind"} else "unsupported"
        assert judged(claim, episode)[0] == expected


@pytest.mark.parametrize(
    ("after", "right", "wrong"),
    [
        (Pose(0, 0, heading_deg=-30), "turn left", "turn right"),
        (Pose(0, 0, heading_deg=30), "turn right", "turn left"),
        (Pose(0, 1), "move forward", "move backward"),
        (Pose(0, -1), "move backward", "move forward"),
        (Pose(0, 0), "stop", "move forward"),
        (Pose(0, 0, heading_deg=170), "turn around", "turn left"),
        (Pose(0, 0, pitch_deg=20), "look up", "look down"),
        (Pose(0, 1, 1), "go up", "go down"),
    ],
)
def test_poses_tell_movements(after, right, wrong):
    episode = posed(Pose(0, 0), after)
    claim = Claim("ego-motion", Mention("i"), right, frames=(0,))
    assert judged(claim, episode)[0] == "supported"
    assert judged(replace(claim, predicate=wrong), episode)[0] == "unsupported"
    assert judged(replace(claim, frames=(1,)), episode)[0] == "supported"  # the last frame: the way to it


def test_actions_relations_and_their_order():
    person, cup, book = (
        FrameObject(i, c) for i, c in (("p", "person"), ("c", "cup/glass/bottle"), ("k", "book"))
    )
    frames = tuple(
        Frame(
            float(t),
            None,
            SIZE,
            (person, cup, book),
            (Relation("p", "holding", "k"),) if t == 2 else (),
        )
        for t in range(4)
    )
    actions = (Action("pick up", "p", ("c",), 0.0, 0.9), Action("throw", "p", ("k",), 2.5, 2.9))
    episode = Episode(
        "e",
        "?",
        frames,
        actions=actions,
        known={"objects": "complete", "actions": "complete", "relations": "complete"},
    )

    def says(verb, what, *at, who="person"):
        return judged(Claim("action", Mention(who), verb, Mention(what), frames=at), episode)[0]

    assert says("pick up", "cup", 0) == "supported"
    assert says("take", "bottle", 0) == "supported"
    assert says("put down", "cup", 0) == "unsupported"
    assert says("pick up", "cup", 3) == "unsupported"
    assert says("pick up", "book", 0) == "unsupported"
    assert says("hold", "book", 2) == "supported"
    assert says("hold", "book", 1) == "unsupported"
    assert says("pick up", "mug", 0) == "unverifiable"  # a mug is a narrower word than the label
    assert says("pick up", "cup", 0, who="man") == "unverifiable"
    assert says("put down", "cup", 0, who="man") == "unsupported"
    assert says("carry", "book", 2) == "unsupported"
    pick, throw = (
        Mention("person", verb="pick up", object="cup"),
        Mention("person", verb="throw", object="book"),
    )
    for first, order, second, expected in (
        (pick, "before", throw, "supported"),
        (throw, "before", pick, "unsupported"),
        (throw, "after", pick, "supported"),
        (pick, "while", throw, "unsupported"),
        (pick, "before", Mention("person", verb="dance"), "unsupported"),
    ):
        assert judged(Claim("temporal", first, order, second), episode)[0] == expected


def test_own_logged_movements():
    episode = Episode(
        "e",
        "?",
        (Frame(0.0), Frame(1.0)),
        actions=(Action("turn left", EGO, (), 0.0, 0.5),),
        known={"actions": "complete"},
    )
    assert judged(Claim("ego-motion", Mention("i"), "turn left", frames=(0,)), episode)[0] == "supported"
    assert judged(Claim("ego-motion", Mention("i"), "turn right", frames=(0,)), episode)[2] == "turn left"


def test_states_change():
    shut = FrameObject("d", "door", states={"open": False})
    frames = (
        Frame(0.0, objects=(shut,)),
        Frame(1.0, objects=(replace(shut, states={"open": True}),)),
    )
    episode = Episode("e", "?", frames, known={"objects": "complete", "states": "complete"})
    for word, frame, expected in (
        ("closed", 0, "supported"),
        ("open", 0, "unsupported"),
        ("open", 1, "supported"),
    ):
        assert judged(Claim("state", Mention("door"), word, frames=(frame,)), episode)[0] == expected


def test_unknown_verifiers_and_options_are_refused():
    with pytest.raises(UsageError, match="no verifier"):
        open_verifier("anotation")
    with pytest.raises(UsageError, match="no option but closed-world"):
        open_verifier("annotation:fast")


@pytest.mark.parametrize("word", ["picture", "photo"])
def test_the_picture_itself_is_no_thing_in_it(word):
    """*There is a ball in the picture*: that there is a picture is neither borne out nor refuted."""
    claim = Claim("entity", Mention(word))
    assert judged(claim, scene(RED)) == ("unverifiable", "abstract", "")
    listed = FrameObject("p", "picture", Box(0, 0, 5, 5))
    assert judged(claim, scene(RED, listed)) == ("supported", None, "present")
    said = with_claims([read_trace(f"Step 1: There is a ball in the {word}.", scene(RED))])
    found = judge(said, {"e": scene(RED)}, VERIFIER)[0]
    assert "unsupported" not in {verdict.label for step in found.steps for verdict in step.verdicts}


# Closed world, and one word for all people.


def _partial(*labels, vocabulary=()):
    frames = tuple(
        Frame(float(t), objects=tuple(FrameObject(f"{label}-1", label) for label in there))
        for t, there in enumerate(labels)
    )
    words_known = {"objects": tuple(vocabulary)} if vocabulary else {}
    return Episode("partial", "?", frames, known={"objects": "partial"}, vocabulary=words_known)


def test_in_a_closed_world_what_is_not_listed_is_refuted():
    episode = _partial(("cup",), ("cup",))
    claims = [Claim("entity", Mention("cup")), Claim("entity", Mention("dog"))]
    open_, closed = open_verifier("annotation"), open_verifier("annotation:closed-world")
    assert [v.label for v in open_.verify(claims, episode)] == ["supported", "unverifiable"]
    assert [v.label for v in closed.verify(claims, episode)] == ["supported", "unsupported"]
    assert closed.name == "annotation:closed-world"
    bare = Episode("bare", "?", (Frame(0.0),))
    assert {v.label for v in closed.verify(claims, bare)} == {"unverifiable"}  # nothing is annotated at all
    with pytest.raises(UsageError, match="closed-world"):
        open_verifier("annotation:open")


def test_what_a_closed_world_refutes_wrongly_is_measured():
    episode = _partial(("cup", "book"), ("book",), ("cup", "book"))
    assert [str(c) for c in gap_claims(episode)] == ["entity: cup"]
    closed, open_ = (
        calibrate(open_verifier(f"annotation{mode}"), [episode]) for mode in (":closed-world", "")
    )
    assert (closed.gaps.value, open_.gaps.value) == (1.0, 0.0)
    assert any("100% are refuted" in note for note in calibration_table([closed]).notes)
    assert not any("are refuted there" in note for note in calibration_table([open_]).notes)
    whole = replace(episode, known={"objects": "complete"})
    assert gap_claims(whole) == []


@pytest.mark.parametrize("said", ["man", "woman", "boy", "person", "he", "she"])
def test_where_one_word_covers_all_people_it_supports_them(said):
    claim = Claim("entity", Mention(said))
    one = _partial(("person", "cup"), vocabulary=("person", "cup"))
    assert VERIFIER.verify([claim], one)[0].label == "supported"
    several = _partial(("woman", "cup"), vocabulary=("woman", "man", "cup"))
    is_plain = said in {"woman", "person"}
    assert (VERIFIER.verify([claim], several)[0].label == "supported") == is_plain
    unknown = _partial(("person", "cup"))
    assert (VERIFIER.verify([claim], unknown)[0].label == "supported") == (said == "person")


def test_he_is_no_one_where_two_are_listed():
    frame = Frame(0.0, objects=(FrameObject("p-1", "person"), FrameObject("p-2", "person")))
    two = Episode("two", "?", (frame,), known={"objects": "partial"}, vocabulary={"objects": ("person",)})
    assert VERIFIER.verify([Claim("entity", Mention("he"))], two)[0].reason == "unclear"
