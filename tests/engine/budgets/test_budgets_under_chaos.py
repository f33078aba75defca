"""A budget of calls holds whatever the models do: every attempt counts, and none is made beyond it."""

from pathlib import Path

import anyio
import pytest

from server.compose import open_hall
from server.debate.commands.formats import FORMATS
from server.debate.commands.requests import LimitsAsked, OptionsAsked, Proposal
from server.debate.facts.errors import Refused
from server.debate.rules.budget import spent
from server.models.fakes.chaos import Chaos
from server.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N10", "D16")]


@pytest.mark.parametrize("chaos", [Chaos(failure=0.4, seed=2), Chaos(failure=0.4, seed=5)], ids=str)
@pytest.mark.parametrize("most", range(6, 11))
async def test_failures_take_no_more_calls_than_the_budget_has(
    most: int, chaos: Chaos, tmp_path: Path
) -> None:
    settings = Settings(db=str(tmp_path / "debates.db"), models=("scripted",))
    with anyio.fail_after(20):
        async with open_hall(settings, environ={}, chaos=chaos) as hall:
            for name in FORMATS:
                options = OptionsAsked(seed=most, limits=LimitsAsked(max_calls=most))
                try:
                    proposal = Proposal(question="Ship it?", format=name, run=True, options=options)
                    case = await hall.start(proposal, actor="test")
                except Refused:  # its first round alone takes more
                    continue
                case = await hall.follow(case.id, wait=5)

                assert case.status in ("concluded", "truncated", "paused")
                assert spent(case.debate).calls <= most
