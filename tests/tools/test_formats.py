"""Every format over MCP, from the first call to the last, as its source document describes it."""

from typing import Any

import pytest

from server.debate.commands.setup.formats import FORMATS
from server.models.fakes.scripted import ScriptedModel
from tests.support import mcp_debates
from tests.support.client_calls import call

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M1")]

ROLES = [{"name": "Ada", "role": "engineer"}, {"name": "Ben", "role": "lawyer"}]


def in_order(text: str, *parts: str) -> bool:
    """Whether the parts stand in the text one after the other."""
    for part in parts:
        _, found, text = text.partition(part)
        if not found:
            return False
    return True


@pytest.mark.requirement("M5", "A3", "B1", "C15", "D1")
@pytest.mark.parametrize("name", FORMATS)
async def test_a_debate_of_any_format_runs_to_its_end_in_one_call(open_client: Any, name: str) -> None:
    async with open_client() as client:
        ran = await mcp_debates.run_debate(client, format=name)
        transcript = await mcp_debates.read_transcript(client, ran)
        read_by_tool = await client.call_tool("read_debate", {"debate_id": ran["debate_id"]})

    assert (ran["status"], ran["working"], ran["failures"]) == ("concluded", False, [])
    assert f"Format {name}, opened" in transcript
    assert read_by_tool.content[0].text == transcript


@pytest.mark.requirement("N1")
@pytest.mark.parametrize("name", FORMATS)
async def test_private_ballots_are_told_with_the_verdict_of_any_format(open_client: Any, name: str) -> None:
    async with open_client() as client:
        ran = await mcp_debates.run_debate(client, format=name, options={"ballots": "blind"})
        found = await client.call_tool("get_verdict", {"debate_id": ran["debate_id"]})

    beliefs = found.structured_content["beliefs"]
    assert beliefs["before"]
    assert beliefs["changed"] == "no"
    assert (ran["status"], ran["failures"]) == ("concluded", [])
    if found.structured_content["outcome"]:
        text = found.content[0].text
        assert len(text.encode()) < 4_000
        assert f"before the talk: {beliefs['before'][0]}" in text


@pytest.mark.requirement("M4", "D1")
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.both_databases
async def test_doing_what_next_says_steps_any_format_to_its_end(open_modern: Any, name: str) -> None:
    async with open_modern() as client:
        started = await call(
            client,
            "start_debate",
            question="Ship it?",
            format=name,
            options={"seed": 7, "limits": {"max_turns": 4}} if name == "handoff" else {"seed": 7},
        )
        rounds = await mcp_debates.step_all_rounds(client, started)
        stepped = await mcp_debates.read_view(client, started, "result")
        state = await mcp_debates.read_view(client, started, "state")

    assert [found["round"] for found in rounds] == list(range(1, len(rounds) + 1))
    assert rounds[-1]["status"] == "concluded"
    assert state["failures"] == []
    assert len({turn["round"] for turn in stepped["transcript"]}) == state["rounds_of_talk"]


@pytest.mark.requirement("A2", "A3")
async def test_settle_has_a_summary_a_round_and_ends_when_the_moderator_settles_it(open_modern: Any) -> None:
    moderator = mcp_debates.build_scripted_model(
        closing=[
            "SUMMARY: Bull names a contract; Bear has not answered it.\nSTATUS: CONTINUE",
            "**SUMMARY**\nBoth sides are clear.\n\n**STATUS**: Settled\n\n**DECISION**: Put in half.",
        ]
    )
    async with open_modern({"moderator": moderator}) as client:
        ran = await mcp_debates.run_debate(
            client,
            question="Invest $1M?",
            format="settle",
            debaters=[{"name": "Bull", "role": "optimist"}, {"name": "Bear", "role": "risk analyst"}],
            options={"moderator": {"model": "moderator"}},
        )
        transcript = await mcp_debates.read_transcript(client, ran)
        state = await mcp_debates.read_view(client, ran, "state")

    assert in_order(transcript, 'Bull ("optimist")', 'Bear ("risk analyst")', "Bull names a contract")
    assert in_order(
        transcript, "**Status**: CONTINUE", "## Round 2", "**Status**: SETTLED", "**Decision**\n\n> Put"
    )
    assert in_order(
        transcript, "## Verdict: Decided", "Put in half", "The talk ended: the moderator settled it."
    )
    assert (state["settled"], state["final_decision"]) == (True, "Put in half.")
    assert (state["moderator_summary"], state["reason"]) == ("Both sides are clear.", "settled")
    assert (state["rounds_of_talk"], state["max_rounds"]) == (2, 3)


@pytest.mark.requirement("C3", "C5", "C11")
async def test_a_moderated_debate_shows_who_was_called_on_what(open_modern: Any) -> None:
    first = {"next_speakers": ["Ben", "Ada", "Ben"], "briefing": "Load is 3x.", "new_angle": None}
    last = {"next_speakers": ["Ada"], "briefing": None, "new_angle": "Latency?", "done": True}
    moderator = mcp_debates.build_scripted_model(opening=[first | {"done": False}, last])
    debater = ScriptedModel()
    async with open_modern({"moderator": moderator, "debater": debater}, "debater") as client:
        ran = await mcp_debates.run_debate(
            client,
            format="verdict",
            max_rounds=4,
            debaters=[{"name": "Ada", "stance": "now"}, {"name": "Ben", "stance": "later"}],
            options={"moderator": {"model": "moderator"}},
        )
        result = await mcp_debates.read_view(client, ran, "result")
        transcript = await mcp_debates.read_transcript(client, ran)

    assert [turn["agent"] for turn in result["transcript"]] == ["Ben", "Ada", "Ben", "Ada"]
    told = {"nextSpeakers": ["Ben", "Ada", "Ben"], "briefing": "Load is 3x.", "newAngle": None}
    assert result["moderatorDecisions"] == [
        {"round": 1, **told, "done": False},
        {"round": 2, "nextSpeakers": ["Ada"], "briefing": None, "newAngle": "Latency?", "done": True},
    ]
    assert in_order(transcript, "Speakers: Ben, Ada, Ben.", "**Briefing**", "Load is 3x.", 'Ben ("later")')
    assert in_order(transcript, "Speakers: Ada.", "**New angle**", "Latency?", "*The last round.*")
    prompts = mcp_debates.find_prompts(debater, "argument")
    assert ["> Load is 3x." in prompt for prompt in prompts] == [True] * 4
    assert ["> Latency?" in prompt for prompt in prompts] == [False, False, False, True]


@pytest.mark.requirement("C15")
async def test_a_round_robin_is_audited_and_ends_with_one_result_and_no_winner(open_modern: Any) -> None:
    referee, debater = ScriptedModel(), ScriptedModel()
    async with open_modern({"referee": referee, "debater": debater}, "debater") as client:
        ran = await mcp_debates.run_debate(
            client,
            question="How do we store it?",
            format="round_robin",
            debaters=ROLES,
            options={"referee": {"model": "referee", "prompt": "Count the sources."}},
        )
        result = await mcp_debates.read_view(client, ran, "result")
        transcript = await mcp_debates.read_transcript(client, ran)

    assert [turn["agent"] for turn in result["transcript"]] == ["Ada", "Ben"] * 2
    assert result["verdict"]["winner"] is None
    assert result["deliverable"].startswith("The question was: How do we store it?")
    assert in_order(
        transcript, 'Ada ("engineer")', 'Ben ("lawyer")', "### Referee", "## Round 2", "### Referee"
    )
    assert in_order(transcript, "## Result", "The question was: How do we store it?")
    assert all("Count the sources." in prompt for prompt in mcp_debates.find_prompts(referee, "audit"))
    assert len(referee.requests) == 2


@pytest.mark.requirement("D1", "D5")
async def test_a_full_debate_holds_its_seven_phases(open_modern: Any) -> None:
    async with open_modern() as client:
        started = await call(client, "start_debate", question="Ship it?", format="full", max_rounds=5)
        rounds = await mcp_debates.step_all_rounds(client, started)
        transcript = await mcp_debates.read_transcript(client, started)
        result = await mcp_debates.read_view(client, started, "result")

    phases = ["opening", "argumentation", "rebuttal", "cross_examination", "synthesis", "voting", "verdict"]
    assert [found["phase"] for found in rounds] == phases
    questions = [turn for turn in rounds[3]["turns"] if turn["act"] == "question"]
    answers = [turn for turn in rounds[3]["turns"] if turn["act"] == "answer"]
    to_each_other = {("Proponent", "Opponent"), ("Opponent", "Proponent")}
    assert {(turn["agent"], turn["to"]) for turn in questions} == to_each_other
    assert {(turn["agent"], turn["to"]) for turn in answers} == to_each_other
    assert in_order(
        transcript, "question to", "answer to", "question to", "answer to", "## Round 5: synthesis"
    )
    assert in_order(
        transcript, "Proponent votes for", "Opponent votes for", "judge 1, reading 2", "**Ballots**"
    )
    assert sum(result["ballots"]["votes"].values()) == 2


@pytest.mark.requirement("D1")
async def test_phases_of_ones_own_are_held_as_instructed(open_modern: Any) -> None:
    model = ScriptedModel()
    phases = [
        "opening",
        {"name": "premortem", "instruction": "It failed. Say why.", "order": "declared"},
        "voting",
    ]
    async with open_modern({"mine": model}, "mine") as client:
        ran = await mcp_debates.run_debate(client, options={"phases": phases})
        transcript = await mcp_debates.read_transcript(client, ran)

    assert in_order(transcript, "## Round 1: opening", "## Round 2: premortem", "## Round 3: voting")
    assert "2 of 2 voters for: " in ran["verdict"]
    told = [r.prompt.messages[-1].content for r in model.requests if r.prompt.summary.round == 2]
    assert all(
        "# Round 2: premortem\nSpoken one after the other.\nTo be followed:\n> It failed. Say why." in prompt
        for prompt in told
    )
    assert len(told) == 2


@pytest.mark.requirement("C1", "C8")
async def test_three_judges_choose_between_sides_that_are_neither_for_nor_against(open_modern: Any) -> None:
    def finding(winner: str | None, verdict: str) -> ScriptedModel:
        return mcp_debates.build_scripted_model(
            judgment={"verdict": verdict, "winner": winner, "reasoning": "Why.", "margin": 2}
        )

    judges = {
        "one": finding("Ada", "Rivers are cheaper."),
        "two": finding("by rail", "Rails are faster."),
        "three": finding("Ada", "Rivers flood less than rails break."),
    }
    async with open_modern(judges) as client:
        ran = await mcp_debates.run_debate(
            client,
            question="How do we ship it?",
            format="verdict",
            debaters=[{"name": "Ada", "stance": "by river"}, {"name": "Ben", "stance": "by rail"}],
            options={"judges": {"models": list(judges)}},
        )
        verdict = await call(client, "get_verdict", debate_id=ran["debate_id"])

    assert (verdict["outcome"], verdict["winner"], verdict["winner_stance"]) == ("contested", "", "")
    assert verdict["votes"] == [
        "judge 1 (scripted): Ada, margin 2 of 3",
        "judge 2 (scripted): Ben, margin 2 of 3",
        "judge 3 (scripted): Ada, margin 2 of 3",
    ]
    assert verdict["dissent"] == []


@pytest.mark.requirement("D21")
async def test_the_events_of_a_debate_have_the_names_that_subscribers_know(open_modern: Any) -> None:
    async with open_modern() as client:
        ran = await mcp_debates.run_debate(client, format="full")
        found = await mcp_debates.read_events(
            client, ran, "opened", "phase_entered", "spoke", "balloted", "agreed", "concluded", "ended"
        )

    names = [name for event in found for name in event["names"]]
    assert (names[0], names[-2:]) == ("debate_start", ["phase_end", "debate_end"])
    assert {"phase_start", "agent_message", "vote", "consensus"} < set(names)
    assert names.count("phase_start") == names.count("phase_end")
