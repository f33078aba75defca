"""What all debates of a process share: places, rests of providers, and what is known to fail."""

from collections import Counter
from collections.abc import AsyncIterator, Callable

import anyio
import pytest
import pytest_asyncio

from benchmarks.stub import Stub
from server.models import MAX_ATTEMPTS
from server.models.fakes.scripted import ScriptedModel
from server.models.litellm.client import LitellmModel
from server.models.registry import ModelRegistry
from server.models.resilience import (
    FAILURE_THRESHOLD,
    MAX_COOLDOWN,
    OPEN_SECONDS,
    PROVIDER_CONCURRENCY,
    Guard,
    GuardedModel,
)
from tests.contract.model import build_argument_request
from tests.support.guarded_requests import (
    TIMEOUT,
    FakeClock,
    HeldScript,
    RequestResults,
    build_guarded_model,
    expect_failure,
    has_no_attempts,
    let_tasks_run,
    open_tasks,
    start_requests,
)

pytestmark = [pytest.mark.asyncio, pytest.mark.requirement("D9")]

PROVIDERS = ("openai", "deepseek", "mistral")
KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def outcomes() -> RequestResults:
    return RequestResults()


@pytest.fixture(scope="module")
def used_before() -> None:
    """Litellm and what it imports at the first call to each provider: seconds that no test is about."""

    async def use() -> None:
        async with Stub() as stub:
            for provider in PROVIDERS:
                await LitellmModel(f"{provider}/m", api_base=stub.url).reply(
                    build_argument_request(timeout=60)
                )

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


def through(clock: FakeClock) -> Callable[[str], GuardedModel]:
    """Models of litellm by their names, all of one process."""
    models = ModelRegistry(guard=Guard(now=clock.now, sleep=clock.sleep))

    def model(name: str) -> GuardedModel:
        found = models.get(name)
        assert isinstance(found, GuardedModel)
        return found

    return model


class TestPlaces:
    async def test_a_provider_is_asked_a_few_things_at_a_time_in_order_of_arrival(
        self, outcomes: RequestResults
    ) -> None:
        held = HeldScript()
        model = build_guarded_model(Guard(provider_concurrency=2), held.answer)

        async with open_tasks() as tasks:
            start_requests(tasks, outcomes, model, range(5))
            await let_tasks_run()
            first = list(held.requested_seats)
            held.release.set()

        assert first == ["0", "1"]
        assert held.requested_seats == ["0", "1", "2", "3", "4"]
        assert len(outcomes.replies) == 5

    async def test_the_places_of_the_process_are_for_all_providers_together(
        self, outcomes: RequestResults
    ) -> None:
        guard, held = Guard(concurrency=3, provider_concurrency=2), HeldScript()

        async with open_tasks() as tasks:
            start_requests(
                tasks, outcomes, build_guarded_model(guard, held.answer, "one"), ["1a", "1b", "1c"]
            )
            start_requests(
                tasks, outcomes, build_guarded_model(guard, held.answer, "two"), ["2a", "2b", "2c"]
            )
            await let_tasks_run()
            first = list(held.requested_seats)
            held.release.set()

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
        self, outcomes: RequestResults, guard: Guard, what: str
    ) -> None:
        held = HeldScript()
        model = build_guarded_model(guard, held.answer)

        async with open_tasks() as tasks:
            start_requests(tasks, outcomes, model, ["first"])
            await let_tasks_run()
            failure = await expect_failure(model, timeout_seconds=0.05)
            held.release.set()

        assert failure.cause == "timeout"
        assert (
            failure.detail == f"acme/m was not asked: within its 0.05 seconds none of the {what} became free."
        )
        assert has_no_attempts(failure)
        assert held.requested_seats == ["first"]
        assert "first" in outcomes.replies

    async def test_waiting_costs_nothing_of_the_time_for_the_answer(
        self, clock: FakeClock, outcomes: RequestResults
    ) -> None:
        guard, inner = Guard(now=clock.now, sleep=clock.sleep), ScriptedModel()
        guard.cooldown("acme").extend(15)

        async with open_tasks() as tasks:
            start_requests(tasks, outcomes, GuardedModel("acme/m", "acme", inner, guard), ["patient"])
            await clock.wait_for_sleepers(1)
            clock.advance(15)

        assert [request.timeout for request in inner.requests] == [20]
        assert outcomes.replies["patient"].text

    async def test_who_waits_for_one_provider_takes_no_place_from_the_others(
        self, clock: FakeClock, outcomes: RequestResults
    ) -> None:
        guard = Guard(concurrency=1, now=clock.now, sleep=clock.sleep)
        guard.cooldown("acme").extend(15)

        async with open_tasks() as tasks:
            start_requests(tasks, outcomes, build_guarded_model(guard, lambda _: "Because."), ["waits"])
            await clock.wait_for_sleepers(1)
            await outcomes.collect(build_guarded_model(guard, lambda _: "Because.", "other"), "other")
            clock.advance(15)

        assert list(outcomes.replies) == ["other", "waits"]

    async def test_a_rest_that_begins_while_a_place_is_waited_for_is_kept(
        self, clock: FakeClock, outcomes: RequestResults
    ) -> None:
        guard, held = Guard(concurrency=1, now=clock.now, sleep=clock.sleep), HeldScript()

        async with open_tasks() as tasks:
            start_requests(tasks, outcomes, build_guarded_model(guard, held.answer, "other"), ["other"])
            await let_tasks_run()
            start_requests(tasks, outcomes, build_guarded_model(guard, held.answer), ["waits"])
            await let_tasks_run()
            guard.cooldown("acme").extend(5)
            held.release.set()
            await clock.wait_for_sleepers(1)
            assert held.requested_seats == ["other"]
            clock.advance(5)

        assert held.requested_seats == ["other", "waits"]

    async def test_who_is_cancelled_in_the_queue_takes_no_place(self, outcomes: RequestResults) -> None:
        held = HeldScript()
        model = build_guarded_model(Guard(provider_concurrency=1), held.answer)

        with anyio.fail_after(TIMEOUT):
            async with anyio.create_task_group() as tasks, anyio.create_task_group() as given_up:
                start_requests(tasks, outcomes, model, ["holds"])
                await let_tasks_run()
                start_requests(given_up, outcomes, model, ["gives up", "gives up too"])
                await let_tasks_run()
                start_requests(tasks, outcomes, model, ["stays"])
                await let_tasks_run()
                held.release.set()
                given_up.cancel_scope.cancel()
            await outcomes.collect(model, "comes later")

        assert held.requested_seats == ["holds", "stays", "comes later"]
        assert set(outcomes.replies) == set(held.requested_seats)

    async def test_who_is_cancelled_while_it_is_answered_frees_its_places(self) -> None:
        guard, held = Guard(concurrency=1, provider_concurrency=1), HeldScript()
        model = build_guarded_model(guard, held.answer)

        with anyio.fail_after(TIMEOUT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(model.reply, build_argument_request())
                await let_tasks_run()
                assert len(held.requested_seats) == 1
                tasks.cancel_scope.cancel()
            held.release.set()
            reply = await model.reply(build_argument_request())

        assert reply.text


class TestProviders:
    @pytest.mark.requirement("D3")
    async def test_a_dead_and_a_slow_provider_hold_up_nobody_else(
        self, stub: Stub, outcomes: RequestResults
    ) -> None:
        model = through(FakeClock(auto_advance=True))

        async with open_tasks() as tasks:
            start_requests(tasks, outcomes, model("mistral/hang"), [f"slow {n}" for n in range(20)])
            await stub.wait_until(in_flight=PROVIDER_CONCURRENCY)
            start_requests(tasks, outcomes, model("deepseek/500"), [f"dead {n}" for n in range(20)])
            start_requests(tasks, outcomes, model("openai/fine"), [f"fine {n}" for n in range(20)])
            await outcomes.wait_until(lambda: len(outcomes.replies) + len(outcomes.failures) == 40)
            tasks.cancel_scope.cancel()

        assert set(outcomes.replies) == {f"fine {n}" for n in range(20)}
        assert {failure.cause for failure in outcomes.failures.values()} == {"unavailable"}
        assert asked(stub)["hang"] == PROVIDER_CONCURRENCY
        assert asked(stub)["fine"] == 20

    async def test_twenty_debates_ask_a_dead_provider_a_bounded_number_of_times(
        self, stub: Stub, outcomes: RequestResults
    ) -> None:
        clock = FakeClock(auto_advance=True)
        model = through(clock)("openai/500")
        most = (PROVIDER_CONCURRENCY + FAILURE_THRESHOLD - 1) * MAX_ATTEMPTS

        counts = []
        for _ in range(3):
            before = len(stub.chat_requests)
            async with open_tasks() as tasks:
                start_requests(tasks, outcomes, model, range(60))
            counts.append(len(stub.chat_requests) - before)
            if len(counts) == 2:
                clock.advance(OPEN_SECONDS)

        assert FAILURE_THRESHOLD * MAX_ATTEMPTS <= counts[0] <= most
        assert counts[1:] == [0, MAX_ATTEMPTS]  # nothing; then one request, with its retries
        assert outcomes.replies == {}

    async def test_a_provider_that_asks_to_be_left_alone_is_left_alone_by_all_and_others_are_not(
        self, stub: Stub, clock: FakeClock, outcomes: RequestResults
    ) -> None:
        model = through(clock)
        stub.queue.append("429")

        async with open_tasks() as tasks:
            start_requests(tasks, outcomes, model("openai/a"), ["a"])
            await clock.wait_for_sleepers(1)
            start_requests(tasks, outcomes, model("openai/b"), ["b"])
            start_requests(tasks, outcomes, model("deepseek/c"), ["c"])
            hasty = await expect_failure(model("openai/b"), timeout_seconds=0.5)
            await clock.wait_for_sleepers(2)
            await outcomes.wait_until(lambda: "c" in outcomes.replies)
            clock.advance(0.9)
            await let_tasks_run()
            before = asked(stub)
            clock.advance(0.1)

        assert before == {"a": 1, "c": 1}
        assert asked(stub) == {"a": 2, "b": 1, "c": 1}
        assert set(outcomes.replies) == {"a", "b", "c"}
        assert (hasty.cause, hasty.attempts) == ("rate_limited", 0)
        assert hasty.detail == (
            "openai/b was not asked: openai limits the rate of requests "
            "and asks to be left alone for a second."
        )

    async def test_who_cannot_wait_that_long_is_told_at_once_in_the_queue_and_before_a_retry(
        self, stub: Stub, clock: FakeClock, outcomes: RequestResults
    ) -> None:
        guard, held = Guard(provider_concurrency=1, now=clock.now, sleep=clock.sleep), HeldScript()
        model = LitellmModel("openai/500", sleep=clock.sleep, cooldown=guard.cooldown("openai"))

        async with open_tasks() as tasks:
            start_requests(
                tasks, outcomes, build_guarded_model(guard, held.answer, "openai"), ["holds the place"]
            )
            await let_tasks_run()
            guard.cooldown("openai").extend(60)
            queued = await expect_failure(build_guarded_model(guard, held.answer, "openai"))
            retried = await expect_failure(GuardedModel("openai/500", "other", model, guard))
            held.release.set()

        assert (queued.cause, queued.attempts) == ("rate_limited", 0)
        assert (retried.cause, retried.attempts, len(stub.chat_requests)) == ("unavailable", 1, 1)

    async def test_a_retry_waits_as_well_for_what_others_were_told(
        self, stub: Stub, clock: FakeClock, outcomes: RequestResults
    ) -> None:
        model = through(clock)
        stub.queue.extend(["500", "429"])
        stub.retry_after = "3"

        async with open_tasks() as tasks:
            start_requests(tasks, outcomes, model("openai/a"), ["a"])
            await clock.wait_for_sleepers(1)
            start_requests(tasks, outcomes, model("openai/b"), ["b"])
            await clock.wait_for_sleepers(2)
            clock.advance(1)
            await clock.wait_for_sleepers(2)
            before = asked(stub)
            clock.advance(2)

        assert before == {"a": 1, "b": 1}
        assert asked(stub) == {"a": 2, "b": 2}
        assert set(outcomes.replies) == {"a", "b"}

    async def test_nobody_is_kept_from_a_provider_for_longer_than_a_minute(
        self, stub: Stub, clock: FakeClock
    ) -> None:
        model = through(clock)("openai/a")
        stub.queue.append("429")
        stub.retry_after = "3600"

        told, next_ = await expect_failure(model), await expect_failure(model)
        clock.advance(MAX_COOLDOWN)
        reply = await model.reply(build_argument_request())

        assert "asks to be left alone for 3600 seconds; wait that long" in told.detail
        assert next_.detail.endswith("asks to be left alone for 60 seconds.")
        assert (told.cause, next_.cause) == ("rate_limited", "rate_limited")
        assert len(stub.chat_requests) == 2
        assert reply.text


def asked(stub: Stub) -> Counter[str]:
    return Counter(chat.body["model"] for chat in stub.chat_requests)
