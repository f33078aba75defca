"""The command line. Parses, calls the hall as any other client would, and prints."""

import sys
from pathlib import Path
from typing import Any, BinaryIO

import click

from server.cli.debate import debate, demo, fork
from server.cli.doctor import doctor, models
from server.cli.install import install, write_atomically
from server.cli.rendering import Screen, sanitize_line, sanitize_text
from server.cli.session import format_json, run_with_manager
from server.debate.rules.decide import status
from server.debate.views import markdown
from server.debate.views.catalog import VIEWS
from server.debate.views.compare import DebateFamily
from server.debate.views.compare import render_comparison as comparison
from server.engine.debates import DebateManager
from server.engine.errors import DebateError, DebateNotFoundError
from server.engine.forks import compare, load_debate_family
from server.engine.queries import PAGE_SIZE, STATUSES, DebateRow, format_list_line, load_view_source
from server.engine.queries import list_debates as find_debates
from server.engine.transfer import MAX_FILE_BYTES, export_debate, parse_export, restore_debate
from server.models.local import weights
from server.settings import Settings, package_version

INTERRUPTED_EXIT_CODE = 130


class ErrorReportingGroup(click.Group):
    """Turns what a user can do something about into one line on stderr and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DebateNotFoundError as error:
            told = str(error).partition(". ")[0]
            raise click.ClickException(
                sanitize_line(f"{told}. `counterpoint list` shows those there are.")
            ) from None
        except (DebateError, weights.WeightsError) as error:
            raise click.ClickException(sanitize_line(str(error))) from None
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
            sys.exit(INTERRUPTED_EXIT_CODE)


def show_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"counterpoint {package_version()}")
        ctx.exit()


@click.group(cls=ErrorReportingGroup, invoke_without_command=True)
@click.option("--db", metavar="PATH", help="The debates' database, in place of COUNTERPOINT_DB.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Print the version.",
)
@click.pass_context
def counterpoint(ctx: click.Context, db: str | None) -> None:
    """Second opinions: debates between models, run, steered and judged.

    Without a command, Counterpoint serves MCP on stdin and stdout.

    Example: counterpoint debate "Should we rewrite the billing service in Rust?"
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a letter that the terminal lacks is no reason to fail
            stream.reconfigure(errors="replace")
    settings = Settings.read()
    ctx.obj = settings.model_copy(update={"db": db}) if db else settings
    if ctx.invoked_subcommand is None:
        ctx.invoke(serve)


counterpoint.add_command(debate)
counterpoint.add_command(demo)
counterpoint.add_command(fork)
counterpoint.add_command(doctor)
counterpoint.add_command(install)
counterpoint.add_command(models)


@counterpoint.command()
@click.pass_obj
def serve(settings: Settings) -> None:
    """Serve MCP on stdin and stdout, as `counterpoint` alone does.

    Example: counterpoint serve
    """
    from server.mcp.stdio import serve_stdio  # noqa: PLC0415  (brings the SDK with it)

    sys.exit(serve_stdio(settings))


# Reading debates ----------------------------------------------------------------------------------


@counterpoint.command("list")
@click.argument("query", default="")
@click.option("--status", type=click.Choice(STATUSES))
@click.option("--limit", type=click.IntRange(1, 10_000), default=PAGE_SIZE, show_default=True)
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def list_debates(settings: Settings, query: str, status: str | None, limit: int, as_json: bool) -> None:
    """List debates, newest first; with QUERY those that hold all of its words.

    Example: counterpoint list rust --status concluded
    """

    async def find(manager: DebateManager) -> list[DebateRow]:
        return (await find_debates(manager, query, status or "", limit=limit))[0]

    rows = run_with_manager(settings, find)
    if as_json:
        click.echo(format_json({"debates": [row.model_dump() for row in rows]}))
        return
    for row in rows:
        click.echo(sanitize_line(format_list_line(row)))
    if not rows:
        click.echo('There is none. Begin one: counterpoint debate "QUESTION"', err=True)


@counterpoint.command()
@click.argument("debate_id", metavar="ID")
@click.option("--view", type=click.Choice([*VIEWS]), default="transcript", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The view as data.")
@click.pass_obj
def show(settings: Settings, debate_id: str, view: str, as_json: bool) -> None:
    """Print a debate: what was said, or another view of it.

    Example: counterpoint show k3x9w2m4p7qr --view verdict
    """
    chosen = VIEWS[view]
    source = run_with_manager(settings, lambda manager: load_view_source(manager, debate_id, chosen))
    if as_json or not chosen.render:
        click.echo(format_json(chosen.build(source)))
    elif view == "verdict" and not markdown.has_result(source.debate):
        raise click.ClickException(f"There is no verdict yet: the debate is {status(source.debate)}.")
    else:
        click.echo(Screen.detect().render(chosen.render(source)))


@counterpoint.command()
@click.argument("debate_id", metavar="ID")
@click.option(
    "--as", "export_format", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file, not stdout.")
@click.pass_obj
def export(settings: Settings, debate_id: str, export_format: str, output: Path | None) -> None:
    """Write a debate as Markdown to read, or as JSON that `counterpoint import` takes in again.

    The JSON holds every entry with its hash, and the receipt; a debate can be exported mid-way.

    Example: counterpoint export k3x9w2m4p7qr --as json -o debate.json
    """
    if export_format == "markdown":
        snapshot = run_with_manager(settings, lambda manager: manager.load(debate_id))
        text = sanitize_text(markdown.render_transcript(snapshot.debate, snapshot.entries))
    else:
        text = format_json(run_with_manager(settings, lambda hall: export_debate(hall, debate_id)))
    if output is None:
        click.echo(text.rstrip("\n"))
        return
    try:
        write_atomically(output, text.rstrip("\n") + "\n")
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written: {error.strerror}.") from None


@counterpoint.command("import")
@click.argument("file", type=click.File("rb"))
@click.pass_obj
def import_debate(settings: Settings, file: BinaryIO) -> None:
    """Take in a debate that was exported as JSON; FILE may be - for stdin.

    Every entry is checked against the chain of hashes. The debate keeps its id, and can be gone on with. If a
    beginning of it is here already, what is missing is added.

    Example: counterpoint import debate.json
    """
    data = parse_export(file.read(MAX_FILE_BYTES + 1))
    case, added = run_with_manager(settings, lambda hall: restore_debate(hall, data))
    new = f"{added} of them new here" if added else "all of them here already"
    click.echo(f"debate {case.id}: {case.status}, entries: {case.debate.version}, {new}.")
    if not case.debate.ended:
        click.echo(f"Go on with: counterpoint debate --continue {case.id}")


@counterpoint.command("compare")
@click.argument("debate_id", metavar="ID")
@click.argument("other_id", metavar="OTHER", required=False)
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def compare_debates(settings: Settings, debate_id: str, other_id: str | None, as_json: bool) -> None:
    """Put two debates side by side: what each came to, what it cost, what differs, what they share.

    Without OTHER: beside the debate it was forked from, its forks, and the other forks of that.

    Example: counterpoint compare k3x9w2m4p7qr n8d5t2v7w4yz
    """

    async def find_relatives(manager: DebateManager) -> DebateFamily:
        return await load_debate_family(manager, await manager.load(debate_id))

    if other_id:
        pair = run_with_manager(settings, lambda hall: compare(hall, debate_id, other_id))
        pairs, data = [pair], pair.model_dump()
    else:
        found = run_with_manager(settings, find_relatives)
        pairs, data = found.relatives, found.as_data()
    if as_json:
        click.echo(format_json(data))
        return
    for pair in pairs:
        click.echo(Screen.detect().render(comparison(pair)))
    if not pairs:
        click.echo(f"No fork of {debate_id} is here, and nothing that it is a fork of.", err=True)
