"""Export of a whole debate to one JSON file, and import, on any machine and in any state.

    {"counterpoint": "debate/1", "debate_id": …,
     "entries": [{seq, at, actor, hash, body}, …],   as they are stored and hashed
     "receipt": {entries, head, envelope, …},        the end of the hash chain, and what was signed
     "question": …, "status": …, "result": …}        for people; may not say something else than the entries

The import stores only the entries. They are checked by their hashes, against the receipt and by `debate.records`,
and keep their numbers, times, actors and hashes, so that earlier receipts stay valid.
"""

import json
import zlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json

from server.debate.facts.earlier import Moment
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.events import Paused, Recorded
from server.debate.facts.text import collapse_whitespace
from server.debate.records.bounds import MAX_ENTRIES
from server.debate.records.setup import DEBATE_ID
from server.debate.records.verify import NEWER_RELEASE_HINT, parse_event, verify_record
from server.debate.state.debate import Debate
from server.debate.views.catalog import ViewData
from server.debate.views.events import build_receipt
from server.debate.views.verdict import build_result
from server.engine.database.errors import translate_storage_errors
from server.engine.database.memory import is_retracted, withdraw
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.receipts import check_receipt, find_receipt
from storage.canonical import AmbiguousError, parse_json
from storage.chain import verify_links
from storage.errors import DamagedStreamError, DivergenceError
from storage.streams import Entry

FILE_FORMAT = "debate/1"
EXPORTED = ("seq", "at", "actor", "body", "hash")
MAX_FILE_BYTES = 64 * 1024 * 1024
GZIP = b"\x1f\x8b"  # the first bytes of a packed file
GZIP_BITS = 31  # of zlib: with the head and the checksum of gzip
CLOCK_TOLERANCE = timedelta(minutes=5)


def validate_time(at: str) -> str:
    datetime.fromisoformat(at)
    return at


class Imported(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, defer_build=True)


class ImportedEntry(Imported):
    seq: int
    at: Annotated[Moment, AfterValidator(validate_time)]
    actor: Annotated[str, Field(max_length=200)]
    hash: Annotated[str, Field(max_length=64)]
    body: dict[str, Any]


class ImportedReceipt(Imported):
    entries: int
    head: str
    envelope: dict[str, Any] | None = None


class ImportedVerdict(Imported):
    outcome: str | None = None
    winner: str | None = None


class ImportedResult(Imported):
    verdict: ImportedVerdict = ImportedVerdict()


class ImportedDebate(Imported):
    debate_id: Annotated[str, Field(pattern=f"^{DEBATE_ID.pattern}$")]
    entries: Annotated[list[ImportedEntry], Field(min_length=1, max_length=MAX_ENTRIES)]
    receipt: ImportedReceipt
    question: str | None = None
    status: str | None = None
    result: ImportedResult = ImportedResult()


async def export_debate(manager: DebateManager, debate_id: str) -> dict[str, Any]:
    """The content of the file. Raises as `DebateManager.load`."""
    snapshot = await manager.load(debate_id)
    receipt = await find_receipt(manager, snapshot)
    entries = (await manager.store.read_entries(snapshot))[snapshot.id]
    return build_export(snapshot, entries, receipt.envelope)


def build_export(snapshot: DebateSnapshot, entries: Sequence[Entry], envelope: Any) -> ViewData:
    """The file of a debate, as JSON values: it is compared with one that was read."""
    export = {
        "counterpoint": FILE_FORMAT,
        "debate_id": snapshot.id,
        "question": snapshot.debate.setup.question,
        "status": snapshot.status,
        "entries": [{name: getattr(entry, name) for name in EXPORTED} for entry in entries],
        "receipt": build_receipt(snapshot) | {"envelope": envelope},
        "result": build_result(snapshot.debate),
    }
    content: ViewData = from_json(to_json(export))
    return content


def parse_export(content: bytes) -> Any:
    """The JSON of a file, packed by gzip or not, unchecked.

    Raises InvalidRequestError if it is too large, or not JSON in UTF-8.
    """
    if content.startswith(GZIP):
        try:
            content = zlib.decompressobj(GZIP_BITS).decompress(content, MAX_FILE_BYTES + 1)
        except zlib.error as error:
            raise InvalidRequestError(f"The file cannot be unpacked: {error}.") from None
    if len(content) > MAX_FILE_BYTES:
        raise InvalidRequestError(f"The file is larger than {MAX_FILE_BYTES >> 20} MB, which no debate is.")
    try:
        return parse_json(content.decode("utf-8-sig"))  # with or without a byte order mark
    except RecursionError:
        raise InvalidRequestError("The file cannot be read as JSON: it is nested too deeply.") from None
    except AmbiguousError as error:
        raise InvalidRequestError(
            f"The file is ambiguous: {error}. Readers would take it differently."
        ) from None
    except ValueError as error:
        raise InvalidRequestError(f"The file cannot be read as JSON; it may be cut short: {error}.") from None


async def restore_debate(manager: DebateManager, data: Any) -> tuple[DebateSnapshot, int]:
    """Store an exported debate. Returns it, and how many of its entries were not stored here before.

    Raises:
        InvalidRequestError: it is not a valid export, or its id is taken. Nothing was written.
        StorageUnavailableError: the database cannot be written.
    """
    export = validate_export(data)
    entries = [Entry(**dict(entry)) for entry in export.entries]
    record = verify_entries(export.debate_id, entries, manager.clock())
    debate, envelope = record.debate, export.receipt.envelope
    check_headline(export, debate)
    if envelope is not None:
        check_receipt(envelope, record)
    if not debate.ended:  # which servers it may use is for this machine's settings to say
        for debater in debate.setup.debaters:
            manager.planner.research.check(debater.tools, for_debater=True)
    with translate_storage_errors():
        try:
            receipt = json.dumps(envelope) if envelope else ""
            snapshot, new_count = await manager.store.restore(
                export.debate_id, entries, debate, receipt=receipt
            )
        except DivergenceError as error:
            raise InvalidRequestError(
                f"Debate {export.debate_id} is here already, and entry {error.seq} is another one here. "
                "Import it into another database (--db)."
            ) from error
    if new_count and is_retracted(snapshot.debate.tags):
        await withdraw(manager.store.of(snapshot.owner), snapshot.id, "retracted")
    return snapshot, new_count


def verify_entries(debate_id: str, entries: Sequence[Entry], now: datetime) -> DebateSnapshot:
    """The debate that these entries make, each of which follows from those before it. Writes nothing.

    Raises:
        InvalidRequestError: they are no such record; the text names the first wrong entry and the rule.
    """
    history = [
        Recorded(entry.seq, entry.at, entry.actor, entry.hash, parse_event(entry.seq, entry.body))
        for entry in entries
    ]
    try:
        verify_links(debate_id, entries)
    except DamagedStreamError as error:
        raise InvalidRequestError(f"The file was altered: entry {error.seq} {error.reason}.") from error
    except ValueError as error:
        raise InvalidRequestError(f"The file holds what JSON cannot carry exactly: {error}.") from error
    debate = verify_record(history, compute_ages(history, now))
    return DebateSnapshot(debate_id, debate, tuple(history), is_foreign=True)


def compute_ages(history: Sequence[Recorded], now: datetime) -> list[float]:
    """Seconds from the first entry to each. Raises InvalidRequestError where times go back, or are in the future."""
    times = [datetime.fromisoformat(entry.at) for entry in history]
    for entry, at, previous in zip(history, times, [times[0], *times], strict=False):
        subject = f"Entry {entry.seq} ({entry.event.kind}): its time, {entry.at},"
        require(at >= previous, f"{subject} is before that of the entry before it.")
        require(at <= now + CLOCK_TOLERANCE, f"{subject} is in the future.")
        if isinstance(entry.event, Paused) and entry.event.until:
            end = datetime.fromisoformat(entry.event.until)
            require(at < end <= at + timedelta(days=1), f"{subject} is not that of a pause of at most a day.")
    return [(at - times[0]).total_seconds() for at in times]


def check_headline(export: ImportedDebate, debate: Debate) -> None:
    """Refuse a file that tells its readers something else than its entries do."""
    shown_verdict, verdict = export.result.verdict, build_result(debate)["verdict"]
    ending = debate.ended.ending if debate.ended else ""
    shown_ending = export.status if export.status in ("concluded", "truncated") else ""
    wrong = {
        "question": export.question not in (None, debate.setup.question),
        "status": export.status is not None and shown_ending != ending,
        "outcome": shown_verdict.outcome not in (None, verdict["outcome"]),
        "winner": shown_verdict.winner not in (None, verdict["winner"]),
    }
    for name, is_wrong in wrong.items():
        require(not is_wrong, f"The file was altered: its {name} is not what its entries come to.")


def validate_export(data: Any) -> ImportedDebate:
    """The entries and the receipt, consistent and of the right shape; else InvalidRequestError says what is not."""
    kind = data.get("counterpoint") if isinstance(data, dict) else None
    if not isinstance(kind, str) or not kind.startswith("debate/"):
        raise InvalidRequestError(
            "This is not an exported debate. `counterpoint export ID --as json` writes one."
        )
    if kind != FILE_FORMAT:
        kind = collapse_whitespace(kind)[:40]
        raise InvalidRequestError(
            f"The file is of the kind {kind}; this release reads {FILE_FORMAT}. {NEWER_RELEASE_HINT}"
        )
    try:
        export = ImportedDebate.model_validate(data)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        path = wrong["loc"]
        which = f"Entry {int(path[1]) + 1}" if path[0] == "entries" and len(path) > 1 else "The file"
        field = ".".join(map(str, path))[:80]
        raise InvalidRequestError(f"{which} is not as it was exported: {field}: {wrong['msg']}.") from None
    last_entry, receipt = export.entries[-1], export.receipt
    if receipt.entries != len(export.entries):
        raise InvalidRequestError(
            f"The receipt is of {receipt.entries} entries, and the file holds {len(export.entries)}: it was "
            "cut short or added to."
        )
    if receipt.head != last_entry.hash:
        raise InvalidRequestError(f"Entry {last_entry.seq} is not the one that the receipt ends with.")
    return export
