"""`counterpoint queue`: the debates that are run, or wait to be, by whom and since when."""

from dataclasses import asdict, astuple

import click

from server.cli import session
from server.debate.facts.text import clean_line, format_count
from server.engine.queue import list_queue
from server.settings import Settings

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
