"""STAR: questions about clips of everyday life, with boxes, relations and actions at key frames.

Two formats are read. The released one names things by code (``o017``, ``r009``, ``a086``) with a class file for each; the older
one of the project's page numbers them. Boxes may be null: the thing is there, its place is not known. Key frames are annotated
partly: what is not listed may still be so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.trace.data.dataset import EpisodeSet, Problem
from theodolite.instruments.trace.data.episode import Action, Episode, Frame, Relation, SceneObject
from theodolite.instruments.trace.data.sources.files import (
    first_fault,
    load_json,
    picture_folder,
    without_pictures,
)

FRAMES_PER_S = 30.0
_Label = int | str


class _Situation(BaseModel):
    model_config = ConfigDict(extra="ignore")

    bbox: list[list[float] | None] = []
    bbox_labels: list[_Label] = []
    rel_pairs: list[tuple[_Label, _Label]] = []
    rel_labels: list[_Label] = []
    actions: list[str] = []


class _Question(BaseModel):
    model_config = ConfigDict(extra="ignore")

    question_id: str = Field(min_length=1)
    question: str
    video_id: str = Field(min_length=1)
    start: float = 0.0
    end: float = 0.0
    answer: str = ""
    choices: list[dict[str, Any]] = []
    situations: dict[str, _Situation] = Field(min_length=1)
    anno_actions: list[tuple[str, float, float]] = []
    answer_action: list[str] = []
    answer_keyword: list[str] = []


@dataclass(frozen=True, slots=True)
class _Names:
    """What labels are called."""

    objects: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str] = field(default_factory=dict)


def read_star(
    path: str | Path,
    *,
    frames: str | Path | None = None,
    classes: str | Path | None = None,
    frames_per_s: float = FRAMES_PER_S,
) -> EpisodeSet:
    """One episode per question, one frame per annotated key frame; videos are the independent units.

    Args:
        path: a JSON file of questions (a list, or a single one), or a folder with ``questions.json``.
        frames: the folder of pictures, named ``<video>_<frame>.jpg`` or ``<video>/<frame>.png``; ``frames`` beside the file if
            it is there.
        classes: the names of labels: a JSON file with ``object`` and ``relationships`` (and ``action``), or the folder
            ``STAR_classes``. For the older format ``classes.json`` beside the file, if it is there.
        frames_per_s: how fast the videos run, since frames are numbered and actions are timed in seconds.

    Raises:
        UsageError: the file cannot be read, or holds no usable question; or there is no such folder of pictures.
    """
    path = Path(path)
    file = path / "questions.json" if path.is_dir() else path
    found = load_json(file)
    questions = found if isinstance(found, list) else [found]
    named = picture_folder(frames)
    pictures = named or file.parent / "frames"
    episodes: list[Episode] = []
    problems: list[Problem] = []
    for number, raw in enumerate(questions):
        where = f"{file.name}, question {number + 1}"
        try:
            question = _Question.model_validate(raw)
            names = _names(question, file, None if classes is None else Path(classes), questions)
            episode = _episode(question, names, pictures, frames_per_s)
        except (ValidationError, UsageError) as error:
            problems.append(
                Problem(where, first_fault(error) if isinstance(error, ValidationError) else str(error))
            )
            continue
        episodes.append(episode)
        problems += [Problem(where, reason) for reason in _nameless(question, names)]
    if not episodes:
        raise UsageError(f"{file} holds no usable question" + (f": {problems[0].reason}" if problems else ""))
    problems += without_pictures(episodes, named, "<video>_<frame>.jpg or <video>/<frame>.png")
    return EpisodeSet(tuple(episodes), tuple(problems))


def _nameless(question: _Question, names: _Names) -> Iterator[str]:
    """What is wrong with the labels of each kind that are codes and have no name; nothing that is said can mean them."""
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


def _names(question: _Question, file: Path, classes: Path | None, all_questions: Sequence[Any]) -> _Names:
    """The class names that fit a question's format, and what its keywords tell of action codes."""
    labels = [label for s in question.situations.values() for label in s.bbox_labels]
    is_old = any(isinstance(label, int) for label in labels)
    where = classes if classes is not None else (file.parent / "classes.json" if is_old else None)
    told = _keywords(all_questions)
    if where is None or not where.exists():
        return _Names(actions=told)
    if where.is_dir():
        tables = [_class_file(where / f"{kind}_classes.txt") for kind in ("object", "relationship", "action")]
        return _Names(tables[0], tables[1], told | tables[2])
    value = load_json(where)
    return _Names(value.get("object", {}), value.get("relationships", {}), told | value.get("action", {}))


def _class_file(path: Path) -> dict[str, str]:
    """Lines such as ``o017 book``."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {
        code: name.strip()
        for code, _, name in (line.strip().partition(" ") for line in lines if line.strip())
    }


def _keywords(questions: Sequence[Any]) -> dict[str, str]:
    """Action codes that the questions themselves name: the one action of an answer, with its verb and its object."""
    found = {}
    for raw in questions:
        codes, words = raw.get("answer_action") or [], raw.get("answer_keyword") or []
        if len(codes) == 1 and len(words) == 2 and all(isinstance(word, str) for word in words):
            found[str(codes[0])] = " ".join(words)
    return found


def _episode(question: _Question, names: _Names, pictures: Path, frames_per_s: float) -> Episode:
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
        options=tuple(str(choice.get("choice", "")) for choice in question.choices),
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
    """The wording of claims."""
    plain = relation.replace("_", " ")
    return {"at the right of": "right of", "at the left of": "left of"}.get(plain, plain)


def _frame(
    situation: _Situation, names: _Names, picture: Picture | None, number: int, frames_per_s: float
) -> Frame:
    if len(situation.bbox) != len(situation.bbox_labels) or len(situation.rel_pairs) != len(
        situation.rel_labels
    ):
        raise UsageError(f"frame {number}: boxes and labels, or relations and labels, differ in number")
    objects: dict[str, SceneObject] = {}
    for box, label in zip(situation.bbox, situation.bbox_labels, strict=True):
        category = names.objects.get(str(label), str(label))
        objects[category] = SceneObject(category, category, _box(box))
    relations = []
    for (first, second), label in zip(situation.rel_pairs, situation.rel_labels, strict=True):
        ends = [names.objects.get(str(end), str(end)) for end in (first, second)]
        for end in ends:  # related, but without a box
            objects.setdefault(end, SceneObject(end, end))
        relations.append(Relation(ends[0], _plain(names.relations.get(str(label), str(label))), ends[1]))
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
    """Null, empty and inverted boxes are boxes that are not known."""
    if corners is None or len(corners) != 4 or corners[2] <= corners[0] or corners[3] <= corners[1]:
        return None
    return Box(*corners)


def _actions(question: _Question, names: _Names, frames_per_s: float) -> Iterator[Action]:
    """Timed actions where the file times them, else from the first to the last key frame that lists them."""
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
        yield Action(verb, "person", tuple(things[:1]), min(start, end), max(start, end), label=name)


def _picture(folder: Path, question: _Question, number: str) -> Picture | None:
    for name in (
        f"{question.video_id}_{number}",
        f"{question.video_id}/{number}",
        f"{question.question_id}/{number}",
    ):
        for ending in ("jpg", "png"):
            path = folder / f"{name}.{ending}"
            if path.is_file():
                return Picture.from_path(path)
    return None
