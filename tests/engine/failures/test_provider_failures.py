"""Debates through the real litellm and a provider that misbehaves: what is recorded, what is never told."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from server.compose import open_manager
from server.debate.commands.requests import DebaterInput
from server.engine.database.snapshots import DebateSnapshot
from server.models.providers.litellm import LitellmModel
from server.settings import Settings
from tests.support.engines import run_debate
from tests.support.provider.stub import Stub
from tests.support.simulation import build_request

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.full,
    pytest.mark.requirement("D3", "B7", "D9", "N7"),
]

KEY = "sk-very-secret-0123456789abcdef"


@pytest.fixture
async def stub(litellm_used: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stub]:
    _ = litellm_used
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with Stub(retry_after="0.01", echo_key=True) as stub:
        monkeypatch.setenv("OPENAI_API_BASE", stub.url)
        yield stub


async def no_wait(_seconds: float) -> None:
    """The pauses between retries are measured elsewhere; here they would only be waited for."""


async def debated(database: str, third: str, *, judge: str = "fine") -> DebateSnapshot:
    """A debate of two who are fine and a third whose model is named after what goes wrong with it."""
    names = {"fine", third, judge}
    models = {name: LitellmModel(f"openai/{name}", sleep=no_wait) for name in names}
    seats = (("Ada", "fine"), ("Ben", "fine"), ("Cy", third))
    debaters = [DebaterInput(name=name, stance=name, model=model) for name, model in seats]
    options = {"judges": {"models": [judge]}, "limits": {"turn_timeout": 1 if third == "hang" else 30}}
    async with open_manager(Settings(db=database), models, environ={}) as manager:
        return await run_debate(manager, debaters=debaters, options=options)


@pytest.mark.parametrize(
    ("third", "cause", "told", "asked"),
    [
        ("429", "rate_limited", "429", 3),
        ("hang", "timeout", "1 s", 1),
        ("empty", "empty", "the model said nothing", 2),
    ],
)
async def test_a_failing_provider_is_a_fact_and_the_debate_goes_on(
    database: str, stub: Stub, third: str, cause: str, told: str, asked: int
) -> None:
    snapshot = await debated(database, third)

    assert snapshot.status == "concluded"
    first_round = [failure for failure in snapshot.debate.failures if failure.round == 1]
    assert {(failure.seat, failure.cause) for failure in first_round} == {("Cy", cause)}
    assert told in first_round[0].detail
    assert (
        Counter(chat.body["model"] for chat in stub.chat_requests)[third] == asked * 3
    )  # in each of two rounds, and when the debate is resumed
    assert all(turn.seat != "Cy" for turn in snapshot.debate.turns)


@pytest.mark.usefixtures("stub")
async def test_a_million_characters_are_cut_to_a_turn(database: str) -> None:
    snapshot = await debated(database, "huge")

    turns = [turn for turn in snapshot.debate.turns if turn.seat == "Cy"]
    assert all(turn.cut and len(turn.text) <= 12_000 for turn in turns)
    assert snapshot.status == "concluded"


@pytest.mark.parametrize("setting", ["concurrency", "provider_concurrency"])
async def test_the_settings_bound_what_all_debates_ask_at_a_time(
    database: str, stub: Stub, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", stub.url)
    debate_request = build_request(
        question="Ship it?",
        run=True,
        models=["openai/fine"],
        debaters=[DebaterInput(name=name, stance=name) for name in ("Ada", "Ben", "Cy")],
    )

    async with open_manager(
        Settings.model_validate({"db": database, setting: 2}), environ={"OPENAI_API_KEY": KEY}
    ) as manager:
        snapshots = [await manager.start(debate_request, actor="test") for _ in range(2)]
        ended = [await manager.follow(snapshot.id, wait=60) for snapshot in snapshots]

    assert [snapshot.status for snapshot in ended] == ["concluded", "concluded"]
    assert stub.max_in_flight == 2
