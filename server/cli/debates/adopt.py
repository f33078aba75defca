"""`counterpoint adopt`: have ledger and memory use debates that others recorded."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import click

from server.cli import session
from server.cli.completion import complete_id
from server.cli.terminal import quote_words
from server.debate.facts.text import clean_line, format_count
from server.debate.views.provenance import describe_provenance
from server.engine.debates import DebateManager
from server.engine.queries import find_debate_id
from server.settings import Settings
from server.upkeep.adoption import Influence, Standing, adopt_debates, find_influence

MOST_SHOWN = 40  # debates in a line each
MOST_NAMED = 5  # ids in a sentence


@click.command()
@click.argument("debate_ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_id)
@click.option("--yes", is_flag=True, help="Do not ask.")
@session.json_option
@click.pass_obj
def adopt(settings: Settings, debate_ids: Sequence[str], yes: bool, as_json: bool) -> None:
    """Have the ledger and memory use debates that others recorded, as if they had been held here.

    It says first what that changes: the records and weights of which judges, and what later debates are told. The mark
    that others recorded them stays. An export holds no adoption: who imports it decides anew.

    Example: counterpoint adopt k3x9w2m4p7qr
    """

    async def look(manager: DebateManager) -> tuple[list[str], Influence]:
        found = [await find_debate_id(manager, text) for text in debate_ids]
        return found, await find_influence(manager, found)

    found, influence = session.run_with_manager(settings, look)
    if not yes:
        for line in list_lines(influence, is_done=False):
            click.echo(clean_line(line), err=True)
        click.confirm("Adopt? They count from then on.", abort=True, err=True)
    influence = session.run_with_manager(settings, partial(adopt_debates, debate_ids=found))
    if as_json:
        click.echo(session.format_json(dump_influence(influence)))
        return
    for line in list_lines(influence, is_done=True):
        click.echo(clean_line(line))


def list_lines(found: Influence, *, is_done: bool) -> Iterator[str]:
    """What adoption changes."""
    count = format_count(len(found.debates), "debate")
    yield f"{count} adopted." if is_done else f"{count} to adopt:"
    for one in () if is_done else found.debates[:MOST_SHOWN]:
        told = describe_provenance(one.provenance, len(one.entries))
        yield f"  {one.id}: {quote_words(one.debate.setup.question)} {told}"
    if not is_done and len(found.debates) > MOST_SHOWN:
        yield f"  and {len(found.debates) - MOST_SHOWN} more."
    for ids in found.repeated.values():
        yield f"{len(ids)} of them ask the same question, and each counts by itself: {shorten(ids)}."
    if found.judges:
        yield f"The ledger {'has' if is_done else 'would have'} their settled votes:"
        yield from (f"  {describe_standing(one)}" for one in found.judges)
    else:
        yield "No judge's record changes: no outcome is recorded, or no judge of theirs is rated."
    if found.their_outcomes:
        yield f"What turned out right was recorded elsewhere, too: {shorten(found.their_outcomes)}."
    if found.recalled:
        verdicts, quotes = (
            format_count(len(found.recalled), "verdict"),
            "quotes" if is_done else "would quote",
        )
        yield f"Memory {quotes} {verdicts} in debates on related questions: {shorten(found.recalled)}."
    for debate_id, why in found.left_out.items():
        yield f"Memory does not quote {debate_id}: {why}."


def describe_standing(one: Standing) -> str:
    """What a judge's record was, and what it is with the adopted votes."""
    votes = format_count(one.added, "vote")
    before, after = (
        f"weight {float(record.weight):.2f}{' (proven)' if record.is_proven else ''}, "
        f"{record.right} right and {record.wrong} wrong"
        for record in (one.before, one.after)
    )
    return f"{one.judge}, {votes}: {before}; then {after}."


def shorten(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    return ", ".join(ids[:MOST_NAMED]) + more


def dump_influence(found: Influence) -> dict[str, Any]:
    judges = [
        {
            "judge": one.judge,
            "votes": one.added,
            **{
                name: {"weight": f"{float(record.weight):.2f}", "proven": record.is_proven}
                for name, record in (("before", one.before), ("after", one.after))
            },
        }
        for one in found.judges
    ]
    return {
        "adopted": [one.id for one in found.debates],
        "judges": judges,
        "recalled": [*found.recalled],
        "left_out": {**found.left_out},
        "their_outcomes": [*found.their_outcomes],
        "same_question": [[*ids] for ids in found.repeated.values()],
    }
