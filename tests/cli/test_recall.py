"""`counterpoint recall`: what earlier debates concluded on related questions."""

import json

import pytest

from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("D18")


@pytest.mark.usefixtures("new_database")
def test_what_was_concluded_on_a_related_question_is_shown(cli: Cli) -> None:
    nothing = cli("recall", "Do we rewrite the billing service?")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr == "No earlier debate concluded anything on a related question.\n"

    question = "Should we rewrite the billing service in Rust?"
    ran = json.loads(cli("debate", question, "--model", "scripted", "--json").stdout)
    again = json.loads(cli("recall", "Do we rewrite the billing service?", "--json").stdout)["recalled"]

    assert [(one["debate_id"], one["question"], one["dry_run"]) for one in again] == [
        (ran["debate_id"], question, True)
    ]
    shown = cli("recall", "Do we rewrite the billing service?").stdout
    assert shown.startswith(f"{ran['debate_id']}, {again[0]['at'][:10]}, {again[0]['outcome'].capitalize()}")
    assert f'"{question}"' in shown
    assert "dry run" in shown
    assert again[0]["finding"][:40] in shown


def test_a_debate_is_told_what_was_concluded_where_that_is_asked_for(cli: Cli) -> None:
    def recall_with(*options: str) -> list[str]:
        held = cli("debate", "Do we rewrite billing?", "--model", "scripted", *options, "--json")
        state = json.loads(cli("show", json.loads(held.stdout)["debate_id"], "--view", "state").stdout)
        return [one["debate_id"] for one in state["recalled"]]

    first = json.loads(cli("debate", "Rewrite billing?", "--model", "scripted", "--json").stdout)["debate_id"]
    assert recall_with() == []
    assert first in (found := recall_with("--memory", "own"))
    assert len(found) == 2
    assert len(recall_with("--memory", "1")) == 1
    assert recall_with("--memory", "off") == []
    assert "'6' is not one of 'off', 'own', '1'" in cli("debate", "Ship it?", "--memory", "6").stderr
