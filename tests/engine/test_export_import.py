"""A debate leaves as one file and comes back: whole, byte for byte, or not at all."""

import copy
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.commands.requests import ChangesInput, DebateRequest, JudgesInput
from server.debate.facts.advice import Reviewed
from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.action import InterventionRequest
from server.debate.records.bounds import MAX_ENTRIES
from server.engine.database.errors import StorageUnavailableError
from server.engine.transfer import MAX_FILE_BYTES, export_debate, parse_export, restore_debate
from server.models.fakes.scripted import ScriptedModel
from server.settings import ResearchServer
from storage.canonical import encode_canonical, genesis_hash, link_hash
from storage.sqlite import SqliteStorage
from tests.contract.journal_restore import build_entries
from tests.support.engines import open_engine, run_debate, run_round, start_debate
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE
from tests.support.records import build_bodies, build_export, play_record
from tests.support.servers import Cli
from tests.support.simulation import build_debaters, build_setup, label_positions, simulate, task_script

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D8")]

Change = Callable[[dict[str, Any]], object]


async def half_way(database: str | Path) -> dict[str, Any]:
    """A debate after its first round, as a file holds it."""
    async with open_engine(database, default="scripted") as opened:
        snapshot = await start_debate(opened)
        await opened.step(snapshot.id, wait=PATIENCE)
        return dict(json.loads(json.dumps(await export_debate(opened, snapshot.id))))


async def kept(database: str | Path, debate_id: str) -> list[Any]:
    storage = await SqliteStorage.open(database)
    try:
        return await storage.journal.read(debate_id)
    finally:
        await storage.close()


async def test_a_debate_exported_at_round_1_goes_on_elsewhere_to_its_verdict(tmp_path: Path) -> None:
    data = await half_way(tmp_path / "a.db")
    debate_id = data["debate_id"]
    model = ScriptedModel()

    async with open_engine(tmp_path / "b.db", {"scripted": model}) as elsewhere:
        snapshot, added = await restore_debate(elsewhere, data)
        assert (snapshot.id, snapshot.status, snapshot.debate.round) == (debate_id, "running", 1)
        while not snapshot.debate.ended:
            snapshot = await elsewhere.step(debate_id, wait=PATIENCE)
        again = await export_debate(elsewhere, debate_id)

    assert added == len(data["entries"]) == data["receipt"]["entries"]
    assert snapshot.status == "concluded"
    assert [call.seat for call in model.requests].count("Proponent") == 1
    assert again["entries"][:added] == data["entries"]
    assert (await kept(tmp_path / "b.db", debate_id))[:added] == await kept(tmp_path / "a.db", debate_id)


async def test_a_finished_debate_keeps_its_receipt_and_can_be_found(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "a.db", default="scripted") as first:
        snapshot = await run_debate(first)
        data = await export_debate(first, snapshot.id)
    async with open_engine(tmp_path / "b.db", default="scripted") as second:
        restored, _ = await restore_debate(second, data)
        again = await export_debate(second, snapshot.id)
        (listed,) = await second.store.find("ship")

    assert again == data
    assert restored.debate == snapshot.debate
    assert (listed.status, listed.details["outcome"]) == ("concluded", data["result"] and "leaning")
    assert (listed.opened_at, listed.changed_at) == (snapshot.entries[0].at, snapshot.entries[-1].at)


async def test_a_fork_of_a_second_opinion_with_more_reviewers_goes_on_elsewhere(tmp_path: Path) -> None:
    asked = {"format": "second_opinion", "options": {"judges": {"models": ["scripted"]}}}
    async with open_engine(tmp_path / "a.db", default="scripted") as first:
        parent = await run_round(first, **asked)
        changes = ChangesInput(judges=JudgesInput(count=3))
        forks = [await first.fork(parent.id, at_round, changes, actor="test") for at_round in (0, 1)]
        exported = [await export_debate(first, fork.id) for fork in forks]
    async with open_engine(tmp_path / "b.db", default="scripted") as second:
        for data, fork in zip(exported, forks, strict=True):
            snapshot, _ = await restore_debate(second, data)
            assert snapshot.debate == fork.debate
            while not snapshot.debate.ended:
                snapshot = await second.step(fork.id, wait=PATIENCE)
            assert {review.seat for review in snapshot.debate.advice if isinstance(review, Reviewed)} == {
                f"judge {number}" for number in (1, 2, 3)
            }


async def test_what_is_here_already_is_completed_or_left_alone(tmp_path: Path) -> None:
    early = await half_way(tmp_path / "a.db")
    debate_id = early["debate_id"]
    async with open_engine(tmp_path / "a.db", default="scripted") as first:
        await first.step(debate_id, wait=PATIENCE)
        late = await export_debate(first, debate_id)
    heard: list[str] = []
    async with open_engine(tmp_path / "b.db", default="scripted") as second:
        second.store.subscribe(lambda snapshot: heard.append(snapshot.id))
        counts = [(await restore_debate(second, data))[1] for data in (early, late, late, early)]
        snapshot = await second.load(debate_id)

    missing = len(late["entries"]) - len(early["entries"])
    assert counts == [len(early["entries"]), missing, 0, 0]
    assert snapshot.debate.version == len(late["entries"])
    assert heard == [debate_id] * 2


async def test_another_past_of_the_same_debate_is_refused_where_they_part(tmp_path: Path) -> None:
    early = await half_way(tmp_path / "a.db")
    debate_id, at = early["debate_id"], len(early["entries"])
    async with open_engine(tmp_path / "b.db", default="scripted") as second:
        await restore_debate(second, early)
        await second.intervene(debate_id, "inject", InterventionRequest(text="Mind the cost."), actor="me")
    async with open_engine(tmp_path / "a.db", default="scripted") as first:
        await first.step(debate_id, wait=PATIENCE)
        late = await export_debate(first, debate_id)
    async with open_engine(tmp_path / "b.db", default="scripted") as second:
        before = await export_debate(second, debate_id)
        with pytest.raises(
            InvalidRequestError, match=f"is here already, and entry {at + 1} is another one here"
        ):
            await restore_debate(second, late)
        assert await export_debate(second, debate_id) == before


@pytest.mark.requirement("N26")
async def test_a_verdict_that_was_edited_in_the_database_and_hashed_again_is_not_shown(
    tmp_path: Path,
) -> None:
    database = tmp_path / "a.db"
    async with open_engine(database, default="scripted") as opened:
        debate_id = (await run_debate(opened)).id
    rehash(database, debate_id, lambda body: body.update(outcome="contested", winner=""))
    async with open_engine(database, default="scripted") as opened:
        with pytest.raises(
            StorageUnavailableError, match=r"cannot have happened: it does not follow from the votes"
        ):
            await opened.load(debate_id)


def rehash(database: Path, debate_id: str, change: Change) -> None:
    """Change the verdict in a database, and the chain with it, as somebody who knows the format might."""
    head = genesis_hash(debate_id)
    with closing(sqlite3.connect(database)) as raw, raw:
        raw.execute("drop trigger journal_no_update")
        for seq, text in raw.execute("select seq, entry from journal order by seq").fetchall():
            entry = json.loads(text)
            if entry["body"]["kind"] == "concluded":
                change(entry["body"])
            written = encode_canonical(seq, entry["at"], entry["actor"], entry["body"])
            head = link_hash(head, written)
            raw.execute("update journal set entry = ?, hash = ? where seq = ?", (written.decode(), head, seq))
        raw.execute("update stream set head = ?", (head,))


def altered(data: dict[str, Any], change: Change) -> dict[str, Any]:
    found = copy.deepcopy(data)
    change(found)
    return found


def without_last(data: dict[str, Any]) -> None:
    data["entries"].pop()


def resealed(data: dict[str, Any]) -> None:
    data["entries"].pop()
    data["receipt"]["entries"] -= 1


REFUSED: list[tuple[Change, str]] = [
    (lambda data: data["entries"][2]["body"].update(text="Ada agrees."), "altered: entry 3 was changed"),
    (lambda data: data["entries"][2].update(at="2020-01-01T00:00:00.000Z"), "entry 3 was changed"),
    (lambda data: data["entries"][2].update(actor="mallory"), "entry 3 was changed"),
    (lambda data: data["entries"][2].update(hash="0" * 64), "entry 3 was changed"),
    (lambda data: data["entries"][2].update(seq=7), "entry 3 is out of order"),
    (lambda data: data.update(debate_id="k3x9w2m4p7qr"), "entry 1 was changed"),
    *(
        (lambda data, name=name: data.update(debate_id=name), "as it was exported: debate_id")
        for name in ("K3X9W2M4P7QR", "k3x9w2m4p7q\n", "k3x9w2m4p7qrk", "")
    ),
    (lambda data: data["entries"][0]["body"].update(seed=0.5), "Entry 1 (opened) cannot be read: seed"),
    (lambda data: data["entries"][2]["body"].update(kind="danced"), "(danced) is of a kind that is unknown"),
    (without_last, "it was cut short or added to"),
    (resealed, "is not the one that the receipt ends with"),
    (lambda data: data.update(counterpoint="debate/2"), "of the kind debate/2; this release reads debate/1"),
    (lambda data: data.pop("counterpoint"), "This is not an exported debate"),
    (lambda data: data.update(counterpoint=1), "This is not an exported debate"),
    (lambda data: data.update(debate_id="../../etc"), "The file is not as it was exported: debate_id"),
    (lambda data: data.pop("receipt"), "The file is not as it was exported: receipt"),
    (lambda data: data.update(entries=[]), "The file is not as it was exported: entries"),
    (lambda data: data["entries"][2].pop("hash"), "Entry 3 is not as it was exported: entries.2.hash"),
    (lambda data: data["entries"][2].update(seq="3"), "Entry 3 is not as it was exported: entries.2.seq"),
    (lambda data: data["entries"][2].update(body=[]), "Entry 3 is not as it was exported: entries.2.body"),
    (
        lambda data: data.update(entries=data["entries"][:1] * (MAX_ENTRIES + 1)),
        "as it was exported: entries",
    ),
    (
        lambda data: data["entries"][2]["body"]["usage"].update(input_tokens=float("nan")),
        "(spoke) cannot be read",
    ),
    (lambda data: data["entries"][0]["body"].update(seed=2**60), "what JSON cannot carry exactly"),
    *(
        (lambda data, at=at: data["entries"][0].update(at=at), "as it was exported: entries.0.at")
        for at in ("yesterday", "2026-02-31T10:00:00.000Z", "2026-12-01T10:00:00.000")
    ),
]


@pytest.mark.full
async def test_a_file_that_is_not_what_was_exported_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    data = await half_way(tmp_path / "a.db")
    async with open_engine(tmp_path / "b.db", default="scripted") as second:
        for change, told in REFUSED:
            with pytest.raises(InvalidRequestError) as caught:
                await restore_debate(second, altered(data, change))
            assert told in str(caught.value)
        others: list[Any] = [None, [], "debate/1", 7]
        for value in others:
            with pytest.raises(InvalidRequestError, match="This is not an exported debate"):
                await restore_debate(second, value)
        assert await second.store.find() == []


@pytest.mark.requirement("N26")
@pytest.mark.parametrize(
    ("last_at", "until", "told"),
    [
        (
            "2099-01-01T00:00:00.000Z",
            "2099-01-02T00:00:00.000Z",
            "its time, 2099-01-01T00:00:00.000Z, is in the future",
        ),
        ("2026-10-31T10:00:00.000Z", "2026-11-01T00:00:00.000Z", "is before that of the entry before it"),
        ("2026-11-01T10:00:00.000Z", "2026-12-31T00:00:00.000Z", "is not that of a pause of at most a day"),
        ("2026-11-01T10:00:00.000Z", "2026-11-01T00:00:00.000Z", "is not that of a pause of at most a day"),
        ("2026-11-01T10:00:00.000Z", "2026-11-02T00:00:00.000Z", ""),
    ],
)
async def test_times_that_cannot_be_are_refused(tmp_path: Path, last_at: str, until: str, told: str) -> None:
    pause = {"kind": "paused", "cause": "daily_budget", "reason": "spent", "until": until}
    data = build_export("k3x9w2m4p7qr", [*play_record()[:2], pause], last_at=last_at)
    async with open_engine(tmp_path / "b.db", default="scripted") as opened:
        if told:
            with pytest.raises(InvalidRequestError, match=rf"^Entry 3 \(paused\): .*{told}"):
                await restore_debate(opened, data)
        else:
            assert (await restore_debate(opened, data))[0].status == "paused"


@pytest.mark.requirement("N26")
async def test_what_a_file_says_for_readers_is_what_its_entries_come_to(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "a.db", default="scripted") as first:
        snapshot = await run_debate(first)
        data = json.loads(json.dumps(await export_debate(first, snapshot.id)))
    verdict = data["result"]["verdict"]
    async with open_engine(tmp_path / "b.db", default="scripted") as second:
        for name, told in (
            ("question", {"question": "Else?"}),
            ("status", {"status": "truncated"}),
            ("status", {"status": "running"}),
            ("outcome", {"result": {"verdict": {**verdict, "outcome": "decided"}}}),
            ("winner", {"result": {"verdict": {**verdict, "winner": "nobody"}}}),
        ):
            with pytest.raises(InvalidRequestError, match=f"altered: its {name} is not what its entries"):
                await restore_debate(second, {**data, **told})
        bare = {key: data[key] for key in ("counterpoint", "debate_id", "entries", "receipt")}
        restored, _ = await restore_debate(second, {**bare, "more": 1})

    assert restored.debate == snapshot.debate


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"counterpoint": "debate/1", "entr', "cannot be read as JSON; it may be cut short"),
        (b"", "it may be cut short"),
        (b"\xff\xfe", "cannot be read as JSON"),
        (b"[" * 1_000_000, "nested too deeply"),
        (b" " * (MAX_FILE_BYTES + 1), "larger than 64 MB"),
        (b'{"result": {"winner": "Ada"}, "result": {}}', "ambiguous: the name 'result' stands twice"),
        (b'{"entries": [{"body": {"kind": 1, "k\\u0069nd": 2}}]}', "ambiguous: the name 'kind' stands twice"),
        (b'{"cost": NaN}', "ambiguous: NaN is no number"),
    ],
)
def test_a_file_that_is_no_json_is_refused(content: bytes, told: str) -> None:
    with pytest.raises(InvalidRequestError, match=told):
        parse_export(content)


async def test_a_file_cannot_give_debaters_tools_that_the_settings_do_not(tmp_path: Path) -> None:
    server = ResearchServer(command="nothing", debaters=True)
    debaters = [{"name": "Ada", "stance": "ship", "tools": ["web"]}, {"name": "Bob", "stance": "wait"}]
    debate_request = DebateRequest.model_validate({"question": "Ship it?", "debaters": debaters})
    async with open_engine(tmp_path / "a.db", default="scripted", mcp_servers={"web": server}) as first:
        snapshot = await first.start(debate_request, actor="me")
        data = await export_debate(first, snapshot.id)
    reserved = server.model_copy(update={"debaters": False})
    async with open_engine(tmp_path / "b.db", default="scripted", mcp_servers={"web": reserved}) as second:
        with pytest.raises(InvalidRequestError, match="is not for debaters"):
            await restore_debate(second, data)


# The command line --------------------------------------------------------------------------------


@pytest.mark.full
def test_a_file_goes_from_one_machine_to_another(cli: Cli, tmp_path: Path) -> None:
    debate_id = json.loads(cli("debate", "Ship it?", "--model", "scripted", "--json").stdout)["debate_id"]
    file, there = tmp_path / "debate.json", ("--db", str(tmp_path / "b.db"))
    assert cli("export", debate_id, "--as", "json", "-o", str(file)).exit_code == 0

    result = cli(*there, "import", str(file))

    assert (result.exit_code, result.stderr) == (0, "")
    count = json.loads(file.read_text(encoding="utf-8"))["receipt"]["entries"]
    done_line, mark = result.stdout.splitlines()
    assert done_line == f"debate {debate_id}: concluded, entries: {count}, {count} of them new."
    mark, _, how = mark.partition(" Ledger and memory use it after: ")
    assert how == f"counterpoint adopt {debate_id}"
    again = cli(*there, "import", "-", input=file.read_bytes())
    assert "all of them stored already" in again.stdout
    shown, _, rest = cli(*there, "show", debate_id).stdout.partition("\n\n")
    assert (" ".join(shown.split()), rest) == (mark, cli("show", debate_id).stdout)


@cache
def large(debate_id: str) -> dict[str, Any]:
    """A debate whose file takes a while to write down."""
    setup = label_positions(build_setup(format="verdict", debaters=build_debaters(26), max_rounds=12))
    long = task_script({"argument": "Mind the cost. " * 750})
    bodies = build_bodies(simulate(setup, long).play().events)
    entries = build_entries(*bodies, stream=debate_id)
    return {
        "counterpoint": "debate/1",
        "debate_id": debate_id,
        "entries": [
            {"seq": e.seq, "at": e.at, "actor": e.actor, "hash": e.hash, "body": e.body} for e in entries
        ],
        "receipt": {"entries": len(entries), "head": entries[-1].hash},
    }


@pytest.mark.full
@pytest.mark.parametrize("size", [1, 3_000_000])
def test_a_kill_in_the_middle_leaves_all_of_it_or_nothing(tmp_path: Path, size: int) -> None:
    """Killed once the database's log is larger than `size`: before, or in or after the transaction."""
    data = large("k3x9w2m4p7qr")
    file, log = tmp_path / "debate.json", tmp_path / "b.db-wal"
    file.write_text(json.dumps(data), encoding="utf-8")
    command = [sys.executable, "-m", "counterpoint", "--db", str(tmp_path / "b.db"), "import", str(file)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as child:
        while child.returncode is None and not (log.exists() and log.stat().st_size > size):
            with suppress(subprocess.TimeoutExpired):
                child.wait(0.001)
        child.kill()

    assert anyio.run(kept_and_restored, tmp_path / "b.db", data) in (0, len(data["entries"]))


async def kept_and_restored(database: Path, data: dict[str, Any]) -> int:
    """How much of it there was, before it was brought in again."""
    before = len(await kept(database, data["debate_id"]))
    async with open_engine(database, default="scripted") as opened:
        await restore_debate(opened, data)
    assert len(await kept(database, data["debate_id"])) == len(data["entries"])
    return before
