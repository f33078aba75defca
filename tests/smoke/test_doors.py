"""One test for each way into the program, as its users take it: a real process, and what they see of it.

The full suite holds what each door promises in detail.
"""

import asyncio
import re
import sys
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from tests.contract.journal_helpers import append_entries, open_postgres_storage
from tests.support.patience import PATIENCE
from tests.support.processes.served import Served, Start
from tests.support.processes.viewer import Viewer
from tests.support.servers import Cli

pytestmark = pytest.mark.usefixtures("real_starts")

DEBATE: dict[str, Any] = {"question": "Tea?", "format": "verdict", "options": {"framing": False}}


def read_turns(served: Served, name: str) -> list[dict[str, Any]]:
    return list(served.call("read_debate", debate_id=name, view="result")["data"]["transcript"])


@pytest.mark.requirement("M3", "M4", "M5", "N8")
def test_over_stdio_one_call_brings_a_verdict_and_what_was_recorded_before_a_kill_goes_on(
    serve: Start,
) -> None:
    first = serve()
    first.hello()
    told = first.call("start_debate", **DEBATE, models=["scripted"], run=True)
    assert told["status"] == "concluded"
    assert len(read_turns(first, told["debate_id"])) == 4

    slow = ["scripted?delay=0.1"]
    debate = first.call("start_debate", **DEBATE, models=slow, run=True, wait_seconds=0, again=True)
    name = debate["debate_id"]
    while not (kept := read_turns(first, name)):
        first.call("get_verdict", debate_id=name, wait_seconds=1)

    first.child.kill()
    first.child.wait(timeout=PATIENCE)
    second = serve()
    second.hello()
    while second.call("step_round", debate_id=name)["status"] != "concluded":
        pass
    turns = read_turns(second, name)

    assert turns[: len(kept)] == kept
    assert len(turns) == 4
    assert second.end() == (0, "")


@pytest.mark.needs("server.http_server", "server.access")
@pytest.mark.requirement("N14")
def test_over_http_a_token_opens_what_is_closed_without_one(cli: Cli, database: str) -> None:
    from tests.support.http_servers import HttpProcess, send  # noqa: PLC0415  (of an optional package)

    token = cli("token", "new", "ann").stdout.split()[-1]
    server = HttpProcess(database, environ={})
    with ExitStack() as ending:
        ending.callback(server.kill)
        refused = asyncio.run(send(server.address))
        served = asyncio.run(send(server.address, headers={"authorization": f"Bearer {token}"}))

    assert (refused.status_code, served.status_code) == (401, 200)
    assert "start_debate" in {tool["name"] for tool in served.json()["result"]["tools"]}


@pytest.mark.requirement("N28")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")
def test_in_a_terminal_a_debate_is_shown_to_its_verdict(database: str) -> None:
    from tests.support.processes.terminals import open_terminal  # noqa: PLC0415  (not on Windows)

    with open_terminal("debate", "Tea?", "--no-framing", "--model", "scripted", database=database) as program:
        assert program.wait() == 0
        assert program.is_restored
        shown = [
            program.whole.find(text)
            for text in ("Round 1: opening", "Round 2: rebuttal", "Leaning (1 of 1 judge")
        ]

    assert shown == sorted(shown)
    assert shown[0] > 0


@pytest.mark.requirement("N19")
def test_in_the_browser_the_debates_are_listed_for_who_has_the_address(cli: Cli, database: str) -> None:
    assert cli("debate", "Tea?", "--model", "scripted").exit_code == 0
    viewer = Viewer(database, "--no-open")
    with ExitStack() as ending:
        ending.callback(viewer.kill)
        browser = ending.enter_context(httpx2.Client(timeout=PATIENCE))
        found = browser.get(viewer.address, follow_redirects=True)
        refused = browser.get(f"http://127.0.0.1:{viewer.port}/")

    assert found.status_code == 200
    assert refused.status_code in (401, 403)
    assert re.search("<title>.*Counterpoint", found.text)


@pytest.mark.anyio
@pytest.mark.needs("storage.postgres")
@pytest.mark.requirement("N14", "M3")
async def test_on_postgresql_what_one_process_appends_another_reads(postgres_database: str) -> None:
    async with (
        open_postgres_storage(postgres_database) as one,
        open_postgres_storage(postgres_database) as two,
    ):
        await append_entries(one, "s", 0, {"n": 1}, {"n": 2})
        assert [entry.body for entry in (await two.journal.read("s"))] == [{"n": 1}, {"n": 2}]
