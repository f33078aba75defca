"""The synthesizer: it writes the result of a debate, as prose or in the form that the caller asked for."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from server.debate.documents.marks import disarm_marks
from server.debate.facts.events import Synthesized
from server.debate.facts.quoting import quote_verbatim
from server.debate.replies.extract import Reply, find_json
from server.debate.rules.calls import Call
from server.debate.schemas.output_schema import find_violation
from server.debate.schemas.plain_json import plain_json
from server.debate.seats.seat import Duty
from server.debate.state.debate import Debate
from server.debate.state.labels import order_sides, side_labels

MAX_RESULT_LENGTH = 50_000  # characters of a result in prose that are stored

STEPS = (
    "You are the synthesizer. Write the result of this debate from its transcript: what holds whatever one prefers, "
    "what the choice depends on, the two best points of the minority, and what to check next. Nothing that nobody said."
)


class Deliverable(Duty):
    task = "deliverable"
    fact = Synthesized
    is_strict = False  # the schema is the caller's

    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        yield STEPS

    def render_format(self, debate: Debate, call: Call) -> Iterator[str]:
        if verdict := debate.verdict:
            text = "\n".join(filter(None, (verdict.verdict, verdict.reasoning)))
            yield f"The verdict ({verdict.outcome}):\n{quote_verbatim(disarm_marks(text))}"
        if schema := self.build_schema(debate):
            yield f"Answer with JSON only, by this JSON Schema: {plain_json(schema)}"
        else:
            yield "Write plain Markdown."

    def build_schema(self, debate: Debate) -> dict[str, Any] | None:
        schema: dict[str, Any] | None = json.loads(debate.setup.output_schema or "null")
        labelled: dict[str, Any] | None = label_schema(schema, side_labels(debate))
        return labelled

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        if schema := debate.setup.output_schema:
            value = find_json(text)
            if self.build_schema(debate) != json.loads(schema):  # it has labels where the caller's has names
                value = swap_words(value, order_sides(debate))
            if violation := find_violation(schema, value):
                raise ValueError(violation)
            return {"text": plain_json(value)}
        return {"text": text[:MAX_RESULT_LENGTH], "cut": reply.cut or len(text) > MAX_RESULT_LENGTH}


# A schema that names debaters: no model is shown a name.


def label_schema(schema: Any, labels: Mapping[str, str]) -> Any:
    """The schema with labels where one of its values or properties is the name of a debater."""
    if isinstance(schema, list):
        return [label_schema(part, labels) for part in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: label_schema(part, labels) for key, part in schema.items()}
    changed |= {
        key: swap_words(schema[key], labels) for key in ("enum", "const", "required") if key in schema
    }
    if isinstance(properties := schema.get("properties"), dict):
        changed["properties"] = {
            labels.get(name, name): label_schema(part, labels) for name, part in properties.items()
        }
    return changed


def swap_words(value: Any, words: Mapping[str, str]) -> Any:
    """JSON with other words in place of these, where a text or a key is nothing else."""
    match value:
        case dict():
            return {words.get(key, key): swap_words(part, words) for key, part in value.items()}
        case list():
            return [swap_words(part, words) for part in value]
        case str():
            return words.get(value, value)
        case _:
            return value
