"""The record of a debate as prompts quote it: the question, the positions, and what was said, round by round.

It only grows at its end, and is the same for everybody, with four exceptions: judges read each round
in the order drawn, or reversed; nobody who writes together with others sees what they write; messages
between two debaters are not shown to a third; and a debate may hide a kind of seat from the others.
"""

from collections.abc import Sequence
from itertools import chain
from typing import assert_never

from server.debate.facts.config import Debater, SeatKind
from server.debate.facts.events import (
    Audited,
    Intervened,
    PhaseEntered,
    RoundClosed,
    RoundOpened,
    Spoke,
    Task,
)
from server.debate.facts.state import Debate, TranscriptEvent
from server.debate.facts.text import collapse_whitespace, quote
from server.debate.prompts.wording import phase_instruction
from server.debate.rules.decide import Call

DEBATER_TASKS: frozenset[Task] = frozenset({"argument", "message", "answer", "ballot"})

MAX_STANCE_TAG_LENGTH = 40


def render_preamble(debate: Debate) -> list[str]:
    """What never changes within a debate."""
    setup = debate.setup
    parts = ["# Question\n" + quote(setup.question)]
    lines = [f"{letter}. {collapse_whitespace(d.stance)}" for letter, d in lettered_debaters(debate)]
    parts.append("# Positions\n" + quote("\n".join(lines)))
    for document in setup.documents:
        title = collapse_whitespace(f"{document.title} {document.url}".strip())
        parts.append(f"# Document\n{quote(title)}\n>\n{quote(document.text)}")
    return parts


def render_transcript(debate: Debate, call: Call) -> list[str]:
    """The debate so far as this reader may see it, a heading and its blocks for each round."""
    parts = []
    for entered in debate.rounds:
        phase = debate.round_phase(entered.round)
        parts.append(f"# Round {entered.round}: {entered.phase}\n{phase_instruction(phase)}".rstrip())
        if phase.wants == "message":
            parts += render_exchanges(debate, entered.round, call)
        elif phase.is_talk:
            parts += render_round(debate, entered, call)
    return parts


def render_round(debate: Debate, phase_entered: PhaseEntered, call: Call) -> list[str]:
    """What was said in one round: by turns, or, where order may not count, as it was drawn for reading."""
    together = debate.round_phase(phase_entered.round).order == "together"
    talk = [fact for fact in debate.transcript_events if is_in_round(fact, phase_entered.round)]
    if not (together or call.reading):
        return render_blocks(debate, talk, call)
    hidden = together and phase_entered.round == debate.round and call.task in DEBATER_TASKS
    turns = () if hidden else debate.round_turns(phase_entered.round)
    ordered = turns[::-1] if call.reading == 2 else turns  # noqa: PLR2004  (the second reading)
    # What was there before the first turn stands before them all: what was shown stays in place.
    first = next((index for index, fact in enumerate(talk) if isinstance(fact, Spoke)), len(talk))
    early = [fact for fact in talk[:first] if not isinstance(fact, Spoke)]
    late = [fact for fact in talk[first:] if not isinstance(fact, Spoke)]
    return render_blocks(debate, [*early, *ordered, *late], call)


def render_exchanges(debate: Debate, round_number: int, call: Call) -> list[str]:
    """The messages of a round, each with its answer, for those who do not debate; the rest for all."""
    found = () if call.task in DEBATER_TASKS else debate.round_exchanges(round_number)
    ordered = found[::-1] if call.reading == 2 else found  # noqa: PLR2004  (the second reading)
    others = [
        fact
        for fact in debate.transcript_events
        if is_in_round(fact, round_number) and not isinstance(fact, Spoke)
    ]
    return render_blocks(debate, [*chain.from_iterable(ordered), *others], call)


def is_in_round(event: TranscriptEvent, round_number: int) -> bool:
    """Whether this was said in that round. A note for one debater is in that debater's last words only."""
    if isinstance(event, Intervened):  # one made before the first round opens it
        return (event.action == "challenge" or not event.to) and max(event.round, 1) == round_number
    return event.round == round_number


def render_blocks(debate: Debate, events: Sequence[TranscriptEvent], call: Call) -> list[str]:
    return [
        text for fact in events if is_visible(debate, fact, call) and (text := render_block(debate, fact))
    ]


def is_visible(debate: Debate, event: TranscriptEvent, call: Call) -> bool:
    """Whether this reader's prompt holds it: a debate may keep a kind of seat from the others' histories.

    Those who decide, lead or sum up always see what debaters say.
    """
    hidden = debate.setup.hidden_from_seats
    if isinstance(event, Intervened) or event.seat == call.seat:
        return True
    kind = seat_kind(event)
    return kind not in hidden or (kind == "debaters" and call.task not in DEBATER_TASKS)


def seat_kind(event: RoundOpened | Spoke | Audited | RoundClosed) -> SeatKind:
    if isinstance(event, Spoke):
        return "debaters"
    return "referee" if isinstance(event, Audited) else "moderator"


def render_block(debate: Debate, event: TranscriptEvent) -> str:
    match event:
        case Intervened(action="challenge"):
            whom = debater_letter(debate, event.to) if event.to else "everybody"
            return f"[challenge to {whom}, to be answered]\n" + quote(event.text)
        case Intervened():
            return "[note to everybody]\n" + quote(event.text)
        case RoundOpened():
            return render_briefing(event)
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
    """The debaters by letter, in the order declared. There are no more debaters than letters."""
    return [(chr(ord("A") + index), debater) for index, debater in enumerate(debate.setup.debaters)]


def debater_letter(debate: Debate, seat: str) -> str:
    return chr(ord("A") + debate.names.index(seat))


def stance_tag(debater: Debater) -> str:
    stance = collapse_whitespace(debater.stance)
    return stance if len(stance) <= MAX_STANCE_TAG_LENGTH else stance[: MAX_STANCE_TAG_LENGTH - 1] + "…"
