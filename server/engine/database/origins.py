"""Whether this installation recorded a debate, and who signed it: by seals and receipts, whatever the database says.

A seal stands beside the head of a debate and only this installation can write one, so that a file, a copied database
and a summary in it prove nothing of themselves.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Ended, Recorded
from server.debate.views.provenance import RECORDED_HERE, Provenance
from server.engine.database.errors import translate_storage_errors
from server.signing import OWN, Origin, Signer, find_key_id, open_envelope
from storage.canonical import parse_json
from storage.contract.streams import StreamHead, StreamListing

if TYPE_CHECKING:
    from server.engine.database.store import DebateStore

RECEIPT = "receipt"
"""The name under which the envelope of a debate is kept."""

SIGNED_STATUSES = ("concluded", "truncated")


def read_origin(signer: Signer | None, debate_id: str, head: StreamHead) -> Origin | None:
    """What the seal of a head tells; None for a debate that this installation did not record, and does not go on with.

    Without a signer nothing is sealed, and every debate counts as recorded here.
    """
    if signer is None:
        return OWN
    return signer.read_seal(head.seal, debate_id, head.seq, bytes.fromhex(head.hash))


def get_origin(provenance: Provenance) -> Origin:
    """What the seal of a debate is to tell."""
    return Origin(provenance.entries_elsewhere, provenance.adopted)


def find_provenance(
    signer: Signer | None, debate_id: str, history: Sequence[Recorded], origin: Origin | None, receipt: str
) -> Provenance:
    """`receipt`: the envelope that is kept beside the debate, as text; "" for none. An end of our own needs none."""
    if signer is None:
        return RECORDED_HERE
    elsewhere = origin.elsewhere if origin else len(history)
    if origin and find_end(history) > elsewhere:
        signed_by = find_own_key(signer)
    else:
        signed_by = find_signer(receipt, debate_id, {entry.seq: entry.hash for entry in history}.get)
    return Provenance(
        recorded_here=not elsewhere,
        signed_by=signed_by,
        adopted=bool(origin and origin.adopted),
        entries_elsewhere=elsewhere,
    )


def find_end(history: Sequence[Recorded]) -> int:
    """The number of the entry that ends the debate; 0 if it has not ended."""
    return next((entry.seq for entry in reversed(history) if isinstance(entry.event, Ended)), 0)


def find_own_key(signer: Signer) -> str:
    """The fingerprint of the key of this installation; "" while it has none that can be used."""
    return "" if signer.problem else signer.key.key_id


def find_signer(receipt: str, debate_id: str, hash_at: Callable[[int], str | None]) -> str:
    """The fingerprint of the key whose signature stands under this very record; "" for none.

    `hash_at`: of an entry; nothing where there is no such entry, or it is not known.
    """
    with suppress(ValueError, InvalidRequestError, LookupError, TypeError, AttributeError):
        opened = open_envelope(parse_json(receipt))
        [subject] = opened.statement["subject"]
        head = hash_at(opened.statement["predicate"]["ended_seq"])
        if head and (subject["name"], subject["digest"]["sha256"]) == (f"debate:{debate_id}", head):
            return find_key_id(opened.public_key)
    return ""


async def find_listed(store: "DebateStore", listings: Sequence[StreamListing]) -> dict[str, Provenance]:
    """Who recorded the debates of a list. None is loaded but those that others signed, and to which facts were added.

    Raises StorageUnavailableError.
    """
    found, others = dict[str, Provenance](), dict[str, StreamListing]()
    for one in listings:
        if store.signer and store.read_origin(one.stream, one.head) != OWN:
            others[one.stream] = one
        else:
            is_signed = store.signer and one.status in SIGNED_STATUSES
            signed_by = find_own_key(store.signer) if store.signer and is_signed else ""
            found[one.stream] = Provenance(signed_by=signed_by)
    with translate_storage_errors():
        receipts = await store.journal.find_texts(others, RECEIPT) if others else {}
    unknown = []
    for name, one in others.items():
        origin, head = store.read_origin(name, one.head), one.head
        hashes = {head.seq: head.hash}
        signed_by = find_signer(receipts.get(name, ""), name, hashes.get)
        found[name] = Provenance(
            recorded_here=False,
            signed_by=signed_by,
            adopted=bool(origin and origin.adopted),
            entries_elsewhere=origin.elsewhere if origin else head.seq,
        )
        may_end_here = one.status in SIGNED_STATUSES and found[name].entries_elsewhere < head.seq
        if not signed_by and (name in receipts or may_end_here):
            unknown.append(name)
    loaded = await store.load_many(unknown) if unknown else {}
    return found | {name: snapshot.provenance for name, snapshot in loaded.items()}
