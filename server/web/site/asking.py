"""A new debate from the page: what there is to choose from, its documents, what it would cost, its start; and keys."""

from collections.abc import MutableMapping
from typing import Any, TypeVar

from anyio import move_on_after, to_process, to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from server.debate.commands.inputs import describe_bound
from server.debate.commands.requests import DEFAULT_FORMAT, DebateRequest
from server.debate.commands.setup.effort import PRESETS
from server.debate.commands.setup.estimate import estimate
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.setup.seats import HUMAN
from server.debate.rules.caller_code import NO_CODE
from server.debate.state.debate import Debate
from server.debate.views.progress import estimate_line
from server.engine.database.repeats import TwinError
from server.engine.debates import DebateManager
from server.models.client import NOBODY
from server.models.local.model import is_available
from server.models.model_servers import find_servers
from server.models.providers import keys
from server.models.registry import KEY_VARIABLES, PROVIDERS, NoModelError, choose_default_models
from server.research.documents import read_document

READ_SECONDS = 30.0

FIELDS = {
    "question": "The question",
    "documents": "The list of documents",
    "documents.*.text": "A document",
    "documents.*.title": "The name of a document",
    "debaters.*.name": "The name of a side",
    "debaters.*.stance": "What a side defends",
    "models": "The list of models",
    "options.my_answer": "Your own answer",
    "options.tags": "The list of tags",
    "options.tags.*": "A tag",
    "options.limits.max_cost_usd": "The limit in dollars",
    "options.limits.max_calls": "The limit in calls",
    "text": "The text",
    "key": "The key",
}
"""Fields of requests as the form names them."""

Answer = dict[str, Any]
M = TypeVar("M", bound=BaseModel)


class Key(BaseModel):
    """A key of a provider. It is in no text of ours."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    provider: str = Field(max_length=100)
    key: str = Field(max_length=keys.MAX_KEY_LENGTH + 1_000, repr=False)


def parse(kind: type[M], body: bytes) -> M:
    """What a page sends. Raises InvalidRequestError, whose text does not repeat what was sent."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise InvalidRequestError(describe_misfit(error)) from None


def describe_misfit(error: ValidationError) -> str:
    """What does not fit in a request. The text does not repeat what was sent."""
    details = error.errors(include_url=False)[0]
    path = ".".join("*" if isinstance(part, int) else part for part in details["loc"])
    name = FIELDS.get(path, path or "The request")
    if bound := describe_bound(details):
        return f"{name} {bound}."
    return f"This cannot be read: {name}: {details['msg']}."


async def list_choices(manager: DebateManager, *, owns_machine: bool) -> Answer:
    """What a form for a new debate offers. `usual`: the models of a debate that names none."""
    planner, environ = manager.planner, manager.environ
    try:
        usual = choose_default_models(planner.configured_models, environ)
    except NoModelError:
        usual = ()
    has_key = {row.name: any(environ.get(key) for key in row.key_variables) for row in PROVIDERS}
    with_key = [row.default_model for row in PROVIDERS if has_key[row.name]]
    served = [model.name for server in await find_servers(planner.windows) for model in server.models]
    embedded = ["local"] if is_available() else []
    return {
        "usual": usual,
        "models": [*dict.fromkeys((*usual, *with_key, *served, *embedded, HUMAN))],
        "formats": [
            {"name": row.name, "hint": row.hint, "has_sides": not row.is_advice} for row in FORMATS.values()
        ],
        "format": DEFAULT_FORMAT,
        "efforts": [*PRESETS],
        "effort": planner.effort,
        "keys": [{"provider": name, "is_set": is_set} for name, is_set in has_key.items()]
        if owns_machine
        else [],
    }


async def read_file(name: str, content: bytes, seconds: float = READ_SECONDS) -> Answer:
    """The text of a file, as `counterpoint debate --document` reads it.

    In a process of its own, which can be ended: some PDFs take for ever. Raises InvalidRequestError.
    """
    with move_on_after(seconds):
        document = await to_process.run_sync(read_document, name, content, cancellable=True)
        return {"text": document.text}
    raise InvalidRequestError(f"{name} takes too long to read. Save the part that matters as text first.")


async def estimate_debate(manager: DebateManager, request: DebateRequest) -> Answer:
    """What the debate would cost at most, in figures, and in a sentence. Raises as `DebateManager.start`."""
    setup = await manager.planner.complete(await manager.plan(request), NO_CODE)
    debate = Debate(setup)
    await NOBODY.approve(debate)
    forecast = estimate(debate)
    return {
        "line": estimate_line(debate),
        "calls": forecast.most_calls or forecast.calls,
        "cost_usd": forecast.cost_usd[1],
    }


async def start_debate(manager: DebateManager, request: DebateRequest, actor: str) -> Answer:
    """Start it, or find the one that the same form has just started. Raises as `DebateManager.start`."""
    try:
        snapshot = await manager.start(request, actor=actor, joins=True)
    except TwinError as twin:
        snapshot = await manager.join(twin.debate_id, run=request.run)
    return {"debate_id": snapshot.id}


async def store_key(manager: DebateManager, given: Key) -> Answer:
    """Store a key as `counterpoint keys set` does, and use it in this process from now on."""
    variable = keys.parse_variable(given.provider, KEY_VARIABLES)
    value = keys.check_key(given.key)
    place = await to_thread.run_sync(keys.store, variable, value)
    if isinstance(manager.environ, MutableMapping) and keys.use(variable, value, place, manager.environ):
        return {"line": f"{variable} is stored in {place}, and used from now on."}
    return {"line": f"{variable} is stored in {place}. The environment sets it, too, and wins."}
