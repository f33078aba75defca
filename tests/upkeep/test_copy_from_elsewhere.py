"""`counterpoint db copy` out of a database of another installation, and of adoptions in one of our own."""

import json
from pathlib import Path

import anyio
import pytest

from server.engine.database.ledger import import_judgments
from server.engine.receipts import find_receipt
from server.upkeep.adoption import adopt_debates
from tests.engine.test_adoption import OTHER_KEY, QUESTION, hold, recall_ids, sum_judges
from tests.engine.test_ledger import BAD, GOOD, build_models, label
from tests.support.engines import open_engine
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N34", "N27")


def test_what_is_copied_from_another_installation_counts_once_it_is_adopted_here(
    cli: Cli, database: str, other: str, tmp_path: Path
) -> None:
    async def make() -> str:
        async with open_engine(database, build_models(), signing_key=OTHER_KEY) as elsewhere:
            judgments = [label(number, GOOD, "right") for number in range(30)]
            await import_judgments(elsewhere.store.storage.ledger, judgments, elsewhere.store.name_ledger())
            held = await hold(elsewhere)
            assert (await find_receipt(elsewhere, held)).envelope
            return held.id

    given = anyio.run(make)
    copied = cli("db", "copy", database, other)
    assert copied.exit_code == 0, copied.output
    assert "1 debate recorded elsewhere" in copied.stdout
    assert "30 labelled judgments of another installation left behind" in copied.stdout
    assert "recorded elsewhere, signed by the key" in cli("--db", other, "list").stdout.lower()

    async def look(place: str) -> tuple[object, object]:
        async with open_engine(place, build_models()) as here:
            return await sum_judges(here), await recall_ids(here)

    assert anyio.run(look, other) == ([], set())

    asked = cli("--db", other, "adopt", given, input="n\n")
    assert asked.exit_code == 1
    assert f"{GOOD}, 1 vote: weight 1.10, 0 right and 0 wrong; then weight" in asked.stderr
    assert "What turned out right was recorded elsewhere, too" in asked.stderr
    assert anyio.run(look, other) == ([], set())
    done = cli("--db", other, "adopt", given[:6], "--yes")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "1 debate adopted.")
    again = cli("--db", other, "adopt", given)
    assert (again.exit_code, again.stdout.splitlines()[0]) == (0, f"Adopted already: {given}.")
    again = cli("--db", other, "adopt", given, "--json")
    assert (again.exit_code, json.loads(again.stdout)["adopted"]) == (0, [])
    counted = ([(BAD, 1, 0), (GOOD, 1, 1)], {given})
    assert anyio.run(look, other) == counted
    assert "; adopted." in cli("--db", other, "show", given).stdout
    watched = cli("--db", other, "watch", given).stdout.splitlines()
    assert "Recorded elsewhere, signed by the key" in watched[2]
    rows = cli("--db", other, "watch", given, "--json")
    assert "Recorded elsewhere, signed by the key" in rows.stderr
    assert all("kind" in json.loads(row) for row in rows.stdout.splitlines())
    assert cli("--db", other, "db", "check").exit_code == 0

    third = str(tmp_path / "third.db")  # a copy of our own keeps what was adopted
    assert cli("db", "copy", other, third).exit_code == 0
    assert anyio.run(look, third) == counted


@pytest.mark.sqlite
def test_what_is_adopted_after_a_copy_is_adopted_in_the_next_one(
    cli: Cli, database: str, tmp_path: Path
) -> None:
    target = str(tmp_path / "target.db")

    async def make() -> str:
        async with open_engine(database, build_models(), signing_key=OTHER_KEY) as elsewhere:
            return (await hold(elsewhere)).id

    async def adopt(place: str, debate_id: str) -> None:
        async with open_engine(place, build_models()) as here:
            await adopt_debates(here, [debate_id])

    async def look(place: str) -> bool:
        async with open_engine(place, build_models()) as here:
            return bool(await sum_judges(here) and await recall_ids(here))

    given = anyio.run(make)
    assert cli("db", "copy", database, target).exit_code == 0
    anyio.run(adopt, database, given)
    again = json.loads(cli("db", "copy", database, target, "--json").stdout)
    assert (again["copied_debates"], again["copied_entries"], again["problems"]) == (1, 0, [])
    assert anyio.run(look, target)
    assert json.loads(cli("db", "copy", database, target, "--json").stdout)["copied_debates"] == 0


@pytest.mark.sqlite
def test_an_import_names_the_debates_here_that_ask_the_same(cli: Cli, database: str, tmp_path: Path) -> None:
    async def make(place: str, key: str = "") -> str:
        async with open_engine(place, build_models(), signing_key=key) as manager:
            held = await hold(manager)
            assert (await find_receipt(manager, held)).envelope  # signed before this process ends
            return held.id

    elsewhere, file = str(tmp_path / "elsewhere.db"), tmp_path / "debate.json"
    given, own = anyio.run(make, elsewhere, OTHER_KEY), anyio.run(make, database)
    file.write_text(cli("--db", elsewhere, "export", given, "--as", "json").stdout)
    told = cli("import", str(file))
    assert told.exit_code == 0, told.output
    assert "Recorded elsewhere, signed by the key" in told.stdout
    assert f"Its question was asked here before: {own} (recorded here)." in told.stdout
    settled = cli("ledger", "settle", given, "none")
    assert f"not adopted. The ledger uses it after: counterpoint adopt {given}" in settled.stdout
    assert given not in cli("recall", QUESTION).stdout
    assert cli("adopt", given, "--yes").exit_code == 0
    recalled = cli("recall", QUESTION).stdout
    assert given in recalled
    assert recalled.count("Recorded elsewhere, signed by the key") == 1
    forged = file.read_text().replace(
        '"result": {', '"result": {"verdict": {"winner": "Ben"}}, "result": {', 1
    )
    file.write_text(forged)
    for code, *command in ((1, "verify", str(file)), (1, "verify", "-"), (2, "import", str(file))):
        refused = cli(*map(str, command), input=forged)
        assert (refused.exit_code, "'result' stands twice" in refused.output) == (code, True)
