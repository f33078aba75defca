"""One provider dead, one slow, one fine: a verdict in time that says so, and no storm of retries."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchmarks.stub import Stub
from server.models import MAX_ATTEMPTS, Model
from server.models.providers.litellm import LitellmModel
from server.models.resilience import FAILURE_THRESHOLD, Guard, GuardedModel
from tests.support.client_calls import call, result_text
from tests.support.servers import OpenClient

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("D3", "D9")]

PROVIDERS = ("openai", "mistral", "deepseek")
PATIENCE = 5  # seconds
SLOW = 0.1
AT_ONCE = 2
ROUNDS = 2
FINE, LATE, DEAD = "openai/fine", "mistral/late", "deepseek/500"
DEBATERS = [
    {"name": "Ada", "stance": "ship", "model": FINE},
    {"name": "Ben", "stance": "wait", "model": LATE},
    {"name": "Cy", "stance": "drop it", "model": DEAD},
]


async def no_wait(_seconds: float) -> None:
    """The pauses between retries are measured elsewhere; here they would only be waited for."""


@dataclass
class Places:
    """Three providers on loopback, and the models behind one guard that reach them."""

    fine: Stub = field(default_factory=Stub)
    late: Stub = field(default_factory=lambda: Stub(latency=SLOW))
    dead: Stub = field(default_factory=Stub)

    def models(self) -> dict[str, Model]:
        guard = Guard(provider_concurrency=AT_ONCE, sleep=no_wait)
        made: dict[str, Model] = {}
        for name, stub in ((FINE, self.fine), (LATE, self.late), (DEAD, self.dead)):
            provider = name.partition("/")[0]
            model = LitellmModel(name, api_base=stub.url, sleep=no_wait, cooldown=guard.cooldown(provider))
            made[name] = GuardedModel(name, provider, model, guard)
        return made

    @property
    def asked(self) -> Counter[str]:
        return Counter(
            chat.body["model"] for stub in (self.fine, self.late, self.dead) for chat in stub.chat_requests
        )


@pytest.fixture
async def places(litellm_used: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Places]:
    _ = litellm_used
    for provider in PROVIDERS:
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "sk-test-0123456789abcdef")
    places = Places()
    async with AsyncExitStack() as open_:
        for stub in (places.fine, places.late, places.dead):
            await open_.enter_async_context(stub)
        yield places


def wanted(question: str, wait: int) -> dict[str, Any]:
    return {
        "question": question,
        "debaters": DEBATERS,
        "max_rounds": ROUNDS,
        "options": {"judges": {"models": [FINE]}, "ballots": "none"},
        "run": True,
        "wait_seconds": wait,
    }


async def go_on(client: Any, opened: dict[str, Any]) -> None:
    """Resume a debate that pauses because the dead provider's debater was never heard."""
    await call(client, "intervene", debate_id=opened["debate_id"], action="resume")


async def test_a_debate_of_them_ends_and_names_who_was_silent(
    open_modern: OpenClient, places: Places
) -> None:
    async with open_modern(places.models()) as client:
        opened = await call(client, "start_debate", **wanted("Ship it?", PATIENCE))
        assert opened["status"] == "paused"
        await go_on(client, opened)
        await call(client, "get_verdict", debate_id=opened["debate_id"], wait_seconds=PATIENCE)
        answer = await client.call_tool("get_verdict", {"debate_id": opened["debate_id"], "wait_seconds": 0})
        found = answer.structured_content or {}

    assert (found["status"], bool(found["outcome"])) == ("concluded", True)
    assert "2 of 3 models answered: deepseek/500 could not be reached 3 times." in result_text(answer)
    assert [line.partition(":")[0] for line in found["failures"]] == ["Cy"]
    # The judge reads the debate twice.
    assert places.asked == {"fine": ROUNDS + 2, "late": ROUNDS, "500": (ROUNDS + 1) * MAX_ATTEMPTS}


async def test_of_many_debates_a_few_ask_the_dead_one(open_modern: OpenClient, places: Places) -> None:
    many = 6
    async with open_modern(places.models()) as client:
        opened = [await call(client, "start_debate", **wanted(f"Ship {n}?", 0)) for n in range(many)]
        for one in opened:
            await call(client, "get_verdict", debate_id=one["debate_id"], wait_seconds=PATIENCE)
            await go_on(client, one)
        ends = [
            await call(client, "get_verdict", debate_id=one["debate_id"], wait_seconds=PATIENCE)
            for one in opened
        ]

    assert Counter(found["status"] for found in ends) == {"concluded": many}
    asked = places.asked
    # Those that were on their way when the last straw broke it have been asked as well, and no others.
    assert (
        FAILURE_THRESHOLD * MAX_ATTEMPTS <= asked["500"] <= (FAILURE_THRESHOLD + AT_ONCE - 1) * MAX_ATTEMPTS
    )
    assert (asked["fine"], asked["late"]) == (many * (ROUNDS + 2), many * ROUNDS)
