"""`counterpoint adopt`: let the ledger and memory use debates that others recorded."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from server.cli import session
from server.cli.terminal import quote_words
from server.debate.facts.text import clean_line, format_count
from server.debate.views.provenance import describe_provenance
from server.engine.debates import DebateManager
from server.engine.queries import find_debate_id
from server.optional import optional_import
from server.settings import Settings

if TYPE_CHECKING:
    from server.upkeep.adoption import Influence, Standing

MAX_LINES = 40  # debates in a line each
MAX_NAMED = 5  # ids in a sentence


@click.command()
@click.argument("debate_ids", metavar="ID...", nargs=-1, required=True, shell_complete=session.complete_id)
@click.option("--yes", is_flag=True, help="Do not ask.")
@session.json_option
@click.pass_obj
def adopt(settings: Settings, debate_ids: Sequence[str], yes: bool, as_json: bool) -> None:
    """Let the ledger and memory use debates that others recorded.

    It first shows what changes: the judges' records and weights, and what later debates recall. The debates stay
    marked as recorded elsewhere. Exports leave this out: whoever imports the debate decides again.

    Example: counterpoint adopt k3x9w2m4p7qr
    """
    with optional_import():
        from server.upkeep.adoption import adopt_debates, find_influence  # noqa: PLC0415

    async def preview(manager: DebateManager) -> "tuple[list[str], Influence]":
        full_ids = [await find_debate_id(manager, text) for text in debate_ids]
        return full_ids, await find_influence(manager, full_ids)

    full_ids, influence = session.run_with_manager(settings, preview)
    if not yes and len(influence.already) < len(influence.debates):
        for line in list_lines(influence, is_done=False):
            click.echo(clean_line(line), err=True)
        click.confirm("Adopt? They count from then on.", abort=True, err=True)
    influence = session.run_with_manager(settings, partial(adopt_debates, debate_ids=full_ids))
    if as_json:
        click.echo(session.format_json(dump_influence(influence)))
        return
    for line in list_lines(influence, is_done=True):
        click.echo(clean_line(line))


def list_lines(influence: "Influence", *, is_done: bool) -> Iterator[str]:
    """What adoption changes, a line each."""
    new = [snapshot for snapshot in influence.debates if snapshot.id not in influence.already]
    if new:
        count = format_count(len(new), "debate")
        yield f"{count} adopted." if is_done else f"{count} to adopt:"
    for snapshot in () if is_done else new[:MAX_LINES]:
        provenance = describe_provenance(snapshot.provenance, len(snapshot.entries))
        yield f"  {snapshot.id}: {quote_words(snapshot.debate.setup.question)} {provenance}"
    if not is_done and len(new) > MAX_LINES:
        yield f"  and {len(new) - MAX_LINES} more."
    if influence.already:
        yield f"Adopted already: {shorten(influence.already)}."
    for ids in influence.repeated.values():
        yield f"{len(ids)} of them ask the same question, and each counts by itself: {shorten(ids)}."
    if influence.judges:
        yield f"The ledger {'has' if is_done else 'would have'} their settled votes:"
        yield from (f"  {describe_standing(standing)}" for standing in influence.judges)
    else:
        yield "No judge's record changes: no outcome is recorded, or no judge of theirs is rated."
    if influence.their_outcomes:
        yield f"What turned out right was recorded elsewhere, too: {shorten(influence.their_outcomes)}."
    if influence.recalled:
        verdicts, quotes = (
            format_count(len(influence.recalled), "verdict"),
            "quotes" if is_done else "would quote",
        )
        yield f"Memory {quotes} {verdicts} in debates on related questions: {shorten(influence.recalled)}."
    for debate_id, reason in influence.left_out.items():
        yield f"Memory does not quote {debate_id}: {reason}."


def describe_standing(standing: "Standing") -> str:
    """A judge's record before and after the adopted votes."""
    votes = format_count(standing.added, "vote")
    before, after = (
        f"weight {float(record.weight):.2f}{' (proven)' if record.is_proven else ''}, "
        f"{record.right} right and {record.wrong} wrong"
        for record in (standing.before, standing.after)
    )
    return f"{standing.judge}, {votes}: {before}; then {after}."


def shorten(ids: Sequence[str]) -> str:
    rest = f" and {len(ids) - MAX_NAMED} more" if len(ids) > MAX_NAMED else ""
    return ", ".join(ids[:MAX_NAMED]) + rest


def dump_influence(influence: "Influence") -> dict[str, Any]:
    judges = [
        {
            "judge": standing.judge,
            "votes": standing.added,
            **{
                name: {"weight": f"{float(record.weight):.2f}", "proven": record.is_proven}
                for name, record in (("before", standing.before), ("after", standing.after))
            },
        }
        for standing in influence.judges
    ]
    return {
        "adopted": [standing.id for standing in influence.debates if standing.id not in influence.already],
        "already": [*influence.already],
        "judges": judges,
        "recalled": [*influence.recalled],
        "left_out": {**influence.left_out},
        "their_outcomes": [*influence.their_outcomes],
        "same_question": [[*ids] for ids in influence.repeated.values()],
    }
