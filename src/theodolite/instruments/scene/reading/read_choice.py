"""Reading the letter of an option out of free text.

A letter is looked for, in this order: in an answer tag or a box; as all there is; announced ("the answer is B", the last time
it is); at the very beginning; concluded ("so B"); as the one letter that stands alone; as the one option that is named, or of
which something is said ("object 3 is closer than object 5").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from theodolite.instruments.scene.data.questions import LETTERS
from theodolite.instruments.scene.reading.answer import Answer, nothing
from theodolite.instruments.scene.reading.numbers import quantities, word_value
from theodolite.instruments.scene.reading.spoken import REFUSAL, clauses_after, spoken, without_marks

_LEADS = r"(?:is|are|was|be|would be|should be|must be|:|=|->|→)"
_ANNOUNCED_LETTER = (
    rf"\b(?:(?:final |correct |right |best )?(?:answer|choice|option)(?:\s+to\s+\w+\s+question)?\s*{_LEADS}+\s*"
    r"|(?:choose|chose|pick|select|go with|going with|must be|guess is|would be|say)\s*(?:that\s+it\s+is\s+)?:?\s*)"
    r"(?:the\s+)?(?:option|choice|answer|letter)?\s*[\(\[\"']*"
)
_CONCLUDED = r"\b(?:so|therefore|thus|hence|conclude|i\.e\.,?|means)\s*,?:?\s*(?:it is|it's|the answer is)?\s*(?:option\s*)?[\(\[\"']*"
_END = r"(?:[\)\]\"'.,:;!?]|\s*$|\s*\n|\s+[-–—(=]|\s+(?:because|since|as|is|and|based|given)\b)"
_NEGATED = re.compile(
    r"(?:\bnot|n't(?: be)?|\brule[sd]? out|\beliminat\w+|\bexclud\w+|\brather than|\bthan|\binstead of)\s+(?:option\s*|the\s*)?"
    r"[\(\[\"']*$",
    re.IGNORECASE,
)


_IS_NOUN = re.compile(r"\s+(?!(?:or|and|is|because|since|as|not|but)\b)[a-z]")


def read_choice(text: str, options: Sequence[str]) -> Answer:
    """Reads the letter of one of the options.

    >>> read_choice("C. 4 because option A is too small", ["2", "3", "4", "5"]).letter
    'C'
    >>> read_choice("object 3 is closer than object 5", ["object 3", "object 5"]).letter
    'A'
    """
    letters = LETTERS[: len(options)]
    if len(bare := text.strip()) == 1 and bare in letters:
        return Answer("parsed", letter=bare)
    said = spoken(text)
    if said.is_unfinished:
        return Answer("unparsed", reason="the model was still thinking")
    plain = without_marks(said.text)
    steps: tuple[Callable[[], str], ...] = (
        lambda: _whole(said.boxed or "", letters, options),
        lambda: _whole(plain, letters, options),
        lambda: _last(_ANNOUNCED_LETTER, plain, letters),
        lambda: _announced_option(plain, letters, options),
        lambda: _leading(plain, letters, options),
        lambda: _last(_CONCLUDED, plain, letters),
    )
    found = next((letter for step in steps if (letter := step())), "")
    return Answer("parsed", letter=found) if found else _mentioned(plain, letters, options)


def _mentioned(plain: str, letters: str, options: Sequence[str]) -> Answer:
    """Where nothing announces an answer: the one letter that stands alone, or the one option that is named."""
    standing = _standing(plain, letters)
    if REFUSAL.search(plain) and not standing:
        return Answer("refused", reason="declines to answer")
    named = [] if standing else _named(plain, letters, options)
    subjects = set() if standing else _subjects(plain, letters, options)
    for found in (standing, named, subjects):
        if len(found) == 1:
            return Answer("parsed", letter=next(iter(found)))
    several = sorted(standing) or named
    if several:
        return Answer("ambiguous", reason=f"several options: {', '.join(several)}")
    return nothing(plain)


def _plain(text: str) -> str:
    words = re.sub(r"[^\w.+-]+", " ", text.casefold()).strip(" .")
    return " ".join(words.split())


def _whole(text: str, letters: str, options: Sequence[str]) -> str:
    """The text is nothing but a letter, or nothing but an option."""
    alone = re.fullmatch(r"[\W_]*(?:(?:option|answer|choice)\b\W*)?([A-Za-z])[\W_]*", text.strip())
    if alone and alone[1].upper() in letters:
        return alone[1].upper()
    said = _plain(text)
    if not said:
        return ""
    found = [letter for letter, option in zip(letters, options, strict=True) if said in _forms(option)]
    if not found and _is_number_word(said):
        found = [
            letter for letter, o in zip(letters, options, strict=True) if _plain(o) == f"{word_value(said):g}"
        ]
    return found[0] if len(found) == 1 else ""


def _forms(option: str) -> set[str]:
    """How an option may be written: as it is, without "object", its marks alone."""
    plain = _plain(option)
    bare = " ".join(plain.replace("object", " ").split())
    return {plain, bare, bare.replace(" ", "-"), bare.replace(" ", " - ")} - {""}


def _is_number_word(text: str) -> bool:
    found = quantities(text)
    return len(found) == 1 and found[0].is_word and not text[found[0].end :].strip()


def _last(lead: str, text: str, letters: str) -> str:
    """The letter after the last lead that has one. A small letter must stand alone, so that "a" stays an article."""
    either = (
        rf"(?:(?P<capital>[{letters}])(?={_END})|(?P<small>[{letters.lower()}])(?=[\)\]\"'.:]|\s*$|\s*\n))"
    )
    found = ""
    for match in re.finditer(rf"(?i:{lead}){either}", text, re.MULTILINE):
        found = (match["capital"] or match["small"]).upper()
    return found


def _announced_option(text: str, letters: str, options: Sequence[str]) -> str:
    """An option's own words after "the answer is"."""
    for clause in clauses_after(re.compile(_ANNOUNCED_LETTER, re.IGNORECASE), text):
        if re.match(r"\s*(?:not|neither|n't)\b", clause, re.IGNORECASE):
            continue
        if found := _whole(clause, letters, options):
            return found
        named = _named(clause, letters, options)
        if len(named) == 1:
            return named[0]
    return ""


def _leading(text: str, letters: str, options: Sequence[str]) -> str:
    """A letter, or the first word of a yes or no, that opens the text."""
    match = re.match(rf"\W*(?:(?i:option|choice|answer)\s*:?\s*)?[\(\[]?([{letters}])(?={_END})", text)
    if match:
        return match[1]
    if len(letters) > 1 and (match := re.match(rf"[\(\[]?([{letters[1:]}])\s+[a-z]", text)):
        return match[1]
    if match := re.match(rf"\W*[\(\[]?([{letters.lower()}])[\)\].:](?:\s|$)", text):
        return match[1].upper()
    first = re.match(
        r"\W*(yes|no)\b(?! (?:image|picture|photo|visual|information|way|answer|object))", text, re.IGNORECASE
    )
    plain = [_plain(option) for option in options]
    if first and sorted(plain) == ["no", "yes"]:
        return letters[plain.index(first[1].casefold())]
    return ""


def _standing(text: str, letters: str) -> set[str]:
    """Capital letters that stand alone and are neither denied nor an article."""
    found = set()
    for match in re.finditer(rf"(?<![\w'&/-])([{letters}])(?![\w'&/-])", text):
        before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 20]
        is_article = match[1] in "AI" and _IS_NOUN.match(after) is not None
        if is_article and not re.search(r"(?i:option|choice|answer|letter)\s*[\(\[\"']*$", before):
            continue
        if not _NEGATED.search(before):
            found.add(match[1])
    return found


def _named(text: str, letters: str, options: Sequence[str]) -> list[str]:
    """The options whose words occur; longer ones are taken out first, so that "front left" is not also "left"."""
    said = f" {_plain(text)} "
    found = []
    for letter, option in sorted(zip(letters, options, strict=True), key=lambda pair: -len(pair[1])):
        pattern = rf"(?<![\w.-]){re.escape(_plain(option))}(?![\w-]|\.\d)"
        if _plain(option) and (match := re.search(pattern, said)):
            if not _NEGATED.search(said[max(0, match.start() - 40) : match.start()]):
                found.append(letter)
            said = re.sub(pattern, " ", said)
    return sorted(found)


def _subjects(text: str, letters: str, options: Sequence[str]) -> set[str]:
    """The options of which something is said: "object 3 is closer than object 5"."""
    verbs = r"(?:is|are|has|have|appears?|seems?|looks?|would|comes?)\b(?! not)"
    said = _plain(text)
    return {
        letter
        for letter, option in zip(letters, options, strict=True)
        if any(re.search(rf"(?<!than )(?<![\w.-]){re.escape(form)} {verbs}", said) for form in _forms(option))
    }
