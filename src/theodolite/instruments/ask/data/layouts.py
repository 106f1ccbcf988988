"""Turn rows of question files into questions, whatever their layout.

=============== =========================================================================================================
ours            ``picture``, ``question``, ``answer``, perhaps ``options``, ``id`` and ``group``
LLaVA           ``conversations`` or ``messages``: a question for each turn of the user that the model answers
VQAv2           ``questions`` and ``annotations`` in two files; several people's ``answers``, of which the most frequent is
                the right one, and all that three people gave are accepted
GQA             an object by id with ``imageId``, ``question`` and ``answer``
VSR             ``caption`` and ``label``, 1 if it is true: asked as a question for yes or no
What'sUp        ``caption_options``, of which the first is right: listed in an order that does not depend on it
lmms-eval       fields inside ``doc``
multiple choice ``options`` or ``choices``, fields ``A``, ``B``, ``C`` …, or options in the words of the question; the answer is
                an option, its letter or its index
=============== =========================================================================================================

The names of fields are those of `theodolite.models.tables.NAMES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from theodolite.answers import normal_form
from theodolite.answers.listed_options import LONGEST_ANSWER, NoSuchOption, named_option, options_in_words
from theodolite.core.types import Picture, content_hash
from theodolite.instruments.ask.data.options import given_options
from theodolite.instruments.ask.data.pictures import PictureFinder, Unusable
from theodolite.instruments.ask.data.question import Question
from theodolite.models.tables import Role, Row, first, plain_words, values

__all__ = ["EXPECTED", "looks_like_questions", "read_question"]

EXPECTED = (
    "a picture (image, picture, image_path, image_id …), a question (question, prompt, text, conversations, or caption with a "
    "label) and a right answer (answer, answers, label, ground_truth …)"
)
_VOTES = 3
_TRUE, _FALSE = (
    frozenset({"1", "true", "yes", "entailment"}),
    frozenset({"0", "false", "no", "contradiction"}),
)
_WHICH_CAPTION = "Which of these sentences describes the picture?"


def looks_like_questions(row: Row) -> bool:
    """Return True if a row has a picture and a question, whether or not the answer is in the same file."""
    roles: tuple[Role, ...] = ("question", "statement", "captions")
    asks = any(first(row, role) is not None for role in roles)
    return asks and first(row, "picture") is not None


def read_question(row: Row, number: int, finder: PictureFinder) -> Question:
    """Read one row.

    Args:
        row: The row.
        number: Its place in the file, which is its id if it has none.
        finder: Finds its pictures.

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
        pictures=_pictures(row, finder),
        options=options,
        group=group if isinstance(group, str) else "",
        others=() if options else others,
        listing=listing,
    )


def _asked(row: Row) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """The words of the question, the right answer, other right ones, and the options."""
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
    """The right answer, and others that are right, too. Of several people's answers the most frequent is the right one."""
    found = list(values(row, "truth"))
    if not found:
        raise Unusable("no answer")
    several = next((each for each in found if isinstance(each, list)), [])
    counts = Counter(_said(each) for each in several)
    if "" in counts or any(isinstance(each, Mapping) for each in found):
        raise Unusable("no answer")
    most = max(counts.values(), default=0)
    accepted = [each for each, n in counts.items() if n >= _VOTES or most == 1]
    answer = max(counts, key=counts.__getitem__) if isinstance(found[0], list) else found[0]
    same = {normal_form(str(answer))}
    return answer, tuple(each for each in accepted if normal_form(each) not in same)


def _said(answer: Any) -> str:
    return str(answer.get("answer", "") if isinstance(answer, Mapping) else answer).strip()


def _pictures(row: Row, finder: PictureFinder) -> tuple[Picture, ...]:
    """The pictures of a row: of the first field that names pictures which are there."""
    reason = Unusable("no picture named")
    for value in values(row, "picture"):
        try:
            return tuple(_all(value, finder))
        except Unusable as error:
            reason = error if str(reason) == "no picture named" else reason
    raise reason


def _all(value: Any, finder: PictureFinder) -> Iterator[Picture]:
    for each in value if isinstance(value, list) else [value]:
        yield finder.find(each)
