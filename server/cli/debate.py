"""`counterpoint debate` and `counterpoint demo`: a debate in the terminal, while it runs."""

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import click
from click.core import ParameterSource

from server.cli.caller_turns import Dialogue
from server.cli.live import LiveDisplay, SigtermAsInterrupt, watch
from server.cli.options import (
    FAILURE_OPTIONS,
    FORMAT_OPTION,
    LIMIT_OPTIONS,
    OUTPUT_OPTIONS,
    PROCEDURE_OPTIONS,
    SEAT_OPTIONS,
    build_debate_request,
    build_fork_changes,
    debaters_option,
)
from server.cli.rendering import Screen, sanitize_line
from server.cli.session import format_json, run_with_manager
from server.debate.commands.intervene import InterventionRequest
from server.debate.commands.requests import DebateRequest
from server.debate.facts.config import Limits
from server.debate.views import markdown
from server.debate.views import state as views
from server.debate.views import warnings as cautions
from server.engine import forks as forking
from server.engine.debates import DebateManager
from server.engine.store import DebateSnapshot
from server.models.fakes.chaos import EXAMPLE_SPEC, Chaos
from server.models.local import weights
from server.models.local.model import is_available
from server.settings import Settings

ACTOR = "terminal"
DEMO_MOTION = "Smartphones should be allowed in classrooms."

EXAMPLES = """\b
Examples:
  counterpoint debate "Tabs or spaces?" --debater "Ada: tabs" --debater "Bob: spaces"
  counterpoint debate "Ship on Friday?" --model openai/gpt-5.6-terra --document plan.md
  counterpoint debate "Rewrite it?" --max-calls 12 --round-timeout 90 --fallback-model local
  counterpoint debate --continue k3x9w2m4p7qr"""

RUN_OPTIONS = {"--continue", "--chaos", "--json", "--quiet"}
"""The options that say nothing about what is debated."""

DebateStarter = Callable[[DebateManager], Awaitable[DebateSnapshot]]


def parse_chaos(_: click.Context, _option: click.Parameter, spec: str | None) -> Chaos | None:
    try:
        return None if spec is None else Chaos.parse(spec)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@click.command(epilog=EXAMPLES)
@click.argument("question", required=False)
@click.option(
    "--continue", "continue_id", metavar="ID", help="Go on with this debate; a paused one is resumed."
)
@FORMAT_OPTION
@debaters_option("A debater", "Default: one for, one against.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk before it is decided.")
@SEAT_OPTIONS
@PROCEDURE_OPTIONS
@LIMIT_OPTIONS
@FAILURE_OPTIONS
@click.option(
    "--chaos", metavar="SPEC", callback=parse_chaos, help=f"Make all models fail at times: {EXAMPLE_SPEC}"
)
@OUTPUT_OPTIONS
@click.pass_context
def debate(
    ctx: click.Context,
    /,
    question: str | None,
    continue_id: str | None,
    chaos: Chaos | None,
    as_json: bool,
    quiet: bool,
    **option_values: Any,
) -> None:
    """Debate QUESTION here and now, and print the verdict.

    Exit code 0 only for a concluded debate. Ctrl-C keeps what was said.
    """
    if continue_id:
        # The limits that can be changed on the way may be given with it.
        fit = {*RUN_OPTIONS, *("--" + name.replace("_", "-") for name in Limits.model_fields)}
        if others := [option for option in find_given_options(ctx) if option not in fit]:
            raise click.UsageError(f"--continue goes on as the debate began: leave out {', '.join(others)}.")
        begin = partial(
            continue_debate,
            continue_id,
            {name: option_values[name] for name in Limits.model_fields if option_values.get(name)},
        )
    elif question:
        begin = partial(start_new_debate, build_debate_request(question, **option_values))
    else:
        raise click.UsageError("Give a QUESTION, or --continue ID.")
    run_debate(ctx.obj, begin, chaos=chaos, as_json=as_json, quiet=quiet)


@click.command()
@click.argument("debate_id", metavar="ID")
@click.option("--at-round", type=click.IntRange(0), required=True, help="The last round to share; 0: none.")
@debaters_option("Another stance for one")
@click.option("--moderator-model", "moderator", help="Of the moderator that there is.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk, those that are shared included.")
@SEAT_OPTIONS
@OUTPUT_OPTIONS
@click.pass_obj
def fork(
    settings: Settings, /, debate_id: str, at_round: int, as_json: bool, quiet: bool, **option_values: Any
) -> None:
    """Give a debate another future: a new one with the same first rounds, run here and now.

    What is not asked for otherwise stays as it is. `counterpoint compare` puts the two side by side.

    Example: counterpoint fork k3x9w2m4p7qr --at-round 1 --judge-model openai/gpt-5.6-terra
    """
    begin = partial(start_fork, debate_id, at_round, option_values)
    run_debate(settings, begin, as_json=as_json, quiet=quiet)


async def start_fork(
    debate_id: str, at_round: int, option_values: dict[str, Any], manager: DebateManager
) -> DebateSnapshot:
    names = (await manager.load(debate_id)).debate.names
    return await forking.fork(
        manager, debate_id, at_round, build_fork_changes(names, **option_values), actor=ACTOR
    )


def find_given_options(ctx: click.Context) -> list[str]:
    """The options and arguments that stand on the command line."""
    return [
        parameter.opts[0]
        for parameter in ctx.command.params
        if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]


async def start_new_debate(request: DebateRequest, manager: DebateManager) -> DebateSnapshot:
    return await manager.start(request, actor=ACTOR)


async def continue_debate(debate_id: str, limits: dict[str, Any], manager: DebateManager) -> DebateSnapshot:
    """A debate as it stands, with new limits if there are any, and resumed."""
    case = await manager.load(debate_id)
    if limits:
        case, _ = await manager.intervene(
            debate_id, "extend", InterventionRequest(limits=limits), actor=ACTOR
        )
    if case.debate.paused:
        case, _ = await manager.intervene(
            debate_id, "resume", InterventionRequest(reason="continued by hand"), actor=ACTOR
        )
    return case


def run_debate(
    settings: Settings,
    starter: DebateStarter,
    *,
    chaos: Chaos | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Run a debate before the user's eyes; the exit code says whether it was concluded."""
    if chaos:  # said where it is seen, whatever else is asked for
        click.echo(f"Chaos: {chaos}. Faults are made on purpose; this is no real debate.", err=as_json)
    live = LiveDisplay(Screen.detect(), show_turns=not (as_json or quiet), show_bar=not quiet)
    with SigtermAsInterrupt() as interruptible:
        try:
            case = run_with_manager(settings, partial(run_and_display, starter, live), chaos)
        except KeyboardInterrupt:
            go_on = f"go on with: counterpoint debate --continue {live.snapshot.id}" if live.snapshot else ""
            click.echo("\nStopped." + (f" What was said is kept; {go_on}" if go_on else ""), err=True)
            sys.exit(interruptible.exit_code)
    click.echo(format_json(build_summary(case))) if as_json else print_summary(case, live.screen)
    if case.status != "concluded":
        stands = case.status in ("paused", "waiting")
        hint = f" Go on with: counterpoint debate --continue {case.id}" if stands else ""
        raise click.ClickException(
            sanitize_line(
                f"The debate is {case.status}: {views.status_reason(case.debate).removesuffix('.')}.{hint}"
            )
        )


async def run_and_display(
    starter: DebateStarter, display: LiveDisplay, manager: DebateManager
) -> DebateSnapshot:
    manager.subscribe(display.on_commit)
    if display.show_bar and display.show_turns:  # streaming costs time at every piece
        manager.subscribe_to_text(display.on_text)
    case = await starter(manager)
    if case.debate.version > 1:  # it has a past
        display.continue_from(case)
    dialogue = Dialogue(display.screen, ACTOR)
    while not case.debate.ended:
        case = await watch(manager, case, display)
        turn = await dialogue.take_turn(manager, case) if case.status == "waiting" else None
        if turn is None:
            break
        case = turn
    return case


def build_summary(snapshot: DebateSnapshot) -> dict[str, Any]:
    return {
        "debate_id": snapshot.id,
        "state": views.build_state(snapshot.id, snapshot.debate, snapshot.entries).model_dump(),
        "result": views.raw_result(snapshot.debate),
        "verdict": views.build_verdict(snapshot.debate).model_dump(),
    }


def print_summary(snapshot: DebateSnapshot, screen: Screen) -> None:
    if markdown.has_result(snapshot.debate):
        if cautions.has_uninformative_decision(snapshot.debate):
            warning = (
                "The embedded model is far too small to judge: what follows shows what a verdict looks "
                "like, and says nothing about the question."
            )
            click.echo("\n" + screen.paint(screen.wrap(warning, "! ", "  "), fg="yellow"))
        click.echo("\n" + screen.render(markdown.render_verdict(snapshot.debate)))
    click.echo(f"\ndebate {snapshot.id}\nRead it again: counterpoint show {snapshot.id}")


@click.command()
@click.argument("question", default=DEMO_MOTION)
@click.pass_obj
def demo(settings: Settings, question: str) -> None:
    """Show a whole debate on the embedded model: no key, no network, nothing to pay.

    Its weights (93 MB) are fetched first where they are missing. QUESTION is best put as a motion.

    Example: counterpoint demo "Cities should ban cars from their centres."
    """
    if find_spec("xllamacpp") is None:
        raise click.ClickException(
            "The embedded model's runtime is not installed: pip install 'counterpoint-mcp[local]'"
        )
    if not is_available():
        weights.install(None, partial(click.echo, err=True))
    run_debate(
        settings,
        partial(start_new_debate, DebateRequest(question=question, models=["local"], max_rounds=2, run=True)),
    )
