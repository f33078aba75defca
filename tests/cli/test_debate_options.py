"""The options of `counterpoint debate`, and turns of the caller in the terminal."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from server.debate.commands.requests import LimitsInput
from tests.support.processes.research_client import build_server_config
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("M5")

SCHEMA = {
    "type": "object",
    "properties": {"decision": {"type": "string", "maxLength": 80}},
    "required": ["decision"],
}
CALLER = ["--debater", "Me=caller: yes", "--debater", "Bot: no", "--format", "verdict", "--rounds", "1"]
NAMES = ("scripted", "scripted?chars=60", "scripted?chars=70", "scripted?chars=80")
SIDES = ("--debater", "Ada: Ship it", "--debater", "Ben: Wait")
CANDIDATES = [part for name in NAMES for part in ("--candidate", name)]


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOINT_MODELS", "scripted")


def open_setup(cli: Cli, *arguments: str) -> dict[str, Any]:
    """The set-up of a debate with these options, which is held to its end."""
    result = cli("debate", "Ship it?", *arguments, "--json")
    assert result.exit_code == 0, result.output
    exported = cli("export", json.loads(result.stdout)["debate_id"], "--as", "json")
    return dict(json.loads(exported.stdout)["entries"][0]["body"])


@pytest.mark.requirement("B1", "B6", "C15")
def test_speaking_hand_offs_limits_and_a_referee_become_the_set_up(cli: Cli) -> None:
    arguments = ["--speaking", "handoff", "--max-turns", "3", "--referee"]
    setup = open_setup(cli, "--format", "verdict", "--rounds", "9", *arguments)

    assert setup["phases"][0]["order"] == "handoff"
    assert (setup["max_turns"], setup["max_rounds"]) == (3, 9)
    assert [officer["seat"] for officer in setup["officers"]] == ["referee"]


@pytest.mark.requirement("A2", "C3", "C6", "D1", "N24")
def test_phases_a_moderator_with_tools_and_equal_stances_become_the_set_up(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = {"notes": build_server_config("broken").model_dump()}
    monkeypatch.setenv("COUNTERPOINT_MCP_SERVERS", json.dumps(servers))
    arguments = ["--debater", "Ada: ship it", "--debater", "Bob: Ship it"]
    arguments += [
        "--phase",
        "argumentation",
        "--phase",
        "voting",
        "--moderator",
        "both",
        "--tools",
        "notes/pid",
    ]
    setup = open_setup(cli, *arguments, "--speaking", "moderated")

    assert [debater["stance"] for debater in setup["debaters"]] == ["ship it", "Ship it"]
    assert [phase["name"] for phase in setup["phases"]] == ["argumentation", "voting"]
    moderator = setup["moderator"]
    assert (moderator["opens"], moderator["closes"], moderator["tools"]) == (True, True, ["notes/pid"])


@pytest.mark.requirement("C10")
def test_a_schema_in_a_file_shapes_the_result(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA), encoding="utf-8")

    result = cli("debate", "Ship it?", "--output-schema", str(path), "--json")
    shown = cli("show", json.loads(result.stdout)["debate_id"], "--view", "verdict")

    made = json.loads(result.stdout)["result"]["deliverable"]
    assert list(made) == ["decision"]
    assert '"decision": "Decision: the stronger reasons' in " ".join(shown.stdout.split())


@pytest.mark.parametrize("name", ["settle", "handoff", "round_robin", "full"])
def test_every_format_is_shown_as_it_runs(cli: Cli, name: str) -> None:
    result = cli("debate", "Ship it?", "--format", name, "--seed", "7")

    steps = {
        "settle": [
            "moderator (scripted)",
            "== Round 1: argumentation ==",
            "Status: CONTINUE",
            "Status: SETTLED",
        ],
        "handoff": ["== Round 1: discussion ==", "> Proponent hands over to Opponent.", "judge 1, reading 1"],
        "round_robin": ["synthesizer (scripted)", "== Round 3: deliverable ==", "The question was", "Result"],
        "full": ["question to ", "answer to ", "== Round 7: voting ==", "votes for ", "judge 1, reading 2"],
    }[name]
    assert (result.exit_code, result.stderr) == (0, "")
    places = [result.stdout.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places)
    assert "\x1b" not in result.stdout


# Limits ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("N10", "D3")
def test_every_limit_can_be_set(cli: Cli) -> None:
    limits = "--timeout 50 --round-timeout 60 --max-seconds 600 --max-calls 40 --max-cost-usd 0.5"
    stored = open_setup(
        cli,
        *limits.split(),
        *["--thinking", "low", "--thinking-tokens", "12000"],
        *["--on-budget", "pause", "--fallback-model", "scripted?chars=900", "--quorum", "1"],
    )
    assert stored["limits"] == {
        "max_calls": 40,
        "max_input_tokens": 0,
        "max_output_tokens": 0,
        "max_cost_usd": "0.5",
        "max_seconds": 600,
        "round_timeout": 60,
        "on_budget": "pause",
        "thinking_tokens": 12_000,
    }
    assert stored["thinking"] == "low"
    assert (stored["turn_timeout"], stored["quorum"]) == (50, 1)
    assert stored["fallback_models"] == ["scripted?chars=900"]


@pytest.mark.requirement("N10", "D4")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--max-calls", "20"], "Leaning (1 of 1 judge"),
        (["--on-budget", "conclude"], "Leaning ("),
    ],
)
def test_a_debate_paused_by_its_budget_can_continue(cli: Cli, options: list[str], expected: str) -> None:
    paused = cli("debate", "Ship it?", "--format", "verdict", "--max-calls", "4", "--on-budget", "pause")
    paused_id = paused.stderr.split("--continue ")[1].split()[0]

    result = cli("debate", "--quiet", "--continue", paused_id, *options)

    assert (paused.exit_code, result.exit_code, expected in result.stdout) == (1, 0, True)


@pytest.mark.requirement("D4")
def test_a_debate_that_goes_on_counts_the_answers_that_it_has(cli: Cli) -> None:
    paused = cli("debate", "Ship it?", "--format", "second_opinion", "--pause-when", "round:2")
    paused_id = paused.stderr.split("--continue ")[1].split()[0]

    going_on = cli("debate", "--continue", paused_id).stdout

    assert f"2 answers so far: counterpoint show {paused_id}" in going_on


@pytest.mark.requirement("N10", "D4")
def test_a_limit_is_a_number_and_never_a_boolean() -> None:
    for limits in ({"max_calls": True}, {"max_cost_usd": True}, {"turn_timeout": False}):
        with pytest.raises(ValidationError, match="must be a number, not a boolean"):
            LimitsInput.model_validate(limits)
    assert LimitsInput.model_validate({"max_calls": 1}).max_calls == 1


# The caller's seat -----------------------------------------------------------------------------------


@pytest.mark.requirement("N7")
def test_the_caller_s_turns_are_read_from_stdin(cli: Cli) -> None:
    result = cli("debate", "Ship it?", *CALLER, "--rounds", "2", input="One.\nStill one.\n\n\nTwo.\n")

    assert result.exit_code == 0, result.output
    shown = result.stdout
    steps = ["Your turn: Me, round 1 (argument)", "Your position: yes", "End it with an empty line.", "One."]
    steps += [
        "Still one.",
        'Bot ("no")',
        "Your turn: Me, round 2 (argument)",
        "Two.",
        "Leaning (1 of 1 judge",
    ]
    assert [shown.index(step) for step in steps] == sorted(shown.index(step) for step in steps)


@pytest.mark.requirement("N7")
def test_an_invalid_turn_can_be_written_again(cli: Cli) -> None:
    arguments = ["--debater", "Me: yes", "--debater", "Bot: no", "--judge-model", "caller"]
    first, second = (
        json.dumps({"verdict": f"Bot has it, {reading}.", "winner": "Bot", "reasoning": "So.", "margin": 2})
        for reading in ("first", "second")
    )

    result = cli(
        "debate", "Q?", *arguments, "--format", "verdict", input=f"Who knows.\n\n{first}\n\n{second}\n"
    )

    assert result.exit_code == 0, result.output
    assert "! This is not what judge 1 was asked for: the reply is prose" in result.stdout
    assert "Leaning (1 of 1 judge, 1 family)" in result.stdout


@pytest.mark.requirement("N7", "M3")
def test_a_debate_goes_on_with_its_next_turn_after_stdin_was_closed(cli: Cli) -> None:
    closed = cli("debate", "Ship it?", *CALLER, input="")
    found = [word.rstrip(".") for word in closed.stderr.split()]
    going_on = cli("debate", "--continue", found[-1], input="Because it is ready.\n\n")

    assert closed.exit_code == 1
    assert "Your turn: Me, round 1 (argument)" in closed.stdout
    assert "The debate is waiting: The caller is to write for Me" in closed.stderr
    assert "Continue with: counterpoint debate --continue " in closed.stderr
    assert (going_on.exit_code, going_on.stderr) == (0, "")
    assert "Because it is ready." in going_on.stdout
    assert "Leaning (1 of 1 judge" in going_on.stdout


@pytest.mark.requirement("D10")
def test_a_rule_of_consensus_is_a_kind_or_json(cli: Cli) -> None:
    by_kind = cli("debate", "Ship it?", "--judges", "3", "--voting", "none")
    by_json = cli("debate", "Ship it?", "--voting", '{"kind": "supermajority", "threshold": "3/4"}')
    refused = cli("debate", "Ship it?", "--voting", '{"treshold": "3/4"}')

    shown = [
        cli("show", one.stdout.split("counterpoint show ")[1].split()[0], "--view", "verdict").stdout
        for one in (by_kind, by_json)
    ]
    assert "rule: none: votes are counted, and nobody wins by them" in shown[0]
    assert "rule: a supermajority, 3/4 or more of all seats asked: " in shown[1]
    assert refused.exit_code != 0
    assert "options voting treshold: it is unknown." in refused.output


@pytest.mark.requirement("N1")
def test_effort_is_an_option_and_a_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_setup(cli)["effort"]["level"] == "standard"
    assert open_setup(cli, "--effort", "quick")["ballots"] == "none"
    monkeypatch.setenv("COUNTERPOINT_EFFORT", "assured")
    assert open_setup(cli)["ballots"] == "rounds"
    assert open_setup(cli, "--effort", "standard")["ballots"] == "blind"
    monkeypatch.setenv("COUNTERPOINT_EFFORT", "most")
    assert "The setting effort (COUNTERPOINT_EFFORT)" in cli("debate", "Ship it?").stderr


@pytest.mark.requirement("N5", "N6")
def test_a_mirror_and_a_baseline_are_options_and_stand_in_the_summary(cli: Cli) -> None:
    held = cli("debate", "Ship it?", "--mirror", "true", "--baseline").stdout
    debate_id = held.split("counterpoint show ")[1].split()[0]
    printed = cli("show", debate_id, "--view", "verdict").stdout
    setup = open_setup(cli, "--mirror", "if_decided", "--rounds", "1")

    assert "Mirror (stances swapped)" in printed
    assert "The mirror agrees." in " ".join(printed.split())
    assert "blind ballots for" in printed
    assert setup["mirror"] == "if_decided"


@pytest.mark.requirement("N28", "N32")
def test_the_answer_that_is_to_be_checked_is_given_as_text_or_file_and_told_of_first(
    cli: Cli, tmp_path: Path
) -> None:
    draft = tmp_path / "draft.md"
    draft.write_text("Begin small with it.", encoding="utf-8")

    for given in ("Begin small with it.", f"@{draft}"):
        shown = cli(
            "debate", "Ship it?", "--model", "scripted", "--quiet", "--my-answer", given, framing=True
        )
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert shown.stdout.lstrip().startswith("Your answer: It ")
        assert shown.stdout.index("Your answer: ") < shown.stdout.index("Leaning: ")
        told = json.loads(cli("show", "latest", "--view", "events", "--json").stdout)
        assert told["events"][0]["answering"]["mine"] == "Begin small with it."

    missing = cli("debate", "Ship it?", "--model", "scripted", "--my-answer", "@nowhere.md")
    assert missing.exit_code == 2
    assert "nowhere.md" in missing.stderr


@pytest.mark.requirement("D23")
def test_the_terminal_stops_and_says_how_to_go_on(cli: Cli) -> None:
    stopped = cli(
        "debate", "Ship it?", "--model", "scripted", "--pause-when", "verdict", "--pause-when", "round:2"
    )
    [debate_id] = re.findall(r"counterpoint debate --continue (\w+)", stopped.stderr)
    assert stopped.exit_code == 1
    assert "pause_when round:2: round 2 (rebuttal) comes next" in " ".join(stopped.stdout.split())
    assert "The debate is paused. Continue with: " in stopped.stderr, "the reason is told once"

    later = cli("debate", "--continue", debate_id)
    assert "pause_when verdict" in later.stdout
    assert "verdict" not in {
        line.partition(": ")[2] for line in later.stdout.splitlines() if line[:2] == "=="
    }
    assert cli("debate", "--continue", debate_id).exit_code == 0
    assert "is not a breakpoint" in cli("debate", "Ship it?", "--pause-when", "later").stderr


def read_team(cli: Cli, debate_id: str) -> dict[str, object]:
    team: dict[str, object] = json.loads(cli("show", debate_id, "--view", "state").stdout)["team"]
    return team


@pytest.mark.requirement("D17")
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
