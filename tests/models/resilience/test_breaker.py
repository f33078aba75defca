"""A model that fails again and again is left alone for a while, by every debate of the process."""

from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from server.models import FailureCause, ModelError, Request, resilience
from server.models.fakes.scripted import ScriptedModel
from tests.contract.model import build_argument_request
from tests.support import guarded_requests as guarded
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D3", "D9")]


@pytest.fixture
def clock() -> guarded.FakeClock:
    return guarded.FakeClock()


@pytest.fixture
def outcomes() -> guarded.RequestResults:
    return guarded.RequestResults()


@pytest.mark.parametrize("cause", ["unavailable", "timeout"])
async def test_a_model_that_keeps_failing_gets_a_rest(clock: guarded.FakeClock, cause: FailureCause) -> None:
    inner = ScriptedModel(guarded.failing_script(cause))
    model = resilience.GuardedModel("acme/m", "acme", inner, resilience.Guard(now=clock.now))
    for _ in range(resilience.FAILURE_THRESHOLD):
        assert (await guarded.expect_failure(model)).attempts > 0
    clock.advance(10)

    failure = await guarded.expect_failure(model)

    assert len(inner.requests) == resilience.FAILURE_THRESHOLD
    assert (failure.cause, failure.attempts) == ("unavailable", 0)
    assert failure.detail == (
        f"acme/m was not asked: it failed 5 times in a row (last: {cause}) and is tried again in 20 s."
    )


@pytest.mark.parametrize("cause", ["rate_limited", "bad_request", "refused", "crashed"])
async def test_other_failures_keep_nobody_from_asking(clock: guarded.FakeClock, cause: FailureCause) -> None:
    model = guarded.build_model(resilience.Guard(now=clock.now), guarded.failing_script(cause))

    causes = [(await guarded.expect_failure(model)).cause for _ in range(3 * resilience.FAILURE_THRESHOLD)]

    assert set(causes) == {cause}


@pytest.mark.parametrize(
    "between",
    [lambda _: "Yes.", guarded.failing_script("bad_request"), guarded.failing_script("rate_limited")],
    ids=["yes", "no", "later"],
)
async def test_whatever_shows_that_it_is_there_lets_the_count_begin_anew(
    clock: guarded.FakeClock, outcomes: guarded.RequestResults, between: Callable[[Request], str]
) -> None:
    dead = guarded.failing_script("unavailable")
    scripts = iter(
        [*[dead] * (resilience.FAILURE_THRESHOLD - 1), between, *[dead] * resilience.FAILURE_THRESHOLD]
    )

    def script(request: Request) -> str:
        return next(scripts)(request)

    model = guarded.build_model(resilience.Guard(now=clock.now), script)
    for seat in range(2 * resilience.FAILURE_THRESHOLD):
        await outcomes.collect(model, str(seat))

    assert len(outcomes.replies) + len(outcomes.failures) == 2 * resilience.FAILURE_THRESHOLD
    assert not any(failure.attempts == 0 for failure in outcomes.failures.values())
    assert (await guarded.expect_failure(model)).attempts == 0


async def test_who_asks_in_vain_is_told_without_waiting_for_a_place(
    clock: guarded.FakeClock, outcomes: guarded.RequestResults
) -> None:
    guard, held = resilience.Guard(provider_concurrency=1, now=clock.now), guarded.HeldScript()
    dead = guarded.build_model(guard, guarded.failing_script("unavailable"))
    await guarded.open_breaker(dead)

    async with guarded.open_tasks() as tasks:
        outcomes.start(tasks, guarded.build_model(guard, held.answer), ["holds the place"])
        await guarded.let_tasks_run()
        failure = await guarded.expect_failure(dead)
        held.release.set()

    assert failure.cause == "unavailable"


async def test_a_model_that_was_given_little_time_is_not_blamed_for_it(clock: guarded.FakeClock) -> None:
    model = guarded.build_model(resilience.Guard(now=clock.now), guarded.failing_script("timeout"))

    for _ in range(2 * resilience.FAILURE_THRESHOLD):
        assert (
            await guarded.expect_failure(model, timeout_seconds=resilience.MIN_COUNTED_TIMEOUT - 1)
        ).attempts > 0


async def test_a_cancelled_request_is_neither_a_failure_nor_a_success(clock: guarded.FakeClock) -> None:
    held, dead = guarded.HeldScript(), guarded.failing_script("unavailable")
    hangs = False
    model = guarded.build_model(
        resilience.Guard(now=clock.now), lambda request: held.answer(request) if hangs else dead(request)
    )

    for _ in range(resilience.FAILURE_THRESHOLD - 1):
        await guarded.expect_failure(model)
    hangs = True
    for number in range(1, resilience.FAILURE_THRESHOLD + 1):
        await guarded.cancel_request(model, held, number)
    hangs = False

    assert (await guarded.expect_failure(model)).attempts > 0  # the fifth failure: it was not closed before
    assert (await guarded.expect_failure(model)).attempts == 0  # and not counted anew


async def test_after_the_cool_down_one_request_tries_and_its_success_opens_the_way_for_all(
    clock: guarded.FakeClock, outcomes: guarded.RequestResults
) -> None:
    held, dead = guarded.HeldScript(), True
    model = guarded.build_model(
        resilience.Guard(now=clock.now),
        lambda request: guarded.failing_script("unavailable")(request) if dead else held.answer(request),
    )
    await guarded.open_breaker(model)
    dead = False
    clock.advance(resilience.OPEN_SECONDS)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            outcomes.start(tasks, model, range(20))
            await guarded.let_tasks_run()
            held.release.set()
        await outcomes.collect(model, "afterwards")

    assert held.requested_seats == ["0", "afterwards"]
    assert set(outcomes.replies) == {"0", "afterwards"}
    assert {failure.cause for failure in outcomes.failures.values()} == {"unavailable"}
    assert outcomes.failures["1"].detail.endswith("and one request is trying it now.")


async def test_a_try_that_is_cancelled_leaves_it_to_the_next(clock: guarded.FakeClock) -> None:
    held, dead = guarded.HeldScript(), True
    model = guarded.build_model(
        resilience.Guard(now=clock.now),
        lambda request: guarded.failing_script("unavailable")(request) if dead else held.answer(request),
    )
    await guarded.open_breaker(model)
    dead = False
    clock.advance(resilience.OPEN_SECONDS)
    await guarded.cancel_request(model, held, 1)
    held.release.set()

    assert (await model.reply(build_argument_request())).text


async def test_each_try_that_fails_doubles_the_cool_down_up_to_a_limit(clock: guarded.FakeClock) -> None:
    model = guarded.build_model(resilience.Guard(now=clock.now), guarded.failing_script("unavailable"))
    await guarded.open_breaker(model)

    cool_downs = []
    for _ in range(6):
        began = clock.time
        while (await guarded.expect_failure(model)).attempts == 0:
            clock.advance(resilience.OPEN_SECONDS)
        cool_downs.append(clock.time - began)

    assert cool_downs == [30, 60, 120, 240, resilience.MAX_OPEN_SECONDS, resilience.MAX_OPEN_SECONDS]


async def test_models_of_one_provider_are_judged_apart(clock: guarded.FakeClock) -> None:
    guard = resilience.Guard(now=clock.now)
    dead = guarded.build_model(guard, guarded.failing_script("unavailable"))
    await guarded.open_breaker(dead)

    assert (
        await resilience.GuardedModel("acme/other", "acme", ScriptedModel(), guard).reply(
            build_argument_request()
        )
    ).text


async def test_a_key_that_was_refused_is_not_shown_again_at_once(clock: guarded.FakeClock) -> None:
    inner = ScriptedModel(guarded.failing_script("unauthorized"))
    model = resilience.GuardedModel("acme/m", "acme", inner, resilience.Guard(now=clock.now))

    failures = [await guarded.expect_failure(model) for _ in range(20)]

    assert {(failure.cause, failure.detail) for failure in failures} == {
        ("unauthorized", "acme/m: unauthorized.")
    }
    assert len(inner.requests) == 1
    clock.advance(resilience.REFUSED_KEY_SECONDS)
    assert (await guarded.expect_failure(model)).attempts > 0


async def test_after_a_refused_key_the_next_debate_asks_again(clock: guarded.FakeClock) -> None:
    refuse = guarded.failing_script("unauthorized")
    inner = ScriptedModel(lambda request: refuse(request) if request.group == "one" else "Yes.")
    model = resilience.GuardedModel("acme/m", "acme", inner, resilience.Guard(now=clock.now))
    first, second = (replace(build_argument_request(), group=debate) for debate in ("one", "another"))
    with pytest.raises(ModelError, match="unauthorized"):
        await model.reply(first)
    with pytest.raises(ModelError, match="unauthorized"):
        await model.reply(first)
    assert len(inner.requests) == 1

    assert (await model.reply(second)).text == "Yes."
    assert len(inner.requests) == 2
