"""The record of a debate as prompts quote it: the question, the positions, and what was said, round by round.

It only grows at its end, and is the same for everybody, with four exceptions: judges read each round
in the order drawn, or reversed; nobody who writes together with others sees what they write; messages
between two debaters are not shown to a third; and a debate may hide a kind of seat from the others.
"""

from collections.abc import Sequence
from itertools import chain
from typing import assert_never

from server.debate.facts.config import Debater, Kind
from server.debate.facts.events import (
    Audited,
    Intervened,
    PhaseEntered,
    RoundClosed,
    RoundOpened,
    Spoke,
    Task,
)
from server.debate.facts.state import Debate, Talk
from server.debate.facts.text import one_line, quote
from server.debate.prompts.wording import task_of
from server.debate.rules.decide import Call

DEBATING: frozenset[Task] = frozenset({"argument", "message", "answer", "ballot"})

LONGEST_TAG = 40


def preamble(debate: Debate) -> list[str]:
    """What never changes within a debate."""
    setup = debate.setup
    parts = ["# Question\n" + quote(setup.question)]
    lines = [f"{letter}. {one_line(d.stance)}" for letter, d in lettered(debate)]
    parts.append("# Positions\n" + quote("\n".join(lines)))
    for document in setup.documents:
        title = one_line(f"{document.title} {document.url}".strip())
        parts.append(f"# Document\n{quote(title)}\n>\n{quote(document.text)}")
    return parts


def record(debate: Debate, call: Call) -> list[str]:
    """The debate so far as this reader may see it, a heading and its blocks for each round."""
    parts = []
    for entered in debate.rounds:
        phase = debate.phase_of(entered.round)
        parts.append(f"# Round {entered.round}: {entered.phase}\n{task_of(phase)}".rstrip())
        if phase.wants == "message":
            parts += exchanges(debate, entered.round, call)
        elif phase.is_talk:
            parts += round_blocks(debate, entered, call)
    return parts


def round_blocks(debate: Debate, entered: PhaseEntered, call: Call) -> list[str]:
    """What was said in one round: by turns, or, where order may not count, as it was drawn for reading."""
    together = debate.phase_of(entered.round).order == "together"
    talk = [fact for fact in debate.talk if belongs(fact, entered.round)]
    if not (together or call.reading):
        return blocks(debate, talk, call)
    hidden = together and entered.round == debate.round and call.task in DEBATING
    turns = () if hidden else debate.turns_of(entered.round)
    ordered = turns[::-1] if call.reading == 2 else turns  # noqa: PLR2004  (the second reading)
    # What was there before the first turn stands before them all: what was shown stays in place.
    first = next((index for index, fact in enumerate(talk) if isinstance(fact, Spoke)), len(talk))
    early = [fact for fact in talk[:first] if not isinstance(fact, Spoke)]
    late = [fact for fact in talk[first:] if not isinstance(fact, Spoke)]
    return blocks(debate, [*early, *ordered, *late], call)


def exchanges(debate: Debate, number: int, call: Call) -> list[str]:
    """The messages of a round, each with its answer, for those who do not debate; the rest for all."""
    found = () if call.task in DEBATING else debate.exchanges_of(number)
    ordered = found[::-1] if call.reading == 2 else found  # noqa: PLR2004  (the second reading)
    others = [fact for fact in debate.talk if belongs(fact, number) and not isinstance(fact, Spoke)]
    return blocks(debate, [*chain.from_iterable(ordered), *others], call)


def belongs(fact: Talk, number: int) -> bool:
    """Whether this was said in that round. A note for one debater is in that debater's last words only."""
    if isinstance(fact, Intervened):  # one made before the first round opens it
        return (fact.action == "challenge" or not fact.to) and max(fact.round, 1) == number
    return fact.round == number


def blocks(debate: Debate, talk: Sequence[Talk], call: Call) -> list[str]:
    return [text for fact in talk if seen(debate, fact, call) and (text := block(debate, fact))]


def seen(debate: Debate, fact: Talk, call: Call) -> bool:
    """Whether this reader's prompt holds it: a debate may keep a kind of seat from the others' histories.

    Those who decide, lead or sum up always see what debaters say.
    """
    hidden = debate.setup.hidden_from_seats
    if isinstance(fact, Intervened) or fact.seat == call.seat:
        return True
    kind = kind_of(fact)
    return kind not in hidden or (kind == "debaters" and call.task not in DEBATING)


def kind_of(fact: RoundOpened | Spoke | Audited | RoundClosed) -> Kind:
    if isinstance(fact, Spoke):
        return "debaters"
    return "referee" if isinstance(fact, Audited) else "moderator"


def block(debate: Debate, fact: Talk) -> str:
    match fact:
        case Intervened(action="challenge"):
            whom = letter_of(debate, fact.to) if fact.to else "everybody"
            return f"[challenge to {whom}, to be answered]\n" + quote(fact.text)
        case Intervened():
            return "[note to everybody]\n" + quote(fact.text)
        case RoundOpened():
            return opening_block(fact)
        case Audited():
            return "[the referee on this round]\n" + quote(fact.text)
        case RoundClosed():
            settled = f"\nSettled: {fact.decision}" if fact.settled else ""
            return "[the moderator sums up]\n" + quote(fact.summary + settled)
        case Spoke():
            return turn_block(debate, fact)
        case _:
            assert_never(fact)


def opening_block(opened: RoundOpened) -> str:
    parts = []
    if opened.briefing:
        parts.append("[the moderator's briefing for this round]\n" + quote(opened.briefing))
    if opened.new_angle:
        parts.append("[the moderator asks this round to focus on]\n" + quote(opened.new_angle))
    return "\n\n".join(parts)


def turn_block(debate: Debate, turn: Spoke) -> str:
    letter = letter_of(debate, turn.seat)
    if not debate.stands(turn):
        return f"[{letter}: retracted]"
    if turn.act == "argument":
        return f"[{letter}: {tag(debate.debater(turn.seat))}]\n{quote(turn.text)}"
    return f"[{letter} to {letter_of(debate, turn.to)}, {turn.act}]\n{quote(turn.text)}"


def lettered(debate: Debate) -> list[tuple[str, Debater]]:
    """The debaters by letter, in the order declared. There are no more debaters than letters."""
    return [(chr(ord("A") + index), debater) for index, debater in enumerate(debate.setup.debaters)]


def letter_of(debate: Debate, seat: str) -> str:
    return chr(ord("A") + debate.names.index(seat))


def tag(debater: Debater) -> str:
    stance = one_line(debater.stance)
    return stance if len(stance) <= LONGEST_TAG else stance[: LONGEST_TAG - 1] + "…"
