"""Forks over MCP and on the command line: another judge, side by side, and only paid for once."""

import json
from typing import Any

import anyio
import pytest
from mcp import Client

from server.compose import open_manager
from server.debate.commands.requests import ChangesInput
from server.debate.rules.caller_code import CallerCode
from server.engine.database.errors import DebateNotFoundError
from server.engine.queries import compare_family
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from tests.support.client_calls import call, expect_tool_error
from tests.support.mcp_debates import build_scripted_model, read_verdict, read_view, run_debate
from tests.support.patience import PATIENCE
from tests.support.servers import Cli
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N9")]

BOB = {"winner": "Bob", "margin": 3, "verdict": "Wait.", "reasoning": "It was never answered."}
ADA = {**BOB, "winner": "Ada", "verdict": "Ship."}
SIDES = [{"name": "Ada", "stance": "ship"}, {"name": "Bob", "stance": "wait"}]
PLAIN = {"judges": {"anonymize": False, "shuffle": False, "both_orders": False, "models": ["first"]}}


def judges() -> dict[str, Any]:
    return {
        "mine": ScriptedModel(),
        "first": build_scripted_model(judgment=ADA),
        "second": build_scripted_model(judgment=BOB),
    }


async def concluded(client: Client) -> dict[str, Any]:
    return await run_debate(client, debaters=SIDES, models=["mine"], options=PLAIN)


@pytest.mark.both_databases
async def test_another_judge_after_round_1_and_both_chains_hold(open_modern: Any) -> None:
    models = judges()
    async with open_modern(models, "mine") as client:
        parent = await concluded(client)
        before = len(models["mine"].requests)
        changes = {"judges": {"models": ["second"]}, "run": True}
        child = await call(client, "fork_debate", debate_id=parent["debate_id"], at_round=1, changes=changes)
        paid = sorted(request.prompt.summary.task for request in models["mine"].requests[before:])
        states = [await read_view(client, step, "state") for step in (parent, child)]
        receipts = [await read_view(client, step, "receipt") for step in (parent, child)]
        verdict = await call(client, "get_verdict", debate_id=child["debate_id"])
        beliefs = [(await read_verdict(client, step))["beliefs"] for step in (parent, child)]
        (found,) = (await read_view(client, child, "family"))["relatives"]

    assert (child["status"], verdict["winner"], parent["status"]) == ("concluded", "Bob", "concluded")
    assert (
        paid == ["argument"] * 2 + ["ballot"] * 2
    )  # of round 2 and after it: the blind ballots are inherited
    assert [state["usage"]["calls"] for state in states] == [9, 5]
    assert beliefs[0]["before"] == beliefs[1]["before"] != []
    assert (states[1]["forked_from"], states[1]["forked_at_round"]) == (parent["debate_id"], 1)
    assert all("every entry was checked" in receipt["verified"] for receipt in receipts)
    assert (found["relation"], found["agree"], found["shared_rounds"]) == ("parent", "no", 1)
    assert found["provenance"] == "verified"
    assert [difference["field"] for difference in found["differences"]] == ["judges.models"]


async def test_bad_changes_open_no_fork(open_modern: Any) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"models": {"Eve": "mine"}}, "nobody is called 'Eve'"),
        ({"question": "Else?"}, "`changes.question` is unknown. There are: models, stances,"),
        ({"judges": {"count": 99}}, "`changes.judges.count` must be at most 9"),
    ]
    async with open_modern(judges(), "mine") as client:
        parent = await concluded(client)
        for changes, told in wrong:
            asked = {"debate_id": parent["debate_id"], "at_round": 1, "changes": changes}
            assert told in await expect_tool_error(client, "fork_debate", **asked)
        page = await call(client, "find_debates")

    assert [row["debate_id"] for row in page["debates"]] == [parent["debate_id"]]


async def test_a_fork_that_is_to_run_does_so_unasked_and_knows_its_predicate(database: str) -> None:
    async with open_manager(Settings(db=database, models=("scripted",)), environ={}) as manager:
        parent = await manager.start(build_request(question="Ship it?", max_rounds=3), actor="test")
        await manager.step(parent.id, wait=PATIENCE)
        child = await manager.fork(
            parent.id, 1, ChangesInput(), actor="me", code=CallerCode(lambda _debate: True)
        )
        with anyio.fail_after(PATIENCE):
            while not child.debate.ended:
                child = await manager.step(child.id, wait=PATIENCE)
        relatives = (await compare_family(manager, child)).relatives
        with pytest.raises(DebateNotFoundError):
            await manager.fork("nosuchdebate", 0, ChangesInput(), actor="me")

    assert child.debate.ended.reason == "terminate_when: its condition for ending was met"
    assert {entry.actor for entry in child.entries[:3]} == {"me"}
    assert [row["other"]["debate_id"] for row in relatives] == [parent.id]


# The command line --------------------------------------------------------------------------------


@pytest.fixture
def past(cli: Cli) -> str:
    sides = ["--debater", "Ada: ship", "--debater", "Bob: wait"]
    result = cli("debate", "Ship it?", *sides, "--model", "scripted", "--json")
    return str(json.loads(result.stdout)["debate_id"])


@pytest.mark.full
def test_a_fork_runs_in_the_terminal_and_is_compared(cli: Cli, past: str, tmp_path: Any) -> None:
    plan = tmp_path / "plan.md"
    plan.write_text("Ship on Monday.", encoding="utf-8")
    options = ["--judge-model", "scripted?chars=90", "--judges", "2", "--document", str(plan)]
    options += ["--debater", "Bob=scripted?chars=80: wait a year", "--rounds", "3"]

    result = cli("fork", past, "--at-round", "1", *options, "--json")

    assert result.exit_code == 0, result.output
    child = json.loads(result.stdout)
    assert child["state"]["rounds_of_talk"] == 3
    found = json.loads(cli("compare", past, child["debate_id"], "--json").stdout)
    assert (found["relation"], found["shared_rounds"]) == ("fork", 1)
    assert {difference["field"]: difference["other"] for difference in found["differences"]} == {
        "debaters.Bob.stance": "wait a year",
        "debaters.Bob.model": "scripted?chars=80",
        "judges.models": "scripted?chars=90, scripted?chars=90",
        "max_rounds": "3",
        "documents.plan.md.text": "Ship on Monday.",
        "documents.plan.md.reliability": "unknown",
    }
    shown = cli("compare", past, child["debate_id"]).stdout
    assert "is a fork of" in shown
    assert '- judges.models: "scripted" | "scripted?chars=90' in shown
    assert cli("compare", child["debate_id"]).stdout.count("is a fork of") == 1


def test_a_fork_shows_the_past_and_goes_on_live(cli: Cli, past: str) -> None:
    result = cli("fork", past, "--at-round", "1", "--model", "scripted?chars=90")

    assert (result.exit_code, result.stderr) == (0, "")
    shown = " ".join(result.stdout.split())
    steps = ["2 answers so far", "Round 2: rebuttal", "How sure: ", f"Forked from {past} after round 1"]
    assert [shown.index(step) for step in steps] == sorted(map(shown.index, steps))


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--at-round", "1", "--debater", "Bob"], 2, "NAME: STANCE"),
        ([], 2, "--at-round"),
    ],
)
def test_what_cannot_be_forked_is_told(
    cli: Cli, past: str, arguments: list[str], code: int, told: str
) -> None:
    result = cli("fork", past, *arguments)

    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr


def test_what_cannot_be_compared_is_told(cli: Cli, past: str) -> None:
    assert "counterpoint list" in cli("compare", past, "nosuchdebate").stderr
    alone = cli("compare", past)
    assert (alone.exit_code, alone.stdout) == (0, "")
    assert "No fork of" in alone.stderr
