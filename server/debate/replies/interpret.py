"""What a model's reply means. A bad reply is a fact too: `interpret` never raises.

A reader makes the event that an answer is, or raises ValueError with a sentence that its author can act
on: the seat is asked once more, and told.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from server.debate.facts.events import (
    Audited,
    Balloted,
    Failed,
    Judged,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
)
from server.debate.facts.state import Debate
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.render import find_handoff_mode
from server.debate.prompts.transcript import lettered_debaters
from server.debate.replies.extract import (
    Reply,
    build_failure,
    describe_error,
    find_debaters,
    find_debaters_by_name,
    find_json,
    normalize_name,
    shorten_turn,
)
from server.debate.replies.handoffs import parse_handoff
from server.debate.rules.decide import Call
from server.debate.schemas.output_schema import find_violation
from server.debate.schemas.plain_json import plain_json

MAX_FIELD_LENGTH = 4_000
"""Characters of a field of an answer that are kept."""

MAX_RESULT_LENGTH = 50_000
"""Characters of the synthesizer's result that are kept, where it is prose."""

ReplyEvent = Spoke | RoundOpened | RoundClosed | Audited | Balloted | Judged | Synthesized
ReplyParser = Callable[[Debate, Call, str, Reply], ReplyEvent]


def interpret(debate: Debate, call: Call, reply: Reply) -> ReplyEvent | Failed:
    """The event that this reply is."""
    text = clean(reply.text)
    by_function = bool(reply.function_calls) and find_handoff_mode(debate, call) == "tool"
    if not (text or by_function):
        return build_failure(call, "empty", "the model said nothing", reply.usage)
    try:
        return REPLY_PARSERS[call.task](debate, call, text, reply)
    except (ValueError, RecursionError) as error:
        return build_failure(call, "unreadable", describe_error(error, cut=reply.cut), reply.usage)


def require_text(text: str) -> str:
    cleaned = clean(text)
    if not cleaned:
        raise ValueError("must not be empty")
    return cleaned[:MAX_FIELD_LENGTH]


def null_to_empty(value: Any) -> Any:
    """Models write "nothing" as null, or leave it out."""
    return "" if value is None else value


OptionalText = Annotated[str, BeforeValidator(null_to_empty)]


class LenientModel(BaseModel):
    """An answer as it comes in: any spare keys, `null` where nothing is said."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class Judgment(LenientModel):
    verdict: str
    winner: str | None
    reasoning: str
    margin: int = 1

    _require_texts = field_validator("verdict", "reasoning")(require_text)

    @field_validator("margin")
    @classmethod
    def clamp_margin(cls, margin: int) -> int:
        return min(max(margin, 0), 3)


class Ballot(LenientModel):
    choice: str | None
    reasoning: OptionalText = ""


class DirectMessage(LenientModel):
    to: str
    text: str
    kind: Literal["question", "proposal", "critique"] = "question"

    _require_text = field_validator("text")(require_text)


class RoundPlan(LenientModel):
    """A moderator's opening of a round, by our names or by those of requirement C11."""

    next_speakers: Annotated[
        list[str],
        BeforeValidator(lambda value: value or []),
        Field(validation_alias=AliasChoices("next_speakers", "nextSpeakers")),
    ] = []
    briefing: OptionalText = ""
    new_angle: Annotated[OptionalText, Field(validation_alias=AliasChoices("new_angle", "newAngle"))] = ""
    done: Annotated[bool, BeforeValidator(lambda value: value or False)] = False


class Closing(LenientModel):
    summary: str
    status: str
    decision: OptionalText = ""

    _require_text = field_validator("summary")(require_text)


def parse_argument(debate: Debate, call: Call, text: str, reply: Reply) -> Spoke:
    how = find_handoff_mode(debate, call)
    to, why = "", ""
    if how:
        text, to, why = parse_handoff(debate, call, text, reply, how)
    return build_turn(call, text, reply, hands_to=to, no_handoff=why)


def answer_fields(call: Call, reply: Reply) -> dict[str, Any]:
    """The fields that every answer has."""
    return {
        "seat": call.seat,
        "round": call.round,
        "slot_index": call.slot_index,
        "seen": call.seen,
        "usage": reply.usage,
    }


def build_turn(call: Call, text: str, reply: Reply, **fields: Any) -> Spoke:
    if not text:
        raise ValueError("the turn itself is empty")
    kept = shorten_turn(text)
    cut = reply.cut or kept != text
    return Spoke(**answer_fields(call, reply), text=kept, cut=cut, **fields)


def parse_direct_message(debate: Debate, call: Call, text: str, reply: Reply) -> Spoke:
    read = DirectMessage.model_validate(find_json(text))
    found = find_debaters_by_name(debate, read.to) - {call.seat}
    if len(found) != 1:
        others = ", ".join(name for name in debate.names if name != call.seat)
        raise ValueError(f'"to" must name one other debater: {others}')
    return build_turn(call, read.text, reply, act=read.kind, to=found.pop())


def parse_answer(_debate: Debate, call: Call, text: str, reply: Reply) -> Spoke:
    return build_turn(call, text, reply, act="answer", to=call.message_author)


def parse_ballot(debate: Debate, call: Call, text: str, reply: Reply) -> Balloted:
    read = Ballot.model_validate(find_json(text))
    return Balloted(
        **answer_fields(call, reply),
        choice=resolve_vote(debate, read.choice, "choice"),
        reasoning=clean(read.reasoning)[:MAX_FIELD_LENGTH],
        informative=reply.informative,
    )


def parse_judgment(debate: Debate, call: Call, text: str, reply: Reply) -> Judged:
    read = Judgment.model_validate(find_json(text))
    winner = resolve_vote(debate, read.winner, "winner")
    return Judged(
        **answer_fields(call, reply),
        winner=winner,
        margin=read.margin if winner else 0,
        verdict=read.verdict,
        reasoning=read.reasoning,
        informative=reply.informative,
    )


def resolve_vote(debate: Debate, choice: str | None, field: str) -> str:
    """The debater whom a vote means; "" for nobody.

    Raises:
        ValueError: nobody here is called that, or two are.
    """
    if normalize_name(choice or "") in ("", "null", "none"):
        return ""
    found = find_debaters(debate, choice or "")
    if len(found) != 1:
        letters = ", ".join(letter for letter, _ in lettered_debaters(debate))
        raise ValueError(f'"{field}" must be one of {letters} or null')
    return found.pop()


def parse_round_plan(debate: Debate, call: Call, text: str, reply: Reply) -> RoundOpened:
    read = RoundPlan.model_validate(find_json(text))
    known = ", ".join(debate.names)
    speakers = []
    for name in read.next_speakers:
        found = find_debaters_by_name(debate, name)
        if len(found) != 1:
            raise ValueError(
                f'next_speakers: nobody here is called "{collapse_whitespace(name)[:60]}". Known: {known}'
            )
        speakers.append(found.pop())
    if not speakers and not read.done:
        raise ValueError(f"next_speakers is empty although done is false: name who speaks. Known: {known}")
    if not speakers and not debate.turns:
        raise ValueError(f"next_speakers is empty although nobody has spoken yet. Known: {known}")
    if len(speakers) > (most := 2 * len(debate.names)):
        raise ValueError(f"next_speakers has {len(speakers)} names, and {most} are allowed")
    return RoundOpened(
        **answer_fields(call, reply),
        next_speakers=tuple(speakers),
        briefing=clean(read.briefing)[:MAX_FIELD_LENGTH],
        new_angle=clean(read.new_angle)[:MAX_FIELD_LENGTH],
        done=read.done,
    )


_HEADING = re.compile(
    r"^[ \t>#*_\-\d.]{0,20}(SUMMARY|STATUS|DECISION)[ \t*_]{0,9}(?::|[-\u2013\u2014](?=\s)|$)",
    re.IGNORECASE | re.MULTILINE,
)
_STATUS = re.compile(
    r"\bcontinue|\bnot\s+(?:\w+\s+)?settled|\bunsettled|(?P<settled>\bsettled\b)(?!\W+(?:or\W+)?continue)",
    re.IGNORECASE,
)


def parse_closing(_debate: Debate, call: Call, text: str, reply: Reply) -> RoundClosed:
    read = Closing.model_validate(parse_closing_sections(text) or find_json(text))
    status = _STATUS.search(read.status)
    if status is None:
        raise ValueError('"status" must be SETTLED or CONTINUE')
    settled = status["settled"] is not None
    decision = clean(read.decision)[:MAX_FIELD_LENGTH]
    if settled and not decision:
        raise ValueError("the status is SETTLED, and the decision is missing")
    return RoundClosed(
        **answer_fields(call, reply),
        summary=read.summary,
        settled=settled,
        decision=decision,
        informative=reply.informative,
    )


def parse_closing_sections(text: str) -> dict[str, str]:
    """What stands under the headings SUMMARY, STATUS and DECISION; {} without a status."""
    heads = list(_HEADING.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = {
        head[1].lower(): text[head.end() : end].strip("*_ \t\n")
        for head, end in zip(heads, ends, strict=False)
    }
    if "status" not in found:
        return {}
    before = text[: heads[0].start()].strip()
    return {"summary": before, **found} if before else found


def parse_audit(_debate: Debate, call: Call, text: str, reply: Reply) -> Audited:
    kept = shorten_turn(text)
    return Audited(**answer_fields(call, reply), text=kept, cut=reply.cut or kept != text)


def parse_deliverable(debate: Debate, call: Call, text: str, reply: Reply) -> Synthesized:
    schema = debate.setup.output_schema
    kept = text[:MAX_RESULT_LENGTH]
    if schema:
        value = find_json(text)
        if wrong := find_violation(schema, value):
            raise ValueError(wrong)
        kept = plain_json(value)
    return Synthesized(
        **answer_fields(call, reply),
        text=kept,
        cut=not schema and (reply.cut or kept != text),
        informative=reply.informative,
    )


REPLY_PARSERS: dict[str, ReplyParser] = {
    "argument": parse_argument,
    "message": parse_direct_message,
    "answer": parse_answer,
    "ballot": parse_ballot,
    "judgment": parse_judgment,
    "opening": parse_round_plan,
    "closing": parse_closing,
    "audit": parse_audit,
    "deliverable": parse_deliverable,
}
