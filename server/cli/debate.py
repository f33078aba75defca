"""`counterpoint debate`, `fork` and `demo`: a debate that runs in the terminal."""

import sys
from functools import partial
from importlib.util import find_spec
from typing import Any

import click
from click.core import ParameterSource

from server.cli.models import INSTALL_RUNTIME_HINT
from server.cli.options import (
    DEBATE_OPTIONS,
    OUTPUT_OPTIONS,
    SEAT_OPTIONS,
    build_debate_request,
    build_fork_changes,
    debaters_option,
)
from server.cli.sanitize import sanitize_line
from server.cli.session import ACTOR, DebateStarter, SigtermAsInterrupt, format_json, run_with_manager
from server.debate.commands.formats import FORMATS
from server.debate.commands.intervene import InterventionRequest
from server.debate.commands.requests import DebateRequest
from server.debate.facts.config import Limits
from server.debate.views.state import build_state, status_reason
from server.debate.views.verdict import build_result, build_verdict
from server.engine.debates import DebateManager
from server.engine.store import DebateSnapshot
from server.models.fakes.chaos import EXAMPLE_SPEC, Chaos
from server.models.local import weights
from server.models.local.model import is_available
from server.settings import Settings

CONTINUE_HINT = " Continue with: counterpoint debate --continue {}"
DEMO_MOTION = "Smartphones should be allowed in classrooms."

EXAMPLES = """\b
Examples:
  counterpoint debate "Tabs or spaces?" --debater "Ada: tabs" --debater "Bob: spaces"
  counterpoint debate "Ship on Friday?" --model openai/gpt-5.6-terra --document plan.md
  counterpoint debate "Rewrite it?" --max-calls 12 --round-timeout 90 --fallback-model local
  counterpoint debate --continue k3x9w2m4p7qr"""

CONTINUE_HELP = "Continue this debate; a paused one is resumed."
CHAOS_HELP = f"Inject faults into all models: {EXAMPLE_SPEC}"
AT_ROUND_HELP = "The last round to take over; 0: none."
RUN_OPTIONS = {"--continue", "--chaos", "--json", "--quiet"}
"""Options about the run and its output, not about the debate."""


def parse_chaos(_: click.Context, _option: click.Parameter, spec: str | None) -> Chaos | None:
    try:
        return None if spec is None else Chaos.parse(spec)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@click.command(epilog=EXAMPLES)
@click.argument("question", required=False)
@click.option("--continue", "continue_id", metavar="ID", help=CONTINUE_HELP)
@click.option("--format", type=click.Choice([*FORMATS]), default="second_opinion", show_default=True)
@debaters_option("A debater", "Default: one for, one against.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk before the verdict.")
@SEAT_OPTIONS
@DEBATE_OPTIONS
@click.option("--chaos", metavar="SPEC", callback=parse_chaos, help=CHAOS_HELP)
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
    **given: Any,
) -> None:
    """Debate QUESTION in the terminal, and print the verdict.

    Exit code 0 only for a concluded debate. After Ctrl-C it can be continued.
    """
    if continue_id:
        # Limits that can be changed while a debate runs may be given.
        allowed = {*RUN_OPTIONS, *("--" + name.replace("_", "-") for name in Limits.model_fields)}
        if others := [option for option in find_given_options(ctx) if option not in allowed]:
            raise click.UsageError(f"--continue keeps the debate's options: leave out {', '.join(others)}.")
        limits = {name: given[name] for name in Limits.model_fields if given.get(name)}
        starter: DebateStarter = partial(continue_debate, continue_id, limits)
    elif question:
        starter = partial(start_debate, build_debate_request(question, given))
    else:
        raise click.UsageError("Give a QUESTION, or --continue ID.")
    run_debate(ctx.obj, starter, chaos=chaos, as_json=as_json, quiet=quiet)


@click.command()
@click.argument("debate_id", metavar="ID")
@click.option("--at-round", type=click.IntRange(0), required=True, help=AT_ROUND_HELP)
@debaters_option("A debater's new stance")
@click.option("--moderator-model", "moderator", help="The model of the moderator.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk, those taken over included.")
@SEAT_OPTIONS
@OUTPUT_OPTIONS
@click.pass_obj
def fork(
    settings: Settings, /, debate_id: str, at_round: int, as_json: bool, quiet: bool, **given: Any
) -> None:
    """Run a new debate that takes over the first rounds of another, with changes.

    Everything that no option changes stays. `counterpoint compare` puts the two side by side.

    Example: counterpoint fork k3x9w2m4p7qr --at-round 1 --judge-model openai/gpt-5.6-terra
    """

    async def start_fork(manager: DebateManager) -> DebateSnapshot:
        parent = await manager.load(debate_id)
        changes = build_fork_changes(parent.debate.names, given)
        return await manager.fork(debate_id, at_round, changes, actor=ACTOR)

    run_debate(settings, start_fork, as_json=as_json, quiet=quiet)


async def start_debate(request: DebateRequest, manager: DebateManager) -> DebateSnapshot:
    return await manager.start(request, actor=ACTOR)


async def continue_debate(debate_id: str, limits: dict[str, Any], manager: DebateManager) -> DebateSnapshot:
    """A stored debate with new limits, if any are given, and resumed if it is paused."""
    snapshot = await manager.load(debate_id)
    if limits:
        request = InterventionRequest(limits=limits)
        snapshot, _ = await manager.intervene(debate_id, "extend", request, actor=ACTOR)
    if snapshot.debate.paused:
        request = InterventionRequest(reason="continued in the terminal")
        snapshot, _ = await manager.intervene(debate_id, "resume", request, actor=ACTOR)
    return snapshot


def find_given_options(ctx: click.Context) -> list[str]:
    """The options and arguments that stand on the command line."""
    source = ParameterSource.COMMANDLINE
    return [row.opts[0] for row in ctx.command.params if ctx.get_parameter_source(row.name or "") is source]


def run_debate(
    settings: Settings,
    starter: DebateStarter,
    *,
    chaos: Chaos | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Run a debate and print it; exits with 1 if it is not concluded."""
    from server.cli.live import LiveDisplay, print_summary, run_and_display  # noqa: PLC0415  (imports rich)

    if chaos:
        click.echo(f"Chaos: {chaos}. Faults are injected; results mean nothing.", err=as_json)
    display = LiveDisplay.for_streams(show_turns=not (as_json or quiet), show_bar=not quiet)
    with SigtermAsInterrupt() as interrupt:
        try:
            snapshot = run_with_manager(settings, partial(run_and_display, starter, display), chaos)
        except KeyboardInterrupt:
            hint = CONTINUE_HINT.format(display.snapshot.id) if display.snapshot else ""
            click.echo(f"\nStopped.{hint}", err=True)
            sys.exit(interrupt.exit_code)
    if as_json:
        click.echo(format_json(build_summary(snapshot)))
    else:
        print_summary(snapshot, display.out)
    if snapshot.status != "concluded":
        text = f"The debate is {snapshot.status}: {status_reason(snapshot.debate).removesuffix('.')}."
        if snapshot.status in ("paused", "waiting"):
            text += CONTINUE_HINT.format(snapshot.id)
        raise click.ClickException(sanitize_line(text))


def build_summary(snapshot: DebateSnapshot) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "debate_id": snapshot.id,
        "state": build_state(snapshot.id, snapshot.debate, snapshot.entries).model_dump(),
        "result": build_result(snapshot.debate),
        "verdict": build_verdict(snapshot.debate).model_dump(),
    }


@click.command()
@click.argument("question", default=DEMO_MOTION)
@click.pass_obj
def demo(settings: Settings, question: str) -> None:
    """Run a whole debate on the embedded model: no key, no network, no cost.

    Its weights (93 MB) are downloaded first if they are missing. QUESTION is best put as a motion.

    Example: counterpoint demo "Cities should ban cars from their centres."
    """
    if find_spec("xllamacpp") is None:
        raise click.ClickException(f"The embedded model's runtime is not installed: {INSTALL_RUNTIME_HINT}")
    if not is_available():
        weights.install(None, partial(click.echo, err=True))
    request = DebateRequest(question=question, models=["local"], max_rounds=2, run=True)
    run_debate(settings, partial(start_debate, request))
