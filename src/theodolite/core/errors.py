"""Errors that a user can cause or meet. Each message says what was wrong and what to do.

The command line prints the message without a traceback and exits with status 2.
"""

from __future__ import annotations

import re

__all__ = [
    "ContractError",
    "DamageWarning",
    "MissingExtraError",
    "ModelError",
    "StorageError",
    "TheodoliteError",
    "UnsupportedError",
    "UsageError",
    "WorkerError",
    "reason_of",
]


class TheodoliteError(Exception):
    """Base class of all errors that Theodolite raises on purpose."""


class UsageError(TheodoliteError):
    """The input was wrong. The message says what was given, what was expected and how to fix it."""


class ModelError(TheodoliteError):
    """A model cannot be used at all: not found, server down, key rejected. A single failed answer is not an error."""


class UnsupportedError(TheodoliteError):
    """A backend does not support the requested operation."""


class StorageError(TheodoliteError):
    """A run folder cannot be read or written. The message names the file."""


class ContractError(TheodoliteError):
    """A plug-in does not fulfil its contract."""


class WorkerError(TheodoliteError):
    """A worker process died."""


class MissingExtraError(TheodoliteError):
    """An optional library is not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}: {install_line(extra)}")
        self._given = (library, extra, purpose)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        """Make the error picklable."""
        return MissingExtraError, self._given


def install_line(extra: str) -> str:
    """Return the command that installs the libraries of an extra.

    It names the libraries themselves, so it needs neither a clone nor the package on an index.

    >>> install_line("ray")
    "pip install 'ray>=2.40'"
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("theodolite") or []
    except PackageNotFoundError:  # run from a source tree that is not installed
        lines = []
    ours = re.compile(rf"""extra == ['"]{re.escape(extra)}['"]""")
    requirements = [line.partition(";")[0].strip() for line in lines if ours.search(line)]
    return "pip install " + (" ".join(f"'{requirement}'" for requirement in requirements) or f"'.[{extra}]'")


class DamageWarning(UserWarning):
    """Stored data are damaged and were left out or repaired. The message says which, and what to do."""


def reason_of(error: Exception) -> str:
    """Return why a file could not be read or written, without repeating its name.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'No such file or directory'
    """
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
