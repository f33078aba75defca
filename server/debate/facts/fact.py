"""What every fact is made from: its base, and exact numbers."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Fact(BaseModel):
    # defer_build: validators are built on first use, because building them all takes a tenth of the start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A fact, or rows of facts and texts, with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Fact):
        return value.model_copy(update={name: change_texts(part, change) for name, part in value})
    return (
        type(value)(change_texts(part, change) for part in value)
        if isinstance(value, list | tuple)
        else value
    )


Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A number that JSON represents exactly (RFC 8785)."""


ExactDecimal = Annotated[str, Field(pattern=r"^(\d+(\.\d+)?)?$")]
"""A decimal of any precision; "" where there is none."""


Dollars = ExactDecimal
"""An amount; "" where unknown, which is not zero."""


SignedDecimal = Annotated[str, Field(pattern=r"^-?\d{1,6}(\.\d{1,6})?$")]
