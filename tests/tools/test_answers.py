"""What a caller is told of a second opinion: while it runs, and at its end."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import read_resource, read_text, result_text
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N32", "N17")]

ASKED: dict[str, Any] = {"question": "Keep the queue in Postgres?", "models": ["one/a", "two/b"], "run": True}
WRONG = {"words": "Redis is durable", "right": "Its last minutes are lost.", "matters": True}


class Advisor:
    """Answers and reviews; reviews wait for `may_review`. Follows every answer but the caller's own."""

    def __init__(self) -> None:
        self.may_review, self.is_reviewing = anyio.Event(), anyio.Event()

    async def answer(self, request: Request) -> str:
        task, labels = request.prompt.summary.task, request.prompt.summary.choices
        if task == "review":
            self.is_reviewing.set()
            await self.may_review.wait()
        if task == "report":
            return f"Keep it.\n\nIt is small, says {request.seat}."
        mine = [label for label in labels if "Move it" in find_text(request, label)]
        fields: dict[str, Any] = {
            "recommendation": "Keep it.",
            "because": f"It is small, says {request.seat}.",
            "probability": 90,
            "groups": [[label for label in labels if label not in mine], mine],
            "follows": [label for label in labels if label not in mine][:1],
            "errors": [{"answers": mine, **WRONG}] if mine else [],
        }
        return json.dumps(fields)


def find_text(request: Request, label: str) -> str:
    """What stands under a label in a prompt, as far as to the next one."""
    text = "\n".join(message.content for message in request.prompt.messages)
    rest = text.partition(f"# {label}")[2] or text.partition(f"{label}:")[2] or text.partition(label)[2]
    others = [
        at for other in request.prompt.summary.choices if other != label and (at := rest.find(other)) > 0
    ]
    return rest[: min(others, default=len(rest))]


@asynccontextmanager
async def advise(open_modern: Any, *, reviews: bool) -> AsyncIterator[tuple[Any, Advisor]]:
    """A client of two advisors. `reviews`: whether they review at once."""
    advisor = Advisor()
    if reviews:
        advisor.may_review.set()
    models = {name: ScriptedModel(advisor.answer, name=name) for name in ASKED["models"]}
    async with open_modern(models) as client:
        yield client, advisor


async def start_reviews(client: Any, advisor: Advisor) -> dict[str, Any]:
    """The debate, as a caller names it, while its reviews wait."""
    started = await client.call_tool("start_debate", {**ASKED, "wait_seconds": 0})
    with anyio.fail_after(PATIENCE):
        await advisor.is_reviewing.wait()
    return {"debate_id": started.structured_content["debate_id"]}


async def test_before_the_end_the_answers_stand_first_marked_as_unchecked_with_what_goes_on(
    open_modern: Any,
) -> None:
    async with advise(open_modern, reviews=False) as (client, advisor):
        this = await start_reviews(client, advisor)
        told = await client.call_tool("get_verdict", {**this, "wait_seconds": 0})
        advisor.may_review.set()
        ended = await client.call_tool("get_verdict", this)

    lines = [line for line in result_text(told).splitlines() if line]
    assert lines[0].startswith(
        f"No verdict yet. Debate {this['debate_id']}: running, at work. Reviewing: waiting for "
    )
    assert lines[1:4] == ["**The first answers, before any check**", '- "Keep it."', '- "Keep it."']
    assert told.structured_content["next"].startswith("step_round(")
    assert told.structured_content["answer"]["so_far"] == ["Keep it.", "Keep it."]
    assert result_text(ended).startswith('**Agreed**: "Keep it."')
    assert "so_far" not in ended.structured_content["answer"]


async def test_a_debate_that_concludes_says_whom_it_waits_for_and_foretells_no_calls(
    open_modern: Any,
) -> None:
    async with advise(open_modern, reviews=False) as (client, advisor):
        this = await start_reviews(client, advisor)
        steered = await client.call_tool("intervene", {**this, "action": "conclude"})
        advisor.may_review.set()
        await client.call_tool("get_verdict", this)

    found = steered.structured_content
    assert (found["status"], found["working"]) == ("running", True)
    assert "estimate" not in found
    assert found["reason"] == "Concluding: waiting for Advisor 1 (one/a) and Advisor 2 (two/b)."
    assert found["reason"] in result_text(steered)


async def test_a_callers_own_answer_is_told_first_whether_it_stands_and_what_is_wrong_in_it(
    open_modern: Any,
) -> None:
    async with advise(open_modern, reviews=True) as (client, _):
        options = {"my_answer": "Move it out: Redis is durable."}
        ran = await client.call_tool("start_debate", {**ASKED, "options": options})

    assert result_text(ran).startswith(
        "**Your answer**: It does not stand.\n"
        "**Wrong in it**: \"'Redis is durable': Its last minutes are lost.\"\n"
        '**Agreed**: "Keep it."\n'
    )
    answer = ran.structured_content["answer"]
    assert answer["mine"] == "It does not stand."
    assert answer["wrong_in_mine"] == ["“Redis is durable”: Its last minutes are lost."]
    assert "headline" not in ran.structured_content  # it would have the same words


async def test_every_view_and_resource_shows_the_same_lines_of_the_same_object(open_modern: Any) -> None:
    async with advise(open_modern, reviews=True) as (client, _):
        ran = await client.call_tool("start_debate", ASKED)
        debate_id = ran.structured_content["debate_id"]
        lines = result_text(ran).partition("\n\n")[0]
        answer = ran.structured_content["answer"]
        for view in ("verdict", "result", "receipt"):
            data = json.loads(await read_resource(client, f"debate://{debate_id}/{view}?format=json"))
            assert {name: value for name, value in data["answer"].items() if value} == answer, view
        for view in ("verdict", "transcript"):
            assert lines in await read_resource(client, f"debate://{debate_id}/{view}")
            assert lines in await read_text(client, debate_id, view)
    assert lines.endswith(f"Debate {debate_id}")
    assert len(lines.splitlines()) <= 10
