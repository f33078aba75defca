"""A model that fails again and again is left alone for a while, by every debate of the process."""

from collections.abc import Callable

import anyio
import pytest

from server.models import Cause, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.resilience.breaker import (
    COOL_DOWN,
    FAILURES,
    KEY_REFUSED,
    LONGEST_COOL_DOWN,
    SHORTEST_CHANCE,
)
from server.models.resilience.concurrency import Guard, Guarded
from tests.contract.model import argue
from tests.support.guarding import (
    PATIENCE,
    Clock,
    Held,
    Outcomes,
    behind,
    cancelled,
    fails,
    failure_of,
    put,
    settled,
    was_not_asked,
)

pytestmark = [pytest.mark.asyncio, pytest.mark.requirement("D3", "D9")]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outcomes() -> Outcomes:
    return Outcomes()


class TestBreaker:
    @pytest.mark.parametrize("cause", ["unavailable", "timeout"])
    async def test_a_model_that_fails_again_and_again_is_not_asked_for_a_while(
        self, clock: Clock, cause: Cause
    ) -> None:
        inner = ScriptedModel(fails(cause))
        model = Guarded("acme/m", "acme", inner, Guard(now=clock.now))
        for _ in range(FAILURES):
            assert not was_not_asked(await failure_of(model))
        clock.pass_(10)

        failure = await failure_of(model)

        assert len(inner.asked) == FAILURES
        assert (failure.cause, failure.attempts) == ("unavailable", 0)
        assert failure.detail == (
            f"acme/m was not asked: it failed 5 times in a row (last: {cause}) "
            "and is tried again in 20 seconds."
        )

    @pytest.mark.parametrize("cause", ["rate_limited", "bad_request", "refused", "crashed"])
    async def test_other_failures_keep_nobody_from_asking(self, clock: Clock, cause: Cause) -> None:
        model = behind(Guard(now=clock.now), fails(cause))

        causes = [(await failure_of(model)).cause for _ in range(3 * FAILURES)]

        assert set(causes) == {cause}

    @pytest.mark.parametrize(
        "between", [lambda _: "Yes.", fails("bad_request"), fails("rate_limited")], ids=["yes", "no", "later"]
    )
    async def test_whatever_shows_that_it_is_there_lets_the_count_begin_anew(
        self, clock: Clock, outcomes: Outcomes, between: Callable[[Request], str]
    ) -> None:
        dead = fails("unavailable")
        scripts = iter([*[dead] * (FAILURES - 1), between, *[dead] * FAILURES])

        def script(request: Request) -> str:
            return next(scripts)(request)

        model = behind(Guard(now=clock.now), script)
        for seat in range(2 * FAILURES):
            await outcomes.of(model, str(seat))

        assert len(outcomes.replies) + len(outcomes.failures) == 2 * FAILURES
        assert not any(was_not_asked(failure) for failure in outcomes.failures.values())
        assert was_not_asked(await failure_of(model))

    async def test_who_asks_in_vain_is_told_without_waiting_for_a_place(
        self, clock: Clock, outcomes: Outcomes
    ) -> None:
        guard, held = Guard(provider_concurrency=1, now=clock.now), Held()
        dead = behind(guard, fails("unavailable"))
        for _ in range(FAILURES):
            await failure_of(dead)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, behind(guard, held.answer), ["holds the place"])
                await settled()
                failure = await failure_of(dead)
                held.go.set()

        assert failure.cause == "unavailable"

    async def test_a_model_that_was_given_little_time_is_not_blamed_for_it(self, clock: Clock) -> None:
        model = behind(Guard(now=clock.now), fails("timeout"))

        for _ in range(2 * FAILURES):
            assert not was_not_asked(await failure_of(model, allowed=SHORTEST_CHANCE - 1))

    async def test_a_cancelled_request_is_neither_a_failure_nor_a_success(self, clock: Clock) -> None:
        held, dead = Held(), fails("unavailable")
        hangs = False
        model = behind(Guard(now=clock.now), lambda request: held.answer(request) if hangs else dead(request))

        for _ in range(FAILURES - 1):
            await failure_of(model)
        hangs = True
        for number in range(1, FAILURES + 1):
            await cancelled(model, held, number)
        hangs = False

        assert not was_not_asked(await failure_of(model))  # the fifth failure: it was not closed before
        assert was_not_asked(await failure_of(model))  # and not counted anew

    async def test_after_the_cool_down_one_request_tries_and_its_success_opens_the_way_for_all(
        self, clock: Clock, outcomes: Outcomes
    ) -> None:
        held, dead = Held(), True
        model = behind(
            Guard(now=clock.now),
            lambda request: fails("unavailable")(request) if dead else held.answer(request),
        )
        for _ in range(FAILURES):
            await failure_of(model)
        dead = False
        clock.pass_(COOL_DOWN)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                put(tasks, outcomes, model, range(20))
                await settled()
                held.go.set()
            await outcomes.of(model, "afterwards")

        assert held.asked == ["0", "afterwards"]
        assert set(outcomes.replies) == {"0", "afterwards"}
        assert {failure.cause for failure in outcomes.failures.values()} == {"unavailable"}
        assert outcomes.failures["1"].detail.endswith("and one request is trying it now.")

    async def test_a_try_that_is_cancelled_leaves_it_to_the_next(self, clock: Clock) -> None:
        held, dead = Held(), True
        model = behind(
            Guard(now=clock.now),
            lambda request: fails("unavailable")(request) if dead else held.answer(request),
        )
        for _ in range(FAILURES):
            await failure_of(model)
        dead = False
        clock.pass_(COOL_DOWN)
        await cancelled(model, held, 1)
        held.go.set()

        assert (await model.reply(argue())).text

    async def test_each_try_that_fails_doubles_the_cool_down_up_to_a_limit(self, clock: Clock) -> None:
        model = behind(Guard(now=clock.now), fails("unavailable"))
        for _ in range(FAILURES):
            await failure_of(model)

        cool_downs = []
        for _ in range(6):
            began = clock.time
            while was_not_asked(await failure_of(model)):
                clock.pass_(COOL_DOWN)
            cool_downs.append(clock.time - began)

        assert cool_downs == [30, 60, 120, 240, LONGEST_COOL_DOWN, LONGEST_COOL_DOWN]

    async def test_models_of_one_provider_are_judged_apart(self, clock: Clock) -> None:
        guard = Guard(now=clock.now)
        dead = behind(guard, fails("unavailable"))
        for _ in range(FAILURES):
            await failure_of(dead)

        assert (await Guarded("acme/other", "acme", ScriptedModel(), guard).reply(argue())).text

    async def test_a_key_that_was_refused_is_not_shown_again_at_once(self, clock: Clock) -> None:
        inner = ScriptedModel(fails("unauthorized"))
        model = Guarded("acme/m", "acme", inner, Guard(now=clock.now))

        failures = [await failure_of(model) for _ in range(20)]

        assert {(failure.cause, failure.detail) for failure in failures} == {
            ("unauthorized", "acme/m: unauthorized.")
        }
        assert len(inner.asked) == 1
        clock.pass_(KEY_REFUSED)
        assert not was_not_asked(await failure_of(model))
