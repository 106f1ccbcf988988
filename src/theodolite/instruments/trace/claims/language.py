"""Parsing of English: sentences by rule, words and dependencies by a spaCy pipeline.

The shipped pipeline was trained on UD English-EWT (`train.parser.train`). Others are used only if they are named; labels of
spaCy's own are converted to Universal Dependencies, which the claim rules read.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache, wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from theodolite.answers.text import word_set
from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.repairs import plain_clauses
from theodolite.instruments.trace.claims.trees import Token, repaired, to_universal

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

T = TypeVar("T")

SHIPPED = Path(__file__).parent / "parser"
"""The pipeline that ships with the package."""

_ABBREVIATIONS = r"(?<!\b[A-Z])(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bMrs)(?<!\bNo)(?<!\bfig)"
_END = re.compile(rf"{_ABBREVIATIONS}[.!?]++[\"”’')\]]*+(?=\s+[\"“(\[]?[A-Z0-9*#-]|\s*$)|\n+|;\s")
_ALTERNATIVES = re.compile(r"(?<![A-Za-z])[A-Za-z]++(?:/[A-Za-z]++)+")
"""The lookbehind makes the pattern try each run of letters once, not once per letter."""
_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""Half a character, which spaCy cannot encode."""
LONGEST_SENTENCE, _LONGEST_WORD = 600, 100
"""In characters. Tokenising is quadratic in the length of a word, and the claim rules are in that of a sentence."""
_BATCH = 128
"""Sentences that are parsed together."""
_RUN = re.compile(r"\S+")
_BULLET = re.compile(r"^\s*(?:[-*•‣·#>]+|\d{1,3}[.)](?=\s)|\(?[a-zA-Z]\)(?=\s))\s*")


_PLAIN_VERBS = frozenset(
    word
    for group in (words.META_VERBS, words.HEDGE_VERBS, words.PLACING_VERBS, words.KINDS)
    for word in group
) | {
    "interact",
    "wait",
    "enter",
    "bend",
    "kneel",
    "lean",
    "reach",
    "point",
    "play",
    "talk",
    "sing",
    "bring",
    "swing",
    "hang",
    "ring",
}


class _PlainDeps(dict[str, str]):
    """Map a relation to the one that it is a kind of: ``obl:tmod`` to ``obl``."""

    def __missing__(self, dep: str) -> str:
        return self.setdefault(dep, dep.partition(":")[0])


_PLAIN_DEPS = _PlainDeps()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A parsed sentence."""

    tokens: tuple[Token, ...]
    _children: dict[int, tuple[Token, ...]] = field(default_factory=dict, compare=False, repr=False)
    _asked: dict[tuple[int, tuple[str, ...]], tuple[Token, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Results of `children`, which many siblings ask for."""
    known: dict[tuple[object, int], Any] = field(default_factory=dict, compare=False, repr=False)
    """Results of functions that are `remembered`."""

    def __post_init__(self) -> None:
        grouped: dict[int, list[Token]] = {}
        for token in self.tokens:
            if token.head != token.index:
                grouped.setdefault(token.head, []).append(token)
        self._children.update({head: tuple(tokens) for head, tokens in grouped.items()})

    def children(self, token: Token, *deps: str) -> tuple[Token, ...]:
        """Return the dependents of a token, in order; only those of the given relations, if any (``obl`` includes ``obl:tmod``)."""
        children = self._children.get(token.index)
        if children is None or not deps:
            return children or ()
        key = (token.index, deps)
        dependents = self._asked.get(key)
        if dependents is None:
            dependents = tuple([t for t in children if t.dep in deps or _PLAIN_DEPS[t.dep] in deps])
            self._asked[key] = dependents
        return dependents

    def parents(self, *deps: str) -> list[Token]:
        """Return the tokens that have a dependent of one of these relations, in order."""
        heads = {t.head for t in self.tokens if _PLAIN_DEPS[t.dep] in deps and t.head != t.index}
        return [self.tokens[index] for index in sorted(heads)]

    def head(self, token: Token) -> Token | None:
        """Return the head of a token; None for the root."""
        return None if token.head == token.index else self.tokens[token.head]


def remembered(read: Callable[[Sentence, Token], T]) -> Callable[[Sentence, Token], T]:
    """Cache a function of a word in its sentence, because many rules call it."""

    @wraps(read)
    def once(sentence: Sentence, token: Token) -> T:
        key = (read, token.index)
        if key not in sentence.known:
            sentence.known[key] = read(sentence, token)
        result: T = sentence.known[key]
        return result

    return once


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the positions of the sentences of a text, without bullets and numbering.

    A sentence of more than 600 characters is divided between words. A run of more than 100 characters without a space is not a
    word, and is left out.

    >>> text = "1. The cup falls. Then (e.g. at 1.5 s) it breaks!"
    >>> [text[a:b] for a, b in sentence_spans(text)]
    ['The cup falls.', 'Then (e.g. at 1.5 s) it breaks!']
    """
    spans, start = [], 0
    for match in [*_END.finditer(text), None]:
        end = len(text) if match is None else match.end()
        part = text[start:end]
        bullet = _BULLET.match(part)
        begin = start + (bullet.end() if bullet else 0)
        inside = text[begin:end]
        begin += len(inside) - len(inside.lstrip())
        stop = begin + len(inside.strip())
        spans += [
            (first, last)
            for first, last in _pieces(text, begin, stop)
            if any(c.isalpha() for c in text[first:last])
        ]
        start = end
    return spans


def _pieces(text: str, begin: int, stop: int) -> Iterator[tuple[int, int]]:
    if stop - begin <= _LONGEST_WORD:
        yield begin, stop
        return
    piece: list[int] = []
    for word in _RUN.finditer(text, begin, stop):
        is_word = word.end() - word.start() <= _LONGEST_WORD
        if piece and (not is_word or word.end() - piece[0] > LONGEST_SENTENCE):
            yield piece[0], piece[1]
            piece = []
        if is_word:
            piece = [piece[0] if piece else word.start(), word.end()]
    if piece:
        yield piece[0], piece[1]


class Parser:
    """A parser of sentences. `name` is that of the pipeline."""

    def __init__(self, nlp: Language, name: str) -> None:
        from threadpoolctl import ThreadpoolController

        self._nlp = nlp
        self.name = name
        self._threads = ThreadpoolController()  # several threads spend more time on products this small
        self._is_universal = "obl" in nlp.get_pipe("parser").labels  # type: ignore[attr-defined]  # a plug-in of spaCy's

    def parse(self, texts: Iterable[str]) -> Iterator[Sentence]:
        """Yield one tree per text. Each text should be a single sentence."""
        docs = (self._words(text) for text in texts)
        while batch := list(islice(docs, _BATCH)):
            with self._threads.limit(limits=1, user_api="blas"):
                parsed = list(self._nlp.pipe(batch, batch_size=_BATCH))
            for doc in parsed:
                tokens = tuple(_tokens(doc))
                yield Sentence(
                    plain_clauses(repaired(tokens if self._is_universal else to_universal(tokens)))
                )

    def _words(self, text: str) -> Doc:
        """Split into tokens, and keep alternatives such as ``cup/glass/bottle`` as one."""
        doc = self._nlp.make_doc(_SURROGATE.sub("\ufffd", text))
        if "/" not in text:
            return doc
        spans = [doc.char_span(*m.span()) for m in _ALTERNATIVES.finditer(text)]
        with doc.retokenize() as retokenizer:
            for span in spans:
                if span is not None and len(span) > 1:
                    retokenizer.merge(span)
        return doc


def _tokens(doc: Doc) -> Iterator[Token]:
    """Yield the words of a parsed sentence, read from whole columns, because access to single spaCy tokens is slow."""
    strings = doc.vocab.strings
    start = 0
    columns = doc.to_array(["ORTH", "LEMMA", "TAG", "DEP", "HEAD", "SPACY"]).tolist()
    for index, (orth, lemma, tag, dep, to_head, space) in enumerate(columns):
        text = strings[orth]
        head = (index + to_head) % 2**64  # a step back is stored as an unsigned number
        yield Token(index, text, *_word(text, strings[lemma], strings[tag]), strings[dep], head, start)
        start += len(text) + space


@lru_cache(maxsize=65536)
def _word(text: str, lemma: str, tag: str) -> tuple[str, str]:
    """Return the lemma of a word, corrected, and its tag."""
    lemma, small = (lemma.strip() or text).casefold(), text.casefold()
    if "/" in text:
        lemma = small
    elif tag.startswith("VB"):
        lemma = _mended("leave" if lemma == "left" else _without_ending(lemma, small, tag), small)
    elif tag.startswith("NN"):
        lemma = _mended_noun(lemma, small, tag)
    return lemma, "_SP" if text.isspace() else tag


_NO_E = ("nt", "ct", "lk", "ck", "sh", "ld", "nd", "mp", "ft", "pt", "wn", "ow", "ay", "oy", "ll", "ss")
_PLURALS = word_set(
    "scissors trousers glasses sunglasses pants jeans shorts goggles pliers tongs headphones stairs clothes"
)
_SILENT = re.compile(r"[^aeiou]*[aeiouy][bcdfgklmnpstvz]")
"""Stems of one syllable that lost an *e* before *-ing*: *smil*; others double the consonant."""
_EATS = ("eat", "oat", "pat", "bat", "hat", "squat", "combat", "format")


def _mended_noun(lemma: str, text: str, tag: str) -> str:
    """Return the lemma of a plural object as it is written (*scissors*), and remove a remaining plural ending."""
    if text in _PLURALS and text not in {"headphones", "stairs"}:
        return text
    if text == "leaves":
        return "leaf"
    is_plural = lemma == text and lemma.endswith("s") and not lemma.endswith(("ss", "us", "is"))
    is_known = lemma[:-1] in words.ABSTRACT_NOUNS or lemma[:-1] in words.SYNONYMS
    return lemma[:-1] if is_plural and (is_known or tag == "NNS") else lemma


def _without_ending(lemma: str, text: str, tag: str) -> str:
    """Remove an ending that a capital letter hid (*Parked*), and restore letters that were lost with it (*ta* of *taped*)."""
    ending = {"VBG": "ing", "VBN": "ed", "VBD": "ed"}.get(tag, "")
    if not ending or not text.endswith(ending) or len(text) < 5:
        return lemma
    stem = text[: -len(ending)]
    is_lost = stem.startswith(lemma) and lemma != stem and stem[-1] != stem[-2]
    if lemma != text and not is_lost:
        return lemma
    if ending == "ed" and stem.endswith("i"):
        return f"{stem[:-1]}y"
    if stem.endswith(("v", "c", "u", "dg", "rg", "ar")):
        return f"{stem}e"
    return stem[:-1] if stem[-1] == stem[-2] and stem[-1] in "bdgmnprt" else stem


def _mended(lemma: str, text: str) -> str:  # noqa: PLR0911 - one return per pattern
    """Correct stems that the trained lemmatiser gets wrong: *interacte*, *inferre*, *painte*, *chopp*, *rotat*."""
    if lemma in {"ly", "lying"}:
        return "lie"
    if _SILENT.fullmatch(lemma) and text in {f"{lemma}ing", f"{lemma}ed"}:
        return f"{lemma}e"
    if len(lemma) > 4 and lemma[-1] == lemma[-2] and lemma[-1] in "bdgmnprt":
        return lemma[:-1]
    if lemma.endswith(("lle", "tte", "ppe", "nne", "gge", "rre", "bbe", "dde", "mme")):
        return lemma[:-2]
    if len(lemma) > 4 and lemma.endswith("at") and not lemma.endswith(_EATS):
        return f"{lemma}e"
    if lemma.endswith("e") and lemma[:-1].endswith(_NO_E) and lemma not in _PLAIN_VERBS:
        return lemma[:-1]
    for plain in (lemma[:-1], lemma[:-2]):
        if lemma.endswith("e") and plain in _PLAIN_VERBS and lemma not in _PLAIN_VERBS:
            return plain
    return lemma


@cache
def open_parser(name: str = "shipped") -> Parser:
    """Open a pipeline: a package, a folder, or ``shipped``.

    Raises:
        MissingExtraError: SpaCy is not installed.
        UsageError: There is no such pipeline, or it has no parser.
    """
    if importlib.util.find_spec("spacy") is None:
        raise MissingExtraError("spacy", "nlp", "reading claims out of text")
    import spacy
    from thinc.api import use_ops

    try:
        with use_ops(
            "numpy", use_blis=False
        ):  # the products of NumPy take a third of the time of those of BLIS
            nlp = spacy.load(SHIPPED if name == "shipped" else name, exclude=["ner"])
    except OSError as error:
        raise UsageError(f"there is no spaCy pipeline {name!r}: {str(error).splitlines()[0]}") from error
    if "parser" not in nlp.pipe_names:
        raise UsageError(f"the spaCy pipeline {name!r} has no dependency parser")
    meta = nlp.meta
    return Parser(nlp, f"{meta.get('lang', 'en')}_{meta.get('name', name)} {meta.get('version', '')}".strip())
