"""Progress reports of a call: who answered, how many of how many, never less than before."""

import re
from typing import Any

import anyio
import pytest

from tests.support.client_calls import call
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M4")]

Report = tuple[float, float, str]


class Reports(list[Report]):
    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        assert total is not None
        assert message is not None
        self.append((progress, total, message))

    @property
    def answered(self) -> list[str]:
        """The names in the order of their reports."""
        return self.find_names("answered")

    @property
    def voted(self) -> list[str]:
        return self.find_names("voted in private")

    def find_names(self, verb: str) -> list[str]:
        found = [re.search(rf"([^,:.]+(?: and [^,:.]+)?) {verb}[,.] ", message) for _, _, message in self]
        return [name for match in found if match for name in re.split(" and ", match[1].strip())]


def check_growth(reports: Reports) -> None:
    """Progress grows with every report, the total never shrinks, and neither contradicts the sentence."""
    assert len({progress for progress, *_ in reports}) == len(reports)
    for values in zip(*((progress, total) for progress, total, _ in reports), strict=True):
        assert list(values) == sorted(values)
    for progress, total, message in reports:
        done, expected = map(int, re.findall(r"(\d+) of (\d+)$", message)[0])
        assert done <= progress < done + 1
        assert done <= expected == total


async def test_a_second_opinion_names_who_answered_and_how_many_are_left(open_client: Any) -> None:
    reports = Reports()
    debaters = [{"name": name, "stance": name} for name in ("Ada", "Ben")]
    async with open_client(default="scripted?delay=0.02") as client:
        await client.call_tool(
            "start_debate",
            {"question": "Ship it?", "run": True, "debaters": debaters},
            progress_callback=reports,
        )

    check_growth(reports)
    assert {total for _, total, _ in reports} == {10.0}
    assert {"Ada", "Ben"} <= {*reports.answered}
    assert {"Ada", "Ben"} == {*reports.voted}
    assert any("waiting for Ada (scripted" in message and "and Ben (" in message for *_, message in reports)


async def test_the_total_grows_with_the_plan(open_modern: Any) -> None:
    gate, reports = Gate(), Reports()
    async with open_modern({"gated": gate.model}, "gated") as client, anyio.create_task_group() as tasks:
        debate_id = (await call(client, "start_debate", question="Ship it?"))["debate_id"]

        async def wait_for_verdict() -> None:
            await client.call_tool("get_verdict", {"debate_id": debate_id}, progress_callback=reports)

        await call(client, "step_round", debate_id=debate_id, wait_seconds=0)
        await gate.wait_for_call()
        tasks.start_soon(wait_for_verdict)
        with anyio.fail_after(PATIENCE):
            while not reports:
                await wait_before_next_poll()
        await call(client, "intervene", debate_id=debate_id, action="extend", rounds=2)
        gate.release.set()

    check_growth(reports)
    assert reports[0][1:] == (
        10.0,
        "Opening: waiting for Proponent (gated) and Opponent (gated), then rebuttal and verdict. 0 of 10",
    )
    assert reports[-1][1] == 18.0  # four turns more, and two waves of ballots that may end the talk
