"""The framer: where nobody named debaters, it says what a question is about, and which positions answer it.

It makes positions of what models answered before, each without seeing the others: who is asked first what the positions
are, finds those that anybody would name.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from server.debate.facts.events import AnsweredBlind, PositionsFramed
from server.debate.facts.quoting import quote_verbatim
from server.debate.facts.text import collapse_whitespace
from server.debate.prompts.response_schemas import enum_schema, list_schema, object_schema, text_schema
from server.debate.replies.extract import (
    LenientModel,
    OptionalText,
    Reply,
    RequiredText,
    find_json,
    normalize_name,
    parse_text,
    take_list,
)
from server.debate.rules.calls import Call
from server.debate.rules.framing import SIDES, find_position_limit, seat_positions
from server.debate.seats.seat import Duty
from server.debate.state.debate import Debate
from server.debate.state.labels import label_debaters

MAX_POSITION_LENGTH = MAX_ASSUMPTION_LENGTH = 500

BLIND_STEPS = (
    "Answer the question yourself, in at most {words} words: what you would do or say, and the reason that decides it. "
    "If the answer depends on something that is not told, say what you take to be the case."
)
BLIND_WORDS = 120
ANSWERS_HEADING = "# Answers, each written without seeing another"

QUESTION_KINDS = {"yesno": "yes_no", "binary": "yes_no", "open": "open", "": "open"}
"""Kinds of question by what models write for them, letters only."""

STEPS = """\
You are the framer. Say what this debate is about, without answering the question.
- kind "yes_no": whether to do one thing, or whether one thing is so; a motion is one too. "open": everything else: \
which, what, how, when, who, or a choice that the question names.
- alternatives: the answers among which the question asks to choose, each copied from it. An empty list where it names \
none.
- yes_no has two positions: first the yes, then the no, each spelled out as what it recommends or holds, such as \
"Ship on Friday" and "Do not ship on Friday".
- open has {most} positions, each of which excludes the others: {source} What the question or the documents name comes \
first, in their words. Never "for" and "against" here, nor "it depends".
- Each position is one phrase of at most 20 words, without reasons.
- assumption: in one sentence, what to take for given where the question leaves open what the answer depends on\
{assumed}; else an empty text."""
FROM_ANSWERS = (
    "what the answers advise, each once; if all advise the same, also the strongest that somebody informed would "
    "advise instead."
)
FROM_KNOWLEDGE = "what somebody informed would advise and act on."
ASSUMED_IN_ANSWERS = ", as the answers do"


class FramedQuestion(LenientModel):
    kind: OptionalText = ""
    alternatives: Annotated[list[OptionalText], BeforeValidator(take_list)] = []
    positions: list[RequiredText]
    assumption: OptionalText = ""


class BlindAnswer(Duty):
    task = "blind_answer"
    fact = AnsweredBlind

    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        yield BLIND_STEPS.format(words=BLIND_WORDS)

    def build_schema(self, debate: Debate) -> None:
        """None: it answers in prose."""

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        return parse_text(text, reply)


class Framing(Duty):
    task = "framing"
    fact = PositionsFramed
    is_data = True
    template = (
        '{"kind": "yes_no or open", "alternatives": ["one", …], "positions": ["the first", "the second", …], '
        '"assumption": "text"}'
    )

    def render_material(self, debate: Debate, call: Call) -> str:
        answers = [f"[{n}]\n{quote_verbatim(one.text)}" for n, one in enumerate(debate.blind_answers, 1)]
        quoted = "\n".join([ANSWERS_HEADING, *answers]) if answers else ""
        return "\n\n".join(filter(None, [super().render_material(debate, call), quoted]))

    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        most = find_position_limit(debate)
        answers = debate.blind_answers
        yield STEPS.format(
            most=f"{SIDES} to {most}" if most > SIDES else SIDES,
            source=FROM_ANSWERS if answers else FROM_KNOWLEDGE,
            assumed=ASSUMED_IN_ANSWERS if answers else "",
        )

    def build_schema(self, debate: Debate) -> dict[str, Any]:
        positions = list_schema(text_schema(300), find_position_limit(debate)) | {"minItems": 2}
        return object_schema(
            kind=enum_schema(("yes_no", "open")),
            alternatives=list_schema(text_schema(300)),
            positions=positions,
            assumption=text_schema(400),
        )

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        if not reply.informative:
            raise ValueError("the model is too small to frame a question")
        framed = FramedQuestion.model_validate(find_json(text, ("positions",)))
        kind = QUESTION_KINDS.get("".join(filter(str.isalpha, framed.kind.casefold())), "")
        if not kind:
            raise ValueError('"kind" must be yes_no or open')
        positions = [collapse_whitespace(position)[:MAX_POSITION_LENGTH] for position in framed.positions]
        if len({normalize_name(position) for position in positions}) < len(positions):
            raise ValueError("positions: two of them are the same, and each has to exclude the others")
        limit = SIDES if kind == "yes_no" else find_position_limit(debate)
        if not SIDES <= len(positions) <= limit:
            expected = "the yes and the no" if kind == "yes_no" else f"{SIDES} to {limit}"
            raise ValueError(f"positions: {expected} are wanted for {kind}, and there are {len(positions)}")
        if problem := find_mismatch(debate.setup.question, kind, framed.alternatives, positions):
            raise ValueError(f"positions: {problem}")
        debaters = seat_positions(debate.setup, kind, positions)
        labels = label_debaters(debate.setup, debaters)
        assumption = collapse_whitespace(framed.assumption)[:MAX_ASSUMPTION_LENGTH]
        return {"question_kind": kind, "debaters": debaters, "labels": labels, "assumption": assumption}


def find_mismatch(question: str, kind: str, alternatives: Sequence[str], positions: Sequence[str]) -> str:
    """Why positions answer another question than this one, as far as any language shows it; "" if they fit."""
    question_text, position_texts = normalize_name(question), [*map(normalize_name, positions)]
    named = [answer for answer in map(normalize_name, alternatives) if answer and answer in question_text]
    choices = ", ".join(f'"{answer}"' for answer in named)
    if len(named) <= 1:
        return ""
    if kind == "yes_no":
        return f"the question asks to choose among {choices}: kind is open, or alternatives is empty if it does not"
    is_named = any(answer in position for answer in named for position in position_texts)
    return "" if is_named else f"none of them is an answer that the question names: {choices}"
