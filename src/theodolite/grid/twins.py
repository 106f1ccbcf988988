"""The symbolic twins: exact reasoners as games over objects and words."""

from theodolite.grid._symbolic import (
    CONFIDENCE,
    LOGICS,
    Logic,
    SymbolicGame,
    hide_words,
    symbolic_answer,
    symbolic_counts,
)

__all__ = [
    "CONFIDENCE",
    "LOGICS",
    "Logic",
    "SymbolicGame",
    "hide_words",
    "symbolic_answer",
    "symbolic_counts",
]
