"""Read and write questions about pictures, in a JSONL file.

One object per line: ``{"id": "q1", "question": "Where is the cup?", "answer": "left", "options": ["left", "right"],
"picture": "cups/1.jpg", "group": "cups"}``. ``id``, ``options`` and ``group`` are optional; the default id is the line number. ``pictures`` is a list of several pictures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theodolite.answers import AnswerFormat, normal_form
from theodolite.core.errors import UsageError, reason_of
from theodolite.core.types import Picture, content_hash


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its picture and its answer."""

    id: str
    question: str
    answer: str
    pictures: tuple[Picture, ...]
    options: tuple[str, ...] = ()
    """The possible answers. Empty for an open question, whose answer may be yes or no, a number, or text."""
    group: str = ""
    """A name, for results by group."""

    @property
    def format(self) -> AnswerFormat:
        """The answer format: a choice if there are options, else the kind of the right answer."""
        if self.options:
            return AnswerFormat.choice(self.options, style="word")
        if self.answer.strip().casefold() in {"yes", "no"}:
            return AnswerFormat.yes_no()
        if re.fullmatch(r"\d{1,4}", self.answer.strip()):
            return AnswerFormat.count()
        return AnswerFormat.number() if _is_number(self.answer) else AnswerFormat.text()

    @property
    def prompt(self) -> str:
        """The prompt: the question with its options."""
        if not self.options:
            return self.question
        return f"{self.question}\nAnswer with one of: {', '.join(self.options)}."


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?\d+(?:\.\d+)?", text.strip()) is not None


class _Row(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    id: str = ""
    question: str = Field(min_length=1)
    answer: str = Field(min_length=1)
    options: list[str] = []
    picture: str | None = None
    pictures: list[str] = []
    group: str = ""


def read_questions(path: str | Path) -> list[Question]:
    """Read a question file, or ``questions.jsonl`` in a folder.

    Raises:
        UsageError: If a line is not valid, if an id occurs twice, or if a picture lies outside the folder of the file.
    """
    path = Path(path)
    if path.is_dir():
        path /= "questions.jsonl"
    try:
        lines = path.read_text(encoding="utf-8-sig").split(
            "\n"
        )  # splitlines would also split at U+2028, which JSON allows
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the questions {path}: {reason_of(error)}") from error
    questions = [_read_line(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]
    if not questions:
        raise UsageError(f"{path} has no questions")
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise UsageError(f"{path} has the id {question.id!r} twice")
        seen.add(question.id)
    return questions


def write_questions(questions: Iterable[Question], folder: str | Path) -> Path:
    """Write ``questions.jsonl`` and its pictures.

    Returns:
        The path of the question file.
    """
    folder = Path(folder)
    pictures = folder / "pictures"
    try:
        pictures.mkdir(parents=True, exist_ok=True)
        path = folder / "questions.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for question in questions:
                names = []
                for i, picture in enumerate(question.pictures):
                    name = f"{_file_name(question.id, i)}.{picture.media_type.partition('/')[2]}"
                    (pictures / name).write_bytes(picture.read())
                    names.append(f"pictures/{name}")
                row = {
                    "id": question.id,
                    "question": question.question,
                    "answer": question.answer,
                    "options": list(question.options),
                    "pictures": names,
                    "group": question.group,
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UsageError(f"cannot write the questions into {folder}: {error.strerror}") from error
    return path


def _file_name(question: str, i: int) -> str:
    """Return a safe file name for a picture: the question id if it is a plain word, else a hash.

    >>> _file_name("square-7", 0), len(_file_name("../../x", 0)), len(_file_name("square-7", 1))
    ('square-7', 32, 32)
    """
    is_plain = i == 0 and re.fullmatch(r"\w[\w-]{0,63}", question, flags=re.ASCII) is not None
    return question if is_plain else content_hash([question, i])


def _read_line(line: str, path: Path, number: int) -> Question:
    try:
        row = _Row.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise UsageError(f"{path}, line {number}: {where}: {first['msg']}") from None
    names = [*([row.picture] if row.picture else []), *row.pictures]
    if not names:
        raise UsageError(f"{path}, line {number}: the question {row.question!r} has no picture")
    normal = [normal_form(option) for option in row.options]
    if "" in normal or len(set(normal)) != len(normal):
        raise UsageError(f"{path}, line {number}: options must be distinct and not empty, got {row.options}")
    if row.options and row.answer not in row.options:
        raise UsageError(
            f"{path}, line {number}: the answer {row.answer!r} is not among the options {row.options}"
        )
    pictures = tuple(_picture(path.parent, name, f"{path}, line {number}") for name in names)
    return Question(row.id or str(number), row.question, row.answer, pictures, tuple(row.options), row.group)


def _picture(folder: Path, name: str, where: str) -> Picture:
    """Open a picture in the folder. Paths outside it are refused, since pictures are sent to the model."""
    target = (folder / name).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise UsageError(f"{where}: the picture {name} lies outside {folder}; move it there")
    return Picture.from_path(target)
