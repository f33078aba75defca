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
from server.debate.facts.text import clean, one_line
from server.debate.prompts.render import handing_over
from server.debate.prompts.transcript import lettered
from server.debate.replies.extract import Reply, called, failed, find_json, meant, plain, problem, shorten
from server.debate.replies.handoffs import handed
from server.debate.rules.decide import Call
from server.debate.schemas import output_schema as schemas

LONGEST_FIELD = 4_000
"""Characters of a field of an answer that are kept."""

LONGEST_RESULT = 50_000
"""Characters of the synthesizer's result that are kept, where it is prose."""

Answer = Spoke | RoundOpened | RoundClosed | Audited | Balloted | Judged | Synthesized
Reader = Callable[[Debate, Call, str, Reply], Answer]


def interpret(debate: Debate, call: Call, reply: Reply) -> Answer | Failed:
    """The event that this reply is."""
    text = clean(reply.text)
    by_function = bool(reply.calls) and handing_over(debate, call) == "tool"
    if not (text or by_function):
        return failed(call, "empty", "the model said nothing", reply.usage)
    try:
        return READERS[call.task](debate, call, text, reply)
    except (ValueError, RecursionError) as error:
        return failed(call, "unreadable", problem(error, cut=reply.cut), reply.usage)


def required(text: str) -> str:
    cleaned = clean(text)
    if not cleaned:
        raise ValueError("must not be empty")
    return cleaned[:LONGEST_FIELD]


def or_empty(value: Any) -> Any:
    """Models write "nothing" as null, or leave it out."""
    return "" if value is None else value


Optional = Annotated[str, BeforeValidator(or_empty)]


class Lenient(BaseModel):
    """An answer as it comes in: any spare keys, `null` where nothing is said."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class Judgment(Lenient):
    verdict: str
    winner: str | None
    reasoning: str
    margin: int = 1

    _texts = field_validator("verdict", "reasoning")(required)

    @field_validator("margin")
    @classmethod
    def within_bounds(cls, margin: int) -> int:
        return min(max(margin, 0), 3)


class Ballot(Lenient):
    choice: str | None
    reasoning: Optional = ""


class DirectMessage(Lenient):
    to: str
    text: str
    kind: Literal["question", "proposal", "critique"] = "question"

    _text = field_validator("text")(required)


class Decision(Lenient):
    """A moderator's opening of a round, by our names or by those of requirement C11."""

    next_speakers: Annotated[
        list[str],
        BeforeValidator(lambda value: value or []),
        Field(validation_alias=AliasChoices("next_speakers", "nextSpeakers")),
    ] = []
    briefing: Optional = ""
    new_angle: Annotated[Optional, Field(validation_alias=AliasChoices("new_angle", "newAngle"))] = ""
    done: Annotated[bool, BeforeValidator(lambda value: value or False)] = False


class Closing(Lenient):
    summary: str
    status: str
    decision: Optional = ""

    _text = field_validator("summary")(required)


def argument(debate: Debate, call: Call, text: str, reply: Reply) -> Spoke:
    how = handing_over(debate, call)
    to, why = "", ""
    if how:
        text, to, why = handed(debate, call, text, reply, how)
    return spoken(call, text, reply, hands_to=to, no_handoff=why)


def spoken(call: Call, text: str, reply: Reply, **more: Any) -> Spoke:
    if not text:
        raise ValueError("the turn itself is empty")
    kept = shorten(text)
    cut = reply.cut or kept != text
    return Spoke(
        seat=call.seat, round=call.round, turn=call.number, text=kept, usage=reply.usage, cut=cut, **more
    )


def message(debate: Debate, call: Call, text: str, reply: Reply) -> Spoke:
    read = DirectMessage.model_validate(find_json(text))
    found = called(debate, read.to) - {call.seat}
    if len(found) != 1:
        others = ", ".join(name for name in debate.names if name != call.seat)
        raise ValueError(f'"to" must name one other debater: {others}')
    return spoken(call, read.text, reply, act=read.kind, to=found.pop())


def answer(_debate: Debate, call: Call, text: str, reply: Reply) -> Spoke:
    return spoken(call, text, reply, act="answer", to=call.to)


def ballot(debate: Debate, call: Call, text: str, reply: Reply) -> Balloted:
    read = Ballot.model_validate(find_json(text))
    return Balloted(
        seat=call.seat,
        round=call.round,
        choice=named(debate, read.choice, "choice"),
        reasoning=clean(read.reasoning)[:LONGEST_FIELD],
        usage=reply.usage,
        informative=reply.informative,
    )


def judgment(debate: Debate, call: Call, text: str, reply: Reply) -> Judged:
    read = Judgment.model_validate(find_json(text))
    winner = named(debate, read.winner, "winner")
    return Judged(
        seat=call.seat,
        round=call.round,
        reading=call.number,
        winner=winner,
        margin=read.margin if winner else 0,
        verdict=read.verdict,
        reasoning=read.reasoning,
        usage=reply.usage,
        informative=reply.informative,
    )


def named(debate: Debate, choice: str | None, field: str) -> str:
    """The debater whom a vote means; "" for nobody.

    Raises:
        ValueError: nobody here is called that, or two are.
    """
    if plain(choice or "") in ("", "null", "none"):
        return ""
    found = meant(debate, choice or "")
    if len(found) != 1:
        letters = ", ".join(letter for letter, _ in lettered(debate))
        raise ValueError(f'"{field}" must be one of {letters} or null')
    return found.pop()


def opening(debate: Debate, call: Call, text: str, reply: Reply) -> RoundOpened:
    read = Decision.model_validate(find_json(text))
    known = ", ".join(debate.names)
    speakers = []
    for name in read.next_speakers:
        found = called(debate, name)
        if len(found) != 1:
            raise ValueError(f'next_speakers: nobody here is called "{one_line(name)[:60]}". Known: {known}')
        speakers.append(found.pop())
    if not speakers and not read.done:
        raise ValueError(f"next_speakers is empty although done is false: name who speaks. Known: {known}")
    if not speakers and not debate.turns:
        raise ValueError(f"next_speakers is empty although nobody has spoken yet. Known: {known}")
    if len(speakers) > (most := 2 * len(debate.names)):
        raise ValueError(f"next_speakers has {len(speakers)} names, and {most} are allowed")
    return RoundOpened(
        round=call.round,
        next_speakers=tuple(speakers),
        briefing=clean(read.briefing)[:LONGEST_FIELD],
        new_angle=clean(read.new_angle)[:LONGEST_FIELD],
        done=read.done,
        usage=reply.usage,
    )


_HEADING = re.compile(
    r"^[ \t>#*_\-\d.]{0,20}(SUMMARY|STATUS|DECISION)[ \t*_]{0,9}(?::|[-\u2013\u2014](?=\s)|$)",
    re.IGNORECASE | re.MULTILINE,
)
_STATUS = re.compile(
    r"\bcontinue|\bnot\s+(?:\w+\s+)?settled|\bunsettled|(?P<settled>\bsettled\b)(?!\W+(?:or\W+)?continue)",
    re.IGNORECASE,
)


def closing(_debate: Debate, call: Call, text: str, reply: Reply) -> RoundClosed:
    read = Closing.model_validate(sections(text) or find_json(text))
    status = _STATUS.search(read.status)
    if status is None:
        raise ValueError('"status" must be SETTLED or CONTINUE')
    settled = status["settled"] is not None
    decision = clean(read.decision)[:LONGEST_FIELD]
    if settled and not decision:
        raise ValueError("the status is SETTLED, and the decision is missing")
    return RoundClosed(
        round=call.round,
        summary=read.summary,
        settled=settled,
        decision=decision,
        usage=reply.usage,
        informative=reply.informative,
    )


def sections(text: str) -> dict[str, str]:
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


def audit(_debate: Debate, call: Call, text: str, reply: Reply) -> Audited:
    kept = shorten(text)
    return Audited(round=call.round, text=kept, usage=reply.usage, cut=reply.cut or kept != text)


def deliverable(debate: Debate, call: Call, text: str, reply: Reply) -> Synthesized:
    schema = debate.setup.output_schema
    kept = text[:LONGEST_RESULT]
    if schema:
        value = find_json(text)
        if wrong := schemas.misfit(schema, value):
            raise ValueError(wrong)
        kept = schemas.plain_json(value)
    return Synthesized(
        round=call.round,
        text=kept,
        usage=reply.usage,
        cut=not schema and (reply.cut or kept != text),
        informative=reply.informative,
    )


READERS: dict[str, Reader] = {
    "argument": argument,
    "message": message,
    "answer": answer,
    "ballot": ballot,
    "judgment": judgment,
    "opening": opening,
    "closing": closing,
    "audit": audit,
    "deliverable": deliverable,
}
