"""The page of a debate as an MCP App (SEP-1865): a document that hosts show beside the results of tools.

The document is the same for every debate. It asks for the debate of the result that it is shown beside with a tool of
its own, `watch_debate`, which models are not shown, and lets its reader steer with the tools that models have.
"""

from collections.abc import Iterable
from functools import cache
from hashlib import sha256

from mcp import MCPError, types

from server.mcp.late_manager import RequestContext
from server.tools.listing import APPS, declares
from server.web.page import FOLDER, Place, build_page

MEDIA_TYPE = "text/html;profile=mcp-app"
ADDRESS = "ui://counterpoint/"
SHOWN_BESIDE = ("start_debate", "step_round", "get_verdict")
"""The tools beside whose results the page is shown."""

WATCH = "watch_debate"


@cache
def build_document() -> str:
    script = (FOLDER / "assets" / "mcp.js").read_text(encoding="utf-8")
    return build_page(None, Place(script=script))


@cache
def build_address() -> str:
    """Changes with the document: hosts keep documents by their addresses."""
    return f"{ADDRESS}debate-{sha256(build_document().encode()).hexdigest()[:16]}.html"


def list_tools(context: RequestContext, listed: Iterable[types.Tool]) -> list[types.Tool]:
    """The tools of models, with the page beside some; for a host that shows apps also the one of the page.

    A host that shows none would offer that to its model. Whether the page is named does not depend on what a host
    declares: some show it without.
    """
    shown = {"ui": {"resourceUri": build_address()}, "ui/resourceUri": build_address()}
    tools = [
        tool.model_copy(update={"meta": shown}) if tool.name in SHOWN_BESIDE else tool for tool in listed
    ]
    return [*tools, build_watch_tool()] if declares(context, APPS) else tools


def build_watch_tool() -> types.Tool:
    fields = {
        "debate_id": {"type": "string"},
        "question": {"type": "string", "description": "In place of debate_id: of a call under way"},
        "since_seq": {"type": "integer", "description": "The last entry that is there. Default: 0"},
    }
    return types.Tool(
        name=WATCH,
        title="Watch a debate",
        description="What is new of a debate, for the page that shows it.",
        input_schema={"type": "object", "properties": fields},
        annotations=types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
        _meta={"ui": {"visibility": ["app"]}},
    )


def read_app(params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """The document, also under an address of an earlier release, which a host may have kept."""
    name = params.uri.removeprefix(f"{ADDRESS}debate-").removesuffix(".html")
    if params.uri != f"{ADDRESS}debate-{name}.html" or not name.isalnum():
        raise MCPError(types.INVALID_PARAMS, f"There is no such app: {build_address()} is the one.")
    content = types.TextResourceContents(
        uri=params.uri,
        text=build_document(),
        mime_type=MEDIA_TYPE,
        # It has everything in it: nothing is asked of the network.
        _meta={"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": False}},
    )
    return types.ReadResourceResult(contents=[content])
