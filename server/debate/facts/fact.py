"""What every fact is made from: its base, and exact numbers."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Fact(BaseModel):
    # defer_build: validators are built on first use, because building them all takes a tenth of the start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A number that JSON represents exactly (RFC 8785)."""


ExactDecimal = Annotated[str, Field(pattern=r"^(\d+(\.\d+)?)?$")]
"""A decimal of any precision; "" where there is none."""


Dollars = ExactDecimal
"""An amount; "" where unknown, which is not zero."""


SignedDecimal = Annotated[str, Field(pattern=r"^-?\d{1,6}(\.\d{1,6})?$")]
