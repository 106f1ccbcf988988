"""The one barrier between a model's text and the program.

Everything that turns model text into values (answers, scene graphs, steps, claims and what is judged of them) does so inside
`guarded`. No text can end a run:

- *Exceptions.* Any exception, `RecursionError` and `MemoryError` included, makes that one text unreadable. The reason is kept,
  counted and shown like any other reason why there is no answer.
- *Time and memory.* There is no timer: signals work in the main thread only, a thread cannot be stopped from outside, and with a
  wall clock a score would depend on how busy the machine is. Instead the work is bounded: every reader takes time and memory
  linear in the length of the text, and no reader gets a text longer than `LONGEST`. So the same text is always read in the same
  way, in a thread, a process or a Ray worker alike.
- *Length.* Of a longer text only the beginning and the end are read, half of `LONGEST` each, since an answer opens a text or ends
  it (`bounded`). The reason of an answer and the problems of a trace say so (`cut_note`).

Errors of the installation or of a plug-in are not the text's fault, and pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from theodolite.core.errors import ContractError, MissingExtraError, TheodoliteError

__all__ = ["LONGEST", "bounded", "cut_note", "guarded"]

T = TypeVar("T")

LONGEST = 100_000
"""The most characters that are read of a text: about 25,000 tokens."""
_LONGEST_MESSAGE = 120
_GAP = "\n"


def guarded(read: Callable[..., T], *texts: str, unread: Callable[[str], T]) -> T:
    """Reads model text; whatever goes wrong becomes the reason why it is unreadable.

    Args:
        read: Takes the texts, none of them longer than `LONGEST`.
        texts: As the model wrote them.
        unread: Takes the reason and returns what stands for an unreadable text.

    Returns:
        The result of one of the two functions.

    >>> guarded(len, "four", unread=str), guarded(int, "four", unread=lambda why: why)
    (4, "the reader failed (ValueError: invalid literal for int() with base 10: 'four')")
    """
    try:
        return read(*map(bounded, texts))
    except (ContractError, MissingExtraError):
        raise
    except TheodoliteError as error:
        return unread(str(error))
    except Exception as error:  # noqa: BLE001 - the barrier: no text may end a run
        message = f"{type(error).__name__}: {error}".rstrip(": ")
        return unread(f"the reader failed ({message[:_LONGEST_MESSAGE]})")


def bounded(text: str) -> str:
    """The text, or the beginning and the end of one that is longer than `LONGEST`.

    >>> bounded("short"), len(bounded("long " * LONGEST)) == LONGEST
    ('short', True)
    """
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}{_GAP}{text[half - LONGEST + len(_GAP) :]}"


def cut_note(*texts: str) -> str:
    """Says that only a part of a text was read; empty if all of it was.

    >>> cut_note("short"), cut_note("long " * LONGEST)
    ('', 'of 500000 characters only the first and last 50000 are read')
    """
    longest = max(map(len, texts))
    return (
        f"of {longest} characters only the first and last {LONGEST // 2} are read"
        if longest > LONGEST
        else ""
    )
