"""The pages of `counterpoint view` over HTTP: a person signs in with a token, and sees the debates of its owner.

The cookie is the random id of a page session, of use for nothing else, that ends with the token. No script can read it,
and no other site can use it. Without tokens nobody has to sign in. A press of a button comes from a page of this host,
and needs the scope to debate.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from server.caller import DEBATE, READ, Caller, read_caller
from server.debate.facts.errors import DebateError
from server.engine.debates import DebateManager
from server.http_server.authentication import FORWARDED_REFUSAL, Accounts, RatedRequests, tell_unread
from server.http_server.gate import is_forwarded, refuse
from server.http_server.limits import BoundedBodies, RequestRates
from server.web.connections import find_network
from server.web.site.routes import Visitor, build_site
from storage.errors import StorageError

PAGE_PATH = "/view"
COOKIE = "counterpoint"
ACTOR = "page"
MAX_FORM = 20_000  # bytes
READING = ("GET", "HEAD")
FORM_PATH = "/choices"
"""Read to fill the form for a question, of no use to those who may not ask."""

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:32em;margin:4em auto;padding:0 1em}"
    "input,button{font:inherit;padding:.4em .6em;box-sizing:border-box}input{width:100%;margin:.3em 0 1em}"
)
POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class Visitors:
    """What each owner's pages follow: one feed for all pages of an owner."""

    def __init__(self, manager: DebateManager) -> None:
        self.manager = manager
        self._known: dict[str, Visitor] = {}

    def find(self, _request: Request) -> Visitor:
        owner = read_caller().owner
        if owner not in self._known:
            own = self.manager.of(owner)
            self._known[owner] = visitor = Visitor(own, ACTOR)
            self.manager.keep_running(visitor.feed.run)
        return self._known[owner]

    def close_streams(self) -> None:
        for visitor in self._known.values():
            visitor.feed.close()


def build_pages(accounts: Accounts, visitors: Visitors, rates: RequestRates, max_body: int) -> Starlette:
    """The application below PAGE_PATH: the site, and the page where one signs in and out."""
    forms = SignIn(accounts, rates)
    site = BoundedBodies(OwnPages(build_site(visitors.find)), max_bytes=max_body)
    return Starlette(
        routes=[
            Route("/sign-in", forms.show, methods=["GET"]),
            Route("/sign-in", BoundedBodies(OwnPages(forms.take), max_bytes=MAX_FORM), methods=["POST"]),
            Route("/sign-out", OwnPages(forms.sign_out), methods=["POST"]),
            Mount("/", SignedIn(RatedRequests(site, rates), accounts)),
        ]
    )


class OwnPages:
    """What changes something comes from a page of this host, as browsers say in `Origin`, which the gate compares."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_told = "origin" in Headers(scope=scope)
        refusal = refuse(403, "Only pages of this server may do that.")
        await (self.app if is_told or scope["method"] in READING else refusal)(scope, receive, send)


class SignedIn:
    """Lets those in who have signed in, or where nobody has to; shows others the page where they can."""

    def __init__(self, app: ASGIApp, accounts: Accounts) -> None:
        self.app, self.accounts = app, accounts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal: Response | None = None
        verified, headers = None, Headers(scope=scope)
        session_id = find_cookie(headers)
        try:
            verified = await self.accounts.page_sessions.verify(session_id)
            if verified:
                asks = scope["method"] not in READING or scope["path"].endswith(FORM_PATH)
                needed = DEBATE if asks else READ
                if not Caller(str(verified.subject), frozenset(verified.scopes)).may(needed):
                    refusal = refuse(403, f"This needs the scope {needed}, which your token does not have.")
            elif await self.accounts.are_needed():
                is_page = "text/html" in headers.get("accept", "") and scope["method"] in READING
                address = f"{scope['root_path']}/sign-in"
                refusal = RedirectResponse(address, 303) if is_page else refuse(401, "Sign in again.")
            elif is_forwarded(headers):
                refusal = refuse(403, FORWARDED_REFUSAL)
        except (DebateError, StorageError) as error:
            refusal = refuse(503, tell_unread(error))
        await self.accounts.answer(refusal or self.app, scope, receive, send, session_id, verified)


def find_cookie(headers: Headers) -> str:
    """The id of a browser's page session; "" without one."""
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


class SignIn:
    """The page where one signs in with a token, and out again."""

    def __init__(self, accounts: Accounts, rates: RequestRates) -> None:
        self.accounts, self.rates = accounts, rates

    async def show(self, request: Request) -> Response:
        try:
            verified = await self.accounts.page_sessions.verify(find_cookie(request.headers))
        except (DebateError, StorageError):
            return build_form("The tokens cannot be read now.", 503)
        if verified is None:
            return build_form()
        owner = escape(str(verified.subject))
        return build_html(
            f"<p>You are signed in as {owner}.</p><p><a href='./'>All debates</a></p>"
            "<form method='post' action='sign-out'><button>Sign out</button></form>"
        )

    async def take(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A form with a token: the cookie, or the form again. An address may send so many as an owner may requests."""
        fields = parse_qs(scope["body"].decode(errors="replace"), max_num_fields=10)
        token = fields.get("token", [""])[0].strip()
        try:
            response = await self._sign_in(token, scope)
        except (DebateError, StorageError):
            response = build_form("The tokens cannot be read now.", 503)
        await response(scope, receive, send)

    async def _sign_in(self, token: str, scope: Scope) -> Response:
        host = scope["client"][0] if scope.get("client") else ""
        if wait := self.rates.take(f"address {find_network(host)}"):
            return ask_later(wait)
        verified = await self.accounts.verify(token) if token else None
        if verified is None:
            return build_form("This token is not good.", 401)
        owner = str(verified.subject)
        if not Caller(owner, frozenset(verified.scopes)).may(READ):
            return build_form("This token may not read debates.", 403)
        if wait := self.rates.take(owner):
            return ask_later(wait)
        session_id, response = (
            await self.accounts.page_sessions.open(token, verified),
            RedirectResponse("./", 303),
        )
        response.set_cookie(
            COOKIE, session_id, path=PAGE_PATH, httponly=True, samesite="lax", secure=is_secure(scope)
        )
        return response

    async def sign_out(self, scope: Scope, receive: Receive, send: Send) -> None:
        response: Response = RedirectResponse("sign-in", 303)
        try:
            await self.accounts.page_sessions.end(find_cookie(Headers(scope=scope)))
        except StorageError:
            response = build_form("You cannot be signed out now: the database does not answer.", 503)
        response.delete_cookie(COOKIE, path=PAGE_PATH, httponly=True, samesite="lax", secure=is_secure(scope))
        await response(scope, receive, send)


def is_secure(scope: Scope) -> bool:
    """Whether the browser asks by TLS, which a proxy in front may end."""
    return Headers(scope=scope).get("x-forwarded-proto", scope["scheme"]) == "https"


def ask_later(seconds: int) -> HTMLResponse:
    response = build_form("You ask too often. Wait a moment.", 429)
    response.headers["retry-after"] = str(seconds)
    return response


def build_form(problem: str = "", status: int = 200) -> HTMLResponse:
    alert = f"<p role='alert'>{escape(problem)}</p>" if problem else ""
    return build_html(
        f"{alert}<form method='post' action='sign-in'><label>Token <input type='password' name='token' required "
        "autofocus autocomplete='current-password'></label><button>Sign in</button></form>"
        "<p>Who runs this server makes one: <code>counterpoint token new OWNER</code></p>",
        status,
    )


def build_html(content: str, status: int = 200) -> HTMLResponse:
    head = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Counterpoint</title><style>{STYLE}</style>"
    page = f"{head}<main><h1>Counterpoint</h1>{content}</main></html>"
    return HTMLResponse(page, status, {"content-security-policy": POLICY})
