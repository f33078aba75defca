"""Servers over HTTP that are replaced one after another, killed, and whose database is killed: what it costs."""

import asyncio
import random
import signal
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
from mcp import Client

from benchmarks.crashes.cluster import REPLICAS, Cluster, open_cluster
from benchmarks.speed.debates import DEBATE
from benchmarks.table import Measurement, Samples
from storage.contract.streams import Entry, StreamFilter
from storage.postgres import PostgresJournal

ERAS = ("auto", "legacy")
CALLERS = 12  # that hold debates while servers are replaced
DEBATES, AT_ONCE = 500, 40
KILLS, OUTAGES = 6, 2
DOWN_SECONDS = 3.0  # of the database, and of a server that was killed
PAUSE_SECONDS = 4.0  # between two faults
TAKEOVER_SECONDS = 10.0
ENDING_SECONDS = 60.0  # in which debates end that nobody asks for: those of the takeover are long


async def measure_replacement() -> list[Measurement]:
    """All servers are replaced one after another while callers of both eras hold debates: the calls that fail."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_cluster(Path(folder)) as cluster:
            is_over, gone = asyncio.Event(), Samples()

            async def hold_debates(caller: int) -> None:
                number = caller
                while not is_over.is_set():
                    with suppress(Exception):  # it is counted
                        await cluster.hold_debate(number, ERAS[caller % 2], is_patient=False)
                    number += CALLERS

            callers = [asyncio.create_task(hold_debates(caller)) for caller in range(CALLERS)]
            await asyncio.sleep(PAUSE_SECONDS)
            for replica in cluster.replicas:
                gone.wall.append(await replica.end(signal.SIGTERM))
                await replica.start()
                await asyncio.sleep(PAUSE_SECONDS)
            is_over.set()
            await asyncio.gather(*callers)
            told = "; ".join(f"{count} x {text}" for text, count in cluster.failures.most_common(3))
            return [
                Measurement(
                    f"failed calls while {REPLICAS} servers behind haproxy are replaced, both eras",
                    sum(cluster.failures.values()),
                    "",
                    0,
                    details=f"of {cluster.counts['calls']} calls, {cluster.counts['concluded']} debates {told}".strip(),
                ),
                Measurement("a server over HTTP, from SIGTERM to its end", max(gone.wall), "s", 5, ours=gone),
            ]


async def measure_cluster() -> list[Measurement]:
    """Hundreds of debates through servers that are killed, and whose database is: what is lost, and paid twice."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_cluster(Path(folder)) as cluster:
            places, takeovers = asyncio.Semaphore(AT_ONCE), Samples()

            async def hold(number: int) -> None:
                async with places:
                    await cluster.hold_debate(number, ERAS[number % 2], is_patient=True)

            began = perf_counter()
            faults = asyncio.create_task(inject_faults(cluster, takeovers))
            await asyncio.gather(*(hold(number) for number in range(DEBATES)))
            await faults
            took = perf_counter() - began
            await wait_for_ends(cluster)
            return [*await report_chaos(cluster, took), build_takeover(takeovers)]


async def wait_for_ends(cluster: Cluster) -> None:
    """Wait until no debate runs any more, or for as long as one may take."""
    journal = await PostgresJournal.open(cluster.database)
    try:
        with anyio.move_on_after(ENDING_SECONDS):
            while await journal.find("", StreamFilter("running"), limit=1):  # noqa: ASYNC110  (other processes)
                await anyio.sleep(0.2)
    finally:
        await journal.close()


async def inject_faults(cluster: Cluster, takeovers: Samples) -> None:
    """Kill servers, and the database, in turn."""
    rng = random.Random(1)  # noqa: S311  (instants, not secrets)

    async def kill_replica() -> None:
        replica = rng.choice(cluster.replicas)
        await replica.end(signal.SIGKILL)
        await asyncio.sleep(DOWN_SECONDS)
        await replica.start()

    async def kill_database() -> None:
        cluster.postgres.kill()
        await asyncio.sleep(DOWN_SECONDS)
        await asyncio.to_thread(cluster.postgres.start)

    faults: list[Callable[[], Awaitable[None]]]
    faults = [*[kill_replica] * KILLS, *[kill_database] * OUTAGES]
    rng.shuffle(faults)
    for fault in faults:
        await asyncio.sleep(PAUSE_SECONDS)
        await fault()
    takeovers.wall.append(await time_takeover(cluster))


async def time_takeover(cluster: Cluster) -> float:
    """Seconds from the kill of all servers but one until it has recorded an answer in each of their debates.

    Nobody asks for these debates meanwhile.
    """
    victims = cluster.replicas[1:]
    started = []
    for replica in victims:
        async with Client(f"http://127.0.0.1:{replica.port}/mcp") as client:
            for number in range(4):
                question = f"Should takeover {replica.number}.{number} be timed?"
                arguments = {**DEBATE, "question": question, "format": "verdict", "max_rounds": 10}
                result = await client.call_tool("start_debate", {**arguments, "wait_seconds": 0})
                started.append((result.structured_content or {})["debate_id"])
    await asyncio.sleep(1)
    for replica in victims:
        await replica.end(signal.SIGKILL)
    killed = perf_counter()
    journal = await PostgresJournal.open(cluster.database)
    try:
        heads = {name: (await journal.head(name)).seq for name in started}
        for name, seq in heads.items():
            while (await journal.head(name)).seq <= seq:  # noqa: ASYNC110  (another process)
                await asyncio.sleep(0.02)
    finally:
        await journal.close()
    taken = perf_counter() - killed
    for replica in victims:
        await replica.start()
    return taken


def build_takeover(takeovers: Samples) -> Measurement:
    name = "takeover of the debates of two killed servers by the third, nobody asks"
    return Measurement(name, max(takeovers.wall), "s", TAKEOVER_SECONDS, ours=takeovers)


def find_slot(entry: Entry) -> Mapping[str, Any]:
    """The entry of an answer; nothing of another."""
    is_answer = "slot_index" in entry.body and entry.body["kind"] not in (
        "failed",
        "researched",
        "handoff_failed",
    )
    return entry.body if is_answer else {}


async def report_chaos(cluster: Cluster, took: float) -> list[Measurement]:
    """What the record says, which is read and checked whole, beside what the provider was asked."""
    found: Counter[str] = Counter()
    journal = await PostgresJournal.open(cluster.database)
    try:
        for name in await journal.find_all_streams():
            entries = await journal.read(name)  # its chain is checked
            found["debates"] += 1
            found["concluded"] += entries[-1].body.get("ending") == "concluded"
            usages = [entry.body["usage"] for entry in entries if entry.body.get("usage")]
            found["recorded"] += sum(usage["attempts"] for usage in usages)
            slots = [
                (body["seat"], body["round"], body["slot_index"]) for body in map(find_slot, entries) if body
            ]
            found["twice"] += len(slots) - len(set(slots))
    finally:
        await journal.close()
    asked = cluster.provider.asked.values()
    requests = sum(map(len, asked))
    replicas = cluster.replicas
    after_answer = sum(
        any(replica.has_received(one) for replica in replicas) for again in asked for one in again[:-1]
    )
    lost = found["debates"] - found["concluded"]
    faults = f"{KILLS} servers killed, {OUTAGES} times the database for {DOWN_SECONDS:g} s"
    details = f"{faults}; {took:.0f} s, {requests} requests, {requests - found['recorded']} of them without a record"
    failed = sum(cluster.failures.values())
    name = f"chaos over HTTP and PostgreSQL: of {DEBATES} debates, those that did not conclude"
    return [
        Measurement(name, lost, "", 0, details=details),
        Measurement("… answers recorded twice", found["twice"], "", 0),
        Measurement("… requests repeated after an answer had arrived at a living server", after_answer, ""),
        Measurement("… requests repeated in all", sum(len(again) - 1 for again in asked), ""),
        Measurement(
            "… calls that failed, and were made again", failed, "", details=f"of {cluster.counts['calls']}"
        ),
    ]
