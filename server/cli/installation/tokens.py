"""`counterpoint token`: who may use a server over HTTP."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import anyio
import click

from server.caller import DEBATE, SCOPES
from server.cli import session
from server.debate.facts.errors import DebateError, require
from server.debate.facts.text import clean_line, format_count
from server.optional import optional_import
from server.settings import Settings
from storage.streams import format_time
from storage.tokens import StoredToken, Tokens

if TYPE_CHECKING:
    from server.access.tokens import TokenFile

MAX_DAYS = 36_500
MIN_ID_LENGTH = 4

T = TypeVar("T")


@asynccontextmanager
async def open_tokens(settings: Settings, *, makes_database: bool) -> AsyncIterator["Tokens | TokenFile"]:
    """Open the store of tokens: the file in the settings, or the database.

    Raises StorageUnavailableError, InvalidSettingsError, InvalidRequestError.
    """
    with optional_import():
        from server.access.tokens import TokenFile  # noqa: PLC0415  (imports the SDK of MCP)
    from server.engine.database.errors import translate_storage_errors  # noqa: PLC0415  (likewise slow)
    from server.startup import open_storage, require_database  # noqa: PLC0415

    with translate_storage_errors():
        if settings.tokens:
            yield TokenFile(settings.tokens)
            return
        if not makes_database:
            require_database(settings)
        async with open_storage(settings) as storage:
            yield storage.tokens


def run_with_tokens(
    settings: Settings,
    operation: Callable[["Tokens | TokenFile"], Awaitable[T]],
    *,
    makes_database: bool = False,
) -> T:
    """Run an operation on the store of tokens. Raises what the operation raises."""
    from server.startup import log_to_stderr  # noqa: PLC0415  (as above)

    log_to_stderr(settings)

    async def open_and_run() -> T:
        async with open_tokens(settings, makes_database=makes_database) as store:
            return await operation(store)

    return anyio.run(open_and_run)


@click.group()
def token() -> None:
    """Make, list or revoke tokens for a server over HTTP.

    Each has an owner, who sees only debates of their own. Only hashes of tokens are stored: in the database, or in
    the file that COUNTERPOINT_TOKENS names.

    Example: counterpoint token new alice
    """


@token.command("new")
@click.argument("owner")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    help="Default: debate, which includes read.",
)
@click.option("--days", type=click.IntRange(0, MAX_DAYS), help="Days until it expires. Default: never.")
@click.pass_obj
def new_token(settings: Settings, owner: str, scopes: tuple[str, ...], days: int | None) -> None:
    """Make a token for OWNER, and print it: it cannot be shown again.

    Scopes: read: see the owner's debates. debate: also start and steer them, which spends money. admin: run the
    server.

    Example: counterpoint token new alice --days 90
    """
    with optional_import():
        from server.access.tokens import SHOWN_DIGITS, describe_state, make_token  # noqa: PLC0415  (as above)

    try:
        secret, entry = make_token(owner, tuple(dict.fromkeys(scopes or (DEBATE,))), days)
    except ValueError as error:
        raise click.UsageError(f"{clean_line(owner)[:60]!r} cannot be an owner: {error}.") from None
    run_with_tokens(settings, lambda store: store.add(entry), makes_database=True)
    description = f"{entry.digest[:SHOWN_DIGITS]}: {entry.owner} may {', '.join(entry.scopes)}"
    click.echo(f"Token {description}, {describe_state(entry, time.time())}. It is shown once:", err=True)
    click.echo(secret)


@token.command("list")
@session.json_option
@click.pass_obj
def list_tokens(settings: Settings, *, as_json: bool) -> None:
    """List the tokens.

    Columns: id, owner, scopes, and until when each can be used.

    Example: counterpoint token list
    """
    with optional_import():
        from server.access.tokens import SHOWN_DIGITS, describe_state  # noqa: PLC0415

    tokens = run_with_tokens(settings, lambda store: store.read())
    if as_json:
        rows = [
            {
                "id": token.digest[:SHOWN_DIGITS],
                "owner": token.owner,
                "scopes": token.scopes,
                "created_at": token.created_at,
                "expires_at": token.expires_at,
                "revoked_at": token.revoked_at,
            }
            for token in tokens
        ]
        click.echo(session.format_json({"tokens": rows}))
        return
    now = time.time()
    table = [
        [token.digest[:SHOWN_DIGITS], token.owner, ", ".join(token.scopes), describe_state(token, now)]
        for token in tokens
    ]
    session.open_terminal().print_rows(table)
    if not tokens:
        click.echo("No tokens. Make one: counterpoint token new OWNER", err=True)


@token.command("revoke")
@click.argument("token_id", metavar="ID")
@click.pass_obj
def revoke_token(settings: Settings, token_id: str) -> None:
    """Refuse the token with this id from now on.

    Every server does, from its next request on.

    Example: counterpoint token revoke 3f9a12bc
    """

    async def revoke(store: "Tokens | TokenFile") -> StoredToken:
        matches = [token for token in await store.read() if token.digest.startswith(token_id.lower())]
        if len(token_id) < MIN_ID_LENGTH or not matches:
            raise DebateError(
                f"There is no token {clean_line(token_id)[:20]!r}. `counterpoint token list` shows their ids."
            )
        count = format_count(len(matches), "token")
        require(len(matches) == 1, f"{count} have an id that begins so. Write more of the id.")
        await store.revoke(matches[0].digest, format_time(datetime.now(UTC)))
        return matches[0]

    revoked = run_with_tokens(settings, revoke)
    click.echo(f"The token of {revoked.owner} is refused from now on.")
