"""What the third source document asks for (requirements C), each line once, as a client of either era sees it."""

import json
import re
from collections.abc import AsyncIterator

import pytest

from server.models import FunctionCall
from tests.support.client_calls import call, read_text
from tests.support.mcp_debates import read_events
from tests.support.scripted_debates import (
    OPENS,
    QUESTION,
    TEAM,
    THREE,
    ScriptedDebates,
    find_for,
    open_scripted_debates,
    speak,
)
from tests.support.servers import OpenClient

pytestmark = pytest.mark.anyio


@pytest.fixture
async def debates(open_client: OpenClient) -> AsyncIterator[ScriptedDebates]:
    async with open_scripted_debates(open_client) as debates:
        yield debates


@pytest.mark.requirement("C1")
async def test_two_or_more_debaters_need_unique_names_and_stances_of_their_own(
    debates: ScriptedDebates,
) -> None:
    assert (await debates.hold(debaters=THREE))["turn_count"] == 6
    assert "`stance`" in await debates.refuse(format="verdict", debaters=[{"name": "Ada"}, TEAM[1]])
    assert "unique" in await debates.refuse(debaters=[TEAM[0], {"name": "ada", "stance": "x"}])
    assert "stance" in await debates.refuse(debaters=[TEAM[0], {"name": "Bob", "stance": "buy  NOW"}])
    assert "2 to 26" in await debates.refuse(debaters=TEAM[:1])


@pytest.mark.requirement("C2")
async def test_without_a_moderator_all_speak_as_declared_and_later_ones_see_earlier_ones(
    debates: ScriptedDebates,
) -> None:
    await debates.hold(debaters=THREE, max_rounds=2, argument=speak)
    assert debates.seats() == ["Ada", "Bob", "Cleo"] * 2
    assert [prompt.count("> Point of ") for prompt in debates.prompts("argument")] == [0, 1, 2, 3, 4, 5]


@pytest.mark.requirement("C3")
async def test_a_moderator_chooses_speakers_with_repeats_and_a_round_with_done_is_the_last(
    debates: ScriptedDebates,
) -> None:
    plans = iter([(["Bob", "Ada", "Bob"], False), (["Ada"], True)])
    ran = await debates.hold(
        max_rounds=4,
        options=OPENS,
        opening=lambda _: json.dumps(dict(zip(("next_speakers", "done"), next(plans), strict=True))),
    )
    assert debates.seats() == ["Bob", "Ada", "Bob", "Ada"]
    assert (ran["reason"], ran["rounds_of_talk"]) == ("moderator done", 2)


@pytest.mark.requirement("C4")
async def test_nobody_to_speak_and_an_unknown_name_are_refused_with_the_known_ones(
    debates: ScriptedDebates,
) -> None:
    for speakers, told in (
        ([], "next_speakers is empty although done is false"),
        (["Plato"], '"Plato". Known: Ada'),
    ):
        ran = await debates.hold(
            max_rounds=1, options=OPENS, opening={"next_speakers": speakers, "done": False}
        )
        assert told in ran["failures"][0]
        assert told in debates.prompts("opening")[1]
        assert debates.seats() == ["Ada", "Bob"]


@pytest.mark.requirement("C5")
async def test_debaters_see_the_briefing_and_the_angle_of_their_round_each_by_itself(
    debates: ScriptedDebates,
) -> None:
    for given in ({"briefing": "The price fell."}, {"new_angle": "What of debt?"}):
        plan = {"next_speakers": ["Ada"], "done": True, "briefing": None, "new_angle": None} | given
        await debates.hold(options=OPENS, opening=plan)
        [prompt] = debates.prompts("argument")
        assert [word in prompt for word in ("> The price fell.", "> What of debt?")] == [
            word in given.values() for word in ("The price fell.", "What of debt?")
        ]


@pytest.mark.requirement("C6")
async def test_a_moderator_looks_things_up_which_is_recorded_and_quoted_to_it(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold(
        max_rounds=1,
        options={"moderator": {"opens": True, "tools": ["notes"]}},
        opening=lambda request: (
            (FunctionCall("notes__big", '{"size": 60}'),)
            if request.functions and "What you looked up" not in request.prompt.messages[-1].content
            else json.dumps({"next_speakers": ["Ada", "Bob"], "done": False, "briefing": "Looked up."})
        ),
    )
    [found] = await read_events(debates.client, ran, "researched")
    assert found["lookups"][0]["result"] == "x" * 60
    assert f"> {'x' * 60}" in debates.prompts("opening")[-1]
    assert "> Looked up." in debates.prompts("argument")[0]


@pytest.mark.requirement("C7")
async def test_advocates_are_told_not_to_concede_and_see_stances_without_names(
    debates: ScriptedDebates,
) -> None:
    await debates.hold(argument="A point.")
    last = debates.prompts("argument", "Bob")[-1]
    assert "in public they concede a point of it at most" in last
    assert re.search(r"^\[\w{6}: Buy now\]$", last, re.MULTILINE)
    assert not re.search(r"\b(?:Ada|Bob)\b", last)


@pytest.mark.requirement("C8")
async def test_a_judge_names_a_known_winner_or_none_and_an_unknown_one_is_asked_again(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold(judgment=find_for("Wait a year"))
    assert (ran["outcome"], ran["winner"], ran["winner_stance"]) == ("leaning", "Bob", "Wait a year")
    assert (ran["verdict"], ran["reasoning"]) == ("Bob it is.", "Price.")
    ran = await debates.hold(judgment={"winner": "Plato", "verdict": "x", "reasoning": "y"})
    assert ran["winner"] == ""
    assert '"winner" names no position: it must be one of' in ran["failures"][0]


@pytest.mark.requirement("C9")
async def test_judges_read_without_names_in_an_order_that_the_seed_draws_and_the_record_keeps(
    debates: ScriptedDebates,
) -> None:
    orders: dict[int, list[list[str]]] = {}
    for seed in (1, 2, 3, 4, 1):
        ran = await debates.hold("second_opinion", debaters=THREE, options={"seed": seed})
        entered = await read_events(debates.client, ran, "phase_entered")
        order = [event["order"] for event in entered]
        assert orders.setdefault(seed, order) == order
        assert not re.search(r"\b(?:Ada|Bob|Cleo)\b", debates.prompts("judgment")[0])
    assert len({str(order) for order in orders.values()}) > 1


@pytest.mark.requirement("C10")
async def test_the_result_satisfies_the_callers_schema_and_cannot_without_the_synthesizer(
    debates: ScriptedDebates,
) -> None:
    schema = {"type": "object", "properties": {"buy": {"type": "boolean"}}, "required": ["buy"]}
    ran = await debates.hold(options={"output_schema": schema}, deliverable={"buy": True})
    assert json.loads(ran["deliverable"]) == {"buy": True}
    ran = await debates.hold(options={"output_schema": schema}, deliverable={"buy": "perhaps"})
    assert ran["deliverable"] == ""
    assert "buy" in ran["deliverable_problem"]
    assert "synthesizer, which is off" in await debates.refuse(
        options={"output_schema": schema, "synthesizer": False}
    )


@pytest.mark.requirement("C11")
async def test_the_raw_result_has_rounds_transcript_verdict_and_decisions(debates: ScriptedDebates) -> None:
    result = await debates.view(await debates.hold(max_rounds=1, judgment=find_for("Buy now")), "result")
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


@pytest.mark.requirement("C12")
async def test_a_debate_ends_after_two_rounds_and_more_than_four_are_warned_of(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold()
    assert (ran["rounds_of_talk"], ran["reason"], ran["warnings"][1:]) == (2, "max_rounds", [])
    ran = await debates.hold(max_rounds=5, run=False)
    assert any(warning.startswith("5 rounds: above 4") for warning in ran["warnings"])


@pytest.mark.requirement("C13")
async def test_any_seat_can_have_a_model_and_a_prompt_of_its_own(debates: ScriptedDebates) -> None:
    seat = {"model": "other", "prompt": "My own words."}
    options = {
        "moderator": seat | {"opens": True},
        "synthesizer": seat,
        "referee": seat,
        "judges": {"models": ["other"], "prompt": "My own words."},
    }
    await debates.hold(max_rounds=1, options=options)
    for task in ("opening", "audit", "judgment", "deliverable"):
        assert all("My own words." in prompt for prompt in debates.prompts(task)), task
    assert debates.seats_by_model["other"] == {"moderator", "referee", "judge 1", "synthesizer"}


@pytest.mark.requirement("C14")
async def test_instructions_reach_the_seats_that_have_no_prompt_of_their_own(
    debates: ScriptedDebates,
) -> None:
    options = {"instructions": "Mind the taxes.", "judges": {"prompt": "Be strict."}, "referee": True}
    await debates.hold(debaters=THREE, options=options)
    told = {
        request.seat
        for request in debates.requests
        if "Mind the taxes." in request.prompt.messages[-1].content
    }
    assert told == {"Cleo", "referee"}


@pytest.mark.requirement("C15")
async def test_a_round_robin_has_roles_a_referee_who_steers_nothing_and_one_result(
    debates: ScriptedDebates,
) -> None:
    roles = [{"name": "Ada", "role": "engineer"}, {"name": "Ben", "role": "lawyer"}]
    ran = await debates.hold("round_robin", debaters=roles, options={"referee": True}, audit="Ben evades.")
    assert debates.seats() == ["Ada", "Ben"] * 2
    assert (ran["winner"], bool(ran["deliverable"]), len(debates.prompts("audit"))) == ("", True, 2)


@pytest.mark.requirement("C16")
async def test_each_turn_has_a_record_of_who_in_what_round_how_and_how_long(debates: ScriptedDebates) -> None:
    rows = (await debates.view(await debates.hold(max_rounds=1), "tasks"))["tasks"]
    assert [(row["seat"], row["round"], row["state"]) for row in rows][:2] == [
        ("Ada", 1, "done"),
        ("Bob", 1, "done"),
    ]
    assert all(row["milliseconds"] >= 0 for row in rows)


@pytest.mark.requirement("C17")
async def test_a_kind_of_seat_or_one_seat_can_be_hidden_from_the_client_or_from_other_seats(
    debates: ScriptedDebates,
) -> None:
    options = {"referee": True, "visibility": {"hide_from_client": ["referee"]}}
    ran = await debates.hold(audit="Only between us.", options=options)
    assert "Only between us." not in await read_text(debates.client, ran["debate_id"])
    assert "> Only between us." in debates.prompts("argument", "Ada")[-1]
    await debates.hold(
        audit="Only for people.", options=options | {"visibility": {"hide_from_seats": ["referee"]}}
    )
    assert not any("Only for people." in prompt for prompt in debates.prompts("argument"))
    ran = await debates.hold(argument=speak, options={"visibility": {"hide_from_client": ["Ada"]}})
    shown = await read_text(debates.client, ran["debate_id"])
    assert "Point of Bob in round 2." in shown
    assert "Point of Ada" not in shown
    await debates.hold(argument=speak, options={"visibility": {"hide_from_seats": ["Bob"]}})
    seen = {
        seat: [p.count("> Point of ") for p in debates.prompts("argument", seat)] for seat in ("Ada", "Bob")
    }
    assert seen == {"Ada": [0, 1], "Bob": [1, 3]}


@pytest.mark.requirement("C18")
async def test_judges_referee_and_synthesizer_may_look_things_up(debates: ScriptedDebates) -> None:
    tools = {"tools": ["notes"]}
    ran = await debates.hold(max_rounds=1, options={"judges": tools, "referee": tools, "synthesizer": tools})
    offered = {request.seat for request in debates.requests if request.functions}
    assert offered == {"judge 1", "referee", "synthesizer"}
    opening = {"moderator": {"opens": True, "tools": ["notes"]}}
    ran = await debates.hold(max_rounds=1, options=opening)
    first = debates.prompts("opening")[0]
    assert "with what your tools (notes) find" in first
    assert "This is the first round of talk: let everybody speak." in first
    assert ran["status"] == "concluded"


@pytest.mark.requirement("C19")
async def test_a_seats_prompt_adds_to_the_houses_words_or_replaces_them(debates: ScriptedDebates) -> None:
    for replaces in (False, True):
        own = {"prompt": "Who pays?", "replaces_task": replaces}
        await debates.hold(max_rounds=1, options={"judges": own})
        prompt = debates.prompts("judgment")[0]
        assert "Who pays?" in prompt
        assert ("You are a judge." in prompt) != replaces


@pytest.mark.requirement("C20")
async def test_the_result_keeps_every_rounds_summary_and_a_synthesis_its_position(
    debates: ScriptedDebates,
) -> None:
    options = {"moderator": {"opens": True, "closes": True}}
    ran = await debates.hold(
        options=options, closing={"summary": "So far.", "status": "CONTINUE"}, judgment=find_for(None)
    )
    result = await debates.view(ran, "result")
    assert [(row["round"], row["summary"]) for row in result["moderatorSummaries"]] == [
        (1, "So far."),
        (2, "So far."),
    ]
    assert [row["round"] for row in result["moderatorDecisions"]] == [1, 2]
    assert (ran["outcome"], ran["winner"], ran["verdict"]) == ("synthesis", "", "Buy half now.")


@pytest.mark.requirement("C21")
async def test_names_in_texts_are_replaced_for_seats_and_shown_to_people(debates: ScriptedDebates) -> None:
    ran = await debates.hold(
        max_rounds=1,
        argument="Ada: As Ada and BOB's notes say, ask Bob.",
        options=OPENS,
        opening={"next_speakers": ["Ada", "Bob"], "briefing": "Bob has the figures.", "done": True},
        judgment=find_for("Buy now"),
    )
    assert not any(re.search(r"\b(?:Ada|Bob|BOB)\b", prompt) for prompt in debates.prompts("judgment"))
    text = await read_text(debates.client, ran["debate_id"])
    assert "As Ada and BOB's notes say, ask Bob." in text
    labels = re.findall(r"^> (\w{6})\. ", debates.prompts("judgment")[0], re.MULTILINE)
    assert len(labels) == 2
    assert not any(label in text + json.dumps(ran) for label in labels)
    [opened] = await read_events(debates.client, ran, "opened")
    legend = dict(zip(opened["labels"], [debater["stance"] for debater in opened["debaters"]], strict=True))
    shown = dict(re.findall(r"^> (\w{6})\. (.*)$", debates.prompts("argument")[0], re.MULTILINE))
    assert legend == shown


@pytest.mark.requirement("C22")
async def test_judges_are_told_how_the_record_is_ordered_and_what_is_missing(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold(run=False, argument=speak)
    await call(debates.client, "step_round", debate_id=ran["debate_id"])
    await call(debates.client, "intervene", debate_id=ran["debate_id"], action="retract", round=1, to="Ada")
    await call(
        debates.client, "intervene", debate_id=ran["debate_id"], action="challenge", text="What of debt?"
    )
    for _ in range(2):
        await call(debates.client, "step_round", debate_id=ran["debate_id"])
    reading = debates.prompts("judgment")[0]
    assert "The turns of rounds 1 and 2 were made one after the other and stand in that order." in reading
    assert "Left out: a retracted turn." in reading
    places = [reading.index(part) for part in ("in round 1.", "> What of debt?", "in round 2.")]
    assert places == sorted(places)
