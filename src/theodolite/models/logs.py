"""Readers for the logs of other harnesses: lmms-eval samples and inspect_ai logs."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ConfigDict

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, open_plain, parse_json, read_each, read_json, read_lines
from theodolite.core.types import Picture, Response
from theodolite.core.unpack import Allowance, open_archive
from theodolite.core.views import Form, Whole

_ATTACHED = "attachment://"


PLACEHOLDER = re.compile(r"<image>|<image_?\d+>|<\|?image[^>]*\|?>")
"""Matches the placeholders of pictures in a prompt."""


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """One answered sample of a log."""

    ref: str
    """The sample's id in the log."""
    prompt: str
    """The prompt text, as far as the log contains it."""
    response: Response
    pictures: int = 0
    """Number of pictures in the prompt, as far as the log shows. A video counts as one."""
    picture: str = ""
    """The name of the first picture, if the log has it."""
    shown: tuple[frozenset[str], ...] = ()
    """The digests of its pictures, if the log embeds all of them: of the bytes, and of the pixels."""
    system: str = ""
    """The system prompt. It is not part of `prompt`."""
    epoch: int = 1
    """How many times the sample was asked by then."""


class _LmmsSample(Form):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    ref: str | None = None
    doc_id: str | None = None
    input: Any = ""
    resps: Any = None
    filtered_resps: Any = None
    pictures: Any = None
    shown: list[str] | None = None


class _Part(Form):
    """A part of a message: text, reasoning, a picture or a video."""

    type: str = ""
    text: str = ""
    reasoning: str = ""
    image: str = ""


class _Message(Form):
    role: str = ""
    content: str | list[_Part]

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.type == "text")

    @property
    def reasoning(self) -> str:
        """The reasoning parts, joined by newlines."""
        parts = () if isinstance(self.content, str) else self.content
        return "\n".join(part.reasoning for part in parts if part.type == "reasoning")

    @property
    def pictures(self) -> list[str]:
        """The pictures and videos: data URIs, references to attachments, or addresses."""
        parts = () if isinstance(self.content, str) else self.content
        return [part.image for part in parts if part.type in {"image", "video"}]


class _Choice(Form):
    stop_reason: str | None = None
    message: _Message


class _Usage(Form):
    input_tokens: Whole | None = None
    output_tokens: Whole | None = None


class _Output(Form):
    choices: list[_Choice] | None = None
    error: Any = None
    usage: _Usage | None = None


class _InspectSample(Form):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str
    epoch: Whole = 1
    messages: list[_Message]
    attachments: dict[str, Any] | None = None
    error: Any = None
    output: _Output | None = None


Logged: TypeAlias = tuple[list[LoggedAnswer], list[Problem]]
"""The answers of a log, and the problems of its broken samples."""


def read_lmms_eval(path: Path) -> Logged:
    """Read a ``*_samples_*.jsonl`` file of lmms-eval: one object per document. Broken lines are left out.

    The log does not contain the pictures. Each sample is assumed to have as many as there are placeholders in its text,
    and at least one. The raw answers are under ``resps``, or under ``filtered_resps`` if both are equal and the first
    was omitted. Tasks exported by Theodolite store an item's id under ``ref``, its number of pictures under ``pictures`` and
    their digests under ``shown``; these are used if present.

    Raises:
        UsageError: If the file cannot be read, or no line is a sample.
    """
    return _some(*read_lines(path, _lmms_sample), f"{path} is not a log of lmms-eval")


def _lmms_sample(value: Any) -> LoggedAnswer:
    sample = check(_LmmsSample, value)
    ref = sample.ref or sample.doc_id
    if ref is None:
        raise UsageError("the sample has no doc_id")
    if sample.resps is None and "filtered_resps" not in sample.model_fields_set:
        raise UsageError("the sample has no resps")
    answers = sample.resps if "resps" in sample.model_fields_set else sample.filtered_resps
    prompt, shown = str(sample.input), sample.pictures
    pictures = shown if isinstance(shown, int) else max(1, len(PLACEHOLDER.findall(prompt)))
    digests = tuple(frozenset({digest}) for digest in sample.shown or ())
    return LoggedAnswer(ref, prompt, _answered(_first_text(answers)), pictures, shown=digests)


def read_inspect(path: Path) -> Logged:
    """Read an inspect_ai log: a ``.eval`` archive or its ``.json`` form. Broken samples are left out.

    Raises:
        UsageError: If the file cannot be read, or holds no sample.
    """
    what = f"{path} is not an inspect_ai log"
    if path.suffix == ".json":
        value = read_json(path)
        samples = value.get("samples") if isinstance(value, dict) else None
        if not isinstance(samples, list):
            raise UsageError(f"{what}: it has no list of samples")
        rows = [(f"{path.name}, samples[{number}]", sample) for number, sample in enumerate(samples)]
        return _some(*read_each(rows, _inspect_sample), what)
    try:
        with (
            open_plain(path) as file,
            open_archive(file, Allowance(os.fstat(file.fileno()).st_size)) as archive,
        ):
            members = [
                (f"{path.name}, {name}", name)
                for name in archive.members
                if name.startswith("samples/") and name.endswith(".json")
            ]
            answers, problems = read_each(
                members, lambda name: _inspect_sample(parse_json(archive.read(name)))
            )
    except (OSError, ValueError) as error:
        raise UsageError(f"{what}: {' '.join(str(error).split())[:200]}") from error
    return _some(answers, problems, what)


def _some(answers: list[tuple[str, LoggedAnswer]], problems: list[Problem], what: str) -> Logged:
    if problems and not answers:
        raise UsageError(f"{what}: {problems[0]}")
    return [answer for _, answer in answers], problems


def _inspect_sample(value: Any) -> LoggedAnswer:
    sample = check(_InspectSample, value)
    attached = {name: str(text) for name, text in (sample.attachments or {}).items()}

    def resolved(text: str) -> str:
        return attached.get(text.removeprefix(_ATTACHED), text) if text.startswith(_ATTACHED) else text

    texts = {
        role: "\n".join(resolved(message.text) for message in sample.messages if message.role == role)
        for role in ("system", "user")
    }
    ref = sample.id if sample.epoch == 1 else f"{sample.id}#{sample.epoch}"
    pictures = [
        resolved(picture)
        for message in sample.messages
        if message.role in {"system", "user"}
        for picture in message.pictures
    ]
    shown = [picture_digests(picture) for picture in pictures]
    return LoggedAnswer(
        ref,
        texts["user"],
        _inspect_response(sample),
        len(pictures),
        shown=tuple(shown) if all(shown) else (),
        system=texts["system"],
        epoch=sample.epoch,
    )


def picture_digests(encoded: str | bytes) -> frozenset[str]:
    """Return the digests that a picture may have in a request. Empty if it is not embedded, or cannot be decoded.

    Args:
        encoded: A data URI, base64, or the bytes themselves.
    """
    if isinstance(encoded, str):
        uri, _, data = encoded.rpartition(",")
        if uri and not uri.startswith("data:"):
            return frozenset()
        try:
            encoded = base64.b64decode(data, validate=True)
        except ValueError:
            return frozenset()
    try:
        return _digests(encoded)
    except UsageError:
        return frozenset()


@lru_cache(maxsize=4096)
def _digests(data: bytes) -> frozenset[str]:
    picture = Picture.from_bytes(data)
    return frozenset({picture.digest, picture.pixel_digest})


def _inspect_response(sample: _InspectSample) -> Response:
    if sample.error:
        return Response.failed(f"the sample failed when it was logged: {_error_text(sample.error)}"[:500])
    output = sample.output
    if output is None:
        raise UsageError("output: Field required")
    if not output.choices:
        return Response.failed(f"no answer was logged: {output.error or 'no choice'}"[:500])
    choice = output.choices[0]
    if choice.stop_reason == "content_filter":
        return Response("refused", reason="content filter")
    usage = output.usage or _Usage()
    return _answered(
        choice.message.text,
        reasoning=choice.message.reasoning,
        finish=choice.stop_reason or "",
        prompt_tokens=usage.input_tokens or 0,
        completion_tokens=usage.output_tokens or 0,
    )


def _error_text(error: Any) -> str:
    return str(error.get("message", "")) if isinstance(error, dict) else str(error)


def _answered(text: str | None, **fields: Any) -> Response:
    """Create a response from a text. An empty text is an answer, a missing one a failure."""
    return (
        Response.failed("no answer was logged") if text is None else Response("answered", text=text, **fields)
    )


def _first_text(answers: Any) -> str | None:
    """Return the first answer of nested lists."""
    while isinstance(answers, list):
        answers = answers[0] if answers else None
    if answers is not None and not isinstance(answers, str):
        raise UsageError(f"an answer must be text, not {answers!r:.40}")
    return answers
