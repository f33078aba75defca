"""Appends on their way to the database, many in one transaction. Pure: what is written is decided here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import rfc8785

from storage.chain import texts
from storage.journal import Conflict, Diverges, Entry, Heading, canonical, genesis, link


@dataclass(frozen=True, slots=True)
class Write:
    """One append, its bytes made already: what cannot be written is refused before it can hurt others."""

    stream: str
    after: int
    at: str
    actor: str
    texts: tuple[bytes, ...]
    heading: tuple[str, str, str] | None  # title, status, details
    words: str | None

    @classmethod
    def of(
        cls,
        *,
        stream: str,
        after: int,
        at: str,
        actor: str,
        bodies: Sequence[Mapping[str, Any]],
        heading: Heading | None,
    ) -> Self:
        """Raise ValueError for what is no JSON, no Unicode, or nothing at all."""
        if not bodies:
            raise ValueError("there is nothing to append")
        texts = tuple(canonical(seq, at, actor, body) for seq, body in enumerate(bodies, start=after + 1))
        stream.encode()  # A surrogate would fail inside the transaction.
        if heading is None:
            return cls(stream, after, at, actor, texts, None, None)
        return cls(stream, after, at, actor, texts, as_stored(heading), heading.words)


def as_stored(heading: Heading) -> tuple[str, str, str]:
    """Title, status and details. Raises ValueError for what is no JSON or no Unicode."""
    details = rfc8785.dumps(dict(heading.details)).decode()
    for text in (heading.title, heading.status, heading.words or ""):
        text.encode()
    return heading.title, heading.status, details


@dataclass(frozen=True, slots=True)
class Past:
    """A stream as it was elsewhere, checked."""

    stream: str
    entries: tuple[Entry, ...]
    texts: tuple[bytes, ...]
    heading: tuple[str, str, str]
    words: str | None

    @classmethod
    def of(cls, stream: str, entries: Sequence[Entry], heading: Heading) -> Self:
        """Raise Damaged for what is no chain, ValueError for what is no JSON, no Unicode, or nothing."""
        if not entries:
            raise ValueError("there is nothing to restore")
        checked = tuple(texts(stream, entries))
        return cls(stream, tuple(entries), checked, as_stored(heading), heading.words)


@dataclass(slots=True)
class Head:
    """The end of a stream, as the writes of a batch move it on."""

    stream: str
    number: int = 0  # 0: not in the database yet
    seq: int = 0
    digest: bytes = b""
    opened_at: str = ""
    changed_at: str = ""
    heading: tuple[str, str, str] | None = None
    words: str | None = None

    def take(self, write: Write) -> list[Entry]:
        """Raise Conflict, and change nothing, when the write does not follow."""
        if write.after != self.seq:
            raise Conflict(f"{self.stream} is at entry {self.seq}, not {write.after}")
        digest = self.digest or genesis(self.stream)
        entries = []
        for seq, text in enumerate(write.texts, start=self.seq + 1):
            digest = link(digest, text)
            # Parsed back, so that a caller gets the same from `append` as from `read`.
            body = json.loads(text)["body"]
            entries.append(Entry(seq, write.at, write.actor, body, digest.hex()))
        self.seq += len(entries)
        self.digest = digest
        self.opened_at = self.opened_at or write.at
        self.changed_at = write.at
        self.heading = write.heading or self.heading
        self.words = self.words if write.words is None else write.words
        return entries


@dataclass(slots=True)
class Batch:
    """What one transaction writes, and what each of its writes is told afterwards."""

    outcomes: list[list[Entry] | Conflict] = field(default_factory=list)
    journal: list[tuple[str, int, str, str]] = field(default_factory=list)
    moved: dict[str, Head] = field(default_factory=dict)

    @classmethod
    def of(cls, writes: Sequence[Write], heads: Mapping[str, Head]) -> Self:
        self = cls()
        for write in writes:
            head = self.moved.get(write.stream) or heads.get(write.stream) or Head(write.stream)
            try:
                entries = head.take(write)
            except Conflict as conflict:
                self.outcomes.append(conflict)
                continue
            self.moved[write.stream] = head
            self.outcomes.append(entries)
            texts = (text.decode() for text in write.texts)
            self.journal += [
                (write.stream, e.seq, text, e.hash) for e, text in zip(entries, texts, strict=True)
            ]
        return self

    @classmethod
    def restoring(cls, past: "Past", head: Head | None, kept: Mapping[int, str]) -> Self:
        """What is missing of a stream that is to be as it was. `kept`: the hashes that are there, by number.

        Raises:
            Diverges: it holds other entries.
        """
        for entry in past.entries:
            if kept.get(entry.seq, entry.hash) != entry.hash:
                raise Diverges(past.stream, entry.seq)
        head, last = head or Head(past.stream), past.entries[-1]
        missing = list(zip(past.entries, past.texts, strict=True))[head.seq :]
        if not missing:
            return cls()
        self = cls(journal=[(past.stream, e.seq, text.decode(), e.hash) for e, text in missing])
        head.opened_at = head.opened_at or past.entries[0].at
        head.seq, head.digest, head.changed_at = last.seq, bytes.fromhex(last.hash), last.at
        head.heading, head.words = past.heading, past.words
        self.moved[past.stream] = head
        return self

    def begun(self) -> list[tuple[Any, ...]]:
        """Streams to insert: name, seq, head, title, status, details, opened, changed."""
        return [
            (h.stream, h.seq, h.digest, *(h.heading or ("", "", "{}")), h.opened_at, h.changed_at)
            for h in self.moved.values()
            if not h.number
        ]

    def continued(self) -> list[tuple[Any, ...]]:
        """Streams to update: seq, head, title, status, details (None leaves these three), changed, number."""
        return [
            (h.seq, h.digest, *(h.heading or (None, None, None)), h.changed_at, h.number)
            for h in self.moved.values()
            if h.number
        ]

    def words(self) -> list[tuple[str, str]]:
        return [(h.words, h.stream) for h in self.moved.values() if h.words is not None]
