"""Answers of other debates that are used again on request: which, and what they count for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from server.debate.analysis.debates import list_debate_judgments
from server.debate.facts.answers import Answer, Usage
from server.debate.facts.events import Balloted, Judged, RoundClosed
from server.debate.interventions.action import InterventionRequest
from server.debate.views.state import build_usage, cost_line, sum_usage
from server.debate.views.verdict import build_verdict
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.models import Reply, Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from tests.support.engines import open_engine, run_debate
from tests.support.simulation import render_finding
from tests.support.upkeep import delete_debate, needs_upkeep

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D22")]

QUESTION = "Should we rewrite the billing service in Rust?"


def judge(request: Request) -> str:
    if request.prompt.summary.task != "judgment":
        return build_reply_text(request)
    _, label = min((stance, label) for label, stance in request.prompt.summary.positions)
    return render_finding(label, margin=3)


async def hold(
    manager: DebateManager,
    *,
    seed: int = 7,
    models: Sequence[str] = (),
    shape: str = "advocates",
    **options: Any,
) -> DebateSnapshot:
    fields: dict[str, Any] = {"models": list(models)} if models else {}
    options = {"cache": "reuse", "seed": seed, "judges": 2} | options
    fields["format"] = shape
    return await run_debate(manager, question=QUESTION, options=options, **fields)


def list_usages(snapshot: DebateSnapshot) -> dict[tuple[str, int, int], Usage]:
    """Of each answer, by seat, round and slot."""
    events = [entry.event for entry in snapshot.entries]
    return {(e.seat, e.round, e.slot_index): e.usage for e in events if isinstance(e, Answer)}


def list_asked(snapshot: DebateSnapshot) -> set[str]:
    """The seats whose answers are of a model, and not of another debate."""
    return {seat for (seat, *_), usage in list_usages(snapshot).items() if not usage.reused_from}


async def test_once_the_day_is_spent_a_debate_waits_also_before_answers_that_would_be_reused(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(judge)
    async with open_engine(tmp_path / "db", model) as manager:
        spent = sum(usage.attempts for usage in list_usages(await hold(manager)).values())
    async with open_engine(tmp_path / "db", model, daily_calls=spent) as manager:
        waiting = await hold(manager)
    async with open_engine(tmp_path / "db", model, daily_calls=spent + 1) as manager:
        reusing = await hold(manager)

    assert waiting.debate.paused
    assert waiting.debate.paused.cause == "daily_budget"
    assert not waiting.debate.answers
    # One request is enough for as many answers as are reused, and for one that is not.
    assert len([usage for usage in list_usages(reusing).values() if usage.reused_from]) > 1
    assert len([usage for usage in list_usages(reusing).values() if not usage.reused_from]) == 1


async def test_the_same_requests_are_answered_once_for_two_processes(tmp_path: Path) -> None:
    first, second = ScriptedModel(judge), ScriptedModel(judge)
    async with open_engine(tmp_path / "db", first) as manager, open_engine(tmp_path / "db", second) as other:
        one = await hold(manager, ballots="rounds")
        two = await hold(other, ballots="rounds")

    assert {request.seat for request in second.requests} == {"Proponent", "Opponent", "judge 1", "judge 2"}
    assert {request.prompt.summary.task for request in second.requests} == {"ballot", "judgment"}
    sources = {entry.seq: entry.event for entry in one.entries}
    for slot, usage in list_usages(two).items():
        if usage.reused_from:
            source, _, seq = usage.reused_from.partition("#")
            event = sources[int(seq)]
            assert isinstance(event, Answer)
            assert (source, (event.seat, event.round, event.slot_index)) == (one.id, slot)
            assert (usage.cost_usd, usage.attempts, usage.input_tokens) == ("0", 0, 0)
            assert usage.reused_tokens == event.usage.input_tokens + event.usage.output_tokens > 0
    reused = sum(bool(usage.reused_from) for usage in list_usages(two).values())
    total = build_usage(two.debate)["total"]
    assert (total["reused"], total["calls"]) == (reused, len(second.requests))
    said, again = ({(turn.seat, turn.round): turn.text for turn in held.debate.turns} for held in (one, two))
    assert said == again  # those of one round arrive in any order
    assert sum(day.requests for day in two.days.values()) == len(second.requests)
    told = f"Reused from other debates: {reused} answers. All votes are new."
    assert told in build_verdict(two.debate).cautions


async def test_without_the_option_nothing_is_reused_or_kept(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel(judge)) as manager:
        await hold(manager, cache="off")
        assert await manager.store.storage.cache.measure() == []
        await hold(manager)
        later = await hold(manager, cache="off")
    assert not any(usage.reused_from for usage in list_usages(later).values())


async def test_an_answer_that_was_cut_is_not_reused(tmp_path: Path) -> None:
    class Cut(ScriptedModel):
        async def reply(self, request: Request, on_text: Any = None) -> Reply:
            reply = await super().reply(request, on_text)
            is_turn = request.prompt.summary.task == "argument" and request.seat == "Opponent"
            return Reply(reply.text, reply.usage, cut=True) if is_turn else reply

    async with open_engine(tmp_path / "db", Cut(judge)) as manager:
        await hold(manager)
        again = await hold(manager)
    usages = list_usages(again)
    assert {seat for (seat, number, _), usage in usages.items() if number == 1 and not usage.reused_from} == {
        "Opponent"
    }


DECIDING: dict[str, dict[str, Any]] = {
    "an audience": {"format": "oxford"},
    "a vote of the debaters": {"phases": ["opening", "voting"]},
    "a moderator who settles": {"format": "settle"},
    "a blind vote": {"baseline": True, "judges": 1},
    "everything": {"format": "full"},
}


@pytest.mark.full
@pytest.mark.parametrize("name", DECIDING)
async def test_whatever_decides_is_asked_anew(name: str, tmp_path: Path) -> None:
    options = dict(DECIDING[name])
    fields = {"shape": options.pop("format", "advocates"), "judges": None}
    async with open_engine(tmp_path / "db", ScriptedModel(judge)) as manager:
        one, two = [await hold(manager, **fields | options) for _ in range(2)]
    deciding = [
        entry.event for entry in two.entries if isinstance(entry.event, Judged | Balloted | RoundClosed)
    ]
    assert deciding
    assert not any(event.usage.reused_from for event in deciding)
    assert any(turn.usage.reused_from for turn in two.debate.turns)
    first, second = (build_verdict(held.debate) for held in (one, two))
    answer = second.answer.model_copy(
        update={"cost": first.answer.cost, "keep_in_mind": first.answer.keep_in_mind}
    )
    assert second.model_copy(update={"answer": answer, "cautions": first.cautions}) == first


async def test_a_debate_of_which_all_is_reused_says_so(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel(judge)) as manager:
        for _ in range(2):
            held = await hold(manager, judges=None, phases=["opening", "deliverable"], synthesizer=True)
    usage = sum_usage(held.debate.usage)
    assert cost_line(usage) == f"No calls, {usage.reused} reused."


async def test_voices_are_those_of_new_votes_and_the_ledger_learns_nothing_from_reused_turns(
    tmp_path: Path,
) -> None:
    models = {name: ScriptedModel(judge, name=name) for name in ("a/one", "b/two")}
    judges = {"models": ["a/one", "b/two"]}
    voices, judged, told = [], [], []
    async with open_engine(tmp_path / "db", models, default="a/one") as manager:
        for _ in range(2):
            held = await hold(manager, judges=judges)
            voices.append(build_verdict(held.debate).panel.voices)
            outcome = InterventionRequest(to="Opponent")
            held, effect = await manager.intervene(held.id, "outcome", outcome, actor="test")
            told.append("the ledger learns nothing from it" in effect)
            judged.append({judgment.judge for judgment in list_debate_judgments(held.debate)})
    assert judged == [{"a/one", "b/two"}, set()]
    assert told == [False, True]
    assert voices[0] == voices[1] > 1


@needs_upkeep
async def test_answers_of_a_deleted_debate_are_gone(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel(judge)) as manager:
        one = await hold(manager)
        assert await manager.store.storage.cache.measure() != []
        await delete_debate(manager, one.id, actor="test")
        assert await manager.store.storage.cache.measure() == []
        assert list_asked(await hold(manager)) == {"Proponent", "Opponent", "judge 1", "judge 2"}
