"""Steps of debates are spread over passes of the event loop."""

import asyncio

import pytest

from server.engine.turnstile import STEPS_PER_PASS, Turnstile

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D9")]


async def test_few_steps_are_taken_in_a_pass_in_the_order_in_which_they_were_asked_for() -> None:
    turnstile, passes, order = Turnstile(), [0], list[tuple[int, int]]()

    def count_passes() -> None:
        passes[0] += 1
        asyncio.get_running_loop().call_soon(count_passes)

    async def step(number: int) -> None:
        await turnstile.enter()
        order.append((passes[0], number))

    count_passes()
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        for number in range(20):
            tasks.create_task(step(number))

    assert [number for _, number in order] == list(range(20))
    by_pass = [sum(at == number for at, _ in order) for number in range(passes[0] + 1)]
    assert max(by_pass) == STEPS_PER_PASS
    assert len([steps for steps in by_pass if steps]) == 7


async def test_nobody_waits_where_nobody_else_enters() -> None:
    turnstile = Turnstile()
    for _ in range(5):
        for _ in range(STEPS_PER_PASS):
            coroutine = turnstile.enter()
            with pytest.raises(StopIteration):
                coroutine.send(None)  # it returns without a pause
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_who_gives_up_waiting_holds_up_nobody() -> None:
    turnstile, entered = Turnstile(), list[int]()

    async def step(number: int) -> None:
        await turnstile.enter()
        entered.append(number)

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        steps = [tasks.create_task(step(number)) for number in range(12)]
        await asyncio.sleep(0)
        for given_up in steps[STEPS_PER_PASS:9]:
            given_up.cancel()

    assert entered == [0, 1, 2, 9, 10, 11]
    async with asyncio.timeout(5):
        await turnstile.enter()
