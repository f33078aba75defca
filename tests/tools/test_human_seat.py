"""A seat whose turns a person writes, in a form of the client's or with submit_turn."""

import json
import re
from typing import Any

import anyio
import pytest
from mcp.types import ElicitRequestFormParams, ElicitResult

from tests.support.client_calls import call
from tests.support.mcp_debates import call_next, read_events
from tests.support.simulation import build_ballot

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N13", "N7")]

SIDES = [
    {"name": "Me", "stance": "yes", "model": "human"},
    {"name": "Bot", "stance": "no", "model": "scripted"},
]
ASKED = {
    "question": "Ship it?",
    "debaters": SIDES,
    "run": True,
    "options": {"ballots": "none", "judges": {"models": ["scripted"]}},
    "wait_seconds": 5,
}


class Person:
    """Whoever is at the client: each form gets the next of these answers, the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]
        self.forms: list[ElicitRequestFormParams] = []

    async def __call__(self, _: Any, form: ElicitRequestFormParams) -> ElicitResult:
        self.forms.append(form)
        given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if given is None:
            await anyio.sleep_forever()
        return (
            given
            if isinstance(given, ElicitResult)
            else ElicitResult(action="accept", content={"text": given})
        )


WRITES_NAMES = "Where this asks for a label, write a name."
DECLINED = ElicitResult(action="decline")


async def test_a_person_writes_each_turn_in_a_form_that_shows_what_was_said_last(open_client: Any) -> None:
    person = Person("First, it works.", "Second, it still works.")
    async with open_client(elicitation_callback=person) as client:
        ran = await call(client, "start_debate", **ASKED)
        spoke = await read_events(client, ran, "spoke")

    assert ran["status"] == "concluded", ran["reason"]
    assert len(person.forms) == 2
    mine = [event for event in spoke if event["seat"] == "Me"]
    assert [event["text"] for event in mine] == ["First, it works.", "Second, it still works."]
    assert {event["usage"]["model"] for event in mine} == {"human"}
    assert "Your position: yes" in person.forms[0].message
    (said,) = [event["text"] for event in spoke if event["seat"] == "Bot" and event["round"] == 1]
    assert said.splitlines()[0] in person.forms[1].message


@pytest.mark.parametrize("answer", [DECLINED, ElicitResult(action="accept", content={"text": ""})])
async def test_a_turn_that_is_not_given_is_asked_once_and_awaited_from_submit_turn(
    open_client: Any, answer: ElicitResult
) -> None:
    person = Person(answer)
    async with open_client(elicitation_callback=person) as client:
        stood = await call(client, "start_debate", **ASKED)
        again = await call(client, "get_verdict", debate_id=stood["debate_id"], wait_seconds=5)
        asked = len(person.forms)
        turn = {"debate_id": stood["debate_id"], "speaker": "Me", "text": "By the tool."}
        after = await call(client, "submit_turn", **turn, wait_seconds=5)

    assert (stood["status"], again["status"], asked) == ("waiting", "waiting", 1)
    assert stood["reason"].startswith("A person is to write for Me: ask for the words")
    assert stood["next"].startswith("submit_turn(")
    assert [one["speaker"] for one in stood["awaited"]] == ["Me"]
    assert after["status"] == "waiting"  # the second round, for which the person is asked anew
    assert len(person.forms) == 2


@pytest.mark.full
async def test_a_person_who_does_not_answer_holds_a_call_no_longer_than_it_waits(
    open_client: Any, era: str
) -> None:
    person = Person(None)
    async with open_client(elicitation_callback=person) as client:
        with anyio.move_on_after(4) as limit:
            stood = await call(client, "start_debate", **{**ASKED, "wait_seconds": 1})
        if era == "auto":  # the client waits for the person by itself
            (stood,) = (await call(client, "find_debates"))["debates"]
        turn = {"debate_id": stood["debate_id"], "speaker": "Me", "text": "By the tool."}
        after = await call(client, "submit_turn", **turn, wait_seconds=0)

    assert limit.cancelled_caught == (era == "auto")
    assert stood["status"] == "waiting"
    assert after["status"] in ("running", "waiting")


async def test_where_nobody_can_be_asked_the_seat_is_the_callers(open_modern: Any) -> None:
    async with open_modern() as client:
        step = await call(client, "start_debate", **ASKED)
        while step["status"] == "waiting":
            turn = {"debate_id": step["debate_id"], "speaker": "Me", "text": f"In round {step['round']}."}
            step = await call(client, "submit_turn", **turn)
        spoke = await read_events(client, step, "spoke")

    assert step["status"] == "concluded"
    assert [event["text"] for event in spoke if event["seat"] == "Me"] == ["In round 1.", "In round 2."]


async def test_a_person_judges_and_a_ballot_that_is_none_is_left_to_the_tool(open_modern: Any) -> None:
    finding = {"verdict": "It is right.", "winner": "yes", "reasoning": "Nobody answered it.", "margin": 2}
    ballot = json.dumps(build_ballot("Me", percent=60))
    person = Person("What do you mean?", json.dumps(finding))
    options = {"ballots": "blind", "judges": {"models": ["human"], "both_orders": False}}
    sides = [{**SIDES[0], "model": "human"}, SIDES[1]]
    async with open_modern(elicitation_callback=person) as client:
        step = await call(client, "start_debate", **{**ASKED, "debaters": sides, "options": options})
        first = step
        while step["status"] in ("waiting", "running"):
            awaited = step["awaited"][0] if step["status"] == "waiting" else None
            if awaited is None:
                step = await call_next(client, step)
                continue
            text = {"ballot": ballot, "judgment": json.dumps(finding)}.get(awaited["task"], "By the tool.")
            turn = {"debate_id": step["debate_id"], "speaker": awaited["speaker"], "text": text}
            step = await call(client, "submit_turn", **turn, wait_seconds=5)
        judged = await read_events(client, step, "judged")

    assert first["status"] == "waiting"
    assert step["status"] == "concluded", step["reason"]
    assert [(event["winner"], event["usage"]["model"]) for event in judged] == [("Me", "human")]


@pytest.mark.requirement("C21")
async def test_forms_show_a_person_names_also_in_a_second_reading(open_modern: Any) -> None:
    found = {"verdict": "Me is right.", "reasoning": "Bot did not answer.", "winner": "Me", "margin": 2}
    again = {**found, "reasoning": "Bot did not answer this either."}
    person = Person("It works.", "Bot is wrong.", json.dumps(found), json.dumps(again))
    options = {"ballots": "none", "judges": {"models": ["human"], "both_orders": True}}
    async with open_modern(elicitation_callback=person) as client:
        step = await call(client, "start_debate", **{**ASKED, "options": options})
        (opened,) = await read_events(client, step, "opened")
        judged = await read_events(client, step, "judged")

    shown = "\n".join(form.message for form in person.forms)
    assert len(person.forms) == 4
    assert [label for label in opened["labels"] if label in shown] == []
    assert "You are Me. Your position: yes" in shown
    first, second = (form.message for form in person.forms[2:])
    assert first.index("\nMe. yes") < first.index("\nBot. no")
    assert second.index("\nBot. no") < second.index("\nMe. yes")
    assert WRITES_NAMES in first
    assert WRITES_NAMES not in person.forms[0].message
    assert [event["winner"] for event in judged] == ["Me", "Me"]


@pytest.mark.requirement("N1")
async def test_a_person_who_reviews_answers_reads_the_labels_that_models_read(open_modern: Any) -> None:
    """Whose an answer is would tell which is the person's own; and only labels are understood in a reply."""

    class Reviewer(Person):
        async def __call__(self, context: Any, form: ElicitRequestFormParams) -> ElicitResult:
            labels = re.findall(r"^\[([A-Z]\d\d)\]$", form.message, re.MULTILINE)
            review = {"recommendation": "Keep it.", "follows": labels, "groups": [labels]}
            self.answers = [json.dumps(review) if labels else "Keep it, I would say."]
            return await super().__call__(context, form)

    person = Reviewer("")
    asked = {"question": "Keep the queue?", "format": "second_opinion", "models": ["scripted", "human"]}
    document = {"title": "Report", "text": "The queue is idle. " * 500}
    async with open_modern(elicitation_callback=person) as client:
        step = await call(client, "start_debate", **asked, documents=[document], run=True, wait_seconds=5)
        reviewed = await read_events(client, step, "reviewed")

    assert step["status"] == "concluded", step["reason"]
    answer, review, *_ = (form.message for form in person.forms)
    head = "Advisor 2, round {} ({}). Decline to leave it to your assistant.\n\n> Keep the queue?\n\n# "
    assert answer.startswith(head.format(1, "advice") + "Task\n")
    assert review.startswith(head.format(2, "review") + "Answers\n")
    assert "[Advisor" not in review
    (found,) = [event for event in reviewed if event["seat"] == "Advisor 2"]
    assert found["groups"] == [["Advisor 2", "Advisor 1"]]
    assert found["follows"] == ["Advisor 2", "Advisor 1"]
