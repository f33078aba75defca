"""Debates whose models are chosen from twelve candidates, and a ledger that tells these apart."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from server.debate.analysis.judgments import Judgment, Reading
from server.engine.database.ledger import import_judgments
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, start_debate

GOOD, FAIR, POOR = ("one", "two"), ("three", "four"), ("five", "six")
NAMES = tuple(f"{vendor}/{name}" for name in (*GOOD, *FAIR, *POOR) for vendor in ("acme", "beta"))
SHARES = dict.fromkeys(GOOD, 0.95) | dict.fromkeys(FAIR, 0.75) | dict.fromkeys(POOR, 0.55)
DEBATERS = [{"name": "Ada", "stance": "Ship it"}, {"name": "Ben", "stance": "Wait"}]


@asynccontextmanager
async def open_many(database: str = ":memory:", names: Iterable[str] = NAMES) -> AsyncIterator[DebateManager]:
    models: dict[str, Any] = {name: ScriptedModel(name=name) for name in (*names, "mine")}
    async with open_engine(database, models) as manager:
        yield manager


async def teach(
    manager: DebateManager, items: int, topic: str = "", names: Iterable[str] = NAMES, owner: str = "local"
) -> None:
    """Import judgments in which each model is right as often as its name says."""
    judgments = []
    for place, name in enumerate(names):
        right = round(SHARES[name.partition("/")[2]] * items)
        for number in range(items):
            choice = "a" if (number * 7 + place * 3) % items < right else "b"
            readings = Reading(1, choice), Reading(2, choice)
            topics = (topic,) if topic else ()
            judgments.append(Judgment(f"{topic} item {number}", name, "a", readings, topics=topics))
    await import_judgments(manager.store.storage.ledger, judgments, manager.store.name_ledger(owner))


async def start(manager: DebateManager, debaters: Any = None, **team: Any) -> DebateSnapshot:
    asked = {"candidates": list(NAMES), **team}
    return await start_debate(manager, debaters=debaters or DEBATERS, options={"team": asked, "seed": 5})


def list_seats(snapshot: DebateSnapshot) -> list[str]:
    return [debater.model for debater in snapshot.debate.setup.debaters]
