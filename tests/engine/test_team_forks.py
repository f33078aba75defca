"""Forks that want a team of their own: chosen anew when they are opened, of the parent's candidates or of others."""

from typing import Any

import pytest

from server.debate.commands.requests import ChangesInput
from server.debate.facts.setup.team import Team
from server.debate.records.setup import check_opened
from server.debate.views.state import build_state
from server.debate.votes.families import family
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from tests.support.engines import run_debate, start_debate
from tests.support.teams import DEBATERS, GOOD, NAMES, POOR, list_seats, open_many, start, teach

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D17")]


async def fork(
    manager: DebateManager, parent: DebateSnapshot, at_round: int = 1, **changes: Any
) -> DebateSnapshot:
    asked = ChangesInput.model_validate(changes)
    return await manager.fork(parent.id, at_round, asked, actor="test")


def read_team(snapshot: DebateSnapshot) -> Team:
    team = snapshot.debate.setup.team
    assert team is not None
    return team


def list_kinds(names: Any) -> set[str]:
    return {name.partition("/")[2] for name in names}


async def test_a_fork_has_its_models_chosen_anew_by_what_is_known_by_then(database: str) -> None:
    async with open_many(database) as manager:
        poor = [name for name in NAMES if name.partition("/")[2] in POOR]
        ended = await run_debate(manager, debaters=DEBATERS, models=poor[:2])
        await teach(manager, 100)
        forked = await fork(manager, ended, team={"candidates": list(NAMES)})
        team = read_team(forked)
        assert list_kinds(list_seats(forked)) <= {*GOOD}
        assert list_seats(forked) == list(team.chosen)
        assert forked.debate.setup.judges.models == team.judges[:1]
        assert team.settled_items == 20
        assert build_state(forked)["team"]["chosen"] == list(team.chosen)
        assert read_team(await fork(manager, ended, team={"candidates": list(NAMES)})) == team
        other = await fork(manager, ended, team={"candidates": list(NAMES)}, seed=77)
        assert read_team(other).candidates != team.candidates
        manager.run_to_end(forked)
        assert (await manager.follow(forked.id, wait=5)).status == "concluded"


async def test_without_candidates_the_parents_are_chosen_from_and_else_the_usual_models() -> None:
    async with open_many() as manager:
        ended = await run_debate(manager, debaters=DEBATERS, options={"team": {"candidates": list(NAMES)}})
        await teach(manager, 100, "law")
        again = read_team(await fork(manager, ended, team={"topic": " LAW "}))
        assert [one.model for one in again.candidates] == list(NAMES)
        assert again.topic == "law"
        plain = await run_debate(manager, debaters=DEBATERS, models=list(NAMES[:2]))
        usual = read_team(await fork(manager, plain, team={}))
        assert [one.model for one in usual.candidates] == ["mine"]


async def test_models_that_a_change_names_stay_and_so_does_a_caller() -> None:
    async with open_many() as manager:
        await teach(manager, 100)
        ended = await start(manager)
        named = await fork(manager, ended, 0, team={}, models={"Ada": "mine"})
        assert list_seats(named) == ["mine", *read_team(named).chosen]
        assert read_team(named).seated == ("mine",)
        judges = {"models": ["acme/six", "beta/six"]}
        panel = await fork(manager, ended, 0, team={}, judges=judges)
        assert list(panel.debate.setup.judges.models) == judges["models"]
        assert read_team(panel).judges == ()
        three = await fork(manager, ended, 0, team={}, judges={"count": 3})
        assert three.debate.setup.judges.models == read_team(three).judges[:3]
        rows = [{**DEBATERS[0], "model": "caller"}, {**DEBATERS[1], "model": "mine"}]
        written = await start_debate(manager, debaters=rows, options={"judges": {"models": ["caller"]}})
        forked = await fork(manager, written, 0, team={"candidates": list(NAMES)})
        assert list_seats(forked) == ["caller", *read_team(forked).chosen]
        assert forked.debate.setup.judges.models == ("caller",)


async def test_judges_of_a_fork_are_of_other_families() -> None:
    names = tuple(f"{vendor}/one" for vendor in ("acme", "beta", "gamma", "delta"))
    async with open_many(names=names) as manager:
        options = {"judges": {"models": ["mine"]}}
        ended = await start_debate(manager, debaters=DEBATERS, models=["mine"], options=options)
        forked = await fork(manager, ended, 0, team={"candidates": list(names)})
        panel = forked.debate.setup.judges
        assert {*map(family, panel.models)}.isdisjoint(map(family, list_seats(forked)))
        check_opened(forked.debate.setup)


async def test_judges_that_were_heard_stay(database: str) -> None:
    async with open_many(database) as manager:
        options = {"synthesizer": True, "judges": {"models": ["mine"]}}
        ended = await run_debate(manager, debaters=DEBATERS, models=list(NAMES[:2]), options=options)
        heard = max(judged.round for judged in ended.debate.judgments)
        await teach(manager, 100)
        forked = await fork(manager, ended, heard, team={"candidates": list(NAMES)})
        assert forked.debate.setup.judges.models == ("mine",)
        assert read_team(forked).judges == ()


async def test_judges_that_a_fork_names_were_not_chosen() -> None:
    async with open_many() as manager:
        ended = await run_debate(manager, debaters=DEBATERS, options={"team": {"candidates": list(NAMES)}})
        forked = await fork(manager, ended, judges={"models": ["mine"]})
        team = build_state(forked)["team"]
        assert (team["chosen"], team["judges"]) == (list_seats(ended), [])
        assert "to judge" not in team["reason"]
        check_opened(forked.debate.setup)
