"""Positions that a model names, as a client sees them, and as the person at the client confirms them."""

import json
from typing import Any

import anyio
import pytest
from mcp.types import ElicitRequestFormParams, ElicitResult, ErrorData, InputRequiredResult

from server.models import ModelError
from server.models.fakes.scripted import ScriptedModel
from server.tools.asking.opening import REFLEX_SECONDS
from tests.support.client_calls import call, result_text
from tests.support.mcp_debates import (
    build_scripted_model,
    find_prompts,
    read_events,
    read_transcript,
    read_view,
)
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N24", "M4")]

WHICH = "Which database should we use for events?"
DATABASES = ["Use PostgreSQL with an outbox table", "Use Kafka", "Use EventStoreDB"]
ASKED = {"question": WHICH, "format": "advocates", "models": ["mine"], "options": {"framing": True}}


def build_framer(**answers: Any) -> ScriptedModel:
    framing = {"kind": "open", "positions": DATABASES, "assumption": "A team of five."}
    return build_scripted_model(**{"framing": framing, **answers})


class Person:
    """Whoever is at the client, and gives one answer to every form."""

    def __init__(self, action: Any = "accept", **content: Any) -> None:
        self.answer = ElicitResult(action=action, content=content or None)
        self.forms: list[ElicitRequestFormParams] = []

    async def __call__(self, _context: Any, params: Any) -> ElicitResult | ErrorData:
        self.forms.append(params)
        return self.answer


def stances(result: dict[str, Any]) -> list[str]:
    return [position["stance"] for position in result["positions"]]


async def test_they_are_shown_before_the_first_turn_and_then_debated(open_modern: Any) -> None:
    model = build_framer()
    async with open_modern({"mine": model}) as client:
        started = await client.call_tool("start_debate", ASKED)
        data = started.structured_content
        step = await call(client, "step_round", debate_id=data["debate_id"])
        transcript = await read_transcript(client, step)
        state = await read_view(client, step, "state")

    assert stances(data) == DATABASES
    assert "round" not in data
    assert data["framing"] == 'The question was read as an open question. Taken for given: "A team of five."'
    for line in (*DATABASES, data["framing"]):
        assert line in result_text(started)
        assert line in transcript
    assert {turn["stance"] for turn in step["turns"]} == {*DATABASES}
    assert state["framing"] == data["framing"]
    assert state["usage"]["calls"] == 2 + 3 + 3  # with those before the positions, and a ballot of each
    assert len(find_prompts(model, "framing")) == 1


@pytest.mark.parametrize("run", [False, True])
async def test_a_person_is_asked_once_and_may_put_them_otherwise(open_client: Any, run: bool) -> None:
    person = Person(position_1="Use SQLite", position_2=DATABASES[1], position_3="")
    model = build_framer()
    async with open_client({"mine": model}, elicitation_callback=person) as client:
        started = await call(client, "start_debate", **ASKED, run=run)
        await call(client, "step_round", debate_id=started["debate_id"])
        revised = await read_events(client, started, "positions_revised")

    (form,) = person.forms
    assert form.message.startswith("The question was read as an open question.")
    fields = form.requested_schema["properties"]
    assert [field["default"] for field in fields.values()] == DATABASES
    assert stances(started) == ["Use SQLite", *DATABASES[1:]]
    assert len(revised) == 1
    assert all("Use SQLite" in prompt for prompt in find_prompts(model, "argument"))
    assert started["status"] == ("concluded" if run else "ready")
    assert len(find_prompts(model, "framing")) == 1


@pytest.mark.parametrize(
    "person",
    [
        Person(),
        Person("decline"),
        Person(position_1="x" * 501),
        Person(position_9="Use Redis"),
    ],
    ids=["accepted", "declined at once", "too long", "another field"],
)
async def test_any_other_answer_leaves_what_was_proposed(open_modern: Any, person: Person) -> None:
    async with open_modern({"mine": build_framer()}, elicitation_callback=person) as client:
        ran = await call(client, "start_debate", **ASKED, run=True)
        revised = await read_events(client, ran, "positions_revised")

    assert stances(ran) == DATABASES
    assert ran["status"] == "concluded"
    assert revised == []


async def test_nobody_is_asked_where_there_is_nothing_to_confirm(open_modern: Any) -> None:
    person = Person(position_1="Use SQLite")
    who = [{"name": "Ada", "stance": "Use Kafka"}, {"name": "Bob", "stance": "Use Redis"}]
    async with open_modern({"mine": build_framer()}, elicitation_callback=person) as client:
        named = await call(client, "start_debate", **ASKED, debaters=who)
        off = await call(client, "start_debate", **{**ASKED, "options": {"framing": False}})
        at_once = await call(client, "start_debate", **ASKED, run=True, wait_seconds=0)
        await call(client, "get_verdict", debate_id=at_once["debate_id"])

    assert person.forms == []
    assert [stances(result) for result in (named, off)] == [["Use Kafka", "Use Redis"], ["for", "against"]]


@pytest.mark.parametrize("said", ["Postgres, I think.", ModelError("unavailable", "mine is down")])
async def test_a_question_that_nobody_could_frame_says_how_to_name_positions(
    open_modern: Any, said: Any
) -> None:
    model = build_framer(framing=said)
    async with open_modern({"mine": model}, elicitation_callback=(person := Person())) as client:
        ran = await call(client, "start_debate", **ASKED, run=True)

    assert (ran["status"], ran["positions"], person.forms) == ("paused", [], [])
    assert "Name them: start another debate with debaters=[{name, stance}, …]" in ran["reason"]
    assert len(find_prompts(model, "framing")) == (2 if isinstance(said, str) else 1)


@pytest.mark.requirement("N10")
async def test_a_person_who_declines_them_pays_for_no_debate(open_modern: Any) -> None:
    class Reader(Person):
        async def __call__(self, context: Any, params: Any) -> ElicitResult | ErrorData:
            shown = anyio.current_time()
            while anyio.current_time() < shown + 1.2 * REFLEX_SECONDS:
                await wait_before_next_poll()
            return await super().__call__(context, params)

    model = build_framer()
    async with open_modern({"mine": model}, elicitation_callback=Reader("decline")) as client:
        declined = await call(client, "start_debate", **ASKED, run=True)
        repeated = await call(client, "start_debate", **ASKED, run=True)
        later = await call(client, "get_verdict", debate_id=declined["debate_id"])
        assert len(model.requests) == 2  # for the positions
        await call(client, "step_round", debate_id=declined["debate_id"], wait_seconds=5)

    for result in (declined, repeated, later):
        assert (result["status"], result["working"]) == ("ready", False)
        assert result["reason"].startswith("the person at the client declined these positions")
    assert repeated["joined"]
    assert "step_round(" in declined["next"]
    assert len(find_prompts(model, "argument")) == 3


async def test_an_answer_after_the_first_round_began_changes_nothing(open_modern: Any) -> None:
    async with open_modern({"mine": build_framer()}, elicitation_callback=Person()) as client:
        asked = await client.session.call_tool("start_debate", ASKED, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        opened = json.loads(asked.request_state or "")["debate_id"]
        await call(client, "step_round", debate_id=opened)
        late = await client.session.call_tool(
            "start_debate",
            ASKED,
            input_responses={
                "positions": ElicitResult(action="accept", content={"position_1": "Use SQLite"})
            },
            request_state=asked.request_state,
        )
        rows = (await call(client, "find_debates"))["debates"]

    assert stances(late.structured_content) == DATABASES
    assert len(rows) == 1
