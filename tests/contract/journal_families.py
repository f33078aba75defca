"""What every journal must do with families: streams that go back to one of them."""

import pytest

from storage.storage import Storage
from storage.streams import Relative, StreamSummary
from tests.contract.journal_helpers import LATER, append_entries
from tests.contract.journal_restore import build_entries


async def create(storage: Storage, stream: str, family: str, parent: str, owner: str = "local") -> None:
    """With entries of which the last alone has the summary, as a fork has."""
    summary = StreamSummary(stream, "running", {}, owner=owner, family=family, parent=parent)
    await append_entries(storage, stream, 0, {}, {}, summary=summary)


@pytest.mark.requirement("D20")
@pytest.mark.asyncio
class FamilyContract:
    async def test_a_family_is_found_by_the_stream_that_it_goes_back_to(self, storage: Storage) -> None:
        await create(storage, "root", "", "")
        await create(storage, "fork", "root", "root")
        await create(storage, "other", "", "")
        await create(storage, "grandchild", "root", "fork")
        await append_entries(storage, "bare", 0, {})

        every = [Relative("grandchild", "fork"), Relative("fork", "root"), Relative("root", "")]
        assert await storage.lists.find_family("root") == every
        assert await storage.lists.find_family("other") == [Relative("other", "")]
        assert await storage.lists.find_family("fork") == [Relative("fork", "root")]
        assert await storage.lists.find_family("never") == await storage.lists.find_family("") == []

    async def test_a_stream_keeps_the_family_of_its_first_entries(self, storage: Storage) -> None:
        await create(storage, "fork", "root", "root")
        changed = StreamSummary("t", "concluded", {}, family="another", parent="else")
        await append_entries(storage, "fork", 2, {}, summary=changed)

        assert await storage.lists.find_family("root") == [Relative("fork", "root")]
        assert await storage.lists.find_family("another") == []
        stored = await storage.summaries.read("fork")
        assert (stored.family, stored.parent, stored.status) == ("root", "root", "concluded")

    async def test_streams_that_name_a_family_in_their_words_are_not_of_it(self, storage: Storage) -> None:
        await create(storage, "root", "", "")
        await create(storage, "fork", "root", "root")
        for number in range(30):
            await append_entries(
                storage, f"s{number}", 0, {}, summary=StreamSummary("root", "running", {}, "root fork")
            )
        assert await storage.lists.find_family("root") == [Relative("fork", "root"), Relative("root", "")]

    async def test_those_of_other_owners_are_as_if_they_were_not_there(self, storage: Storage) -> None:
        await create(storage, "root", "", "", "ann")
        await create(storage, "hers", "root", "root", "ann")
        await create(storage, "his", "root", "root", "ben")

        found = {
            owner: await storage.lists.find_family("root", owner=owner) for owner in ("ann", "ben", "local")
        }
        assert found == {
            "ann": [Relative("hers", "root"), Relative("root", "")],
            "ben": [Relative("his", "root")],
            "local": [],
        }
        assert len(await storage.lists.find_family("root")) == 3

    async def test_what_is_restored_has_its_family_without_the_others(self, storage: Storage) -> None:
        summary = StreamSummary("t", "running", {}, family="root", parent="lost")
        await storage.journal.restore("fork", build_entries({}, {}, stream="fork"), summary)

        assert await storage.lists.find_family("root") == [Relative("fork", "lost")]

    async def test_what_is_deleted_leaves_the_others_of_its_family(self, storage: Storage) -> None:
        for stream, parent in (("root", ""), ("fork", "root"), ("grandchild", "fork")):
            await create(storage, stream, "root" if parent else "", parent)
        await storage.tombstones.delete("fork", at=LATER, actor="bob")
        assert await storage.lists.find_family("root") == [
            Relative("grandchild", "fork"),
            Relative("root", ""),
        ]
        await storage.tombstones.delete("root", at=LATER, actor="bob")
        assert await storage.lists.find_family("root") == [Relative("grandchild", "fork")]

    async def test_a_family_that_was_lost_is_written_again(self, storage: Storage) -> None:
        await append_entries(storage, "fork", 0, {})
        summary = StreamSummary("t", "running", {}, family="root", parent="root")
        assert await storage.summaries.rewrite("fork", 1, summary)
        assert await storage.lists.find_family("root") == [Relative("fork", "root")]
