"""What a command needs to do its work: a debate manager, completion in the shell, signals, and output."""

import json
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import anyio
import click

from server.debate.facts.errors import DebateError, InvalidRequestError
from server.debate.facts.setup.options import CacheMode
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import find_debate_id
from server.models.fakes.chaos import Chaos
from server.settings import Settings

if TYPE_CHECKING:
    from server.cli.terminal import Terminal
import os
from contextlib import suppress
from pathlib import Path

from click.shell_completion import CompletionItem, get_completion_class

from server.debate.facts.text import format_heading
from storage.addresses import is_address

PROGRAM = "counterpoint"
SHELLS = ("bash", "zsh", "fish")
MAX_IDS = 50


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script with which SHELL completes commands and ids.

    For bash add this line to ~/.bashrc: eval "$(counterpoint completion bash)". For zsh the same with zsh; for fish:
    counterpoint completion fish | source.

    Example: counterpoint completion zsh
    """
    shell_class = get_completion_class(shell)
    assert shell_class
    root = ctx.find_root().command
    click.echo(shell_class(root, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


def complete_id(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """The debates whose ids begin with `typed`, newest first, with their questions; none without a database."""
    with suppress(DebateError, OSError, ExceptionGroup):
        settings = Settings.read(os.environ)
        if db := ctx.find_root().params.get("db"):
            settings = settings.model_copy(update={"db": db})
        if is_address(settings.database) or Path(settings.database).is_file():
            return anyio.run(list_items, settings, typed)
    return []


async def list_items(settings: Settings, typed: str) -> list[CompletionItem]:
    from server.startup import open_storage  # noqa: PLC0415  (imports the database)

    async with open_storage(settings) as storage:
        if typed:
            return [CompletionItem(name) for name in await storage.lists.find_by_prefix(typed, limit=MAX_IDS)]
        newest = await storage.lists.find(limit=MAX_IDS)
    return [CompletionItem(row.stream, help=format_heading(str(row.title))) for row in newest]


ACTOR = "terminal"
T = TypeVar("T")
DebateStarter = Callable[[DebateManager], Awaitable[DebateSnapshot]]

debate_id_argument = click.argument("debate_id", metavar="ID", shell_complete=complete_id)
optional_debate_id_argument = click.argument(
    "debate_id", metavar="[ID]", default="", shell_complete=complete_id
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print data, as JSON.")
cache_option = click.option(
    "--cache", type=click.Choice(get_args(CacheMode)), help="reuse: take the same answers from other debates."
)


def run_with_manager(
    settings: Settings,
    operation: Callable[[DebateManager], Coroutine[Any, Any, T]],
    chaos: Chaos | None = None,
    *,
    of_all: bool = False,
    makes_database: bool = False,
) -> T:
    """Open a manager, run one operation with it, and close it. Raises what the operation raises.

    The manager sees the debates of the owner in the settings; with `of_all` those of all owners, for database upkeep.
    `makes_database`: create a missing database; otherwise a missing one is a DebateError.
    """
    # Imported here: it loads the database and the models, which `--help` does not need.
    from server.compose import open_manager  # noqa: PLC0415
    from server.startup import log_to_stderr, require_database  # noqa: PLC0415

    log_to_stderr(settings)
    if not makes_database:
        require_database(settings)

    async def open_and_run() -> T:
        async with open_manager(settings, chaos=chaos) as manager:
            return await operation(manager if of_all else manager.of(settings.owner))

    try:
        return anyio.run(open_and_run)
    except BaseExceptionGroup as group:
        raise find_root_cause(group) from None


def run_with_debate(
    settings: Settings, debate_id: str, operation: Callable[[DebateManager, str], Coroutine[Any, Any, T]]
) -> T:
    """Run an operation on one debate. `debate_id`: its id, a unique prefix of it, or "" for the latest debate.

    An InvalidRequestError of the operation becomes a DebateError (exit code 1, not 2): the command line is right, but
    the stored debate does not allow the operation.
    """

    async def find_and_run(manager: DebateManager) -> T:
        if debate_id:
            return await operation(manager, await find_debate_id(manager, debate_id))
        latest = await manager.store.find(limit=1)
        if not latest:
            raise DebateError('There are no debates. Start one: counterpoint debate "QUESTION"')
        return await operation(manager, latest[0].stream)

    try:
        return run_with_manager(settings, find_and_run)
    except InvalidRequestError as error:
        raise DebateError(str(error)) from None


def find_root_cause(error: BaseException) -> BaseException:
    """The first error inside the exception groups that task groups raise."""
    return find_root_cause(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def open_terminal() -> "Terminal":
    """Stdout as a Terminal. It imports rich, which other commands need not wait for."""
    from server.cli.terminal import Terminal  # noqa: PLC0415

    return Terminal(sys.stdout)


def print_paged(show: "Callable[[Terminal], object]") -> None:
    """Print for people: on a terminal through PAGER, if the text is longer than the window."""
    out = open_terminal()
    if not out.is_terminal:
        show(out)
        return
    with out.capture() as captured:
        show(out)
    text = captured.get()
    if text.count("\n") < out.measure_size().lines:
        click.echo(text, nl=False, color=True)
    else:
        click.echo_via_pager(text, color=True)


def format_json(data: Any, indent: int | None = 1) -> str:
    """JSON that stdout can encode: characters outside ASCII are escaped unless stdout has Unicode."""
    return json.dumps(data, indent=indent, ensure_ascii="utf" not in (sys.stdout.encoding or "").lower())


@contextmanager
def sigterm_as_interrupt() -> Iterator[list[int]]:
    """Make SIGTERM act like Ctrl-C while the block runs. Yields the list of the SIGTERMs received."""
    received: list[int] = []

    def handle(signal_number: int, frame: FrameType | None) -> None:
        received.append(signal_number)
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # ignored, as in a background job of a script
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    previous = signal.signal(signal.SIGTERM, handle)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, previous or signal.SIG_DFL)
