"""`counterpoint debate` and `fork`: a debate that runs in the terminal."""

import signal
import sys
from functools import partial
from itertools import chain, cycle
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from server.cli import session
from server.cli.debates.options import (
    CANDIDATE_OPTIONS,
    DEBATE_OPTIONS,
    OUTPUT_OPTIONS,
    SEAT_OPTIONS,
    build_debate_request,
    build_fork_changes,
    debaters_option,
    parse_chaos,
)
from server.cli.help import QuestionCommand
from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.setup.limits import Limits
from server.debate.facts.text import clean_line
from server.debate.interventions.action import InterventionRequest
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.seats import current_model
from server.debate.views import state, verdict
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import find_debate_id
from server.models.fakes.chaos import EXAMPLE_SPEC, Chaos
from server.models.registry import NoModelError
from server.settings import Settings

if TYPE_CHECKING:
    from server.cli.live.background import Background


EXAMPLES = """\b
Examples:
  counterpoint debate "Tabs?" --debater "Ada: yes" --debater "Bob: no"
  counterpoint debate "Ship it?" --document plan.md --effort quick
  counterpoint debate "Rewrite it?" --max-calls 12 --fallback-model local
  counterpoint debate --continue k3x9w2m4p7qr"""

OPTIONS_WHEN_CONTINUING = {
    *("--continue", "--chaos", "--json", "--quiet", "--model", "--judge-model"),
    *("--" + name.replace("_", "-") for name in Limits.model_fields),
}
"""Options about the run and its output, and the limits and models, which can change while a debate runs."""


@click.command(cls=QuestionCommand, epilog=EXAMPLES)
@click.argument("question", required=False)
@click.option(
    "--continue",
    "continue_id",
    metavar="ID",
    shell_complete=session.complete_id,
    help="Go on with this debate, also with other models. A paused one is resumed.",
)
@click.option(
    "--format",
    type=click.Choice([*FORMATS]),
    metavar="FORMAT",
    help=f"One of: {', '.join(FORMATS)}.  [second_opinion; advocates if debaters have stances]",
)
@debaters_option("A debater", "Default: a model names the positions.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk before the verdict.")
@SEAT_OPTIONS
@CANDIDATE_OPTIONS
@DEBATE_OPTIONS
@click.option(
    "--chaos", metavar="SPEC", callback=parse_chaos, help=f"Inject faults into all models: {EXAMPLE_SPEC}"
)
@OUTPUT_OPTIONS
@click.pass_context
def debate(
    ctx: click.Context, /, question: str | None, continue_id: str | None, chaos: Chaos | None, **options: Any
) -> None:
    """Ask QUESTION in the terminal, and print the answer. QUESTION may be - for stdin.

    Exit code 0 only for a concluded debate. After Ctrl-C it can be continued.
    """
    if question == "-":
        question = sys.stdin.read().strip()
    if continue_id:
        typed = {
            row.name or "": row.opts[0]
            for row in ctx.command.params
            if ctx.get_parameter_source(row.name or "") is ParameterSource.COMMANDLINE
        }
        if fixed := [option for option in typed.values() if option not in OPTIONS_WHEN_CONTINUING]:
            raise click.UsageError(f"--continue keeps the debate's options: leave out {', '.join(fixed)}.")
        changes = {name: options[name] for name in typed if options.get(name)}
        starter: session.DebateStarter = partial(continue_debate, continue_id, changes)
    elif question:
        starter = partial(start_debate, build_debate_request(question, options))
    else:
        raise click.UsageError("Give a QUESTION, or --continue ID.")
    run_debate(
        ctx.obj,
        starter,
        chaos,
        as_json=options["as_json"],
        quiet=options["quiet"],
        makes_database=not continue_id,
    )


async def start_debate(request: DebateRequest, manager: DebateManager) -> DebateSnapshot:
    try:
        return await manager.start(request, actor=session.ACTOR)
    except NoModelError as error:
        if not (error.proposal and sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        click.echo(clean_line(f"No model is set up. On this machine {error.found}."), err=True)
        if not click.confirm(f"Debate with {' and '.join(error.proposal)}?", default=True, err=True):
            raise
        request = request.model_copy(update={"models": error.proposal})
    return await manager.start(request, actor=session.ACTOR)


async def continue_debate(debate_id: str, changes: dict[str, Any], manager: DebateManager) -> DebateSnapshot:
    """Claim a stored debate, apply new limits and models, and resume it if it is paused."""
    snapshot = await manager.store.claim(await find_debate_id(manager, debate_id))
    intervene = partial(manager.intervene, actor=session.ACTOR, run=False)
    for seat, model in list_new_models(snapshot.debate, changes):
        request = InterventionRequest(to=seat, model=model, reason="continued with other models")
        snapshot, _ = await intervene(snapshot.id, "replace_model", request)
    if limits := {name: changes[name] for name in Limits.model_fields if name in changes}:
        snapshot, _ = await intervene(snapshot.id, "extend", InterventionRequest(limits=limits))
    if snapshot.debate.paused:
        request = InterventionRequest(reason="continued in the terminal")
        snapshot, _ = await manager.intervene(snapshot.id, "resume", request, actor=session.ACTOR)
    return snapshot


def list_new_models(debate: Debate, changes: dict[str, Any]) -> list[tuple[str, str]]:
    """(seat, model) for each seat whose model changes. Models are given to debaters, and to judges, in turn."""
    rows = ((debate.names, changes.get("models")), (judge_seats(debate.setup), changes.get("judge_models")))
    assignments = (zip(seats, cycle(models), strict=False) for seats, models in rows if models)
    return [(seat, model) for seat, model in chain(*assignments) if current_model(debate, seat) != model]


@click.command()
@session.debate_id_argument
@click.option("--at-round", type=click.IntRange(0), required=True, help="The last round to keep; 0: none.")
@debaters_option("A debater's new stance")
@click.option("--moderator-model", "moderator", help="The model of the moderator.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk, those that are kept included.")
@SEAT_OPTIONS
@OUTPUT_OPTIONS
@click.pass_obj
def fork(settings: Settings, /, debate_id: str, at_round: int, **arguments: Any) -> None:
    """Begin a new debate with the first rounds of another.

    Everything that no option changes stays. `counterpoint compare` puts the two side by side. With candidates
    or a topic the models of debaters and judges are chosen again.

    Example: counterpoint fork k3x9w2m4p7qr --at-round 1 --judge-model openai/gpt-5.6-terra
    """

    async def start_fork(manager: DebateManager) -> DebateSnapshot:
        parent = await manager.load(await find_debate_id(manager, debate_id))
        changes = build_fork_changes(parent.debate.names, arguments)
        return await manager.fork(parent.id, at_round, changes, actor=session.ACTOR)

    run_debate(settings, start_fork, as_json=arguments["as_json"], quiet=arguments["quiet"])


CONTINUE_HINT = " Continue with: counterpoint debate --continue {}"


def run_debate(
    settings: Settings,
    starter: session.DebateStarter,
    chaos: Chaos | None = None,
    *,
    as_json: bool = False,
    quiet: bool = False,
    makes_database: bool = False,
) -> None:
    """Run a debate and print it. Exits with 1 if it is not concluded. `makes_database`: create a missing one."""
    from server.cli.live import display as live  # noqa: PLC0415  (imports rich, which other commands need not)
    from server.cli.live import result, run  # noqa: PLC0415

    if chaos:
        click.echo(f"Chaos: {chaos}. Faults are injected; results mean nothing.", err=as_json)
    display = live.LiveDisplay.for_streams(show_turns=not (as_json or quiet), show_bar=not quiet)
    background = fork_for_keys() if display.has_board else None
    with session.sigterm_as_interrupt() as signals:
        try:
            operation = partial(run.run_and_display, starter, display, background=background)
            snapshot = session.run_with_manager(settings, operation, chaos, makes_database=makes_database)
        except KeyboardInterrupt:
            hint = CONTINUE_HINT.format(display.snapshot.id) if display.snapshot else ""
            click.echo(f"\nStopped.{hint}", err=True)
            sys.exit(128 + (signals or [signal.SIGINT])[0])
    debate = snapshot.debate
    if as_json:
        summary = {
            "debate_id": snapshot.id,
            "state": state.build_state(snapshot),
            "result": verdict.build_result(debate),
            "verdict": verdict.build_verdict(debate).model_dump(),
            "provenance": snapshot.provenance.model_dump(),
        }
        click.echo(session.format_json(summary))
    else:
        result.print_summary(snapshot, display.out)
    if snapshot.status != "concluded":
        is_reason_shown = display.show_turns and debate.paused
        reason = "" if is_reason_shown else f": {state.status_reason(debate).removesuffix('.')}"
        text = f"The debate is {state.tell_standing(snapshot.status)}{reason}."
        if snapshot.status in ("paused", "waiting"):
            text += CONTINUE_HINT.format(snapshot.id)
        raise click.ClickException(clean_line(text))


def fork_for_keys() -> "Background | None":
    """Fork a process for the debate if keys can be read, so that `q` can leave the debate running."""
    from server.cli.live import background, keyboard  # noqa: PLC0415  (imports rich)

    terminal_keyboard = keyboard.Keyboard.find()
    return background.fork(terminal_keyboard.descriptor) if terminal_keyboard else None
