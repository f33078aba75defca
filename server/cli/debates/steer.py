"""`counterpoint intervene`, `tag` and `delete`: what is done to a debate, whichever process runs it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import anyio
import click

from server.cli import session
from server.cli.terminal import quote_words
from server.debate.facts.text import clean_line, format_count
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import ACTIONS
from server.engine.database.errors import DebateDeletedError, StorageUnavailableError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.settings import Settings
from server.upkeep.deletion import delete_debate
from storage.contract.deletion import Tombstone

NOT_RUN = "No process runs it now. To go on: counterpoint debate --continue {}"
TAKE_UP_SECONDS = 3.0  # in which a process that waits for the debate takes it up
TAKE_UP_INTERVAL = 0.2


def parse_weight(_: click.Context, _option: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    weights = {}
    for text in given:
        seat, equals, weight = text.rpartition("=")
        try:
            is_number = bool(equals and seat.strip()) and Fraction(weight.strip()) >= 0
        except (ValueError, ZeroDivisionError):
            is_number = False
        if not is_number:
            raise click.UsageError(f"--weights {text!r}: write SEAT=WEIGHT, as in 'judge 1=3/2'.")
        weights[seat.strip()] = weight.strip()
    return weights


@click.command()
@session.debate_id_argument
@click.argument("action", metavar="ACTION", type=click.Choice(ACTIONS))
@click.option(
    "--text",
    default="",
    help="Of inject, challenge, instruct, tag and untag.",
)
@click.option(
    "--to", default="", metavar="SEAT", help="For one seat; of outcome the position that was right."
)
@click.option("--rounds", type=click.IntRange(1), default=None, help="Of extend: how many more.")
@click.option("--round", "round_number", type=click.IntRange(1), default=None, help="Of retract.")
@click.option("--model", default="", help="Of replace_model.")
@click.option(
    "--weights",
    multiple=True,
    metavar="SEAT=WEIGHT",
    callback=parse_weight,
    help="As 'judge 1=3/2'. Repeatable.",
)
@click.option("--threshold", default="", help="The share that a position needs, as 2/3.")
@click.option("--reason", default="", help="For the record.")
@click.pass_obj
def intervene(
    settings: Settings, /, debate_id: str, action: str, round_number: int | None, **given: Any
) -> None:
    """Change the course of a debate, whichever process runs it.

    Example: counterpoint intervene k3x9w2m4p7qr inject --text "The budget is fixed."
    """
    request = InterventionRequest(**given | {"rounds": given["rounds"] or 0, "round": round_number or 0})

    async def make(manager: DebateManager, found: str) -> tuple[DebateSnapshot, str, bool]:
        before = await manager.load(found)
        snapshot, effect = await manager.intervene(found, action, request, actor=session.ACTOR, run=False)
        if snapshot.status != "running":
            return snapshot, effect, True
        is_awaited = before.status == "paused" and snapshot.is_unattended
        return snapshot, effect, await is_taken_up(manager, found, TAKE_UP_SECONDS if is_awaited else 0)

    snapshot, effect, is_run = session.run_with_debate(settings, debate_id, make)
    if not is_run and action == "resume":
        effect = "It is resumed."
    click.echo(clean_line(effect))
    if not is_run:
        click.echo(NOT_RUN.format(snapshot.id))


async def is_taken_up(manager: DebateManager, debate_id: str, wait: float) -> bool:
    """Whether a process runs the debate, or begins to within so many seconds."""
    until = anyio.current_time() + wait
    while True:
        is_run = await manager.is_run(debate_id)
        if is_run or anyio.current_time() >= until:
            return is_run
        await anyio.sleep(TAKE_UP_INTERVAL)


@click.command()
@session.debate_id_argument
@click.argument("tags", nargs=-1, required=True, metavar="TAG...")
@click.option("--remove", is_flag=True, help="Take these tags away.")
@click.option("--reason", default="", help="For the record.")
@click.pass_obj
def tag(settings: Settings, debate_id: str, tags: Sequence[str], remove: bool, reason: str) -> None:
    """Give a debate tags, under which lists find it: at any time, also after its end.

    Example: counterpoint tag k3x9w2m4p7qr billing urgent
    """
    action = "untag" if remove else "tag"
    request = InterventionRequest(text="\n".join(map(clean_line, tags)), reason=reason)

    async def make(manager: DebateManager, found: str) -> str:
        return (await manager.intervene(found, action, request, actor=session.ACTOR, run=False))[1]

    click.echo(clean_line(session.run_with_debate(settings, debate_id, make)))


@click.command()
@session.debate_id_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(settings: Settings, debate_id: str, yes: bool) -> None:
    """Delete a debate with its texts, and the mirror that was held for it. Whoever runs it stops.

    What stays: a tombstone with the id, the hash of the last entry, the date and the signed receipt; what was spent in
    the sums of its days; its forks; and what was copied elsewhere, as exports and backups.

    Example: counterpoint delete k3x9w2m4p7qr
    """

    async def describe(manager: DebateManager, found: str) -> tuple[str, str]:
        try:
            snapshot = await manager.load(found)
        except DebateDeletedError:
            raise
        except StorageUnavailableError as error:
            return found, f"It cannot be read: {error}"
        told = [quote_words(snapshot.debate.setup.question), snapshot.status]
        told.append(format_count(len(snapshot.debate.turns), "turn"))
        if await manager.is_run(found):
            told.append("a process runs it now, and stops")
        return found, ", ".join(told)

    async def remove(manager: DebateManager, found: str) -> list[Tombstone]:
        return await delete_debate(manager, found, actor=session.ACTOR)

    if not yes:
        found, told = session.run_with_debate(settings, debate_id, describe)
        click.echo(clean_line(f"Debate {found}: {told}."), err=True)
        debate_id = found
        click.confirm("Delete it? Its texts cannot be brought back.", abort=True, err=True)
    for one in session.run_with_debate(settings, debate_id, remove):
        receipt = "its signed receipt, " if one.texts else ""
        click.echo(
            f"Debate {one.stream} is deleted. What stays: its id, the date {one.at[:10]}, {receipt}and the hash of the "
            f"last of its {one.seq} entries, {one.head}."
        )
