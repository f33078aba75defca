"""What a model's reply means. A bad reply is a fact too: `interpret` never raises.

A parser returns the fields of the event that a reply is, or raises ValueError with a sentence that the model
can act on: it gets one more attempt.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, assert_never

from server.debate.facts.advice import ADVICE_FACTS
from server.debate.facts.answers import MessageAct
from server.debate.facts.events import (
    NO_POSITION,
    AnswerEvent,
    Balloted,
    Failed,
    Judged,
    SpeakerTask,
    Spoke,
)
from server.debate.facts.setup.phases import ADVICE_TASKS
from server.debate.facts.text import clean
from server.debate.machine.advice import parse_advice
from server.debate.prompts.material import hands_over, other_labels, says_position
from server.debate.replies.ballots import parse_ballot
from server.debate.replies.extract import (
    NOTHING,
    LenientModel,
    OptionalText,
    Reply,
    RequiredText,
    begins_with_object,
    build_failure,
    close_object,
    describe_error,
    drop_quotations,
    drop_thoughts,
    find_debaters,
    find_json,
    find_turn_object,
    normalize_name,
    parse_text,
)
from server.debate.replies.handoffs import parse_handoff, take_message
from server.debate.replies.votes import parse_judgment
from server.debate.rules.calls import Call
from server.debate.seats.observer import take_contests
from server.debate.seats.registry import find_duty, is_duty
from server.debate.state.debate import Debate

ReplyParser = Callable[[Debate, Call, str, Reply], dict[str, Any]]


class Form(NamedTuple):
    """What is made of a reply: the kind of event, and what finds its fields."""

    fact: type[AnswerEvent]
    parse: ReplyParser
    is_data: bool = False  # it counts only if the whole prompt was read; quotations are none of it
    is_prose: bool = False  # it may hold an object, and is none


def interpret(debate: Debate, call: Call, reply: Reply) -> AnswerEvent | Failed:
    """The event that this reply is."""
    tokens_read, tokens_sent = reply.usage.input_tokens, reply.usage.sent_tokens
    form = find_form(call)
    if tokens_sent and form.is_data:
        part = f"{tokens_read:,} of at least {tokens_sent:,} tokens"
        detail = f"{call.model} was shown only a part: {part}. Choose another model"
        return build_failure(call, "truncated", detail, reply.usage)
    text = drop_thoughts(clean(reply.text))
    if form.is_data or call.task in ADVICE_TASKS:
        text = drop_quotations(text)
    if reply.cut and (not form.is_prose or begins_with_object(text)):
        text = close_object(text)
    by_function = bool(reply.function_calls) and hands_over(debate, call)
    if not (text or by_function):
        if reply.cut:
            detail = describe_long_thought(reply.usage.output_tokens, "wrote nothing")
            return build_failure(call, "thought_too_long", detail, reply.usage)
        return build_failure(call, "empty", "the model said nothing", reply.usage)
    try:
        is_read = reply.informative or not (call.task == "reading" and form.is_data)
        fields = form.parse(debate, call, text, reply) if is_read else {}  # a small model read nothing
        common = {name: getattr(call, name) for name in ("seat", "round", "slot_index", "seen")}
        if "informative" in form.fact.model_fields:
            common["informative"] = reply.informative
        return form.fact(**common, usage=reply.usage, **fields)
    except (ValueError, RecursionError) as error:
        if reply.cut and reply.usage.thinking_tokens:
            detail = describe_long_thought(
                reply.usage.thinking_tokens, "was stopped before its answer was complete"
            )
            return build_failure(call, "thought_too_long", detail, reply.usage)
        return build_failure(call, "unreadable", describe_error(error, cut=reply.cut), reply.usage)


def describe_long_thought(tokens: int, outcome: str) -> str:
    """What came of a model that thought up to its limit: 0 tokens where nobody counted them.

    Who wrote nothing thought all that it put out, whatever its provider calls thoughts. `outcome`: what it did, without
    the subject.
    """
    spending = f"spent {tokens:,} tokens on thinking" if tokens else "thought up to its limit of tokens"
    return f"{spending} and {outcome}; raise limits.thinking_tokens or set options.thinking=low"


class DirectMessage(LenientModel):
    to: str
    text: RequiredText
    kind: MessageAct = "question"


def find_form(call: Call) -> Form:
    if is_duty(call.task):
        duty = find_duty(call, call.task)
        return Form(duty.fact, duty.parse, is_data=duty.is_data, is_prose=not duty.template)
    match call.task:
        case "argument" | "message" | "answer" | "ballot" | "judgment" as task:
            return SPEAKER_FORMS[task]
        case "advice" | "review" | "exchange" | "report" | "check" as task:
            return Form(ADVICE_FACTS[task], parse_advice)
        case "measurement":
            raise AssertionError("nobody replies to it")
        case _:
            assert_never(call.task)


def parse_argument(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    hands = hands_over(debate, call)
    text, to, why = parse_handoff(debate, call, text, reply) if hands else (text, "", "")
    text, holds = read_panel_turn(debate, text, reply) if says_position(debate, call) else (text, "")
    text, contests = take_contests(debate, call.seat, text)
    text, message = take_message(debate, call.seat, text)
    fields = {"hands_to": to, "no_handoff": why, "contests": contests, "message": message, "holds": holds}
    return parse_text(text, reply) | fields


class PanelTurn(LenientModel):
    response: str
    holds: OptionalText = ""


def read_panel_turn(debate: Debate, text: str, reply: Reply) -> tuple[str, str]:
    """(the turn, whose position its debater says it holds). A turn in prose, or cut short, says nothing of that."""
    if (found := find_turn_object(text, reply)) is None:
        return text, ""
    turn = PanelTurn.model_validate(found)
    holders = find_debaters(debate, turn.holds)
    if not holders and normalize_name(turn.holds) in NOTHING:
        return clean(turn.response), NO_POSITION
    return clean(turn.response), holders.pop() if len(holders) == 1 else ""


def parse_direct_message(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    message = DirectMessage.model_validate(find_json(text))
    recipients = find_debaters(debate, message.to) - {call.seat}
    if len(recipients) != 1:
        names = ", ".join(other_labels(debate, call.seat))
        raise ValueError(f'"to" must name one other debater: {names}')
    return parse_text(message.text, reply) | {"act": message.kind, "to": recipients.pop()}


def parse_answer(_debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    return parse_text(text, reply) | {"act": "answer", "to": call.message_author}


SPEAKER_FORMS: dict[SpeakerTask, Form] = {
    "argument": Form(Spoke, parse_argument, is_prose=True),
    "message": Form(Spoke, parse_direct_message),
    "answer": Form(Spoke, parse_answer, is_prose=True),
    "ballot": Form(Balloted, parse_ballot, is_data=True),
    "judgment": Form(Judged, parse_judgment, is_data=True),
}
