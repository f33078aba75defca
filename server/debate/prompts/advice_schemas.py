"""The replies of the answer format as JSON Schemas, with their keys in the order of thinking."""

from collections.abc import Sequence
from typing import Any

from server.debate.prompts.response_schemas import enum_schema, object_schema, text_schema

LONG, MIDDLE, SHORT = 4_000, 1_500, 600
"""Characters of a text."""


def list_schema(items: dict[str, Any], most: int = 8) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


PERCENT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 100}
BRANCH = {"if": text_schema(SHORT), "do": text_schema(MIDDLE)}


def answer_schema() -> dict[str, Any]:
    return object_schema(
        premise=text_schema(SHORT),
        because=text_schema(LONG),
        recommendation=text_schema(MIDDLE),
        value=text_schema(SHORT),
        assumed=text_schema(SHORT),
        changes_if=text_schema(SHORT),
        next=text_schema(SHORT),
        probability=PERCENT,
    )


def review_schema(labels: Sequence[str], *, with_answer: bool = False) -> dict[str, Any]:
    answers = list_schema(enum_schema(labels))
    error = object_schema(
        answers=answers, words=text_schema(SHORT), right=text_schema(MIDDLE), matters={"type": "boolean"}
    )
    return object_schema(
        errors=list_schema(error),
        missing=list_schema(text_schema(MIDDLE)),
        best=enum_schema(labels),
        keep=list_schema(text_schema(SHORT)),
        groups=list_schema(answers),
        differ_in=text_schema(SHORT),
        because=text_schema(MIDDLE),
        recommendation=text_schema(MIDDLE),
        follows=answers,
        value=text_schema(SHORT),
        against=text_schema(SHORT),
        probability=PERCENT,
        **({"answer": text_schema(LONG)} if with_answer else {}),
    )


def exchange_schema(labels: Sequence[str]) -> dict[str, Any]:
    return object_schema(
        kind=enum_schema(("words", "fact", "assumption", "value")),
        reply=text_schema(MIDDLE),
        decides=text_schema(SHORT),
        branches=list_schema(object_schema(**BRANCH)),
        recommendation=text_schema(MIDDLE),
        same_as=list_schema(enum_schema(labels)),
        moved_by=text_schema(SHORT),
        value=text_schema(SHORT),
        next=text_schema(SHORT),
        against=text_schema(SHORT),
        probability=PERCENT,
    )


def check_schema() -> dict[str, Any]:
    fault = object_schema(words=text_schema(SHORT), right=text_schema(MIDDLE), matters={"type": "boolean"})
    return object_schema(faults=list_schema(fault), agrees={"type": "boolean"})
