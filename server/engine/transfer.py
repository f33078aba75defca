"""Export of a whole debate to one JSON file, and import, on any machine and in any state.

    {"counterpoint": "debate/1", "debate_id": …,
     "entries": [{seq, at, actor, hash, body}, …],   as they are stored and hashed
     "receipt": {entries, head, …},                  the end of the hash chain
     "question": …, "status": …, "result": …}        for people; ignored by the import

The import reads only the entries. They are checked by their hashes, against the receipt and by replaying
them, and keep their numbers, times, actors and hashes, so that earlier receipts stay valid.
"""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from server.debate.commands.restore import NEWER_RELEASE_HINT, rebuild_debate
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Moment
from server.debate.facts.text import collapse_whitespace
from server.debate.views.events import build_receipt
from server.debate.views.verdict import build_result
from server.engine.debates import DebateManager
from server.engine.errors import translate_storage_errors
from server.engine.store import DebateSnapshot
from storage.journal import DamagedStreamError, DivergenceError, Entry

FILE_FORMAT = "debate/1"
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 20_000


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


class ImportedDebate(Imported):
    debate_id: Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
    entries: Annotated[list[ImportedEntry], Field(min_length=1, max_length=MAX_ENTRIES)]
    receipt: ImportedReceipt


async def export_debate(manager: DebateManager, debate_id: str) -> dict[str, Any]:
    """The content of the file. Raises as `DebateManager.load`."""
    snapshot = await manager.load(debate_id)
    # As they are stored: a later release writes more fields, and the hashes cover them.
    with translate_storage_errors():
        entries = (await manager.store.journal.read(debate_id))[: snapshot.debate.version]
    return {
        "counterpoint": FILE_FORMAT,
        "debate_id": debate_id,
        "question": snapshot.debate.setup.question,
        "status": snapshot.status,
        "entries": [asdict(entry) for entry in entries],
        "receipt": build_receipt(snapshot),
        "result": build_result(snapshot.debate),
    }


def parse_export(content: bytes) -> Any:
    """The JSON of a file, unchecked. Raises InvalidRequestError if it is too large, or not JSON in UTF-8."""
    if len(content) > MAX_FILE_BYTES:
        raise InvalidRequestError(f"The file is larger than {MAX_FILE_BYTES >> 20} MB, which no debate is.")
    try:
        return json.loads(content.decode("utf-8-sig"))  # with or without a byte order mark
    except RecursionError:
        raise InvalidRequestError("The file cannot be read as JSON: it is nested too deeply.") from None
    except ValueError as error:
        raise InvalidRequestError(f"The file cannot be read as JSON; it may be cut short: {error}.") from None


async def restore_debate(manager: DebateManager, data: Any) -> tuple[DebateSnapshot, int]:
    """Store an exported debate. Returns it, and how many of its entries were not stored here before.

    Raises:
        InvalidRequestError: it is not a valid export, or its id is taken. Nothing was written.
        StorageUnavailableError: the database cannot be written.
    """
    imported = validate_export(data)
    entries = [Entry(**dict(entry)) for entry in imported.entries]
    debate = rebuild_debate([entry.body for entry in entries])
    if not debate.ended:  # which servers it may use is for this machine's settings to say
        for debater in debate.setup.debaters:
            manager.research.check(debater.tools, for_debater=True)
    with translate_storage_errors():
        try:
            return await manager.store.restore(imported.debate_id, entries, debate)
        except DamagedStreamError as error:
            raise InvalidRequestError(f"The file was altered: entry {error.seq} {error.reason}.") from error
        except DivergenceError as error:
            raise InvalidRequestError(
                f"Debate {imported.debate_id} is here already, and entry {error.seq} is another one here. "
                "Import it into another database (--db)."
            ) from error
        except ValueError as error:
            raise InvalidRequestError(f"The file holds what JSON cannot carry exactly: {error}.") from error


def validate_export(data: Any) -> ImportedDebate:
    """The entries and the receipt, consistent and of the right shape; else InvalidRequestError says what is not."""
    kind = data.get("counterpoint") if isinstance(data, dict) else None
    if not isinstance(kind, str) or not kind.startswith("debate/"):
        raise InvalidRequestError(
            "This is no exported debate. `counterpoint export ID --as json` writes one."
        )
    if kind != FILE_FORMAT:
        kind = collapse_whitespace(kind)[:40]
        raise InvalidRequestError(
            f"The file is of the kind {kind}, and {FILE_FORMAT} is read here. {NEWER_RELEASE_HINT}"
        )
    try:
        found = ImportedDebate.model_validate(data)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        where = wrong["loc"]
        which = f"Entry {int(where[1]) + 1}" if where[0] == "entries" and len(where) > 1 else "The file"
        named = ".".join(map(str, where))[:80]
        raise InvalidRequestError(f"{which} is not as it was exported: {named}: {wrong['msg']}.") from None
    last, receipt = found.entries[-1], found.receipt
    if receipt.entries != len(found.entries):
        raise InvalidRequestError(
            f"The receipt is of {receipt.entries} entries, and the file holds {len(found.entries)}: it was "
            "cut short or added to."
        )
    if receipt.head != last.hash:
        raise InvalidRequestError(f"Entry {last.seq} is not the one that the receipt ends with.")
    return found
