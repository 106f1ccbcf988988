"""The order of asking: shuffled by the run's seed, the same when a run is resumed, and stored with every record."""

import asyncio
import itertools
from dataclasses import replace

import numpy as np
import pytest

from plans import Counting, items
from theodolite.core.errors import DamageWarning
from theodolite.core.types import Item, Picture, Record, Request, Response, Truth
from theodolite.pairs.outcomes import LIGHT, MIRROR, answered_pairs
from theodolite.runs import (
    AnswerCache,
    EngineOptions,
    LocalEngine,
    MeasureOptions,
    Run,
    RunSettings,
    measure,
    measure_run,
    verify_run,
)
from theodolite.runs import run as runs_module
from theodolite.stats import binomial_test

EDITS = ("mirror", "light")


def families(n, start=0):
    """Questions about pictures as they are, mirrored and brighter, in this order."""
    for i in range(start, start + n):
        for condition in ("plain", *EDITS):
            edit = {"mirror": MIRROR.name, "light": LIGHT.name}.get(condition, "")
            truth = Truth(
                ("right" if condition == "mirror" else "left",),
                subject=f"q{i}",
                condition=condition,
                edit=edit,
                base=f"q{i}/plain" if edit else "",
            )
            yield Item(f"q{i}/{condition}", Request.ask(f"where, {i} {condition}?"), truth=truth)


def settings(seed=0):
    return RunSettings("test", "test:x", seed)


def order_of(folder, plan, *, seed=0, measurer=None, **more):
    measurer = measurer or Counting()
    measure_run(folder, settings(seed), lambda _: plan, measurer, **more)
    return measurer.asked


def places(folder):
    with Run.open(folder) as run:
        return {
            result.item.name: result.record.place for result in run.results() if result.record is not None
        }


def test_the_order_is_a_permutation_of_the_plan_that_depends_on_the_seed(tmp_path):
    plan = list(families(100))
    names = [item.name for item in plan]
    orders = [order_of(tmp_path / str(seed), plan, seed=seed) for seed in range(3)]
    assert order_of(tmp_path / "again", plan, seed=0) == orders[0]
    for order in orders:
        assert order != names
        assert sorted(order) == sorted(names)
    for one, other in itertools.combinations(orders, 2):
        assert one != other


@pytest.mark.parametrize("seed", range(3))
def test_originals_are_asked_before_their_edits_about_half_of_the_time(tmp_path, seed):
    order_of(tmp_path, list(families(300)), seed=seed)
    with Run.open(tmp_path) as run:
        pairs = list(answered_pairs(run))
    assert len(pairs) == 600
    for edit in EDITS:
        first = [pair.asked[0] < pair.asked[1] for pair in pairs if pair.edit.name == edit]
        assert binomial_test(sum(first), len(first), probability=0.5).p_value > 0.001


def test_places_are_the_order_in_which_requests_were_made_over_all_sessions(tmp_path):
    plan, asked = list(families(20)), []
    for limit in (7, 30, None):
        measurer = Counting()
        asked += order_of(tmp_path, plan, measurer=measurer, limit=limit)
        assert set(asked) >= {item.name for item in plan[:limit]}
    found = places(tmp_path)
    assert sorted(found, key=found.__getitem__) == asked
    assert sorted(found.values()) == list(range(1, 61))


def test_a_limit_asks_the_first_items_of_the_plan_in_shuffled_order(tmp_path):
    plan = list(families(40))
    order = order_of(tmp_path, plan, limit=30)
    assert sorted(order) == sorted(item.name for item in plan[:30])
    assert order != [item.name for item in plan[:30]]


@pytest.mark.parametrize("batch_size", [1, 4])
def test_killed_and_resumed_the_rest_follows_in_the_same_order(tmp_path, batch_size):
    class Killed(Counting):
        def measure(self, items):
            if len(self.asked) >= 24:
                raise KeyboardInterrupt
            return super().measure(items)

    plan, killed, again = list(families(20)), Killed(batch_size), Counting(batch_size)
    whole = order_of(tmp_path / "whole", plan)
    with pytest.raises(KeyboardInterrupt):
        order_of(tmp_path / "killed", plan, measurer=killed)
    order_of(tmp_path / "killed", plan, measurer=again)
    assert killed.asked + again.asked == whole
    assert places(tmp_path / "killed") == places(tmp_path / "whole")


def test_a_plan_that_grows_keeps_the_order_of_what_was_planned(tmp_path):
    plan = list(families(30))
    short = order_of(tmp_path / "short", plan[:45])
    long = order_of(tmp_path / "long", plan)
    known = {item.name for item in plan[:45]}
    assert [name for name in long if name in known] == short


def test_what_failed_is_asked_again_at_a_later_place(tmp_path):
    class Broken(Counting):
        def measure(self, items):
            super().measure(items)
            return [Record(item.id, Response.failed("not today")) for item in items]

    order_of(tmp_path, items(5), measurer=Broken())
    order_of(tmp_path, items(5))
    assert sorted(places(tmp_path).values()) == [6, 7, 8, 9, 10]


def test_requests_to_a_server_are_numbered_as_they_start(tmp_path):
    class Server(Counting):
        started: list[str] = []  # noqa: RUF012

        async def check(self): ...

        async def measure_one(self, item):
            self.started.append(item.name)
            await asyncio.sleep(0.001 * (len(self.started) % 5))
            return self.measure([item])[0]

        async def aclose(self): ...

    server = Server(batch_size=4)
    order_of(tmp_path, items(30), measurer=server)
    found = places(tmp_path)
    assert server.asked != server.started  # they end in another order
    assert sorted(found, key=found.__getitem__) == server.started


def test_a_measurer_that_asks_a_batch_in_another_order_says_so(tmp_path):
    class Backwards(Counting):
        def measure(self, items):
            records = super().measure(items[::-1])[::-1]
            return [replace(record, place=len(items) - i) for i, record in enumerate(records)]

    asked = order_of(tmp_path, items(30), measurer=Backwards())
    found = places(tmp_path)
    assert sorted(found, key=found.__getitem__) == asked
    assert sorted(found.values()) == list(range(1, 31))


def test_a_place_that_is_no_number_fails(tmp_path):
    class Odd(Counting):
        def measure(self, items):
            return [replace(record, place="first") for record in super().measure(items)]

    assert measure_run(tmp_path, settings(), lambda _: items(2), Odd()).failed == 2


# Answers from a cache: for all of a family, or for none.


def asked_with_cache(folder, plan, home, *, seed=1, **more):
    return set(order_of(folder, plan, seed=seed, options=EngineOptions(cache=home), **more))


@pytest.mark.parametrize("cached", [("plain",), ("mirror",), ("plain", "mirror")])
def test_a_family_that_is_only_partly_cached_is_asked_again(tmp_path, cached):
    plan = list(families(10))
    known = [item for item in plan if item.truth.condition in cached]
    assert asked_with_cache(tmp_path / "one", known, tmp_path / "cache") == {item.name for item in known}
    assert asked_with_cache(tmp_path / "two", plan, tmp_path / "cache") == {item.name for item in plan}
    with Run.open(tmp_path / "two") as run:
        assert all(pair.asked and not pair.is_half_reused for pair in answered_pairs(run))


def test_whole_families_are_reused_and_the_others_asked(tmp_path):
    plan = list(families(10))
    asked_with_cache(tmp_path / "one", plan[:15], tmp_path / "cache")
    asked = asked_with_cache(tmp_path / "two", plan, tmp_path / "cache")
    assert asked == {item.name for item in plan[15:]}
    found = places(tmp_path / "two")
    assert {name for name, place in found.items() if place is None} == {item.name for item in plan[:15]}
    with Run.open(tmp_path / "two") as run:
        pairs = list(answered_pairs(run))
    assert sum(pair.asked is None for pair in pairs) == 10
    assert not any(pair.is_half_reused for pair in pairs)


def test_a_repeated_request_belongs_to_the_family_of_the_first(tmp_path):
    first, again = (Item(f"q/{name}", Request.ask(f"where? {name}")) for name in ("plain", "again"))
    again = replace(again, truth=Truth(repeats="q/plain"))
    asked_with_cache(tmp_path / "one", [first], tmp_path / "cache")
    assert asked_with_cache(tmp_path / "two", [first, again], tmp_path / "cache") == {"q/plain", "q/again"}


def test_a_family_that_was_begun_without_the_cache_is_ended_without_it(tmp_path):
    plan = list(families(8))
    asked_with_cache(tmp_path / "one", plan, tmp_path / "cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnswerCache, "get", lambda *_: None)
        begun = asked_with_cache(tmp_path / "two", plan, tmp_path / "cache", limit=10)
    assert begun == {item.name for item in plan[:10]}
    ended = asked_with_cache(tmp_path / "two", plan, tmp_path / "cache")
    assert ended == {item.name for item in plan[10:12]}  # the rest of the family that was begun


def test_a_limit_does_not_divide_a_family_between_cache_and_model(tmp_path):
    plan = list(families(4))
    asked_with_cache(tmp_path / "one", plan[:4], tmp_path / "cache")
    assert asked_with_cache(tmp_path / "two", plan, tmp_path / "cache", limit=4) == {"q1/plain"}


def test_a_pair_that_is_half_from_a_cache_is_told(tmp_path):
    """As when the plan gets an edit after its original was taken from the cache."""
    plan = list(families(3))
    originals = [item for item in plan if item.truth.is_plain]
    asked_with_cache(tmp_path / "one", originals, tmp_path / "cache")
    assert not asked_with_cache(tmp_path / "two", originals, tmp_path / "cache")
    asked_with_cache(tmp_path / "two", plan, tmp_path / "cache")
    with Run.open(tmp_path / "two") as run:
        pairs = list(answered_pairs(run))
    assert len(pairs) == 6
    assert all(pair.asked is None and pair.is_half_reused for pair in pairs)


def test_the_same_request_under_another_name_is_made_once_and_keeps_its_place(tmp_path):
    plan = list(families(10))
    renamed = [
        replace(item, name=f"other-{item.name}", truth=replace(item.truth, base=f"other-{item.truth.base}"))
        for item in plan
        if item.truth.edit
    ]
    renamed += [replace(item, name=f"other-{item.name}") for item in plan if item.truth.is_plain]
    with Run.start(tmp_path, _info()) as run:
        run.plan([*plan, *renamed])
        tally = measure(run, LocalEngine(Counting(batch_size=1)), MeasureOptions())
        assert tally.reused == 30
        found = {result.item.name: result.record.place for result in run.results()}
        assert all(found[f"other-{item.name}"] == found[item.name] for item in plan)
        assert sorted({*found.values()}) == list(range(1, 31))
        assert all(pair.asked and not pair.is_half_reused for pair in answered_pairs(run))


def _info():
    from theodolite.runs import RunInfo

    return RunInfo(instrument="test", model="test:x", identity="counting", theodolite="0")


def test_questions_about_one_picture_are_asked_together_in_any_order(tmp_path):
    pictures = [Picture.from_array(np.full((2, 2, 3), value, np.uint8)) for value in range(12)]
    plan = [
        Item(f"{i}/{n}", Request.ask(picture, f'"picture":"{n}"'))
        for n in range(5)
        for i, picture in enumerate(pictures)
    ]
    order = order_of(tmp_path, plan)
    shown = [name.partition("/")[0] for name in order]
    assert len(list(itertools.groupby(shown))) == len(pictures)
    assert list(dict.fromkeys(shown)) != [str(i) for i in range(12)]
    assert len({tuple(name.partition("/")[2] for name in order[at : at + 5]) for at in range(0, 60, 5)}) > 6


@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("fails", [False, True])
def test_equal_requests_are_made_once_also_within_a_batch(tmp_path, batch_size, fails):
    class Once(Counting):
        def measure(self, items):
            records = super().measure(items)
            is_first = len(self.asked) == len(records)
            broken = [Record(item.id, Response.failed("not the first time")) for item in items]
            return broken if fails and is_first else records

    measurer = Once(batch_size)
    plan = [Item(f"{i}/{n}", Request.ask(f"question {i}")) for n in range(4) for i in range(5)]
    order_of(tmp_path, plan, measurer=measurer)
    with Run.open(tmp_path) as run:
        tally = run.tally()
        answers = {r.item.name.partition("/")[0]: r.record.response.text for r in run.results()}
    assert tally.answered == 20 - tally.failed
    assert len(answers) == 5
    if not fails:
        assert len(measurer.asked) == 5
        assert tally.reused == 15
    else:
        assert tally.failed == len(measurer.asked[: min(batch_size, 5)])
        assert sorted({name.partition("/")[0] for name in measurer.asked}) == list("01234")


@pytest.mark.parametrize(("reads", "calls"), [(False, 1), (True, 2)])
def test_a_plan_is_made_again_only_if_it_depends_on_results(tmp_path, reads, calls):
    called = []

    def plan(run):
        called.append(len(list(run.results())) if reads else 0)
        return items(5)

    measure_run(tmp_path, settings(), plan, Counting())
    assert len(called) == calls


def test_a_store_that_was_closed_whole_is_not_checked_row_by_row(tmp_path, monkeypatch):
    checked = []
    find = runs_module.find_damage
    monkeypatch.setattr(runs_module, "find_damage", lambda path: checked.append(path) or find(path))
    for n_checks in (0, 0):
        order_of(tmp_path, items(20))
        assert len(checked) == n_checks
    with Run.open(tmp_path, writable=True) as run:
        run.write_parsed([])
    order_of(tmp_path, items(20))
    assert not checked, "what was written by scoring is whole too"
    store = tmp_path / "measured.sqlite"
    data = bytearray(store.read_bytes())
    at = data.rindex(b"question 7")
    data[at] ^= 1
    store.write_bytes(bytes(data))
    with pytest.warns(DamageWarning):
        order_of(tmp_path, items(20))
    assert checked == [store]
    order_of(tmp_path, items(20))
    assert checked == [store]
    assert not list(verify_run(tmp_path))
