"""Nobody learns anything of another's debate: all that can be asked, with its id and with one that never was."""

import inspect
import json
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import DebateError
from server.debate.interventions.action import InterventionRequest
from server.engine.database.errors import DebateNotFoundError
from server.engine.transfer import export_debate
from server.tools.listing import load_listed_tools
from server.upkeep.deletion import delete_debate
from server.web.site.routes import Visitor, build_site
from tests.access.two_owners import (
    NEVER,
    connect_owner,
    describe,
    expect_unknown,
    list_questions,
    open_two_owners,
)
from tests.support.client_calls import call, expect_tool_error
from tests.support.patience import PATIENCE
from tests.support.task_client import Polling, ask, begin

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]


async def start(client: Client, **arguments: Any) -> str:
    asked = {"question": "Ship it?", "models": ["scripted"], **arguments}
    return str((await call(client, "start_debate", **asked))["debate_id"])


async def test_a_stranger_is_told_of_every_debate_what_is_told_of_an_id_that_never_was(
    database: str, era: str
) -> None:
    async with open_two_owners(database, era) as both:
        ended = await start(both.ann, run=True, format="verdict")
        waiting = await start(both.ann, models=["caller"], run=True, wait_seconds=0)
        ready, deleted, damaged = [await start(both.ann, question=f"{n}?") for n in ("a", "b", "c")]
        await delete_debate(both.manager.of("ann"), deleted, actor="test")

        for theirs in (ended, waiting, ready, deleted):
            await expect_unknown(both.ben, theirs)
            told = await describe((await list_questions(both.ann))["tool read_debate "](theirs))
            assert "There is no debate" not in told, "the test would see nothing if nobody saw anything"
        await damage(both.manager, damaged)
        await expect_unknown(both.ben, damaged)
        assert "changed after it was written" in await expect_tool_error(
            both.ann, "read_debate", debate_id=damaged
        )


async def damage(manager: Any, debate_id: str) -> None:
    manager.store.recent.clear()
    sql = "update journal set entry = replace(entry, 'c?', 'd?') where stream = ?"
    await manager.store.storage.database.writer.fetch_all("drop trigger journal_no_update")
    await manager.store.storage.database.writer.fetch_all(sql, debate_id)


async def test_lists_searches_and_completions_hold_ones_own(database: str) -> None:
    async with open_two_owners(database, "auto") as both:
        theirs = await start(both.ann, question="A secret plan?")
        own = await start(both.ben, question="A plan of Ben's?")

        for query in ("", "plan", "secret", theirs, theirs[:4]):
            found = await call(both.ben, "find_debates", query=query)
            assert theirs not in json.dumps(found)
        assert [one["debate_id"] for one in (await call(both.ben, "find_debates"))["debates"]] == [own]
        listed = await both.ben.list_resources()
        shared = {"debate://index", "debate://options"}
        assert {str(one.uri) for one in listed.resources} == {*shared, f"debate://{own}/transcript"}
        assert theirs not in str((await both.ben.read_resource("debate://index")).model_dump_json())
        assert theirs in str((await both.ann.read_resource("debate://index")).model_dump_json())


async def test_an_identical_request_of_another_owner_opens_a_debate_of_its_own(database: str) -> None:
    async with open_two_owners(database, "auto") as both:
        first = await start(both.ann, run=True)
        second = await start(both.ben, run=True)
        again = await start(both.ben, run=True)

        assert first != second == again
        assert (await both.manager.load(second)).owner == "ben"


async def test_a_fork_belongs_to_whom_its_debate_does(database: str) -> None:
    async with open_two_owners(database, "auto") as both:
        parent = await start(both.ann, run=True)
        fork = (await call(both.ann, "fork_debate", debate_id=parent, at_round=0))["debate_id"]

        assert (await both.manager.load(fork)).owner == "ann"
        await expect_unknown(both.ben, fork)
        assert (await both.manager.fork(parent, 0, ChangesInput(), actor="operator")).owner == "ann"


async def test_live_updates_reach_whose_debate_it_is(database: str) -> None:
    """Ben subscribes to Ann's debate, as he may to any id; the first he hears of is his own."""
    async with open_two_owners(database, "auto") as both:
        theirs = await start(both.ann)
        uris = [f"debate://{theirs}/transcript", "debate://index"]
        async with (
            both.ben.listen(resources_list_changed=True, resource_subscriptions=uris) as ben,
            both.ann.listen(resource_subscriptions=uris[:1]) as ann,
        ):
            await call(both.ann, "step_round", debate_id=theirs)
            with anyio.fail_after(PATIENCE):
                assert getattr(await anext(aiter(ann)), "uri", "") == uris[0]
            own = await start(both.ben)
            heard = []
            with anyio.fail_after(PATIENCE):
                async for event in ben:
                    heard.append(getattr(event, "uri", "list"))
                    if {"list", "debate://index"} <= {*heard}:
                        break
        assert uris[0] not in heard
        assert heard.count("list") == 1
        assert own


async def test_a_task_of_another_owner_is_no_task(database: str) -> None:
    async with open_two_owners(database, "auto", extensions=[Polling()]) as both:
        theirs = str((await begin(both.ann, "start_debate", models=["caller"]))["taskId"])
        never = NEVER + theirs[len(NEVER) :]
        methods: list[tuple[str, dict[str, Any]]] = [
            ("tasks/get", {}),
            ("tasks/cancel", {}),
            ("tasks/update", {"inputResponses": {}}),
        ]
        for method, more in methods:
            told = await describe(ask(both.ben, method, theirs, **more))
            assert told == await describe(ask(both.ben, method, never, **more)) != ""
            assert "There is no such task" in told
        assert (await ask(both.ann, "tasks/get", theirs))["status"] != "cancelled"


async def test_the_page_of_another_owner_is_a_page_of_no_debate(database: str) -> None:
    async with open_two_owners(database, "auto") as both:
        theirs = await start(both.ann)
        visitors = {}
        for owner in ("ann", "ben"):
            own = both.manager.of(owner)
            visitors[owner] = Visitor(own, "page")
        site = build_site(lambda request: visitors[request.headers["x-owner"]])
        press = {"json": {"action": "pause", "request_id": "press-0001"}}
        transport = httpx2.ASGITransport(site)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:

            async def send(owner: str, path: str, method: str, debate_id: str) -> str:
                more = press if method == "POST" else {}
                address = path.replace("{debate_id}", debate_id)
                answer = await client.request(method, address, headers={"x-owner": owner}, **more)  # type: ignore[arg-type]
                return f"{answer.status_code} {answer.headers} {answer.text}".replace(debate_id, NEVER)

            for route in site.routes:
                for method in route.methods - {"HEAD"}:  # type: ignore[attr-defined]
                    path = route.path  # type: ignore[attr-defined]
                    if "{debate_id}" in path:
                        told = await send("ben", path, method, theirs)
                        assert told == await send("ben", path, method, NEVER)
                        assert told.startswith("404")
                        assert (await send("ann", path, method, theirs)).startswith("200")
                    elif path != "/events":
                        assert theirs not in await send("ben", path, method, NEVER)
        await both.manager.step(theirs, wait=PATIENCE)
        assert await both.manager.of("ben").store.find_changes(0) == (
            (await both.manager.store.find_changes(-1))[0],
            {},
        )


async def test_no_method_of_a_manager_takes_the_id_of_another_owners_debate(database: str) -> None:
    """Driven by the methods that there are, so that a new one cannot be forgotten."""
    given: dict[str, tuple[Any, ...]] = {
        "fork": (0, ChangesInput()),
        "intervene": ("pause", InterventionRequest()),
        "revise_positions": ({},),
        "submit": ("Proponent", "text"),
        "load_past": (1,),
        "find_text": ("receipt",),
        "keep_text": ("receipt", "text"),
        "restore": ([], None),
        "attend": (None,),
    }
    needs = {"actor": "test", "wait": 0, "run": True}
    # What is asked of a debate that was loaded before, and what builds one from entries that were read.
    only_known = {
        "release",
        "is_working",
        "attend",
        "is_run",
        "restore",
        "build_snapshot",
        "compute_seal",
        "read_origin",
    }
    async with open_two_owners(database, "auto") as both:
        theirs, ben = await start(both.ann), both.manager.of("ben")
        tried = []
        for owner in (ben, ben.store):
            for name, method in inspect.getmembers(owner, callable):
                is_public = not name.startswith("_") and name not in only_known
                parameters = inspect.signature(method).parameters if is_public and name != "of" else {}
                if next(iter(parameters), "") != "debate_id":
                    continue
                more = {one: needs[one] for one in needs if one in parameters}
                with pytest.raises(DebateNotFoundError) as raised:
                    await drain(method(theirs, *given.get(name, ()), **more))
                assert str(raised.value).replace(theirs, NEVER) == str(DebateNotFoundError(NEVER)), name
                tried.append(name)
        assert {"load", "follow", "step", "submit", "intervene", "watch_states", "find_text"} <= {*tried}
        assert await ben.store.load_many([theirs, NEVER]) == {}
        assert [*await both.manager.of("ann").store.load_many([theirs, NEVER])] == [theirs]
        assert theirs not in await ben.find_runs()
        for unknown in (export_debate(ben, theirs), delete_debate(ben, theirs, actor="ben")):
            with pytest.raises(DebateNotFoundError):
                await unknown
        assert (await both.manager.load(theirs)).debate.setup.question == "Ship it?"


async def drain(answer: Any) -> None:
    if inspect.isasyncgen(answer):
        async for _ in answer:
            pass
    else:
        await answer


async def test_an_import_belongs_to_who_imports_and_no_file_writes_to_anothers(database: str) -> None:
    from server.engine.transfer import restore_debate  # noqa: PLC0415

    async with open_two_owners(database, "auto") as both:
        theirs = await start(both.ann)
        exported = await export_debate(both.manager.of("ann"), theirs)
        assert '"ann"' not in json.dumps(exported)
        with pytest.raises(DebateError, match="belongs to another owner"):
            await restore_debate(both.manager.of("ben"), exported)
        async with open_two_owners(":memory:", "auto") as others:
            await restore_debate(others.manager.of("ben"), exported)
            assert (await others.manager.of("ben").load(theirs)).owner == "ben"
            await expect_unknown(others.ann, theirs)


async def test_a_token_that_may_only_read_spends_and_changes_nothing(database: str, era: str) -> None:
    async with open_two_owners(database, era) as both:
        own = await start(both.ann)
        before = (await both.manager.load(own)).entries
        async with connect_owner(both.server, "ann", era, "read") as reader:
            assert (await call(reader, "read_debate", debate_id=own, view="state"))["debate_id"] == own
            for name, tool in load_listed_tools().items():
                if tool.annotations and not tool.annotations.read_only_hint:
                    told = await expect_tool_error(reader, name, debate_id=own)
                    assert "insufficient_scope: this needs the scope 'debate'" in told
        async with connect_owner(both.server, "ann", era, "admin") as other:
            for method in (other.list_tools, other.list_resources, other.list_prompts):
                assert "insufficient_scope: this needs the scope 'read'" in await describe(method())
        assert (await both.manager.load(own)).entries == before


async def test_with_read_alone_no_answer_of_the_client_is_taken(database: str) -> None:
    async with open_two_owners(database, "auto") as both:
        own = await start(both.ann, models=["human"], run=True, wait_seconds=0)
        waiting = await both.manager.follow(own, wait=PATIENCE)
        seat = waiting.debate.setup.debaters[0].name
        state = f'{{"asks":"turn","debate_id":"{own}","seat":"{seat}"}}'
        answer: Any = {"turn": {"action": "accept", "content": {"text": "I say so."}}}
        async with connect_owner(both.server, "ann", "auto", "read") as reader:
            arguments = {"debate_id": own, "wait_seconds": 0}
            await reader.call_tool("get_verdict", arguments, request_state=state, input_responses=answer)
        assert (await both.manager.load(own)).debate.version == waiting.debate.version
