"""Reading claims out of English text; needs the extra ``nlp``."""

from theodolite.trace._extract import EXTRACTOR, extract_claims, extract_many
from theodolite.trace._language import Parser, Sentence, Token, open_parser, sentence_spans
from theodolite.trace._lexicon import OPPOSITES, SYNONYMS, can_be_seen, may_mean

__all__ = [
    "EXTRACTOR",
    "OPPOSITES",
    "SYNONYMS",
    "Parser",
    "Sentence",
    "Token",
    "can_be_seen",
    "extract_claims",
    "extract_many",
    "may_mean",
    "open_parser",
    "sentence_spans",
]
