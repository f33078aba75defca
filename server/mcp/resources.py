"""Debates as MCP resources: read, listed newest first in pages, completed by id."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp import MCPError
from mcp.server import MCPServer, ServerRequestContext
from mcp.server.context import HandlerResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.types import (
    INVALID_PARAMS,
    Annotations,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplateReference,
)

from server.debate.facts.errors import DebateError
from server.debate.views import audit as logs
from server.debate.views import markdown
from server.engine.debates import DebateManager
from server.engine.errors import DebateNotFoundError
from server.engine.queries import DebateRow, as_json, build_view, list_debates, render_view
from server.engine.runner import DebateSnapshot

MARKDOWN = "text/markdown"
JSON = "application/json"
PAGE_SIZE = 50
MAX_COMPLETIONS = 100
"""The most values the protocol lets a completion have."""

ResourceReader = Callable[..., Awaitable[str]]

INDEX_RESOURCE = Resource(
    uri="debate://index",
    name="index",
    title="All debates",
    description="The newest debates, with their ids",
    mime_type=JSON,
    annotations=Annotations(audience=["assistant"], priority=0.9),
)


async def read_state(debate_id: str, ctx: Context[DebateManager, Any]) -> str:
    """Who debates what, how far it is, what it cost. `debate://index` lists the newest debates."""
    if debate_id == "index":
        rows, following = await load_index_page(ctx)
        return as_json({"debates": [row.model_dump() for row in rows], "cursor": following})
    return as_json(build_view(await load_snapshot(ctx, debate_id), "state"))


async def read_transcript(
    debate_id: str,
    ctx: Context[DebateManager, Any],
    format: str = "markdown",  # noqa: A002  (the parameter's name is a contract)
    since: str = "0",
) -> str:
    """Everything said. format: markdown or json; since: a round."""
    number = parse_whole_number(since, "since")
    found = await load_snapshot(ctx, debate_id)
    if format in ("markdown", "md"):
        return render_view(found, "transcript", number)
    if format == "json":
        return as_json(build_view(found, "transcript", number))
    raise ResourceNotFoundError(f"There is no format {format[:40]!r}: markdown or json.")


async def read_round(debate_id: str, round: str, ctx: Context[DebateManager, Any]) -> str:  # noqa: A002  (as above)
    """The turns, judgments and failures of one round."""
    number = parse_whole_number(round, "round")
    found = await load_snapshot(ctx, debate_id)
    if not 1 <= number <= found.debate.round:
        raise ResourceNotFoundError(
            f"Debate {debate_id} has {found.debate.round} rounds so far, no {number}."
        )
    return as_json(logs.round_view(found.debate, number))


async def read_verdict(debate_id: str, ctx: Context[DebateManager, Any]) -> str:
    """The finding, its votes, dissent and cost."""
    found = await load_snapshot(ctx, debate_id)
    if not markdown.has_result(found.debate):
        none = "No verdict" if found.debate.ended else "No verdict yet"
        return f"{none}: the debate is {found.status}, round {found.debate.round}.\n"
    return markdown.render_verdict(found.debate)


def build_view_reader(view: str, description: str) -> ResourceReader:
    async def read_json(debate_id: str, ctx: Context[DebateManager, Any]) -> str:
        return as_json(build_view(await load_snapshot(ctx, debate_id), view))

    read_json.__doc__ = description
    return read_json


TEMPLATES: tuple[tuple[str, str, str, ResourceReader], ...] = (
    ("", "State", JSON, read_state),
    ("/transcript{?format,since}", "Transcript", MARKDOWN, read_transcript),
    ("/rounds/{round}", "One round", JSON, read_round),
    ("/verdict", "Verdict", MARKDOWN, read_verdict),
    ("/analysis", "Analysis", JSON, build_view_reader("analysis", "Counts by round, debater and judge.")),
    (
        "/interventions",
        "Interventions",
        JSON,
        build_view_reader("interventions", "Who steered it, how and why."),
    ),
    ("/receipt", "Receipt", JSON, build_view_reader("receipt", "The head of the record's hash chain.")),
    ("/events", "Events", JSON, build_view_reader("events", "Every recorded fact, in order.")),
)


def add_resources(mcp: MCPServer[DebateManager]) -> None:
    """Register the templates.

    Parameters come as text and are parsed here: the SDK's own parsing answers with a traceback in the log.
    """
    for path, title, mime_type, reader in TEMPLATES:
        name = path.strip("/").partition("{")[0].strip("/") or "debate"
        mcp.resource("debate://{debate_id}" + path, name=name, title=title, mime_type=mime_type)(reader)


async def load_snapshot(ctx: Context[DebateManager, Any], debate_id: str) -> DebateSnapshot:
    hall: DebateManager = ctx.request_context.lifespan_context
    try:
        return await hall.load(debate_id)
    except DebateNotFoundError as error:
        raise ResourceNotFoundError(str(error)) from error
    except DebateError as error:
        raise ResourceError(str(error)) from error


async def load_index_page(ctx: Context[DebateManager, Any]) -> tuple[list[DebateRow], str]:
    hall: DebateManager = ctx.request_context.lifespan_context
    try:
        return await list_debates(hall.journal, limit=PAGE_SIZE)
    except DebateError as error:
        raise ResourceError(str(error)) from error


def parse_whole_number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):  # noqa: PLR2004  (no round has ten digits)
        raise ResourceNotFoundError(f"{name} must be a whole number, and {text[:40]!r} is none.")
    return int(text)


async def list_resources(
    ctx: ServerRequestContext[DebateManager, Any], params: PaginatedRequestParams
) -> ListResourcesResult:
    """`resources/list` out of the database, a page at a time, newest first. The SDK's own never pages."""
    cursor = params.cursor or ""
    try:
        rows, following = await list_debates(ctx.lifespan_context.journal, cursor=cursor, limit=PAGE_SIZE)
    except DebateError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    first = [] if cursor else [INDEX_RESOURCE]
    return ListResourcesResult(
        resources=[*first, *(build_transcript_resource(row) for row in rows)], next_cursor=following or None
    )


def build_transcript_resource(row: DebateRow) -> Resource:
    return Resource(
        uri=f"debate://{row.debate_id}/transcript",
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
    """Debate ids, newest first, and the formats of a transcript."""
    name, begun = params.argument.name, params.argument.value
    if not isinstance(params.ref, ResourceTemplateReference):
        return CompleteResult(completion=Completion(values=[]))
    if name == "format":
        formats = [value for value in ("markdown", "json") if value.startswith(begun)]
        return CompleteResult(completion=Completion(values=formats))
    if name != "debate_id":
        return CompleteResult(completion=Completion(values=[]))
    found = await ctx.lifespan_context.journal.find_by_prefix(begun, limit=MAX_COMPLETIONS + 1)
    return CompleteResult(
        completion=Completion(values=found[:MAX_COMPLETIONS], has_more=len(found) > MAX_COMPLETIONS)
    )


def is_json_requested(uri: str) -> bool:
    """A template has one type of content; the transcript's can be asked for in another."""
    return parse_qs(urlsplit(uri).query).get("format") == ["json"]


def add_handlers(mcp: MCPServer[DebateManager]) -> None:
    """Requests for which MCPServer has no hook: paging and completion out of the database, types of content.

    `_lowlevel_server` is private to the SDK; `tests/mcp/test_resources.py` notices when it goes.
    """
    lowlevel = mcp._lowlevel_server  # noqa: SLF001
    served = lowlevel.get_request_handler("resources/read")
    assert served is not None

    async def read_with_content_type(
        ctx: ServerRequestContext[DebateManager, Any], params: ReadResourceRequestParams
    ) -> HandlerResult:
        found = await served.handler(ctx, params)
        if isinstance(found, ReadResourceResult) and is_json_requested(str(params.uri)):
            for content in found.contents:
                content.mime_type = JSON
        return found

    lowlevel.add_request_handler("resources/read", ReadResourceRequestParams, read_with_content_type)
    lowlevel.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    lowlevel.add_request_handler("completion/complete", CompleteRequestParams, complete)
