"""Debates as MCP resources: every view under its address, listed newest first in pages, ids completed."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from mcp import MCPError, types

from server.debate.facts.errors import DebateError, InvalidRequestError
from server.debate.facts.quoting import quote_inline
from server.debate.facts.text import remove_invisible
from server.debate.views.catalog import ALL_VIEWS, JSON, MARKDOWN, View, format_json
from server.debate.views.provenance import describe_provenance
from server.engine.database.errors import DebateNotFoundError
from server.engine.debates import DebateManager
from server.engine.queries import DebateRow, find_debate_id, list_debates, load_view_source
from server.mcp.late_manager import RequestContext
from server.mcp.subscriptions import SCHEME
from server.redaction import redact
from server.tools.debates import WITH_OPTIONS
from server.tools.pages import OPTIONS, render_options

PAGE_SIZE = 50
MAX_SHOWN_ADDRESS = 200  # characters of an invalid address in an error
MAX_COMPLETIONS = 100  # the most values that the protocol allows in a completion
FORMATS = {"markdown": MARKDOWN, "json": JSON}
CURSORS = {"since": "since_round", "since_seq": "since_seq"}
"""Parameters of views, by their names in addresses: a reader continues after this round or entry."""

PATHS = {{"state": "", "round": "rounds"}.get(view.name, view.name): view for view in ALL_VIEWS}
"""The views by their paths, which follow a debate's id in addresses."""

INDEX_RESOURCE = types.Resource(
    uri=f"{SCHEME}index",
    name="index",
    title="All debates",
    description="The newest debates, with their ids",
    mime_type=JSON,
    annotations=types.Annotations(audience=["assistant"], priority=0.9),
)

OPTIONS_RESOURCE = types.Resource(
    uri=f"{SCHEME}{OPTIONS}",
    name=OPTIONS,
    title="All options",
    description="All that tools take, with types",
    mime_type=MARKDOWN,
    annotations=types.Annotations(audience=["assistant"], priority=0.7),
)


def build_template(path: str, view: View) -> types.ResourceTemplate:
    number = "/{round}" if view.name == "round" else ""
    query = ["format"] if view.render else []
    query += [name for name, parameter in CURSORS.items() if parameter in view.parameters]
    return types.ResourceTemplate(
        uri_template=f"{SCHEME}{{debate_id}}{path and '/'}{path}{number}"
        + (f"{{?{','.join(query)}}}" if query else ""),
        name=view.name,
        title=view.name.capitalize(),
        description=view.description,
        mime_type=view.media_type,
    )


TEMPLATES = [build_template(path, view) for path, view in PATHS.items()]


async def list_templates(_context: RequestContext, _params: object) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)


async def read_resource(
    context: RequestContext, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    """Raises MCPError: invalid parameters for an address of nothing, internal error for what cannot be read."""
    manager, uri = await context.lifespan_context.get(), params.uri
    try:
        await manager.presence.reopen_if_told()
        if uri == INDEX_RESOURCE.uri:
            rows, cursor = await list_debates(manager, limit=PAGE_SIZE)
            index = {
                "debates": [row.model_dump(include={*DebateRow.model_fields}) for row in rows],
                "cursor": cursor,
            }
            text, media_type = format_json(index), JSON
        elif uri == OPTIONS_RESOURCE.uri:
            text, media_type = render_options(*WITH_OPTIONS), MARKDOWN
        else:
            text, media_type = await read_view(manager, uri)
    except DebateError as error:
        manager.presence.acknowledge(error)
        is_unknown = isinstance(error, DebateNotFoundError | InvalidRequestError)
        code = types.INVALID_PARAMS if is_unknown else types.INTERNAL_ERROR
        raise MCPError(
            code,
            redact(remove_invisible(str(error))),
            {"uri": redact(remove_invisible(uri[:MAX_SHOWN_ADDRESS]))},
        ) from error
    content = types.TextResourceContents(uri=uri, text=redact(text), mime_type=media_type)
    return types.ReadResourceResult(contents=[content])


async def read_view(manager: DebateManager, uri: str) -> tuple[str, str]:
    """The text of a view, and its media type."""
    try:
        address = urlsplit(uri)
    except ValueError:
        raise InvalidRequestError(f"This is not an address: {quote_inline(uri, MAX_SHOWN_ADDRESS)}") from None
    path, _, number = address.path.removeprefix("/").partition("/")
    view = PATHS.get(path)
    if address.scheme != "debate" or not view or (view.name == "round") != bool(number):
        raise InvalidRequestError(f"Unknown resource: {quote_inline(uri, MAX_SHOWN_ADDRESS)}")
    query = dict(parse_qsl(address.query))
    media_type = FORMATS.get(query["format"]) if "format" in query else view.media_type
    if not media_type or (media_type == MARKDOWN and not view.render):
        raise InvalidRequestError(f"There is no format {query['format'][:40]!r}: markdown or json.")
    part = {"round": number or "0"} | {name: query[name] for name in CURSORS if name in query}
    for name, text in part.items():
        if not re.fullmatch("[0-9]{1,9}", text):
            raise InvalidRequestError(f"{name} must be a whole number, not {text[:40]!r}.")
    numbers = {CURSORS.get(name, name): int(text) for name, text in part.items()}
    debate_id = await find_debate_id(manager, unquote(address.netloc))
    source = await load_view_source(manager, debate_id, view, **numbers)
    return view.render_text(source) if media_type == MARKDOWN else format_json(view.build(source)), media_type


async def list_resources(
    context: RequestContext, params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    """A page of debates, newest first. The first page begins with the list itself and the options."""
    manager, cursor = await context.lifespan_context.get(), (params and params.cursor) or ""
    try:
        rows, next_cursor = await list_debates(manager, cursor=cursor, limit=PAGE_SIZE)
    except DebateError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error
    resources = [] if cursor else [INDEX_RESOURCE, OPTIONS_RESOURCE]
    resources += map(build_transcript_resource, rows)
    return types.ListResourcesResult(resources=resources, next_cursor=next_cursor or None)


def build_transcript_resource(row: DebateRow) -> types.Resource:
    return types.Resource(
        uri=f"{SCHEME}{row.debate_id}/transcript",
        name=f"{row.debate_id}-transcript",
        title=row.question[:80] or None,
        description=", ".join(filter(None, (row.status, row.format, describe_provenance(row.provenance)))),
        mime_type=MARKDOWN,
        annotations=types.Annotations(
            audience=["user", "assistant"], priority=0.5, last_modified=row.changed_at or None
        ),
    )


async def complete(context: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Completions for addresses and for arguments of prompts: debate ids, formats and rounds."""
    name, prefix = params.argument.name, params.argument.value
    manager, values = await context.lifespan_context.get(), list[str]()
    if name == "debate_id":
        values = await list_debate_ids(manager, prefix, MAX_COMPLETIONS + 1)
    elif isinstance(params.ref, types.ResourceTemplateReference):
        if name == "format":
            values = [value for value in FORMATS if value.startswith(prefix)]
        elif name in ("round", "since"):
            arguments = params.context.arguments if params.context else None
            values = [number for number in await list_rounds(manager, arguments) if number.startswith(prefix)]
    has_more = len(values) > MAX_COMPLETIONS
    return types.CompleteResult(
        completion=types.Completion(values=values[:MAX_COMPLETIONS], has_more=has_more)
    )


async def list_debate_ids(manager: DebateManager, prefix: str, limit: int) -> list[str]:
    """The debates whose ids begin with `prefix`; the newest ones if nothing is typed yet."""
    if prefix:
        return await manager.store.find_by_prefix(prefix, limit)
    return [listing.stream for listing in await manager.store.find(limit=limit)]


async def list_rounds(manager: DebateManager, arguments: Mapping[str, str] | None) -> list[str]:
    """The round numbers of the debate in the arguments typed before; none if there is no such debate."""
    try:
        snapshot = await manager.load((arguments or {}).get("debate_id", ""))
    except DebateNotFoundError:
        return []
    return [str(entry.round) for entry in snapshot.debate.rounds]
