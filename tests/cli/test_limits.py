"""Limits of a debate on the command line."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pydantic import ValidationError

from server.cli.main import counterpoint
from server.debate.commands.requests import LimitsInput


def debate(database: str, *options: str) -> Result:
    command = ["--db", database, "debate", "Ship it?", "--model", "scripted", *options]
    return CliRunner().invoke(counterpoint, command, prog_name="counterpoint")


def run_and_load_setup(database: str, *options: str) -> dict[str, Any]:
    """The setup that is stored."""
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
    stored = run_and_load_setup(database, *limits, *spending, *failing)
    assert stored["limits"] == {
        "max_calls": 40,
        "max_input_tokens": 0,
        "max_output_tokens": 0,
        "max_cost_usd": "0.5",
        "max_seconds": 600,
        "round_timeout": 60,
        "on_budget": "pause",
    }
    assert (stored["turn_timeout"], stored["quorum"]) == (50, 1)
    assert stored["fallback_models"] == ["scripted?chars=900"]


@pytest.mark.requirement("N10")
def test_limits_that_are_not_given_keep_their_defaults(database: str) -> None:
    stored = run_and_load_setup(database)
    assert stored["turn_timeout"] == LimitsInput().turn_timeout
    assert stored["limits"]["on_budget"] == "conclude"
    assert not any(value for name, value in stored["limits"].items() if name != "on_budget")


@pytest.mark.requirement("N10")
def test_a_budget_holds_in_the_terminal_too(database: str) -> None:
    result = debate(database, "--format", "verdict", "--rounds", "4", "--max-calls", "5", "--json")
    assert result.exit_code == 0, result.output
    result_data = json.loads(result.stdout)
    assert result_data["state"]["usage"]["calls"] <= 5
    assert result_data["state"]["reason"].startswith("budget: 4 of 5 calls spent")


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
def test_an_impossible_limit_is_refused_with_the_reason(database: str, options: list[str], why: str) -> None:
    result = debate(database, *options)
    assert result.exit_code != 0
    assert why in result.output


@pytest.fixture
def paused_id(database: str) -> str:
    """A debate that is paused because its budget is spent."""
    result = debate(database, "--format", "verdict", "--max-calls", "3", "--on-budget", "pause")
    assert result.exit_code == 1
    return result.stderr.split("--continue ")[1].split()[0]


@pytest.mark.requirement("N10", "D4")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--max-calls", "20"], "Verdict: Decided"),
        (["--on-budget", "conclude"], "The talk ended: budget: 2 of 3 calls spent"),
    ],
)
def test_a_debate_paused_by_its_budget_continues_with_other_limits(
    database: str, paused_id: str, options: list[str], expected: str
) -> None:
    command = ["--db", database, "debate", "--quiet", "--continue", paused_id, *options]
    result = CliRunner().invoke(counterpoint, command)

    assert (result.exit_code, expected in result.stdout) == (0, True)


@pytest.mark.requirement("N10", "D4")
def test_a_limit_is_a_number_and_never_a_boolean() -> None:
    for limits in ({"max_calls": True}, {"max_cost_usd": True}, {"turn_timeout": False}):
        with pytest.raises(ValidationError, match="must be a number, not a boolean"):
            LimitsInput.model_validate(limits)
    assert LimitsInput.model_validate({"max_calls": 1}).max_calls == 1
