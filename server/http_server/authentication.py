"""Who sends a request, and whether they may: 401 without a token that is good, 403 without the scope that it takes.

What is verified is put where `server.caller` looks for it. It is set for each request, also to nobody: requests
on one connection would inherit it from each other.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, TokenVerifier
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from server.access.hosts import find_public_host
from server.access.oidc import OidcTokens
from server.access.tokens import PageSessions, StoredTokens, TokenFile
from server.caller import DEBATE, READ, SCOPES, read_caller
from server.debate.facts.errors import DebateError, InvalidRequestError, require
from server.http_server.gate import MCP_PATH, Place, is_forwarded, refuse
from server.http_server.limits import RequestRates
from server.http_server.open_requests import OpenRequests
from server.settings import Settings
from server.tools.listing import find_scope
from server.web.connections import MAX_CONNECTIONS
from storage.errors import BusyError, OutageError, StorageError
from storage.storage import Storage

METADATA_PATH = "/.well-known/oauth-protected-resource"
MAX_TOKEN_LENGTH = 16_000

NO_TOKENS = (
    "{netloc} can be reached from other machines, and there are no tokens. Make one (counterpoint token new OWNER), "
    "set COUNTERPOINT_OIDC_ISSUER, or serve 127.0.0.1."
)
NO_TOKENS_NAMED = (
    "COUNTERPOINT_HTTP_HOSTS names {host}, as for a proxy in front, through which others reach {netloc}, and there are "
    "no tokens. Make one (counterpoint token new OWNER), set COUNTERPOINT_OIDC_ISSUER, or leave that host out."
)
FORWARDED_REFUSAL = (
    "This request came through a proxy, and without tokens only this machine is served. Who runs this server makes "
    "one: counterpoint token new OWNER"
)


class Accounts:
    """Those who may use a server. Without any, everybody on this machine may, where nobody else can reach it."""

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        place: Place,
        most_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self.store = TokenFile(settings.tokens) if settings.tokens else storage.tokens
        stored_tokens = StoredTokens(self.store)
        self.verifiers: list[TokenVerifier] = [stored_tokens]
        self.page_sessions = PageSessions(storage.page_sessions, stored_tokens)
        self.oidc = OidcTokens.find(settings)
        if self.oidc:
            self.verifiers.append(self.oidc)
        self.place, self._has_tokens = place, bool(settings.tokens or self.oidc)
        self.public_host = find_public_host(settings.http_hosts)
        self.requests = OpenRequests(self.verify_again, self.are_needed, most_connections)

    async def are_needed(self) -> bool:
        """Whether there were ever tokens: a server does not open itself to all when the last one is revoked."""
        self._has_tokens = self._has_tokens or bool(await self.store.read())
        return self._has_tokens

    async def require_safe(self) -> None:
        """Raises InvalidRequestError for an address that others reach, where nobody would have to say who they are.

        A proxy in front makes a loopback address one; the host that it is asked for has to be named.
        """
        if await self.are_needed():
            return
        if not self.place.is_loopback:
            raise InvalidRequestError(NO_TOKENS.format(netloc=self.place.netloc))
        problem = NO_TOKENS_NAMED.format(host=self.public_host, netloc=self.place.netloc)
        require(not self.public_host, problem)

    async def verify(self, token: str) -> AccessToken | None:
        """None for a token that is not good. Raises StorageError, InvalidSettingsError."""
        if len(token) > MAX_TOKEN_LENGTH:
            return None
        for verifier in self.verifiers:
            if verified := await verifier.verify_token(token):
                return verified
        return None

    async def verify_again(self, credential: str) -> AccessToken | None:
        """Who has the token or the page session of a request under way. Raises as `verify`."""
        return await self.page_sessions.verify(credential) or await self.verify(credential)

    async def answer(
        self,
        app: ASGIApp,
        scope: Scope,
        receive: Receive,
        send: Send,
        credential: str,
        verified: AccessToken | None,
    ) -> None:
        """Have `app` answer for whom the credential is of; None: for nobody. `app` finds the user in the scope."""
        user = AuthenticatedUser(verified) if verified else None
        inside = {**scope, "user": user} if user else scope
        before = auth_context_var.set(user)
        try:
            known = credential if verified else ""
            await self.requests.answer(app, inside, receive, send, known, verified)
        finally:
            auth_context_var.reset(before)

    def challenge(self, asgi: Scope, status: int, error: str, text: str, **more: str) -> JSONResponse:
        """A refusal as of RFC 6750, which names no error where no token was sent; where to get one, as of RFC 9728."""
        parameters_of_error = {"error": error, "error_description": text} if error else {}
        if self.oidc:
            address = urlsplit(self.find_resource(asgi))
            more["resource_metadata"] = f"{address.scheme}://{address.netloc}{METADATA_PATH}{address.path}"
        parameters = ", ".join(f'{name}="{value}"' for name, value in {**parameters_of_error, **more}.items())
        response = refuse(status, text, asgi)
        response.headers["www-authenticate"] = f"Bearer {parameters}".strip()
        return response

    def find_resource(self, scope: Scope) -> str:
        """The address of this server for its clients: the audience of its tokens, if that is one."""
        if self.oidc and self.oidc.audience.startswith(("https://", "http://")):
            return self.oidc.audience
        headers = Headers(scope=scope)
        scheme = headers.get("x-forwarded-proto", scope["scheme"])
        return f"{'https' if scheme == 'https' else 'http'}://{headers.get('host')}{MCP_PATH}"

    async def describe_resource(self, request: Request) -> Response:
        """The metadata of a protected resource (RFC 9728): where a client gets a token for it."""
        if not self.oidc:
            return refuse(404, "Tokens are made with: counterpoint token new OWNER")
        return JSONResponse(
            {
                "resource": self.find_resource(request.scope),
                "resource_name": "Counterpoint",
                "authorization_servers": [self.oidc.issuer],
                "scopes_supported": [*SCOPES],
                "bearer_methods_supported": ["header"],
            }
        )


class Authentication:
    """Lets those in whom `accounts` know. `app` finds an `AuthenticatedUser` in the scope, but for local requests."""

    def __init__(self, app: ASGIApp, accounts: Accounts) -> None:
        self.app, self.accounts = app, accounts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal, verified, headers = None, None, Headers(scope=scope)
        token = find_bearer(headers)
        try:
            verified = await self.accounts.verify(token) if token else None
            if not verified and (token is not None or await self.accounts.are_needed()):
                refusal = self.accounts.challenge(
                    scope, 401, "invalid_token" if token else "", "A token is needed, and this is none."
                )
            elif not verified and is_forwarded(headers):
                refusal = refuse(403, FORWARDED_REFUSAL, scope)
        except (DebateError, StorageError) as error:
            refusal = refuse(503, tell_unread(error), scope)
        await self.accounts.answer(refusal or self.app, scope, receive, send, token or "", verified)


def tell_unread(error: DebateError | StorageError) -> str:
    """Why nobody knows whose a token is. What is wrong with a database or an issuer is for the log."""
    if isinstance(error, OutageError):
        return "The database does not answer, so that no token can be checked now. Call again in a moment."
    if isinstance(error, BusyError):
        return "The database is busy, so that no token can be checked now. Call again in a moment."
    return "The tokens cannot be read now."


def find_bearer(headers: Headers) -> str | None:
    """The token of a request; "" for an `Authorization` that has none, None without one."""
    values = headers.getlist("authorization")
    if not values:
        return None
    scheme, _, token = values[0].partition(" ")
    return token.strip() if len(values) == 1 and scheme.lower() == "bearer" else ""


class ScopedRequests:
    """Refuses what a token's scopes do not cover. The request stands whole in the scope, as `body`."""

    def __init__(self, app: ASGIApp, accounts: Accounts) -> None:
        self.app, self.accounts = app, accounts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        needed, caller = READ, read_caller()
        if not caller.may(DEBATE):
            needed = find_needed_scope(scope["body"])
        if caller.may(needed):
            await self.app(scope, receive, send)
            return
        text = f"This needs the scope {needed}, which your token does not have."
        refusal = self.accounts.challenge(scope, 403, "insufficient_scope", text, scope=needed)
        await refusal(scope, receive, send)


def find_needed_scope(body: bytes) -> str:
    """The scope for a message of MCP; what is none is refused by those who read it next."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return READ
    if not isinstance(message, dict):
        return READ
    params: Any = message.get("params")
    return find_scope(str(message.get("method")), params if isinstance(params, Mapping) else {})


class RatedRequests:
    """Refuses what an owner asks for more often than the limit says."""

    def __init__(self, app: ASGIApp, rates: RequestRates) -> None:
        self.app, self.rates = app, rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if wait := self.rates.take(read_caller().owner):
            text = f"At most {self.rates.limit} requests a minute (COUNTERPOINT_OWNER_REQUESTS_PER_MINUTE)."
            response = refuse(429, text, scope)
            response.headers["retry-after"] = str(wait)
            await response(scope, receive, send)
            return
        await self.app(scope, receive, send)
