"""How streams with words in common are ranked: for every database the same.

What takes long is done in other threads: long questions take tenths of a second.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import closing
from math import log
from typing import Any, NamedTuple

from anyio import to_thread

from storage.contract.similarity import FindGroup, SimilarStream
from storage.summaries import parse_listing
from storage.words import BEGINNING, Tokenizer

MAX_SHARING = 1_000
"""Streams that may share a word: one that more have tells little of what a text is about, and is not compared."""

OTHERS = 20
"""Streams on other things that are assumed beside those there are: where all are on one, its words still tell."""

BODY_WEIGHT = 0.25
"""What a shared word counts that is in the stream, but not in its title."""

TITLES_AT_ONCE = 100
MAX_TITLES = 2_000
"""Streams whose titles are read: those that share most."""

ReadListings = Callable[[Sequence[int]], Awaitable[Iterable[Sequence[Any]]]]
"""The rows of the streams of these numbers, in any order."""


class SharedWords(NamedTuple):
    """What streams have in common with a text. `weights`: of its words, 0 for one that too many have."""

    weights: Mapping[str, float]
    streams: Mapping[int, Collection[str]]  # the words that each shares, by its number

    @classmethod
    def weigh(
        cls,
        words: Sequence[str],
        found: Mapping[int, Sequence[int]],
        titles: Mapping[int, str | bytes],
        total: int,
    ) -> "SharedWords":
        """Weigh words as BM25 does, by how few of so many streams have them: those of one title count once.

        Else what was often asked would not be found. `found`: the numbers of the streams that have a word, no more
        than `MAX_SHARING`, by the place of the word. `titles`: of these streams, or what stands for them.
        """
        having = {word: found[place] for place, word in enumerate(words)}
        weights = {
            word: compute_weight(word, len({titles.get(number) for number in numbers}), total)
            for word, numbers in having.items()
        }
        streams: defaultdict[int, list[str]] = defaultdict(list)
        for word, weight in weights.items():
            for number in having[word] if weight else ():
                streams[number].append(word)
        return cls(weights, streams)

    def sum_weights(self, words: Iterable[str]) -> float:
        return sum(self.weights[word] for word in words)

    def list_bounds(self, min_share: float) -> list[tuple[float, int]]:
        """(the most that a stream can share, its number), of those that share as much the newest first."""
        whole = self.sum_weights(self.weights)
        rows = ((self.sum_weights(words) / whole, number) for number, words in self.streams.items())
        return sorted((row for row in rows if row[0] >= min_share), reverse=True)[:MAX_TITLES]

    async def rank(
        self, read: ReadListings, find_group: FindGroup, *, min_share: float, limit: int
    ) -> list[SimilarStream]:
        """The most similar streams, of each group one. Titles are read until no other can be among them."""
        bounds = await to_thread.run_sync(self.list_bounds, min_share)
        best = dict[Hashable, SimilarStream]()
        for start in range(0, len(bounds), TITLES_AT_ONCE):
            page = bounds[start : start + TITLES_AT_ONCE]
            ranked = sorted(best.values(), key=order)
            if len(ranked) >= limit and ranked[limit - 1].share >= page[0][0]:
                break
            rows = await read([number for _, number in page])
            for one in await to_thread.run_sync(self.measure, [*rows]):
                group = find_group(one.listing)
                if one.share >= min_share and group is not None:
                    best[group] = min(one, best.get(group, one), key=order)
        return sorted(best.values(), key=order)[:limit]

    def measure(self, rows: Iterable[Sequence[Any]]) -> list[SimilarStream]:
        """How much of the weight of all words each of these streams shares."""
        whole, measured = self.sum_weights(self.weights), list[SimilarStream]()
        with closing(Tokenizer()) as tokenizer:  # one belongs to the thread that opens it
            for listed in map(parse_listing, rows):
                title = {*tokenizer.split_compared(listed.title)}
                shared = self.streams[listed.number]
                told = (self.weights[word] * (1 if word in title else BODY_WEIGHT) for word in shared)
                measured.append(SimilarStream(listed, sum(told) / whole))
        return measured


def order(one: SimilarStream) -> tuple[float, int]:
    return -one.share, -one.listing.number


def compute_weight(word: str, having: int, total: int) -> float:
    """What a word tells that so many of all streams have.

    As long as there are few streams, nobody knows which words are common: short ones are, in most languages.
    """
    if having >= MAX_SHARING:
        return 0.0
    rarity = log(1 + (max(total, having) + OTHERS - having + 0.5) / (having + 0.5))
    return rarity * min(len(word.encode()) / BEGINNING, 1)
