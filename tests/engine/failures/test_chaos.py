"""What debates make of models that fail: they end, pause or go on without a seat, and name each failure."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner

from server.cli.main import counterpoint
from server.compose import open_manager
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.events import Failed
from server.debate.interventions.action import InterventionRequest
from server.debate.machine.decide import Ask, Record, decide
from server.debate.machine.transitions import replay
from server.debate.rules.budget import NO_DEADLINE
from server.debate.views.warnings import failure_lines
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.model_calls import CallTerms, ModelCaller
from server.models.fakes.chaos import FAILURES, Chaos
from server.models.registry import ModelRegistry
from server.research import Research
from server.settings import Settings
from tests.support.engines import run_debate, start_debate
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.requirement("D16", "D3")


@asynccontextmanager
async def open_engine(folder: Path, chaos: Chaos | None) -> AsyncIterator[DebateManager]:
    logging.getLogger("server.engine.model_calls").setLevel(logging.CRITICAL)
    settings = Settings(db=str(folder / "debates.db"), models=("scripted",))
    try:
        with anyio.fail_after(PATIENCE):
            async with open_manager(settings, environ={}, chaos=chaos) as opened:
                yield opened
    finally:
        logging.getLogger("server.engine.model_calls").setLevel(logging.NOTSET)


HEAVY = Chaos(failure=0.08, corrupt=0.25, truncated=0.1, empty=0.15, crash=0.12, seed=5)


def facts_of(snapshot: DebateSnapshot) -> list[str]:
    """What happened, without who was faster."""
    return sorted(
        entry.event.model_dump_json(exclude={"usage": {"milliseconds"}, "reason": True, "detail": True})
        for entry in snapshot.entries
    )


@pytest.mark.full
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.asyncio
async def test_under_heavy_chaos_a_debate_of_any_format_ends_or_pauses_and_names_each_failure(
    name: str, tmp_path: Path
) -> None:
    async with open_engine(tmp_path, HEAVY) as running:
        snapshot = await run_debate(running, format=name, options={"seed": 1})
        for _ in range(3):
            if snapshot.debate.paused:
                await running.intervene(snapshot.id, "resume", InterventionRequest(), actor="test")
                snapshot = await running.follow(snapshot.id, wait=PATIENCE)

    assert snapshot.status in ("concluded", "paused")
    told = failure_lines(snapshot.debate)
    assert snapshot.debate.failures
    for failure in snapshot.debate.failures:
        assert any(failure.seat in line and f" ({failure.cause}" in line for line in told)
    if snapshot.debate.paused:
        assert any(f.detail in snapshot.debate.paused.reason for f in snapshot.debate.round_failures)


@pytest.mark.asyncio
async def test_the_same_debate_under_the_same_chaos_meets_the_same_faults(tmp_path: Path) -> None:
    met = []
    for chaos in (HEAVY, HEAVY, replace(HEAVY, seed=6)):
        async with open_engine(tmp_path, chaos) as running:
            met.append(facts_of(await run_debate(running, options={"seed": 1})))

    assert met[0] == met[1] != met[2]


@pytest.mark.parametrize(
    ("fault", "causes"),
    [
        ("failure", {cause for cause, _, _ in FAILURES}),
        ("empty", {"empty"}),
        ("crash", {"crashed", "timeout"}),
    ],
)
@pytest.mark.asyncio
async def test_where_nobody_answers_the_debate_pauses(fault: str, causes: set[str], tmp_path: Path) -> None:
    async with open_engine(tmp_path, Chaos.from_mapping({fault: "1"})) as running:
        snapshot = await run_debate(running, options={"seed": 1})

    assert snapshot.debate.paused is not None
    assert "0 of 2 answered in round 1" in snapshot.debate.paused.reason
    assert {failure.cause for failure in snapshot.debate.failures} <= causes
    assert {failure.seat for failure in snapshot.debate.failures} == {"Proponent", "Opponent"}


@pytest.mark.asyncio
async def test_a_call_that_never_ends_is_ended_by_whoever_made_it(tmp_path: Path) -> None:
    async with open_engine(tmp_path, None) as running:
        snapshot = await start_debate(running, format="verdict")
    debate = replace(
        snapshot.debate, changed_setup=snapshot.debate.setup.model_copy(update={"turn_timeout": 0})
    )
    first = decide(debate)
    assert isinstance(first, Record)
    debate = replay(first.events, debate)
    step = decide(debate)
    assert isinstance(step, Ask)

    with anyio.fail_after(PATIENCE):
        questions = ModelCaller(ModelRegistry(chaos=Chaos(never=1)), Research({}), leeway=0.01)
        event = await questions.call(debate, step.calls[0], CallTerms(1, NO_DEADLINE, owner=""))

    assert isinstance(event, Failed)
    assert event.cause == "timeout"


# At the command line ------------------------------------------------------------------------------


def debated(folder: Path, *arguments: str) -> Any:
    command = ["--db", str(folder / "debates.db"), "debate", *arguments]
    return CliRunner().invoke(counterpoint, command, prog_name="counterpoint")


def test_a_debate_under_chaos_says_so_first(tmp_path: Path) -> None:
    result = debated(
        tmp_path, "Ship it?", "--model", "scripted", "--chaos", "truncated=1,seed=3", "--no-framing"
    )

    assert result.stdout.startswith("Chaos: truncated=1,seed=3. ")
    assert "(cut at the length limit)" in result.stdout


def test_chaos_is_told_beside_the_data_and_not_in_it(tmp_path: Path) -> None:
    arguments = ("Ship it?", "--model", "scripted", "--json")

    result = debated(tmp_path, *arguments, "--chaos", "failure=1")
    found = json.loads(result.stdout)
    again = debated(tmp_path, "--continue", found["debate_id"], "--json", "--chaos", "latency=0.001")

    assert result.exit_code == 1
    assert result.stderr.startswith("Chaos: failure=1,seed=0. ")
    assert all("(chaos)" in line for line in found["state"]["failures"])
    assert (again.exit_code, json.loads(again.stdout)["state"]["status"]) == (0, "concluded")
