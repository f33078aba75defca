"""What readers are not shown yet: answers of a round that the caller is to write without having seen them.

A client that may write the caller's turn cannot be told from another one, so that nobody is shown them before the
caller's own answers are in. The record has them all the time, and so has its export as JSON.
"""

from collections.abc import Collection

from server.debate.ballots.waves import is_private_ballot
from server.debate.facts.events import Event, Failed, SlotEvent
from server.debate.facts.interventions import ModelReplaced
from server.debate.facts.setup.seats import WRITTEN
from server.debate.rules.calls import pending_calls
from server.debate.rules.schedule import build_slot_groups
from server.debate.state.debate import Debate, replace
from server.debate.state.seats import seat_models

AnswerKey = tuple[int, str, int]  # round, seat, slot index

NOT_SHOWN_YET = "not shown before the caller's own answer is in"


def has_callers_seat(debate: Debate) -> bool:
    """Whether a seat is, or was, the caller's: only then answers may be hidden for a while."""
    replaced = {made.model for made in debate.find_interventions(ModelReplaced)}
    return not WRITTEN.isdisjoint((*seat_models(debate.setup).values(), *replaced))


def find_blind_answers(debate: Debate) -> frozenset[AnswerKey]:
    """The answers that are asked for together with one of the caller's that is still awaited."""
    if debate.ended or not has_callers_seat(debate):
        return frozenset()
    awaited = {call.slot_key for call in pending_calls(debate) if call.model in WRITTEN}
    together = (group for group in build_slot_groups(debate) if awaited & {slot.key for slot in group})
    return frozenset((debate.round, slot.seat, slot.index) for slot in next(together, ()))


def find_private_ballots(debate: Debate) -> frozenset[AnswerKey]:
    """Private ballots of a debate in which a caller has a seat, which are shown when it has ended."""
    if debate.ended or not has_callers_seat(debate):
        return frozenset()
    cast = (*debate.private_ballots, *debate.superseded, *debate.samples)
    return frozenset((b.round, b.seat, b.slot_index) for b in cast if is_private_ballot(b.slot_index))


def is_blind(event: Event, blind: Collection[AnswerKey]) -> bool:
    return isinstance(event, SlotEvent) and (event.round, event.seat, event.slot_index) in blind


def list_blind_seats(debate: Debate) -> list[str]:
    """Who has answered what is shown when the round is complete: not private ballots, which are shown at the end."""
    blind = {key for key in find_blind_answers(debate) if not is_private_ballot(key[2])}
    return list(dict.fromkeys(answer.seat for answer in debate.answers if is_blind(answer, blind)))


def hide_blind_answers(debate: Debate) -> Debate:
    """The debate without these answers, and without what is told of those that could not be used."""
    blind = find_blind_answers(debate) | find_private_ballots(debate)
    if not blind:
        return debate

    def hide(failure: Failed) -> Failed:
        return failure.model_copy(update={"detail": NOT_SHOWN_YET}) if is_blind(failure, blind) else failure

    return replace(
        debate,
        transcript_events=tuple(event for event in debate.transcript_events if not is_blind(event, blind)),
        turns=tuple(turn for turn in debate.turns if not is_blind(turn, blind)),
        ballots=tuple(ballot for ballot in debate.ballots if not is_blind(ballot, blind)),
        judgments=tuple(judgment for judgment in debate.judgments if not is_blind(judgment, blind)),
        superseded=tuple(vote for vote in debate.superseded if not is_blind(vote, blind)),
        research=tuple(found for found in debate.research if not is_blind(found, blind)),
        failures=tuple(map(hide, debate.failures)),
        round_failures=tuple(map(hide, debate.round_failures)),
    )
