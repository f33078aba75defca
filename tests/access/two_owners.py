"""A server with two owners: clients in memory that carry access tokens, and all that can be asked with an id."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp import Client, MCPError
from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult
from mcp.types import Implementation, PromptReference, ResourceTemplateReference

from server.engine.debates import DebateManager
from server.mcp.late_manager import LateManager
from server.mcp.server import build_server
from tests.support.engines import open_engine

NEVER = "zzzzzzzzzzzz"
"""An id that never was: of the length and the letters of one."""

VALUES: Mapping[str, Any] = {
    "question": "Ship it?",
    "at_round": 0,
    "action": "inject",
    "speaker": "Proponent",
    "text": "something",
    "view": "state",
    "wait_seconds": 0,
}
"""What a tool is given besides an id. A new tool with another required argument fails the test until it is here."""

STATES = ("models", "spending", "positions", "client", "turn")
"""What a state can say that a client gives back with a repeated call."""


async def carry_token(context: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Handle a request as one with the token that the client's name stands for, as no transport in memory does."""
    client = context.session.client_params
    if client is None:
        return await call_next(context)
    owner, *scopes = client.client_info.name.split()
    token = AccessToken(token="t", client_id="c", subject=owner, scopes=scopes)
    before = auth_context_var.set(AuthenticatedUser(token))
    try:
        return await call_next(context)
    finally:
        auth_context_var.reset(before)


def connect_owner(server: Any, owner: str, era: str, *scopes: str, **options: Any) -> Client:
    """A client whose requests carry a token of this owner."""
    name = " ".join((owner, *(scopes or ("read", "debate"))))
    return Client(server, mode=era, client_info=Implementation(name=name, version="1"), **options)


@dataclass(frozen=True)
class TwoOwners:
    manager: DebateManager  # of all
    ann: Client
    ben: Client
    server: Any


@asynccontextmanager
async def open_two_owners(database: str, era: str, **options: Any) -> AsyncIterator[TwoOwners]:
    async with open_engine(database, default="scripted") as manager:
        server = build_server(LateManager.of(manager))
        server.middleware.insert(0, carry_token)  # type: ignore[arg-type]  # of any server
        async with (
            connect_owner(server, "ann", era, **options) as ann,
            connect_owner(server, "ben", era, **options) as ben,
        ):
            yield TwoOwners(manager, ann, ben, server)


async def describe(answer: Awaitable[Any]) -> str:
    """What a client is told, whole."""
    try:
        found = await answer
    except MCPError as error:
        return f"{error.error.code} {error.error.message} {error.error.data}"
    return str(found.model_dump_json(by_alias=True)) if hasattr(found, "model_dump_json") else repr(found)


async def list_questions(client: Client) -> dict[str, Callable[[str], Awaitable[Any]]]:
    """All that a client can ask about a debate, by name: what the server lists, and what it does not."""
    asked: dict[str, Callable[[str], Awaitable[Any]]] = {}
    for tool in (await client.list_tools()).tools:
        fields = tool.input_schema["properties"]
        named = [name for name in fields if name.endswith("debate_id")]
        required = [name for name in tool.input_schema.get("required", ()) if name not in named]
        fixed = {name: VALUES[name] for name in [*required, *({"view", "wait_seconds"} & {*fields})]}
        if not named:
            continue
        for state in ("", *STATES):
            asked[f"tool {tool.name} {state}"] = build_call(client, tool.name, named, fixed, state)
    asked["tool watch_debate"] = build_call(client, "watch_debate", ["debate_id"], {}, "")
    for template in (await client.list_resource_templates()).resource_templates:
        uri = template.uri_template.partition("{?")[0].replace("{round}", "1")
        asked[f"resource {uri}"] = lambda one, uri=uri: client.read_resource(uri.replace("{debate_id}", one))  # type: ignore[misc]
        reference = ResourceTemplateReference(uri=template.uri_template)
        for name in ("debate_id", "round", "since", "since_seq", "format"):
            key = f"completion of {name} in {template.uri_template}"
            asked[key] = build_completion(client, reference, name)
    for prompt in (await client.list_prompts()).prompts:
        names = [argument.name for argument in prompt.arguments or ()]
        if "debate_id" in names:
            asked[f"prompt {prompt.name}"] = lambda one, name=prompt.name: client.get_prompt(
                name, {"debate_id": one}
            )  # type: ignore[misc]
            asked[f"completion in {prompt.name}"] = build_completion(
                client, PromptReference(name=prompt.name), "debate_id"
            )
    asked["search"] = lambda one: client.call_tool("find_debates", {"query": one})
    return asked


def build_call(
    client: Client, tool: str, named: Sequence[str], fixed: Mapping[str, Any], state: str
) -> Callable[[str], Awaitable[Any]]:
    def ask(one: str) -> Awaitable[Any]:
        given = f'{{"asks":"{state}","debate_id":"{one}","seat":"Proponent"}}' if state else None
        return client.call_tool(tool, {**fixed, **dict.fromkeys(named, one)}, request_state=given)

    return ask


def build_completion(client: Client, reference: Any, name: str) -> Callable[[str], Awaitable[Any]]:
    def ask(one: str) -> Awaitable[Any]:
        typed = one[:5] if name == "debate_id" else ""
        return client.complete(reference, {"name": name, "value": typed}, {"debate_id": one})

    return ask


async def expect_unknown(client: Client, theirs: str) -> None:
    """Ask everything about a debate of somebody else, and expect what is said of an id that never was."""
    for name, ask in (await list_questions(client)).items():
        told, expected = await describe(ask(theirs)), await describe(ask(NEVER))
        assert told.replace(theirs, NEVER) == expected, name
