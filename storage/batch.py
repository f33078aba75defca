"""Appends of one transaction: checks them and computes the rows to write. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import rfc8785

from storage.journal import (
    ConflictError,
    DivergenceError,
    Entry,
    StreamSummary,
    encode_canonical,
    genesis_hash,
    link_hash,
)

SummaryColumns = tuple[str | None, str | None, str | None, str | None]
"""(title, status, details as JSON, search text); None keeps the stored value."""

UNCHANGED: SummaryColumns = (None, None, None, None)

Row = tuple[str, int, str, bytes, bytes, str, str | None, str | None, str | None, str | None]
"""(stream, seq, text, previous head, new head, time, *SummaryColumns)."""


@dataclass(frozen=True, slots=True)
class PreparedAppend:
    """One append, encoded before it joins a batch, so that invalid input fails alone."""

    stream: str
    after: int
    at: str
    actor: str
    texts: tuple[bytes, ...]
    summary: SummaryColumns

    @classmethod
    def from_bodies(
        cls,
        stream: str,
        after: int,
        at: str,
        actor: str,
        bodies: Sequence[Mapping[str, Any]],
        summary: StreamSummary | None,
    ) -> Self:
        """Raises ValueError for input that is empty or not valid JSON or Unicode."""
        if not bodies:
            raise ValueError("there is nothing to append")
        numbered = enumerate(bodies, start=after + 1)
        texts = tuple(encode_canonical(seq, at, actor, body) for seq, body in numbered)
        stream.encode()  # a surrogate would fail inside the transaction
        return cls(stream, after, at, actor, texts, encode_summary(summary) if summary else UNCHANGED)


def encode_summary(summary: StreamSummary) -> SummaryColumns:
    """Raises ValueError for invalid JSON or Unicode."""
    details = rfc8785.dumps(dict(summary.details)).decode()
    for text in (summary.title, summary.status, summary.search_text or ""):
        text.encode()
    return summary.title, summary.status, details, summary.search_text


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a stream: its number and its hash."""

    seq: int
    digest: bytes

    @classmethod
    def from_entry(cls, entry: Entry) -> Self:
        return cls(entry.seq, bytes.fromhex(entry.hash))

    def build_entries(self, append: PreparedAppend) -> list[Entry]:
        """Link the append to this head. Raises ConflictError if it continues from another entry."""
        if append.after != self.seq:
            raise ConflictError(f"{append.stream} is at entry {self.seq}, not {append.after}")
        digest = self.digest
        entries = []
        for seq, text in enumerate(append.texts, start=self.seq + 1):
            digest = link_hash(digest, text)
            # Parsed, so that `append` returns the same values as `read`.
            body = json.loads(text)["body"]
            entries.append(Entry(seq, append.at, append.actor, body, digest.hex()))
        return entries


@dataclass(slots=True)
class Batch:
    """The rows that one transaction writes, and the result of each of its appends."""

    results: list[list[Entry] | ConflictError] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    new_heads: dict[str, Head] = field(default_factory=dict)

    @classmethod
    def from_appends(cls, appends: Sequence[PreparedAppend], heads: Mapping[str, Head]) -> Self:
        self = cls()
        for append in appends:
            stream = append.stream
            head = self.new_heads.get(stream) or heads.get(stream) or Head(0, genesis_hash(stream))
            try:
                entries = head.build_entries(append)
            except ConflictError as conflict:
                self.results.append(conflict)
                continue
            self.results.append(entries)
            self._add_rows(stream, head, entries, append.texts, append.summary)
        return self

    @classmethod
    def from_copy(
        cls,
        stream: str,
        entries: Sequence[Entry],
        texts: Sequence[bytes],
        summary: SummaryColumns,
        stored_hashes: Sequence[str],
    ) -> Self:
        """The entries of a verified copy that the database lacks.

        stored_hashes: hexadecimal, of the entries that the database has, in order.

        Raises:
            DivergenceError: the database holds other entries.
        """
        head = Head(0, genesis_hash(stream))
        for entry, stored in zip(entries, stored_hashes, strict=False):
            if stored != entry.hash:
                raise DivergenceError(stream, entry.seq)
            head = Head.from_entry(entry)
        self = cls()
        if missing := entries[len(stored_hashes) :]:
            self._add_rows(stream, head, missing, texts[len(stored_hashes) :], summary)
        return self

    def _add_rows(
        self,
        stream: str,
        head: Head,
        entries: Sequence[Entry],
        texts: Sequence[bytes],
        summary: SummaryColumns,
    ) -> None:
        for entry, text in zip(entries, texts, strict=True):
            after = Head.from_entry(entry)
            # The summary describes the stream after all entries, so it belongs to the last one.
            columns = summary if entry is entries[-1] else UNCHANGED
            self.rows.append(
                (stream, entry.seq, text.decode(), head.digest, after.digest, entry.at, *columns)
            )
            head = after
        self.new_heads[stream] = head

    @property
    def has_conflict(self) -> bool:
        """Whether any append conflicts with the heads it was checked against."""
        return any(isinstance(result, ConflictError) for result in self.results)
