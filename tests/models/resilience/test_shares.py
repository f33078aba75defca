"""Processes that share a database share the limits of providers."""

import pytest

from server.models.concurrency import Share
from server.models.resilience import Guard
from tests.support import guarded_requests as guarded

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "D9")]


@pytest.mark.parametrize("limit", [3, 8, 10, 1000])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_parts_of_a_limit_add_up_to_it(limit: int, count: int) -> None:
    places = [Share(index, count).compute_places(limit) for index in range(count)]
    assert sum(places) == limit
    assert max(places) - min(places) <= 1


def test_nobody_is_left_without_a_place() -> None:
    assert [Share(index, 3).compute_places(2) for index in range(3)] == [1, 1, 1]


async def test_a_fixed_limit_is_shared_with_those_who_come_and_handed_on_when_they_go() -> None:
    guard, held = Guard(provider_concurrency=4), guarded.HeldScript()
    guard.set_share(Share(1, 2))
    model, outcomes = guarded.build_model(guard, held.answer), guarded.RequestResults()

    async with guarded.open_tasks() as tasks:
        outcomes.start(tasks, model, range(6))
        await guarded.let_tasks_run()
        shared = len(held.requested_seats)
        guard.set_share(Share(0, 1))
        await guarded.let_tasks_run()
        alone = len(held.requested_seats)
        guard.set_share(Share(0, 2))
        held.release.set()

    assert (shared, alone) == (2, 4)
    assert len(outcomes.replies) == 6
    assert guard.limit("acme").places == 2
    assert guard.limit("").places == guard.concurrency
