"""What the judges of a debate believe together, and what the ledger learns from them when the outcome is known."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from server.debate.analysis.beliefs import NO_CALIBRATION, Calibration, pool_beliefs
from server.debate.analysis.judgments import AFTER, APART, Beliefs, Judgment, Reading
from server.debate.analysis.records import JudgeRecord
from server.debate.answer.count import find_probability
from server.debate.answer.debates import build_panel, count_debate
from server.debate.facts.advice import Advised, Reviewed
from server.debate.facts.beliefs import Vote
from server.debate.facts.escalation import MirrorHeld
from server.debate.facts.events import Balloted, Judged
from server.debate.facts.setup.ledger import LedgerExtract, Standing
from server.debate.facts.setup.seats import EMBEDDED, WRITTEN
from server.debate.facts.text import normalize_topic
from server.debate.interventions.outcome import find_finding
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.labels import find_first_side
from server.debate.votes.panel import (
    find_own_seat,
    find_rated_model,
    has_answered,
    list_judges,
    list_mirrored_names,
    list_readings_of,
    weigh_votes,
)
from server.debate.votes.voters import verdict_source

NEVER_RATED = frozenset({*WRITTEN, EMBEDDED, "scripted", "faulty"})
"""Models whose judgments rate no model: written by the caller, too small, or made up."""

THIS_DEBATE, ITS_MIRROR = "verdict", "mirror"
"""The items that judges of a debate and of its mirror judge; the stream says which debate it is."""

MARGIN_BELIEFS = (Fraction(50, 100), Fraction(65, 100), Fraction(80, 100), Fraction(90, 100))
"""The belief in the winner, by margin, for a judge that gave no beliefs."""


@dataclass(frozen=True, slots=True)
class PooledBeliefs:
    """`beliefs`: in each debater's position, and in "" for none of them. {} where no judge gave any."""

    beliefs: dict[str, float]
    judges: int = 0  # that gave beliefs, in every reading that was asked for
    calibrated_items: int = 0


def pool_judges(debate: Debate, votes: tuple[Vote, ...]) -> PooledBeliefs:
    """The pooled beliefs of all judges that were asked."""
    if verdict_source(debate.setup) != "judges":
        return PooledBeliefs({})
    asked = [(vote, average_beliefs(debate, vote.seat)) for vote in weigh_votes(debate, votes)]
    calibration = read_calibration(debate.setup.ledger)
    shares = pool_beliefs(asked, debate.names, calibration)
    believing_count = sum(beliefs is not None for _, beliefs in asked)
    return PooledBeliefs(shares, believing_count if shares else 0, calibration.items)


def average_beliefs(debate: Debate, judge: str) -> Beliefs | None:
    """The mean of a judge's beliefs over its readings; None where a reading is missing or not informative."""
    readings = list_readings_of(debate, judge)
    is_whole = has_answered(debate, judge)
    if not (is_whole and all(reading.informative for reading in readings)):
        return None
    shares = [compute_beliefs(debate, reading) for reading in readings]
    return {
        name: sum((beliefs[name] for beliefs in shares), Fraction(0)) / len(shares)
        for name in (*debate.names, "")
    }


def compute_beliefs(debate: Debate, reading: Judged) -> dict[str, Fraction]:
    """The beliefs of a reading in every position and in none; from the margin if it gave none."""
    if reading.beliefs:
        percents = {belief.name: belief.percent for belief in reading.beliefs}
        return {name: Fraction(percents.get(name, 0), 100) for name in (*debate.names, "")}
    if not reading.winner:
        return {**dict.fromkeys(debate.names, Fraction(1, len(debate.names))), "": Fraction(0)}
    winner_share = MARGIN_BELIEFS[reading.margin]
    other_share = (1 - winner_share) / max(len(debate.names) - 1, 1)
    return {
        **{name: winner_share if name == reading.winner else other_share for name in debate.names},
        "": Fraction(0),
    }


def read_calibration(ledger: LedgerExtract | None) -> Calibration:
    if ledger is None or not ledger.calibrated_items:
        return NO_CALIBRATION
    return Calibration(float(ledger.scale), float(ledger.intercept), ledger.calibrated_items)


def build_extract(records: list[JudgeRecord], calibration: Calibration) -> LedgerExtract:
    """What a debate uses of a ledger. `records`: of the models that may judge."""
    return LedgerExtract(
        standings=tuple(build_standing(record) for record in records),
        calibrated_items=calibration.items,
        scale=f"{calibration.scale:.4f}",
        intercept=f"{calibration.intercept:.4f}",
    )


def build_standing(record: JudgeRecord) -> Standing:
    return Standing(
        judge=record.judge,
        asked=record.asked,
        consistent=record.consistent,
        right=record.right,
        wrong=record.wrong,
        weight=format_weight(record.weight),
        is_proven=record.is_proven,
    )


def format_weight(weight: Fraction) -> str:
    """In hundredths: "222/100"."""
    return f"{int(100 * weight)}/100"


def list_debate_judgments(debate: Debate) -> list[Judgment]:
    """The judgments about a debate with an outcome: of its judges, its mirror's judges, and debaters in blind ballots.

    [] without an outcome, or if turns were reused from another debate, because its talk would count twice. For the same
    reason the mirror counts only if its turns were new. A model with several seats counts once in each debate, by its
    first seat, and as a judge if it judged: its votes repeat each other. Seats that several models answered for, and
    models that are not rated, are left out.
    """
    if debate.outcome is None or debate.reused_turn_count:
        return []
    if debate.setup.answering:
        return list(list_advice_judgments(debate))
    judgments = list_panel_judgments(debate) if verdict_source(debate.setup) == "judges" else {}
    known = find_known_choices(debate)
    for ballot in list_own_blind_ballots(debate):
        model = find_rated_model(debate, ballot.seat, ballot.usage.model)
        is_known = known is None or ballot.choice in known
        if is_known and is_rated(model) and (THIS_DEBATE, model) not in judgments:
            choice, beliefs = ballot.choice, {belief.name: belief.value for belief in ballot.beliefs}
            reading = Reading(1, choice, beliefs[choice] if choice else None)
            truth, topics = debate.outcome.truth, list_topics(debate)
            judgment = Judgment(THIS_DEBATE, model, truth, (reading,), topics=topics, role="debater")
            judgments[THIS_DEBATE, model] = judgment
    return list(judgments.values())


def list_own_blind_ballots(debate: Debate) -> list[Balloted]:
    """What debaters held before anybody spoke; without uninformative ballots and those that a fork inherits."""
    return [
        ballot
        for ballot in debate.private_ballots
        if ballot.wave == "blind" and ballot.informative and ballot.round > debate.setup.forked_at_round
    ]


def is_rated(model: str) -> bool:
    return model.partition("?")[0] not in NEVER_RATED


def list_panel_judgments(debate: Debate) -> dict[tuple[str, str], Judgment]:
    """The judgments of judges, by item and model."""
    judgments: dict[tuple[str, str], Judgment] = {}
    truth = debate.outcome.truth if debate.outcome else ""
    known = find_known_choices(debate)
    is_mirror_new = not (debate.mirror and debate.mirror.spent.reused_turns)
    for seat in list_judges(debate) if is_mirror_new else judge_seats(debate.setup):
        readings = sorted(list_readings_of(debate, seat), key=lambda judgment: judgment.slot_index)
        models = {find_rated_model(debate, seat, reading.usage.model) for reading in readings}
        if len(models) != 1 or not all(reading.informative for reading in readings):
            continue
        model, item = models.pop(), THIS_DEBATE if find_own_seat(seat) == seat else ITS_MIRROR
        if is_rated(model) and (item, model) not in judgments:
            if known is not None and not all(reading.winner in known for reading in readings):
                continue
            ledger_readings = tuple(build_reading(debate, reading) for reading in readings)
            was_turned = debate.setup.judges.both_orders and has_answered(debate, seat)
            judgments[item, model] = Judgment(
                item, model, truth, ledger_readings, topics=list_topics(debate), was_turned=was_turned
            )
    return judgments


def find_known_choices(debate: Debate) -> set[str] | None:
    """The sides of which it is known whether they were right; None for all."""
    return {find_finding(debate)} if debate.outcome and debate.outcome.wrong else None


def list_advice_judgments(debate: Debate) -> Iterator[Judgment]:
    """What each model answered by itself, and what it advised after it had read the others: right or wrong.

    A model counts once, by its first seat. Rounds that a fork inherits, and answers taken from another debate, do not.
    """
    panel, known = build_panel(debate), find_known_choices(debate)
    truth = debate.outcome.truth if debate.outcome else ""
    rated: set[str] = set()
    for seat in dict.fromkeys((*panel.advisors, *panel.reviewers)):
        found = [
            (reading, find_rated_model(debate, seat, fact.usage.model))
            for reading, fact in list_own_readings(debate, seat)
            if is_counted(debate, fact) and (known is None or reading.choice in known)
        ]
        models = {model for _, model in found}
        if len(models) == 1 and is_rated(model := models.pop()) and model not in rated:
            rated.add(model)
            readings = tuple(reading for reading, _ in found)
            family, topics = panel.families[seat], list_topics(debate)
            yield Judgment(THIS_DEBATE, model, truth, readings, family, topics, "advisor")


def list_own_readings(debate: Debate, seat: str) -> Iterator[tuple[Reading, Advised | Reviewed]]:
    """The sides of an advisor, by itself and after it had read the others, with the facts that say so."""
    panel, sides = build_panel(debate), count_debate(debate).sides
    if answer := panel.advised.get(seat):
        yield Reading(APART, sides.blind[seat], Fraction(answer.probability, 100)), answer
    if side := sides.held.get(seat):
        percent = find_probability(panel, seat)
        yield Reading(AFTER, side, Fraction(percent, 100)), panel.reviewed[seat][0]


def is_counted(debate: Debate, fact: Advised | Reviewed) -> bool:
    """Whether an answer is this debate's own, by a model large enough."""
    return fact.informative and not fact.usage.reused_from and fact.round > debate.setup.forked_at_round


def list_topics(debate: Debate) -> tuple[str, ...]:
    """The topics of a debate: its tags, and the topic that its team was chosen for."""
    topics = (*debate.tags, *((debate.setup.team.topic,) if debate.setup.team else ()))
    return tuple(sorted({*map(normalize_topic, topics)} - {""}))


def find_first_position(debate: Debate, judgment: Judged) -> str:
    """Whose position stood first in a reading, also in one of the mirror."""
    if isinstance(debate.mirror, MirrorHeld) and (judge := find_own_seat(judgment.seat)) != judgment.seat:
        key = (judge, judgment.slot_index)
        firsts = {(reading.judge, reading.number): reading.first for reading in debate.mirror.readings}
        return list_mirrored_names(debate)[firsts[key]]
    return find_first_side(debate, judgment.slot_index)


def build_reading(debate: Debate, judgment: Judged) -> Reading:
    percents = [belief.percent for belief in judgment.beliefs if belief.name == judgment.winner]
    belief = Fraction(percents[0], 100) if judgment.winner and percents else None
    return Reading(judgment.slot_index, judgment.winner, belief, find_first_position(debate, judgment))
