"""Own models: objects or functions passed in code, and entry points of the group `counterpoint.models`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from inspect import isawaitable
from typing import cast

import anyio
from anyio import to_thread

from server.models import Model, ModelError, OnText, Reply, Request, Usage, limit_time
from server.redaction import redact_error

# From messages, `{"role": …, "content": …}` each, to the text of the reply.
ReplyFunction = Callable[[list[dict[str, str]]], str | Awaitable[str]]
OwnModel = Model | ReplyFunction


@dataclass(eq=False)
class FunctionModel:
    """A model made of a plain or async function. A plain function runs in a thread, which ends by itself."""

    name: str
    function: ReplyFunction

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        messages = [{"role": message.role, "content": message.content} for message in request.prompt.messages]
        start = anyio.current_time()
        with limit_time(self.name, request.timeout):
            text = await to_thread.run_sync(self.function, messages, abandon_on_cancel=True)
            if isawaitable(text):
                text = await text
        if not isinstance(text, str):
            raise ModelError("unreadable", f"{self.name} returned {type(text).__name__} instead of a string.")
        if on_text:
            on_text(text)
        return Reply(text, Usage(model=self.name, milliseconds=round((anyio.current_time() - start) * 1000)))


def as_model(name: str, candidate: object) -> Model:
    """An object with a `reply` method as it is, a function as a `FunctionModel`; else raises TypeError."""
    if hasattr(candidate, "reply"):
        return cast("Model", candidate)
    if callable(candidate):
        return FunctionModel(name, candidate)
    raise TypeError(f"{type(candidate).__name__} is neither a function nor an object with a reply method")


def load_own_model(name: str) -> Model | None:
    """The model of `NAME` or `NAME/ANYTHING`, or None. Raises ModelError if its entry point fails."""
    key, _, argument = name.partition("/")
    entries = list(entry_points(group="counterpoint.models", name=key))
    if not entries:
        return None
    values = " and ".join(sorted(entry_point.value for entry_point in entries))
    if len(entries) > 1:
        detail = f"{name}: several packages provide a model of this name ({values}). Uninstall all but one."
        raise ModelError("bad_request", detail, attempts=0)
    try:
        return as_model(name, entries[0].load()(argument))
    except Exception as error:  # it runs the code of another package
        cause = redact_error(f"{type(error).__name__}: {error}")[:200]
        detail = f"{name}: its entry point {values} failed ({cause}). Repair or uninstall its package."
        raise ModelError("bad_request", detail, attempts=0) from error
