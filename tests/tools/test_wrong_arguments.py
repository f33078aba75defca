"""What is too long is measured in what it consists of."""

from typing import Any

import pytest

from tests.support.client_calls import call, expect_tool_error

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D4", "M4")]


async def test_a_text_is_measured_in_characters_though_a_number_would_do_as_well(open_client: Any) -> None:
    async with open_client() as client:
        step = await call(client, "start_debate", question="Ship?")
        wish = {"action": "threshold", "threshold": "1/" + "9" * 50}
        why = await expect_tool_error(client, "intervene", debate_id=step["debate_id"], **wish)
    assert why.endswith("`threshold` may have 20 characters at most, and has 52.")
