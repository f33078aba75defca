"""What earlier debates concluded on related questions.

Related are those that share rarer words with the question (`Similarity.find_similar`) and, where there is an embedding
model, those whose questions it embeds close to it. Both rankings are joined by reciprocal ranks (Cormack et al., 2009).
"""

import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from anyio import to_thread

from server.debate.analysis.debates import NEVER_RATED
from server.debate.ballots.similarity import compute_cosine
from server.debate.facts.earlier import MOST_RECALLED_BYTES, EarlierWithdrawn, Recalled, Withdrawal
from server.debate.facts.events import Opened, Usage
from server.debate.facts.text import clean_line, shorten_to_bytes
from server.debate.state.debate import Debate
from server.debate.state.labels import label_debaters
from server.debate.state.seats import find_models
from server.debate.views.state import is_visible
from server.debate.views.verdict import build_verdict
from server.engine.database.errors import (
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from storage.contract.streams import StreamListing

if TYPE_CHECKING:
    from server.engine.database.snapshots import DebateSnapshot
    from server.engine.database.store import DebateStore

MIN_SHARE = 0.2
"""Of the weight of a question's words, what a related debate has at least."""

CANDIDATES = 30
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


MEANT = 300
"""The newest debates that are compared by meaning. Their vectors are kept, so that each is asked for once."""

MIN_COSINE, MIN_DEVIATIONS, FEW = 0.45, 2.0, 20
"""How close a related question is, at least: so much, and so many standard deviations above the mean of all where they
are no fewer than `FEW`, since some models embed everything close to everything."""

MAX_EMBEDDED_LENGTH = 2_000  # characters of a question

RANK_OFFSET = 60
"""Of reciprocal ranks: how little it counts who is first in one of two rankings."""

Vectors = Sequence[Sequence[float]]
Embed = Callable[[Sequence[str]], Awaitable[tuple[Vectors, Usage] | None]]
"""The vectors of texts, and what they took; None where they cannot be had."""


class Meaning(NamedTuple):
    """Debates by the meaning of their questions, closest first, and what that took."""

    listings: list[StreamListing]
    usage: Usage | None


class Related(NamedTuple):
    """An earlier debate on a related question. Only dry runs recall dry runs."""

    recalled: Recalled
    is_dry_run: bool


async def add_memory(setup: Opened, store: "DebateStore") -> Opened:
    """The set-up with what earlier debates concluded, where that is asked for.

    A fork and a mirror have what was recalled by the debate that they go back to. Raises StorageUnavailableError.
    """
    if setup.memory is None or setup.forked_from or setup.mirror_of:
        return setup
    is_dry_run = has_made_up(find_models(setup))
    meaning = await rank_by_meaning(store, setup.question)
    found = await recall(
        store, setup.question, limit=setup.memory.most, with_dry_runs=is_dry_run, meaning=meaning
    )
    recalled = tuple(one.recalled for one in found)
    memory = setup.memory.model_copy(update={"recalled": recalled, "usage": meaning.usage})
    setup = setup.model_copy(update={"memory": memory})
    return setup.model_copy(update={"labels": label_debaters(setup, setup.debaters)})


async def recall(
    store: "DebateStore",
    question: str,
    *,
    limit: int,
    with_dry_runs: bool = False,
    meaning: Meaning | None = None,
) -> list[Related]:
    """What at most so many debates of the store's owner concluded on related questions, most similar first.

    Left out are debates without a verdict, mirrors, all of a family of forks but the one that is most similar, those
    that were taken back and, unless asked for, dry runs. Raises StorageUnavailableError.
    """
    with translate_storage_errors():
        similar = await store.journal.find_similar(
            question, status="concluded", owner=store.owner, limit=CANDIDATES
        )
    meaning = meaning or await rank_by_meaning(store, question)
    by_words = [one.listing for one in similar if one.share >= MIN_SHARE]
    found, families = list[tuple["DebateSnapshot", bool]](), set[str]()
    for listing in join_rankings(by_words, meaning.listings):
        if len(found) == limit:
            break
        details, is_dry = listing.details, has_made_up(listing.details.get("models", ()))
        is_taken_back = RETRACTED in details.get("tags", ())
        if details.get("mirror_of") or is_taken_back or (is_dry and not with_dry_runs):
            continue
        with suppress(DebateNotFoundError, StorageUnavailableError):  # deleted just now, or damaged
            snapshot = await store.load(listing.stream)
            family = await find_root(store, snapshot)
            if snapshot.debate.verdict and family not in families:
                families.add(family)
                found.append((snapshot, is_dry))
    room = MOST_RECALLED_BYTES // max(len(found), 1)
    return [Related(build_recalled(snapshot, room), is_dry) for snapshot, is_dry in found]


async def rank_by_meaning(store: "DebateStore", question: str) -> Meaning:
    """The newest debates whose questions mean something close, closest first; none without an embedding model."""
    if store.embed is None:
        return Meaning([], None)
    listings = await store.find(status="concluded", limit=MEANT)
    texts = [question, *(listed.title for listed in listings)]
    embedded = await store.embed([text[:MAX_EMBEDDED_LENGTH] for text in texts]) if listings else None
    if embedded is None:
        return Meaning([], None)
    vectors, usage = embedded
    close = await to_thread.run_sync(choose_close, vectors[0], vectors[1:])
    return Meaning([listings[place] for place in close], usage if usage.attempts else None)


def choose_close(vector: Sequence[float], others: Vectors) -> list[int]:
    """The places of the vectors that are close to one, closest first."""
    cosines = [compute_cosine(vector, other) for other in others]
    least, mean = MIN_COSINE, math.fsum(cosines) / len(cosines)
    if len(cosines) >= FEW:
        deviation = math.sqrt(math.fsum((cosine - mean) ** 2 for cosine in cosines) / len(cosines))
        least = max(least, mean + MIN_DEVIATIONS * deviation)
    close = [place for place, cosine in enumerate(cosines) if cosine >= least]
    return sorted(close, key=lambda place: -cosines[place])[:CANDIDATES]


def join_rankings(*rankings: Sequence[StreamListing]) -> list[StreamListing]:
    """The streams of all rankings, by the sum of their reciprocal ranks; of two alike the newer one first."""
    scores: defaultdict[str, float] = defaultdict(float)
    listings: dict[str, StreamListing] = {}
    for ranking in rankings:
        for rank, listed in enumerate(ranking, start=1):
            scores[listed.stream] += 1 / (RANK_OFFSET + rank)
            listings[listed.stream] = listed
    return sorted(listings.values(), key=lambda listed: (-scores[listed.stream], -listed.number))


def has_made_up(models: Iterable[str]) -> bool:
    """Whether a model is made up, or too small to decide anything."""
    return not MADE_UP.isdisjoint(model.partition("?")[0] for model in models)


async def find_root(store: "DebateStore", snapshot: "DebateSnapshot") -> str:
    """The id of the debate that a fork goes back to, as far as its ancestors can be read."""
    known = {snapshot.id}
    while (parent := snapshot.debate.setup.forked_from) and parent not in known:
        known.add(parent)
        try:
            snapshot = await store.load(parent)
        except (DebateNotFoundError, StorageUnavailableError):
            return parent
    return snapshot.id


def is_wrong(debate: Debate) -> bool:
    """Whether another position turned out right than the one that won, or none."""
    return bool(debate.outcome and debate.verdict and debate.verdict.winner not in ("", debate.outcome.truth))


def build_recalled(snapshot: "DebateSnapshot", room: int) -> Recalled:
    """What a debate concluded, without what it hides from clients. `room`: bytes of its texts together."""
    debate, last = snapshot.debate, snapshot.entries[-1]
    verdict = build_verdict(debate)
    texts = {
        "question": debate.setup.question,
        "position": verdict.winner_stance,
        "dissent": " ".join(verdict.dissent[:1]),
        "settled": f"{WRONG} {verdict.settled}" if is_wrong(debate) else verdict.settled,
    }
    cut = {
        name: shorten_to_bytes(clean_line(text), room // ROOM_SHARES[name]) for name, text in texts.items()
    }
    left = room - sum(len(text.encode()) for text in cut.values())
    finding = verdict.verdict if is_visible(debate, "judges") else ""
    return Recalled(
        debate_id=snapshot.id,
        head=last.hash,
        at=last.at,
        outcome=verdict.outcome,
        finding=shorten_to_bytes(clean_line(finding), left),
        **cut,
    )


async def withdraw(store: "DebateStore", debate_id: str, cause: Withdrawal) -> None:
    """Tell the debates that recalled this one that it is gone: in their record, ended or not.

    Those that cannot be read are left out. Raises StorageUnavailableError.
    """
    before = 0
    while listings := await store.find(debate_id, limit=USERS_AT_ONCE, before=before):
        before = listings[-1].number
        for listed in listings:
            if debate_id in listed.details.get("recalled", ()):
                with suppress(DebateNotFoundError, StorageUnavailableError):
                    await record_withdrawal(await store.load(listed.stream), store, debate_id, cause)


async def record_withdrawal(
    snapshot: "DebateSnapshot", store: "DebateStore", debate_id: str, cause: Withdrawal
) -> None:
    withdrawn = EarlierWithdrawn(debate_id=debate_id, cause=cause)
    while (memory := snapshot.debate.setup.memory) and debate_id in {
        one.debate_id for one in memory.in_force
    }:
        snapshot = await store.record(snapshot, (withdrawn,))  # again, where another writer was first
