"""What clients may see of a debate, decided only here: hidden seats, and what the caller may not see yet.

A debate hides seats from clients, by kind or by name; with a debater it also hides what is made of the words and
beliefs of all. If the caller must write an answer without having seen the others of its round, those are shown when its
own is in; private ballots are shown at the end. This holds for all clients: nobody can tell which one writes the
caller's turn. The record always has everything, and so has its export as JSON.
"""

from collections.abc import Collection
from typing import Any, TypeVar, assert_never

from server.debate.ballots.waves import is_private_ballot
from server.debate.facts.answers import (
    DefaultPlanUsed,
    HandedOff,
    HandoffFailed,
    Lookup,
    Measured,
    PassageRead,
    Reading,
    Researched,
    SlotFact,
)
from server.debate.facts.beliefs import Agreed, Alerted, Converged
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.events import (
    Balloted,
    BlockEnded,
    CodeEvent,
    EndEvent,
    Event,
    Failed,
    PhaseEntered,
    SlotEvent,
)
from server.debate.facts.fact import Fact
from server.debate.facts.interventions import Challenged, InterventionFact, ModelReplaced
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import WRITTEN, SeatKind
from server.debate.rules.calls import pending_calls
from server.debate.rules.schedule import build_slot_groups
from server.debate.seats.registry import find_seat
from server.debate.state.debate import Debate, replace
from server.debate.state.memo import once
from server.debate.state.seats import NOT_SHOWN, hides, hides_any, seat_models, show_detail

AnswerKey = tuple[int, str, int]  # round, seat, slot index

NOT_SHOWN_YET = "not shown before the caller's own answer is in"

ANSWER_FIELDS = ("transcript_events", "turns", "readings", "ballots", "judgments", "advice", "superseded")
"""Where a debate keeps answers."""

Public = (
    Opened
    | CodeEvent
    | PhaseEntered
    | BlockEnded
    | DefaultPlanUsed
    | HandedOff
    | Agreed
    | EscalationFact
    | EarlierWithdrawn
    | EndEvent
)
"""Facts without words of a seat, or with words that are part of the verdict."""

E = TypeVar("E", bound=Fact)


def is_visible(debate: Debate, kind: SeatKind) -> bool:
    """Whether clients may see the answers of every seat of a kind, and so what is made of all of them."""
    return not hides_any(debate.setup, debate.setup.hidden_from_client, kind)


def shows_seat(debate: Debate, seat: str) -> bool:
    """Whether clients may see the answers of a seat."""
    return not hides(debate.setup, debate.setup.hidden_from_client, seat)


def shows_beliefs(debate: Debate) -> bool:
    """Whether clients may see what is computed from the private ballots of all debaters."""
    return is_visible(debate, "debaters") and not keeps_ballots(debate)


@once
def has_callers_seat(debate: Debate) -> bool:
    """Whether the caller has or had a seat, also in inherited rounds: only then answers are hidden for a time."""
    inherited = debate.answers if debate.setup.forked_at_round else ()
    models = {*seat_models(debate.setup).values(), *(answer.usage.model for answer in inherited)}
    replacements = {intervention.model for intervention in debate.find_interventions(ModelReplaced)}
    return not WRITTEN.isdisjoint(models | replacements)


def keeps_ballots(debate: Debate) -> bool:
    """Whether private ballots are hidden until the end: a caller with a seat could follow them."""
    return debate.ended is None and has_callers_seat(debate)


def list_blind_answers(debate: Debate) -> frozenset[AnswerKey]:
    """The answers that are asked for at the same time as one that the caller still has to write."""
    if not keeps_ballots(debate):
        return frozenset()
    awaited_keys = {call.slot_key for call in pending_calls(debate) if call.model in WRITTEN}
    together = (group for group in build_slot_groups(debate) if awaited_keys & {slot.key for slot in group})
    return frozenset((debate.round, slot.seat, slot.index) for slot in next(together, ()))


def is_blind(event: Event, blind: Collection[AnswerKey]) -> bool:
    return isinstance(event, SlotEvent | PassageRead) and (event.round, event.seat, event.slot_index) in blind


def is_private(event: Fact) -> bool:
    """Whether it is a private ballot, or a failure to give one."""
    return isinstance(event, Balloted | Failed) and is_private_ballot(event.slot_index)


def list_blind_seats(debate: Debate) -> list[str]:
    """Who has answered what is shown when the round is complete; private ballots are shown later, at the end."""
    blind = {key for key in list_blind_answers(debate) if not is_private_ballot(key[2])}
    return list(dict.fromkeys(answer.seat for answer in debate.answers if is_blind(answer, blind)))


def is_hidden(debate: Debate, event: Event) -> bool:  # noqa: PLR0911  (a table of cases)
    """Whether clients see only that an event happened: because of its seat, or because of its sources."""
    if isinstance(event, Public):
        return False
    match event:
        case Converged() | Measured() | Alerted():
            return not shows_beliefs(debate)
        case Challenged():
            return event.alert > 0 and not is_visible(debate, "debaters")  # it names the signals of an alert
        case InterventionFact():
            return False  # the words of callers
        case Failed() | HandoffFailed():
            return hide_words(debate, event) is not event
        case Reading():
            return not find_seat(event).is_visible(debate)
        case SlotFact() | PassageRead():
            is_kept = is_private(event) and keeps_ballots(debate)
            return is_kept or not shows_seat(debate, event.seat)
        case _:
            assert_never(event)


def hide_words(debate: Debate, event: E) -> E:
    """A failure or a look-up without the words of a seat that clients may not read; others unchanged."""
    changes: dict[str, Any] = {}
    if isinstance(event, Researched) and not shows_seat(debate, event.seat):
        changes["lookups"] = tuple(map(hide_lookup, event.lookups))
    elif isinstance(event, Failed | HandoffFailed):
        is_kept = is_private(event) and keeps_ballots(debate)
        detail = NOT_SHOWN_YET if is_kept else show_detail(debate.setup, event)
        changes |= {"detail": detail} if detail != event.detail else {}
    return event.model_copy(update=changes) if changes else event


def hide_lookup(lookup: Lookup) -> Lookup:
    """Only that there was one. One that no server was asked for holds no words of a model."""
    if not lookup.arguments:
        return lookup
    failure = NOT_SHOWN if lookup.failed else ""
    return lookup.model_copy(update={"arguments": "", "result": "", "failed": failure})


def hide_answers(debate: Debate) -> Debate:
    """The debate without answers that nobody may see yet, and without the passages that hidden seats asked for.

    Other words of hidden seats are still in it: each view counts them, or leaves them out.
    """
    if not (debate.setup.hidden_from_client or keeps_ballots(debate)):
        return debate
    blind, keeps = list_blind_answers(debate), keeps_ballots(debate)

    def is_shown(event: Event) -> bool:
        return not (is_blind(event, blind) or (keeps and is_private(event)))

    def hide(failure: Failed) -> Failed:
        return failure.model_copy(update={"detail": NOT_SHOWN_YET}) if is_blind(failure, blind) else failure

    rows = zip(debate.research, debate.research_versions, strict=True)
    research = [(event, version) for event, version in rows if is_shown(event)]
    return replace(
        debate,
        **{name: tuple(filter(is_shown, getattr(debate, name))) for name in ANSWER_FIELDS},
        research=tuple(event for event, _ in research),
        research_versions=tuple(version for _, version in research),
        passages=tuple(
            passage for passage in debate.passages if is_shown(passage) and not is_hidden(debate, passage)
        ),
        failures=tuple(map(hide, debate.failures)),
        round_failures=tuple(map(hide, debate.round_failures)),
    )
