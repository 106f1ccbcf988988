"""Requests that are made again: how often a model's answer changes by itself."""

from theodolite.core.types import Item, Record, Request, Response, Truth
from theodolite.pairs.outcomes import (
    AGAIN,
    MOST_REPEATS,
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
                for seq, item, _ in list(run.store.pending(seed=0))
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
