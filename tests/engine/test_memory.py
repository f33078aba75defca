"""What earlier debates concluded on related questions: found, chosen, cut."""

from pathlib import Path

import pytest

from server.debate.commands.requests import ChangesInput
from server.debate.facts.earlier import MOST_RECALLED_BYTES, Memory
from server.debate.interventions.action import InterventionRequest
from server.engine.database.memory import rank, recall
from server.engine.database.opening import open_debate
from server.engine.database.store import DebateStore
from server.engine.debates import DebateManager
from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from storage.streams import Seal
from tests.contract.journal_similarity import conclude
from tests.support.advisors import play_advice
from tests.support.engines import alter_entries, open_engine, run_debate, start_debate
from tests.support.panels import APART, NOBODY
from tests.support.patience import PATIENCE
from tests.support.simulation import render_finding
from tests.support.upkeep import delete_debate, needs_upkeep

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D18")]

BILLING = "Should we rewrite the billing service in Rust?"
RELATED = "Do we rewrite the billing service?"


async def recall_ids(manager: DebateManager, question: str = RELATED, limit: int = 5) -> list[str]:
    return [one.recalled.debate_id for one in await recall(manager.store, question, limit=limit)]


async def test_of_a_divided_debate_each_side_is_recalled_and_none_as_dissent(tmp_path: Path) -> None:
    divided = play_advice(blind="AB", finals=APART, exchange=[NOBODY, NOBODY])
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        await manager.store.open(tuple(divided.events), "test")
        [found] = await recall(manager.store, divided.debate.setup.question, limit=5)

    assert found.recalled.finding.endswith("Advisor 1: Advice in the end Advisor 2: Advice in the end")
    assert found.recalled.dissent == ""


CONCLUDED = (
    "Should we rewrite the billing service in Rust?",
    "Is it right to move from Kafka to a simpler queue this year?",
    "Do we raise the price of the basic plan?",
    "Should the city close its centre to cars?",
    "Is a basic income for everybody affordable?",
    "Does a dog from the shelter suit our family?",
    "Should we store the logs for a year?",
    "Which licence do we give to customers?",
)
UNRELATED = (
    "Should our choir sing Bach at Easter?",
    "Is the new goalkeeper better than the old one?",
    "Do we paint the kitchen green?",
    "Is it too late to prune the roses?",
    "Should I wear a tie at the wedding?",
    "Do we serve the cake before the speeches?",
    "Which planet is worth a probe?",
    "Is a sonnet the right form for a toast?",
)


@pytest.mark.parametrize("count", [1, len(CONCLUDED)])
async def test_a_question_on_another_matter_is_not_related(tmp_path: Path, count: int) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        for n, question in enumerate(CONCLUDED[:count]):
            await conclude(manager.store.storage, f"s{n}", question, seal=get_seal(manager.store))
        for question in UNRELATED:
            assert (await rank(manager.store, question, with_dry_runs=False)).listings == []
        inflected = "Are rewritten billing services better?"
        (found,) = (await rank(manager.store, inflected, with_dry_runs=False)).listings
        assert found.stream == "s0"


async def test_what_has_no_verdict_is_not_recalled(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        running = await start_debate(manager, question=BILLING)
        truncated = await run_debate(
            manager,
            question=BILLING,
            options={"phases": ["opening"]},
        )
        assert truncated.debate.ended
        assert [one.debate.verdict for one in (running, truncated)] == [None, None]
        assert await recall_ids(manager) == []


@needs_upkeep
async def test_of_a_family_of_forks_one_is_recalled(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        parent = await run_debate(manager, question=BILLING)
        families = {parent.id}
        for at_round in (0, 1):
            fork = await manager.fork(parent.id, at_round, ChangesInput(run=True, seed=7), actor="test")
            fork = await manager.follow(fork.id, wait=PATIENCE)
            again = await manager.fork(fork.id, 1, ChangesInput(run=True, seed=8), actor="test")
            await manager.follow(again.id, wait=PATIENCE)
            families |= {fork.id, again.id}
        other = await run_debate(manager, question=BILLING)

        found = await recall_ids(manager)
        assert len(found) == 2
        assert other.id in found
        assert len(families & {*found}) == 1

        await delete_debate(manager, parent.id, actor="test")
        assert len(await recall_ids(manager)) == 2


async def test_what_is_not_recalled_hides_nothing(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        ended = await run_debate(manager, question=BILLING)
        await plant_hidden(manager.store, BILLING, 70)
        assert await recall_ids(manager) == [ended.id]


def get_seal(store: DebateStore) -> Seal:
    """Makes a stream pass for a debate that was recorded here."""
    assert store.signer
    return store.signer.seal


async def plant_hidden(store: DebateStore, question: str, count: int) -> None:
    """Plant debates on the same question: of others, unreadable forks, mirrors, dry runs, and some taken back."""
    storage, seal = store.storage, get_seal(store)
    for n in range(count):
        await conclude(storage, f"given{n}", question)
        await conclude(storage, f"mirror{n}", question, details={"mirror_of": "another"}, seal=seal)
        await conclude(storage, f"back{n}", question, details={"tags": ["retracted"]}, seal=seal)
        await conclude(storage, f"dry{n}", question, details={"models": ["scripted?delay=1"]}, seal=seal)
        await conclude(storage, f"fork{n}", question, family="another", seal=seal)


@needs_upkeep
async def test_a_debate_that_was_taken_back_or_deleted_is_recalled_no_more(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        first, second = [await run_debate(manager, question=BILLING) for _ in range(2)]
        assert {*await recall_ids(manager)} == {first.id, second.id}

        tags = InterventionRequest(text="Retracted")
        await manager.intervene(first.id, "tag", tags, actor="test")
        assert await recall_ids(manager) == [second.id]
        await delete_debate(manager, second.id, actor="test")
        assert await recall_ids(manager) == []
        await manager.intervene(first.id, "untag", tags, actor="test")
        assert await recall_ids(manager) == [first.id]


async def test_a_damaged_debate_is_not_recalled(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        await run_debate(manager, question=BILLING)
    alter_entries(str(tmp_path / "db"), "Rust", "Ruby")
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        assert await recall_ids(manager) == []


async def test_only_dry_runs_recall_dry_runs(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db") as manager:
        ended = await run_debate(manager, question=BILLING, models=["scripted", "scripted?delay=0.001"])
        assert await recall_ids(manager) == []
        [found] = await recall(manager.store, RELATED, limit=5, with_dry_runs=True)
        assert (found.recalled.debate_id, found.is_dry_run) == (ended.id, True)


@pytest.mark.parametrize("fork_is_settled", [False, True])
async def test_of_a_family_the_debate_that_is_settled_is_recalled(
    tmp_path: Path, fork_is_settled: bool
) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel(judge_b)) as manager:
        parent = await run_debate(manager, question=BILLING, debaters=["Ada: rewrite it", "Ben: keep it"])
        changes = ChangesInput(run=True, seed=7)
        forks = [await manager.fork(parent.id, 0, changes, actor="test") for _ in range(2)]
        ended = [parent, *[await manager.follow(fork.id, wait=PATIENCE) for fork in forks]]
        settled = ended[1 if fork_is_settled else 0]
        await manager.intervene(settled.id, "outcome", InterventionRequest(to="Ada"), actor="test")
        [found] = await recall(manager.store, RELATED, limit=5)
        assert found.recalled.debate_id == settled.id
        assert found.recalled.settled.startswith("The finding turned out wrong.")


async def test_what_turned_out_wrong_is_recalled_as_such(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel(judge_b)) as manager:
        ended = await run_debate(manager, question=BILLING, debaters=["Ada: rewrite it", "Ben: keep it"])
        assert ended.debate.verdict
        wrong = next(name for name in ended.debate.names if name != ended.debate.verdict.winner)
        told = {}
        for right in (wrong, ended.debate.verdict.winner, "none"):
            outcome = InterventionRequest(to=right, reason="It failed.")
            await manager.intervene(ended.id, "outcome", outcome, actor="test")
            [found] = await recall(manager.store, RELATED, limit=5)
            assert found.recalled.position == "keep it"
            told[right] = found.recalled.settled
        assert told == {
            "Ada": 'The finding turned out wrong. Turned out right: rewrite it (Ada). "It failed."',
            "Ben": 'Turned out right: keep it (Ben). "It failed."',
            "none": 'The finding turned out wrong. Turned out right: no position. "It failed."',
        }


def judge_b(request: Request) -> str:
    """Judges who find for the first stance of the alphabet, at length."""
    if request.prompt.summary.task != "judgment":
        return build_reply_text(request)
    _, label = min((stance, label) for label, stance in request.prompt.summary.positions)
    return render_finding(label, margin=3, verdict="ü " * 4_000, reasoning="so")


@pytest.mark.full
async def test_texts_are_bounded_together(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel(judge_b)) as manager:
        question = f"{BILLING} {'Because of 日本. ' * 100}"
        for _ in range(6):
            await run_debate(manager, question=question)
        for limit in (1, 5):
            found = await recall(manager.store, RELATED, limit=limit)
            assert len(found) == limit
            size = sum(len(text.encode()) for one in found for text in one.recalled.texts)
            assert MOST_RECALLED_BYTES * 0.6 < size <= MOST_RECALLED_BYTES
            assert all(one.recalled.question.startswith(BILLING) for one in found)


async def test_what_is_hidden_from_clients_is_not_recalled(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel(judge_b)) as manager:
        hidden = {"visibility": {"hide_from_client": ["judges"]}}
        await run_debate(manager, question=BILLING, options=hidden)
        [found] = await recall(manager.store, RELATED, limit=5)
        assert (found.recalled.finding, found.recalled.dissent) == ("", "")
        assert found.recalled.outcome


async def test_nothing_of_another_owner_is_recalled(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        mine = await run_debate(manager, question=BILLING)
        store = manager.store
        events = tuple(entry.event for entry in mine.entries)
        theirs = await store.of("alice").open(events, "test")

        for owner, expected in (("local", mine.id), ("alice", theirs.id)):
            found = await recall(store.of(owner), RELATED, limit=5)
            assert [one.recalled.debate_id for one in found] == [expected]
        assert await recall(store.of("bob"), RELATED, limit=5) == []

        opened = mine.debate.setup.model_copy(update={"memory": Memory(most=5), "question": RELATED})
        memory = (await open_debate(store.of("alice"), (opened,), "test")).debate.setup.memory
        assert memory
        assert memory.ids == (theirs.id,)
