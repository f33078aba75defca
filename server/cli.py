"""The command line. Parses, calls the hall as any other client would, and prints."""

import json
import sys
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import anyio
import click
from click.core import ParameterSource
from pydantic import ValidationError

from server import reading
from server.debate import markdown, views
from server.debate.formats import FORMATS
from server.debate.opening import Proposal
from server.doctor import cause, doctor, models
from server.errors import DebateError, NoSuchDebate
from server.hall import Hall
from server.installing import install, write_atomically
from server.models import weights
from server.models.local import available
from server.runner import Case
from server.settings import Settings, release
from server.terminal import Interruptible, Live, Screen, one_line, plain, watch

ACTOR = "terminal"
INTERRUPTED = 130
MOTION = "Smartphones should be allowed in classrooms."

T = TypeVar("T")
Begin = Callable[[Hall], Awaitable[Case]]


class Commands(click.Group):
    """Turns what a user can do something about into one line on stderr and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NoSuchDebate as error:
            told = str(error).partition(". ")[0]
            raise click.ClickException(
                one_line(f"{told}. `counterpoint list` shows those there are.")
            ) from None
        except (DebateError, weights.WeightsError) as error:
            raise click.ClickException(one_line(str(error))) from None
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
            sys.exit(INTERRUPTED)


def show_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"counterpoint {release()}")
        ctx.exit()


@click.group(cls=Commands, invoke_without_command=True)
@click.option("--db", metavar="PATH", help="The debates' database, in place of COUNTERPOINT_DB.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Print the version.",
)
@click.pass_context
def counterpoint(ctx: click.Context, db: str | None) -> None:
    """Second opinions: debates between models, run, steered and judged.

    Without a command, Counterpoint serves MCP on stdin and stdout.

    Example: counterpoint debate "Should we rewrite the billing service in Rust?"
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a letter that the terminal lacks is no reason to fail
            stream.reconfigure(errors="replace")
    settings = Settings.read()
    ctx.obj = settings.model_copy(update={"db": db}) if db else settings
    if ctx.invoked_subcommand is None:
        ctx.invoke(serve)


counterpoint.add_command(doctor)
counterpoint.add_command(install)
counterpoint.add_command(models)


@counterpoint.command()
@click.pass_obj
def serve(settings: Settings) -> None:
    """Serve MCP on stdin and stdout, as `counterpoint` alone does.

    Example: counterpoint serve
    """
    from server.serving import serve_stdio  # noqa: PLC0415  (brings the SDK with it)

    sys.exit(serve_stdio(settings))


# Running debates ----------------------------------------------------------------------------------


@counterpoint.command()
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
@click.option("--rounds", type=click.IntRange(1), help="Rounds of talk before the judges.")
@click.option(
    "--document",
    "documents",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A text file for everybody to read. Repeatable.",
)
@click.option("--instructions", help="For every debater and judge.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Draws the same orders again.")
@click.option("--timeout", type=click.IntRange(1, 3600), metavar="SECONDS", help="For each answer.")
@click.option("--json", "as_json", is_flag=True, help="Only the outcome, as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="Only the verdict.")
@click.pass_context
def debate(
    ctx: click.Context, /, question: str | None, past: str | None, as_json: bool, quiet: bool, **asked: Any
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
        if others := [option for option in given(ctx) if option not in {"--continue", "--json", "--quiet"}]:
            raise click.UsageError(f"--continue goes on as the debate began: leave out {', '.join(others)}.")
        begin = partial(go_on, past)
    elif question:
        begin = partial(start, proposal(question, **asked))
    else:
        raise click.UsageError("Give a QUESTION, or --continue ID.")
    run_debate(ctx.obj, begin, as_json=as_json, quiet=quiet)


def given(ctx: click.Context) -> list[str]:
    """The options and arguments that stand on the command line."""
    return [
        parameter.opts[0]
        for parameter in ctx.command.params
        if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]


def proposal(question: str, documents: tuple[Path, ...], debaters: tuple[str, ...], **asked: Any) -> Proposal:
    """Raises click.UsageError for what cannot be understood; what cannot be debated, the hall refuses."""
    options = {name: asked[name] for name in ("instructions", "seed") if asked[name]}
    limits = {"turn_timeout": asked["timeout"]} if asked["timeout"] else {}
    judges = {"count": asked["judges"] or 0, "models": list(asked["judge_models"])}
    try:
        return Proposal.model_validate(
            {
                "question": question,
                "format": asked["format"],
                "debaters": [debater_named(text) for text in debaters],
                "documents": [{"title": path.name, "text": text_of(path)} for path in documents],
                "models": list(asked["models"]),
                "max_rounds": asked["rounds"] or 0,
                "options": {"judges": judges, "limits": limits, **options},
                "run": True,
            }
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise click.UsageError(f"{' '.join(str(part) for part in first['loc'])}: {first['msg']}.") from None


def debater_named(text: str) -> dict[str, str]:
    # A model's name may hold a colon; one that ends it has a space behind it.
    head, colon, stance = text.partition(": ") if ": " in text else text.partition(":")
    name, _, model = head.partition("=")
    if not (colon and name.strip() and stance.strip()):
        raise click.UsageError(f'--debater {text!r}: write "NAME: STANCE" or "NAME=MODEL: STANCE".')
    return {"name": name.strip(), "model": model.strip(), "stance": stance.strip()}


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise click.UsageError(f"--document {path}: it is no text in UTF-8, or cannot be read.") from None


async def start(wanted: Proposal, hall: Hall) -> Case:
    return await hall.start(wanted, actor=ACTOR)


async def go_on(debate_id: str, hall: Hall) -> Case:
    case = await hall.case(debate_id)
    if case.debate.paused:
        case, _ = await hall.intervene(debate_id, "resume", reason="continued by hand", actor=ACTOR)
    return case


def run_debate(settings: Settings, begin: Begin, *, as_json: bool = False, quiet: bool = False) -> None:
    """Run a debate before the user's eyes; the exit code says whether it was concluded."""
    live = Live(Screen.here(), turns=not (as_json or quiet), bar=not quiet)
    with Interruptible() as interruptible:
        try:
            case = run(settings, partial(debated, begin, live))
        except KeyboardInterrupt:
            go_on = f"go on with: counterpoint debate --continue {live.case.id}" if live.case else ""
            click.echo("\nStopped." + (f" What was said is kept; {go_on}" if go_on else ""), err=True)
            sys.exit(interruptible.code)
    click.echo(dumped(outcome(case))) if as_json else show_outcome(case, live.screen)
    if case.debate.status != "concluded":
        hint = f" Go on with: counterpoint debate --continue {case.id}" if case.debate.paused else ""
        raise click.ClickException(
            one_line(f"The debate is {case.debate.status}: {views.reason(case.debate)}{hint}")
        )


async def debated(begin: Begin, live: Live, hall: Hall) -> Case:
    hall.listeners.append(live.committed)
    if live.bar and live.turns:  # streaming costs time at every piece
        hall.texts.append(live.wrote)
    case = await begin(hall)
    if case.debate.version > 1:  # it has a past
        live.go_on(case)
    return case if case.debate.ended else await watch(hall, case, live)


def outcome(case: Case) -> dict[str, Any]:
    return {
        "debate_id": case.id,
        "state": reading.read(case, "state"),
        "result": reading.read(case, "result"),
        "verdict": views.verdict_of(case.debate).model_dump(),
    }


def show_outcome(case: Case, screen: Screen) -> None:
    if case.debate.verdict:
        if any(not judged.informative for judged in case.debate.judged):
            warning = (
                "The embedded model is far too small to judge: what follows shows what a verdict looks "
                "like, and says nothing about the question."
            )
            click.echo("\n" + screen.paint(screen.wrap(warning, "! ", "  "), fg="yellow"))
        click.echo("\n" + screen.render(markdown.verdict(case.debate)))
    click.echo(f"\ndebate {case.id}\nRead it again: counterpoint show {case.id}")


@counterpoint.command()
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


# Reading debates ----------------------------------------------------------------------------------


@counterpoint.command("list")
@click.argument("query", default="")
@click.option("--status", type=click.Choice(reading.STATUSES))
@click.option("--limit", type=click.IntRange(1, 10_000), default=reading.PAGE, show_default=True)
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def list_debates(settings: Settings, query: str, status: str | None, limit: int, as_json: bool) -> None:
    """List debates, newest first; with QUERY those that hold all of its words.

    Example: counterpoint list rust --status concluded
    """

    async def find(hall: Hall) -> list[dict[str, Any]]:
        return (await reading.page(hall.journal, query, status or "", limit=limit))[0]

    rows = run(settings, find)
    if as_json:
        click.echo(dumped({"debates": rows}))
        return
    for row in rows:
        click.echo(one_line(reading.listed_line(row)))
    if not rows:
        click.echo('There is none. Begin one: counterpoint debate "QUESTION"', err=True)


@counterpoint.command()
@click.argument("debate_id", metavar="ID")
@click.option(
    "--view", type=click.Choice([*reading.VIEWS, "verdict"]), default="transcript", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="The view as data.")
@click.pass_obj
def show(settings: Settings, debate_id: str, view: str, as_json: bool) -> None:
    """Print a debate: what was said, or another view of it.

    Example: counterpoint show k3x9w2m4p7qr --view verdict
    """
    case = run(settings, lambda hall: hall.case(debate_id))
    if view == "verdict" and not as_json:
        if case.debate.verdict is None:
            raise click.ClickException(f"There is no verdict yet: the debate is {case.debate.status}.")
        click.echo(Screen.here().render(markdown.verdict(case.debate)))
    elif view == "transcript" and not as_json:
        click.echo(Screen.here().render(reading.as_text(case, view)))
    else:
        found = views.verdict_of(case.debate).model_dump() if view == "verdict" else reading.read(case, view)
        click.echo(dumped(found))


@counterpoint.command()
@click.argument("debate_id", metavar="ID")
@click.option("--as", "kind", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file, not stdout.")
@click.pass_obj
def export(settings: Settings, debate_id: str, kind: str, output: Path | None) -> None:
    """Write a debate as Markdown to read, or as JSON with every event, its hash and the receipt.

    Example: counterpoint export k3x9w2m4p7qr --as json -o debate.json
    """
    case = run(settings, lambda hall: hall.case(debate_id))
    text = plain(reading.as_text(case, "transcript")) if kind == "markdown" else dumped(exported(case))
    if output is None:
        click.echo(text.rstrip("\n"))
        return
    try:
        write_atomically(output, text.rstrip("\n") + "\n")
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written: {error.strerror}.") from None


def exported(case: Case) -> dict[str, Any]:
    return {
        "question": case.debate.setup.question,
        "setup": case.debate.setup.model_dump(mode="json", exclude={"kind"}),
        **reading.read(case, "events"),
        "receipt": reading.read(case, "receipt"),
        "result": reading.read(case, "result"),
    }


def dumped(data: Any) -> str:
    whole = "utf" in (sys.stdout.encoding or "").lower()
    return reading.as_json(data) if whole else json.dumps(data, indent=1)


# How it is done -----------------------------------------------------------------------------------


def run(settings: Settings, work: Callable[[Hall], Coroutine[Any, Any, T]]) -> T:
    """Do something in the hall, and raise what it raised."""
    # They bring the SDK with them, and `--help` does without.
    from server.app import open_hall  # noqa: PLC0415
    from server.serving import log_to_stderr  # noqa: PLC0415

    log_to_stderr(settings)

    async def inside() -> T:
        async with open_hall(settings) as hall:
            return await work(hall)

    try:
        return anyio.run(inside)
    except BaseExceptionGroup as group:
        raise cause(group) from None
