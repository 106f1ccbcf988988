"""Answers kept across runs: a SQLite file that any number of processes may share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from theodolite.errors import StorageError
from theodolite.runs._forms import choice_from_json, choice_to_json
from theodolite.types import Record, Response, canonical_json

_CREATE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"


class AnswerCache:
    """Reusable answers by key. Only answered, deterministic records go in; failures and refusals never do."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / "answers.sqlite"
        with self._errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=30.0)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(_CREATE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def get(self, key: str) -> Record | None:
        """The answer that was kept under the key; its item is whoever asks."""
        with self._errors():
            row = self._db.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        data = json.loads(row[0])
        response = Response("answered", data["text"], "", data["reasoning"], data["finish"], *data["tokens"])
        return Record("", response, choice_from_json(data["choice"]), data["values"], reused=True)

    def put(self, key: str, record: Record) -> None:
        """Keeps an answer."""
        r = record.response
        if not r.is_answered:
            return
        data = {
            "text": r.text,
            "reasoning": r.reasoning,
            "finish": r.finish,
            "tokens": [r.prompt_tokens, r.completion_tokens],
            "choice": choice_to_json(record.choice),
            "values": record.values,
        }
        with self._errors(), self._db:
            self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, canonical_json(data)))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StorageError(
                f"the answer cache {self.path} cannot be used ({error}); leave --cache out"
            ) from error
