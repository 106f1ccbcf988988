"""Small plans, and a measurer that counts what it is asked."""

import sqlite3

import numpy as np

from theodolite.core.types import Item, Picture, Record, Request, Response
from theodolite.runs.store import STORED_COLUMNS, checksum, record_checksum

_OWN = {
    "records": STORED_COLUMNS,
    "parsed": "parser, status, value",
    "arrays": "name, dtype, shape, data",
}


def forge(folder, *statements):
    """Changes a store and makes its checksums fit again, as somebody could who knows how."""
    with sqlite3.connect(folder / "measured.sqlite") as db:
        for statement in statements:
            db.execute(*([statement] if isinstance(statement, str) else statement))
        reseal(db)
    db.close()


def reseal(db):
    """Makes all checksums of a store fit."""
    for row in db.execute("SELECT seq, id, name, request, options, meta FROM items").fetchall():
        db.execute("UPDATE items SET sum = ? WHERE seq = ?", (checksum(row), row[0]))
    for table, columns in _OWN.items():
        key = columns.split(",")[0]
        rows = db.execute(
            f"SELECT seq, {table}.{key}, id, {table}.{columns} FROM {table} JOIN items USING (seq)"  # noqa: S608
        ).fetchall()
        for seq, name, *row in rows:
            db.execute(
                f"UPDATE {table} SET sum = ? WHERE seq = ? AND {key} IS ?",  # noqa: S608
                (record_checksum(row[0], row[1:]) if table == "records" else checksum(row), seq, name),
            )
    for row in db.execute("SELECT rowid, started, session FROM sessions").fetchall():
        db.execute("UPDATE sessions SET sum = ? WHERE rowid = ?", (checksum(row[1:]), row[0]))


class Counting:
    """Answers with the item's own name, and remembers what it was asked."""

    identity = "counting"
    reuse = "same request"

    def __init__(self, batch_size=4):
        self.batch_size = batch_size
        self.asked = []
        self.closed = False

    def measure(self, items):
        self.asked.extend(item.name for item in items)
        return [Record(item.id, Response("answered", text=f"answer to {item.name}")) for item in items]

    def close(self):
        self.closed = True


def items(n, **request):
    return [
        Item(f"item-{i}", Request.ask(f"question {i}", **request), meta={"gold": str(i)}) for i in range(n)
    ]


def pictured(n):
    rng = np.random.default_rng(0)
    return [
        Item(
            f"item-{i}", Request.ask(Picture.from_array(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)), "?")
        )
        for i in range(n)
    ]
