"""Breakpoints in the terminal: where it stops is said, with how to go on."""

import re

import pytest

from tests.support.servers import Cli

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D23")]


def test_the_terminal_stops_and_says_how_to_go_on(cli: Cli) -> None:
    stopped = cli(
        "debate", "Ship it?", "--model", "scripted", "--pause-when", "verdict", "--pause-when", "round:2"
    )
    [debate_id] = re.findall(r"counterpoint debate --continue (\w+)", stopped.stderr)
    assert stopped.exit_code == 1
    assert "The debate is paused: pause_when round:2: round 2 (rebuttal) comes next" in stopped.stderr

    later = cli("debate", "--continue", debate_id)
    assert "pause_when verdict" in later.stderr
    assert "verdict" not in {
        line.partition(": ")[2] for line in later.stdout.splitlines() if line[:2] == "=="
    }
    assert cli("debate", "--continue", debate_id).exit_code == 0
    assert "is not a breakpoint" in cli("debate", "Ship it?", "--pause-when", "later").stderr
