"""What has been measured of a CLIP: which kinds of claims it tells, by which bounds, in which worlds and words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from theodolite.errors import UsageError
from theodolite.trace._claims import KINDS, ClaimKind

CALIBRATION = "similarity.json"
"""The name of the file, beside a checkpoint."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """By kind of claim, the share from which it is supported and the share up to which it is not."""

    kinds: Mapping[ClaimKind, tuple[float, float]]
    worlds: tuple[str, ...] = ()
    """Whose pictures it was measured on."""
    words: frozenset[str] = frozenset()
    """What its captions were made of; empty if it was trained on language at large."""

    def unknown(self, caption: str, world: str) -> str:
        """Why a caption is beyond what was measured; empty if it is not.

        >>> Bounds({}, ("video",), frozenset({"a", "red", "ball"})).unknown("a red dog", "video")
        'the model does not know the word dog'
        """
        if world not in self.worlds:
            known = ", ".join(map(repr, self.worlds))
            return f"the model was measured on pictures of {known}, not of {world!r}: name a CLIP of your own"
        odd = [word for word in caption.split() if self.words and word not in self.words]
        return f"the model does not know the word {odd[0]}" if odd else ""


def read_bounds(file: Path) -> Bounds:
    """Reads what `calibrate-similarity` wrote.

    Raises:
        UsageError: it is no such file.
    """
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        kinds: dict[ClaimKind, tuple[float, float]] = {
            kind: (float(value["kinds"][kind]["high"]), float(value["kinds"][kind]["low"]))
            for kind in KINDS
            if kind in value["kinds"]
        }
        return Bounds(kinds, tuple(map(str, value["worlds"])), frozenset(map(str, value["words"])))
    except OSError as error:
        raise UsageError(f"cannot read the calibration {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{file} is no calibration; write one with `theodolite trace calibrate-similarity`"
        ) from error
