"""An outcome that is recorded after the end: hooks hear it, once, and none can record one."""

from pathlib import Path

import pytest

from server.debate.interventions.action import InterventionRequest
from server.hooks.config import load_hooks_config
from server.settings import InvalidSettingsError
from tests.support.engines import run_debate
from tests.support.hook_debates import hook, open_hooks, write_hooks_file
from tests.support.log_lines import LogLines

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N21", "D6")]


async def test_an_outcome_is_heard_after_the_end(database: str, log_lines: LogLines) -> None:
    hooks = [
        hook("learn", "outcome", {"log": "{truth}: {reason}"}),
        hook("end", "debate_end", {"log": "over"}),
    ]
    async with open_hooks(database, *hooks) as manager:
        debaters = [{"name": "Ada", "stance": "Ship it"}, {"name": "Ben", "stance": "Wait"}]
        snapshot = await run_debate(manager, debaters=debaters)
        await log_lines.wait_for("over")  # hooks do not wait for one another
        for truth in ("Ada", "Ben"):
            request = InterventionRequest(to=truth, reason=f"{truth} knew.")
            await manager.intervene(snapshot.id, "outcome", request, actor="Kim")
            await log_lines.wait_for(f"{truth}: {truth} knew.")

    assert log_lines.messages == ["over", "Ada: Ada knew.", "Ben: Ben knew."]


async def test_no_hook_can_be_configured_to_record_an_outcome(tmp_path: Path) -> None:
    wrong = hook("judge", "verdict", {"intervene": {"action": "outcome", "to": "Ada"}})
    with pytest.raises(InvalidSettingsError, match="outcome"):
        load_hooks_config(str(write_hooks_file(tmp_path, wrong)), {})
