"""What seats of the answer format wrote, as people read it."""

from typing import assert_never

from server.debate.answer.debates import build_panel, count_debate
from server.debate.answer.mentions import describe_source, tell_mentions
from server.debate.answer.panel import Panel, name_answer
from server.debate.answer.report import choose_report, find_reviewer_text
from server.debate.answer.texts import show_answer, show_exchange, show_review
from server.debate.documents.marks import mark_quotes
from server.debate.facts.advice import AdviceEvent, Advised, Checked, Exchanged, Reported, Reviewed
from server.debate.state.debate import Debate


def describe_advice(debate: Debate, event: AdviceEvent, *, is_short: bool = False) -> tuple[str, str]:
    """(who did what, its text as people read it). `is_short`: only what is advised, and what is new in it."""
    panel = build_panel(debate)
    seat = event.seat[:1].upper() + event.seat[1:]
    suffix = "" if debate.is_active(event) else " (retracted)"
    act, text = describe_act(panel, event, is_short=is_short)
    title, text = f"{seat} {act}{suffix}", tell_mentions(panel, text)
    if isinstance(event, Reviewed) and event.text:
        if debate.ended and is_written_by(debate, event):
            title = f"{title}, and writes the answer"
        elif not is_short:
            text = f"{text}\n\nThe answer as it would give it:\n{event.text}"
    return title, mark_quotes(debate, text, event.seen, str)


def describe_act(panel: Panel, event: AdviceEvent, *, is_short: bool) -> tuple[str, str]:
    """(what a seat did, its text); an answer is named as others name it."""
    match event:
        case Advised():
            act = f"gives {describe_source(panel, name_answer(panel, event.seat))}"
            return act, event.recommendation if is_short else show_answer(event)
        case Reviewed():
            act = f"reviews the answers{', second reading' if event.slot_index > 1 else ''}"
            return act, show_review(panel, event, is_short=is_short)
        case Exchanged():
            return "answers those who advise otherwise", show_exchange(event, is_short=is_short)
        case Reported():
            return "reports", event.text
        case Checked():
            faults = "\n".join(f'"{fault.words}": {fault.right}' for fault in event.faults)
            return "checks the answer", faults or "No fault."
        case _:
            assert_never(event)


def is_written_by(debate: Debate, review: Reviewed) -> bool:
    """Whether the answer is what this reviewer wrote."""
    panel, count = build_panel(debate), count_debate(debate)
    return choose_report(panel, count) is None and find_reviewer_text(panel, count) == review.text


def is_answer_of(debate: Debate, event: AdviceEvent) -> bool:
    """Whether a report is the one whose words the answer has."""
    return choose_report(build_panel(debate), count_debate(debate)) == event
