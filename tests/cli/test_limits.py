"""Limits of a debate on the command line."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from server.debate.commands.requests import LimitsInput
from tests.support.servers import Cli

DEBATE = ("debate", "Ship it?", "--model", "scripted")


def run_and_load_setup(cli: Cli, *options: str) -> dict[str, Any]:
    """The setup that is stored."""
    result = cli(*DEBATE, "--json", *options)
    assert result.exit_code == 0, result.output
    exported = cli("export", json.loads(result.stdout)["debate_id"], "--as", "json")
    return dict(json.loads(exported.stdout)["entries"][0]["body"])


@pytest.mark.requirement("N10", "D3")
def test_every_limit_can_be_set(cli: Cli) -> None:
    limits = ["--timeout", "50", "--round-timeout", "60", "--max-seconds", "600", "--max-calls", "40"]
    spending = ["--max-cost-usd", "0.5", "--on-budget", "pause"]
    failing = ["--fallback-model", "scripted?chars=900", "--quorum", "1"]
    stored = run_and_load_setup(cli, *limits, *spending, *failing)
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
def test_limits_that_are_not_given_keep_their_defaults(cli: Cli) -> None:
    stored = run_and_load_setup(cli)
    assert stored["turn_timeout"] == LimitsInput().turn_timeout
    assert stored["limits"]["on_budget"] == "conclude"
    assert not any(value for name, value in stored["limits"].items() if name != "on_budget")


@pytest.mark.requirement("N10")
def test_a_budget_holds_in_the_terminal_too(cli: Cli) -> None:
    result = cli(*DEBATE, "--format", "verdict", "--rounds", "4", "--max-calls", "5", "--json")
    assert result.exit_code == 0, result.output
    result_data = json.loads(result.stdout)
    assert result_data["state"]["usage"]["calls"] <= 5
    assert result_data["state"]["reason"].startswith("budget: 4 of 5 calls spent")


@pytest.fixture
def paused_id(cli: Cli) -> str:
    """A debate that is paused because its budget is spent."""
    result = cli(*DEBATE, "--format", "verdict", "--max-calls", "3", "--on-budget", "pause")
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
    cli: Cli, paused_id: str, options: list[str], expected: str
) -> None:
    result = cli("debate", "--quiet", "--continue", paused_id, *options)

    assert (result.exit_code, expected in result.stdout) == (0, True)


@pytest.mark.requirement("N10", "D4")
def test_a_limit_is_a_number_and_never_a_boolean() -> None:
    for limits in ({"max_calls": True}, {"max_cost_usd": True}, {"turn_timeout": False}):
        with pytest.raises(ValidationError, match="must be a number, not a boolean"):
            LimitsInput.model_validate(limits)
    assert LimitsInput.model_validate({"max_calls": 1}).max_calls == 1
