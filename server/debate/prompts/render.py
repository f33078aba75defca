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

from server.debate.facts.config import HandoffMode
from server.debate.facts.events import Task
from server.debate.facts.state import Debate
from server.debate.facts.text import collapse_whitespace, quote
from server.debate.prompts import response_schemas as shapes
from server.debate.prompts.tool_schemas import Function
from server.debate.prompts.transcript import (
    DEBATER_TASKS,
    debater_letter,
    lettered_debaters,
    render_preamble,
    render_transcript,
)
from server.debate.prompts.wording import COMMON_RULES, LAST_ROUND_INSTRUCTION, TASK_INSTRUCTIONS
from server.debate.rules.decide import Call, find_talk_end_reason
from server.debate.rules.schedule import slot_failures

MAX_DIRECT_MESSAGES = 100
"""Messages between a debater and others that it is shown; the older ones are left out (requirement D5)."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class PromptSummary:
    """The gist of a prompt, for a model that is too small to make use of the whole."""

    task: Task
    question: str
    round: int
    stance: str = ""
    opponent_text: str = ""  # what was last said against the stance, or asked
    positions: tuple[tuple[str, str], ...] = ()  # (letter, stance), in the order of the reading
    choices: tuple[str, ...] = ()  # the names there are to choose from, where one is to be
    handoff_mode: HandoffMode | None = (
        None  # how the choice of the next speaker is to be made, if it is to be
    )


@dataclass(frozen=True, slots=True)
class Prompt:
    messages: tuple[Message, ...]
    summary: PromptSummary
    schema: dict[str, Any] | None = None  # the JSON Schema of the answer; None for prose
    strict: bool = True  # the schema is ours, and fit for providers' strict modes
    functions: tuple[Function, ...] = ()


def render(debate: Debate, call: Call) -> Prompt:
    """The whole prompt of one call."""
    body = [*render_preamble(debate), *render_transcript(debate, call)]
    tail = "\n".join(render_tail(debate, call))
    if call.attempt > 1:
        tail += "\n" + render_correction(debate, call)
    messages = (
        Message("system", COMMON_RULES[debate.setup.brief]),
        Message("user", "\n\n".join([*body, tail])),
    )
    hands = find_handoff_mode(debate, call)
    functions = (shapes.handoff_function(other_debaters(debate, call)),) if hands == "tool" else ()
    schema, ours = build_response_schema(debate, call, hands)
    return Prompt(
        messages, build_prompt_summary(debate, call, hands), schema, strict=ours, functions=functions
    )


def find_handoff_mode(debate: Debate, call: Call) -> HandoffMode | None:
    phase = debate.round_phase(call.round)
    return debate.setup.handoff if call.task == "argument" and phase.order == "handoff" else None


def build_response_schema(
    debate: Debate, call: Call, handoff_mode: HandoffMode | None
) -> tuple[dict[str, Any] | None, bool]:
    """(the JSON Schema of the answer or None for prose, whether it is ours)."""
    letters = [letter for letter, _ in lettered_debaters(debate)]
    schema: dict[str, Any] | None = None
    match call.task:
        case "judgment":
            schema = shapes.judgment_schema(letters)
        case "ballot":
            schema = shapes.ballot_schema(letters)
        case "message":
            schema = shapes.direct_message_schema(other_debaters(debate, call))
        case "opening":
            schema = shapes.round_plan_schema(debate.names)
        case "closing":
            schema = shapes.closing_schema()
        case "argument" if handoff_mode == "structured":
            schema = shapes.handoff_schema(other_debaters(debate, call))
        case "deliverable" if debate.setup.output_schema:
            return json.loads(debate.setup.output_schema), False
    return schema, True


def other_debaters(debate: Debate, call: Call) -> tuple[str, ...]:
    return tuple(name for name in debate.names if name != call.seat)


# The last words ------------------------------------------------------------------------------------


def render_tail(debate: Debate, call: Call) -> Iterator[str]:
    """The only part of a prompt that is particular to its seat. Kept short: it is never cached."""
    yield from render_seat_instructions(debate, call)
    match call.task:
        case "argument" | "message" | "answer" | "ballot":
            yield from render_debater_task(debate, call)
        case "judgment":
            if not debate.setup.judges.anonymize:
                yield format_letter_legend(debate)
            yield f"{TASK_INSTRUCTIONS['judgment']} Answer with JSON only: {shapes.RESPONSE_TEMPLATES['judgment']}"
        case "opening":
            yield from render_round_plan_task(debate, call)
        case "closing":
            last = LAST_ROUND_INSTRUCTION if find_talk_end_reason(debate) else ""
            asked = f"{TASK_INSTRUCTIONS['closing']} {last}".strip()
            yield f"{asked} Answer with JSON only: {shapes.RESPONSE_TEMPLATES['closing']}"
        case "audit":
            yield TASK_INSTRUCTIONS["audit"]
        case "deliverable":
            yield from render_synthesizer_task(debate)
        case _:
            assert_never(call.task)


def render_seat_instructions(debate: Debate, call: Call) -> Iterator[str]:
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
            yield f"Your role: {collapse_whitespace(debater.role)}"
        own = debater.system_prompt
    if own or setup.instructions:
        yield own or setup.instructions


def render_debater_task(debate: Debate, call: Call) -> Iterator[str]:
    for note in debate.notes:
        if note.to == call.seat and note.action == "inject":
            yield "A note for you alone:\n" + quote(note.text)
    yield from render_direct_messages(debate, call)
    yield from render_research(debate, call)
    letter = debater_letter(debate, call.seat)
    hands = find_handoff_mode(debate, call)
    if hands:
        yield f"You are {letter} ({call.seat}). {shapes.render_handoff_instruction(hands, other_debaters(debate, call))}"
        return
    if call.task == "answer":
        asker = next(
            t for t in debate.round_turns(call.round) if t.seat == call.message_author and t.act != "answer"
        )
        text = (
            quote(asker.text) if debate.is_active(asker) else "It was taken back since; answer in a sentence."
        )
        yield f"{debater_letter(debate, call.message_author)} to you, {asker.act}:\n{text}"
    yield f"You are {letter}. {TASK_INSTRUCTIONS[call.task]}"
    if call.task == "message":
        yield f"The others: {format_names_with_letters(debate, other_debaters(debate, call))}"
    if call.task in shapes.RESPONSE_TEMPLATES and call.task != "argument":
        yield f"Answer with JSON only: {shapes.RESPONSE_TEMPLATES[call.task]}"


def render_direct_messages(debate: Debate, call: Call) -> Iterator[str]:
    """The messages between this debater and others, which nobody else at the table reads."""
    pairs = [pair for number in range(1, call.round) for pair in debate.round_exchanges(number)]
    mine = [
        t
        for t in chain.from_iterable(pairs)
        if t.act != "argument" and call.seat in (t.seat, t.to) and debate.is_active(t)
    ]
    for turn in mine[-MAX_DIRECT_MESSAGES:]:
        who = "You" if turn.seat == call.seat else debater_letter(debate, turn.seat)
        whom = "you" if turn.to == call.seat else debater_letter(debate, turn.to)
        yield f"{who} to {whom}, {turn.act}:\n{quote(turn.text)}"


def render_round_plan_task(debate: Debate, call: Call) -> Iterator[str]:
    yield format_letter_legend(debate)
    for opened in debate.round_plans:
        yield f"In round {opened.round} you called {', '.join(opened.next_speakers) or 'nobody'}."
    yield from render_research(debate, call)
    left = debate.max_rounds - debate.talk_round_count
    yield f"{TASK_INSTRUCTIONS['opening']} Rounds left after this one: {max(left, 0)}."
    yield f"Answer with JSON only: {shapes.RESPONSE_TEMPLATES['opening']}"


def render_research(debate: Debate, call: Call) -> Iterator[str]:
    """What this seat's research has brought for this answer."""
    found = [r for r in debate.research if (r.seat, r.slot_index, r.round) == (*call.slot_key, call.round)]
    if not found:
        return
    yield "What you looked up for this answer:"
    for lookup in (lookup for research in found for lookup in research.lookups):
        result = f"It failed: {lookup.failed}" if lookup.failed else lookup.result
        if lookup.cut:
            result += "\n[cut here]"
        yield f"{collapse_whitespace(lookup.tool)} {collapse_whitespace(lookup.arguments)}\n{quote(result)}"


def render_synthesizer_task(debate: Debate) -> Iterator[str]:
    if debate.verdict:
        found = debate.verdict
        said = "\n".join(filter(None, (found.verdict, found.reasoning)))
        yield f"The verdict ({found.outcome}):\n{quote(said)}"
    if debate.setup.output_schema:
        yield TASK_INSTRUCTIONS["deliverable"]
        yield f"Answer with JSON only, satisfying this JSON Schema: {debate.setup.output_schema}"
    else:
        yield f"{TASK_INSTRUCTIONS['deliverable']} Write plain Markdown."


def format_letter_legend(debate: Debate) -> str:
    return "; ".join(f"{letter} is {d.name}" for letter, d in lettered_debaters(debate)) + "."


def format_names_with_letters(debate: Debate, names: Sequence[str]) -> str:
    return ", ".join(f"{debater_letter(debate, name)} is {name}" for name in names) + "."


def render_correction(debate: Debate, call: Call) -> str:
    """What was wrong with the first reply, said to the seat that is asked again."""
    wrong = slot_failures(debate, call.slot_key)[-1]
    return (
        f"Your previous reply could not be used: {collapse_whitespace(wrong.detail)}. Answer again, as asked."
    )


# The gist ------------------------------------------------------------------------------------------


def build_prompt_summary(debate: Debate, call: Call, handoff_mode: HandoffMode | None) -> PromptSummary:
    positions = tuple((letter, d.stance) for letter, d in lettered_debaters(debate))
    debater = call.seat in debate.names
    return PromptSummary(
        task=call.task,
        question=debate.setup.question,
        round=call.round,
        stance=debate.debater(call.seat).stance if debater else "",
        opponent_text=find_opponent_text(debate, call),
        positions=() if call.task == "argument" else positions[::-1] if call.reading == 2 else positions,  # noqa: PLR2004  (the second reading)
        choices=list_choices(debate, call, handoff_mode),
        handoff_mode=handoff_mode,
    )


def list_choices(debate: Debate, call: Call, handoff_mode: HandoffMode | None) -> tuple[str, ...]:
    """The names that an answer has to choose from; elsewhere names are nobody's business."""
    if call.task == "opening":
        return debate.names
    return other_debaters(debate, call) if handoff_mode or call.task == "message" else ()


def find_opponent_text(debate: Debate, call: Call) -> str:
    """What was last said by somebody else, as far as this seat has seen it."""
    if call.task == "answer":
        asker = next(
            t for t in debate.round_turns(call.round) if t.seat == call.message_author and t.act != "answer"
        )
        return asker.text if debate.is_active(asker) else ""
    if "debaters" in debate.setup.hidden_from_seats and call.task in DEBATER_TASKS:
        return ""
    unseen = debate.round_phase(call.round).order == "together" and call.task in DEBATER_TASKS
    rounds = range(1, call.round + (not unseen))
    turns = (turn for number in rounds for turn in debate.transcript_turns(number) if debate.is_active(turn))
    said = [turn.text for turn in turns if turn.seat != call.seat and turn.act == "argument"]
    return said[-1] if said else ""
