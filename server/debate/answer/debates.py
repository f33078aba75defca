"""The answer format in a debate: its panel, who is asked in each phase, and what comes after one."""

from typing import assert_never

from server.debate.answer.count import AdviceCount, count_panel, find_case
from server.debate.answer.panel import Panel
from server.debate.answer.report import find_report_problem, find_reviewer_text, list_losses, show_report
from server.debate.answer.sides import find_sides
from server.debate.facts.advice import (
    AFTER_CHECK,
    MINE,
    AdviceEvent,
    Advised,
    Checked,
    Exchanged,
    Opinion,
    Reported,
    Reviewed,
)
from server.debate.facts.interventions import InstructionGiven
from server.debate.facts.setup.phases import ADVICE_TASKS, AdviceTask, Phase
from server.debate.facts.setup.seats import CHECKER, EMBEDDED, WRITER
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.memo import once
from server.debate.state.seats import current_model
from server.debate.votes.families import family

SURE_ENOUGH = 75
"""Percent from which one review that finds nothing to correct is enough, where `skip_if_agreed` asks for that."""

WHERE_THEY_DIFFER: tuple[AdviceTask, ...] = ("exchange", "report")
"""Phases that plans leave out: reviewers who agree need none of them. A report follows every exchange."""

AdviceSlot = tuple[str, int, AdviceTask]
"""(seat, index, what it is asked for)."""


def find_phase_wanting(debate: Debate, task: AdviceTask) -> Phase | None:
    return next((phase for phase in debate.setup.phases if phase.wants == task), None)


def count_readings(debate: Debate) -> int:
    """How often each reviewer reads all answers."""
    effort = debate.setup.effort
    is_twice = debate.setup.judges.models or (effort and effort.level == "assured")
    return 2 if is_twice else 1


def list_reviewers(debate: Debate) -> tuple[str, ...]:
    """The seats that review: judges, all advisors, or with little effort the last one; () where nobody does."""
    if find_phase_wanting(debate, "review") is None:
        return ()
    if debate.setup.judges.models:
        return judge_seats(debate.setup)
    effort = debate.setup.effort
    able = tuple(debater.name for debater in debate.setup.debaters if debater.model != EMBEDDED)
    return able[-1:] if effort and effort.level == "quick" else able


@once
def build_panel(debate: Debate) -> Panel:
    """What was asked and came back, without what was retracted."""
    setup, effort = debate.setup, debate.setup.effort
    active = [fact for fact in debate.advice if debate.is_active(fact)]
    # What was written about the answers as a whole rests on what was retracted since.
    current = [fact for fact in active if fact.seen >= debate.retracted_at]
    reviewers = list_reviewers(debate)
    level, readings = effort.level if effort else "standard", count_readings(debate)
    if is_settled_early(debate, active):
        reviewers, level, readings = (find_first_review(debate)[0],), "quick", 1
    models = {seat: find_model(debate, seat) for seat in (*debate.names, *reviewers)}
    reviews = sorted((one for one in active if isinstance(one, Reviewed)), key=lambda one: one.slot_index)
    reviews = [one if one in current else one.model_copy(update={"text": ""}) for one in reviews]
    rounds = [held.round for held in debate.rounds if debate.round_phase(held.round).wants == "exchange"]
    mine = setup.answering.mine if setup.answering else ""
    return Panel(
        question=setup.question,
        advisors=debate.names,
        reviewers=reviewers,
        models=models,
        labels=setup.answering.labels if setup.answering else (),
        level=level,
        readings=readings,
        families={seat: family(model) for seat, model in models.items()},
        documents=tuple(document.text for document in setup.documents),
        reads_digests=setup.reader is not None,
        mine=Opinion(recommendation=mine) if mine else None,
        advised={one.seat: one for one in active if isinstance(one, Advised)},
        reviewed={seat: tuple(one for one in reviews if one.seat == seat) for seat in reviewers},
        exchanged=tuple(
            {
                seat: one
                for seat in reviewers
                for one in active
                if isinstance(one, Exchanged) and (one.round, one.seat) == (number, seat)
            }
            for number in rounds
        ),
        reports=tuple(
            sorted((one for one in current if isinstance(one, Reported)), key=lambda one: one.slot_index)
        ),
        check=next((one for one in current if isinstance(one, Checked)), None),
    )


@once
def count_debate(debate: Debate) -> AdviceCount:
    return count_panel(build_panel(debate))


def find_model(debate: Debate, seat: str) -> str:
    """The model that answered for a seat last, or would now."""
    used = [fact.usage.model for fact in debate.advice if fact.seat == seat]
    return used[-1] if used else current_model(debate, seat)


def is_settled_early(debate: Debate, active: list[AdviceEvent]) -> bool:
    """Whether the first review alone settles it, where that was asked for: one group, nothing to correct, and sure."""
    if not debate.setup.skip_if_agreed:
        return False
    read = [fact for fact in active if isinstance(fact, Reviewed)]
    return len(read) == 1 and (
        (read[0].seat, read[0].slot_index) == find_first_review(debate)[:2]
        and len(read[0].groups) == 1
        and bool(read[0].follows)
        and not any(error.matters for error in read[0].errors)
        and read[0].probability >= SURE_ENOUGH
    )


def list_advice_slots(debate: Debate, phase: Phase) -> tuple[tuple[AdviceSlot, ...], ...]:
    """Who is asked in a round of this format, one group after the other; () where what it needs was retracted."""
    panel = build_panel(debate)
    is_possible = {
        "review": bool(panel.answers),
        "report": bool(panel.readers),
        "check": bool(show_report(panel, count_panel(panel))),
    }
    if not is_possible.get(phase.wants, True):
        return ()
    match wants := next(task for task in ADVICE_TASKS if task == phase.wants):
        case "advice":
            return (tuple((name, 0, "advice") for name in debate.names),)
        case "review":
            return list_review_slots(debate)
        case "exchange":
            sides = find_sides(panel, count_exchanges(debate) - 1)
            arguing = [seat for seat, side in sides.held.items() if side]
            return (tuple((seat, 0, "exchange") for seat in arguing),) if len(arguing) > 1 else ()
        case "report":
            is_lossy = bool(list_losses(panel, count_debate(debate)))
            rewrite: tuple[AdviceSlot, ...] = ((WRITER, 1, "report"),) if is_lossy else ()
            return (((WRITER, 0, "report"),), rewrite)
        case "check":
            is_wrong = panel.check is not None and any(fault.matters for fault in panel.check.faults)
            again: tuple[AdviceSlot, ...] = ((WRITER, AFTER_CHECK, "report"),) if is_wrong else ()
            return (((CHECKER, 0, "check"),), again)
        case _:
            assert_never(wants)


def find_first_review(debate: Debate) -> AdviceSlot:
    """The review that is asked for alone, and may be enough, where `skip_if_agreed` is set."""
    return list_reviewers(debate)[-1], 1, "review"


def list_review_slots(debate: Debate) -> tuple[tuple[AdviceSlot, ...], ...]:
    seats, readings = list_reviewers(debate), count_readings(debate)
    slots: list[AdviceSlot] = [
        (seat, reading, "review") for reading in range(1, readings + 1) for seat in seats
    ]
    if not debate.setup.skip_if_agreed:
        return (tuple(slots),)
    first = find_first_review(debate)
    if is_settled_early(debate, [fact for fact in debate.advice if debate.is_active(fact)]):
        return ((first,),)
    return ((first,), tuple(slot for slot in slots if slot != first))


def count_exchanges(debate: Debate) -> int:
    """How many exchanges were begun."""
    return sum(debate.round_phase(held.round).wants == "exchange" for held in debate.rounds)


def list_next_phases(debate: Debate) -> list[Phase]:
    """The phases of this format that may come next, the first that is wanted first; [] after the last."""
    here = debate.phase
    if here is None or debate.is_concluding:
        return []
    panel = build_panel(debate)
    wanted: dict[str, bool] = {
        "review": here.wants == "advice" and bool(panel.answers),
        "exchange": here.wants in ("review", "exchange")
        and not panel.is_quick
        and find_sides(panel).differ
        and count_exchanges(debate) < debate.max_rounds,
        "report": here.wants in ("review", "exchange") and needs_writer(debate),
        "check": here.wants in ("review", "exchange", "report")
        and not panel.is_quick
        and bool(show_report(panel, count_panel(panel))),
    }
    return [phase for phase in debate.setup.phases if wanted.get(phase.wants)]


@once
def needs_writer(debate: Debate) -> bool:
    """Whether the reviews leave no answer that all are content with.

    They differ, or no text of theirs will do, or they had not read a note.
    """
    panel = build_panel(debate)
    if panel.is_quick or not panel.readers:
        return False
    count = count_panel(panel)
    is_agreed = find_case(panel, count) == "agreed" and not panel.exchanged
    return not is_agreed or not find_reviewer_text(panel, count) or has_unread_notes(debate, panel)


def has_unread_notes(debate: Debate, panel: Panel) -> bool:
    """Whether somebody gave a note or an instruction that who reviewed had not read."""
    seen = min(review.seen for seat in panel.readers for review in panel.reviewed[seat])
    is_new = any(version > seen for version in debate.note_versions)
    return is_new or any(one.round >= debate.round for one in debate.find_interventions(InstructionGiven))


def find_advice_problem(debate: Debate, event: AdviceEvent) -> str:
    """Why such an answer is not possible; "" where it is."""
    panel = build_panel(debate)
    match event:
        case Advised() | Checked():
            return ""
        case Reviewed():
            grouped = [seat for group in event.groups for seat in group]
            named = {*event.follows, *(seat for error in event.errors for seat in error.answers)}
            answers = {*debate.names, MINE} if panel.mine else {*debate.names}
            is_fit = len({*grouped}) == len(grouped) and answers.issuperset({*grouped, *named})
            return "" if is_fit else "it names answers that there are not, or one twice"
        case Exchanged():
            return "" if {*event.same_as} <= {*panel.reviewers} - {event.seat} else "nobody there reviews"
        case Reported():  # one from before a retraction is kept, and not shown if it rests on what is gone
            is_stale = event.seen < debate.retracted_at
            return "" if is_stale else find_report_problem(panel, count_panel(panel), event.text)
        case _:
            assert_never(event)
