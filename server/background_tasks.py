"""Upkeep, and work that outlives the request that began it. No error in any of it ends the process."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from threading import Thread
from typing import Self, TypeVar, TypeVarTuple

import anyio

FIRST_PAUSE = 0.5  # seconds until upkeep that failed begins again: shorter than a lease lasts
MAX_PAUSE = 60.0

logger = logging.getLogger(__name__)

Args = TypeVarTuple("Args")
T = TypeVar("T")


def start_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Do this in a thread of its own. The end of the process does not wait for it, as it would for one of a pool."""
    outcome = Future[T]()
    outcome.set_running_or_notify_cancel()  # whoever waits may give up, and others go on waiting

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001  (raised again in all who wait)
            outcome.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return outcome


class BackgroundTasks:
    """As long as this is open: `async with BackgroundTasks() as tasks`. Its end cancels them."""

    def __init__(self, first_pause: float = FIRST_PAUSE) -> None:
        self._first_pause = first_pause
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """What the caller raised is not wrapped into an exception group."""
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)

    def start(self, work: Callable[[*Args], Awaitable[None]], *args: *Args) -> None:
        """Do this once. What it raises is logged."""
        self._group.start_soon(self._do_once, work, args)

    def keep_running(self, upkeep: Callable[[*Args], Awaitable[None]], *args: *Args) -> None:
        """Do this all the time: whatever it raises, it begins again after a pause."""
        self._group.start_soon(self._do_again, upkeep, args)

    async def _do_once(self, work: Callable[[*Args], Awaitable[None]], args: tuple[*Args]) -> None:
        try:
            await work(*args)
        except Exception:
            logger.exception("%s failed", name_task(work))

    async def _do_again(self, upkeep: Callable[[*Args], Awaitable[None]], args: tuple[*Args]) -> None:
        pauses, last_problem = list_pauses(self._first_pause), ""
        while True:
            began_at = anyio.current_time()
            try:
                await upkeep(*args)
            except Exception as error:
                if anyio.current_time() - began_at > MAX_PAUSE:  # it had gone well meanwhile
                    pauses, last_problem = list_pauses(self._first_pause), ""
                if repr(error) != last_problem:
                    last_problem = repr(error)
                    logger.exception("%s failed, and begins again", name_task(upkeep))
                await anyio.sleep(next(pauses))
            else:
                return


def list_pauses(first: float) -> Iterator[float]:
    """The seconds until upkeep begins again, after each failure in a row."""
    pause = first
    while True:
        yield pause
        pause = min(2 * pause, MAX_PAUSE)


def name_task(work: Callable[..., object]) -> str:
    return getattr(work, "__qualname__", repr(work))
