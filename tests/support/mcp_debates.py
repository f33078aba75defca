"""Debates over MCP: models with scripted replies, and clients that follow `next`."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client

from server.debate.views.catalog import VIEWS
from server.mcp.resources import PATHS
from server.models import ModelError, Request
from server.models.fakes.scripted import ScriptedModel, ScriptOutput, build_function_calls, build_reply_text
from tests.support.client_calls import call, read_resource
from tests.support.servers import OpenClient

TaskAnswer = ScriptOutput | dict[str, Any] | ModelError

_CALL = re.compile(r"(\w+)\((.*?)\)")
_ARGUMENT = re.compile(r"(\w+)=('[^']*'|\w+)")


def build_scripted_model(**answers: TaskAnswer | list[TaskAnswer]) -> ScriptedModel:
    """A model with given replies by task, e.g. `judgment="..."`, `opening=[{...}, {...}]`.

    Of several replies each is given once, the last repeatedly. Other tasks are answered as by `scripted`.
    """
    replies = {task: given if isinstance(given, list) else [given] for task, given in answers.items()}

    def script(request: Request) -> ScriptOutput:
        given = replies.get(request.prompt.summary.task)
        if given is None:
            return build_function_calls(request) or build_reply_text(request)
        reply = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(reply, ModelError):
            raise reply
        return json.dumps(reply) if isinstance(reply, dict) else reply

    return ScriptedModel(script)


def find_prompts(model: ScriptedModel, task: str) -> list[str]:
    """The last message of each prompt that a model received for a task."""
    prompts = [request.prompt for request in model.requests if request.prompt.summary.task == task]
    return [prompt.messages[-1].content for prompt in prompts]


@asynccontextmanager
async def opened(open_client: OpenClient, *setup: Any) -> AsyncIterator[tuple[Client, str]]:
    """A client, and the id of a debate that it has opened."""
    async with open_client(*setup) as client:
        yield client, (await call(client, "start_debate", question="Ship it?"))["debate_id"]


async def run_debate(client: Client, **arguments: Any) -> dict[str, Any]:
    """The result of start_debate for a debate that runs to its end."""
    return await call(client, "start_debate", **{"question": "Ship it?", "run": True, **arguments})


async def read_transcript(client: Client, step: dict[str, Any]) -> str:
    return await read_resource(client, f"debate://{step['debate_id']}/transcript")


async def call_next(client: Client, step: dict[str, Any], **extra_arguments: Any) -> dict[str, Any]:
    """Make the call that `next` names, with its arguments."""
    found = _CALL.search(step["next"])
    assert found, step["next"]
    arguments = {name: json.loads(value.replace("'", '"')) for name, value in _ARGUMENT.findall(found[2])}
    return await call(client, found[1], **arguments, **extra_arguments)


async def step_all_rounds(client: Client, step: dict[str, Any]) -> list[dict[str, Any]]:
    """Follow `next` until the debate no longer runs; returns the result of each step."""
    rounds = []
    while step["status"] in ("ready", "running"):
        step = await call_next(client, step)
        rounds.append(step)
    return rounds


async def read_view(client: Client, step: dict[str, Any], name: str) -> Any:
    return (await call(client, "read_debate", debate_id=step["debate_id"], view=name))["data"]


async def read_verdict(client: Client, step: dict[str, Any]) -> dict[str, Any]:
    """The whole finding as data, with the figures that results leave to it."""
    uri = f"debate://{step['debate_id']}/verdict?format=json"
    return dict(json.loads(await read_resource(client, uri)))


async def read_everything(client: Client, debate_id: str) -> list[str]:
    """All that a client can read of a debate: every view, resource, verdict and list."""
    found = []
    calls = [("read_debate", {"debate_id": debate_id, "view": name}) for name in VIEWS]
    for tool, arguments in (*calls, ("get_verdict", {"debate_id": debate_id}), ("find_debates", {})):
        result = await client.call_tool(
            tool, {**arguments, "wait_seconds": 0} if "verdict" in tool else arguments
        )
        found += [str(result.content), json.dumps(result.structured_content)]
    rounds = len((await call(client, "read_debate", debate_id=debate_id, view="analysis"))["data"]["rounds"])
    paths = [path for path in PATHS if path != "rounds"] + [f"rounds/{n}" for n in range(1, rounds + 1)]
    for path in (*paths, "transcript?format=json", "verdict?format=json", "prompt?format=json"):
        found.append(str((await client.read_resource(f"debate://{debate_id}/{path}".rstrip("/"))).contents))
    return found


async def read_events(client: Client, step: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    """The events of these kinds, in order."""
    return [event for event in await read_all_events(client, step["debate_id"]) if event["kind"] in kinds]


async def read_all_events(client: Client, debate_id: str, since_seq: int = 0) -> list[dict[str, Any]]:
    """Every event after an entry, page by page."""
    found: list[dict[str, Any]] = []
    has_more = True
    while has_more:
        page = (await call(client, "read_debate", debate_id=debate_id, view="events", since_seq=since_seq))[
            "data"
        ]
        found += page["events"]
        has_more, since_seq = page["more"], page["next_seq"]
    return found
