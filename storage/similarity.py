"""How streams with words in common are ranked: for every database the same. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

from storage.contract.similarity import SimilarStream
from storage.contract.streams import StreamListing

if TYPE_CHECKING:
    from storage.words import Tokenizer

MAX_COMPARED_LENGTH = 4_000  # characters
MAX_COMPARED_WORDS = 48

BEGINNING = 5
"""Characters: longer words that begin alike are compared as one, so that inflected ones are found (`rewrite`,
`rewriting`). On the questions of `benchmarks recall` that finds as many as an English stemmer, in any language; with
four characters more unrelated ones are found, with six fewer inflected ones."""

MAX_SHARING = 1_000
"""Streams that may share a word: one that more have tells little of what a text is about, and is not compared."""

OTHERS = 20
"""Streams on other things that are assumed beside those there are: where all are on one, its words still tell."""

BODY_WEIGHT = 0.25
"""What a shared word counts that is in the stream, but not in its title."""

COMPARED_TITLES = 60
"""Streams whose titles are read: those that share most."""


class SharedWords(NamedTuple):
    """What streams have in common with a text. `weights`: of its words, 0 for one that too many have."""

    weights: Mapping[str, float]
    streams: Mapping[int, Collection[str]]  # the words that each shares, by its number

    @classmethod
    def weigh(cls, words: Sequence[str], found: Iterable[tuple[int, int]], total: int) -> "SharedWords":
        """Weigh words as BM25 does, by how few of so many streams have them.

        `found`: (place of a word, number of a stream that has it); of each word no more than `MAX_SHARING`.
        """
        having: defaultdict[str, list[int]] = defaultdict(list)
        for place, number in found:
            having[words[place]].append(number)
        weights = {word: compute_weight(word, len(having[word]), total) for word in words}
        streams: defaultdict[int, list[str]] = defaultdict(list)
        for word, weight in weights.items():
            for number in having[word] if weight else ():
                streams[number].append(word)
        return cls(weights, streams)

    def sum_weights(self, words: Iterable[str]) -> float:
        return sum(self.weights[word] for word in words)

    def choose(self) -> list[int]:
        """The streams whose titles are to be read: of those that share as much the newest."""
        rows = [(self.sum_weights(words), number) for number, words in self.streams.items()]
        return [number for _, number in sorted(rows, reverse=True)[:COMPARED_TITLES]]

    def rank(self, listings: Iterable[StreamListing], tokenizer: "Tokenizer") -> list[SimilarStream]:
        """The streams of these rows, most similar first."""
        whole = self.sum_weights(self.weights)
        ranked = []
        for listed in listings:
            title = {*tokenizer.split_compared(listed.title)}
            shared = self.streams[listed.number]
            told = sum(self.weights[word] * (1 if word in title else BODY_WEIGHT) for word in shared)
            ranked.append(SimilarStream(listed, told / whole))
        return sorted(ranked, key=lambda one: (-one.share, -one.listing.number))


def compute_weight(word: str, having: int, total: int) -> float:
    """What a word tells that so many of all streams have.

    As long as there are few streams, nobody knows which words are common: short ones are, in most languages.
    """
    if having >= MAX_SHARING:
        return 0.0
    rarity = log(1 + (max(total, having) + OTHERS - having + 0.5) / (having + 0.5))
    return rarity * min(len(word.encode()) / BEGINNING, 1)
