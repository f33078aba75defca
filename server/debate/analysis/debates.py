"""What the judges of a debate say together, and what the ledger learns from them once the outcome is known."""

from dataclasses import dataclass
from fractions import Fraction

from server.debate.analysis.calibration import NO_CALIBRATION, Calibration
from server.debate.analysis.judgments import Beliefs, Judgment, Reading
from server.debate.analysis.pooling import Believer, pool_beliefs
from server.debate.analysis.records import JudgeRecord
from server.debate.facts.beliefs import Vote
from server.debate.facts.escalation import MirrorHeld
from server.debate.facts.events import Balloted, Judged
from server.debate.facts.setup.ledger import LedgerExtract, Standing
from server.debate.facts.setup.seats import EMBEDDED, WRITTEN
from server.debate.facts.text import normalize_topic
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.labels import find_first_side
from server.debate.votes.counting import Count, Seat, count_voices
from server.debate.votes.panel import (
    find_own_seat,
    find_rated_model,
    list_judges,
    list_judgments,
    list_mirrored_names,
    list_seats,
)
from server.debate.votes.voters import verdict_source

NEVER_RATED = frozenset({*WRITTEN, EMBEDDED, "scripted", "faulty"})
"""Models whose judgments say nothing of a model: of whoever calls, too small, and made up."""

THIS_DEBATE, ITS_MIRROR = "verdict", "mirror"
"""The items that judgments of a debate and of its mirror are of; the stream tells which debate it is."""

MARGIN_BELIEFS = (Fraction(50, 100), Fraction(65, 100), Fraction(80, 100), Fraction(90, 100))
"""The belief in the winner, by margin, of a judge that gave no beliefs."""


@dataclass(frozen=True, slots=True)
class PooledBeliefs:
    """`beliefs`: in each debater's position, and in "" where judges believe in none. {} where no judge gave any."""

    beliefs: dict[str, float]
    judges: int = 0  # that gave beliefs, in every reading that was asked for
    calibrated_items: int = 0


def pool_judges(debate: Debate, votes: tuple[Vote, ...]) -> PooledBeliefs:
    """The pooled beliefs of all judges that were asked."""
    if verdict_source(debate.setup) != "judges":
        return PooledBeliefs({})
    seats = list_seats(debate, votes)
    told = [find_beliefs(debate, seat) for seat in seats]
    heard = [seat for seat, beliefs in zip(seats, told, strict=True) if beliefs]
    calibration = read_calibration(debate.setup.ledger)
    believers = [Believer(seat.weight, beliefs) for seat, beliefs in zip(seats, told, strict=True)]
    pooled = pool_beliefs(believers, debate.names, float(count_voices(heard)), calibration)
    return PooledBeliefs(pooled, len(heard) if pooled else 0, calibration.items)


def find_beliefs(debate: Debate, seat: Seat) -> Beliefs | None:
    """The mean of what a judge believed in all its readings; None where one is missing, or does not count."""
    readings = [judged for judged in list_judgments(debate) if judged.seat == seat.name]
    expected = 2 if debate.setup.judges.both_orders else 1
    if len(readings) < expected or not all(judged.informative for judged in readings):
        return None
    shares = [compute_beliefs(debate, judged) for judged in readings]
    return {
        name: sum((one[name] for one in shares), Fraction(0)) / len(shares) for name in (*debate.names, "")
    }


def compute_beliefs(debate: Debate, judged: Judged) -> dict[str, Fraction]:
    """The beliefs of a reading in every position and in none; from the margin where it gave none."""
    if judged.beliefs:
        percents = {belief.name: belief.percent for belief in judged.beliefs}
        return {name: Fraction(percents.get(name, 0), 100) for name in (*debate.names, "")}
    if not judged.winner:
        return {**dict.fromkeys(debate.names, Fraction(1, len(debate.names))), "": Fraction(0)}
    own = MARGIN_BELIEFS[judged.margin]
    rest = (1 - own) / max(len(debate.names) - 1, 1)
    return {**{name: own if name == judged.winner else rest for name in debate.names}, "": Fraction(0)}


def compute_confidence(pooled: PooledBeliefs, count: Count) -> float:
    """In the side that is ahead: the smaller one of the pooled belief in it and the probability of the count."""
    return min(pooled.beliefs.get(count.ahead, count.probability), count.probability)


def read_calibration(ledger: LedgerExtract | None) -> Calibration:
    if ledger is None or not ledger.calibrated_items:
        return NO_CALIBRATION
    return Calibration(float(ledger.scale), float(ledger.intercept), ledger.calibrated_items)


def build_extract(position: int, records: list[JudgeRecord], calibration: Calibration) -> LedgerExtract:
    """What a debate uses of a ledger. `records`: of the models that may judge."""
    return LedgerExtract(
        position=position,
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
    """What its judges, those of its mirror, and its debaters in blind ballots said of a debate with an outcome.

    [] where none was recorded, or turns were reused from another debate, whose talk would count again; nothing of the
    mirror where its turns were. A model that holds several seats counts once in each debate, by the first of them, and
    as a judge where it judged: its votes repeat each other. Judgments of seats that several models answered for, and
    of models that say nothing of a model, are left out.
    """
    if debate.outcome is None or debate.reused_turn_count:
        return []
    found = list_panel_judgments(debate) if verdict_source(debate.setup) == "judges" else {}
    for ballot in list_own_blind_ballots(debate):
        model = find_rated_model(debate, ballot.seat, ballot.usage.model)
        if is_rated(model) and (THIS_DEBATE, model) not in found:
            choice, beliefs = ballot.choice, {belief.name: belief.value for belief in ballot.beliefs}
            reading = Reading(1, choice, beliefs[choice] if choice else None)
            truth, topics = debate.outcome.truth, list_topics(debate)
            judged = Judgment(THIS_DEBATE, model, truth, (reading,), topics=topics, role="debater")
            found[THIS_DEBATE, model] = judged
    return list(found.values())


def list_own_blind_ballots(debate: Debate) -> list[Balloted]:
    """What debaters held before anybody spoke; without ballots that say nothing, and those that a fork inherits."""
    return [
        ballot
        for ballot in debate.private_ballots
        if ballot.wave == "blind" and ballot.informative and ballot.round > debate.setup.forked_at_round
    ]


def is_rated(model: str) -> bool:
    return model.partition("?")[0] not in NEVER_RATED


def list_panel_judgments(debate: Debate) -> dict[tuple[str, str], Judgment]:
    """Of judges, by item and model."""
    found: dict[tuple[str, str], Judgment] = {}
    truth = debate.outcome.truth if debate.outcome else ""
    is_mirror_new = not (debate.mirror and debate.mirror.spent.reused_turns)
    for seat in list_judges(debate) if is_mirror_new else judge_seats(debate.setup):
        given = (judged for judged in list_judgments(debate) if judged.seat == seat)
        readings = sorted(given, key=lambda one: one.slot_index)
        models = {find_rated_model(debate, seat, judged.usage.model) for judged in readings}
        if len(models) != 1 or not all(judged.informative for judged in readings):
            continue
        model, item = models.pop(), THIS_DEBATE if find_own_seat(seat) == seat else ITS_MIRROR
        if is_rated(model) and (item, model) not in found:
            told = tuple(build_reading(debate, judged) for judged in readings)
            found[item, model] = Judgment(item, model, truth, told, topics=list_topics(debate))
    return found


def list_topics(debate: Debate) -> tuple[str, ...]:
    """What a debate is about: its tags, and the topic that its team was chosen for."""
    named = (*debate.tags, *((debate.setup.team.topic,) if debate.setup.team else ()))
    return tuple(sorted({*map(normalize_topic, named)} - {""}))


def find_first(debate: Debate, judged: Judged) -> str:
    """Whose position stood first in a reading, be it one of the mirror."""
    if isinstance(debate.mirror, MirrorHeld) and (own := find_own_seat(judged.seat)) != judged.seat:
        key = (own, judged.slot_index)
        firsts = {(reading.judge, reading.number): reading.first for reading in debate.mirror.readings}
        return list_mirrored_names(debate)[firsts[key]]
    return find_first_side(debate, judged.slot_index)


def build_reading(debate: Debate, judged: Judged) -> Reading:
    percents = [belief.percent for belief in judged.beliefs if belief.name == judged.winner]
    belief = Fraction(percents[0], 100) if judged.winner and percents else None
    return Reading(judged.slot_index, judged.winner, belief, find_first(debate, judged))
