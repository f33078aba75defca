"""A debate that is being driven, and everybody who is watching it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from server.debate.rules import TerminateWhen
from server.runner import Case, reached


@dataclass(slots=True)
class Work:
    case: Case
    through_round: int | None  # None: to the end
    terminate_when: TerminateWhen | None = None
    changed: anyio.Event = field(default_factory=anyio.Event)
    driving: anyio.CancelScope | None = None  # while this process has the lease
    done: bool = False
    error: Exception | None = None

    def see(self, case: Case) -> None:
        """Take a newer state of the debate; what somebody read before it was written is not one."""
        if case.debate.version >= self.case.debate.version:
            self.case = case
            self.tell()

    def tell(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    def widen(self, through_round: int | None) -> None:
        """Go further than was first asked for, never less far."""
        if through_round is None or self.through_round is None:
            self.through_round = None
        else:
            self.through_round = max(self.through_round, through_round)

    @property
    def finished(self) -> bool:
        """Whether there is nothing to drive at: it is as far as was wanted, or waits for somebody."""
        return self.case.status in ("paused", "waiting") or reached(self.case.debate, self.through_round)


OnChange = Callable[[Work], Awaitable[None]]
"""Told from within the waiting request: whenever there is something new to see, and every GLANCE."""
