"""The addresses of the site, all relative to where it is mounted.

    GET  /                      the list, as a page
    GET  /list                  a page of the list, as data
    GET  /events                what changes, as server-sent events
    GET  /debates/ID            a debate, as a page
    GET  /debates/ID/record     what is new in it, as data
    POST /debates/ID/presses    a button
    GET  /debates/ID/page.html  its page as a file, with nothing of the site in it
    GET  /choices               what a new debate can be made of
    POST /estimate              what a debate would cost
    POST /debates               a new debate
    POST /documents             the text of a file that is no plain text, where this machine is the visitor's own
    POST /keys                  a key of a provider, likewise

Reading runs nothing and costs nothing. Errors are sentences; in data they stand in `error`.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from html import escape
from pathlib import Path

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from server.debate.commands.requests import DebateRequest
from server.debate.facts.errors import DebateError, require
from server.debate.facts.text import clean_line
from server.engine.database.errors import DebateNotFoundError, StorageUnavailableError
from server.engine.debates import DebateManager
from server.engine.queries import find_known_values
from server.models.registry import NoModelError
from server.redaction import redact_error
from server.web.page import Place, build_page, build_policy, read_scripts, read_style
from server.web.record import load_debate_data
from server.web.site.asking import (
    Key,
    estimate_debate,
    list_choices,
    parse,
    read_file,
    start_debate,
    store_key,
)
from server.web.site.feed import ChangeFeed, EventStream
from server.web.site.listing import NARROWING, build_form, load_list
from server.web.site.presses import Press, perform
from server.web.site.records import Records

SCRIPT = (Path(__file__).parent / "site.js").read_text(encoding="utf-8")
PLACE = Place(SCRIPT, connect="'self'", send="'self'")
POLICY = f"{build_policy(PLACE, (*read_scripts(), PLACE.script), read_style())}; frame-ancestors 'none'"

MAX_BODY = 64_000  # bytes of a press
MAX_REQUEST = 8_000_000  # bytes of a question with its documents
MAX_FILE = 20_000_000  # bytes of a file that is read
BODY_TIMEOUT = 10.0  # seconds until a press has arrived
MAX_STREAMS = 100
MAX_NAME = 200  # characters of a file's name

NO_MODEL = (
    "No model is set up. Choose one, or store the key of its provider: under Keys of providers, or with "
    "`counterpoint keys set` where the server runs."
)
SMALLER = "Leave something out, or keep only the part that matters."

logger = logging.getLogger(__name__)


class Visitor:
    """Who sends a request: the debates that they see, the changes of these, and their name for the record.

    `owns_machine`: whether this machine is theirs, with the keys that are stored on it and the files that it reads.
    """

    def __init__(self, manager: DebateManager, actor: str, *, owns_machine: bool = False) -> None:
        self.manager, self.actor, self.owns_machine = manager, actor, owns_machine
        self.feed, self.records = ChangeFeed(manager), Records(manager)


FindVisitor = Callable[[Request], Visitor]
Answer = Callable[[Request, Visitor], Awaitable[Response]]


def build_site(find_visitor: FindVisitor) -> Starlette:
    """The application. `find_visitor`: says whose request it is; a guard in front of the application has let it in."""

    def serve(answer: Answer, *, is_page: bool = False) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            visitor = find_visitor(request)
            try:
                return await answer(request, visitor)
            except DebateError as error:
                if is_page or request.method == "POST":  # what a person asked for, not what a page refreshes
                    visitor.manager.presence.acknowledge(error)
                text = NO_MODEL if isinstance(error, NoModelError) else redact_error(str(error))
                status = choose_status(error)
            except HTTPException as error:
                status, text = error.status_code, error.detail
            except ClientDisconnect:
                status, text = 400, "The request was broken off."
            except Exception as error:
                logger.exception("%s %s failed", request.method, request.url.path.rpartition("/")[2])
                defect = f"This failed with {type(error).__name__}, which is a defect of this server."
                status, text = 500, f"{defect} What was recorded is kept. Details are in the server's log."
            return (
                build_error_page(request, text, status) if is_page else JSONResponse({"error": text}, status)
            )

        return endpoint

    return Starlette(
        routes=[
            Route("/", serve(show_list, is_page=True)),
            Route("/list", serve(send_list)),
            Route("/events", serve(send_events)),
            Route("/debates/{debate_id}", serve(show_debate, is_page=True)),
            Route("/debates/{debate_id}/record", serve(send_record)),
            Route("/debates/{debate_id}/presses", serve(handle_press), methods=["POST"]),
            Route("/debates/{debate_id}/page.html", serve(send_page, is_page=True)),
            Route("/choices", serve(send_choices)),
            Route("/estimate", serve(send_estimate), methods=["POST"]),
            Route("/debates", serve(handle_question), methods=["POST"]),
            Route("/documents", serve(send_text), methods=["POST"]),
            Route("/keys", serve(handle_key), methods=["POST"]),
        ]
    )


def choose_status(error: DebateError) -> int:
    if isinstance(error, DebateNotFoundError):
        return 404
    return 503 if isinstance(error, StorageUnavailableError) else 409


def build_html(page: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(page, status, {"content-security-policy": POLICY})


def build_error_page(request: Request, text: str, status: int) -> HTMLResponse:
    """A page with a sentence, and the way back to the list."""
    root = ".." if request.path_params else "."
    back = f"<p><a href='{root}'>All debates</a></p>"
    head = "<!doctype html><html lang='en'><meta charset='utf-8'><title>Counterpoint</title>"
    return HTMLResponse(f"{head}<main><h1>Counterpoint</h1><p>{escape(text)}</p>{back}</main></html>", status)


async def show_list(request: Request, visitor: Visitor) -> Response:
    await visitor.manager.presence.reopen_if_told()
    search = read_search(request)
    listed, known = await load_list(visitor.manager, search), await find_known_values(visitor.manager)
    form = build_form(search, known, is_hidden=not listed["rows"] and not any(search.values()))
    content = (
        f'<header class="head"><h1>Debates</h1></header><main id="main">{form}'
        f'<div id="list">{listed["html"]}</div></main>'
    )
    return build_html(build_page(None, PLACE, content))


async def send_list(request: Request, visitor: Visitor) -> Response:
    return JSONResponse({"list": await load_list(visitor.manager, read_search(request))})


def read_search(request: Request) -> dict[str, str]:
    return {name: request.query_params.get(name, "")[:1_000] for name in (*NARROWING, "cursor")}


async def show_debate(request: Request, visitor: Visitor) -> Response:
    await visitor.manager.presence.reopen_if_told()
    debate_id = request.path_params["debate_id"]
    return build_html(build_page(await load_debate_data(visitor.manager, debate_id), PLACE))


async def send_record(request: Request, visitor: Visitor) -> Response:
    """What `Records.load` returns; 304 if nothing is new since the request's `ETag`.

    Query: `since` for the entries after this one; `family` to have its relatives even then.
    """
    since = request.query_params.get("since", "")
    since_seq = int(since) if re.fullmatch("[0-9]{1,9}", since) else 0
    with_family = not since_seq or bool(request.query_params.get("family"))
    version = await visitor.records.load_version(
        request.path_params["debate_id"], since_seq, with_family=with_family
    )
    headers = {"etag": version.tag}
    if request.headers.get("if-none-match") == version.tag:
        return Response(status_code=304, headers=headers)
    return Response(await visitor.records.load(version), headers=headers, media_type="application/json")


async def send_events(_request: Request, visitor: Visitor) -> Response:
    if len(visitor.feed.followers) >= MAX_STREAMS:
        raise HTTPException(503, f"More than {MAX_STREAMS} pages are open.")
    return EventStream(visitor.feed.follow())


async def handle_press(request: Request, visitor: Visitor) -> Response:
    """{"line": a sentence on what was done}."""
    press = parse(Press, await read_body(request))
    await visitor.manager.presence.reopen_if_told()
    line = await perform(visitor.manager, request.path_params["debate_id"], press, visitor.actor)
    return JSONResponse({"line": line})


async def send_page(request: Request, visitor: Visitor) -> Response:
    debate_id = request.path_params["debate_id"]
    page = build_page(await load_debate_data(visitor.manager, debate_id))
    headers = {"content-disposition": f'attachment; filename="debate-{debate_id}.html"'}
    return HTMLResponse(page, headers=headers)


async def send_choices(_request: Request, visitor: Visitor) -> Response:
    return JSONResponse(await list_choices(visitor.manager, owns_machine=visitor.owns_machine))


async def send_estimate(request: Request, visitor: Visitor) -> Response:
    debate_request = parse(DebateRequest, await read_body(request, MAX_REQUEST))
    return JSONResponse(await estimate_debate(visitor.manager, debate_request))


async def handle_question(request: Request, visitor: Visitor) -> Response:
    debate_request = parse(DebateRequest, await read_body(request, MAX_REQUEST))
    await visitor.manager.presence.reopen_if_told()
    return JSONResponse(await start_debate(visitor.manager, debate_request, visitor.actor), 201)


async def send_text(request: Request, visitor: Visitor) -> Response:
    """{"text": the text of the file that the body is}. Query: `name`, its name."""
    name = clean_line(request.query_params.get("name", ""))[:MAX_NAME] or "The file"
    require(visitor.owns_machine, f"This server reads plain text only. Save {name} as text first.")
    content = await read_body(request, MAX_FILE, media_type="application/octet-stream")
    return JSONResponse(await read_file(name, content))


async def handle_key(request: Request, visitor: Visitor) -> Response:
    require(visitor.owns_machine, "Keys are set where the server runs: counterpoint keys set PROVIDER.")
    return JSONResponse(await store_key(visitor.manager, parse(Key, await read_body(request))))


async def read_body(
    request: Request,
    limit: int = MAX_BODY,
    seconds: float = BODY_TIMEOUT,
    media_type: str = "application/json",
) -> bytes:
    """A body of a type that pages of other sites cannot send without a preflight.

    Raises HTTPException if it is of another type, large or slow.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != media_type:
        raise HTTPException(415, f"A request is sent as {media_type}.")
    body = bytearray()
    with anyio.move_on_after(seconds) as patience:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise HTTPException(413, f"This is too large: {limit:,} bytes are allowed. {SMALLER}")
    if patience.cancelled_caught:
        raise HTTPException(408, "The request did not arrive in time. Try again.")
    return bytes(body)
