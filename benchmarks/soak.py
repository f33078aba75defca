"""Hundreds of debates under chaos in processes that are killed again and again, and then the books are read.

Two servers share one database. Debates of all formats are opened, stepped or left to run, paused, noted on
and looked at through either of them, until each is over or stays paused. Then everything is checked that
must hold whatever happened (`benchmarks.books`).

Usage: python -m benchmarks.soak [--debates N] [--kills N] [--processes N] [--seed N] [--chaos SPEC]
                                [--keep DIRECTORY]
"""

import argparse
import os
import random
import signal
import sqlite3
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, time
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from benchmarks.books import Books, Death, read_books
from benchmarks.report import Line
from server.debate.commands.formats import FORMATS

CHAOS = (
    "failure=0.06,timeout=0.03,corrupt=0.08,truncated=0.04,never=0.01,empty=0.04,crash=0.04,latency=0.3"
    ",seed=7"
)
DELAY = 0.05  # seconds that an answer takes at least
LEEWAY = 1.0  # seconds beyond its time until a call that never ends is given up
LOOK = 2  # seconds that a look at a debate waits
HANDS = 24  # looks at once
RESUMES = 3  # of a debate that paused by itself; then it is concluded
PATIENCE = 600.0  # seconds for all of it
MEDDLING = 0.04  # of the looks pause a debate, as many inject a note
QUIET = 8.0  # seconds without enough questions after which it is killed all the same
CALLS = 9  # of a debate at least, most often: kills are spread over them


@dataclass
class Plan:
    debates: int = 200
    kills: int = 20
    processes: int = 2
    seed: int = 1
    chaos: str = CHAOS


@dataclass(eq=False)
class Driven:
    """A debate as whoever drives it from outside sees it."""

    arguments: dict[str, Any]
    id: str = ""
    resumes: int = 0
    concluding: bool = False
    settled: bool = False


class Said(Exception):  # noqa: N818  (it is named for what it holds)
    """A tool said no."""


class Process:
    """A server process that is started again whenever it was killed."""

    def __init__(self, folder: Path, number: int, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.pid_file = folder / f"pid{number}"
        self.client: Client | None = None
        self.life = anyio.CancelScope()
        self.stopping = False

    def parameters(self) -> StdioServerParameters:
        # The shell becomes the server (exec), so that the number it leaves is the server's own.
        serve = f"echo $$ > '{self.pid_file}'; exec '{sys.executable}' -m benchmarks.paying "
        serve += f"'{self.folder}/debates.db' '{self.folder}/ledger' {DELAY} '{self.plan.chaos}' {LEEWAY}"
        return StdioServerParameters(
            command="sh",
            args=["-c", f"{serve} 2>> '{self.folder}/stderr'"],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )

    async def live(self) -> None:
        while not self.stopping:
            with anyio.CancelScope() as self.life:
                # A session whose server was killed may break in any way.
                with suppress(Exception):
                    async with Client(self.parameters()) as self.client:
                        await anyio.sleep_forever()
            self.client = None

    def kill(self) -> Death:
        pid = int(self.pid_file.read_text())
        before = time()
        os.kill(pid, signal.SIGKILL)
        self.client = None
        self.life.cancel()
        return Death(pid, before, time())

    def stop(self) -> None:
        self.stopping = True
        self.life.cancel()


@dataclass
class Soak:
    folder: Path
    plan: Plan
    draw: random.Random
    processes: list[Process] = field(default_factory=list)
    waiting: deque[Driven] = field(default_factory=deque)
    driven: list[Driven] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)
    kept: dict[tuple[str, int], str] = field(default_factory=dict)  # the entries seen at kills, by their hash
    seeds: int = 0
    looks: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def settled(self) -> bool:
        return all(one.settled for one in self.driven)

    @property
    def database(self) -> Path:
        return self.folder / "debates.db"

    async def run(self) -> None:
        self.processes = [Process(self.folder, n, self.plan) for n in range(self.plan.processes)]
        names = list(FORMATS)
        for number in range(self.plan.debates):
            self.add(Driven(proposal(names[number % len(names)], number)))
        with anyio.move_on_after(PATIENCE) as limit:
            async with anyio.create_task_group() as tasks:
                for process in self.processes:
                    tasks.start_soon(process.live)
                tasks.start_soon(self.keep_killing)
                await self.settle()
                for process in self.processes:
                    process.stop()
                tasks.cancel_scope.cancel()
        if limit.cancelled_caught:
            left = [one.id or "one that could not be opened" for one in self.driven if not one.settled]
            self.wrong.append(f"not settled after {PATIENCE:.0f} s: {', '.join(left[:10])}")

    def add(self, one: Driven) -> None:
        self.driven.append(one)
        self.waiting.append(one)

    async def settle(self) -> None:
        """Drive every debate to where it stays, those too that were opened for nobody at a kill."""
        while not self.settled:
            async with anyio.create_task_group() as hands:
                for _ in range(HANDS):
                    hands.start_soon(self.keep_driving)
            known = {one.id for one in self.driven}
            for name in {name for name, _ in self.entries()} - known:
                self.looks["adopted"] += 1
                self.add(Driven({"run": False}, id=name))  # a step drives any

    async def keep_driving(self) -> None:
        while not self.settled:
            if not self.waiting:
                await anyio.sleep(0.05)
                continue
            one = self.waiting.popleft()
            await self.look_at(one)
            if not one.settled:
                self.waiting.append(one)

    async def look_at(self, one: Driven) -> None:
        alive = [process for process in self.processes if process.client]
        if not alive:
            await anyio.sleep(0.05)
            return
        process = self.draw.choice(alive)
        client = process.client
        assert client is not None
        self.looks["looks"] += 1
        try:
            with anyio.fail_after(LOOK + 20):
                await self.advance(one, client)
        except Said as said:
            if not one.id:
                self.wrong.append(f"a debate was refused: {said}")
            # Nothing was said that could be judged, or the talk is over: what it is now is what it stays.
            one.settled = one.concluding or not one.id
        except Exception as error:  # noqa: BLE001  (any of a connection that was killed)
            if process.client is client:
                self.wrong.append(f"{one.id}: a call broke although nobody was killed: {error!r}"[:300])
                one.settled = True

    async def advance(self, one: Driven, client: Client) -> None:
        this = {"debate_id": one.id}
        if not one.id:
            self.seeds += 1  # another one each time: the last may have been opened although we were not told
            one.arguments["options"]["seed"] = self.seeds
            one.id = (await called(client, "start_debate", one.arguments))["debate_id"]
            return
        if self.draw.random() < MEDDLING:
            with suppress(Said):
                await called(client, "intervene", {**this, "action": "inject", "text": "And the costs?"})
        if self.draw.random() < MEDDLING:
            with suppress(Said):
                await called(client, "intervene", {**this, "action": "pause", "reason": "meddling"})
        tool = "get_verdict" if one.arguments["run"] else "step_round"  # which alone drives what is stepped
        found = await called(client, tool, {**this, "wait_seconds": LOOK})
        match found["status"]:
            case "concluded" | "truncated":
                one.settled = True
            case "paused":
                await self.go_on(one, client, meddled=found["reason"] == "meddling")

    async def go_on(self, one: Driven, client: Client, *, meddled: bool) -> None:
        """Resume a debate that has paused; one that did so too often is concluded, or stays as it is."""
        this = {"debate_id": one.id}
        if one.resumes < RESUMES or meddled:
            one.resumes += not meddled
            await called(client, "intervene", {**this, "action": "resume"})
        elif one.concluding:
            one.settled = True
        else:
            one.concluding = True
            await called(client, "get_verdict", {**this, "conclude": True, "wait_seconds": LOOK})

    async def keep_killing(self) -> None:
        """Kill whenever so many more questions were asked, or nothing happened for long."""
        between = self.plan.debates * CALLS / max(self.plan.kills, 1)
        for _ in range(self.plan.kills):
            wanted = self.asked() + self.draw.uniform(0.2, 1.6) * between
            with anyio.move_on_after(QUIET):
                while self.asked() < wanted:  # noqa: ASYNC110  (it is another process that writes)
                    await anyio.sleep(0.01)
            while not (alive := [process for process in self.processes if process.client]):  # noqa: ASYNC110
                await anyio.sleep(0.01)
            self.deaths.append(self.draw.choice(alive).kill())
            self.compare()

    def asked(self) -> int:
        ledger = self.folder / "ledger"
        return ledger.read_bytes().count(b"\n") if ledger.exists() else 0

    def compare(self) -> None:
        """What was there at an earlier kill is there now, and the same."""
        now = self.entries()
        for (name, seq), found in self.kept.items():
            if now.get((name, seq)) != found:
                self.wrong.append(f"{name}: entry {seq} was recorded, and is gone or altered")
        self.kept = now

    def entries(self) -> dict[tuple[str, int], str]:
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as db:
            rows = db.execute("select stream, seq, hash from journal").fetchall()
        return {(name, seq): found for name, seq, found in rows}


def proposal(name: str, number: int) -> dict[str, Any]:
    """Every other debate runs by itself; every third has more than the format asks for."""
    options: dict[str, Any] = {"limits": {"turn_timeout": 1 + number % 2}, "tags": ["soak"]}
    if number % 3 == 0:
        options["referee"] = True
        if name in ("verdict", "round_robin", "settle"):
            options["moderator"] = {"opens": name != "settle", "closes": name != "round_robin"}
    if name == "round_robin" and number % 2:
        options["output_schema"] = {
            "type": "object",
            "properties": {"summary": {"type": "string"}, "points": {"type": "array", "maxItems": 5}},
            "required": ["summary"],
        }
    if name == "handoff":
        options["handoff"] = ("structured", "tool", "text")[number // len(FORMATS) % 3]
        options["limits"]["max_turns"] = 6
    return {
        "question": f"Should penguins fly? ({number})",
        "format": name,
        "options": options,
        "run": bool(number // len(FORMATS) % 2),
        "wait_seconds": 0,
    }


async def called(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or not result.structured_content:
        raise Said(str(getattr(result.content[0], "text", result.content)))
    return dict(result.structured_content)


async def soak(plan: Plan, folder: Path) -> Books:
    """Do it all, and read the books."""
    running = Soak(folder, plan, random.Random(plan.seed))  # noqa: S311  (instants, not secrets)
    began = perf_counter()
    await running.run()
    running.compare()
    books = await read_books(running.database, folder / "ledger", plan.chaos, running.deaths)
    books.wrong[:0] = running.wrong
    books.figures["seconds"] = round(perf_counter() - began)
    books.figures.update(running.looks)
    return books


async def measured() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        books = await soak(Plan(), Path(folder))
    how = "; ".join([str(books), *books.wrong[:3]])
    return [Line("the soak: things wrong after 200 debates and 20 kills", len(books.wrong), "", 0, how=how)]


def plan_of(arguments: Sequence[str]) -> tuple[Plan, str]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    usual = Plan()
    for name in ("debates", "kills", "processes", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    parser.add_argument("--chaos", default=usual.chaos)
    parser.add_argument("--keep", default="", help="a new directory for the database, the ledger and the log")
    given = vars(parser.parse_args(arguments))
    keep = given.pop("keep")
    return Plan(**given), keep


def main() -> None:
    plan, keep = plan_of(sys.argv[1:])
    if keep:
        Path(keep).mkdir()
        books = anyio.run(soak, plan, Path(keep))
    else:
        with tempfile.TemporaryDirectory() as folder:
            books = anyio.run(soak, plan, Path(folder))
    print(books, *books.wrong, sep="\n")
    sys.exit(bool(books.wrong))


if __name__ == "__main__":
    main()
