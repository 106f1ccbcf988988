"""What the sources share: files checked at the door."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from theodolite.core.errors import UsageError

Form = TypeVar("Form", bound=BaseModel)


class Strict(BaseModel):
    """A form that ignores what it does not know and takes no NaN."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


def read_bytes(path: Path, what: str) -> bytes:
    """The file, or a sentence about why not."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the {what} {path}: {error.strerror}") from error


def parse(form: type[Form], data: bytes, where: str) -> Form:
    """The data in its form.

    Raises:
        UsageError: they are not in it; the message names the file and the record.
    """
    try:
        return form.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        record = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        raise UsageError(f"{where}: {record.lstrip('.') or 'the file'}: {first['msg']}") from None
