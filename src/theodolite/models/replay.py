"""Answers given earlier: ``replay:<run folder, folder of runs, lmms-eval samples, or inspect_ai log>``.

In a run of ours a request finds its record by its content alone: the same words and the same picture bytes. Other logs
do not show their pictures, so there it finds it by its id, else by its text, and only as far as `Request.recall` allows:
a request whose pictures were taken away or exchanged is never answered with what was said of the original. What
cannot be told apart is not guessed: it fails, with the reason.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from theodolite.core.errors import UsageError
from theodolite.core.types import Request, Response
from theodolite.models.contract import Capability
from theodolite.models.logs import PLACEHOLDER, LoggedAnswer, read_inspect, read_lmms_eval
from theodolite.models.opening import ModelName, ModelOptions, read_options
from theodolite.runs import Run, find_runs, read_info

_ALIKE = 0.5
"""The share of words that a record found by id must have in common with the request: less is another question."""


def open_model(name: ModelName) -> ReplayModel:
    """Reads the records that a model's name points at."""
    read_options(name, ModelOptions)
    path = Path(name.target)
    if not path.exists():
        raise UsageError(
            f"there is nothing to replay at {path}; name a run, a folder of runs, or a log of lmms-eval or inspect_ai"
        )
    runs = find_runs(path) if path.is_dir() else []
    if runs:
        told = [folder / "run.json" for folder in runs]
        return ReplayModel(name.text, [], by_content=_read_runs(runs), identity=_identity(*told))
    files = _log_files(path)
    answers = [answer for file in files for answer in _read_log(file)]
    return ReplayModel(name.text, answers, identity=_identity(*files))


Recording: TypeAlias = Mapping[str, Sequence[LoggedAnswer]]
"""The answers of a run of ours, by the content of their requests."""


class ReplayModel:
    """A model that only remembers."""

    lacks: ClassVar[Mapping[Capability, str]] = {"choose": "a recording holds answers, not logits"}
    batch_size = 256
    is_recorded: Literal[True] = True

    def __init__(
        self,
        name: str,
        answers: Iterable[LoggedAnswer],
        *,
        by_content: Recording | None = None,
        identity: str = "",
    ) -> None:
        self.name = name
        self.identity = identity or name
        self._by_content = dict(by_content or {})
        self._by_ref: defaultdict[str, list[LoggedAnswer]] = defaultdict(list)
        self._by_text: defaultdict[str, list[LoggedAnswer]] = defaultdict(list)
        self._bound_to: dict[int, str] = {}
        for answer in answers:
            self._by_ref[answer.ref].append(answer)
            self._by_text[_plain(answer.prompt)].append(answer)

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Looks each request up."""
        return [self._find(request) for request in requests]

    def close(self) -> None:
        """Forgets."""
        self._by_content.clear()
        self._by_ref.clear()
        self._by_text.clear()

    def _find(self, request: Request) -> Response:
        if request.digest in self._by_content:
            return self._same_content(self._by_content[request.digest], request)
        named = self._by_ref.get(request.ref, []) if request.ref and request.recall != "content" else []
        worded = self._by_text.get(_plain(request.text), []) if request.recall == "words" else []
        for found, what in ((named, f"the id {request.ref!r}"), (worded, "this text")):
            if found:
                return self._checked(found, request, what)
        if request.recall == "content" and not self._by_content:
            return Response.failed(
                f"{self.name} was recorded with the original pictures; this request has others, or none"
            )
        return Response.failed(f"{self.name} holds no answer to this request")

    def _same_content(self, found: Sequence[LoggedAnswer], request: Request) -> Response:
        """Records of exactly this request: the one of its own id, or any where all say the same."""
        found = [answer for answer in found if answer.ref == request.ref] or found
        if _differ(found):
            return Response.failed(f"{len(found)} records of {self.name} have this request and differ")
        return found[0].response

    def _checked(self, found: Sequence[LoggedAnswer], request: Request, what: str) -> Response:
        """A record found by id or text, unless something speaks against it.

        A log does not show its pictures. The same words with fewer pictures are another request, and one record
        answers one request: with other pictures the same words must not get the answer that the first ones got.
        """
        if _differ(found):
            return Response.failed(f"{len(found)} records of {self.name} have {what} and differ")
        answer = found[0]
        if not _share_words(answer.prompt, request.text):
            return Response.failed(f"the record with {what} answers another question: {answer.prompt[:80]!r}")
        if len(request.pictures) < answer.pictures:
            return Response.failed(
                f"the record with {what} was asked about {answer.pictures} pictures, this request has {len(request.pictures)}"
            )
        if self._bound_to.setdefault(id(answer), request.digest) != request.digest:
            return Response.failed(
                f"the record with {what} already answers a request with other pictures or settings"
            )
        return answer.response


def _differ(answers: Sequence[LoggedAnswer]) -> bool:
    return len({(answer.response.status, answer.response.text) for answer in answers}) > 1


def _read_runs(folders: Sequence[Path]) -> dict[str, list[LoggedAnswer]]:
    """The records of all runs at or below a folder, of one model.

    Raises:
        UsageError: they are of several models, whose answers must not be mixed.
    """
    names = sorted({read_info(folder).model for folder in folders})
    if len(names) > 1:
        raise UsageError(
            f"there are runs of several models here ({', '.join(names)}); replay the folder of one of them"
        )
    found: defaultdict[str, list[LoggedAnswer]] = defaultdict(list)
    for folder in folders:
        for digest, answers in _read_run(folder).items():
            found[digest] += answers
    return dict(found)


def _read_run(folder: Path) -> dict[str, list[LoggedAnswer]]:
    """A run's records by the content of their requests; a failure counts only where nothing else is known."""
    found: defaultdict[str, list[LoggedAnswer]] = defaultdict(list)
    with Run.open(folder) as run:
        for result in run.results():
            if result.record is not None:
                request = result.item.request
                found[request.digest].append(
                    LoggedAnswer(request.ref, request.text, result.record.response, len(request.pictures))
                )
    return {
        digest: [answer for answer in answers if answer.response.status != "failed"] or answers
        for digest, answers in found.items()
    }


def _log_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted([*path.rglob("*_samples_*.jsonl"), *path.rglob("*.eval")])
    if not files:
        raise UsageError(f"{path} holds no run, no *_samples_*.jsonl and no *.eval file")
    return files


def _read_log(path: Path) -> Iterator[LoggedAnswer]:
    readers = {".jsonl": read_lmms_eval, ".eval": read_inspect, ".json": read_inspect}
    if path.suffix not in readers:
        raise UsageError(f"{path} is not a log that can be replayed; those end in {', '.join(readers)}")
    return readers[path.suffix](path)


def _identity(*files: Path) -> str:
    """The recording's content, so that another recording under the same path is another model."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return f"replay:{digest.hexdigest()[:16]}"


def _plain(text: str) -> str:
    """Text without picture placeholders and runs of white space."""
    return " ".join(PLACEHOLDER.sub(" ", text).split())


def _share_words(recorded: str, asked: str) -> bool:
    """Whether two prompts are about the same question; a log without prompts gets the benefit of the doubt."""
    left, right = (set(re.findall(r"\w+", text.casefold())) for text in (recorded, asked))
    if not left or not right:
        return True
    return len(left & right) / min(len(left), len(right)) >= _ALIKE
