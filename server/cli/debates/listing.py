"""`counterpoint list`: the debates, in columns."""

import click

from server.cli import session
from server.debate.facts.quoting import unescape_markup
from server.debate.facts.text import clean_line
from server.engine import queries
from server.settings import Settings


@click.command("list")
@click.argument("query", default="")
@click.option("--status", type=click.Choice(queries.STATUSES))
@click.option("--limit", type=click.IntRange(1, 10_000), default=queries.PAGE_SIZE, show_default=True)
@session.json_option
@click.pass_obj
def list_debates(settings: Settings, query: str, status: str | None, limit: int, as_json: bool) -> None:
    """List debates, newest first; with QUERY those that contain all of its words.

    Id, time, status and outcome, dollars, models, and the question. On a terminal the question stands below the rest.

    Example: counterpoint list rust --status concluded
    """
    rows = session.run_with_manager(
        settings, lambda manager: queries.list_for_people(manager, query, status or "", limit)
    )
    if as_json:
        click.echo(session.format_json({"debates": [row.model_dump() for row in rows]}))
        return
    table = [[clean_line(unescape_markup(cell)) for cell in queries.list_columns(row)] for row in rows]
    session.print_paged(lambda out: out.print_rows(table))
    if not rows:
        click.echo('No debates. Start one: counterpoint debate "QUESTION"', err=True)
