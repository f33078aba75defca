"""Who is next where several want the same: each owner has a turn, however much another one asks for."""

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """What waits, by who wants it: under one name, or under several, as those of an owner and a debate."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[T] | Turns[T]] = {}  # the next to be served first; none is empty

    def __len__(self) -> int:
        return sum(map(len, list(self._lines.values())))  # also in another thread, which reads metrics

    def count(self) -> dict[str, int]:
        """How much waits under each name."""
        return {name: len(line) for name, line in list(self._lines.items())}

    def add(self, item: T, name: str, *names: str) -> None:
        line = self._lines.setdefault(name, Turns[T]() if names else deque[T]())
        if isinstance(line, Turns):
            line.add(item, *names)
        else:
            line.append(item)

    def remove(self, item: T, name: str, *names: str) -> None:
        line = self._lines[name]
        if isinstance(line, Turns):
            line.remove(item, *names)
        else:
            line.remove(item)
        if not line:
            del self._lines[name]

    def take(self) -> T:
        """The next; its name goes behind the others."""
        name = next(iter(self._lines))
        line = self._lines.pop(name)
        item = line.take() if isinstance(line, Turns) else line.popleft()
        if line:
            self._lines[name] = line
        return item


leave_place: ContextVar[Callable[[], None] | None] = ContextVar("leave_place", default=None)
"""Gives back the place of the request that is being handled; it may be called more than once."""


def give_way() -> None:
    """Let the next request begin: this one does nothing but wait from now on."""
    if leave := leave_place.get():
        leave()
