"""What the fourth source document asks for (requirements D), each line once, as a client of either era sees it.

What takes files of the operator, failing providers, several processes or earlier debates is tested elsewhere: see
docs/sources.md.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from server.models import ModelError, Request
from tests.support.client_calls import call, read_text
from tests.support.mcp_debates import read_all_events, read_events
from tests.support.scripted_debates import (
    TEAM,
    THREE,
    ScriptedDebates,
    find_for,
    label_of,
    open_scripted_debates,
    speak,
)
from tests.support.servers import OpenClient

pytestmark = pytest.mark.anyio

DOCUMENTS = [
    {"title": "Accounts", "text": "Acme lost nine million dollars in the last year.", "reliability": "high"},
    {"title": "Paper", "text": "The shares of Acme fell by a third in March."},
]
FALL = "Lower still: “fell by a third in March” (doc 2)"
LOSS = "“lost nine million dollars in the last year” (doc 1)"


@pytest.fixture
async def debates(open_client: OpenClient) -> AsyncIterator[ScriptedDebates]:
    async with open_scripted_debates(open_client, embeddings="scripted") as debates:
        yield debates


def believe(request: Request, stance: str, percent: int, **more: Any) -> str:
    """A private ballot for a position; nothing is new in it, and nothing open."""
    labels = [label for label, _ in request.prompt.summary.positions]
    chosen = label_of(request, stance)
    rest = {label: (100 - percent) // len(labels) for label in labels if label != chosen}
    beliefs = {**rest, chosen: percent, "none": 100 - percent - sum(rest.values())}
    said = {"position": "The price is low and it will rise.", "beliefs": beliefs, "would_check": "The price."}
    return json.dumps(said | {"moved_by": None, "new_point": None, "open_point": None} | more)


def by_seat(**stances: str) -> Any:
    """A panel of judges, each of whom finds for a position; "" for none."""
    return lambda request: find_for(stances[request.seat.replace(" ", "_")] or None)(request)


@pytest.mark.requirement("D1")
async def test_seven_phases_follow_each_other_and_a_phase_of_ones_own_has_its_place(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold("full", max_rounds=5)
    rounds = (await debates.view(ran, "analysis"))["rounds"]
    assert [row["phase"] for row in rounds] == [
        *("opening", "argumentation", "rebuttal", "cross_examination", "synthesis", "voting", "verdict")
    ]
    own = ["opening", {"name": "steelman", "instruction": "Make their best case."}, "voting"]
    ran = await debates.hold(options={"phases": own})
    assert [row["phase"] for row in (await debates.view(ran, "analysis"))["rounds"]] == [
        "opening",
        "steelman",
        "voting",
    ]
    assert ["Make their best case." in prompt for prompt in debates.prompts("argument", "Ada")] == [
        False,
        True,
    ]


@pytest.mark.requirement("D2")
async def test_a_debate_is_created_its_status_is_asked_and_its_events_are_streamed(
    debates: ScriptedDebates,
) -> None:
    made = await debates.hold(run=False)
    assert (await call(debates.client, "get_verdict", debate_id=made["debate_id"]))["status"] == "ready"
    before = await read_all_events(debates.client, made["debate_id"])
    assert [event["names"] for event in before] == [["debate_start"]]
    await call(debates.client, "step_round", debate_id=made["debate_id"])
    new = await read_all_events(debates.client, made["debate_id"], since_seq=before[-1]["seq"])
    assert [event["names"][0] for event in new[:3]] == ["phase_start", "agent_message", "agent_message"]
    assert (await debates.view(made, "state"))["round"] == 1


@pytest.mark.requirement("D3")
@pytest.mark.parametrize("cause", ["timeout", "empty", "unavailable"])
async def test_a_failure_of_a_seat_is_an_event_counted_and_in_the_result(
    debates: ScriptedDebates, cause: str
) -> None:
    def answer(request: Request) -> str:
        if request.seat == "Cleo" and request.prompt.summary.round == 1:
            if cause == "empty":
                return ""
            raise ModelError(cause, "It did not answer.")  # type: ignore[arg-type]  # both are causes
        return speak(request)

    ran = await debates.hold(debaters=THREE, argument=answer, options={"quorum": 2})
    if ran["status"] == "paused":
        assert "never heard: Cleo" in ran["reason"]
        await call(debates.client, "intervene", debate_id=ran["debate_id"], action="resume")
        ran = await call(debates.client, "get_verdict", debate_id=ran["debate_id"])
    assert ran["status"] == "concluded"
    assert any(line.startswith("Cleo") and f"({cause}" in line for line in ran["failures"])
    errors = [
        e for e in await read_all_events(debates.client, ran["debate_id"]) if "agent_error" in e["names"]
    ]
    assert {(event["seat"], event["cause"]) for event in errors} == {("Cleo", cause)}
    state = await debates.view(ran, "state")
    assert [seat["failures"] for seat in state["debaters"]] == [0, 0, len(errors)]


@pytest.mark.requirement("D4")
async def test_a_running_debate_is_paused_fed_weighed_and_resumed_and_the_log_says_by_whom(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold(argument=speak, run=False)
    await call(debates.client, "step_round", debate_id=ran["debate_id"])
    for action, more in (
        ("pause", {"reason": "coffee"}),
        ("inject", {"text": "Mind the tax."}),
        ("weights", {"weights": {"judge 1": "3/2"}}),
        ("threshold", {"threshold": "3/4"}),
        ("resume", {}),
    ):
        await call(debates.client, "intervene", debate_id=ran["debate_id"], action=action, **more)
    found = await debates.view(ran, "interventions")
    assert [row["action"] for row in found["log"]] == ["pause", "inject", "weights", "threshold", "resume"]
    assert all(row["actor"] and row["at"] for row in found["log"])
    assert (found["settings"]["weights"], found["settings"]["threshold"]) == ({"judge 1": "3/2"}, "3/4")
    await call(debates.client, "step_round", debate_id=ran["debate_id"])
    assert "> Mind the tax." in debates.prompts("argument", "Bob")[-1]


@pytest.mark.requirement("D5")
async def test_a_proposal_is_read_by_its_addressee_and_by_judges_alone(debates: ScriptedDebates) -> None:
    def propose(request: Request) -> str:
        to = label_of(request, "Wait a year" if request.seat == "Ada" else "Buy now")
        return json.dumps({"to": to, "kind": "proposal", "text": f"Half now, {order[request.seat]}."})

    order = {"Ada": "first", "Bob": "second", "Cleo": "third"}
    phases = ["opening", "cross_examination", "closing", "verdict"]
    await debates.hold(
        debaters=THREE, message=propose, answer="Yes.", argument=speak, options={"phases": phases}
    )
    closing = {seat: debates.prompts("argument", seat)[-1] for seat in ("Ada", "Bob", "Cleo")}
    assert ["Half now, first." in closing[seat] for seat in ("Ada", "Bob", "Cleo")] == [True, True, False]
    assert all("Half now, first." in prompt for prompt in debates.prompts("judgment"))


@pytest.mark.requirement("D10")
async def test_two_of_three_are_a_supermajority_and_an_abstention_agrees_with_nobody(
    debates: ScriptedDebates,
) -> None:
    options = {"judges": {"count": 3}, "voting": "supermajority"}
    for third, outcome, consensus in (
        ("Wait a year", "leaning", "supermajority"),
        ("Buy now", "leaning", "unanimous"),
    ):
        votes = by_seat(judge_1="Buy now", judge_2="Buy now", judge_3=third)
        ran = await debates.hold(judgment=votes, options=options)
        assert (ran["outcome"], ran["winner"]) == (outcome, "Ada")
        [agreed] = await read_events(debates.client, ran, "agreed")
        assert (agreed["names"], agreed["consensus"], agreed["winner"]) == (["consensus"], consensus, "Ada")
    votes = by_seat(judge_1="Buy now", judge_2="", judge_3="Buy now")
    ran = await debates.hold(judgment=votes, options=options | {"voting": "unanimous"})
    assert (ran["winner"], ran["panel"]["asked"], ran["panel"]["support"]) == ("", 3, "2/3")
    assert not await read_events(debates.client, ran, "agreed")


@pytest.mark.requirement("D11")
async def test_the_receipt_holds_each_vote_the_count_the_confidence_and_the_time(
    debates: ScriptedDebates,
) -> None:
    ran = await debates.hold(judgment=find_for("Buy now"))
    receipt = await debates.view(ran, "receipt")
    entries = await read_all_events(debates.client, ran["debate_id"])
    assert (receipt["entries"], receipt["head"]) == (len(entries), entries[-1]["hash"])
    said = receipt["statement"]["predicate"]
    assert [(vote["seat"], vote["choice"]) for vote in said["votes"]] == [("judge 1", "Ada")]
    assert (said["winner"], said["count"]["asked"], said["time"]) == ("Ada", 1, entries[-1]["at"])
    assert said["confidence"]["value"] == str(ran["confidence"]["value"])
    assert receipt["envelope"]["signatures"]


@pytest.mark.requirement("D12")
async def test_a_talk_ends_where_all_hold_the_same_alike_and_not_before_round_two(
    debates: ScriptedDebates,
) -> None:
    def vote(request: Request) -> str:
        percent = 55 + 6 * request.prompt.summary.round + (request.seat == "Ada")
        return believe(request, "Buy now", percent, new_point="Taxes.")

    ran = await debates.hold(ballot=vote, max_rounds=4, options={"ballots": "rounds", "stop": "on"})
    assert ran["rounds_of_talk"] == 2
    [converged] = await read_events(debates.client, ran, "converged")
    assert (converged["round"], converged["why"]) == (2, "alike")
    assert float(converged["similarity"]) >= 0.85


@pytest.mark.requirement("D13")
async def test_hollow_agreement_is_an_alert_and_a_challenge_in_the_next_round(
    debates: ScriptedDebates,
) -> None:
    def vote(request: Request) -> str:
        is_blind = not debates.seats()
        return believe(request, "Wait a year" if is_blind and request.seat == "Bob" else "Buy now", 70)

    going_on = {"summary": "s", "status": "CONTINUE", "decision": ""}
    ran = await debates.hold(
        "settle", ballot=vote, closing=going_on, max_rounds=2, options={"challenges": "challenge"}
    )
    alerts = await read_events(debates.client, ran, "alerted")
    assert [event["names"] for event in alerts] == [["hollow_consensus_alert"]] * len(alerts)
    assert "quick_unanimity" in alerts[0]["patterns"]
    challenged = ["The agreement so far may be hollow" in prompt for prompt in debates.prompts("argument")]
    assert challenged == [False, False, True, True]
    assert ran["alerts"][0].startswith("Signs of hollow agreement in round 1: quick unanimity")
    assert "After the challenge of round 2" in ran["alerts"][1]


@pytest.mark.requirement("D14")
async def test_an_observer_names_a_pattern_with_the_words_it_was_seen_in(debates: ScriptedDebates) -> None:
    def observe(request: Request) -> str:
        words = {
            "speaker": label_of(request, "Buy now"),
            "words": "Everybody at the bank says so",
            "why": "So.",
        }
        return json.dumps({"marks": [words | {"pattern": "appeal to authority"}]})

    ran = await debates.hold(
        argument="Everybody at the bank says so.",
        observation=observe,
        max_rounds=1,
        options={"observer": True},
    )
    assert ran["rhetoric"] == ["Ada, of 1 turns, as the observer alleges: appeal to authority in 1"]
    [mark] = (await debates.view(ran, "analysis"))["rhetoric"]["marks"]
    assert mark["said"]["quote"] == "Everybody at the bank says so"


@pytest.mark.requirement("D15")
async def test_evidence_has_a_level_and_five_factors_with_what_each_rests_on(
    debates: ScriptedDebates,
) -> None:
    argument = f"[1] Acme bleeds: {LOSS}.\n[2] It pays: “paid a dividend in every year” (doc 1).\n[3] {FALL}."
    ran = await debates.hold(argument=argument, documents=DOCUMENTS, max_rounds=1)
    rows = {row["point"]: row for row in (await debates.view(ran, "analysis"))["evidence"]}
    levels = [rows[point]["level"] for point in ("Ada 1.1", "Ada 1.2", "Ada 1.3")]
    assert levels == ["HIGH", "LOW", "MEDIUM"]
    assert {factor["factor"]: factor["basis"] for factor in rows["Ada 1.1"]["factors"]} == {
        "reliability": "declared",
        "recency": "unknown",
        "relevance": "judged",
        "corroboration": "computed",
        "specificity": "computed",
    }
    assert rows["Ada 1.1"]["coverage"] == "4/5"
    assert "[not found in doc 1]" in debates.prompts("judgment")[0]


@pytest.mark.requirement("D16")
async def test_chaos_around_a_model_is_a_failure_that_is_told(debates: ScriptedDebates) -> None:
    team = [*TEAM, THREE[2] | {"model": "faulty?model=scripted&failure=1&seed=3"}]
    ran = await debates.hold(debaters=team, max_rounds=1)
    assert (ran["status"], ran["reason"].partition(":")[0]) == ("paused", "never heard")
    assert any("(chaos)" in line and "Cleo" in line for line in ran["failures"])


@pytest.mark.requirement("D19")
async def test_a_prompt_is_made_of_phase_seat_context_and_history(debates: ScriptedDebates) -> None:
    phases = ["opening", "rebuttal", "verdict"]
    await debates.hold(argument=speak, documents=DOCUMENTS[:1], options={"phases": phases})
    first, second = debates.prompts("argument", "Ada")
    assert ("# Round 1: opening" in first, "# Round 2: rebuttal" in second) == (True, True)
    assert all("> Acme lost nine million dollars" in prompt for prompt in (first, second))
    assert (first.count("> Point of "), second.count("> Point of ")) == (0, 2)
    assert "Figures first." in second
    assert "Figures first." not in debates.prompts("argument", "Bob")[1]


@pytest.mark.requirement("D21")
async def test_what_happens_in_a_debate_is_an_event_with_a_name(debates: ScriptedDebates) -> None:
    options = {"observer": True, "judges": {"count": 1}}
    ran = await debates.hold("full", options=options, judgment=find_for("Buy now"))
    names = {
        name for event in await read_all_events(debates.client, ran["debate_id"]) for name in event["names"]
    }
    assert {
        *("debate_start", "phase_start", "agent_message", "vote", "phase_end"),
        *("consensus", "verdict", "debate_end"),
    } <= names


@pytest.mark.requirement("D23")
async def test_a_breakpoint_holds_a_debate_before_what_it_waits_for(debates: ScriptedDebates) -> None:
    ran = await debates.hold(options={"pause_when": ["round:2", "verdict"]})
    for seats, reason in ((2, "pause_when round:2"), (4, "pause_when verdict")):
        assert (ran["status"], len(debates.seats())) == ("paused", seats)
        assert ran["reason"].startswith(reason)
        await call(debates.client, "intervene", debate_id=ran["debate_id"], action="resume")
        ran = await call(debates.client, "get_verdict", debate_id=ran["debate_id"])
    assert ran["status"] == "concluded"


@pytest.mark.requirement("D24")
async def test_a_block_of_phases_is_held_again_until_its_vote_is_a_consensus(
    debates: ScriptedDebates,
) -> None:
    def vote(request: Request) -> str:
        own = "Buy now" if request.seat == "Ada" or request.prompt.summary.round > 3 else "Wait a year"
        return believe(request, own, 90)

    block = {"name": "voting", "repeat_from": "argumentation", "until": "consensus", "limit": 3}
    ran = await debates.hold(
        ballot=vote, options={"phases": ["argumentation", block, "verdict"], "stop": "off"}
    )
    phases = [row["phase"] for row in (await debates.view(ran, "analysis"))["rounds"]]
    assert phases == ["argumentation", "voting", "argumentation", "voting", "verdict"]
    [ended] = await read_events(debates.client, ran, "block_ended")
    assert (ended["cause"], ended["passes"]) == ("consensus", 2)


@pytest.mark.requirement("D25", "D27")
async def test_the_verdict_has_the_common_ground_and_what_lies_between_the_positions(
    debates: ScriptedDebates,
) -> None:
    def argue(request: Request) -> str:
        ada, bob = label_of(request, "Buy now"), label_of(request, "Wait a year")
        if request.prompt.summary.round == 1:
            return f"[1] It is {'cheap' if request.seat == 'Ada' else 'dear'}: {LOSS}."
        return (
            f"[1] [concedes {bob} 1.1] True."
            if request.seat == "Ada"
            else f"[1] [{ada} 1.1] No: it lost money."
        )

    ran = await debates.hold(argument=argue, documents=DOCUMENTS)
    assert any(
        line.startswith("[Bob 1.1]") and "(accepted by Ada)" in line
        for line in ran["claims"]["common_ground"]
    )
    found = (await debates.view(ran, "analysis"))["claims"]
    assert found["shared_documents"] == [{"doc": 1, "cited_by": ["Ada", "Bob"]}]
    assert [row["between"] for row in found["contradictions"]] == [["Ada", "Bob"]]
    assert found["would_settle"]
    assert any(line.startswith("doc 1 is cited by Ada, Bob") for line in ran["claims"]["between"])


@pytest.mark.requirement("D26")
async def test_the_stream_of_events_goes_on_from_any_entry(debates: ScriptedDebates) -> None:
    ran = await debates.hold(argument=speak)
    whole = await read_all_events(debates.client, ran["debate_id"])
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    assert await read_all_events(debates.client, ran["debate_id"], since_seq=4) == whole[4:]
    assert next(event["text"] for event in whole if event["kind"] == "spoke") == "Point of Ada in round 1."


@pytest.mark.requirement("D29")
async def test_a_message_comes_beside_a_turn_where_a_phase_allows_it(debates: ScriptedDebates) -> None:
    def ask(request: Request) -> str:
        if request.seat != "Ada" or request.prompt.summary.round > 1:
            return speak(request)
        return f"{speak(request)}\n\nMESSAGE TO {label_of(request, 'Wait a year')}, question: What does waiting cost?"

    phases = [{"name": "opening", "messages": True}, "rebuttal", "verdict"]
    ran = await debates.hold(debaters=THREE, argument=ask, answer="A tenth.", options={"phases": phases})
    transcript = await read_text(debates.client, ran["debate_id"])
    assert "question to Bob\n" in transcript
    assert "> A tenth." in transcript
    assert not any("What does waiting cost?" in prompt for prompt in debates.prompts("argument", "Cleo"))
    assert all("What does waiting cost?" in prompt for prompt in debates.prompts("judgment"))
