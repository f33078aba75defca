"""The page of a debate as an MCP App (SEP-1865): a document that hosts show beside the results of tools.

The document is the same for every debate. It loads the debate of the result beside it with a tool of its own,
`watch_debate`, which is hidden from models. Its buttons call the same tools that models use.
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
    """The address of the document. It changes with the document, because hosts cache documents by address."""
    return f"{ADDRESS}debate-{sha256(build_document().encode()).hexdigest()[:16]}.html"


def list_tools(context: RequestContext, tools: Iterable[types.Tool]) -> list[types.Tool]:
    """The tools of models, with the page's address on some of them; for hosts that declare apps also the page's tool.

    Other hosts would offer the page's tool to their model. The address is always given: some hosts show the page
    without declaring apps.
    """
    meta = {"ui": {"resourceUri": build_address()}, "ui/resourceUri": build_address()}
    with_page = [
        tool.model_copy(update={"meta": {**(tool.meta or {}), **meta}}) if tool.name in SHOWN_BESIDE else tool
        for tool in tools
    ]
    return [*with_page, build_watch_tool()] if declares(context, APPS) else with_page


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
    """The document, also under the address of another release, which a host may have cached."""
    name = params.uri.removeprefix(f"{ADDRESS}debate-").removesuffix(".html")
    if params.uri != f"{ADDRESS}debate-{name}.html" or not name.isalnum():
        raise MCPError(types.INVALID_PARAMS, f"There is no such app: {build_address()} is the one.")
    content = types.TextResourceContents(
        uri=params.uri,
        text=build_document(),
        mime_type=MEDIA_TYPE,
        # The document is complete: it needs nothing from the network.
        _meta={"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": False}},
    )
    return types.ReadResourceResult(contents=[content])
