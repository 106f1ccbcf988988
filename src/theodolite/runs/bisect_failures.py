"""One bad request must not cost its batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from theodolite.core.errors import ContractError, TheodoliteError, UsageError

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def isolate(
    work: Callable[[Sequence[ItemT]], Sequence[ResultT]],
    items: Sequence[ItemT],
    *,
    on_failure: Callable[[ItemT, str], ResultT],
) -> list[ResultT]:
    """Does a batch of work; where that raises, halves the batch until the culprits stand alone.

    Halving also answers a GPU that is out of memory. An error that concerns the whole model or the run folder is not a
    single item's and goes through.

    >>> isolate(lambda xs: [1 / x for x in xs], [1, 0, 4], on_failure=lambda x, reason: reason)
    [1.0, 'ZeroDivisionError: division by zero', 0.25]
    """
    try:
        return list(work(items))
    except Exception as error:
        if concerns_all(error):
            raise
        if len(items) == 1:
            return [on_failure(items[0], describe(error))]
    half = len(items) // 2
    return [
        *isolate(work, items[:half], on_failure=on_failure),
        *isolate(work, items[half:], on_failure=on_failure),
    ]


def concerns_all(error: Exception) -> bool:
    """Whether an error is that of a whole model or run folder. A wrong input or a wrong answer is a single item's."""
    return isinstance(error, TheodoliteError) and not isinstance(error, UsageError | ContractError)


def describe(error: BaseException, *, clean: Callable[[str], str] = str) -> str:
    """An error in one line: a sentence of ours as it is, any other with its type.

    Args:
        error: to describe.
        clean: takes out what must not be told, before the text is cut to length.
    """
    text = re.sub(r"\b0x[0-9a-f]{6,}\b", "0x…", " ".join(str(error).split()))  # the same error, the same text
    text = clean(text)[:500]
    if isinstance(error, TheodoliteError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
