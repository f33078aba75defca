"""What the source documents ask for (requirements A, B and C), each line once, as a client of either era sees it."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from mcp import Client

from server.models import FunctionCall, Request
from server.models.fakes.scripted import ScriptedModel, ScriptOutput, build_function_calls, build_reply_text
from tests.support.client_calls import call, expect_tool_error, read_text
from tests.support.mcp_debates import build_handoff_calls, read_events, read_view
from tests.support.processes.research_client import build_server_config
from tests.support.servers import OpenClient

pytestmark = pytest.mark.anyio

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
class Room:
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


TASKS = ("argument", "ballot", "judgment", "opening", "closing", "audit", "deliverable")
Check = Callable[[Room], Awaitable[None]]
CHECKS: dict[str, Check] = {}


def check(requirement: str) -> Callable[[Check], Check]:
    def add(made: Check) -> Check:
        CHECKS[requirement] = made
        return made

    return add


@asynccontextmanager
async def open_room(open_client: OpenClient) -> AsyncIterator[Room]:
    room = Room()
    models = {name: ScriptedModel(partial(room.reply, name)) for name in ("mine", "other")}
    research = {"notes": build_server_config("notes")}
    async with open_client(models, research=research) as room.client:
        yield room


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


def hand_over(to: str) -> Callable[[Request], str]:
    return lambda request: json.dumps({"response": speak(request), "next_agent_name": to})


@check("A1")
async def each_call_has_its_own_prompt_and_the_whole_history(room: Room) -> None:
    ran = await room.hold(
        "settle", max_rounds=2, argument=speak, closing={"summary": "s", "status": "CONTINUE"}
    )
    first, second = room.prompts("argument", "Ada")
    assert "Figures first." in first
    assert "analyst" in first
    assert not any("Figures first." in prompt for prompt in room.prompts("argument", "Bob"))
    assert all(
        f"> Point of {label} in round 1." in second
        for label in re.findall(r"^> (\w{6})\. ", first, re.MULTILINE)
    )
    assert ran["turn_count"] == 4


@check("A2")
async def a_moderator_is_read_in_free_text_and_as_structured_output(room: Room) -> None:
    for closing in (FREE, {"summary": "They agree on price.", "status": "SETTLED", "decision": "Buy half."}):
        ran = await room.hold("settle", closing=closing)
        assert (ran["reason"], ran["verdict"], ran["rounds_of_talk"]) == ("settled", "Buy half.", 1)
        assert "They agree on price." in ran["moderator"]


@check("A3")
async def the_loop_ends_when_it_is_settled_or_after_three_rounds_and_says_which(room: Room) -> None:
    ran = await room.hold("settle", closing={"summary": "Open.", "status": "CONTINUE", "decision": "Half."})
    assert (ran["reason"], ran["rounds_of_talk"], ran["outcome"]) == ("max_rounds", 3, "undecided")
    assert ran["verdict"] == "Not settled in 3 rounds. Half."


@check("A4")
async def one_model_serves_all_or_each_seat_has_its_own(room: Room) -> None:
    await room.hold("settle")
    assert room.seats_by_model == {"mine": {"Ada", "Bob", "moderator"}}
    team = [TEAM[0] | {"model": "other"}, TEAM[1]]
    await room.hold("settle", debaters=team, options={"moderator": {"closes": True, "model": "scripted"}})
    assert room.seats_by_model == {"mine": {"Bob"}, "other": {"Ada"}}


@check("A5")
async def the_state_has_topic_debaters_rounds_history_summary_and_decision(room: Room) -> None:
    ran = await room.hold("settle", closing=FREE)
    state = await room.view(ran, "state")
    assert (state["question"], [d["name"] for d in state["debaters"]]) == (QUESTION, ["Ada", "Bob"])
    assert (state["round"], state["max_rounds"], state["settled"]) == (1, 3, True)
    assert (state["moderator_summary"], state["final_decision"]) == ("They agree on price.", "Buy half.")
    history = [event["seq"] for event in (await room.view(ran, "events"))["events"]]
    assert history == list(range(1, len(history) + 1))


@check("A6")
async def an_investment_decision_can_be_read_round_by_round_to_its_decision(room: Room) -> None:
    ran = await room.hold("settle", argument=speak, closing=FREE)
    text = await read_text(room.client, ran["debate_id"])
    places = [
        text.index(part) for part in ("## Round 1", "Point of Ada", "Point of Bob", "They agree", "Buy half.")
    ]
    assert places == sorted(places)


@check("A7")
async def ten_debaters_are_warned_of_with_the_reason(room: Room) -> None:
    many = [{"name": f"Speaker {n}", "stance": f"stance {n}"} for n in range(10)]
    ran = await room.hold("settle", debaters=many, run=False)
    assert any(w.startswith("10 debaters: 10 or more overwhelm a single moderator") for w in ran["warnings"])
    assert not any("overwhelm" in warning for warning in (await room.hold(run=False))["warnings"])


@check("B1")
async def three_speakers_on_a_proposition_choose_who_comes_next(room: Room) -> None:
    order = iter(["Opponent", "Neutral", "Proponent", "Opponent"])

    def choose(request: Request) -> str:
        return hand_over(next(order))(request)

    ran = await room.hold("handoff", debaters=[], max_rounds=4, argument=choose)
    assert [d["debater"] for d in ran["positions"]] == ["Proponent", "Opponent", "Neutral"]
    assert room.seats() == ["Proponent", "Opponent", "Neutral", "Proponent"]


@check("B2")
async def a_transition_is_read_from_text_and_a_bad_one_is_a_failure_that_says_why(room: Room) -> None:
    texts = iter(["So. tRANSITION TO opponent", "Mine. Transition to Plato", "Yours."])
    ran = await room.hold(
        "handoff", debaters=[], max_rounds=3, argument=lambda _: next(texts), options={"handoff": "text"}
    )
    assert room.seats()[:2] == ["Proponent", "Opponent"]
    assert any("Opponent" in failure and "Plato" in failure for failure in ran["failures"])


@check("B3")
async def a_transition_is_a_call_of_a_function_described_by_its_types(room: Room) -> None:
    ran = await room.hold(
        "handoff",
        debaters=[],
        max_rounds=2,
        options={"handoff": "tool"},
        argument=lambda request: build_handoff_calls(speak(request), "Neutral"),
    )
    [function] = next(r for r in room.requests if r.seat == "Proponent").functions
    assert (function.name, set(function.parameters["properties"])) == (
        "handoff",
        {"response", "next_agent_name"},
    )
    assert function.parameters["properties"]["next_agent_name"]["enum"] == ["Opponent", "Neutral"]
    assert room.seats() == ["Proponent", "Neutral"]
    assert ran["turn_count"] == 2


@check("B4")
async def a_transition_is_read_from_structured_output(room: Room) -> None:
    await room.hold("handoff", debaters=[], max_rounds=2, argument=hand_over("Neutral"))
    schema = room.requests[0].prompt.schema
    assert schema
    assert set(schema["properties"]) == {"response", "next_agent_name"}
    assert room.seats() == ["Proponent", "Neutral"]


@check("B5")
async def who_chooses_nobody_or_itself_is_followed_by_one_whom_the_seed_draws(room: Room) -> None:
    drawn = []
    for to in ("Proponent", "", "Plato"):
        await room.hold("handoff", debaters=[], max_rounds=2, options={"seed": 5}, argument=hand_over(to))
        drawn.append(room.seats()[1])
    assert len(set(drawn)) == 1
    assert drawn[0] in ("Opponent", "Neutral")


@check("B6")
async def ten_turns_of_five_hundred_tokens_bound_it(room: Room) -> None:
    ran = await room.hold("handoff", debaters=[])
    turns = [request for request in room.requests if request.prompt.summary.task == "argument"]
    assert (ran["turn_count"], ran["reason"]) == (10, "max_turns")
    assert {request.max_tokens for request in turns} == {500}


@check("B7")
async def a_model_of_any_provider_can_speak_and_a_missing_key_is_named(room: Room) -> None:
    for name, key in (("openai/gpt-5.2", "OPENAI_API_KEY"), ("mistral/large", "MISTRAL_API_KEY")):
        assert key in await room.refuse(format="handoff", models=[name])


@check("C1")
async def two_or_more_debaters_need_unique_names_and_stances_of_their_own(room: Room) -> None:
    assert (await room.hold(debaters=THREE))["turn_count"] == 6
    assert "`stance`" in await room.refuse(format="verdict", debaters=[{"name": "Ada"}, TEAM[1]])
    assert "unique" in await room.refuse(debaters=[TEAM[0], {"name": "ada", "stance": "x"}])
    assert "stance" in await room.refuse(debaters=[TEAM[0], {"name": "Bob", "stance": "buy  NOW"}])
    assert "2 to 26" in await room.refuse(debaters=TEAM[:1])


@check("C2")
async def without_a_moderator_all_speak_as_declared_and_later_ones_see_earlier_ones(room: Room) -> None:
    await room.hold(debaters=THREE, max_rounds=2, argument=speak)
    assert room.seats() == ["Ada", "Bob", "Cleo"] * 2
    assert [prompt.count("> Point of ") for prompt in room.prompts("argument")] == [0, 1, 2, 3, 4, 5]


@check("C3")
async def a_moderator_chooses_speakers_with_repeats_and_a_round_with_done_is_the_last(room: Room) -> None:
    plans = iter([(["Bob", "Ada", "Bob"], False), (["Ada"], True)])
    ran = await room.hold(
        max_rounds=4,
        options=OPENS,
        opening=lambda _: json.dumps(dict(zip(("next_speakers", "done"), next(plans), strict=True))),
    )
    assert room.seats() == ["Bob", "Ada", "Bob", "Ada"]
    assert (ran["reason"], ran["rounds_of_talk"]) == ("moderator done", 2)


@check("C4")
async def nobody_to_speak_and_an_unknown_name_are_refused_with_the_known_ones(room: Room) -> None:
    for speakers, told in (
        ([], "next_speakers is empty although done is false"),
        (["Plato"], '"Plato". Known: Ada'),
    ):
        ran = await room.hold(max_rounds=1, options=OPENS, opening={"next_speakers": speakers, "done": False})
        assert told in ran["failures"][0]
        assert told in room.prompts("opening")[1]
        assert room.seats() == ["Ada", "Bob"]


@check("C5")
async def debaters_see_the_briefing_and_the_angle_of_their_round_each_by_itself(room: Room) -> None:
    for given in ({"briefing": "The price fell."}, {"new_angle": "What of debt?"}):
        plan = {"next_speakers": ["Ada"], "done": True, "briefing": None, "new_angle": None} | given
        await room.hold(options=OPENS, opening=plan)
        [prompt] = room.prompts("argument")
        assert [word in prompt for word in ("> The price fell.", "> What of debt?")] == [
            word in given.values() for word in ("The price fell.", "What of debt?")
        ]


@check("C6")
async def a_moderator_looks_things_up_which_is_recorded_and_quoted_to_it(room: Room) -> None:
    ran = await room.hold(
        max_rounds=1,
        options={"moderator": {"opens": True, "tools": ["notes"]}},
        opening=lambda request: (
            (FunctionCall("notes__big", '{"size": 60}'),)
            if request.functions and "What you looked up" not in request.prompt.messages[-1].content
            else json.dumps({"next_speakers": ["Ada", "Bob"], "done": False, "briefing": "Looked up."})
        ),
    )
    [found] = await read_events(room.client, ran, "researched")
    assert found["lookups"][0]["result"] == "x" * 60
    assert f"> {'x' * 60}" in room.prompts("opening")[-1]
    assert "> Looked up." in room.prompts("argument")[0]


@check("C7")
async def advocates_are_told_not_to_concede_and_see_stances_without_names(room: Room) -> None:
    await room.hold(argument="A point.")
    last = room.prompts("argument", "Bob")[-1]
    assert "do not concede it in public" in last
    assert re.search(r"^\[\w{6}: Buy now\]$", last, re.MULTILINE)
    assert not re.search(r"\b(?:Ada|Bob)\b", last)


@check("C8")
async def a_judge_names_a_known_winner_or_none_and_an_unknown_one_is_asked_again(room: Room) -> None:
    ran = await room.hold(judgment=find_for("Wait a year"))
    assert (ran["outcome"], ran["winner"], ran["winner_stance"]) == ("leaning", "Bob", "Wait a year")
    assert (ran["verdict"], ran["reasoning"]) == ("Bob it is.", "Price.")
    ran = await room.hold(judgment={"winner": "Plato", "verdict": "x", "reasoning": "y"})
    assert ran["winner"] == ""
    assert '"winner" names no position: it must be one of' in ran["failures"][0]


@check("C9")
async def judges_read_without_names_in_an_order_that_the_seed_draws_and_the_record_keeps(room: Room) -> None:
    orders: dict[int, list[list[str]]] = {}
    for seed in (1, 2, 3, 4, 1):
        ran = await room.hold("second_opinion", debaters=THREE, options={"seed": seed})
        entered = await read_events(room.client, ran, "phase_entered")
        order = [event["order"] for event in entered]
        assert orders.setdefault(seed, order) == order
        assert not re.search(r"\b(?:Ada|Bob|Cleo)\b", room.prompts("judgment")[0])
    assert len({str(order) for order in orders.values()}) > 1


@check("C10")
async def the_result_satisfies_the_callers_schema_and_cannot_without_the_synthesizer(room: Room) -> None:
    schema = {"type": "object", "properties": {"buy": {"type": "boolean"}}, "required": ["buy"]}
    ran = await room.hold(options={"output_schema": schema}, deliverable={"buy": True})
    assert json.loads(ran["deliverable"]) == {"buy": True}
    ran = await room.hold(options={"output_schema": schema}, deliverable={"buy": "perhaps"})
    assert ran["deliverable"] == ""
    assert "buy" in ran["deliverable_problem"]
    assert "synthesizer, which is off" in await room.refuse(
        options={"output_schema": schema, "synthesizer": False}
    )


@check("C11")
async def the_raw_result_has_rounds_transcript_verdict_and_decisions(room: Room) -> None:
    result = await room.view(await room.hold(max_rounds=1, judgment=find_for("Buy now")), "result")
    assert (result["rounds"], result["question"], result["moderatorDecisions"]) == (1, QUESTION, [])
    assert [set(turn) >= {"round", "agent", "stance", "text"} for turn in result["transcript"]] == [
        True,
        True,
    ]
    assert result["verdict"] == {
        "verdict": "Ada it is.",
        "winner": "Ada",
        "winner_stance": "Buy now",
        "reasoning": "Price.",
        "outcome": "leaning",
    }


@check("C12")
async def a_debate_ends_after_two_rounds_and_more_than_four_are_warned_of(room: Room) -> None:
    ran = await room.hold()
    assert (ran["rounds_of_talk"], ran["reason"], ran["warnings"][1:]) == (2, "max_rounds", [])
    ran = await room.hold(max_rounds=5, run=False)
    assert any(warning.startswith("5 rounds: above 4") for warning in ran["warnings"])


@check("C13")
async def any_seat_can_have_a_model_and_a_prompt_of_its_own(room: Room) -> None:
    seat = {"model": "other", "prompt": "My own words."}
    options = {
        "moderator": seat | {"opens": True},
        "synthesizer": seat,
        "referee": seat,
        "judges": {"models": ["other"], "prompt": "My own words."},
    }
    await room.hold(max_rounds=1, options=options)
    for task in ("opening", "audit", "judgment", "deliverable"):
        assert all("My own words." in prompt for prompt in room.prompts(task)), task
    assert room.seats_by_model["other"] == {"moderator", "referee", "judge 1", "synthesizer"}


@check("C14")
async def instructions_reach_the_seats_that_have_no_prompt_of_their_own(room: Room) -> None:
    options = {"instructions": "Mind the taxes.", "judges": {"prompt": "Be strict."}, "referee": True}
    await room.hold(debaters=THREE, options=options)
    told = {
        request.seat for request in room.requests if "Mind the taxes." in request.prompt.messages[-1].content
    }
    assert told == {"Cleo", "referee"}


@check("C15")
async def a_round_robin_has_roles_a_referee_who_steers_nothing_and_one_result(room: Room) -> None:
    roles = [{"name": "Ada", "role": "engineer"}, {"name": "Ben", "role": "lawyer"}]
    ran = await room.hold("round_robin", debaters=roles, options={"referee": True}, audit="Ben evades.")
    assert room.seats() == ["Ada", "Ben"] * 2
    assert (ran["winner"], bool(ran["deliverable"]), len(room.prompts("audit"))) == ("", True, 2)


@check("C16")
async def each_turn_has_a_record_of_who_in_what_round_how_and_how_long(room: Room) -> None:
    rows = (await room.view(await room.hold(max_rounds=1), "tasks"))["tasks"]
    assert [(row["seat"], row["round"], row["state"]) for row in rows][:2] == [
        ("Ada", 1, "done"),
        ("Bob", 1, "done"),
    ]
    assert all(row["milliseconds"] >= 0 for row in rows)


@check("C17")
async def a_kind_of_seat_can_be_hidden_from_the_client_or_from_other_seats(room: Room) -> None:
    options = {"referee": True, "visibility": {"hide_from_client": ["referee"]}}
    ran = await room.hold(audit="Only between us.", options=options)
    assert "Only between us." not in await read_text(room.client, ran["debate_id"])
    assert "> Only between us." in room.prompts("argument", "Ada")[-1]
    await room.hold(
        audit="Only for people.", options=options | {"visibility": {"hide_from_seats": ["referee"]}}
    )
    assert not any("Only for people." in prompt for prompt in room.prompts("argument"))


@check("C18")
async def judges_referee_and_synthesizer_may_look_things_up(room: Room) -> None:
    tools = {"tools": ["notes"]}
    ran = await room.hold(max_rounds=1, options={"judges": tools, "referee": tools, "synthesizer": tools})
    offered = {request.seat for request in room.requests if request.functions}
    assert offered == {"judge 1", "referee", "synthesizer"}
    opening = {"moderator": {"opens": True, "tools": ["notes"]}}
    ran = await room.hold(max_rounds=1, options=opening)
    first = room.prompts("opening")[0]
    assert "by your tools (notes) folded in" in first
    assert "This is round 1: let everybody speak." in first
    assert ran["status"] == "concluded"


@check("C19")
async def a_seats_prompt_adds_to_the_houses_words_or_replaces_them(room: Room) -> None:
    for replaces in (False, True):
        own = {"prompt": "Who pays?", "replaces_task": replaces}
        await room.hold(max_rounds=1, options={"judges": own})
        prompt = room.prompts("judgment")[0]
        assert "Who pays?" in prompt
        assert ("You are a judge." in prompt) != replaces


@check("C20")
async def the_result_keeps_every_rounds_summary_and_a_synthesis_its_position(room: Room) -> None:
    options = {"moderator": {"opens": True, "closes": True}}
    ran = await room.hold(
        options=options, closing={"summary": "So far.", "status": "CONTINUE"}, judgment=find_for(None)
    )
    result = await room.view(ran, "result")
    assert [(row["round"], row["summary"]) for row in result["moderatorSummaries"]] == [
        (1, "So far."),
        (2, "So far."),
    ]
    assert [row["round"] for row in result["moderatorDecisions"]] == [1, 2]
    assert (ran["outcome"], ran["winner"], ran["verdict"]) == ("synthesis", "", "Buy half now.")


@check("C21")
async def names_in_texts_are_replaced_for_seats_and_shown_to_people(room: Room) -> None:
    ran = await room.hold(
        max_rounds=1,
        argument="Ada: As Ada and BOB's notes say, ask Bob.",
        options=OPENS,
        opening={"next_speakers": ["Ada", "Bob"], "briefing": "Bob has the figures.", "done": True},
        judgment=find_for("Buy now"),
    )
    assert not any(re.search(r"\b(?:Ada|Bob|BOB)\b", prompt) for prompt in room.prompts("judgment"))
    text = await read_text(room.client, ran["debate_id"])
    assert "As Ada and BOB's notes say, ask Bob." in text
    labels = re.findall(r"^> (\w{6})\. ", room.prompts("judgment")[0], re.MULTILINE)
    assert len(labels) == 2
    assert not any(label in text + json.dumps(ran) for label in labels)


@check("C22")
async def judges_are_told_how_the_record_is_ordered_and_what_is_missing(room: Room) -> None:
    ran = await room.hold(run=False, argument=speak)
    await call(room.client, "step_round", debate_id=ran["debate_id"])
    await call(room.client, "intervene", debate_id=ran["debate_id"], action="retract", round=1, to="Ada")
    await call(room.client, "intervene", debate_id=ran["debate_id"], action="challenge", text="What of debt?")
    for _ in range(2):
        await call(room.client, "step_round", debate_id=ran["debate_id"])
    reading = room.prompts("judgment")[0]
    assert "The turns of rounds 1 and 2 were made one after the other and stand in that order." in reading
    assert "Left out: a retracted turn." in reading
    places = [reading.index(part) for part in ("in round 1.", "> What of debt?", "in round 2.")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "requirement", [pytest.param(one, marks=pytest.mark.requirement(one)) for one in CHECKS]
)
async def test_a_line_of_the_source_documents_holds_over_mcp(
    open_client: OpenClient, requirement: str
) -> None:
    async with open_room(open_client) as room:
        await CHECKS[requirement](room)
