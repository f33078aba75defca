"""What two source documents ask for (requirements A and B), each line once, as a client of either era sees it."""

import re
from collections.abc import AsyncIterator

import pytest

from server.models import Request
from tests.support.client_calls import read_text
from tests.support.mcp_debates import build_handoff_calls
from tests.support.scripted_debates import (
    FREE,
    QUESTION,
    TEAM,
    ScriptedDebates,
    hand_over,
    open_scripted_debates,
    speak,
)
from tests.support.servers import OpenClient

pytestmark = pytest.mark.anyio


@pytest.fixture
async def debates(open_client: OpenClient) -> AsyncIterator[ScriptedDebates]:
    async with open_scripted_debates(open_client) as debates:
        yield debates


@pytest.mark.requirement("A1")
async def test_each_call_has_its_own_prompt_and_the_whole_history(debates: ScriptedDebates) -> None:
    ran = await debates.hold(
        "settle", max_rounds=2, argument=speak, closing={"summary": "s", "status": "CONTINUE"}
    )
    first, second = debates.prompts("argument", "Ada")
    assert "Figures first." in first
    assert "analyst" in first
    assert not any("Figures first." in prompt for prompt in debates.prompts("argument", "Bob"))
    assert all(
        f"> Point of {label} in round 1." in second
        for label in re.findall(r"^> (\w{6})\. ", first, re.MULTILINE)
    )
    assert ran["turn_count"] == 4


@pytest.mark.requirement("A2")
async def test_a_moderator_is_read_in_free_text_and_as_structured_output(debates: ScriptedDebates) -> None:
    for closing in (FREE, {"summary": "They agree on price.", "status": "SETTLED", "decision": "Buy half."}):
        ran = await debates.hold("settle", closing=closing)
        assert (ran["reason"], ran["verdict"], ran["rounds_of_talk"]) == ("settled", "Buy half.", 1)
        assert "They agree on price." in ran["moderator"]


@pytest.mark.requirement("A3")
async def test_the_loop_ends_when_it_is_settled_or_after_three_rounds_and_says_which(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold(
        "settle", closing={"summary": "Open.", "status": "CONTINUE", "decision": "Half."}
    )
    assert (ran["reason"], ran["rounds_of_talk"], ran["outcome"]) == ("max_rounds", 3, "undecided")
    assert ran["verdict"] == "Not settled in 3 rounds. Half."


@pytest.mark.requirement("A4")
async def test_one_model_serves_all_or_each_seat_has_its_own(debates: ScriptedDebates) -> None:
    await debates.hold("settle")
    assert debates.seats_by_model == {"mine": {"Ada", "Bob", "moderator"}}
    team = [TEAM[0] | {"model": "other"}, TEAM[1]]
    await debates.hold("settle", debaters=team, options={"moderator": {"closes": True, "model": "scripted"}})
    assert debates.seats_by_model == {"mine": {"Bob"}, "other": {"Ada"}}


@pytest.mark.requirement("A5")
async def test_the_state_has_topic_debaters_rounds_history_summary_and_decision(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold("settle", closing=FREE)
    state = await debates.view(ran, "state")
    assert (state["question"], [d["name"] for d in state["debaters"]]) == (QUESTION, ["Ada", "Bob"])
    assert (state["round"], state["max_rounds"], state["settled"]) == (1, 3, True)
    assert (state["moderator_summary"], state["final_decision"]) == ("They agree on price.", "Buy half.")
    history = [event["seq"] for event in (await debates.view(ran, "events"))["events"]]
    assert history == list(range(1, len(history) + 1))


@pytest.mark.requirement("A6")
async def test_an_investment_decision_can_be_read_round_by_round_to_its_decision(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold("settle", argument=speak, closing=FREE)
    text = await read_text(debates.client, ran["debate_id"])
    places = [
        text.index(part) for part in ("## Round 1", "Point of Ada", "Point of Bob", "They agree", "Buy half.")
    ]
    assert places == sorted(places)


@pytest.mark.requirement("A7")
async def test_ten_debaters_are_warned_of_with_the_reason(debates: ScriptedDebates) -> None:
    many = [{"name": f"Speaker {n}", "stance": f"stance {n}"} for n in range(10)]
    ran = await debates.hold("settle", debaters=many, run=False)
    assert any(w.startswith("10 debaters: 10 or more overwhelm a single moderator") for w in ran["warnings"])
    assert not any("overwhelm" in warning for warning in (await debates.hold(run=False))["warnings"])


@pytest.mark.requirement("B1")
async def test_three_speakers_on_a_proposition_choose_who_comes_next(debates: ScriptedDebates) -> None:
    order = iter(["Opponent", "Neutral", "Proponent", "Opponent"])

    def choose(request: Request) -> str:
        return hand_over(next(order))(request)

    ran = await debates.hold("handoff", debaters=[], max_rounds=4, argument=choose)
    assert [d["debater"] for d in ran["positions"]] == ["Proponent", "Opponent", "Neutral"]
    assert debates.seats() == ["Proponent", "Opponent", "Neutral", "Proponent"]


@pytest.mark.requirement("B2")
async def test_a_transition_is_read_from_text_and_a_bad_one_is_a_failure_that_says_why(
    debates: ScriptedDebates,
) -> None:
    texts = iter(["So. tRANSITION TO opponent", "Mine. Transition to Plato", "Yours."])
    ran = await debates.hold(
        "handoff", debaters=[], max_rounds=3, argument=lambda _: next(texts), options={"handoff": "text"}
    )
    assert debates.seats()[:2] == ["Proponent", "Opponent"]
    assert any("Opponent" in failure and "Plato" in failure for failure in ran["failures"])


@pytest.mark.requirement("B3")
async def test_a_transition_is_a_call_of_a_function_described_by_its_types(debates: ScriptedDebates) -> None:
    ran = await debates.hold(
        "handoff",
        debaters=[],
        max_rounds=2,
        options={"handoff": "tool"},
        argument=lambda request: build_handoff_calls(speak(request), "Neutral"),
    )
    [function] = next(r for r in debates.requests if r.seat == "Proponent").functions
    assert (function.name, set(function.parameters["properties"])) == (
        "handoff",
        {"response", "next_agent_name"},
    )
    assert function.parameters["properties"]["next_agent_name"]["enum"] == ["Opponent", "Neutral"]
    assert debates.seats() == ["Proponent", "Neutral"]
    assert ran["turn_count"] == 2


@pytest.mark.requirement("B4")
async def test_a_transition_is_read_from_structured_output(debates: ScriptedDebates) -> None:
    await debates.hold("handoff", debaters=[], max_rounds=2, argument=hand_over("Neutral"))
    schema = debates.requests[0].prompt.schema
    assert schema
    assert set(schema["properties"]) == {"response", "next_agent_name"}
    assert debates.seats() == ["Proponent", "Neutral"]


@pytest.mark.requirement("B5")
async def test_who_chooses_nobody_or_itself_is_followed_by_one_whom_the_seed_draws(
    debates: ScriptedDebates,
) -> None:
    drawn = []
    for to in ("Proponent", "", "Plato"):
        await debates.hold("handoff", debaters=[], max_rounds=2, options={"seed": 5}, argument=hand_over(to))
        drawn.append(debates.seats()[1])
    assert len(set(drawn)) == 1
    assert drawn[0] in ("Opponent", "Neutral")


@pytest.mark.requirement("B6")
async def test_ten_turns_of_five_hundred_tokens_bound_it(debates: ScriptedDebates) -> None:
    ran = await debates.hold("handoff", debaters=[])
    turns = [request for request in debates.requests if request.prompt.summary.task == "argument"]
    assert (ran["turn_count"], ran["reason"]) == (10, "max_turns")
    assert {request.max_tokens for request in turns} == {500}


@pytest.mark.requirement("B7")
async def test_a_model_of_any_provider_can_speak_and_a_missing_key_is_named(debates: ScriptedDebates) -> None:
    for name, key in (("openai/gpt-5.2", "OPENAI_API_KEY"), ("mistral/large", "MISTRAL_API_KEY")):
        assert key in await debates.refuse(format="handoff", models=[name])
