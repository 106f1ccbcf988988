"""Questions in CRISP-Bench's wording and files.

Its solver finds out what a question asks by matching its sentences word for word, so they belong to its file format
(`theodolite.instruments.scene.kinds`). Ours say more (what *in front* means, which side is the width), and so are shown to
models; an exported question has both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from theodolite.core.errors import UsageError
from theodolite.core.forms import Form, Number, Whole
from theodolite.instruments.scene.data.questions import LETTERS, Option, SceneQuestion
from theodolite.instruments.scene.kinds import KINDS, MARK, IsThere, Shape, WhereIs, directions_in, kind_of
from theodolite.worlds.scene_graph import PREDICATES, Difficulty, Domain, Predicate


def crisp_lines(question: SceneQuestion) -> str:
    """A question with its lettered options, in their wording.

    >>> from theodolite.instruments.scene.data.questions import Option
    >>> options = (Option("Yes", "yes"), Option("No", "no"))
    >>> asked = SceneQuestion("q", "s", "indoor", "is behind", "Is 2 behind 1?", (2, 1), "A", "easy", options)
    >>> crisp_lines(asked).splitlines()[0]
    "From the camera's viewpoint, is object 2 behind object 1?"
    """
    text = question.spec.crisp_words(question.objects, question.relation, question.distance_m)
    if not question.options:
        return text
    names = [f"object {mark}" for mark in question.objects]
    shown = [
        f"{letter}: {question.spec.shape.crisp_option(option.key).format(*names)}"
        for letter, option in zip(question.letters, question.options, strict=True)
    ]
    return "\n".join([text, "Options:", *shown])


# Questions in CRISP-Bench's format: ShareGPT-style lines, type ``MCQ`` and ``NAQ`` (the public code also uses ``NA``).
#
# Their questions are plain text, so reading one means finding out its kind, its objects and the meaning of each option. Ours
# hold that, and the wording that models are shown, in ``meta.theodolite`` too, which their code ignores.


NumericType: TypeAlias = Literal["NAQ", "NA"]

_OPTION = re.compile(r"^\s*\(?([A-Z])[:.)]\s*(.*?)\s*$", re.MULTILINE)
_METRES = re.compile(r"(\d+(?:\.\d+)?)\s*(?:m\b|met(?:er|re)s?\b)", re.IGNORECASE)


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
    try:
        keys = known.keys or [kind_of(known.kind).shape.crisp_key(option) for option in texts]
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
    kind: str
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


def _theirs(text: str, competency: str, options: Sequence[str]) -> _Known:
    plain = text.lower()
    marks = tuple(int(mark) for mark in MARK.findall(text))
    if not marks:
        raise NotUnderstoodError("no object is named")
    words = directions_in(text)
    if competency == "direction":
        asked: Shape = WhereIs()
        if {option.lower() for option in options} == {"yes", "no"}:
            if len(words) != 1:
                raise NotUnderstoodError("no single direction is named")
            asked = IsThere(words[0])
        return _Known(next(kind.name for kind in KINDS.values() if kind.shape == asked), marks[:2])
    kinds = [kind for kind in KINDS.values() if kind.competency == competency and kind.crisp_pattern]
    kinds.sort(key=lambda kind: kind.crisp_rank)
    kind = next((kind for kind in kinds if re.search(kind.crisp_pattern, plain)), None)
    if kind is None:
        raise NotUnderstoodError(f"category {competency!r}")
    far = [float(number) for number in _METRES.findall(text)]
    needs_word, needs_metres = kind.shape.takes_relation, kind.shape.takes_distance
    if (needs_word and len(words) != 1) or (needs_metres and len(far) != 1):
        raise NotUnderstoodError("its direction or distance is not clear")
    return _Known(
        kind.name,
        tuple(dict.fromkeys(marks)),
        relation=words[0] if needs_word else None,
        distance_m=far[0] if needs_metres else None,
    )
