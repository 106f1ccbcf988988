"""A prompt sweep: the paper's prompts by name, one's own from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.prompts import PROMPTS, Prompt

ALL = "all"


class _Line(BaseModel):
    """One prompt of a file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    template: str
    options: dict[str, str] | None = None


def find_prompts(text: str) -> tuple[Prompt, ...]:
    """Prompts by name and from files.

    Args:
        text: names of `PROMPTS`, ``all`` for these, and files that `read_prompts` reads, separated by commas.

    Raises:
        UsageError: a name is unknown, a file cannot be read, or two prompts have the same name.

    >>> [prompt.name for prompt in find_prompts("A,C")]
    ['A', 'C']
    """
    found: list[Prompt] = []
    for word in (word.strip() for word in text.split(",")):
        if word == ALL:
            found += PROMPTS.values()
        elif word in PROMPTS:
            found.append(PROMPTS[word])
        elif word and Path(word).is_file():
            found += read_prompts(word)
        else:
            raise UsageError(
                f"there is no prompt {word!r}: name {', '.join(PROMPTS)} or all, or a JSON Lines file with "
                "name, template and options in every line"
            )
    return _unique(found, text)


def read_prompts(path: str | Path) -> tuple[Prompt, ...]:
    """One's own prompts, from JSON Lines with ``name``, ``template`` and ``options``.

    A template has a place for ``{tgt}`` and one for ``{ref}``. Options are answer token -> direction, in the order in
    which they are offered; without them, the four numbers of the paper's prompts.

    Raises:
        UsageError: a line is no prompt, or there is none; says which.
    """
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the prompts {path}: {error}") from error
    found = [_prompt(line, f"{path}, line {i}") for i, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise UsageError(f"{path} holds no prompt")
    return _unique(found, str(path))


def _prompt(line: str, place: str) -> Prompt:
    try:
        read = _Line.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise UsageError(f"{place}: {where}: {first['msg']}") from error
    if not read.name or "/" in read.name or "," in read.name:
        raise UsageError(f"{place}: a prompt needs a name without '/' and ',', not {read.name!r}")
    options: Mapping[str, str] = PROMPTS["A"].options if read.options is None else read.options
    try:
        return Prompt(read.name, read.template, options)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from error


def _unique(prompts: list[Prompt], origin: str) -> tuple[Prompt, ...]:
    names = [prompt.name for prompt in prompts]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{origin} names the prompt {twice[0]!r} twice; every prompt needs its own name")
    return tuple(prompts)
