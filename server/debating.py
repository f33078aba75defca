"""`counterpoint debate` and `counterpoint demo`: a debate in the terminal, while it runs."""

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource
from pydantic import ValidationError

from server import forking, reading
from server.debate import cautions, markdown, views
from server.debate.formats import FORMATS, PHASES
from server.debate.interventions import Wish
from server.debate.proposal import ChangesAsked, Proposal
from server.debate.setup import Handoff, Order
from server.dialogue import Dialogue
from server.hall import Hall
from server.models import weights
from server.models.faulty import EXAMPLE, Chaos
from server.models.local import available
from server.once import dumped, run
from server.runner import Case
from server.screen import Screen, one_line
from server.settings import Settings
from server.terminal import Interruptible, Live, watch

ACTOR = "terminal"
MOTION = "Smartphones should be allowed in classrooms."

OF_ANY_DEBATE = {"--continue", "--chaos", "--json", "--quiet"}
"""The options that say nothing about what is debated."""

Begin = Callable[[Hall], Awaitable[Case]]


def chaos_in(_: click.Context, _option: click.Parameter, spec: str | None) -> Chaos | None:
    try:
        return None if spec is None else Chaos.parse(spec)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@click.command()
@click.argument("question", required=False)
@click.option("--continue", "past", metavar="ID", help="Go on with this debate; a paused one is resumed.")
@click.option("--format", type=click.Choice(list(FORMATS)), default="second_opinion", show_default=True)
@click.option(
    "--debater",
    "debaters",
    multiple=True,
    metavar='"NAME: STANCE"',
    help='A debater; "NAME=MODEL: STANCE" also names its model. Repeatable. Default: one for, one against.',
)
@click.option("--model", "models", multiple=True, help="Handed out to the debaters in turn. Repeatable.")
@click.option("--judge-model", "judge_models", multiple=True, help="Repeatable: each is one judge.")
@click.option("--judges", type=click.IntRange(1, 9), help="How many judges.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk before it is decided.")
@click.option("--phase", "phases", multiple=True, help=f"In place of the format's: {', '.join(PHASES)}.")
@click.option("--moderator", type=click.Choice(["opens", "closes", "both"]), help="What a moderator does.")
@click.option("--tools", multiple=True, metavar="SERVER", help="Research servers for the moderator.")
@click.option("--referee", is_flag=True, help="Somebody audits the arguments of each round.")
@click.option("--speaking", type=click.Choice(get_args(Order)), help="Who speaks when.")
@click.option("--handoff", type=click.Choice(get_args(Handoff)), help="How a hand-off is read.")
@click.option("--max-turns", type=click.IntRange(1, 1000), help="Of the whole talk.")
@click.option(
    "--output-schema",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON Schema that the result is put into the shape of.",
)
@click.option(
    "--document",
    "documents",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A text file for everybody to read. Repeatable.",
)
@click.option("--instructions", help="For every seat that has no prompt of its own.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Draws the same orders again.")
@click.option("--timeout", type=click.IntRange(1, 3600), metavar="SECONDS", help="For each answer.")
@click.option("--chaos", metavar="SPEC", callback=chaos_in, help=f"Make all models fail at times: {EXAMPLE}")
@click.option("--json", "as_json", is_flag=True, help="Only the outcome, as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="Only the verdict.")
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
    r"""Debate QUESTION here and now, and print the verdict.

    Exit code 0 only for a concluded debate. Ctrl-C keeps what was said.

    \b
    Examples:
      counterpoint debate "Tabs or spaces?" --debater "Ada: tabs" --debater "Bob: spaces"
      counterpoint debate "Ship on Friday?" --model openai/gpt-5.6-terra --document plan.md
      counterpoint debate --continue k3x9w2m4p7qr
    """
    if past:
        if others := [option for option in given(ctx) if option not in OF_ANY_DEBATE]:
            raise click.UsageError(f"--continue goes on as the debate began: leave out {', '.join(others)}.")
        begin = partial(go_on, past)
    elif question:
        begin = partial(start, proposal(question, **asked))
    else:
        raise click.UsageError("Give a QUESTION, or --continue ID.")
    run_debate(ctx.obj, begin, chaos=chaos, as_json=as_json, quiet=quiet)


@click.command()
@click.argument("debate_id", metavar="ID")
@click.option("--at-round", type=click.IntRange(0), required=True, help="The last round to share; 0: none.")
@click.option(
    "--debater",
    "debaters",
    multiple=True,
    metavar='"NAME: STANCE"',
    help='Another stance for one; "NAME=MODEL: STANCE" also another model. Repeatable.',
)
@click.option("--model", "models", multiple=True, help="Handed out to the debaters in turn. Repeatable.")
@click.option("--judge-model", "judge_models", multiple=True, help="Repeatable: each is one judge.")
@click.option("--judges", type=click.IntRange(1, 9), help="How many judges.")
@click.option("--moderator-model", "moderator", help="Of the moderator that there is.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk, those that are shared included.")
@click.option(
    "--document",
    "documents",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="One more text file for everybody to read. Repeatable.",
)
@click.option("--instructions", help="For every seat that has no prompt of its own.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Draws other orders.")
@click.option("--json", "as_json", is_flag=True, help="Only the outcome, as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="Only the verdict.")
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


def changes(
    names: Sequence[str], models: Sequence[str], debaters: Sequence[str], **asked: Any
) -> ChangesAsked:
    """What a fork is to do otherwise. Raises click.UsageError for what cannot be understood."""
    moved = [debater_named(text) for text in debaters]
    handed_out = {name: models[index % len(models)] for index, name in enumerate(names)} if models else {}
    given: dict[str, Any] = {
        name: asked[name] for name in ("moderator", "instructions", "seed") if asked[name]
    }
    if asked["judges"] or asked["judge_models"]:
        given["judges"] = {"count": asked["judges"] or 0, "models": list(asked["judge_models"])}
    try:
        return ChangesAsked.model_validate(
            {
                **given,
                "models": handed_out | {one["name"]: one["model"] for one in moved if one["model"]},
                "stances": {one["name"]: one["stance"] for one in moved},
                "documents": [{"title": path.name, "text": text_of(path)} for path in asked["documents"]],
                "max_rounds": asked["rounds"] or 0,
                "run": True,
            }
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise click.UsageError(f"{' '.join(str(part) for part in first['loc'])}: {first['msg']}.") from None


def given(ctx: click.Context) -> list[str]:
    """The options and arguments that stand on the command line."""
    return [
        parameter.opts[0]
        for parameter in ctx.command.params
        if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]


def proposal(question: str, documents: tuple[Path, ...], debaters: tuple[str, ...], **asked: Any) -> Proposal:
    """Raises click.UsageError for what cannot be understood; what cannot be debated, the hall refuses."""
    try:
        return Proposal.model_validate(
            {
                "question": question,
                "format": asked["format"],
                "debaters": [debater_named(text) for text in debaters],
                "documents": [{"title": path.name, "text": text_of(path)} for path in documents],
                "models": list(asked["models"]),
                "max_rounds": asked["rounds"] or 0,
                "options": options(**asked),
                "run": True,
            }
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise click.UsageError(f"{' '.join(str(part) for part in first['loc'])}: {first['msg']}.") from None


def options(**asked: Any) -> dict[str, Any]:
    """The options of a proposal: those that were given."""
    simple = ("instructions", "seed", "speaking", "handoff", "referee", "phases")
    given = {name: asked[name] for name in simple if asked[name]}
    limits = {"turn_timeout": asked["timeout"], "max_turns": asked["max_turns"]}
    given["limits"] = {name: limit for name, limit in limits.items() if limit}
    if asked["judges"] or asked["judge_models"]:
        given["judges"] = {"count": asked["judges"] or 0, "models": list(asked["judge_models"])}
    if does := asked["moderator"] or ("opens" if asked["tools"] else ""):
        opens, closes = does in ("opens", "both"), does in ("closes", "both")
        given["moderator"] = {"opens": opens, "closes": closes, "tools": list(asked["tools"])}
    if asked["output_schema"]:
        given["output_schema"] = schema_in(asked["output_schema"])
    return given


def schema_in(path: Path) -> Any:
    try:
        return json.loads(text_of(path, "--output-schema"))
    except ValueError as error:
        raise click.UsageError(f"--output-schema {path}: {error}.") from None


def debater_named(text: str) -> dict[str, str]:
    # A model's name may hold a colon; one that ends it has a space behind it.
    head, colon, stance = text.partition(": ") if ": " in text else text.partition(":")
    name, _, model = head.partition("=")
    if not (colon and name.strip() and stance.strip()):
        raise click.UsageError(f'--debater {text!r}: write "NAME: STANCE" or "NAME=MODEL: STANCE".')
    return {"name": name.strip(), "model": model.strip(), "stance": stance.strip()}


def text_of(path: Path, option: str = "--document") -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise click.UsageError(f"{option} {path}: it is no text in UTF-8, or cannot be read.") from None


async def start(wanted: Proposal, hall: Hall) -> Case:
    return await hall.start(wanted, actor=ACTOR)


async def go_on(debate_id: str, hall: Hall) -> Case:
    case = await hall.case(debate_id)
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
            one_line(f"The debate is {case.status}: {views.reason(case.debate)}{hint}")
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
