"""What all debates of a process share: places, rests of providers, and what is known to fail."""

from collections import Counter
from collections.abc import AsyncIterator, Callable

import anyio
import pytest
import pytest_asyncio

from benchmarks.stub import Stub
from server.models import MOST_ATTEMPTS
from server.models.fakes.scripted import ScriptedModel
from server.models.litellm.client import LitellmModel
from server.models.registry import Models
from server.models.resilience.breaker import COOL_DOWN, FAILURES
from server.models.resilience.concurrency import LONGEST_REST, PROVIDER_CONCURRENCY, Guard, Guarded
from tests.contract.model import argue
from tests.support.guarding import (
    PATIENCE,
    Clock,
    Held,
    Outcomes,
    behind,
    failure_of,
    put,
    settled,
    was_not_asked,
)

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.requirement("D9"),
    # As in test_litellm_model.py: litellm sets these when it is imported, and pytest takes them back.
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:.*conflict with protected namespace"),
    pytest.mark.filterwarnings("ignore:.*Accessing the.*attribute on the instance is deprecated"),
]

PROVIDERS = ("openai", "deepseek", "mistral")
KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outcomes() -> Outcomes:
    return Outcomes()


@pytest.fixture(scope="module")
def used_before() -> None:
    """Litellm and what it imports at the first call to each provider: seconds that no test is about."""

    async def use() -> None:
        async with Stub() as stub:
            for provider in PROVIDERS:
                await LitellmModel(f"{provider}/m", api_base=stub.url).reply(argue(timeout=60))

    with pytest.MonkeyPatch.context() as patch:
        for provider in PROVIDERS:
            patch.setenv(f"{provider.upper()}_API_KEY", KEY)
        anyio.run(use)


@pytest_asyncio.fixture
async def stub(used_before: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stub]:
    _ = used_before
    async with Stub() as stub:
        for provider in PROVIDERS:
            monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
            monkeypatch.setenv(f"{provider.upper()}_API_BASE", stub.url)
        yield stub


def through(clock: Clock) -> Callable[[str], Guarded]:
    """Models of litellm by their names, all of one process."""
    models = Models(guard=Guard(now=clock.now, pause=clock.pause))

    def model(name: str) -> Guarded:
        found = models.get(name)
        assert isinstance(found, Guarded)
        return found

    return model


class TestPlaces:
    async def test_a_provider_is_asked_a_few_things_at_a_time_in_order_of_arrival(
        self, outcomes: Outcomes
    ) -> None:
        held = Held()
        model = behind(Guard(provider_concurrency=2), held.answer)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, model, range(5))
                await settled()
                first = list(held.asked)
                held.go.set()

        assert first == ["0", "1"]
        assert held.asked == ["0", "1", "2", "3", "4"]
        assert len(outcomes.replies) == 5

    async def test_the_places_of_the_process_are_for_all_providers_together(self, outcomes: Outcomes) -> None:
        guard, held = Guard(concurrency=3, provider_concurrency=2), Held()

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, behind(guard, held.answer, "one"), ["1a", "1b", "1c"])
                put(tasks, outcomes, behind(guard, held.answer, "two"), ["2a", "2b", "2c"])
                await settled()
                first = list(held.asked)
                held.go.set()

        assert first == ["1a", "1b", "2a"]
        assert len(outcomes.replies) == 6

    @pytest.mark.requirement("D3")
    @pytest.mark.parametrize(
        ("guard", "what"),
        [
            (
                Guard(provider_concurrency=1),
                "1 places for requests to acme (COUNTERPOINT_PROVIDER_CONCURRENCY)",
            ),
            (Guard(concurrency=1), "1 places for requests of this server (COUNTERPOINT_CONCURRENCY)"),
        ],
        ids=["provider", "process"],
    )
    async def test_who_waits_longer_than_the_answer_may_take_is_told_for_what(
        self, outcomes: Outcomes, guard: Guard, what: str
    ) -> None:
        held = Held()
        model = behind(guard, held.answer)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, model, ["first"])
                await settled()
                failure = await failure_of(model, allowed=0.05)
                held.go.set()

        assert failure.cause == "timeout"
        assert (
            failure.detail == f"acme/m was not asked: within its 0.05 seconds none of the {what} became free."
        )
        assert was_not_asked(failure)
        assert held.asked == ["first"]
        assert "first" in outcomes.replies

    async def test_waiting_costs_nothing_of_the_time_for_the_answer(
        self, clock: Clock, outcomes: Outcomes
    ) -> None:
        guard, inner = Guard(now=clock.now, pause=clock.pause), ScriptedModel()
        guard.rest("acme").ask(15)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, Guarded("acme/m", "acme", inner, guard), ["patient"])
                await clock.until_asleep(1)
                clock.pass_(15)

        assert [request.timeout for request in inner.asked] == [20]
        assert outcomes.replies["patient"].text

    async def test_who_waits_for_one_provider_takes_no_place_from_the_others(
        self, clock: Clock, outcomes: Outcomes
    ) -> None:
        guard = Guard(concurrency=1, now=clock.now, pause=clock.pause)
        guard.rest("acme").ask(15)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, behind(guard, lambda _: "Because."), ["waits"])
                await clock.until_asleep(1)
                await outcomes.of(behind(guard, lambda _: "Because.", "other"), "other")
                clock.pass_(15)

        assert list(outcomes.replies) == ["other", "waits"]

    async def test_a_rest_that_begins_while_a_place_is_waited_for_is_kept(
        self, clock: Clock, outcomes: Outcomes
    ) -> None:
        guard, held = Guard(concurrency=1, now=clock.now, pause=clock.pause), Held()

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, behind(guard, held.answer, "other"), ["other"])
                await settled()
                put(tasks, outcomes, behind(guard, held.answer), ["waits"])
                await settled()
                guard.rest("acme").ask(5)
                held.go.set()
                await clock.until_asleep(1)
                assert held.asked == ["other"]
                clock.pass_(5)

        assert held.asked == ["other", "waits"]

    async def test_who_is_cancelled_in_the_queue_takes_no_place(self, outcomes: Outcomes) -> None:
        held = Held()
        model = behind(Guard(provider_concurrency=1), held.answer)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks, anyio.create_task_group() as given_up:
                put(tasks, outcomes, model, ["holds"])
                await settled()
                put(given_up, outcomes, model, ["gives up", "gives up too"])
                await settled()
                put(tasks, outcomes, model, ["stays"])
                await settled()
                held.go.set()
                given_up.cancel_scope.cancel()
            await outcomes.of(model, "comes later")

        assert held.asked == ["holds", "stays", "comes later"]
        assert set(outcomes.replies) == set(held.asked)

    async def test_who_is_cancelled_while_it_is_answered_frees_its_places(self) -> None:
        guard, held = Guard(concurrency=1, provider_concurrency=1), Held()
        model = behind(guard, held.answer)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(model.reply, argue())
                await settled()
                assert len(held.asked) == 1
                tasks.cancel_scope.cancel()
            held.go.set()
            reply = await model.reply(argue())

        assert reply.text


class TestProviders:
    @pytest.mark.requirement("D3")
    async def test_a_dead_and_a_slow_provider_hold_up_nobody_else(
        self, stub: Stub, outcomes: Outcomes
    ) -> None:
        model = through(Clock(flows=True))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, model("mistral/hang"), [f"slow {n}" for n in range(20)])
                await stub.until(in_flight=PROVIDER_CONCURRENCY)
                put(tasks, outcomes, model("deepseek/500"), [f"dead {n}" for n in range(20)])
                put(tasks, outcomes, model("openai/fine"), [f"fine {n}" for n in range(20)])
                await outcomes.until(lambda: len(outcomes.replies) + len(outcomes.failures) == 40)
                tasks.cancel_scope.cancel()

        assert set(outcomes.replies) == {f"fine {n}" for n in range(20)}
        assert {failure.cause for failure in outcomes.failures.values()} == {"unavailable"}
        assert asked(stub)["hang"] == PROVIDER_CONCURRENCY
        assert asked(stub)["fine"] == 20

    async def test_twenty_debates_ask_a_dead_provider_a_bounded_number_of_times(
        self, stub: Stub, outcomes: Outcomes
    ) -> None:
        clock = Clock(flows=True)
        model = through(clock)("openai/500")
        most = (PROVIDER_CONCURRENCY + FAILURES - 1) * MOST_ATTEMPTS

        counts = []
        for _ in range(3):
            before = len(stub.chats)
            with anyio.fail_after(PATIENCE):
                async with anyio.create_task_group() as tasks:
                    put(tasks, outcomes, model, range(60))
            counts.append(len(stub.chats) - before)
            if len(counts) == 2:
                clock.pass_(COOL_DOWN)

        assert FAILURES * MOST_ATTEMPTS <= counts[0] <= most
        assert counts[1:] == [
            0,
            MOST_ATTEMPTS,
        ]  # nothing; then one request, with its retries
        assert outcomes.replies == {}

    async def test_a_provider_that_asks_to_be_left_alone_is_left_alone_by_all_and_others_are_not(
        self, stub: Stub, clock: Clock, outcomes: Outcomes
    ) -> None:
        model = through(clock)
        stub.queue.append("429")

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, model("openai/a"), ["a"])
                await clock.until_asleep(1)
                put(tasks, outcomes, model("openai/b"), ["b"])
                put(tasks, outcomes, model("deepseek/c"), ["c"])
                hasty = await failure_of(model("openai/b"), allowed=0.5)
                await clock.until_asleep(2)
                await outcomes.until(lambda: "c" in outcomes.replies)
                clock.pass_(0.9)
                await settled()
                before = asked(stub)
                clock.pass_(0.1)

        assert before == {"a": 1, "c": 1}
        assert asked(stub) == {"a": 2, "b": 1, "c": 1}
        assert set(outcomes.replies) == {"a", "b", "c"}
        assert (hasty.cause, hasty.attempts) == ("rate_limited", 0)
        assert hasty.detail == (
            "openai/b was not asked: openai limits the rate of requests "
            "and asks to be left alone for a second."
        )

    async def test_who_cannot_wait_that_long_is_told_at_once_in_the_queue_and_before_a_retry(
        self, stub: Stub, clock: Clock, outcomes: Outcomes
    ) -> None:
        guard, held = Guard(provider_concurrency=1, now=clock.now, pause=clock.pause), Held()
        model = LitellmModel("openai/500", pause=clock.pause, rest=guard.rest("openai"))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, behind(guard, held.answer, "openai"), ["holds the place"])
                await settled()
                guard.rest("openai").ask(60)
                queued = await failure_of(behind(guard, held.answer, "openai"))
                retried = await failure_of(Guarded("openai/500", "other", model, guard))
                held.go.set()

        assert (queued.cause, queued.attempts) == ("rate_limited", 0)
        assert (retried.cause, retried.attempts, len(stub.chats)) == ("unavailable", 1, 1)

    async def test_a_retry_waits_as_well_for_what_others_were_told(
        self, stub: Stub, clock: Clock, outcomes: Outcomes
    ) -> None:
        model = through(clock)
        stub.queue.extend(["500", "429"])
        stub.retry_after = "3"

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, model("openai/a"), ["a"])
                await clock.until_asleep(1)
                put(tasks, outcomes, model("openai/b"), ["b"])
                await clock.until_asleep(2)
                clock.pass_(1)
                await clock.until_asleep(2)
                before = asked(stub)
                clock.pass_(2)

        assert before == {"a": 1, "b": 1}
        assert asked(stub) == {"a": 2, "b": 2}
        assert set(outcomes.replies) == {"a", "b"}

    async def test_nobody_is_kept_from_a_provider_for_longer_than_a_minute(
        self, stub: Stub, clock: Clock
    ) -> None:
        model = through(clock)("openai/a")
        stub.queue.append("429")
        stub.retry_after = "3600"

        told, next_ = await failure_of(model), await failure_of(model)
        clock.pass_(LONGEST_REST)
        reply = await model.reply(argue())

        assert "asks to be left alone for 3600 seconds; wait that long" in told.detail
        assert next_.detail.endswith("asks to be left alone for 60 seconds.")
        assert (told.cause, next_.cause) == ("rate_limited", "rate_limited")
        assert len(stub.chats) == 2
        assert reply.text


def asked(stub: Stub) -> Counter[str]:
    return Counter(chat.body["model"] for chat in stub.chats)
