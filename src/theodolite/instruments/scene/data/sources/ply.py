"""The vertices of a PLY file, ASCII or binary, and nothing else of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError

_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4", "double": "f8",
    "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8",
}  # fmt: skip
_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}


def read_ply_vertices(path: Path) -> NDArray[np.float64]:
    """Shape (n, 3): x, y, z of every vertex.

    Raises:
        UsageError: it is not a PLY file whose first element is its vertices, or it ends early.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    end = data.find(b"end_header\n")
    if not data.startswith(b"ply") or end < 0:
        raise UsageError(f"{path} is not a PLY file")
    header = [line.split() for line in data[:end].decode("ascii", "replace").splitlines()]
    form = next((words[1] for words in header if words[:1] == ["format"]), "")
    elements = [words for words in header if words[:1] == ["element"]]
    if not elements or elements[0][1] != "vertex":
        raise UsageError(f"{path}: expected the vertices first")
    n, first = int(elements[0][2]), header.index(elements[0])
    fields = []
    for words in header[first + 1 :]:
        if words[:1] != ["property"]:
            break
        fields.append((words[2], _TYPES.get(words[1], "")))
    names = [name for name, _ in fields]
    if not {"x", "y", "z"} <= set(names) or any(not kind for _, kind in fields):
        raise UsageError(f"{path}: cannot read vertices with the properties {names}")
    body = data[end + len(b"end_header\n") :]
    if form == "ascii":
        rows = [line.split() for line in body.decode("ascii").splitlines()[:n]]
        table = np.array([[float(word) for word in row] for row in rows])
        return table[:, [names.index(axis) for axis in "xyz"]]
    if form not in _ORDERS:
        raise UsageError(f"{path}: unknown form {form!r}")
    kind = np.dtype([(name, _ORDERS[form] + code) for name, code in fields])
    if len(body) < n * kind.itemsize:
        raise UsageError(f"{path} ends before its {n} vertices")
    found = np.frombuffer(body, kind, count=n)
    return np.stack([found[axis].astype(np.float64) for axis in "xyz"], axis=1)
