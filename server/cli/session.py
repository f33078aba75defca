"""What a command needs to do its work: a debate manager, interruption by signals, and output."""

import json
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import anyio
import click

from server.cli.completion import complete_id
from server.debate.facts.errors import DebateError, InvalidRequestError
from server.debate.facts.setup.options import CacheMode
from server.debate.views import catalog
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import find_debate_id
from server.models.fakes.chaos import Chaos
from server.settings import Settings

if TYPE_CHECKING:
    from server.cli.terminal import Terminal

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
    """Run an operation with a manager that is open only for it, and raise what it raises.

    It sees the debates of the owner in the settings. `of_all`: those of all owners, for the upkeep of a database.
    `makes_database`: where there is none; otherwise that is a DebateError.
    """
    # It imports the database and the models, which `--help` does not need.
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
    """Run an operation on the debate with this id, or the only one that begins so; on the latest for "".

    Raises DebateError for what is not possible with what is stored, which is no InvalidRequestError: the command may be
    written as it should be.
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
    """The first error in the groups that task groups raise."""
    return find_root_cause(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def open_terminal() -> "Terminal":
    """Stdout, for people. It imports rich, which other commands need not wait for."""
    from server.cli.terminal import Terminal  # noqa: PLC0415

    return Terminal(sys.stdout)


def print_paged(show: "Callable[[Terminal], object]") -> None:
    """Print for people; what is longer than the window of a terminal goes through PAGER."""
    out = open_terminal()
    if not out.is_terminal:
        show(out)
        return
    with out.capture() as captured:
        show(out)
    text = captured.get()
    if text.count("\n") < out.find_size().lines:
        click.echo(text, nl=False, color=True)
    else:
        click.echo_via_pager(text, color=True)


def format_json(data: Any) -> str:
    """JSON in the encoding of stdout: other letters than ASCII are escaped if it has none of them."""
    supports_unicode = "utf" in (sys.stdout.encoding or "").lower()
    return catalog.format_json(data) if supports_unicode else json.dumps(data, indent=1)


def format_json_line(data: Any) -> str:
    """As `format_json`, on one line."""
    return json.dumps(data, ensure_ascii="utf" not in (sys.stdout.encoding or "").lower())


@contextmanager
def sigterm_as_interrupt() -> Iterator[list[int]]:
    """Within it SIGTERM does what Ctrl-C does. Gives the list of the signals that it handled."""
    handled: list[int] = []

    def handle(signal_number: int, frame: FrameType | None) -> None:
        handled.append(signal_number)
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # ignored, as in a background job of a script
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    previous = signal.signal(signal.SIGTERM, handle)
    try:
        yield handled
    finally:
        signal.signal(signal.SIGTERM, previous or signal.SIG_DFL)
