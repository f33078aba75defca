"""The moderator: it opens rounds and chooses who speaks; it closes rounds and says whether the question is settled."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator

from server.debate.facts.events import RoundClosed, RoundOpened
from server.debate.facts.text import collapse_whitespace
from server.debate.prompts.response_schemas import (
    UNARGUED,
    ask_for_json,
    enum_schema,
    labels_schema,
    list_schema,
    nullable_schema,
    object_schema,
    text_schema,
)
from server.debate.replies.extract import (
    LenientModel,
    OptionalText,
    Reply,
    RequiredText,
    find_debaters,
    find_json,
    find_sections,
    take_list,
)
from server.debate.replies.votes import parse_unargued
from server.debate.rules.calls import Call
from server.debate.rules.course import find_talk_end, is_in_moderated_block, next_phase
from server.debate.seats.seat import Duty
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels

OPENING_STEPS = """\
You are the moderator and open this round.{first} No praise, no summary.
- briefing: facts that all speakers need{tools}, or null.
- new_angle: at most three points, by id, that are attacked and that the outcome depends on, or null.
- next_speakers: who speaks in this round, by label, in order; a label may come twice.
- done: true if this is to be the last round."""
FIRST_ROUND_INSTRUCTION = " It is the first round of talk: let everybody speak."

BLOCK_STEPS = (
    "The phases around this round are held again until you say that it is enough, by {word}; the talk goes on as "
    "planned."
)

CLOSING_STEPS = (
    "You are the moderator and close this round. Say what is agreed and what is disputed, by the ids of points, and "
    "whether the question is settled: only if the last words of every speaker agree, or no attack is left open. Name a "
    "minority with its reason. If the question is settled, decide it."
)
LAST_ROUND_INSTRUCTION = (
    "This was the last round: if it is not settled, say in decision what you would do as things stand."
)

_STATUS = re.compile(
    r"\bcontinue|\bnot\s+(?:\w+\s+)?settled|\bunsettled|(?P<settled>\bsettled\b(?!\W+(?:or\W+)?continue))",
    re.IGNORECASE,
)


class Plan(LenientModel):
    next_speakers: Annotated[list[str], BeforeValidator(take_list)] = []
    briefing: OptionalText = ""
    new_angle: OptionalText = ""
    done: Annotated[bool, BeforeValidator(lambda value: value or False)] = False


class Summary(LenientModel):
    summary: RequiredText
    status: str = ""
    settled: bool | None = None
    decision: OptionalText = ""
    unargued: Any = None


def render_block_steps(debate: Debate, call: Call, word: str) -> Iterator[str]:
    """The rule that phases around this round repeat until the moderator ends them, if there is such a block."""
    if is_in_moderated_block(debate, debate.round_phase(call.round)):
        yield BLOCK_STEPS.format(word=word)


class Opening(Duty):
    task = "opening"
    fact = RoundOpened
    template = (
        '{"briefing": "text or null", "new_angle": "text or null", "next_speakers": ["labels, in order"], '
        '"done": true or false}'
    )

    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        moderator = debate.setup.moderator
        names = ", ".join(moderator.tools) if moderator else ""
        tools = f", with what your tools ({names}) find" if names else ""
        first = FIRST_ROUND_INSTRUCTION if debate.talk_round_count == 1 else ""
        yield OPENING_STEPS.format(tools=tools, first=first)
        rounds_left = max(debate.max_rounds - debate.talk_round_count, 0)
        yield f"Rounds left after this one: {rounds_left}."

    def render_format(self, debate: Debate, call: Call) -> Iterator[str]:
        yield from render_block_steps(debate, call, "done")
        labels = side_labels(debate)
        if speakers_by_round := [
            f"in round {plan.round} {', '.join(labels[name] for name in plan.next_speakers) or 'nobody'}"
            for plan in debate.round_plans
        ]:
            yield f"You called {'; '.join(speakers_by_round)}."
        yield ask_for_json(self.template)

    def build_schema(self, debate: Debate) -> dict[str, Any]:
        return object_schema(
            briefing=nullable_schema(text_schema(2000)),
            new_angle=nullable_schema(text_schema(600)),
            next_speakers=list_schema(enum_schema(debate.setup.labels), 2 * len(debate.names)),
            done={"type": "boolean"},
        )

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        plan = Plan.model_validate(find_json(text))
        known = ", ".join(debate.setup.labels)
        speakers = []
        for name in plan.next_speakers:
            seats = find_debaters(debate, name)
            if len(seats) != 1:
                name_text = collapse_whitespace(name)[:60]
                raise ValueError(f'next_speakers: nobody here is called "{name_text}". Known: {known}')
            speakers.append(seats.pop())
        if not speakers and not plan.done:
            raise ValueError(
                f"next_speakers is empty although done is false: name who speaks. Known: {known}"
            )
        if not speakers and not debate.turns:
            raise ValueError(f"next_speakers is empty although nobody has spoken yet. Known: {known}")
        if len(speakers) > (limit := 2 * len(debate.names)):
            raise ValueError(f"next_speakers has {len(speakers)} labels, and {limit} are allowed")
        return plan.model_dump() | {"next_speakers": tuple(speakers)}


class Closing(Duty):
    task = "closing"
    fact = RoundClosed
    is_data = True
    template = (
        '{"summary": "where the debate stands", "status": "SETTLED or CONTINUE", "decision": "text, or empty", '
        f'"unargued": [{UNARGUED}]}}'
    )

    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        end = find_talk_end(debate)
        phase = next_phase(debate, end) if end else debate.phase
        is_last = phase is None or not phase.is_talk
        suffix = f" {LAST_ROUND_INSTRUCTION}" if is_last else ""
        yield CLOSING_STEPS + suffix

    def render_format(self, debate: Debate, call: Call) -> Iterator[str]:
        yield from render_block_steps(debate, call, "SETTLED")
        yield ask_for_json(self.template)

    def build_schema(self, debate: Debate) -> dict[str, Any]:
        return object_schema(
            summary=text_schema(2000),
            status=enum_schema(("SETTLED", "CONTINUE")),
            decision=text_schema(1200),
            unargued=labels_schema(debate.setup.labels),
        )

    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        sections = find_sections(text, ("summary", "status", "decision"))
        if "status" in sections:
            before = {"summary": sections[""]} if sections[""] else {}
            summary = Summary.model_validate(before | sections)
        else:
            summary = Summary.model_validate(find_json(text, ("status", "settled")))
        status = _STATUS.search(summary.status)
        if status is None and (summary.status or summary.settled is None):
            raise ValueError('"status" must be SETTLED or CONTINUE')
        is_settled = status["settled"] is not None if status else bool(summary.settled)
        if is_settled and not summary.decision:
            raise ValueError("the status is SETTLED, and the decision is missing")
        unargued = parse_unargued(debate, summary.unargued)
        return {
            "summary": summary.summary,
            "settled": is_settled,
            "decision": summary.decision,
            "unargued": unargued,
        }
