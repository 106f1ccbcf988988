"""Opens a model by name: ``scheme:target?option=value&option=value``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, ConfigDict, ValidationError

from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import registry
from theodolite.models.contract import VisionLanguageModel


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed model name.

    >>> ModelName.parse("hf:models/tiny?dtype=float32").target
    'models/tiny'
    """

    scheme: str
    target: str
    options: dict[str, str]
    text: str
    """The name as given by the user."""

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Parse a name. The scheme is not looked up."""
        scheme, colon, rest = text.partition(":")
        if not colon or not scheme or not rest:
            raise UsageError(
                f"{text!r} does not name a model; write scheme:target, such as scripted:looker or hf:path/to/folder "
                "(see `theodolite list models`)"
            )
        target, _, query = rest.partition("?")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
        except ValueError:
            raise UsageError(f"the options of {text!r} must be written ?name=value&name=value") from None
        return cls(scheme, target, dict(pairs), text)

    def with_options(self, **changes: str) -> str:
        """Return the name with some options added or replaced.

        >>> ModelName.parse("hf:models/tiny?dtype=float32&device=cpu").with_options(dtype="bfloat16")
        'hf:models/tiny?dtype=bfloat16&device=cpu'
        """
        return f"{self.scheme}:{self.target}?{urlencode({**self.options, **changes}, safe='/:')}"


class ModelOptions(BaseModel):
    """Base class of each backend's options. For an unknown name the error lists the known ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)


OptionsT = TypeVar("OptionsT", bound=ModelOptions)


def read_options(name: ModelName, kind: type[OptionsT]) -> OptionsT:
    """Parse and check the options of a model name."""
    try:
        return kind.model_validate(name.options)
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields) or "none"
            raise UsageError(f"{name.text!r} has no option {option!r}; it has: {known}") from None
        raise UsageError(
            f"invalid value for the option {option} of {name.text!r}: {first['msg'].lower()}"
        ) from None


def open_model(text: str) -> VisionLanguageModel:
    """Open a model by name.

    Args:
        text: For example ``scripted:looker``, ``hf:path``, ``openai:name@url`` or ``replay:run``.

    Raises:
        UsageError: If the name is wrong.
        ModelError: If the model cannot be used.
        MissingExtraError: If a required library is not installed.

    >>> open_model("scripted:echo").name
    'scripted:echo'
    """
    name = ModelName.parse(text)
    entry = registry().entry("model", name.scheme)
    opener = cast("Callable[[ModelName], object]", entry.load())
    model = opener(name)
    if not isinstance(model, VisionLanguageModel):
        raise ContractError(
            f"the model scheme {name.scheme!r} of {entry.origin} opened a {type(model).__name__}, which does not fulfil "
            "the model contract; theodolite.testing.check_model lists what is missing"
        )
    return model
