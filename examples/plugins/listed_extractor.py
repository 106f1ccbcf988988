"""An example extractor: finds the things of a list, wherever a step names one.

``listed:cup,book``: each of these words claims that such a thing is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.types import Claim, Extracted, Mention, Step, Trace


class Listed:
    """Finds things by their names."""

    def __init__(self, nouns: Sequence[str]) -> None:
        self.name = f"listed:{','.join(nouns)}"
        self._nouns = re.compile(rf"\b(no\s+)?({'|'.join(map(re.escape, nouns))})\b", re.IGNORECASE)

    def extract(self, traces: Sequence[Trace]) -> list[Extracted]:
        """Return the claims of each trace: one tuple per step, each claim with its position in the text of the step."""
        return [Extracted(tuple(tuple(self._claims(step)) for step in trace.steps)) for trace in traces]

    def _claims(self, step: Step) -> Iterator[Claim]:
        for found in self._nouns.finditer(step.text):
            thing = Mention(found[2].casefold(), span=found.span(2))
            yield Claim("entity", thing, span=found.span(), anchor=found.span(2), is_negated=bool(found[1]))


def open_listed(text: str) -> Listed:
    """Open the extractor. For ``listed:cup,book`` the text is ``cup,book``."""
    nouns = [noun.strip() for noun in text.split(",") if noun.strip()]
    if not nouns:
        raise UsageError("listed: needs nouns, such as listed:cup,book")
    return Listed(nouns)


def register(add: Any) -> None:
    """Register the extractor for `theodolite trace score RUN --extractor listed:cup,book`."""
    add(
        "extractor",
        "listed",
        f"{__name__}:open_listed",
        summary="things of a list, wherever they are named",
        example="listed:cup,book",
    )
