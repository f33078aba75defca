"""Hooks: what they hear, what they do, and what becomes of it when things break."""

from datetime import timedelta
from typing import Any

import anyio
import pytest

from server.debate.facts.interventions import NoteAdded
from server.debate.interventions.action import InterventionRequest
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import utc_now
from server.engine.transfer import restore_debate
from server.hooks import runner
from server.hooks.scanner import build_delivery_id
from storage.streams import format_time
from tests.contract.journal_helpers import open_any_storage
from tests.support.engines import run_debate, start_debate
from tests.support.hook_debates import (
    build_failing_team,
    hook,
    open_hooks,
    open_retrying_hooks,
    post_at_start,
    webhook,
)
from tests.support.log_lines import LogLines
from tests.support.patience import PATIENCE
from tests.support.processes.webhook_receiver import open_receiver
from tests.support.raw_sql import run_raw
from tests.support.records import build_export, play_record

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D6")]


def logs(text: str) -> dict[str, str]:
    return {"log": text}


def notes(snapshot: DebateSnapshot) -> list[tuple[str, str]]:
    """(who, what) of everything that was injected."""
    return [(e.actor, e.event.text) for e in snapshot.entries if isinstance(e.event, NoteAdded)]


async def test_a_line_is_logged_with_what_is_known_of_the_event(database: str, log_lines: LogLines) -> None:
    debaters, models = build_failing_team()
    async with open_hooks(
        database,
        hook("tell", "agent_error", logs("{hook}: {seat} in {debate_id}, {cause}: {detail} {{{winner}}}")),
        models=models,
    ) as manager:
        snapshot = await run_debate(manager, debaters=debaters, max_rounds=1)
        await log_lines.wait_for("tell: ")

    assert log_lines.messages[0] == f"tell: Cy in {snapshot.id}, timeout: Cy did not answer. {{}}"


@pytest.mark.requirement("N14")
async def test_a_hook_hears_debates_of_all_owners_or_of_those_that_it_names(
    database: str, log_lines: LogLines
) -> None:
    told = logs("{hook}: {owner} asks {question}")
    hooks = (hook("every", "debate_start", told), hook("one", "debate_start", told, owner=["ann"]))
    async with open_hooks(database, *hooks) as manager:
        await start_debate(manager.of("ann"), question="A?")
        await start_debate(manager.of("ben"), question="B?")
        await log_lines.wait_for("every: ben")

    assert sorted(log_lines.messages) == ["every: ann asks A?", "every: ben asks B?", "one: ann asks A?"]


CONDITIONS: list[tuple[str, dict[str, Any], int]] = [
    ("debate_end", {}, 1),
    ("debate_end", {"outcome": "leaning", "status": "concluded"}, 1),
    ("debate_end", {"outcome": ["leaning", "decided"]}, 1),
    ("debate_end", {"tags": ["dev", "prod"]}, 1),
    ("debate_end", {"tags": ["dev"]}, 0),
    ("phase_start", {"status": "running"}, 3),
    ("phase_start", {"outcome": "leaning"}, 0),
    ("phase_start", {"round": 2}, 1),
    ("phase_end", {"phase": "opening", "round": 1, "event": "phase_end"}, 1),
    ("phase_end", {"phase": "verdict", "kind": "ended"}, 1),
    ("phase_start", {"phase": "opening", "event": "phase_start"}, 1),
    ("consensus", {"consensus": "unanimous", "kind": "agreed"}, 1),
    ("consensus", {"outcome": ["contested", "undecided"]}, 0),
    ("agent_message", {"seat": "For", "cut": False}, 2),
    ("*", {"kind": "judged"}, 2),
]
"""Events, conditions, and how often that happens in a second opinion."""


async def test_a_hook_hears_its_events_under_its_conditions(database: str, log_lines: LogLines) -> None:
    hooks = [
        hook(f"hook-{number}", on, logs("{hook}"), **when) for number, (on, when, _) in enumerate(CONDITIONS)
    ]
    debaters = [{"name": name, "stance": name} for name in ("For", "Against")]
    async with open_hooks(database, *hooks) as manager:
        await run_debate(manager, debaters=debaters, options={"tags": ["prod", "x"]})
        await log_lines.wait_for("hook-", sum(count for _, _, count in CONDITIONS))

    assert [log_lines.messages.count(f"hook-{number}") for number in range(len(CONDITIONS))] == [
        count for _, _, count in CONDITIONS
    ]


async def test_a_hook_asks_who_is_left_when_a_debater_fails(database: str) -> None:
    debaters, models = build_failing_team()
    question = {"intervene": {"action": "inject", "text": "Who answers the question of {seat}?", "to": "Ada"}}
    async with (
        open_receiver() as receiver,
        open_hooks(
            database,
            hook("stand-in", "agent_error", question),
            hook("ops", "intervention", webhook(receiver.url)),
            models=models,
        ) as manager,
    ):
        snapshot = await start_debate(manager, debaters=debaters)
        await manager.step(snapshot.id, wait=PATIENCE)
        [posted] = await receiver.wait_for(1)
        snapshot = await manager.load(snapshot.id)

    [(entry, note)] = [
        (entry, entry.event) for entry in snapshot.entries if isinstance(entry.event, NoteAdded)
    ]
    assert notes(snapshot) == [("hook stand-in", "Who answers the question of Cy?")]
    assert (note.to, posted.json["event"]["seq"]) == ("Ada", entry.seq)
    assert posted.json["event"]["actor"] == "hook stand-in"


async def test_what_a_hook_does_is_heard_and_moves_no_hook(database: str, log_lines: LogLines) -> None:
    again = {"intervene": {"action": "inject", "text": "Again."}}
    async with open_hooks(
        database,
        hook("loop", "intervention", again, logs("heard {actor}")),
        hook("first", "debate_start", again),
    ) as manager:
        snapshot = await start_debate(manager)
        await log_lines.wait_for("heard hook first")
        await manager.intervene(snapshot.id, "inject", InterventionRequest(text="By hand."), actor="me")
        await log_lines.wait_for("heard hook loop")
        snapshot = await manager.load(snapshot.id)

    assert notes(snapshot) == [("hook first", "Again."), ("me", "By hand."), ("hook loop", "Again.")]
    assert [line for line in log_lines.messages if "heard" in line] == [
        "heard hook first",
        "heard me",
        "heard hook loop",
    ]


@pytest.mark.full
async def test_hooks_intervene_in_a_debate_twenty_times(database: str, log_lines: LogLines) -> None:
    resume = {"intervene": {"action": "resume"}}
    hooks = (hook("eager", "debate_pause", resume), hook("tell", "*", logs("{kind}"), kind="resumed"))
    async with open_hooks(database, *hooks) as manager:
        snapshot = await start_debate(manager)
        for count in range(1, 21):
            await manager.intervene(snapshot.id, "pause", InterventionRequest(), actor="me")
            await log_lines.wait_for("resumed", count)
        await manager.intervene(snapshot.id, "pause", InterventionRequest(), actor="me")
        said = await log_lines.wait_for("gave up")
        snapshot = await manager.load(snapshot.id)

    assert "hooks have intervened 20 times" in said
    assert snapshot.status == "paused"


async def test_a_refused_intervention_is_not_tried_again(database: str, log_lines: LogLines) -> None:
    async with open_hooks(
        database, hook("late", "debate_end", {"intervene": {"action": "pause"}})
    ) as manager:
        snapshot = await run_debate(manager)
        said = await log_lines.wait_for("gave up")

    assert said.startswith(
        f"Hook late gave up on entry {snapshot.debate.version} of debate {snapshot.id}, attempt 1"
    )
    assert "The debate is over" in said


async def test_a_webhook_that_hangs_holds_up_nothing_else(database: str, log_lines: LogLines) -> None:
    async with (
        open_receiver(hangs=True) as receiver,
        open_hooks(
            database,
            hook("slow", "*", webhook(receiver.url), logs("slow hook's own {kind}")),
            hook("quick", "debate_end", logs("over")),
        ) as manager,
    ):
        snapshot = await run_debate(manager)
        await log_lines.wait_for("over")
        await log_lines.wait_for("slow hook's own ended")
        assert len(await receiver.wait_for(1)) == 1

    assert snapshot.status == "concluded"


@pytest.mark.both_databases
async def test_what_a_killed_process_did_not_deliver_the_next_delivers(database: str) -> None:
    async with open_receiver(hangs=True) as receiver:
        hooks = [post_at_start(receiver.url)]
        async with open_hooks(database, *hooks) as manager:
            snapshot = await start_debate(manager)
            await receiver.wait_for(1)
            left = anyio.current_time()
        assert anyio.current_time() - left < 1  # it does not wait for a webhook that hangs
        receiver.release.set()
        async with open_hooks(database, *hooks):
            first, second = await receiver.wait_for(2)

    assert first.id == second.id
    assert second.json["debate"]["id"] == snapshot.id


@pytest.mark.both_databases
async def test_an_intervention_that_was_not_noted_is_made_once(database: str, log_lines: LogLines) -> None:
    note = {"intervene": {"action": "inject", "text": "Mind the cost."}}
    hooks = [hook("add", "debate_start", note), hook("tell", "*", logs("{kind}"))]
    async with open_hooks(database, *hooks) as manager:
        snapshot = await start_debate(manager)
        await log_lines.wait_for("note_added")
    unnoted = build_delivery_id("add", snapshot.id, 1, "debate_start", 0)
    run_raw(
        database,
        "insert into outbox (id, reader, queue, stream, seq, position, event, due, attempts) "
        "values (?, 'add', 0, ?, 1, 1, 'debate_start', ?, 0)",
        unnoted,
        snapshot.id,
        manager.clock().timestamp(),
    )
    async with open_hooks(database, *hooks) as manager:
        pass
    async with open_hooks(database, *hooks) as manager, open_any_storage(database) as storage:
        assert await storage.outbox.find_due_queues(manager.clock().timestamp() + 99) == []
        assert notes(await manager.load(snapshot.id)) == [("hook add", "Mind the cost.")]


async def test_debates_that_began_before_a_hook_are_left_alone(database: str, log_lines: LogLines) -> None:
    async with open_hooks(database) as manager:
        old = await start_debate(manager)
    early = hook("early", "*", logs("early {debate_id} {kind}"))
    async with open_hooks(database, early) as manager:
        await manager.step(old.id, wait=PATIENCE)
        between = await start_debate(manager)
        await log_lines.wait_for("early")
    late = hook("late", "*", logs("late {debate_id} {kind}"))
    async with open_hooks(database, early, late) as manager:
        await manager.intervene(between.id, "pause", InterventionRequest(), actor="me")
        new = await start_debate(manager)
        await log_lines.wait_for(f"early {new.id}")
        await log_lines.wait_for(f"late {new.id}")

    # Each hook has its own queue: there is no order among the lines of two.
    assert [line for line in log_lines.messages if line.startswith("early")] == [
        f"early {between.id} opened",
        f"early {between.id} paused",
        f"early {new.id} opened",
    ]
    assert [line for line in log_lines.messages if line.startswith("late")] == [f"late {new.id} opened"]


async def test_what_happened_too_long_ago_is_left_alone(database: str, log_lines: LogLines) -> None:
    began = hook("ops", "debate_start", logs("began {question}"))
    async with open_hooks(database, began, max_age_hours=0.01):
        pass
    yesterday = utc_now() - timedelta(days=1)
    async with open_retrying_hooks(database, clock=lambda: yesterday) as bare:
        await start_debate(bare, question="Then?")
    async with open_hooks(database, began, max_age_hours=0.01) as manager:
        await start_debate(manager, question="Now?")
        await log_lines.wait_for("began Now?")

    assert log_lines.messages == ["began Now?"]


@pytest.mark.requirement("D23")
async def test_a_debate_waits_for_a_hook_no_longer_than_it_may(
    database: str, log_lines: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "SETTLE_SECONDS", 0.01)
    hooks = [hook("hold", "debate_start", {"intervene": {"action": "pause"}})]
    elsewhere = "another-machine/pid:[1]:1:x"  # whose process may be alive
    async with open_any_storage(database) as storage:
        now = utc_now().timestamp()
        assert await storage.leases.acquire(runner.lease_name("hold", 0), elsewhere, now=now, seconds=600)
        async with open_hooks(database, *hooks) as manager:
            snapshot = await run_debate(manager)
    assert snapshot.status == "concluded"
    assert await log_lines.wait_for("goes on before hooks have intervened")


async def test_an_altered_record_keeps_no_other_from_being_heard(database: str, log_lines: LogLines) -> None:
    hooks = [hook("ops", "debate_start", logs("began {question}"))]
    async with open_hooks(database, *hooks):
        pass
    async with open_hooks(database) as bare:
        damaged = await start_debate(bare, question="One?")
        await start_debate(bare, question="Two?")
    run_raw(database, "update journal set entry = '{}' where stream = ?", damaged.id)
    async with open_hooks(database, *hooks):
        await log_lines.wait_for("began Two?")

    assert "Hooks skip debate" in log_lines.messages[0]
    assert "altered" in log_lines.messages[0]


@pytest.mark.requirement("N26")
async def test_what_came_with_a_file_moves_no_hook(database: str, log_lines: LogLines) -> None:
    data = build_export("k3x9w2m4p7qr", play_record()[:4], at=format_time(utc_now()))
    hooks = (
        hook("tell", "*", logs("{debate_id} {seq} {event}")),
        hook("stop", "agent_message", {"intervene": {"action": "pause"}}),
    )
    async with open_hooks(database, *hooks) as manager:
        await restore_debate(manager, data)
        other = await start_debate(manager)
        await log_lines.wait_for(f"{other.id} 1")
        restored = await manager.load(data["debate_id"])
        await manager.intervene(restored.id, "inject", InterventionRequest(text="x"), actor="me")
        await log_lines.wait_for(f"{restored.id} 5")

    assert not [
        line for line in log_lines.messages if line.startswith(f"{restored.id} ") and " 5 " not in line
    ]
    assert restored.status == "running"
