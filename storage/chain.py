"""Verifies that stored or imported entries form the chain that was written. Pure."""

import json
from collections.abc import Mapping, Sequence

from storage.journal import DamagedStreamError, Entry, encode_canonical, genesis_hash, link_hash

CHANGED = "was changed after it was written"
MISSING = "is missing"
MOVED = "is out of order"
UNREADABLE = "cannot be read"
ADDED = "was added from outside"
NOT_LAST = "is not the last one that was written"

StoredEntry = tuple[bytes, bytes]
"""(text, hexadecimal hash) of an entry, as raw bytes from the database."""


def verify_stored_entries(
    stream: str, stored: Mapping[int, StoredEntry], seq: int, head: bytes
) -> list[Entry]:
    """Decode entries 1 to `seq`; the chain must end in the hash `head`.

    Raises:
        DamagedStreamError: an entry is missing, changed, moved, unreadable or extra.
    """
    entries: list[Entry] = []
    digest = genesis_hash(stream)
    for number in range(1, seq + 1):
        if number not in stored:
            raise DamagedStreamError(stream, number, MISSING)
        text, stored_hash = stored[number]
        try:
            record = json.loads(text.decode())
            entry = Entry(record["seq"], record["at"], record["actor"], record["body"], stored_hash.decode())
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise DamagedStreamError(stream, number, UNREADABLE) from error
        if entry.seq != number:
            raise DamagedStreamError(stream, number, MOVED)
        digest = link_hash(digest, text)
        if entry.hash != digest.hex():
            raise DamagedStreamError(stream, number, CHANGED)
        entries.append(entry)
    if len(stored) > len(entries):
        raise DamagedStreamError(stream, len(entries) + 1, ADDED)
    if digest != head:
        raise DamagedStreamError(stream, max(len(entries), 1), NOT_LAST)
    return entries


def verify_entries(stream: str, entries: Sequence[Entry]) -> list[bytes]:
    """The canonical texts of an imported stream, given from its first entry on.

    Raises:
        DamagedStreamError: a number or a hash is wrong.
        ValueError: an entry is not valid JSON.
    """
    texts: list[bytes] = []
    digest = genesis_hash(stream)
    for number, entry in enumerate(entries, start=1):
        if entry.seq != number:
            raise DamagedStreamError(stream, number, MOVED)
        text = encode_canonical(entry.seq, entry.at, entry.actor, entry.body)
        digest = link_hash(digest, text)
        if entry.hash != digest.hex():
            raise DamagedStreamError(stream, number, CHANGED)
        texts.append(text)
    return texts
