"""What follows a finished round: the next round, or the verdict and the end of the debate.

A repeating phase takes every remaining round of talk, less one for each later phase of talk. The talk ends
early when a caller concludes it, by the moderator's decision, or by `terminate_when`; the verdict then
follows from what was said. A phase that closes the talk comes after all rounds of it, on top of `max_rounds`.
A pass over a block of phases is completed, and then looked at: it is held again until consensus, convergence, the
moderator's word or its limit. What ends the whole talk (a request, a budget, `max_rounds`) ends its blocks too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

from server.debate.ballots.challenges import add_ballot_event, find_alert, is_challenged, wants_challenge
from server.debate.ballots.convergence import build_converged, find_block_problem, find_convergence
from server.debate.ballots.waves import has_last_ballots
from server.debate.documents.passages import build_passages, find_passage_problem
from server.debate.facts.answers import (
    HandedOff,
    PassageRead,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
)
from server.debate.facts.beliefs import Agreed, Alerted, Vote
from server.debate.facts.causes import EndCause
from server.debate.facts.events import (
    BlockEnded,
    CodeEvent,
    Ended,
    Event,
    PhaseEntered,
    RoundClosed,
    RoundOpened,
)
from server.debate.facts.interventions import RoundsExtended, TalkConcluded
from server.debate.facts.setup.phases import Phase, find_block
from server.debate.rules.speaking_order import build_handoff_events, compute_seat_order
from server.debate.state.debate import Debate, find_phase, replace
from server.debate.state.seats import phase_seats, seat_models
from server.debate.votes.counting import Count, count_votes
from server.debate.votes.panel import apply_voting_rule, build_agreed, compute_ballot_vote, list_seats
from server.debate.votes.verdict import build_verdict_events
from server.debate.votes.voters import verdict_source

TerminateWhen = Callable[[Debate], bool]
"""A pure, total predicate, called after each round of talk: whether the talk ends."""

PromptFunction = Callable[[Debate, str], str]
"""A pure, total function, called before each round: what the prompt of this seat says, in place of a fixed text."""


@dataclass(frozen=True, slots=True)
class CallerCode:
    """Code of the process that opened a debate. It ends with that process; what it returned is recorded."""

    terminate_when: TerminateWhen | None = None
    prompts: Mapping[str, PromptFunction] = field(default_factory=dict)
    """By seat; "" for every seat that has no prompt of its own."""

    def __bool__(self) -> bool:
        return bool(self.terminate_when or self.prompts)


NO_CODE = CallerCode()


CUT_OFF: frozenset[EndCause] = frozenset({"request", "budget"})
"""Causes after which nobody speaks again."""


class TalkEnd(NamedTuple):
    """Why the talk is over."""

    cause: EndCause
    detail: str = ""


def advance(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[Event, ...]:
    """The events after a finished round: the next round, or the verdict and the end."""
    phase = debate.phase
    if phase is None:
        return (build_phase_entered(debate, debate.setup.phases[0], None),)
    converged = build_converged(debate)
    alerted = build_alert(debate, terminate_when)
    debate = add_alert(debate, alerted)
    end = find_talk_end(debate, terminate_when)
    following = next_phase(debate, end)
    ended = (*build_passages(debate), *converged, *alerted, *build_block_ended(debate, following, end))
    verdict: tuple[Event, ...] = ()
    if debate.verdict is None and (following is None or comes_after_verdict(following)):
        verdict = build_verdict_events(debate)
    verdict = tuple(event for event in verdict if event not in ended)  # one vote may make both
    if following is None:
        cause, detail = end or TalkEnd("phases_held")
        return *ended, *verdict, Ended(ending="concluded", cause=cause, detail=detail)
    handed = build_handoff_events(debate) if following.order == "handoff" else ()
    return *ended, *verdict, *handed, build_phase_entered(debate, following, end, handed)


def build_alert(
    debate: Debate, terminate_when: TerminateWhen | None = None
) -> tuple[Alerted | RoundsExtended, ...]:
    """What signs of hollow agreement bring after a round: an alert, and a round more where its challenge needs one."""
    alert = find_alert(debate)
    if alert and wants_challenge(debate):
        challenged = alert.model_copy(update={"challenged": True})
        at = add_alert(
            debate, (challenged, *build_extension(add_alert(debate, (challenged,)), terminate_when))
        )
        following = next_phase(at, find_talk_end(at, terminate_when))
        alert = challenged if following and following.is_talk else alert
    at = add_alert(debate, (alert,)) if alert else debate
    return (*((alert,) if alert else ()), *build_extension(at, terminate_when))


def add_alert(debate: Debate, events: tuple[Alerted | RoundsExtended, ...]) -> Debate:
    for event in events:
        if isinstance(event, Alerted):
            debate = add_ballot_event(debate, event)
        else:
            debate = replace(debate, interventions=(*debate.interventions, event))
    return debate


def build_extension(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[RoundsExtended, ...]:
    """A round more for a challenge, where none of the talk is left and the format allows one."""
    following = next_phase(debate, find_talk_end(debate, terminate_when)) if is_challenged(debate) else None
    if not is_challenged(debate) or (following and following.is_talk):
        return ()
    is_allowed = debate.max_rounds < debate.setup.challenges.most_rounds and not debate.is_concluding
    reason = "a challenge needs a round to be answered in"
    extended = RoundsExtended(round=debate.round, rounds=1, reason=reason, alert=debate.round)
    return (extended,) if is_allowed else ()


def find_talk_end(debate: Debate, terminate_when: TerminateWhen | None = None) -> TalkEnd | None:
    """Why the talk is over after this round; None while it goes on."""
    phase, entered = debate.phase, debate.rounds[-1]
    assert phase is not None
    if debate.skipped:
        return TalkEnd("skipped")
    if entered.because:
        return TalkEnd(entered.because, entered.detail)
    if concluded := debate.find_interventions(TalkConcluded):
        last = concluded[-1]
        return TalkEnd(last.cause, last.reason if last.cause == "budget" else "")
    if phase.is_talk and (cause := find_stop_cause(debate, terminate_when)):
        return TalkEnd(cause)
    phases = debate.setup.phases
    ends_block = find_block_end(debate, phase) if phase.block else None
    if ends_block == "max_rounds":
        return TalkEnd(ends_block)
    more = any(later.is_talk and not later.closes_talk for later in phases[phases.index(phase) + 1 :])
    goes_on = next_phase(debate, None) in (find_block(phases, phase) or (phase,))
    return None if more or goes_on else TalkEnd(ends_block or "phases_held")


def build_block_ended(debate: Debate, following: Phase | None, end: TalkEnd | None) -> tuple[Event, ...]:
    """The end of the block under way, if the next round is not one of its phases."""
    phase = debate.phase
    assert phase is not None
    block = find_block(debate.setup.phases, phase)
    is_recorded = any(ended.round == debate.round for ended in debate.ended_blocks)
    if not block or following in block or is_recorded:
        return ()
    cause = end.cause if end else find_block_end(debate, phase)
    first = block[0].name
    passes = sum(entered.phase == first for entered in debate.rounds)
    agreed = find_block_agreement(debate, phase) if cause == "consensus" else ()
    ended = BlockEnded(block=first, round=debate.round, passes=passes, cause=cause or "phases_held")
    return *agreed, ended


def find_block_agreement(debate: Debate, phase: Phase) -> tuple[Agreed, ...]:
    """The consensus that ends a block of phases in this one, until it is recorded."""
    if not phase.block or find_block_end(debate, phase) != "consensus":
        return ()
    agreed = build_agreed(debate, list_last_votes(debate), count_last_vote(debate).ahead)
    return () if agreed in debate.agreements else (agreed,)


def is_agreed(debate: Debate, event: Agreed) -> bool:
    """Whether votes agreed so in this round. What a fork took over was found in the debate that it is from."""
    phase = debate.phase
    following = (*find_block_agreement(debate, phase), *build_verdict_events(debate)) if phase else ()
    is_inherited = event.round <= debate.setup.forked_at_round
    return event.round == debate.round and (is_inherited or event in following)


def build_predicate_lost(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[Event, ...]:
    """That nobody can ask the caller's predicate after this round, once for a debate."""
    phase = debate.phase
    is_asked = phase is not None and phase.is_talk and not find_talk_end(debate)
    is_lost = debate.setup.has_predicate and terminate_when is None and debate.predicate_lost is None
    return (PredicateLost(round=debate.round),) if is_lost and is_asked else ()


CourseFact = CodeEvent | BlockEnded | PassageRead | Agreed
"""What follows in the course of a debate, besides rounds and votes."""


def find_course_problem(debate: Debate, event: CourseFact) -> str:
    """Why an event about the caller's code, or a consensus, is not possible; "" where it is."""
    setup = debate.setup
    match event:
        case BlockEnded():
            return find_block_problem(debate, event)
        case PassageRead():
            return find_passage_problem(debate, event)
        case Agreed():
            return "" if is_agreed(debate, event) else "it does not follow from the votes"
        case PredicateLost():
            is_possible = setup.has_predicate and debate.predicate_lost is None
        case PromptFunctionsLost():
            is_possible = bool(setup.prompt_functions) and debate.prompt_functions_lost is None
        case PromptsComputed():
            seats = {prompt.seat for prompt in event.prompts}
            is_possible = bool(setup.prompt_functions) and seats <= seat_models(setup).keys()
        case _:
            assert_never(event)
    return "" if is_possible else "there is no such code, or it is lost already"


def apply_course_event(debate: Debate, event: CourseFact) -> Debate:
    match event:
        case BlockEnded():
            return replace(debate, ended_blocks=(*debate.ended_blocks, event))
        case PassageRead():
            return replace(debate, passages=(*debate.passages, event))
        case Agreed():
            return replace(debate, agreements=(*debate.agreements, event))
        case PredicateLost():
            return replace(debate, predicate_lost=event)
        case PromptFunctionsLost():
            return replace(debate, prompt_functions_lost=event)
        case PromptsComputed():
            return replace(debate, computed_prompts=(*debate.computed_prompts, event))
        case _:
            assert_never(event)


def build_phase_entered(
    debate: Debate, phase: Phase, end: TalkEnd | None, handoff_events: tuple[Event, ...] = ()
) -> PhaseEntered:
    number = debate.round + 1
    order = compute_seat_order(debate.setup, phase, number)
    if phase.order == "handoff":
        choices = [fact for fact in (*debate.handoffs, *handoff_events) if isinstance(fact, HandedOff)]
        chosen = [fact.to for fact in choices if fact.round == debate.round]
        order = (*chosen, *debate.names)[:1]
    because, detail = end or ("", "")
    return PhaseEntered(phase=phase.name, round=number, order=order, because=because, detail=detail)


def find_stop_cause(debate: Debate, terminate_when: TerminateWhen | None) -> EndCause | None:
    """Why no round of talk follows, in this order of precedence; None where one does."""
    phase = debate.phase
    assert phase is not None
    cause = None if is_in_moderated_block(debate, phase) else find_moderator_cause(debate, debate.round)
    following = next_phase(debate, None) if find_block(debate.setup.phases, phase) else phase
    is_held_up = is_challenged(debate)
    causes: dict[EndCause, bool] = {
        "settled": cause == "settled" and not is_held_up,
        "max_turns": 0 < debate.max_turns <= len(debate.turns),
        "max_rounds": debate.talk_round_count >= debate.max_rounds and bool(following and following.is_talk),
        "moderator_done": cause == "moderator_done",
        "converged": debate.setup.stop == "on" and find_convergence(debate) is not None and not is_held_up,
    }
    if cause := next((cause for cause, holds in causes.items() if holds), None):
        return cause
    return "terminate_when" if terminate_when and terminate_when(debate) else None


def next_phase(debate: Debate, end: TalkEnd | None) -> Phase | None:
    """The phase of the next round; None after the last."""
    phases, phase = debate.setup.phases, debate.phase
    assert phase is not None
    has_all = has_last_ballots(debate)
    later = tuple(p for p in phases[phases.index(phase) + 1 :] if not (p.is_private and has_all))
    if debate.skipped:
        return next((phase for phase in later if comes_after_verdict(phase)), None)
    if end:
        return next(
            (phase for phase in later if not phase.is_talk or is_closing_due(debate, phase, end)), None
        )
    talking = sum(phase.is_talk and not phase.closes_talk for phase in later)
    if phase.block and find_block_end(debate, phase) is None:
        return find_phase(debate.setup, phase.block.first)
    if phase.repeats and debate.talk_round_count + talking < debate.max_rounds:
        return phase
    return next(iter(later), None)


def comes_after_verdict(phase: Phase) -> bool:
    """Whether a phase, the result or the baseline, needs the verdict to be there."""
    return phase.participants == "synthesizer" or phase.is_baseline


def is_closing_due(debate: Debate, phase: Phase, end: TalkEnd) -> bool:
    """Whether the talk, which is over, is closed in this phase: not where it was cut off, or ended together."""
    if not phase.closes_talk or end.cause in CUT_OFF:
        return False
    held = (debate.round_phase(entered.round) for entered in reversed(debate.rounds))
    return not next(phase for phase in held if phase.is_talk).is_written_together


def can_follow(debate: Debate, phase: Phase) -> bool:
    """Whether the phase may begin.

    Phases keep their order, and synthesis and baseline need the verdict if there is one.
    """
    if comes_after_verdict(phase) and verdict_source(debate.setup) and debate.verdict is None:
        return False
    here = debate.phase
    if here is None:
        return True
    phases, block = debate.setup.phases, here.block
    if phases.index(here) < phases.index(phase) or (here is phase and phase.repeats):
        return True
    has_ended = any(ended.round == debate.round for ended in debate.ended_blocks)
    held = sum(entered.phase == here.name for entered in debate.rounds)
    return block is not None and block.first == phase.name and held < block.limit and not has_ended


def find_block_end(debate: Debate, phase: Phase) -> EndCause | None:
    """Why a block is not held again after this phase, its last; None where it is."""
    block = phase.block
    assert block is not None
    if recorded := next((ended for ended in debate.ended_blocks if ended.round == debate.round), None):
        return recorded.cause
    start = max(entered.round for entered in debate.rounds if entered.phase == block.first)
    if block.until == "consensus" and count_last_vote(debate).outcome in ("decided", "leaning"):
        return "consensus"
    if block.until == "convergence" and find_convergence(debate) is not None:
        return "converged"
    if block.until == "moderator" and (cause := find_moderator_cause(debate, start)):
        return cause
    if sum(entered.phase == phase.name for entered in debate.rounds) >= block.limit:
        return "block_limit"
    return "max_rounds" if debate.talk_round_count >= debate.max_rounds else None


def count_last_vote(debate: Debate) -> Count:
    """The count of the last vote, counted as every vote is. Every pass of a block until consensus holds one."""
    votes = list_last_votes(debate)
    threshold = None if debate.voting else debate.threshold
    return apply_voting_rule(debate, votes, count_votes(list_seats(debate, votes), threshold=threshold))


def list_last_votes(debate: Debate) -> tuple[Vote, ...]:
    phases = (debate.round_phase(entered.round) for entered in reversed(debate.rounds))
    seats = phase_seats(debate.setup, next(phase for phase in phases if phase.is_vote))
    return tuple(compute_ballot_vote(debate, seat) for seat in seats)


def find_moderator_cause(debate: Debate, since_round: int) -> EndCause | None:
    """How the moderator ended a block since that round: by settling the question, or by opening a last round."""
    facts = debate.events_since(since_round)
    if any(isinstance(fact, RoundClosed) and fact.settled for fact in facts):
        return "settled"
    return "moderator_done" if any(isinstance(fact, RoundOpened) and fact.done for fact in facts) else None


def is_in_moderated_block(debate: Debate, phase: Phase) -> bool:
    """Whether the moderator's word ends the block that this phase is in, and not the talk."""
    block = find_block(debate.setup.phases, phase)
    return bool(block) and block[-1].block is not None and block[-1].block.until == "moderator"
