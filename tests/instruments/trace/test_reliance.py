"""Edits of the pictures: a looker follows them, a fixed text does not, and noise changes everything alike."""

from dataclasses import replace

import numpy as np
import pytest
from trace_world import KNOWN, SIZE, group_of, thing

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Claim, Mention, Step, Trace, Verdict
from theodolite.instruments.trace.experiments.edits import reliance, sensitivity
from theodolite.instruments.trace.experiments.robustness import two_way_control, verbosity
from theodolite.instruments.trace.formulas.sgr import Counting
from theodolite.instruments.trace.formulas.vrs import EditedTraces, edited_pair, vrs_paper, vrs_sound
from theodolite.instruments.trace.verifiers.judging import JudgedStep, JudgedTrace, open_verifier
from theodolite.worlds.episodes import Episode, EpisodeEdit, Frame

VERIFIER = open_verifier("annotation")
COLOURS = ("red", "blue", "green", "yellow")


def episode(name, sides, colours, *, edit=None, cluster=""):
    """Four things around a box; each is left or right of it."""
    frames = []
    objects = [
        thing(f"o{i}", c, "ball", 5 + 2 * i if s == "left" else 70 + 2 * i, 5 + 12 * i)
        for i, (s, c) in enumerate(zip(sides, colours, strict=True))
    ]
    frames.append(Frame(0.0, None, SIZE, (*objects, thing("box", "grey", "box", 45))))
    return Episode(
        name,
        "?",
        tuple(frames),
        known=KNOWN,
        edit=edit,
        cluster=cluster,
        answer=sides[0],
        options=("left", "right"),
    )


def text(sides, colours=COLOURS):
    lines = [
        f"Step {i} (frame 1): The {c} ball is {s} of the box."
        for i, (s, c) in enumerate(zip(sides, colours, strict=True), 1)
    ]
    return "\n".join([*lines, f"Final answer: {sides[0]}"])


def claimed(said, where):
    return with_claims([read_trace(said, where)])[0]


def pairs(says, n=10, seed=0):
    """Per scene one relevant edit (half of the sides flipped) and one irrelevant one; `says` makes the traces."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        sides = [str(s) for s in rng.choice(["left", "right"], 4)]
        old = episode(f"s{i}", sides, COLOURS)
        flipped = [("left" if s == "right" else "right") if k < 2 else s for k, s in enumerate(sides)]
        for family, new_sides in (("position", flipped), ("irrelevant", sides)):
            new = episode(
                f"s{i}-{family}",
                new_sides,
                COLOURS,
                edit=EpisodeEdit(old.id, family, 0.5, ("o0", "o1")),
                cluster=old.id,
            )
            found.append(
                edited_pair(claimed(says(old, rng), old), claimed(says(new, rng), new), (old, new), VERIFIER)
            )
    return found


def looker(where, _):
    boxes = [o.box.x0 for o in where.frames[0].objects[:4]]
    return text(["left" if x < 45 else "right" for x in boxes])


def fixed(_, __):
    return text(["left", "right", "left", "right"])


def noise(_, rng):
    return text([str(s) for s in rng.choice(["left", "right"], 4)])


def test_a_looker_updates_what_was_edited_and_nothing_else():
    found = reliance(pairs(looker))
    assert found.updated.value == 1.0
    assert found.correctly_updated.value == 1.0
    assert found.changed.value == 0.0
    assert found.vrs_sound.value > 3
    assert found.vrs_paper.value == pytest.approx(10.0)  # 0.5/0.5 ÷ ε, clipped
    assert (found.n_relevant, found.n_irrelevant) == (10, 10)


def test_a_fixed_text_relies_on_nothing():
    found = reliance(pairs(fixed))
    assert found.vrs_sound.value == 0.0
    assert found.vrs_paper.value == 0.0


def test_noise_is_near_one():
    found = reliance(pairs(noise, n=120))
    assert found.vrs_sound.low < 1 < found.vrs_sound.high
    assert 0.6 < found.vrs_sound.value < 1.5


def test_the_sweep_holds_every_choice():
    found = reliance(pairs(looker))
    assert len(found.sweep) == 9
    assert found.sweep["ε=0.01, clip=5"] == 5.0
    assert found.sweep["ε=0.1, clip=20"] == pytest.approx(10.0)


def test_equation_4():
    drops, sizes, relevant = np.array([0.3, 0.1, 0.02]), np.array([0.5, 0.5, 1.0]), np.array([1.0, 1.0, 0.0])
    assert vrs_paper(drops, sizes, relevant, clip=100) == pytest.approx(0.4 / 0.03)
    assert vrs_paper(-drops, sizes, relevant, clip=100) == 0.0
    helped = np.array([0.3, 0.1, -0.5])
    assert vrs_paper(helped, sizes, relevant, clip=100) == pytest.approx(0.4 / 0.01)


def test_sound_reliance_by_hand():
    a, b, c, d = (np.array(v, float) for v in ([3, 1], [4, 4], [1, 0], [10, 9]))
    assert vrs_sound(a, b, c, d) == pytest.approx((4 / 8) / (1.5 / 20))


def test_table_3_by_both_truths():
    cells = {(c.family, c.truth): c for c in sensitivity(pairs(looker))}
    paper, sound = cells["position", "paper"], cells["position", "sound"]
    assert paper.delta_sgr.value == pytest.approx(-0.5)  # two of four sides no longer fit the old truth
    assert sound.delta_sgr.value == 0.0
    assert paper.p_sgr < 0.05
    assert paper.delta_accuracy.value == -1.0  # the first ball has changed sides
    assert sound.delta_accuracy.value == 0.0
    assert cells["irrelevant", "paper"].delta_sgr.value == 0.0
    assert cells["temporal", "paper"].delta_sgr is None
    assert {c.n for c in cells.values()} == {10, 0}
    guesser = {(c.family, c.truth): c for c in sensitivity(pairs(fixed))}
    assert guesser["position", "paper"].delta_sgr.value == 0.0


class Fragile:
    """Judges by annotation, but fails on some episodes after so many calls."""

    name = "fragile"

    def __init__(self, n_calls):
        self.n_calls = n_calls

    def verify(self, claims, episode):
        self.n_calls -= 1
        if self.n_calls < 0:
            raise UsageError("the picture is broken")
        return VERIFIER.verify(claims, episode)


def test_a_pair_that_cannot_be_judged_is_counted_apart():
    made = pairs(looker)
    old = episode("s", ["left"] * 4, COLOURS)
    new = replace(old, id="t", edit=EpisodeEdit("s", "position", 0.5, ("o0",)))
    said = claimed(text(["left"] * 4), old), claimed(text(["right"] * 4), new)
    whole = edited_pair(*said, (old, new), VERIFIER)
    assert (whole.failure, whole.n_unedited) == ("", 4)
    for n_calls in range(6):  # three judgements, and three times the facts
        broken = edited_pair(*said, (old, new), Fragile(n_calls))
        assert broken.failure == "the picture is broken"
        found = reliance([*made, broken])
        assert found.n_failed == 1
        assert replace(found, n_failed=0) == reliance(made)
        assert sensitivity([*made, broken]) == sensitivity(made)
    assert edited_pair(*said, (old, new), Fragile(6)) == replace(
        whole,
        **{
            side: replace(getattr(whole, side), verifier="fragile")
            for side in ("before", "after_old", "after_new")
        },
    )


def test_an_edit_is_needed():
    one = episode("s", ["left"] * 4, COLOURS)
    with pytest.raises(UsageError, match="not an edit"):
        edited_pair(
            claimed(text(["left"] * 4), one),
            claimed(text(["left"] * 4), one),
            (one, replace(one, id="t")),
            VERIFIER,
        )


def test_the_two_way_control():
    made = pairs(looker)
    visual = [(p.before, p.after_old) for p in made if p.edit.is_relevant]
    language = [(p.before, p.before) for p in made if p.edit.is_relevant]
    found = two_way_control(visual, language)
    assert found.visual_sgr.value == pytest.approx(-0.5)
    assert found.language_sgr.value == 0.0
    assert found.p_visual_falls_more < 0.01
    assert two_way_control(language, visual).p_visual_falls_more > 0.9
    assert group_of([before for before, _ in visual]).mean("sgr").value == 1.0


def scored_pair(i, family, sgr, right):
    """A pair of which only SGR (before, after) and right answers are told."""

    def judged(rate, is_correct):
        marks = [Verdict("supported" if k < round(10 * rate) else "unsupported") for k in range(10)]
        claims = tuple(Claim("entity", Mention(f"thing{k}")) for k in range(10))
        step = Step("…", (0,), claims=claims)
        return JudgedTrace(
            Trace(f"e{i}", (step,)), (JudgedStep(step, tuple(marks)),), f"e{i}", "test", is_correct
        )

    before, after = (judged(g, a) for g, a in zip(sgr, right, strict=True))
    return EditedTraces(before, after, after, EpisodeEdit(f"e{i}", family, 0.5, ()), 0, 0, 0, 0, 0)


def test_answers_that_change_to_and_fro_are_no_fall():
    """SGR falls by .3 everywhere; accuracy goes up as often as down."""
    made = [scored_pair(i, "position", (0.9, 0.6), (i % 2 == 0, i % 2 == 1)) for i in range(80)]
    made += [scored_pair(90 + i, "position", (0.9, 0.6), (None, None)) for i in range(5)]
    cell = sensitivity(made)[0]
    assert (cell.delta_sgr.value, cell.delta_accuracy.value) == (pytest.approx(-0.3), 0.0)
    assert cell.p_sgr_falls_more < 0.05
    assert (cell.n, cell.n_sgr, cell.n_accuracy) == (85, 85, 80)
    falls = [scored_pair(i, "position", (0.9, 0.8), (True, i % 2 == 0)) for i in range(40)]
    assert sensitivity(falls)[0].p_sgr_falls_more > 0.9


def test_guesses_and_claims_reach_what_edits_do():
    old = episode("s", ["left"] * 4, COLOURS)
    new = episode("t", ["right"] * 4, COLOURS, edit=EpisodeEdit("s", "position", 0.5, ("o0",)))
    said = [
        claimed("Step 1 (frame 1): The red ball might be left of the box.", old),
        claimed("Step 1 (frame 1): The red ball might be right of the box.", new),
    ]
    guess, stated = (edited_pair(*said, (old, new), VERIFIER, hedges=h) for h in ("abstract", "as stated"))
    assert all(step.step.claims for step in stated.before.steps)
    assert {v.label for s in guess.before.steps for _, v in s.counted()} == {"unverifiable"}
    assert "unverifiable" not in {v.label for s in stated.before.steps for _, v in s.counted()}
    assert (guess.n_edited, stated.n_edited, stated.n_updated) == (0, 1, 1)


def test_every_small_claim_counts_where_it_is_asked_for():
    made = pairs(looker, n=12)
    whole, every = (reliance(made, how=Counting(granularity=g)).sweep for g in ("whole", "every"))
    assert whole != every
    cells = [sensitivity(made, how=Counting(granularity=g))[0].delta_sgr.value for g in ("whole", "every")]
    assert abs(cells[1]) < abs(cells[0])  # the things themselves are still there
    visual = [(p.before, p.after_old) for p in made if p.edit.is_relevant]
    falls = [
        two_way_control(visual, visual, how=Counting(granularity=g)).visual_sgr.value
        for g in ("whole", "every")
    ]
    assert falls == cells
    short = [
        verbosity([p.before for p in made], how=Counting(granularity=g)).claims_per_step
        for g in ("whole", "every")
    ]
    assert short[0] < short[1]  # the same in every trace, so without an interval
