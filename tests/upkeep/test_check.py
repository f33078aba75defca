"""`counterpoint db check`: what it finds, what it writes again, and what it leaves alone."""

import json
from pathlib import Path

import anyio
import pytest
from click.testing import Result

from server.models.fakes.scripted import ScriptedModel
from storage.addresses import find_name, is_address
from tests.support.engines import alter_entries, open_engine, run_debate, run_round, start_debate
from tests.support.patience import PATIENCE
from tests.support.raw_sql import run_raw
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N27")

DERIVED = [
    ("update stream set title = 'Rust' where name = ?", "the heading"),
    ("update stream set status = 'truncated' where name = ?", "the heading"),
    ("""update stream set details = '{"outcome": "decided"}' where name = ?""", "the heading"),
    ("update stream set details = '{' where name = ?", "the heading"),
    ("update stream set family = 'k3x9w2m4p7qr' where name = ?", "the family of forks"),
    ("update stream set parent = 'k3x9w2m4p7qr' where name = ?", "the family of forks"),
    ("update spending set calls = 1 where stream = ?", "the sums"),
    ("delete from spending where stream = ?", "the sums"),
    ("insert into spending (day, stream, calls, cost) values ('2020-01-01', ?, 5, '0')", "the sums"),
    ("", "the search text"),
]
"""What is damaged, and what is told of it. "": a word is missing."""

REMOVE_WORD = {
    "sqlite": "insert into words (words, rowid, text) select 'delete', number, 'proponent' from stream where name = ?",
    "postgresql": "delete from word where word = 'proponent' and number = (select number from stream where name = ?)",
}
ADD_FOREIGN_WORD = {
    "sqlite": "insert into words (rowid, text) values (1, 'foreign')",
    "postgresql": "insert into word (number, word) select number, 'foreign' from stream limit 1",
}


def find_kind(database: str) -> str:
    return "postgresql" if is_address(database) else "sqlite"


@pytest.fixture
def debates(database: str) -> list[str]:
    """The ids of a debate that has ended, one in the middle, and one that has not begun."""

    async def make() -> list[str]:
        async with open_engine(database, ScriptedModel()) as manager:
            ended = await run_debate(manager, question="Ended?")
            begun = await run_round(manager, question="In the middle?", format="verdict", max_rounds=3)
            return [ended.id, begun.id, (await start_debate(manager, question="To begin?")).id]

    return anyio.run(make)


def check(cli: Cli, *options: str, code: int) -> Result:
    result = cli("db", "check", *options)
    assert (result.exit_code, result.stderr) == (code, ""), result.output
    return result


def test_a_whole_database_is_said_to_be_so(cli: Cli, database: str, debates: list[str]) -> None:
    assert (
        check(cli, code=0).stdout
        == f"{find_name(database)}: {len(debates)} debates checked, nothing is wrong.\n"
    )
    assert json.loads(check(cli, database, "--json", code=0).stdout) == {"debate_count": 3, "problems": []}


def test_what_follows_from_the_entries_is_written_again(cli: Cli, database: str, debates: list[str]) -> None:
    before = cli("list").stdout
    for number, (damage, what) in enumerate(DERIVED):
        debate_id = debates[number % 2]
        run_raw(database, damage or REMOVE_WORD[find_kind(database)], debate_id)
        line = f"{debate_id}: {what} did not follow from the entries."

        looked = check(cli, "--no-rebuild", code=1).stdout.splitlines()
        rebuilt = check(cli, code=1).stdout.splitlines()

        assert looked[0] == line, damage
        assert rebuilt[0] == f"{line} It was rebuilt.", damage
        assert rebuilt[1] == f"{find_name(database)}: 3 debates checked, 1 problem.", damage
    check(cli, code=0)
    assert cli("list").stdout == before
    assert debates[0] in cli("list", "ended").stdout


def test_an_altered_entry_is_named_and_left_as_evidence(cli: Cli, database: str, debates: list[str]) -> None:
    alter_entries(database, "In the middle?", "In the muddle?")
    for _ in range(2):
        found = check(cli, code=1).stdout.splitlines()
        assert found[0].startswith(
            f"{debates[1]}: The record of debate {debates[1]} was altered: entry 1 was changed"
        )
        assert len(found) == 2
    problems = json.loads(check(cli, "--json", code=1).stdout)["problems"]
    assert [(problem["debate_id"], problem["is_rebuilt"]) for problem in problems] == [(debates[1], False)]


@pytest.mark.parametrize("table", ["stream where name", "journal where stream"])
def test_entries_or_a_heading_alone_are_found(
    cli: Cli, database: str, debates: list[str], table: str
) -> None:
    run_raw(database, f"delete from {table} = ?", debates[0])  # noqa: S608  (our own words)
    assert check(cli, code=1).stdout.startswith(
        f"{debates[0]}: The record of debate {debates[0]} was altered"
    )


def test_words_that_no_debate_has_are_taken_out_by_filling_the_index_again(
    cli: Cli, database: str, debates: list[str]
) -> None:
    check_that_the_index_is_built_again(
        cli,
        database,
        debates,
        ADD_FOREIGN_WORD[find_kind(database)],
        "the search index has words that no debate",
    )


@pytest.mark.sqlite
def test_a_damaged_index_is_built_again(cli: Cli, database: str, debates: list[str]) -> None:
    damage = "delete from words_data where id > 10"
    check_that_the_index_is_built_again(cli, database, debates, damage, "the search index is damaged")


def check_that_the_index_is_built_again(
    cli: Cli, database: str, debates: list[str], damage: str, what: str
) -> None:
    run_raw(database, damage)
    looked = check(cli, "--no-rebuild", code=1).stdout
    assert f"the database: {what}" in looked
    assert looked == check(cli, "--no-rebuild", code=1).stdout

    assert f"the database: {what}" in check(cli, code=1).stdout
    check(cli, code=0)
    assert debates[0] in cli("list", "ended").stdout
    assert cli("list", "foreign").stdout == ""


@pytest.mark.usefixtures("debates")
def test_the_sum_of_a_day_that_is_not_that_of_its_debates_is_added_up_again(cli: Cli, database: str) -> None:
    for damage in ("update daily_spending set calls = 99", "delete from daily_spending"):
        run_raw(database, damage)
        assert "the database: the sums of 20" in check(cli, "--no-rebuild", code=1).stdout
        assert "were not those of the debates. It was rebuilt." in check(cli, code=1).stdout
        check(cli, code=0)


@pytest.mark.sqlite
def test_a_damaged_file_is_found(cli: Cli, database: str, debates: list[str]) -> None:
    content = bytearray(Path(database).read_bytes())
    content[-4096 * 3 : -4096 * 2] = b"\xff" * 4096
    Path(database).write_bytes(content)
    result = cli("db", "check")
    assert result.exit_code == 1
    assert any(part in result.output for part in ("the database: ", "is damaged, restore it", *debates))


def test_a_check_under_a_server_that_writes_finds_nothing_wrong(database: str) -> None:
    from server.upkeep.check import check_database  # noqa: PLC0415

    async def run() -> None:
        async with (
            open_engine(database, ScriptedModel(delay=0.001)) as server,
            open_engine(database) as other,
            anyio.create_task_group() as tasks,
        ):
            for number in range(4):
                tasks.start_soon(lambda: run_debate(server, question=f"Ship {number}?"))  # noqa: B023
            for _ in range(10):
                assert (await check_database(other)).problems == ()

    anyio.run(run)


def test_a_long_debate_that_goes_on_is_found_and_fits_its_entries(cli: Cli, database: str) -> None:
    async def hold_nine_rounds() -> None:
        async with open_engine(
            database, ScriptedModel(lambda request: f"It is word{request.prompt.summary.round}.")
        ) as running:
            snapshot = await start_debate(running, format="handoff", max_rounds=12)
            for _ in range(9):
                snapshot = await running.step(snapshot.id, wait=PATIENCE)
            assert snapshot.debate.round == len(snapshot.debate.turns) == 9
            found = [bool(await running.store.find(f"word{number}")) for number in range(1, 10)]
            assert found == [True] * 9

    anyio.run(hold_nine_rounds)
    check(cli, code=0)
