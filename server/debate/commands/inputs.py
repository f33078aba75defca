"""What the arguments of all requests share, and the arguments of a seat."""

from typing import Annotated, Any, get_args

import pydantic
from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from server.debate.commands.input_types import ModelName, ReplacesTask, SeatTools, Text, parse_json_text


def takes_text(field: FieldInfo) -> bool:
    """Whether any text is a value of the field, also one that looks like JSON."""
    return field.annotation is str or Text in get_args(field.annotation)


class Input(BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_substitutes(cls, data: Any) -> Any:
        """Read null or "" as an argument left out, and JSON text as a list or object: some clients send these."""
        if not isinstance(data, dict):
            return data
        fields: dict[Any, Any] = {}
        for key, text in data.items():
            field, value = cls.model_fields.get(key), text
            if field:
                value = text if takes_text(field) else parse_json_text(text)
                means_empty = field.is_required() or (takes_text(field) and not field.default)
                if value is None or (value == "" and not means_empty):
                    continue
            fields[key] = value
        return fields

    @pydantic.field_validator("*", mode="before")
    @classmethod
    def check_number(cls, value: Any, info: pydantic.ValidationInfo) -> Any:
        """Refuse booleans as numbers: pydantic would accept them as 0 and 1."""
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation in (int, float):
            raise ValueError("must be a number, not a boolean")
        return value


class OfficerInput(Input):
    """A seat that is neither a debater's nor a judge's: the referee, the analyst, the synthesizer."""

    model: Annotated[ModelName, Field(description="Its own model")] = ""
    prompt: Annotated[Text, Field(description="What else it is told")] = ""
    replaces_task: ReplacesTask = False
    tools: SeatTools = []

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_model(cls, value: Any) -> Any:
        """Read a model name as a seat with it, and true as a seat with any model."""
        if value is True:
            return {}
        return {"model": value} if isinstance(value, str) else value
