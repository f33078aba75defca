"""Views of a debate, and the list of all options, in pages short enough for clients to show in full."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel

from server.debate.facts.errors import InvalidRequestError
from server.debate.views.catalog import View, ViewSource
from server.engine.debates import DebateManager
from server.tools.arguments.schemas import Schema, build_schema
from server.tools.arguments.synonyms import normalize
from server.tools.fitting import count_json, cut_to_escaped
from server.tools.hints import format_call
from server.tools.results import NO_DEBATE, ViewResult, describe_debate

PAGE_LIMIT = 40_000
"""Characters of a page, as JSON with everything but ASCII escaped: clients hide results above 50,000."""

CLIENT_LIMITS = {"codex": 11_000, "copilot": 9_000, "gemini": 32_000, "qwen": 20_000}
"""The same for clients that show less, by a word of their names: Codex cuts a result at 12 kB, Gemini CLI at 40,000
characters, and Qwen Code at 25,000. Copilot puts one above 20 kB into a file, text and structure together."""

MARGIN = 200  # characters for the call of the next page


def choose_limit(client: str) -> int:
    """Characters of a page that a client shows whole."""
    return next((limit for word, limit in CLIENT_LIMITS.items() if word in client.lower()), PAGE_LIMIT)


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of a view a page has."""

    offset: int  # in characters
    length: int  # of its text at most, in characters; 0: as many as fit
    limit: int  # of the page as JSON


async def build_page(manager: DebateManager, source: ViewSource, view: View, part: Part) -> ViewResult:
    """A page of a view: data if the view is data and fits on one page, else text.

    Raises InvalidRequestError if the view ends before the page begins.
    """
    empty = ViewResult(**await describe_debate(manager, source, "read_debate"), view=view.name, next_offset=0)
    if view.render is None:
        data = view.build(source)
        if "since_seq" in view.parameters and data["more"]:
            following = {"debate_id": source.id, "view": view.name, "since_seq": data["next_seq"]}
            empty = empty.model_copy(update={"next": format_call("read_debate", **following)})
        result = empty.model_copy(update={"data": data})
        if not (part.offset or part.length) and count_json(result) < part.limit:
            return result
    names = {"debate_id": source.id, "view": view.name, "since_round": source.since_round}
    names |= {"since_seq": source.since_seq, "round": source.round, "seat": source.seat}
    return cut_page(
        empty, view.render_text(source), part, {key: value for key, value in names.items() if value}
    )


def build_options_page(text: str, part: Part) -> ViewResult:
    """A page of the description of all options."""
    empty = ViewResult(**NO_DEBATE, next="start_debate(question=…)", next_offset=0, view=OPTIONS)
    return cut_page(empty, text, part, {"view": OPTIONS})


def cut_page(empty: ViewResult, whole: str, part: Part, names: dict[str, Any]) -> ViewResult:
    """The page with the part of the text, and the call of the next one. `names`: the arguments of the view."""
    if part.offset >= max(len(whole), 1):
        raise InvalidRequestError(
            f"offset={part.offset} is beyond the end: there are {len(whole):,} characters. Begin at 0."
        )
    text = cut_to_escaped(whole[part.offset :], part.limit - count_json(empty) - MARGIN)
    text = text[: part.length or None]
    end = part.offset + len(text)
    if end == len(whole):
        return empty.model_copy(update={"text": text})
    limit = {"limit": part.length} if part.length else {}
    return empty.model_copy(
        update={
            "text": text,
            "next_offset": end,
            "left_out": [f"{end:,} of {len(whole):,} characters so far."],
            "next": format_call("read_debate", **names, offset=end, **limit),
        }
    )


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
