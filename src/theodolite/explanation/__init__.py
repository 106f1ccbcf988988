"""One picture, one question: where a model looks for its answer, and whether that map is true.

    theodolite.explain("hf:PATH", "street.jpg", "What colour is the bus?").save("explanation")

`explain` gives the maps, `truth` the tests beside each of them, `bench` compares methods where the truth is known.
"""

from __future__ import annotations

from theodolite.explanation.api import explain
from theodolite.explanation.record import Explanation, Finding, MapTest, Word

__all__ = ["Explanation", "Finding", "MapTest", "Word", "explain"]
