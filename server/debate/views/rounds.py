"""One round of a debate in detail, and counts by round, debater and judge."""

from typing import Any

from server.debate.facts.events import Failed, HandoffFailed, format_end_cause
from server.debate.facts.state import Debate, judge_seats, seat_kind
from server.debate.rules.decide import is_round_over
from server.debate.views.state import count_failures, is_visible
from server.debate.views.verdict import build_moderator_decision, visible_judgments, visible_turns


def build_round(debate: Debate, round_number: int) -> dict[str, Any]:
    """What was said, judged and decided in a round, its failures, and whether it is over."""
    entered = debate.rounds[round_number - 1]
    has_moderator, has_referee = is_visible(debate, "moderator"), is_visible(debate, "referee")
    ballots = [b for b in debate.round_ballots(round_number) if is_visible(debate, seat_kind(b.seat))]
    judgment_fields = {"seat", "slot_index", "winner", "margin", "verdict", "reasoning"}
    return {
        "round": round_number,
        "phase": entered.phase,
        "because": format_end_cause(entered.because, entered.detail),
        "over": round_number < debate.round or is_round_over(debate),
        "openings": [
            build_moderator_decision(plan)
            for plan in debate.round_plans
            if has_moderator and plan.round == round_number
        ],
        "turns": [
            turn.model_dump(exclude_defaults=True)
            for turn in visible_turns(debate, round_number)
            if turn.round == round_number
        ],
        "audits": [audit.text for audit in debate.audits if has_referee and audit.round == round_number],
        "closings": [
            summary.model_dump(include={"summary", "settled", "decision"})
            for summary in debate.round_summaries
            if has_moderator and summary.round == round_number
        ],
        "ballots": [ballot.model_dump(include={"seat", "choice", "reasoning"}) for ballot in ballots],
        "judgments": [
            judgment.model_dump(include=judgment_fields)
            for judgment in visible_judgments(debate)
            if judgment.round == round_number
        ],
        "failures": [
            failure.model_dump(include={"seat", "slot_index", "cause", "detail"})
            for failure in find_round_failures(debate, round_number)
        ],
    }


def find_round_failures(debate: Debate, round_number: int) -> list[Failed | HandoffFailed]:
    return [failure for failure in debate.all_failures if failure.round == round_number]


def build_analysis(debate: Debate) -> dict[str, Any]:
    """Counts by round, debater and judge. They are counts, not scores: nothing here is calibrated."""
    return {
        "rounds": [
            {
                "round": entered.round,
                "phase": entered.phase,
                "turns": sum(turn.round == entered.round for turn in debate.turns),
                "judgments": sum(judgment.round == entered.round for judgment in debate.judgments),
                "failures": len(find_round_failures(debate, entered.round)),
            }
            for entered in debate.rounds
        ],
        "debaters": {
            name: {
                "turns": sum(turn.seat == name for turn in debate.turns),
                "words": sum(len(turn.text.split()) for turn in debate.turns if turn.seat == name),
                "cut": sum(turn.cut for turn in debate.turns if turn.seat == name),
                "failures": count_failures(debate, name),
            }
            for name in debate.names
        },
        "judges": {
            judge: [
                {"reading": judgment.slot_index, "winner": judgment.winner, "margin": judgment.margin}
                for judgment in visible_judgments(debate)
                if judgment.seat == judge
            ]
            for judge in judge_seats(debate.setup)
        },
    }
