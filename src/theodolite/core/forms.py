"""The base classes of stored records, and the types of their fields, checked by pydantic."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Form", "Name", "Number", "Stored", "Whole"]

_LARGEST_NUMBER = 1e12
"""No length, time or count in a data set comes near, and sums and squares of such numbers are still finite."""

Number: TypeAlias = Annotated[float, Field(ge=-_LARGEST_NUMBER, le=_LARGEST_NUMBER, allow_inf_nan=False)]
"""A finite number."""

Whole: TypeAlias = Annotated[int, Field(ge=-(2**53), le=2**53)]
"""A whole number, such as an id or a size."""

Name: TypeAlias = Annotated[str, Field(min_length=1)]
"""Text that is not empty."""


class Form(BaseModel):
    """A record of a file that others wrote. Unknown fields are ignored; NaN and infinity are refused."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Stored(BaseModel):
    """A part of a document that Theodolite itself writes: checked, frozen, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="null")
