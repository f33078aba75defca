"""What every journal must do: keep what spares work, within bounds, and only that."""

import asyncio
import random

import pytest

from storage.cache import CachedBody, CacheSum
from storage.storage import Storage
from tests.contract.journal_helpers import LATER, append_entries
from tests.support.patience import PATIENCE

MUCH = 1_000_000


def build_body(key: str, size: int = 10, stream: str = "") -> CachedBody:
    return CachedBody(key, key[:1].encode() * size, stream)


@pytest.mark.requirement("D22")
@pytest.mark.asyncio
class CacheContract:
    async def test_what_is_kept_is_found_by_its_key(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {})
        one, other = CachedBody("a", b"\0\xff", "s"), build_body("b")
        await storage.cache.keep("answer", [one], max_bytes=MUCH)
        await storage.cache.keep("embedding", [other], max_bytes=MUCH)

        assert await storage.cache.find(["a", "b", "c"]) == {"a": one, "b": other}
        assert await storage.cache.find([]) == {}
        assert await storage.cache.measure() == [CacheSum("answer", 1, 2), CacheSum("embedding", 1, 10)]

    async def test_what_is_kept_again_is_replaced(self, storage: Storage) -> None:
        await storage.cache.keep("answer", [build_body("a", 10)], max_bytes=MUCH)
        await storage.cache.keep("answer", [build_body("a", 5)], max_bytes=MUCH)
        assert await storage.cache.measure() == [CacheSum("answer", 1, 5)]

    async def test_what_was_not_used_for_longest_goes_first(self, storage: Storage) -> None:
        for key in "abc":
            await storage.cache.keep("answer", [build_body(key)], max_bytes=30)
        await storage.cache.find(["a"])

        await storage.cache.keep("answer", [build_body("d", 20)], max_bytes=30)
        assert set(await storage.cache.find("abcd")) == {"a", "d"}
        await storage.cache.keep("answer", [build_body("e", 31)], max_bytes=30)
        assert await storage.cache.find("abcde") == {}

    async def test_what_is_kept_of_a_stream_goes_with_it(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {})
        await storage.cache.keep("answer", [build_body("a", stream="s"), build_body("b")], max_bytes=MUCH)
        await storage.tombstones.delete("s", at=LATER, actor="alice")
        assert set(await storage.cache.find("ab")) == {"b"}

    async def test_nothing_is_kept_of_a_stream_that_is_gone(self, storage: Storage) -> None:
        for name in ("s", "t"):
            await append_entries(storage, name, 0, {})
        await storage.tombstones.delete("s", at=LATER, actor="alice")
        given = [
            build_body("a", stream="s"),
            build_body("b", stream="t"),
            build_body("c"),
            build_body("d", stream="x"),
        ]
        await storage.cache.keep("answer", given, max_bytes=MUCH)
        assert set(await storage.cache.find("abcd")) == {"b", "c"}

    async def test_many_who_write_at_once_do_not_wait_for_each_other_for_ever_and_keep_to_the_bound(
        self, storage: Storage
    ) -> None:
        sizes: list[int] = []
        await append_entries(storage, "s", 0, {})

        async def use(seed: int) -> None:
            chance = random.Random(seed)  # noqa: S311
            for turn in range(12):
                keys = chance.sample([f"{n:03}" for n in range(40)], 10)
                if turn == 7 and seed % 4 == 0:
                    await storage.cache.clear()
                elif turn % 2:
                    await storage.cache.find(keys)
                else:
                    given = [build_body(key, 1000, "s") for key in keys]
                    await storage.cache.keep("answer", given, max_bytes=20_000)
                sizes.append(sum(one.bytes for one in await storage.cache.measure()))

        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*map(use, range(8)))
            await storage.tombstones.delete("s", at=LATER, actor="alice")
        assert 10_000 < max(sizes) <= 20_000
        assert await storage.cache.measure() == []

    async def test_all_can_be_dropped(self, storage: Storage) -> None:
        await storage.cache.keep("answer", [build_body("a")], max_bytes=MUCH)
        await storage.cache.clear()
        assert (await storage.cache.find("a"), await storage.cache.measure()) == ({}, [])
