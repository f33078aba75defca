"""The data of the page: recorded entries as they are hashed, and what is drawn on them.

    {"counterpoint": "page/1",
     "debates": [{debate_id, status, reason, question, since_seq, entries, receipt, drawing, relatives,
                  relatives_left_out}, …]}

An entry that readers may not see has only kind, seat, round and hash, so that the chain can still be checked.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from server.debate.views.catalog import ViewSource
from server.debate.views.events import build_receipt, list_shown_entries
from server.debate.views.provenance import describe_provenance
from server.debate.views.state import status_reason
from server.debate.views.visibility import is_hidden
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import Family, build_source, load_family, mark_family
from server.engine.receipts import find_receipts
from server.web.drawing import build_drawing, build_relative
from storage.streams import Entry

DATA_FORMAT = "page/1"
HIDDEN_FIELDS = ("kind", "seat", "round")

Data = dict[str, Any]


def build_data(debates: Sequence[Data]) -> Data:
    return {"counterpoint": DATA_FORMAT, "debates": list(debates)}


def build_debate(
    source: ViewSource,
    stored: Sequence[Entry],
    *,
    envelope: Any = None,
    since_seq: int = 0,
    relatives: Iterable[ViewSource] = (),
    relatives_left_out: int = 0,
) -> Data:
    """One debate, with its entries after `since_seq`, and with everything else in full.

    `stored`: the entries as in the journal. A later release may write more fields, which the hashes cover.
    `envelope`: the signed receipt.
    """
    visible = list_shown_entries(source)
    shown_entries = [entry for entry in visible if not is_hidden(source.debate, entry.event)]
    open_numbers = {entry.seq for entry in shown_entries}
    return {
        "debate_id": source.id,
        "status": source.status,
        "reason": status_reason(source.debate),
        "question": source.debate.setup.question,
        "recorded": describe_provenance(source.provenance, len(source.entries)),
        "since_seq": since_seq,
        "entries": [
            build_entry(entry, is_whole=entry.seq in open_numbers)
            for entry in stored[since_seq : len(visible)]
        ],
        "receipt": build_receipt(source) | {"envelope": envelope},
        "drawing": build_drawing(source, shown_entries),
        "relatives": [build_relative(source, relative) for relative in relatives],
        "relatives_left_out": relatives_left_out,
    }


def build_entry(entry: Entry, *, is_whole: bool) -> Data:
    fields = {"seq": entry.seq, "at": entry.at, "actor": entry.actor, "hash": entry.hash}
    if is_whole:
        return fields | {"body": entry.body}
    visible_body = {name: entry.body[name] for name in HIDDEN_FIELDS if name in entry.body}
    return fields | {"hidden": True, "body": visible_body}


MAX_RELATIVES = 24  # of a debate, in its page


async def load_debate_data(
    manager: DebateManager, debate_id: str, *, since_seq: int = 0, with_family: bool = True
) -> Data:
    """A debate with its entries after `since_seq`, and with a row for each relative if `with_family`.

    Raises as `DebateManager.load`.
    """
    snapshot = await manager.load(debate_id)
    family = Family([snapshot], 0)
    if with_family:
        family = await load_family(manager, snapshot, MAX_RELATIVES)
    return build_data(await load_members(manager, family, 1, since_seq))


async def mark_relatives(manager: DebateManager, snapshot: DebateSnapshot) -> str:
    """A mark that changes when the rows of a debate's relatives change."""
    return await mark_family(manager, snapshot, MAX_RELATIVES)


async def load_family_data(manager: DebateManager, debate_id: str) -> Data:
    """A debate and its relatives by forks, all in full. Raises as `DebateManager.load`."""
    family = await load_family(manager, await manager.load(debate_id), MAX_RELATIVES)
    return build_data(await load_members(manager, family, len(family.members)))


async def load_members(manager: DebateManager, family: Family, count: int, since_seq: int = 0) -> list[Data]:
    """The first debates of a family, each with all others as its relatives."""
    runs, members = await manager.find_runs(), family.members[:count]
    sources: list[ViewSource] = [build_source(member, runs) for member in family.members]
    entries = await manager.store.read_entries(*members)
    receipts = await find_receipts(manager, members)
    return [
        build_debate(
            source,
            entries[source.id],
            envelope=receipts[source.id].envelope,
            since_seq=since_seq,
            relatives=[relative for relative in sources if relative is not source],
            relatives_left_out=family.left_out,
        )
        for source in sources[:count]
    ]
