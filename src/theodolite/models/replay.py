"""Recorded answers in a table with a picture, a question and a model's answer in each row.

Any JSON, JSONL, CSV, TSV, Parquet or Excel file will do, including the result files of VLMEvalKit.

The options of ``replay:FILE?…`` name fields (``picture``, ``question``, ``answer``, ``id``, ``reasoning``) or choose rows:
``replay:results.json?answer=pred&prompt_label=Multiple Choice`` reads answers from the field ``pred`` of the rows whose
``prompt_label`` is *Multiple Choice*. Fields that are not named are found by `theodolite.models.tables.NAMES`.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias
from urllib.parse import urlencode

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, open_plain, told_problems
from theodolite.core.types import SENT, Item, Request, Response, canonical_json
from theodolite.models.contract import Capability, ModelName, ModelOptions, read_options
from theodolite.models.logs import (
    Logged,
    LoggedAnswer,
    is_log_file,
    log_kind,
    log_rows,
    picture_digests,
    read_inspect,
    read_lmms_eval,
)
from theodolite.models.tables import (
    BINARY_SUFFIXES,
    PLACE,
    PLACEHOLDER,
    SUFFIXES,
    NameIndex,
    Role,
    Row,
    chosen_rows,
    fields_of,
    first,
    holds_answer,
    picture_name,
    plain_words,
    read_rows,
    values,
    with_places,
)
from theodolite.runs import Run, find_runs, read_info

__all__ = [
    "read_answer_table",
]


_ROLES: Mapping[str, Role] = {
    "picture": "picture",
    "question": "question",
    "answer": "response",
    "id": "id",
    "reasoning": "reasoning",
    "response": "response",
    "truth": "truth",
    "options": "options",
    "group": "group",
}
_OF_ANSWERS = frozenset({"answer", "response", "reasoning"})
"""The options of a replay that say nothing about questions."""
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
    rows = with_places(read_rows(path, problems))
    known = fields_of(rows)
    named = {role: options[name] for name, role in _ROLES.items() if name in options}
    rows = chosen_rows(rows, options, _ROLES, path)
    answers = list(_answers(rows, named))
    if not any(answer.response.is_answered for answer in answers):
        raise UsageError(
            f"{path} has no field with answers of a model; name it, as in replay:{path}?answer=FIELD; the fields are "
            f"{', '.join(known)}"
        )
    if not any(answer.picture or answer.prompt or answer.ref for answer in answers):
        raise UsageError(
            f"the answers in {path} cannot be found again without a picture, a question or an id; name one, as in "
            f"replay:{path}?picture=FIELD; the fields are {', '.join(known)}"
        )
    return answers, problems


def _answers(rows: Sequence[Row], named: Mapping[Role, str]) -> Iterator[LoggedAnswer]:
    for row in rows:
        exported = _exported(row)
        question = first(row, "question", field=named.get("question", ""))
        if exported is not None and "question" not in named:
            question = row.get("prompt") or question  # all that was asked; the question is a part of it
        words = question if isinstance(question, str) else first(row, "statement")
        reply = _answer_text(row, str(words or ""), named.get("response", ""))
        reasoning = first(row, "reasoning", field=named.get("reasoning", ""))
        response = (
            Response.failed("no answer was recorded")
            if reply is None
            else Response("answered", text=reply, reasoning=reasoning if isinstance(reasoning, str) else "")
        )
        ref = first(row, "id", field=named.get("id", ""))
        pictures = list(values(row, "picture", field=named.get("picture", "")))
        yield LoggedAnswer(
            "" if ref is None else str(ref),
            plain_words(str(words or "")),
            response,
            1 if exported is None else len(exported),
            picture_name(row, field=named.get("picture", "")) if exported is None else "",
            str(row.get(PLACE, "")) if exported is None else "",
            shown=_embedded(pictures) if exported is None else tuple(frozenset({each}) for each in exported),
        )


def _answer_text(row: Row, question: str, field: str) -> str | None:
    """Return the text of the answer. A field that holds the question is not the answer."""
    for value in values(row, "response", field=field):
        while isinstance(value, list):
            value = value[0] if value else None  # noqa: PLW2901 - the first of nested lists
        if isinstance(value, str | int | float) and str(value) != question:
            return str(value)
    return None


def _exported(row: Row) -> list[str] | None:
    """Return the digests of the pictures in a row that Theodolite exported. None in other rows."""
    given = row.get("shown") or row.get("pictures")
    if isinstance(given, str):
        given = re.sub(r'[\[\]",]', " ", given).split() if given.strip() else None
    are_digests = isinstance(given, list) and all(
        isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in given
    )
    return given if are_digests else None


def _embedded(fields: Sequence[Any]) -> tuple[frozenset[str], ...]:
    """Return the digests of embedded pictures, of the first field that holds some."""
    for pictures in fields:
        given = pictures if isinstance(pictures, list) else [pictures]
        data = [each.get("bytes") if isinstance(each, dict) else each for each in given]
        digests = [picture_digests(each) for each in data if each is not None and _is_embedded(each)]
        if digests and len(digests) == len(data) and all(digests):
            return tuple(digests)
    return ()


def _is_embedded(value: Any) -> bool:
    return isinstance(value, bytes) or (isinstance(value, str) and len(value) > _LONGEST_PATH)


# Recorded answers: ``replay:<run folder, folder of runs, or the logs and tables of others>``.
#
# In Theodolite's own runs, a request is matched by its content only: the same words and the same picture bytes. So it is in logs
# of inspect_ai that embed their pictures, in tables with embedded pictures, and in logs of what Theodolite exported; there the
# user's words count, and the pictures by bytes or pixels. Other logs do not contain their pictures. There a request is matched
# by the name of its picture and its question, else by its id and its question, else by its text, as far as `Request.recall`
# allows: a request whose pictures were removed or replaced never gets the answer to the original. An id alone is no match: the
# record with that id must ask the same question, and about a picture of that name if both have names. An ambiguous match is not
# guessed; it fails with the reason.
#
# Logs are those of inspect_ai and lmms-eval, and the result files of VLMEvalKit. A table is a JSON, JSONL, CSV, TSV, Parquet or
# Excel file, see `theodolite.models.replay`. A system prompt is no part of the match; `ReplayModel.notes` tells of it.


_MOST_NOTES = 3
_LOOKED_AT = 100
"""The rows of a log that show what it holds."""
_LONGEST_TOLD = 80
_PARTICULAR = re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\d+")
"""What differs between failures for the same reason: quoted words and numbers."""
_JUDGED = re.compile(r"_(?:result|acc|score|judge|auxmatch)$")
"""How the names of VLMEvalKit's files end that hold judgements of answers."""
_MOST_MISMATCHED = 0.1
"""If more than this share of the questions with a known id are others in the log, it belongs to other data."""
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_|\n")
"""A word, or what sets words apart: a mark or the end of a line."""


def open_model(name: ModelName) -> ReplayModel:
    """Read the records that a model name points to."""
    path = Path(name.target)
    if not path.exists():
        raise UsageError(
            f"there is nothing to replay at {path}; pass a run, a folder of runs, a log of lmms-eval, inspect_ai or "
            "VLMEvalKit, or a JSON, JSONL, CSV or Parquet file of pictures, questions and answers"
        )
    runs = find_runs(path) if path.is_dir() else []
    if runs:
        read_options(name, ModelOptions)
        infos = [folder / "run.json" for folder in runs]
        return ReplayModel(name.text, [], by_content=_read_runs(runs), identity=_identity(*infos))
    files = _log_files(path)
    answers, problems, identity = _read_logs(name.text, tuple(files), tuple(map(_state, files)))
    return ReplayModel(name.text, answers, identity=identity, problems=problems)


@lru_cache(maxsize=2)
def _read_logs(
    text: str, files: tuple[Path, ...], _: tuple[tuple[int, ...], ...]
) -> tuple[list[LoggedAnswer], list[Problem], str]:
    """Read logs. Cached by the files' state, since a command opens the same model several times."""
    name = ModelName.parse(text)
    logs = [_read_log(file, name) for file in files]
    answers = [answer for part, _ in logs for answer in part]
    problems = [problem for _, part in logs for problem in part]
    return answers, problems, _identity(*files, options=name.options)


def _state(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def is_log(text: str) -> bool:
    """Return True if a model name is that of a log or table, which has at most one answer to each request."""
    name = ModelName.parse(text)
    path = Path(name.target)
    return name.scheme == "replay" and not (path.is_dir() and find_runs(path))


def own_questions(text: str) -> str:
    """Return the data set that a log holds itself, as ``--data`` takes it: the questions that were asked, with right answers.

    Empty if it is no log, if it holds no questions with right answers, or if Theodolite exported it: then its items are drawn again.
    """
    name, files = ModelName.parse(text), _foreign_logs(text)
    named = {role: name.options[option] for option, role in _ROLES.items() if option in name.options}
    rows = _foreign_rows(files[0], _state(files[0])) if len(files) == 1 else []
    if not any(first(row, "truth", field=named.get("truth", "")) is not None for row in rows):
        return ""
    options = {option: value for option, value in name.options.items() if option not in _OF_ANSWERS}
    return f"{files[0]}?{urlencode(options)}" if options else str(files[0])


def is_foreign(text: str) -> bool:
    """Return True if a model name is that of a log which Theodolite did not export: it answers no items that are drawn."""
    return bool(_foreign_logs(text))


def _foreign_logs(text: str) -> list[Path]:
    name = ModelName.parse(text)
    path = Path(name.target)
    if name.scheme != "replay" or not path.exists() or (path.is_dir() and find_runs(path)):
        return []
    files = _log_files(path)
    return files if all(_foreign_rows(file, _state(file)) for file in files) else []


@lru_cache(maxsize=16)
def _foreign_rows(path: Path, _: tuple[int, ...]) -> list[Row]:
    """Return the first rows of a log with recorded answers; none if Theodolite exported it."""
    if not is_log_file(path):
        return []
    rows = [row for row in log_rows(path, [])[:_LOOKED_AT] if holds_answer(row)]
    return [] if any("rubric" in row or row.get("shown") or _exported(row) for row in rows) else rows


def has_pictures(text: str) -> bool:
    """Return True if a model name is that of a log that embeds its pictures, including edited ones."""
    return open_model(ModelName.parse(text)).has_pictures


def recorded_only(text: str, items: Sequence[Item]) -> list[Item]:
    """Return the items that a log answers. If it answers none, return all, so that each reports the reason.

    Raises:
        UsageError: If more than a tenth of the items that it knows by their id are about other questions there.
    """
    model = open_model(ModelName.parse(text))
    answered: list[Item] = []
    others: list[tuple[Item, str]] = []
    for item in items:
        if model.has(item.request):
            answered.append(item)
        elif other := model.mismatch(item.request):
            others.append((item, other))
    known = sum(item.request.recall != "content" for item in answered) + len(others)
    if len(others) > _MOST_MISMATCHED * known:
        item, other = others[0]
        asked = item.request.question or item.request.text
        raise UsageError(
            f"{model.name} is of other questions: of {known} that it knows by their id, {len(others)} are others there; for "
            f"example, {item.request.ref!r} asks {_short(asked)!r} in the data, and in the log {other}; check that both are of "
            "the same data set, split and version, and that the right field is the id"
        )
    return answered or list(items)


def missing_answers(text: str, items: Sequence[Item]) -> dict[str, tuple[int, str]]:
    """Count the items that `recorded_only` leaves out, by the reason why a log has no answer to them, with an example."""
    model = open_model(ModelName.parse(text))
    left_out = [item for item in items if not model.has(item.request)]
    if len(left_out) == len(items):
        return {}
    return unmatched(model.generate([item.request])[0].reason for item in left_out)


Recording: TypeAlias = Mapping[str, Sequence[LoggedAnswer]]
"""The answers of Theodolite's own runs, by the content of their requests."""


class ReplayModel:
    """A model that looks up recorded answers."""

    lacks: ClassVar[Mapping[Capability, str]] = {"choose": "a recording contains answers, not logits"}
    batch_size = 256
    is_recorded: Literal[True] = True

    def __init__(
        self,
        name: str,
        answers: Iterable[LoggedAnswer],
        *,
        by_content: Recording | None = None,
        identity: str = "",
        problems: Sequence[Problem] = (),
    ) -> None:
        self.name = name
        self.problems = tuple(problems)
        """The broken records of a log or table. Requests that find no answer say how many there are."""
        self.identity = identity or name
        self._by_content = dict(by_content or {})
        self._by_ref: defaultdict[str, list[LoggedAnswer]] = defaultdict(list)
        self._by_text: defaultdict[str, list[LoggedAnswer]] = defaultdict(list)
        self._bound_to: dict[int, str] = {}
        self._by_shown: defaultdict[str, list[LoggedAnswer]] = defaultdict(list)
        named: list[tuple[str, LoggedAnswer]] = []
        systems: set[str] = set()
        blank = 0
        epochs = 1
        for answer in answers:
            systems |= {answer.system} - {""}
            blank += bool(answer.ref) and not (answer.prompt or answer.picture or answer.shown)
            epochs = max(epochs, answer.epoch)
            for digest in answer.shown[0] if answer.shown else ():
                self._by_shown[digest].append(answer)
            self._by_ref[answer.ref].append(answer)
            self._by_text[_plain(answer.prompt)].append(answer)
            if answer.picture or answer.place:
                named.append((answer.picture or answer.place, answer))
        self._by_picture = NameIndex(named)
        self.has_pictures = bool(self._by_shown)
        """True if the log embeds pictures, so that edited ones are found in it too."""
        self.notes = tuple(
            f"{name} was recorded with a system prompt, which Theodolite does not send: {_short(text)!r}"
            for text in sorted(systems)[:_MOST_NOTES]
        )
        if epochs > 1:
            self.notes += (f"{name} has {epochs} epochs; the answers of the first are used",)
        if blank:
            self.notes += (
                f"{blank} answers of {name} have an id and no question; nothing shows that they belong to these questions",
            )
        """What to know about the recording."""

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Look up each request."""
        return [self._find(request) for request in requests]

    def close(self) -> None:
        """Discard the records."""
        self._by_content.clear()
        self._by_ref.clear()
        self._by_text.clear()
        self._by_shown.clear()
        self._by_picture = NameIndex([])

    def has(self, request: Request) -> bool:
        """Return True if there is a record for a request, whether or not it can be used."""
        is_exact = request.digest in self._by_content or self._same_pictures(request)
        return bool(is_exact or self._candidates(request)[0])

    def mismatch(self, request: Request) -> str:
        """Return in words what a record with the id of a request that was not found asks instead. Empty if there is none."""
        if request.recall == "content" or not request.ref:
            return ""
        return next((_difference(answer, request) for answer in self._by_ref.get(request.ref, ())), "")

    def _find(self, request: Request) -> Response:
        if request.digest in self._by_content:
            return self._same_content(self._by_content[request.digest], request)
        if exact := self._same_pictures(request):
            return self._same_content(exact, request)
        candidates, what = self._candidates(request)
        if candidates:
            return self._checked(candidates, request, what)
        return Response.failed(self._missing(request))

    def _same_pictures(self, request: Request) -> list[LoggedAnswer]:
        """Return the records with exactly these pictures and words, of a log that embeds its pictures."""
        pictures, asked = request.pictures, _words(_user_text(request))
        if not self.has_pictures:
            return []
        if not pictures:
            return [
                answer for answer in self._by_text.get(_plain(_user_text(request)), ()) if not answer.pictures
            ]
        shown = [answer for answer in self._by_shown.get(pictures[0].digest, ()) if _shows(answer, request)]
        alike = [answer for answer in shown if _words(answer.prompt) == asked]
        return alike or [
            answer for answer in shown if answer.prompt and _asks_the_same(answer.prompt, request)
        ]

    def _missing(self, request: Request) -> str:
        """Return why there is no answer to a request."""
        if other := self.mismatch(request):
            return f"the record with the id {request.ref!r} is for another question: {other}"
        if self.has_pictures and request.pictures:
            return self._missing_content(request)
        if request.recall == "content" and not self._by_content:
            return f"{self.name} was recorded with the original pictures; this request has others, or none"
        broken = "".join(f"; {sentence}" for sentence in told_problems(self.problems))
        return f"{self.name} has no answer to this request: {_short(request.ref or request.text)!r}{broken}"

    def _missing_content(self, request: Request) -> str:
        """Return why a log with pictures has no answer: it lacks the picture, the words, or their combination."""
        if any(_shows(answer, request) for answer in self._by_shown.get(request.pictures[0].digest, ())):
            return f"{self.name} has these pictures, but not with these words: {_short(request.text)!r}"
        if self._by_text.get(_plain(_user_text(request))):
            return f"{self.name} has these words, but not with these pictures: {_short(request.text)!r}"
        return f"{self.name} has neither these pictures nor these words: {_short(request.text)!r}"

    def _candidates(self, request: Request) -> tuple[Sequence[LoggedAnswer], str]:
        """Return the records that match a request best, and how they match: by picture and words, id, or words."""
        if request.recall == "content":
            return (), ""
        path = request.pictures[0].path if request.pictures else None
        shown = self._by_picture.find(path.as_posix()) if path is not None else []
        asked = _words(request.text)
        alike = [answer for answer in shown if _words(answer.prompt) == asked]
        alike = alike or [
            answer for answer in shown if answer.prompt and _asks_the_same(answer.prompt, request)
        ]
        alike = alike or [answer for answer in shown if not answer.prompt]
        if len(alike) == 1:
            return alike, "this picture and question"
        named = self._by_ref.get(request.ref, []) if request.ref else []
        named = [answer for answer in named if not _difference(answer, request)]
        if len(alike) > 1 and any(answer in named for answer in alike):
            alike = [answer for answer in alike if answer in named]
        worded = self._by_text.get(_plain(request.text), []) if request.recall == "words" else []
        unnamed = [
            answer
            for answer in worded
            if (not answer.picture or path is None) and (not answer.shown or _shows(answer, request))
        ]
        for candidates, what in (
            (alike, "this picture and question"),
            (named, f"the id {request.ref!r}"),
            (unnamed, "this text"),
        ):
            if candidates:
                return candidates, what
        return (), ""

    def _same_content(self, candidates: Sequence[LoggedAnswer], request: Request) -> Response:
        """Return the answer to exactly this request: of the record with its id, or of any if all are the same."""
        candidates = [answer for answer in candidates if answer.ref == request.ref] or _first_epoch(
            candidates
        )
        if _differ(candidates):
            return Response.failed(
                f"{len(candidates)} records of {self.name} have this request, with different answers"
            )
        return candidates[0].response

    def _checked(self, candidates: Sequence[LoggedAnswer], request: Request, what: str) -> Response:
        """Return the answer of a record matched by id or text, if nothing contradicts the match.

        The log does not contain its pictures. The same words with fewer pictures are a different request. Each record
        answers only one request, so that the same words with other pictures do not get the same answer.
        """
        candidates = _first_epoch(candidates)
        if _differ(candidates):
            return Response.failed(
                f"{len(candidates)} records of {self.name} have {what}, with different answers"
            )
        answer = candidates[0]
        if answer.shown and not _shows(answer, request):
            return Response.failed(f"the record with {what} shows other pictures")
        if len(request.pictures) < answer.pictures:
            return Response.failed(
                f"the record with {what} is about {answer.pictures} pictures, but this request has {len(request.pictures)}"
            )
        if self._bound_to.setdefault(id(answer), request.digest) != request.digest:
            return Response.failed(
                f"the record with {what} was already used for a request with other pictures or settings"
            )
        return answer.response


def _shows(answer: LoggedAnswer, request: Request) -> bool:
    """Return True if a record shows the pictures of a request."""
    pictures = request.pictures
    return len(answer.shown) == len(pictures) and all(
        picture.digest in digests for picture, digests in zip(pictures, answer.shown, strict=True)
    )


def _user_text(request: Request) -> str:
    return "\n".join(message.text for message in request.messages if message.role == "user")


def _short(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_TOLD]


def unmatched(reasons: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Count the reasons why requests have no answer, each with an example. Numbers and quoted words are ignored.

    >>> unmatched(["no record has 'left'", "no record has 'right'"])
    {'no record has …': (2, "no record has 'left'")}
    """
    by_kind: dict[str, tuple[int, str]] = {}
    for reason in reasons:
        kind = _PARTICULAR.sub("…", reason)
        n, example = by_kind.get(kind, (0, reason))
        by_kind[kind] = n + 1, example
    return dict(sorted(by_kind.items(), key=lambda entry: -entry[1][0]))


def recording_notes(text: str) -> tuple[str, ...]:
    """Return notes about the recording that a model name points to. Empty for other models."""
    name = ModelName.parse(text)
    return open_model(name).notes if name.scheme == "replay" else ()


def _differ(answers: Sequence[LoggedAnswer]) -> bool:
    return len({(answer.response.status, answer.response.text) for answer in answers}) > 1


def _first_epoch(answers: Sequence[LoggedAnswer]) -> Sequence[LoggedAnswer]:
    first = min(answer.epoch for answer in answers)
    return [answer for answer in answers if answer.epoch == first]


def _read_runs(folders: Sequence[Path]) -> dict[str, list[LoggedAnswer]]:
    """Read the records of several runs of one model.

    Raises:
        UsageError: If the runs are of different models.
    """
    names = sorted({read_info(folder).model for folder in folders})
    if len(names) > 1:
        raise UsageError(
            f"there are runs of several models here ({', '.join(names)}); replay the runs of one model only"
        )
    by_digest: defaultdict[str, list[LoggedAnswer]] = defaultdict(list)
    for folder in folders:
        for digest, answers in _read_run(folder).items():
            by_digest[digest] += answers
    return dict(by_digest)


def _read_run(folder: Path) -> dict[str, list[LoggedAnswer]]:
    """Read a run's records by the content of their requests. Failures count only if there is nothing else."""
    by_digest: defaultdict[str, list[LoggedAnswer]] = defaultdict(list)
    with Run.open(folder) as run:
        for result in run.results(with_repeats=True):
            if result.record is not None:
                request = result.item.request
                digest = str(result.record.values.get(SENT) or request.digest)
                by_digest[digest].append(
                    LoggedAnswer(request.ref, request.text, result.record.response, len(request.pictures))
                )
    return {
        digest: [answer for answer in answers if answer.response.status != "failed"] or answers
        for digest, answers in by_digest.items()
    }


def _log_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted([*path.rglob("*_samples_*.jsonl"), *path.rglob("*.eval")])
    workbooks = {
        file.resolve(): file for file in sorted(path.rglob("*.xlsx")) if not _JUDGED.search(file.stem)
    }
    if not files and not workbooks:
        raise UsageError(f"{path} contains no run, no *_samples_*.jsonl, no *.eval and no *.xlsx file")
    return [*files, *workbooks.values()]


def _read_log(path: Path, name: ModelName) -> Logged:
    if not is_log_file(path):
        known = (".eval", *SUFFIXES, *BINARY_SUFFIXES)
        raise UsageError(
            f"{path} cannot be replayed; supported files end in {', '.join(known)}, and may be packed as .gz"
        )
    kind = log_kind(path)
    if kind == "table":
        return read_answer_table(path, name.options)
    read_options(name, ModelOptions)
    return read_inspect(path) if kind == "inspect" else read_lmms_eval(path)


def _identity(*files: Path, options: Mapping[str, str] | None = None) -> str:
    """Hash the recording's content, so that another recording at the same path is another model."""
    digest = hashlib.sha256(canonical_json(dict(options)).encode() if options else b"")
    for path in files:
        with open_plain(path) as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    return f"replay:{digest.hexdigest()[:16]}"


def _plain(text: str) -> str:
    """Return text without picture placeholders and with normalised white space."""
    return " ".join(PLACEHOLDER.sub(" ", text).split())


def _words(text: str) -> str:
    """Return the words alone, in lower case, between spaces."""
    words = re.findall(r"[^\W_]+", PLACEHOLDER.sub(" ", text).casefold())
    return f" {' '.join(words)} "


def _difference(answer: LoggedAnswer, request: Request) -> str:
    """Return in words what a record asks, if it is not what a request asks: another question, or about another picture."""
    if answer.prompt and not _asks_the_same(answer.prompt, request):
        return repr(_short(answer.prompt))
    name = str(request.pictures[0].path or "") if request.pictures else ""
    if answer.picture and name and not NameIndex([(answer.picture, None)]).find(name):
        return f"it about {_short(answer.picture)!r}"
    return ""


def _asks_the_same(recorded: str, request: Request) -> bool:
    """Return True if a recorded prompt asks what a request asks: one holds the question of the other, word for word.

    A harness adds options and instructions, but sets them apart from the question by a mark or a line. So "Is there a dog?" is
    found in "Question: Is there a dog? Answer yes or no.", and not in "Is there a dog collar?".

    >>> asked = Request.ask("Is there a dog?")
    >>> _asks_the_same("Question: is there a dog? Answer yes or no.", asked), _asks_the_same("Is there a dog collar?", asked)
    (True, False)
    """
    return _stands_in(request.question or request.text, recorded) or _stands_in(recorded, request.text)


def _stands_in(part: str, whole: str) -> bool:
    """Return True if the words of one text are in another, set apart there from what surrounds them."""
    words, _ = _spoken(part)
    others, apart = _spoken(whole)
    if not words or not others or _words(part) not in _words(whole):
        return False
    n = len(words)
    return any(
        others[start : start + n] == words and start + n in apart
        for start in apart
        if start + n <= len(others)
    )


@lru_cache(maxsize=4096)
def _spoken(text: str) -> tuple[tuple[str, ...], frozenset[int]]:
    """Return the words of a text in lower case, and before which of them something sets them apart."""
    words: list[str] = []
    apart = {0}
    for token in _TOKEN.findall(PLACEHOLDER.sub("\n", text).casefold()):
        if token[0].isalnum():
            words.append(token)
        else:
            apart.add(len(words))
    return tuple(words), frozenset({*apart, len(words)})
