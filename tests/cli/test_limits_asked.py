"""What a debate may take, asked for on the command line."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from server.cli.main import counterpoint
from server.debate.commands.requests import LimitsInput


def debate(database: str, *options: str) -> Result:
    command = ["--db", database, "debate", "Ship it?", "--model", "scripted", *options]
    return CliRunner().invoke(counterpoint, command, prog_name="counterpoint")


def setup(database: str, *options: str) -> dict[str, Any]:
    """What the debate was agreed to be."""
    result = debate(database, "--json", *options)
    assert result.exit_code == 0, result.output
    shown = ["--db", database, "export", json.loads(result.stdout)["debate_id"], "--as", "json"]
    exported = CliRunner().invoke(counterpoint, shown, prog_name="counterpoint")
    return dict(json.loads(exported.stdout)["entries"][0]["body"])


@pytest.mark.requirement("N10", "D3")
def test_every_limit_can_be_set(database: str) -> None:
    limits = ["--timeout", "50", "--round-timeout", "60", "--max-seconds", "600", "--max-calls", "40"]
    spending = ["--max-cost-usd", "0.5", "--on-budget", "pause"]
    failing = ["--fallback-model", "scripted?chars=900", "--quorum", "1"]
    agreed = setup(database, *limits, *spending, *failing)
    assert agreed["limits"] == {
        "max_calls": 40,
        "max_input_tokens": 0,
        "max_output_tokens": 0,
        "max_cost_usd": "0.5",
        "max_seconds": 600,
        "round_timeout": 60,
        "on_budget": "pause",
    }
    assert (agreed["turn_timeout"], agreed["quorum"]) == (50, 1)
    assert agreed["fallback_models"] == ["scripted?chars=900"]


@pytest.mark.requirement("N10")
def test_what_is_not_asked_for_stays_as_it_is(database: str) -> None:
    agreed = setup(database)
    assert agreed["turn_timeout"] == LimitsInput().turn_timeout
    assert agreed["limits"]["on_budget"] == "conclude"
    assert not any(value for name, value in agreed["limits"].items() if name != "on_budget")


@pytest.mark.requirement("N10")
def test_a_budget_holds_in_the_terminal_too(database: str) -> None:
    result = debate(database, "--format", "verdict", "--rounds", "4", "--max-calls", "5", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["state"]["usage"]["calls"] <= 5
    assert told["state"]["reason"].startswith("budget: 4 of 5 calls spent")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--max-cost-usd", "0"], "0.0 is not in the range x>0"),
        (["--max-calls", "many"], "'many' is not a valid integer"),
        (["--on-budget", "stop"], "'stop' is not one of 'conclude', 'pause'"),
        (["--max-calls", "1"], "The limits do not allow one round of talk"),
        (["--quorum", "5"], "options.quorum=5 can never be met: there are 2."),
    ],
)
@pytest.mark.requirement("N10")
def test_what_cannot_be_held_is_refused_and_says_why(database: str, options: list[str], why: str) -> None:
    result = debate(database, *options)
    assert result.exit_code != 0
    assert why in result.output


@pytest.mark.requirement("N10")
def test_the_doctor_says_what_the_day_has_taken(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOINT_DAILY_CALLS", "100")
    setup(database)
    shown = CliRunner().invoke(counterpoint, ["--db", database, "doctor"], prog_name="counterpoint")
    assert "today           6 calls of 100 allowed, $0 (since midnight, UTC)" in shown.output
