"""What waits for its turn, by owner, as metrics show it."""

import pytest
from opentelemetry.metrics import CallbackOptions

from server.telemetry.instruments import MAX_OWNERS, WaitingGauge

pytestmark = pytest.mark.requirement("N15", "N35")


def test_owners_with_the_longest_queues_are_told_by_a_hash_of_their_name() -> None:
    gauge = WaitingGauge()
    gauge.sources["debates"] = lambda: {f"owner {number}": number for number in range(MAX_OWNERS + 5)}
    gauge.sources["requests"] = lambda: {"alice": 2}

    seen = {(*(one.attributes or {}).values(),): one.value for one in gauge.observe(CallbackOptions())}

    assert seen["requests", "2bd806c9"] == 2
    assert len(seen) == MAX_OWNERS + 1
    assert min(seen.values()) == 2
    assert sorted(seen.values())[1] == 5
