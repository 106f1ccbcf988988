"""Rows of an Excel workbook (``.xlsx``), as VLMEvalKit writes its results: the first sheet, with names in its first row."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from theodolite.models.logs import read_member

__all__ = ["read_workbook"]

_SHEET = "xl/worksheets/sheet1.xml"
_STRINGS = "xl/sharedStrings.xml"
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
"""How a workbook writes characters that XML cannot hold."""


def read_workbook(path: Path) -> list[dict[str, Any]]:
    """Read the rows of the first sheet as text and numbers; empty cells are left out.

    Raises:
        ValueError: If it is not a workbook.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename: info for info in archive.infolist()}
            if _SHEET not in infos:
                raise ValueError("it has no sheet")
            strings = (
                [
                    _text(each)
                    for each in _parsed(read_member(archive, infos[_STRINGS])).iter()
                    if _is(each, "si")
                ]
                if _STRINGS in infos
                else []
            )
            sheet = _parsed(read_member(archive, infos[_SHEET]))
    except (OSError, zipfile.BadZipFile, ParseError) as error:
        raise ValueError(f"it is not an Excel workbook: {error}") from error
    rows = [dict(_cells(row, strings)) for row in sheet.iter() if _is(row, "row")]
    names = rows[0] if rows else {}
    return [
        {str(names[column]): value for column, value in row.items() if column in names} for row in rows[1:]
    ]


def _parsed(data: bytes) -> Element:
    """Parse XML without a document type, so that there are no entities to expand."""
    from xml.etree.ElementTree import fromstring

    if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:
        raise ValueError("its XML declares entities")
    return fromstring(data)  # noqa: S314 - no entities, and of bounded size


def _is(element: Element, name: str) -> bool:
    return element.tag.rpartition("}")[2] == name


def _text(element: Element) -> str:
    text = "".join(part.text or "" for part in element.iter() if _is(part, "t"))
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _cells(row: Element, strings: list[str]) -> Iterator[tuple[str, Any]]:
    for cell in row:
        column = re.sub(r"\d+$", "", cell.get("r", ""))
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            yield column, _text(cell)
            continue
        found = next((part.text for part in cell if _is(part, "v")), None)
        if found is None:
            continue
        if kind == "s":
            place = int(found)
            if place >= len(strings):
                raise ValueError(f"cell {cell.get('r')} names a text that is not there")
            yield column, strings[place]
        elif kind == "n":
            number = float(found)
            yield column, int(number) if number.is_integer() else number
        else:
            yield column, found
