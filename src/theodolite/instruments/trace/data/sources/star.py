"""Frame rates of videos: one number for all of them, or a file with the rate of each.

STAR numbers its frames and times its actions in seconds, and its videos run at 6 to 120 frames per second.
"""

from __future__ import annotations

import math
import pickletools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from theodolite.core.errors import UsageError
from theodolite.core.files import (
    Problem,
    check,
    fault_of,
    parse_json,
    read_bytes,
    read_each,
    read_json,
    read_text,
)
from theodolite.core.types import Picture
from theodolite.core.views import Form, Name, Number, Whole
from theodolite.geometry import Box
from theodolite.instruments.trace.data.dataset import (
    EpisodeSet,
    find_picture,
    picture_folder,
    with_own_ids,
    without_pictures,
)
from theodolite.worlds.episodes import Action, Episode, Frame, FrameObject, Relation

_NAMES = frozenset({"BINUNICODE", "SHORT_BINUNICODE"})
_NUMBERS = frozenset({"BINFLOAT", "BININT", "BININT1", "BININT2"})
_FRAMEWORK = frozenset(
    {
        "PROTO",
        "FRAME",
        "EMPTY_DICT",
        "MARK",
        "BINPUT",
        "LONG_BINPUT",
        "MEMOIZE",
        "SETITEM",
        "SETITEMS",
        "STOP",
    }
)
"""The opcodes of a pickled dict of names and numbers. They are read as data; nothing is unpickled."""
_UNKNOWN = "its frame rate is not known; give --video-fps: STAR's own file video_fps, or frames per second as a number"


@dataclass(frozen=True, slots=True)
class FrameRates:
    """Frames per second by video; `for_all` where no file names them."""

    by_video: Mapping[str, float] = field(default_factory=dict)
    for_all: float | None = None

    def of(self, video: str) -> float:
        """Return the rate of a video.

        Raises:
            UsageError: The rate is not known.
        """
        rate = self.by_video.get(video, self.for_all)
        if rate is None:
            raise UsageError(f"video {video}: {_UNKNOWN}")
        return rate


def frame_rates(given: str | Path | float | None) -> FrameRates:
    """Read rates from a number, a JSON file ``{"0TXYV": 29.45, …}``, or STAR's file ``video_fps`` as published.

    >>> frame_rates("25").of("any")
    25.0

    Raises:
        UsageError: It is neither a number above 0 nor such a file.
    """
    if given is None:
        return FrameRates()
    try:
        rate = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return FrameRates(_read_file(Path(str(given))))
    _check_rate(rate, "--video-fps")
    return FrameRates(for_all=rate)


def _read_file(path: Path) -> dict[str, float]:
    data = read_bytes(path, "frame rates")
    try:
        rates = dict(_pickled(data)) if data.startswith(b"\x80") else parse_json(data)
    except (ValueError, UsageError) as error:
        raise UsageError(f"{path} is not a file of frame rates: {fault_of(error)}") from error
    if not isinstance(rates, dict) or not rates:
        raise UsageError(
            f"{path} is not a file of frame rates: videos and their frames per second were expected"
        )
    for video, rate in rates.items():
        if isinstance(rate, bool) or not isinstance(rate, int | float):
            raise UsageError(f"{path}: the frame rate of {video} is not a number")
        _check_rate(rate, f"{path}: {video}")
    return {str(video).removesuffix(".mp4"): float(rate) for video, rate in rates.items()}


def _check_rate(rate: float, where: str) -> None:
    if not math.isfinite(rate) or rate <= 0:
        raise UsageError(f"{where}: frames per second are above 0, got {rate:g}")


def _pickled(data: bytes) -> Iterator[tuple[str, float]]:
    """Yield the names and numbers of a pickled dict, from its opcodes."""
    name = ""
    for opcode, value, _ in pickletools.genops(data):
        if opcode.name in _NAMES:
            name = str(value)
        elif opcode.name in _NUMBERS:
            yield name, float(str(value))
        elif opcode.name not in _FRAMEWORK:
            raise ValueError(f"a pickle with {opcode.name} is more than names and numbers")


# STAR: questions about clips of everyday life, with boxes, relations and actions at key frames.
#
# Two formats are read. The released one names things by code (``o017``, ``r009``, ``a086``) with a class file for each; the older
# one of the project's page numbers them. Boxes may be null: the annotators did not mark the thing in that frame, which may or may not show it. Key frames are annotated
# partly: what is not listed may still be so.
#
# Relations begin with the person. Contact is the person's: (person, holding, cup). Place is the *other's*: (person, beneath, bed)
# says that the bed is beneath the person. Of 33 frames with (person, sitting on, bed) all have it, with the person's box higher.


_Label = Whole | str
_PERSON = "person"
_PLACES_OF_OTHERS = frozenset({"in front of", "behind", "above", "beneath", "on the side of"})
"""Relations after ``person`` that say where the other thing is."""


class _Situation(Form):
    bbox: tuple[list[Number] | None, ...] = ()
    bbox_labels: tuple[_Label, ...] = ()
    rel_pairs: tuple[tuple[_Label, _Label], ...] = ()
    rel_labels: tuple[_Label, ...] = ()
    actions: tuple[str, ...] = ()


class _Choice(Form):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    choice: str = ""


class _Question(Form):
    question_id: Name
    question: str
    video_id: Name
    start: Number = 0.0
    end: Number = 0.0
    answer: str = ""
    choices: tuple[_Choice, ...] = ()
    situations: dict[Annotated[str, Field(pattern=r"^[0-9]{1,9}$")], _Situation] = Field(min_length=1)
    anno_actions: tuple[tuple[str, Number, Number], ...] = ()
    answer_action: tuple[str, ...] = ()
    answer_keyword: tuple[str, ...] = ()

    @property
    def is_old(self) -> bool:
        """True for the older format, which numbers its labels."""
        return any(isinstance(label, int) for s in self.situations.values() for label in s.bbox_labels)


class _Classes(Form):
    object: dict[str, str] = Field(default_factory=dict)
    relationships: dict[str, str] = Field(default_factory=dict)
    action: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of labels."""

    objects: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str] = field(default_factory=dict)


def read_star(
    path: str | Path,
    *,
    frames: str | Path | None = None,
    classes: str | Path | None = None,
    video_fps: str | Path | float | None = None,
) -> EpisodeSet:
    """Read one episode per question, with one frame per annotated key frame; videos are the independent units.

    Args:
        path: A JSON file of questions (a list, or a single one), or a folder with ``questions.json``.
        frames: The folder of pictures, named ``<video>_<frame>.jpg`` or ``<video>/<frame>.png``; ``frames`` beside the file if
            it is there.
        classes: The names of labels: a JSON file with ``object`` and ``relationships`` (and ``action``), or the folder
            ``STAR_classes``. For the older format ``classes.json`` beside the file, if it is there.
        video_fps: Frames per second, since frames are numbered and actions are timed in seconds: a number, or a file with
            the rate of each video, such as STAR's ``video_fps``. By default the one in the folder `classes`, if it is there.

    Raises:
        UsageError: The file cannot be read, or holds no usable question (for instance, no frame rate is known); or there is no such
            folder of pictures.
    """
    path = Path(path)
    file = path / "questions.json" if path.is_dir() else path
    value = read_json(file)
    rows = value if isinstance(value, list) else [value]
    named = picture_folder(frames)
    pictures = named or file.parent / "frames"
    read, problems = read_each(
        [(f"{file.name}, question {number}", raw) for number, raw in enumerate(rows, 1)],
        lambda raw: check(_Question, raw),
    )
    names_of = _names([question for _, question in read], file, None if classes is None else Path(classes))
    rates = frame_rates(video_fps if video_fps is not None else _published_rates(classes))
    read_rows, wrong = read_each(
        read, lambda question: _episode(question, names_of, pictures, rates.of(question.video_id))
    )
    problems += wrong
    placed = {where for where, _ in read_rows}
    for where, question in read:
        if where not in placed:
            continue
        problems += [Problem(where, reason) for reason in _nameless(question, names_of[question.is_old])]
    if not read_rows:
        raise UsageError(f"{file} holds no usable question" + (f": {problems[0].reason}" if problems else ""))
    episodes = with_own_ids([episode for _, episode in read_rows])
    problems += without_pictures(episodes, named, "<video>_<frame>.jpg or <video>/<frame>.png")
    return EpisodeSet(tuple(episodes), tuple(sorted(problems, key=lambda problem: _number_in(problem.where))))


def _published_rates(classes: str | Path | None) -> Path | None:
    """Return the file of frame rates in the folder ``STAR_classes``."""
    file = None if classes is None else Path(classes) / "video_fps"
    return file if file is not None and file.is_file() else None


def _number_in(where: str) -> int:
    """Return the question number by which problems are sorted; problems that are not about a question come last."""
    number = where.rpartition(" ")[2]
    return int(number) if number.isascii() and number.isdecimal() else sys.maxsize


def _nameless(question: _Question, names: _Names) -> Iterator[str]:
    """Yield a problem for each kind of label whose codes have no name: no claim can refer to them."""
    situations = question.situations.values()
    used: dict[str, list[_Label]] = {
        "object": [
            label for s in situations for label in (*s.bbox_labels, *(end for p in s.rel_pairs for end in p))
        ],
        "relation": [label for s in situations for label in s.rel_labels],
        "action": [
            *(code for s in situations for code in s.actions),
            *(code for code, *_ in question.anno_actions),
        ],
    }
    for (kind, labels), table in zip(
        used.items(), (names.objects, names.relations, names.actions), strict=True
    ):
        codes = sorted({str(label) for label in labels} - set(table))
        codes = [code for code in codes if re.fullmatch(r"[orac]\d{3}|\d+", code)]
        if codes:
            some = ", ".join(codes[:3]) + (", …" if len(codes) > 3 else "")
            sources = (
                "neither the classes nor the questions name"
                if kind == "action"
                else "the classes do not name"
            )
            why = f"{sources} them" if table else "give the STAR_classes folder (--classes)"
            number = f"{len(codes)} {kind} label" + ("s have" if len(codes) > 1 else " has")
            yield f"{number} no name ({some}): {why}"


def _names(questions: Sequence[_Question], file: Path, classes: Path | None) -> dict[bool, _Names]:
    """Return the class names of the released and of the older format, and the meanings of action codes from the questions."""
    keywords = _keywords(questions)
    beside = file.parent / "classes.json"
    return {
        is_old: _class_names(classes if classes is not None else (beside if is_old else None), keywords)
        for is_old in {question.is_old for question in questions}
    }


def _class_names(where: Path | None, keywords: Mapping[str, str]) -> _Names:
    if where is None or not where.exists():
        return _Names(actions=keywords)
    if where.is_dir():
        tables = [_class_file(where / f"{kind}_classes.txt") for kind in ("object", "relationship", "action")]
        return _Names(tables[0], tables[1], {**keywords, **tables[2]})
    value = read_json(where, "classes")
    try:
        known = check(_Classes, value)
    except UsageError as error:
        raise UsageError(f"{where} is not a file of STAR's classes: {error}") from None
    return _Names(known.object, known.relationships, {**keywords, **known.action})


def _class_file(path: Path) -> dict[str, str]:
    """Read lines such as ``o017 book``."""
    if not path.is_file():
        return {}
    lines = read_text(path, "classes").split("\n")
    return {
        code: name.strip()
        for code, _, name in (line.strip().partition(" ") for line in lines if line.strip())
    }


def _keywords(questions: Sequence[_Question]) -> dict[str, str]:
    """Return the action codes that the questions explain: the one action of an answer, with its verb and its object."""
    return {
        question.answer_action[0]: " ".join(question.answer_keyword)
        for question in questions
        if len(question.answer_action) == 1 and len(question.answer_keyword) == 2
    }


def _episode(
    question: _Question, names_of: Mapping[bool, _Names], pictures: Path, frames_per_s: float
) -> Episode:
    names = names_of[question.is_old]
    numbers = sorted(question.situations, key=int)
    frames = []
    for number in numbers:
        picture = _picture(pictures, question, number)
        frames.append(_frame(question.situations[number], names, picture, int(number), frames_per_s))
    known: dict[Any, Any] = dict.fromkeys(("objects", "boxes", "relations", "actions"), "partial")
    return Episode(
        question.question_id,
        question.question,
        tuple(frames),
        answer=question.answer,
        options=tuple(choice.choice for choice in question.choices),
        actions=tuple(_actions(question, names, frames_per_s)),
        known=known,
        vocabulary={
            "objects": tuple(names.objects.values()),
            "relations": tuple(_plain(r) for r in names.relations.values()),
        },
        world="star",
        difficulty={"frames": float(len(frames)), "options": float(len(question.choices))},
        cluster=question.video_id,
        meta={
            "start_s": question.start,
            "end_s": question.end,
            "kind": question.question_id.partition("_")[0],
        },
    )


def _plain(relation: str) -> str:
    """Return a relation in the wording of claims."""
    plain = relation.replace("_", " ")
    return {"at the right of": "right of", "at the left of": "left of"}.get(plain, plain)


def _frame(
    situation: _Situation, names: _Names, picture: Picture | None, number: int, frames_per_s: float
) -> Frame:
    if len(situation.bbox) != len(situation.bbox_labels) or len(situation.rel_pairs) != len(
        situation.rel_labels
    ):
        raise UsageError(f"frame {number}: boxes and labels, or relations and labels, differ in number")
    objects: dict[str, FrameObject] = {}
    for box, label in zip(situation.bbox, situation.bbox_labels, strict=True):
        category, rectangle = names.objects.get(str(label), str(label)), _box(box)
        objects[category] = FrameObject(category, category, rectangle, is_visible=rectangle is not None)
    relations = []
    for (first, second), label in zip(situation.rel_pairs, situation.rel_labels, strict=True):
        ends = [names.objects.get(str(end), str(end)) for end in (first, second)]
        for end in ends:  # related, but without a box
            objects.setdefault(end, FrameObject(end, end, is_visible=False))
        relation = _plain(names.relations.get(str(label), str(label)))
        if ends[0] == _PERSON and relation in _PLACES_OF_OTHERS:
            ends.reverse()
        relations.append(Relation(ends[0], relation, ends[1]))
    size = None if picture is None else picture.size
    return Frame(
        number / frames_per_s,
        picture,
        size,
        tuple(objects.values()),
        tuple(dict.fromkeys(relations)),
        number=number,
    )


def _box(corners: list[float] | None) -> Box | None:
    """Return a box; None for null, empty and inverted ones, which mean that it is not known."""
    if corners is None or len(corners) != 4 or corners[2] <= corners[0] or corners[3] <= corners[1]:
        return None
    return Box(*corners)


def _actions(question: _Question, names: _Names, frames_per_s: float) -> Iterator[Action]:
    """Yield timed actions where the file has times; else from the first to the last key frame that lists them."""
    timed = [(code, a, b) for code, a, b in question.anno_actions]
    listed: dict[str, list[float]] = {}
    for number, situation in question.situations.items():
        for code in situation.actions:
            listed.setdefault(code, []).append(int(number) / frames_per_s)
    known = {code for code, *_ in timed}
    timed += [(code, min(times), max(times)) for code, times in listed.items() if code not in known]
    for code, start, end in timed:
        name = names.actions.get(code, code)
        verb, _, rest = name.casefold().partition(" ")
        things = [t for t in names.objects.values() if rest and (t == rest or rest in t.split("/"))]
        yield Action(verb, _PERSON, tuple(things[:1]), min(start, end), max(start, end), label=name)


def _picture(folder: Path, question: _Question, number: str) -> Picture | None:
    stems = (
        f"{question.video_id}_{number}",
        f"{question.video_id}/{number}",
        f"{question.question_id}/{number}",
    )
    return find_picture(folder, (f"{stem}.{ending}" for stem in stems for ending in ("jpg", "png")))
