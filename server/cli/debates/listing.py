"""`counterpoint list` and `counterpoint recall`: the stored debates, and what they concluded on a question."""

import click

from server.cli import session
from server.debate.facts.earlier import MOST_RECALLED
from server.debate.facts.quoting import quote, quote_heading, quote_inline, unescape_markup
from server.debate.facts.text import clean_line
from server.debate.views.provenance import describe_provenance
from server.engine import queries
from server.engine.database.memory import Related, recall
from server.settings import Settings

MAX_POSITION_BYTES = 200


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


@click.command("recall")
@click.argument("question")
@click.option("--limit", type=click.IntRange(1, MOST_RECALLED), default=MOST_RECALLED, show_default=True)
@session.json_option
@click.pass_obj
def recall_debates(settings: Settings, question: str, limit: int, as_json: bool) -> None:
    """Show what earlier debates concluded on questions related to QUESTION, most similar first.

    Only debates with a verdict; one of each family of forks. Debates tagged `retracted` are left out.

    Example: counterpoint recall "Do we rewrite the invoicing service?"
    """
    found = session.run_with_manager(
        settings, lambda manager: recall(manager.store, question, limit=limit, with_dry_runs=True)
    )
    if as_json:
        rows = [
            one.recalled.model_dump() | {"dry_run": one.is_dry_run, "provenance": one.provenance.model_dump()}
            for one in found
        ]
        click.echo(session.format_json({"recalled": rows}))
        return
    session.print_paged(lambda out: out.print_markdown("\n\n".join(map(render_related, found))))
    if not found:
        click.echo("No earlier debate concluded anything on a related question.", err=True)


def render_related(related: Related) -> str:
    """A heading with id, date and outcome, and below it what was found."""
    one = related.recalled
    position = f": {quote_inline(one.position, MAX_POSITION_BYTES)}" if one.position else ""
    dry = " (a dry run: only dry runs recall it)" if related.is_dry_run else ""
    lines = [f"**{one.debate_id}**, {one.at[:10]}, {one.outcome}{position}{dry}", quote_heading(one.question)]
    lines += [quote(one.finding)] if one.finding else []
    lines += [f"Dissent:\n{quote(one.dissent)}"] if one.dissent else []
    lines += ["It recalled a debate that was retracted since."] if one.used_retracted else []
    lines += filter(None, [describe_provenance(related.provenance)])
    return "\n\n".join([*lines, *([quote(one.settled)] if one.settled else [])])
