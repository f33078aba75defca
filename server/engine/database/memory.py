"""What earlier debates concluded on related questions.

Related are those whose questions an embedding model puts close to the question; where there is no such model, or it
gives no answer, those that share rarer words with it (`Similarity.find_similar`). Where meaning can be told, it decides
alone, since words also find what only looks related: they propose older debates than the newest.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from anyio import to_thread

from server.debate.analysis.debates import NEVER_RATED
from server.debate.ballots.convergence import compute_cosine
from server.debate.facts.answers import Usage
from server.debate.facts.earlier import MOST_RECALLED_BYTES, EarlierWithdrawn, Recalled, Withdrawal
from server.debate.facts.events import Event
from server.debate.facts.interventions import Tagged
from server.debate.facts.setup.opened import Opened
from server.debate.facts.text import clean_line, shorten_to_bytes
from server.debate.interventions.outcome import find_finding
from server.debate.state.debate import Debate
from server.debate.state.labels import label_seats
from server.debate.state.seats import find_models
from server.debate.views.provenance import Provenance
from server.debate.views.verdict import build_verdict
from server.debate.views.visibility import is_visible
from server.engine.database.errors import (
    DebateDeletedError,
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore, Embed, Vectors
from storage.similarity import find_family
from storage.streams import StreamFilter, StreamListing

MIN_SHARE = 0.35
"""Of the weight of a question's words, what a related debate has at least: a twentieth more than where the first of the
unrelated questions of docs/memory.md finds something."""

PROPOSED_SHARE = 0.15
"""The same of a debate that is compared by meaning, though it is not among the newest."""

CANDIDATES = 60
"""Debates that are looked at, most similar first."""

USERS_AT_ONCE = 100
"""Debates that are looked through together for those that recalled another."""

RETRACTED = "retracted"
"""The tag of a debate that somebody takes back."""

MADE_UP = NEVER_RATED - {"caller", "human"}
"""Models whose debates are dry runs, or decided by what is too small to decide."""

ROOM_SHARES = {"question": 4, "position": 8, "dissent": 6, "settled": 6}
"""Each text has at most one part in so many of the bytes of its debate; the finding has the rest."""


WRONG = "The finding turned out wrong."


NEWEST = 300
"""Debates that are compared by meaning, beside those that words propose. Their vectors are kept, so that each question
is embedded once."""

MAX_LOOKED_AT = 3_000
"""Debates that are looked through for these: mirrors, forks, dry runs and what was taken back hide no others."""

MIN_CLOSENESS = 0.45
"""How close a related question is at least, from 0 for the mean of all questions to 1 for the same one.

A cosine alone says little: unrelated questions have one of 0.1 with some models, and of 0.8 with others. This is the
least twentieth at which no unrelated question of docs/memory.md finds anything, with either of two models."""

MOST_ALIKE = 0.99
"""Mean cosine from which on a model tells nothing apart."""

FAR_APART = (
    "Should the orchestra play Mozart or Mahler at the gala?",
    "Do we plant potatoes or barley in the lower field?",
    "Is the goalkeeper's contract worth another season?",
    "Should tourists pay to enter the cathedral?",
    "Which vaccine schedule suits premature babies?",
    "Do we refinance the mortgage this spring?",
    "Should the parser reject trailing commas?",
    "Is a submarine cable safer than a satellite link?",
    "Ought judges to be elected by the people?",
    "Do dolphins recognise themselves in mirrors?",
    "Should the company sell its shares in the shipyard?",
    "Is the second law of thermodynamics statistical?",
    "Do we serve fish at the wedding?",
    "Should the army buy more helicopters?",
    "Which translation of the Odyssey do we read in class?",
    "Is this painting a forgery?",
)
"""Questions that have nothing to do with each other, for the mean while there are few debates.

Their mean alone does not do: a model for English puts all questions of another language close to each other, and far
from these."""

MAX_EMBEDDED_LENGTH = 2_000  # characters of a question


class Ranking(NamedTuple):
    """Debates on related questions, most similar first, and what it took to embed them: None where nothing was."""

    listings: list[StreamListing]
    usage: Usage | None = None


class Group(NamedTuple):
    """Debates of which one is recalled. `root`: the one that all go back to."""

    kind: Literal["open", "settled", "imported"]
    root: str


class Related(NamedTuple):
    """An earlier debate on a related question. Only dry runs recall dry runs."""

    recalled: Recalled
    is_dry_run: bool
    provenance: Provenance


async def add_memory(setup: Opened, store: DebateStore) -> Opened:
    """The set-up with what earlier debates concluded, where that is asked for.

    A fork and a mirror have what was recalled by the debate that they go back to. Raises StorageUnavailableError.
    """
    if setup.memory is None or setup.forked_from or setup.mirror_of:
        return setup
    is_dry_run = has_made_up(find_models(setup))
    ranking = await rank(store, setup.question, with_dry_runs=is_dry_run)
    related = await choose(store, ranking.listings, setup.memory.most)
    recollections = tuple(each.recalled for each in related)
    memory = setup.memory.model_copy(update={"recalled": recollections, "usage": ranking.usage})
    return label_seats(setup.model_copy(update={"memory": memory}))


async def recall(
    store: DebateStore, question: str, *, limit: int, with_dry_runs: bool = False
) -> list[Related]:
    """What at most so many debates of the store's owner concluded on related questions, most similar first.

    Left out are debates without a verdict, mirrors, all but one of a family of forks (`find_group`), those that were
    taken back, those that others recorded and nobody here has adopted and, unless asked for, dry runs. Raises
    StorageUnavailableError.
    """
    ranking = await rank(store, question, with_dry_runs=with_dry_runs)
    return await choose(store, ranking.listings, limit)


async def rank(store: DebateStore, question: str, *, with_dry_runs: bool) -> Ranking:
    """The debates that may be recalled: compared by meaning or, where no embeddings can be had, by words."""

    def grouping(listing: StreamListing) -> Group | None:
        return find_group(listing, with_dry_runs=with_dry_runs) if store.counts(listing) else None

    with translate_storage_errors():
        similar = await store.storage.lists.find_similar(
            question,
            status="concluded",
            owner=store.owner,
            limit=CANDIDATES,
            min_share=PROPOSED_SHARE if store.embed else MIN_SHARE,
            find_group=grouping,
        )
    listings: list[StreamListing] | None = None
    usage: Usage | None = None
    if store.embed:
        candidates = [*(each.listing for each in similar), *await find_newest(store, grouping)]
        listings_by_group = {grouping(each): each for each in candidates}
        if listings_by_group:
            listings, usage = await rank_by_meaning(
                store.embed, question, [*listings_by_group.values()], store.owner or ""
            )
    if listings is None:
        listings = [each.listing for each in similar if each.share >= MIN_SHARE]
    return Ranking(prefer_settled(listings), usage if usage and usage.attempts else None)


async def find_newest(
    store: DebateStore, grouping: Callable[[StreamListing], Group | None]
) -> list[StreamListing]:
    """The newest debates with a result, of each group one."""
    listings_by_group, count, cursor = dict[Group, StreamListing](), 0, 0
    while len(listings_by_group) < NEWEST and count < MAX_LOOKED_AT:
        page = await store.find("", StreamFilter("concluded"), limit=NEWEST, before=cursor)
        for listing in page:
            if group := grouping(listing):
                listings_by_group.setdefault(group, listing)
        if len(page) < NEWEST:
            break
        count, cursor = count + len(page), page[-1].number
    return [*listings_by_group.values()][:NEWEST]


def find_group(listing: StreamListing, *, with_dry_runs: bool) -> Group | None:
    """The debates of which one is recalled; None for one that is not.

    They are a debate with its forks; those whose outcome is known are a group of their own, which `prefer_settled`
    takes before the others. An imported one is alone, and its forks are by themselves: whose fork a file is, only the
    file says, and they must not take the place of a debate that they have nothing to do with.
    """
    if not may_be_recalled(listing, with_dry_runs=with_dry_runs):
        return None
    if listing.details.get("imported"):
        return Group("imported", listing.stream)
    root = listing.details.get("forked_import") or find_family(listing)
    return Group("settled" if listing.details.get("settled") else "open", root)


def prefer_settled(listings: Iterable[StreamListing]) -> list[StreamListing]:
    """The listings without those whose family has one that says what turned out right."""
    pairs = [(listing, find_group(listing, with_dry_runs=True)) for listing in listings]
    settled_roots = {group.root for _, group in pairs if group and group.kind == "settled"}
    return [
        listing
        for listing, group in pairs
        if group and (group.kind != "open" or group.root not in settled_roots)
    ]


async def rank_by_meaning(
    embed: Embed, question: str, listings: Sequence[StreamListing], owner: str
) -> tuple[list[StreamListing] | None, Usage | None]:
    """Those of the debates whose questions mean something close, closest first; None where that cannot be told."""
    titles = [listing.title[:MAX_EMBEDDED_LENGTH] for listing in listings]
    texts = list(dict.fromkeys([*FAR_APART, *titles]))  # a question asked often counts once in the mean
    vectors, usage = await embed([question[:MAX_EMBEDDED_LENGTH], *texts], owner)
    if not vectors:
        return None, usage
    close = await to_thread.run_sync(choose_close, vectors[0], vectors[1:])
    if close is None:
        return None, usage
    ranks = {texts[place]: rank for rank, place in enumerate(close)}
    ordered_places = sorted(
        (ranks[title], -listing.number, place)
        for place, (title, listing) in enumerate(zip(titles, listings, strict=True))
        if title in ranks
    )
    return [listings[place] for *_, place in ordered_places][:CANDIDATES], usage


def choose_close(vector: Sequence[float], others: Vectors) -> list[int] | None:
    """The places of the vectors that are close to one, closest first; None where all are alike."""
    cosines = [compute_cosine(vector, each) for each in others]
    mean = math.fsum(cosines) / len(cosines)
    if mean >= MOST_ALIKE:
        return None
    close = [place for place, cosine in enumerate(cosines) if cosine - mean >= MIN_CLOSENESS * (1 - mean)]
    return sorted(close, key=lambda place: -cosines[place])


def may_be_recalled(listing: StreamListing, *, with_dry_runs: bool) -> bool:
    """Whether a debate may be recalled: no mirror, none that was taken back and, unless asked for, no dry run."""
    details = listing.details
    if details.get("mirror_of") or is_retracted(details.get("tags", ())):
        return False
    return with_dry_runs or not has_made_up(details.get("models", ()))


def is_retracted(tags: Iterable[str]) -> bool:
    return any(tag.casefold() == RETRACTED for tag in tags)


async def choose(store: DebateStore, listings: Iterable[StreamListing], limit: int) -> list[Related]:
    """What the first of these debates concluded."""
    choices = list[tuple[DebateSnapshot, bool]]()
    for listing in listings:
        if len(choices) == limit:
            break
        with suppress(DebateNotFoundError, StorageUnavailableError):  # deleted just now, or damaged
            snapshot = await store.load(listing.stream)
            if snapshot.debate.verdict:
                choices.append((snapshot, has_made_up(listing.details.get("models", ()))))
    room = MOST_RECALLED_BYTES // max(len(choices), 1)
    return [
        Related(build_recalled(snapshot, room), is_dry, snapshot.provenance) for snapshot, is_dry in choices
    ]


def has_made_up(models: Iterable[str]) -> bool:
    """Whether a model is made up, or too small to decide anything."""
    return not MADE_UP.isdisjoint(model.partition("?")[0] for model in models)


def is_wrong(debate: Debate) -> bool:
    """Whether something else turned out right than what it found, or nothing."""
    return bool(debate.outcome and debate.verdict and find_finding(debate) not in ("", debate.outcome.truth))


def used_retracted(debate: Debate) -> bool:
    """Whether a seat of this debate may have read what another one concluded that was taken back later.

    A fork begins without these texts; its inherited rounds did not.
    """
    setup = debate.setup
    recalled = setup.memory.recalled if setup.memory else ()
    taken_back = [each for each in recalled if each.withdrawn == "retracted"]
    return any(each.question or setup.forked_at_round for each in taken_back)


def build_recalled(snapshot: DebateSnapshot, room: int) -> Recalled:
    """What a debate concluded, without what it hides from clients. `room`: bytes of its texts together."""
    debate, head = snapshot.debate, snapshot.entries[-1]
    verdict = build_verdict(debate)
    is_divided = (
        verdict.outcome == "contested" and not verdict.ahead
    )  # each is told: nobody dissents from another
    texts = {
        "question": debate.setup.question,
        "position": verdict.winner_stance,
        "dissent": "" if is_divided else " ".join(verdict.dissent[:1]),
        "settled": f"{WRONG} {verdict.settled}" if is_wrong(debate) else verdict.settled,
    }
    short_texts = {
        name: shorten_to_bytes(clean_line(text), room // ROOM_SHARES[name]) for name, text in texts.items()
    }
    room_left = room - sum(len(text.encode()) for text in short_texts.values())
    findings = [verdict.verdict] if is_visible(debate, "judges") else []
    findings += verdict.dissent if is_divided else []
    return Recalled(
        debate_id=snapshot.id,
        head=head.hash,
        at=head.at,
        outcome=verdict.outcome,
        finding=shorten_to_bytes(clean_line(" ".join(findings)), room_left),
        recorded_elsewhere=not snapshot.provenance.recorded_here,
        signed_by="" if snapshot.provenance.recorded_here else snapshot.provenance.signed_by,
        used_retracted=used_retracted(debate),
        **short_texts,
    )


async def record_and_withdraw(
    store: DebateStore, snapshot: DebateSnapshot, events: Sequence[Event], actor: str
) -> DebateSnapshot:
    """As `DebateStore.record`. If the events take a debate back, the debates that recalled it are told.

    They are told before it is recorded, since this process may die; and again after it, because others may have been
    opened meanwhile.
    """
    retracts = any(isinstance(event, Tagged) and is_retracted(event.tags) for event in events)
    if retracts:
        await withdraw(store, snapshot.id, "retracted")
    later_snapshot = await store.record(snapshot, events, actor)
    if retracts:
        await withdraw(store, snapshot.id, "retracted")
    return later_snapshot


async def withdraw(store: DebateStore, debate_id: str, cause: Withdrawal) -> None:
    """Tell the debates that recalled this one that it is gone: in their record, ended or not.

    Those that cannot be read are left out. Raises StorageUnavailableError.
    """
    cursor = 0
    while listings := await store.find(debate_id, limit=USERS_AT_ONCE, before=cursor):
        cursor = listings[-1].number
        for listing in listings:
            if debate_id in listing.details.get("recalled", ()):
                with suppress(DebateNotFoundError, StorageUnavailableError):
                    await record_withdrawal(await store.load(listing.stream), store, debate_id, cause)


async def withdraw_gone(snapshot: DebateSnapshot, store: DebateStore) -> DebateSnapshot:
    """The debate that was opened just now, told which of those that it recalled have gone meanwhile.

    `withdraw` did not find it then.
    """
    memory = snapshot.debate.setup.memory
    for earlier in memory.in_force if memory else ():
        with suppress(DebateNotFoundError, StorageUnavailableError):  # it may be in another database
            try:
                earlier_snapshot = await store.load(earlier.debate_id)
            except DebateDeletedError:
                snapshot = await record_withdrawal(snapshot, store, earlier.debate_id, "deleted")
            else:
                if is_retracted(earlier_snapshot.debate.tags):
                    snapshot = await record_withdrawal(snapshot, store, earlier.debate_id, "retracted")
    return snapshot


async def record_withdrawal(
    snapshot: DebateSnapshot, store: DebateStore, debate_id: str, cause: Withdrawal
) -> DebateSnapshot:
    event = EarlierWithdrawn(debate_id=debate_id, cause=cause)
    while (memory := snapshot.debate.setup.memory) and debate_id in {
        earlier.debate_id for earlier in memory.in_force
    }:
        snapshot = await store.record(snapshot, (event,))  # again, where another writer was first
    return snapshot
