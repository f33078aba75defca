"""The prompt of one model call.

The layout serves the prompt caches of providers (requirement N11). Every prompt of a debate is

    [common rules] [question, documents, positions] [transcript so far] [seat, task, format of the reply]

and each part only grows at its end. Only the last part depends on the seat, so all seats and judges on
one model share one growing prefix; a judge's second reading is the one second prefix. Nothing before the
transcript changes within a debate: it holds no time, id or counter.

Question, documents, positions, notes, turns and research results are quoted line by line ("> "), so there
is no closing mark that a text could forge. So is what seats have to follow, under a line of ours that says so:
`instructions`, the prompts of seats, custom phases. A record that came with a file holds such texts, too.
"""

from collections.abc import Iterator
from typing import Any, assert_never

from server.debate.arguments.sources import list_sources
from server.debate.ballots.waves import is_blind_ballot, is_private_ballot, name_wave
from server.debate.facts.interventions import NoteAdded
from server.debate.facts.quoting import quote_verbatim
from server.debate.facts.setup.phases import ADVICE_TASKS
from server.debate.facts.setup.seats import AWAITED
from server.debate.facts.text import clean_line
from server.debate.machine.advice import build_advice_schema, render_advice, render_advice_rules
from server.debate.prompts import response_schemas as replies
from server.debate.prompts import wording
from server.debate.prompts.debaters import (
    asks_who_argued,
    find_example,
    list_ballot_lines,
    render_debater_steps,
    render_private_steps,
    render_turn_grammar,
)
from server.debate.prompts.material import (
    find_answered_message,
    find_own_prompt,
    format_legend,
    hands_over,
    other_labels,
    render_direct_messages,
    render_handoff_problems,
    render_identity,
    render_message,
    render_passage_steps,
    render_research,
    says_position,
)
from server.debate.prompts.prompt import Message, Prompt
from server.debate.prompts.summary import build_prompt_summary
from server.debate.prompts.transcript import (
    describe_record,
    is_debater_call,
    position_lines,
    render_preamble,
    render_transcript,
)
from server.debate.rules.calls import Call
from server.debate.rules.schedule import slot_failures
from server.debate.seats.registry import SEATS, find_duty, is_duty, name_task
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels
from server.debate.state.seats import find_tools, list_instructions, phase_seats

TASK_HEADING = "# Your task"


def render_parts(debate: Debate, call: Call) -> tuple[str, str]:
    """What a seat is asked: (question, documents, positions and transcript; who it is and what it is to do)."""
    if call.task in ADVICE_TASKS:
        record, task = render_advice(debate, call)
        return record, "\n\n".join([task, *list_corrections(debate, call)])
    body = [render_material(debate, call)]
    body += [] if is_blind_ballot(call.slot_index) else render_transcript(debate, call)
    return "\n\n".join(body), "\n".join([*render_tail(debate, call), *list_corrections(debate, call)])


def list_corrections(debate: Debate, call: Call) -> list[str]:
    """What was wrong with the reply before, where there was one."""
    if call.attempt == 1:
        return []
    detail = clean_line(slot_failures(debate, call.slot_key)[-1].detail)
    return [f"Your previous reply could not be used: {detail}. Answer again, as asked."]


def render_material(debate: Debate, call: Call) -> str:
    """What it begins with: question, documents and positions, or the section that is to be digested."""
    if is_duty(call.task):
        return find_duty(call, call.task).render_material(debate, call)
    return render_preamble(debate, call)


def render_tail(debate: Debate, call: Call) -> Iterator[str]:
    """The only part of a prompt that depends on its seat: who it is, its task in steps, the shape of the answer."""
    if is_private_ballot(call.slot_index):
        yield from render_private_steps(debate, call)
        yield from render_answer_format(debate, call)
        return
    own, replaces = find_own_prompt(debate, call)
    yield from map(wording.quote_instruction, list_instructions(debate, call.seat, own))
    if debate.phase and debate.phase.instruction and call.seat in phase_seats(debate.setup, debate.phase):
        yield wording.quote_instruction(debate.phase.instruction)
    if is_debater_call(debate, call):
        yield from render_debater_material(debate, call)
    else:
        if call.task != "opening" and (tools := find_tools(debate.setup, call.seat, call.task)):
            yield wording.LOOKUP_STEPS.format(tools=", ".join(tools))
        yield from render_research(debate, call)
        yield from render_readings(debate, call)
    yield from render_identity(debate, call) if replaces else render_steps(debate, call)
    yield from render_grammar(debate, call)
    yield from render_answer_format(debate, call)


def render_readings(debate: Debate, call: Call) -> Iterator[str]:
    """What this seat reads of what others have read in rounds."""
    for seat in SEATS:
        yield from seat.show(debate, call)


def render_steps(debate: Debate, call: Call) -> Iterator[str]:
    """Who the seat is, and what it does now."""
    if is_duty(call.task):
        yield from find_duty(call, call.task).render_steps(debate, call)
        return
    match call.task:
        case "argument" | "message" | "answer":
            yield from render_debater_steps(debate, call)
        case "ballot":
            yield f"{introduce_voter(debate, call)} {wording.BALLOT_STEPS}"
        case "judgment":
            yield f"You are a judge. {describe_record(debate)}"
            yield wording.JUDGE_STEPS
            if (framing := debate.setup.framing) and framing.assumption:
                yield wording.ASSUMED
        case "measurement" | "advice" | "review" | "exchange" | "report" | "check":
            raise AssertionError("texts are embedded as they are, and advisors have prompts of their own")
        case _:
            assert_never(call.task)


def introduce_voter(debate: Debate, call: Call) -> str:
    if is_debater_call(debate, call):
        return wording.DEBATERS_VOTE.format(label=side_labels(debate)[call.seat])
    if debate.turns:
        return wording.AUDIENCE_AFTER.format(record=describe_record(debate))
    return f"{wording.AUDIENCE} {wording.describe_before(has_documents=bool(debate.setup.documents))}"


def render_grammar(debate: Debate, call: Call) -> Iterator[str]:
    """How the server reads a turn, or what it wrote into what others read: whoever gave the seat its steps."""
    if call.task == "argument":
        yield from render_turn_grammar(debate, call)
    elif debate.turns and list_sources(debate) and call.task not in ("message", "answer"):
        yield wording.MARKS


def render_answer_format(debate: Debate, call: Call) -> Iterator[str]:
    """The last words: the labels or positions to choose from, and the shape of the answer."""
    if is_duty(call.task):
        yield from find_duty(call, call.task).render_format(debate, call)
        return
    match call.task:
        case "ballot" | "judgment":
            if not (is_debater_call(debate, call) or debate.setup.judges.anonymize):
                yield format_legend(debate, call.reading)
            if call.task == "judgment":
                yield from position_lines(debate, call.reading)
                yield replies.json_instruction("judgment", debate.setup.labels)
                return
            yield from list_ballot_lines(debate, call)
            wave, read = name_wave(debate, call.slot_index), find_example(debate, call)
            yield replies.json_instruction(
                "ballot", debate.setup.labels, wave, read, asks_who_argued=asks_who_argued(debate, call)
            )
        case "message":
            yield f"The others: {', '.join(other_labels(debate, call.seat))}."
            yield replies.json_instruction("message")
        case "argument":
            if hands_over(debate, call):
                yield from render_handoff_problems(debate, call)
                yield replies.handoff_instruction(
                    other_labels(debate, call.seat), by_function=offers_handoff(debate, call)
                )
            elif says_position(debate, call):
                yield replies.json_instruction("panel")
        case "answer" | "measurement" | "advice" | "review" | "exchange" | "report" | "check":
            return  # prose, no prompt at all, and in prompts of their own
        case _:
            assert_never(call.task)


def render_debater_material(debate: Debate, call: Call) -> Iterator[str]:
    """What only this debater reads: notes to it, messages, look-ups, and the message that it is to answer."""
    for note in debate.notes:
        if note.to == call.seat and isinstance(note, NoteAdded):
            yield "A note for you alone:\n" + quote_verbatim(note.text)
    yield from render_direct_messages(debate, call)
    yield from render_passage_steps(debate, call)
    yield from render_readings(debate, call)
    yield from render_research(debate, call)
    if call.task == "answer":
        message = find_answered_message(debate, call)
        is_active = debate.is_active(message)
        text = render_message(debate, message) if is_active else "It was retracted; answer in a sentence."
        yield f"{side_labels(debate)[call.message_author]} to you, {message.act}:\n{text}"


def render_rules(debate: Debate) -> str:
    """What every prompt of a debate begins with."""
    return render_advice_rules(debate) if debate.setup.answering else wording.COMMON_RULES


def offers_handoff(debate: Debate, call: Call) -> bool:
    """Whether the next speaker may be named by a call of `handoff`: callers and clients only write."""
    return hands_over(debate, call) and call.model not in AWAITED


def render(debate: Debate, call: Call) -> Prompt:
    schema, is_ours = build_response_schema(debate, call)
    record, task = render_parts(debate, call)
    length = len(record) + 2  # with an empty line
    positions = record.find("\n\n# Positions\n")
    heading = "" if call.task in ADVICE_TASKS else f"{TASK_HEADING}\n"
    return Prompt(
        messages=(
            Message("system", render_rules(debate)),
            Message("user", f"{record}\n\n{heading}{task}"),
        ),
        summary=build_prompt_summary(debate, call, name_task(call)),
        schema=schema,
        strict=is_ours,
        # The same for all speakers: functions stand in front of what prompts have in common.
        functions=(replies.handoff_function([*side_labels(debate).values()]),)
        if offers_handoff(debate, call)
        else (),
        record=length,
        documents=length if positions < 0 else positions + 2,
    )


def build_response_schema(debate: Debate, call: Call) -> tuple[dict[str, Any] | None, bool]:
    """Return (the JSON Schema of the reply or None for prose, whether the schema is ours)."""
    schema: dict[str, Any] | None = None
    if is_duty(call.task):
        duty = find_duty(call, call.task)
        schema = duty.build_schema(debate)
        return schema, duty.is_strict or schema is None
    match call.task:
        case "judgment":
            schema = replies.judgment_schema(debate.setup.labels)
        case "ballot":
            schema = replies.ballot_schema(
                debate.setup.labels,
                name_wave(debate, call.slot_index),
                has_read=bool(find_example(debate, call)),
                asks_who_argued=asks_who_argued(debate, call),
            )
        case "message":
            schema = replies.direct_message_schema(other_labels(debate, call.seat))
        case "argument":
            if hands_over(debate, call):
                schema = replies.handoff_schema(other_labels(debate, call.seat))
            elif says_position(debate, call):
                schema = replies.panel_schema(debate.setup.labels)
        case "advice" | "review" | "exchange" | "report" | "check":
            schema = build_advice_schema(debate, call)
        case "answer" | "measurement":
            pass
        case _:
            assert_never(call.task)
    return schema, True
