"""Readers for the logs of other harnesses: lmms-eval samples and inspect_ai logs."""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.core.types import Response

_ZSTANDARD = 93
"""The compression method of inspect_ai's archives, which `zipfile` supports only since Python 3.14."""


PLACEHOLDER = re.compile(r"<image>|<image_?\d+>|<\|?image[^>]*\|?>")
"""Matches the placeholders of pictures in a prompt."""


_LARGEST_SAMPLE = 256 << 20
"""Maximum decompressed size of a sample, which includes its pictures."""


_LARGEST_WINDOW = 128 << 20
"""Maximum window size for decompression, the default limit of the zstd program."""


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


def read_lmms_eval(path: Path) -> Iterator[LoggedAnswer]:
    """Read a ``*_samples_*.jsonl`` file of lmms-eval: one object per document.

    The log does not contain the pictures. Each sample is assumed to have as many as there are placeholders in its text,
    and at least one. The raw answers are under ``resps``, or under ``filtered_resps`` if both are equal and the first
    was omitted. Tasks exported by Theodolite store an item's id under ``ref`` and its number of pictures under
    ``pictures``; these are used if present.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            with _named(f"{path}, line {number}, is not a sample of lmms-eval"):
                sample = json.loads(line)
                answers = sample["resps"] if "resps" in sample else sample["filtered_resps"]
                prompt, response = str(sample.get("input", "")), _answered(_first_text(answers))
                shown = sample.get("pictures")
                pictures = shown if isinstance(shown, int) else max(1, len(PLACEHOLDER.findall(prompt)))
                yield LoggedAnswer(str(sample.get("ref") or sample["doc_id"]), prompt, response, pictures)


def read_inspect(path: Path) -> Iterator[LoggedAnswer]:
    """Read an inspect_ai log: a ``.eval`` archive or its ``.json`` form."""
    with _named(f"{path} is not an inspect_ai log"):
        for sample in _inspect_samples(path):
            yield _inspect_sample(sample, path)


def _inspect_samples(path: Path) -> Iterator[Any]:
    if path.suffix == ".json":
        yield from json.loads(path.read_bytes())["samples"]
        return
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.startswith("samples/") and info.filename.endswith(".json"):
                yield json.loads(_read_member(archive, info))


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Convert any error while reading a file into a `UsageError` that names the file."""
    try:
        yield
    except (
        *(LookupError, AttributeError, TypeError, ValueError, RecursionError, EOFError, NotImplementedError),
        *(zipfile.BadZipFile, zlib.error, RuntimeError),
    ) as error:
        raise UsageError(f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:200]}") from error


def _inspect_sample(sample: Any, path: Path) -> LoggedAnswer:
    with _named(f"a sample of {path} does not have the format of an inspect_ai log of version 2"):
        turns = [message for message in sample["messages"] if message["role"] in {"system", "user"}]
        texts = (_message_text(message["content"]) for message in turns)
        attached = sample.get("attachments") or {}
        prompt = "\n".join(attached.get(text.removeprefix("attachment://"), text) for text in texts)
        epoch = sample.get("epoch", 1)
        ref = str(sample["id"]) if epoch == 1 else f"{sample['id']}#{epoch}"
        pictures = sum(_count_pictures(message["content"]) for message in turns)
        return LoggedAnswer(ref, prompt, _inspect_response(sample), pictures)


def _inspect_response(sample: Any) -> Response:
    if sample.get("error"):
        return Response.failed(f"the sample failed when it was logged: {_error_text(sample['error'])}"[:500])
    output = sample["output"]
    if not output.get("choices"):
        return Response.failed(f"no answer was logged: {output.get('error') or 'no choice'}")
    choice = output["choices"][0]
    if choice.get("stop_reason") == "content_filter":
        return Response("refused", reason="content filter")
    content = choice["message"]["content"]
    usage = output.get("usage") or {}
    return _answered(
        _message_text(content),
        reasoning="\n".join(part.get("reasoning", "") for part in content if part["type"] == "reasoning")
        if isinstance(content, list)
        else "",
        finish=str(choice.get("stop_reason", "")),
        prompt_tokens=int(usage.get("input_tokens", 0)),
        completion_tokens=int(usage.get("output_tokens", 0)),
    )


def _error_text(error: Any) -> str:
    return str(error.get("message", "")) if isinstance(error, dict) else str(error)


def _answered(text: str | None, **fields: Any) -> Response:
    """An empty text is an answer; a missing text is a failure."""
    return (
        Response.failed("no answer was logged") if text is None else Response("answered", text=text, **fields)
    )


def _first_text(answers: Any) -> str | None:
    """Return the first answer of nested lists."""
    while isinstance(answers, list):
        answers = answers[0] if answers else None
    if answers is not None and not isinstance(answers, str):
        raise TypeError(f"an answer must be text, not {answers!r:.40}")
    return answers


def _message_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def _count_pictures(content: Any) -> int:
    return 0 if isinstance(content, str) else sum(part.get("type") in {"image", "video"} for part in content)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read one file of the archive, even if Python's zipfile does not support its compression."""
    if info.compress_type != _ZSTANDARD:
        with archive.open(info) as member:
            return _bounded(member, info)
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", "inspect", "reading a log of inspect_ai") from None
    raw = archive.fp
    if raw is None:
        raise UsageError("the archive is closed")
    raw.seek(info.header_offset)
    header = raw.read(30)
    skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    raw.seek(info.header_offset + 30 + skip)
    data = io.BytesIO(raw.read(info.compress_size))
    try:
        with zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).stream_reader(data) as member:
            return _bounded(member, info)
    except zstandard.ZstdError as error:
        raise ValueError(f"{info.filename}: {error}") from error


def _bounded(member: Any, info: zipfile.ZipInfo) -> bytes:
    """Read a decompressed file up to the maximum size of a sample."""
    data: bytes = member.read(_LARGEST_SAMPLE + 1)
    if len(data) > _LARGEST_SAMPLE:
        raise ValueError(f"{info.filename} decompresses to more than {_LARGEST_SAMPLE >> 20} MiB")
    return data
