"""A budget of calls holds whatever the models do: every attempt counts, and none is made beyond it."""

from pathlib import Path

import anyio
import pytest

from server.compose import open_manager
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.errors import InvalidRequestError
from server.debate.rules.budget import compute_spending
from server.models.fakes.chaos import Chaos
from server.settings import Settings
from tests.support.engines import run_debate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N10", "D16")]


@pytest.mark.full
@pytest.mark.parametrize("chaos", [Chaos(failure=0.4, seed=2), Chaos(failure=0.4, seed=5)], ids=str)
@pytest.mark.parametrize("most", range(6, 11))
async def test_failures_take_no_more_calls_than_the_budget_has(
    most: int, chaos: Chaos, tmp_path: Path
) -> None:
    settings = Settings(db=str(tmp_path / "debates.db"), models=("scripted",))
    with anyio.fail_after(PATIENCE):
        async with open_manager(settings, environ={}, chaos=chaos) as manager:
            for name in FORMATS:
                options = {"seed": most, "limits": {"max_calls": most}}
                try:
                    snapshot = await run_debate(manager, format=name, options=options)
                except InvalidRequestError:  # its first round alone takes more
                    continue
                assert snapshot.status in ("concluded", "truncated", "paused")
                assert compute_spending(snapshot.debate).calls <= most
