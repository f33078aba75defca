"""`counterpoint evaluate`, killed and interrupted: only what was in flight is paid for again."""

import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.rules.budget import compute_spending
from tests.support.engines import open_engine
from tests.support.patience import PATIENCE
from tests.support.provider.stub import Stub

pytestmark = [
    pytest.mark.requirement("N20"),
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals to send"),
]

STOPS = {3: signal.SIGKILL, 40: signal.SIGINT, 90: signal.SIGTERM}
"""What stops a run, by how much percent of all has been asked by then."""

AT_ONCE = 4  # debates, by default

COMMAND = ("-m", "counterpoint", "evaluate")
MODELS = ("--model", "openai/a", "--model", "openai/b", "--judge", "openai/j", "--json")


@dataclass(frozen=True)
class Run:
    code: int | None
    output: str
    errors: str

    @property
    def results(self) -> dict[str, Any]:
        assert self.code == 0, self.errors
        return dict(json.loads(self.output))


def write_questions(folder: Path) -> Path:
    rows = [
        {"id": f"q{n}", "question": f"Is {n} enough?", "options": [f"yes {n}", f"no {n}"], "answer": n % 2}
        for n in range(3)
    ]
    file = folder / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


async def run_evaluation(
    stub: Stub, database: Path, number: signal.Signals | None = None, after: int = 0
) -> Run:
    """Run the command; with `number`, send it this signal once the stub has been asked `after` times in all."""
    environ = os.environ | {
        "COUNTERPOINT_DB": str(database),
        "OPENAI_API_KEY": "sk-0",
        "OPENAI_API_BASE": stub.url,
    }
    told: list[bytes] = [b"", b""]

    async def read(index: int, stream: Any) -> None:
        told[index] = b"".join([piece async for piece in stream])

    file = write_questions(database.parent)
    with anyio.fail_after(PATIENCE):
        async with (
            await anyio.open_process([sys.executable, *COMMAND, str(file), *MODELS], env=environ) as process,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(read, 0, process.stdout)
            tasks.start_soon(read, 1, process.stderr)
            if number is not None:
                while stub.request_count < after:
                    stub.change.clear()
                    await stub.change.wait()
                process.send_signal(number)
            await process.wait()
    return Run(process.returncode, *(text.decode() for text in told))


async def count_recorded(database: Path) -> int:
    """The calls whose answers are recorded."""
    async with open_engine(database, default="") as manager:
        snapshots = [await manager.load(row.stream) for row in await manager.store.find(limit=100)]
    return sum(compute_spending(snapshot.debate).calls for snapshot in snapshots)


async def test_a_run_that_was_stopped_goes_on_and_pays_again_only_for_what_was_in_flight(
    tmp_path: Path,
) -> None:
    async with Stub(latency=0.02) as stub:
        undisturbed = (await run_evaluation(stub, tmp_path / "whole.db")).results
        wanted = stub.request_count
    assert undisturbed["spent"]["calls"] == wanted

    database = tmp_path / "stopped.db"
    async with Stub(latency=0.02) as stub:
        for times, (percent, number) in enumerate(STOPS.items(), 1):
            after = max(wanted * percent // 100, stub.request_count + 1)
            stopped = await run_evaluation(stub, database, number, after)
            assert stopped.code == (-number if number == signal.SIGKILL else 128 + number), stopped.errors
            assert ("Run the same command again" in stopped.errors) == (number != signal.SIGKILL)
            assert "Traceback" not in stopped.errors
            lost = stub.request_count - await count_recorded(database)
            # Beside what is asked, each of the debates may have an answer on its way into the database.
            assert 0 <= lost <= (stub.max_in_flight + AT_ONCE) * times
        resumed = (await run_evaluation(stub, database)).results
        assert stub.request_count == wanted + lost

    for name in ("questions", "difference", "differences", "labels"):
        assert resumed.get(name) == undisturbed.get(name)
    assert resumed["spent"] == undisturbed["spent"]
