"""`counterpoint queue`: the debates that are run, or wait to be, by whom and since when."""

import click

from server.cli import session
from server.debate.facts.text import clean_line
from server.engine.database.errors import translate_storage_errors
from server.engine.debates import DebateManager
from server.settings import Settings
from storage.streams import StreamFilter

MAX_LISTED = 1_000


@click.command()
@session.json_option
@click.pass_obj
def queue(settings: Settings, *, as_json: bool) -> None:
    """Show which debates of all owners run or wait, oldest first.

    Columns: id, running or waiting, time of the last entry, owner, process, question. Waiting are those that no process
    runs: their owner has too many, a server takes them over within ten seconds, or none can. What keeps one waiting for
    longer stands in the logs of the servers. To try one again: counterpoint debate --continue ID; to
    take one out: counterpoint intervene ID pause; both with COUNTERPOINT_OWNER=OWNER.

    Example: counterpoint queue
    """
    rows = session.run_with_manager(settings, list_queue, of_all=True)
    if as_json:
        click.echo(session.format_json({"queue": rows}))
        return
    session.print_paged(
        lambda out: out.print_rows([[clean_line(cell) for cell in row.values()] for row in rows])
    )
    if not rows:
        click.echo("No debate is running, and none is waiting.", err=True)


async def list_queue(manager: DebateManager) -> list[dict[str, str]]:
    storage = manager.store.storage
    holders = await manager.leases.find_holders()
    with translate_storage_errors():
        listings = await storage.lists.find(only=StreamFilter("running"), limit=MAX_LISTED)
        queued = [each for each in listings if each.stream in holders or each.details.get("runs_by_itself")]
        owners = await storage.lists.find_owners([each.stream for each in queued])
    return [
        {
            "debate_id": each.stream,
            "state": "running" if each.stream in holders else "waiting",
            "since": each.changed_at,
            "owner": owners.get(each.stream, ""),
            "process": holders.get(each.stream, ""),
            "question": each.title,
        }
        for each in reversed(queued)
    ]
