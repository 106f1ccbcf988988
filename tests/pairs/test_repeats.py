"""Requests that are made again, and the bound that follows from them."""

import random
from itertools import combinations

import pytest

from theodolite.answers import Answer
from theodolite.core.types import Item, Record, Request, Response, Truth
from theodolite.pairs import AnsweredPair, judge_looking
from theodolite.pairs.outcomes import (
    AGAIN,
    MIRROR,
    MOST_REPEATS,
    NATURAL,
    random_bound,
    repeated_pairs,
    with_repeats,
)
from theodolite.runs import Run, RunInfo


def items(n):
    for number in range(n):
        for condition in ("plain", "light"):
            request = Request.ask(f"Where? {number} {condition}")
            yield Item(
                f"{number}/{condition}",
                request,
                truth=Truth(condition=condition, cluster=f"p{number}"),
            )


def planned(n, **options):
    return list(with_repeats(items(n), lambda item: item.truth.is_plain, **options))


def test_the_first_plain_items_are_asked_again_at_the_end_as_other_requests():
    found = planned(40)
    assert [item.name for item in found[:80]] == [item.name for item in items(40)]
    assert [item.name for item in found[80:]] == [f"{n}/plain/again" for n in range(MOST_REPEATS)]
    first, again = found[0], found[80]
    assert first.request.messages == again.request.messages
    assert first.request.digest != again.request.digest  # no cache answers it
    assert again.truth.repeats == first.name


def test_a_log_has_one_answer_to_each_request_so_nothing_is_repeated(tmp_path):
    log = tmp_path / "answers.jsonl"
    log.write_text('{"picture": "a.png", "question": "Where?", "answer": "left"}\n')
    assert len(planned(3, model=f"replay:{log}")) == 6
    assert len(planned(3, model="scripted:oracle")) == 9


def test_a_run_keeps_repeats_apart_from_what_is_scored(tmp_path):
    said = {"1/plain/again": "Left"}  # another text, though it reads the same
    info = RunInfo(
        instrument="toy", model="m", identity="m", settings={"split": "aligned"}, seed=0, theodolite="0"
    )
    with Run.start(tmp_path / "run", info) as run:
        found = planned(3)
        run.plan(found)
        run.store.add(
            [
                (seq, None, Record(item.id, Response("answered", text=said.get(item.name, "left"))))
                for seq, item, _ in list(run.store.pending())
                if item.name != "2/plain/again"
            ]
        )
        assert [result.item.name for result in run.results()] == [item.name for item in items(3)]
        assert len(list(run.results(with_repeats=True))) == 9
        pairs = list(repeated_pairs(run))
    assert [(pair.item, pair.outcome, pair.cluster) for pair in pairs] == [
        ("0/plain", "kept", "p0"),
        ("1/plain", "changed", "p1"),
        ("2/plain", "lost", "p2"),
    ]
    assert {pair.edit for pair in pairs} == {AGAIN}
    assert {pair.split for pair in pairs} == {"aligned"}


def pairs_of(followed, n, *, changed=None, repeated=24):
    """Mirrored pairs of which a number is followed and the rest does not move; answers asked again change or not."""
    left, right = Answer("value", "left"), Answer("value", "right")
    found = [
        AnsweredPair(str(i), MIRROR, str(i), left, right if i < followed else left, "left", "right")
        for i in range(n)
    ]
    again = range(0 if changed is None else repeated)
    return found + [
        AnsweredPair(str(i), AGAIN, str(i), left, right if i < (changed or 0) else left, "", "")
        for i in again
    ]


def test_few_followed_pairs_prove_looking_only_if_answers_repeat():
    without, steady, unsteady = (
        judge_looking(pairs_of(40, 200, changed=changed)) for changed in (None, 0, 12)
    )
    assert without.bound == unsteady.bound == 0.25
    assert steady.bound == pytest.approx(0.069, abs=0.001)
    assert (without.standing, steady.standing) == ("not settled", "looks at times")
    assert steady.excluded
    assert not without.excluded


def test_repeats_are_no_neutral_pairs():
    shares = judge_looking(pairs_of(40, 48, changed=12))
    assert (shares.n_neutral, shares.kept) == (0, None)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_blind_strategy_beats_the_bound_of_a_group(k):
    """Random strategies over the answers of a group follow at most 1/k² of its pairs, the even one just as many."""
    draw = random.Random(k)
    for trial in range(500):
        weights = [1.0] * k if trial == 0 else [draw.expovariate(1) for _ in range(k + draw.randrange(2))]
        p = [weight / sum(weights) for weight in weights][:k]
        share = sum(p[i] * p[j] for i in range(k) for j in range(i)) / (k * (k - 1) / 2)
        assert share <= random_bound(grouped(k)) + 1e-12
        assert trial or share == pytest.approx(random_bound(grouped(k)))
    assert random_bound(grouped(k)) == pytest.approx(k**-2)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_nor_that_of_some_pairs_of_a_group(n):
    """A single pair of a group of four can be followed in a quarter of cases, whatever the others are."""
    draw = random.Random(n)
    for _ in range(40):
        some = draw.sample(grouped(4), n)
        bound, best = random_bound(some), 0.0
        for _ in range(400):
            weights = [draw.choice((0.0, draw.expovariate(1))) for _ in range(4)]
            total = sum(weights) or 1.0
            p = dict(zip("abcd", (weight / total for weight in weights), strict=True))
            best = max(best, sum(p[pair.gold] * p[pair.edited_gold] for pair in some) / n)
        assert 0.8 * bound < best <= bound + 1e-12
    assert n > 1 or bound == 0.25


def grouped(k):
    """All pairs among k pictures of one question."""
    said = Answer("value", "a")
    return [
        AnsweredPair("q", NATURAL, "p", said, said, first, second, group="q")
        for first, second in combinations("abcd"[:k], 2)
    ]
