"""Base of models' answers: extra keys are allowed, and `null` for nothing."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, model_validator

from server.debate.replies.extract import normalize_keys
from server.debate.replies.votes import clean_text


def require_text(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


RequiredText = Annotated[str, AfterValidator(clean_text), AfterValidator(require_text)]
OptionalText = Annotated[
    str, BeforeValidator(lambda value: "" if value is None else value), AfterValidator(clean_text)
]


class LenientModel(BaseModel):
    """A model's answer: extra keys, `null` for nothing, and names in camel case are allowed (C11)."""

    @model_validator(mode="before")
    @classmethod
    def accept_any_spelling(cls, value: Any) -> Any:
        return normalize_keys(value) if isinstance(value, dict) else value
