"""What all debates of a process share: places, rests of providers, and what is known to fail."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import anyio
import pytest

from server.models import resilience
from server.models.client import WithdrawnError
from server.models.fakes.scripted import ScriptedModel
from server.models.providers.litellm import LitellmModel
from server.models.registry import ModelRegistry
from tests.contract.model import build_argument_request
from tests.support import guarded_requests as guarded
from tests.support.patience import PATIENCE
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D9")]

PROVIDERS = ("openai", "deepseek", "mistral")
KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def clock() -> guarded.FakeClock:
    return guarded.FakeClock()


@pytest.fixture
def outcomes() -> guarded.RequestResults:
    return guarded.RequestResults()


@pytest.fixture
async def stub(litellm_used: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stub]:
    _ = litellm_used
    async with Stub() as stub:
        for provider in PROVIDERS:
            monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
            monkeypatch.setenv(f"{provider.upper()}_API_BASE", stub.url)
        yield stub


def through(
    clock: guarded.FakeClock, provider_concurrency: int = 0
) -> Callable[[str], resilience.GuardedModel]:
    """Models of litellm by their names, all of one process."""
    guard = resilience.Guard(provider_concurrency=provider_concurrency, now=clock.now, sleep=clock.sleep)
    models = ModelRegistry(guard=guard)

    def model(name: str) -> resilience.GuardedModel:
        found = models.get(f"litellm/{name}").model
        assert isinstance(found, resilience.GuardedModel)
        return found

    return model


class TestPlaces:
    async def test_a_provider_is_asked_a_few_things_at_a_time_in_order_of_arrival(
        self, outcomes: guarded.RequestResults
    ) -> None:
        held = guarded.HeldScript()
        model = guarded.build_model(resilience.Guard(provider_concurrency=2), held.answer)

        async with guarded.open_tasks() as tasks:
            outcomes.start(tasks, model, range(5))
            await guarded.let_tasks_run()
            first = list(held.requested_seats)
            held.release.set()

        assert first == ["0", "1"]
        assert held.requested_seats == ["0", "1", "2", "3", "4"]
        assert len(outcomes.replies) == 5

    async def test_all_providers_share_places_of_the_process(self, outcomes: guarded.RequestResults) -> None:
        guard, held = resilience.Guard(concurrency=3, provider_concurrency=2), guarded.HeldScript()

        async with guarded.open_tasks() as tasks:
            outcomes.start(tasks, guarded.build_model(guard, held.answer, "one"), ["1a", "1b", "1c"])
            outcomes.start(tasks, guarded.build_model(guard, held.answer, "two"), ["2a", "2b", "2c"])
            await guarded.let_tasks_run()
            first = list(held.requested_seats)
            held.release.set()

        assert first == ["1a", "1b", "2a"]
        assert len(outcomes.replies) == 6

    @pytest.mark.requirement("D3")
    @pytest.mark.parametrize(
        ("guard", "what"),
        [
            (
                resilience.Guard(provider_concurrency=1),
                "1 places for requests to acme (COUNTERPOINT_PROVIDER_CONCURRENCY)",
            ),
            (
                resilience.Guard(concurrency=1),
                "1 places for requests of this server (COUNTERPOINT_CONCURRENCY)",
            ),
        ],
        ids=["provider", "process"],
    )
    async def test_who_waits_longer_than_the_answer_may_take_is_told_for_what(
        self, outcomes: guarded.RequestResults, guard: resilience.Guard, what: str
    ) -> None:
        held = guarded.HeldScript()
        model = guarded.build_model(guard, held.answer)

        async with guarded.open_tasks() as tasks:
            outcomes.start(tasks, model, ["first"])
            await guarded.let_tasks_run()
            failure = await guarded.expect_failure(model, timeout_seconds=0.05)
            held.release.set()

        assert failure.cause == "timeout"
        assert (
            failure.detail == f"acme/m was not asked: within its 0.05 seconds none of the {what} became free."
        )
        assert failure.attempts == 0
        assert held.requested_seats == ["first"]
        assert "first" in outcomes.replies

    async def test_waiting_costs_nothing_of_the_time_for_the_answer(
        self, clock: guarded.FakeClock, outcomes: guarded.RequestResults
    ) -> None:
        guard, inner = resilience.Guard(now=clock.now, sleep=clock.sleep), ScriptedModel()
        guard.cooldown("acme").extend(15)

        async with guarded.open_tasks() as tasks:
            outcomes.start(tasks, resilience.GuardedModel("acme/m", "acme", inner, guard), ["patient"])
            await clock.wait_for_sleepers(1)
            clock.advance(15)

        assert [request.timeout for request in inner.requests] == [20]
        assert outcomes.replies["patient"].text

    async def test_who_waits_for_one_provider_takes_no_place_from_the_others(
        self, clock: guarded.FakeClock, outcomes: guarded.RequestResults
    ) -> None:
        guard = resilience.Guard(concurrency=1, now=clock.now, sleep=clock.sleep)
        guard.cooldown("acme").extend(15)

        async with guarded.open_tasks() as tasks:
            outcomes.start(tasks, guarded.build_model(guard, lambda _: "Because."), ["waits"])
            await clock.wait_for_sleepers(1)
            await outcomes.collect(guarded.build_model(guard, lambda _: "Because.", "other"), "other")
            clock.advance(15)

        assert list(outcomes.replies) == ["other", "waits"]

    async def test_a_rest_that_begins_while_a_place_is_waited_for_is_kept(
        self, clock: guarded.FakeClock, outcomes: guarded.RequestResults
    ) -> None:
        guard, held = resilience.Guard(concurrency=1, now=clock.now, sleep=clock.sleep), guarded.HeldScript()

        async with guarded.open_tasks() as tasks:
            outcomes.start(tasks, guarded.build_model(guard, held.answer, "other"), ["other"])
            await guarded.let_tasks_run()
            outcomes.start(tasks, guarded.build_model(guard, held.answer), ["waits"])
            await guarded.let_tasks_run()
            guard.cooldown("acme").extend(5)
            held.release.set()
            await clock.wait_for_sleepers(1)
            assert held.requested_seats == ["other"]
            clock.advance(5)

        assert held.requested_seats == ["other", "waits"]

    async def test_who_is_cancelled_in_the_queue_takes_no_place(
        self, outcomes: guarded.RequestResults
    ) -> None:
        held = guarded.HeldScript()
        model = guarded.build_model(resilience.Guard(provider_concurrency=1), held.answer)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks, anyio.create_task_group() as given_up:
                outcomes.start(tasks, model, ["holds"])
                await guarded.let_tasks_run()
                outcomes.start(given_up, model, ["gives up", "gives up too"])
                await guarded.let_tasks_run()
                outcomes.start(tasks, model, ["stays"])
                await guarded.let_tasks_run()
                held.release.set()
                given_up.cancel_scope.cancel()
            await outcomes.collect(model, "comes later")

        assert held.requested_seats == ["holds", "stays", "comes later"]
        assert set(outcomes.replies) == set(held.requested_seats)

    async def test_who_is_cancelled_while_it_is_answered_frees_its_places(self) -> None:
        guard, held = resilience.Guard(concurrency=1, provider_concurrency=1), guarded.HeldScript()
        model = guarded.build_model(guard, held.answer)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(model.reply, build_argument_request())
                await guarded.let_tasks_run()
                assert len(held.requested_seats) == 1
                tasks.cancel_scope.cancel()
            held.release.set()
            reply = await model.reply(build_argument_request())

        assert reply.text


class TestProviders:
    async def test_a_provider_that_asks_to_be_left_alone_is_left_alone_by_all_and_others_are_not(
        self, stub: Stub, clock: guarded.FakeClock, outcomes: guarded.RequestResults
    ) -> None:
        model = through(clock)
        stub.queue.append("429")

        async with guarded.open_tasks() as tasks:
            outcomes.start(tasks, model("openai/a"), ["a"])
            await clock.wait_for_sleepers(1)
            outcomes.start(tasks, model("openai/b"), ["b"])
            outcomes.start(tasks, model("deepseek/c"), ["c"])
            hasty = await guarded.expect_failure(model("openai/b"), timeout_seconds=0.5)
            await clock.wait_for_sleepers(2)
            await outcomes.wait_until(lambda: "c" in outcomes.replies)
            clock.advance(0.9)
            await guarded.let_tasks_run()
            before = asked(stub)
            clock.advance(0.1)

        assert before == {"a": 1, "c": 1}
        assert asked(stub) == {"a": 2, "b": 1, "c": 1}
        assert set(outcomes.replies) == {"a", "b", "c"}
        assert (hasty.cause, hasty.attempts) == ("rate_limited", 0)
        assert hasty.detail == (
            "litellm/openai/b was not asked: openai limits the rate of requests "
            "and asks to be left alone for 1 s."
        )

    async def test_who_cannot_wait_that_long_is_told_at_once_in_the_queue_and_before_a_retry(
        self, stub: Stub, clock: guarded.FakeClock, outcomes: guarded.RequestResults
    ) -> None:
        guard, held = (
            resilience.Guard(provider_concurrency=1, now=clock.now, sleep=clock.sleep),
            guarded.HeldScript(),
        )
        model = LitellmModel("openai/500", sleep=clock.sleep, cooldown=guard.cooldown("openai"))

        async with guarded.open_tasks() as tasks:
            outcomes.start(tasks, guarded.build_model(guard, held.answer, "openai"), ["holds the place"])
            await guarded.let_tasks_run()
            guard.cooldown("openai").extend(60)
            queued = await guarded.expect_failure(guarded.build_model(guard, held.answer, "openai"))
            retried = await guarded.expect_failure(
                resilience.GuardedModel("openai/500", "other", model, guard)
            )
            held.release.set()

        assert (queued.cause, queued.attempts) == ("rate_limited", 0)
        assert (retried.cause, retried.attempts, len(stub.chat_requests)) == ("unavailable", 1, 1)

    async def test_a_retry_waits_as_well_for_what_others_were_told(
        self, stub: Stub, clock: guarded.FakeClock, outcomes: guarded.RequestResults
    ) -> None:
        model = through(clock)
        stub.queue.extend(["500", "429"])
        stub.retry_after = "3"

        async with guarded.open_tasks() as tasks:
            outcomes.start(tasks, model("openai/a"), ["a"])
            await clock.wait_for_sleepers(1)
            outcomes.start(tasks, model("openai/b"), ["b"])
            await clock.wait_for_sleepers(2)
            clock.advance(1)
            await clock.wait_for_sleepers(1)  # the other waits for its place: fewer are asked for at once
            before = asked(stub)
            clock.advance(2)

        assert before == {"a": 1, "b": 1}
        assert asked(stub) == {"a": 2, "b": 2}
        assert set(outcomes.replies) == {"a", "b"}

    async def test_nobody_is_kept_from_a_provider_for_longer_than_a_minute(
        self, stub: Stub, clock: guarded.FakeClock
    ) -> None:
        model = through(clock)("openai/a")
        stub.queue.append("429")
        stub.retry_after = "3600"

        told, next_ = await guarded.expect_failure(model), await guarded.expect_failure(model)
        clock.advance(resilience.MAX_COOLDOWN)
        reply = await model.reply(build_argument_request())

        assert "asks to be left alone for 60 min; wait that long" in told.detail
        assert next_.detail.endswith("asks to be left alone for 60 s.")
        assert (told.cause, next_.cause) == ("rate_limited", "rate_limited")
        assert len(stub.chat_requests) == 2
        assert reply.text


def asked(stub: Stub) -> Counter[str]:
    return Counter(chat.body["model"] for chat in stub.chat_requests)


async def test_what_waits_when_its_process_is_about_to_end_is_not_asked() -> None:
    guard, held = resilience.Guard(concurrency=1), guarded.HeldScript()
    model, withdrawn = guarded.build_model(guard, held.answer), list[str]()

    async def ask(seat: str) -> None:
        try:
            await model.reply(replace(build_argument_request(), seat=seat, group="a debate", owner="ann"))
        except WithdrawnError:
            withdrawn.append(seat)

    async with guarded.open_tasks() as tasks:
        for seat in ("first", "second", "third"):
            tasks.start_soon(ask, seat)
            await guarded.let_tasks_run()
        assert guard.count_waiting() == {"ann": 2}
        guard.is_draining = True
        held.release.set()

    assert held.requested_seats == ["first"]
    assert withdrawn == ["second", "third"]
