"""A debate that its budget has paused goes on in the terminal: with a larger one."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from server.cli.main import counterpoint

pytestmark = pytest.mark.requirement("N10", "D4")


def debate(folder: Path, *arguments: str) -> Result:
    environ = {"COUNTERPOINT_DB": str(folder / "debates.db"), "COUNTERPOINT_MODELS": "scripted"}
    return CliRunner().invoke(counterpoint, ["debate", "--quiet", *arguments], env=environ)


def paused(folder: Path) -> str:
    """The id of a debate that is paused on its budget."""
    ended = debate(folder, "Ship it?", "--format", "verdict", "--max-calls", "3", "--on-budget", "pause")
    assert ended.exit_code == 1
    return ended.stderr.split("--continue ")[1].split()[0]


def test_with_more_calls_it_comes_to_its_verdict(tmp_path: Path) -> None:
    ended = debate(tmp_path, "--continue", paused(tmp_path), "--max-calls", "20")

    assert (ended.exit_code, "Verdict" in ended.stdout) == (0, True)


def test_with_on_budget_conclude_what_is_there_is_judged(tmp_path: Path) -> None:
    ended = debate(tmp_path, "--continue", paused(tmp_path), "--on-budget", "conclude")

    assert (ended.exit_code, "The talk ended: budget: 2 of 3 calls spent" in ended.stdout) == (0, True)


def test_other_options_are_refused_as_ever(tmp_path: Path) -> None:
    ended = debate(tmp_path, "--continue", "x" * 12, "--rounds", "3")

    assert "--continue keeps the debate's options: leave out --rounds." in ended.stderr
