"""The command line: parses arguments, calls a debate manager as any other client would, and prints."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio
import click

from server.cli import session
from server.cli.debates import (
    adopt,
    debate,
    demo,
    evaluate,
    export,
    ledger,
    listing,
    steer,
    verify,
    watch,
)
from server.cli.help import QuestionGroup
from server.cli.installation import databases, doctor, keys, models, tokens
from server.cli.installation.install import install, uninstall
from server.debate.facts.errors import DebateError, InvalidRequestError, require
from server.debate.facts.text import clean_line
from server.debate.views import compare, markdown
from server.debate.views.catalog import VIEWS
from server.engine import queries
from server.engine.debates import DebateManager
from server.models import KeyMissingError
from server.models.local.weights import WeightsError
from server.models.registry import NoModelError
from server.optional import optional_import
from server.redaction import redact_error
from server.settings import Settings, package_version


class MisuseError(click.ClickException):
    """The command line is wrong."""

    exit_code = 2


@contextmanager
def point_to_help() -> Iterator[None]:
    """One line that names --help, instead of click's usage block."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "counterpoint"
        raise MisuseError(f"{error.format_message()} See: {path} --help") from None


class ErrorReportingGroup(QuestionGroup):
    """Prints errors that a user can act on to stderr.

    Exit code 2: the command line is wrong. Exit code 1: something else failed.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with point_to_help():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with point_to_help():
                return super().invoke(ctx)
        except (DebateError, WeightsError) as error:
            is_misuse = isinstance(error, InvalidRequestError) and not isinstance(error, KeyMissingError)
            told = error.in_terminal if isinstance(error, NoModelError) else str(error)
            kind = MisuseError if is_misuse else click.ClickException
            raise kind(redact_error(clean_line(told))) from None
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
            sys.exit(128 + signal.SIGINT)


@click.group(
    cls=ErrorReportingGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--db", metavar="PATH", help="The database; overrides COUNTERPOINT_DB.")
@click.version_option(package_version(), message="%(prog)s %(version)s", help="Print the version.")
@click.pass_context
def counterpoint(ctx: click.Context, db: str | None) -> None:
    """Second opinions: models answer independently, check each other, and debate where they differ.

    Example: counterpoint "Should we rewrite the billing service in Rust?"

    Without a command, Counterpoint serves MCP on stdin and stdout. ID is the id of a debate, its beginning (four
    characters or more), or latest.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # replace characters that the terminal's encoding lacks
            stream.reconfigure(errors="replace")
    settings = Settings.read()
    ctx.obj = settings.model_copy(update={"db": db}) if db else settings
    if ctx.invoked_subcommand is None:
        ctx.invoke(serve)


for command in (
    *(debate.debate, debate.fork, demo.demo, evaluate.evaluate, watch.view, watch.watch),
    *(listing.list_debates, listing.recall_debates, export.export, export.import_debate, adopt.adopt),
    *(listing.queue, steer.intervene, steer.tag, steer.delete, ledger.ledger, verify.receipt, verify.verify),
    *(install, uninstall, doctor.doctor, keys.keys, models.models, tokens.token, session.completion),
    *(databases.cache, databases.backup, databases.db),
):
    counterpoint.add_command(command)


@counterpoint.command()
@click.option("--http", "address", metavar="HOST:PORT", default="", help="Serve over HTTP instead, at /mcp.")
@click.option("--stateless", is_flag=True, help="Keep no sessions: any replica can answer any request.")
@click.pass_obj
def serve(settings: Settings, address: str, *, stateless: bool) -> None:
    """Serve MCP over stdin and stdout, or over HTTP.

    Example: counterpoint serve --http 127.0.0.1:8080
    """
    if not address:
        require(not stateless, "--stateless is for --http HOST:PORT.")
        from server.mcp.stdio import serve_stdio  # noqa: PLC0415  (imports the SDK)

        sys.exit(serve_stdio(settings))
    with optional_import():
        from server.http_server import serving  # noqa: PLC0415  (likewise, and a web server)
    from server.startup import log_to_stderr  # noqa: PLC0415

    log_to_stderr(settings)
    sys.exit(
        anyio.run(partial(serving.serve, settings, serving.parse_place(address), is_stateless=stateless))
    )


VIEW_HELP = f"One of: {', '.join(VIEWS)}."


@counterpoint.command()
@session.optional_debate_id_argument
@click.option(
    "--view",
    type=click.Choice([*VIEWS]),
    metavar="VIEW",
    default="transcript",
    show_default=True,
    help=VIEW_HELP,
)
@session.json_option
@click.pass_obj
def show(settings: Settings, debate_id: str, view: str, as_json: bool) -> None:
    """Print a debate: its transcript, or another view. Without ID the latest.

    On a terminal, what is longer than the window opens in PAGER.

    Example: counterpoint show k3x9w2m4p7qr --view verdict
    """
    chosen_view = VIEWS[view]
    source = session.run_with_debate(
        settings,
        debate_id,
        lambda manager, full_id: queries.load_view_source(manager, full_id, chosen_view, is_whole=True),
    )
    if as_json or not chosen_view.render:
        click.echo(session.format_json(chosen_view.build(source)))
    elif view == "verdict" and not markdown.has_result(source.debate):
        raise click.ClickException(clean_line(chosen_view.render(source)))
    else:
        text = chosen_view.render_text(source)
        session.print_paged(lambda out: out.print_markdown(text))


@counterpoint.command("compare")
@session.debate_id_argument
@click.argument("other_id", metavar="OTHER", required=False)
@session.json_option
@click.pass_obj
def compare_debates(settings: Settings, debate_id: str, other_id: str | None, as_json: bool) -> None:
    """Compare two debates: results, costs, what differs.

    Without OTHER: with the debate it was forked from, its forks, and their sibling forks (20 at most).

    Example: counterpoint compare k3x9w2m4p7qr n8d5t2v7w4yz
    """

    async def build_pairs(manager: DebateManager, own_id: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        debate = await manager.load(own_id)
        if other_id:
            other_debate = await manager.load(await queries.find_debate_id(manager, other_id))
            pair = compare.build_comparison(debate, other_debate)
            return [pair], pair
        family = await queries.compare_family(manager, debate)
        return family.relatives, compare.build_family(debate, *family)

    pairs, data = session.run_with_debate(settings, debate_id, build_pairs)
    if as_json:
        click.echo(session.format_json(data))
        return
    texts = [*map(compare.render_comparison, pairs)]
    session.print_paged(lambda out: out.print_markdown("\n".join(texts)))
    if note := data.get("note"):
        click.echo(note, err=True)
    elif not pairs:
        click.echo(f"No fork of {debate_id} is stored, nor a debate that it was forked from.", err=True)
