"""Teams from the terminal: who is chosen of the candidates of a debate."""

import json

import pytest

from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("D17")

NAMES = ("scripted", "scripted?chars=60", "scripted?chars=70", "scripted?chars=80")
SIDES = ("--debater", "Ada: Ship it", "--debater", "Ben: Wait")
CANDIDATES = [part for name in NAMES for part in ("--candidate", name)]


def read_team(cli: Cli, debate_id: str) -> dict[str, object]:
    team: dict[str, object] = json.loads(cli("show", debate_id, "--view", "state").stdout)["team"]
    return team


def test_debaters_and_judges_are_chosen_from_candidates(cli: Cli) -> None:
    held = cli("debate", "Tea?", *SIDES, *CANDIDATES, "--topic", " Tea ", "--json")
    team = read_team(cli, json.loads(held.stdout)["debate_id"])
    assert (team["candidates"], team["topic"]) == ([*NAMES], "tea")
    assert {*team["chosen"]} < {*NAMES}  # type: ignore[misc]
    alike = json.loads(cli("debate", "Cocoa?", *SIDES, *CANDIDATES, "--diversity", "0", "--json").stdout)
    assert read_team(cli, alike["debate_id"])["diversity"] == "0"
    three = (*SIDES, "--debater", "Cleo: Ask", *CANDIDATES, "--team-size")
    sized = json.loads(cli("debate", "Coffee?", *three, "3", "--json").stdout)
    assert len(read_team(cli, sized["debate_id"])["chosen"]) == 3  # type: ignore[arg-type]
    assert "there are 3 debaters: leave the size out" in cli("debate", "Milk?", *three, "4").stderr
