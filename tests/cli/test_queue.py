"""`counterpoint queue`: what is run, and what waits."""

import json

import anyio
import pytest

from server.debate.commands.requests import DebateRequest
from tests.engine.crashes.test_recovery import left_behind
from tests.support.engines import open_engine, start_debate
from tests.support.gated_model import Gate
from tests.support.raw_sql import run_raw
from tests.support.servers import Cli
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N35")]


async def test_debates_of_all_owners_that_run_or_wait_are_shown_with_their_process(
    cli: Cli, database: str
) -> None:
    request: DebateRequest = build_request(question="Left behind?", run=True)
    (waiting,) = await left_behind(database, request)
    gate = Gate()
    async with open_engine(database, gate.model) as manager:
        running = (await start_debate(manager.of("ann"), question="Ship it?", run=True)).id
        await start_debate(manager, question="Step by step?")
        await gate.wait_for_call()
        listed = await anyio.to_thread.run_sync(cli, "--db", database, "queue", "--json")
        rows = json.loads(listed.stdout)["queue"]
        shown = await anyio.to_thread.run_sync(cli, "--db", database, "queue")
        gate.release.set()

    assert [(row["debate_id"], row["state"], row["owner"]) for row in rows] == [
        (waiting, "waiting", "local"),
        (running, "running", "ann"),
    ]
    assert rows[1]["process"]
    assert rows[0]["since"] < rows[1]["since"]
    assert "Left behind?" in shown.stdout
    assert "Step by step?" not in shown.stdout


def test_what_no_process_has_run_for_a_minute_is_stuck_and_is_tried_again_or_taken_out(
    cli: Cli, database: str
) -> None:
    requests = [build_request(question=f"{name}?", run=True) for name in ("Again", "Out")]
    again, out = anyio.run(left_behind, database, *requests)
    run_raw(database, "update stream set changed_at = '2026-01-01T00:00:00.000Z'")

    shown = cli("queue")

    assert [line.split()[:3] for line in shown.stdout.splitlines()] == [
        [again, "stuck", "2026-01-01T00:00:00.000Z"],
        [out, "stuck", "2026-01-01T00:00:00.000Z"],
    ]
    assert shown.stderr.startswith("2 debates stuck: no process has run them for a minute.")
    assert "counterpoint debate --continue ID" in shown.stderr
    given = ("--model", "scripted", "--judge-model", "scripted")
    assert cli("debate", "--continue", again, *given).exit_code == 0
    assert cli("intervene", out, "pause").exit_code == 0
    assert cli("queue").stdout == ""


def test_an_empty_queue_says_so(cli: Cli) -> None:
    assert cli("debate", "Ship it?", "--model", "scripted").exit_code == 0
    assert "No debate is run" in cli("queue").output
