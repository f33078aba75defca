"""Receipts of debates that have ended: signed once, kept in the database, and compared with the record when read.

A receipt that could not be made when its debate ended, because the process was killed or the key was missing, is made
when it is first read.
"""

import base64
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from anyio import to_thread

from server.debate.facts.errors import DebateError, InvalidRequestError, require
from server.debate.facts.events import Ended
from server.debate.records.receipt import RULES, build_statement, find_difference, find_end
from server.debate.views.catalog import ViewData
from server.debate.views.events import build_receipt
from server.debate.views.state import StoredDebate
from server.debate.views.verdict import build_verdict
from server.engine.database.origins import RECEIPT
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.settings import package_version
from server.signing import OpenedEnvelope, find_key_id, format_public_key, open_envelope
from storage.canonical import parse_json
from storage.streams import Tombstone

PROVES = (
    "That the holder of this key recorded these entries and counted these votes so. Not that the models named gave the "
    "answers (models sign nothing), nor that the verdict is right."
)

MOST_SECONDS_AT_THE_END = 1.0  # that the end of the process waits for a signature

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Receipt:
    """`envelope`: None if there is none. `problem`: why, or why it does not hold; "" for one that does."""

    envelope: dict[str, Any] | None = None
    problem: str = ""


async def find_receipt(manager: DebateManager, snapshot: DebateSnapshot) -> Receipt:
    """The receipt of a debate as it is kept, made now if there is none. Raises StorageUnavailableError."""
    return (await find_receipts(manager, [snapshot]))[snapshot.id]


async def find_receipts(manager: DebateManager, snapshots: Sequence[DebateSnapshot]) -> dict[str, Receipt]:
    """As `find_receipt` of each; those that are kept are read in one statement."""
    texts = await manager.store.find_texts(snapshots, RECEIPT)
    return {
        snapshot.id: read_receipt(texts[snapshot.id], snapshot)
        if snapshot.id in texts
        else await make_receipt(manager, snapshot)
        for snapshot in snapshots
    }


def find_kept_receipt(tombstone: Tombstone) -> Receipt:
    """The receipt that is left of a debate that was removed; without an envelope where it was not signed."""
    text = tombstone.texts.get(RECEIPT)
    return Receipt(json.loads(text) if text else None)


async def make_receipt(manager: DebateManager, snapshot: DebateSnapshot) -> Receipt:
    """The receipt of a debate, signed now; the one that is kept, where another process was first.

    Raises StorageUnavailableError.
    """
    if problem := find_obstacle(manager, snapshot):
        return Receipt(None, problem)
    sign = partial(sign_receipt, manager, snapshot)
    envelope = await to_thread.run_sync(sign, limiter=manager.signing_limiter)
    text = await manager.store.keep_text(snapshot.id, RECEIPT, json.dumps(envelope))
    return Receipt(json.loads(text)) if text else Receipt(None, "The debate was deleted just now.")


def read_receipt(text: str, snapshot: DebateSnapshot) -> Receipt:
    try:
        envelope = parse_json(text)
    except ValueError:
        return Receipt(None, "The receipt that was kept is damaged.")
    try:
        check_receipt(envelope, snapshot)
    except InvalidRequestError as error:
        return Receipt(envelope, str(error))
    return Receipt(envelope)


def find_obstacle(manager: DebateManager, snapshot: DebateSnapshot) -> str:
    """Why a debate cannot be signed here and now; "" if it can."""
    signer = manager.store.signer
    if not snapshot.debate.ended:
        return "It is signed when the debate has ended."
    if signer is None or not has_own_end(snapshot):
        return "This installation did not record the debate, and signs only what it has recorded."
    if manager.store.storage.is_read_only:
        return "The database is read-only, and no receipt was made before."
    return signer.problem


def has_own_end(snapshot: DebateSnapshot) -> bool:
    """Whether this installation recorded the end: what others ended is not signed here, whoever goes on with it."""
    return not snapshot.is_foreign and find_end(snapshot.entries) > snapshot.provenance.entries_elsewhere


def sign_receipt(manager: DebateManager, snapshot: DebateSnapshot) -> dict[str, Any]:
    assert manager.store.signer
    key = manager.store.signer.key
    return key.sign(
        build_statement(
            snapshot.id,
            snapshot.entries,
            version=package_version(),
            public_key=base64.b64encode(key.public_key).decode(),
            replayed=snapshot.debate,
        )
    )


def check_receipt(envelope: Any, stored: StoredDebate) -> OpenedEnvelope:
    """Check a receipt against a record that was checked before.

    Raises:
        InvalidRequestError: its signature does not hold, or it is not what the record comes to.
    """
    content = open_envelope(envelope)
    statement = content.statement
    name = statement["subject"][0]["name"] if isinstance(statement.get("subject"), list) else ""
    require(name == f"debate:{stored.id}", f"The receipt is of another debate: {str(name)[:60]}.")
    require(
        find_end(stored.entries) > 0,
        "The receipt is of a debate that has ended, and this one has not: it was cut short.",
    )
    predicate = statement["predicate"]
    rules = predicate.get("rule", {}).get("rules") if isinstance(predicate.get("rule"), dict) else ""
    require(rules == RULES, f"The receipt was counted by rules that are unknown here: {str(rules)[:40]}.")
    own_statement = build_statement(
        stored.id,
        stored.entries,
        version=str(predicate.get("software", {}).get("version")),
        public_key=str(predicate["signer"]["public_key"]),
        replayed=stored.debate,
    )
    place = find_difference(statement, own_statement)
    require(not place, f"The receipt is not what the entries come to: {place} is something else.")
    return content


async def build_receipt_view(manager: DebateManager, snapshot: DebateSnapshot) -> ViewData:
    """What `read_debate` shows of a receipt: the head of the chain, what was signed, the answer, and the envelope.

    The answer is not part of what is signed, and kept when a debate is deleted: it has texts.
    """
    receipt = await find_receipt(manager, snapshot)
    view = build_receipt(snapshot) | {"signed": bool(receipt.envelope) and not receipt.problem}
    view |= {"problem": receipt.problem, "proves": PROVES if view["signed"] else ""}
    view |= {"answer": build_verdict(snapshot.debate).answer.model_dump(exclude_defaults=True)}
    if view["signed"]:
        content = open_envelope(receipt.envelope)
        view |= {
            "key_id": find_key_id(content.public_key),
            "public_key": format_public_key(content.public_key),
            "statement": content.statement,
        }
    return view | {"envelope": receipt.envelope}


def sign_when_ended(manager: DebateManager, snapshot: DebateSnapshot) -> None:
    """Begin to sign a debate that has just ended. Never raises."""
    if isinstance(snapshot.entries[-1].event, Ended) and not snapshot.is_foreign:
        manager.start_task(sign_now, manager, snapshot)


async def sign_now(manager: DebateManager, snapshot: DebateSnapshot) -> None:
    try:
        # A command of the terminal ends with its debate: what has begun is finished, unless the database hangs.
        with anyio.move_on_after(MOST_SECONDS_AT_THE_END, shield=True):
            await make_receipt(manager, snapshot)
        manager.store.storage.checkpoint_soon()  # the last write of a debate, as a rule
    # A debate does not fail because its receipt does, which is made when it is read.
    except Exception as error:
        is_bug = not isinstance(error, DebateError)  # the journal logs what else can be
        level = logging.WARNING if is_bug else logging.INFO
        text = "The receipt of debate %s cannot be made now: %s"
        logger.log(level, text, snapshot.id, error, exc_info=is_bug)
