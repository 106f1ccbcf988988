"""A verifier of one's own: judges what is claimed to be there by labels that some other program wrote.

``labels:FILE.json`` with ``{"EPISODE": [["ball", "cup"], ["cup"]], …}``: for every frame of every episode, what was seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.types import Claim, Verdict
from theodolite.instruments.trace.data.episode import Episode


class Labels:
    """Knows which things each frame shows, and nothing else."""

    def __init__(self, name: str, seen: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.name = name
        self._seen = seen

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """One verdict per claim, in order; what cannot be judged says why, and nothing is raised for it."""
        return [self._judge(claim, self._seen.get(episode.id, ())) for claim in claims]

    def _judge(self, claim: Claim, frames: Sequence[Sequence[str]]) -> Verdict:
        if claim.kind != "entity":
            return Verdict("unverifiable", "complex", f"labels do not tell of {claim.kind}")
        wanted = [f for f in claim.frames if f < len(frames)] if claim.frames else range(len(frames))
        if not wanted:
            return Verdict("unverifiable", "out of vocabulary", "no labels for these frames")
        where = [f for f in wanted if claim.subject.head in frames[f]]
        if bool(where) != claim.is_negated:  # stated and seen, or denied and not seen
            return Verdict("supported", evidence=f"labelled in frames {where}" if where else "in no label")
        return Verdict("unsupported", evidence=f"labelled in frames {where}" if where else "in no label")


def open_labels(text: str) -> Labels:
    """Of ``labels:FILE.json`` it is given ``FILE.json``."""
    try:
        return Labels(f"labels:{text}", json.loads(Path(text).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UsageError(f"labels:FILE needs a JSON file of labels per frame: {error}") from error


def register(add: Any) -> None:
    """`theodolite trace score RUN --verifier labels:FILE.json` then works; `check_verifier` checks it."""
    add(
        "verifier",
        "labels",
        f"{__name__}:open_labels",
        summary="labels per frame",
        example="labels:FILE.json",
    )
