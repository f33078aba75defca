"""What the terminal takes from elsewhere: settings from a file, the question from stdin, completions, the pager."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N28")

STARTED = ("debate", "Tea?", "--model", "scripted", "--json")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file in its usual place, which is not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("COUNTERPOINT_CONFIG", raising=False)
    file = tmp_path / "counterpoint" / "config.toml"
    file.parent.mkdir()
    return file


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("effort = 'quick'\n[windows]\n'a/b' = 1", "line 2): Input should be greater than"),
        ("log_level = 'loud'", "config.toml, line 1): Input should be 'DEBUG'"),
        ("effort = 'quick'\nmodels == 1", "config.toml cannot be read: Invalid value (at line 2"),
        ("nonsense = 1", "config.toml, line 1): there is none of this name."),
        ("modles = ['scripted']", "config.toml, line 1): there is none of this name; models is."),
    ],
)
def test_an_error_names_the_file_and_the_line(cli: Cli, config: Path, text: str, told: str) -> None:
    config.write_text(text)

    refused = cli("list")

    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert str(config) in refused.stderr
    assert told in refused.stderr


def test_doctor_says_where_settings_come_from(
    cli: Cli, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text("effort = 'quick'\nmodels = ['scripted']\n")
    monkeypatch.setenv("COUNTERPOINT_LOG_LEVEL", "ERROR")

    checks = json.loads(cli("doctor", "--json").stdout)["checks"]

    (told,) = [check["detail"] for check in checks if check["name"] == "settings"]
    assert told == (
        f"db: COUNTERPOINT_DB; models: {config}, line 2; effort: {config}, line 1; log_level: COUNTERPOINT_LOG_LEVEL"
    )


def test_a_question_comes_from_stdin(cli: Cli) -> None:
    asked = cli("debate", "-", "--model", "scripted", "--json", input="Is tea\nkinder?\n")
    nothing = cli("debate", "-", "--model", "scripted", input=" \n")

    assert json.loads(asked.stdout)["state"]["question"] == "Is tea\nkinder?"
    assert (nothing.exit_code, "Give a QUESTION" in nothing.stderr) == (2, True)


def test_a_debate_is_continued_with_other_models(cli: Cli) -> None:
    paused = json.loads(cli(*STARTED, "--max-calls", "99", "--pause-when", "round:2").stdout)["debate_id"]
    models = (
        "--model",
        "scripted?chars=90",
        "--model",
        "scripted?chars=80",
        "--judge-model",
        "scripted?chars=70",
    )

    continued = cli("debate", "--continue", paused[:6], *models, "--json")

    assert continued.exit_code == 0
    log = json.loads(cli("show", paused, "--view", "interventions", "--json").stdout)["log"]
    replaced = {row["to"]: row["text"] for row in log if row["action"] == "replace_model"}
    assert replaced == {
        "Proponent": "scripted?chars=90",
        "Opponent": "scripted?chars=80",
        "judge 1": "scripted?chars=70",
    }
    assert "extend" not in {row["action"] for row in log}


def describe_completion(*words: str) -> dict[str, str]:
    """What a shell sets that asks for a completion."""
    environ = {"_COUNTERPOINT_COMPLETE": "bash_complete", "COMP_CWORD": str(len(words))}
    return environ | {"COMP_WORDS": " ".join(["counterpoint", *words])}


def complete(cli: Cli, *words: str) -> list[str]:
    return cli(env=describe_completion(*words)).stdout.split()


def test_ids_and_commands_are_completed(cli: Cli, database: str) -> None:
    environ = {**os.environ, "COUNTERPOINT_DB": database, **describe_completion("del")}
    shown = subprocess.check_output([sys.executable, "-m", "counterpoint"], env=environ, text=True)
    assert shown == "plain,delete\n"
    assert complete(cli, "show", "") == []
    assert not Path(database).exists()
    debate_id = json.loads(cli(*STARTED).stdout)["debate_id"]

    for words in (("show",), ("delete",), ("watch",), ("debate", "--continue"), ("receipt",)):
        assert complete(cli, *words, debate_id[:3]) == [f"plain,{debate_id}"]
    assert complete(cli, "intervene", debate_id, "rep") == ["plain,replace_model"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(cli: Cli, shell: str) -> None:
    script = cli("completion", shell)

    assert script.exit_code == 0
    assert "_COUNTERPOINT_COMPLETE" in script.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")
def test_what_is_longer_than_the_window_goes_through_the_pager_of_a_terminal(cli: Cli, database: str) -> None:
    from tests.support.processes.terminals import open_terminal  # noqa: PLC0415

    debate_id = json.loads(cli(*STARTED).stdout)["debate_id"]
    with open_terminal("show", database=database, PAGER="head -2", lines=24) as program:
        assert program.wait() == 0
        assert re.search('"Tea\\?"', program.whole)
        assert "Round 1" not in program.whole
    with open_terminal("list", database=database, PAGER="false") as program:
        assert program.wait() == 0
        assert debate_id in program.whole
    assert "Round 1" in cli("show").stdout  # a pipe has no pager
