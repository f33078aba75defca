"""The prompt of one model call.

The layout serves the prompt caches of providers (requirement N11). Every prompt of a debate is

    [common rules] [question, positions, documents] [transcript so far] [seat, task, format of the reply]

and each part only grows at its end. Only the last part depends on the seat, so all seats and judges on
one model share one growing prefix; a judge's reversed reading is the one second prefix. Nothing before the
transcript changes within a debate: it holds no time, id or counter.

Question, documents, positions, notes, turns and research results are quoted line by line ("> "), so there
is no closing mark that a text could forge. Not quoted, because seats have to follow it, is what the caller
gives as an instruction: `instructions`, roles, system prompts, and the prompts of other seats.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, assert_never

from server.debate.facts.config import HandoffMode
from server.debate.facts.events import Spoke, Task
from server.debate.facts.interventions import InstructionGiven, NoteAdded
from server.debate.facts.state import Debate
from server.debate.facts.text import collapse_whitespace, quote
from server.debate.prompts.response_schemas import (
    RESPONSE_TEMPLATES,
    ballot_schema,
    closing_schema,
    direct_message_schema,
    handoff_function,
    handoff_instruction,
    handoff_schema,
    json_instruction,
    judgment_schema,
    round_plan_schema,
)
from server.debate.prompts.tool_schemas import Function
from server.debate.prompts.transcript import (
    debater_letter,
    is_debater_call,
    is_second_reading,
    lettered_debaters,
    render_preamble,
    render_transcript,
)
from server.debate.prompts.wording import (
    AUDIENCE_INSTRUCTION,
    COMMON_RULES,
    LAST_ROUND_INSTRUCTION,
    TASK_INSTRUCTIONS,
)
from server.debate.rules.decide import Call, find_talk_end
from server.debate.rules.schedule import slot_failures

MAX_DIRECT_MESSAGES = 100
"""Messages between a debater and others that its prompt shows; older ones are left out (requirement D5)."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class PromptSummary:
    """The essentials of a prompt, for a model too small to use the whole."""

    task: Task
    question: str
    round: int
    stance: str = ""
    opponent_text: str = ""  # the last argument of another seat, or the message to answer
    positions: tuple[tuple[str, str], ...] = ()  # (letter, stance), in the order of the reading
    choices: tuple[str, ...] = ()  # the names to choose from, where the reply contains a choice
    handoff_mode: HandoffMode | None = None  # how the reply names the next speaker, where it has to


@dataclass(frozen=True, slots=True)
class Prompt:
    messages: tuple[Message, ...]
    summary: PromptSummary
    schema: dict[str, Any] | None = None  # the JSON Schema of the reply; None for prose
    strict: bool = True  # the schema is ours, and fit for the strict modes of providers
    functions: tuple[Function, ...] = ()


def render(debate: Debate, call: Call) -> Prompt:
    body = [*render_preamble(debate), *render_transcript(debate, call)]
    tail = list(render_tail(debate, call))
    if call.attempt > 1:
        detail = collapse_whitespace(slot_failures(debate, call.slot_key)[-1].detail)
        tail.append(f"Your previous reply could not be used: {detail}. Answer again, as asked.")
    schema, is_ours = build_response_schema(debate, call)
    offers_handoff = find_handoff_mode(debate, call) == "tool"
    return Prompt(
        messages=(
            Message("system", COMMON_RULES[debate.setup.brief]),
            Message("user", "\n\n".join([*body, "\n".join(tail)])),
        ),
        summary=build_prompt_summary(debate, call),
        schema=schema,
        strict=is_ours,
        functions=(handoff_function(other_debaters(debate, call)),) if offers_handoff else (),
    )


def find_handoff_mode(debate: Debate, call: Call) -> HandoffMode | None:
    phase = debate.round_phase(call.round)
    return debate.setup.handoff if call.task == "argument" and phase.order == "handoff" else None


def build_response_schema(debate: Debate, call: Call) -> tuple[dict[str, Any] | None, bool]:
    """Return (the JSON Schema of the reply or None for prose, whether the schema is ours)."""
    letters, others = [letter for letter, _ in lettered_debaters(debate)], other_debaters(debate, call)
    schema: dict[str, Any] | None = None
    match call.task:
        case "judgment":
            schema = judgment_schema(letters)
        case "ballot":
            schema = ballot_schema(letters)
        case "message":
            schema = direct_message_schema(others)
        case "opening":
            schema = round_plan_schema(debate.names)
        case "closing":
            schema = closing_schema()
        case "argument" if find_handoff_mode(debate, call) == "structured":
            schema = handoff_schema(others)
        case "deliverable" if debate.setup.output_schema:
            return json.loads(debate.setup.output_schema), False
    return schema, True


def other_debaters(debate: Debate, call: Call) -> tuple[str, ...]:
    return tuple(name for name in debate.names if name != call.seat)


def render_tail(debate: Debate, call: Call) -> Iterator[str]:
    """The only part of a prompt that depends on its seat. It is short, because it is never cached."""
    yield from render_seat_instructions(debate, call)
    match call.task:
        case "ballot" if not is_debater_call(call):
            if not debate.setup.judges.anonymize:
                yield format_letter_legend(debate)
            yield f"{AUDIENCE_INSTRUCTION} {json_instruction('ballot')}"
        case "argument" | "message" | "answer" | "ballot":
            yield from render_debater_task(debate, call)
        case "judgment":
            if not debate.setup.judges.anonymize:
                yield format_letter_legend(debate)
            yield f"{TASK_INSTRUCTIONS['judgment']} {json_instruction('judgment')}"
        case "opening":
            yield from render_round_plan_task(debate, call)
        case "closing":
            last = [LAST_ROUND_INSTRUCTION] if find_talk_end(debate) else []
            yield " ".join([TASK_INSTRUCTIONS["closing"], *last, json_instruction("closing")])
        case "audit":
            yield TASK_INSTRUCTIONS["audit"]
        case "deliverable":
            yield from render_synthesizer_task(debate)
        case _:
            assert_never(call.task)


def render_seat_instructions(debate: Debate, call: Call) -> Iterator[str]:
    """A debater's role, then the seat's own prompt or the debate's `instructions` (requirement C14)."""
    setup = debate.setup
    officers = {
        "judgment": setup.judges,
        "opening": setup.moderator,
        "closing": setup.moderator,
        "audit": setup.referee,
        "deliverable": setup.synthesizer,
    }
    if call.task in officers or not is_debater_call(call):
        officer = officers.get(call.task, setup.judges)
        own = officer.prompt if officer else ""
    else:
        debater = debate.debater(call.seat)
        if debater.role:
            yield f"Your role: {collapse_whitespace(debater.role)}"
        own = debater.system_prompt
    if own or setup.instructions:
        yield own or setup.instructions
    for given in debate.find_interventions(InstructionGiven):
        if given.to in ("", call.seat) and given.round < call.round:
            yield given.text


def render_debater_task(debate: Debate, call: Call) -> Iterator[str]:
    for note in debate.notes:
        if note.to == call.seat and isinstance(note, NoteAdded):
            yield "A note for you alone:\n" + quote(note.text)
    yield from render_direct_messages(debate, call)
    yield from render_research(debate, call)
    letter, others = debater_letter(debate, call.seat), other_debaters(debate, call)
    if handoff_mode := find_handoff_mode(debate, call):
        yield f"You are {letter} ({call.seat}). {handoff_instruction(handoff_mode, others)}"
        return
    if call.task == "answer":
        message = find_answered_message(debate, call)
        text = "It was retracted; answer in a sentence."
        if debate.is_active(message):
            text = quote(message.text)
        yield f"{debater_letter(debate, call.message_author)} to you, {message.act}:\n{text}"
    yield f"You are {letter}. {TASK_INSTRUCTIONS[call.task]}"
    if call.task == "message":
        yield "The others: " + ", ".join(f"{debater_letter(debate, name)} is {name}" for name in others) + "."
    if call.task in RESPONSE_TEMPLATES and call.task != "argument":
        yield json_instruction(call.task)


def find_answered_message(debate: Debate, call: Call) -> Spoke:
    turns = debate.round_turns(call.round)
    return next(turn for turn in turns if turn.seat == call.message_author and turn.act != "answer")


def render_direct_messages(debate: Debate, call: Call) -> Iterator[str]:
    """The messages between this debater and others, which no other debater reads."""
    exchanges = chain.from_iterable(debate.round_exchanges(number) for number in range(1, call.round))
    messages = [
        turn
        for turn in chain.from_iterable(exchanges)
        if turn.act != "argument" and call.seat in (turn.seat, turn.to) and debate.is_active(turn)
    ]
    for turn in messages[-MAX_DIRECT_MESSAGES:]:
        sender = "You" if turn.seat == call.seat else debater_letter(debate, turn.seat)
        receiver = "you" if turn.to == call.seat else debater_letter(debate, turn.to)
        yield f"{sender} to {receiver}, {turn.act}:\n{quote(turn.text)}"


def render_round_plan_task(debate: Debate, call: Call) -> Iterator[str]:
    yield format_letter_legend(debate)
    for plan in debate.round_plans:
        yield f"In round {plan.round} you called {', '.join(plan.next_speakers) or 'nobody'}."
    yield from render_research(debate, call)
    rounds_left = max(debate.max_rounds - debate.talk_round_count, 0)
    yield f"{TASK_INSTRUCTIONS['opening']} Rounds left after this one: {rounds_left}."
    yield json_instruction("opening")


def render_research(debate: Debate, call: Call) -> Iterator[str]:
    """The research results of this seat for this reply."""
    key = (*call.slot_key, call.round)
    lookups = [
        lookup
        for research in debate.research
        if (research.seat, research.slot_index, research.round) == key
        for lookup in research.lookups
    ]
    if lookups:
        yield "What you looked up for this answer:"
    for lookup in lookups:
        result = f"It failed: {lookup.failed}" if lookup.failed else lookup.result
        cut = "\n[cut here]" if lookup.cut else ""
        name, arguments = collapse_whitespace(lookup.tool), collapse_whitespace(lookup.arguments)
        yield f"{name} {arguments}\n{quote(result + cut)}"


def render_synthesizer_task(debate: Debate) -> Iterator[str]:
    if verdict := debate.verdict:
        text = "\n".join(filter(None, (verdict.verdict, verdict.reasoning)))
        yield f"The verdict ({verdict.outcome}):\n{quote(text)}"
    if debate.setup.output_schema:
        yield TASK_INSTRUCTIONS["deliverable"]
        yield f"Answer with JSON only, satisfying this JSON Schema: {debate.setup.output_schema}"
    else:
        yield f"{TASK_INSTRUCTIONS['deliverable']} Write plain Markdown."


def format_letter_legend(debate: Debate) -> str:
    return "; ".join(f"{letter} is {d.name}" for letter, d in lettered_debaters(debate)) + "."


def build_prompt_summary(debate: Debate, call: Call) -> PromptSummary:
    handoff_mode = find_handoff_mode(debate, call)
    positions = tuple((letter, debater.stance) for letter, debater in lettered_debaters(debate))
    if call.task == "argument":
        positions = ()
    choices = other_debaters(debate, call) if handoff_mode or call.task == "message" else ()
    return PromptSummary(
        task=call.task,
        question=debate.setup.question,
        round=call.round,
        stance=debate.debater(call.seat).stance if call.seat in debate.names else "",
        opponent_text=find_opponent_text(debate, call),
        positions=positions[::-1] if is_second_reading(call) else positions,
        choices=debate.names if call.task == "opening" else choices,
        handoff_mode=handoff_mode,
    )


def find_opponent_text(debate: Debate, call: Call) -> str:
    """The message to answer, or the last argument of another seat that this seat may see; "" if none."""
    is_debater = is_debater_call(call)
    if call.task == "answer":
        message = find_answered_message(debate, call)
        return message.text if debate.is_active(message) else ""
    if is_debater and "debaters" in debate.setup.hidden_from_seats:
        return ""
    hides_round = is_debater and debate.round_phase(call.round).order == "together"
    turns = chain.from_iterable(map(debate.transcript_turns, range(1, call.round + (not hides_round))))
    texts = [
        turn.text
        for turn in turns
        if turn.seat != call.seat and turn.act == "argument" and debate.is_active(turn)
    ]
    return texts[-1] if texts else ""
