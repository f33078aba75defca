"""Debates steered and deleted from the terminal."""

import json
import re
import sys
from typing import Any

import pytest

from tests.support.engines import alter_entries
from tests.support.raw_sql import run_raw
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N28")


@pytest.fixture
def paused_id(cli: Cli) -> str:
    """A debate that waits before its first round."""
    result = cli("debate", "Is tea kinder?", "--model", "scripted", "--pause-when", "round:1", "--json")
    return str(json.loads(result.stdout)["debate_id"])


def read_interventions(cli: Cli, debate_id: str) -> list[dict[str, Any]]:
    return list(json.loads(cli("show", debate_id, "--view", "interventions", "--json").stdout)["log"])


def read_state(cli: Cli, debate_id: str) -> dict[str, Any]:
    return dict(json.loads(cli("show", debate_id, "--view", "state", "--json").stdout))


@pytest.mark.parametrize(
    ("given", "row"),
    [
        (
            ("inject", "--text", "Mind the cost.", "--to", "Opponent"),
            {"text": "Mind the cost.", "to": "Opponent"},
        ),
        (
            ("instruct", "--text", "Be brief.", "--reason", "too long"),
            {"text": "Be brief.", "reason": "too long"},
        ),
        (("weights", "--weights", "judge 1=3/2"), {"text": "judge 1: 3/2"}),
        (("threshold", "--threshold", "2/3"), {"text": "2/3"}),
        (("replace_model", "--to", "Opponent", "--model", "scripted?chars=90"), {"to": "Opponent"}),
        (("extend", "--rounds", "1"), {}),
        (
            ("extend", "--limit", "thinking_tokens=20000", "--limit", "max_cost_usd=0.5"),
            {"text": "max_cost_usd=0.5, thinking_tokens=20000"},
        ),
    ],
)
def test_every_flag_reaches_the_debate(
    cli: Cli, paused_id: str, given: tuple[str, ...], row: dict[str, str]
) -> None:
    result = cli("intervene", paused_id[:5], *given)

    assert (result.exit_code, result.stderr) == (0, "")
    made = read_interventions(cli, paused_id)[-1]
    assert made["actor"] == "terminal"
    assert made["action"] == given[0]
    assert row.items() <= made.items()


def test_tags_come_and_go_at_any_time(cli: Cli, paused_id: str) -> None:
    assert (
        "Searches find it by billing, very urgent"
        in cli("tag", paused_id[:5], "billing", "very urgent").stdout
    )
    assert read_state(cli, paused_id)["tags"] == ["billing", "very urgent"]
    assert cli("debate", "--continue", paused_id).exit_code == 0
    assert read_state(cli, paused_id)["status"] == "concluded"

    assert paused_id in cli("list", "billing").stdout
    assert "It no longer has billing" in cli("tag", paused_id, "--remove", "billing").stdout
    assert paused_id not in cli("list", "billing").stdout
    assert cli("db", "check").exit_code == 0
    assert cli("tag", paused_id, "after the end", "--reason", "for the audit").exit_code == 0

    late = cli("intervene", paused_id, "inject", "--text", "Too late?").stderr
    assert "Fork it to try it otherwise. The verdict has the finding." in late

    assert read_state(cli, paused_id)["tags"] == ["very urgent", "after the end"]
    [row] = json.loads(cli("list", "urgent", "--json").stdout)["debates"]
    assert row["tags"] == ["very urgent", "after the end"]
    made = read_interventions(cli, paused_id)[-1]
    assert (made["action"], made["text"], made["reason"]) == ("tag", "after the end", "for the audit")
    again = cli("tag", paused_id, "very urgent", "--remove")
    assert (again.exit_code, json.loads(cli("list", "urgent", "--json").stdout)["debates"]) == (0, [])
    assert cli("db", "check").exit_code == 0
    missing = cli("tag", paused_id, "billing", "--remove")
    assert (missing.exit_code, "It has no tag 'billing'" in missing.stderr) == (1, True)


def test_a_resumed_debate_that_nobody_runs_is_told_how_to_go_on(cli: Cli, paused_id: str) -> None:
    paid = read_state(cli, paused_id)["usage"]["calls"]

    resumed = cli("intervene", paused_id, "resume")

    told = f"It is resumed.\nNo process runs it now. To go on: counterpoint debate --continue {paused_id}\n"
    assert resumed.stdout == told
    state = read_state(cli, paused_id)
    assert (state["status"], state["usage"]["calls"]) == ("ready", paid)  # nothing was begun and left


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nonsense",), "Invalid value for 'ACTION'"),
        (("weights", "--weights", "judge 1"), "write SEAT=WEIGHT"),
        (("weights", "--weights", "judge 1=1/0"), "write SEAT=WEIGHT"),
        (("extend", "--limit", "max_calls"), "write NAME=VALUE"),
        (("retract", "--round", "0"), "See: counterpoint intervene --help"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_refused_in_one_line(
    cli: Cli, paused_id: str, arguments: tuple[str, ...], told: str
) -> None:
    result = cli("intervene", paused_id, *arguments)

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert told in result.stderr


def test_a_fork_that_is_too_late_says_at_which_round_one_can_begin(cli: Cli) -> None:
    debate_id = json.loads(cli("debate", "Tea?", "--model", "scripted", "--json").stdout)["debate_id"]

    assert "Pass at_round=2, or less." in cli("fork", debate_id, "--at-round", "9").stderr
    assert cli("fork", debate_id, "--at-round", "2", "--quiet").exit_code == 0


@pytest.mark.usefixtures("new_database")
def test_the_latest_debate_is_shown_without_an_id(cli: Cli) -> None:
    nothing = cli("show")
    for question in ("First?", "Second?"):
        cli("debate", question, "--model", "scripted", "--quiet")

    assert (nothing.exit_code, "There are no debates. Start one" in nothing.stderr) == (1, True)
    assert "Second?" in cli("show").stdout.splitlines()[0]
    assert "Second?" in cli("watch").stdout.splitlines()[0]


def test_a_debate_is_deleted_once_somebody_has_agreed(cli: Cli, database: str) -> None:
    debate_id = json.loads(cli("debate", "Is tea kinder?", "--model", "scripted", "--json").stdout)[
        "debate_id"
    ]

    asked = cli("delete", debate_id[:6], input="n\n")
    assert asked.exit_code == 1
    assert f'Debate {debate_id}: "Is tea kinder?", concluded, 4 turns.' in asked.stderr
    assert cli("show", debate_id).exit_code == 0

    head = json.loads(cli("show", debate_id, "--view", "receipt", "--json").stdout)["head"]
    deleted = cli("delete", debate_id, "--yes")

    assert deleted.exit_code == 0
    assert head in deleted.stdout
    assert "payload" in json.loads(cli("receipt", debate_id).stdout)
    for command in ("show", "watch", "export", "compare"):
        refused = cli(command, debate_id)
        assert (refused.exit_code, "was deleted on" in refused.stderr) == (1, True)
    assert cli("list").stdout == ""
    assert cli("db", "check").exit_code == 0
    [(entry_count,)] = run_raw(database, "select count(*) from journal")
    assert int(entry_count) == 1


@pytest.mark.both_databases
def test_a_damaged_debate_is_deleted_too(cli: Cli, database: str) -> None:
    debate_id = json.loads(cli("debate", "Tea?", "--model", "scripted", "--json").stdout)["debate_id"]
    alter_entries(database, "Tea?", "Tee?")

    deleted = cli("delete", debate_id, input="y\n")

    assert deleted.exit_code == 0
    assert "It cannot be read" in deleted.stderr


if sys.platform != "win32":
    from tests.support.processes.terminals import TerminalProgram, open_terminal

in_terminals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")
STARTED = ("debate", "Is tea kinder?", "--no-framing", "--model")


class TestWatching:
    pytestmark = in_terminals

    def test_a_debate_that_was_left_is_watched_and_steered_from_another_terminal(
        self, database: str, cli: Cli
    ) -> None:
        with open_terminal(*STARTED, "scripted?delay=4", database=database) as program:
            program.wait_for("[opening]", "q leave it running")
            program.send("q")
            assert program.wait() == 0
            found = re.search(r"counterpoint watch ([2-9a-z]{12})", program.whole)
            assert found
        with open_terminal("watch", found[1][:4], database=database, columns=80) as watcher:
            watcher.wait_for("Proponent for", "p pause  n note  c conclude  q leave")
            watcher.send("p")
            watcher.wait_for("paused on request", "p go on")
            watcher.send("q")
            assert watcher.wait() == 0
            assert watcher.is_restored
            assert f"It goes on without you. Watch it again: counterpoint watch {found[1]}" in watcher.whole
        assert cli("debate", "--continue", found[1], "--model", "scripted").exit_code == 0

    def test_a_debate_that_is_deleted_ends_for_who_watches_it(self, database: str, cli: Cli) -> None:
        with open_terminal(*STARTED, "scripted?delay=60", database=database) as program:
            program.wait_for("[opening]", "q leave it running")
            with open_terminal("watch", database=database) as watcher:
                watcher.wait_for("Proponent for")
                assert cli("delete", find_id(watcher), "--yes").exit_code == 0
                assert watcher.wait() == 1
                assert watcher.is_restored
                assert "was deleted on" in watcher.whole
            assert program.wait() == 1
            assert program.is_restored
            assert "was deleted on" in program.whole


def find_id(program: "TerminalProgram") -> str:
    found = re.search(r"debate ([2-9a-z]{12})", program.whole)
    assert found, program.whole
    return found[1]
