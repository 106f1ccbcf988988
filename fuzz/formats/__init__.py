"""Small valid files of every format, and the readers that they are for."""

from __future__ import annotations

from pathlib import Path

from fuzz.formats.compass import compass_formats
from fuzz.formats.logs import log_formats, picture_formats
from fuzz.formats.real import real_formats
from fuzz.formats.records import record_formats
from fuzz.formats.sample import Format
from fuzz.formats.scene import scene_formats
from fuzz.formats.trace import trace_formats

__all__ = ["Format", "formats"]


def formats(made: Path) -> tuple[Format, ...]:
    """Return all formats.

    Args:
        made: An empty folder for the data sets that the project generates itself.
    """
    return (
        *compass_formats(),
        *scene_formats(made),
        *trace_formats(made),
        *record_formats(made),
        *log_formats(),
        *picture_formats(),
        *real_formats(),
    )
