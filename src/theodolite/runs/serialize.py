"""The JSON forms of requests, items and what a run was asked to do: the file format, in one place."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from theodolite.core.types import Choice, Item, Json, Message, Picture, Recall, Request, Role

SCHEMA_VERSION = 1
"""The version of the run folder's format. A reader refuses what is newer than itself."""


class RunInfo(BaseModel):
    """``run.json``: what was asked, by what version, when."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = SCHEMA_VERSION
    instrument: str
    """Which instrument planned it, such as ``ask`` or ``compass``."""
    model: str
    """The model's name, as it was written."""
    identity: str
    """The model's identity: what tells it from another of the same name."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Everything else that was asked: data, prompts, seeds. Part of what the same command must repeat."""
    seed: int = 0
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    theodolite: str
    """The version that made it."""

    def differences(self, other: RunInfo) -> dict[str, tuple[Any, Any]]:
        """What `other` asks otherwise: field or setting -> (here, there).

        A model is told from another by its name and its identity; those options in its name that change no answer, such
        as a time-out, are in neither.
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
    """One time that a run was measured: a run killed and resumed has several."""

    model_config = ConfigDict(frozen=True)

    started: datetime = Field(default_factory=lambda: datetime.now(UTC))
    engine: Literal["local", "ray"]
    workers: int
    versions: dict[str, str]


def _without_options(name: str, info: RunInfo) -> Any:
    return info.model.partition("?")[0] if name == "model" else getattr(info, name)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON: tuples are lists, keys are text."""
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def request_to_json(request: Request, pictures: dict[str, str]) -> dict[str, Json]:
    """A request as JSON; each picture by its digest and its path, from `pictures`. Hints stay with the item."""
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
    """A request as it is stored. Numbers keep their kind, so that the request keeps its digest."""

    model_config = ConfigDict(strict=True)

    messages: list[_MessageForm]
    max_tokens: int
    temperature: int | float
    seed: int | None
    stop: list[str]
    ref: str
    recall: Recall = "words"
    """Older runs do not have it."""
    hint: dict[str, Any]


_OPTIONS = TypeAdapter(list[str])
_META: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_SCORES: TypeAdapter[dict[str, float | None]] = TypeAdapter(dict[str, float | None])


def request_from_json(text: str, folder: Path) -> Request:
    """The request that `request_to_json` wrote; relative picture paths are relative to the run's folder.

    Raises:
        ValueError: it is something else.
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
    """An item from its stored columns: name, request, options, meta."""
    name, request, options, meta = row
    return Item(
        name,
        request_from_json(request, folder),
        tuple(_OPTIONS.validate_json(options, strict=True)),
        _META.validate_json(meta, strict=True),
    )


def choice_to_json(choice: Choice | None) -> str | None:
    """Options with their log-probabilities, as text; JSON has no infinity, so the logarithm of zero is null."""
    if choice is None:
        return None
    values = (None if value == -math.inf else value for value in choice.log_probabilities)
    scores = dict(zip(choice.options, values, strict=True))
    return json.dumps(scores, ensure_ascii=False, allow_nan=False)


def choice_from_json(text: str | None) -> Choice | None:
    """The choice that `choice_to_json` wrote."""
    if text is None:
        return None
    scores = _SCORES.validate_json(text, strict=True)
    return Choice(tuple(scores), tuple(-math.inf if value is None else value for value in scores.values()))
