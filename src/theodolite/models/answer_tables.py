"""Recorded answers in a table with a picture, a question and a model's answer in each row.

Any JSON, JSONL, CSV, TSV, Parquet or Excel file will do, the result files of VLMEvalKit among them.

The options of ``replay:FILE?…`` name fields (``picture``, ``question``, ``answer``, ``id``, ``reasoning``) or choose rows:
``replay:results.json?answer=pred&prompt_label=Multiple Choice`` reads answers from the field ``pred`` of the rows whose
``prompt_label`` is *Multiple Choice*. Fields that are not named are found by `theodolite.models.tables.NAMES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem
from theodolite.core.types import Response
from theodolite.models.logs import Logged, LoggedAnswer, picture_digests
from theodolite.models.tables import Role, Row, chosen_rows, fields_of, first, plain_words, read_rows, values

__all__ = ["read_answer_table"]

_ROLES: Mapping[str, Role] = {
    "picture": "picture",
    "question": "question",
    "answer": "response",
    "id": "id",
    "reasoning": "reasoning",
}
_DIGEST = re.compile(r"(?:bytes|pixels)-[0-9a-f]+")
"""The digest of a picture, see `Picture`."""
_LONGEST_PATH = 1000
"""A longer text is an encoded picture."""


def read_answer_table(path: Path, options: Mapping[str, str]) -> Logged:
    """Read the recorded answers of a table.

    Args:
        path: The file.
        options: Field names by role, and values of other fields that choose rows.

    Raises:
        UsageError: If a field does not exist, if no row is chosen, or if there are no answers.
    """
    problems: list[Problem] = []
    rows = read_rows(path, problems)
    known = fields_of(rows)
    named = {role: options[name] for name, role in _ROLES.items() if name in options}
    rows = chosen_rows(rows, options, _ROLES, path)
    found = list(_answers(rows, named))
    if not any(answer.response.is_answered for answer in found):
        raise UsageError(
            f"{path} has no field with answers of a model; name it, as in replay:{path}?answer=FIELD; the fields are "
            f"{', '.join(known)}"
        )
    if not any(answer.picture or answer.prompt or answer.ref for answer in found):
        raise UsageError(
            f"the answers in {path} cannot be found again without a picture, a question or an id; name one, as in "
            f"replay:{path}?picture=FIELD; the fields are {', '.join(known)}"
        )
    return found, problems


def _answers(rows: Sequence[Row], named: Mapping[Role, str]) -> Iterator[LoggedAnswer]:
    for row in rows:
        exported = _exported(row)
        question = first(row, "question", field=named.get("question", ""))
        if exported is not None and "question" not in named:
            question = row.get("prompt") or question  # all that was asked; the question is a part of it
        words = question if isinstance(question, str) else first(row, "statement")
        said = _said(row, str(words or ""), named.get("response", ""))
        reasoning = first(row, "reasoning", field=named.get("reasoning", ""))
        response = (
            Response.failed("no answer was recorded")
            if said is None
            else Response("answered", text=said, reasoning=reasoning if isinstance(reasoning, str) else "")
        )
        ref = first(row, "id", field=named.get("id", ""))
        pictures = list(values(row, "picture", field=named.get("picture", "")))
        yield LoggedAnswer(
            "" if ref is None else str(ref),
            plain_words(str(words or "")),
            response,
            1 if exported is None else len(exported),
            _name(pictures[0]) if pictures and exported is None else "",
            shown=_embedded(pictures) if exported is None else tuple(frozenset({each}) for each in exported),
        )


def _said(row: Row, question: str, field: str) -> str | None:
    """The text of the answer. A field that holds the question is not the answer."""
    for value in values(row, "response", field=field):
        while isinstance(value, list):
            value = value[0] if value else None  # noqa: PLW2901 - the first of nested lists
        if isinstance(value, str | int | float) and str(value) != question:
            return str(value)
    return None


def _exported(row: Row) -> list[str] | None:
    """The digests of the pictures in a row that Theodolite exported. None in other rows."""
    given = row.get("shown") or row.get("pictures")
    if isinstance(given, str):
        given = re.sub(r'[\[\]",]', " ", given).split() if given.strip() else None
    are_digests = isinstance(given, list) and all(
        isinstance(each, str) and _DIGEST.fullmatch(each) for each in given
    )
    return given if are_digests else None


def _embedded(fields: Sequence[Any]) -> tuple[frozenset[str], ...]:
    """The digests of embedded pictures, of the first field that holds some."""
    for pictures in fields:
        given = pictures if isinstance(pictures, list) else [pictures]
        data = [each.get("bytes") if isinstance(each, dict) else each for each in given]
        found = [picture_digests(each) for each in data if each is not None and _is_embedded(each)]
        if found and len(found) == len(data) and all(found):
            return tuple(found)
    return ()


def _is_embedded(value: Any) -> bool:
    return isinstance(value, bytes) or (isinstance(value, str) and len(value) > _LONGEST_PATH)


def _name(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = value.get("path") or value.get("file_name") or ""
    return "" if value is None or _is_embedded(value) else str(value)
