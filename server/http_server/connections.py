"""Connections of a server that has no proxy in front of it: nobody may hold one without asking for something.

A client that sends its headers a byte at a time ("slow loris"), or the rest of a body that was answered already, is
left after `HEAD_SECONDS`. A body that is read has a limit of its own (`bodies`), an idle connection one of uvicorn's.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS = 10.0


class BoundedProtocol(H11Protocol):
    """Closes a connection on which no request has become complete in time."""

    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent has it
        super().connection_made(transport)
        self._begin()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._end()
        elif self._deadline is None:
            self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _begin(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self._give_up)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self._is_answering():
            self.transport.close()
