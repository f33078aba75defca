"""What one seat alone reads before its task, and pieces of the last words that several seats share."""

from collections.abc import Iterator
from itertools import chain
from typing import assert_never

from server.debate.arguments.points import format_id, split_turn
from server.debate.arguments.sources import list_sources
from server.debate.documents.sections import PASSAGE_LENGTH
from server.debate.facts.events import Spoke
from server.debate.facts.quoting import quote_verbatim
from server.debate.facts.text import clean_line
from server.debate.prompts import wording
from server.debate.prompts.transcript import describe_record, show_text
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import order_sides, side_labels
from server.debate.state.memo import by_round
from server.debate.state.seats import find_seat_prompt

MAX_DIRECT_MESSAGES = 100
"""Messages between a debater and others that its prompt shows; older ones are left out (requirement D5)."""


def render_message(debate: Debate, message: Spoke) -> str:
    """The id of a message, and what it says."""
    (point,) = split_turn(debate, message).points
    name = format_id(point.id, side_labels(debate)[message.seat])
    return f"[{name}]\n{show_text(debate, message.text, 1, message.seen)}"


def render_passage_steps(debate: Debate, call: Call) -> Iterator[str]:
    """How a debater asks for passages of documents that it has read as a digest."""
    reader = debate.setup.reader
    if reader is None or call.task != "argument":
        return
    listed = [f"doc {s.number}" for s in list_sources(debate) if s.document and reader.has_digest(s.document)]
    left = reader.passage_characters - sum(passage.end - passage.start for passage in debate.passages)
    if left >= PASSAGE_LENGTH:
        yield wording.PASSAGE_STEPS.format(documents=", ".join(listed), document=listed[0])


def find_answered_message(debate: Debate, call: Call) -> Spoke:
    asked = (asked for asked, *_ in debate.round_exchanges(call.round))
    return next(one for one in asked if (one.seat, one.to) == (call.message_author, call.seat))


def render_identity(debate: Debate, call: Call) -> Iterator[str]:
    """Who a seat is, and how what it reads is ordered. A prompt of its own cannot say so: it was written before."""
    match call.task:
        case "argument" | "message" | "answer":
            debater = debate.debater(call.seat)
            identity, role = f"You are {side_labels(debate)[call.seat]}.", clean_line(debater.role)
            if debater.role == debater.stance:  # a role is no position
                yield f"{identity} Your role: {role}"
                return
            yield f"{identity} Your position: {clean_line(debater.stance)}"
            if role:
                yield f"Your role: {role}"
        case "ballot" | "judgment":
            if call.seat in debate.names:
                yield f"You were {side_labels(debate)[call.seat]}, and do not vote as such."
            elif debate.turns:
                yield describe_record(debate)
        case (
            "opening"
            | "closing"
            | "blind_answer"
            | "comparison"
            | "framing"
            | "digest"
            | "reading"
            | "measurement"
            | "deliverable"
            | ("advice" | "review" | "exchange" | "report" | "check")
        ):
            pass  # who leads, reads all there is as it is, or is not told who it is
        case _:
            assert_never(call.task)


def render_direct_messages(debate: Debate, call: Call) -> Iterator[str]:
    """The messages between this debater and others, which no other debater reads."""
    earlier = (found for number, found in list_exchanges(debate).items() if number < call.round)
    labels = side_labels(debate) | {call.seat: "you"}
    messages = [
        turn
        for turn in chain.from_iterable(chain.from_iterable(earlier))
        if call.seat in (turn.seat, turn.to) and debate.is_active(turn)
    ]
    for turn in messages[-MAX_DIRECT_MESSAGES:]:
        sender = labels[turn.seat].replace("you", "You")
        yield f"{sender} to {labels[turn.to]}, {turn.act}:\n{render_message(debate, turn)}"


@by_round
def list_exchanges(debate: Debate, round_number: int) -> dict[int, tuple[tuple[Spoke, ...], ...]]:
    """The messages between debaters by the round in which they were sent, each with its answer."""
    exchanges = debate.round_exchanges(round_number)
    return {round_number: exchanges} if exchanges else {}


def render_research(debate: Debate, call: Call) -> Iterator[str]:
    """The research results of this seat for this reply."""
    key = (*call.slot_key, call.round)
    numbers = {source.lookup: source.number for source in list_sources(debate)}
    lookups = [
        (lookup, numbers.get((index, place), 0))
        for index, research in enumerate(debate.research)
        if (research.seat, research.slot_index, research.round) == key
        for place, lookup in enumerate(research.lookups)
    ]
    if lookups:
        yield "What you looked up for this answer:"
    for lookup, number in lookups:
        result = f"It failed: {lookup.failed}" if lookup.failed else lookup.result
        cut = "\n[cut here]" if lookup.cut else ""
        name, arguments = clean_line(lookup.tool), clean_line(lookup.arguments)
        reference = f"(doc {number}) " if number else ""
        yield f"{reference}{name} {arguments}\n{quote_verbatim(result + cut)}"


def find_own_prompt(debate: Debate, call: Call) -> tuple[str, bool]:
    """(the seat's own prompt or "", whether it replaces the steps of its task) (requirements C14, C19).

    A judge's prompt is about finding for a side, and says nothing of whether pieces of advice are the same.
    """
    if call.task == "comparison":
        return "", False
    prompt, replaces = find_seat_prompt(debate.setup, call.seat)
    if call.seat in debate.setup.prompt_functions:
        prompt = debate.seat_prompts.get(call.seat, "")
    return prompt, replaces and bool(prompt)


def render_handoff_problems(debate: Debate, call: Call) -> Iterator[str]:
    for failure in debate.handoff_failures:
        if failure.round == call.round - 1:
            yield "The last speaker's choice could not be used, and you were drawn."
        own = [turn.round for turn in debate.turns if turn.seat == call.seat]
        if failure.seat == call.seat and failure.round == own[-1]:
            yield f"Your last choice of the next speaker could not be used: {clean_line(failure.detail)}."


def format_legend(debate: Debate, reading: int = 1) -> str:
    """Who is behind which label, for judges who are to know names (requirement C9); no other seat reads one."""
    return "; ".join(f"{label} is {name}" for label, name in order_sides(debate, reading).items()) + "."


def hands_over(debate: Debate, call: Call) -> bool:
    """Whether the reply names the next speaker."""
    return call.task == "argument" and debate.round_phase(call.round).order == "handoff"


def says_position(debate: Debate, call: Call) -> bool:
    """Whether the reply says whose position the debater holds now: in panels, where that may change."""
    return call.task == "argument" and debate.setup.brief == "panel" and not hands_over(debate, call)


def other_labels(debate: Debate, seat: str) -> tuple[str, ...]:
    """The labels of the debaters whom this one can address, and hand over to: in order, beginning after this one."""
    labels, place = tuple(side_labels(debate).values()), debate.names.index(seat)
    return (*labels[place + 1 :], *labels[:place])
