"""Reading the steps and claims of a trace takes linear time, and one that cannot be read fails alone."""

import random

import pytest
from trace_world import make_episode

from linear import NASTY, assert_linear, assert_linear_up_to_200_kb
from theodolite.answers import text as reader
from theodolite.instruments.trace.claims import reading
from theodolite.instruments.trace.claims.language import sentence_spans
from theodolite.instruments.trace.claims.reading import MOST_CLAIMS, extract_many, read_trace, with_claims
from theodolite.instruments.trace.formulas.sgr import AS_PAPER
from theodolite.instruments.trace.score import of_trace
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier

EPISODE = make_episode(1)


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """The parser is loaded before anything is timed."""
    read("A cup.")


def read(text):
    return with_claims([read_trace(text, EPISODE)])[0]


@pytest.mark.parametrize(
    "piece", ["''s", "a man and ", "holding a cup ", "frame 1 ", "\nStep 1: a", "½", '{"']
)
def test_reading_a_trace_is_linear(piece):
    assert_linear(read, piece, 2_000, factor=4, most=1.8)


@pytest.mark.slow
@pytest.mark.parametrize("piece", NASTY)
def test_reading_is_linear_up_to_200_kb(piece, monkeypatch):
    monkeypatch.setattr(reader, "LONGEST", 10**9)
    assert_linear_up_to_200_kb(read, piece)


def test_long_sentences_are_divided_between_words_and_long_words_left_out():
    text = "the cup and " * 300 + "x" * 101 + " a box"
    parts = [text[a:b] for a, b in sentence_spans(text)]
    assert max(map(len, parts)) <= 600
    assert " ".join(parts) == text.replace("x" * 101 + " ", "")
    assert sentence_spans("A cup. " * 3) == [(0, 6), (7, 13), (14, 20)]


def test_lists_of_subjects_verbs_and_objects_have_a_limit():
    nouns = [
        "man",
        "dog",
        "cat",
        "boy",
        "cow",
        "horse",
        "sheep",
        "goat",
        "girl",
        "duck",
        "hen",
        "fox",
        "owl",
        "bear",
        "wolf",
        "frog",
        "pig",
        "bee",
        "ant",
        "crab",
    ]
    draw = random.Random(0)

    def some():
        return " and ".join(f"the {noun}" for noun in draw.sample(nouns, len(nouns)))

    said = " ".join(f"{some()} hold {some()}." for _ in range(6))
    trace = read(f"Step 1: {some()} push, pull, hold and see {some()}.\nStep 2: A cup falls. {said}")
    assert max(len(step.claims) for step in trace.steps) <= MOST_CLAIMS


@pytest.mark.parametrize(
    "text", ["① dogs sit here.", "The \ud800 cup falls.", "\x1c \u2028 a cup", "②" * 50 + " cups"]
)
def test_odd_characters_are_read(text):
    assert not read(text).failure


def test_a_trace_that_cannot_be_read_fails_alone_and_says_why(monkeypatch):
    claims = reading.sentence_claims

    def broken(sentence):
        if any(token.text == "unicorn" for token in sentence.tokens):
            raise RecursionError("too deep")
        return claims(sentence)

    monkeypatch.setattr(reading, "sentence_claims", broken)
    said = [
        f"Step 1: {line}\nStep 2: It is gone.\nFinal answer: left"
        for line in ("A cup.", "A unicorn.", "A box.", "A mug.")
    ]
    traces = with_claims([read_trace(text, EPISODE) for text in said])
    assert [trace.failure for trace in traces] == ["", "the reader failed (RecursionError: too deep)", "", ""]
    assert traces[1].failure in traces[1].problems
    assert all(trace.steps[0].claims for trace in traces if not trace.failure)
    judged = judge(traces, {EPISODE.id: EPISODE}, open_verifier("annotation"))[1]
    found = {key: (value, reason) for key, value, reason in of_trace(judged, [], AS_PAPER)}
    assert found["right"][0] is not None  # the answer was read
    assert found["sgr"] == (None, traces[1].failure)
    with pytest.raises(RecursionError):
        extract_many(["A unicorn."])


def test_a_verifier_that_fails_on_a_claim_costs_that_trace_alone():
    class Fragile:
        name = "fragile"

        def verify(self, claims, episode):
            if any(claim.subject.head == "unicorn" for claim in claims):
                raise ZeroDivisionError
            return open_verifier("annotation").verify(claims, episode)

    traces = [read("Step 1: A unicorn.\nStep 2: A cup."), read("Step 1: A box.\nStep 2: A cup.")]
    failures = [each.failure for each in judge(traces, {EPISODE.id: EPISODE}, Fragile())]
    assert failures == ["the reader failed (ZeroDivisionError)", ""]
