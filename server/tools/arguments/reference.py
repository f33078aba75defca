"""All that tools take, as a text: what `debate://options` and read_debate(view="options") have."""

from collections.abc import Iterator
from functools import cache

from pydantic import BaseModel

from server.tools.arguments.schemas import Schema, build_schema
from server.tools.arguments.synonyms import normalize

OPTIONS = "options"
"""The name of this view. It is of no debate."""

HEAD = """\
Everything but what is required may be left out. `my_answer`, `effort` and `max_cost_usd` may stand at the top of \
start_debate as well. A list of one may be its only entry, `judges` a number, and a seat its model's name."""


@cache
def render_options(*models: type[BaseModel]) -> str:
    """For each tool, by its arguments, a line for each argument: its place, its type, and what it is for."""
    parts = [HEAD]
    for model in models:
        lines = "\n".join(walk_options(build_schema(model), ""))
        parts.append(f"# {normalize(model.__name__)}\n\n{lines}")
    return "\n\n".join(parts) + "\n"


def walk_options(schema: Schema, place: str) -> Iterator[str]:
    for name, part in schema["properties"].items():
        lead, *more = part.get("description", "").splitlines() or [""]
        required = ", required" if name in schema.get("required", ()) else ""
        yield f"- `{place}{name}` ({name_type(part)}{required}): {lead}"
        yield from (f"  - {line}" for line in more)
        for inner in (part, part.get("items", {}), *part.get("anyOf", ())):
            if "properties" in inner:
                marks = "[]" if inner is part.get("items") else ""
                yield from walk_options(inner, f"{place}{name}{marks}.")


def name_type(part: Schema) -> str:
    """The type of a value as people say it, with the words that it may be."""
    if either := part.get("anyOf"):
        return " or ".join(map(name_type, either))
    if choices := part.get("enum"):
        return ", ".join(choices)
    if part["type"] == "array":
        item = part["items"].get("type", "object")
        return f"list of {item}s"
    return str(part["type"])
