"""The prompt of one model call.

The layout serves the prompt caches of providers (requirement N11). Every prompt of a debate is

    [common rules] [question, documents, positions] [transcript so far] [seat, task, format of the reply]

and each part only grows at its end. Only the last part depends on the seat, so all seats and judges on
one model share one growing prefix; a judge's second reading is the one second prefix. Nothing before the
transcript changes within a debate: it holds no time, id or counter.

Question, documents, positions, notes, turns and research results are quoted line by line ("> "), so there
is no closing mark that a text could forge. So is what seats have to follow, under a line of ours that says so:
`instructions`, the prompts of seats, custom phases. A record that came with a file holds such texts, too.
"""

import json
from typing import Any

from server.debate.ballots.waves import find_wave
from server.debate.facts.text import clean_line
from server.debate.prompts import response_schemas as replies
from server.debate.prompts import wording
from server.debate.prompts.ballots import is_blind_call
from server.debate.prompts.material import render_section
from server.debate.prompts.prompt import Message, Prompt
from server.debate.prompts.summary import build_prompt_summary
from server.debate.prompts.tail import find_handoff_mode, other_debaters, other_labels, render_tail
from server.debate.prompts.transcript import render_preamble, render_transcript
from server.debate.rules.calls import Call
from server.debate.rules.framing import find_position_limit
from server.debate.rules.schedule import slot_failures
from server.debate.state.debate import Debate


def render_parts(debate: Debate, call: Call) -> tuple[str, str]:
    """What a seat is asked: (question, documents, positions and transcript; who it is and what it is to do)."""
    body = [render_section(debate, call) if call.task == "digest" else render_preamble(debate, call)]
    body += [] if is_blind_call(call) else render_transcript(debate, call)
    tail = list(render_tail(debate, call))
    if call.attempt > 1:
        detail = clean_line(slot_failures(debate, call.slot_key)[-1].detail)
        tail.append(f"Your previous reply could not be used: {detail}. Answer again, as asked.")
    return "\n\n".join(body), "\n".join(tail)


def render(debate: Debate, call: Call) -> Prompt:
    schema, is_ours = build_response_schema(debate, call)
    offers_handoff = find_handoff_mode(debate, call) == "tool"
    return Prompt(
        messages=(
            Message("system", wording.COMMON_RULES[debate.setup.brief]),
            Message("user", "\n\n".join(render_parts(debate, call))),
        ),
        summary=build_prompt_summary(debate, call),
        schema=schema,
        strict=is_ours,
        functions=(replies.handoff_function(other_debaters(debate, call)),) if offers_handoff else (),
    )


def build_response_schema(debate: Debate, call: Call) -> tuple[dict[str, Any] | None, bool]:  # noqa: C901  (a table of cases)
    """Return (the JSON Schema of the reply or None for prose, whether the schema is ours)."""
    schema: dict[str, Any] | None = None
    match call.task:
        case "digest":
            schema = replies.digest_schema()
        case "framing":
            schema = replies.framing_schema(find_position_limit(debate))
        case "judgment":
            schema = replies.judgment_schema(debate.setup.labels)
        case "ballot":
            schema = replies.ballot_schema(debate.setup.labels, find_wave(debate, call.slot_index))
        case "message":
            schema = replies.direct_message_schema(other_labels(debate, call))
        case "opening":
            schema = replies.round_plan_schema(debate.names)
        case "closing":
            schema = replies.closing_schema()
        case "observation":
            schema = replies.observation_schema(debate.setup.labels)
        case "extraction":
            schema = replies.extraction_schema(debate.setup.labels)
        case "argument" if find_handoff_mode(debate, call) == "structured":
            schema = replies.handoff_schema(other_debaters(debate, call))
        case "deliverable" if debate.setup.output_schema:
            return json.loads(debate.setup.output_schema), False
    return schema, True
