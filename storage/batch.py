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


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a stream: its last entry's number, and what the next one is chained to."""

    seq: int
    digest: bytes

    @classmethod
    def of(cls, entry: Entry) -> Self:
        return cls(entry.seq, bytes.fromhex(entry.hash))

    def followed(self, write: Write) -> list[Entry]:
        """The entries of a write. Raises Conflict when it does not follow."""
        if write.after != self.seq:
            raise Conflict(f"{write.stream} is at entry {self.seq}, not {write.after}")
        digest = self.digest
        entries = []
        for seq, text in enumerate(write.texts, start=self.seq + 1):
            digest = link(digest, text)
            # Parsed back, so that a caller gets the same from `append` as from `read`.
            body = json.loads(text)["body"]
            entries.append(Entry(seq, write.at, write.actor, body, digest.hex()))
        return entries


Row = tuple[str, int, str, bytes, bytes, str, str | None, str | None, str | None, str | None]
"""An entry with what it changes: stream, seq, text, head before it, head after it, time, and the heading
(title, status, details, words), where None leaves what is there."""


@dataclass(slots=True)
class Batch:
    """What one transaction writes, and what each of its writes is told afterwards."""

    outcomes: list[list[Entry] | Conflict] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    moved: dict[str, Head] = field(default_factory=dict)

    @classmethod
    def of(cls, writes: Sequence[Write], heads: Mapping[str, Head]) -> Self:
        self = cls()
        for write in writes:
            stream = write.stream
            head = self.moved.get(stream) or heads.get(stream) or Head(0, genesis(stream))
            try:
                entries = head.followed(write)
            except Conflict as conflict:
                self.outcomes.append(conflict)
                continue
            self.outcomes.append(entries)
            self._move(stream, head, entries, write.texts, (*(write.heading or (None,) * 3), write.words))
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
        head = head or Head(0, genesis(past.stream))
        self = cls()
        if missing := past.entries[head.seq :]:
            self._move(past.stream, head, missing, past.texts[head.seq :], (*past.heading, past.words))
        return self

    def _move(
        self,
        stream: str,
        head: Head,
        entries: Sequence[Entry],
        texts: Sequence[bytes],
        heading: tuple[str | None, str | None, str | None, str | None],
    ) -> None:
        for entry, text in zip(entries, texts, strict=True):
            after = Head.of(entry)
            # The heading is what is true after all of them, and comes with the last.
            said = heading if entry is entries[-1] else (None, None, None, None)
            self.rows.append((stream, entry.seq, text.decode(), head.digest, after.digest, entry.at, *said))
            head = after
        self.moved[stream] = head

    @property
    def lost(self) -> bool:
        """Whether a write came too late, or would have by these heads."""
        return any(isinstance(outcome, Conflict) for outcome in self.outcomes)
