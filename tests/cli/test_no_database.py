"""Commands on what is no database that they can use: one line that says what to do, no figures, and no file made."""

import json
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

from server.cli.main import counterpoint
from tests.support.servers import Cli

pytestmark = [pytest.mark.requirement("M5"), pytest.mark.usefixtures("inputs")]

READING = [
    "adopt abcd --yes",
    "backup {folder}/copy.db",
    "cache clear",
    "cache show",
    "cache show --json",
    "compare abcd",
    "db check",
    "db check --no-rebuild",
    "db copy {database} {folder}/copy.db",
    "db prune --older-than 1",
    "db upgrade",
    "debate --continue abcd",
    "delete abcd --yes",
    "export abcd",
    "fork abcd --at-round 1",
    "intervene abcd pause",
    "ledger evaluate {inputs}/judgments.csv",
    "ledger settle abcd Ada",
    "ledger show",
    "list",
    "list --json",
    "queue",
    "recall Tea?",
    "receipt abcd",
    "show",
    "show abcd",
    "tag abcd billing",
    "token list",
    "token revoke abcd",
    "view abcd --no-open",
    "watch",
    "watch abcd",
]
WRITING = [
    "debate Tea? --model scripted",
    "evaluate {inputs}/questions.jsonl --model scripted --judge scripted",
    "import {inputs}/debate.json",
    "ledger import {inputs}/judgments.csv",
    "token new alice",
]
WITHOUT = {"completion", "demo", "doctor", "install", "keys", "models", "serve", "uninstall", "verify"}
"""Commands that need no database, or say in a report of their own what is wrong with it."""

Run = Callable[[str], Result]


@pytest.fixture
def inputs(tmp_path_factory: pytest.TempPathFactory, cli: Cli) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    columns = "item,judge,reading,choice,belief,gold,first"
    (folder / "judgments.csv").write_text(f"{columns}\n1,m,1,a,,a,\n1,m,2,a,,a,\n", encoding="utf-8")
    question = {"id": "1", "question": "Tea?", "options": ["yes", "no"], "answer": 0}
    (folder / "questions.jsonl").write_text(f"{json.dumps(question)}\n", encoding="utf-8")
    database = str(folder / "elsewhere.db")
    held = json.loads(cli("--db", database, "debate", "Tea?", "--model", "scripted", "--json").stdout)
    exported = cli("--db", database, "export", held["debate_id"], "--as", "json").stdout
    (folder / "debate.json").write_text(exported, encoding="utf-8")
    return folder


@pytest.fixture
def run(cli: Cli, database: str, inputs: Path, tmp_path: Path) -> Run:
    def run_command(command: str) -> Result:
        return cli(*shlex.split(command.format(folder=tmp_path, database=database, inputs=inputs)))

    return run_command


def list_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def assert_refused(result: Result, expected: str) -> None:
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    assert expected in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_every_command_is_tried() -> None:
    tried = {command.split()[0] for command in (*READING, *WRITING)}
    assert tried | WITHOUT == {*counterpoint.commands}


def test_what_reads_makes_no_database(run: Run, tmp_path: Path, database: str) -> None:
    for command in READING:
        assert_refused(run(command), f"There is no database {database}. The first debate makes it")
        assert list_names(tmp_path) == set(), command

    Path(database).touch()
    for command in READING:
        assert_refused(run(command), f"There is no database {database}. The first debate makes it")
        assert list_names(tmp_path) == {Path(database).name}, command
        assert Path(database).stat().st_size == 0


def test_what_writes_makes_one(run: Run, tmp_path: Path, database: str) -> None:
    for command in WRITING:
        assert run(command).exit_code == 0, command
        assert list_names(tmp_path) == {"debates.db"}
        Path(database).unlink()


def test_a_file_that_is_no_database_is_left_alone(
    run: Run, tmp_path: Path, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    Path(database).write_text("Dear Sir or Madam, " * 100, encoding="utf-8")

    for command in (*READING, *WRITING):
        assert_refused(run(command), "is not an SQLite database, name another (COUNTERPOINT_DB, --db)")

    assert not caplog.records  # which would say it twice
    assert list_names(tmp_path) == {Path(database).name}
    assert Path(database).read_text(encoding="utf-8") == "Dear Sir or Madam, " * 100


def test_a_database_of_a_newer_release_is_left_to_it(run: Run, new_database: str) -> None:
    with closing(sqlite3.connect(new_database)) as raw, raw:
        raw.execute("insert into migration (release, name, oldest_release) values (99, 'later', 99)")

    for command in (each for each in (*READING, *WRITING) if not each.startswith("backup")):
        refused = run(command)
        assert_refused(refused, "was changed by a newer release")
        assert "update counterpoint-mcp" in refused.stderr


@pytest.mark.parametrize("command", ["list", "backup {folder}/copy.db", "debate Tea? --model scripted"])
@pytest.mark.parametrize("name", ["x" * 300, "/".join(["x" * 100] * 8)])
def test_a_path_that_cannot_be_opened_is_refused(
    run: Run,
    command: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    if "/" in name:  # longer than what SQLite opens
        path.parent.mkdir(parents=True)
        path.write_text("x", encoding="utf-8")
    monkeypatch.setenv("COUNTERPOINT_DB", str(path))

    assert_refused(run(command), "cannot be opened, name another (COUNTERPOINT_DB, --db)")
    assert capfd.readouterr().err == ""
