"""Which answers are kept for other debates, under what, for whom, and where they are found again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.facts.events import Failed
from server.debate.prompts.prompt import Function, FunctionCall
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.model_calls import build_answer_key, hash_request
from server.engine.transfer import export_debate, restore_debate
from server.models import ModelError, OnText, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, run_debate, start_debate
from tests.support.patience import PATIENCE
from tests.support.processes.research_client import build_server_config
from tests.support.upkeep import copy_debates, needs_upkeep

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D22")]

QUESTION = "Should we rewrite the billing service in Rust?"


async def hold(manager: DebateManager, models: Sequence[str] = (), **options: Any) -> DebateSnapshot:
    fields: dict[str, Any] = {"models": list(models)} if models else {}
    options = {"cache": "reuse", "seed": 7, "judges": 1, "ballots": "none"} | options
    return await run_debate(manager, question=QUESTION, options=options, **fields)


def list_turns(snapshot: DebateSnapshot) -> list[tuple[str, str, bool]]:
    """(seat, the model that answered, whether it was in another debate) of each turn, in the order of rounds."""
    turns = sorted(snapshot.debate.turns, key=lambda turn: (turn.round, turn.seat))
    return [(turn.seat, turn.usage.model, bool(turn.usage.reused_from)) for turn in turns]


def build_key(model: str, request: Request, *place: str) -> str:
    return build_answer_key(hash_request(model, request), request, *place)


async def test_each_part_of_what_is_asked_makes_another_key(tmp_path: Path) -> None:
    model = ScriptedModel()
    async with open_engine(tmp_path / "db", model) as manager:
        await hold(manager)
    request = next(one for one in model.requests if one.prompt.schema)
    prompt = request.prompt
    first, *others = prompt.messages
    prompts = [
        replace(prompt, messages=(replace(first, content=f"{first.content} "), *others)),
        replace(prompt, messages=(replace(first, role="assistant"), *others)),
        replace(prompt, messages=tuple(others)),
        replace(prompt, schema={**(prompt.schema or {}), "title": "Other"}),
    ]
    changed = [
        *(replace(request, prompt=other) for other in prompts),
        replace(request, functions=(Function("look_up", "Look it up.", {}),)),
        replace(request, seed=request.seed + 1),
        replace(request, max_tokens=request.max_tokens + 1),
        replace(request, window=request.window + 1),
    ]
    place = ("http://a/v1", "1.0", "alice")
    places = [("http://b/v1", "1.0", "alice"), ("http://a/v1", "1.1", "alice"), ("http://a/v1", "1.0", "bob")]
    keys = [build_key("m", one, *place) for one in (request, *changed)]
    keys += [build_key("n", request, *place), *(build_key("m", request, *other) for other in places)]
    assert len({*keys}) == len(keys) == 13
    patient = replace(request, timeout=request.timeout + 1, max_attempts=1, seat="Another", group="x")
    assert build_key("m", patient, *place) == keys[0]


async def test_owners_have_answers_of_their_own(tmp_path: Path) -> None:
    asked = []
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        for seen in (manager.of("alice"), manager.of("bob"), manager) * 2:
            held = await hold(seen)
            asked.append([is_reused for *_, is_reused in list_turns(held)])
    assert asked == [[False] * 4] * 3 + [[True] * 4] * 3


async def test_an_answer_is_kept_under_the_model_that_gave_it(tmp_path: Path) -> None:
    class Down(ScriptedModel):
        is_down = True

        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            if self.is_down and request.prompt.summary.task == "argument":
                raise ModelError("unavailable", "It is down.")
            return await super().reply(request, on_text)

    first = Down(name="first")
    models = {"first": first, "second": ScriptedModel(name="second")}
    turns = []
    async with open_engine(tmp_path / "db", models, default="first") as manager:
        for is_down in (True, True, False):
            first.is_down = is_down
            turns.append(list_turns(await hold(manager, fallback_models=["second"])))
    stood_in, again, back = turns
    assert {(model, is_reused) for _, model, is_reused in stood_in} == {("second", False)}
    assert {(model, is_reused) for _, model, is_reused in again} == {("second", True)}
    assert {(model, is_reused) for _, model, is_reused in back} == {("first", False)}


async def test_an_answer_that_could_not_be_used_is_asked_for_again_and_its_repair_is_kept(
    tmp_path: Path,
) -> None:
    class Empty(ScriptedModel):
        """The Opponent says nothing at first, in each debate."""

        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            reply = await super().reply(request, on_text)
            if request.seat == "Opponent":
                seeds.append(request.seed)
            return replace(reply, text="") if [request.seed] == seeds[:1] else reply

    seeds: list[int] = []  # of its requests: the second attempt has another one
    failed, turns = [], []
    async with open_engine(tmp_path / "db", Empty()) as manager:
        for _ in range(2):
            held = await hold(manager, phases=["opening", "verdict"])
            failed.append([entry.event.seat for entry in held.entries if isinstance(entry.event, Failed)])
            turns.append(list_turns(held))
    assert failed == [["Opponent"]] * 2
    assert turns[0] == [("Opponent", "scripted", False), ("Proponent", "scripted", False)]
    assert turns[1] == [("Opponent", "scripted", True), ("Proponent", "scripted", True)]


async def test_what_the_caller_writes_is_not_kept(tmp_path: Path) -> None:
    debaters = [{"name": "Ada", "stance": "yes", "model": "caller"}, {"name": "Ben", "stance": "no"}]
    options = {"cache": "reuse", "seed": 7, "judges": 1, "ballots": "none", "phases": ["opening", "verdict"]}
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        for is_reused in (False, True):
            held = await start_debate(
                manager, question=QUESTION, debaters=debaters, options=options, run=True
            )
            with anyio.fail_after(PATIENCE):
                held = await manager.follow(held.id, wait=PATIENCE)
            await manager.submit(held.id, "Ada", "It pays.", actor="test")
            with anyio.fail_after(PATIENCE):
                held = await manager.follow(held.id, wait=PATIENCE)
            assert list_turns(held) == [("Ada", "caller", False), ("Ben", "scripted", is_reused)]
        [kept] = await manager.store.storage.cache.measure()
    assert kept.number == 1


async def test_a_seat_that_looks_things_up_does_so_each_time_and_is_asked_about_what_it_found(
    tmp_path: Path,
) -> None:
    debaters = [
        {"name": "Ada", "stance": "yes", "model": "ada", "tools": ["notes/pid"]},
        {"name": "Ben", "stance": "no"},
    ]

    class Curious(ScriptedModel):
        """Looks something up before it has seen anything."""

        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            reply = await super().reply(request, on_text)
            is_first = request.seed == self.requests[0].seed
            calls = (FunctionCall(request.functions[0].name, "{}"),) if is_first else ()
            return replace(reply, function_calls=calls)

    ada = Curious()
    options = {"cache": "reuse", "seed": 7, "judges": 1, "ballots": "none", "phases": ["opening", "verdict"]}
    turns, tasks = [], []
    for debates in (2, 1):
        notes = {
            "notes": build_server_config("bad", debaters=True)
        }  # the number of its process is another one each time
        models = {"ada": ada, "mine": ScriptedModel()}
        async with open_engine(tmp_path / "db", models, mcp_servers=notes) as manager:
            for _ in range(debates):
                before = len(ada.requests)
                held = await run_debate(manager, question=QUESTION, debaters=debaters, options=options)
                turns.append([is_reused for seat, _, is_reused in list_turns(held) if seat == "Ada"])
                tasks.append(len(ada.requests) - before)
    assert turns == [[False], [True], [False]]
    assert tasks == [2, 1, 2]


@needs_upkeep
async def test_no_copy_has_answers_and_with_a_bound_of_nothing_none_is_kept_or_found(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "none", ScriptedModel(), cache_mb=0) as manager:
        await hold(manager)
        assert await manager.store.storage.cache.measure() == []
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        held = await hold(manager)
        assert [one.number for one in await manager.store.storage.cache.measure()] == [4]
        async with open_engine(tmp_path / "copy") as other:
            copied = await copy_debates(manager, other.store.storage)
            assert (copied.copied_debates, await other.store.storage.cache.measure()) == (1, [])
        exported = await export_debate(manager, held.id)
        async with open_engine(tmp_path / "imported") as other:
            await restore_debate(other, exported)
            assert await other.store.storage.cache.measure() == []
    async with open_engine(tmp_path / "db", ScriptedModel(), cache_mb=0) as manager:
        held = await hold(manager)
        assert not any(is_reused for *_, is_reused in list_turns(held))
