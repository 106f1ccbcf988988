"""Questions in CRISP-Bench's format: ShareGPT-style lines, type ``MCQ`` and ``NAQ`` (the public code also uses ``NA``).

Their questions are plain text, so reading one means finding out its kind, its objects and the meaning of each option. Ours
hold that, and the wording that models are shown, in ``meta.theodolite`` too, which their code ignores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from theodolite.core.errors import UsageError
from theodolite.core.forms import Form, Number, Whole
from theodolite.instruments.scene.data.graph import Difficulty, Domain
from theodolite.instruments.scene.data.questions import KINDS, LETTERS, SECTORS, Kind, Option, SceneQuestion
from theodolite.instruments.scene.data.relations import PREDICATES, Predicate, in_order
from theodolite.instruments.scene.interop.crisp_wording import crisp_lines

NumericType: TypeAlias = Literal["NAQ", "NA"]

_OPTION = re.compile(r"^\s*\(?([A-Z])[:.)]\s*(.*?)\s*$", re.MULTILINE)
_MARK = re.compile(r"\bobject\s*#?(\d+)\b", re.IGNORECASE)
_METRES = re.compile(r"(\d+(?:\.\d+)?)\s*(?:m\b|met(?:er|re)s?\b)", re.IGNORECASE)
_PLACES: tuple[tuple[str, Predicate], ...] = (
    (r"\bleft\b", "left"),
    (r"\bright\b", "right"),
    (r"\bfront\b", "in front of"),
    (r"\bbehind\b|\bback\b", "behind"),
    (r"\babove\b|\bup(?:per)?\b", "up"),
    (r"\bbelow\b|\bdown\b|\bunder\b|\blower\b", "down"),
)


class NotUnderstoodError(UsageError):
    """A question whose words are not understood."""


@dataclass(frozen=True, slots=True)
class QuestionScene:
    """What a question takes from its scene."""

    scene: str
    domain: Domain
    difficulty: Difficulty


def write_question(
    question: SceneQuestion, image: str, *, dataset: str, numeric_type: NumericType = "NAQ"
) -> dict[str, Any]:
    """One line of a QA file, in their wording.

    Args:
        question: To write.
        image: The path of the marked picture.
        dataset: ``nuscenes``, ``scannetpp`` or another name.
        numeric_type: The type of questions for a number.
    """
    return {
        "id": question.id,
        "image": image,
        "conversations": [
            {"from": "human", "value": crisp_lines(question)},
            {"from": "gpt", "value": question.gold},
        ],
        "meta": {
            "category": question.competency,
            "difficulty": question.difficulty,
            "type": "MCQ" if question.options else numeric_type,
            "dataset": dataset,
            "theodolite": {
                "scene": question.scene,
                "kind": question.kind,
                "objects": list(question.objects),
                "keys": [option.key for option in question.options],
                "relation": question.relation,
                "distance_m": question.distance_m,
                "text": question.text,
                "options": [option.text for option in question.options],
            },
        },
    }


class _Turn(Form):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    value: str


class _Ours(Form):
    """What `write_question` adds."""

    scene: str = ""
    kind: str
    objects: list[Whole]
    keys: list[str] | None = None
    relation: str | None = None
    distance_m: Number | None = None
    text: str = ""
    options: list[str] | None = None


class _Meta(Form):
    type: str
    category: str
    theodolite: _Ours | None = None


class QuestionForm(Form):
    """One line of a QA file."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str = ""
    image: str = ""
    conversations: Annotated[list[_Turn], Field(min_length=2)]
    meta: _Meta


def read_question(line: QuestionForm, about: QuestionScene) -> SceneQuestion:
    """A question from one line of a QA file.

    Raises:
        NotUnderstoodError: Its words are unknown, its letters are out of order (then the public balancing script has made
            its gold unreliable), or its gold is not a number above zero.
    """
    said, gold = (turn.value for turn in line.conversations[:2])
    kind_of_answer, competency = line.meta.type.upper(), line.meta.category.lower()
    if kind_of_answer not in {"MCQ", "NA", "NAQ"}:
        raise NotUnderstoodError(f"type {line.meta.type!r:.80}")
    text, letters, texts = _parts(said)
    if kind_of_answer == "MCQ" and letters != LETTERS[: len(letters)]:
        raise NotUnderstoodError("letters out of order")
    ours = line.meta.theodolite
    if ours is not None:
        text, texts = ours.text or text, ours.options or texts
    known = _ours(ours) if ours is not None else _theirs(text, competency, texts)
    keys = known.keys or [_key(known.kind, option) for option in texts]
    try:
        return SceneQuestion(
            id=line.id,
            scene=about.scene,
            domain=about.domain,
            kind=known.kind,
            text=text,
            objects=known.objects,
            gold=gold.strip().removesuffix(".") if kind_of_answer == "MCQ" else gold.strip(),
            difficulty=about.difficulty,
            options=tuple(Option(shown, key) for shown, key in zip(texts, keys, strict=True)),
            relation=known.relation,
            distance_m=known.distance_m,
        )
    except (UsageError, ValueError) as error:
        raise NotUnderstoodError(str(error)) from None


@dataclass(frozen=True, slots=True)
class _Known:
    kind: Kind
    objects: tuple[int, ...]
    keys: Sequence[str] = ()
    relation: Predicate | None = None
    distance_m: float | None = None


def _parts(said: str) -> tuple[str, str, list[str]]:
    """The question, the letters of its options in order, and their texts."""
    text, _, options = said.partition("\nOptions:")
    found = _OPTION.findall(options)
    return text.strip(), "".join(letter for letter, _ in found), [option for _, option in found]


def _ours(fields: _Ours) -> _Known:
    if fields.kind not in KINDS or fields.relation not in {None, *PREDICATES}:
        raise NotUnderstoodError(f"kind {fields.kind!r:.80}, relation {fields.relation!r:.80}")
    return _Known(
        fields.kind,
        tuple(fields.objects),
        fields.keys or (),
        fields.relation,
        fields.distance_m,
    )


_RULES: Mapping[str, Sequence[tuple[str, Kind]]] = {
    "size": (
        (r"volume|larger|bigger", "larger"),
        (r"taller", "taller"),
        (r"wider", "wider"),
        (r"how long|length", "length"),
        (r"height|how tall|how high", "height"),
        (r"width|how wide", "width"),
    ),
    "distance": (
        (r"between", "distance between"),
        (r"how far.*camera", "distance to camera"),
        (r"closer.*camera", "closer to camera"),
        (r"farther.*camera", "farther from camera"),
        (r"closer", "closer to object"),
        (r"farther", "farther from object"),
    ),
    "ranking": (
        (r"height|tall", "rank by height"),
        (r"distance|near", "rank by distance"),
        (r"size|volume|large", "rank by volume"),
    ),
    "counting": (
        (r"within", "count within"),
        (r"farther than|more than .* away|beyond", "count beyond"),
        (r"how many", "count in direction"),
    ),
    "transformation": ((r"", "where after turning"),),
    "deduction": ((r"", "distance after placing"),),
}
"""By competency: the first pattern that matches decides."""
_ASKS: Mapping[Predicate, Kind] = {
    "left": "is left",
    "right": "is right",
    "in front of": "is in front",
    "behind": "is behind",
    "up": "is above",
    "down": "is below",
}


def _theirs(text: str, competency: str, options: Sequence[str]) -> _Known:
    plain = text.lower()
    marks = tuple(int(mark) for mark in _MARK.findall(text))
    if not marks:
        raise NotUnderstoodError("no object is named")
    words = [word for pattern, word in _PLACES if re.search(pattern, _MARK.sub(" ", plain).replace("-", " "))]
    if competency == "direction":
        if {option.lower() for option in options} == {"yes", "no"}:
            if len(words) != 1:
                raise NotUnderstoodError("no single direction is named")
            return _Known(_ASKS[words[0]], marks[:2])
        return _Known("position", marks[:2])
    kind = next((kind for pattern, kind in _RULES.get(competency, ()) if re.search(pattern, plain)), None)
    if kind is None:
        raise NotUnderstoodError(f"category {competency!r}")
    far = [float(number) for number in _METRES.findall(text)]
    needs_word = kind in {"count in direction", "distance after placing"}
    needs_metres = kind in {"count within", "count beyond", "distance after placing"}
    if (needs_word and len(words) != 1) or (needs_metres and len(far) != 1):
        raise NotUnderstoodError("its direction or distance is not clear")
    return _Known(
        kind,
        tuple(dict.fromkeys(marks)),
        relation=words[0] if needs_word else None,
        distance_m=far[0] if needs_metres else None,
    )


def _key(kind: Kind, option: str) -> str:
    """The key of one of their options."""
    plain = option.lower().strip(" .")
    if kind.startswith("is "):
        return plain
    bare = _MARK.sub(" ", plain).replace("-", " ")
    words = in_order(word for pattern, word in _PLACES if re.search(pattern, bare))
    if kind == "where after turning":
        parts = {"in front of": "front", "behind": "back", "left": "left", "right": "right"}
        sector = " ".join(parts[word] for word in ("in front of", "behind", "left", "right") if word in words)
        if sector not in SECTORS:
            raise NotUnderstoodError(f"direction {option!r}")
        return sector
    if kind == "position":
        return "+".join(words)
    if kind.startswith("count"):
        return plain
    return "-".join(_MARK.findall(option)) or plain
