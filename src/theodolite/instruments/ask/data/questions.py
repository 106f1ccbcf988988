"""Questions about pictures in the user's own files, whatever their layout."""

from __future__ import annotations

import ast
import base64
import binascii
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from theodolite.answers import AnswerFormat, normal_form
from theodolite.answers.options import (
    LETTERS,
    LONGEST_ANSWER,
    NoSuchOption,
    Offered,
    named_option,
    options_in_words,
)
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, counted_problems, lies_inside
from theodolite.core.types import Picture, content_hash
from theodolite.instruments.coco import AnnotatedPicture, Instance, Instances, find_coco, read_instances
from theodolite.models.logs import is_log_file, log_rows
from theodolite.models.tables import (
    NAMES,
    PLACE,
    SUFFIXES,
    NameIndex,
    Role,
    Row,
    chosen_rows,
    fields_of,
    first,
    holds_answer,
    naming,
    picture_name,
    plain_words,
    split_options,
    values,
)
from theodolite.pairs.pictures import Cutout, UnfitError, remove

__all__ = [
    "EXPECTED",
    "PictureFinder",
    "Question",
    "Questions",
    "Removal",
    "Unusable",
    "draw_questions",
    "find_question_file",
    "given_options",
    "load_questions",
    "looks_like_questions",
    "natural_groups",
    "object_questions",
    "read_question",
    "read_questions",
    "write_questions",
]


# A question about a picture, and questions that can be paired.


_LONG_OPTION = 24
"""Options of more characters, or with a comma, are listed with letters."""
_LARGEST_GROUP = 4


@dataclass(frozen=True, slots=True)
class Removal:
    """An object that can be removed from the picture."""

    thing: Cutout
    others: tuple[Cutout, ...]
    """All other objects."""
    answer: str
    """The right answer without it."""


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
    others: tuple[str, ...] = ()
    """Other answers that are right, too."""
    listing: Literal["", "words", "letters"] = ""
    """How the question itself lists its options. If it does not, the prompt lists them."""
    by_letter: bool = False
    """True if the prompt lists the options with letters, however short they are."""
    removal: Removal | None = None
    """An object that can be removed, and the right answer then."""

    @property
    def format(self) -> AnswerFormat:
        """The answer format: a choice if there are options, else the kind of the right answer."""
        if self.options:
            return AnswerFormat.choice(self.options, style="letter" if self._has_letters else "word")
        if self.answer.strip().casefold() in {"yes", "no"}:
            return AnswerFormat.yes_no()
        if re.fullmatch(r"\d{1,4}", self.answer.strip()):
            return AnswerFormat.count()
        return AnswerFormat.number() if _is_number(self.answer) else AnswerFormat.text()

    @property
    def is_shown(self) -> bool:
        """True if its pictures are here. Else only recorded answers tell about it, and only its natural pairs."""
        return not any(picture.is_absent for picture in self.pictures)

    @property
    def _has_letters(self) -> bool:
        if self.listing:
            return self.listing == "letters"
        return self.by_letter or any(len(option) > _LONG_OPTION or "," in option for option in self.options)

    @property
    def prompt(self) -> str:
        """The prompt: the question with its options."""
        if self.listing or not (self.options or self.format.kind == "text"):
            return self.question
        if not self.options:
            return f"{self.question}\nAnswer with a single word or phrase."
        if not self._has_letters:
            return f"{self.question}\nAnswer with one of: {', '.join(self.options)}."
        lines = (f"{letter}. {option}" for letter, option in self.format.options.items())
        return "\n".join((self.question, *lines, "Answer with the letter."))

    @property
    def right(self) -> frozenset[str]:
        """All right answers, in normal form."""
        return frozenset(map(normal_form, (self.answer, *self.others)))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?\d+(?:\.\d+)?", text.strip()) is not None


def natural_groups(questions: Iterable[Question]) -> list[list[Question]]:
    """Group questions with the same words, different pictures and different answers, at most four in a group.

    Every question is in one group, so groups with different pictures are independent. A group of one has no pair.
    """
    by_words: dict[str, list[Question]] = {}
    for question in questions:
        by_words.setdefault(question.prompt, []).append(question)
    groups: list[list[Question]] = []
    for same_words in by_words.values():
        size = min(_LARGEST_GROUP, len({question.answer for question in same_words}))
        is_open: list[list[Question]] = []
        # In the order of pictures, so that the same pictures meet in the groups of several questions.
        for question in sorted(same_words, key=lambda each: content_hash([each.pictures[0].digest, each.id])):
            group = next((group for group in is_open if _fits(question, group)), None)
            if group is None:
                groups.append(group := [])
                is_open.append(group)
            group.append(question)
            if len(group) >= size:
                is_open.remove(group)
    return groups


def _fits(question: Question, group: Sequence[Question]) -> bool:
    return all(not question.right & other.right and question.pictures != other.pictures for other in group)


# The options of a question that are given in fields.


def given_options(row: Row) -> Offered:
    """Return the options in the fields of a row: a list, an object by letter, text, or one field for each letter."""
    options = first(row, "options")
    if isinstance(options, str):
        options = options_in_words(options)[0] or _listed(options)
    if isinstance(options, Mapping):
        options = list(options.values())
    if not isinstance(options, Sequence) or not options:
        options = _lettered_fields(row)
    return tuple(str(option).strip() for option in options)


def _listed(text: str) -> list[Any]:
    """Return the options in one cell: a list in JSON or Python, or separated by ``|``, ``;`` or line breaks."""
    text = text.strip()
    if text[:1] in "[({":
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
        if isinstance(value, dict):
            return list(value.values())
        if isinstance(value, list | tuple):
            return list(value)
    mark = next((mark for mark in ("|", ";", "\n") if mark in text), ",")
    return [part.strip() for part in text.split(mark) if part.strip()]


def _lettered_fields(row: Row) -> list[Any]:
    names = {
        re.sub(r"^(?:option|choice)[\s_-]*", "", name.strip(), flags=re.IGNORECASE).upper(): name
        for name in row
    }
    options = []
    for letter in LETTERS:
        value = row.get(names.get(letter, ""))
        if value is None or not str(value).strip() or str(value) == "nan":
            break
        options.append(value)
    return options if len(options) > 1 else []


# Find the pictures that a question file names: by path, by file name, by number, or encoded in the file.


_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"})
_MOST_FILES = 500_000  # bounds the search of a folder that holds much else
_DEEPEST = 3
"""How many folders below that of the question file are searched. A folder given with ``--images`` is searched whole."""
_SHORTEST_ENCODED = 200  # shorter texts are file names, not base64


class Unusable(Exception):  # noqa: N818 - it is counted, not reported
    """A row cannot be used. The message is the reason under which it is counted."""


class PictureFinder:
    """Finds pictures in the folder of a question file, and in the folder given with ``--images``.

    Neither a path nor a link may lead out of both folders, since pictures are sent to the model, unless ``--allow-outside`` says so.
    """

    def __init__(self, home: Path, images: Path | None = None) -> None:
        self._home = home
        self._images = images
        self._folders = [folder for folder in (images, home) if folder is not None]

    def find(self, value: Any) -> Picture:
        """Return the picture that a field names.

        Raises:
            Unusable: If there is none, or more than one.
        """
        if isinstance(value, dict):
            value = (
                value.get("bytes") or value.get("path") or value.get("file_name") or value.get("url") or ""
            )
        if isinstance(value, bytes):
            return Picture.from_bytes(value)
        encoded = _decoded(value) if isinstance(value, str) else None
        if encoded is not None:
            return encoded
        name = str(value).strip()
        path = (self._by_path(name) if "://" not in name else None) or self._by_name(name)
        if not lies_inside(path, *self._folders):
            raise Unusable(
                "picture outside the folder of the file (name its folder with --images, or add --allow-outside)"
            )
        try:
            return Picture.from_path(path)
        except UsageError as error:
            raise Unusable("picture cannot be read") from error

    def _by_path(self, name: str) -> Path | None:
        return next((folder / name for folder in self._folders if _is_file(folder / name)), None)

    def _by_name(self, name: str) -> Path:
        paths = self._index.find(name)
        if len(paths) != 1:
            raise Unusable("several pictures of that name" if paths else "picture not found")
        return paths[0]

    @cached_property
    def _index(self) -> NameIndex[Path]:
        for folder in self._folders:
            entries = [
                (str(path), path) for path in _walk(folder, None if folder is self._images else _DEEPEST)
            ]
            if entries:
                return NameIndex(entries)
        return NameIndex([])


def _walk(folder: Path, deepest: int | None) -> Iterator[Path]:
    """Yield the picture files below a folder, without hidden ones."""
    n = 0
    for root, folders, files in os.walk(folder):
        depth = len(Path(root).relative_to(folder).parts)
        folders[:] = [] if depth == deepest else sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if os.path.splitext(name)[1].lower() in _SUFFIXES:  # noqa: PTH122 - half a million times
                yield Path(root, name)
                n += 1
                if n == _MOST_FILES:
                    return


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a name that is too long
        return False


def _decoded(text: str) -> Picture | None:
    """Return a picture in base64, perhaps as a data URL. None if it is not one."""
    _, comma, rest = text.partition(",") if text.startswith("data:image/") else ("", "", "")
    body = rest if comma else text
    if len(body) < _SHORTEST_ENCODED or re.match(r"[A-Za-z0-9+/\s]+={0,2}\s*$", body) is None:
        return None
    try:
        picture = Picture.from_bytes(base64.b64decode(body))
    except (binascii.Error, ValueError):
        return None
    return None if picture.media_type == "application/octet-stream" else picture


# Turn rows of question files into questions, whatever their layout.
#
# =============== =========================================================================================================
# ours            ``picture``, ``question``, ``answer``, perhaps ``options``, ``id`` and ``group``
# LLaVA           ``conversations`` or ``messages``: a question for each turn of the user that the model answers
# VQAv2           ``questions`` and ``annotations`` in two files; several people's ``answers``, of which the most frequent is
#                 the right one, and all that three people gave are accepted
# GQA             an object by id with ``imageId``, ``question`` and ``answer``
# VSR             ``caption`` and ``label``, 1 if it is true: asked as a question for yes or no
# What'sUp        ``caption_options``, of which the first is right: listed in an order that does not depend on it
# lmms-eval       fields inside ``doc``
# multiple choice ``options`` or ``choices``, fields ``A``, ``B``, ``C`` …, or options in the words of the question; the answer is
#                 an option, its letter or its index
# =============== =========================================================================================================
#
# The names of fields are those of `theodolite.models.tables.NAMES`.


EXPECTED = (
    "a picture (image, picture, image_path, image_id …), a question (question, prompt, text, conversations, or caption with a "
    "label) and a right answer (answer, answers, label, ground_truth …)"
)
_VOTES = 3  # as in VQA accuracy, where an answer that three of ten people gave is fully right
_TRUE, _FALSE = (
    frozenset({"1", "true", "yes", "entailment"}),
    frozenset({"0", "false", "no", "contradiction"}),
)
_WHICH_CAPTION = "Which of these sentences describes the picture?"


def looks_like_questions(row: Row, *, may_lack_picture: bool = False) -> bool:
    """Return True if a row has a picture and a question, whether or not the answer is in the same file.

    Args:
        row: The row.
        may_lack_picture: Whether a recorded answer will do instead of a picture.
    """
    roles: tuple[Role, ...] = ("question", "statement", "captions")
    asks = any(first(row, role) is not None for role in roles)
    return asks and (first(row, "picture") is not None or (may_lack_picture and holds_answer(row)))


def read_question(
    row: Row, number: int, finder: PictureFinder, *, may_lack_picture: bool = False
) -> Question:
    """Read one row.

    Args:
        row: The row.
        number: Its position in the file, used as the id if it has none.
        finder: Finds its pictures.
        may_lack_picture: Whether the name of a picture will do if there is no such file.

    Raises:
        Unusable: If something is missing.
    """
    words, answer, others, options = _asked(row)
    listing: Literal["", "words", "letters"] = ""
    in_words, has_letters = options_in_words(words)
    if options:
        try:
            answer = named_option(answer, options)
        except NoSuchOption as error:
            raise Unusable(str(error)) from error
        has_all = all(normal_form(option) in normal_form(words) for option in options)
        listing = ("letters" if in_words == options and has_letters else "words") if has_all else ""
    elif in_words:
        try:
            answer, options = named_option(answer, in_words), in_words
            listing = "letters" if has_letters else "words"
        except NoSuchOption:
            pass  # what looked like options were none
    if not options and len(answer.split()) > LONGEST_ANSWER:
        raise Unusable(f"answer of more than {LONGEST_ANSWER} words")
    group = first(row, "group")
    return Question(
        id=str(first(row, "id") if first(row, "id") is not None else number),
        question=words,
        answer=answer,
        pictures=_pictures(row, finder, may_lack_picture=may_lack_picture),
        options=options,
        group=group if isinstance(group, str) else "",
        others=tuple(_among(others, answer, options)) if options else others,
        listing=listing,
        by_letter=holds_answer(row),  # an evaluation that has options lists them with letters
    )


def _among(answers: Iterable[str], right: str, options: tuple[str, ...]) -> Iterator[str]:
    """Yield the options that further right answers name."""
    named = {right}
    for answer in answers:
        try:
            option = named_option(answer, options)
        except NoSuchOption:
            continue
        if option not in named:
            named.add(option)
            yield option


def _asked(row: Row) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """Return the words of the question, the right answer, other right ones, and the options."""
    question, captions = first(row, "question"), first(row, "captions")
    words = plain_words(question) if isinstance(question, str) else ""
    if isinstance(captions, list) and len(captions) > 1:
        texts = [str(caption).strip() for caption in captions]
        return words or _WHICH_CAPTION, texts[0], (), tuple(sorted(texts, key=content_hash))
    if not words:
        statement = first(row, "statement")
        if not isinstance(statement, str):
            raise Unusable("no question")
        return (
            f"Is this sentence true of the picture? {statement.strip()}\nAnswer yes or no.",
            _truth_value(row),
            (),
            (),
        )
    answer, others = _right_answers(row)
    options = given_options(row)
    if isinstance(answer, bool) and not options:
        return words, "yes" if answer else "no", (), ()
    return words, str(answer).strip(), others, options


def _truth_value(row: Row) -> str:
    label = str(first(row, "truth")).strip().casefold()
    if label not in _TRUE | _FALSE:
        raise Unusable("no answer")
    return "yes" if label in _TRUE else "no"


def _right_answers(row: Row) -> tuple[Any, tuple[str, ...]]:
    """Return the right answer and the alternatives that are also right. If several people answered, the most frequent wins."""
    answers = list(values(row, "truth"))
    if not answers:
        raise Unusable("no answer")
    votes = next((each for each in answers if isinstance(each, list)), [])
    counts = Counter(_answer_text(each) for each in votes)
    if "" in counts or any(isinstance(each, Mapping) for each in answers):
        raise Unusable("no answer")
    most = max(counts.values(), default=0)
    accepted = [each for each, n in counts.items() if n >= _VOTES or most == 1]
    answer = max(counts, key=counts.__getitem__) if isinstance(answers[0], list) else answers[0]
    same = {normal_form(str(answer))}
    return answer, tuple(each for each in accepted if normal_form(each) not in same)


def _answer_text(answer: Any) -> str:
    return str(answer.get("answer", "") if isinstance(answer, Mapping) else answer).strip()


def _pictures(row: Row, finder: PictureFinder, *, may_lack_picture: bool) -> tuple[Picture, ...]:
    """Return the pictures of a row: those of the first field that names existing pictures, else perhaps their name."""
    reason = Unusable("no picture named")
    for value in values(row, "picture"):
        try:
            return tuple(_all(value, finder))
        except Unusable as error:
            reason = error if str(reason) == "no picture named" else reason
    name = (picture_name(row) or row.get(PLACE, "")) if may_lack_picture else ""
    if name:
        return (Picture.named(name),)
    raise reason


def _all(value: Any, finder: PictureFinder) -> Iterator[Picture]:
    for entry in value if isinstance(value, list) else [value]:
        yield finder.find(entry)


# Questions about objects with known boxes: is one there, and how many are there?
#
# From COCO instances. For every object that is alone of its kind in a picture: "Is there a dog in the picture?", with the answer
# yes; and the same question about another picture without one, with the answer no. For two to five objects of a kind: how many
# there are. Where an object can be removed from the picture so that it looks right, the question is also asked about the picture
# without it (`theodolite.pairs.pictures.remove`).


_SMALLEST = 0.01
"""The least share of the picture that an object covers."""
_LARGEST_COUNT = 5
NOT_REMOVED = "not removed"
"""Before the reason why an object stays, where left-outs are counted."""


def object_questions(
    instances: Instances, images: Path, *, seed: int = 0
) -> tuple[list[Question], Counter[str]]:
    """Make questions about the objects of annotated pictures, and count by reason what is left out.

    Args:
        instances: The annotations.
        images: The folder of the pictures.
        seed: Seed of the pictures in which an object is missing.

    Raises:
        UsageError: If there is no question.
    """
    unused: Counter[str] = Counter(counted_problems(instances.problems))
    finder = PictureFinder(images)
    questions = []
    for picture, name, answer, removed in _asked_about(instances, seed, unused):
        try:
            shown = finder.find(picture.file_name)
        except Unusable as error:
            unused[str(error)] += 1
            continue
        text = _how_many(name) if answer.isdigit() else _is_there(name)
        key = f"{Path(picture.file_name).with_suffix('').as_posix()}-{name}-{'count' if answer.isdigit() else 'there'}"
        removal = None if removed is None else _removal(picture, removed, answer)
        questions.append(Question(key.replace(" ", "_"), text, answer, (shown,), group=name, removal=removal))
    if not questions:
        lost = "; ".join(f"{n} × {reason}" for reason, n in unused.items())
        raise UsageError(f"there is no object to ask about in {images}{': ' + lost if lost else ''}")
    return questions, unused


def _asked_about(
    instances: Instances, seed: int, unused: Counter[str]
) -> Iterator[tuple[AnnotatedPicture, str, str, Instance | None]]:
    """Yield picture, name, right answer and the object to remove, if there is one."""
    without, usual = _Absent(instances.pictures, seed), instances.narrowness()
    for picture in instances.pictures:
        for name, n in sorted(picture.counts.items()):
            objects = picture.named(name)
            reason = _fault(name, objects)
            if reason:
                unused[reason] += n
                continue
            faults = [picture.unfit(instance, usual) for instance in objects]
            thing = next((each for each, fault in zip(objects, faults, strict=True) if fault is None), None)
            if thing is None and faults[0] is not None:
                unused[f"{NOT_REMOVED}: {faults[0].value}"] += 1
            if n > 1:
                yield picture, name, str(n), thing
                continue
            yield picture, name, "yes", thing
            other = without.draw(name)
            if other is not None:
                yield other, name, "no", None


def _fault(name: str, objects: Sequence[Instance]) -> str:
    """Return why objects of one kind are not asked about; empty if they are."""
    if not name:
        return "an object of an unknown category"
    if any(instance.is_crowd for instance in objects):
        return "a crowd"
    if len(objects) > _LARGEST_COUNT:
        return f"more than {_LARGEST_COUNT} objects of a kind"
    if any(instance.box is None or instance.box_area < _SMALLEST for instance in objects):
        return "an object too small"
    return ""


def _removal(picture: AnnotatedPicture, thing: Instance, answer: str) -> Removal:
    after = str(int(answer) - 1) if answer.isdigit() else "no"
    return Removal(thing.cutout(), picture.other_cutouts(thing), after)


class _Absent:
    """Draws pictures without an object, each picture at most once for each name."""

    def __init__(self, pictures: Sequence[AnnotatedPicture], seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(pictures))
        self._pictures: list[AnnotatedPicture] = [pictures[int(i)] for i in order]
        self._next: Counter[str] = Counter()

    def draw(self, name: str) -> AnnotatedPicture | None:
        """Return the next picture without an object of that name; None if there is none left."""
        start = int(content_hash(name)[:8], 16)  # other names start elsewhere, so that pictures take turns
        while self._next[name] < len(self._pictures):
            picture = self._pictures[(start + self._next[name]) % len(self._pictures)]
            self._next[name] += 1
            if name not in picture.counts and "" not in picture.counts:
                return picture
        return None


def _is_there(name: str) -> str:
    """Ask whether an object is there.

    >>> _is_there("dog"), _is_there("umbrella"), _is_there("scissors")
    ('Is there a dog in the picture? Answer yes or no.', 'Is there an umbrella in the picture? Answer yes or no.', \
'Are there scissors in the picture? Answer yes or no.')
    """
    is_plural = name.endswith("s") and not name.endswith(("ss", "us", "is"))
    article = "an" if name[:1].casefold() in "aeiou" else "a"
    start = f"Are there {name}" if is_plural else f"Is there {article} {name}"
    return f"{start} in the picture? Answer yes or no."


def _how_many(name: str) -> str:
    return f"How many objects of the kind \u201c{name}\u201d are in the picture? Answer with a number."


# Read and write files of questions about pictures: JSONL, JSON, CSV or TSV.
#
# Our own form has one object per line: ``{"id": "q1", "question": "Where is the cup?", "answer": "left", "options": ["left",
# "right"], "picture": "cups/1.jpg", "group": "cups"}``. ``id``, ``options`` and ``group`` are optional; the default id is the
# number of the row. ``pictures`` is a list of several pictures. Other layouts: `theodolite.instruments.ask.data.questions`.
#
# ``FILE?picture=FIELD&question=FIELD&answer=FIELD`` names the fields of a file that has other names, and ``?FIELD=value`` chooses
# rows, as for recorded answers (`theodolite.models.replay`).


WITHOUT_PICTURE = "edits: the picture is not here (natural pairs only)"
"""Why questions are not asked with edited pictures, where left-outs are counted."""
_FILES = tuple(f"questions{suffix}" for suffix in SUFFIXES)
_OTHER_DATA = ("scenes.jsonl", "episodes.jsonl", "dataset.json", "pairs.jsonl", "run.json")
"""Files of data sets of other instruments."""
_HEAD = 1 << 18  # enough of a file to see the names of its fields
_ASKING = re.compile(
    r'question|prompt|query|instruction|prediction|"text"|caption|conversation|messages|statement|hypothesis|sentence',
    re.IGNORECASE,
)


_ROLES: Mapping[str, Role] = {
    "picture": "picture",
    "question": "question",
    "answer": "truth",
    "truth": "truth",
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
    """Return the question file at a path or in a folder: ``questions.jsonl`` or the only match; None if there is none.

    ``FILE?name=value`` names fields or chooses rows, as for recorded answers; it is returned as it is.
    """
    file, options = split_options(path)
    if file.is_file():
        is_scene = (path.parent / "scenes.jsonl").is_file()
        return path if options or (not is_scene and _may_ask(path, is_given=True)) else None
    if not path.is_dir() or any((path / name).is_file() for name in _OTHER_DATA):
        return None
    named = [path / name for name in _FILES if (path / name).is_file()]
    matches = [
        candidate
        for candidate in named or sorted(path.iterdir())
        if candidate.is_file() and candidate.suffix in SUFFIXES and _may_ask(candidate)
    ]
    return matches[0] if len(matches) == 1 or (named and matches) else None


def _may_ask(path: Path, *, is_given: bool = False) -> bool:
    """Return True if the rows of a file ask about pictures. Large files of another kind are recognised by their beginning.

    A file that is given itself may be a log of answers without its pictures.
    """
    if not is_log_file(path):
        return False
    try:
        if path.suffix in SUFFIXES:
            with path.open(encoding="utf-8-sig", errors="replace") as file:
                if _ASKING.search(file.read(_HEAD)) is None:
                    return False
        rows = _joined(path)
    except (OSError, UsageError):
        return False
    return any(
        looks_like_questions(row, may_lack_picture=is_given)
        and (first(row, "truth") is not None or first(row, "captions") is not None)
        for row in rows[:20]
    )


def _joined(path: Path) -> list[Row]:
    """Return the rows of a file, completed by id from the file beside it if questions or answers are missing (VQAv2)."""
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
    rows = log_rows(file, problems)
    if options:
        rows = chosen_rows(rows, options, _ROLES, file)
        named = [(NAMES[role][0], options[name]) for name, role in _ROLES.items() if name in options]
        rows = [{**row, **{role: row.get(field) for role, field in named}} for row in rows]
    return rows, tuple(problems)


def read_questions(path: str | Path, images: str | Path | None = None) -> list[Question]:
    """Read a question file, or the one in a folder. Rows that cannot be used are left out; see `load_questions`."""
    return list(load_questions(Path(path), Path(images) if images else None).questions)


def load_questions(path: Path, images: Path | None = None, *, may_lack_pictures: bool = False) -> Questions:
    """Read a question file or a log, and count the rows that cannot be used. Pictures are found, but not decoded.

    COCO instances give questions about their objects; see `object_questions`.

    Args:
        path: The file, or a folder with one.
        images: The folder of the pictures. Default: that of the file.
        may_lack_pictures: Whether the name of a picture will do if there is no such file: recorded answers need none.

    Raises:
        UsageError: If the file cannot be read, or no row can be used.
    """
    coco = find_coco(path, images) if find_question_file(path) is None else None
    if coco is not None:
        questions, unused = object_questions(_instances(coco[0], coco[0].stat().st_mtime_ns), coco[1])
        return Questions(tuple(questions), dict(unused))
    if path.is_dir():
        path = find_question_file(path) or path / _FILES[0]
    try:
        stamp = _stamp(path)
    except OSError as error:
        raise UsageError(f"cannot read the questions {path}: {error.strerror}") from error
    return _load(path, images, stamp, may_lack_pictures=may_lack_pictures)


@lru_cache(maxsize=1)
def _instances(path: Path, _: int) -> Instances:
    return read_instances(path)


@lru_cache(maxsize=2)
def _load(path: Path, images: Path | None, stamp: int, *, may_lack_pictures: bool) -> Questions:
    rows = _joined(path)
    finder = PictureFinder(split_options(path)[0].parent, images)
    unused: Counter[str] = Counter(counted_problems(_rows(path, stamp)[1]))
    questions: list[Question] = []
    for number, row in enumerate(rows, 1):
        try:
            questions.append(read_question(row, number, finder, may_lack_picture=may_lack_pictures))
        except Unusable as error:
            unused[str(error)] += 1
    kept = _with_own_ids(_without_doubts(_with_common_options(questions), unused))
    if not kept:
        raise UsageError(_nothing(path, rows, unused, has_images=images is not None))
    unused[WITHOUT_PICTURE] += sum(not question.is_shown for question in kept)
    return Questions(tuple(kept), dict(+unused))


def _nothing(path: Path, rows: Sequence[Row], unused: Counter[str], *, has_images: bool) -> str:
    reasons = ", ".join(f"{reason} ({n})" for reason, n in unused.most_common())
    of = f"none of the {len(rows)} rows" if len(rows) > 1 else "the only row"
    start = f"{of} of {path} {'can' if len(rows) > 1 else 'cannot'} be used"
    if unused.most_common(1)[0][0] == "picture not found" and not has_images:
        name = str(first(rows[0], "picture"))[:80]
        return (
            f"{start}: {reasons}; name the folder of {name} with --images DIR; without pictures only recorded answers can be "
            f"judged: --model replay:{path}"
        )
    return f"{start}: {reasons}; a row needs {EXPECTED}; the fields are {', '.join(fields_of(rows))}; {naming(path)}"


def _with_common_options(questions: Sequence[Question]) -> list[Question]:
    """Give open questions of an evaluation the right answers of all pictures as options, if these are few words and few.

    What was answered at length, "It is on the left.", is then read as the option that it names.
    """
    answers: defaultdict[str, set[str]] = defaultdict(set)
    for question in questions:
        if question.by_letter and not question.options and question.format.kind == "text":
            answers[question.question].add(question.answer)
    options = {
        asked: tuple(sorted(known))
        for asked, known in answers.items()
        if 1 < len({normal_form(answer) for answer in known}) == len(known) <= len(LETTERS)
    }
    return [
        replace(question, options=options[question.question], by_letter=False)
        if question.by_letter and not question.options and question.question in options
        else question
        for question in questions
    ]


def _without_doubts(questions: Sequence[Question], unused: Counter[str]) -> list[Question]:
    """Leave out questions that were asked about the same picture before, and all of them if their answers differ."""
    same: dict[tuple[str, tuple[Picture, ...]], list[Question]] = {}
    for question in questions:
        same.setdefault((question.prompt, question.pictures), []).append(question)
    kept = []
    for repeats in same.values():
        if len({normal_form(each.answer) for each in repeats}) > 1:
            unused["two answers to one question"] += len(repeats)
        else:
            kept.append(repeats[0])
            unused["the same question again"] += len(repeats) - 1
    unused += Counter()  # without zeros
    return kept


def _with_own_ids(questions: Iterable[Question]) -> list[Question]:
    """Make ids unique: several questions about one picture often have the id of the picture."""
    seen: Counter[str] = Counter()
    renamed = []
    for question in questions:
        seen[question.id] += 1
        n = seen[question.id]
        renamed.append(question if n == 1 else replace(question, id=f"{question.id}#{n}"))
    return renamed


def draw_questions(loaded: Questions, n: int, seed: int, *, fill: str = "copied") -> Questions:
    """Draw at most `n` questions whose pictures can be decoded, in their order.

    Questions that have another one with the same words and another answer are drawn first, together with it.

    Args:
        loaded: The questions of a file.
        n: The most questions to draw.
        seed: Seed of the draw, and of the fill.
        fill: What fills the places of removed objects.
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
    kept = [_checked(each, unused, fill, seed) for each in loaded.questions if each.id in drawn]
    return Questions(tuple(kept), dict(unused))


def _checked(question: Question, unused: Counter[str], fill: str, seed: int) -> Question:
    """Drop the removal of a question if it would not look right."""
    reason = (
        "" if question.removal is None else removal_fault(question.pictures[0], question.removal, fill, seed)
    )
    if not reason:
        return question
    unused[f"{NOT_REMOVED}: {reason}"] += 1
    return replace(question, removal=None)


@lru_cache(maxsize=4096)  # a draw is planned and counted, and a removal takes a tenth of a second
def removal_fault(picture: Picture, removal: Removal, fill: str = "copied", seed: int = 0) -> str:
    """Return why an object cannot be removed without visible traces; empty if it can."""
    try:
        remove(picture, removal.thing, others=removal.others, fill=fill, seed=seed)
    except UnfitError as error:
        return error.reason.value
    return ""


def _can_decode(picture: Picture, checked: dict[Picture, bool]) -> bool:
    if picture not in checked:
        try:
            checked[picture] = picture.is_absent or picture.pixels() is not None
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
