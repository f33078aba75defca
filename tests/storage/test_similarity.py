"""What words tell of the streams that share them."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from storage.columns import separate_words
from storage.similarity import MAX_SHARING, TITLES_AT_ONCE, SharedWords, compute_weight
from storage.words import BEGINNING, FIRST_COMPARED_LENGTH, MAX_COMPARED_WORDS, Tokenizer

pytestmark = pytest.mark.requirement("D18")


def test_a_word_tells_the_more_the_fewer_have_it_and_none_that_a_thousand_have() -> None:
    found = {0: [1], 1: range(10), 2: range(MAX_SHARING)}
    titles = {number: f"Title {number}" for number in range(MAX_SHARING)}
    shared = SharedWords.weigh(["reservoir", "government", "everywhere"], found, titles, total=5_000)

    assert shared.weights["reservoir"] > shared.weights["government"] > shared.weights["everywhere"] == 0
    assert {*shared.streams} == {*range(10)}
    assert shared.list_bounds(0)[0] == (1, 1)


def test_streams_of_one_title_count_once() -> None:
    weights = [
        SharedWords.weigh(
            ["reservoir"], {0: range(count)}, dict.fromkeys(range(count), "The same"), total=5_000
        ).weights
        for count in (1, MAX_SHARING)
    ]
    assert weights[0] == weights[1]


def test_while_there_are_few_streams_short_words_tell_less() -> None:
    assert compute_weight("the", 1, 2) < compute_weight("reservoir", 1, 2)


class Titles:
    """Streams of one long title. `reads`: how many rounds the event loop had made before each read."""

    def __init__(self) -> None:
        self.rounds = 0
        self.reads: list[int] = []

    async def read(self, numbers: Sequence[int]) -> list[Sequence[Any]]:
        self.reads.append(self.rounds)
        title = "The reservoir " * 200
        return [
            (f"s{number}", number, title, "concluded", "{}", "", "", "", 1, b"", "", "") for number in numbers
        ]

    async def count_rounds(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.rounds += 1


@pytest.mark.full
@pytest.mark.asyncio
async def test_the_event_loop_goes_on_while_many_long_titles_are_ranked() -> None:
    titles, numbers = Titles(), range(5 * TITLES_AT_ONCE)
    shared = SharedWords.weigh(["reser"], {0: numbers}, {}, total=5_000)
    counting = asyncio.create_task(titles.count_rounds())
    found = await shared.rank(titles.read, lambda listed: listed.number, min_share=0, limit=len(numbers))
    counting.cancel()
    assert len(found) == len(numbers)
    assert len({*titles.reads}) == 5


@pytest.mark.asyncio
async def test_no_more_titles_are_read_than_can_be_among_the_most_similar() -> None:
    titles, numbers = Titles(), range(5 * TITLES_AT_ONCE)
    shared = SharedWords.weigh(["reser"], {0: numbers}, {}, total=5_000)
    found = await shared.rank(titles.read, lambda listed: listed.number, min_share=0, limit=2)
    assert [one.listing.number for one in found] == [numbers[-1], numbers[-2]]
    assert len(titles.reads) == 1


@pytest.mark.parametrize(
    ("sample", "length"),
    [(" ".join(f"n{n:04}" for n in range(99)), 6), ("".join(map(chr, range(0x4E00, 0x4E63))), 1)],
)
def test_only_what_changes_nothing_of_a_long_text_is_not_split(sample: str, length: int) -> None:
    with closing(Tokenizer()) as tokenizer:
        for place in range(
            -9, 9
        ):  # of the end of what is split first, from that of the last word that counts
            room = FIRST_COMPARED_LENGTH - MAX_COMPARED_WORDS * length - place
            text = f"{' ' * room}{sample}"
            beginnings = dict.fromkeys(word[:BEGINNING] for word in tokenizer.split(separate_words(text)))
            assert tokenizer.split_compared(text) == [*beginnings][:MAX_COMPARED_WORDS]
