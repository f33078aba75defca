"""What every journal must do: lists, searches, and noticing what is new."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.journal import Heading, Journal, Listed
from tests.contract.writing import AT, LATER, add, found, name

READ_ONLY = settings(
    deadline=None,
    max_examples=60,
    # Examples may share a journal when they only read, and a contract is inherited by more than one class.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


@pytest.mark.requirement("M3")
class Listing:
    @pytest.mark.asyncio
    async def test_a_heading_is_listed(self, journal: Journal) -> None:
        details = {"rounds": 3, "cost": "0.10", "ü": [None, {}]}
        await add(journal, "s", 0, {}, heading=Heading("A question", "running", details, "words"))

        expected = Listed("s", 1, "A question", "running", details, AT, AT)
        assert await journal.listed("s") == expected
        assert await journal.find() == [expected]

    @pytest.mark.asyncio
    async def test_a_stream_without_a_heading_is_listed_too(self, journal: Journal) -> None:
        await add(journal, "s", 0, {})
        assert await journal.find() == [Listed("s", 1, "", "", {}, AT, AT)]

    @pytest.mark.asyncio
    async def test_a_later_heading_replaces_the_earlier_one(self, journal: Journal) -> None:
        await add(journal, "s", 0, {}, heading=Heading("old", "running", {"old": 1}, "early words"))
        heading = Heading("new", "concluded", {"new": 2}, "late words")
        await journal.append("s", after=1, at=LATER, actor="bob", bodies=[{}], heading=heading)

        assert await journal.listed("s") == Listed("s", 1, "new", "concluded", {"new": 2}, AT, LATER)
        assert await found(journal, "early") == []
        assert await found(journal, "late") == ["s"]

    @pytest.mark.asyncio
    @pytest.mark.requirement("N10")
    async def test_what_was_written_to_since_can_be_summed_up(self, journal: Journal) -> None:
        for stream, details in (("early", {"n": 1}), ("late", {"n": 2})):
            await add(journal, stream, 0, {}, heading=Heading("t", "running", details))
        await journal.append("late", after=1, at=LATER, actor="bob", bodies=[{}])

        assert sorted(row["n"] for row in await journal.details_since(AT)) == [1, 2]
        assert await journal.details_since(LATER) == [{"n": 2}]
        assert await journal.details_since("9999") == []

    @pytest.mark.asyncio
    async def test_an_append_without_a_heading_leaves_it(self, journal: Journal) -> None:
        await name(journal, "s", "early")
        await journal.append("s", after=1, at=LATER, actor="bob", bodies=[{}])

        assert await journal.listed("s") == Listed("s", 1, "s", "running", {}, AT, LATER)
        assert await found(journal, "early") == ["s"]

    @pytest.mark.asyncio
    async def test_a_heading_without_words_leaves_the_earlier_ones(self, journal: Journal) -> None:
        await name(journal, "s", "early")
        await add(journal, "s", 1, {}, heading=Heading("new", "", {}))
        assert await found(journal, "early") == ["s"]

        await add(journal, "s", 2, {}, heading=Heading("new", "", {}, ""))
        assert await found(journal, "early") == []

    @pytest.mark.asyncio
    async def test_streams_come_newest_first_in_pages(self, journal: Journal) -> None:
        for n in range(5):
            await name(journal, f"s{n}", "cats")

        for query in ("", "cats", "  "):
            first = await journal.find(query, limit=2)
            assert [listed.stream for listed in first] == ["s4", "s3"]
            assert await found(journal, query, limit=2, before=first[-1].number) == ["s2", "s1"]
            assert await found(journal, query, before=await self.number(journal, "s0")) == []
            assert len(await found(journal, query, before=2**80)) == 5

    @staticmethod
    async def number(journal: Journal, stream: str) -> int:
        listed = await journal.listed(stream)
        assert listed
        return listed.number

    @pytest.mark.asyncio
    async def test_a_status_narrows_lists_and_searches(self, journal: Journal) -> None:
        await name(journal, "a", "cats", status="running")
        await name(journal, "b", "cats", status="concluded")
        await name(journal, "c", "dogs", status="running")

        assert await found(journal, status="running") == ["c", "a"]
        assert await found(journal, "cats", status="running") == ["a"]
        assert await found(journal, status="running", before=await self.number(journal, "c")) == ["a"]
        assert await found(journal, status="unheard of") == []

    @pytest.mark.asyncio
    async def test_names_are_found_by_their_beginning(self, journal: Journal) -> None:
        for stream in ("ab1", "ab2", "aB3", "a%", "a_x", "b", "ab", "äb"):
            await add(journal, stream, 0, {})

        assert await journal.begun_with("ab") == ["ab", "ab2", "ab1"]
        assert await journal.begun_with("ab", limit=1) == ["ab"]
        assert await journal.begun_with("a%") == ["a%"]
        assert await journal.begun_with("a_") == ["a_x"]
        assert await journal.begun_with("ä") == ["äb"]
        assert len(await journal.begun_with("")) == 8


@pytest.mark.requirement("M3")
class Searching:
    @pytest.mark.asyncio
    @pytest.mark.parametrize(
        "query",
        [
            "remote", "REMOTE work", "work remote", "rem", "work rem", "creme", "crème", "cre\u0301me brulee",
            "gpt-4", "4.1", "c++", "is? remote!", "100%", "日本語", '"remote"', "work !",
        ],
    )  # fmt: skip
    async def test_a_search_finds_every_word_and_the_beginning_of_the_last(
        self, journal: Journal, query: str
    ) -> None:
        await name(journal, "s", "Is remote work better? Crème brûlée with GPT-4.1 in C++ at 100% 日本語")
        assert await found(journal, query) == ["s"]

    @pytest.mark.asyncio
    @pytest.mark.parametrize(
        "query",
        [
            "rem work",
            "remote office",
            "emote",
            "?",
            '"',
            '" * "',
            "remote NOT work",
            "words:remote",
            "\0",
            "-",
        ],
    )
    async def test_a_search_finds_nothing_else(self, journal: Journal, query: str) -> None:
        await name(journal, "s", "Is remote work better?")
        assert await found(journal, query) == []

    @pytest.mark.asyncio
    @READ_ONLY
    @given(query=st.text() | st.text(alphabet="\"*^():-+ {}ANDORNEAR'\0a\ud800é"))
    async def test_any_text_is_a_query(self, journal: Journal, query: str) -> None:
        await journal.find(query)


@pytest.mark.requirement("M3")
class Noticing:
    @pytest.mark.asyncio
    async def test_changes_name_the_streams_written_to_since(self, journal: Journal) -> None:
        assert await journal.changes(-1) == (0, [])
        await add(journal, "a", 0, {})
        start, nothing = await journal.changes(-1)
        assert nothing == []

        await add(journal, "b", 0, {}, {})
        await add(journal, "a", 1, {})
        await add(journal, "b", 2, {})

        end, streams = await journal.changes(start)
        assert end > start
        assert sorted(streams) == ["a", "b"]
        assert await journal.changes(end) == (end, [])
        assert await journal.changes(-1) == (end, [])
        assert sorted((await journal.changes(0))[1]) == ["a", "b"]
