"""Earlier debates by the meaning of their questions, and vectors that are kept."""

import math
import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import pytest

from server.debate.facts.answers import Usage, build_embedding_key
from server.engine.database.cache import DatabaseCache
from server.engine.database.memory import (
    NEWEST,
    choose_close,
    recall,
)
from server.engine.database.store import DebateStore
from server.models import ModelError
from server.models.embeddings import TEXTS_AT_ONCE, CachedEmbedder, Embeddings, Vector
from server.models.fakes.scripted import ScriptedEmbedder, ScriptedModel
from storage.cache import CachedBody
from tests.contract.journal_helpers import open_storage
from tests.contract.journal_similarity import conclude
from tests.engine.test_memory import get_seal
from tests.support.engines import open_engine, run_debate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D18", "D22")]

BILLING = "Should we rewrite the billing service in Rust?"
SAME = "Abrechnung neu schreiben: ja oder nein?"
BILLING_IN_PART = "Billing: neu schreiben, oder so lassen?"
BILLING_IN_SHORT = "Billing in Rust?"
PARTY = "Where do we hold the summer party?"
VECTORS: dict[str, Vector] = {
    BILLING: (1.0, 0.1),
    SAME: (1.0, 0.0),
    PARTY: (0.0, 1.0),
    f"{BILLING}!": (1.0, 0.0),
    BILLING_IN_PART: (1.0, 0.0),
    BILLING_IN_SHORT: (1.0, 0.8),
}
OTHER: Vector = (-0.3, 1.0)


async def embed_planted(texts: Sequence[str], _: str) -> tuple[list[Vector], Usage]:
    vectors = [VECTORS.get(text, OTHER) for text in texts]
    return vectors, Usage(model="planted", input_tokens=len(texts), cost_usd="0.01")


async def recall_ids(store: DebateStore, question: str) -> list[str]:
    return [one.recalled.debate_id for one in await recall(store, question, limit=5)]


async def embed_nothing(_: Sequence[str], __: str) -> tuple[list[Vector], Usage | None]:
    return [], Usage(model="planted", input_tokens=9, cost_usd="0.01")


async def test_a_question_in_other_words_is_found_by_its_meaning(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        store = manager.store
        store.embed = embed_planted
        assert await recall(store, SAME, limit=5) == []
        billing = await run_debate(manager, question=BILLING)
        await run_debate(manager, question=PARTY)
        await conclude(store.storage, "given", SAME)  # of another installation

        [found] = await recall(store, SAME, limit=5)
        assert found.recalled.debate_id == billing.id
        asked = await run_debate(manager, question=SAME, options={"memory": 1})
        assert asked.debate.setup.memory
        assert asked.debate.setup.memory.ids == (billing.id,)
        assert asked.debate.usage[0].model == "planted"
        day = asked.entries[0].at[:10]
        assert asked.days[day].requests == sum(usage.attempts for usage in asked.debate.usage)

        store.embed = embed_nothing
        assert [one.recalled.debate_id for one in await recall(store, SAME, limit=5)] == [asked.id]


async def test_where_meaning_can_be_told_shared_words_alone_relate_nothing(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        store, other = manager.store, f"{PARTY} In Rust, at the billing service?"
        await run_debate(manager, question=other)
        assert [one.recalled.question for one in await recall(store, BILLING, limit=5)] == [other]
        store.embed = embed_planted
        assert await recall(store, BILLING, limit=5) == []


@pytest.mark.full
async def test_words_propose_debates_older_than_those_compared_by_meaning(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        store = manager.store
        store.embed = embed_planted
        billing = await run_debate(manager, question=BILLING)
        await conclude(store.storage, "last", PARTY, seal=get_seal(store))
        assert await recall_ids(store, SAME) == [billing.id]
        for n in range(NEWEST):
            await conclude(store.storage, f"s{n}", PARTY, seal=get_seal(store))
        assert await recall_ids(store, SAME) == []
        for question in (f"{BILLING}!", BILLING_IN_PART):
            assert await recall_ids(store, question) == [billing.id]


async def test_a_question_asked_often_is_found_in_other_words(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        store = manager.store
        store.embed = embed_planted
        async with anyio.create_task_group() as writes:  # which are committed together
            for n in range(NEWEST - 1):
                seal = get_seal(store)
                writes.start_soon(partial(conclude, store.storage, f"s{n}", BILLING_IN_SHORT, seal=seal))
        asked = await run_debate(manager, question=BILLING_IN_SHORT)
        assert await recall_ids(store, SAME) == [asked.id]


def test_a_model_that_puts_everything_close_together_relates_no_more() -> None:
    chance = random.Random(3)  # noqa: S311
    asked, *others = [[chance.gauss(0, 1) for _ in range(48)] for _ in range(31)]
    near = [0.8 * one + 0.6 * other for one, other in zip(asked, others[0], strict=True)]
    for shift in (0.0, 1.0, 4.0):
        vector, *compared = [[value + shift for value in row] for row in (asked, *others, near)]
        assert choose_close(vector, compared) == [30]
        assert choose_close(vector, compared[:-1]) == []


async def test_where_a_model_tells_nothing_apart_words_decide(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        store = manager.store
        store.embed = embed_alike
        billing = await run_debate(manager, question=BILLING)
        assert await recall_ids(store, BILLING) == [billing.id]
        assert await recall_ids(store, PARTY) == []


async def embed_alike(texts: Sequence[str], _: str) -> tuple[list[Vector], Usage]:
    return [(1.0, 0.0) for _ in texts], Usage(model="planted", cost_usd="0")


@dataclass
class CountingEmbedder:
    inner: ScriptedEmbedder = field(default_factory=ScriptedEmbedder)
    asked: list[str] = field(default_factory=list)

    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ASYNC109
        self.asked += texts
        return await self.inner.embed(texts, timeout)


async def test_vectors_are_kept_by_the_whole_model_and_the_whole_text(tmp_path: Path) -> None:
    long = "word " * 5_000
    texts = ["one", "two", "one", long, f"{long}!"]
    asked = CountingEmbedder()
    async with open_storage(tmp_path / "db") as storage, open_storage(tmp_path / "db") as other:
        first = await CachedEmbedder("m", asked, DatabaseCache(storage.cache, 10**6)).embed(texts, 5)
        again = await CachedEmbedder("m", asked, DatabaseCache(other.cache, 10**6)).embed(texts, 5)
        assert asked.asked == ["one", "two", long, f"{long}!"]
        assert first.vectors == again.vectors == (await ScriptedEmbedder().embed(texts, 5)).vectors
        assert (again.usage.attempts, again.usage.cost_usd) == (0, "0")

        await CachedEmbedder("m2", asked, DatabaseCache(storage.cache, 10**6)).embed(["one"], 5)
        await CachedEmbedder("m", asked, DatabaseCache(storage.cache, 0)).embed(["one"], 5)
        assert asked.asked[4:] == ["one", "one"]


async def test_what_an_owner_pays_for_does_not_tell_what_others_asked(database: str) -> None:
    async with open_engine(database, ScriptedModel(), embeddings="scripted") as manager:
        alice, bob = manager.of("alice"), manager.of("bob")
        for owner in (alice, bob):
            await run_debate(owner, question=BILLING)
        first = await run_debate(alice, question=PARTY, options={"memory": "own"})
        same = await run_debate(bob, question=PARTY, options={"memory": "own"})
        again = await run_debate(bob, question=PARTY, options={"memory": "own"})

    paid = [one.debate.setup.memory and one.debate.setup.memory.usage for one in (first, same, again)]
    assert paid[0]
    assert paid[0].input_tokens
    assert paid[1:] == [paid[0], None]


@dataclass
class ShortEmbedder:
    """Another model, whose vectors have fewer dimensions."""

    asked: list[str] = field(default_factory=list)

    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ARG002, ASYNC109
        self.asked += texts
        return Embeddings(tuple((1.0, float(len(text))) for text in texts), Usage(model="m", input_tokens=1))


async def test_a_model_of_the_same_name_elsewhere_finds_no_vectors(tmp_path: Path) -> None:
    short = ShortEmbedder()
    async with open_storage(tmp_path / "db") as storage:
        cache = DatabaseCache(storage.cache, 10**6)
        await CachedEmbedder("m", ScriptedEmbedder(), cache, "http://a/v1").embed(["one"], 5)
        await CachedEmbedder("m", short, cache, "http://b/v1").embed(["one"], 5)
        await CachedEmbedder("m", short, cache, "http://b/v1").embed(["one"], 5)
    assert short.asked == ["one"]


async def test_vectors_of_a_model_that_was_replaced_are_asked_for_again(tmp_path: Path) -> None:
    short = ShortEmbedder()
    async with open_storage(tmp_path / "db") as storage:
        cache = DatabaseCache(storage.cache, 10**6)
        await CachedEmbedder("m", ScriptedEmbedder(), cache).embed(["one", "two"], 5)
        found = await CachedEmbedder("m", short, cache).embed(["one", "three", "two"], 5)
        assert found.vectors == ((1.0, 3.0), (1.0, 5.0), (1.0, 3.0))
        assert (short.asked, found.usage.input_tokens) == (["three", "one", "two"], 2)
        again = await CachedEmbedder("m", short, cache).embed(["one", "two"], 5)
    assert (again.usage.attempts, len(short.asked)) == (0, 3)


MANY = [f"text {n}" for n in range(TEXTS_AT_ONCE + 1)]


@dataclass
class FailingEmbedder:
    """Answers once, and then fails, hangs or answers what is no vector."""

    failure: str
    number: int = 0

    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ARG002, ASYNC109
        self.number += 1
        usage = Usage(model="m", input_tokens=7, cost_usd="0.01")
        if self.number == 1:
            return Embeddings(tuple((1.0, 2.0) for _ in texts), usage)
        if self.failure == "hangs":
            await anyio.sleep_forever()
        if self.failure == "other lengths":
            return Embeddings(tuple((1.0,) for _ in texts), usage)
        paid = usage if self.failure == "unreadable" else None
        raise ModelError("unreadable" if paid else "unavailable", "It failed.", attempts=3, usage=paid)


@pytest.mark.parametrize(
    ("failure", "cause", "spent"),
    [
        ("down", "unavailable", (7, "0.01", 4)),
        ("unreadable", "unreadable", (14, "0.02", 4)),
        ("hangs", "timeout", (7, "0.01", 1)),
        ("other lengths", "unreadable", (14, "0.02", 2)),
    ],
)
async def test_what_was_answered_before_a_failure_is_paid_and_kept(
    tmp_path: Path, failure: str, cause: str, spent: tuple[int, str, int]
) -> None:
    async with open_storage(tmp_path / "db") as storage:
        cache = DatabaseCache(storage.cache, 10**6)
        with anyio.fail_after(PATIENCE), pytest.raises(ModelError) as caught:
            await CachedEmbedder("m", FailingEmbedder(failure), cache).embed(MANY, 1)
        assert caught.value.cause == cause
        usage = caught.value.usage
        assert usage
        assert (usage.input_tokens, usage.cost_usd, usage.attempts) == spent
        asked = CountingEmbedder()
        await CachedEmbedder("m", asked, cache).embed(MANY[:TEXTS_AT_ONCE], 5)
        assert asked.asked == []


async def test_a_debate_counts_vectors_that_were_paid_for_nothing(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "db", ScriptedModel()) as manager:
        await run_debate(manager, question=BILLING)
        manager.store.embed = embed_nothing
        asked = await run_debate(manager, question=f"{BILLING} Now?", options={"memory": 1})
        assert asked.debate.setup.memory
        assert len(asked.debate.setup.memory.ids) == 1  # by words
        assert (asked.debate.usage[0].model, asked.debate.usage[0].cost_usd) == ("planted", "0.01")


async def test_a_cache_that_fails_costs_no_more_than_the_work(tmp_path: Path) -> None:
    async with open_storage(tmp_path / "db") as storage:
        cache = DatabaseCache(storage.cache, 10**6)
    with anyio.fail_after(PATIENCE):
        assert await cache.find_vectors(["k"]) == {}
        await cache.keep_vectors({"k": (1.0,)})


@pytest.mark.parametrize("body", [b"{", b"[1, 2, 3, 4, 5, 6, 7]", b"7", b"[1, 2, true, 3]"])
async def test_a_kept_answer_that_cannot_be_read_is_none(tmp_path: Path, body: bytes) -> None:
    async with open_storage(tmp_path / "db") as storage:
        await storage.cache.keep("answer", [CachedBody("k", body)], max_bytes=10**6)
        assert await DatabaseCache(storage.cache, 10**6).find_answer("k") is None


@pytest.mark.parametrize("body", [b"seven b", b"", bytes(16), array("d", [math.nan, 1.0]).tobytes()])
async def test_a_kept_vector_that_cannot_be_read_is_asked_for_again(tmp_path: Path, body: bytes) -> None:
    async with open_storage(tmp_path / "db") as storage:
        key = build_embedding_key('["m", "", ""]', "one")
        await storage.cache.keep("embedding", [CachedBody(key, body)], max_bytes=10**6)
        found = await CachedEmbedder("m", ScriptedEmbedder(), DatabaseCache(storage.cache, 10**6)).embed(
            ["one"], 5
        )
        assert found.vectors == (await ScriptedEmbedder().embed(["one"], 5)).vectors
