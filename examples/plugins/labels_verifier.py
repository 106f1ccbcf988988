"""An example verifier: judges claims about the presence of things by labels from another program.

``labels:FILE.json`` with ``{"EPISODE": [["ball", "cup"], ["cup"]], …}``: the labels of every frame of every episode.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.types import Claim, Verdict
from theodolite.worlds.episodes import Episode


class Labels:
    """Judges by the labels of each frame."""

    def __init__(self, name: str, seen: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.name = name
        self._seen = seen

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return one verdict per claim, in order. A claim that cannot be judged is unverifiable, with the reason."""
        return [self._judge(claim, self._seen.get(episode.id, ())) for claim in claims]

    def _judge(self, claim: Claim, frames: Sequence[Sequence[str]]) -> Verdict:
        if claim.kind != "entity":
            return Verdict("unverifiable", "complex", f"labels cannot verify {claim.kind} claims")
        wanted = [f for f in claim.frames if f < len(frames)] if claim.frames else range(len(frames))
        if not wanted:
            return Verdict("unverifiable", "out of vocabulary", "no labels for these frames")
        where = [f for f in wanted if claim.subject.head in frames[f]]
        if bool(where) != claim.is_negated:  # stated and seen, or negated and not seen
            return Verdict("supported", evidence=f"labelled in frames {where}" if where else "in no label")
        return Verdict("unsupported", evidence=f"labelled in frames {where}" if where else "in no label")


def open_labels(text: str) -> Labels:
    """Open the verifier. For ``labels:FILE.json`` the text is ``FILE.json``."""
    try:
        return Labels(f"labels:{text}", json.loads(Path(text).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UsageError(f"labels:FILE needs a JSON file with labels per frame: {error}") from error


def register(add: Any) -> None:
    """Register the verifier for `theodolite trace score RUN --verifier labels:FILE.json`."""
    add(
        "verifier",
        "labels",
        f"{__name__}:open_labels",
        summary="labels per frame",
        example="labels:FILE.json",
    )
