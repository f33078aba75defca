"""What was made of a debate a moment ago is not made again: results consist of several views, and of pages."""

from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from server.debate.state.debate import Debate

P = ParamSpec("P")
T = TypeVar("T")

MAX_RECENT = 4


def keep_recent(make: Callable[Concatenate[Debate, P], T]) -> Callable[Concatenate[Debate, P], T]:
    """The pure function, which returns what it made before for the very same debate, with equal arguments."""
    recent: deque[tuple[Debate, Any, T]] = deque(maxlen=MAX_RECENT)

    @wraps(make)
    def find(debate: Debate, /, *args: P.args, **kwargs: P.kwargs) -> T:
        for known, given, made in tuple(recent):
            if known is debate and given == (args, kwargs):
                return made
        made = make(debate, *args, **kwargs)
        recent.append((debate, (args, kwargs), made))
        return made

    return find
