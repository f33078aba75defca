"""The course of a debate: its phases and rounds, why its talk ends, what pauses it, and what comes after the talk.

Phases are data of a debate (`Opened.phases`); a format is a row of them. This file knows kinds of phases only:

    phase      who is asked       what comes after a round of it
    ---------  -----------------  ------------------------------------------------------------------------
    talk       debaters           the phase again, if it repeats and rounds are left, else the next phase
    closing    debaters           the next phase; it is held once, after the last round of talk
    vote       debaters, judges   the next phase, or the first one of its block
    private    debaters           the next phase; left out where all gave ballots after the last round
    judgment   judges             more judges, the mirror, then the verdict
    result     synthesizer        the next phase; the verdict comes before it
    baseline   debaters           the end; the verdict comes before it
    advice …   five kinds: see "The answer format"

Rounds. A round is one pass over a phase. Before the first one, documents are digested and positions are named, where
that is asked for. A round is over when each of its slots (`schedule`) has an answer or is given up. Then `advance`
returns what follows: the next round, or the verdict and the end. A phase that repeats takes all rounds of talk that are
left, less one for each later phase of talk. A block is phases that are held again together. Each pass over it is
completed; whether it was the last is decided after its last phase.

Why the talk ends. `find_talk_end` is asked after each round. The first of these that holds is the cause:

    1. what is recorded: blind ballots agreed; the round now over began after the end, and says why (`because`); the
       talk was concluded, on request or by the budget (`TalkConcluded`)
    2. after a round of talk, the rows of TALK_ENDS, from settled to terminate_when
    3. after the last phase of a block, that no rounds are left for it: max_rounds
    4. where no phase of talk is left: what ended the block under way, else phases_held

Why a block ends. What ends the talk ends its blocks. Else `find_block_end` is asked after its last phase:

    1. what is recorded (`BlockEnded`)
    2. that what it is held for has come about (`Block.until`): consensus, converged, settled, moderator_done
    3. block_limit
    4. max_rounds

What a budget ends. A round of talk begins only if the limits pay for all of it, and a call is made only if they pay for
it. Otherwise `build_budget_end` finds the first of these that is possible:

    1. a pause, where the limits ask for it (`on_budget`)
    2. the end of a talk in which somebody spoke
    3. the end of a debate that has its verdict, without the result
    4. after the talk, what follows from the votes that are there
    5. a pause where somebody spoke, else the end of the debate: truncated

What pauses it (`pauses`). Too few seats that answer in a round; a debater who was never heard; a budget, where the
limits say so; a breakpoint, which holds back the step that would come next; a request. Answers under way are accepted
in a pause, and seats that failed are asked again after it.

After the talk. The phases follow that are no talk, in their order.
Between the votes of judges and the verdict, `escalation` may hold the mirror. The verdict is
recorded before the first phase that needs it, or at the end.

The answer format. What comes next depends on what was written (`answer.debates.list_next_phases`):

    review     an advisor answered
    exchange   reviewers hold different sides, the effort is not quick, fewer than `max_rounds` were held, and the
               limits pay for it and a call of the writer
    report     no review has an answer that all are content with, the effort is not quick, and the limits pay for it
    check      there is an answer, and the limits pay for it; the writer then corrects one that it finds wrong

A budget that pauses leaves none of them out. A request to conclude skips what is left, and the verdict is made of what
was written.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, assert_never

from server.debate.answer.debates import list_next_phases
from server.debate.ballots.convergence import build_converged, find_convergence
from server.debate.ballots.hollow import add_ballot_event, compute_alert, is_challenged, wants_challenge
from server.debate.ballots.waves import has_last_ballots
from server.debate.documents.digests import build_passages
from server.debate.facts.answers import HandedOff
from server.debate.facts.beliefs import Agreed, Alerted
from server.debate.facts.causes import EndCause
from server.debate.facts.events import (
    BlockEnded,
    Ended,
    Event,
    Paused,
    PhaseEntered,
    RoundClosed,
    RoundOpened,
)
from server.debate.facts.interventions import RoundsExtended, TalkConcluded
from server.debate.facts.setup.phases import Block, Phase, find_block
from server.debate.rules.budget import compute_remaining, count_model_seats
from server.debate.rules.caller_code import TerminateWhen
from server.debate.rules.pauses import compute_quorum
from server.debate.rules.speaking_order import build_handoff_events, compute_seat_order
from server.debate.rules.verdict import build_verdict_events
from server.debate.state.debate import Debate, find_phase, replace
from server.debate.state.seats import phase_seats
from server.debate.votes.panel import build_agreed, count_last_vote
from server.debate.votes.voters import verdict_source

TALK_ENDS: tuple[tuple[EndCause, Callable[[Debate, TerminateWhen | None], bool]], ...] = (
    ("settled", lambda debate, _: find_moderator_cause(debate) == "settled" and not is_challenged(debate)),
    ("max_turns", lambda debate, _: 0 < debate.max_turns <= len(debate.turns)),
    ("max_rounds", lambda debate, _: has_held_all_rounds(debate) and wants_talk_next(debate)),
    ("moderator_done", lambda debate, _: find_moderator_cause(debate) == "moderator_done"),
    ("converged", lambda debate, _: is_stopped_by_ballots(debate) and not is_challenged(debate)),
    ("terminate_when", lambda debate, predicate: predicate is not None and predicate(debate)),
)
"""What ends the talk after a round of it: the first row that holds is the cause. A challenge needs a round to be
answered in, so that it holds up what only judges the talk. The caller's code is not asked where another row holds."""


class TalkEnd(NamedTuple):
    """Why the talk is over."""

    cause: EndCause
    detail: str = ""


def find_talk_end(debate: Debate, terminate_when: TerminateWhen | None = None) -> TalkEnd | None:
    """Why the talk is over after this round; None while it goes on."""
    phase = debate.phase
    assert phase is not None
    if recorded_end := find_recorded_end(debate):
        return recorded_end
    causes = (cause for cause, holds in TALK_ENDS if holds(debate, terminate_when))
    if phase.is_talk and (cause := next(causes, None)):
        return TalkEnd(cause)
    block_end = find_block_end(debate, phase.block) if phase.block else None
    if block_end == "max_rounds" or not is_talk_ahead(debate, phase):
        return TalkEnd(block_end or "phases_held")
    return None


def find_recorded_end(debate: Debate) -> TalkEnd | None:
    """The end of the talk as facts say it; None where none does."""
    entry, conclusions = debate.rounds[-1], debate.find_interventions(TalkConcluded)
    if entry.because:
        return TalkEnd(entry.because, entry.detail)
    if not conclusions:
        return None
    conclusion = conclusions[-1]
    return TalkEnd(conclusion.cause, conclusion.reason if conclusion.cause == "budget" else "")


def has_held_all_rounds(debate: Debate) -> bool:
    return debate.talk_round_count >= debate.max_rounds


def wants_talk_next(debate: Debate) -> bool:
    """Whether a round of talk would follow, if there are rounds left: in a block, a vote may come first."""
    phase = debate.phase
    assert phase is not None
    successor = next_phase(debate, None) if find_block(debate.setup.phases, phase) else phase
    return bool(successor and successor.is_talk)


def is_talk_ahead(debate: Debate, phase: Phase) -> bool:
    """Whether talk may come after this phase. In the answer format that depends on what is written."""
    phases = debate.setup.phases
    later = any(each.is_talk for each in phases[phases.index(phase) + 1 :])
    return later or phase.is_advice or next_phase(debate, None) in (find_block(phases, phase) or (phase,))


def is_stopped_by_ballots(debate: Debate) -> bool:
    return debate.setup.stop == "on" and find_convergence(debate) is not None


def find_moderator_cause(debate: Debate) -> EndCause | None:
    """How the moderator ended the talk in this round. In a block that waits for this word it ends the block."""
    phase = debate.phase
    assert phase is not None
    return None if is_in_moderated_block(debate, phase) else find_moderator_word(debate, debate.round)


def is_in_moderated_block(debate: Debate, phase: Phase) -> bool:
    block = find_block(debate.setup.phases, phase)
    return bool(block) and block[-1].block is not None and block[-1].block.until == "moderator"


def find_moderator_word(debate: Debate, since_round: int) -> EndCause | None:
    """How the moderator has ended the talk since that round: it settled the question, or opened a last round."""
    facts = debate.events_since(since_round)
    if any(isinstance(fact, RoundClosed) and fact.settled for fact in facts):
        return "settled"
    return "moderator_done" if any(isinstance(fact, RoundOpened) and fact.done for fact in facts) else None


def find_block_end(debate: Debate, block: Block) -> EndCause | None:
    """Why a block is not held again after the phase under way, its last; None where it is."""
    if recorded_end := find_recorded_block_end(debate):
        return recorded_end.cause
    if cause := find_until_cause(debate, block):
        return cause
    if count_passes_held(debate, block.first) >= block.limit:
        return "block_limit"
    return "max_rounds" if has_held_all_rounds(debate) else None


def find_recorded_block_end(debate: Debate) -> BlockEnded | None:
    """The end of a block in this round, where it is recorded."""
    return next((event for event in debate.ended_blocks if event.round == debate.round), None)


def count_passes_held(debate: Debate, first_phase: str) -> int:
    """How often the block that begins with this phase was begun."""
    return sum(entry.phase == first_phase for entry in debate.rounds)


def find_until_cause(debate: Debate, block: Block) -> EndCause | None:
    """Why a block ends that is held until something happens (`until`); None while it has not happened."""
    match block.until:
        case "consensus":
            return "consensus" if count_last_vote(debate).outcome in ("decided", "leaning") else None
        case "convergence":
            return None if find_convergence(debate) is None else "converged"
        case "moderator":
            start = max(entry.round for entry in debate.rounds if entry.phase == block.first)
            return find_moderator_word(debate, start)
        case "limit":
            return None
        case _:
            assert_never(block.until)


def next_phase(debate: Debate, end: TalkEnd | None) -> Phase | None:
    """The phase of the next round; None after the last."""
    phases, phase = debate.setup.phases, debate.phase
    assert phase is not None
    if phase.is_advice:
        return find_next_advice(debate)
    has_all = has_last_ballots(debate)
    later = tuple(p for p in phases[phases.index(phase) + 1 :] if not (p.is_private and has_all))
    if end:
        return next((phase for phase in later if not phase.is_talk), None)
    talking = sum(phase.is_talk for phase in later)
    if phase.block and find_block_end(debate, phase.block) is None:
        return find_phase(debate.setup, phase.block.first)
    if phase.repeats and debate.talk_round_count + talking < debate.max_rounds:
        return phase
    return next(iter(later), None)


def find_next_advice(debate: Debate) -> Phase | None:
    """The next phase of the answer format: an exchange or a report only where the budget pays for it."""
    for phase in list_next_phases(debate):
        if phase.wants == "review" or pays_for_advice(debate, phase):
            return phase
    return next((phase for phase in debate.setup.phases if not phase.is_advice), None)


def pays_for_advice(debate: Debate, phase: Phase) -> bool:
    """Whether the limits pay for a phase that could be left out. An exchange leaves the writer a call."""
    calls = count_model_seats(debate, phase_seats(debate.setup, phase)) + (phase.wants == "exchange")
    return debate.limits.on_budget == "pause" or compute_remaining(debate).calls >= calls


def comes_after_verdict(phase: Phase) -> bool:
    """Whether a phase, the result or the baseline, needs the verdict to be there."""
    return phase.participants == "synthesizer" or phase.is_baseline


def can_follow(debate: Debate, phase: Phase) -> bool:
    """Whether the phase may begin.

    Phases keep their order, and synthesis and baseline need the verdict if there is one.
    """
    if comes_after_verdict(phase) and verdict_source(debate.setup) and debate.verdict is None:
        return False
    current = debate.phase
    if current is None:
        return True
    phases, block = debate.setup.phases, current.block
    if phases.index(current) < phases.index(phase) or (current is phase and phase.repeats):
        return True
    if block is None or block.first != phase.name or find_recorded_block_end(debate):
        return False
    return count_passes_held(debate, block.first) < block.limit


def advance(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[Event, ...]:
    """The events after a finished round: the next round, or the verdict and the end."""
    phase = debate.phase
    if phase is None:
        return (build_phase_entered(debate, debate.setup.phases[0], None),)
    convergence = build_converged(debate)
    alert_events = build_alert(debate, terminate_when)
    # The end is looked up in the debate with its alert: a challenge holds the talk up, and may add a round.
    debate = add_alert(debate, alert_events)
    end = find_talk_end(debate, terminate_when)
    successor = next_phase(debate, end)
    findings = (
        *build_passages(debate),
        *convergence,
        *alert_events,
        *build_block_ended(debate, successor, end),
    )
    verdict: tuple[Event, ...] = ()
    if debate.verdict is None and (successor is None or comes_after_verdict(successor)):
        verdict = build_verdict_events(debate)
    verdict = tuple(event for event in verdict if event not in findings)  # one vote may make both
    if successor is None:
        cause, detail = end or TalkEnd("phases_held")
        has_nothing = bool(verdict_source(debate.setup)) and not (verdict or debate.verdict)
        ending: Literal["concluded", "truncated"] = "truncated" if has_nothing else "concluded"
        return *findings, *verdict, Ended(ending=ending, cause=cause, detail=detail)
    handoffs = build_handoff_events(debate) if successor.order == "handoff" else ()
    return *findings, *verdict, *handoffs, build_phase_entered(debate, successor, end, handoffs)


def build_budget_end(debate: Debate, reason: str, *, begins_round: bool = False) -> tuple[Event, ...]:
    """What follows where the budget pays for no call more: the verdict on what was said, a pause, or the end.

    `begins_round`: a round of talk is to begin, and the budget does not pay for all of it.
    """
    phase = debate.phase
    is_talk = begins_round or (phase is not None and phase.is_talk and not debate.is_concluding)
    can_conclude = is_talk and bool(debate.turns)
    or_conclude = ", or conclude" * can_conclude
    pause = Paused(cause="budget", reason=f"{reason}. Extend the limits{or_conclude}.")
    if debate.limits.on_budget == "pause":
        return (pause,)
    if can_conclude:
        return (TalkConcluded(cause="budget", round=debate.round, reason=reason),)
    if debate.verdict:  # without the result
        return (Ended(ending="concluded", cause="budget", detail=reason),)
    if phase is not None and not is_talk and not phase.is_talk:
        slots, quorum = compute_quorum(debate, phase)
        if not quorum or any(slot.key in debate.answered_slots for slot in slots):
            return advance(debate, None)  # with the judgments or ballots so far
    if debate.turns:
        return (pause,)  # turns that were paid for can be used with other limits
    return (Ended(ending="truncated", cause="budget", detail=reason),)


def build_alert(
    debate: Debate, terminate_when: TerminateWhen | None = None
) -> tuple[Alerted | RoundsExtended, ...]:
    """What signs of hollow agreement bring after a round: an alert, and a round more where its challenge needs one."""
    alert = compute_alert(debate)
    if alert and wants_challenge(debate):
        # A challenge counts only if it leads to a round in which it can be answered: try it on a copy.
        challenge = alert.model_copy(update={"challenged": True})
        debate_after = add_alert(
            debate, (challenge, *build_extension(add_alert(debate, (challenge,)), terminate_when))
        )
        successor = next_phase(debate_after, find_talk_end(debate_after, terminate_when))
        alert = challenge if successor and successor.is_talk else alert
    debate_after = add_alert(debate, (alert,)) if alert else debate
    return (*((alert,) if alert else ()), *build_extension(debate_after, terminate_when))


def add_alert(debate: Debate, events: tuple[Alerted | RoundsExtended, ...]) -> Debate:
    for event in events:
        if isinstance(event, Alerted):
            debate = add_ballot_event(debate, event)
        else:
            debate = replace(debate, interventions=(*debate.interventions, event))
    return debate


def build_extension(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[RoundsExtended, ...]:
    """A round more for a challenge, where none of the talk is left."""
    successor = next_phase(debate, find_talk_end(debate, terminate_when)) if is_challenged(debate) else None
    if not is_challenged(debate) or debate.is_concluding or (successor and successor.is_talk):
        return ()
    reason = "a challenge needs a round to be answered in"
    return (RoundsExtended(round=debate.round, rounds=1, reason=reason, alert=debate.round),)


def build_block_ended(debate: Debate, successor: Phase | None, end: TalkEnd | None) -> tuple[Event, ...]:
    """The end of the block under way, if the next round is not one of its phases."""
    phase = debate.phase
    assert phase is not None
    block = find_block(debate.setup.phases, phase)
    if not block or successor in block or find_recorded_block_end(debate):
        return ()
    cause = end.cause if end else phase.block and find_block_end(debate, phase.block)
    first_phase = block[0].name
    passes = count_passes_held(debate, first_phase)
    agreement = find_block_agreement(debate, phase) if cause == "consensus" else ()
    block_end = BlockEnded(block=first_phase, round=debate.round, passes=passes, cause=cause or "phases_held")
    return *agreement, block_end


def find_block_problem(debate: Debate, event: BlockEnded) -> str:
    """Why no block of phases can end so now; "" where one can."""
    block = find_block(debate.setup.phases, debate.phase) if debate.phase else ()
    if not block or block[0].name != event.block or event.round != debate.round:
        return "no block ends here"
    return "it is recorded already" if find_recorded_block_end(debate) else ""


def find_block_agreement(debate: Debate, phase: Phase) -> tuple[Agreed, ...]:
    """The consensus that ends a block of phases in this one, until it is recorded."""
    if not phase.block or find_block_end(debate, phase.block) != "consensus":
        return ()
    count = count_last_vote(debate)
    agreement = build_agreed(debate, count.votes, count.ahead)
    return () if agreement in debate.agreements else (agreement,)


def is_agreed(debate: Debate, event: Agreed) -> bool:
    """Whether the votes of this round make this consensus. A fork does not check what it took over."""
    phase = debate.phase
    consequences = (*find_block_agreement(debate, phase), *build_verdict_events(debate)) if phase else ()
    is_inherited = event.round <= debate.setup.forked_at_round
    return event.round == debate.round and (is_inherited or event in consequences)


def build_phase_entered(
    debate: Debate, phase: Phase, end: TalkEnd | None, handoff_events: tuple[Event, ...] = ()
) -> PhaseEntered:
    number = debate.round + 1
    order = compute_seat_order(debate.setup, phase, number)
    if phase.order == "handoff":
        choices = [fact for fact in (*debate.handoffs, *handoff_events) if isinstance(fact, HandedOff)]
        # The hand-off of this round is recorded together with this fact, so it is not in the debate yet.
        next_names = [fact.to for fact in choices if fact.round == debate.round]
        order = (*next_names, *debate.names)[:1]
    because, detail = end or ("", "")
    return PhaseEntered(phase=phase.name, round=number, order=order, because=because, detail=detail)
