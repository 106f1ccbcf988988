"""Extractors by name: our rules, the rules on another spaCy pipeline, or a language model.

A language model may not invent: a claim counts only if it quotes its step word for word, and if its own words stand in that quote
(those of the objects, which a pronoun may stand for, in the trace up to there). All others are dropped and counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from theodolite.answers import guarded, json_values
from theodolite.core.errors import UsageError
from theodolite.core.registry import open_part
from theodolite.core.types import Request
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.language import open_parser, sentence_spans
from theodolite.instruments.trace.claims.reading import MOST_CLAIMS, RuleExtractor
from theodolite.instruments.trace.claims.types import (
    KINDS,
    Claim,
    ClaimKind,
    Extracted,
    Extractor,
    Mention,
    Trace,
)
from theodolite.instruments.trace.helpers import Helper

EXTRACTOR = "rules"
"""The extractor that is used unless another is named."""


def open_extractor(name: str) -> Extractor:
    """Open an extractor by name: ``rules``, ``spacy:NAME`` or ``model:MODEL``.

    Raises:
        UsageError: There is no such extractor.
    """
    return open_part("extractor", name, Extractor, "extract(traces)")  # type: ignore[type-abstract]  # a protocol


def open_rules(options: str = "") -> RuleExtractor:
    """Open ``rules``."""
    if options:
        raise UsageError(f"the extractor 'rules' takes no options, got {options!r}")
    return RuleExtractor()


def open_spacy(pipeline: str) -> RuleExtractor:
    """Open ``spacy:NAME``, an installed pipeline or a folder."""
    if not pipeline:
        raise UsageError(
            "spacy: needs the name of an installed pipeline, such as spacy:en_core_web_sm, or a folder"
        )
    open_parser(pipeline)  # fail before anything is read
    return RuleExtractor(pipeline)


def open_model_extractor(model: str) -> ModelExtractor:
    """Open ``model:MODEL``."""
    return ModelExtractor(Helper.of(model, "model:MODEL"))


_MOST_TOKENS = 2048
_ASKED = """Below are the numbered steps of a text about pictures. List every statement about what the pictures show.
Leave out plans, guesses about reasons, questions, answer options, and what is only quoted.
Answer with JSON alone, one object per statement:
{"claims": [{"step": 1, "quote": "the red cup is left of the book", "kind": "spatial", "subject": "red cup", "predicate": "left of",
"object": "book", "other": "", "negated": false, "guess": ""}]}
quote: the words of the step, copied letter by letter.
kind: entity (something is there), attribute, state, count (predicate: the number), spatial, action (predicate: the verb, its
object in "object"), ego-motion (subject: I), temporal (subject and object: two events, predicate: before, after or while),
comparison, identity.
subject, predicate, object, other: words of the text; the noun in place of a pronoun. other: the second object of "between", or the
person something is given to.
negated: true if the text denies it. guess: the word that marks it as a guess (might, probably), else empty.

Text:
"""


@dataclass(frozen=True, slots=True)
class ModelExtractor:
    """Asks a language model for the claims of a trace, one request each, and keeps those that the trace contains."""

    helper: Helper

    @property
    def name(self) -> str:
        """``model:`` and the name of the model."""
        return f"model:{self.helper.name}"

    def extract(self, traces: Sequence[Trace]) -> list[Extracted]:
        """Return the claims of each trace. A trace without a usable answer has none, and says why."""
        told = [trace for trace in traces if trace.steps]
        answers = iter(self.helper.ask([_request(trace) for trace in told]))
        return [_read(trace, next(answers)) if trace.steps else Extracted(()) for trace in traces]


def _request(trace: Trace) -> Request:
    steps = "\n".join(f"{number}. {step.text}" for number, step in enumerate(trace.steps, 1))
    request = Request.ask(_ASKED + steps, max_tokens=_MOST_TOKENS)
    hint = {"steps": [step.text for step in trace.steps]}
    return Request(request.messages, request.max_tokens, hint=cast("Any", hint))


def _read(trace: Trace, response: Any) -> Extracted:
    if not response.is_answered:
        return _nothing(trace, f"no claims: {response.reason or response.status}")
    return guarded(
        lambda text: _claims_of(trace, text),
        response.text,
        unread=lambda why: _nothing(trace, f"no claims: {why}"),
    )


def _nothing(trace: Trace, why: str) -> Extracted:
    return Extracted(((),) * len(trace.steps), (why,))


def _claims_of(trace: Trace, text: str) -> Extracted:
    """Return the claims of an answer that the trace contains."""
    rows = next(
        (
            v.value["claims"]
            for v in json_values(text)
            if isinstance(v.value, dict) and isinstance(v.value.get("claims"), list)
        ),
        None,
    )
    if rows is None:
        return _nothing(trace, "no claims: the extractor's answer is not the JSON that was asked for")
    page = _Page.of(trace)
    found: list[list[Claim]] = [[] for _ in trace.steps]
    dropped: Counter[str] = Counter()
    for row in cast("list[object]", rows)[: MOST_CLAIMS * len(trace.steps)]:
        read = page.claim(row)
        if isinstance(read, str):
            dropped[read] += 1
        elif read[1] not in found[read[0]]:
            found[read[0]].append(read[1])
    lost = [f"{n} of {len(rows)} claims of the extractor are dropped: {why}" for why, n in dropped.items()]
    ordered = tuple(tuple(sorted(claims, key=lambda claim: claim.span)) for claims in found)
    return Extracted(ordered, tuple(lost))


_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LOOSE = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "to",
        "at",
        "in",
        "on",
        "is",
        "are",
        "be",
        "least",
        "most",
        "more",
        "less",
        "fewer",
        "than",
        "about",
        "and",
        "or",
        "not",
        "no",
        "i",
    ]
)
_DENIAL = re.compile(
    r"\b(?:no|not|none|never|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b", re.IGNORECASE
)
_NO_WORDS = "their words are not in the step"


@dataclass(frozen=True, slots=True)
class _Page:
    """The steps of a trace with the words that claims about them may use."""

    steps: tuple[str, ...]
    known: tuple[Mapping[str, str], ...]
    """Words that stand in a step or before it, and their lemmas."""
    lemmas: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, trace: Trace) -> _Page:
        texts = tuple(step.text for step in trace.steps)
        lemmas = _lemmas(texts)
        known: list[Mapping[str, str]] = []
        for text in texts:
            here = {word: lemmas.get(word, word) for word in _words(text)}
            known.append(
                {**(known[-1] if known else {}), **here, **{lemma: lemma for lemma in here.values()}}
            )
        return cls(texts, tuple(known), lemmas)

    def claim(self, row: object) -> tuple[int, Claim] | str:
        """Return a claim with its step, counted from 0; or why it is dropped."""
        if not isinstance(row, dict):
            return "they are no claims"
        step, kind, quote = row.get("step"), row.get("kind"), row.get("quote")
        is_step = isinstance(step, int) and not isinstance(step, bool) and 1 <= step <= len(self.steps)
        if not is_step or kind not in KINDS or kind == "unread" or not isinstance(quote, str):
            return "they are no claims"
        index = cast("int", step) - 1
        start = self.steps[index].casefold().find(quote.strip().casefold()) if quote.strip() else -1
        if start < 0:
            return _NO_WORDS
        span = (start, start + len(quote.strip()))
        said = {key: _said(row.get(key)) for key in ("subject", "predicate", "object", "other", "guess")}
        is_negated = row.get("negated") is True
        if not self._is_told(index, span, said) or (is_negated and not _DENIAL.search(self.steps[index])):
            return _NO_WORDS
        if not said["subject"] or (not said["predicate"] and kind != "entity"):
            return "they lack a subject or a predicate"
        return index, self._made(cast("ClaimKind", kind), said, span, is_negated=is_negated)

    def _is_told(self, index: int, span: tuple[int, int], said: Mapping[str, str]) -> bool:
        quoted = _words(self.steps[index][slice(*span)])
        quoted |= {self.lemmas.get(word, word) for word in quoted}
        named = {w for key in ("subject", "object", "other") for w in _words(said[key])}
        stated = {w for key in ("predicate", "guess") for w in _words(said[key])}
        return self._are_in(named, set(self.known[index])) and self._are_in(stated, quoted)

    @staticmethod
    def _are_in(wanted: set[str], there: set[str]) -> bool:
        numbers = {str(words.NUMBERS[word]) for word in there if word in words.NUMBERS}
        return all(word in there or word in numbers or word in _LOOSE for word in wanted)

    def _made(
        self, kind: ClaimKind, said: Mapping[str, str], span: tuple[int, int], *, is_negated: bool
    ) -> Claim:
        predicate = self._predicate(kind, said["predicate"])
        if kind in {"attribute", "state"}:
            kind = "state" if predicate in words.STATES else "attribute"
        is_event = kind == "temporal"
        return Claim(
            kind,
            self._mention(said["subject"], is_event=is_event),
            predicate,
            self._mention(said["object"], is_event=is_event) if said["object"] else None,
            self._mention(said["other"]) if said["other"] else None,
            span,
            is_negated,
            said["guess"],
            anchor=span,
        )

    def _predicate(self, kind: ClaimKind, text: str) -> str:
        bare = " ".join(
            word for word in text.split() if word not in {"is", "are", "was", "were", "be", "the", "to"}
        )
        if kind == "count":
            return " ".join(str(words.NUMBERS.get(word, word)) for word in bare.split())
        if kind in {"action", "ego-motion"}:
            first, _, rest = bare.partition(" ")
            return f"{self.lemmas.get(first, first)} {rest}".strip()
        return words.same_relation(bare) if kind == "spatial" else bare

    def _mention(self, text: str, *, is_event: bool = False) -> Mention:
        """Return a mention: the last words that name an object, and the adjectives before them."""
        parts = [word for word in text.split() if word not in {"a", "an", "the", "my", "his", "her", "its"}]
        if is_event:
            return self._event(parts)
        if not parts:
            return Mention("")
        n = next((i for i, word in enumerate(parts) if not _is_adjective(word)), len(parts) - 1)
        noun = [*parts[n:-1], self.lemmas.get(parts[-1], parts[-1])]
        head = "i" if noun[-1] in words.FIRST_PERSON else " ".join(noun)
        return Mention(head, tuple(parts[:n]))

    def _event(self, parts: Sequence[str]) -> Mention:
        """Return *person picks up the cup* as who, what is done, and to what."""
        who, *rest = [self.lemmas.get(word, word) for word in parts] or [""]
        particles = 1 + sum(word in words.PARTICLES for word in rest[1:2])
        return Mention(who, verb=" ".join(rest[:particles]), object=" ".join(rest[particles:]))


def _is_adjective(word: str) -> bool:
    return word in words.ATTRIBUTES or word in words.STATES


def _said(value: object) -> str:
    """Return a field as lower-case words; a number as its digits."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return " ".join(text.casefold().split())


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _lemmas(texts: Sequence[str]) -> dict[str, str]:
    """Return the lemma of every verb and noun."""
    sentences = [text[a:b] for text in texts for a, b in sentence_spans(text)]
    return dict(_tokens(sentences))


def _tokens(sentences: Sequence[str]) -> Iterator[tuple[str, str]]:
    for sentence in open_parser().parse(dict.fromkeys(sentences)):
        for token in sentence.tokens:
            if token.tag.startswith(("VB", "NN")):
                yield token.text.casefold(), token.lemma


def answer_of(claims: Sequence[tuple[int, Claim]], texts: Sequence[str]) -> str:
    """Write claims as an extractor is asked to, for scripted models.

    Args:
        claims: Claims with their step, counted from 0.
        texts: The texts of the steps.
    """
    rows = [
        {
            "step": step + 1,
            "quote": texts[step][slice(*claim.span)],
            "kind": claim.kind,
            "subject": " ".join((*claim.subject.attributes, claim.subject.head)),
            "predicate": claim.predicate,
            "object": " ".join((*claim.object.attributes, claim.object.head)) if claim.object else "",
            "other": " ".join((*claim.other.attributes, claim.other.head)) if claim.other else "",
            "negated": claim.is_negated,
            "guess": claim.hedge,
        }
        for step, claim in claims
    ]
    return json.dumps({"claims": rows})
