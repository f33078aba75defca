"""What every journal must do with the seals of heads, and with texts that are kept beside streams."""

import pytest

from storage.contract.journal import Journal
from storage.contract.streams import StreamSummary
from tests.contract.journal_helpers import AT, append_entries
from tests.contract.journal_restore import build_entries


def seal(stream: str, seq: int, digest: bytes) -> str:
    return f"{stream} {seq} {digest.hex()}"


async def read_seal(journal: Journal) -> tuple[int, str]:
    entries, found = await journal.read_sealed("s")
    assert entries == await journal.read("s")
    return len(entries), found


@pytest.mark.requirement("D11")
@pytest.mark.asyncio
class SealContract:
    async def test_the_seal_is_that_of_the_new_head(self, journal: Journal) -> None:
        for after in (0, 2):
            bodies = [{"n": 1}, {"n": 2}]
            entries = await journal.append("s", after=after, at=AT, actor="alice", bodies=bodies, seal=seal)
            expected = seal("s", after + 2, bytes.fromhex(entries[-1].hash))
            assert await read_seal(journal) == (after + 2, expected)

    async def test_what_is_written_without_one_has_none(self, journal: Journal) -> None:
        await journal.append("s", after=0, at=AT, actor="alice", bodies=[{}], seal=seal)
        await append_entries(journal, "s", 1, {})
        assert await read_seal(journal) == (2, "")
        assert await journal.read_sealed("unknown") == ([], "")

    async def test_what_is_restored_has_none(self, journal: Journal) -> None:
        await journal.append("s", after=0, at=AT, actor="alice", bodies=[{"n": 1}], seal=seal)
        await journal.restore("s", build_entries({"n": 1}, {"n": 2}), StreamSummary("", "", {}))
        assert await read_seal(journal) == (2, "")

    async def test_a_head_is_sealed_later_if_it_is_still_the_head(self, journal: Journal) -> None:
        await append_entries(journal, "s", 0, {}, {})
        assert not await journal.set_seal("s", 1, "one")
        assert await journal.set_seal("s", 2, "two")
        assert await read_seal(journal) == (2, "two")

    async def test_the_first_text_of_a_name_is_kept(self, journal: Journal) -> None:
        await append_entries(journal, "s", 0, {})
        assert await journal.find_text("s", "receipt") == ""
        assert await journal.keep_text("s", "receipt", "one") == "one"
        assert await journal.keep_text("s", "receipt", "two") == "one"
        assert await journal.keep_text("s", "receipt", "two", instead_of="one") == "two"
        assert await journal.find_text("s", "receipt") == "two"

    async def test_each_stream_and_name_has_a_text_of_its_own(self, journal: Journal) -> None:
        for stream in ("s", "t"):
            await append_entries(journal, stream, 0, {})
        await journal.keep_text("s", "receipt", "one")
        assert await journal.keep_text("s", "other", "two") == "two"
        assert await journal.find_text("t", "receipt") == ""
        assert await journal.find_text("s", "receipt") == "one"
        assert await journal.read_texts("s") == {"receipt": "one", "other": "two"}
        assert await journal.read_texts("u") == {}
        assert await journal.find_texts(["s", "t", "u"], "receipt") == {"s": "one"}
        assert not await journal.find_texts([], "receipt")

    async def test_no_text_is_kept_beside_what_is_not_there(self, journal: Journal) -> None:
        assert await journal.keep_text("s", "receipt", "one") == ""
