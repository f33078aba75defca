"""Prompts and replies of the answer format in a debate: what a seat reads of it, and what its reply becomes."""

from collections.abc import Iterator
from typing import Any, assert_never

from server.debate.answer import prompts
from server.debate.answer.count import count_panel
from server.debate.answer.debates import build_panel
from server.debate.answer.prompts import order_answers, order_reviews
from server.debate.answer.report import find_report_problem, show_report
from server.debate.answer.scripts import is_foreign
from server.debate.arguments.sources import list_sources
from server.debate.documents.marks import mark_quotes
from server.debate.facts.quoting import quote_verbatim
from server.debate.facts.setup.phases import ADVICE_TASKS, AdviceTask
from server.debate.facts.setup.seats import AWAITED
from server.debate.facts.text import clean_line
from server.debate.prompts import response_schemas as schemas
from server.debate.prompts import wording
from server.debate.prompts.earlier import render_earlier
from server.debate.prompts.material import render_research
from server.debate.prompts.transcript import render_document
from server.debate.replies import advice as replies
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.rules.sharing import READS_DOCUMENTS
from server.debate.state.debate import Debate
from server.debate.state.seats import find_seat_prompt, find_tools, list_instructions

OTHER_LANGUAGE = (
    "it is in another language than the question. Write in that of the question, unless it asks for another"
)
"""Said once: a question may ask for another language in words that nobody here understands."""


def find_task(call: Call) -> AdviceTask:
    return next(task for task in ADVICE_TASKS if task == call.task)


def render_advice_rules(debate: Debate) -> str:
    """The same for all seats."""
    has_documents = bool(debate.setup.documents or debate.research)
    return "\n".join([prompts.SYSTEM, *([prompts.DOCUMENT_RULE] if has_documents else [])])


def render_advice(debate: Debate, call: Call) -> tuple[str, str]:
    """(question and documents, the same for all calls; what is asked of this seat, with what others wrote)."""
    body = ["# Question\n" + quote_verbatim(debate.setup.question)]
    if call.task in READS_DOCUMENTS:
        body += [render_document(debate, source) for source in list_sources(debate) if source.document]
        body += render_earlier(debate, call)
    return "\n\n".join(body), "\n\n".join([*list_own_material(debate, call), write_task(debate, call)])


def list_own_material(debate: Debate, call: Call) -> Iterator[str]:
    """What this seat is to follow, notes, and what it has looked up."""
    own = find_seat_prompt(debate.setup, call.seat)[0]
    yield from map(wording.quote_instruction, list_instructions(debate, call.seat, own))
    role = debate.debater(call.seat).role if call.seat in debate.names else ""
    if role:
        yield f"Your role: {clean_line(role)}"
    for note in debate.notes:
        if note.to in ("", call.seat):
            yield f"A note from the person who asks:\n{quote_verbatim(note.text)}"
    if tools := find_tools(debate.setup, call.seat, call.task):
        yield wording.LOOKUP_STEPS.format(tools=", ".join(tools))
    if research := "\n".join(render_research(debate, call)):
        yield research


def write_task(debate: Debate, call: Call) -> str:
    panel = build_panel(debate)

    def show(text: str) -> str:
        return mark_quotes(debate, text, debate.version, str)

    match task := find_task(call):
        case "review":
            return prompts.write_review_task(panel, call.seat, call.slot_index, show)
        case "exchange":
            return prompts.write_exchange_task(panel.before_exchange, call.seat, show)
        case "report":
            return prompts.write_report_task(panel, count_panel(panel), show)
        case "check":
            return prompts.write_check_task(show_report(panel, count_panel(panel)))
        case "advice":
            return prompts.ANSWER_TASK
        case _:
            assert_never(task)


def build_advice_schema(debate: Debate, call: Call) -> dict[str, Any] | None:
    panel = build_panel(debate)
    match task := find_task(call):
        case "review":
            labels = [*order_answers(panel, call.seat, call.slot_index)]
            return schemas.review_schema(labels, with_answer=call.slot_index == 1)
        case "exchange":
            return schemas.exchange_schema([*order_reviews(panel, call.seat)])
        case "report":
            return None
        case "check":
            return schemas.check_schema()
        case "advice":
            return schemas.answer_schema()
        case _:
            assert_never(task)


def parse_advice(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    """The fields of the fact that a reply of this format becomes. Raises ValueError for one that is not usable."""
    if call.task == "report" and reply.cut:
        raise ValueError("it is not complete")
    fields = read_advice(debate, call, text)
    words = "\n".join(str(fields.get(key, "")) for key in ("recommendation", "because", "reply", "text"))
    if call.attempt == 1 and call.model not in AWAITED and is_foreign(debate.setup.question, words):
        raise ValueError(OTHER_LANGUAGE)
    return fields


def read_advice(debate: Debate, call: Call, text: str) -> dict[str, Any]:
    panel, takes_prose = build_panel(debate), call.model in AWAITED
    match task := find_task(call):
        case "review":
            seats = order_answers(panel, call.seat, call.slot_index)
            return replies.read_review(panel, seats, text, takes_prose=takes_prose)
        case "exchange":
            return replies.read_exchange(panel.before_exchange, call.seat, text, takes_prose=takes_prose)
        case "report":
            fields = replies.read_report(panel, text)
            if problem := find_report_problem(panel, count_panel(panel), fields["text"]):
                raise ValueError(problem)
            return fields
        case "check":
            return replies.read_check(text, show_report(panel, count_panel(panel)))
        case "advice":
            return replies.read_answer(text)
        case _:
            assert_never(task)
