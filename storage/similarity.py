"""How streams with words in common are ranked: for every database the same.

What takes long is done in other threads: long questions take tenths of a second.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import closing
from math import log
from typing import Any, NamedTuple

from anyio import to_thread

from storage.columns import parse_listing
from storage.streams import StreamListing
from storage.words import BEGINNING, Tokenizer

MAX_SHARING = 1_000
"""Streams that may share a word: one that more have tells little of what a text is about, and is not compared."""

MAX_COMPARED = 50_000
"""Streams of an owner that are looked through, the newest."""

MAX_HAVING = 10_000
"""Streams of all owners that are looked through for each word, the newest that have it."""

OTHERS = 20
"""Streams on other things that are assumed beside those there are: where all are on one, its words still tell."""

BODY_WEIGHT = 0.25
"""What a shared word counts that is in the stream, but not in its title."""

TITLES_AT_ONCE = 100
MAX_TITLES = 2_000
"""Streams whose titles are read: those that share most."""

ReadListings = Callable[[Sequence[int]], Awaitable[Iterable[Sequence[Any]]]]
"""The rows of the streams of these numbers, in any order."""


class SimilarStream(NamedTuple):
    """A stream that has words in common with a text. `share`: of the weight of the text's words, 0 to 1."""

    listing: StreamListing
    share: float


FindGroup = Callable[[StreamListing], Hashable]
"""Streams of which no more than one is to be found are in one group; in None is what is not to be found."""


def find_family(listing: StreamListing) -> str:
    """The name of the stream that this one and its relatives go back to."""
    return listing.family or listing.stream


class SharedWords(NamedTuple):
    """What streams have in common with a text. `weights`: of its words, 0 for one that too many have."""

    weights: Mapping[str, float]
    streams: Mapping[int, Collection[str]]  # the words that each shares, by its number

    @classmethod
    def weigh(
        cls,
        words: Sequence[str],
        numbers_by_place: Mapping[int, Sequence[int]],
        titles: Mapping[int, str | bytes],
        total: int,
    ) -> "SharedWords":
        """Weigh words as BM25 does, by how few of so many streams have them: those of one title count once.

        Else what was often asked would not be found. `numbers_by_place`: by the place of a word, the numbers of the
        streams that have it, no more than `MAX_SHARING`. `titles`: of these streams, or what stands for them.
        """
        numbers_by_word = {word: numbers_by_place[place] for place, word in enumerate(words)}
        weights = {
            word: compute_weight(word, len({titles.get(number) for number in numbers}), total)
            for word, numbers in numbers_by_word.items()
        }
        streams: defaultdict[int, list[str]] = defaultdict(list)
        for word, weight in weights.items():
            for number in numbers_by_word[word] if weight else ():
                streams[number].append(word)
        return cls(weights, streams)

    def sum_weights(self, words: Iterable[str]) -> float:
        return sum(self.weights[word] for word in words)

    def list_bounds(self, min_share: float) -> list[tuple[float, int]]:
        """(the most that a stream can share, its number), of those that share as much the newest first."""
        total = self.sum_weights(self.weights)
        rows = ((self.sum_weights(words) / total, number) for number, words in self.streams.items())
        return sorted((row for row in rows if row[0] >= min_share), reverse=True)[:MAX_TITLES]

    async def rank(
        self, read: ReadListings, find_group: FindGroup, *, min_share: float, limit: int
    ) -> list[SimilarStream]:
        """The most similar streams, of each group one. Titles are read until no other can be among them."""
        bounds = await to_thread.run_sync(self.list_bounds, min_share)
        best = dict[Hashable, SimilarStream]()
        for start in range(0, len(bounds), TITLES_AT_ONCE):
            page = bounds[start : start + TITLES_AT_ONCE]
            ranking = sorted(best.values(), key=order)
            if len(ranking) >= limit and ranking[limit - 1].share >= page[0][0]:
                break
            rows = await read([number for _, number in page])
            for stream in await to_thread.run_sync(self.measure, [*rows]):
                group = find_group(stream.listing)
                if stream.share >= min_share and group is not None:
                    best[group] = min(stream, best.get(group, stream), key=order)
        return sorted(best.values(), key=order)[:limit]

    def measure(self, rows: Iterable[Sequence[Any]]) -> list[SimilarStream]:
        """How much of the weight of all words each of these streams shares."""
        total, streams = self.sum_weights(self.weights), list[SimilarStream]()
        with closing(Tokenizer()) as tokenizer:  # one belongs to the thread that opens it
            for listing in map(parse_listing, rows):
                title = {*tokenizer.split_compared(listing.title)}
                words = self.streams[listing.number]
                shares = (self.weights[word] * (1 if word in title else BODY_WEIGHT) for word in words)
                streams.append(SimilarStream(listing, sum(shares) / total))
        return streams


def order(stream: SimilarStream) -> tuple[float, int]:
    return -stream.share, -stream.listing.number


def compute_weight(word: str, having: int, total: int) -> float:
    """The weight of a word that so many of all streams have.

    As long as there are few streams, nobody knows which words are common: short ones are, in most languages.
    """
    if having >= MAX_SHARING:
        return 0.0
    rarity = log(1 + (max(total, having) + OTHERS - having + 0.5) / (having + 0.5))
    return rarity * min(len(word.encode()) / BEGINNING, 1)
