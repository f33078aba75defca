"""`counterpoint list`, `recall` and `queue`: stored debates, what they concluded on a question, and which run."""

from dataclasses import asdict, astuple

import click

from server.cli import session
from server.debate.facts.earlier import MOST_RECALLED
from server.debate.facts.quoting import quote, quote_heading, quote_inline, unescape_markup
from server.debate.facts.text import clean_line, format_count
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import tell_standing
from server.engine import queries
from server.engine.database.memory import Related, recall
from server.engine.database.values import COSTS, OUTCOMES, choose_values
from server.engine.queue import list_queue
from server.settings import Settings

MAX_POSITION_BYTES = 200


@click.command("list")
@click.argument("query", default="")
@click.option("--status", type=click.Choice(queries.STATUSES))
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Of debates that have ended.")
@click.option("--model", help="A model, or a part of its name between slashes.")
@click.option(
    "--cost", type=click.Choice(COSTS), help="At least so many dollars; of debates that have ended."
)
@click.option("--tag", help="A tag of the debate.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=queries.PAGE_SIZE, show_default=True)
@session.json_option
@click.pass_obj
def list_debates(
    settings: Settings, /, query: str, status: str | None, limit: int, as_json: bool, **wanted: str | None
) -> None:
    """List debates, newest first. QUERY: those that contain all of its words.

    Columns: id, time, outcome or status, dollars, models, question. On a terminal the question stands below the
    rest. A dash: free, or the price is unknown. Agreed is decided, Divided contested, Open undecided, A combination
    synthesis; not running is ready, cut short truncated.

    Example: counterpoint list rust --outcome leaning
    """
    values = choose_values({kind: value or "" for kind, value in wanted.items()})
    rows, _ = session.run_with_manager(
        settings,
        lambda manager: queries.list_debates(manager, query, status or "", limit=limit, values=values),
    )
    if as_json:
        click.echo(session.format_json({"debates": [row.model_dump() for row in rows]}))
        return
    table = [[clean_line(unescape_markup(cell)) for cell in queries.list_columns(row)] for row in rows]
    session.print_paged(lambda out: out.print_rows(table))
    if not rows:
        narrowed = query or status or values
        told = "No debate matches." if narrowed else 'No debates. Start one: counterpoint debate "QUESTION"'
        click.echo(told, err=True)


@click.command("recall")
@click.argument("question")
@click.option("--limit", type=click.IntRange(1, MOST_RECALLED), default=MOST_RECALLED, show_default=True)
@session.json_option
@click.pass_obj
def recall_debates(settings: Settings, question: str, limit: int, as_json: bool) -> None:
    """Show what earlier debates concluded on related questions. The most similar stand first.

    Only debates with a verdict; one of each family of forks. Debates tagged `retracted` are left out.

    Example: counterpoint recall "Do we rewrite the invoicing service?"
    """
    related_debates = session.run_with_manager(
        settings, lambda manager: recall(manager.store, question, limit=limit, with_dry_runs=True)
    )
    if as_json:
        rows = [
            row.recalled.model_dump() | {"dry_run": row.is_dry_run, "provenance": row.provenance.model_dump()}
            for row in related_debates
        ]
        click.echo(session.format_json({"recalled": rows}))
        return
    session.print_paged(lambda out: out.print_markdown("\n\n".join(map(render_related, related_debates))))
    if not related_debates:
        click.echo("No earlier debate concluded anything on a related question.", err=True)


def render_related(related: Related) -> str:
    """A heading with id, date and outcome, and below it what was found."""
    recalled = related.recalled
    position = f": {quote_inline(recalled.position, MAX_POSITION_BYTES)}" if recalled.position else ""
    dry = " (a dry run: only dry runs recall it)" if related.is_dry_run else ""
    head = f"**{recalled.debate_id}**, {recalled.at[:10]}, {tell_standing(recalled.outcome)}{position}{dry}"
    lines = [head, quote_heading(recalled.question)]
    lines += [quote(recalled.finding)] if recalled.finding else []
    lines += [f"Dissent:\n{quote(recalled.dissent)}"] if recalled.dissent else []
    lines += ["It recalled a debate that was retracted since."] if recalled.used_retracted else []
    lines += filter(None, [describe_provenance(related.provenance)])
    return "\n\n".join([*lines, *([quote(recalled.settled)] if recalled.settled else [])])


STUCK_HINT = (
    "stuck: no process has run them for a minute. Their owner has too many, or none can: the logs of servers say why. "
    "To try one again: counterpoint debate --continue ID. To take one out: counterpoint intervene ID pause. "
    "Both with COUNTERPOINT_OWNER=OWNER."
)


@click.command()
@session.json_option
@click.pass_obj
def queue(settings: Settings, *, as_json: bool) -> None:
    """Show which debates of all owners run or wait, oldest first.

    Columns: id, state, time of the last entry, owner, process, question. Waiting are those that no process runs: a
    server takes them over within ten seconds. After a minute they are stuck: their owner has too many, or no server can
    go on with them, and the logs of the servers say why. To try one again: counterpoint debate --continue ID; to take
    one out: counterpoint intervene ID pause; both with COUNTERPOINT_OWNER=OWNER.

    Example: counterpoint queue
    """
    rows = session.run_with_manager(settings, list_queue, of_all=True)
    if as_json:
        click.echo(session.format_json({"queue": [asdict(row) for row in rows]}))
        return
    session.print_paged(
        lambda out: out.print_rows([[clean_line(cell) for cell in astuple(row)] for row in rows])
    )
    if stuck := sum(row.state == "stuck" for row in rows):
        click.echo(f"{format_count(stuck, 'debate')} {STUCK_HINT}", err=True)
    if not rows:
        click.echo("No debate is running, and none is waiting.", err=True)
