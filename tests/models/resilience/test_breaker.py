"""A model that fails again and again is left alone for a while, by every debate of the process."""

from collections.abc import Callable

import anyio
import pytest

from server.models import FailureCause, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.resilience import (
    FAILURE_THRESHOLD,
    MAX_OPEN_SECONDS,
    MIN_COUNTED_TIMEOUT,
    OPEN_SECONDS,
    REFUSED_KEY_SECONDS,
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
    cancel_request,
    expect_failure,
    failing_script,
    has_no_attempts,
    let_tasks_run,
    open_breaker,
    open_tasks,
    start_requests,
)

pytestmark = [pytest.mark.asyncio, pytest.mark.requirement("D3", "D9")]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def outcomes() -> RequestResults:
    return RequestResults()


class TestBreaker:
    @pytest.mark.parametrize("cause", ["unavailable", "timeout"])
    async def test_a_model_that_fails_again_and_again_is_not_asked_for_a_while(
        self, clock: FakeClock, cause: FailureCause
    ) -> None:
        inner = ScriptedModel(failing_script(cause))
        model = GuardedModel("acme/m", "acme", inner, Guard(now=clock.now))
        for _ in range(FAILURE_THRESHOLD):
            assert not has_no_attempts(await expect_failure(model))
        clock.advance(10)

        failure = await expect_failure(model)

        assert len(inner.requests) == FAILURE_THRESHOLD
        assert (failure.cause, failure.attempts) == ("unavailable", 0)
        assert failure.detail == (
            f"acme/m was not asked: it failed 5 times in a row (last: {cause}) "
            "and is tried again in 20 seconds."
        )

    @pytest.mark.parametrize("cause", ["rate_limited", "bad_request", "refused", "crashed"])
    async def test_other_failures_keep_nobody_from_asking(
        self, clock: FakeClock, cause: FailureCause
    ) -> None:
        model = build_guarded_model(Guard(now=clock.now), failing_script(cause))

        causes = [(await expect_failure(model)).cause for _ in range(3 * FAILURE_THRESHOLD)]

        assert set(causes) == {cause}

    @pytest.mark.parametrize(
        "between",
        [lambda _: "Yes.", failing_script("bad_request"), failing_script("rate_limited")],
        ids=["yes", "no", "later"],
    )
    async def test_whatever_shows_that_it_is_there_lets_the_count_begin_anew(
        self, clock: FakeClock, outcomes: RequestResults, between: Callable[[Request], str]
    ) -> None:
        dead = failing_script("unavailable")
        scripts = iter([*[dead] * (FAILURE_THRESHOLD - 1), between, *[dead] * FAILURE_THRESHOLD])

        def script(request: Request) -> str:
            return next(scripts)(request)

        model = build_guarded_model(Guard(now=clock.now), script)
        for seat in range(2 * FAILURE_THRESHOLD):
            await outcomes.collect(model, str(seat))

        assert len(outcomes.replies) + len(outcomes.failures) == 2 * FAILURE_THRESHOLD
        assert not any(has_no_attempts(failure) for failure in outcomes.failures.values())
        assert has_no_attempts(await expect_failure(model))

    async def test_who_asks_in_vain_is_told_without_waiting_for_a_place(
        self, clock: FakeClock, outcomes: RequestResults
    ) -> None:
        guard, held = Guard(provider_concurrency=1, now=clock.now), HeldScript()
        dead = build_guarded_model(guard, failing_script("unavailable"))
        await open_breaker(dead)

        async with open_tasks() as tasks:
            start_requests(tasks, outcomes, build_guarded_model(guard, held.answer), ["holds the place"])
            await let_tasks_run()
            failure = await expect_failure(dead)
            held.release.set()

        assert failure.cause == "unavailable"

    async def test_a_model_that_was_given_little_time_is_not_blamed_for_it(self, clock: FakeClock) -> None:
        model = build_guarded_model(Guard(now=clock.now), failing_script("timeout"))

        for _ in range(2 * FAILURE_THRESHOLD):
            assert not has_no_attempts(await expect_failure(model, timeout_seconds=MIN_COUNTED_TIMEOUT - 1))

    async def test_a_cancelled_request_is_neither_a_failure_nor_a_success(self, clock: FakeClock) -> None:
        held, dead = HeldScript(), failing_script("unavailable")
        hangs = False
        model = build_guarded_model(
            Guard(now=clock.now), lambda request: held.answer(request) if hangs else dead(request)
        )

        for _ in range(FAILURE_THRESHOLD - 1):
            await expect_failure(model)
        hangs = True
        for number in range(1, FAILURE_THRESHOLD + 1):
            await cancel_request(model, held, number)
        hangs = False

        assert not has_no_attempts(await expect_failure(model))  # the fifth failure: it was not closed before
        assert has_no_attempts(await expect_failure(model))  # and not counted anew

    async def test_after_the_cool_down_one_request_tries_and_its_success_opens_the_way_for_all(
        self, clock: FakeClock, outcomes: RequestResults
    ) -> None:
        held, dead = HeldScript(), True
        model = build_guarded_model(
            Guard(now=clock.now),
            lambda request: failing_script("unavailable")(request) if dead else held.answer(request),
        )
        await open_breaker(model)
        dead = False
        clock.advance(OPEN_SECONDS)

        with anyio.fail_after(TIMEOUT):
            async with anyio.create_task_group() as tasks:
                start_requests(tasks, outcomes, model, range(20))
                await let_tasks_run()
                held.release.set()
            await outcomes.collect(model, "afterwards")

        assert held.requested_seats == ["0", "afterwards"]
        assert set(outcomes.replies) == {"0", "afterwards"}
        assert {failure.cause for failure in outcomes.failures.values()} == {"unavailable"}
        assert outcomes.failures["1"].detail.endswith("and one request is trying it now.")

    async def test_a_try_that_is_cancelled_leaves_it_to_the_next(self, clock: FakeClock) -> None:
        held, dead = HeldScript(), True
        model = build_guarded_model(
            Guard(now=clock.now),
            lambda request: failing_script("unavailable")(request) if dead else held.answer(request),
        )
        await open_breaker(model)
        dead = False
        clock.advance(OPEN_SECONDS)
        await cancel_request(model, held, 1)
        held.release.set()

        assert (await model.reply(build_argument_request())).text

    async def test_each_try_that_fails_doubles_the_cool_down_up_to_a_limit(self, clock: FakeClock) -> None:
        model = build_guarded_model(Guard(now=clock.now), failing_script("unavailable"))
        await open_breaker(model)

        cool_downs = []
        for _ in range(6):
            began = clock.time
            while has_no_attempts(await expect_failure(model)):
                clock.advance(OPEN_SECONDS)
            cool_downs.append(clock.time - began)

        assert cool_downs == [30, 60, 120, 240, MAX_OPEN_SECONDS, MAX_OPEN_SECONDS]

    async def test_models_of_one_provider_are_judged_apart(self, clock: FakeClock) -> None:
        guard = Guard(now=clock.now)
        dead = build_guarded_model(guard, failing_script("unavailable"))
        await open_breaker(dead)

        assert (
            await GuardedModel("acme/other", "acme", ScriptedModel(), guard).reply(build_argument_request())
        ).text

    async def test_a_key_that_was_refused_is_not_shown_again_at_once(self, clock: FakeClock) -> None:
        inner = ScriptedModel(failing_script("unauthorized"))
        model = GuardedModel("acme/m", "acme", inner, Guard(now=clock.now))

        failures = [await expect_failure(model) for _ in range(20)]

        assert {(failure.cause, failure.detail) for failure in failures} == {
            ("unauthorized", "acme/m: unauthorized.")
        }
        assert len(inner.requests) == 1
        clock.advance(REFUSED_KEY_SECONDS)
        assert not has_no_attempts(await expect_failure(model))
