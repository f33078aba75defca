"""The formats of replies that are read as data: as JSON Schemas, and as texts in prompts.

Every string has a maximum length: the grammars of the embedded model need one.
"""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel

from server.debate.facts.beliefs import Wave
from server.debate.prompts.prompt import Function, build_function

MAX_CITED = 12
"""Points that a judge names."""

MAX_RESPONSE = 2000
"""Characters of a turn that is part of an object."""

PERCENT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 100}
CRITERIA = ("support", "response", "relevance", "consequences")

UNARGUED = '"labels whose debater never argued for its position: it refused, argued for another, or said nothing of it"'
"""What the seats that decide are asked in the same breath: no call of its own asks whether somebody argued."""

JsonTask = Literal["judgment", "ballot", "message", "argument", "panel"]
RESPONSE_TEMPLATES: dict[JsonTask, str] = {
    "judgment": '{{"reasoning": "what decided it", "criteria": {{"support": "the better label, or even", '
    '"response": …, "relevance": …, "consequences": …}}, "corrected": "an error that all sides share, '
    'and what is right; else empty", "missed": "what nobody said and the answer needs; else empty", '
    f'"unargued": [{UNARGUED}], '
    '"beliefs": {{{beliefs}, "none": percent}}, '
    '"winner": "a label, or null", "cited": ["ids of the points that decide it, '
    'of the winner first"], "verdict": "the finding in one to three sentences, to be read on its own", '
    '"recommendation": "what you advise to do, in one to three sentences", "probability": percent, '
    '"would_change": "the fact that would change it", "next": "what to check first"}}',
    "ballot": '{{"position": "what you hold, and why, in one sentence", "beliefs": {{{beliefs}, "none": percent}}, '
    '"would_check": "the one fact that you would check"{more}}}',
    "message": '{"to": "a label", "kind": "question, proposal or critique", "text": "the message"}',
    "argument": '{"response": "your turn", "next_agent_name": "who speaks next"}',
    "panel": '{"response": "your turn", "holds": "whose position you hold now, by label, or none"}',
}


MOVED_BY = ', "moved_by": "the id of the point that moved you most, such as {example}, or null"'
WHO_ARGUED = f', "unargued": [{UNARGUED}]'
ROUND_FIELDS = ', "new_point": "text or null", "open_point": "text or null"'


def json_instruction(
    task: JsonTask,
    labels: Sequence[str] = (),
    wave: Wave | None = None,
    example: str = "",
    *,
    asks_who_argued: bool = False,
) -> str:
    """The sentence that asks for JSON. `labels`: the positions to weigh, where there are any. `wave`: of a ballot.

    `example`: the id of a point that its voter has read, or "".
    """
    template = RESPONSE_TEMPLATES[task]
    if labels:
        beliefs = ", ".join(f'"{label}": percent' for label in labels)
        more = MOVED_BY.format(example=example) if example else ""
        more += WHO_ARGUED if asks_who_argued else ""
        more += ROUND_FIELDS if wave == "round" else ""
        template = template.format(beliefs=beliefs, more=more)
    return ask_for_json(template)


def ask_for_json(template: str) -> str:
    return f"Answer with JSON only: {template}"


def text_schema(max_length: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": max_length}


def enum_schema(values: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def list_schema(items: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    return {"type": "array", "items": items} | ({"maxItems": most} if most else {})


def labels_schema(labels: Sequence[str]) -> dict[str, Any]:
    """A list of some of the labels."""
    return list_schema(enum_schema(labels), len(labels))


def nullable_schema(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def judgment_schema(labels: Sequence[str]) -> dict[str, Any]:
    better = enum_schema((*labels, "even"))
    return object_schema(
        reasoning=text_schema(2000),
        criteria=object_schema(**dict.fromkeys(CRITERIA, better)),
        corrected=text_schema(400),
        missed=text_schema(400),
        unargued=labels_schema(labels),
        beliefs=beliefs_schema(labels),
        winner=nullable_schema(enum_schema(labels)),
        cited=list_schema(text_schema(40), MAX_CITED),
        verdict=text_schema(600),
        recommendation=text_schema(600),
        probability=PERCENT,
        would_change=text_schema(400),
        next=text_schema(400),
    )


def ballot_schema(
    labels: Sequence[str], wave: Wave, *, has_read: bool, asks_who_argued: bool
) -> dict[str, Any]:
    """`has_read`: whether its voter has read points that can move it."""
    fields = {
        "position": text_schema(400),
        "beliefs": beliefs_schema(labels),
        "would_check": text_schema(300),
    }
    if has_read:
        fields["moved_by"] = nullable_schema(text_schema(60))
    if asks_who_argued:
        fields["unargued"] = labels_schema(labels)
    if wave == "round":
        fields |= dict.fromkeys(("new_point", "open_point"), nullable_schema(text_schema(300)))
    return object_schema(**fields)


def beliefs_schema(labels: Sequence[str]) -> dict[str, Any]:
    return object_schema(**dict.fromkeys((*labels, "none"), PERCENT))


def direct_message_schema(labels: Sequence[str]) -> dict[str, Any]:
    return object_schema(
        to=enum_schema(labels), kind=enum_schema(("question", "proposal", "critique")), text=text_schema(1200)
    )


def panel_schema(labels: Sequence[str]) -> dict[str, Any]:
    """A turn, and whose position its debater now holds, as everybody may read."""
    return object_schema(response=text_schema(MAX_RESPONSE), holds=enum_schema((*labels, "none")))


class HandoffResponse(BaseModel):
    """A turn and the choice of the next speaker. A turn longer than its schema allows is accepted."""

    response: str
    next_agent_name: str


def handoff(response: str, next_agent_name: str) -> None:
    """Say your turn in this debate, and hand over to the debater who is to speak next.

    Args:
        response: What you say in this turn
        next_agent_name: Who speaks next; never yourself
    """


def handoff_function(labels: Sequence[str]) -> Function:
    function = build_function(handoff)
    function.parameters["properties"]["next_agent_name"]["enum"] = list(labels)
    return function


def handoff_schema(labels: Sequence[str]) -> dict[str, Any]:
    schema = handoff_function(labels).parameters
    schema["properties"]["response"]["maxLength"] = MAX_RESPONSE
    return schema


def handoff_instruction(labels: Sequence[str], *, by_function: bool) -> str:
    """The sentence that asks a speaker to choose the next one. `by_function`: it is offered `handoff`."""
    call = "Call handoff with your turn and who speaks next, or answer otherwise" if by_function else "Answer"
    return (
        f"{call} with JSON only: {RESPONSE_TEMPLATES['argument']}. Who may speak next: {', '.join(labels)}."
    )


LONG, MIDDLE, SHORT = 4_000, 1_500, 600
"""Characters of a text in the answer format."""

MOST_ROWS = 8
"""Of a list in the answer format."""


def answer_schema() -> dict[str, Any]:
    return object_schema(
        premise=text_schema(SHORT),
        because=text_schema(LONG),
        recommendation=text_schema(MIDDLE),
        value=text_schema(SHORT),
        assumed=text_schema(SHORT),
        changes_if=text_schema(SHORT),
        next=text_schema(SHORT),
        probability=PERCENT,
    )


def review_schema(labels: Sequence[str], *, with_answer: bool = False) -> dict[str, Any]:
    answers = list_schema(enum_schema(labels), MOST_ROWS)
    error = object_schema(
        answers=answers, words=text_schema(SHORT), right=text_schema(MIDDLE), matters={"type": "boolean"}
    )
    return object_schema(
        errors=list_schema(error, MOST_ROWS),
        missing=list_schema(text_schema(MIDDLE), MOST_ROWS),
        best=enum_schema(labels),
        keep=list_schema(text_schema(SHORT), MOST_ROWS),
        groups=list_schema(answers, MOST_ROWS),
        differ_in=text_schema(SHORT),
        because=text_schema(MIDDLE),
        recommendation=text_schema(MIDDLE),
        follows=answers,
        value=text_schema(SHORT),
        against=text_schema(SHORT),
        probability=PERCENT,
        **({"answer": text_schema(LONG)} if with_answer else {}),
    )


def exchange_schema(labels: Sequence[str]) -> dict[str, Any]:
    branch = object_schema(**{"if": text_schema(SHORT), "do": text_schema(MIDDLE)})
    return object_schema(
        kind=enum_schema(("words", "fact", "assumption", "value")),
        reply=text_schema(MIDDLE),
        decides=text_schema(SHORT),
        branches=list_schema(branch, MOST_ROWS),
        recommendation=text_schema(MIDDLE),
        same_as=list_schema(enum_schema(labels), MOST_ROWS),
        moved_by=text_schema(SHORT),
        value=text_schema(SHORT),
        next=text_schema(SHORT),
        against=text_schema(SHORT),
        probability=PERCENT,
    )


def check_schema() -> dict[str, Any]:
    fault = object_schema(words=text_schema(SHORT), right=text_schema(MIDDLE), matters={"type": "boolean"})
    return object_schema(faults=list_schema(fault, MOST_ROWS), agrees={"type": "boolean"})
