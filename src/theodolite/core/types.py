"""The data types shared by all packages: pictures, requests, responses, items and records.

All are frozen. `theodolite.runs` defines how they are stored on disk.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError, reason_of
from theodolite.core.files import file_hash
from theodolite.core.pictures import LARGEST_PICTURE, decode, read_picture, shown_size

if TYPE_CHECKING:
    from PIL.Image import Image
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

__all__ = [
    "PLAIN",
    "AnswerFormat",
    "Kind",
    "Style",
    "Truth",
]


# What is right about an item: its right answers, the form they have, and how the item relates to others.


Kind: TypeAlias = Literal["choice", "yes-no", "number", "count", "direction", "text"]
Style: TypeAlias = Literal["letter", "index", "word", ""]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "yes-no": ("yes", "no"),
    "direction": ("left", "right", "above", "below"),
}
_NO_OPTIONS: Mapping[str, str] = {}  # a read-only view could not be sent to another process

PLAIN = "plain"
"""The condition of an item that shows its own picture, unedited."""


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """The form of the answer that a question asks for.

    Attributes:
        kind: What is asked for. ``direction`` is a choice between places such as *left* or *front right*.
        options: Label to option text, in the order shown. Empty for open questions; "yes-no" and "direction" have defaults.
        style: How an option is to be named: by its letter, its index or its own words.
        unit: The unit asked for. Numbers are converted to it.
        subject: The thing whose place was asked for, where known.
        object: The thing it is placed against, where known.
        claim: The direction that a yes-or-no question asks about, where known: a statement of it answers too.
    """

    kind: Kind
    options: Mapping[str, str] = field(default_factory=lambda: _NO_OPTIONS)
    style: Style = ""
    unit: str = ""
    subject: str = ""
    object: str = ""
    claim: str = ""

    def __post_init__(self) -> None:
        if not self.options and self.kind in _DEFAULTS:
            object.__setattr__(self, "options", {name: name for name in _DEFAULTS[self.kind]})

    @classmethod
    def choice(
        cls, options: Mapping[str, str] | list[str] | tuple[str, ...], style: Style = ""
    ) -> AnswerFormat:
        """Create the form of a choice between several options.

        Args:
            options: Label to text, or the texts alone. Texts alone are labelled by letter or by index, starting at 0,
                if `style` says so; otherwise each is its own label.
            style: How the option is to be named.

        >>> AnswerFormat.choice(["yes", "no"], style="letter").options
        {'A': 'yes', 'B': 'no'}
        """
        if not isinstance(options, Mapping):
            labels = {"letter": list(_LETTERS), "index": [str(i) for i in range(len(options))]}.get(
                style, list(options)
            )
            options = dict(zip(labels, options, strict=False))
        return cls("choice", options, style)

    @classmethod
    def yes_no(cls) -> AnswerFormat:
        """Create the form of a yes-or-no answer."""
        return cls("yes-no", style="word")

    @classmethod
    def number(cls, unit: str = "") -> AnswerFormat:
        """Create the form of a number in a unit such as "m". Without a unit, numbers are read as written."""
        return cls("number", unit=unit)

    @classmethod
    def count(cls, options: Mapping[str, str] = _NO_OPTIONS, style: Style = "") -> AnswerFormat:
        """Create the form of a whole number. With options, the answer is the label of an option."""
        return cls("count", options, style)

    @classmethod
    def directions(
        cls,
        options: Mapping[str, str] | tuple[str, ...] = (),
        style: Style = "word",
        *,
        subject: str = "",
        object: str = "",  # noqa: A002 - the field's name
    ) -> AnswerFormat:
        """Create the form of a relative position such as "front right"; by default left, right, above or below."""
        offered = options if isinstance(options, Mapping) else {name: name for name in options}
        return cls("direction", offered, style, subject=subject, object=object)

    @classmethod
    def text(cls) -> AnswerFormat:
        """Create the form of free text."""
        return cls("text")


@dataclass(frozen=True, slots=True)
class Truth:
    """The ground truth of an item, for scoring. It is stored with the item, and never sent to a model.

    >>> before = Truth(("left",), subject="q1", cluster="picture-1")
    >>> after = Truth(("right",), subject="q1", cluster="picture-1", condition="mirrored", edit="mirror", base="q1/plain")
    >>> before.is_plain, after.is_plain
    (True, False)
    """

    golds: tuple[str, ...] = ()
    """All right answers in words: texts of options, *yes* or *no*, numbers as text. Empty if no answer is right or wrong."""
    format: AnswerFormat | None = None
    """The form of the answer. None: one of the item's options, or free text if it has none."""
    subject: str = ""
    """The question, pair, scene or episode: the same under all conditions and for all models. Empty: the item's name."""
    cluster: str = ""
    """The picture, scene or episode that the item shares with others. Empty: the subject."""
    split: str = ""
    """Empty: that of the run."""
    group: str = ""
    """The kind of question, for results by group."""
    relation: str = ""
    """What the question asks for and an edit changes, for pairs by relation."""
    condition: str = PLAIN
    """What was done to the item: plain, mirrored, blank, swapped …"""
    edit: str = ""
    """The name of the edit whose effect on the right answer is known (`theodolite.pairs.EDITS`). Empty if there is none."""
    base: str = ""
    """The name of the item before the edit."""
    repeats: str = ""
    """The name of the item whose request this one makes again."""
    grader: str = ""
    """The registered grader of the answer. Empty: the common reader, and equality with a right answer."""

    @property
    def is_plain(self) -> bool:
        """True for the first request about an item's own picture, unedited."""
        return self.condition == PLAIN and not self.repeats


if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
    """A value that can be written as JSON. NaN and infinity cannot."""
else:
    Json = Any  # pydantic checks records with such fields, and knows no alias that names itself

Pixels: TypeAlias = NDArray[np.uint8]
"""An RGB picture of shape ``(height, width, 3)``."""

Role: TypeAlias = Literal["system", "user", "assistant"]

ReplayMatch: TypeAlias = Literal["words", "id", "content"]
"""How a replay may match a request to a recorded answer.

- ``words``: by content, id or text.
- ``id``: by content or id. The same text is also asked about other pictures.
- ``content``: only by content. The pictures were removed or replaced, so a recorded answer to the same question does
  not apply.
"""

Status: TypeAlias = Literal["answered", "refused", "failed"]
"""The outcome of a request. A wrong answer is still *answered*. *refused* means that the model or its server declined.
*failed* means that there is no answer for any other reason."""


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Json) -> str:
    """Encode a value as JSON with sorted keys and no spaces, so that equal values give equal text.

    >>> canonical_json({"b": [1, 2.5], "a": "é"})
    '{"a":"é","b":[1,2.5]}'
    """
    return _ENCODER.encode(value)


def content_hash(value: Json) -> str:
    """Return the first 32 hex digits of the SHA-256 of a value's canonical JSON.

    >>> content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:32]


def fields_of(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, to build a record of a class with further fields.

    >>> fields_of(Message.user("left"))
    {'role': 'user', 'content': ('left',)}
    """
    return {field.name: getattr(record, field.name) for field in fields(record)}


_HASHING_S = 60.0
"""How long the hash of a picture file may take."""


@lru_cache(maxsize=65536)
def _file_digest(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - size and time are part of the cache key
    return "bytes-" + file_hash(path, largest=LARGEST_PICTURE, seconds=_HASHING_S)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in a file or in memory, identified by a hash of its content.

    Files are hashed by their bytes and arrays by their pixels. The same scene drawn on another machine therefore
    keeps its identity even if the PNG encoder writes different bytes. Pixels are read only when needed, so a plan of
    100,000 items stays small.
    """

    digest: str
    """``bytes-<sha256>`` of the encoded file, ``pixels-<sha256>`` of shape and pixels, or ``name-<sha256>`` of the name."""
    path: Path | None = field(default=None, compare=False)
    """The path of the file, if the picture is a file; the name of a picture that is absent."""
    data: bytes | None = field(default=None, repr=False, compare=False)
    """The encoded picture, if the picture is in memory."""

    @classmethod
    def from_path(cls, path: str | Path) -> Picture:
        """Create a picture from a file. The bytes are hashed; the pixels are not decoded."""
        path = Path(path)
        try:
            stat = path.stat()
            return cls(_file_digest(path.absolute(), stat.st_size, stat.st_mtime_ns), path=path)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read the picture {path}: {reason_of(error)}") from error

    @classmethod
    def from_bytes(cls, data: bytes) -> Picture:
        """Create a picture from encoded bytes (PNG, JPEG, WebP, GIF)."""
        return cls("bytes-" + hashlib.sha256(data).hexdigest(), data=data)

    @classmethod
    def from_array(cls, pixels: Pixels) -> Picture:
        """Create a picture from pixels, encoded losslessly as PNG.

        >>> Picture.from_array(np.zeros((2, 3, 3), np.uint8)).size
        (3, 2)
        """
        from PIL import Image

        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or 0 in pixels.shape:
            raise UsageError(
                f"a picture must be a uint8 array of shape (height, width, 3), not {pixels.dtype} of shape {pixels.shape}"
            )
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, format="PNG", compress_level=3)
        return cls(_pixel_digest(pixels), data=buffer.getvalue())

    @classmethod
    def named(cls, name: str) -> Picture:
        """Create a picture that is not here, such as that of another's log: its name is all that is known of it.

        >>> Picture.named("val2014/1.jpg") == Picture.named("val2014/1.jpg"), Picture.named("2.jpg").is_absent
        (True, True)
        """
        return cls(_ABSENT + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest(), path=Path(name))

    @property
    def is_absent(self) -> bool:
        """True if only the name of the picture is known."""
        return self.digest.startswith(_ABSENT)

    def read(self) -> bytes:
        """Read the encoded bytes and check them against the digest.

        Raises:
            UsageError: If the file is missing or has changed since it was planned, or only its name is known.
        """
        if self.is_absent:
            raise UsageError(f"the picture {self.path} is not here: its name is all that the log holds")
        if self.data is not None:
            return self.data
        data = read_picture(self.path) if self.path is not None else b""
        kind = self.digest.partition("-")[0]
        digest = (
            "bytes-" + hashlib.sha256(data).hexdigest()
            if kind == "bytes"
            else _pixel_digest(decode(data, self._name))
        )
        if digest != self.digest:
            raise UsageError(f"the picture {self.path} has changed since it was planned; plan again")
        return data

    def load(self) -> Image:
        """Decode the picture to RGB. Transparent parts become white; the EXIF rotation is applied."""
        from PIL import Image

        return Image.fromarray(self.pixels())

    def pixels(self) -> Pixels:
        """Decode the picture to an array of shape ``(height, width, 3)``."""
        return decode(self.read(), self._name)

    @property
    def pixel_digest(self) -> str:
        """The digest of the decoded pixels, whatever `digest` is."""
        return _pixel_digest(self.pixels())

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, as `load` returns them. Only the file header is read."""
        return shown_size(self.read(), self._name)

    @property
    def _name(self) -> str:
        """The name of the picture in messages."""
        return str(self.path or self.digest)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Define how a record with pictures is stored: the function ``picture`` of the context reads or writes each."""
        from pydantic_core import core_schema

        def read(stored: Any, info: Any) -> Any:
            return stored if isinstance(stored, Picture) else info.context["picture"](stored)

        def write(picture: Picture, info: Any) -> Any:
            return info.context["picture"](picture)

        return core_schema.with_info_plain_validator_function(
            read, serialization=core_schema.plain_serializer_function_ser_schema(write, info_arg=True)
        )

    @property
    def media_type(self) -> str:
        """The MIME type, detected from the first bytes."""
        head = self.data[:12] if self.data is not None else self.read()[:12]
        for magic, name in _MAGIC.items():
            if head.startswith(magic):
                return f"image/{name}"
        return "image/webp" if head[8:12] == b"WEBP" else "application/octet-stream"


_ABSENT = "name-"
"""How the digest of a picture begins of which only the name is known."""
_MAGIC = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"BM": "bmp"}


def _pixel_digest(pixels: Pixels) -> str:
    shape = "x".join(map(str, pixels.shape)).encode()
    digest = hashlib.sha256(shape + b":")
    digest.update(np.ascontiguousarray(pixels).data)
    return "pixels-" + digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation: text and pictures, in the order in which the model receives them."""

    role: Role
    content: tuple[str | Picture, ...]

    @classmethod
    def user(cls, *content: str | Picture) -> Message:
        """Create a user turn.

        >>> Message.user("Where is the cup?").text
        'Where is the cup?'
        """
        return cls("user", content)

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return "\n".join(part for part in self.content if isinstance(part, str))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The picture parts, in order."""
        return tuple(part for part in self.content if isinstance(part, Picture))


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model, with everything that can affect the answer."""

    messages: tuple[Message, ...]
    max_tokens: int = 512
    temperature: int | float = 0.0
    """An integer and the equal float make different requests: `digest` distinguishes them."""
    seed: int | None = None
    """The sampling seed. Without it, an answer at a temperature above zero cannot be reproduced."""
    stop: tuple[str, ...] = ()
    ref: str = ""
    """The caller's name for the request, such as a question's id. Not sent to the model; a replay uses it to find the
    recorded answer."""
    recall: ReplayMatch = "words"
    """How a replay may find the recorded answer. Not sent to the model."""
    question: str = field(default="", compare=False)
    """The question alone, without options and instructions, if it is known. Not sent to the model; a replay compares it with what
    was asked when the answer was recorded."""
    hint: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """Information for scripted models, such as the correct answer. Never sent to any other model."""

    def __post_init__(self) -> None:
        if not self.messages:
            raise UsageError("a request needs at least one message")
        if self.max_tokens < 1:
            raise UsageError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise UsageError(f"temperature must be at least 0, not {self.temperature}")

    @classmethod
    def ask(cls, *content: str | Picture, max_tokens: int = 512, ref: str = "") -> Request:
        """Create a request with a single user turn and greedy decoding.

        >>> Request.ask("How many cups?", max_tokens=8).text
        'How many cups?'
        """
        return cls((Message.user(*content),), max_tokens=max_tokens, ref=ref)

    @property
    def text(self) -> str:
        """The text of all turns."""
        return "\n".join(message.text for message in self.messages)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures of all turns, in order."""
        return tuple(picture for message in self.messages for picture in message.pictures)

    def with_pictures(self, pictures: Sequence[Picture]) -> Request:
        """Return the same request with other pictures, in the same order.

        >>> grey = Picture.from_array(np.full((2, 2, 3), 128, np.uint8))
        >>> asked = Request.ask(Picture.from_array(np.zeros((2, 2, 3), np.uint8)), "What is it?")
        >>> asked.with_pictures([grey]).pictures == (grey,)
        True
        """
        left = iter(pictures)
        messages = tuple(
            Message(
                message.role,
                tuple(next(left) if isinstance(part, Picture) else part for part in message.content),
            )
            for message in self.messages
        )
        return replace(self, messages=messages)

    @property
    def is_deterministic(self) -> bool:
        """True if decoding is greedy, so that a stored answer can be reused."""
        return self.temperature == 0

    @property
    def digest(self) -> str:
        """A hash of everything the model receives, including the sampling settings. Excludes `ref`, `recall`, `question`, `hint`."""
        turns: Json = [
            [m.role, [part if isinstance(part, str) else {"picture": part.digest} for part in m.content]]
            for m in self.messages
        ]
        return content_hash([turns, self.max_tokens, self.temperature, self.seed, list(self.stop)])


@dataclass(frozen=True, slots=True)
class Response:
    """The result of one request."""

    status: Status
    text: str = ""
    """The model's raw text."""
    reason: str = ""
    """Why there is no answer. Empty if answered."""
    reasoning: str = ""
    """Thinking that the server returned separately from the answer."""
    finish: str = ""
    """How generation ended: ``stop``, ``length``, or the server's own term."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """Wall-clock time including retries. The time of a batch is divided evenly among its requests."""
    attempts: int = 1
    """Number of attempts including retries; 0 if an earlier answer was reused."""

    def __post_init__(self) -> None:
        if self.status not in get_args(Status):
            raise UsageError(
                f"a response's status is one of {', '.join(get_args(Status))}, not {self.status!r:.80}"
            )
        for name in ("text", "reason", "reasoning", "finish"):
            if not isinstance(getattr(self, name), str):
                raise UsageError(f"a response's {name} must be text, not {getattr(self, name)!r:.80}")

    @classmethod
    def failed(cls, reason: str, *, seconds: float = 0.0, attempts: int = 1) -> Response:
        """Create a response without an answer."""
        return cls("failed", reason=reason, seconds=seconds, attempts=attempts)

    @property
    def is_answered(self) -> bool:
        """True if there is text to parse."""
        return self.status == "answered"


@dataclass(frozen=True, slots=True)
class Choice:
    """Log-probabilities of given options, ``log p(option | request)``, natural logarithm.

    The value of an option is the sum over its tokens, each conditioned on the prompt and the option's earlier tokens.
    """

    options: tuple[str, ...]
    log_probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.options) != len(self.log_probabilities) or not self.options:
            raise UsageError(
                f"{len(self.options)} options with {len(self.log_probabilities)} log-probabilities"
            )
        if len(set(self.options)) != len(self.options):
            raise UsageError(f"options must be distinct, got {list(self.options)}")
        if any(math.isnan(value) or value == math.inf for value in self.log_probabilities):
            raise UsageError(
                f"log-probabilities must be numbers below infinity, not {self.log_probabilities}"
            )
        if max(self.log_probabilities) == -math.inf:
            raise UsageError(f"all options of {list(self.options)} have probability zero")

    @property
    def best(self) -> str:
        """The most probable option. The first one wins a tie.

        >>> Choice(("left", "right"), (-1.0, -0.5)).best
        'right'
        """
        return self.options[int(np.argmax(self.log_probabilities))]

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Softmax over the options: the probability of each, given that the answer is one of them."""
        values = np.asarray(self.log_probabilities)
        weights = np.exp(values - values.max())
        return tuple(float(p) for p in weights / weights.sum())


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to measure: a request and what scoring needs to know about it."""

    name: str
    """The item's name in its plan, such as ``pair-17/blind``."""
    request: Request
    options: tuple[str, ...] = ()
    """If given, the log-probabilities of these options are measured too."""
    meta: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """Further facts that the instrument needs for scoring, such as boxes. Never sent to a model."""
    truth: Truth = field(default_factory=Truth, compare=False)
    """What is right, and how the item relates to others."""

    @property
    def subject(self) -> str:
        """The name of what is asked about: that of the truth, else the item's own."""
        return self.truth.subject or self.name

    @property
    def cluster(self) -> str:
        """The picture, scene or episode that the item shares with others."""
        return self.truth.cluster or self.subject

    @property
    def id(self) -> str:
        """A stable content id of name, request and options. It does not depend on `truth` and `meta`."""
        return content_hash([self.name, self.request.digest, list(self.options)])


SENT = "sent"
"""The key of `Record.values` for the digest of the request as sent."""


@dataclass(frozen=True, slots=True)
class Record:
    """The measurement of one item."""

    item_id: str
    response: Response
    choice: Choice | None = None
    values: Mapping[str, Json] = field(default_factory=dict)
    """Further values returned by the measurer. `SENT` is the digest of the request as sent, if it is not the planned one."""
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict, compare=False)
    """Arrays returned by the measurer, such as relevance maps."""
    reused: bool = False
    """True if the answer came from the cache or from an identical request in the same run."""
    place: int | None = field(default=None, compare=False)
    """The place of the request in the order in which the model was asked, from 1 over all sessions of the run. That of an
    identical request of the same run, if its answer was reused. None if it comes from a cache, or is not known."""

    @property
    def is_cached(self) -> bool:
        """True if the answer was given to another run."""
        return self.reused and self.place is None
