"""`counterpoint token`: who may use a server over HTTP."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TypeVar

import anyio
import click

from server.access.caller import DEBATE, SCOPES
from server.cli import session
from server.debate.facts.errors import DebateError, require
from server.debate.facts.text import clean_line, format_count
from server.settings import Settings
from storage.contract.tokens import StoredToken, TokenStore

MAX_DAYS = 36_500
MIN_ID_LENGTH = 4

T = TypeVar("T")


@asynccontextmanager
async def open_tokens(settings: Settings, *, makes_database: bool) -> AsyncIterator[TokenStore]:
    """Where the tokens are. Raises StorageUnavailableError, InvalidSettingsError, InvalidRequestError."""
    from server.access.tokens import TokenFile  # noqa: PLC0415  (imports the SDK of MCP)
    from server.engine.database.errors import translate_storage_errors  # noqa: PLC0415  (likewise slow)
    from server.startup import open_journal, require_database  # noqa: PLC0415

    with translate_storage_errors():
        if settings.tokens:
            yield TokenFile(settings.tokens)
            return
        if not makes_database:
            require_database(settings)
        async with open_journal(settings) as journal:
            yield journal


def run_with_tokens(
    settings: Settings, operation: Callable[[TokenStore], Awaitable[T]], *, makes_database: bool = False
) -> T:
    """Run an operation where the tokens are, and raise what it raises."""
    from server.startup import log_to_stderr  # noqa: PLC0415  (as above)

    log_to_stderr(settings)

    async def open_and_run() -> T:
        async with open_tokens(settings, makes_database=makes_database) as store:
            return await operation(store)

    return anyio.run(open_and_run)


@click.group()
def token() -> None:
    """Tokens of those who may use a server over HTTP (`counterpoint serve --http`).

    Each has an owner, who sees only debates of their own. Stored are hashes: in the database, or in the file that
    COUNTERPOINT_TOKENS names.

    Example: counterpoint token new alice
    """


@token.command("new")
@click.argument("owner")
@click.option(
    "--scope", "scopes", type=click.Choice(SCOPES), multiple=True, help="Default: debate, with read."
)
@click.option("--days", type=click.IntRange(0, MAX_DAYS), help="After which it ends. Default: never.")
@click.pass_obj
def new_token(settings: Settings, owner: str, scopes: tuple[str, ...], days: int | None) -> None:
    """Make a token for OWNER, and print it: it cannot be shown again.

    Scopes: read what is the owner's; debate, which opens and steers debates, spends money and reads; admin, to run
    the server.

    Example: counterpoint token new alice --days 90
    """
    from server.access.tokens import SHOWN_DIGITS, describe_state, make_token  # noqa: PLC0415  (as above)

    try:
        made, stored = make_token(owner, tuple(dict.fromkeys(scopes or (DEBATE,))), days)
    except ValueError as error:
        raise click.UsageError(f"{clean_line(owner)[:60]!r} cannot be an owner: {error}.") from None
    run_with_tokens(settings, lambda store: store.add_token(stored), makes_database=True)
    what = f"{stored.digest[:SHOWN_DIGITS]}: {stored.owner} may {', '.join(stored.scopes)}"
    click.echo(f"Token {what}, {describe_state(stored, time.time())}. It is shown once:", err=True)
    click.echo(made)


@token.command("list")
@session.json_option
@click.pass_obj
def list_tokens(settings: Settings, *, as_json: bool) -> None:
    """List the tokens: id, owner, scopes, and until when each can be used.

    Example: counterpoint token list
    """
    from server.access.tokens import SHOWN_DIGITS, describe_state  # noqa: PLC0415

    tokens = run_with_tokens(settings, lambda store: store.read_tokens())
    if as_json:
        rows = [
            {
                "id": one.digest[:SHOWN_DIGITS],
                "owner": one.owner,
                "scopes": one.scopes,
                "created_at": one.created_at,
                "expires_at": one.expires_at,
                "revoked_at": one.revoked_at,
            }
            for one in tokens
        ]
        click.echo(session.format_json({"tokens": rows}))
        return
    now = time.time()
    table = [
        [one.digest[:SHOWN_DIGITS], one.owner, ", ".join(one.scopes), describe_state(one, now)]
        for one in tokens
    ]
    session.open_terminal().print_rows(table)
    if not tokens:
        click.echo("No tokens. Make one: counterpoint token new OWNER", err=True)


@token.command("revoke")
@click.argument("token_id", metavar="ID")
@click.pass_obj
def revoke_token(settings: Settings, token_id: str) -> None:
    """Refuse the token with this id from the next request on, on every server.

    Example: counterpoint token revoke 3f9a12bc
    """
    from server.access.tokens import format_time  # noqa: PLC0415

    async def revoke(store: TokenStore) -> StoredToken:
        found = [one for one in await store.read_tokens() if one.digest.startswith(token_id.lower())]
        if len(token_id) < MIN_ID_LENGTH or not found:
            raise DebateError(
                f"There is no token {clean_line(token_id)[:20]!r}. `counterpoint token list` shows their ids."
            )
        count = format_count(len(found), "token")
        require(len(found) == 1, f"{count} have an id that begins so: give more of it.")
        await store.revoke_token(found[0].digest, format_time(datetime.now(UTC)))
        return found[0]

    revoked = run_with_tokens(settings, revoke)
    click.echo(f"The token of {revoked.owner} is refused from now on.")
