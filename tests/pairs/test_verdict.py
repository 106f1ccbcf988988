"""The verdict on looking: every row of its table, and models of known reasoning."""

from dataclasses import replace

import numpy as np
import pytest

from bench import balance as bench
from theodolite.answers import Answer
from theodolite.pairs import AnsweredPair, judge_looking
from theodolite.pairs.balance import design_of
from theodolite.pairs.outcomes import AGAIN, EXCHANGE, LIGHT, MIRROR, MOVE_REFERENCE, REMOVE

SIDES = ("left", "right")


def answer(text):
    return {"": Answer("refused"), "?": Answer("unreadable")}.get(text) or Answer("value", text)


def pairs_of(model, n=60, *, edit=EXCHANGE, has_neutral=True, golds=SIDES, relation=""):
    """Pairs in both orders, from a function of picture (plain, edited, light), truth, number and generator."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        one, two = golds[:: 1 - 2 * (i % 2)]
        said = {
            name: answer(model(name, truth, i, rng))
            for name, truth in (("plain", one), ("edited", two), ("light", one))
        }
        about = {"relation": relation, "asked": (i, (i * 7919) % 1009)}
        found.append(
            AnsweredPair(f"{relation}{i}", edit, f"{i}", said["plain"], said["edited"], one, two, **about)
        )
        if has_neutral:
            found.append(
                AnsweredPair(f"{relation}{i}", LIGHT, f"{i}", said["plain"], said["light"], one, one)
            )
    return found


def other(truth):
    return SIDES[1 - SIDES.index(truth)]


def looks(_, truth, *__):
    return truth


def inverts(_, truth, *__):
    return other(truth)


def constant(*_):
    return "left"


def sometimes(share, otherwise=constant):
    return lambda name, truth, i, rng: truth if i % 20 < 20 * share else otherwise(name, truth, i, rng)


def names_wrongly(_, truth, *__):
    return {"right": "right", "under": "left"}[truth]


def jumpy(name, *_):
    rng = _[2]
    return "left" if name != "edited" or rng.random() < 0.5 else "right"


def remembers(name, truth, _, rng):
    return truth if name != "edited" else SIDES[rng.integers(2)]


def mumbles(_, __, i, ___):
    return "?" if i % 5 == 0 else "left"


def unsteady(name, _, i, __):
    return "left" if name == "plain" or i % 2 else "right"


def shouts(_, truth, *__):
    return str({"2": 5, "3": 7}[truth])


@pytest.mark.parametrize(
    ("standing", "pairs"),
    [
        ("not measured", []),
        ("refuses", pairs_of(lambda *_: "")),
        ("cannot be read", pairs_of(lambda *_: "?")),
        ("differs by relation", [*pairs_of(looks, relation="on"), *pairs_of(inverts, relation="beside")]),
        ("looks", pairs_of(looks)),
        ("looks, under a tenth", pairs_of(sometimes(0.05), n=800)),
        ("sometimes looks", pairs_of(sometimes(0.5))),
        ("looks at least sometimes", pairs_of(looks, n=20)),
        ("answers the other way round", pairs_of(inverts)),
        ("tells them apart, names them wrongly", pairs_of(names_wrongly, golds=("right", "under"))),
        ("tells them apart, names them wrongly", pairs_of(shouts, golds=("2", "3"))),
        ("changes with the picture, not with the truth", pairs_of(jumpy, n=200)),
        ("does not look", pairs_of(constant)),
        ("no looking found", pairs_of(constant, has_neutral=False)),
        ("not settled", pairs_of(constant, n=20)),
    ],
)
def test_every_row_of_the_table(standing, pairs):
    assert judge_looking(pairs).standing == standing


def test_a_proof_is_never_not_settled():
    for share in (0.15, 0.25, 0.4, 0.75, 0.95):
        for n in (60, 200):
            found = judge_looking(pairs_of(sometimes(share), n))
            assert (found.p_value <= 0.01) == (
                "looks" in found.standing and found.standing != "does not look"
            )


def test_29_pictures_are_needed_to_say_looks():
    assert [judge_looking(pairs_of(looks, n)).standing for n in (28, 29)] == [
        "looks at least sometimes",
        "looks",
    ]


def test_recognising_originals_is_not_looking():
    """A model that remembers every original, and guesses about edits, follows half of the pairs."""
    found = judge_looking(pairs_of(remembers, 200))
    assert found.is_proven
    assert found.standing != "looks"
    assert "remembering the original pictures" in found.not_excluded
    assert "remembering the original pictures" not in judge_looking(pairs_of(looks)).not_excluded


def test_removals_need_neutral_edits_to_exclude_who_recognises_them():
    def removed(model):
        return [
            replace(pair, gold="yes", edited_gold="no") if pair.edit is REMOVE else pair
            for pair in pairs_of(model, edit=REMOVE)
        ]

    detector = removed(lambda name, *_: "no" if name != "plain" else "yes")
    assert judge_looking(detector).standing != "looks"
    honest = removed(lambda name, *_: "no" if name == "edited" else "yes")
    found = judge_looking(honest)
    assert (found.standing, found.on_edits) == ("looks", None)
    assert "recognising edited pictures" in found.not_excluded


def test_mirror_images_are_answered_the_other_way_round_only_with_exchanged_roles():
    rows = pairs_of(inverts, edit=MIRROR, has_neutral=False)
    assert judge_looking(rows).standing != "answers the other way round"
    pictures = [
        replace(pair, pictures=(f"{i // 2}", f"{i // 2} m"), cluster=f"{i // 2}", question=f"{i % 2}")
        for i, pair in enumerate(rows)
    ]
    assert judge_looking(pictures).standing == "answers the other way round"


def test_a_mirrored_cue_is_no_relation_answered_the_other_way_round():
    pairs = [
        *pairs_of(looks, edit=MIRROR, relation="left"),
        *pairs_of(inverts, edit=MIRROR, relation="above"),
    ]
    assert judge_looking(pairs).standing != "differs by relation"


def test_lost_pairs_count_against_that_it_does_not_look():
    some = pairs_of(mumbles, n=100)
    assert judge_looking(some).standing == "not settled"


def test_answers_asked_again_are_no_neutral_edits():
    again = [AnsweredPair(f"{i}", AGAIN, f"{i}", answer("left"), answer("right"), "", "") for i in range(24)]
    found = judge_looking([*pairs_of(looks, has_neutral=False), *again])
    assert (found.standing, found.n_neutral, found.dependence) == ("looks", 0, None)


def test_a_strategy_is_excluded_only_by_the_edits_that_exclude_it():
    """A model that uses the place of the target alone follows mirror images, but not moves of the reference."""
    turned = pairs_of(looks, edit=MIRROR, has_neutral=False)
    moved = pairs_of(constant, edit=MOVE_REFERENCE, has_neutral=False)
    found = judge_looking([*turned, *moved])
    assert found.is_proven
    assert "blind answers" in found.excluded
    assert "the place of the target alone" in found.not_excluded
    found = judge_looking(pairs_of(looks, edit=MOVE_REFERENCE))
    assert "the place of the target alone" in found.excluded
    assert "the place of the reference alone" in found.not_excluded


def test_followed_minus_inverted_is_looking_whatever_the_orders():
    pairs = pairs_of(sometimes(0.5))
    found = judge_looking([pair for i, pair in enumerate(pairs) if i % 4 < 2 or i % 12 > 5])
    assert found.followed.value - found.inverted.value == pytest.approx(found.looking.value)


def test_dependence_is_paired_by_item():
    """The same items change under both edits, so the difference does not vary."""
    found = judge_looking(pairs_of(unsteady, 100))
    assert (found.dependence.value, found.dependence.high < 0.06) == (0, True)


def test_so_many_pictures_settle_it():
    few = judge_looking(pairs_of(constant, n=20))
    assert few.standing == "not settled"
    assert judge_looking(pairs_of(constant, n=few.pictures_to_settle)).standing == "does not look"
    assert judge_looking(pairs_of(constant, n=60)).pictures_to_settle is None


# Models that do not look, and mixtures (`bench.balance` runs a thousand studies of each).


@pytest.mark.parametrize("options", [2, 4])
@pytest.mark.parametrize("name", [name for name in bench.STRATEGIES if not name.startswith("remembers")])
def test_models_that_do_not_look_are_seldom_proven(name, options):
    study = replace(bench.FULL, options=options, has_neutral=False)
    draws = [study.draw(bench.STRATEGIES[name], bench.seeded(seed)) for seed in range(40)]
    proven = sum(design_of(pairs).balance(0).is_proven for pairs in draws)
    assert proven <= 3


@pytest.mark.parametrize(("name", "words", "study", "gap"), bench.GAPS)
def test_what_a_design_lacks_is_named(name, words, study, gap):
    named = []
    for seed in range(12):
        pairs = study.draw(bench.STRATEGIES[name], bench.seeded(seed))
        found = judge_looking(pairs)
        if found.p_value <= 0.01:
            named.append(gap in found.not_excluded)
            assert found.standing not in {"looks", "answers the other way round"} - (
                {"looks"} if gap == "the order of asking" else set()
            )
    assert named, f"{name}, {words}: never proven"
    assert all(named)


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("options", [2, 4])
def test_noise_on_a_looker_weakens(noise, options):
    study = replace(bench.FULL, options=options, n=100, has_neutral=False)
    truth = bench.of_answers(1 - noise, options)
    inside = 0
    for seed in range(20):
        found = design_of(study.draw(bench.per_answer(1 - noise), bench.seeded(seed))).interval()
        inside += found.low <= truth <= found.high
    assert inside >= 18
