"""What every journal must do: lists, searches, and noticing what is new."""

from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.storage import Storage
from storage.streams import StreamListing, StreamSummary
from tests.contract.journal_helpers import (
    AT,
    LATER,
    READ_ONLY_FUZZ_SETTINGS,
    append_entries,
    create_stream,
    find_streams,
    get_listing,
)


@pytest.mark.requirement("M3")
@pytest.mark.asyncio
class ListContract:
    async def test_a_heading_is_listed(self, storage: Storage) -> None:
        details = {"rounds": 3, "cost": "0.10", "ü": [None, {}]}
        await append_entries(
            storage, "s", 0, {}, summary=StreamSummary("A question", "running", details, "words")
        )

        expected = StreamListing("s", 1, "A question", "running", details, AT, AT)
        assert await get_listing(storage, "s") == expected
        assert await storage.lists.find() == [expected]

    async def test_a_stream_without_a_heading_is_listed_too(self, storage: Storage) -> None:
        await append_entries(storage, "s", 0, {})
        assert await storage.lists.find() == [StreamListing("s", 1, "", "", {}, AT, AT)]

    async def test_a_later_heading_replaces_the_earlier_one(self, storage: Storage) -> None:
        await append_entries(
            storage, "s", 0, {}, summary=StreamSummary("old", "running", {"old": 1}, "early words")
        )
        heading = StreamSummary("new", "concluded", {"new": 2}, "late words")
        await storage.journal.append("s", after=1, at=LATER, actor="bob", bodies=[{}], summary=heading)

        assert await get_listing(storage, "s") == StreamListing(
            "s", 1, "new", "concluded", {"new": 2}, AT, LATER
        )

    async def test_words_are_added_to_those_of_earlier_headings(self, storage: Storage) -> None:
        await create_stream(storage, "s", "early words")
        await create_stream(storage, "t", "others")
        for number, text in enumerate(("late", "", "last of all", "early"), start=1):
            await append_entries(storage, "s", number, {}, summary=StreamSummary("new", "", {}, text))

        for query in ("early", "late", "early late last", "all wor", "e", "words"):
            assert await find_streams(storage, query) == ["s"], query
        assert await find_streams(storage, "early others") == []

    async def test_an_append_without_a_heading_leaves_it(self, storage: Storage) -> None:
        await create_stream(storage, "s", "early")
        await storage.journal.append("s", after=1, at=LATER, actor="bob", bodies=[{}])

        assert await get_listing(storage, "s") == StreamListing("s", 1, "s", "running", {}, AT, LATER)
        assert await find_streams(storage, "early") == ["s"]

    async def test_streams_come_newest_first_in_pages(self, storage: Storage) -> None:
        for n in range(5):
            await create_stream(storage, f"s{n}", "cats")

        for query in ("", "cats", "  "):
            first = await storage.lists.find(query, limit=2)
            assert [listed.stream for listed in first] == ["s4", "s3"]
            assert await find_streams(storage, query, limit=2, before=first[-1].number) == ["s2", "s1"]
            assert await find_streams(storage, query, before=await self.find_number(storage, "s0")) == []
            assert len(await find_streams(storage, query, before=2**80)) == 5

    @staticmethod
    async def find_number(storage: Storage, stream: str) -> int:
        listed = await get_listing(storage, stream)
        assert listed
        return listed.number

    async def test_a_status_narrows_lists_and_searches(self, storage: Storage) -> None:
        await create_stream(storage, "a", "cats", status="running")
        await create_stream(storage, "b", "cats", status="concluded")
        await create_stream(storage, "c", "dogs", status="running")

        assert await find_streams(storage, status="running") == ["c", "a"]
        assert await find_streams(storage, "cats", status="running") == ["a"]
        assert await find_streams(storage, status="running", before=await self.find_number(storage, "c")) == [
            "a"
        ]
        assert await find_streams(storage, status="unheard of") == []

    async def test_a_status_that_streams_keep_is_searched_for_as_such(self, storage: Storage) -> None:
        for n, status in enumerate(("running", "concluded", "truncated", "concluded")):
            await create_stream(storage, f"s{n}", "cats", status="running")
            ended = StreamSummary("t", status, {}, "dogs", is_final=status != "running")
            await append_entries(storage, f"s{n}", 1, {}, summary=ended)

        for query in ("cats", "dogs", "cats dogs", "c"):
            assert await find_streams(storage, query, status="concluded", is_final=True) == ["s3", "s1"]
            assert await find_streams(storage, query, status="truncated", is_final=True) == ["s2"]
            assert await find_streams(storage, query, status="paused", is_final=True) == []
            assert await find_streams(storage, query, status="running") == ["s0"]
            assert await find_streams(storage, query) == ["s3", "s2", "s1", "s0"]

    async def test_no_text_can_pretend_to_be_a_status(self, storage: Storage) -> None:
        words = " ".join(storage.index.split(StreamSummary("t", "concluded", {}, is_final=True)))
        await create_stream(storage, "s", f"cats {words}", status="concluded")
        assert await find_streams(storage, "cats", status="concluded", is_final=True) == []
        assert await find_streams(storage, "cats", status="concluded") == ["s"]

    async def test_lists_and_searches_are_narrowed_to_streams_with_all_of_some_values(
        self, storage: Storage
    ) -> None:
        for n, values in enumerate(([], ["tag a"], ["tag a", "model b"], ["tag a", "model b"])):
            given = StreamSummary(
                "t", "concluded", {}, "cats", values=values, is_final=True, owner=f"o{n % 2}"
            )
            await append_entries(storage, f"s{n}", 0, {}, summary=given)

        both: dict[str, Any] = {"values": ["tag a", "model b"]}
        for query in ("", " ", "cats"):
            assert await find_streams(storage, query, values=["tag a"]) == ["s3", "s2", "s1"]
            assert await find_streams(storage, query, **both) == ["s3", "s2"]
            assert await find_streams(storage, query, **both, status="concluded", is_final=True) == [
                "s3",
                "s2",
            ]
            assert await find_streams(storage, query, **both, status="running") == []
            assert await find_streams(storage, query, **both, owner="o0") == ["s2"]
            assert await find_streams(storage, query, **both, limit=1) == ["s3"]
            assert await find_streams(
                storage, query, **both, before=await self.find_number(storage, "s3")
            ) == ["s2"]
        assert await find_streams(storage, "dogs", **both) == []
        assert await find_streams(storage, "!", **both) == []
        assert await find_streams(storage, values=["tag"]) == []
        taken = StreamSummary("t", "concluded", {}, is_final=True, removed_values=["tag a"])
        await append_entries(storage, "s3", 1, {}, summary=taken)
        assert await find_streams(storage, **both) == ["s2"]
        assert await find_streams(storage, values=["model b"]) == ["s3", "s2"]
        assert await storage.find_problems() == []

    async def test_no_text_can_pretend_to_be_a_value(self, storage: Storage) -> None:
        words = " ".join(storage.index.split(StreamSummary("t", "running", {}, values=["tag a"])))
        await create_stream(storage, "s", f"cats {words}")
        assert await find_streams(storage, values=["tag a"]) == []
        assert await find_streams(storage, words) == ["s"]

    @pytest.mark.parametrize("query", ["", "cats"])
    async def test_a_list_of_one_status_is_narrowed_to_streams_or_to_others(
        self, storage: Storage, query: str
    ) -> None:
        for n in range(4):
            await create_stream(storage, f"s{n}", "cats", status="running" if n else "concluded")

        chosen: dict[str, Any] = {"status": "running", "streams": ["s0", "s2", "unheard of"]}
        assert await find_streams(storage, query, **chosen, inside=True) == ["s2"]
        assert await find_streams(storage, query, **chosen) == ["s3", "s1"]
        assert await find_streams(storage, query, **chosen, limit=1) == ["s3"]

    async def test_a_list_of_one_status_can_leave_out_what_has_not_changed_since(
        self, storage: Storage
    ) -> None:
        for stream in ("a", "b"):
            await create_stream(storage, stream, "cats", status="running")
        await storage.journal.append("b", after=1, at=LATER, actor="bob", bodies=[{}])

        for chosen in ({"streams": ["a", "b"], "inside": True}, {}):
            since: dict[str, Any] = {"status": "running", **chosen}
            assert await find_streams(storage, **since, changed_since=AT) == ["b", "a"]
            assert await find_streams(storage, **since, changed_since=LATER) == ["b"]
            assert await find_streams(storage, **since, changed_since=f"{LATER}0") == []

    async def test_names_are_found_by_their_beginning(self, storage: Storage) -> None:
        for stream in ("ab1", "ab2", "aB3", "a%", "a_x", "b", "ab", "äb"):
            await append_entries(storage, stream, 0, {})

        assert await storage.lists.find_by_prefix("ab") == ["ab", "ab1", "ab2"]
        assert await storage.lists.find_by_prefix("ab", limit=1) == ["ab"]
        assert await storage.lists.find_by_prefix("a%") == ["a%"]
        assert await storage.lists.find_by_prefix("a_") == ["a_x"]
        assert await storage.lists.find_by_prefix("ä") == ["äb"]
        assert len(await storage.lists.find_by_prefix("")) == 8


POINTED = (
    ("إِعَادَةُ كِتَابَةِ الفَوْتَرَةِ", "اعادة كتابة الفوترة"),
    ("خـــدمة الأمان", "خدمة الامان"),
    ("שָׁלוֹם עוֹלָם", "שלום עולם"),
    ("Überprüfung été", "uberprufung ete"),
    ("Йод", "йод"),
)


@pytest.mark.requirement("M3")
@pytest.mark.asyncio
class SearchContract:
    async def test_a_search_finds_words_and_the_beginning_of_one_and_nothing_else(
        self, storage: Storage
    ) -> None:
        text = "Is remote work better? Crème brûlée with GPT-4.1 in C++ at 100% 日本語"
        await create_stream(storage, "s", text)
        for query in (
            *(
                "remote",
                "REMOTE work",
                "work remote",
                "rem",
                "work rem",
                "creme",
                "crème",
                "cre\u0301me brulee",
            ),
            *("gpt-4", "4.1", "c++", "is? remote!", "100%", "日本語", '"remote"', "work !"),
        ):
            assert await find_streams(storage, query) == ["s"], query
        for query in (
            *("rem work", "remote office", "emote", "?", '"', '" * "'),
            *("remote NOT work", "words:remote", "\0", "\u0301", "-"),
        ):
            assert await find_streams(storage, query) == [], query

    async def test_texts_without_blanks_are_found_by_every_part(self, storage: Storage) -> None:
        await create_stream(
            storage, "s", "我们应该用Rust重写计费服务吗? เราควรย้ายไปใช้คิวที่ง่ายกว่า 서비스를 다시"
        )
        for query in (
            *("计费", "计费服务", "费服", "务", "rust", "Rust重写", "服务 rust"),
            *("คิว", "ย้ายไปใช้คิว", "서비스", "비스를"),
        ):
            assert await find_streams(storage, query) == ["s"], query
        for query in ["计服", "费务", "服务器", "รุ่ง", "서를"]:
            assert await find_streams(storage, query) == [], query

    async def test_vowel_signs_are_part_of_a_word_and_what_makes_an_emoji_is_not(
        self, storage: Storage
    ) -> None:
        await create_stream(storage, "s", "बिलिंग सेवा ❤️ 1️⃣")
        for query in ("बिलिंग", "सेवा", "सेव", "❤️ 1", "1️⃣"):
            assert await find_streams(storage, query) == ["s"], query
        for query in ("बल", "लंग", "❤️", "️", "⃣"):
            assert await find_streams(storage, query) == [], query

    async def test_points_and_accents_make_no_difference(self, storage: Storage) -> None:
        for row, (pointed, bare) in enumerate(POINTED):
            spellings = (pointed, normalize("NFD", pointed), bare)
            for number, text in enumerate(spellings):
                await create_stream(storage, f"{row}s{number}", text)
            for query in spellings:
                assert await find_streams(storage, query) == [f"{row}s2", f"{row}s1", f"{row}s0"]

    async def test_of_a_long_query_the_beginning_counts(self, storage: Storage) -> None:
        await create_stream(storage, "s", "remote work " + "日" * 5_000)
        await create_stream(storage, "t", "nothing but work")
        for query in ("remote " * 10_000, "work " * 3_000 + "remote", "日" * 10_000, "remote\n\0" * 9_000):
            assert (await find_streams(storage, query))[-1] == "s"
        assert await find_streams(storage, "remote " + "office " * 10_000) == []
        assert await find_streams(storage, "\U0001f9ea " * 10_000) == []

    @READ_ONLY_FUZZ_SETTINGS
    @given(query=st.text() | st.text(alphabet="\"*^():-+ {}ANDORNEAR'\0a\ud800é"))
    async def test_any_text_is_a_query(self, storage: Storage, query: str) -> None:
        await storage.lists.find(query)


@pytest.mark.requirement("M3")
@pytest.mark.asyncio
class ChangesContract:
    async def test_changes_name_the_streams_written_to_since(self, storage: Storage) -> None:
        assert await storage.journal.find_changes(-1) == (0, [])
        await append_entries(storage, "a", 0, {})
        start, nothing = await storage.journal.find_changes(-1)
        assert nothing == []

        await append_entries(storage, "b", 0, {}, {})
        await append_entries(storage, "a", 1, {})
        await append_entries(storage, "b", 2, {})

        end, streams = await storage.journal.find_changes(start)
        assert end > start
        assert sorted(streams) == ["a", "b"]
        assert await storage.journal.find_changes(end) == (end, [])
        assert await storage.journal.find_changes(-1) == (end, [])
        assert sorted((await storage.journal.find_changes(0))[1]) == ["a", "b"]
