"""Read and write files of questions about pictures: JSONL, JSON, CSV or TSV.

Our own form has one object per line: ``{"id": "q1", "question": "Where is the cup?", "answer": "left", "options": ["left",
"right"], "picture": "cups/1.jpg", "group": "cups"}``. ``id``, ``options`` and ``group`` are optional; the default id is the
number of the row. ``pictures`` is a list of several pictures. Other layouts: `theodolite.instruments.ask.data.layouts`.

``FILE?picture=FIELD&question=FIELD&answer=FIELD`` names the fields of a file that has other names, and ``?FIELD=value`` chooses
rows, as for recorded answers (`theodolite.models.answer_tables`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from theodolite.answers import normal_form
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, counted_problems
from theodolite.core.types import Picture, content_hash
from theodolite.instruments.ask.data.layouts import EXPECTED, looks_like_questions, read_question
from theodolite.instruments.ask.data.objects import object_questions
from theodolite.instruments.ask.data.pictures import PictureFinder, Unusable
from theodolite.instruments.ask.data.question import Question, Removal, natural_groups
from theodolite.instruments.coco import Instances, find_coco, read_instances
from theodolite.models.tables import (
    NAMES,
    SUFFIXES,
    Role,
    Row,
    chosen_rows,
    fields_of,
    first,
    naming,
    read_rows,
    split_options,
)
from theodolite.pairs.pictures import UnfitError, remove

__all__ = [
    "Questions",
    "draw_questions",
    "find_question_file",
    "load_questions",
    "read_questions",
    "write_questions",
]

_FILES = tuple(f"questions{suffix}" for suffix in SUFFIXES)
_OTHER_DATA = ("scenes.jsonl", "episodes.jsonl", "dataset.json", "pairs.jsonl", "run.json")
"""Files of data sets of other instruments."""
_HEAD = 1 << 18
_ASKING = re.compile(
    r'question|prompt|query|instruction|"text"|caption|conversation|messages|statement|hypothesis|sentence',
    re.IGNORECASE,
)


_ROLES: Mapping[str, Role] = {
    "picture": "picture",
    "question": "question",
    "answer": "truth",
    "options": "options",
    "id": "id",
    "group": "group",
}
"""Names of the fields that ``FILE?name=FIELD`` gives, and what they hold. The first name of a role is the one that is used."""


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of a file, and how many rows are not used, by reason."""

    questions: tuple[Question, ...]
    unused: Mapping[str, int]


def find_question_file(path: Path) -> Path | None:
    """Return the question file at a path, or in a folder: ``questions.jsonl`` or the only one that fits. None if none does.

    ``FILE?name=value`` names fields or chooses rows, as for recorded answers; it is returned as it is.
    """
    file, options = split_options(path)
    if file.is_file():
        return path if options or (_may_ask(path) and not (path.parent / "scenes.jsonl").is_file()) else None
    if not path.is_dir() or any((path / name).is_file() for name in _OTHER_DATA):
        return None
    named = [path / name for name in _FILES if (path / name).is_file()]
    found = [each for each in named or sorted(path.iterdir()) if each.is_file() and _may_ask(each)]
    return found[0] if len(found) == 1 or (named and found) else None


def _may_ask(path: Path) -> bool:
    """Return True if the rows of a file ask about pictures. Large files of another kind are told by their beginning."""
    if path.suffix not in SUFFIXES:
        return False
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            if _ASKING.search(file.read(_HEAD)) is None:
                return False
        rows = _joined(path)
    except (OSError, UsageError):
        return False
    return any(
        looks_like_questions(row) and (first(row, "truth") is not None or first(row, "captions") is not None)
        for row in rows[:20]
    )


def _joined(path: Path) -> list[Row]:
    """The rows of a file. If they lack questions or answers, those of the file beside it that has them, by id (VQAv2)."""
    rows, _ = _rows(path, _stamp(path))
    asks, answers = first(rows[0], "question") is not None, first(rows[0], "truth") is not None
    if asks == answers or first(rows[0], "id") is None:
        return rows
    wanted = "annotation" if asks else "question"
    for other in sorted(path.parent.glob("*.json")):
        if wanted in other.name.casefold() and other != path:
            known = {str(first(row, "id")): row for row in _rows(other, _stamp(other))[0]}
            if str(first(rows[0], "id")) in known:
                return [{**known.get(str(first(row, "id")), {}), **row} for row in rows]
    return rows


def _stamp(path: Path) -> int:
    return split_options(path)[0].stat().st_mtime_ns


@lru_cache(maxsize=4)
def _rows(path: Path, _: int) -> tuple[list[Row], tuple[Problem, ...]]:
    problems: list[Problem] = []
    file, options = split_options(path)
    rows = read_rows(file, problems)
    if options:
        rows = chosen_rows(rows, options, _ROLES, file)
        named = [(NAMES[role][0], options[name]) for name, role in _ROLES.items() if name in options]
        rows = [{**row, **{role: row.get(field) for role, field in named}} for row in rows]
    return rows, tuple(problems)


def read_questions(path: str | Path, images: str | Path | None = None) -> list[Question]:
    """Read a question file, or the one in a folder. Rows that cannot be used are left out; see `load_questions`."""
    return list(load_questions(Path(path), Path(images) if images else None).questions)


def load_questions(path: Path, images: Path | None = None) -> Questions:
    """Read a question file, and count the rows that cannot be used. Pictures are found, but not decoded.

    COCO instances give questions about their objects (`theodolite.instruments.ask.data.objects`).

    Args:
        path: The file, or a folder with one.
        images: The folder of the pictures. Default: that of the file.

    Raises:
        UsageError: If the file cannot be read, or no row can be used.
    """
    coco = find_coco(path, images) if find_question_file(path) is None else None
    if coco is not None:
        found, unused = object_questions(_instances(coco[0], coco[0].stat().st_mtime_ns), coco[1])
        return Questions(tuple(found), dict(unused))
    if path.is_dir():
        path = find_question_file(path) or path / _FILES[0]
    try:
        stamp = _stamp(path)
    except OSError as error:
        raise UsageError(f"cannot read the questions {path}: {error.strerror}") from error
    return _load(path, images, stamp)


@lru_cache(maxsize=1)
def _instances(path: Path, _: int) -> Instances:
    return read_instances(path)


@lru_cache(maxsize=2)
def _load(path: Path, images: Path | None, stamp: int) -> Questions:
    rows = _joined(path)
    finder = PictureFinder(split_options(path)[0].parent, images)
    unused: Counter[str] = Counter(counted_problems(_rows(path, stamp)[1]))
    found: list[Question] = []
    for number, row in enumerate(rows, 1):
        try:
            found.append(read_question(row, number, finder))
        except Unusable as error:
            unused[str(error)] += 1
    kept = _with_own_ids(_without_doubts(found, unused))
    if not kept:
        raise UsageError(_nothing(path, rows, unused, has_images=images is not None))
    return Questions(tuple(kept), dict(unused))


def _nothing(path: Path, rows: Sequence[Row], unused: Counter[str], *, has_images: bool) -> str:
    told = ", ".join(f"{reason} ({n})" for reason, n in unused.most_common())
    of = f"none of the {len(rows)} rows" if len(rows) > 1 else "the only row"
    start = f"{of} of {path} {'can' if len(rows) > 1 else 'cannot'} be used"
    if unused.most_common(1)[0][0] == "picture not found" and not has_images:
        name = str(first(rows[0], "picture"))[:80]
        return f"{start}: {told}; name the folder of {name} with --images DIR"
    return f"{start}: {told}; a row needs {EXPECTED}; the fields are {', '.join(fields_of(rows))}; {naming(path)}"


def _without_doubts(questions: Sequence[Question], unused: Counter[str]) -> list[Question]:
    """Leave out questions that were asked about the same picture before, and all of them if their answers differ."""
    same: dict[tuple[str, tuple[Picture, ...]], list[Question]] = {}
    for question in questions:
        same.setdefault((question.prompt, question.pictures), []).append(question)
    kept = []
    for several in same.values():
        if len({normal_form(each.answer) for each in several}) > 1:
            unused["two answers to one question"] += len(several)
        else:
            kept.append(several[0])
            unused["the same question again"] += len(several) - 1
    unused += Counter()  # without zeros
    return kept


def _with_own_ids(questions: Iterable[Question]) -> list[Question]:
    """Make ids unique: several questions about one picture often have the id of the picture."""
    seen: Counter[str] = Counter()
    found = []
    for question in questions:
        seen[question.id] += 1
        n = seen[question.id]
        found.append(question if n == 1 else replace(question, id=f"{question.id}#{n}"))
    return found


def draw_questions(loaded: Questions, n: int, seed: int) -> Questions:
    """Draw at most `n` questions whose pictures can be decoded, in their order.

    Questions that have another one with the same words and another answer are drawn first, together with it.
    """
    groups = natural_groups(loaded.questions)
    order = [groups[i] for i in np.random.default_rng(seed).permutation(len(groups))]
    order.sort(key=lambda group: len(group) == 1)
    unused, drawn = Counter(loaded.unused), set[str]()
    checked: dict[Picture, bool] = {}
    for question in (each for group in order for each in group):
        if len(drawn) >= n:
            unused["not drawn (more with --size)"] += 1
        elif all(_can_decode(picture, checked) for picture in question.pictures):
            drawn.add(question.id)
        else:
            unused["picture cannot be decoded"] += 1
    if not drawn:
        raise UsageError("none of the pictures can be decoded; save them as PNG or JPEG")
    kept = [_checked(each, unused) for each in loaded.questions if each.id in drawn]
    return Questions(tuple(kept), dict(unused))


def _checked(question: Question, unused: Counter[str]) -> Question:
    """Leave out a removal that would not look right."""
    reason = "" if question.removal is None else removal_fault(question.pictures[0], question.removal)
    if not reason:
        return question
    unused[f"not removed: {reason}"] += 1
    return replace(question, removal=None)


@lru_cache(maxsize=4096)  # a draw is planned and counted, and a removal takes a tenth of a second
def removal_fault(picture: Picture, removal: Removal) -> str:
    """Return why an object cannot be removed so that it looks right. Empty if it can."""
    try:
        remove(picture, removal.thing, others=removal.others)
    except UnfitError as error:
        return error.reason.value
    return ""


def _can_decode(picture: Picture, checked: dict[Picture, bool]) -> bool:
    if picture not in checked:
        try:
            picture.pixels()
            checked[picture] = True
        except UsageError:
            checked[picture] = False
    return checked[picture]


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
                if question.others:
                    row["answers"] = [question.answer, *question.others]
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
