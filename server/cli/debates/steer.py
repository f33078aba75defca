"""`counterpoint intervene`, `tag` and `delete`: change a debate, whichever process runs it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import anyio
import click

from server.cli import session
from server.cli.terminal import quote_words
from server.debate.facts.text import clean_line, format_count
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import ACTIONS, ACTIONS_WITH_TEXT
from server.debate.views.state import tell_standing
from server.engine.database.errors import (
    DebateArchivedError,
    DebateDeletedError,
    StorageUnavailableError,
)
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.optional import optional_import
from server.settings import Settings
from storage.streams import Tombstone

NOT_RUN = "No process runs it now. To go on: counterpoint debate --continue {}"
TAKE_UP_SECONDS = 3.0  # for a process that waits for a paused debate to take it up
TAKE_UP_INTERVAL = 0.2


def parse_weight(_: click.Context, _option: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    weights = {}
    for text in texts:
        seat, equals, weight = text.rpartition("=")
        try:
            is_number = bool(equals and seat.strip()) and Fraction(weight.strip()) >= 0
        except (ValueError, ZeroDivisionError):
            is_number = False
        if not is_number:
            raise click.UsageError(f"--weights {text!r}: write SEAT=WEIGHT, as in 'judge 1=3/2'.")
        weights[seat.strip()] = weight.strip()
    return weights


def parse_limit(_: click.Context, _option: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """Limits by name. The debate itself checks names and values."""
    for text in texts:
        if "=" not in text:
            raise click.UsageError(f"--limit {text!r}: write NAME=VALUE, as in max_calls=40.")
    return dict(text.split("=", 1) for text in texts)


@click.command(epilog=f"ACTION is one of {', '.join(ACTIONS)}.")
@session.debate_id_argument
@click.argument("action", metavar="ACTION", type=click.Choice(ACTIONS))
@click.option("--text", default="", help=f"The text of {', '.join(ACTIONS_WITH_TEXT)}.")
@click.option(
    "--to", default="", metavar="SEAT", help="One seat; for outcome: the position that turned out right."
)
@click.option("--rounds", type=click.IntRange(1), default=None, help="For extend: how many more.")
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    callback=parse_limit,
    help="For extend: a new limit, such as max_calls=40. Repeatable.",
)
@click.option("--round", "round_number", type=click.IntRange(1), default=None, help="For retract: the round.")
@click.option("--model", default="", help="For replace_model: the new model.")
@click.option(
    "--weights",
    multiple=True,
    metavar="SEAT=WEIGHT",
    callback=parse_weight,
    help="For weights: what a vote weighs, such as 'judge 1=3/2'. Repeatable.",
)
@click.option("--threshold", default="", help="For threshold: the share that a position needs, such as 2/3.")
@click.option("--reason", default="", help="Why; it is recorded.")
@click.pass_obj
def intervene(
    settings: Settings, /, debate_id: str, action: str, round_number: int | None, **arguments: Any
) -> None:
    """Change the course of a debate, whichever process runs it.

    Example: counterpoint intervene k3x9w2m4p7qr inject --text "The budget is fixed."
    """
    request = InterventionRequest(
        **arguments | {"rounds": arguments["rounds"] or 0, "round": round_number or 0}
    )

    async def apply(manager: DebateManager, full_id: str) -> tuple[DebateSnapshot, str, bool]:
        before = await manager.load(full_id)
        snapshot, effect = await manager.intervene(full_id, action, request, actor=session.ACTOR, run=False)
        if snapshot.status != "running":
            return snapshot, effect, True
        is_awaited = before.status == "paused" and snapshot.is_unattended
        return snapshot, effect, await wait_for_runner(manager, full_id, TAKE_UP_SECONDS if is_awaited else 0)

    snapshot, effect, is_run = session.run_with_debate(settings, debate_id, apply)
    if not is_run and action == "resume":
        effect = "It is resumed."
    click.echo(clean_line(effect))
    if not is_run:
        click.echo(NOT_RUN.format(snapshot.id))


async def wait_for_runner(manager: DebateManager, debate_id: str, seconds: float) -> bool:
    """Wait up to so many seconds for a process to run the debate. Returns whether one does."""
    deadline = anyio.current_time() + seconds
    while True:
        is_run = await manager.is_run(debate_id)
        if is_run or anyio.current_time() >= deadline:
            return is_run
        await anyio.sleep(TAKE_UP_INTERVAL)


@click.command()
@session.debate_id_argument
@click.argument("tags", nargs=-1, required=True, metavar="TAG...")
@click.option("--remove", is_flag=True, help="Take these tags away.")
@click.option("--reason", default="", help="Why; it is recorded.")
@click.pass_obj
def tag(settings: Settings, debate_id: str, tags: Sequence[str], remove: bool, reason: str) -> None:
    """Add tags to a debate, also after its end. `counterpoint list --tag TAG` finds it.

    Example: counterpoint tag k3x9w2m4p7qr billing urgent
    """
    action = "untag" if remove else "tag"
    request = InterventionRequest(text="\n".join(map(clean_line, tags)), reason=reason)

    async def apply(manager: DebateManager, full_id: str) -> str:
        return (await manager.intervene(full_id, action, request, actor=session.ACTOR, run=False))[1]

    click.echo(clean_line(session.run_with_debate(settings, debate_id, apply)))


@click.command()
@session.debate_id_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(settings: Settings, debate_id: str, yes: bool) -> None:
    """Delete a debate with its texts, and its mirror. A process that runs it stops.

    What stays: a tombstone with the id, the hash of the last entry, the date and the signed receipt; its part of the
    daily spending; its forks; and copies elsewhere, such as exports and backups.

    Example: counterpoint delete k3x9w2m4p7qr
    """
    with optional_import():
        from server.upkeep.deletion import delete_debate  # noqa: PLC0415

    async def describe(manager: DebateManager, full_id: str) -> tuple[str, str]:
        try:
            snapshot = await manager.load(full_id)
        except DebateDeletedError:
            raise
        except (DebateArchivedError, StorageUnavailableError) as error:
            return full_id, f"It cannot be read: {error}"
        parts = [quote_words(snapshot.debate.setup.question), tell_standing(snapshot.status)]
        parts.append(format_count(len(snapshot.debate.turns), "turn"))
        if await manager.is_run(full_id):
            parts.append("a process runs it now, and stops")
        return full_id, ", ".join(parts)

    async def remove(manager: DebateManager, full_id: str) -> list[Tombstone]:
        return await delete_debate(manager, full_id, actor=session.ACTOR)

    if not yes:
        full_id, description = session.run_with_debate(settings, debate_id, describe)
        click.echo(clean_line(f"Debate {full_id}: {description}."), err=True)
        debate_id = full_id
        click.confirm("Delete it? Its texts cannot be brought back.", abort=True, err=True)
    for tombstone in session.run_with_debate(settings, debate_id, remove):
        receipt = "its signed receipt, " if tombstone.texts else ""
        click.echo(
            f"Debate {tombstone.stream} is deleted. What stays: its id, the date {tombstone.at[:10]}, {receipt}and "
            f"the hash of the last of its {tombstone.seq} entries, {tombstone.head}."
        )
