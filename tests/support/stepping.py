"""Debates over MCP from start to end: models that say what a test wants, and clients that do as told."""

import json
import re
from typing import Any

from mcp import Client

from server.models import FunctionCall, ModelError, Request
from server.models.fakes.lines import answer, calls
from server.models.fakes.scripted import Said, ScriptedModel
from tests.support.calling import call

Answer = Said | dict[str, Any] | ModelError

_CALL = re.compile(r"Next: .*?(\w+)\((.*?)\)")
_ARGUMENT = re.compile(r"(\w+)=('[^']*'|\w+)")


def saying(**answers: Answer | list[Answer]) -> ScriptedModel:
    """A model that says what is given for a task, one after the other; the last again and again.

    `judgment="..."`, `opening=[{...}, {...}]`: what is not given, it answers like `scripted`.
    """
    left = {task: given if isinstance(given, list) else [given] for task, given in answers.items()}

    def script(request: Request) -> Said:
        given = left.get(request.prompt.cue.asks)
        if given is None:
            return calls(request) or answer(request)
        said = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(said, ModelError):
            raise said
        return json.dumps(said) if isinstance(said, dict) else said

    return ScriptedModel(script)


def handing(response: str, to: str) -> tuple[FunctionCall, ...]:
    """A call of the function `handoff`."""
    arguments = json.dumps({"response": response, "next_agent_name": to})
    return (FunctionCall("handoff", arguments),)


def prompts(model: ScriptedModel, task: str) -> list[str]:
    """What a model was told, each time it was asked for this."""
    asked = [request.prompt for request in model.asked if request.prompt.cue.asks == task]
    return [prompt.messages[-1].content for prompt in asked]


async def obey(client: Client, step: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Call what `next` says, with the arguments that stand there."""
    found = _CALL.search(step["next"])
    assert found, step["next"]
    arguments = {name: json.loads(value.replace("'", '"')) for name, value in _ARGUMENT.findall(found[2])}
    return await call(client, found[1], **arguments, **more)


async def rounds_of(client: Client, step: dict[str, Any]) -> list[dict[str, Any]]:
    """Every round of a debate, stepped by doing what `next` says until there is no more."""
    rounds = []
    while step["status"] == "running":
        step = await obey(client, step)
        rounds.append(step)
    return rounds


async def view(client: Client, step: dict[str, Any], name: str) -> Any:
    return (await call(client, "read_debate", debate_id=step["debate_id"], view=name))["data"]


async def events(client: Client, step: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    """The facts of these kinds, in order."""
    found = (await view(client, step, "events"))["events"]
    return [event for event in found if event["kind"] in kinds]
