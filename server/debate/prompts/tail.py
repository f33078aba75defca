"""The last part of a prompt: who the seat is, its task in steps, the shape of the answer."""

from collections.abc import Iterator
from typing import assert_never

from server.debate.ballots.waves import find_wave, is_private_ballot
from server.debate.documents.marks import disarm_marks
from server.debate.facts.interventions import InstructionGiven
from server.debate.facts.quoting import quote_verbatim
from server.debate.facts.setup.options import HandoffMode
from server.debate.facts.setup.seats import AWAITED
from server.debate.facts.text import clean_line, shorten
from server.debate.prompts import response_schemas as replies
from server.debate.prompts import wording
from server.debate.prompts.ballots import list_ballot_lines, render_private_steps
from server.debate.prompts.material import (
    render_debater_material,
    render_identity,
    render_research,
    render_shown_marks,
)
from server.debate.prompts.transcript import describe_record, is_debater_call, position_lines
from server.debate.rules.advance import find_talk_end, is_in_moderated_block, next_phase
from server.debate.rules.calls import Call
from server.debate.rules.framing import SIDES, find_position_limit
from server.debate.rules.schedule import may_send
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels
from server.debate.state.seats import find_seat_prompt, find_tools

MAX_RESTATED_LENGTH = 400
"""Characters of the question that the last words repeat."""


def render_tail(debate: Debate, call: Call) -> Iterator[str]:
    """The only part of a prompt that depends on its seat: who it is, its task in steps, the shape of the answer."""
    if is_private_ballot(call.slot_index):
        yield from render_private_steps(debate, call)
        yield from render_answer_format(debate, call)
        return
    own, replaces = find_own_prompt(debate, call.seat)
    if prompt := own or debate.setup.instructions or debate.seat_prompts.get(call.seat, ""):
        yield wording.quote_instruction(prompt)
    for given in debate.find_interventions(InstructionGiven):
        if given.to in ("", call.seat) and given.round < call.round:
            yield wording.quote_instruction(given.text)
    if is_debater_call(call):
        yield from render_debater_material(debate, call)
    else:
        if call.task != "opening" and (tools := find_tools(debate.setup, call.seat, call.task)):
            yield wording.LOOKUP_STEPS.format(tools=", ".join(tools))
        yield from render_research(debate, call)
        if call.task == "judgment":
            yield from render_shown_marks(debate, call.reading)
    yield from render_identity(debate, call) if replaces else render_steps(debate, call)
    if call.task in ("opening", "closing") and is_in_moderated_block(debate, debate.round_phase(call.round)):
        yield wording.MODERATED_BLOCK_STEPS.format(word="done" if call.task == "opening" else "SETTLED")
    yield from render_answer_format(debate, call)


def find_own_prompt(debate: Debate, seat: str) -> tuple[str, bool]:
    """(the seat's own prompt or "", whether it replaces the steps of its task) (requirements C14, C19)."""
    prompt, replaces = find_seat_prompt(debate.setup, seat)
    if seat in debate.setup.prompt_functions:
        prompt = debate.seat_prompts.get(seat, "")
    return prompt, replaces and bool(prompt)


def render_steps(debate: Debate, call: Call) -> Iterator[str]:  # noqa: C901, PLR0912  (a table of cases)
    """Who the seat is and what it does now. The steps of a phase stand in its heading, which all seats share."""
    match call.task:
        case "argument" | "message" | "answer":
            yield from render_debater_steps(debate, call)
        case "ballot" if is_debater_call(call):
            yield f"You were {side_labels(debate)[call.seat]}, and do not vote as such. {wording.BALLOT_STEPS}"
        case "ballot":
            record = f" {describe_record(debate)}" if debate.turns else ""
            yield f"You are in the audience.{record} {wording.BALLOT_STEPS}"
        case "digest":
            reader = debate.setup.reader
            yield wording.READER_STEPS.format(words=reader.words if reader else 0)
            yield from render_question_line(debate)
        case "framing":
            most = find_position_limit(debate)
            yield wording.FRAMER_STEPS.format(most=f"two to {most}" if most > SIDES else "two")
            yield from render_question_line(debate)
        case "judgment":
            yield f"You are a judge. {describe_record(debate)}"
        case "opening":
            moderator = debate.setup.moderator
            names = ", ".join(moderator.tools) if moderator else ""
            tools = f", with what your tools ({names}) find" if names else ""
            first = wording.FIRST_ROUND_INSTRUCTION if debate.talk_round_count == 1 else ""
            yield wording.MODERATOR_OPENING_STEPS.format(tools=tools, first=first)
            rounds_left = max(debate.max_rounds - debate.talk_round_count, 0)
            yield f"Rounds left after this one: {rounds_left}."
        case "closing":
            end = find_talk_end(debate)
            following = next_phase(debate, end) if end else debate.phase
            is_last = following is None or not following.is_talk
            last = f" {wording.LAST_ROUND_INSTRUCTION}" if is_last else ""
            yield wording.MODERATOR_CLOSING_STEPS + last
        case "audit":
            yield wording.REFEREE_STEPS
        case "observation":
            yield wording.OBSERVER_STEPS
        case "extraction":
            yield wording.ANALYST_STEPS
        case "deliverable":
            yield wording.SYNTHESIZER_STEPS
        case "measurement":
            raise AssertionError("texts are embedded as they are")
        case _:
            assert_never(call.task)


def render_debater_steps(debate: Debate, call: Call) -> Iterator[str]:
    yield from render_identity(debate, call)
    if debate.debater(call.seat).stance.casefold() == "neutral":
        yield wording.NEUTRAL_STEPS
    yield from render_question_line(debate)
    phase = debate.round_phase(call.round)
    number = f"Talk round {debate.talk_round_count} of at most {debate.max_rounds}."
    if phase.closes_talk:
        number = "This round closes the talk."
    words = f"Numbered points in plain prose, at most {debate.setup.turn_words} words."
    argument = "Speak." if phase.order == "handoff" else words
    asked = {"argument": argument, "message": "Send your message.", "answer": "Answer."}
    yield f"{number} {asked[call.task]}"
    if call.task == "argument" and may_send(debate, call.seat):
        others = other_labels(debate, call)
        yield wording.MESSAGE_STEPS.format(example=others[0], others=", ".join(others))


def render_question_line(debate: Debate) -> Iterator[str]:
    yield f'The question: "{shorten(clean_line(debate.setup.question), MAX_RESTATED_LENGTH)}"'


def render_answer_format(debate: Debate, call: Call) -> Iterator[str]:
    """The last words: the names or positions to choose from, and the shape of the answer."""
    match call.task:
        case "ballot" | "judgment":
            yield from render_question_line(debate)
            if not (is_debater_call(call) or debate.setup.judges.anonymize):
                yield format_legend(debate, call.reading)
            is_ballot = call.task == "ballot"
            yield from list_ballot_lines(debate, call) if is_ballot else position_lines(debate, call.reading)
            wave = find_wave(debate, call.slot_index) if is_ballot else None
            yield replies.json_instruction(call.task, debate.setup.labels, wave)
        case "message":
            yield f"The others: {', '.join(other_labels(debate, call))}."
            yield replies.json_instruction("message")
        case "opening":
            yield format_legend(debate)
            if called := [
                f"in round {plan.round} {', '.join(plan.next_speakers) or 'nobody'}"
                for plan in debate.round_plans
            ]:
                yield f"You called {'; '.join(called)}."
            yield replies.json_instruction("opening")
        case "closing":
            yield format_legend(debate)
            yield replies.json_instruction("closing")
        case "framing" | "observation" | "extraction" | "digest":
            yield replies.json_instruction(call.task)
        case "deliverable":
            yield from render_verdict_material(debate)
        case "argument" if handoff_mode := find_handoff_mode(debate, call):
            yield from render_handoff_problems(debate, call)
            yield format_legend(debate)
            yield replies.handoff_instruction(handoff_mode, other_debaters(debate, call))
        case _:
            return


def render_handoff_problems(debate: Debate, call: Call) -> Iterator[str]:
    for failure in debate.handoff_failures:
        if failure.round == call.round - 1:
            yield "The last speaker's choice could not be used, and you were drawn."
        own = [turn.round for turn in debate.turns if turn.seat == call.seat]
        if failure.seat == call.seat and failure.round == own[-1]:
            yield f"Your last choice of the next speaker could not be used: {clean_line(failure.detail)}."


def render_verdict_material(debate: Debate) -> Iterator[str]:
    yield format_legend(debate)
    if verdict := debate.verdict:
        text = "\n".join(filter(None, (verdict.verdict, verdict.reasoning)))
        yield f"The verdict ({verdict.outcome}):\n{quote_verbatim(disarm_marks(text))}"
    if debate.setup.output_schema:
        yield f"Answer with JSON only, by this JSON Schema: {debate.setup.output_schema}"
    else:
        yield "Write plain Markdown, with those names in place of code words."


def format_legend(debate: Debate, reading: int = 1) -> str:
    """Who is behind which label, in the order of the labels, for seats that are to know."""
    names = {label: name for name, label in side_labels(debate, reading).items()}
    return "; ".join(f"{label} is {names[label]}" for label in debate.setup.labels) + "."


def find_handoff_mode(debate: Debate, call: Call) -> HandoffMode | None:
    """How the reply names the next speaker; None where it does not. Text is all that callers and clients return."""
    if call.task != "argument" or debate.round_phase(call.round).order != "handoff":
        return None
    mode = debate.setup.handoff
    return "structured" if mode == "tool" and call.model in AWAITED else mode


def other_debaters(debate: Debate, call: Call) -> tuple[str, ...]:
    return tuple(name for name in debate.names if name != call.seat)


def other_labels(debate: Debate, call: Call) -> tuple[str, ...]:
    return tuple(label for name, label in side_labels(debate).items() if name != call.seat)
