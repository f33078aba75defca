"""`counterpoint debate`, `fork` and `demo`: a debate that runs in the terminal."""

import signal
import sys
from functools import partial
from importlib.util import find_spec
from typing import Any

import click
from click.core import ParameterSource

from server.cli import options, session
from server.cli.sanitize import sanitize_line
from server.debate.commands.formats import FORMATS
from server.debate.commands.intervene import InterventionRequest
from server.debate.commands.requests import DebateRequest
from server.debate.facts.config import Limits
from server.debate.facts.errors import InvalidRequestError
from server.debate.views import state, verdict
from server.engine.debates import DebateManager
from server.engine.store import DebateSnapshot
from server.models.fakes.chaos import EXAMPLE_SPEC, Chaos
from server.models.local import model as local
from server.models.local import weights
from server.settings import Settings

CONTINUE_HINT = " Continue with: counterpoint debate --continue {}"

EXAMPLES = """\b
Examples:
  counterpoint debate "Tabs or spaces?" --debater "Ada: tabs" --debater "Bob: spaces"
  counterpoint debate "Ship on Friday?" --model openai/gpt-5.6-terra --document plan.md
  counterpoint debate "Rewrite it?" --max-calls 12 --round-timeout 90 --fallback-model local
  counterpoint debate --continue k3x9w2m4p7qr"""

OPTIONS_WHEN_CONTINUING = {
    *("--continue", "--chaos", "--json", "--quiet"),
    *("--" + name.replace("_", "-") for name in Limits.model_fields),
}
"""Those about the run and its output, and the limits that can be changed while a debate runs."""


def parse_chaos(_: click.Context, _option: click.Parameter, spec: str | None) -> Chaos | None:
    try:
        return None if spec is None else Chaos.parse(spec)
    except InvalidRequestError as error:
        raise click.UsageError(str(error)) from None


@click.command(epilog=EXAMPLES)
@click.argument("question", required=False)
@click.option(
    "--continue", "continue_id", metavar="ID", help="Continue this debate; a paused one is resumed."
)
@click.option("--format", type=click.Choice([*FORMATS]), default="second_opinion", show_default=True)
@options.debaters_option("A debater", "Default: one for, one against.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk before the verdict.")
@options.SEAT_OPTIONS
@options.DEBATE_OPTIONS
@click.option(
    "--chaos", metavar="SPEC", callback=parse_chaos, help=f"Inject faults into all models: {EXAMPLE_SPEC}"
)
@options.OUTPUT_OPTIONS
@click.pass_context
def debate(
    ctx: click.Context, /, question: str | None, continue_id: str | None, chaos: Chaos | None, **given: Any
) -> None:
    """Debate QUESTION in the terminal, and print the verdict.

    Exit code 0 only for a concluded debate. After Ctrl-C it can be continued.
    """
    if continue_id:
        on_command_line = [
            row.opts[0]
            for row in ctx.command.params
            if ctx.get_parameter_source(row.name or "") is ParameterSource.COMMANDLINE
        ]
        if others := [option for option in on_command_line if option not in OPTIONS_WHEN_CONTINUING]:
            raise click.UsageError(f"--continue keeps the debate's options: leave out {', '.join(others)}.")
        limits = {name: given[name] for name in Limits.model_fields if given.get(name)}
        starter: session.DebateStarter = partial(continue_debate, continue_id, limits)
    elif question:
        starter = partial(start_debate, options.build_debate_request(question, given))
    else:
        raise click.UsageError("Give a QUESTION, or --continue ID.")
    run_debate(ctx.obj, starter, chaos, as_json=given["as_json"], quiet=given["quiet"])


async def start_debate(request: DebateRequest, manager: DebateManager) -> DebateSnapshot:
    return await manager.start(request, actor=session.ACTOR)


async def continue_debate(debate_id: str, limits: dict[str, Any], manager: DebateManager) -> DebateSnapshot:
    """A stored debate with new limits, if any are given, and resumed if it is paused."""
    snapshot = await manager.load(debate_id)
    if limits:
        request = InterventionRequest(limits=limits)
        snapshot, _ = await manager.intervene(debate_id, "extend", request, actor=session.ACTOR)
    if snapshot.debate.paused:
        request = InterventionRequest(reason="continued in the terminal")
        snapshot, _ = await manager.intervene(debate_id, "resume", request, actor=session.ACTOR)
    return snapshot


@click.command()
@session.debate_id_argument
@click.option(
    "--at-round", type=click.IntRange(0), required=True, help="The last round to take over; 0: none."
)
@options.debaters_option("A debater's new stance")
@click.option("--moderator-model", "moderator", help="The model of the moderator.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk, those taken over included.")
@options.SEAT_OPTIONS
@options.OUTPUT_OPTIONS
@click.pass_obj
def fork(settings: Settings, /, debate_id: str, at_round: int, **given: Any) -> None:
    """Run a new debate that takes over the first rounds of another, with changes.

    Everything that no option changes stays. `counterpoint compare` puts the two side by side.

    Example: counterpoint fork k3x9w2m4p7qr --at-round 1 --judge-model openai/gpt-5.6-terra
    """

    async def start_fork(manager: DebateManager) -> DebateSnapshot:
        parent = await manager.load(debate_id)
        changes = options.build_fork_changes(parent.debate.names, given)
        return await manager.fork(debate_id, at_round, changes, actor=session.ACTOR)

    run_debate(settings, start_fork, as_json=given["as_json"], quiet=given["quiet"])


@click.command()
@click.argument("question", default="Smartphones should be allowed in classrooms.")
@click.pass_obj
def demo(settings: Settings, question: str) -> None:
    """Run a whole debate on the embedded model: no key, no network, no cost.

    Its weights (93 MB) are downloaded first if they are missing. QUESTION is best put as a motion.

    Example: counterpoint demo "Cities should ban cars from their centres."
    """
    if find_spec("xllamacpp") is None:
        raise click.ClickException(f"The embedded model's runtime is not installed: {local.INSTALL_COMMAND}")
    if not local.is_available():
        weights.install(None, partial(click.echo, err=True))
    request = DebateRequest(question=question, models=["local"], max_rounds=2, run=True)
    run_debate(settings, partial(start_debate, request))


def run_debate(
    settings: Settings,
    starter: session.DebateStarter,
    chaos: Chaos | None = None,
    *,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Run a debate and print it; exits with 1 if it is not concluded."""
    from server.cli import live  # noqa: PLC0415  (imports rich)

    if chaos:
        click.echo(f"Chaos: {chaos}. Faults are injected; results mean nothing.", err=as_json)
    display = live.LiveDisplay.for_streams(show_turns=not (as_json or quiet), show_bar=not quiet)
    with session.sigterm_as_interrupt() as handled:
        try:
            operation = partial(live.run_and_display, starter, display)
            snapshot = session.run_with_manager(settings, operation, chaos)
        except KeyboardInterrupt:
            hint = CONTINUE_HINT.format(display.snapshot.id) if display.snapshot else ""
            click.echo(f"\nStopped.{hint}", err=True)
            sys.exit(128 + (handled or [signal.SIGINT])[0])
    debate = snapshot.debate
    if as_json:
        summary = {
            "debate_id": snapshot.id,
            "state": state.build_state(snapshot),
            "result": verdict.build_result(debate),
            "verdict": verdict.build_verdict(debate).model_dump(),
        }
        click.echo(session.format_json(summary))
    else:
        live.print_summary(snapshot, display.out)
    if snapshot.status != "concluded":
        text = f"The debate is {snapshot.status}: {state.status_reason(debate).removesuffix('.')}."
        if snapshot.status in ("paused", "waiting"):
            text += CONTINUE_HINT.format(snapshot.id)
        raise click.ClickException(sanitize_line(text))
