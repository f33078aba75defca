"""Whether this installation recorded a debate, and who signed it: by seals and receipts, whatever the database says.

A seal stands beside the head of a debate and only this installation can write one, so that a file, a copied database
and a summary in it prove nothing of themselves.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Recorded
from server.debate.records.receipt import find_end
from server.debate.views.provenance import RECORDED_HERE, Provenance
from server.signing import OWN, Origin, Signer, find_key_id, open_envelope
from storage.canonical import parse_json
from storage.streams import StreamHead

RECEIPT = "receipt"
"""The name under which the envelope of a debate is kept."""


def read_origin(signer: Signer | None, debate_id: str, head: StreamHead) -> Origin:
    """What the seal of a head tells. Where this installation sealed nothing, others recorded all that there is.

    Without a signer nothing is sealed, and every debate counts as recorded here.
    """
    if signer is None:
        return OWN
    origin = signer.read_seal(head.seal, debate_id, head.seq, bytes.fromhex(head.hash))
    return Origin(head.seq, foreign=True) if origin is None else origin


def find_provenance(
    signer: Signer | None, debate_id: str, history: Sequence[Recorded], origin: Origin, receipt: str
) -> Provenance:
    """`receipt`: the envelope that is kept beside the debate, as text; "" for none. An end of our own needs none."""
    if signer is None:
        return RECORDED_HERE
    elsewhere = origin.elsewhere
    if find_end(history) > elsewhere:
        signed_by = find_own_key(signer)
    else:
        signed_by = find_signer(receipt, debate_id, {entry.seq: entry.hash for entry in history}.get)
    return Provenance(
        recorded_here=not elsewhere,
        signed_by=signed_by,
        adopted=origin.adopted,
        entries_elsewhere=elsewhere,
    )


def find_own_key(signer: Signer) -> str:
    """The fingerprint of the key of this installation; "" while it has none that can be used."""
    return "" if signer.problem else signer.key.key_id


def find_signer(receipt: str, debate_id: str, hash_at: Callable[[int], str | None]) -> str:
    """The fingerprint of the key that signed this very record; "" for none.

    `hash_at`: of an entry; nothing where there is no such entry, or it is not known.
    """
    with suppress(ValueError, InvalidRequestError, LookupError, TypeError, AttributeError):
        content = open_envelope(parse_json(receipt))
        [subject] = content.statement["subject"]
        head = hash_at(content.statement["predicate"]["ended_seq"])
        if head and (subject["name"], subject["digest"]["sha256"]) == (f"debate:{debate_id}", head):
            return find_key_id(content.public_key)
    return ""
