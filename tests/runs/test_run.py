import json
import math
import re
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from plans import Counting, items, pictured
from theodolite.core.errors import ModelError, UsageError
from theodolite.core.types import Choice, Item, Message, Record, Request, Response
from theodolite.models import ask_measurer
from theodolite.runs import AnswerCache, LocalEngine, MeasureOptions, Parsed, Run, find_runs, measure, slug
from theodolite.runs.store import SCHEMA_VERSION


def names(run):
    return [result.item.name for result in run.results()]


def test_a_plan_is_measured_and_read_back(tmp_path, info, counting):
    with Run.start(tmp_path / "run", info) as run:
        assert run.plan(items(10)) == 10
        tally = measure(run, LocalEngine(counting))
    assert (tally.planned, tally.answered, tally.pending) == (10, 10, 0)
    with Run.open(tmp_path / "run") as run:
        results = list(run.results())
    assert [r.item for r in results] == items(10)
    assert [r.item.meta for r in results] == [item.meta for item in items(10)]
    assert [r.record.response.text for r in results] == [f"answer to item-{i}" for i in range(10)]


def test_everything_about_a_request_and_a_record_survives(tmp_path, info, picture):
    request = Request(
        (Message("system", ("Be brief.",)), Message.user("Look:", picture, "Wo ist 你好 🙂?\n")),
        max_tokens=7,
        temperature=0.25,
        seed=5,
        stop=("END", "\n"),
        ref="q7",
        hint={"gold": ["a", 1, None]},
    )
    item = Item("odd/name\t1", request, ("left", "right"), {"nested": {"list": [1, 2.5, "x"]}, "none": None})
    record = Record(
        item.id,
        Response("answered", "text\0with\nodd \u2028 things", "", "thought", "stop", 11, 12, 1.5, 3),
        Choice(("left", "right"), (-0.1, -2.3)),
        {"value": 1.25, "flag": True},
    )

    class Given(Counting):
        def measure(self, items):
            return [record]

    with Run.start(tmp_path / "run", info) as run:
        run.plan([item])
        measure(run, LocalEngine(Given()))
        (result,) = run.results()
    assert result.item == item
    assert (result.item.meta, result.item.request.hint) == (item.meta, request.hint)
    assert result.item.id == item.id
    assert result.record == record
    assert (result.item.request.pictures[0].pixels() == picture.pixels()).all()


def test_the_logarithm_of_zero_survives_in_json(tmp_path, info):
    class Sure(Counting):
        def measure(self, items):
            return [
                replace(r, choice=Choice(("left", "right"), (0.0, -math.inf))) for r in super().measure(items)
            ]

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    with Run.start(tmp_path, info) as run:
        run.plan(items(1))
        measure(run, LocalEngine(Sure()))
        assert next(run.results()).record.choice.log_probabilities == (0.0, -math.inf)
        stored = run.store._db.execute("SELECT choice FROM records").fetchone()[0]
        json.loads(stored, parse_constant=refuse)


def test_pictures_made_in_memory_are_kept_in_the_run_once(tmp_path, info):
    planned = pictured(3)
    with Run.start(tmp_path / "run", info) as run:
        run.plan(planned * 2)
        run.plan([replace(item, name=item.name + "-again") for item in planned])
    assert len(list((tmp_path / "run" / "pictures").iterdir())) == 3


def test_half_a_surrogate_pair_does_not_stop_a_run(tmp_path, info):
    class Odd(Counting):
        def measure(self, items):
            return [Record(item.id, Response("answered", text="half \ud83d pair")) for item in items]

    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(2))
        measure(run, LocalEngine(Odd()))
        assert [r.record.response.text for r in run.results()] == ["half ? pair"] * 2


def test_what_cannot_be_stored_is_refused_by_name(tmp_path, info):
    bad = [
        Item("nan-meta", Request.ask("?"), meta={"x": float("nan")}),
        Item("object", Request.ask("?"), meta={"x": object()}),
        Item("surrogate", Request.ask("half \ud83d pair")),
    ]
    with Run.start(tmp_path / "run", info) as run:
        for item in bad:
            with pytest.raises(UsageError, match=item.name):
                run.plan([item])


def test_the_same_command_goes_on_and_asks_nothing_twice(tmp_path, info):
    for limit, asked in ((3, 3), (7, 4), (None, 3), (None, 0)):
        measurer = Counting(batch_size=2)
        with Run.start(tmp_path / "run", info) as run:
            run.plan(items(10))
            measure(run, LocalEngine(measurer), MeasureOptions(limit=limit))
        assert len(measurer.asked) == asked


def test_a_longer_plan_extends_a_shorter_one(tmp_path, info, counting):
    for n, new in ((4, 4), (9, 5), (6, 0)):
        with Run.start(tmp_path / "run", info) as run:
            assert run.plan(items(n)) == new
            measure(run, LocalEngine(counting))
    assert sorted(counting.asked) == sorted(f"item-{i}" for i in range(9))


def test_a_mended_gold_answer_reaches_the_run_without_asking_again(tmp_path, info, counting):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(2))
        measure(run, LocalEngine(counting))
        run.plan([replace(item, meta={"gold": "mended"}) for item in items(2)])
        measure(run, LocalEngine(counting))
        assert [r.item.meta["gold"] for r in run.results()] == ["mended", "mended"]
    assert len(counting.asked) == 2


def test_failures_are_asked_again_and_refusals_are_not(tmp_path, info):
    class Uneven(Counting):
        broken = True

        def measure(self, items):
            super().measure(items)
            return [Record(item.id, self.respond(item)) for item in items]

        def respond(self, item):
            number = int(item.name.split("-")[1])
            if number % 3 == 0:
                return Response("refused", reason="no")
            if number % 3 == 1 and self.broken:
                return Response.failed("not today")
            return Response("answered", text="yes")

    measurer = Uneven()
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(9))
        first = measure(run, LocalEngine(measurer))
        assert (first.answered, first.refused, first.failed, first.pending) == (3, 3, 3, 3)
        measurer.asked.clear()
        measurer.broken = False
        told = []
        second = measure(run, LocalEngine(measurer), MeasureOptions(progress=told.append))
        assert (second.answered, second.refused, second.failed) == (6, 3, 0)
        assert told[-1] == second
        assert sorted(measurer.asked) == ["item-1", "item-4", "item-7"]
        retried = [r.record.response.attempts for r in run.results() if r.item.name == "item-1"]
        assert retried == [2]


def test_one_bad_item_costs_itself_alone(tmp_path, info):
    class Touchy(Counting):
        def measure(self, items):
            if any(item.name == "item-5" for item in items):
                raise RuntimeError("item-5 is poison")
            return super().measure(items)

    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(9))
        tally = measure(run, LocalEngine(Touchy(batch_size=9)))
        assert (tally.answered, tally.failed) == (8, 1)
        (bad,) = (r for r in run.results() if r.record.response.status == "failed")
        assert (bad.item.name, bad.record.response.reason) == ("item-5", "RuntimeError: item-5 is poison")


@pytest.mark.parametrize("fault", ["too few", "another's", "nan"])
def test_a_measurer_that_breaks_its_promise_is_found_out(tmp_path, info, fault):
    class Broken(Counting):
        def measure(self, items):
            records = super().measure(items)
            if fault == "too few":
                return records[:-1]
            if fault == "another's":
                return [replace(record, item_id="other") for record in records]
            return [replace(record, values={"x": float("nan")}) for record in records]

    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(3))
        assert measure(run, LocalEngine(Broken())).failed == 3


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda: Response("ok"), "answered, refused, failed, not 'ok'"),
        (lambda: Response("answered", text=None), "a response's text must be text, not None"),
        (lambda: Response("answered", text=5), "not 5"),
        (lambda: "left", "a str was returned instead of a response"),
        (lambda: None, "a NoneType was returned"),
    ],
)
@pytest.mark.parametrize("answering", ["write", "choose"])
def test_a_plug_in_that_breaks_its_promise_costs_its_own_items(tmp_path, info, broken, reason, answering):
    class Careless:
        name = identity = "careless:x"
        lacks: ClassVar = {}
        batch_size = 4

        def generate(self, requests):
            return [broken() if "1" in r.text else Response("answered", text="left") for r in requests]

        def choose(self, requests, options):
            return [broken() if "1" in r.text else Choice(("a", "b"), (-1.0, -2.0)) for r in requests]

        def close(self): ...

    with Run.start(tmp_path / "run", info) as run, AnswerCache(tmp_path / "cache") as cache:
        run.plan([replace(item, options=("a", "b")) for item in items(6)])
        engine = LocalEngine(ask_measurer(Careless(), answering))
        tally = measure(run, engine, MeasureOptions(cache=cache))
        assert (tally.answered, tally.failed) == (5, 1)
        (bad,) = (r.record.response for r in run.results() if r.record.response.status == "failed")
    assert reason in bad.reason


def test_a_reused_answer_took_no_time_and_no_attempt(tmp_path, info):
    class Slow(Counting):
        def measure(self, items):
            slow = Response("answered", text="left", seconds=2.5, attempts=3)
            return [replace(r, response=slow) for r in super().measure(items)]

    with Run.start(tmp_path / "run", info) as run:
        run.plan([Item(f"item-{i}", Request.ask("the same")) for i in range(2)])
        measure(run, LocalEngine(Slow(), workers=1))
        found = [
            (r.record.reused, r.record.response.seconds, r.record.response.attempts) for r in run.results()
        ]
    assert found == [(False, 2.5, 3), (True, 0.0, 0)]


def test_a_model_that_is_gone_ends_the_run_and_keeps_what_was_done(tmp_path, info):
    class Dying(Counting):
        def measure(self, items):
            if len(self.asked) >= 4:
                raise ModelError("the server is gone")
            return super().measure(items)

    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(9))
        with pytest.raises(ModelError):
            measure(run, LocalEngine(Dying(batch_size=2)))
        assert run.tally().answered == 4


def test_equal_requests_are_asked_once(tmp_path, info, counting):
    request = Request.ask("the same")
    same = [Item(f"item-{i}", request) for i in range(6)]
    with Run.start(tmp_path / "run", info) as run:
        run.plan(same)
        tally = measure(run, LocalEngine(counting, workers=1))
        assert {r.record.response.text for r in run.results()} == {f"answer to {counting.asked[0]}"}
        assert [r.record.item_id for r in run.results()] == [item.id for item in same]
        assert {r.record.place for r in run.results()} == {1}  # that of the one request, for all
    assert (len(counting.asked), tally.reused, tally.answered) == (1, 5, 6)


def test_sampled_requests_are_asked_every_time(tmp_path, info, counting):
    request = Request(Request.ask("the same").messages, temperature=1.0, seed=1)
    with Run.start(tmp_path / "run", info) as run:
        run.plan([Item(f"item-{i}", request) for i in range(3)])
        assert measure(run, LocalEngine(counting, workers=1)).reused == 0
    assert len(counting.asked) == 3


def test_the_cache_serves_other_runs_but_never_failures_or_other_models(tmp_path, info):
    class Half(Counting):
        def measure(self, items):
            records = super().measure(items)
            failed = Response.failed("x")
            return [
                replace(r, response=failed) if item.name in {"item-0", "item-2"} else r
                for item, r in zip(items, records, strict=True)
            ]

    def run_once(name, measurer):
        with AnswerCache(tmp_path / "cache") as cache, Run.start(tmp_path / name, info) as run:
            run.plan(items(4))
            return measure(run, LocalEngine(measurer), MeasureOptions(cache=cache))

    first = run_once("one", Half())
    assert (first.answered, first.failed) == (2, 2)
    second = Counting()
    tally = run_once("two", second)
    assert (tally.answered, tally.reused) == (4, 2)
    assert sorted(second.asked) == ["item-0", "item-2"]
    stranger = Counting()
    stranger.identity = "another model"
    assert run_once("three", stranger).reused == 0


def test_readings_and_scores_are_kept_beside_the_raw_text(tmp_path, info, counting):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(2))
        measure(run, LocalEngine(counting))
        ids = [r.item.id for r in run.results()]
        run.write_parsed([Parsed(ids[0], "p/1", "parsed", {"x": 1}), Parsed(ids[0], "q/1", "unparsed")])
        run.write_parsed([Parsed(ids[0], "p/1", "parsed", {"x": 2})])
        run.write_scores({"accuracy": 0.5})
        first, second = run.results()
        assert [(p.parser, p.status, p.value) for p in first.parsed] == [
            ("p/1", "parsed", {"x": 2}),
            ("q/1", "unparsed", None),
        ]
        assert second.parsed == ()
        assert first.record.response.text == "answer to item-0"
    with Run.open(tmp_path / "run") as run:
        assert run.scores() == {"accuracy": 0.5}


def test_a_run_describes_itself(tmp_path, info, counting):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(1))
        measure(run, LocalEngine(counting, workers=3))
        (session,) = map(json.loads, run.store.sessions())
    assert (session["engine"], session["workers"]) == ("local", 3)
    assert session["versions"]["numpy"]
    written = json.loads((tmp_path / "run" / "run.json").read_text())
    assert written["settings"] == {"data": "d"}
    assert written["schema_version"] == SCHEMA_VERSION


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "other:x"}, "model='test:x'"),
        ({"identity": "other"}, "identity='counting'"),
        ({"seed": 3}, "seed=0"),
        ({"settings": {"data": "e"}}, "data='d'"),
        ({"settings": {"data": "d", "new": (1, 2)}}, "new=None"),
    ],
)
def test_another_command_is_not_mixed_into_a_run(tmp_path, info, counting, change, message):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(1))
        measure(run, LocalEngine(counting))
    with pytest.raises(UsageError, match=message):
        Run.start(tmp_path / "run", info.model_copy(update=change))
    Run.start(tmp_path / "run", info.model_copy(update={"theodolite": "9.9"})).__exit__()


def test_a_run_without_an_answer_gives_way_to_another_command(tmp_path, info, counting):
    class Down(Counting):
        def measure(self, items):
            if "item-3" in {item.name for item in items}:
                raise ModelError("no server answers")
            raise RuntimeError("no")

    with Run.start(tmp_path / "run", info) as run, pytest.raises(ModelError):
        run.plan(items(4))
        measure(run, LocalEngine(Down(batch_size=1)))
    other = info.model_copy(update={"model": "test:right", "identity": "right"})
    with Run.start(tmp_path / "run", other) as run:
        run.plan(items(2))
        assert measure(run, LocalEngine(counting)).answered == 2
        assert (len(names(run)), len(run.store.sessions())) == (2, 1)
    with Run.open(tmp_path / "run") as run:
        assert run.info.model == "test:right"
    with pytest.raises(UsageError, match="model='test:right'"):
        Run.start(tmp_path / "run", info)


def test_options_that_change_no_answer_do_not_make_another_run(tmp_path, info):
    Run.start(tmp_path / "run", info.model_copy(update={"model": "test:x?timeout=3"})).__exit__()
    Run.start(tmp_path / "run", info.model_copy(update={"model": "test:x?timeout=60"})).__exit__()


def test_a_whole_plan_drops_what_has_no_answer_and_refuses_to_drop_the_rest(tmp_path, info, counting):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(10), whole=True)
        measure(run, LocalEngine(counting), MeasureOptions(limit=4))
        assert run.plan(items(6), whole=True) == 0
        assert names(run) == [f"item-{i}" for i in range(6)]
        with pytest.raises(UsageError, match=r"answers to 1 items .*'item-3'"):
            run.plan([*items(3), *items(30)[20:]], whole=True)
        assert names(run) == [f"item-{i}" for i in range(6)]  # nothing was added either
        assert run.plan(items(8), whole=True) == 2
        measure(run, LocalEngine(counting), MeasureOptions(limit=7))
        assert run.tally().answered == 7


def test_a_limit_counts_items_and_not_places(tmp_path, info, counting):
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(10), whole=True)
        run.plan(items(10)[6:], whole=True)
        assert measure(run, LocalEngine(counting), MeasureOptions(limit=3)).answered == 3
    assert sorted(counting.asked) == ["item-6", "item-7", "item-8"]


def test_settings_that_differ_in_form_only_are_the_same(tmp_path, info):
    Run.start(tmp_path / "run", info.model_copy(update={"settings": {"x": (1, 2)}})).__exit__()
    Run.start(tmp_path / "run", info.model_copy(update={"settings": {"x": [1, 2]}})).__exit__()


def test_runs_are_found_below_a_folder(tmp_path, info):
    for name in ("b", "a/deep"):
        Run.start(tmp_path / name, info).__exit__()
    (tmp_path / "c").mkdir()
    assert find_runs(tmp_path) == [tmp_path / "a" / "deep", tmp_path / "b"]
    with pytest.raises(UsageError, match="no folder"):
        find_runs(tmp_path / "nowhere")


@pytest.mark.parametrize("workers", [0, -1])
def test_workers_must_be_positive(counting, workers):
    with pytest.raises(UsageError, match="--workers"):
        LocalEngine(counting, workers=workers)


def test_reading_while_another_process_writes_sees_only_whole_records(tmp_path, info):
    class Peeking(Counting):
        seen = []  # noqa: RUF012

        def measure(self, items):
            with Run.open(tmp_path / "run") as reader:
                self.seen.append(reader.tally().answered)
            return super().measure(items)

    with Run.start(tmp_path / "run", info) as run:
        run.plan(items(6))
        measure(run, LocalEngine(Peeking(batch_size=2)))
    assert Peeking.seen == [0, 2, 4]


def test_arrays_are_kept_beside_their_record(tmp_path, info):
    given = {
        "map": np.arange(6, dtype=np.float32).reshape(2, 3),
        "empty": np.zeros((0, 4)),
        "one": np.array(1.5),
    }

    class Mapping(Counting):
        reuse = "never"

        def measure(self, items):
            return [replace(record, arrays=given) for record in super().measure(items)]

    measurer = Mapping()
    with Run.start(tmp_path / "run", info) as run:
        run.plan([replace(items(1)[0], name=name) for name in ("a", "b")])
        measure(run, LocalEngine(measurer))
        assert sorted(measurer.asked) == ["a", "b"]  # the same request, but each record has its own arrays
        assert all(not result.record.arrays for result in run.results())
        for result in run.results(arrays=True):
            assert result.record.arrays.keys() == given.keys()
            for name, array in given.items():
                found = result.record.arrays[name]
                assert (found.dtype, found.shape) == (array.dtype, array.shape)
                assert np.array_equal(found, array)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("scripted:constant?text=3", "scripted:constant?text=-3"),
        ("hf:a/b", "hf:a-b"),
        ("hf:a/b", "hf:a/B"),
        ("hf:a", "hf:a/"),
        ("hf:" + "x" * 500, "hf:" + "x" * 501),
        ("openai:m@http://h:1/v1", "openai:m@http://h.1/v1"),
        ("hf:模型", "hf:模板"),
    ],
)
def test_folder_names_of_models_never_collide_and_are_short(one, other):
    assert slug(one).lower() != slug(other).lower()
    for name in (slug(one), slug(other)):
        assert len(name) <= 100
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name)
