"""Texts that make careless readers slow, and how reading time grows with them. Shared by the tests of readers."""

import gc
import time

NASTY = (
    *("×10^{99999}", '{"', '{"a":', '{"a":[', "answer:\n", "answer: ", "not left ", "#", "{", "[", "}", "(", "1", "9,", "1e9"),
    *("<b>", "<b></b>", "<answer>", "<think>", "</think>", "<think><answer>", "\u0301", "a\u0301", "\u200b", "\u202e", "\ud800"),
    *("İ", "①", "½", "²", "3/", "a", "a ", "A cup. ", "''s", "a/b/", "\\frac{1}{2}", "**", "\n", " ", "_", "object 1, ", "left and "),
    *("\nStep 1: a", "frame 1 ", "Frame 1-2: ", "[0:01] ", "1 s ", "1-", "\n- a", "http://a.b/c", "```json\n", "''", '"\\"', "//"),
    *("The cup is left of the box. ", "a man and ", "holding a cup ", '{"id":1},', "USER: ", "cannot see ", "one hundred "),
)  # fmt: skip
_SHORTEST_S = 5e-3
"""Shorter times are mostly noise."""
_TRIES = 5
"""A busy machine may disturb some measurements, never make a slow reader fast."""


def seconds(work, texts):
    """The processor time of reading these texts, without that of the collector, which grows with what other tests left."""
    gc.disable()
    try:
        begun = time.process_time()
        for text in texts:
            work(text)
        return time.process_time() - begun
    finally:
        gc.enable()


def assert_linear_up_to_200_kb(work, piece):
    """Eight times the text takes eight times the time, or three times that on a busy machine; a square would be 64.

    Shorter times than 0.3 s depend on what was read and kept before.
    """
    assert_linear(work, piece, 25_000, factor=8, most=3, shortest=0.3)


def assert_linear(work, piece, size, factor=2, most=1.5, shortest=_SHORTEST_S):
    """A text that is `factor` times as long takes at most `most` times as much time for each part of it.

    It is compared with the short text read `factor` times: both take the same time, one right after the other, so a busy
    machine slows both. A reader of quadratic time takes `factor` times as long for the long text in every try.
    """
    short, long = (piece * (n // len(piece)) for n in (size, factor * size))
    ratios = []
    while not ratios or (ratios[-1] > most and len(ratios) < _TRIES):
        at_least = max(seconds(work, [short] * factor), factor * shortest)
        ratios.append(seconds(work, [long]) / at_least)
    assert ratios[-1] <= most, (piece, size, ratios)
