"""Takes over debates that others recorded: from then on the ledger and memory of this installation use them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from server.debate.analysis.debates import list_debate_judgments
from server.debate.analysis.records import JudgeRecord
from server.debate.facts.errors import require
from server.debate.facts.interventions import OutcomeRecorded
from server.debate.state.seats import find_own_models
from server.engine.database.errors import translate_storage_errors
from server.engine.database.ledger import build_record, build_row
from server.engine.database.memory import has_made_up, is_retracted
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import normalize_question
from storage.contract.ledger import JudgeSums


@dataclass(frozen=True, slots=True)
class Standing:
    """A judge before and after. `added`: settled votes that the adopted debates bring."""

    judge: str
    added: int
    before: JudgeRecord
    after: JudgeRecord


@dataclass(frozen=True, slots=True)
class Influence:
    """What adopting debates changes.

    `recalled`: those that memory quotes from then on; `left_out`: why it does not quote another one, by its id.
    `their_outcomes`: debates whose outcome others recorded, too. `repeated`: debates by a question that several ask.
    """

    debates: Sequence[DebateSnapshot]
    judges: Sequence[Standing]
    recalled: Sequence[str]
    left_out: Mapping[str, str]
    their_outcomes: Sequence[str]
    repeated: Mapping[str, Sequence[str]]


async def find_influence(manager: DebateManager, debate_ids: Sequence[str]) -> Influence:
    """What adopting these debates would change, or has changed where they are adopted.

    Raises:
        InvalidRequestError: one of them was recorded here, or has not ended.
        DebateNotFoundError, StorageUnavailableError: as `DebateManager.load`.
    """
    debates = [await manager.load(debate_id) for debate_id in dict.fromkeys(debate_ids)]
    for one in debates:
        check_adoptable(one)
    left_out = {one.id: why for one in debates if (why := find_obstacle(one))}
    questions = defaultdict[str, list[str]](list)
    for one in debates:
        questions[normalize_question(one.debate.setup.question)].append(one.id)
    return Influence(
        debates,
        await compare_judges(manager, debates),
        [one.id for one in debates if one.id not in left_out],
        left_out,
        [one.id for one in debates if has_their_outcome(one)],
        {question: ids for question, ids in questions.items() if len(ids) > 1},
    )


async def adopt_debates(manager: DebateManager, debate_ids: Sequence[str]) -> Influence:
    """Adopt debates, all or, where one cannot be, none. Returns what has changed. Raises as `find_influence`."""
    require(
        not manager.store.journal.is_read_only, "The database is read-only: nothing can be adopted in it."
    )
    found = await find_influence(manager, debate_ids)
    for one in found.debates:
        await manager.store.adopt(one.id)
    return found


def check_adoptable(snapshot: DebateSnapshot) -> None:
    """Raises InvalidRequestError."""
    require(
        not snapshot.provenance.recorded_here,
        f"Debate {snapshot.id} was recorded here: there is nothing to adopt.",
    )
    require(
        bool(snapshot.debate.ended),
        f"Debate {snapshot.id} has not ended: it has nothing yet that ledger or memory could use.",
    )


def find_obstacle(snapshot: DebateSnapshot) -> str:
    """Why memory does not quote a debate even if it is adopted; "" if it does."""
    debate = snapshot.debate
    if debate.verdict is None:
        return "it has no verdict"
    if debate.setup.mirror_of:
        return "it is a mirror"
    if is_retracted(debate.tags):
        return "it is tagged retracted"
    return "only dry runs recall a dry run" if has_made_up(find_own_models(debate).values()) else ""


async def compare_judges(manager: DebateManager, debates: Sequence[DebateSnapshot]) -> list[Standing]:
    added = sum_judgments(debates)
    if not added:
        return []
    new = sum_judgments([one for one in debates if not one.provenance.adopted])
    ledger = manager.store.name_ledger(debates[0].owner)
    with translate_storage_errors():
        known = {one.judge: one for one in await manager.store.journal.sum_judges(set(added), owner=ledger)}
    standings = []
    for judge, sums in sorted(added.items()):
        before = known.get(judge, JudgeSums(judge, 0, 0, 0))
        more = new.get(judge, Counter())
        after = JudgeSums(
            judge, *(count + more[name] for name, count in zip(COUNTS, before[1:], strict=True))
        )
        standings.append(Standing(judge, sums["consistent"], build_record(before), build_record(after)))
    return standings


COUNTS = ("asked", "consistent", "right")


def sum_judgments(debates: Sequence[DebateSnapshot]) -> dict[str, Counter[str]]:
    """What the ledger gets of debates whose outcome is known, by judge."""
    sums = defaultdict[str, Counter[str]](Counter)
    for one in debates:
        for judgment in list_debate_judgments(one.debate) if one.debate.outcome else ():
            row = build_row(judgment)
            sums[row.judge].update({name: getattr(row, name) for name in COUNTS})
    return {judge: found for judge, found in sums.items() if found["asked"]}


def has_their_outcome(snapshot: DebateSnapshot) -> bool:
    """Whether others recorded what turned out right."""
    told = [entry.seq for entry in snapshot.entries if isinstance(entry.event, OutcomeRecorded)]
    return bool(told) and told[-1] <= snapshot.provenance.entries_elsewhere
