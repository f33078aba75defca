"""What a model's reply means. A bad reply is a fact too: `interpret` never raises.

A parser returns the fields of the event that a reply is, or raises ValueError with a sentence that the model
can act on: it gets one more attempt.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, model_validator

from server.debate.facts.answers import Digested, Extracted, MessageAct, Observed
from server.debate.facts.events import (
    AnswerEvent,
    Audited,
    Balloted,
    Failed,
    Judged,
    PositionsFramed,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
)
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.tail import find_handoff_mode
from server.debate.replies.ballots import parse_ballot
from server.debate.replies.claims import parse_extraction
from server.debate.replies.digests import parse_digest
from server.debate.replies.extract import (
    Reply,
    build_failure,
    describe_error,
    drop_quotations,
    drop_thoughts,
    find_debaters,
    find_json,
    find_sections,
    normalize_keys,
    normalize_name,
    shorten_turn,
)
from server.debate.replies.handoffs import parse_handoff
from server.debate.replies.messages import take_message
from server.debate.replies.observations import parse_observation, take_contests
from server.debate.replies.votes import clean_text, parse_judgment
from server.debate.rules.calls import Call
from server.debate.rules.framing import SIDES, find_position_limit, seat_positions
from server.debate.schemas.output_schema import find_violation
from server.debate.schemas.plain_json import plain_json
from server.debate.state.debate import Debate
from server.debate.state.labels import label_debaters

MAX_POSITION_LENGTH = MAX_ASSUMPTION_LENGTH = 500
MAX_RESULT_LENGTH = 50_000  # characters of the synthesizer's result that are kept, where it is prose

DECIDING_TASKS = (
    "framing",
    "digest",
    "judgment",
    "ballot",
    "closing",
    "observation",
    "extraction",
)  # whose answers count only if the whole prompt was read

QUESTION_KINDS = {"yesno": "yes_no", "binary": "yes_no", "open": "open", "": "open"}
"""The kind of question by what models write for it, letters only."""

ReplyParser = Callable[[Debate, Call, str, Reply], dict[str, Any]]


def interpret(debate: Debate, call: Call, reply: Reply) -> AnswerEvent | Failed:
    """The event that this reply is."""
    read, sent = reply.usage.input_tokens, reply.usage.sent_tokens
    if sent and call.task in DECIDING_TASKS:
        detail = (
            f"{call.model} was shown only a part: {read:,} of at least {sent:,} tokens. Choose another model"
        )
        return build_failure(call, "truncated", detail, reply.usage)
    text = drop_thoughts(clean(reply.text))
    if call.task in DECIDING_TASKS:
        text = drop_quotations(text)
    by_function = bool(reply.function_calls) and find_handoff_mode(debate, call) == "tool"
    if not (text or by_function):
        return build_failure(call, "empty", "the model said nothing", reply.usage)
    try:
        event, parse = REPLY_PARSERS[call.task]
        common = {name: getattr(call, name) for name in ("seat", "round", "slot_index", "seen")}
        if "informative" in event.model_fields:
            common["informative"] = reply.informative
        return event(**common, usage=reply.usage, **parse(debate, call, text, reply))
    except (ValueError, RecursionError) as error:
        return build_failure(call, "unreadable", describe_error(error, cut=reply.cut), reply.usage)


def require_text(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


RequiredText = Annotated[str, AfterValidator(clean_text), AfterValidator(require_text)]
OptionalText = Annotated[
    str, BeforeValidator(lambda value: "" if value is None else value), AfterValidator(clean_text)
]


class LenientModel(BaseModel):
    """An answer as it comes in: any spare keys, `null` where nothing is said, names in camel case (C11)."""

    @model_validator(mode="before")
    @classmethod
    def accept_any_spelling(cls, given: Any) -> Any:
        return normalize_keys(given) if isinstance(given, dict) else given


class FramedQuestion(LenientModel):
    kind: OptionalText = ""
    positions: list[RequiredText]
    assumption: OptionalText = ""


class DirectMessage(LenientModel):
    to: str
    text: RequiredText
    kind: MessageAct = "question"


class RoundPlan(LenientModel):
    next_speakers: Annotated[list[str], BeforeValidator(lambda value: value or [])] = []
    briefing: OptionalText = ""
    new_angle: OptionalText = ""
    done: Annotated[bool, BeforeValidator(lambda value: value or False)] = False


class Closing(LenientModel):
    summary: RequiredText
    status: str = ""
    settled: bool | None = None
    decision: OptionalText = ""


def parse_framing(debate: Debate, _call: Call, text: str, reply: Reply) -> dict[str, Any]:
    if not reply.informative:
        raise ValueError("the model is too small to frame a question")
    read = FramedQuestion.model_validate(find_json(text, ("positions",)))
    kind = QUESTION_KINDS.get("".join(filter(str.isalpha, read.kind.casefold())), "")
    if not kind:
        raise ValueError('"kind" must be yes_no or open')
    positions = [collapse_whitespace(position)[:MAX_POSITION_LENGTH] for position in read.positions]
    if len({normalize_name(position) for position in positions}) < len(positions):
        raise ValueError("positions: two of them are the same, and each has to exclude the others")
    most = SIDES if kind == "yes_no" else find_position_limit(debate)
    if not SIDES <= len(positions) <= most:
        wanted = "the yes and the no" if kind == "yes_no" else f"{SIDES} to {most}"
        raise ValueError(f"positions: {wanted} are wanted for {kind}, and there are {len(positions)}")
    debaters = seat_positions(debate.setup, kind, positions)
    labels = label_debaters(debate.setup, debaters)
    assumption = collapse_whitespace(read.assumption)[:MAX_ASSUMPTION_LENGTH]
    return {"question_kind": kind, "debaters": debaters, "labels": labels, "assumption": assumption}


def parse_argument(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    mode = find_handoff_mode(debate, call)
    text, to, why = parse_handoff(debate, call, text, reply, mode) if mode else (text, "", "")
    text, contests = take_contests(debate, call.seat, text)
    text, message = take_message(debate, call.seat, text)
    fields = {"hands_to": to, "no_handoff": why, "contests": contests, "message": message}
    return parse_text(debate, call, text, reply) | fields


def parse_text(_debate: Debate, _call: Call, text: str, reply: Reply) -> dict[str, Any]:
    if not text:
        raise ValueError("the turn itself is empty")
    kept = shorten_turn(text)
    return {"text": kept, "cut": reply.cut or kept != text}


def parse_direct_message(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    read = DirectMessage.model_validate(find_json(text))
    found = find_debaters(debate, read.to, prefer_names=True) - {call.seat}
    if len(found) != 1:
        others = ", ".join(name for name in debate.names if name != call.seat)
        raise ValueError(f'"to" must name one other debater: {others}')
    return parse_text(debate, call, read.text, reply) | {"act": read.kind, "to": found.pop()}


def parse_answer(debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
    return parse_text(debate, call, text, reply) | {"act": "answer", "to": call.message_author}


def parse_round_plan(debate: Debate, _call: Call, text: str, _reply: Reply) -> dict[str, Any]:
    read = RoundPlan.model_validate(find_json(text))
    known = ", ".join(debate.names)
    speakers = []
    for name in read.next_speakers:
        found = find_debaters(debate, name, prefer_names=True)
        if len(found) != 1:
            unknown = collapse_whitespace(name)[:60]
            raise ValueError(f'next_speakers: nobody here is called "{unknown}". Known: {known}')
        speakers.append(found.pop())
    if not speakers and not read.done:
        raise ValueError(f"next_speakers is empty although done is false: name who speaks. Known: {known}")
    if not speakers and not debate.turns:
        raise ValueError(f"next_speakers is empty although nobody has spoken yet. Known: {known}")
    if len(speakers) > (most := 2 * len(debate.names)):
        raise ValueError(f"next_speakers has {len(speakers)} names, and {most} are allowed")
    return read.model_dump() | {"next_speakers": tuple(speakers)}


_STATUS = re.compile(
    r"\bcontinue|\bnot\s+(?:\w+\s+)?settled|\bunsettled|(?P<settled>\bsettled\b(?!\W+(?:or\W+)?continue))",
    re.IGNORECASE,
)


def parse_closing(_debate: Debate, _call: Call, text: str, _reply: Reply) -> dict[str, Any]:
    sections = find_sections(text, ("summary", "status", "decision"))
    if "status" in sections:
        before = sections.pop("")
        sections = {"summary": before, **sections} if before else sections
    read = Closing.model_validate(
        sections if "status" in sections else find_json(text, ("status", "settled"))
    )
    status = _STATUS.search(read.status)
    if status is None and (read.status or read.settled is None):
        raise ValueError('"status" must be SETTLED or CONTINUE')
    settled = status["settled"] is not None if status else bool(read.settled)
    if settled and not read.decision:
        raise ValueError("the status is SETTLED, and the decision is missing")
    return {"summary": read.summary, "settled": settled, "decision": read.decision}


def parse_deliverable(debate: Debate, _call: Call, text: str, reply: Reply) -> dict[str, Any]:
    if schema := debate.setup.output_schema:
        value = find_json(text)
        if violation := find_violation(schema, value):
            raise ValueError(violation)
        return {"text": plain_json(value)}
    return {"text": text[:MAX_RESULT_LENGTH], "cut": reply.cut or len(text) > MAX_RESULT_LENGTH}


REPLY_PARSERS: dict[str, tuple[type[AnswerEvent], ReplyParser]] = {
    "framing": (PositionsFramed, parse_framing),
    "digest": (Digested, parse_digest),
    "argument": (Spoke, parse_argument),
    "message": (Spoke, parse_direct_message),
    "answer": (Spoke, parse_answer),
    "ballot": (Balloted, parse_ballot),
    "judgment": (Judged, parse_judgment),
    "opening": (RoundOpened, parse_round_plan),
    "closing": (RoundClosed, parse_closing),
    "audit": (Audited, parse_text),
    "observation": (Observed, parse_observation),
    "extraction": (Extracted, parse_extraction),
    "deliverable": (Synthesized, parse_deliverable),
}
