"""Every error a user can cause or meet. Each message says what was wrong and what to do.

The command line prints these in one sentence, without a traceback, and exits with status 2.
"""

from __future__ import annotations

__all__ = [
    "ContractError",
    "MissingExtraError",
    "ModelError",
    "StorageError",
    "TheodoliteError",
    "UnsupportedError",
    "UsageError",
]


class TheodoliteError(Exception):
    """The base of all errors raised on purpose."""


class UsageError(TheodoliteError):
    """The input was wrong: what was got, what was expected, how to mend it."""


class ModelError(TheodoliteError):
    """A model cannot be used at all: not found, server down, key refused. One bad answer is not this."""


class UnsupportedError(TheodoliteError):
    """A backend was asked for something that it does not have."""


class StorageError(TheodoliteError):
    """A run folder cannot be read or written. Names the file."""


class ContractError(TheodoliteError):
    """A plug-in broke the promise of its protocol."""


class MissingExtraError(TheodoliteError):
    """An optional library is absent."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}: pip install 'theodolite[{extra}]'")
        self._given = (library, extra, purpose)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        """Travels between processes."""
        return MissingExtraError, self._given
