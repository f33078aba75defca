"""`counterpoint cache`: what is kept to spare work."""

import json

import pytest

from server.engine.database.memory import FAR_APART
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("D22")


@pytest.mark.usefixtures("new_database")
def test_what_is_kept_is_shown_and_dropped(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOINT_EMBEDDINGS", "scripted")
    nothing = {"kept": [], "max_bytes": 200_000_000}
    assert json.loads(cli("cache", "show", "--json").stdout) == nothing
    question = "Should we rewrite the billing service in Rust?"
    assert cli("debate", question, "--model", "scripted").exit_code == 0
    assert cli("recall", question).exit_code == 0

    shown = json.loads(cli("cache", "show", "--json").stdout)["kept"]
    assert [(row["kind"], row["number"]) for row in shown] == [("embedding", len(FAR_APART) + 1)]
    assert cli("cache", "show").stdout.startswith(
        f"{shown[0]['number']} embeddings, {shown[0]['bytes']:,} bytes\n"
    )
    assert cli("cache", "clear").stdout == "The cache is empty.\n"
    assert json.loads(cli("cache", "show", "--json").stdout) == nothing


def test_a_debate_in_the_terminal_reuses_answers_where_that_is_asked_for(cli: Cli) -> None:
    asked = ("debate", "Ship it?", "--model", "scripted", "--seed", "7")
    for cache, is_reused in (("reuse", False), ("off", False), ("reuse", True)):
        found = cli(*asked, "--cache", cache)
        assert found.exit_code == 0
        assert ("Reused from other debates" in found.stdout) == is_reused
