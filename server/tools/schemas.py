"""The schemas of tools: all that they take, and the part of it that clients are shown.

`python -m docs.generate` writes what clients see into `listed.json`: a server only reads that file, because building
these schemas with pydantic takes a tenth of its start. What is not shown is described in `debate://options`, and is
taken all the same: some clients refuse what a schema does not allow before the server sees it, so that a listed schema
allows what the server reads.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from mcp import types
from pydantic import BaseModel

from server.tools.arguments.schemas import Schema, inline_definitions, simplify_schema
from server.tools.arguments.synonyms import CHOICES
from server.tools.tool import Tool

SHOWN = {
    "StartDebate": "question documents my_answer models format debaters effort max_cost_usd run wait_seconds options",
    "OptionsInput": "instructions judges moderator limits thinking output_schema voting fallback_models memory tags",
    "DebaterInput": "name stance role model",
    "DocumentInput": "title text url",
    "JudgesInput": "count models",
    "ModeratorInput": "model",
    "LimitsInput": "max_calls max_seconds",
    "BudgetInput": "max_calls max_cost_usd",
    "VotingInput": "kind",
    "Intervene": "debate_id action text to rounds round model threshold limits",
    "ReadDebate": "debate_id view round since_round offset limit",
    "ForkDebate": "debate_id at_round changes wait_seconds",
    "ChangesInput": "models stances instructions run",
}
"""By the class of an object: its arguments that clients are shown, in this order. All of other classes are shown."""

RAISED = {
    "my_answer": ("OptionsInput", ""),
    "effort": ("OptionsInput", "quick: fast and cheap; standard; assured: where much depends on it"),
    "max_cost_usd": ("LimitsInput", ""),
}
"""Arguments of inner objects that are shown at the top: the class that has each, and words in place of its own."""

TEXT: Schema = {"type": "string"}
SHORT_FORMS: dict[str, list[Schema]] = {
    "DebaterInput": [TEXT],
    "DocumentInput": [TEXT],
    "JudgesInput": [{"type": "integer"}, {"type": "array", "items": TEXT}],
    "ModeratorInput": [{"type": "boolean"}, TEXT],
    "VotingInput": [TEXT],
}
"""By the class of an object: other shapes that are read as one."""


COMMON_FIELDS = frozenset(
    {"debate_id", "status", "working", "reason", "next", "transcript_uri", "left_out", "taken"}
)
"""Fields of results that are shown of each tool."""

META = {"start_debate": {"anthropic/alwaysLoad": True}}
"""Claude Code shows a model none of many tools until it searches for them: this one it shows always."""


def build_listed_tools(tools: Mapping[str, Tool]) -> list[types.Tool]:
    shown: set[str] = set()
    return [
        types.Tool(
            name=name,
            title=tool.title,
            description=" ".join((tool.arguments.__doc__ or "").split()),
            input_schema=build_listed_schema(tool.arguments),
            output_schema=build_listed_result_schema(tool.result, shown),
            annotations=tool.annotations,
            _meta=META.get(name),
        )
        for name, tool in tools.items()
    ]


def build_listed_schema(model: type[BaseModel]) -> Schema:
    """What clients are shown of the arguments of a tool."""
    schema = simplify_schema(model.model_json_schema())
    classes = schema.get("$defs", {})
    properties = dict(schema["properties"])
    if "OptionsInput" in classes:
        for name, (owner, words) in RAISED.items():
            raised = classes[owner]["properties"][name]
            properties[name] = {**raised, "description": words or raised["description"]}
    definitions = {name: show(name, part) for name, part in classes.items()}
    shown = show(model.__name__, {**schema, "properties": properties, "$defs": definitions})
    listed: Schema = offer_single_texts(drop_keywords(inline_definitions(shown), {"default"}))
    return listed


def show(name: str, schema: Schema) -> Schema:
    """An object with the arguments that are shown, and with the shapes that are read as one."""
    names = SHOWN.get(name, "").split() or [*schema.get("properties", ())]
    if not names:
        return schema
    shown = {key: loosen(key, schema["properties"][key]) for key in names}
    required = [key for key in schema.get("required", ()) if key in names]
    if name.endswith("Input"):
        required = []  # what is missing in an inner object may stand there by another name
    schema = {key: part for key, part in schema.items() if key != "required"} | {"properties": shown}
    schema |= {"required": required} if required else {}
    return {"anyOf": [*SHORT_FORMS[name], schema]} if name in SHORT_FORMS else schema


def loosen(name: str, schema: Schema) -> Schema:
    """Without a list of choices where other words are taken for them: the description names them."""
    if name not in CHOICES or "enum" not in schema:
        return schema
    description, choices = schema.get("description", ""), schema["enum"]
    if not all(choice in description for choice in choices):
        description = ". ".join(filter(None, [f"One of: {', '.join(choices)}", description]))
    return {"type": "string", "description": description}


def offer_single_texts(schema: Any) -> Any:
    """A text in place of each list, which may be its only entry, or the list as JSON."""
    if isinstance(schema, list):
        return [offer_single_texts(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: offer_single_texts(part) for key, part in schema.items()}
    if schema.get("type") == "array" and TEXT in (inner["items"], *inner["items"].get("anyOf", ())):
        described = {"description": inner.pop("description")} if "description" in inner else {}
        return {"anyOf": [inner, TEXT], **described}
    if "anyOf" in inner:
        flat = [choice for part in inner["anyOf"] for choice in part.get("anyOf", [part])]
        inner["anyOf"] = [part for index, part in enumerate(flat) if part not in flat[:index]]
    return inner


def build_result_schema(result: type[BaseModel]) -> Schema:
    """The schema of a tool's result, with descriptions of its fields."""
    return inline_definitions(simplify_schema(result.model_json_schema(mode="serialization")))


def build_listed_result_schema(result: type[BaseModel], shown: set[str]) -> Schema:
    """What clients are shown of it, without descriptions: what every result has, and what no tool before has `shown`.

    So the answer and its votes, which many tools return, are shown once.
    """
    schema: Schema = drop_keywords(build_result_schema(result), {"description", "default"})
    names = [name for name in schema["properties"] if name not in shown]
    shown |= {*names} - COMMON_FIELDS
    kept = {name: schema["properties"][name] for name in names}
    return {**schema, "properties": kept, "required": [name for name in schema["required"] if name in kept]}


def drop_keywords(schema: Any, dropped: AbstractSet[str]) -> Any:
    """The schema without these keywords: some hosts send it to their model with every request."""
    if isinstance(schema, list):
        return [drop_keywords(part, dropped) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: drop_keywords(inner, dropped) for name, inner in part.items()}
        if key in ("properties", "$defs")
        else drop_keywords(part, dropped)
        for key, part in schema.items()
        if key not in dropped
    }
