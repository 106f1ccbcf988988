"""A cache of answers across runs: a SQLite file that any number of processes may share."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from theodolite.core.errors import DamageWarning, StorageError
from theodolite.core.types import Record, canonical_json
from theodolite.runs.records import (
    checksum,
    choice_to_json,
    is_whole,
    object_from_json,
    readable,
    record_from_row,
    storable,
)
from theodolite.runs.store import FAILURES, connect, schema_of

_CREATE = "CREATE TABLE answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL, sum BLOB NOT NULL) WITHOUT ROWID"
_CREATE_1 = _CREATE.replace(", sum BLOB NOT NULL", "")
"""The first format, without checksums."""


class AnswerCache:
    """Reusable answers by key. Only answered, deterministic records are stored; failures and refusals are not."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / "answers.sqlite"
        with self._errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = connect(self.path, "create")
            is_older = self._check()
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            if is_older:
                self._convert()
            self._db.execute(_CREATE.replace("TABLE", "TABLE IF NOT EXISTS", 1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def get(self, key: str) -> Record | None:
        """Return the answer stored under the key, without an item id. None if there is none, or if it is damaged."""
        with self._errors():
            row = self._db.execute("SELECT key, answer, sum FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if not is_whole(row):
            warnings.warn(f"{self.path}: a damaged answer is asked again", DamageWarning, stacklevel=2)
            return None
        with readable(self.path, f"the answer of the key {key}"):
            data = object_from_json(row[1])
            said = (data["text"], "", data["reasoning"], data["finish"], *data["tokens"], 0.0, 1)
            scores = (data["choice"], json.dumps(data["values"]), True)
            return record_from_row("", ("answered", *said, *scores))

    def put(self, key: str, record: Record) -> None:
        """Store an answer."""
        r = record.response
        if not r.is_answered:
            return
        data = {
            "text": storable(r.text),
            "reasoning": storable(r.reasoning),
            "finish": storable(r.finish),
            "tokens": [r.prompt_tokens, r.completion_tokens],
            "choice": choice_to_json(record.choice),
            "values": record.values,
        }
        with self._errors(), self._db:
            row = (key, storable(canonical_json(data)))
            self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (*row, checksum(row)))

    def _check(self) -> bool:
        """Check that the file holds answers and nothing else. Return True if it has the first format."""
        found = schema_of(self._db)
        if found == {("table", "answers", _CREATE_1)}:
            return True
        if found - {("table", "answers", _CREATE)}:
            self._db.close()
            raise StorageError(f"{self.path} is not an answer cache of Theodolite; choose another --cache")
        return False

    def _convert(self) -> None:
        """Add checksums to a cache of the first format."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            rows = self._db.execute("SELECT key, answer FROM answers").fetchall()
            self._db.execute("DROP TABLE answers")
            self._db.execute(_CREATE)
            self._db.executemany(
                "INSERT INTO answers VALUES (?, ?, ?)", ((*row, checksum(row)) for row in rows)
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (*FAILURES, OSError) as error:
            raise StorageError(
                f"the answer cache {self.path} cannot be used ({error}); remove it or omit --cache"
            ) from error
