"""The file format of a run folder: JSON forms of requests, items, choices and ``run.json``."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from theodolite.core.types import Choice, Item, Json, Message, Picture, ReplayMatch, Request, Role

SCHEMA_VERSION = 2
"""Version of the run folder's format. Older versions are converted, newer ones are refused."""


class RunInfo(BaseModel):
    """``run.json``: the instrument, model and settings of a run."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = SCHEMA_VERSION
    instrument: str
    """The instrument that planned the run, such as ``ask`` or ``compass``."""
    model: str
    """The model name as given by the user."""
    identity: str
    """The model's identity, which distinguishes models of the same name."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """All other settings: data, prompts, seeds. They must be the same when the run is resumed."""
    seed: int = 0
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    theodolite: str
    """The version of Theodolite that created the run."""

    def differences(self, other: RunInfo) -> dict[str, tuple[Any, Any]]:
        """Return the fields and settings that differ, as name -> (here, there).

        Models are compared by name and identity. Options in a model's name that do not affect answers, such as a
        time-out, are part of neither.
        """
        found: dict[str, tuple[Any, Any]] = {
            name: (getattr(self, name), getattr(other, name))
            for name in ("instrument", "model", "identity", "seed")
            if _without_options(name, self) != _without_options(name, other)
        }
        mine, theirs = _plain(self.settings), _plain(other.settings)
        for name in sorted(mine.keys() | theirs.keys()):
            if mine.get(name) != theirs.get(name):
                found[name] = (mine.get(name), theirs.get(name))
        return found


class Session(BaseModel):
    """One measuring session. A run that was interrupted and resumed has several."""

    model_config = ConfigDict(frozen=True)

    started: datetime = Field(default_factory=lambda: datetime.now(UTC))
    engine: Literal["local", "ray"]
    workers: int
    versions: dict[str, str]


def _without_options(name: str, info: RunInfo) -> Any:
    return info.model.partition("?")[0] if name == "model" else getattr(info, name)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as read back from JSON: tuples become lists, keys become text."""
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def request_to_json(request: Request, pictures: dict[str, str]) -> dict[str, Json]:
    """Convert a request to JSON. Each picture is stored by its digest and its path, taken from `pictures`."""
    return {
        "messages": [
            {
                "role": message.role,
                "content": [
                    part if isinstance(part, str) else {"picture": part.digest, "path": pictures[part.digest]}
                    for part in message.content
                ],
            }
            for message in request.messages
        ],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "stop": list(request.stop),
        "ref": request.ref,
        "recall": request.recall,
        "hint": dict(request.hint),
    }


class _PictureForm(BaseModel):
    model_config = ConfigDict(strict=True)

    picture: str
    path: str


class _MessageForm(BaseModel):
    model_config = ConfigDict(strict=True)

    role: Role
    content: list[str | _PictureForm]


class _RequestForm(BaseModel):
    """A request as stored. Integers and floats are kept apart so that the digest does not change."""

    model_config = ConfigDict(strict=True)

    messages: list[_MessageForm]
    max_tokens: int
    temperature: int | float
    seed: int | None
    stop: list[str]
    ref: str
    recall: ReplayMatch = "words"
    """Missing in older runs."""
    hint: dict[str, Any]


_OPTIONS = TypeAdapter(list[str])
_META: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_SCORES: TypeAdapter[dict[str, float | None]] = TypeAdapter(dict[str, float | None])


def request_from_json(text: str, folder: Path) -> Request:
    """Restore a request from `request_to_json`. Relative picture paths are relative to the run folder.

    Raises:
        ValueError: If the text does not have that form.
    """
    form = _RequestForm.model_validate_json(text)
    messages = tuple(
        Message(
            message.role,
            tuple(
                part if isinstance(part, str) else Picture(part.picture, path=folder / part.path)
                for part in message.content
            ),
        )
        for message in form.messages
    )
    return Request(
        messages,
        max_tokens=form.max_tokens,
        temperature=form.temperature,
        seed=form.seed,
        stop=tuple(form.stop),
        ref=form.ref,
        recall=form.recall,
        hint=form.hint,
    )


def item_from_row(row: Sequence[str], folder: Path) -> Item:
    """Restore an item from its stored columns: name, request, options, meta."""
    name, request, options, meta = row
    return Item(
        name,
        request_from_json(request, folder),
        tuple(_OPTIONS.validate_json(options, strict=True)),
        _META.validate_json(meta, strict=True),
    )


def choice_to_json(choice: Choice | None) -> str | None:
    """Convert options and log-probabilities to JSON text. The logarithm of zero is null, as JSON has no infinity."""
    if choice is None:
        return None
    values = (None if value == -math.inf else value for value in choice.log_probabilities)
    scores = dict(zip(choice.options, values, strict=True))
    return json.dumps(scores, ensure_ascii=False, allow_nan=False)


def choice_from_json(text: str | None) -> Choice | None:
    """Restore a choice from `choice_to_json`."""
    if text is None:
        return None
    scores = _SCORES.validate_json(text, strict=True)
    return Choice(tuple(scores), tuple(-math.inf if value is None else value for value in scores.values()))
