"""The hash chain of a stream: links appends to it, and verifies what was stored or exported. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from storage import LOCAL_OWNER
from storage.canonical import encode_canonical, genesis_hash, link_hash, parse_json
from storage.columns import NOT_RESERVED, ReservationColumns, SummaryColumns, encode_summary
from storage.errors import (
    ConflictError,
    DamagedStreamError,
    DeletedStreamError,
    DivergenceError,
    KeyTakenError,
    StorageError,
)
from storage.streams import Archive, Entry, OpeningKey, Seal, StreamSummary, Tombstone

CHANGED = "was changed after it was written"
MISSING = "is missing"
MOVED = "is out of order"
UNREADABLE = "cannot be read"
ADDED = "was added from outside"
NOT_LAST = "is not the last one that was written"


class Row(NamedTuple):
    """An entry to be written; with the last one of an append its summary and reservation."""

    stream: str
    seq: int
    entry: str
    previous: bytes  # the head before it
    head: bytes
    at: str
    owner: str | None = None  # what the stream is from its first entry on
    family: str | None = None
    parent: str | None = None
    title: str | None = None
    status: str | None = None
    details: str | None = None
    removed: str | None = None
    words: str | None = None
    spending: str | None = None
    judgments: str | None = None
    holder: str | None = None
    requests: int | None = None
    cost: str | None = None
    restored: int = 0
    seal: str = ""  # of the head


@dataclass(frozen=True, slots=True)
class Append:
    """One append, encoded before it joins a batch, so that invalid input fails alone."""

    stream: str
    after: int
    at: str
    actor: str
    bodies: Sequence[Mapping[str, Any]]
    texts: Sequence[bytes]  # the entries with these bodies, encoded
    summary: SummaryColumns
    key: OpeningKey | None = None
    reserved: ReservationColumns = NOT_RESERVED
    seal: Seal | None = None


class Head(NamedTuple):
    """The last entry of a stream: its number and its hash."""

    seq: int
    digest: bytes


def build_rows(
    stream: str,
    head: Head,
    texts: Sequence[bytes],
    times: Sequence[str],
    summary: SummaryColumns,
    reserved: ReservationColumns = NOT_RESERVED,
) -> list[Row]:
    """The rows of entries that follow a head, linked to it."""
    links = pairwise(accumulate(texts, link_hash, initial=head.digest))
    rows = [
        Row(stream, seq, text.decode(), previous, digest, at, *summary[:3])
        for seq, (text, at, (previous, digest)) in enumerate(
            zip(texts, times, links, strict=True), start=head.seq + 1
        )
    ]
    rows[-1] = Row(*rows[-1][:6], *summary, *reserved)
    return rows


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows that one transaction writes, and the result of each of its appends."""

    results: list[list[Entry] | ConflictError]
    rows: list[Row]
    heads: dict[str, Head]  # of the streams written to


def link_appends(
    appends: Iterable[Append], heads: Mapping[str, Head], keys: Mapping[str, str] = MappingProxyType({})
) -> Batch:
    """Link appends, in order, to the heads of their streams. `keys`: the stream that each of them opened."""
    batch = Batch([], [], {})
    for append in appends:
        stream = append.stream
        head = batch.heads.get(stream) or heads.get(stream) or Head(0, genesis_hash(stream))
        if append.after != head.seq:
            batch.results.append(ConflictError(f"{stream} is at entry {head.seq}, not {append.after}"))
            continue
        if append.key and (opener := keys[append.key.name]) != stream:
            batch.results.append(KeyTakenError(opener))
            continue
        times = [append.at] * len(append.texts)
        rows = build_rows(stream, head, append.texts, times, append.summary, append.reserved)
        if append.seal:
            rows[-1] = rows[-1]._replace(seal=append.seal(stream, rows[-1].seq, rows[-1].head))
        batch.results.append(
            [
                Entry(row.seq, row.at, append.actor, body, row.head.hex())
                for row, body in zip(rows, append.bodies, strict=True)
            ]
        )
        batch.rows.extend(rows)
        batch.heads[stream] = Head(rows[-1].seq, rows[-1].head)
    return batch


def build_restored(
    stream: str, entries: Sequence[Entry], summary: StreamSummary, seal: str | None
) -> list[Row]:
    """The rows of an existing stream. Raises as `Journal.restore`."""
    if not entries:
        raise ValueError("there is nothing to restore")
    texts, times = verify_links(stream, entries), [entry.at for entry in entries]
    rows = build_rows(stream, Head(0, genesis_hash(stream)), texts, times, encode_summary(summary))
    if seal is None:
        return [row._replace(restored=1) for row in rows]
    row_copies = [
        row._replace(restored=int(entry.restored)) for row, entry in zip(rows, entries, strict=True)
    ]
    return [*row_copies[:-1], row_copies[-1]._replace(seal=seal)]


def find_missing(rows: Sequence[Row], hashes: Sequence[bytes]) -> list[Row]:
    """The rows of a stream that are not stored yet. `hashes`: of what is stored. Raises DivergenceError."""
    for row, digest in zip(rows, hashes, strict=False):
        if digest != row.head:
            raise DivergenceError(row.stream, row.seq)
    return list(rows[len(hashes) :])


def decode_stream(stream: str, rows: Sequence[Sequence[Any]]) -> tuple[list[Entry], str]:
    """Entries and the seal of the head from (number, text as bytes, hash, "" unless it was restored).

    A row without a text has number, hash and seal of the head. Raises DamagedStreamError, DeletedStreamError.
    """
    if not rows:
        return [], ""
    ends = [(seq, head, seal) for seq, text, head, seal in rows if text is None]
    seq, head, seal = ends[0] if ends else (0, genesis_hash(stream), "")
    texts_and_hashes = {seq: (text, digest.hex()) for seq, text, digest, _ in rows if text is not None}
    if tombstone := find_tombstone(stream, [text for seq, (text, _) in texts_and_hashes.items() if seq == 0]):
        raise DeletedStreamError(tombstone)
    numbers_restored = {seq for seq, text, _, is_restored in rows if text is not None and is_restored}
    entries = verify_chain(stream, texts_and_hashes, seq, head.hex())
    return [
        replace(entry, restored=True) if entry.seq in numbers_restored else entry for entry in entries
    ], seal


def decode_streams(rows: Iterable[Sequence[Any]]) -> dict[str, tuple[list[Entry], str] | StorageError]:
    """As `decode_stream` for each stream, from rows that begin with its name; or the error that it raises."""
    by_stream: dict[str, list[Sequence[Any]]] = {}
    for stream, *row in rows:
        by_stream.setdefault(stream, []).append(row)
    results: dict[str, tuple[list[Entry], str] | StorageError] = {}
    for stream, rows_of_stream in by_stream.items():
        try:
            results[stream] = decode_stream(stream, rows_of_stream)
        except StorageError as error:
            results[stream] = error
    return results


def verify_links(stream: str, entries: Sequence[Entry]) -> list[bytes]:
    """The texts of entries that are a chain of this stream from its beginning.

    Raises:
        DamagedStreamError: they are none.
        ValueError: an entry is not valid JSON or Unicode.
    """
    texts = [encode_canonical(entry.seq, entry.at, entry.actor, entry.body) for entry in entries]
    rows = {
        number: (text, entry.hash)
        for number, (text, entry) in enumerate(zip(texts, entries, strict=True), start=1)
    }
    verify_chain(stream, rows, len(rows), entries[-1].hash)
    return texts


def verify_chain(
    stream: str, texts_and_hashes: Mapping[int, tuple[bytes, str]], seq: int, head: str
) -> list[Entry]:
    """Decode entries 1 to `seq`; the chain must end in the hash `head`. `texts_and_hashes`: of each entry.

    Raises:
        DamagedStreamError: an entry is missing, changed, moved, unreadable or extra.
    """
    entries: list[Entry] = []
    digest = genesis_hash(stream)
    for number in range(1, seq + 1):
        if number not in texts_and_hashes:
            raise DamagedStreamError(stream, number, MISSING)
        text, stored_hash = texts_and_hashes[number]
        try:
            record = parse_json(text)
            entry = Entry(record["seq"], record["at"], record["actor"], record["body"], stored_hash)
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise DamagedStreamError(stream, number, UNREADABLE) from error
        if entry.seq != number:
            raise DamagedStreamError(stream, number, MOVED)
        digest = link_hash(digest, text)
        if stored_hash != digest.hex():
            raise DamagedStreamError(stream, number, CHANGED)
        entries.append(entry)
    if len(texts_and_hashes) > len(entries):
        raise DamagedStreamError(stream, len(entries) + 1, ADDED)
    if digest.hex() != head:
        raise DamagedStreamError(stream, max(len(entries), 1), NOT_LAST)
    return entries


NO_HEAD = Head(-1, b"")
"""In place of the head of a deleted stream: nothing follows it."""


def encode_tombstone(tombstone: Tombstone) -> bytes:
    """The entry with the number 0, which stands in the place of a deleted stream."""
    body: dict[str, Any] = {"kind": "deleted", "seq": tombstone.seq, "head": tombstone.head}
    if tombstone.texts:
        body["texts"] = dict(tombstone.texts)
    if tombstone.owner != LOCAL_OWNER:
        body["owner"] = tombstone.owner
    if tombstone.archive:
        body["archive"] = asdict(tombstone.archive)
    return encode_canonical(0, tombstone.at, tombstone.actor, body)


def parse_tombstone(stream: str, text: str | bytes) -> Tombstone | None:
    """None for what is no tombstone, as an entry with a number that none has."""
    try:
        record = parse_json(text)
        body = record["body"]
        if record["seq"] == 0 and body["kind"] == "deleted":
            texts = {str(name): str(text) for name, text in body.get("texts", {}).items()}
            head, at, actor = str(body["head"]), str(record["at"]), str(record["actor"])
            owner = str(body.get("owner", LOCAL_OWNER))
            archive = Archive(**body["archive"]) if "archive" in body else None
            return Tombstone(stream, int(body["seq"]), head, at, actor, texts, owner, archive)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    return None


def find_tombstone(stream: str, texts: Iterable[str | bytes]) -> Tombstone | None:
    """`texts`: the entries with the number 0."""
    return next(filter(None, (parse_tombstone(stream, text) for text in texts)), None)
