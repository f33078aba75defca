"""Debates over MCP whose seats answer as a test says, by task."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp import Client

from server.models import Request
from server.models.fakes.scripted import ScriptedModel, ScriptOutput, build_function_calls, build_reply_text
from tests.support.client_calls import call, expect_tool_error
from tests.support.mcp_debates import read_view
from tests.support.processes.research_client import build_server_config
from tests.support.servers import OpenClient

QUESTION = "Should we buy the Acme shares?"
TEAM = [
    {"name": "Ada", "stance": "Buy now", "role": "analyst", "system_prompt": "Figures first."},
    {"name": "Bob", "stance": "Wait a year", "system_prompt": "Name the risk."},
]
THREE = [*TEAM, {"name": "Cleo", "stance": "Never buy"}]
OPENS = {"moderator": {"opens": True}}
FREE = "Two rounds were held.\n\n**SUMMARY:** They agree on price.\n\n**STATUS:** SETTLED\n\n**DECISION:** Buy half."

Answer = Callable[[Request], ScriptOutput | None] | ScriptOutput | dict[str, Any]


@dataclass
class ScriptedDebates:
    """A client, and one model for all seats whose answers are given by task; other tasks are answered somehow."""

    client: Client = field(init=False)
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    seats_by_model: dict[str, set[str]] = field(default_factory=dict)

    def reply(self, model: str, request: Request) -> ScriptOutput:
        self.requests.append(request)
        self.seats_by_model.setdefault(model, set()).add(request.seat)
        given = self.answers.get(request.prompt.summary.task)
        answer = given(request) if callable(given) else given
        if answer is None:
            return build_function_calls(request) or build_reply_text(request)
        return json.dumps(answer) if isinstance(answer, dict) else answer

    async def hold(self, format_name: str = "verdict", **asked: Any) -> dict[str, Any]:
        answers = {task: asked.pop(task) for task in list(asked) if task in TASKS}
        self.answers, self.requests, self.seats_by_model = answers, [], {}
        fields = {"question": QUESTION, "models": ["mine"], "debaters": TEAM, "run": True, "again": True}
        return await call(self.client, "start_debate", **(fields | {"format": format_name} | asked))

    async def refuse(self, **asked: Any) -> str:
        fields = {"question": QUESTION, "models": ["mine"], "debaters": TEAM} | asked
        return await expect_tool_error(self.client, "start_debate", **fields)

    async def view(self, ran: dict[str, Any], name: str) -> Any:
        return await read_view(self.client, ran, name)

    def prompts(self, task: str = "", seat: str = "") -> list[str]:
        found = (r for r in self.requests if task in ("", r.prompt.summary.task) and seat in ("", r.seat))
        return ["\n".join(message.content for message in request.prompt.messages) for request in found]

    def seats(self, task: str = "argument") -> list[str]:
        return [request.seat for request in self.requests if request.prompt.summary.task == task]


TASKS = (
    *("argument", "message", "answer", "ballot", "judgment"),
    *("opening", "closing", "audit", "observation", "deliverable"),
)


@asynccontextmanager
async def open_scripted_debates(open_client: OpenClient, **settings: Any) -> AsyncIterator[ScriptedDebates]:
    debates = ScriptedDebates()
    models = {name: ScriptedModel(partial(debates.reply, name)) for name in ("mine", "other")}
    research = {"notes": build_server_config("notes")}
    async with open_client(models, research=research, settings=settings) as debates.client:
        yield debates


def speak(request: Request) -> str:
    """A turn that can be recognized."""
    return f"Point of {request.seat} in round {request.prompt.summary.round}."


def find_for(stance: str | None) -> Callable[[Request], str]:
    """A judge who finds for that stance, by the label it has in the reading; for none by null."""

    def judge(request: Request) -> str:
        labels = {text: label for label, text in request.prompt.summary.positions}
        winner = labels[stance] if stance else None
        beliefs = {label: 90 if label == winner else 5 for label in labels.values()}
        given = {
            "winner": winner,
            "verdict": f"{winner} it is." if winner else "Buy half.",
            "reasoning": "Price.",
        }
        return json.dumps(given | ({"beliefs": beliefs} if winner else {"common_position": "Buy half now."}))

    return judge


def label_of(request: Request, stance: str) -> str:
    """The code word that a prompt has for the position."""
    text = "\n".join(message.content for message in request.prompt.messages)
    found = re.search(rf"^> (\w+)\. {re.escape(stance)}$", text, re.MULTILINE)
    assert found
    return found[1]


def hand_over(to: str) -> Callable[[Request], str]:
    return lambda request: json.dumps({"response": speak(request), "next_agent_name": to})
