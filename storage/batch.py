"""Appends on their way to the database, many in one transaction. Pure: what is written is decided here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import rfc8785

from storage.chain import verify_entries
from storage.journal import (
    ConflictError,
    DivergenceError,
    Entry,
    StreamSummary,
    encode_canonical,
    genesis_hash,
    link_hash,
)


@dataclass(frozen=True, slots=True)
class PreparedAppend:
    """One append, its bytes made already: what cannot be written is refused before it can hurt others."""

    stream: str
    after: int
    at: str
    actor: str
    texts: tuple[bytes, ...]
    summary: tuple[str, str, str] | None  # title, status, details
    search_text: str | None

    @classmethod
    def from_bodies(
        cls,
        *,
        stream: str,
        after: int,
        at: str,
        actor: str,
        bodies: Sequence[Mapping[str, Any]],
        summary: StreamSummary | None,
    ) -> Self:
        """Raise ValueError for what is no JSON, no Unicode, or nothing at all."""
        if not bodies:
            raise ValueError("there is nothing to append")
        texts = tuple(
            encode_canonical(seq, at, actor, body) for seq, body in enumerate(bodies, start=after + 1)
        )
        stream.encode()  # A surrogate would fail inside the transaction.
        if summary is None:
            return cls(stream, after, at, actor, texts, None, None)
        return cls(stream, after, at, actor, texts, encode_summary(summary), summary.search_text)


def encode_summary(summary: StreamSummary) -> tuple[str, str, str]:
    """Title, status and details. Raises ValueError for what is no JSON or no Unicode."""
    details = rfc8785.dumps(dict(summary.details)).decode()
    for text in (summary.title, summary.status, summary.search_text or ""):
        text.encode()
    return summary.title, summary.status, details


@dataclass(frozen=True, slots=True)
class StreamCopy:
    """A stream as it was elsewhere, checked."""

    stream: str
    entries: tuple[Entry, ...]
    texts: tuple[bytes, ...]
    summary: tuple[str, str, str]
    search_text: str | None

    @classmethod
    def from_entries(cls, stream: str, entries: Sequence[Entry], summary: StreamSummary) -> Self:
        """Raise Damaged for what is no chain, ValueError for what is no JSON, no Unicode, or nothing."""
        if not entries:
            raise ValueError("there is nothing to restore")
        checked = tuple(verify_entries(stream, entries))
        return cls(stream, tuple(entries), checked, encode_summary(summary), summary.search_text)


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a stream: its last entry's number, and what the next one is chained to."""

    seq: int
    digest: bytes

    @classmethod
    def from_entry(cls, entry: Entry) -> Self:
        return cls(entry.seq, bytes.fromhex(entry.hash))

    def build_entries(self, append: PreparedAppend) -> list[Entry]:
        """The entries of a write. Raises Conflict when it does not follow."""
        if append.after != self.seq:
            raise ConflictError(f"{append.stream} is at entry {self.seq}, not {append.after}")
        digest = self.digest
        entries = []
        for seq, text in enumerate(append.texts, start=self.seq + 1):
            digest = link_hash(digest, text)
            # Parsed back, so that a caller gets the same from `append` as from `read`.
            body = json.loads(text)["body"]
            entries.append(Entry(seq, append.at, append.actor, body, digest.hex()))
        return entries


Row = tuple[str, int, str, bytes, bytes, str, str | None, str | None, str | None, str | None]
"""An entry with what it changes: stream, seq, text, head before it, head after it, time, and the heading
(title, status, details, words), where None leaves what is there."""


@dataclass(slots=True)
class Batch:
    """What one transaction writes, and what each of its writes is told afterwards."""

    results: list[list[Entry] | ConflictError] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    new_heads: dict[str, Head] = field(default_factory=dict)

    @classmethod
    def from_appends(cls, appends: Sequence[PreparedAppend], heads: Mapping[str, Head]) -> Self:
        self = cls()
        for write in appends:
            stream = write.stream
            head = self.new_heads.get(stream) or heads.get(stream) or Head(0, genesis_hash(stream))
            try:
                entries = head.build_entries(write)
            except ConflictError as conflict:
                self.results.append(conflict)
                continue
            self.results.append(entries)
            self._add_rows(
                stream, head, entries, write.texts, (*(write.summary or (None,) * 3), write.search_text)
            )
        return self

    @classmethod
    def from_copy(cls, copy: "StreamCopy", head: Head | None, stored_hashes: Mapping[int, str]) -> Self:
        """What is missing of a stream that is to be as it was. `kept`: the hashes that are there, by number.

        Raises:
            Diverges: it holds other entries.
        """
        for entry in copy.entries:
            if stored_hashes.get(entry.seq, entry.hash) != entry.hash:
                raise DivergenceError(copy.stream, entry.seq)
        head = head or Head(0, genesis_hash(copy.stream))
        self = cls()
        if missing := copy.entries[head.seq :]:
            self._add_rows(
                copy.stream, head, missing, copy.texts[head.seq :], (*copy.summary, copy.search_text)
            )
        return self

    def _add_rows(
        self,
        stream: str,
        head: Head,
        entries: Sequence[Entry],
        texts: Sequence[bytes],
        summary: tuple[str | None, str | None, str | None, str | None],
    ) -> None:
        for entry, text in zip(entries, texts, strict=True):
            after = Head.from_entry(entry)
            # The heading is what is true after all of them, and comes with the last.
            said = summary if entry is entries[-1] else (None, None, None, None)
            self.rows.append((stream, entry.seq, text.decode(), head.digest, after.digest, entry.at, *said))
            head = after
        self.new_heads[stream] = head

    @property
    def has_conflict(self) -> bool:
        """Whether a write came too late, or would have by these heads."""
        return any(isinstance(outcome, ConflictError) for outcome in self.results)
