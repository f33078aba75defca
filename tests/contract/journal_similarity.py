"""What every journal must do: streams that have words in common with a text."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import LOCAL_OWNER
from storage.similarity import TITLES_AT_ONCE
from storage.storage import Storage
from storage.streams import Seal, StreamSummary
from storage.words import MAX_COMPARED_WORDS
from tests.contract.journal_helpers import LATER, READ_ONLY_FUZZ_SETTINGS, append_entries, create_stream


async def conclude(
    storage: Storage,
    stream: str,
    title: str,
    body: str = "",
    details: Mapping[str, Any] | None = None,
    seal: Seal | None = None,
    **given: Any,
) -> None:
    text = f"{title} {body}"
    summary = StreamSummary(title, "concluded", details or {}, text, is_final=True, **given)
    await append_entries(storage, stream, 0, {}, summary=summary)
    if seal:
        head = await storage.journal.head(stream)
        await storage.journal.seal(stream, head.seq, seal(stream, head.seq, bytes.fromhex(head.hash)))


async def find_similar(storage: Storage, text: str, **options: Any) -> list[str]:
    found = await storage.lists.find_similar(text, status="concluded", **options)
    assert all(0 < one.share <= 1 for one in found)
    return [one.listing.stream for one in found]


@pytest.mark.requirement("D18")
@pytest.mark.asyncio
class SimilarityContract:
    async def test_streams_that_share_rarer_words_come_first(self, storage: Storage) -> None:
        await conclude(storage, "billing", "Should we rewrite the billing service in Rust?")
        await conclude(storage, "office", "Should we move the office?")
        for n in range(9):
            await conclude(storage, f"s{n}", f"Should we paint the wall number{n}?")

        found = await find_similar(storage, "Rewrite billing, or should we move?")
        assert found[:2] == ["billing", "office"]
        assert set(found[2:]) == {f"s{n}" for n in range(9)}
        assert await find_similar(storage, "Rewrite billing, or should we move?", limit=1) == ["billing"]
        whole = "Should we move the office?"
        (best, *_) = await storage.lists.find_similar(whole, status="concluded")
        assert (best.listing.title, best.share) == (whole, 1)

    async def test_a_word_counts_most_in_a_title(self, storage: Storage) -> None:
        await conclude(storage, "titled", "Which queue?")
        await conclude(storage, "told", "Which database?", "a queue")
        await conclude(storage, "other", "Who pays?")
        assert await find_similar(storage, "a queue") == ["titled", "told"]
        assert await find_similar(storage, "queue") == ["titled", "told"]

    async def test_inflected_words_count_as_one(self, storage: Storage) -> None:
        await conclude(storage, "inflected", "Rewriting the billed services?", "Überprüfungen")
        await conclude(storage, "both", "Rewrite or rewritten?")
        await conclude(storage, "neither", "Which re-write?", "rewar ewrite")
        assert await find_similar(storage, "We rewrite it") == ["both", "inflected"]
        assert await find_similar(storage, "überprüfen") == ["inflected"]
        assert await find_similar(storage, "bill") == []

        (one,) = await storage.lists.find_similar("Rewrites rewrite a service", status="concluded", limit=1)
        (same,) = await storage.lists.find_similar("Rewrite a service", status="concluded", limit=1)
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
        self, storage: Storage, questions: str
    ) -> None:
        title, same, other = questions.split(" | ")
        await conclude(storage, "s", title)
        (found,) = await storage.lists.find_similar(same, status="concluded")
        assert found.share > 0.35
        assert all(one.share < 0.35 for one in await storage.lists.find_similar(other, status="concluded"))

    async def test_a_long_title_is_not_similar_to_everything(self, storage: Storage) -> None:
        many = " ".join(f"n{n}" for n in range(MAX_COMPARED_WORDS))
        await conclude(storage, "long", f"{many} queue")
        await conclude(storage, "short", "Which queue?")
        await conclude(storage, "other", "Who pays?")
        assert await find_similar(storage, "queue") == ["short", "long"]
        assert await find_similar(storage, f"{many} queue") == ["long"]

    async def test_of_two_that_share_as_much_the_newer_one_comes_first(self, storage: Storage) -> None:
        for stream in ("a", "c", "b"):
            await conclude(storage, stream, "Which queue?")
        assert await find_similar(storage, "queue") == ["b", "c", "a"]

    async def test_of_a_family_the_most_similar_stream_that_is_wanted_is_found(
        self, storage: Storage
    ) -> None:
        await conclude(storage, "root", "Which queue do we take?")
        await conclude(storage, "close", "Which queue, and which database?", family="root")
        await conclude(storage, "unwanted", "Which queue, and which database?", family="root")
        await conclude(storage, "other", "Which queue?")

        found = await storage.lists.find_similar(
            "Which queue and database?",
            status="concluded",
            find_group=lambda one: one.family or one.stream if one.stream != "unwanted" else None,
        )
        assert [(one.listing.stream, one.listing.family) for one in found] == [
            ("close", "root"),
            ("other", ""),
        ]

    async def test_of_each_group_one_stream_is_found(self, storage: Storage) -> None:
        for stream in ("a", "b", "c"):
            await conclude(storage, stream, "Which queue?", family="" if stream == "a" else "a")
        assert await find_similar(storage, "queue") == ["c"]
        named = await find_similar(storage, "queue", find_group=lambda one: one.stream == "c")
        assert named == ["c", "b"]

    async def test_what_is_not_wanted_hides_nothing(self, storage: Storage) -> None:
        await conclude(storage, "found", "Which queue and which database?")
        for n in range(TITLES_AT_ONCE + 1):
            await conclude(storage, f"fork{n}", "Which queue and which database?", family="root")
            await conclude(storage, f"told{n}", "Who pays?", "queue and database")
            await conclude(storage, f"unwanted{n}", "Which queue and which database?")

        found = await storage.lists.find_similar(
            "Which queue and which database?",
            status="concluded",
            limit=2,
            find_group=lambda one: None if one.stream.startswith("unwanted") else one.family or one.stream,
        )
        assert [one.listing.stream for one in found] == [f"fork{TITLES_AT_ONCE}", "found"]

    async def test_what_was_only_said_in_many_hides_no_title(self, storage: Storage) -> None:
        await conclude(storage, "titled", "Which queue and database?")
        for n in range(TITLES_AT_ONCE + 1):
            await conclude(storage, f"told{n}", f"Who pays {n}?", "Which queue and database and broker?")
        assert await find_similar(storage, "Which queue and database and broker?", limit=1) == ["titled"]

    async def test_what_shares_less_than_asked_for_is_not_found(self, storage: Storage) -> None:
        await conclude(storage, "titled", "Which queue?")
        await conclude(storage, "told", "Who pays?", "Which queue?")
        for least, expected in ((0, ["titled", "told"]), (0.25, ["titled", "told"]), (0.26, ["titled"])):
            assert await find_similar(storage, "Which queue?", min_share=least) == expected

    async def test_only_streams_that_keep_the_status_are_similar(self, storage: Storage) -> None:
        await create_stream(storage, "running", "queue")
        await create_stream(storage, "unkept", "queue", status="concluded")
        ended = StreamSummary("queue", "truncated", {}, "queue", is_final=True)
        await append_entries(storage, "truncated", 0, {}, summary=ended)
        await conclude(storage, "s", "queue")
        assert await find_similar(storage, "queue") == ["s"]

    async def test_a_text_may_be_similar_to_nothing(self, storage: Storage) -> None:
        await conclude(storage, "s", "Which queue?")
        for text in ("", " ?! ", "nothing of it", "\0", "\u0301", "no" * 2_000):
            assert await find_similar(storage, text) == []

    async def test_accents_without_a_letter_are_no_words(self, storage: Storage) -> None:
        await conclude(storage, "s", "Which \u0301 queue 日\u0301?")
        for text in ("queue", "日", "\U0001f600\u0301 queue"):
            assert await find_similar(storage, text) == ["s"], text

    async def test_streams_of_other_owners_are_not_similar_and_count_for_nothing(
        self, storage: Storage
    ) -> None:
        for n in range(9):
            await conclude(storage, f"b{n}", "Which queue?", owner="bob")
        await conclude(storage, "mine", "Which queue?")
        await conclude(storage, "alices", "Which queue?", owner="alice")

        assert await find_similar(storage, "queue", owner=LOCAL_OWNER) == ["mine"]
        assert await find_similar(storage, "queue", owner="alice") == ["alices"]
        assert await find_similar(storage, "queue", owner="carol") == []
        assert len(await find_similar(storage, "queue", owner="bob")) == 9
        assert len(await find_similar(storage, "queue")) == 11
        text = "Which queue, or which database?"
        (one,) = await storage.lists.find_similar(text, status="concluded", owner="alice")
        (same,) = await storage.lists.find_similar(text, status="concluded", owner=LOCAL_OWNER)
        assert one.share == same.share

    async def test_a_deleted_stream_is_similar_to_nothing(self, storage: Storage) -> None:
        await conclude(storage, "s", "Which queue?")
        summary = StreamSummary("Which queue?", "concluded", {}, "Which queue? ", is_final=True)
        await storage.tombstones.delete("s", at=LATER, actor="alice", summary=summary)
        assert await find_similar(storage, "queue") == []

    @READ_ONLY_FUZZ_SETTINGS
    @given(text=st.text() | st.text(alphabet="\"*^():-+ {}ANDORNEAR'\0a\u0301\ud800é"))
    async def test_any_text_can_be_compared(self, storage: Storage, text: str) -> None:
        await storage.lists.find_similar(text, status="concluded")
