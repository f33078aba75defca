"""Debates with models that think before they write: room for it, more where it is not enough, and what is said."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from server.compose import open_manager
from server.debate.commands.requests import DebaterInput
from server.debate.interventions.action import InterventionRequest
from server.debate.rules.windows import estimate_tokens
from server.debate.views.state import cost_line, sum_usage
from server.engine.database.snapshots import DebateSnapshot
from server.models import ModelError, OnText, Reply, Request, Usage
from server.settings import Settings
from tests.support.engines import run_debate
from tests.support.patience import PATIENCE
from tests.support.provider.stub import Stub

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement("D3", "N10"),
    pytest.mark.usefixtures("stub"),
]

NAMES = ("Ada", "Ben")


@pytest.fixture
async def stub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stub]:
    async with Stub() as stub:
        monkeypatch.setenv("MINE_API_BASE", stub.url)
        yield stub


ASKED = {"judges": {"models": ["mine/fine"], "both_orders": False}, "ballots": "none"}


def seat(*models: str) -> list[DebaterInput]:
    pairs = zip(NAMES, models, strict=True)
    return [DebaterInput(name=name, stance=name, model=f"mine/{model}") for name, model in pairs]


async def debate(database: str, one: str, other: str, judge: str, **options: Any) -> DebateSnapshot:
    """A short debate of two models before a third."""
    asked = ASKED | {"judges": {"models": [f"mine/{judge}"], "both_orders": False}} | options
    async with open_manager(Settings(db=database), environ={}) as manager:
        return await run_debate(manager, debaters=seat(one, other), max_rounds=1, options=asked)


async def test_a_window_bounds_the_room_to_think(database: str, stub: Stub) -> None:
    windows = {f"mine/{model}": 4_000 for model in ("fine", "other", "third")}
    options = ASKED | {"judges": {"models": ["mine/third"], "both_orders": False}}
    async with open_manager(Settings(db=database, windows=windows), environ={}) as manager:
        held = await run_debate(manager, debaters=seat("fine", "other"), max_rounds=1, options=options)

    assert held.status == "concluded"
    for chat in stub.chat_requests:
        prompt = estimate_tokens(message["content"] for message in chat.body["messages"])
        assert chat.body["max_tokens"] == 4_000 - prompt > 2_000


async def test_a_model_that_thinks_for_2600_tokens_debates_and_judges(database: str, stub: Stub) -> None:
    held = await debate(database, "thinks-2600", "thinks-2600", "thinks-2600")

    assert (held.status, held.debate.failures) == ("concluded", ())
    assert len(stub.chat_requests) == 3
    usage = sum_usage(held.debate.usage)
    assert (usage.thinking_tokens, usage.output_tokens) == (7_800, 7_800 + usage.output_tokens % 2_600)
    assert f"{usage.output_tokens:,} out (7,800 thinking)" in cost_line(usage)


async def test_who_needs_more_room_gets_it_once_and_from_then_on_at_once(database: str, stub: Stub) -> None:
    held = await debate(database, "thinks-20000", "fine", "thinks-20000")

    assert (held.status, held.debate.failures) == ("concluded", ())
    asked = [chat.body["max_tokens"] for chat in stub.chat_requests if chat.body["model"] == "thinks-20000"]
    assert asked == [9_080, 32_000, 32_000]  # the judge asks for more than a turn has room for
    first = next(turn.usage for turn in held.debate.turns if turn.seat == "Ada")
    assert (first.attempts, first.thinking_tokens) == (2, 9_080 + 20_000)
    assert first.output_tokens > first.thinking_tokens


async def test_who_thinks_for_ever_has_failed_with_what_to_change_and_the_pause_can_be_mended(
    database: str,
) -> None:
    async with open_manager(Settings(db=database), environ={}) as manager:
        paused = await run_debate(manager, debaters=seat("thinks-50000", "fine"), max_rounds=1, options=ASKED)

        failures = [(failure.seat, failure.cause) for failure in paused.debate.failures]
        assert (paused.status, failures) == ("paused", [("Ada", "thought_too_long")])
        assert paused.debate.paused is not None
        told = "spent 41,080 tokens on thinking and wrote nothing; raise limits.thinking_tokens or set"
        assert told in paused.debate.paused.reason
        assert "options.thinking=low" in paused.debate.paused.reason

        more = InterventionRequest(limits={"thinking_tokens": 60_000})
        await manager.intervene(paused.id, "extend", more, actor="test")
        await manager.intervene(paused.id, "resume", InterventionRequest(), actor="test")
        with anyio.fail_after(PATIENCE):
            held = await manager.follow(paused.id, wait=PATIENCE)
    assert held.status == "concluded"
    assert {turn.seat for turn in held.debate.turns} == {*NAMES}


async def test_how_much_to_think_is_asked_for_where_the_caller_says_so(database: str, stub: Stub) -> None:
    await debate(database, "thinks-30000", "fine", "fine", thinking="low")

    asked = {chat.body.get("reasoning_effort") for chat in stub.chat_requests}
    assert asked == {"low"}
    assert len(stub.chat_requests) == 3  # 7,500 tokens of thoughts have room


async def test_a_budget_pays_for_what_is_thought_and_is_never_counted_on_for_the_room_to_think(
    database: str, stub: Stub
) -> None:
    held = await debate(
        database, "thinks-600", "thinks-600", "thinks-600", limits={"max_output_tokens": 3_000}
    )

    assert (held.status, held.debate.failures) == ("concluded", ())
    turns, judgment = stub.chat_requests[:2], stub.chat_requests[2]
    assert [chat.body["max_tokens"] for chat in turns] == [3_000, 3_000]
    spent = sum(turn.usage.output_tokens for turn in held.debate.turns)
    assert judgment.body["max_tokens"] == max(3_000 - spent, 2_000)


FINDING = json.dumps({"reasoning": "So it is.", "winner": None, "verdict": "Neither."})

COUNTS = {"input_tokens": 10, "output_tokens": 20, "thinking_tokens": 5, "cost_usd": "0.25"}


@dataclass
class Said:
    """A model that replies with these in turn, and raises what is an error; then with a whole answer."""

    replies: list[Reply | ModelError]
    requests: list[Request] = field(default_factory=list)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self.requests.append(request)
        is_judge = request.prompt.summary.task == "judgment"
        whole = Reply(FINDING if is_judge else "Because.", build(**COUNTS))
        said = self.replies.pop(0) if self.replies and is_judge else whole
        if isinstance(said, ModelError):
            raise said
        if on_text:
            on_text(said.text)
        return said


def build(**given: Any) -> Usage:
    return Usage(model="said", **given)


def cut(text: str = FINDING[:15], **given: Any) -> Reply:
    return Reply(text, build(**COUNTS | given), cut=True)


async def judge(database: str, *replies: Reply | ModelError, **options: Any) -> tuple[DebateSnapshot, Said]:
    """A short debate whose judge says so."""
    model = Said(list(replies))
    asked = ASKED | {"judges": {"models": ["said"], "both_orders": False}} | options
    async with open_manager(Settings(db=database), {"said": model}, environ={}) as manager:
        held = await run_debate(
            manager, models=["said"], debaters=[*map(plain, NAMES)], max_rounds=1, options=asked
        )
    return held, model


def plain(name: str) -> DebaterInput:
    return DebaterInput(name=name, stance=name)


async def test_an_answer_that_was_cut_before_what_it_needs_is_asked_for_again_and_both_are_paid_for(
    database: str,
) -> None:
    held, model = await judge(database, cut())

    assert (held.status, held.debate.failures) == ("concluded", ())
    usage = held.debate.judgments[0].usage
    assert (usage.attempts, usage.output_tokens, usage.thinking_tokens, usage.cost_usd) == (2, 40, 10, "0.50")
    assert [request.max_tokens for request in model.requests[2:]] == [10_000, 32_000]
    assert usage.prompt_sha256


async def test_an_answer_that_was_cut_behind_what_it_needs_is_not_asked_for_again(database: str) -> None:
    held, model = await judge(database, cut(FINDING[:-5]))

    assert (held.status, held.debate.failures, len(model.requests)) == ("concluded", (), 3)
    assert held.debate.judgments[0].verdict == "So it is."


@pytest.mark.parametrize(
    ("second", "attempts", "output_tokens"),
    [
        (ModelError("unavailable", "said: it is down."), 2, 20),
        (ModelError("refused", "said: no.", attempts=2, usage=build(**COUNTS)), 2, 40),
    ],
)
async def test_a_failure_of_the_second_time_keeps_what_the_first_one_took(
    database: str, second: ModelError, attempts: int, output_tokens: int
) -> None:
    held, _ = await judge(database, cut(), second)

    failure = held.debate.failures[0]
    assert (failure.cause, failure.attempts) == (second.cause, 1)
    assert failure.usage is not None
    assert (failure.usage.attempts, failure.usage.output_tokens) == (attempts, output_tokens)


@pytest.mark.parametrize(
    ("first", "options"),
    [
        (cut(milliseconds=400_000), {}),  # as long as an answer may take
        (cut(attempts=3), {}),
        (cut(sent_tokens=900, input_tokens=600), {}),  # the window is full
        (cut(), {"limits": {"thinking_tokens": 40_000}}),
    ],
    ids=["no time", "no attempts", "no window", "no more room"],
)
async def test_who_has_no_more_room_is_not_asked_again(
    database: str, first: Reply, options: dict[str, Any]
) -> None:
    held, model = await judge(database, first, **options)

    assert held.debate.failures[0].cause in ("thought_too_long", "truncated")
    assert model.requests[2].prompt == model.requests[-1].prompt or held.status == "concluded"


@pytest.mark.parametrize(
    ("first", "cost"),
    [
        ({"cost_usd": ""}, ""),
        (dict.fromkeys(("input_tokens", "output_tokens", "thinking_tokens"), 0) | {"cost_usd": ""}, "0.25"),
    ],
    ids=["counted", "not counted"],
)
async def test_a_cost_is_unknown_where_that_of_counted_tokens_is(
    database: str, first: dict[str, Any], cost: str
) -> None:
    held, _ = await judge(database, cut(**first))

    assert held.debate.judgments[0].usage.cost_usd == cost
