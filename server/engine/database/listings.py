"""Who recorded the debates of a list, as far as that is known without loading them."""

from collections.abc import Sequence

from server.debate.views.provenance import Provenance
from server.engine.database.errors import translate_storage_errors
from server.engine.database.origins import RECEIPT, find_own_key, find_signer
from server.engine.database.store import DebateStore
from server.signing import OWN
from storage.streams import StreamListing

SIGNED_STATUSES = ("concluded", "truncated")


async def find_provenances(store: DebateStore, listings: Sequence[StreamListing]) -> dict[str, Provenance]:
    """Who recorded the debates of a list. None is loaded but those that others signed, and to which facts were added.

    Raises StorageUnavailableError.
    """
    provenances, foreign_listings = dict[str, Provenance](), dict[str, StreamListing]()
    for listing in listings:
        if store.signer and store.read_origin(listing.stream, listing.head) != OWN:
            foreign_listings[listing.stream] = listing
        else:
            is_signed = store.signer and listing.status in SIGNED_STATUSES
            signed_by = find_own_key(store.signer) if store.signer and is_signed else ""
            provenances[listing.stream] = Provenance(signed_by=signed_by)
    with translate_storage_errors():
        receipts = await store.storage.texts.find_many(foreign_listings, RECEIPT) if foreign_listings else {}
    unknown = []
    for name, listing in foreign_listings.items():
        origin, head = store.read_origin(name, listing.head), listing.head
        hashes = {head.seq: head.hash}
        signed_by = find_signer(receipts.get(name, ""), name, hashes.get)
        provenances[name] = Provenance(
            recorded_here=False,
            signed_by=signed_by,
            adopted=origin.adopted,
            entries_elsewhere=origin.elsewhere,
        )
        may_end_here = listing.status in SIGNED_STATUSES and provenances[name].entries_elsewhere < head.seq
        if not signed_by and (name in receipts or may_end_here):
            unknown.append(name)
    snapshots = await store.load_many(unknown) if unknown else {}
    return provenances | {name: snapshot.provenance for name, snapshot in snapshots.items()}
