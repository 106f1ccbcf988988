"""From a string to a model: ``scheme:target?option=value&option=value``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, ValidationError

from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import registry
from theodolite.models.contract import VisionLanguageModel


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name, taken apart.

    >>> ModelName.parse("hf:models/tiny?dtype=float32").target
    'models/tiny'
    """

    scheme: str
    target: str
    options: dict[str, str]
    text: str
    """The name as it was written."""

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Splits a name into its parts; the scheme is looked up later."""
        scheme, colon, rest = text.partition(":")
        if not colon or not scheme or not rest:
            raise UsageError(
                f"{text!r} does not name a model; write scheme:target, such as scripted:looker or hf:path/to/folder "
                "(`theodolite list models` shows all)"
            )
        target, _, query = rest.partition("?")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
        except ValueError:
            raise UsageError(f"the options of {text!r} must be written ?name=value&name=value") from None
        return cls(scheme, target, dict(pairs), text)


class ModelOptions(BaseModel):
    """The base of each backend's options: a wrong name or value is an error that lists the right ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)


OptionsT = TypeVar("OptionsT", bound=ModelOptions)


def read_options(name: ModelName, kind: type[OptionsT]) -> OptionsT:
    """Checks the options of a model's name."""
    try:
        return kind.model_validate(name.options)
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields) or "none"
            raise UsageError(f"{name.text!r} has no option {option!r}; it has: {known}") from None
        raise UsageError(f"the option {option} of {name.text!r} is wrong: {first['msg'].lower()}") from None


def open_model(text: str) -> VisionLanguageModel:
    """Opens the model of that name.

    Args:
        text: such as ``scripted:looker``, ``hf:path``, ``openai:name@url``, ``replay:run``.

    Raises:
        UsageError: the name is wrong.
        ModelError: the model cannot be used.
        MissingExtraError: it needs a library that is not installed.

    >>> open_model("scripted:echo").name
    'scripted:echo'
    """
    name = ModelName.parse(text)
    entry = registry().entry("model", name.scheme)
    opener = cast("Callable[[ModelName], object]", entry.load())
    model = opener(name)
    if not isinstance(model, VisionLanguageModel):
        raise ContractError(
            f"the model scheme {name.scheme!r} of {entry.origin} opened a {type(model).__name__}, which lacks part of "
            "the model contract; theodolite.testing.check_model tells which"
        )
    return model
