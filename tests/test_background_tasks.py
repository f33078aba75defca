"""Tasks in the background: whatever one raises is logged, and ends neither the others nor the process."""

import logging

import anyio
import pytest

from server.background_tasks import BackgroundTasks
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N35")]


class Upkeep:
    """Raises these in turn, and runs from then on."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.runs = [*errors], anyio.Event()

    async def run(self) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.runs.set()
        await anyio.sleep_forever()


async def test_upkeep_that_fails_begins_again_and_each_error_is_logged_once_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one, other = ZeroDivisionError("one"), KeyError("other")
    failing, sound = Upkeep(one, one, one, other), Upkeep()
    async with BackgroundTasks(first_pause=0.001) as tasks:
        tasks.keep_running(failing.run)
        tasks.keep_running(sound.run)
        with anyio.fail_after(PATIENCE):
            await failing.runs.wait()
            await sound.runs.wait()

    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [one, other]
    assert "Upkeep.run failed" in caplog.text


async def test_work_that_fails_is_logged_and_done_once(caplog: pytest.LogCaptureFixture) -> None:
    failing, sound = Upkeep(KeyError("lost")), Upkeep()
    async with BackgroundTasks() as tasks:
        tasks.start(failing.run)
        tasks.keep_running(sound.run)
        with anyio.fail_after(PATIENCE):
            await sound.runs.wait()
            await anyio.wait_all_tasks_blocked()

    assert not failing.runs.is_set()
    assert "KeyError: 'lost'" in caplog.text
