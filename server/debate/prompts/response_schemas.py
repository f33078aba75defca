"""The formats of replies that are read as data: as JSON Schemas, and as texts in prompts.

Every string has a maximum length: the grammars of the embedded model need one.
"""

import json
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel

from server.debate.arguments.extraction import MAX_CLAIMS
from server.debate.ballots.rhetoric import MAX_MARKS
from server.debate.facts.answers import ClaimRelation, Pattern, PointKind
from server.debate.facts.beliefs import BLIND_WAVES, Wave
from server.debate.facts.setup.options import HandoffMode
from server.debate.prompts.tool_schemas import Function, build_function

MAX_CITED = 12
"""Points that a judge names."""

CRITERIA = ("support", "response", "relevance", "consequences")

RESPONSE_TEMPLATES: dict[str, str] = {
    "framing": '{"kind": "yes_no or open", "positions": ["the first", "the second", …], "assumption": "text"}',
    "digest": '{"summary": "what the section holds", "quotes": ["copied exactly", …]}',
    "judgment": '{{"reasoning": "what decided it", "criteria": {{"support": "the better code word, or even", '
    '"response": …, "relevance": …, "consequences": …}}, "beliefs": {{{beliefs}, "none": percent}}, '
    '"winner": "a code word, or null", "cited": ["ids of the points that decide it, '
    'of the winner first"], "verdict": "the finding in one to three sentences, to be read on its own", '
    '"would_change": "the fact that would change it", "common_position": "text, empty if there is a winner"}}',
    "ballot": '{{"position": "what you hold, and why, in one sentence", "beliefs": {{{beliefs}, "none": percent}}, '
    '"would_check": "the one fact that you would check"{more}}}',
    "message": '{"to": "a code word", "kind": "question, proposal or critique", "text": "the message"}',
    "opening": '{"briefing": "text or null", "new_angle": "text or null", "next_speakers": ["names, in order"], '
    '"done": true or false}',
    "closing": '{"summary": "where the debate stands", "status": "SETTLED or CONTINUE", "decision": "text, or empty"}',
    "observation": '{"marks": [{"pattern": "its name", "speaker": "a code word", "words": "copied", '
    '"of": "a code word or null", "original_words": "copied, or null", "why": "in a sentence"}]}',
    "extraction": '{"claims": [{"speaker": "a code word", "words": "copied", "claim": "in a sentence", "kind": "fact", '
    '"evidence": "text or null", "links": [{"relation": "attacks", "to": "an id or #row"}], '
    '"same_as": ["an id or #row"]}], "left_out": [{"speaker": "a code word", "words": "copied", "why": "in short"}]}',
    "argument": '{"response": "your turn", "next_agent_name": "who speaks next"}',
}


MOVED_BY = ', "moved_by": "the id of the point that moved you most, such as {example}, or null"'
ROUND_FIELDS = ', "new_point": "text or null", "open_point": "text or null"'


def json_instruction(task: str, labels: Sequence[str] = (), wave: Wave | None = None) -> str:
    """The sentence that asks for JSON. `labels`: the positions to weigh, where there are any. `wave`: of a ballot."""
    template = RESPONSE_TEMPLATES[task]
    if labels:
        beliefs = ", ".join(f'"{label}": percent' for label in labels)
        more = "" if wave in BLIND_WAVES else MOVED_BY.format(example=f"{labels[0]} 1.1")
        more += ROUND_FIELDS if wave == "round" else ""
        template = template.format(beliefs=beliefs, more=more)
    return f"Answer with JSON only: {template}"


def text_schema(max_length: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": max_length}


def enum_schema(values: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def nullable_schema(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def framing_schema(most: int) -> dict[str, Any]:
    positions = {"type": "array", "items": text_schema(300), "minItems": 2, "maxItems": most}
    return object_schema(
        kind=enum_schema(("yes_no", "open")), positions=positions, assumption=text_schema(400)
    )


def digest_schema() -> dict[str, Any]:
    return object_schema(
        summary=text_schema(4000), quotes={"type": "array", "items": text_schema(400), "maxItems": 6}
    )


def judgment_schema(labels: Sequence[str]) -> dict[str, Any]:
    better = enum_schema((*labels, "even"))
    return object_schema(
        reasoning=text_schema(2000),
        criteria=object_schema(**dict.fromkeys(CRITERIA, better)),
        beliefs=beliefs_schema(labels),
        winner=nullable_schema(enum_schema(labels)),
        cited={"type": "array", "items": text_schema(40), "maxItems": MAX_CITED},
        verdict=text_schema(600),
        would_change=text_schema(400),
        common_position=text_schema(600),
    )


def ballot_schema(labels: Sequence[str], wave: Wave) -> dict[str, Any]:
    fields = {
        "position": text_schema(400),
        "beliefs": beliefs_schema(labels),
        "would_check": text_schema(300),
    }
    if wave not in BLIND_WAVES:
        fields["moved_by"] = nullable_schema(text_schema(60))
    if wave == "round":
        fields |= dict.fromkeys(("new_point", "open_point"), nullable_schema(text_schema(300)))
    return object_schema(**fields)


def beliefs_schema(labels: Sequence[str]) -> dict[str, Any]:
    percent = {"type": "integer", "minimum": 0, "maximum": 100}
    return object_schema(**dict.fromkeys((*labels, "none"), percent))


def direct_message_schema(labels: Sequence[str]) -> dict[str, Any]:
    return object_schema(
        to=enum_schema(labels), kind=enum_schema(("question", "proposal", "critique")), text=text_schema(1200)
    )


def round_plan_schema(names: Sequence[str]) -> dict[str, Any]:
    return object_schema(
        briefing=nullable_schema(text_schema(2000)),
        new_angle=nullable_schema(text_schema(600)),
        next_speakers={"type": "array", "items": enum_schema(names), "maxItems": 2 * len(names)},
        done={"type": "boolean"},
    )


def observation_schema(labels: Sequence[str]) -> dict[str, Any]:
    mark = object_schema(
        pattern=enum_schema([pattern.replace("_", " ") for pattern in get_args(Pattern)]),
        speaker=enum_schema(labels),
        words=text_schema(600),
        of=nullable_schema(enum_schema(labels)),
        original_words=nullable_schema(text_schema(600)),
        why=text_schema(300),
    )
    return object_schema(marks={"type": "array", "items": mark, "maxItems": MAX_MARKS})


def extraction_schema(labels: Sequence[str]) -> dict[str, Any]:
    said = {"speaker": enum_schema(labels), "words": text_schema(600)}
    link = object_schema(relation=enum_schema(get_args(ClaimRelation)), to=text_schema(60))
    claim = object_schema(
        **said,
        claim=text_schema(400),
        kind=enum_schema(get_args(PointKind)),
        evidence=nullable_schema(text_schema(300)),
        links={"type": "array", "items": link, "maxItems": 12},
        same_as={"type": "array", "items": text_schema(60), "maxItems": 12},
    )
    left_out = object_schema(**said, why=text_schema(300))
    return object_schema(
        claims={"type": "array", "items": claim, "maxItems": MAX_CLAIMS},
        left_out={"type": "array", "items": left_out, "maxItems": 40},
    )


def closing_schema() -> dict[str, Any]:
    return object_schema(
        summary=text_schema(2000), status=enum_schema(("SETTLED", "CONTINUE")), decision=text_schema(1200)
    )


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


def handoff_function(names: Sequence[str]) -> Function:
    function = build_function(handoff)
    function.parameters["properties"]["next_agent_name"]["enum"] = list(names)
    return function


def handoff_schema(names: Sequence[str]) -> dict[str, Any]:
    schema = handoff_function(names).parameters
    schema["properties"]["response"]["maxLength"] = 2000
    return schema


def handoff_instruction(handoff_mode: HandoffMode, names: Sequence[str]) -> str:
    """The sentence that asks a speaker to choose the next one."""
    listed = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
    if handoff_mode == "tool":
        return f"Call handoff(response, next_agent_name) with your turn and who speaks next: {listed}."
    if handoff_mode == "text":
        lines = " or ".join(f'"Transition to {name}"' for name in names)
        return f"End with a line that chooses who speaks next: {lines}."
    return f"{json_instruction('argument')}. Who may speak next: {listed}."
