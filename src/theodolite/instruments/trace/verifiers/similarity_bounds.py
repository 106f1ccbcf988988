"""What has been measured of a CLIP: which claims it tells in which world, by which bounds, and in which words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from theodolite.core.errors import UsageError

CALIBRATION = "similarity.json"
"""The name of the file, beside a checkpoint."""
POOLED = ""
"""Stands for all worlds together: for episodes that name no world, unless the model knows the pictures of some worlds only."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """By world and form of claim, the share from which it is supported and the share up to which it is not."""

    worlds: Mapping[str, Mapping[str, tuple[float, float]]]
    """Those whose pictures it was measured on; a form that is missing is one that the model cannot tell there."""
    words: frozenset[str] = frozenset()
    """What its captions were made of; empty if it was trained on language at large."""

    def of(self, world: str, form: str) -> tuple[float, float] | None:
        """The bounds of a form of claim; None if the model cannot tell it."""
        return self.worlds.get(world, {}).get(form)

    def unknown(self, caption: str, world: str) -> str:
        """Why a caption is beyond what was measured; empty if it is not.

        >>> Bounds({"video": {}}, frozenset({"a", "red", "ball"})).unknown("a red dog", "video")
        'the model does not know the word dog'
        """
        if world not in self.worlds:
            known = ", ".join(repr(name) for name in self.worlds if name != POOLED)
            return (
                f"the model was measured on pictures of {known or 'no named world'}, not of {world!r}:"
                " name a CLIP of your own, calibrated on such pictures"
            )
        odd = [word for word in caption.split() if self.words and word not in self.words]
        return f"the model does not know the word {odd[0]}" if odd else ""


def read_bounds(file: Path) -> Bounds:
    """Reads what `calibrate-similarity` wrote.

    Raises:
        UsageError: it is no such file.
    """
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        measured, words = dict(value["by_world"]), frozenset(map(str, value["words"]))
        if not words or POOLED in measured:
            measured[POOLED] = value["pooled"]
        worlds = {
            str(world): {
                str(form): (float(told["high"]), float(told["low"]))
                for form, told in forms.items()
                if told["high"] is not None
            }
            for world, forms in measured.items()
        }
        return Bounds(worlds, words)
    except OSError as error:
        raise UsageError(f"cannot read the calibration {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{file} is no calibration; write one with `theodolite trace calibrate-similarity`"
        ) from error
