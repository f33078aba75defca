"""Checks a file offline: an exported debate, or a receipt alone, with nothing but the file and keys at hand."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from server.debate.facts.errors import InvalidRequestError
from server.debate.records.receipt import find_difference
from server.engine.database.snapshots import DebateSnapshot
from server.engine.receipts import check_receipt
from server.engine.transfer import build_export, validate_export, verify_entries
from server.signing import find_key_id, open_envelope
from storage.streams import Entry

Finding = Literal["holds", "wrong", "unknown"]

NO_PROOF = (
    "The receipt was signed by the key that it names itself ({}). That proves nothing about who signed: anybody can "
    "make a key. Compare it with a key that you have from elsewhere (--key)."
)


@dataclass(frozen=True, slots=True)
class Check:
    """`name`: record, file, signature, signer or kept. `unknown`: it could not be checked, and the text says why."""

    name: str
    finding: Finding
    text: str


@dataclass(frozen=True, slots=True)
class Keys:
    """Public keys: the one that has to have signed, and that of this installation, where there are such."""

    given: bytes | None = None
    own: bytes | None = None


def verify_file(data: Any, keys: Keys, kept_receipt: Any, now: datetime) -> list[Check]:
    """What holds of a file and what does not. `kept_receipt`: one that was kept elsewhere, or None."""
    is_export = isinstance(data, dict) and ("counterpoint" in data or isinstance(data.get("entries"), list))
    if not is_export:
        return verify_receipt_alone(data, keys, kept_receipt)
    try:
        export = validate_export(data)
        entries = [Entry(**dict(entry)) for entry in export.entries]
        snapshot = verify_entries(export.debate_id, entries, now)
    except InvalidRequestError as error:
        return [Check("record", "wrong", str(error)), *verify_broken(data, kept_receipt)]
    envelope, count = export.receipt.envelope, len(entries)
    text = f"{count} entries: the chain holds, and everything that follows from them, the verdict included, does."
    checks = [Check("record", "holds", text)]
    place = find_difference(data, build_export(snapshot, entries, envelope))
    if place:
        text = f"What the file tells its readers is not what its entries come to: {place} is something else."
        checks.append(Check("file", "wrong", text))
    checks += verify_signature(snapshot, envelope, keys)
    return [*checks, *(verify_kept(snapshot, kept_receipt, keys) if kept_receipt is not None else ())]


def verify_signature(snapshot: DebateSnapshot, envelope: Any, keys: Keys) -> Iterator[Check]:
    if envelope is None:
        if not snapshot.debate.ended:
            yield Check(
                "signature", "unknown", "The debate has not ended, and only then a receipt is signed."
            )
        else:
            finding: Finding = "wrong" if keys.given else "unknown"
            yield Check("signature", finding, "The debate has ended, and the file holds no signed receipt.")
        return
    try:
        content = check_receipt(envelope, snapshot)
    except InvalidRequestError as error:
        yield Check("signature", "wrong", str(error))
        return
    yield Check("signature", "holds", "The signed receipt says what the entries come to.")
    yield verify_signer(content.public_key, keys)


def verify_signer(public_key: bytes, keys: Keys) -> Check:
    key_id = find_key_id(public_key)
    if keys.given is not None:
        if public_key == keys.given:
            return Check("signer", "holds", f"The key given signed it ({key_id}).")
        return Check("signer", "wrong", f"Another key than the one given signed it ({key_id}).")
    if public_key == keys.own:
        return Check("signer", "holds", f"This installation signed it ({key_id}).")
    return Check("signer", "unknown", NO_PROOF.format(key_id))


def find_envelope(kept_receipt: Any) -> Any:
    """The envelope in whatever a receipt was kept as: itself, the view of a receipt, or an exported debate."""
    if isinstance(kept_receipt, dict) and "counterpoint" in kept_receipt:
        kept_receipt = {"debate_id": kept_receipt.get("debate_id"), **(kept_receipt.get("receipt") or {})}
    return (
        kept_receipt
        if isinstance(kept_receipt, dict) and "payload" in kept_receipt
        else (kept_receipt or {}).get("envelope")
    )


def find_kept_head(kept_receipt: Any) -> tuple[str, int, str]:
    """(debate id, number of entries, head of the chain) of a receipt. Raises InvalidRequestError if it has none."""
    try:
        if (envelope := find_envelope(kept_receipt)) is not None:
            statement = open_envelope(envelope).statement
            [subject] = statement["subject"]
            name, head = subject["name"].removeprefix("debate:"), subject["digest"]["sha256"]
            return str(name), int(statement["predicate"]["ended_seq"]), str(head)
        receipt = kept_receipt.get("receipt", kept_receipt)
        return str(kept_receipt["debate_id"]), int(receipt["entries"]), str(receipt["head"])
    except (LookupError, TypeError, ValueError, AttributeError):
        raise InvalidRequestError("This is not a receipt: `counterpoint receipt ID` prints one.") from None


def verify_kept(snapshot: DebateSnapshot, kept_receipt: Any, keys: Keys) -> Iterator[Check]:
    """Compare a record with a receipt that was kept elsewhere. This shows what was cut off or replaced since."""
    try:
        debate_id, count, head = find_kept_head(kept_receipt)
    except InvalidRequestError as error:
        yield Check("kept", "wrong", f"The receipt that was kept: {error}")
        return
    entries = snapshot.entries
    if debate_id != snapshot.id:
        yield Check("kept", "wrong", f"The receipt that was kept is of another debate ({debate_id[:60]}).")
    elif not 0 < count <= len(entries):
        text = f"The receipt that was kept is of {count} entries, and the file holds {len(entries)}: it was cut short."
        yield Check("kept", "wrong", text)
    elif entries[count - 1].hash != head:
        text = f"Entry {count} is not the one that the receipt that was kept is of: the record was rewritten."
        yield Check("kept", "wrong", text)
    else:
        yield Check("kept", "holds", f"The first {count} entries are those of the receipt that was kept.")
        if (envelope := find_envelope(kept_receipt)) is not None:
            signer = verify_signer(open_envelope(envelope).public_key, keys)
            yield Check("kept", signer.finding, f"The receipt that was kept: {signer.text}")


def verify_broken(data: dict[str, Any], kept_receipt: Any) -> Iterator[Check]:
    """What a receipt that was kept says of a file whose record does not hold."""
    entries = data.get("entries")
    if kept_receipt is None or not isinstance(entries, list):
        return
    try:
        debate_id, count, _ = find_kept_head(kept_receipt)
    except InvalidRequestError as error:
        yield Check("kept", "wrong", f"The receipt that was kept: {error}")
        return
    text = f"The receipt that was kept is of {count} entries of debate {debate_id[:60]}; the file holds {len(entries)}."
    yield Check("kept", "unknown", text)


def verify_receipt_alone(data: Any, keys: Keys, kept_receipt: Any) -> list[Check]:
    try:
        debate_id, count, head = find_kept_head(data)
        envelope = find_envelope(data)
        other_head = find_kept_head(kept_receipt) if kept_receipt is not None else None
    except InvalidRequestError as error:
        return [Check("signature", "wrong", str(error))]
    subject = f"{count} entries of debate {debate_id[:60]} with the head {head[:64]}"
    checks = [Check("record", "unknown", f"It is a receipt of {subject}, which are not here to be checked.")]
    if envelope is None:
        return [*checks, Check("signature", "unknown", "It is not signed.")]
    content = open_envelope(envelope)
    if "statement" in data and find_difference(data["statement"], content.statement):
        checks.append(Check("file", "wrong", "The statement that is shown is not the one that was signed."))
    checks += [Check("signature", "holds", "The signature holds."), verify_signer(content.public_key, keys)]
    if other_head:
        is_same = other_head == (debate_id, count, head)
        text = "It is the receipt that was kept." if is_same else "It is not of what the kept receipt is of."
        checks.append(Check("kept", "holds" if is_same else "wrong", text))
    return checks
