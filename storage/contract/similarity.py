"""The part of the storage contract that is about streams with words in common."""

from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol

from storage.contract.streams import StreamListing


class SimilarStream(NamedTuple):
    """A stream that has words in common with a text. `share`: of the weight of the text's words, 0 to 1."""

    listing: StreamListing
    share: float


FindGroup = Callable[[StreamListing], Hashable]
"""Streams of which no more than one is to be found are in one group; in None is what is not to be found."""


def find_family(listing: StreamListing) -> str:
    """The name of the stream that this one and its relatives go back to."""
    return listing.family or listing.stream


class Similarity(Protocol):
    async def find_similar(
        self,
        text: str,
        *,
        status: str,
        owner: str | None = None,
        limit: int = 20,
        min_share: float = 0,
        find_group: FindGroup = find_family,
    ) -> list[SimilarStream]:
        """Streams that keep this status and share words with a text, most similar first; of two alike the newer one.

        Of each group the most similar one, of a family by default: the others, and what is in none, take no place,
        however many there are. `min_share`: what is shared at least.

        Any text is valid. A word counts the more the fewer streams of the owner have it, as in BM25, and most in a
        title; one that a thousand have does not count. Every kind of database finds the same in the same order.
        """
