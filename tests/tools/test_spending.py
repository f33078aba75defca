"""Debates that may cost more than is to be spent unasked: confirmed by the person at the client, once."""

from typing import Any

import anyio
import pytest
from mcp.types import ElicitRequestFormParams, ElicitResult

from tests.support.client_calls import call, expect_tool_error
from tests.support.mcp_debates import build_scripted_model
from tests.support.servers import connect_client

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N10", "N13")]

LIMITED = {"confirm_cost_usd": "0.5", "prices": {"dear": {"input": 1000, "output": 1000}}}
ASKED = {"question": "Ship it?", "models": ["dear"], "run": True, "wait_seconds": 5}


class Person:
    def __init__(self, action: Any, **content: Any) -> None:
        self.answer = ElicitResult(action=action, content=content or None) if action else None
        self.forms: list[ElicitRequestFormParams] = []

    async def __call__(self, _: Any, form: ElicitRequestFormParams) -> ElicitResult:
        self.forms.append(form)
        if self.answer is None:
            await anyio.sleep_forever()
        assert self.answer
        return self.answer


def opened(open_client: Any, person: Person | None, **settings: Any) -> Any:
    models = {"dear": build_scripted_model()}
    return open_client(models, settings={**LIMITED, **settings}, elicitation_callback=person)


async def test_a_person_who_agrees_is_asked_once_with_the_estimate(open_client: Any) -> None:
    person = Person("accept", start=True)
    async with opened(open_client, person) as client:
        ran = await call(client, "start_debate", **ASKED)
        await call(client, "get_verdict", debate_id=ran["debate_id"])
        rows = (await call(client, "find_debates"))["debates"]

    (form,) = person.forms
    assert form.message.startswith("Estimate: ")
    assert form.message.endswith("That may be more than $0.5. Start this debate?")
    assert ran["status"] == "concluded"
    assert len(rows) == 1


@pytest.mark.parametrize("person", [Person("decline"), Person("accept", start=False)])
async def test_what_a_person_declines_is_not_started_and_costs_nothing(
    open_modern: Any, person: Person
) -> None:
    async with opened(open_modern, person) as client:
        told = await expect_tool_error(client, "start_debate", **ASKED)
        rows = (await call(client, "find_debates"))["debates"]

    assert "The person at the client declined the cost, and the debate was not started. Estimate: " in told
    assert rows == []


async def test_where_nobody_says_yes_or_no_the_debate_is_started(open_modern: Any) -> None:
    for person in (Person("cancel"), None):
        async with opened(open_modern, person) as client:
            ran = await call(client, "start_debate", **ASKED, again=True)
        assert ran["status"] == "concluded"


@pytest.mark.parametrize("settings", [{"confirm_cost_usd": "0"}, {"confirm_cost_usd": "5000"}])
async def test_nobody_is_asked_without_a_limit_or_below_it(open_modern: Any, settings: Any) -> None:
    person = Person("decline")
    async with opened(open_modern, person, **settings) as client:
        ran = await call(client, "start_debate", **ASKED)

    assert ran["status"] == "concluded"
    assert person.forms == []


async def test_a_fork_is_confirmed_as_well(open_modern: Any) -> None:
    person = Person("accept", start=True)
    async with opened(open_modern, person) as client:
        ran = await call(client, "start_debate", **ASKED)
        person.answer = ElicitResult(action="decline")
        fork = {"debate_id": ran["debate_id"], "at_round": 1}
        told = await expect_tool_error(client, "fork_debate", **fork)
        rows = (await call(client, "find_debates"))["debates"]

    assert "declined the cost" in told
    assert len(rows) == 1


@pytest.mark.full
async def test_who_ignores_one_form_gets_no_other_in_the_call(database: str) -> None:
    person = Person("")
    framing = {"kind": "yes_no", "positions": ["Ship it", "Do not ship it"], "assumption": ""}
    models = {"dear": build_scripted_model(framing=framing)}
    asked = {**ASKED, "options": {"framing": True}, "wait_seconds": 45}
    async with connect_client(
        database, "legacy", models, settings=LIMITED, elicitation_callback=person
    ) as client:
        ran = await call(client, "start_debate", **asked)

    assert ran["status"] == "concluded"
    assert len(person.forms) == 1
