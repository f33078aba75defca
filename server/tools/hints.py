"""Suggests the next call: one that can be made as written, is not refused, and is not the call just made.

Words behind it say what it is for, where the call alone would mislead.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import takewhile
from typing import Any, assert_never

from server.debate.answer.debates import build_panel
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Paused, PhaseEntered
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from server.debate.machine.decide import Status, next_round
from server.debate.state.debate import Debate
from server.debate.views.awaited import describe_awaited_text, list_written_calls
from server.debate.views.state import StoredDebate


def suggest_next(stored: StoredDebate, status: Status, tool: str) -> str:
    """The call to make after a call of `tool`. `status`: the debate's, `ready` included."""
    match status:
        case "concluded" | "truncated":
            return suggest_after_end(stored, tool)
        case "waiting":
            return suggest_turn(stored, tool)
        case "ready" if not stored.is_unattended:
            return format_call("step_round", debate_id=stored.id, round=next_round(stored.debate))
        case "running" | "ready":
            return suggest_waiting(stored, tool)
        case "paused":
            return suggest_resuming(stored, tool)
        case _:
            assert_never(status)


def suggest_after_end(stored: StoredDebate, tool: str) -> str:
    if is_unreviewed(stored.debate):
        call = format_call("fork_debate", debate_id=stored.id, at_round=1)
        return f"{call}, which keeps the answers and has them reviewed"
    if tool in ("read_debate", "intervene"):
        return format_call("get_verdict", debate_id=stored.id)
    has_result = stored.debate.ended and stored.debate.ended.ending == "concluded"
    why = (
        "if you need more"
        if has_result
        else "for what was said; fork_debate tries it with other models or limits"
    )
    return f"{format_call('read_debate', debate_id=stored.id)}, {why}"


def suggest_resuming(stored: StoredDebate, tool: str) -> str:
    paused = stored.debate.paused
    if paused and paused.until:  # it resumes by itself
        call = "step_round" if tool == "get_verdict" else "get_verdict"
        return f"{format_call(call, debate_id=stored.id)}, after {paused.until}"
    if not has_paused_again(stored):
        resume = format_call("intervene", debate_id=stored.id, action="resume")
        is_wanted = paused and paused.cause in ("request", "pause_when")  # somebody wants it to stand still
        return f"{resume}, once it may go on" if is_wanted else resume
    if can_conclude(stored.debate):
        return format_call("intervene", debate_id=stored.id, action="conclude")
    return suggest_remedy(stored)


def suggest_turn(stored: StoredDebate, tool: str) -> str:
    """The call that submits an awaited turn, or one during which the client's model is asked for it."""
    calls = list_written_calls(stored.debate)
    if not calls:
        return suggest_waiting(stored, tool)
    speaker = format_argument(calls[0].seat)
    call = f"submit_turn(debate_id='{stored.id}', speaker={speaker}, text=…)"
    return f"{call}{describe_awaited_text(stored.debate)}"


def suggest_after_list(filters: Mapping[str, str | int], cursor: str, first_id: str) -> str:
    """What to call after a page of debates. `cursor`: of the next page; `first_id`: the first debate here, or ""."""
    if cursor:
        given = {name: value for name, value in filters.items() if value}
        return format_call("find_debates", **given, cursor=cursor)
    return format_call("read_debate", debate_id=first_id) if first_id else "start_debate(question=…)"


def suggest_waiting(stored: StoredDebate, tool: str) -> str:
    """The call that waits for the debate; after get_verdict, the one that waits for its round."""
    if tool == "get_verdict":
        call = format_call("step_round", debate_id=stored.id, round=next_round(stored.debate))
        return f"{call}, which waits for this round"
    return format_call("get_verdict", debate_id=stored.id)


def has_paused_again(stored: StoredDebate) -> bool:
    """Whether resuming would lead to the same pause: the budget is spent, or it was resumed in this round already."""
    paused = stored.debate.paused
    if paused is None or paused.until or paused.cause not in ("budget", "quorum", "unheard"):
        return False
    since_round = takewhile(
        lambda event: not isinstance(event, PhaseEntered), (entry.event for entry in reversed(stored.entries))
    )
    causes = [event.cause for event in since_round if isinstance(event, Paused)]
    return paused.cause == "budget" or causes.count(paused.cause) > 1


def suggest_remedy(stored: StoredDebate) -> str:
    """What to do about a pause that comes back when the debate is resumed."""
    debate, debate_id = stored.debate, stored.id
    if debate.paused and debate.paused.cause == "budget":
        return f"intervene(debate_id='{debate_id}', action='extend', limits=…)"
    if not debate.round_failures:
        return format_call("intervene", debate_id=debate_id, action="resume")
    seat = format_argument(debate.round_failures[0].seat)
    return f"intervene(debate_id='{debate_id}', action='replace_model', to={seat}, model=…)"


def can_conclude(debate: Debate) -> bool:
    with suppress(InvalidRequestError):
        build_intervention(debate, "conclude", InterventionRequest())
        return True
    return False


def is_unreviewed(debate: Debate) -> bool:
    """Whether there are answers that were to be reviewed, and no review of them can be used."""
    panel = build_panel(debate)
    return bool(panel.answers and panel.reviewers and not panel.readers)


def format_call(tool: str, **arguments: Any) -> str:
    """A call as code: tool(name='value')."""
    return f"{tool}({', '.join(f'{name}={format_argument(value)}' for name, value in arguments.items())})"


def format_argument(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    is_plain = isinstance(value, str) and text == f'"{value}"' and "'" not in value
    return f"'{value}'" if is_plain else text
