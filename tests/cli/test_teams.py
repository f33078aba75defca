"""Teams from the terminal: who is chosen of the candidates of a debate, and of a fork."""

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


def test_a_fork_chooses_anew_of_its_candidates_or_of_its_parents(cli: Cli) -> None:
    parent = json.loads(cli("debate", "Tea?", *SIDES, *CANDIDATES, "--json").stdout)["debate_id"]
    two = [part for name in NAMES[2:] for part in ("--candidate", name)]
    forked = json.loads(cli("fork", parent, "--at-round", "1", *two, "--json").stdout)["debate_id"]
    assert {*read_team(cli, forked)["chosen"]} == {*NAMES[2:]}  # type: ignore[misc]
    again = json.loads(cli("fork", parent, "--at-round", "1", "--topic", "tea", "--json").stdout)["debate_id"]
    assert (read_team(cli, again)["candidates"], read_team(cli, again)["topic"]) == ([*NAMES], "tea")
    kept = json.loads(cli("fork", parent, "--at-round", "1", "--json").stdout)["debate_id"]
    assert read_team(cli, kept)["topic"] == ""
    refused = cli("fork", parent, "--at-round", "1", "--candidate", "caller")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "caller cannot be drawn: name it in changes.models" in refused.stderr
