"""Receipts as clients, the terminal and other processes meet them."""

import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.interventions.action import InterventionRequest
from server.engine.debates import utc_now
from server.engine.receipts import find_receipt
from server.engine.transfer import export_debate, restore_debate
from server.engine.verification import Keys, verify_file
from server.models.fakes.scripted import ScriptedModel
from server.signing import SigningKey
from server.tools.results import build_verdict_result
from tests.support.client_calls import call
from tests.support.engines import open_engine, run_debate
from tests.support.mcp_debates import read_view
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.servers import Cli

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D11")]

SEED = "33" * 32


def count_receipts(database: str) -> int:
    with closing(sqlite3.connect(database)) as raw:
        return int(raw.execute("select count(*) from kept_text").fetchone()[0])


def execute(database: str, sql: str) -> None:
    with closing(sqlite3.connect(database)) as raw, raw:
        raw.execute(sql)


async def test_a_client_reads_what_was_signed(open_modern: Any) -> None:
    async with open_modern() as client:
        ran = await call(client, "start_debate", question="Ship it?", run=True)
        view = await read_view(client, ran, "receipt")
        uri = f"debate://{ran['debate_id']}/receipt"
        resource = json.loads((await client.read_resource(uri)).contents[0].text)

    assert resource == view
    assert (view["signed"], view["problem"]) == (True, "")
    assert "models sign nothing" in view["proves"]
    told = view["statement"]["predicate"]
    assert (told["attested_by"], told["outcome"], told["winner"]) == ("host", ran["outcome"], ran["winner"])
    assert told["rule"] == {
        "rules": "counterpoint/rules/1",
        "name": "judges",
        "threshold": "",
        "voting": None,
    }
    assert view["statement"]["subject"][0]["digest"]["sha256"] == view["head"]
    answers = {answer["seq"]: answer for answer in told["answers"]}
    assert {seq for vote in told["votes"] for seq in vote["readings"]} == {*answers}
    assert all(len(answer["prompt_sha256"]) == 64 for answer in answers.values())


async def test_it_is_made_when_the_debate_ends_also_where_the_process_ends_with_it(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        await run_debate(manager)
    assert count_receipts(database) == 1


async def test_one_that_was_not_made_at_the_end_is_made_when_it_is_read(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await run_debate(manager)
        made = await find_receipt(manager, snapshot)
    execute(database, "delete from kept_text")
    async with open_engine(database, ScriptedModel()) as manager:
        assert await find_receipt(manager, await manager.load(snapshot.id)) == made


async def test_a_receipt_that_cannot_be_kept_is_logged_and_stops_nothing(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "server.engine.receipts")
    async with open_engine(database, ScriptedModel()) as manager:
        execute(database, "alter table kept_text rename to gone")
        snapshot = await run_debate(manager)
        with anyio.fail_after(PATIENCE):
            while f"The receipt of debate {snapshot.id} cannot be made now" not in caplog.text:
                await wait_before_next_poll()
    assert snapshot.debate.verdict
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "The receipt that was kept is damaged."),
        ("{}", "The receipt cannot be read: it is damaged, or of another kind."),
    ],
)
async def test_a_receipt_that_was_altered_in_the_database_is_told(
    database: str, text: str, problem: str
) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await run_debate(manager)
        await find_receipt(manager, snapshot)
        execute(database, f"update kept_text set text = '{text}'")  # noqa: S608
        assert (await find_receipt(manager, snapshot)).problem == problem


async def test_without_a_key_the_debate_ends_and_says_why_it_is_not_signed(database: str) -> None:
    problem = "The signing key cannot be read or made: No such file or directory."
    async with open_engine(database, ScriptedModel(), signing_key_file="/missing") as manager:
        snapshot = await run_debate(manager)
        assert snapshot.debate.verdict
        for _ in range(2):  # however often it is asked for
            told = await build_verdict_result(manager, snapshot)
            said = [caution for caution in told.cautions if "not signed" in caution]
            assert said == [f"Its receipt is not signed. {problem}"]
        found = await find_receipt(manager, snapshot)
    assert found.envelope is None
    assert found.problem == problem
    assert count_receipts(database) == 0


async def test_a_receipt_goes_along_with_its_debate_and_only_its_own_host_signs(
    database: str, tmp_path: Path
) -> None:
    there = tmp_path / "there.db"
    async with (
        open_engine(database, ScriptedModel(), signing_key=SEED) as one,
        open_engine(there, ScriptedModel()) as two,
    ):
        data = await export_debate(one, (await run_debate(one)).id)
        imported, _ = await restore_debate(two, data)
        assert (await export_debate(two, imported.id))["receipt"] == data["receipt"]

        unsigned = await export_debate(one, (await run_debate(one)).id)
        unsigned["receipt"]["envelope"] = None
        imported, _ = await restore_debate(two, unsigned)
        assert "signs only what it has recorded" in (await find_receipt(two, imported)).problem

        data["receipt"]["envelope"] = unsigned["receipt"]["envelope"] = SigningKey(b"4" * 32).sign({})
        with pytest.raises(Exception, match="The receipt cannot be read"):
            await restore_debate(two, data)


async def test_what_is_learnt_after_the_end_leaves_the_receipt_as_it_was(database: str) -> None:
    async with open_engine(database, ScriptedModel(), signing_key=SEED) as manager:
        snapshot = await run_debate(manager)
        before = await export_debate(manager, snapshot.id)
        winner = InterventionRequest(to=snapshot.debate.names[0])
        await manager.intervene(snapshot.id, "outcome", winner, actor="Kim")
        after = await export_debate(manager, snapshot.id)

    assert len(after["entries"]) == len(before["entries"]) + 1
    assert after["receipt"]["envelope"] == before["receipt"]["envelope"]
    keys = Keys(given=SigningKey(bytes.fromhex(SEED)).public_key)
    for kept in (before, after["receipt"]["envelope"]):
        assert {found.finding for found in verify_file(after, keys, kept, utc_now())} == {"holds"}
    cut = verify_file(
        before, keys, {name: after["receipt"][name] for name in ("debate_id", "entries", "head")}, utc_now()
    )
    assert "it was cut short" in cut[-1].text


def test_the_terminal_prints_a_receipt_and_verifies_it(cli: Cli, database: str, tmp_path: Path) -> None:
    debate = cli("debate", "Ship it?", "--model", "scripted", "--json")
    debate_id = json.loads(debate.stdout)["debate_id"]
    file, kept, key = tmp_path / "debate.json", tmp_path / "receipt.json", tmp_path / "key.pub"
    assert cli("export", debate_id, "--as", "json", "-o", str(file)).exit_code == 0
    kept.write_text(cli("receipt", debate_id).stdout)
    key.write_text(cli("receipt", "--public-key").stdout)

    given = ("--key", str(key), "--receipt", str(kept))
    done = cli("verify", str(file), *given)
    assert (done.exit_code, done.stdout.count("ok: ")) == (0, 5)
    assert cli("verify", str(kept)).exit_code == 3
    assert cli("verify", str(file)).exit_code == 0  # this installation's key

    stranger = SigningKey(b"5" * 32).public_key.hex()
    done = cli("verify", str(file), "--key", stranger, "--json")
    assert done.exit_code == json.loads(done.stdout)["exit_code"] == 1
    assert json.loads(done.stdout)["checks"][-1]["finding"] == "wrong"
    file.write_text(file.read_text().replace("Ship it?", "Ship it!"))
    done = cli("verify", str(file), *given)
    assert (done.exit_code, "WRONG: The file was altered: entry 1 was changed" in done.stdout) == (1, True)
    assert database


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("receipt",), 2, "Give the ID of a debate, or --public-key."),
        (("receipt", "k3x9w2m4p7qr"), 1, "There is no debate"),
        (("verify", "{file}", "--key", "nonsense"), 2, "This is not an Ed25519 public key."),
        (("verify", "{file}"), 1, "This is not a receipt"),
    ],
)
@pytest.mark.usefixtures("new_database")
def test_what_cannot_be_done_is_said(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    file = tmp_path / "some.json"
    file.write_text("{}")
    done = cli(*(argument.format(file=file) for argument in arguments))
    assert done.exit_code == code
    assert told in done.output
