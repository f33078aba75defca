"""A whole debate as one JSON file, and back: mid-way or over, on whichever machine.

    {"counterpoint": "debate/1", "debate_id": …,
     "entries": [{seq, at, actor, hash, body}, …],   the journal's, as they are chained
     "receipt": {entries, head, …},                  where the chain ends
     "question": …, "status": …, "result": …}        for readers; never read back

What is read back is the entries alone: they are checked against each other, against the receipt and by
replaying them, and keep their numbers, times, actors and hashes, so that a receipt still holds.
"""

import json
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from server.debate.commands.restore import LATER, restored
from server.debate.facts.errors import Refused
from server.debate.facts.events import Moment
from server.debate.facts.state import Debate
from server.debate.facts.text import one_line
from server.engine import queries as reading
from server.engine.debates import Hall
from server.engine.errors import storage_translated
from server.engine.runner import Case, heading, recorded
from storage.journal import Damaged, Diverges, Entry

FORMAT = "debate/1"
LARGEST = 64 * 1024 * 1024
"""Bytes of a file."""
MOST_ENTRIES = 20_000


def a_time(at: str) -> str:
    datetime.fromisoformat(at)
    return at


class EntryRead(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    seq: int
    at: Annotated[Moment, AfterValidator(a_time)]
    actor: Annotated[str, Field(max_length=200)]
    hash: Annotated[str, Field(max_length=64)]
    body: dict[str, Any]


class ReceiptRead(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    entries: int
    head: str


class DebateRead(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    counterpoint: Literal["debate/1"]
    debate_id: Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
    entries: Annotated[list[EntryRead], Field(min_length=1, max_length=MOST_ENTRIES)]
    receipt: ReceiptRead


async def exported(hall: Hall, debate_id: str) -> dict[str, Any]:
    """The debate as the file holds it.

    Raises:
        NoSuchDebate: the id names none.
        Unreadable: its record was altered or cannot be read.
    """
    case = await hall.case(debate_id)
    with storage_translated():
        # The journal's own: what is chained is what was written, and a later release writes more fields.
        entries = (await hall.journal.read(debate_id))[: case.debate.version]
    return {
        "counterpoint": FORMAT,
        "debate_id": debate_id,
        "question": case.debate.setup.question,
        "status": case.status,
        "entries": [
            {"seq": e.seq, "at": e.at, "actor": e.actor, "hash": e.hash, "body": dict(e.body)}
            for e in entries
        ],
        "receipt": reading.read(case, "receipt"),
        "result": reading.read(case, "result"),
    }


def parsed(content: bytes) -> Any:
    """What a file says, before anything of it is believed.

    Raises:
        Refused: it is no JSON in UTF-8, or too large.
    """
    if len(content) > LARGEST:
        raise Refused(f"The file is larger than {LARGEST // 1024**2} MB, which no debate is.")
    try:
        return json.loads(content.decode("utf-8-sig"))  # as Windows writes it, too
    except RecursionError:
        raise Refused("The file cannot be read as JSON: it is nested too deeply.") from None
    except ValueError as error:
        raise Refused(f"The file cannot be read as JSON; it may be cut short: {error}.") from None


async def restore(hall: Hall, data: Any) -> tuple[Case, int]:
    """Take in a debate that was exported. Returns it, and how many of its entries were missing here.

    Raises:
        Refused: the file is not what was exported, cannot be gone on with, or is another debate than the
            one of that id that is here. Nothing was written.
        Unreadable: the database cannot be written.
    """
    found = checked(data)
    entries = [Entry(e.seq, e.at, e.actor, e.body, e.hash) for e in found.entries]
    debate = restored([entry.body for entry in entries])
    check_research(hall, debate)
    shown = heading(debate, [debate.setup], [recorded(entry) for entry in entries])
    # It spends nothing here before somebody asks for it, whatever it did elsewhere.
    shown = replace(shown, details={**shown.details, "runs_by_itself": False})
    with storage_translated():
        try:
            added = await hall.journal.restore(found.debate_id, entries, shown)
        except Damaged as error:
            raise Refused(f"The file was altered: entry {error.seq} {error.why}.") from error
        except Diverges as error:
            raise Refused(
                f"Debate {found.debate_id} is here already, and entry {error.seq} is another one here. "
                "Import it into another database (--db)."
            ) from error
        except ValueError as error:
            raise Refused(f"The file holds what JSON cannot carry exactly: {error}.") from error
    case = await hall.case(found.debate_id)
    if added:
        hall.committed(case)
    return case, added


def checked(data: Any) -> DebateRead:
    """The parts of a file that are read back, of the right shape."""
    kind = data.get("counterpoint") if isinstance(data, dict) else None
    if not isinstance(kind, str) or not kind.startswith("debate/"):
        raise Refused("This is no exported debate. `counterpoint export ID --as json` writes one.")
    if kind != FORMAT:
        raise Refused(f"The file is of the kind {one_line(kind)[:40]}, and {FORMAT} is read here. {LATER}")
    try:
        found = DebateRead.model_validate(data)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        where = wrong["loc"]
        which = f"Entry {int(where[1]) + 1}" if where[0] == "entries" and len(where) > 1 else "The file"
        named = ".".join(str(part) for part in where)[:80]
        raise Refused(f"{which} is not as it was exported: {named}: {wrong['msg']}.") from None
    last, receipt = found.entries[-1], found.receipt
    if receipt.entries != len(found.entries):
        raise Refused(
            f"The receipt is of {receipt.entries} entries, and the file holds {len(found.entries)}: it was "
            "cut short or added to."
        )
    if receipt.head != last.hash:
        raise Refused(f"Entry {last.seq} is not the one that the receipt ends with.")
    return found


def check_research(hall: Hall, debate: Debate) -> None:
    """What a debate that goes on may look up is for the settings of this machine to say, not for a file."""
    if hall.research and not debate.ended:
        for debater in debate.setup.debaters:
            hall.research.check(debater.tools, debater=True)
