"""What clients may see of a debate, decided here alone: whom it hides, and what the caller is not to see yet.

A debate hides seats from clients, by kind or by name, and with a debater what is made of the words and beliefs of all.
Answers of a round that the caller is to write without having seen them are shown when its own are in, private ballots
at the end. A client that may write the caller's turn cannot be told from another one, so that this holds for all. The
record has everything all the time, and so has its export as JSON.
"""

from collections.abc import Collection
from typing import Any, TypeVar

from server.debate.ballots.waves import is_private_ballot
from server.debate.facts.answers import (
    Extracted,
    HandoffFailed,
    Lookup,
    Measured,
    Observed,
    PassageRead,
    Researched,
)
from server.debate.facts.beliefs import Alerted, Converged, TalkSkipped
from server.debate.facts.events import (
    AnswerEvent,
    Balloted,
    Event,
    Failed,
    SlotEvent,
)
from server.debate.facts.fact import Fact
from server.debate.facts.interventions import Challenged, ModelReplaced
from server.debate.facts.setup.seats import WRITTEN, SeatKind
from server.debate.rules.calls import pending_calls
from server.debate.rules.schedule import build_slot_groups
from server.debate.state.debate import Debate, replace
from server.debate.state.memo import once
from server.debate.state.seats import NOT_SHOWN, hides, hides_any, seat_models, show_detail

AnswerKey = tuple[int, str, int]  # round, seat, slot index

NOT_SHOWN_YET = "not shown before the caller's own answer is in"

SEATED = AnswerEvent | Researched | PassageRead
"""What a seat says, looks up or asks for."""

E = TypeVar("E", bound=Fact)


def is_visible(debate: Debate, kind: SeatKind) -> bool:
    """Whether clients may see the answers of every seat of a kind, and so what is made of all of them."""
    return not hides_any(debate.setup.hidden_from_client, kind)


def shows_seat(debate: Debate, seat: str) -> bool:
    """Whether clients may see the answers of a seat."""
    return not hides(debate.setup.hidden_from_client, seat)


def shows_marks(debate: Debate) -> bool:
    """Whether clients may see what the observer alleges, with the words of debaters that it is about."""
    return is_visible(debate, "observer") and is_visible(debate, "debaters")


def shows_claims(debate: Debate) -> bool:
    """Whether clients may see what the analyst reads in turns."""
    return is_visible(debate, "analyst") and is_visible(debate, "debaters")


def shows_beliefs(debate: Debate) -> bool:
    """Whether clients may see what is computed from the private ballots of all debaters."""
    return is_visible(debate, "debaters") and not keeps_ballots(debate)


@once
def has_callers_seat(debate: Debate) -> bool:
    """Whether a seat is, or was, the caller's, in the rounds of a fork's parent too: only then answers are hidden."""
    models = {*seat_models(debate.setup).values(), *(answer.usage.model for answer in debate.answers)}
    replaced = {made.model for made in debate.find_interventions(ModelReplaced)}
    return not WRITTEN.isdisjoint(models | replaced)


def keeps_ballots(debate: Debate) -> bool:
    """Whether private ballots are shown only when it has ended: a caller who has a seat could go by them."""
    return debate.ended is None and has_callers_seat(debate)


def find_blind_answers(debate: Debate) -> frozenset[AnswerKey]:
    """The answers that are asked for together with one of the caller's that is still awaited."""
    if not keeps_ballots(debate):
        return frozenset()
    awaited = {call.slot_key for call in pending_calls(debate) if call.model in WRITTEN}
    together = (group for group in build_slot_groups(debate) if awaited & {slot.key for slot in group})
    return frozenset((debate.round, slot.seat, slot.index) for slot in next(together, ()))


def is_blind(event: Event, blind: Collection[AnswerKey]) -> bool:
    return isinstance(event, SlotEvent | PassageRead) and (event.round, event.seat, event.slot_index) in blind


def is_private(event: Fact) -> bool:
    """Whether it is a private ballot, or a failure to give one."""
    return isinstance(event, Balloted | Failed) and is_private_ballot(event.slot_index)


def list_blind_seats(debate: Debate) -> list[str]:
    """Who has answered what is shown when the round is complete: not private ballots, which are shown at the end."""
    blind = {key for key in find_blind_answers(debate) if not is_private_ballot(key[2])}
    return list(dict.fromkeys(answer.seat for answer in debate.answers if is_blind(answer, blind)))


def is_hidden(debate: Debate, event: Event) -> bool:
    """Whether clients see of an event only that it happened: because of its seat, or of what it is made of."""
    match event:
        case TalkSkipped() | Converged() | Measured() | Alerted():
            return not shows_beliefs(debate)
        case Challenged():
            return event.alert > 0 and not is_visible(debate, "debaters")  # it names signs of an alert
        case Failed() | HandoffFailed():
            return hide_words(debate, event) is not event
    is_of_debaters = isinstance(event, Observed | Extracted) and not is_visible(debate, "debaters")
    is_kept = is_of_debaters or (is_private(event) and keeps_ballots(debate))
    return is_kept or (isinstance(event, SEATED) and not shows_seat(debate, event.seat))


def hide_words(debate: Debate, event: E) -> E:
    """A failure or a look-up without the words of a seat that clients may not read; else the event itself."""
    changes: dict[str, Any] = {}
    if isinstance(event, Researched) and not shows_seat(debate, event.seat):
        changes["lookups"] = tuple(map(hide_lookup, event.lookups))
    elif isinstance(event, Failed | HandoffFailed):
        is_kept = is_private(event) and keeps_ballots(debate)
        detail = NOT_SHOWN_YET if is_kept else show_detail(debate.setup, event)
        changes |= {"detail": detail} if detail != event.detail else {}
    return event.model_copy(update=changes) if changes else event


def hide_lookup(found: Lookup) -> Lookup:
    """That there was one. Where no server could be asked, it holds no words of a model."""
    if not found.arguments:
        return found
    failed = NOT_SHOWN if found.failed else ""
    return found.model_copy(update={"arguments": "", "result": "", "failed": failed})


def hide_answers(debate: Debate) -> Debate:
    """The debate without the answers that nobody is to see yet, and without what hidden seats asked for in documents.

    What hidden seats said is still in it: each view counts it, or leaves it out.
    """
    if not (debate.setup.hidden_from_client or keeps_ballots(debate)):
        return debate
    blind, keeps = find_blind_answers(debate), keeps_ballots(debate)

    def is_shown(event: Event) -> bool:
        return not (is_blind(event, blind) or (keeps and is_private(event)))

    def hide(failure: Failed) -> Failed:
        return failure.model_copy(update={"detail": NOT_SHOWN_YET}) if is_blind(failure, blind) else failure

    return replace(
        debate,
        transcript_events=tuple(filter(is_shown, debate.transcript_events)),
        turns=tuple(filter(is_shown, debate.turns)),
        ballots=tuple(filter(is_shown, debate.ballots)),
        judgments=tuple(filter(is_shown, debate.judgments)),
        superseded=tuple(filter(is_shown, debate.superseded)),
        research=tuple(filter(is_shown, debate.research)),
        passages=tuple(read for read in debate.passages if is_shown(read) and not is_hidden(debate, read)),
        failures=tuple(map(hide, debate.failures)),
        round_failures=tuple(map(hide, debate.round_failures)),
    )
