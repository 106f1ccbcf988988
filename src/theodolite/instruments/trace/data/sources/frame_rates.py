"""Frame rates of videos: one number for all of them, or a file with the rate of each.

STAR numbers its frames and times its actions in seconds, and its videos run at 6 to 120 frames per second.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.files import fault_of, parse_json, read_bytes

_NAMES = frozenset({"BINUNICODE", "SHORT_BINUNICODE"})
_NUMBERS = frozenset({"BINFLOAT", "BININT", "BININT1", "BININT2"})
_FRAMEWORK = frozenset(
    {
        "PROTO",
        "FRAME",
        "EMPTY_DICT",
        "MARK",
        "BINPUT",
        "LONG_BINPUT",
        "MEMOIZE",
        "SETITEM",
        "SETITEMS",
        "STOP",
    }
)
"""The opcodes of a pickled dict of names and numbers. They are read as data; nothing is unpickled."""
_UNKNOWN = "its frame rate is not known; give --video-fps: STAR's own file video_fps, or frames per second as a number"


@dataclass(frozen=True, slots=True)
class FrameRates:
    """Frames per second by video; `for_all` where no file names them."""

    by_video: Mapping[str, float] = field(default_factory=dict)
    for_all: float | None = None

    def of(self, video: str) -> float:
        """The rate of a video.

        Raises:
            UsageError: It is not known.
        """
        rate = self.by_video.get(video, self.for_all)
        if rate is None:
            raise UsageError(f"video {video}: {_UNKNOWN}")
        return rate


def frame_rates(given: str | Path | float | None) -> FrameRates:
    """Rates from a number, a JSON file ``{"0TXYV": 29.45, …}``, or STAR's file ``video_fps`` as published.

    >>> frame_rates("25").of("any")
    25.0

    Raises:
        UsageError: It is neither a number above 0 nor such a file.
    """
    if given is None:
        return FrameRates()
    try:
        rate = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return FrameRates(_read_file(Path(str(given))))
    _check_rate(rate, "--video-fps")
    return FrameRates(for_all=rate)


def _read_file(path: Path) -> dict[str, float]:
    data = read_bytes(path, "frame rates")
    try:
        found = dict(_pickled(data)) if data.startswith(b"\x80") else parse_json(data)
    except (ValueError, UsageError) as error:
        raise UsageError(f"{path} is not a file of frame rates: {fault_of(error)}") from error
    if not isinstance(found, dict) or not found:
        raise UsageError(
            f"{path} is not a file of frame rates: videos and their frames per second were expected"
        )
    for video, rate in found.items():
        if isinstance(rate, bool) or not isinstance(rate, int | float):
            raise UsageError(f"{path}: the frame rate of {video} is not a number")
        _check_rate(rate, f"{path}: {video}")
    return {str(video).removesuffix(".mp4"): float(rate) for video, rate in found.items()}


def _check_rate(rate: float, where: str) -> None:
    if not math.isfinite(rate) or rate <= 0:
        raise UsageError(f"{where}: frames per second are above 0, got {rate:g}")


def _pickled(data: bytes) -> Iterator[tuple[str, float]]:
    """The names and numbers of a pickled dict, from its opcodes."""
    name = ""
    for opcode, value, _ in pickletools.genops(data):
        if opcode.name in _NAMES:
            name = str(value)
        elif opcode.name in _NUMBERS:
            yield name, float(str(value))
        elif opcode.name not in _FRAMEWORK:
            raise ValueError(f"a pickle with {opcode.name} is more than names and numbers")
