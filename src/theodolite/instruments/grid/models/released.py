"""The paired models: what they are, how they were trained, and the certificate of what they do.

``grid:pure`` evaluates the question; ``grid:spur`` counts as a bag of words. Same network, same losses, other scenes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

from theodolite.instruments.grid.models.certify import (
    ACCURACY,
    AGREES,
    FOLLOWS,
    INVARIANT,
    KEEPS,
    Answerer,
    Certificate,
    Line,
    certificate_from_json,
    certify,
)

__all__ = [
    "ACCURACY",
    "AGREES",
    "FOLLOWS",
    "INVARIANT",
    "KEEPS",
    "Answerer",
    "Certificate",
    "Line",
    "PairedKind",
    "certificate_from_json",
    "certify",
    "certify_model",
    "released_certificate",
]

PairedKind: TypeAlias = Literal["pure", "spur"]


def released_certificate(kind: PairedKind) -> Certificate:
    """The certificate that lies beside the released weights."""
    text = (
        files("theodolite.instruments.grid.models")
        .joinpath("weights", f"{kind}.certificate.json")
        .read_text(encoding="utf-8")
    )
    return certificate_from_json(json.loads(text))


def certify_model(
    kind: PairedKind,
    *,
    weights: Path | None = None,
    n: int = 1000,
    seed: int = 2026,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> Certificate:
    """Tests a paired model from scratch; the released weights unless others are given."""
    from theodolite.instruments.grid.models.paired.reader import PairedReader
    from theodolite.instruments.grid.models.paired.weights import open_network, released

    network, digest = open_network(weights or released(kind), device)
    reader = PairedReader(network, device=device)

    def answer(cells: Any, words: Any) -> Any:
        return reader.logits(cells, words).argmax(axis=1)

    return certify(
        answer, model=f"grid:{kind}", identity=f"grid:{kind}@{digest}", n=n, seed=seed, progress=progress
    )
