"""Rows of a Parquet file, read by row group and never larger than they may be.

A column may repeat one long value a million times in a few bytes, and a file may declare less than it holds. So the sizes
are taken from the header of every page, texts stay a list of different values and their numbers until their whole length
is known, and only then become rows.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from theodolite.core.unpack import Allowance

__all__ = ["parquet_rows"]

_ROW, _CELL = 64, 40
"""What a row and a cell take in memory beyond their content, in bytes."""
_LARGEST_PLAIN = 32
"""Bytes of one decoded value that is neither text nor bytes: a decimal number."""
_LONGEST_HEADER = 1 << 16
_MOST_PAGES = 100_000
_DEEPEST = 32
_MOST_COLUMNS = 10_000
_TEXTS = ("STRING", "NONE", "JSON", "ENUM")
"""The logical types that can be read as different values and their numbers."""


def parquet_rows(file: BinaryIO, allowance: Allowance) -> list[dict[str, Any]]:
    """Read the rows of a Parquet file.

    Raises:
        ValueError: If it is not one, is damaged, or unpacks to more than allowed.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schema = parquet.ParquetFile(file, thrift_container_size_limit=_MOST_PAGES).schema
        leaves = [schema.column(i) for i in range(min(len(schema), _MOST_COLUMNS + 1))]
        if len(leaves) > _MOST_COLUMNS or any(leaf.path.count(".") > _DEEPEST for leaf in leaves):
            raise ValueError(f"it has more than {_MOST_COLUMNS} columns, or is nested too deeply")
        texts = [
            leaf.path
            for leaf in leaves
            if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type in _TEXTS
        ]
        opened = parquet.ParquetFile(
            file, read_dictionary=texts, pre_buffer=False, thrift_container_size_limit=_MOST_PAGES
        )
        rows: list[dict[str, Any]] = []
        for group in range(opened.metadata.num_row_groups):
            about = opened.metadata.row_group(group)
            allowance.spend(about.num_rows * (_ROW + _CELL * len(leaves)))
            _check_group(file, about, leaves, Allowance(allowance.total // 12))
            table = opened.read_row_group(group, use_threads=False)
            allowance.spend(sum(_decoded_size(chunk) for column in table.columns for chunk in column.chunks))
            rows += table.to_pylist()
    except (OSError, OverflowError, TypeError, IndexError, pa.ArrowException) as error:
        raise ValueError(f"it is not a Parquet file: {error}") from error
    return rows


def _check_group(file: BinaryIO, group: Any, leaves: list[Any], allowance: Allowance) -> None:
    """Spend what reading a row group takes, by the headers of its pages."""
    for i, leaf in enumerate(leaves):
        column = group.column(i)
        starts = (column.data_page_offset, column.dictionary_page_offset)
        start = min(offset for offset in starts if offset)
        width = leaf.length if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" else _LARGEST_PLAIN
        for size, n in _pages(file, start, column.total_compressed_size):
            allowance.spend(size + n * max(width, _LARGEST_PLAIN))


def _decoded_size(array: Any) -> int:
    """Return how many bytes an array takes once every value is an object of its own."""
    import pyarrow as pa
    from pyarrow import compute

    kind = array.type
    if pa.types.is_dictionary(kind):
        lengths = compute.binary_length(array.dictionary)
        return int(compute.sum(lengths.take(array.indices)).as_py() or 0) + _CELL * len(array)
    if pa.types.is_struct(kind):
        return sum(_decoded_size(child) for child in array.flatten()) + _ROW * len(array)
    if pa.types.is_map(kind):
        return _decoded_size(array.keys) + _decoded_size(array.items) + _ROW * len(array)
    if hasattr(array, "flatten") and pa.types.is_nested(kind):
        return _decoded_size(array.flatten()) + _ROW * len(array)
    return int(array.nbytes) + _CELL * len(array)


# The headers of pages, in Thrift's compact form, of which only three numbers are read.


_SIZE, _PACKED = 2, 3
"""The fields of a header: how large its page is unpacked, and packed."""
_KINDS_OF_PAGES = (5, 7, 8)
"""The fields with what is particular to a data page, a dictionary or a data page of version 2. Their first is the number of values."""


def _pages(file: BinaryIO, start: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield unpacked size and number of values of every page of a column.

    Raises:
        ValueError: If a header cannot be read.
    """
    end = start + length
    for _ in range(_MOST_PAGES):
        if start >= end:
            return
        file.seek(start)
        head = io.BytesIO(file.read(min(_LONGEST_HEADER, end - start)))
        try:
            fields = _struct(head)
            size, packed = int(fields[_SIZE]), int(fields[_PACKED])
            n = sum(int(fields[kind][1]) for kind in _KINDS_OF_PAGES if kind in fields)
        except (IndexError, KeyError, TypeError) as error:
            raise ValueError("a page has no header") from error
        if min(size, packed, n) < 0:
            raise ValueError("a page has a negative size")
        yield size, n
        start += head.tell() + packed
    raise ValueError(f"a column has more than {_MOST_PAGES} pages")


def _struct(head: BinaryIO, depth: int = 0) -> dict[int, Any]:
    """Read a struct of Thrift's compact protocol as values by field number."""
    fields: dict[int, Any] = {}
    number = 0
    while kind := head.read(1)[0]:
        number = number + (kind >> 4) if kind >> 4 else _signed(_varint(head))
        fields[number] = _value(head, kind & 15, depth + 1)
    return fields


def _value(head: BinaryIO, kind: int, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("a page has a header that is nested too deeply")
    if kind in {1, 2}:  # true and false stand in the kind itself
        return kind == 1
    if kind in {3, 4, 5, 6}:
        return head.read(1)[0] if kind == 3 else _signed(_varint(head))
    if kind == 7:
        return head.read(8)
    if kind == 8:
        return head.read(_varint(head))
    if kind in {9, 10}:
        first = head.read(1)[0]
        n = first >> 4 if first >> 4 < 15 else _varint(head)
        return [_value(head, first & 15, depth + 1) for _ in range(min(n, _LONGEST_HEADER))]
    if kind == 12:
        return _struct(head, depth + 1)
    raise ValueError("a page has an unknown header")


def _varint(head: BinaryIO) -> int:
    value = shift = 0
    while True:
        byte = head.read(1)[0]
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value
        if shift > 63:
            raise ValueError("a page has a header with too large a number")


def _signed(value: int) -> int:
    return (value >> 1) ^ -(value & 1)
