"""The buttons of a page: what they do to a debate, whichever process runs it, and what they say."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import pytest

from server.engine.database.snapshots import DebateSnapshot
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.sites import Guest, open_site

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]


@pytest.fixture
async def guest(database: str) -> AsyncIterator[Guest]:
    async with open_site(database, ScriptedModel()) as opened:
        yield opened


async def wait_for_round(guest: Guest, debate_id: str, number: int) -> DebateSnapshot:
    """Wait until nobody runs a debate, and this round of it is over."""
    snapshot = await guest.manager.load(debate_id)
    with anyio.fail_after(PATIENCE):
        while snapshot.debate.round < number or await guest.manager.is_run(debate_id):
            snapshot = await guest.manager.follow(debate_id, wait=PATIENCE)
    return snapshot


async def test_step_runs_the_round_that_the_page_shows_as_the_next_and_runs_it_once(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(lambda: guest.press(debate_id, "step", round=1))
    await wait_for_round(guest, debate_id, 1)
    late = await guest.press(debate_id, "step", round=1)
    assert (late.status_code, late.json()) == (200, {"line": "Round 1 had been run already."})
    assert (await wait_for_round(guest, debate_id, 1)).debate.round == 1

    assert (await guest.press(debate_id, "step", round=2)).json() == {"line": "Round 2 was run."}
    assert (await wait_for_round(guest, debate_id, 2)).debate.round == 2
    early = await guest.press(debate_id, "step", round=9)
    assert (early.status_code, "Round 9 cannot run yet" in early.json()["error"]) == (409, True)


async def test_step_tells_of_a_round_that_goes_on_and_of_one_that_cannot_begin(database: str) -> None:
    gate = Gate()
    async with open_site(database, gate.model) as guest:
        debate_id = (await start_debate(guest.manager)).id
        assert (await guest.press(debate_id, "step")).json() == {"line": "Round 1 runs."}
        assert (await guest.press(debate_id, "step", round=1)).json() == {"line": "Round 1 runs."}
        gate.release.set()
        await wait_for_round(guest, debate_id, 1)
        for path in Path(database).parent.glob("debates.db*"):
            path.unlink()
        lost = await guest.press(debate_id, "step", round=2)
        assert (lost.status_code, "cannot be used" in lost.json()["error"]) == (503, True)


async def test_pause_and_resume_reach_a_debate_that_another_process_runs(database: str) -> None:
    gate = Gate()
    async with open_site(database, ScriptedModel()) as guest, open_engine(database, gate.model) as other:
        debate_id = (await start_debate(other, run=True)).id
        await gate.wait_for_call()
        pressed = await guest.press(debate_id, "pause")
        assert pressed.json()["line"].startswith("Answers under way are kept")
        gate.release.set()
        with anyio.fail_after(PATIENCE):
            while other.is_working(debate_id):
                await other.follow(debate_id, wait=PATIENCE)
        paused = await other.load(debate_id)
        assert (paused.status, paused.debate.round) == ("paused", 1)
        assert paused.entries[-1].actor in ("page", "counterpoint")
        step = await guest.press(debate_id, "step", round=1)
        assert (step.status_code, step.json()["error"][:21]) == (409, "The debate is paused:")
        assert "Press Resume" in step.json()["error"]

        assert (await guest.press(debate_id, "resume", request_id="press-0002")).status_code == 200
        await guest.manager.follow(debate_id, wait=PATIENCE)
        assert (await guest.manager.load(debate_id)).debate.round > 1


async def test_notes_challenges_and_conclusions_are_recorded_as_the_pages_own(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    await guest.press(debate_id, "step", round=1)
    await wait_for_round(guest, debate_id, 1)
    told = [
        await guest.press(debate_id, "note", text="Mind the costs.", request_id="press-0001"),
        await guest.press(debate_id, "challenge", text="Prove it.", to="Opponent", request_id="press-0002"),
        await guest.press(debate_id, "conclude", request_id="press-0003"),
    ]
    assert [response.status_code for response in told] == [200, 200, 200]
    assert told[1].json()["line"].startswith("Opponent is to answer it")
    ended = await guest.manager.follow(debate_id, wait=PATIENCE)
    made = {entry.event.kind: entry for entry in ended.entries if entry.actor == "page"}
    assert [*made] == ["note_added", "challenged", "talk_concluded"]
    assert [entry.event.request_id for entry in made.values()] == ["press-0001", "press-0002", "press-0003"]  # type: ignore[union-attr]
    assert ended.status == "concluded"
    for action in ("pause", "step", "note"):
        over = await guest.press(debate_id, action, request_id="press-0004")
        assert (over.status_code, over.json()["error"][:20]) == (409, "The debate is over: ")


async def test_the_same_press_that_arrives_twice_does_one_thing(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    lines = set()
    async with anyio.create_task_group() as tasks:

        async def press() -> None:
            lines.add((await guest.press(debate_id, "note", text="Mind the costs.")).text)

        for _ in range(5):
            tasks.start_soon(press)
    assert len(lines) == 1
    assert len((await guest.manager.load(debate_id)).debate.notes) == 1
    another = await guest.press(debate_id, "note", text="Mind the time.")
    assert (another.status_code, "belongs to another" in another.json()["error"]) == (409, True)


async def test_what_cannot_be_done_is_refused_with_a_sentence_and_records_nothing(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    for action, fields, said in (
        ("note", {"text": ""}, "text"),
        ("note", {"text": "x" * 9_000}, "8,000"),
        ("challenge", {"text": "Prove it.", "to": "Nobody"}, "Nobody"),
        ("resume", {}, "not paused"),
        ("fly", {}, "action"),
        ("pause", {"request_id": ""}, "request_id"),
        ("pause", {"request_id": "x" * 101}, "request_id"),
        ("pause", {"request_id": "a\nb\0c-1234"}, "request_id"),
        ("pause", {"more": 1}, "more"),
        ("step", {"round": -1}, "round"),
    ):
        refused = await guest.press(debate_id, action, **fields)
        assert (refused.status_code, said in refused.json()["error"]) == (409, True), refused.text
    assert (await guest.press("zzzz", "pause")).status_code == 404
    assert (await guest.manager.load(debate_id)).debate.version == 1


async def test_what_is_no_press_is_refused_without_being_repeated(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    for body in (
        b"",
        b"{",
        b"[]",
        b"null",
        b'"secret"',
        b"\xff\xfe",
        b"[" * 60_000,
        json.dumps({"a": "secret"}).encode(),
    ):
        refused = await guest.send(debate_id, body)
        assert refused.status_code == 409
        assert "cannot be read" in refused.json()["error"]
        assert "secret" not in refused.text
    for content_type in ("", "text/plain", "text/plain; application/json", "multipart/form-data"):
        assert (await guest.send(debate_id, b"{}", content_type=content_type)).status_code == 415
    charset = await guest.send(debate_id, b"{}", content_type="application/json; charset=utf-8")
    assert charset.status_code == 409


async def test_a_body_that_is_too_long_is_refused_as_it_arrives(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 10**9:
            sent += 10_000
            yield b" " * 10_000

    refused = await guest.send(debate_id, b" " * 70_000)
    assert refused.status_code == 413
    with contextlib.suppress(httpx2.WriteError, httpx2.ReadError):  # the server has closed the connection
        assert (await guest.send(debate_id, endless())).status_code == 413
    assert sent < 10**8


async def test_step_says_which_key_is_missing_here_and_spends_nothing(database: str) -> None:
    model = {"openai/gpt-5": ScriptedModel()}
    async with open_engine(database, model, default="openai/gpt-5") as other:
        debate_id = (await start_debate(other)).id
        async with open_site(database) as guest:  # whose process has no key
            for action in ("step", "resume", "conclude"):
                refused = await guest.press(debate_id, action)
                assert (refused.status_code, "openai/gpt-5 needs a key" in refused.text) == (409, True)
            assert (await guest.press(debate_id, "note", text="Mind the costs.")).status_code == 200
        assert (await other.load(debate_id)).debate.version == 2


async def test_a_debate_that_waits_for_its_caller_says_so(guest: Guest) -> None:
    debaters = [{"name": "Ann", "stance": "Yes.", "model": "caller"}, {"name": "Ben", "stance": "No."}]
    debate_id = (await start_debate(guest.manager, debaters=debaters)).id
    await guest.press(debate_id, "step", round=1)
    await wait_for_round(guest, debate_id, 1)
    waits = await guest.press(debate_id, "step", round=1)
    assert waits.json()["line"].startswith("The debate waits: ")


async def test_a_note_to_a_debate_whose_process_is_gone_is_read_when_it_goes_on(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as other:
        debate_id = (await start_debate(other)).id
        await other.step(debate_id, wait=PATIENCE)
    async with open_site(database, ScriptedModel()) as guest:
        assert (await guest.press(debate_id, "note", text="Mind the costs.")).status_code == 200
        assert (await guest.press(debate_id, "step", round=2)).status_code == 200
        assert (await wait_for_round(guest, debate_id, 2)).debate.notes[0].text == "Mind the costs."
