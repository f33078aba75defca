"""The row of a debate for lists, searches and sums: what follows from its entries, written with them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import assert_never

from server.debate.facts.answers import DefaultPlanUsed, HandedOff, PassageRead, SlotFact
from server.debate.facts.beliefs import Agreed
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.events import (
    BallotEvent,
    BlockEnded,
    CodeEvent,
    Concluded,
    Ended,
    Event,
    Paused,
    PhaseEntered,
    PositionsFramed,
    Recorded,
    Resumed,
    Spoke,
)
from server.debate.facts.interventions import InterventionFact, TurnRetracted, Untagged
from server.debate.facts.setup.opened import Opened
from server.debate.facts.text import format_heading
from server.debate.interventions.registry import find_action
from server.debate.machine.decide import status
from server.debate.rules.budget import compute_max_call_cost, estimate_next_call
from server.debate.state.debate import Debate
from server.debate.state.labels import name_sides
from server.debate.state.seats import find_own_models
from server.debate.views.answer import build_answer
from server.debate.views.names import name_event
from server.debate.views.state import has_own_request
from server.debate.views.verdict import read_made_position, winner_stance
from server.debate.views.visibility import has_callers_seat, is_visible, shows_seat
from server.engine.database.daily_budget import DaySum
from server.engine.database.ledger import build_debate_rows
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.values import list_values, name_value
from storage import LOCAL_OWNER
from storage.streams import StreamSummary

Unsearched = (
    CodeEvent
    | BlockEnded
    | DefaultPlanUsed
    | HandedOff
    | BallotEvent
    | PassageRead
    | Agreed
    | EscalationFact
    | EarlierWithdrawn
    | Concluded
    | Paused
    | Resumed
)
"""What has no words that somebody searches for. Those of a verdict are found from the end on."""


def build_stream_summary(
    debate: Debate,
    events: Sequence[Event],
    entries: Sequence[Recorded],
    days: Mapping[str, DaySum],
    owner: str = LOCAL_OWNER,
    ledger: str = "",
) -> StreamSummary:
    """The row of lists and searches. `events`: the new ones; `entries`, `days`: all, the new ones included.

    `ledger`: the one that its judgments are in; "" for none.

    With tags and turns that were taken away come the words of all entries: some of theirs may stand elsewhere, too.
    """
    removed_tags = {*list_removed_tags(debate, events)}
    removed_texts = {*removed_tags, *list_retracted_texts(debate, events)}
    searched = [entry.event for entry in entries] if removed_texts else events
    cost = sum((day_sum.estimate(Decimal(0)).cost for day_sum in days.values()), Decimal(0))
    price = Decimal(0)  # of an answer whose tokens were not counted
    if any(day_sum.uncounted for day_sum in days.values()):
        price = compute_max_call_cost(debate, estimate_next_call(debate))
    return StreamSummary(
        title=debate.setup.question,
        status=status(debate),
        details={
            "format": debate.setup.format,
            "round": debate.round,
            "outcome": debate.verdict.outcome if debate.verdict else "",
            "winner": debate.verdict.winner if debate.verdict else "",
            "winner_stance": winner_stance(debate),
            "position": format_heading(find_position(debate)),
            "tags": list(debate.tags),
            "models": list(dict.fromkeys(find_own_models(debate).values())),
            "cost_usd": f"{cost:f}",
            "forked_from": debate.setup.forked_from,
            "forked_import": debate.setup.forked_import,
            "mirror_of": debate.setup.mirror_of,
            "imported": entries[0].restored,
            "settled": debate.outcome is not None,
            "recalled": list(debate.setup.memory.ids) if debate.setup.memory else [],
            "runs_by_itself": debate.is_unattended and has_own_request(entries),
            "paused_until": debate.paused.until if debate.paused else "",
        },
        search_text=build_search_text(debate, searched),
        values={*list_values(debate, searched, cost)},
        removed_text="\n".join(sorted(removed_texts)),
        removed_values={name_value("tag", tag) for tag in removed_tags},
        spending={day: day_sum.estimate(price) for day, day_sum in days.items()},
        is_final=bool(debate.ended),
        judgments=build_debate_rows(debate, ledger),
        owner=owner,
        family=debate.setup.forked_root,
        parent=debate.setup.forked_from,
    )


def build_whole_summary(snapshot: DebateSnapshot) -> StreamSummary:
    """The row of lists and searches with the words of all entries."""
    events = [entry.event for entry in snapshot.entries]
    return build_stream_summary(
        snapshot.debate, events, snapshot.entries, snapshot.days, snapshot.owner, snapshot.ledger
    )


def build_search_text(debate: Debate, new_events: Iterable[Event]) -> str:
    """What the search index gets with events, without what is hidden from clients. `debate`: as it is after them.

    Turns come at once; where they may be hidden until the caller has answered, with the end of their round. Each
    event brings the same at any later state of its debate, but for tags and turns that were taken away, so that the
    index can be made anew from all events.
    """
    parts: list[str] = []
    waits = has_callers_seat(debate)
    for event in new_events:
        if isinstance(event, Unsearched):
            continue
        match event:
            case Opened():  # the id of a debate finds its forks, its mirror, and those that recalled it
                parts += [event.question, *list_held(debate, event.tags), event.forked_from, event.mirror_of]
                parts += [f"{d.name} {d.stance} {d.role}" for d in event.debaters]
                parts += [*(d.title for d in event.documents), *(event.memory.ids if event.memory else ())]
            case PositionsFramed():
                parts += [f"{d.name} {d.stance} {d.role}" for d in event.debaters]
            case InterventionFact():
                parts += find_action(event).list_words(debate, event)
            case Spoke():
                parts += list_turn_texts(debate, () if waits else [event])
            case PhaseEntered():
                is_last_shown = waits and event.round > 1
                parts += list_turn_texts(
                    debate, debate.round_events(event.round - 1) if is_last_shown else ()
                )
            case Ended():
                parts += list_turn_texts(debate, debate.round_events(debate.round) if waits else ())
                parts += list_result_texts(debate)
            case SlotFact():  # of what seats write, turns and the result are found
                pass
            case _:
                assert_never(event)
    return "\n".join(parts)


def find_position(debate: Debate) -> str:
    """What came out, where it is no debater's stance: the answer, or the position that judges made of the others."""
    is_answered = debate.setup.answering and debate.ended
    return build_answer(debate).recommendation if is_answered else read_made_position(debate)


def list_held(debate: Debate, tags: Iterable[str]) -> list[str]:
    """Those of the tags that the debate has."""
    return [tag for tag in tags if tag in debate.tags]


def list_turn_texts(debate: Debate, events: Iterable[Event]) -> list[str]:
    """What is to be found of turns: nothing of those that are hidden or were retracted."""
    turns = (turn for turn in events if isinstance(turn, Spoke) and shows_seat(debate, turn.seat))
    return [name_sides(debate, turn.text) for turn in turns if debate.is_active(turn)]


def list_removed_tags(debate: Debate, new_events: Iterable[Event]) -> Iterator[str]:
    for event in new_events:
        if isinstance(event, Untagged):
            yield from (tag for tag in event.tags if tag not in debate.tags)


def list_retracted_texts(debate: Debate, new_events: Iterable[Event]) -> Iterator[str]:
    """All turns that were retracted, where new events retract some."""
    if any(isinstance(event, TurnRetracted) for event in new_events):
        yield from (name_sides(debate, turn.text) for turn in debate.turns if not debate.is_active(turn))


def list_result_texts(debate: Debate) -> list[str]:
    verdict = debate.verdict and name_event(debate, debate.verdict)
    parts = [verdict.verdict, verdict.reasoning] if verdict else []
    if debate.deliverable and is_visible(debate, "synthesizer"):
        parts.append(name_event(debate, debate.deliverable).text)
    return parts
