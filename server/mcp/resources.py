"""Debates as MCP resources: every view under its address, listed newest first in pages, ids completed."""

from collections.abc import Awaitable
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.types import (
    INVALID_PARAMS,
    Annotations,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ListResourcesResult,
    PaginatedRequestParams,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
)

from server.debate.facts.errors import DebateError, InvalidRequestError
from server.debate.views.catalog import ALL_VIEWS, JSON, MARKDOWN, VIEWS, View, format_json
from server.engine.debates import DebateManager
from server.engine.errors import DebateNotFoundError
from server.engine.queries import DebateRow, list_debates, load_view_source

PAGE_SIZE = 50
MAX_COMPLETIONS = 100
"""The most values that the protocol allows in a completion."""
MAX_DIGITS = 9
FORMATS = {"markdown": MARKDOWN, "json": JSON}
SCHEME = "debate://"

T = TypeVar("T")

INDEX_RESOURCE = Resource(
    uri=f"{SCHEME}index",
    name="index",
    title="All debates",
    description="The newest debates, with their ids",
    mime_type=JSON,
    annotations=Annotations(audience=["assistant"], priority=0.9),
)


def build_template(view: View) -> ResourceTemplate:
    path = {"state": "", "round": "/rounds/{round}"}.get(view.name, f"/{view.name}")
    query = ["format"] if view.render else []
    query += ["since"] if "since_round" in view.parameters else []
    return ResourceTemplate(
        uri_template=f"{SCHEME}{{debate_id}}{path}" + (f"{{?{','.join(query)}}}" if query else ""),
        name=view.name,
        title=view.title,
        description=view.description,
        mime_type=view.media_type,
    )


TEMPLATES = [build_template(view) for view in ALL_VIEWS]


async def read_resource(manager: DebateManager, uri: str) -> ReadResourceContents:
    """The content of an address.

    Raises:
        ResourceNotFoundError: the address names no debate, or no part of one.
        ResourceError: the database cannot be read.
    """
    address = urlsplit(uri)
    if uri == INDEX_RESOURCE.uri:
        rows, cursor = await translate_errors(list_debates(manager, limit=PAGE_SIZE))
        index = {"debates": [row.model_dump() for row in rows], "cursor": cursor}
        return ReadResourceContents(format_json(index), JSON)
    name, _, number = address.path.removeprefix("/").partition("/")
    view = VIEWS.get({"": "state", "rounds": "round"}.get(name, name))
    if (
        address.scheme != "debate"
        or not view
        or name in ("state", "round")
        or (name == "rounds") != bool(number)
    ):
        raise ResourceNotFoundError(f"Unknown resource: {uri[:200]}")
    query = dict(parse_qsl(address.query))
    media_type = FORMATS.get(query.get("format", ""), "") if "format" in query else view.media_type
    if not media_type or (media_type == MARKDOWN and not view.render):
        raise ResourceNotFoundError(f"There is no format {query['format'][:40]!r}: markdown or json.")
    source = await translate_errors(
        load_view_source(
            manager,
            unquote(address.netloc),
            view,
            since_round=parse_whole_number(query.get("since", "0"), "since"),
            round_number=parse_whole_number(number or "0", "round"),
        )
    )
    try:
        text = view.render_text(source) if media_type == MARKDOWN else format_json(view.build(source))
    except InvalidRequestError as error:
        raise ResourceNotFoundError(str(error)) from error
    return ReadResourceContents(text, media_type)


async def translate_errors(operation: Awaitable[T]) -> T:
    try:
        return await operation
    except DebateNotFoundError as error:
        raise ResourceNotFoundError(str(error)) from error
    except DebateError as error:
        raise ResourceError(str(error)) from error


def parse_whole_number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise ResourceNotFoundError(f"{name} must be a whole number, and {text[:40]!r} is none.")
    return int(text)


async def list_resources(
    ctx: ServerRequestContext[DebateManager, Any], params: PaginatedRequestParams
) -> ListResourcesResult:
    """`resources/list` from the database, a page at a time, newest first. The SDK's own has no pages."""
    cursor = params.cursor or ""
    try:
        rows, next_cursor = await list_debates(ctx.lifespan_context, cursor=cursor, limit=PAGE_SIZE)
    except DebateError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    first = [] if cursor else [INDEX_RESOURCE]
    return ListResourcesResult(
        resources=[*first, *(build_transcript_resource(row) for row in rows)], next_cursor=next_cursor or None
    )


def build_transcript_resource(row: DebateRow) -> Resource:
    return Resource(
        uri=f"{SCHEME}{row.debate_id}/transcript",
        name=f"{row.debate_id}-transcript",
        title=row.question[:80] or None,
        description=", ".join(part for part in (row.status, row.format) if part),
        mime_type=MARKDOWN,
        annotations=Annotations(
            audience=["user", "assistant"], priority=0.5, last_modified=row.changed_at or None
        ),
    )


async def complete(
    ctx: ServerRequestContext[DebateManager, Any], params: CompleteRequestParams
) -> CompleteResult:
    """Completions of resource addresses: debate ids, newest first, and formats."""
    name, prefix = params.argument.name, params.argument.value
    values: list[str] = []
    if isinstance(params.ref, ResourceTemplateReference):
        if name == "format":
            values = [value for value in FORMATS if value.startswith(prefix)]
        elif name == "debate_id":
            values = await ctx.lifespan_context.find_by_prefix(prefix, MAX_COMPLETIONS + 1)
    completion = Completion(values=values[:MAX_COMPLETIONS], has_more=len(values) > MAX_COMPLETIONS)
    return CompleteResult(completion=completion)
