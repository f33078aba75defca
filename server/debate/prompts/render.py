"""What each seat is told, in one place.

The layout serves the providers' prompt caches (requirement N11). Every prompt of a debate is

    [the common rules] [question, positions, documents] [the record so far] [who speaks now]

and each part only grows at its end. What is particular to a seat is the last line or two, so that
all seats and judges on one model share one growing prefix; the judge's reversed reading is the one
second prefix there is. Nothing before the record changes within a debate, and no clock, id or
counter stands there.

The question, the documents, the positions, notes, everything said and everything looked up are quoted
line by line ("> "). There is no fence to close: text that wants out of its quotation would have to
contain no line at all. Not quoted is what the caller of the debate gives as an instruction, to be
followed: `instructions`, a debater's role and system prompt, and the other seats' prompts.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, assert_never

from server.debate.facts.config import Handoff
from server.debate.facts.events import Task
from server.debate.facts.state import Debate
from server.debate.facts.text import one_line, quote
from server.debate.prompts import response_schemas as shapes
from server.debate.prompts.tool_schemas import Function
from server.debate.prompts.transcript import DEBATING, letter_of, lettered, preamble, record
from server.debate.prompts.wording import LAST_ROUND, RULES, SEATS
from server.debate.rules.decide import Call, talk_over_because
from server.debate.rules.schedule import failures_of

MOST_MESSAGES = 100
"""Messages between a debater and others that it is shown; the older ones are left out (requirement D5)."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Cue:
    """The gist of a prompt, for a model that is too small to make use of the whole."""

    asks: Task
    question: str
    round: int
    stance: str = ""
    opponent: str = ""  # what was last said against the stance, or asked
    positions: tuple[tuple[str, str], ...] = ()  # (letter, stance), in the order of the reading
    others: tuple[str, ...] = ()  # the names there are to choose from, where one is to be
    handoff: Handoff | None = None  # how the choice of the next speaker is to be made, if it is to be


@dataclass(frozen=True, slots=True)
class Prompt:
    messages: tuple[Message, ...]
    cue: Cue
    schema: dict[str, Any] | None = None  # the JSON Schema of the answer; None for prose
    strict: bool = True  # the schema is ours, and fit for providers' strict modes
    functions: tuple[Function, ...] = ()


def render(debate: Debate, call: Call) -> Prompt:
    """The whole prompt of one call."""
    body = [*preamble(debate), *record(debate, call)]
    tail = "\n".join(last_words(debate, call))
    if call.attempt > 1:
        tail += "\n" + correction(debate, call)
    messages = (
        Message("system", RULES[debate.setup.brief]),
        Message("user", "\n\n".join([*body, tail])),
    )
    hands = handing_over(debate, call)
    functions = (shapes.handoff_function(others(debate, call)),) if hands == "tool" else ()
    schema, ours = schema_of(debate, call, hands)
    return Prompt(messages, cue(debate, call, hands), schema, strict=ours, functions=functions)


def handing_over(debate: Debate, call: Call) -> Handoff | None:
    phase = debate.phase_of(call.round)
    return debate.setup.handoff if call.task == "argument" and phase.order == "handoff" else None


def schema_of(debate: Debate, call: Call, hands: Handoff | None) -> tuple[dict[str, Any] | None, bool]:
    """(the JSON Schema of the answer or None for prose, whether it is ours)."""
    letters = [letter for letter, _ in lettered(debate)]
    schema: dict[str, Any] | None = None
    match call.task:
        case "judgment":
            schema = shapes.judgment(letters)
        case "ballot":
            schema = shapes.ballot(letters)
        case "message":
            schema = shapes.message(others(debate, call))
        case "opening":
            schema = shapes.opening(debate.names)
        case "closing":
            schema = shapes.closing()
        case "argument" if hands == "structured":
            schema = shapes.handoff_schema(others(debate, call))
        case "deliverable" if debate.setup.output_schema:
            return json.loads(debate.setup.output_schema), False
    return schema, True


def others(debate: Debate, call: Call) -> tuple[str, ...]:
    return tuple(name for name in debate.names if name != call.seat)


# The last words ------------------------------------------------------------------------------------


def last_words(debate: Debate, call: Call) -> Iterator[str]:
    """The only part of a prompt that is particular to its seat. Kept short: it is never cached."""
    yield from own_instructions(debate, call)
    match call.task:
        case "argument" | "message" | "answer" | "ballot":
            yield from debaters_words(debate, call)
        case "judgment":
            if not debate.setup.judges.anonymize:
                yield who_is_who(debate)
            yield f"{SEATS['judgment']} Answer with JSON only: {shapes.TOLD['judgment']}"
        case "opening":
            yield from openers_words(debate, call)
        case "closing":
            last = LAST_ROUND if talk_over_because(debate) else ""
            asked = f"{SEATS['closing']} {last}".strip()
            yield f"{asked} Answer with JSON only: {shapes.TOLD['closing']}"
        case "audit":
            yield SEATS["audit"]
        case "deliverable":
            yield from synthesizers_words(debate)
        case _:
            assert_never(call.task)


def own_instructions(debate: Debate, call: Call) -> Iterator[str]:
    """A seat's own prompt, or what was given for all that have none (requirement C14)."""
    setup = debate.setup
    officers = {
        "judgment": setup.judges,
        "opening": setup.moderator,
        "closing": setup.moderator,
        "audit": setup.referee,
        "deliverable": setup.synthesizer,
    }
    if call.task in officers:
        officer = officers[call.task]
        own = officer.prompt if officer else ""
    else:
        debater = debate.debater(call.seat)
        if debater.role:
            yield f"Your role: {one_line(debater.role)}"
        own = debater.system_prompt
    if own or setup.instructions:
        yield own or setup.instructions


def debaters_words(debate: Debate, call: Call) -> Iterator[str]:
    for note in debate.notes:
        if note.to == call.seat and note.action == "inject":
            yield "A note for you alone:\n" + quote(note.text)
    yield from correspondence(debate, call)
    yield from looked_up(debate, call)
    letter = letter_of(debate, call.seat)
    hands = handing_over(debate, call)
    if hands:
        yield f"You are {letter} ({call.seat}). {shapes.how_to_hand_over(hands, others(debate, call))}"
        return
    if call.task == "answer":
        asker = next(t for t in debate.turns_of(call.round) if t.seat == call.to and t.act != "answer")
        text = quote(asker.text) if debate.stands(asker) else "It was taken back since; answer in a sentence."
        yield f"{letter_of(debate, call.to)} to you, {asker.act}:\n{text}"
    yield f"You are {letter}. {SEATS[call.task]}"
    if call.task == "message":
        yield f"The others: {named_by_letter(debate, others(debate, call))}"
    if call.task in shapes.TOLD and call.task != "argument":
        yield f"Answer with JSON only: {shapes.TOLD[call.task]}"


def correspondence(debate: Debate, call: Call) -> Iterator[str]:
    """The messages between this debater and others, which nobody else at the table reads."""
    pairs = [pair for number in range(1, call.round) for pair in debate.exchanges_of(number)]
    mine = [
        t
        for t in chain.from_iterable(pairs)
        if t.act != "argument" and call.seat in (t.seat, t.to) and debate.stands(t)
    ]
    for turn in mine[-MOST_MESSAGES:]:
        who = "You" if turn.seat == call.seat else letter_of(debate, turn.seat)
        whom = "you" if turn.to == call.seat else letter_of(debate, turn.to)
        yield f"{who} to {whom}, {turn.act}:\n{quote(turn.text)}"


def openers_words(debate: Debate, call: Call) -> Iterator[str]:
    yield who_is_who(debate)
    for opened in debate.openings:
        yield f"In round {opened.round} you called {', '.join(opened.next_speakers) or 'nobody'}."
    yield from looked_up(debate, call)
    left = debate.max_rounds - debate.talk_rounds
    yield f"{SEATS['opening']} Rounds left after this one: {max(left, 0)}."
    yield f"Answer with JSON only: {shapes.TOLD['opening']}"


def looked_up(debate: Debate, call: Call) -> Iterator[str]:
    """What this seat's research has brought for this answer."""
    found = [r for r in debate.research if (r.seat, r.reading, r.round) == (*call.answers, call.round)]
    if not found:
        return
    yield "What you looked up for this answer:"
    for lookup in (lookup for research in found for lookup in research.lookups):
        result = f"It failed: {lookup.failed}" if lookup.failed else lookup.result
        if lookup.cut:
            result += "\n[cut here]"
        yield f"{one_line(lookup.tool)} {one_line(lookup.arguments)}\n{quote(result)}"


def synthesizers_words(debate: Debate) -> Iterator[str]:
    if debate.verdict:
        found = debate.verdict
        said = "\n".join(filter(None, (found.verdict, found.reasoning)))
        yield f"The verdict ({found.outcome}):\n{quote(said)}"
    if debate.setup.output_schema:
        yield SEATS["deliverable"]
        yield f"Answer with JSON only, satisfying this JSON Schema: {debate.setup.output_schema}"
    else:
        yield f"{SEATS['deliverable']} Write plain Markdown."


def who_is_who(debate: Debate) -> str:
    return "; ".join(f"{letter} is {d.name}" for letter, d in lettered(debate)) + "."


def named_by_letter(debate: Debate, names: Sequence[str]) -> str:
    return ", ".join(f"{letter_of(debate, name)} is {name}" for name in names) + "."


def correction(debate: Debate, call: Call) -> str:
    """What was wrong with the first reply, said to the seat that is asked again."""
    wrong = failures_of(debate, call.answers)[-1]
    return f"Your previous reply could not be used: {one_line(wrong.detail)}. Answer again, as asked."


# The gist ------------------------------------------------------------------------------------------


def cue(debate: Debate, call: Call, hands: Handoff | None) -> Cue:
    positions = tuple((letter, d.stance) for letter, d in lettered(debate))
    debater = call.seat in debate.names
    return Cue(
        asks=call.task,
        question=debate.setup.question,
        round=call.round,
        stance=debate.debater(call.seat).stance if debater else "",
        opponent=opponent(debate, call),
        positions=() if call.task == "argument" else positions[::-1] if call.reading == 2 else positions,  # noqa: PLR2004  (the second reading)
        others=choices(debate, call, hands),
        handoff=hands,
    )


def choices(debate: Debate, call: Call, hands: Handoff | None) -> tuple[str, ...]:
    """The names that an answer has to choose from; elsewhere names are nobody's business."""
    if call.task == "opening":
        return debate.names
    return others(debate, call) if hands or call.task == "message" else ()


def opponent(debate: Debate, call: Call) -> str:
    """What was last said by somebody else, as far as this seat has seen it."""
    if call.task == "answer":
        asker = next(t for t in debate.turns_of(call.round) if t.seat == call.to and t.act != "answer")
        return asker.text if debate.stands(asker) else ""
    if "debaters" in debate.setup.hidden_from_seats and call.task in DEBATING:
        return ""
    unseen = debate.phase_of(call.round).order == "together" and call.task in DEBATING
    rounds = range(1, call.round + (not unseen))
    turns = (turn for number in rounds for turn in debate.spoken_in(number) if debate.stands(turn))
    said = [turn.text for turn in turns if turn.seat != call.seat and turn.act == "argument"]
    return said[-1] if said else ""
