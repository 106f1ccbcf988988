"""Readers for the logs of other harnesses: lmms-eval samples and inspect_ai logs."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import ConfigDict

from theodolite.core.errors import UsageError, reason_of
from theodolite.core.files import Problem, check, open_plain, parse_json, read_each, read_lines, read_text
from theodolite.core.types import Picture, Response
from theodolite.core.unpack import Allowance, inflated, open_archive
from theodolite.core.views import Form, Whole
from theodolite.models.tables import (
    BINARY_SUFFIXES,
    PACKED,
    PLACE,
    PLACEHOLDER,
    SUFFIXES,
    Row,
    arranged,
    picture_name,
    read_rows,
    suffix_of,
    with_places,
)

_ATTACHED = "attachment://"
_REMOVED = "<base64-data-removed>"
"""What inspect_ai logs instead of a picture if it is told to log none."""
_HEAD = 1 << 20
"""How much of a file is read to find out which log it is."""


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
    place: str = ""
    """What stands for the name of the picture if the log has no field for it (`theodolite.models.tables.with_places`)."""
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
    video: str = ""


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
        return [part.image or part.video for part in parts if part.type in {"image", "video"}]


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
    input: str | list[_Message] = ""
    choices: list[str] | None = None
    target: str | list[str] = ""
    messages: list[_Message]
    metadata: dict[str, Any] | None = None
    attachments: dict[str, Any] | None = None
    error: Any = None
    output: _Output | None = None

    def resolved(self, text: str) -> str:
        """Return a text, or the attachment that it refers to."""
        if not text.startswith(_ATTACHED):
            return text
        return str((self.attachments or {}).get(text.removeprefix(_ATTACHED), text))

    def text(self, role: str) -> str:
        """Return what was said in a role."""
        return "\n".join(self.resolved(message.text) for message in self.messages if message.role == role)

    @property
    def pictures(self) -> list[str]:
        """The pictures of all prompts: data URIs, or names."""
        asking = [message for message in self.messages if message.role in {"system", "user"}]
        return [self.resolved(picture) for message in asking for picture in message.pictures]

    def row(self) -> Row:
        """Return the sample as a row of a table: the question as its data set has it, and the right answer."""
        asked = (
            [self.input] if isinstance(self.input, str) else [m.text for m in self.input if m.role == "user"]
        )
        targets = [self.target] if isinstance(self.target, str) else self.target
        removed = set(self.pictures) == {_REMOVED}
        row = {
            "id": self.id,
            "question": "\n".join(map(self.resolved, asked)) or self.text("user"),
            "options": self.choices,
            "truth": targets[0] if len(targets) == 1 else targets,
            "response": _inspect_response(self).text,
            **{name: value for name, value in (self.metadata or {}).items() if name in {"rubric", "group"}},
            **({} if removed else {"pictures": self.pictures}),
        }
        return with_places([row])[0]


T = TypeVar("T")
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
    row = next(arranged({**value["doc"], **value} if isinstance(value.get("doc"), dict) else value))
    return LoggedAnswer(
        ref,
        prompt,
        _answered(_first_text(answers)),
        pictures,
        picture="" if digests or isinstance(shown, int) else picture_name(row),
        place=with_places([row])[0].get(PLACE, ""),
        shown=digests,
    )


# A log is data, too.


def log_kind(path: Path) -> Literal["inspect", "lmms-eval", "table"]:
    """Find out from name and beginning of a file which log it is."""
    if path.suffix == ".eval" or (suffix_of(path) == ".json" and _is_inspect(_head(path))):
        return "inspect"
    return "lmms-eval" if suffix_of(path) == ".jsonl" and b'resps"' in _head(path) else "table"


def log_rows(path: Path, problems: list[Problem]) -> list[Row]:
    """Read the questions of any log or table, with right and recorded answers, as rows with the names of a table.

    Args:
        path: The file.
        problems: Problems of broken rows are appended here. The rows are left out.

    Raises:
        UsageError: If the file cannot be read, or holds no rows.
    """
    if log_kind(path) != "inspect":
        return with_places(read_rows(path, problems))
    samples, broken = _inspect_samples(path)
    problems += broken
    return [sample.row() for sample in samples if sample.epoch == 1]


def is_log_file(path: Path) -> bool:
    """Return True if the name of a file says that it may hold questions or recorded answers."""
    return path.suffix == ".eval" or suffix_of(path) in {*SUFFIXES, *BINARY_SUFFIXES}


def _is_inspect(head: bytes) -> bool:
    """Return True if a JSON file begins like a log of inspect_ai, with the evaluation before its samples."""
    return b'"eval"' in head and b'"samples"' in head


def _head(path: Path) -> bytes:
    try:
        with open_plain(path) as file:
            if path.suffix != PACKED:
                return file.read(_HEAD)
            return next(inflated(file), b"")
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from error


def read_inspect(path: Path) -> Logged:
    """Read an inspect_ai log: a ``.eval`` archive or its ``.json`` form. Broken samples are left out.

    Raises:
        UsageError: If the file cannot be read, or holds no sample.
    """
    samples, problems = _inspect_samples(path)
    return list(map(_inspect_answer, samples)), problems


def _inspect_samples(path: Path) -> tuple[list[_InspectSample], list[Problem]]:
    what = f"{path} is not an inspect_ai log"
    if path.suffix != ".eval":
        value = parse_json(read_text(path))
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
            found, problems = read_each(members, lambda name: _inspect_sample(parse_json(archive.read(name))))
    except (OSError, ValueError) as error:
        raise UsageError(f"{what}: {' '.join(str(error).split())[:200]}") from error
    return _some(found, problems, what)


def _some(found: list[tuple[str, T]], problems: list[Problem], what: str) -> tuple[list[T], list[Problem]]:
    if problems and not found:
        raise UsageError(f"{what}: {problems[0]}")
    return [entry for _, entry in found], problems


def _inspect_sample(value: Any) -> _InspectSample:
    sample = check(_InspectSample, value)
    _inspect_response(sample)
    return sample


def _inspect_answer(sample: _InspectSample) -> LoggedAnswer:
    ref = sample.id if sample.epoch == 1 else f"{sample.id}#{sample.epoch}"
    pictures = sample.pictures
    shown = [picture_digests(picture) for picture in pictures]
    is_embedded = bool(shown) and all(shown)
    row = sample.row()
    return LoggedAnswer(
        ref,
        sample.text("user"),
        _inspect_response(sample),
        len(pictures),
        picture="" if is_embedded else picture_name(row),
        place=str(row.get(PLACE, "")),
        shown=tuple(shown) if is_embedded else (),
        system=sample.text("system"),
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
