"""The one measuring loop: start, resume, plan again, and who closes what."""

from dataclasses import asdict

import pytest

from plans import Counting, items
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Request
from theodolite.runs import EngineOptions, Run, RunSettings, Tally, measure_run

SETTINGS = RunSettings("test", "test:x", 3, {"data": "d"})


def planned(n):
    return lambda _: items(n)


def test_a_run_is_started_and_described(tmp_path, counting):
    tallies = []
    tally = measure_run(tmp_path / "run", SETTINGS, planned(5), counting, progress=tallies.append)
    assert tally == Tally(planned=5, answered=5) == tallies[-1]
    with Run.open(tmp_path / "run") as run:
        info = run.info
        assert [r.record.response.text for r in run.results()] == [f"answer to item-{i}" for i in range(5)]
    assert (info.instrument, info.model, info.identity, info.seed) == ("test", "test:x", "counting", 3)
    assert info.settings == {"data": "d"}


def test_a_second_time_nothing_is_asked(tmp_path, counting):
    for _ in range(2):
        assert measure_run(tmp_path / "run", SETTINGS, planned(5), counting).answered == 5
    assert len(counting.asked) == 5


def test_it_goes_on_where_it_stopped(tmp_path, counting):
    first = measure_run(tmp_path / "run", SETTINGS, planned(9), counting, limit=4)
    assert (first.planned, first.answered) == (9, 4)
    assert sorted(counting.asked) == [f"item-{i}" for i in range(4)]
    measure_run(tmp_path / "run", SETTINGS, planned(9), counting)
    assert sorted(counting.asked) == [f"item-{i}" for i in range(9)]


def test_interrupted_it_keeps_what_was_measured(tmp_path):
    class Stopped(Counting):
        def measure(self, items):
            if len(self.asked) >= 8:
                raise KeyboardInterrupt
            return super().measure(items)

    stopped, again, undisturbed = Stopped(), Counting(), Counting()
    with pytest.raises(KeyboardInterrupt):
        measure_run(tmp_path / "run", SETTINGS, planned(20), stopped)
    assert measure_run(tmp_path / "run", SETTINGS, planned(20), again).answered == 20
    measure_run(tmp_path / "other", SETTINGS, planned(20), undisturbed)
    assert len(again.asked) == 12
    assert stopped.asked + again.asked == undisturbed.asked


@pytest.mark.parametrize(
    "other",
    [
        RunSettings("test", "test:x", 4, {"data": "d"}),
        RunSettings("test", "test:y", 3, {"data": "d"}),
        RunSettings("test", "test:x", 3, {"data": "e"}),
        RunSettings("other", "test:x", 3, {"data": "d"}),
    ],
)
def test_a_run_with_other_settings_is_refused(tmp_path, counting, other):
    measure_run(tmp_path / "run", SETTINGS, planned(2), counting)
    with pytest.raises(UsageError, match="choose another --out"):
        measure_run(tmp_path / "run", other, planned(2), counting)


def test_data_that_changed_are_refused(tmp_path, counting):
    measure_run(tmp_path / "run", SETTINGS, planned(3), counting)
    with pytest.raises(UsageError, match="no longer in the plan"):
        measure_run(tmp_path / "run", SETTINGS, planned(2), counting)


def follow_ups(run):
    """Two questions; then one more about each answer that is there, twice."""
    yield from items(2)
    for result in run.results():
        depth = result.item.name.count("+")
        if result.record is not None and depth < 2:
            yield Item(f"{result.item.name}+", Request.ask(f"more of {result.record.response.text}"))


def test_a_plan_may_ask_more_once_answers_are_there(tmp_path, counting):
    tally = measure_run(tmp_path / "run", SETTINGS, follow_ups, counting)
    assert tally.answered == tally.planned == 6
    assert [len(name) for name in counting.asked] == [6, 6, 7, 7, 8, 8]
    assert sorted(counting.asked) == sorted(f"item-{i}{'+' * depth}" for depth in range(3) for i in range(2))
    assert measure_run(tmp_path / "run", SETTINGS, follow_ups, counting).planned == 6
    assert len(counting.asked) == 6


def test_an_interrupted_plan_is_planned_again(tmp_path, counting):
    first = measure_run(tmp_path / "run", SETTINGS, follow_ups, counting, limit=1)
    assert first.answered == 1
    assert measure_run(tmp_path / "run", SETTINGS, follow_ups, counting).answered == 6
    assert sorted(counting.asked) == sorted(f"item-{i}{'+' * depth}" for depth in range(3) for i in range(2))


def test_what_was_open_stays_open_and_what_was_made_is_closed(tmp_path, counting):
    measure_run(tmp_path / "open", SETTINGS, planned(2), counting)
    assert not counting.closed
    made = []

    def factory():
        made.append(Counting())
        return made[-1]

    measure_run(tmp_path / "made", SETTINGS, planned(2), factory)
    assert [each.closed for each in made] == [True]


class Classy(Counting):
    """Has all that a measurer has on the class itself."""

    batch_size = 4

    def __init__(self):
        self.asked = []


def test_a_class_is_a_factory(tmp_path):
    assert measure_run(tmp_path / "run", SETTINGS, planned(2), Classy).answered == 2


def test_a_factory_that_was_made_is_closed_even_if_the_plan_is_wrong(tmp_path):
    made = []

    def broken(_):
        raise UsageError("the data are not there")

    with pytest.raises(UsageError, match="not there"):
        measure_run(tmp_path / "run", SETTINGS, broken, lambda: made.append(Counting()) or made[-1])
    assert made[0].closed
    assert measure_run(tmp_path / "run", SETTINGS, planned(2), Counting).answered == 2  # nothing is locked


def test_an_open_model_cannot_be_sent_to_ray(tmp_path, counting):
    with pytest.raises(UsageError, match="cannot be sent to Ray workers"):
        measure_run(tmp_path / "run", SETTINGS, planned(2), counting, options=EngineOptions("ray"))
    assert not (tmp_path / "run").exists()


def test_answers_of_other_runs_are_reused(tmp_path, counting):
    options = EngineOptions(cache=tmp_path / "cache")
    for name in ("one", "two"):
        tally = measure_run(tmp_path / name, SETTINGS, planned(4), counting, options=options)
    assert (len(counting.asked), tally.reused) == (4, 4)


def test_workers_are_items_in_hand(tmp_path):
    sizes = []

    class Sized(Counting):
        def measure(self, items):
            sizes.append(len(items))
            return super().measure(items)

    measure_run(tmp_path / "run", SETTINGS, planned(12), Sized(4), options=EngineOptions(workers=6))
    assert max(sizes) == 6


@pytest.mark.parametrize(
    ("given", "words"),
    [({"engine": "cluster"}, "local.*ray"), ({"ray_address": "auto"}, "--engine ray")],
)
def test_wrong_options_are_refused(given, words):
    with pytest.raises(UsageError, match=words):
        EngineOptions(**given)


def test_tallies_add_up():
    first, second = Tally(9, 4, 2, 1, 3), Tally(2, 1, 0, 1, 0)
    assert asdict(first + second) == {"planned": 11, "answered": 5, "refused": 2, "failed": 2, "reused": 3}
