"""The engine under one roof: two processes on one database, predicates, and what is left of a wreck."""

from functools import partial

import anyio
import pytest

from server.debate.commands.requests import ChangesInput, DebateRequest
from server.debate.facts.answers import PredicateLost, PromptFunctionsLost, PromptsComputed
from server.debate.facts.errors import InvalidRequestError
from server.debate.rules.caller_code import CallerCode
from server.debate.views.verdict import build_verdict
from server.engine.database.errors import DebateNotFoundError
from server.engine.queries import find_debate_id
from server.engine.transfer import restore_debate
from server.models import OnText, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from server.redaction import find_secrets, learn_secrets
from tests.support.engines import open_engine, run_round, start_debate
from tests.support.patience import PATIENCE
from tests.support.records import build_export, play_record
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M3", "N8")]

ACTOR = "test"


@pytest.mark.requirement("C12")
async def test_a_predicate_that_raises_is_its_callers_error_and_the_debate_can_go_on(database: str) -> None:
    def broken(_: object) -> bool:
        raise ZeroDivisionError

    async with open_engine(database, default="scripted") as running:
        snapshot = await running.start(
            build_request(question="Ship it?"), actor=ACTOR, code=CallerCode(broken)
        )
        await running.step(snapshot.id, wait=PATIENCE)
        with pytest.raises(ZeroDivisionError):
            await running.step(snapshot.id, wait=PATIENCE)
    async with open_engine(database, default="scripted") as later:
        snapshot = await later.step(snapshot.id, wait=PATIENCE)

    assert snapshot.debate.round == 2


@pytest.mark.requirement("C12", "D7", "D24")
async def test_a_predicate_that_a_restart_lost_is_recorded_and_said(database: str) -> None:
    request = DebateRequest(question="Ship it?", format="verdict", max_rounds=3)
    async with open_engine(database, default="scripted") as running:
        snapshot = await running.start(request, actor=ACTOR, code=CallerCode(lambda _: True))
        await running.step(snapshot.id, wait=PATIENCE)
    async with open_engine(database, default="scripted") as later:
        await later.step(snapshot.id, wait=PATIENCE)
        child = await later.fork(snapshot.id, 1, ChangesInput(run=True), actor=ACTOR)
        child = await later.follow(child.id, wait=PATIENCE)
        await later.step(snapshot.id, wait=PATIENCE)
        snapshot = await later.step(snapshot.id, wait=PATIENCE)

    lost = [entry.event for entry in snapshot.entries if isinstance(entry.event, PredicateLost)]
    assert (snapshot.status, lost) == ("concluded", [PredicateLost(round=1)])
    said = "was lost with its process: from round 1 on it was not asked."
    assert [said in caution for caution in build_verdict(snapshot.debate).cautions].count(True) == 1
    assert not any(said in caution for caution in build_verdict(child.debate).cautions)


@pytest.mark.requirement("C19", "D7")
async def test_prompts_that_code_writes_are_recorded_and_a_restart_goes_on_with_the_last_ones(
    database: str,
) -> None:
    told: list[str] = []

    def listen(request: Request) -> str:
        last = request.prompt.messages[-1].content.splitlines()
        told.extend(line.removeprefix("> ") for line in last if "Mind round " in line)
        return "So."

    models = {"mine": ScriptedModel(listen)}
    code = CallerCode(prompts={"Opponent": lambda debate, _: f"Mind round {debate.round}."})
    request = build_request(question="Ship it?", format="verdict", max_rounds=3, models=["mine"])
    async with open_engine(database, models) as running:
        snapshot = await running.start(request, actor=ACTOR, code=code)
        await running.step(snapshot.id, wait=PATIENCE)
        await running.step(snapshot.id, wait=PATIENCE)
    async with open_engine(database, models) as later:
        snapshot = await later.step(snapshot.id, wait=PATIENCE)

    assert told == ["Mind round 1.", "Mind round 2.", "Mind round 2."]
    assert [entry.event for entry in snapshot.entries if isinstance(entry.event, PromptFunctionsLost)] == [
        PromptFunctionsLost(round=3)
    ]


@pytest.mark.requirement("C19")
async def test_a_secret_that_code_writes_into_a_prompt_is_not_recorded(database: str) -> None:
    learn_secrets(find_secrets({"PROMPT_SECRET": "hunter2-hunter2"}))
    code = CallerCode(prompts={"": lambda _debate, _seat: "The password is hunter2-hunter2."})
    async with open_engine(database, default="scripted") as running:
        snapshot = await running.start(build_request(question="Ship it?"), actor=ACTOR, code=code)
        snapshot = await running.step(snapshot.id, wait=PATIENCE)

    [written] = [entry.event for entry in snapshot.entries if isinstance(entry.event, PromptsComputed)]
    assert "The password is" in written.prompts[0].text
    assert "hunter2" not in written.model_dump_json()


@pytest.mark.both_databases
@pytest.mark.full
async def test_many_debates_at_once_do_not_mix(database: str) -> None:
    def echo(request: Request) -> str:
        return request.prompt.summary.question

    async with open_engine(database, {"mine": ScriptedModel(echo)}) as running:
        snapshots = [await start_debate(running, question=f"Question {number}?") for number in range(12)]
        async with anyio.create_task_group() as all_at_once:
            for snapshot in snapshots:
                all_at_once.start_soon(partial(running.step, snapshot.id, wait=PATIENCE))
        after = [await running.load(snapshot.id) for snapshot in snapshots]

    for number, snapshot in enumerate(after):
        assert [turn.text for turn in snapshot.debate.turns] == [f"Question {number}?"] * 2


async def test_an_exception_of_the_caller_is_not_wrapped_into_a_group(database: str) -> None:
    with pytest.raises(DebateNotFoundError):
        async with open_engine(database) as running:
            await running.load("nobody")


async def test_the_text_of_replies_is_streamed_while_somebody_subscribes(database: str) -> None:
    class Streaming:
        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            for chunk in ("Ship", " it."):
                if on_text:
                    on_text(chunk)
            return await ScriptedModel().reply(request)

    chunks: list[tuple[str, str]] = []
    async with open_engine(database, {"mine": Streaming()}) as running:
        unsubscribe = running.subscribe_to_text(lambda _debate, seat, chunk: chunks.append((seat, chunk)))
        snapshot = await start_debate(running)
        await running.step(snapshot.id, wait=PATIENCE)
        unsubscribe()
        await running.step(snapshot.id, wait=PATIENCE)

    for seat in (
        "Opponent",
        "Proponent",
    ):  # what might begin a secret is held back, so that pieces may be others
        pieces = [chunk for name, chunk in chunks if name == seat]
        assert ("".join(pieces), len(pieces)) == ("Ship it.", 2)


@pytest.mark.requirement("N7")
async def test_a_secret_is_not_streamed_in_pieces_either(database: str) -> None:
    class Telling:
        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            if on_text:
                for piece in ("It is stream", "ed-in-", "pieces, so ship. ", "Yes."):
                    on_text(piece)
            return await ScriptedModel().reply(request)

    learn_secrets(find_secrets({"STREAM_KEY": "streamed-in-pieces"}))
    chunks: dict[str, list[str]] = {"Proponent": [], "Opponent": []}
    async with open_engine(database, {"mine": Telling()}) as running:
        running.subscribe_to_text(lambda _debate, seat, chunk: chunks[seat].append(chunk))
        await run_round(running)

    assert list(chunks.values()) == [["It is ", "[secret], so ship. ", "Yes."]] * 2


@pytest.mark.requirement("D26")
async def test_a_debate_is_found_by_the_beginning_of_its_id_where_no_other_begins_so(database: str) -> None:
    ids = [f"abcdefghjk{number}" for number in (*range(22, 30), 32, 33, 34, 42)]
    async with open_engine(database) as running:
        for debate_id in ids:
            await restore_debate(running, build_export(debate_id, [play_record()[0]]))

        for text, found in ((ids[-1], ids[-1]), ("abcdefghjk4", ids[-1]), ("abc", "abc"), ("zzzz", "zzzz")):
            assert await find_debate_id(running, text) == found
        for text, listed in (
            ("abcdefghjk3", "abcdefghjk32, abcdefghjk33, abcdefghjk34."),
            ("abcd", f"{', '.join(ids[:10])} and more."),
        ):
            with pytest.raises(InvalidRequestError) as refused:
                await find_debate_id(running, text)
            assert str(refused.value) == f'Several debates begin with "{text}": {listed}'
