"""`counterpoint export` and `import`: a debate as a file, and back."""

from pathlib import Path
from typing import BinaryIO

import click

from server.cli import session
from server.debate.facts.text import remove_invisible
from server.debate.views.catalog import VIEWS
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import tell_standing
from server.engine import queries, transfer
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.files import write_atomically
from server.settings import Settings

MAX_NAMED = 5  # debates with the question of an imported one


@click.command()
@session.debate_id_argument
@click.option(
    "--as",
    "file_format",
    type=click.Choice(["markdown", "html", "json"]),
    default="markdown",
    show_default=True,
)
@click.option(
    "--family",
    is_flag=True,
    help="With --as html: its family of forks, too (the closest 24), in the same file.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file, not to stdout.",
)
@click.pass_obj
def export(settings: Settings, debate_id: str, file_format: str, family: bool, output: Path | None) -> None:
    """Write a debate as Markdown, as a page, or as JSON. `counterpoint import` reads the JSON.

    The page is one HTML file, and loads nothing from the network. The JSON contains every entry with its hash, and
    the receipt. A running debate can be exported, too.

    Example: counterpoint export k3x9w2m4p7qr --as html -o debate.html
    """
    if family and file_format != "html":
        raise click.UsageError("--family needs --as html.")
    text = write_debate(settings, debate_id, file_format, family=family)
    if output is None:
        # The page is checked by its bytes, whatever the encoding of the terminal.
        click.echo(text.encode() if file_format == "html" else text)
        return
    try:
        write_atomically(output, text + "\n")
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written: {error.strerror}.") from None


def write_debate(settings: Settings, debate_id: str, file_format: str, *, family: bool) -> str:
    """The content of the file, without a line break at its end."""
    if file_format == "html":
        from server.web.page import build_page  # noqa: PLC0415  (other formats need none of it)
        from server.web.record import load_debate_data, load_family_data  # noqa: PLC0415

        load = load_family_data if family else load_debate_data
        return build_page(session.run_with_debate(settings, debate_id, load)).rstrip("\n")
    if file_format == "json":
        return session.format_json(session.run_with_debate(settings, debate_id, transfer.export_debate))
    view = VIEWS["transcript"]
    source = session.run_with_debate(
        settings, debate_id, lambda manager, full_id: queries.load_view_source(manager, full_id, view)
    )
    return remove_invisible(view.render_text(source)).rstrip("\n")


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.pass_obj
def import_debate(settings: Settings, file: BinaryIO) -> None:
    """Import a debate that was exported as JSON. FILE may be - for stdin.

    Every entry is checked: against the chain of hashes, and whether it follows from those before it. The debate
    keeps its id and can be continued. If its first entries are stored already, the missing ones are added. It stays
    marked as recorded elsewhere; ledger and memory use it once it is adopted: `counterpoint adopt ID`.

    Example: counterpoint import debate.json
    """
    data = transfer.parse_export(file.read(transfer.MAX_FILE_BYTES + 1))

    async def restore(manager: DebateManager) -> tuple[DebateSnapshot, int, list[queries.DebateRow]]:
        snapshot, new_count = await transfer.restore_debate(manager, data)
        return snapshot, new_count, await queries.find_same_question(manager, snapshot)

    snapshot, new_count, twins = session.run_with_manager(settings, restore, makes_database=True)
    news = f"{new_count} of them new" if new_count else "all of them stored already"
    click.echo(
        f"debate {snapshot.id}: {tell_standing(snapshot.status)}, entries: {snapshot.debate.version}, {news}."
    )
    if note := describe_provenance(snapshot.provenance, snapshot.debate.version):
        adopted = snapshot.provenance.adopted
        click.echo(
            note if adopted else f"{note} Ledger and memory use it after: counterpoint adopt {snapshot.id}"
        )
    if twins:
        names = ", ".join(
            f"{row.debate_id} (recorded {'here' if row.provenance.recorded_here else 'elsewhere'})"
            for row in twins[:MAX_NAMED]
        )
        rest = f" and {len(twins) - MAX_NAMED} more" if len(twins) > MAX_NAMED else ""
        click.echo(f"Its question was asked here before: {names}{rest}.")
    if not snapshot.debate.ended:
        click.echo(f"Continue with: counterpoint debate --continue {snapshot.id}")
