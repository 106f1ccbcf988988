"""Complete words with a colon in bash, which splits ``scripted:lo`` into three words and replaces only the last."""

from __future__ import annotations

import io
import os
import shlex
from collections.abc import Callable
from contextlib import redirect_stdout

_ASKED, _WORDS, _PLACE = "_THEODOLITE_COMPLETE", "COMP_WORDS", "COMP_CWORD"


def complete_in_bash(run: Callable[[], object]) -> None:
    """Run the program. For completion in bash, join words that were split, and shorten the output to the last word.

    In all other cases nothing is changed.
    """
    if os.environ.get(_ASKED) != "complete_bash" or _WORDS not in os.environ:
        run()
        return
    text, place = os.environ[_WORDS], int(os.environ.get(_PLACE, "0"))
    words = text.split("\n") if "\n" in text else shlex.split(text)
    whole = joined([*words, ""][: place + 1] if place >= len(words) else words[: place + 1])
    os.environ[_WORDS], os.environ[_PLACE] = shlex.join(whole), str(len(whole) - 1)
    was_split = len(whole) <= place
    known = whole[-1].rpartition(":")[0] + ":" if was_split else ""
    found = io.StringIO()
    try:
        with redirect_stdout(found):
            run()
    finally:
        for line in found.getvalue().splitlines():
            print(line.removeprefix(known))  # noqa: T201 - the shell reads it


def joined(words: list[str]) -> list[str]:
    """Join words that bash has split at colons.

    >>> joined(["ask", "--model", "scripted", ":", "lo"]), joined(["--model", "hf", ":"])
    (['ask', '--model', 'scripted:lo'], ['--model', 'hf:'])
    """
    found: list[str] = []
    for word in words:
        follows_colon = bool(found) and found[-1].endswith(":")
        if found and (word.startswith(":") or follows_colon):
            found[-1] += word
        else:
            found.append(word)
    return found
