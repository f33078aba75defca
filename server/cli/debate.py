"""`counterpoint debate` and `counterpoint demo`: a debate in the terminal, while it runs."""

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import click
from click.core import ParameterSource

from server.cli.caller_turns import Dialogue
from server.cli.live import Interruptible, Live, watch
from server.cli.options import (
    COURSE,
    FAILURES,
    FORMAT,
    LIMITS,
    OUTPUT,
    SEATS,
    changes,
    debaters_option,
    proposal,
)
from server.cli.rendering import Screen, one_line
from server.cli.session import dumped, run
from server.debate.commands.intervene import Wish
from server.debate.commands.requests import Proposal
from server.debate.facts.config import Limits
from server.debate.views import markdown
from server.debate.views import state as views
from server.debate.views import warnings as cautions
from server.engine import forks as forking
from server.engine import queries as reading
from server.engine.debates import Hall
from server.engine.runner import Case
from server.models.fakes.chaos import EXAMPLE, Chaos
from server.models.local import weights
from server.models.local.model import available
from server.settings import Settings

ACTOR = "terminal"
MOTION = "Smartphones should be allowed in classrooms."

EXAMPLES = """\b
Examples:
  counterpoint debate "Tabs or spaces?" --debater "Ada: tabs" --debater "Bob: spaces"
  counterpoint debate "Ship on Friday?" --model openai/gpt-5.6-terra --document plan.md
  counterpoint debate "Rewrite it?" --max-calls 12 --round-timeout 90 --fallback-model local
  counterpoint debate --continue k3x9w2m4p7qr"""

OF_ANY_DEBATE = {"--continue", "--chaos", "--json", "--quiet"}
"""The options that say nothing about what is debated."""

Begin = Callable[[Hall], Awaitable[Case]]


def chaos_in(_: click.Context, _option: click.Parameter, spec: str | None) -> Chaos | None:
    try:
        return None if spec is None else Chaos.parse(spec)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@click.command(epilog=EXAMPLES)
@click.argument("question", required=False)
@click.option("--continue", "past", metavar="ID", help="Go on with this debate; a paused one is resumed.")
@FORMAT
@debaters_option("A debater", "Default: one for, one against.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk before it is decided.")
@SEATS
@COURSE
@LIMITS
@FAILURES
@click.option("--chaos", metavar="SPEC", callback=chaos_in, help=f"Make all models fail at times: {EXAMPLE}")
@OUTPUT
@click.pass_context
def debate(
    ctx: click.Context,
    /,
    question: str | None,
    past: str | None,
    chaos: Chaos | None,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Debate QUESTION here and now, and print the verdict.

    Exit code 0 only for a concluded debate. Ctrl-C keeps what was said.
    """
    if past:
        # The limits that can be changed on the way may be given with it.
        fit = {*OF_ANY_DEBATE, *("--" + name.replace("_", "-") for name in Limits.model_fields)}
        if others := [option for option in given(ctx) if option not in fit]:
            raise click.UsageError(f"--continue goes on as the debate began: leave out {', '.join(others)}.")
        begin = partial(go_on, past, {name: asked[name] for name in Limits.model_fields if asked.get(name)})
    elif question:
        begin = partial(start, proposal(question, **asked))
    else:
        raise click.UsageError("Give a QUESTION, or --continue ID.")
    run_debate(ctx.obj, begin, chaos=chaos, as_json=as_json, quiet=quiet)


@click.command()
@click.argument("debate_id", metavar="ID")
@click.option("--at-round", type=click.IntRange(0), required=True, help="The last round to share; 0: none.")
@debaters_option("Another stance for one")
@click.option("--moderator-model", "moderator", help="Of the moderator that there is.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk, those that are shared included.")
@SEATS
@OUTPUT
@click.pass_obj
def fork(
    settings: Settings, /, debate_id: str, at_round: int, as_json: bool, quiet: bool, **asked: Any
) -> None:
    """Give a debate another future: a new one with the same first rounds, run here and now.

    What is not asked for otherwise stays as it is. `counterpoint compare` puts the two side by side.

    Example: counterpoint fork k3x9w2m4p7qr --at-round 1 --judge-model openai/gpt-5.6-terra
    """
    begin = partial(fork_off, debate_id, at_round, asked)
    run_debate(settings, begin, as_json=as_json, quiet=quiet)


async def fork_off(debate_id: str, at_round: int, asked: dict[str, Any], hall: Hall) -> Case:
    names = (await hall.case(debate_id)).debate.names
    return await forking.fork(hall, debate_id, at_round, changes(names, **asked), actor=ACTOR)


def given(ctx: click.Context) -> list[str]:
    """The options and arguments that stand on the command line."""
    return [
        parameter.opts[0]
        for parameter in ctx.command.params
        if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]


async def start(wanted: Proposal, hall: Hall) -> Case:
    return await hall.start(wanted, actor=ACTOR)


async def go_on(debate_id: str, limits: dict[str, Any], hall: Hall) -> Case:
    """A debate as it stands, with new limits if there are any, and resumed."""
    case = await hall.case(debate_id)
    if limits:
        case, _ = await hall.intervene(debate_id, "extend", Wish(limits=limits), actor=ACTOR)
    if case.debate.paused:
        case, _ = await hall.intervene(debate_id, "resume", Wish(reason="continued by hand"), actor=ACTOR)
    return case


def run_debate(
    settings: Settings,
    begin: Begin,
    *,
    chaos: Chaos | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Run a debate before the user's eyes; the exit code says whether it was concluded."""
    if chaos:  # said where it is seen, whatever else is asked for
        click.echo(f"Chaos: {chaos}. Faults are made on purpose; this is no real debate.", err=as_json)
    live = Live(Screen.here(), turns=not (as_json or quiet), bar=not quiet)
    with Interruptible() as interruptible:
        try:
            case = run(settings, partial(debated, begin, live), chaos)
        except KeyboardInterrupt:
            go_on = f"go on with: counterpoint debate --continue {live.case.id}" if live.case else ""
            click.echo("\nStopped." + (f" What was said is kept; {go_on}" if go_on else ""), err=True)
            sys.exit(interruptible.code)
    click.echo(dumped(outcome(case))) if as_json else show_outcome(case, live.screen)
    if case.status != "concluded":
        stands = case.status in ("paused", "waiting")
        hint = f" Go on with: counterpoint debate --continue {case.id}" if stands else ""
        raise click.ClickException(
            one_line(f"The debate is {case.status}: {views.reason(case.debate).removesuffix('.')}.{hint}")
        )


async def debated(begin: Begin, live: Live, hall: Hall) -> Case:
    hall.listeners.append(live.committed)
    if live.bar and live.turns:  # streaming costs time at every piece
        hall.texts.append(live.wrote)
    case = await begin(hall)
    if case.debate.version > 1:  # it has a past
        live.go_on(case)
    dialogue = Dialogue(live.screen, ACTOR)
    while not case.debate.ended:
        case = await watch(hall, case, live)
        turn = await dialogue.take_turn(hall, case) if case.status == "waiting" else None
        if turn is None:
            break
        case = turn
    return case


def outcome(case: Case) -> dict[str, Any]:
    return {
        "debate_id": case.id,
        "state": reading.read(case, "state"),
        "result": reading.read(case, "result"),
        "verdict": views.verdict_of(case.debate).model_dump(),
    }


def show_outcome(case: Case, screen: Screen) -> None:
    if markdown.has_result(case.debate):
        if cautions.uninformative(case.debate):
            warning = (
                "The embedded model is far too small to judge: what follows shows what a verdict looks "
                "like, and says nothing about the question."
            )
            click.echo("\n" + screen.paint(screen.wrap(warning, "! ", "  "), fg="yellow"))
        click.echo("\n" + screen.render(markdown.verdict(case.debate)))
    click.echo(f"\ndebate {case.id}\nRead it again: counterpoint show {case.id}")


@click.command()
@click.argument("question", default=MOTION)
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
    if not available():
        weights.install(None, partial(click.echo, err=True))
    run_debate(
        settings, partial(start, Proposal(question=question, models=["local"], max_rounds=2, run=True))
    )
