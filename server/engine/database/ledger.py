"""The ledger of judges in the database: judgments as rows, and what a new debate uses of them.

An `owner` of rows is named as `Signer.name_ledger` does.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

from server.debate.analysis.beliefs import Calibration, Outcomes, fit_calibration
from server.debate.analysis.debates import (
    ITS_MIRROR,
    NEVER_RATED,
    THIS_DEBATE,
    build_extract,
    list_debate_judgments,
)
from server.debate.analysis.judgments import Judgment, Reading, Role, list_sides
from server.debate.analysis.records import JudgeRecord, calibrate_advice, count_advice_record
from server.debate.facts.setup.ledger import LedgerExtract, Team
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.state.debate import Debate
from server.debate.state.seats import find_models
from server.debate.votes.counting import UNKNOWN_WEIGHT
from server.debate.votes.skills import NOTHING, Knowledge, PairErrors, Tally
from server.debate.votes.teams import (
    SETTLED_ITEMS,
    TeamRequest,
    choose_team,
    draw_accuracies,
    list_contenders,
)
from server.debate.votes.voters import verdict_source
from server.engine.database.errors import translate_storage_errors
from storage.ledger import JudgeSums, Ledger, LedgerRow

FindPrice = Callable[[str], Price]

MOST_ADVICE_ROWS = 2_000
"""The last rows of advisors that are read at the start of a debate."""

ITEM_NAMES = {THIS_DEBATE: "debate", ITS_MIRROR: "mirror of debate"}


@dataclass
class Import:
    """An import of labelled judgments, and what it came to: new readings, and judgments that took others' place."""

    judgments: Sequence[Judgment]
    added: int = 0
    changed: int = 0

    def join(self, earlier_rows: Sequence[LedgerRow]) -> list[LedgerRow]:
        """The rows to write: readings of judgments that are stored are joined with those."""
        rows_by_key = {(row.item, row.judge): row for row in earlier_rows}
        rows = []
        for judgment in self.judgments:
            row = rows_by_key.get((judgment.item, judgment.judge))
            earlier_readings = parse_row(row).readings if row else ()
            joint_judgment = join_readings(earlier_readings, judgment)
            self.added += len(joint_judgment.readings) - len(earlier_readings)
            self.changed += any(reading not in joint_judgment.readings for reading in earlier_readings) or (
                row is not None and row.body["gold"] != judgment.gold
            )
            rows.append(build_row(joint_judgment))
        return [row for row in rows if rows_by_key.get((row.item, row.judge)) != row]


async def import_judgments(ledger: Ledger, judgments: Sequence[Judgment], owner: str) -> Import:
    """Add labelled judgments to the ledger of an owner.

    Raises StorageUnavailableError: the database cannot be used.
    """
    result = Import(judgments)
    with translate_storage_errors():
        await ledger.change(result.join, owner=owner)
    return result


def join_readings(earlier_readings: Iterable[Reading], judgment: Judgment) -> Judgment:
    """The judgment with those earlier readings that it does not have itself."""
    own = {reading.number for reading in judgment.readings}
    other_readings = [reading for reading in earlier_readings if reading.number not in own]
    readings = tuple(sorted((*other_readings, *judgment.readings), key=lambda reading: reading.number))
    return replace(judgment, readings=readings)


async def read_judgments(ledger: Ledger, owner: str) -> list[Judgment]:
    """All of an owner: imported ones, and those of debates whose outcome was recorded."""
    with translate_storage_errors():
        return [parse_row(row) for row in await ledger.read(owner=owner)]


async def read_calibration(ledger: Ledger, owner: str) -> Calibration:
    """What the beliefs of judges have been worth to an owner. Those of a judge count as much as its votes."""
    with translate_storage_errors():
        items, sums = await ledger.sum_beliefs(owner=owner)
        judges = await ledger.sum_judges({row.judge for row in sums}, owner=owner)
    weights = {row.judge: float(build_record(row).weight / UNKNOWN_WEIGHT) for row in judges}
    outcomes = [
        Outcomes(row.percent / 100, weights[row.judge] * row.right, weights[row.judge] * row.number)
        for row in sums
    ]
    return fit_calibration(outcomes, items)


async def add_ledger(setup: Opened, ledger: Ledger, owner: str) -> Opened:
    """The set-up with what its owner knows of its judges; unchanged where no judges decide, or nothing is known.

    A fixed number of queries, however many judges there are.
    """
    if setup.answering:
        models = {*find_models(setup)} - NEVER_RATED
        with translate_storage_errors():
            return setup.model_copy(update={"ledger": await read_advice_extract(ledger, models, owner)})
    if verdict_source(setup) != "judges":
        return setup.model_copy(update={"ledger": None})
    with translate_storage_errors():
        extract = await read_extract(ledger, (*setup.judges.models, *setup.fallback_models), owner)
    return setup.model_copy(update={"ledger": extract})


async def find_team(
    request: TeamRequest, seed: int, *, ledger: Ledger, owner: str, find_price: FindPrice
) -> Team:
    """Choose the models of a debate by what its owner knows of them, and by price.

    A fixed number of queries, however many candidates and seats there are.
    """
    knowledge = await read_knowledge(ledger, (*request.candidates, *request.seated), request.topic, owner)
    if draws := draw_accuracies(request, knowledge, seed):
        knowledge = replace(knowledge, pairs=await read_pairs(ledger, list_contenders(request, draws), owner))
    prices = {model: find_price(model) for model in request.candidates}
    return choose_team(request, knowledge, draws, prices, seed)


async def read_knowledge(ledger: Ledger, models: Iterable[str], topic: str, owner: str) -> Knowledge:
    """What the ledger of an owner knows of each of the models, for choosing among them."""
    judges = {*models}
    with translate_storage_errors():
        position = await ledger.find_position(owner=owner)
        if not position:
            return NOTHING
        settled_count = await ledger.count_items(judges, SETTLED_ITEMS, owner=owner)
        answers = await ledger.sum_answers(judges, topic, owner=owner)
    tallies = [(sums.judge, sums.topic, Tally(*sums[2:])) for sums in answers]
    every = {judge: tally for judge, about, tally in tallies if not about}
    return Knowledge(
        position,
        settled_count,
        every,
        {judge: tally for judge, about, tally in tallies if about} if topic else every,
    )


async def read_pairs(ledger: Ledger, models: Iterable[str], owner: str) -> dict[tuple[str, str], PairErrors]:
    """For each pair of models: what each of them, and both, got wrong, by the ledger of an owner."""
    with translate_storage_errors():
        pairs = await ledger.sum_pairs({*models}, owner=owner)
    return {(pair.one, pair.other): PairErrors(*pair[2:]) for pair in pairs}


async def read_extract(ledger: Ledger, models: Iterable[str], owner: str) -> LedgerExtract | None:
    if not await ledger.find_position(owner=owner):
        return None
    records = [build_record(sums) for sums in await ledger.sum_judges({*models}, owner=owner) if sums.asked]
    return build_extract(records, await read_calibration(ledger, owner))


async def read_advice_extract(ledger: Ledger, models: Collection[str], owner: str) -> LedgerExtract | None:
    """What advice of these models has been worth. Two queries, however many models there are."""
    if not await ledger.find_position(owner=owner):
        return None
    rows = await ledger.read_of(models, "advisor", MOST_ADVICE_ROWS, owner=owner)
    judgments = [parse_row(row) for row in rows]
    records = [count_advice_record(model, judgments) for model in sorted(models)]
    known = [record for record in records if record.asked]
    return build_extract(known, calibrate_advice(judgments)) if known else None


def build_record(sums: JudgeSums) -> JudgeRecord:
    return JudgeRecord(sums.judge, sums.asked, sums.consistent, sums.right, sums.consistent - sums.right)


def build_debate_rows(debate: Debate, ledger: str) -> list[LedgerRow] | None:
    """What a ledger has of a debate, nothing without one; None where nobody has recorded an outcome."""
    if debate.outcome is None:
        return None
    judgments = list_debate_judgments(debate) if ledger else []
    return [replace(build_row(judgment), owner=ledger) for judgment in judgments]


def build_row(judgment: Judgment) -> LedgerRow:
    is_judged = judgment.role == "judge"
    beliefs = judgment.compute_beliefs(list_sides([judgment])) if is_judged else None  # others are no judge's
    likeliest = max(beliefs, key=lambda side: beliefs[side]) if beliefs else ""
    return LedgerRow(
        item=judgment.item,
        judge=judgment.judge,
        role=judgment.role,
        body={
            "gold": judgment.gold,
            "family": judgment.family,
            "was_turned": judgment.was_turned,
            "readings": [dump_reading(reading) for reading in judgment.readings],
        },
        asked=int(is_judged and judgment.is_turned),
        consistent=int(is_judged and judgment.is_consistent),
        right=int(is_judged and judgment.is_right),
        percent=round(100 * beliefs[likeliest]) if beliefs else None,
        likeliest_right=int(bool(beliefs) and likeliest == judgment.gold),
        credit=judgment.credit,
        topics=judgment.topics,
    )


def dump_reading(reading: Reading) -> dict[str, Any]:
    belief = "" if reading.belief is None else str(reading.belief)
    return {"number": reading.number, "choice": reading.choice, "belief": belief, "first": reading.first}


def parse_row(row: LedgerRow) -> Judgment:
    """The judgment of a row; that of a debate, or of its mirror, has the debate's id in its item."""
    readings = tuple(
        Reading(
            reading["number"],
            reading["choice"],
            Fraction(reading["belief"]) if reading["belief"] else None,
            reading["first"],
        )
        for reading in row.body["readings"]
    )
    item = row.item
    if row.stream:
        item = f"{ITEM_NAMES[row.item]} {row.stream}"
    body = row.body
    return Judgment(
        item,
        row.judge,
        body["gold"],
        readings,
        body["family"],
        tuple(row.topics),
        cast("Role", row.role),
        was_turned=body["was_turned"],
    )
