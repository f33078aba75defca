"""What every journal must do with the seals of heads, and with texts that are kept beside streams."""

import pytest

from storage.storage import Storage
from storage.streams import StreamSummary
from tests.contract.journal_helpers import AT, append_entries
from tests.contract.journal_restore import build_entries


def seal(stream: str, seq: int, digest: bytes) -> str:
    return f"{stream} {seq} {digest.hex()}"


async def read_seal(storage: Storage) -> tuple[int, str]:
    entries, found = await storage.journal.read_sealed("s")
    assert entries == await storage.journal.read("s")
    return len(entries), found


@pytest.mark.requirement("D11")
@pytest.mark.asyncio
class SealContract:
    async def test_the_seal_is_that_of_the_new_head(self, storage: Storage) -> None:
        for after in (0, 2):
            bodies = [{"n": 1}, {"n": 2}]
            entries = await storage.journal.append(
                "s", after=after, at=AT, actor="alice", bodies=bodies, seal=seal
            )
            expected = seal("s", after + 2, bytes.fromhex(entries[-1].hash))
            assert await read_seal(storage) == (after + 2, expected)

    async def test_what_is_written_without_one_has_none(self, storage: Storage) -> None:
        await storage.journal.append("s", after=0, at=AT, actor="alice", bodies=[{}], seal=seal)
        await append_entries(storage, "s", 1, {})
        assert await read_seal(storage) == (2, "")
        assert await storage.journal.read_sealed("unknown") == ([], "")

    async def test_what_is_restored_has_none(self, storage: Storage) -> None:
        await storage.journal.append("s", after=0, at=AT, actor="alice", bodies=[{"n": 1}], seal=seal)
        await storage.journal.restore("s", build_entries({"n": 1}, {"n": 2}), StreamSummary("", "", {}))
        assert await read_seal(storage) == (2, "")

    async def test_a_head_is_sealed_later_if_it_is_still_the_head(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {}, {})
        assert not await storage.journal.seal("s", 1, "one")
        assert await storage.journal.seal("s", 2, "two")
        assert await read_seal(storage) == (2, "two")

    async def test_the_first_text_of_a_name_is_kept(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {})
        assert await storage.texts.find("s", "receipt") == ""
        assert await storage.texts.keep("s", "receipt", "one") == "one"
        assert await storage.texts.keep("s", "receipt", "two") == "one"
        assert await storage.texts.find("s", "receipt") == "one"

    async def test_each_stream_and_name_has_a_text_of_its_own(self, storage: Storage) -> None:
        for stream in ("s", "t"):
            await append_entries(storage, stream, 0, {})
        await storage.texts.keep("s", "receipt", "one")
        assert await storage.texts.keep("s", "other", "two") == "two"
        assert await storage.texts.find("t", "receipt") == ""
        assert await storage.texts.find("s", "receipt") == "one"
        assert await storage.texts.read("s") == {"receipt": "one", "other": "two"}
        assert await storage.texts.read("u") == {}
        assert await storage.texts.find_many(["s", "t", "u"], "receipt") == {"s": "one"}
        assert not await storage.texts.find_many([], "receipt")

    async def test_no_text_is_kept_beside_what_is_not_there(self, storage: Storage) -> None:
        assert await storage.texts.keep("s", "receipt", "one") == ""
