"""A short fuzz job; `make fuzz` runs the long one."""

import random
import time

import numpy as np
import pytest

from fuzz import page, parsers, texts
from fuzz.tally import Tally, attempt, peak_megabytes


def test_no_text_breaks_a_reader():
    tally = parsers.run(seed=2, count=800)
    assert tally.inputs == 800
    assert not tally.faults, tally.examples


def test_no_text_becomes_mark_up():
    tally = page.run(seed=2, count=500)
    assert tally.inputs == 500
    assert not tally.faults, tally.examples


def test_mark_up_in_a_page_is_noticed():
    plain = page._Skeleton("<p title='a'>b</p>")
    assert plain == page._Skeleton("<p title='&lt;b&gt;'>&lt;b&gt;</p>")
    for text in (
        "<p title='a'>b<b></p>",
        "<p title='a' id='x'>b</p>",
        "<p title='a'>b</p><!-- x -->",
        "<p title='a'>",
    ):
        assert plain != page._Skeleton(text)


def test_the_same_seed_gives_the_same_texts():
    assert [parsers.input_text(1, i) for i in range(50)] == [parsers.input_text(1, i) for i in range(50)]
    assert len({parsers.input_text(1, i) for i in range(200)}) > 150


def test_every_form_of_the_grammar_can_be_drawn():
    for symbol, forms in texts.GRAMMAR.items():
        assert texts.expand(random.Random(0), symbol)
        assert all(
            name in texts.GRAMMAR for form in forms for name in texts._SLOT.findall(form) if name != "x"
        )


def test_an_attempt_counts_what_goes_wrong():
    tally = Tally()
    assert attempt(tally, "fine", lambda: 3) == 3
    assert attempt(tally, "promised", lambda: int("x"), promised=(ValueError,)) is None
    assert not tally.faults
    attempt(tally, "raises", lambda: int("x"))
    attempt(tally, "hangs", lambda: time.sleep(60), seconds=0.01)
    attempt(tally, "is slow", lambda: sum(range(3_000_000)), seconds=0.001)
    large = (
        int(peak_megabytes() + 128) << 20
    )  # more than this process has ever held, which takes a while to fill
    attempt(tally, "is large", lambda: np.ones(large, np.uint8).sum(), megabytes=64, seconds=600)
    assert (tally.inputs, tally.uncaught, tally.over_time, tally.over_memory) == (6, 1, 2, 1)
    assert [example.partition(",")[0].partition(": ")[0] for example in tally.examples] == [
        "uncaught", "over_time", "over_time", "over_memory"
    ]  # fmt: skip
    assert (tally + tally).inputs == 12


@pytest.mark.parametrize("part", ["parsers", "page"])
def test_the_parts_stop_in_time(part):
    found = {"parsers": parsers, "page": page}[part].run(seed=0, count=10**9, seconds=0.5)
    assert 0 < found.inputs < 10**9
