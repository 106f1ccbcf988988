"""No text ends a reading: what goes wrong becomes the reason."""

import ast
import json
import threading
from pathlib import Path

import pytest

from theodolite.answers import AnswerFormat, bounded, cut_note, guarded, read_answer, reading
from theodolite.answers import text as reader
from theodolite.core.errors import ContractError, MissingExtraError, UsageError

SOURCE = Path(reader.__file__).parents[1]
INNER = {
    "json_values",
    "outer_layers",
    "quantities",
    "read_steps",
    "align_steps",
    "extract_many",
    "sentence_claims",
}
"""Readers that may raise. Only the modules that guard them may use them, and two that read no model text."""
GUARDING = {
    "instruments/scene/graph_parser.py",
    "instruments/trace/claims/extractors.py",
    "instruments/trace/claims/reading.py",
    # called by reading.py, behind the guard
    "instruments/trace/claims/steps.py",
    "instruments/trace/data/traces.py",  # steps of a file, line by line
    "instruments/scene/scripts.py",  # a prompt
}
SIDES = AnswerFormat.choice({"A": "to the left", "B": "to the right"}, style="letter")


@pytest.mark.parametrize(
    "error", [RecursionError("too deep"), MemoryError(), ValueError("odd"), KeyError("a")]
)
def test_every_exception_of_a_reader_is_the_reason(error, monkeypatch):
    def broken(*args, **options):
        raise error

    monkeypatch.setattr(reading, "_read_part", broken)
    answer = read_answer("A", SIDES)
    assert answer.status == "unreadable"
    assert answer.reason.startswith(f"the reader failed ({type(error).__name__}")
    assert not answer.is_read


def test_a_long_message_is_cut():
    def broken():
        raise ValueError("x" * 10_000)

    assert len(guarded(broken, unread=str)) < 200


def test_our_own_errors_keep_their_sentence_and_those_of_the_installation_pass():
    def fails(error):
        def broken():
            raise error

        return broken

    assert guarded(fails(UsageError("The picture is broken.")), unread=str) == "The picture is broken."
    with pytest.raises(MissingExtraError):
        guarded(fails(MissingExtraError("spacy", "nlp", "reading claims")), unread=str)
    with pytest.raises(ContractError):
        guarded(fails(ContractError("two verdicts on three claims")), unread=str)
    with pytest.raises(KeyboardInterrupt):
        guarded(fails(KeyboardInterrupt()), unread=str)


def test_real_recursion_is_caught_in_a_thread_too():
    deep = "[" * 100_000
    found = []
    thread = threading.Thread(target=lambda: found.append(guarded(json.loads, deep, unread=lambda why: why)))
    thread.start()
    thread.join()
    assert found[0].startswith("the reader failed (RecursionError")


def test_of_a_long_text_the_beginning_and_the_end_are_read():
    filler = "\n" * 200_000
    for text in (f"The answer is B.\n{filler}", f"{filler}\nThe answer is B."):
        answer = read_answer(text, SIDES)
        assert answer.value == "B"
        assert answer.reason.endswith(cut_note(text))
        assert str(len(text)) in answer.reason
    middle = read_answer(f"{filler}\nThe answer is B.\n{filler}", SIDES)
    assert middle.status == "unreadable"
    assert "only the first and last" in middle.reason


@pytest.mark.parametrize("n", [0, 1, reader.LONGEST - 1, reader.LONGEST])
def test_other_texts_are_read_whole(n):
    assert bounded("x" * n) == "x" * n
    assert not cut_note("x" * n)


def test_what_is_bounded_once_stays_as_it_is():
    text = "".join(map(str, range(reader.LONGEST)))
    assert len(bounded(text)) == reader.LONGEST
    assert bounded(bounded(text)) == bounded(text)
    assert bounded(text).startswith(text[:1000])
    assert bounded(text).endswith(text[-1000:])


def test_readers_that_may_raise_are_used_behind_the_guard_only():
    users = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and INNER & {alias.name for alias in node.names}:
                users.add(path.relative_to(SOURCE).as_posix())
    assert {name for name in users if not name.startswith("answers/")} == GUARDING
