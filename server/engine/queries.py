"""Reading stored debates: what a view needs, comparisons of related debates, and pages of the list.

What is not there or cannot be read raises DebateNotFoundError or StorageUnavailableError.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.quoting import quote_heading, quote_inline
from server.debate.facts.text import collapse_whitespace, format_dollars, format_heading
from server.debate.machine.decide import Status
from server.debate.views.catalog import View, ViewSource
from server.debate.views.compare import build_comparison, build_family
from server.debate.views.provenance import RECORDED_HERE, Provenance, describe_provenance
from server.debate.views.state import tell_standing
from server.engine.database.listings import find_provenances
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.receipts import build_receipt_view
from storage.streams import Relative, StreamFilter, StreamListing

PAGE_SIZE = 20
MAX_WINNER_BYTES = 60  # bytes of the winner's stance in a line of the list
ROW_TEXTS = ("format", "outcome", "winner", "winner_stance", "position", "mirror_of")
MOST_COMPARED = 20  # relatives that a debate is compared with
HASH_LENGTH = 12  # characters of the hash of a last entry, to tell it from others
LATEST = "latest"  # no id begins so
MIN_PREFIX_LENGTH = 4
MAX_MATCHES = 10
FINAL_STATUSES = ("concluded", "truncated")
STATUSES: tuple[Status, ...] = get_args(Status)
RunStatus = Literal["ready", "running", "waiting"]
RECORDED_AS: dict[RunStatus, tuple[Status, ...]] = {
    "ready": ("running",),
    "running": ("running", "waiting"),
    "waiting": ("waiting",),
}
"""How the search index has statuses that depend on whether the debate is run now."""


async def load_view_source(manager: DebateManager, debate_id: str, view: View, **part: Any) -> ViewSource:
    """A debate, with its relatives or its receipt if the view is about them. `part`: fields of `ViewSource`."""
    snapshot = await manager.load(debate_id)
    runs = await manager.find_runs()
    family = build_family(snapshot, *await compare_family(manager, snapshot)) if view.needs_family else {}
    receipt = await build_receipt_view(manager, snapshot) if view.needs_receipt else {}
    return build_source(snapshot, runs, family=family, receipt=receipt, **part)


def build_source(snapshot: DebateSnapshot, runs: AbstractSet[str], **part: Any) -> ViewSource:
    """What a view is made from. `runs`: the debates that are run now."""
    parts = (snapshot.id, snapshot.debate, snapshot.entries, snapshot.provenance)
    return ViewSource(*parts, is_run=snapshot.id in runs, **part)


async def find_debate_id(manager: DebateManager, text: str) -> str:
    """The id of the debate that a text is, or is the beginning of (4 characters or more); of the newest for "latest".

    Raises:
        InvalidRequestError: several ids begin so.
    """
    if text == LATEST:
        newest = await manager.store.find(limit=1)
        return newest[0].stream if newest else text
    matches = (
        await manager.store.find_by_prefix(text, MAX_MATCHES + 1) if len(text) >= MIN_PREFIX_LENGTH else []
    )
    if len(matches) <= 1 or text in matches:
        return matches[0] if len(matches) == 1 else text
    names = ", ".join(matches[:MAX_MATCHES]) + (" and more" if len(matches) > MAX_MATCHES else "")
    raise InvalidRequestError(f"Several debates begin with {quote_inline(text, 60)}: {names}.")


class Comparisons(NamedTuple):
    """`unavailable`: ids that are not in this database, or cannot be read. `left_out`: relatives beyond the limit."""

    relatives: list[dict[str, Any]]
    unavailable: list[str]
    left_out: int


async def compare_family(manager: DebateManager, snapshot: DebateSnapshot) -> Comparisons:
    """Comparisons with a debate's parent, then with its forks and its parent's other forks, newest first."""
    runs = await manager.find_runs()
    source = build_source(snapshot, runs)
    relative_ids = list_close_relatives(snapshot, await manager.store.find_family(snapshot))
    ids = relative_ids[:MOST_COMPARED]
    snapshots = await manager.store.load_many(ids)
    relatives = [
        build_comparison(source, build_source(snapshots[name], runs)) for name in ids if name in snapshots
    ]
    return Comparisons(
        relatives, [name for name in ids if name not in snapshots], len(relative_ids) - len(ids)
    )


def list_close_relatives(snapshot: DebateSnapshot, family: Sequence[Relative]) -> list[str]:
    """The ids of a debate's parent, then of its forks and its parent's other forks, in the order of the family."""
    parent = snapshot.debate.setup.forked_from
    origins = {snapshot.id, parent} - {""}
    ids = [parent, *(member.stream for member in family if member.parent in origins)]
    return [debate_id for debate_id in dict.fromkeys(ids) if debate_id not in ("", snapshot.id)]


class Family(NamedTuple):
    """A debate, then those that it is related to by forks. `left_out`: how many more there are."""

    members: list[DebateSnapshot]
    left_out: int


async def load_family(manager: DebateManager, snapshot: DebateSnapshot, limit: int) -> Family:
    """A debate with its relatives, however distant, the closest first; at most so many, and none that is lost."""
    relative_ids = list_by_distance(snapshot, await manager.store.find_family(snapshot))
    snapshots = await manager.store.load_many(relative_ids[:limit])
    members = [snapshots[name] for name in relative_ids if name in snapshots]
    return Family([snapshot, *members], len(relative_ids) - len(members))


async def mark_family(manager: DebateManager, snapshot: DebateSnapshot, limit: int) -> str:
    """What `load_family` depends on, without loading it."""
    relative_ids = list_by_distance(snapshot, await manager.store.find_family(snapshot))
    heads = await manager.store.find_heads(relative_ids[:limit])
    ends = [heads[name].hash[:HASH_LENGTH] for name in relative_ids if name in heads]
    return ".".join([*ends, str(len(relative_ids))]) if relative_ids else ""


def list_by_distance(snapshot: DebateSnapshot, family: Sequence[Relative]) -> list[str]:
    """The ids of a debate's relatives by the number of forks between, those of one distance newest first.

    Last come those whose distance is unknown, because a debate between was deleted.
    """
    stored_ids = {member.stream: None for member in family if member.stream != snapshot.id}
    links = defaultdict[str, list[str]](list)
    for name, parent in [*family, Relative(snapshot.id, snapshot.debate.setup.forked_from)]:
        if parent:
            links[name].append(parent)
            links[parent].append(name)
    ids_by_distance = {snapshot.id: None}
    for name in (queue := [snapshot.id]):  # which grows meanwhile
        queue += (neighbours := [neighbour for neighbour in links[name] if neighbour not in ids_by_distance])
        ids_by_distance |= dict.fromkeys(neighbours)
    return [name for name in {**ids_by_distance, **stored_ids} if name in stored_ids]


class DebateRow(BaseModel):
    """A debate in a list. Times are UTC, in ISO 8601; "" where there is no outcome or winner.

    `winner`: a debater's name. `position`: the beginning of what judges made of the others', in a synthesis.
    `mirror_of`: the debate whose mirror it is.
    """

    debate_id: str
    question: str
    status: str
    format: str
    round: int
    outcome: str = ""
    winner: str = ""
    winner_stance: str = ""
    position: str = ""
    mirror_of: str = ""
    tags: list[str] = []
    opened_at: str
    changed_at: str
    provenance: Provenance = RECORDED_HERE


class ListedDebate(DebateRow):
    """With what people choose by: models, US dollars of the answers whose price is known, and where it comes from."""

    models: list[str]
    cost_usd: str
    forked_from: str


async def list_debates(
    manager: DebateManager,
    query: str = "",
    status: str = "",
    cursor: str = "",
    limit: int = PAGE_SIZE,
    values: Collection[str] = (),
) -> tuple[list[ListedDebate], str]:
    """(debates, cursor of the next page or ""), newest first. InvalidRequestError for a cursor of no page.

    `values`: what all of them have, of `choose_values`.
    """
    if cursor and not (cursor.isascii() and cursor.isdigit()):
        raise InvalidRequestError(
            f"No page returned the cursor {cursor[:40]!r}. Leave it out to begin with the first page."
        )
    runs = await manager.find_runs()
    only = StreamFilter(status, is_final=status in FINAL_STATUSES, values=values)
    listings = await find_listings(manager, runs, query, only, before=int(cursor or 0), limit=limit + 1)
    next_cursor = str(listings[limit - 1].number) if len(listings) > limit else ""
    provenances = await find_provenances(manager.store, listings[:limit])
    return [
        build_listed_debate(listing, runs, provenances[listing.stream]) for listing in listings[:limit]
    ], next_cursor


def build_listed_debate(
    listing: StreamListing, runs: AbstractSet[str], provenance: Provenance
) -> ListedDebate:
    return ListedDebate(
        **dict(build_list_row(listing, runs, provenance)),
        models=read_texts(listing, "models"),
        cost_usd=read_cost(listing),
        forked_from=str(listing.details.get("forked_from") or ""),
    )


def read_cost(listing: StreamListing) -> str:
    """US dollars; "" where they are unknown or damaged."""
    cost = str(listing.details.get("cost_usd") or "")
    with suppress(InvalidOperation):
        return cost if Decimal(cost or 0).is_finite() else ""
    return ""


MOST_KNOWN = 200  # of the newest debates, in which values are looked for


async def find_known_values(manager: DebateManager) -> dict[str, list[str]]:
    """The models and tags of the newest debates, for whoever chooses one."""
    listings = await manager.store.find(limit=MOST_KNOWN)
    return {
        kind: sorted({text for listing in listings for text in read_texts(listing, f"{kind}s")})
        for kind in ("model", "tag")
    }


def read_texts(listing: StreamListing, key: str) -> list[str]:
    """The texts of a list in the details; none where they are damaged."""
    texts = listing.details.get(key)
    return [str(text) for text in texts] if isinstance(texts, list) else []


async def find_listings(
    manager: DebateManager, runs: AbstractSet[str], query: str, only: StreamFilter, *, before: int, limit: int
) -> list[StreamListing]:
    """`runs`: the debates that are run now; `before`: the number of the last one seen."""
    find = partial(manager.store.find, query, before=before, limit=limit)
    statuses = next((stored_status for name, stored_status in RECORDED_AS.items() if name == only.status), ())
    if not statuses:
        return await find(only)
    pages = [
        await find(replace(only, status=stored_status, streams=runs, inside=only.status == "running"))
        for stored_status in statuses
    ]
    return sorted(chain.from_iterable(pages), key=lambda listing: -listing.number)[:limit]


MOST_SAME = 100  # debates with the words of a question that are compared with it


async def find_same_question(manager: DebateManager, snapshot: DebateSnapshot) -> list[DebateRow]:
    """Other debates with the same question, as far as they are among the newest: those recorded here come first."""
    question = snapshot.debate.setup.question
    candidates = await manager.store.find(question, limit=MOST_SAME)
    listings = [
        listing
        for listing in candidates
        if listing.stream != snapshot.id and is_same_question(listing.title, question)
    ]
    provenances = await find_provenances(manager.store, listings)
    rows = [build_list_row(listing, frozenset(), provenances[listing.stream]) for listing in listings]
    return sorted(rows, key=lambda row: not row.provenance.recorded_here)


def is_same_question(one: str, other: str) -> bool:
    return normalize_question(one) == normalize_question(other)


def normalize_question(text: str) -> str:
    """A question for comparison: without case, extra spaces and the marks at its end."""
    return collapse_whitespace(text).casefold().rstrip(" ?!.")


def build_list_row(
    listing: StreamListing, runs: AbstractSet[str], provenance: Provenance = RECORDED_HERE
) -> DebateRow:
    """The row of a debate. `runs`: the debates that are run now.

    Damaged details are left empty, so that one debate does not break the list.
    """
    details = listing.details
    round_number = details.get("round")
    return DebateRow(
        debate_id=listing.stream,
        question=format_heading(str(listing.title)),
        status=find_status(str(listing.status), is_run=listing.stream in runs),
        round=round_number if isinstance(round_number, int) else 0,
        tags=read_texts(listing, "tags"),
        opened_at=format_seconds(listing.opened_at),
        changed_at=format_seconds(listing.changed_at),
        provenance=provenance,
        **{key: str(details.get(key) or "") for key in ROW_TEXTS},
    )


def find_status(stored_status: str, *, is_run: bool) -> str:
    """What a debate is doing. One that is run and waits has a client whose model is being asked."""
    if stored_status == "running" and not is_run:
        return "ready"
    return "running" if stored_status == "waiting" and is_run else stored_status


def format_seconds(at: Any) -> str:
    """A time of an entry without its milliseconds."""
    return re.sub(r"\.\d+Z$", "Z", str(at or ""))


def describe_outcome(row: DebateRow) -> str:
    """What was found, as an answer begins (Leaning: "tea"); else the status."""
    position = row.winner_stance or row.position
    winner = quote_inline(position, MAX_WINNER_BYTES) if position else ""
    return ": ".join(filter(None, (tell_standing(row.outcome or row.status), winner)))


def list_columns(row: ListedDebate) -> tuple[str, ...]:
    """A row as columns: id, time, outcome or status, dollars, models; last its question and where it comes from."""
    origin = f", mirror of {row.mirror_of}" if row.mirror_of else ""
    origin += f", fork of {row.forked_from}" if row.forked_from else ""
    origin += f". {provenance}" if (provenance := describe_provenance(row.provenance)) else ""
    cost = format_dollars(Decimal(row.cost_usd)) if row.cost_usd.strip("0.") else "-"
    models = ", ".join(row.models) or "-"
    opened_at = row.opened_at[:16].replace("T", " ")
    return (
        row.debate_id,
        opened_at,
        describe_outcome(row),
        cost,
        models,
        f"{quote_heading(row.question)}{origin}",
    )
