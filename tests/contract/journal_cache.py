"""What every journal must do: keep what spares work, within bounds, and only that."""

import asyncio
import random

import pytest

from storage.contract.cache import CachedBody, CacheSum
from storage.contract.journal import Journal
from tests.contract.journal_helpers import LATER, append_entries
from tests.support.patience import PATIENCE

MUCH = 1_000_000


def build_body(key: str, size: int = 10, stream: str = "") -> CachedBody:
    return CachedBody(key, key[:1].encode() * size, stream)


@pytest.mark.requirement("D22")
@pytest.mark.asyncio
class CacheContract:
    async def test_what_is_kept_is_found_by_its_key(self, journal: Journal) -> None:
        await append_entries(journal, "s", 0, {})
        one, other = CachedBody("a", b"\0\xff", "s"), build_body("b")
        await journal.keep_cached("answer", [one], max_bytes=MUCH)
        await journal.keep_cached("embedding", [other], max_bytes=MUCH)

        assert await journal.find_cached(["a", "b", "c"]) == {"a": one, "b": other}
        assert await journal.find_cached([]) == {}
        assert await journal.measure_cache() == [CacheSum("answer", 1, 2), CacheSum("embedding", 1, 10)]

    async def test_what_is_kept_again_is_replaced(self, journal: Journal) -> None:
        await journal.keep_cached("answer", [build_body("a", 10)], max_bytes=MUCH)
        await journal.keep_cached("answer", [build_body("a", 5)], max_bytes=MUCH)
        assert await journal.measure_cache() == [CacheSum("answer", 1, 5)]

    async def test_what_was_not_used_for_longest_goes_first(self, journal: Journal) -> None:
        for key in "abc":
            await journal.keep_cached("answer", [build_body(key)], max_bytes=30)
        await journal.find_cached(["a"])

        await journal.keep_cached("answer", [build_body("d", 20)], max_bytes=30)
        assert set(await journal.find_cached("abcd")) == {"a", "d"}
        await journal.keep_cached("answer", [build_body("e", 31)], max_bytes=30)
        assert await journal.find_cached("abcde") == {}

    async def test_what_is_kept_of_a_stream_goes_with_it(self, journal: Journal) -> None:
        await append_entries(journal, "s", 0, {})
        await journal.keep_cached("answer", [build_body("a", stream="s"), build_body("b")], max_bytes=MUCH)
        await journal.delete("s", at=LATER, actor="alice")
        assert set(await journal.find_cached("ab")) == {"b"}

    async def test_nothing_is_kept_of_a_stream_that_is_gone(self, journal: Journal) -> None:
        for name in ("s", "t"):
            await append_entries(journal, name, 0, {})
        await journal.delete("s", at=LATER, actor="alice")
        given = [
            build_body("a", stream="s"),
            build_body("b", stream="t"),
            build_body("c"),
            build_body("d", stream="x"),
        ]
        await journal.keep_cached("answer", given, max_bytes=MUCH)
        assert set(await journal.find_cached("abcd")) == {"b", "c"}

    async def test_many_who_write_at_once_do_not_wait_for_each_other_for_ever_and_keep_to_the_bound(
        self, journal: Journal
    ) -> None:
        sizes: list[int] = []
        await append_entries(journal, "s", 0, {})

        async def use(seed: int) -> None:
            chance = random.Random(seed)  # noqa: S311
            for turn in range(12):
                keys = chance.sample([f"{n:03}" for n in range(40)], 10)
                if turn == 7 and seed % 4 == 0:
                    await journal.clear_cache()
                elif turn % 2:
                    await journal.find_cached(keys)
                else:
                    given = [build_body(key, 1000, "s") for key in keys]
                    await journal.keep_cached("answer", given, max_bytes=20_000)
                sizes.append(sum(one.bytes for one in await journal.measure_cache()))

        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*map(use, range(8)))
            await journal.delete("s", at=LATER, actor="alice")
        assert 10_000 < max(sizes) <= 20_000
        assert await journal.measure_cache() == []

    async def test_all_can_be_dropped(self, journal: Journal) -> None:
        await journal.keep_cached("answer", [build_body("a")], max_bytes=MUCH)
        await journal.clear_cache()
        assert (await journal.find_cached("a"), await journal.measure_cache()) == ({}, [])
