"""What every journal must do: lists, searches, and noticing what is new."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.contract import LOCAL_OWNER
from storage.contract.journal import Journal
from storage.contract.streams import StreamListing, StreamSummary
from storage.similarity import MAX_COMPARED_WORDS, TITLES_AT_ONCE
from tests.contract.journal_helpers import AT, LATER, append_entries, create_stream, find_streams, get_listing

READ_ONLY_FUZZ_SETTINGS = settings(
    deadline=None,
    max_examples=60,
    # Examples may share a journal when they only read, and a contract is inherited by more than one class.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


@pytest.mark.requirement("M3")
@pytest.mark.asyncio
class ListContract:
    async def test_a_heading_is_listed(self, journal: Journal) -> None:
        details = {"rounds": 3, "cost": "0.10", "ü": [None, {}]}
        await append_entries(
            journal, "s", 0, {}, summary=StreamSummary("A question", "running", details, "words")
        )

        expected = StreamListing("s", 1, "A question", "running", details, AT, AT)
        assert await get_listing(journal, "s") == expected
        assert await journal.find() == [expected]

    async def test_a_stream_without_a_heading_is_listed_too(self, journal: Journal) -> None:
        await append_entries(journal, "s", 0, {})
        assert await journal.find() == [StreamListing("s", 1, "", "", {}, AT, AT)]

    async def test_a_later_heading_replaces_the_earlier_one(self, journal: Journal) -> None:
        await append_entries(
            journal, "s", 0, {}, summary=StreamSummary("old", "running", {"old": 1}, "early words")
        )
        heading = StreamSummary("new", "concluded", {"new": 2}, "late words")
        await journal.append("s", after=1, at=LATER, actor="bob", bodies=[{}], summary=heading)

        assert await get_listing(journal, "s") == StreamListing(
            "s", 1, "new", "concluded", {"new": 2}, AT, LATER
        )

    async def test_words_are_added_to_those_of_earlier_headings(self, journal: Journal) -> None:
        await create_stream(journal, "s", "early words")
        await create_stream(journal, "t", "others")
        for number, text in enumerate(("late", "", "last of all", "early"), start=1):
            await append_entries(journal, "s", number, {}, summary=StreamSummary("new", "", {}, text))

        for query in ("early", "late", "early late last", "all wor", "e", "words"):
            assert await find_streams(journal, query) == ["s"], query
        assert await find_streams(journal, "early others") == []

    async def test_an_append_without_a_heading_leaves_it(self, journal: Journal) -> None:
        await create_stream(journal, "s", "early")
        await journal.append("s", after=1, at=LATER, actor="bob", bodies=[{}])

        assert await get_listing(journal, "s") == StreamListing("s", 1, "s", "running", {}, AT, LATER)
        assert await find_streams(journal, "early") == ["s"]

    async def test_streams_come_newest_first_in_pages(self, journal: Journal) -> None:
        for n in range(5):
            await create_stream(journal, f"s{n}", "cats")

        for query in ("", "cats", "  "):
            first = await journal.find(query, limit=2)
            assert [listed.stream for listed in first] == ["s4", "s3"]
            assert await find_streams(journal, query, limit=2, before=first[-1].number) == ["s2", "s1"]
            assert await find_streams(journal, query, before=await self.find_number(journal, "s0")) == []
            assert len(await find_streams(journal, query, before=2**80)) == 5

    @staticmethod
    async def find_number(journal: Journal, stream: str) -> int:
        listed = await get_listing(journal, stream)
        assert listed
        return listed.number

    async def test_a_status_narrows_lists_and_searches(self, journal: Journal) -> None:
        await create_stream(journal, "a", "cats", status="running")
        await create_stream(journal, "b", "cats", status="concluded")
        await create_stream(journal, "c", "dogs", status="running")

        assert await find_streams(journal, status="running") == ["c", "a"]
        assert await find_streams(journal, "cats", status="running") == ["a"]
        assert await find_streams(journal, status="running", before=await self.find_number(journal, "c")) == [
            "a"
        ]
        assert await find_streams(journal, status="unheard of") == []

    async def test_a_status_that_streams_keep_is_searched_for_as_such(self, journal: Journal) -> None:
        for n, status in enumerate(("running", "concluded", "truncated", "concluded")):
            await create_stream(journal, f"s{n}", "cats", status="running")
            ended = StreamSummary("t", status, {}, "dogs", is_final=status != "running")
            await append_entries(journal, f"s{n}", 1, {}, summary=ended)

        for query in ("cats", "dogs", "cats dogs", "c"):
            assert await find_streams(journal, query, status="concluded", is_final=True) == ["s3", "s1"]
            assert await find_streams(journal, query, status="truncated", is_final=True) == ["s2"]
            assert await find_streams(journal, query, status="paused", is_final=True) == []
            assert await find_streams(journal, query, status="running") == ["s0"]
            assert await find_streams(journal, query) == ["s3", "s2", "s1", "s0"]

    async def test_no_text_can_pretend_to_be_a_status(self, journal: Journal) -> None:
        words = " ".join(journal.split_words(StreamSummary("t", "concluded", {}, is_final=True)))
        await create_stream(journal, "s", f"cats {words}", status="concluded")
        assert await find_streams(journal, "cats", status="concluded", is_final=True) == []
        assert await find_streams(journal, "cats", status="concluded") == ["s"]

    @pytest.mark.parametrize("query", ["", "cats"])
    async def test_a_list_of_one_status_is_narrowed_to_streams_or_to_others(
        self, journal: Journal, query: str
    ) -> None:
        for n in range(4):
            await create_stream(journal, f"s{n}", "cats", status="running" if n else "concluded")

        chosen = {"status": "running", "streams": ["s0", "s2", "unheard of"]}
        assert await find_streams(journal, query, **chosen, inside=True) == ["s2"]
        assert await find_streams(journal, query, **chosen) == ["s3", "s1"]
        assert await find_streams(journal, query, **chosen, limit=1) == ["s3"]

    async def test_names_are_found_by_their_beginning(self, journal: Journal) -> None:
        for stream in ("ab1", "ab2", "aB3", "a%", "a_x", "b", "ab", "äb"):
            await append_entries(journal, stream, 0, {})

        assert await journal.find_by_prefix("ab") == ["ab", "ab1", "ab2"]
        assert await journal.find_by_prefix("ab", limit=1) == ["ab"]
        assert await journal.find_by_prefix("a%") == ["a%"]
        assert await journal.find_by_prefix("a_") == ["a_x"]
        assert await journal.find_by_prefix("ä") == ["äb"]
        assert len(await journal.find_by_prefix("")) == 8


@pytest.mark.requirement("M3")
@pytest.mark.asyncio
class SearchContract:
    @pytest.mark.parametrize(
        "query",
        [
            "remote", "REMOTE work", "work remote", "rem", "work rem", "creme", "crème", "cre\u0301me brulee",
            "gpt-4", "4.1", "c++", "is? remote!", "100%", "日本語", '"remote"', "work !",
        ],
    )  # fmt: skip
    async def test_a_search_finds_words_and_the_beginning_of_one(self, journal: Journal, query: str) -> None:
        await create_stream(
            journal, "s", "Is remote work better? Crème brûlée with GPT-4.1 in C++ at 100% 日本語"
        )
        assert await find_streams(journal, query) == ["s"]

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
        await create_stream(journal, "s", "Is remote work better?")
        assert await find_streams(journal, query) == []

    async def test_texts_without_blanks_are_found_by_every_part(self, journal: Journal) -> None:
        await create_stream(
            journal, "s", "我们应该用Rust重写计费服务吗? เราควรย้ายไปใช้คิวที่ง่ายกว่า 서비스를 다시"
        )
        for query in [
            "计费",
            "计费服务",
            "费服",
            "务",
            "rust",
            "Rust重写",
            "คิว",
            "ย้ายไปใช้คิว",
            "서비스",
            "비스를",
        ]:
            assert await find_streams(journal, query) == ["s"], query
        for query in ["计服", "费务", "服务器", "รุ่ง", "서를"]:
            assert await find_streams(journal, query) == [], query

    async def test_vowel_signs_are_part_of_a_word_and_what_makes_an_emoji_is_not(
        self, journal: Journal
    ) -> None:
        await create_stream(journal, "s", "बिलिंग सेवा ❤️ 1️⃣")
        for query in ("बिलिंग", "सेवा", "सेव", "❤️ 1", "1️⃣"):
            assert await find_streams(journal, query) == ["s"], query
        for query in ("बल", "लंग", "❤️", "️", "⃣"):
            assert await find_streams(journal, query) == [], query

    async def test_of_a_long_query_the_beginning_counts(self, journal: Journal) -> None:
        await create_stream(journal, "s", "remote work " + "日" * 5_000)
        await create_stream(journal, "t", "nothing but work")
        for query in ("remote " * 10_000, "work " * 3_000 + "remote", "日" * 10_000, "remote\n\0" * 9_000):
            assert (await find_streams(journal, query))[-1] == "s"
        assert await find_streams(journal, "remote " + "office " * 10_000) == []
        assert await find_streams(journal, "\U0001f9ea " * 10_000) == []

    @READ_ONLY_FUZZ_SETTINGS
    @given(query=st.text() | st.text(alphabet="\"*^():-+ {}ANDORNEAR'\0a\ud800é"))
    async def test_any_text_is_a_query(self, journal: Journal, query: str) -> None:
        await journal.find(query)


async def conclude(
    journal: Journal,
    stream: str,
    title: str,
    body: str = "",
    details: Mapping[str, Any] | None = None,
    **given: Any,
) -> None:
    text = f"{title} {body}"
    summary = StreamSummary(title, "concluded", details or {}, text, is_final=True, **given)
    await append_entries(journal, stream, 0, {}, summary=summary)


async def find_similar(journal: Journal, text: str, **options: Any) -> list[str]:
    found = await journal.find_similar(text, status="concluded", **options)
    assert all(0 < one.share <= 1 for one in found)
    return [one.listing.stream for one in found]


@pytest.mark.requirement("D18")
@pytest.mark.asyncio
class SimilarityContract:
    async def test_streams_that_share_rarer_words_come_first(self, journal: Journal) -> None:
        await conclude(journal, "billing", "Should we rewrite the billing service in Rust?")
        await conclude(journal, "office", "Should we move the office?")
        for n in range(9):
            await conclude(journal, f"s{n}", f"Should we paint the wall number{n}?")

        found = await find_similar(journal, "Rewrite billing, or should we move?")
        assert found[:2] == ["billing", "office"]
        assert set(found[2:]) == {f"s{n}" for n in range(9)}
        assert await find_similar(journal, "Rewrite billing, or should we move?", limit=1) == ["billing"]
        whole = "Should we move the office?"
        (best, *_) = await journal.find_similar(whole, status="concluded")
        assert (best.listing.title, best.share) == (whole, 1)

    async def test_a_word_counts_most_in_a_title(self, journal: Journal) -> None:
        await conclude(journal, "titled", "Which queue?")
        await conclude(journal, "told", "Which database?", "a queue")
        await conclude(journal, "other", "Who pays?")
        assert await find_similar(journal, "a queue") == ["titled", "told"]
        assert await find_similar(journal, "queue") == ["titled", "told"]

    async def test_inflected_words_count_as_one(self, journal: Journal) -> None:
        await conclude(journal, "inflected", "Rewriting the billed services?", "Überprüfungen")
        await conclude(journal, "both", "Rewrite or rewritten?")
        await conclude(journal, "neither", "Which re-write?", "rewar ewrite")
        assert await find_similar(journal, "We rewrite it") == ["both", "inflected"]
        assert await find_similar(journal, "überprüfen") == ["inflected"]
        assert await find_similar(journal, "bill") == []

        (one,) = await journal.find_similar("Rewrites rewrite a service", status="concluded", limit=1)
        (same,) = await journal.find_similar("Rewrite a service", status="concluded", limit=1)
        assert (one.listing.stream, one.share) == ("inflected", same.share)

    @pytest.mark.parametrize(
        "questions",
        [
            "我们应该用Rust重写计费服务吗? | 重写计费服务, 还是继续用Python? | 我们应该用红色粉刷厨房吗?",
            "請求サービスを書き直すべきですか? | 請求サービスの書き直しは必要? | 台所を緑に塗るべきですか?",
            "เราควรขึ้นราคาแพ็กเกจพื้นฐานหรือไม่ | ถึงเวลาขึ้นราคาแพ็กเกจพื้นฐานหรือยัง | เห็ดนี้กินได้หรือไม่",
            "기본 요금제의 가격을 올려야 하나요? | 지금 기본 요금제 가격을 올릴 때인가요? | 이 버섯은 먹을 수 있나요?",
            "क्या मूल योजना की कीमत बढ़ानी है? | क्या मूल योजना की कीमत का समय है? | हम झील पर डेरा डालें?",
        ],
    )
    async def test_languages_without_blanks_and_with_vowel_signs_are_compared(
        self, journal: Journal, questions: str
    ) -> None:
        title, same, other = questions.split(" | ")
        await conclude(journal, "s", title)
        (found,) = await journal.find_similar(same, status="concluded")
        assert found.share > 0.35
        assert all(one.share < 0.35 for one in await journal.find_similar(other, status="concluded"))

    async def test_a_long_title_is_not_similar_to_everything(self, journal: Journal) -> None:
        many = " ".join(f"n{n}" for n in range(MAX_COMPARED_WORDS))
        await conclude(journal, "long", f"{many} queue")
        await conclude(journal, "short", "Which queue?")
        await conclude(journal, "other", "Who pays?")
        assert await find_similar(journal, "queue") == ["short", "long"]
        assert await find_similar(journal, f"{many} queue") == ["long"]

    async def test_of_two_that_share_as_much_the_newer_one_comes_first(self, journal: Journal) -> None:
        for stream in ("a", "c", "b"):
            await conclude(journal, stream, "Which queue?")
        assert await find_similar(journal, "queue") == ["b", "c", "a"]

    async def test_of_a_family_the_most_similar_stream_that_is_wanted_is_found(
        self, journal: Journal
    ) -> None:
        await conclude(journal, "root", "Which queue do we take?")
        await conclude(journal, "close", "Which queue, and which database?", family="root")
        await conclude(journal, "unwanted", "Which queue, and which database?", family="root")
        await conclude(journal, "other", "Which queue?")

        found = await journal.find_similar(
            "Which queue and database?",
            status="concluded",
            is_wanted=lambda listing: listing.stream != "unwanted",
        )
        assert [(one.listing.stream, one.listing.family) for one in found] == [
            ("close", "root"),
            ("other", ""),
        ]

    async def test_families_are_those_that_are_named(self, journal: Journal) -> None:
        for stream in ("a", "b", "c"):
            await conclude(journal, stream, "Which queue?", family="" if stream == "a" else "a")
        assert await find_similar(journal, "queue") == ["c"]
        named = await find_similar(journal, "queue", name_family=lambda listing: str(listing.stream == "c"))
        assert named == ["c", "b"]

    async def test_what_is_not_wanted_hides_nothing(self, journal: Journal) -> None:
        await conclude(journal, "found", "Which queue and which database?")
        for n in range(TITLES_AT_ONCE + 1):
            await conclude(journal, f"fork{n}", "Which queue and which database?", family="root")
            await conclude(journal, f"told{n}", "Who pays?", "queue and database")
            await conclude(journal, f"unwanted{n}", "Which queue and which database?")

        found = await journal.find_similar(
            "Which queue and which database?",
            status="concluded",
            limit=2,
            is_wanted=lambda listing: not listing.stream.startswith("unwanted"),
        )
        assert [one.listing.stream for one in found] == [f"fork{TITLES_AT_ONCE}", "found"]

    async def test_what_was_only_said_in_many_hides_no_title(self, journal: Journal) -> None:
        await conclude(journal, "titled", "Which queue and database?")
        for n in range(TITLES_AT_ONCE + 1):
            await conclude(journal, f"told{n}", f"Who pays {n}?", "Which queue and database and broker?")
        assert await find_similar(journal, "Which queue and database and broker?", limit=1) == ["titled"]

    async def test_what_shares_less_than_asked_for_is_not_found(self, journal: Journal) -> None:
        await conclude(journal, "titled", "Which queue?")
        await conclude(journal, "told", "Who pays?", "Which queue?")
        for least, expected in ((0, ["titled", "told"]), (0.25, ["titled", "told"]), (0.26, ["titled"])):
            assert await find_similar(journal, "Which queue?", min_share=least) == expected

    async def test_only_streams_that_keep_the_status_are_similar(self, journal: Journal) -> None:
        await create_stream(journal, "running", "queue")
        await create_stream(journal, "unkept", "queue", status="concluded")
        ended = StreamSummary("queue", "truncated", {}, "queue", is_final=True)
        await append_entries(journal, "truncated", 0, {}, summary=ended)
        await conclude(journal, "s", "queue")
        assert await find_similar(journal, "queue") == ["s"]

    @pytest.mark.parametrize("text", ["", " ?! ", "nothing of it", "\0", "no" * 2_000])
    async def test_a_text_may_be_similar_to_nothing(self, journal: Journal, text: str) -> None:
        await conclude(journal, "s", "Which queue?")
        assert await find_similar(journal, text) == []

    async def test_streams_of_other_owners_are_not_similar_and_count_for_nothing(
        self, journal: Journal
    ) -> None:
        for n in range(9):
            await conclude(journal, f"b{n}", "Which queue?", owner="bob")
        await conclude(journal, "mine", "Which queue?")
        await conclude(journal, "alices", "Which queue?", owner="alice")

        assert await find_similar(journal, "queue", owner=LOCAL_OWNER) == ["mine"]
        assert await find_similar(journal, "queue", owner="alice") == ["alices"]
        assert await find_similar(journal, "queue", owner="carol") == []
        assert len(await find_similar(journal, "queue", owner="bob")) == 9
        assert len(await find_similar(journal, "queue")) == 11
        text = "Which queue, or which database?"
        (one,) = await journal.find_similar(text, status="concluded", owner="alice")
        (same,) = await journal.find_similar(text, status="concluded", owner=LOCAL_OWNER)
        assert one.share == same.share

    async def test_a_deleted_stream_is_similar_to_nothing(self, journal: Journal) -> None:
        await conclude(journal, "s", "Which queue?")
        summary = StreamSummary("Which queue?", "concluded", {}, "Which queue? ", is_final=True)
        await journal.delete("s", at=LATER, actor="alice", summary=summary)
        assert await find_similar(journal, "queue") == []

    @READ_ONLY_FUZZ_SETTINGS
    @given(text=st.text() | st.text(alphabet="\"*^():-+ {}ANDORNEAR'\0a\ud800é"))
    async def test_any_text_can_be_compared(self, journal: Journal, text: str) -> None:
        await journal.find_similar(text, status="concluded")


@pytest.mark.requirement("M3")
@pytest.mark.asyncio
class ChangesContract:
    async def test_changes_name_the_streams_written_to_since(self, journal: Journal) -> None:
        assert await journal.find_changes(-1) == (0, [])
        await append_entries(journal, "a", 0, {})
        start, nothing = await journal.find_changes(-1)
        assert nothing == []

        await append_entries(journal, "b", 0, {}, {})
        await append_entries(journal, "a", 1, {})
        await append_entries(journal, "b", 2, {})

        end, streams = await journal.find_changes(start)
        assert end > start
        assert sorted(streams) == ["a", "b"]
        assert await journal.find_changes(end) == (end, [])
        assert await journal.find_changes(-1) == (end, [])
        assert sorted((await journal.find_changes(0))[1]) == ["a", "b"]
