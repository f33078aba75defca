"""Every answer of a model is bound to what was asked: the hash of its prompt is part of its usage."""

from dataclasses import asdict
from hashlib import sha256
from typing import Any

import pytest
import rfc8785

from server.debate.facts.answers import Usage
from server.debate.facts.events import Failed
from server.debate.state.debate import Debate
from server.models import OnText, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D11")]

HARD_TEXT = 'Ship "it"?\t\\ Grüße, 日本 😀 \u2028 \x7f'


class Recorder(ScriptedModel):
    """Remembers what it was asked, and names its answers. `unreadable`: the tasks that it fails at first."""

    def __init__(self, unreadable: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.asked: dict[str, Request] = {}  # by the id of the answer
        self.unreadable = list(unreadable)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        reply_id = f"reply-{len(self.asked) + 1}"
        self.asked[reply_id] = request
        if request.prompt.summary.task in self.unreadable:
            self.unreadable.remove(request.prompt.summary.task)
            return Reply("?", Usage(model="mine", reply_id=reply_id))
        reply = await super().reply(request, on_text)
        return Reply(reply.text, Usage(model="mine", reply_id=reply_id), function_calls=reply.function_calls)


def hash_as_documented(model: str, request: Request) -> str:
    """By another implementation of canonical JSON."""
    asked: dict[str, Any] = {
        "model": model,
        "messages": [{"role": each.role, "content": each.content} for each in request.prompt.messages],
        "schema": request.prompt.schema,
        "functions": [asdict(function) for function in request.functions],
    }
    return sha256(rfc8785.dumps(asked)).hexdigest()


def find_usage(debate: Debate) -> dict[str, str]:
    return {usage.reply_id: usage.prompt_sha256 for usage in debate.usage}


@pytest.mark.parametrize("format_name", ["full", "handoff"])
async def test_every_answer_carries_the_hash_of_its_prompt(database: str, format_name: str) -> None:
    recorder = Recorder(unreadable=("judgment",))
    async with open_engine(database, recorder) as manager:
        schema = {"type": "object", "properties": {"ä€": {"type": "number", "maximum": 1e16}}}
        options = {"output_schema": schema, "synthesizer": {"model": "mine"}}
        options = {} if format_name == "handoff" else options
        snapshot = await run_debate(manager, question=HARD_TEXT, format=format_name, options=options)

    [failed] = [entry.event for entry in snapshot.entries if isinstance(entry.event, Failed)]
    assert failed.usage in snapshot.debate.usage  # an answer that could not be used carries it, too
    assert find_usage(snapshot.debate) == {
        reply_id: hash_as_documented("mine", request) for reply_id, request in recorder.asked.items()
    }
