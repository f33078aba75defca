"""The transcript as prompts quote it: question, positions and documents, then the rounds.

It only grows at its end, and is the same for every seat, with four exceptions: judges read each round in
the order drawn, or reversed; debaters who write at the same time do not see each other's turns; messages
between two debaters are not shown to a third; and a debate may hide a kind of seat from the others.
"""

from collections.abc import Sequence
from itertools import chain
from typing import assert_never

from server.debate.facts.config import Debater
from server.debate.facts.events import (
    Audited,
    DefaultPlanUsed,
    PhaseEntered,
    RoundClosed,
    RoundOpened,
    Spoke,
)
from server.debate.facts.interventions import Challenged, NoteAdded
from server.debate.facts.state import Debate, TranscriptEvent, seat_kind
from server.debate.facts.text import collapse_whitespace, quote
from server.debate.prompts.wording import phase_instruction
from server.debate.rules.decide import Call

MAX_STANCE_TAG_LENGTH = 40


def render_preamble(debate: Debate) -> list[str]:
    """The question, the positions and the documents: the part that never changes within a debate."""
    setup = debate.setup
    parts = ["# Question\n" + quote(setup.question)]
    lines = [f"{letter}. {collapse_whitespace(d.stance)}" for letter, d in lettered_debaters(debate)]
    parts.append("# Positions\n" + quote("\n".join(lines)))
    for document in setup.documents:
        title = collapse_whitespace(f"{document.title} {document.url}".strip())
        parts.append(f"# Document\n{quote(title)}\n>\n{quote(document.text)}")
    return parts


def render_transcript(debate: Debate, call: Call) -> list[str]:
    """The rounds so far as the seat of `call` may see them: a heading and blocks for each."""
    parts = []
    for entered in debate.rounds:
        phase = debate.round_phase(entered.round)
        parts.append(f"# Round {entered.round}: {entered.phase}\n{phase_instruction(phase)}".rstrip())
        if phase.wants == "message":
            parts += render_exchanges(debate, entered.round, call)
        else:
            parts += render_round(debate, entered, call)
    return parts


def render_round(debate: Debate, phase_entered: PhaseEntered, call: Call) -> list[str]:
    """The blocks of a round: as recorded, or with its turns in the order drawn for reading.

    What was recorded before the first turn stays before all turns, so that prompts keep their prefix.
    """
    number = phase_entered.round
    together = debate.round_phase(number).order == "together"
    events = [event for event in debate.transcript_events if is_in_round(event, number)]
    if not (together or call.reading):
        return render_blocks(debate, events, call)
    hidden = together and number == debate.round and is_debater_call(call)
    turns = () if hidden else debate.round_turns(number)
    ordered = turns[::-1] if is_second_reading(call) else turns
    first = next((index for index, event in enumerate(events) if isinstance(event, Spoke)), len(events))
    later = [event for event in events[first:] if not isinstance(event, Spoke)]
    return render_blocks(debate, [*events[:first], *ordered, *later], call)


def render_exchanges(debate: Debate, round_number: int, call: Call) -> list[str]:
    """The blocks of a round of messages. Only seats that do not debate see the messages and answers."""
    exchanges = () if is_debater_call(call) else debate.round_exchanges(round_number)
    others = [
        event
        for event in debate.transcript_events
        if is_in_round(event, round_number) and not isinstance(event, Spoke)
    ]
    ordered = exchanges[::-1] if is_second_reading(call) else exchanges
    return render_blocks(debate, [*chain.from_iterable(ordered), *others], call)


def is_debater_call(call: Call) -> bool:
    return seat_kind(call.seat) == "debaters"


def is_second_reading(call: Call) -> bool:
    """Whether a judge reads with every round reversed."""
    return call.reading == 2  # noqa: PLR2004


def is_in_round(event: TranscriptEvent, round_number: int) -> bool:
    """Whether the transcript shows the event in that round.

    A note for one debater is not shown there, but at the end of that debater's own prompt. What was
    recorded before round 1 is shown in round 1.
    """
    if isinstance(event, NoteAdded | Challenged):
        return (isinstance(event, Challenged) or not event.to) and max(event.round, 1) == round_number
    return event.round == round_number


def render_blocks(debate: Debate, events: Sequence[TranscriptEvent], call: Call) -> list[str]:
    return [
        text for event in events if is_visible(debate, event, call) and (text := render_block(debate, event))
    ]


def is_visible(debate: Debate, event: TranscriptEvent, call: Call) -> bool:
    """Whether the prompt of this call shows the event: debates may hide a kind of seat from the others.

    Judges and officers always see what debaters say.
    """
    hidden = debate.setup.hidden_from_seats
    if isinstance(event, NoteAdded | Challenged | DefaultPlanUsed) or event.seat == call.seat:
        return True
    kind = seat_kind(event.seat)
    return kind not in hidden or (kind == "debaters" and not is_debater_call(call))


def render_block(debate: Debate, event: TranscriptEvent) -> str:
    match event:
        case Challenged():
            whom = debater_letter(debate, event.to) if event.to else "everybody"
            return f"[challenge to {whom}, to be answered]\n" + quote(event.text)
        case NoteAdded():
            return "[note to everybody]\n" + quote(event.text)
        case RoundOpened() | DefaultPlanUsed():
            return render_briefing(event) if isinstance(event, RoundOpened) else ""
        case Audited():
            return "[the referee on this round]\n" + quote(event.text)
        case RoundClosed():
            settled = f"\nSettled: {event.decision}" if event.settled else ""
            return "[the moderator sums up]\n" + quote(event.summary + settled)
        case Spoke():
            return render_turn(debate, event)
        case _:
            assert_never(event)


def render_briefing(round_opened: RoundOpened) -> str:
    parts = []
    if round_opened.briefing:
        parts.append("[the moderator's briefing for this round]\n" + quote(round_opened.briefing))
    if round_opened.new_angle:
        parts.append("[the moderator asks this round to focus on]\n" + quote(round_opened.new_angle))
    return "\n\n".join(parts)


def render_turn(debate: Debate, turn: Spoke) -> str:
    letter = debater_letter(debate, turn.seat)
    if not debate.is_active(turn):
        return f"[{letter}: retracted]"
    if turn.act == "argument":
        return f"[{letter}: {stance_tag(debate.debater(turn.seat))}]\n{quote(turn.text)}"
    return f"[{letter} to {debater_letter(debate, turn.to)}, {turn.act}]\n{quote(turn.text)}"


def lettered_debaters(debate: Debate) -> list[tuple[str, Debater]]:
    """(letter, debater) in the order declared. A debate has at most 26 debaters."""
    return [(chr(ord("A") + index), debater) for index, debater in enumerate(debate.setup.debaters)]


def debater_letter(debate: Debate, seat: str) -> str:
    return chr(ord("A") + debate.names.index(seat))


def stance_tag(debater: Debater) -> str:
    stance = collapse_whitespace(debater.stance)
    return stance if len(stance) <= MAX_STANCE_TAG_LENGTH else stance[: MAX_STANCE_TAG_LENGTH - 1] + "…"
