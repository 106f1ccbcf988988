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


def seconds(work, text):
    """The processor time of one reading, without that of the collector, which grows with what other tests left."""
    gc.disable()
    try:
        begun = time.process_time()
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
    """A text that is `factor` times as long takes at most `most` times as much time for each part of it."""
    short, long = (piece * (n // len(piece)) for n in (size, factor * size))
    times = [(seconds(work, short), seconds(work, long))]
    while (
        min(b for _, b in times) > most * factor * max(min(a for a, _ in times), shortest)
        and len(times) < _TRIES
    ):
        times.append((seconds(work, short), seconds(work, long)))
    ratio = min(b for _, b in times) / max(min(a for a, _ in times), shortest)
    assert ratio <= most * factor, (piece, size, times)
