"""Hooks: what they hear, what they do, and what becomes of it when things break."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.commands.intervene import Wish
from server.debate.facts.events import Intervened
from server.engine.debates import Hall, utc_now
from server.engine.leases import machine
from server.engine.runner import Case
from server.hooks import delivery_id
from storage.connection import Connection
from storage.outbox import Outbox
from storage.sqlite import SqliteJournal
from tests.support.hooking import (
    Lines,
    debated,
    hook,
    hooked,
    impatient,
    one_fails,
    started,
    webhook,
    written,
)
from tests.support.receiving import receiving

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D6")]

RESUME = {"intervene": {"action": "resume"}}


def logs(text: str) -> dict[str, str]:
    return {"log": text}


def notes(case: Case) -> list[tuple[str, str]]:
    """(who, what) of everything that was injected."""
    return [(e.actor, e.event.text) for e in case.log if isinstance(e.event, Intervened)]


async def test_a_line_is_logged_with_what_is_known_of_the_event(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    debaters, models = one_fails()
    path = written(
        tmp_path,
        hook("tell", "agent_error", logs("{hook}: {seat} in {debate_id}, {cause}: {detail} {{{winner}}}")),
    )
    async with hooked(database, path, models) as hall:
        case = await debated(hall, debaters=debaters, max_rounds=1)
        await lines.of("tell: ")

    assert lines.said[0] == f"tell: Cy in {case.id}, timeout: Cy did not answer. {{}}"


async def test_a_line_stays_one_line_however_the_debate_is_worded(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    path = written(tmp_path, hook("tell", "debate_start", logs("asked: {question}")))
    async with hooked(database, path) as hall:
        await started(hall, question="Ship\nit\x1b[31m? " + "x" * 9000)
        line = await lines.of("asked")

    assert line.startswith("asked: Ship it")
    assert len(line) < 400
    assert line.isprintable()


CONDITIONS: list[tuple[str, dict[str, Any], int]] = [
    ("debate_end", {}, 1),
    ("debate_end", {"outcome": "decided", "status": "concluded"}, 1),
    ("debate_end", {"outcome": "contested"}, 0),
    ("debate_end", {"outcome": ["leaning", "decided"]}, 1),
    ("debate_end", {"tags": "prod"}, 1),
    ("debate_end", {"tags": ["dev", "prod"]}, 1),
    ("debate_end", {"tags": ["dev"]}, 0),
    ("debate_end", {"format": "settle"}, 0),
    ("phase_start", {"status": "running"}, 3),
    ("phase_start", {"outcome": "decided"}, 0),
    ("phase_start", {"round": 2}, 1),
    ("phase_end", {}, 3),
    ("agent_message", {"seat": "For", "cut": False}, 2),
    ("*", {"kind": "judged"}, 2),
    ("*", {"cause": "timeout"}, 0),
]
"""Events, conditions, and how often that happens in a second opinion."""


async def test_a_hook_hears_the_events_it_names_under_the_conditions_it_sets(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    hooks = [
        hook(f"hook-{number}", on, logs("{hook}"), **when) for number, (on, when, _) in enumerate(CONDITIONS)
    ]
    debaters = [{"name": name, "stance": name} for name in ("For", "Against")]
    async with hooked(database, written(tmp_path, *hooks)) as hall:
        await debated(hall, debaters=debaters, options={"tags": ["prod", "x"]})
    # Closing the hall does what can be done at once, and a line can.

    assert [lines.said.count(f"hook-{number}") for number in range(len(CONDITIONS))] == [
        count for _, _, count in CONDITIONS
    ]


async def test_a_hook_asks_who_is_left_when_a_debater_fails(database: str, tmp_path: Path) -> None:
    debaters, models = one_fails()
    question = {"intervene": {"action": "inject", "text": "Who answers the question of {seat}?", "to": "Ada"}}
    async with receiving() as receiver:
        path = written(
            tmp_path,
            hook("stand-in", "agent_error", question),
            hook("ops", "intervention", webhook(receiver.url)),
        )
        async with hooked(database, path, models) as hall:
            case = await hall_with_failure(hall, debaters)
            [posted] = await receiver.wait_for(1)
            case = await hall.case(case.id)

    [(entry, note)] = [(entry, entry.event) for entry in case.log if isinstance(entry.event, Intervened)]
    assert notes(case) == [("hook stand-in", "Who answers the question of Cy?")]
    assert (note.to, posted.json["event"]["seq"]) == ("Ada", entry.seq)
    assert posted.json["event"]["actor"] == "hook stand-in"


async def hall_with_failure(hall: Hall, debaters: object) -> Case:
    """A debate in whose first round one debater has failed."""
    case = await started(hall, debaters=debaters)
    return await hall.step(case.id, wait=5)


async def test_what_a_hook_does_moves_no_hook_to_intervene_but_can_be_heard_of(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    again = {"intervene": {"action": "inject", "text": "Again."}}
    path = written(
        tmp_path,
        hook("loop", "intervention", again, logs("heard {actor}")),
        hook("first", "debate_start", again),
    )
    async with hooked(database, path) as hall:
        case = await started(hall)
        await lines.of("heard hook first")
        await hall.intervene(case.id, "inject", Wish(text="By hand."), actor="me")
        await lines.of("heard hook loop")
        case = await hall.case(case.id)

    assert notes(case) == [("hook first", "Again."), ("me", "By hand."), ("hook loop", "Again.")]
    assert [line for line in lines.said if "heard" in line] == [
        "heard hook first",
        "heard me",
        "heard hook loop",
    ]


async def test_hooks_intervene_twenty_times_in_a_debate_and_no_more(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    path = written(tmp_path, hook("eager", "debate_pause", RESUME))
    async with hooked(database, path) as hall:
        case = await started(hall)
        for count in range(1, 21):
            await hall.intervene(case.id, "pause", Wish(), actor="me")
            await resumed(hall, case.id, count)
        await hall.intervene(case.id, "pause", Wish(), actor="me")
        said = await lines.of("gave up")
        case = await hall.case(case.id)

    assert "hooks have intervened 20 times" in said
    assert case.status == "paused"


async def resumed(hall: Hall, debate_id: str, count: int) -> None:
    """Wait until hooks have resumed a debate so often."""
    with anyio.fail_after(5):
        while True:
            changed = anyio.Event()

            def tell(_case: Case, changed: anyio.Event = changed) -> None:
                changed.set()

            hall.listeners.append(tell)
            case = await hall.case(debate_id)
            if sum(entry.event.kind == "resumed" for entry in case.log) >= count:
                hall.listeners.remove(tell)
                return
            await changed.wait()
            hall.listeners.remove(tell)


async def test_an_intervention_that_is_refused_is_told_and_not_tried_again(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    path = written(tmp_path, hook("late", "debate_end", {"intervene": {"action": "pause"}}))
    async with hooked(database, path) as hall:
        case = await debated(hall)
        said = await lines.of("gave up")

    assert said.startswith(f"Hook late gave up on entry {case.debate.version} of debate {case.id}, attempt 1")
    assert "The debate is over" in said


async def test_a_webhook_that_hangs_holds_up_neither_the_debate_nor_other_hooks(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    async with receiving(hangs=True) as receiver:
        path = written(
            tmp_path,
            hook("slow", "*", webhook(receiver.url), logs("slow hook's own {kind}")),
            hook("quick", "debate_end", logs("over")),
        )
        async with hooked(database, path) as hall:
            case = await debated(hall)
            await lines.of("over")
            await lines.of("slow hook's own ended")
            assert len(await receiver.wait_for(1)) == 1

    assert case.status == "concluded"


async def test_what_was_not_delivered_when_the_process_was_killed_is_delivered_by_the_next(
    database: str, tmp_path: Path
) -> None:
    async with receiving(hangs=True) as receiver:
        path = written(tmp_path, hook("ops", "debate_start", webhook(receiver.url)))
        with anyio.fail_after(2):
            async with hooked(database, path) as hall:
                case = await started(hall)
                await receiver.wait_for(1)
        receiver.open.set()
        async with hooked(database, path):
            first, second = await receiver.wait_for(2)

    assert first.id == second.id
    assert second.json["debate"]["id"] == case.id


async def test_closing_with_a_webhook_that_hangs_takes_less_than_a_second(
    database: str, tmp_path: Path
) -> None:
    async with receiving(hangs=True) as receiver:
        path = written(tmp_path, hook("ops", "debate_start", webhook(receiver.url)))
        async with hooked(database, path) as hall:
            await started(hall)
            await receiver.wait_for(1)
            left = anyio.current_time()
        assert anyio.current_time() - left < 1


async def test_what_a_process_without_hooks_recorded_is_delivered_by_one_with(
    database: str, tmp_path: Path
) -> None:
    async with receiving() as receiver:
        path = written(tmp_path, hook("ops", "debate_start", webhook(receiver.url)))
        async with hooked(database, path):
            pass
        async with hooked(database, "") as bare:
            case = await started(bare)
        async with hooked(database, path), hooked(database, "") as bare:
            other = await started(bare)
            posted = await receiver.wait_for(2)

    assert [one.json["debate"]["id"] for one in posted] == [case.id, other.id]


async def test_of_two_processes_one_delivers(database: str, tmp_path: Path) -> None:
    note = {"intervene": {"action": "inject", "text": "Mind the cost."}}
    async with receiving() as receiver:
        path = written(tmp_path, hook("ops", "*", webhook(receiver.url)), hook("add", "debate_start", note))
        async with hooked(database, path) as one, hooked(database, path) as two:
            began = [await started(hall) for hall in (one, two) * 3]
            stepped = [await two.step(case.id, wait=5) for case in began]
            await receiver.wait_for(sum(len(case.log) for case in stepped))
        async with hooked(database, "") as bare:
            cases = [await bare.case(case.id) for case in began]

    assert [notes(case) for case in cases] == [[("hook add", "Mind the cost.")]] * 6
    assert sorted(
        (posted.json["debate"]["id"], posted.json["event"]["seq"]) for posted in receiver.posted
    ) == (sorted((case.id, entry.seq) for case in cases for entry in case.log))
    assert len({posted.id for posted in receiver.posted}) == len(receiver.posted)


async def test_what_a_process_was_doing_when_it_was_killed_is_taken_over_at_once(
    database: str, tmp_path: Path
) -> None:
    async with receiving(hangs=True) as receiver:
        path = written(tmp_path, hook("ops", "debate_start", webhook(receiver.url)))
        async with hooked(database, path) as hall:
            await started(hall)
            await receiver.wait_for(1)
        child = await anyio.run_process([sys.executable, "-c", "import os; print(os.getpid())"])
        dead = f"{machine()}:{child.stdout.decode().strip()}:x"
        async with hooked(database, "") as bare, outbox_of(database) as outbox:
            now = bare.clock().timestamp()
            assert await outbox.claim("ops", 0, dead, now=now + 1, seconds=600)
        receiver.open.set()
        async with hooked(database, path):
            await receiver.wait_for(2)


async def test_an_intervention_is_not_made_twice_by_who_did_not_live_to_note_it(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    note = {"intervene": {"action": "inject", "text": "Mind the cost."}}
    path = written(tmp_path, hook("add", "debate_start", note), hook("tell", "*", logs("{kind}")))
    async with hooked(database, path) as hall:
        case = await started(hall)
        await lines.of("intervened")
    raw = await Connection.open(database, patience=5)
    unnoted = delivery_id("add", case.id, 1, 0)
    await raw.rows(
        "insert into outbox (id, reader, slot, stream, seq, position, due, attempts, owner, until) "
        "values (?, 'add', 0, ?, 1, 1, ?, 0, '', 0)",
        unnoted,
        case.id,
        hall.clock().timestamp(),
    )
    await raw.close()
    async with hooked(database, path) as hall:
        pass
    async with hooked(database, path) as hall, outbox_of(database) as outbox:
        assert await outbox.due(hall.clock().timestamp() + 99) == []
        assert notes(await hall.case(case.id)) == [("hook add", "Mind the cost.")]


@asynccontextmanager
async def outbox_of(database: str) -> AsyncIterator[Outbox]:
    journal = await SqliteJournal.open(database)
    try:
        yield journal.outbox
    finally:
        await journal.close()


async def test_debates_that_began_before_a_hook_was_first_there_are_left_alone(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    async with hooked(database, "") as hall:
        old = await started(hall)
    early = hook("early", "*", logs("early {debate_id} {kind}"))
    async with hooked(database, written(tmp_path, early)) as hall:
        await hall.step(old.id, wait=5)
        between = await started(hall)
        await lines.of("early")
    path = written(tmp_path, early, hook("late", "*", logs("late {debate_id} {kind}")))
    async with hooked(database, path) as hall:
        await hall.intervene(between.id, "pause", Wish(), actor="me")
        new = await started(hall)
        await lines.of(f"early {new.id}")
        await lines.of(f"late {new.id}")

    assert lines.said[:2] == [f"early {between.id} opened", f"early {between.id} paused"]
    assert sorted(lines.said[2:]) == [f"early {new.id} opened", f"late {new.id} opened"]


async def test_what_happened_too_long_ago_is_left_alone(database: str, tmp_path: Path, lines: Lines) -> None:
    path = written(tmp_path, hook("ops", "debate_start", logs("began {question}")), max_age_hours=0.01)
    async with hooked(database, path):
        pass
    (tmp_path / "none").mkdir()
    yesterday = partial(impatient, clock=lambda: utc_now() - timedelta(days=1))
    async with yesterday(database, written(tmp_path / "none")) as bare:
        await started(bare, question="Then?")
    async with hooked(database, path) as hall:
        await started(hall, question="Now?")
        await lines.of("began Now?")

    assert lines.said == ["began Now?"]


async def test_a_debate_whose_record_was_altered_keeps_no_other_from_being_heard_of(
    database: str, tmp_path: Path, lines: Lines
) -> None:
    path = written(tmp_path, hook("ops", "debate_start", logs("began {question}")))
    async with hooked(database, path):
        pass
    async with hooked(database, "") as bare:
        damaged = await started(bare, question="One?")
        await started(bare, question="Two?")
    await damage(database, damaged.id)
    async with hooked(database, path):
        await lines.of("began Two?")

    assert "pass over debate" in lines.said[0]
    assert "altered" in lines.said[0]


async def damage(database: str, debate_id: str) -> None:
    raw = await Connection.open(database, patience=5)
    await raw.rows("drop trigger journal_no_update")
    await raw.rows("update journal set hash = 'x' where stream = ?", debate_id)
    await raw.close()
