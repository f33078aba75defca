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
from storage.ledger import JudgeSums


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

    `already`: those of them that were adopted before.
    `recalled`: those that memory quotes from then on; `left_out`: why it does not quote another one, by its id.
    `their_outcomes`: debates whose outcome others recorded, too. `repeated`: debates by a question that several ask.
    """

    debates: Sequence[DebateSnapshot]
    already: Sequence[str]
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
    for snapshot in debates:
        check_adoptable(snapshot)
    left_out = {snapshot.id: obstacle for snapshot in debates if (obstacle := find_obstacle(snapshot))}
    questions = defaultdict[str, list[str]](list)
    for snapshot in debates:
        questions[normalize_question(snapshot.debate.setup.question)].append(snapshot.id)
    return Influence(
        debates,
        [snapshot.id for snapshot in debates if snapshot.provenance.adopted],
        await compare_judges(manager, debates),
        [snapshot.id for snapshot in debates if snapshot.id not in left_out],
        left_out,
        [snapshot.id for snapshot in debates if has_their_outcome(snapshot)],
        {question: ids for question, ids in questions.items() if len(ids) > 1},
    )


async def adopt_debates(manager: DebateManager, debate_ids: Sequence[str]) -> Influence:
    """Adopt debates, all or, where one cannot be, none. Returns what has changed. Raises as `find_influence`."""
    require(
        not manager.store.storage.is_read_only, "The database is read-only: nothing can be adopted in it."
    )
    influence = await find_influence(manager, debate_ids)
    for snapshot in influence.debates:
        await manager.store.adopt(snapshot.id)
    return influence


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
    sums_by_judge = sum_judgments(debates)
    if not sums_by_judge:
        return []
    new_sums = sum_judgments([snapshot for snapshot in debates if not snapshot.provenance.adopted])
    ledger = manager.store.name_ledger(debates[0].owner)
    with translate_storage_errors():
        rows_by_judge = {
            row.judge: row
            for row in await manager.store.storage.ledger.sum_judges(set(sums_by_judge), owner=ledger)
        }
    standings = []
    for judge, sums in sorted(sums_by_judge.items()):
        row = rows_by_judge.get(judge, JudgeSums(judge, 0, 0, 0))
        counts = new_sums.get(judge, Counter())
        row_after = JudgeSums(
            judge, *(count + counts[name] for name, count in zip(COUNTS, row[1:], strict=True))
        )
        standings.append(Standing(judge, sums["consistent"], build_record(row), build_record(row_after)))
    return standings


COUNTS = ("asked", "consistent", "right")


def sum_judgments(debates: Sequence[DebateSnapshot]) -> dict[str, Counter[str]]:
    """What the ledger gets of debates whose outcome is known, by judge."""
    sums = defaultdict[str, Counter[str]](Counter)
    for snapshot in debates:
        for judgment in list_debate_judgments(snapshot.debate) if snapshot.debate.outcome else ():
            row = build_row(judgment)
            sums[row.judge].update({name: getattr(row, name) for name in COUNTS})
    return {judge: counts for judge, counts in sums.items() if counts["asked"]}


def has_their_outcome(snapshot: DebateSnapshot) -> bool:
    """Whether others recorded what turned out right, as it counts."""
    numbers = [entry.seq for entry in snapshot.entries if isinstance(entry.event, OutcomeRecorded)]
    return bool(numbers) and numbers[-1] <= snapshot.provenance.entries_elsewhere
