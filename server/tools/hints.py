"""Suggests the next call: one that can be made as written, is not refused, and is not the call just made."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, assert_never

from server.debate.answer.debates import build_panel
from server.debate.commands.forks.fork import build_fork
from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Paused, PhaseEntered, Recorded
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from server.debate.machine.decide import Status, next_round
from server.debate.state.debate import Debate
from server.debate.state.memo import once
from server.debate.views.awaited import describe_awaited_text, list_written_calls
from server.debate.views.state import StoredDebate


def suggest_next(stored: StoredDebate, status: Status, tool: str) -> str:
    """What to call after a call of `tool`. `status`: the debate's, `ready` included."""
    return f"Next: {'; or '.join(suggest_calls(stored, status, tool))}."


def suggest_calls(stored: StoredDebate, status: Status, tool: str) -> Iterator[str]:
    match status:
        case "concluded" | "truncated":
            yield from suggest_reading(stored, tool)
        case "waiting":
            yield suggest_turn(stored, tool)
        case "running":
            yield f"{suggest_waiting(stored, tool)} to wait on"
            if stored.debate.advice:
                yield from suggest_conclusion(stored)
        case "ready":
            if stored.is_unattended:
                yield f"{suggest_waiting(stored, tool)} to wait on"
            else:
                yield format_call("step_round", debate_id=stored.id, round=next_round(stored.debate))
                yield from suggest_conclusion(stored)
        case "paused":
            yield from suggest_resuming(stored, tool)
        case _:
            assert_never(status)


def suggest_reading(stored: StoredDebate, tool: str) -> Iterator[str]:
    debate_id = stored.id
    if tool in ("read_debate", "intervene"):
        yield f"{format_call('get_verdict', debate_id=debate_id)} for the finding"
    else:
        yield f"{format_call('read_debate', debate_id=debate_id)} for everything said"
    is_unread = is_unreviewed(stored.debate)
    at_round = 1 if is_unread else compute_fork_round(stored.debate, debate_id, stored.entries)
    fork = format_call("fork_debate", debate_id=debate_id, at_round=at_round)
    purpose = (
        "to keep the answers and have them reviewed" if is_unread else "with changes, to try it otherwise"
    )
    yield f"{fork} {purpose}"


def suggest_resuming(stored: StoredDebate, tool: str) -> Iterator[str]:
    paused = stored.debate.paused
    if paused and paused.until:
        yield f"{suggest_waiting(stored, tool)} from {paused.until} on"
    elif not has_paused_again(stored):
        is_wanted = paused is not None and paused.cause in ("request", "pause_when")
        condition = "to go on" if is_wanted else "when the cause is gone"
        yield f"{format_call('intervene', debate_id=stored.id, action='resume')} {condition}"
    yield from suggest_conclusion(stored)
    if has_paused_again(stored):
        yield suggest_remedy(stored)


def suggest_conclusion(stored: StoredDebate) -> Iterator[str]:
    if can_conclude(stored.debate):
        conclude = format_call("intervene", debate_id=stored.id, action="conclude")
        purpose = "end on what was answered" if stored.debate.advice else "have what was said judged"
        yield f"{conclude} to {purpose}"


def suggest_turn(stored: StoredDebate, tool: str) -> str:
    """The call that submits an awaited turn, or one during which the client's model is asked for it."""
    calls = list_written_calls(stored.debate)
    if not calls:
        return f"{suggest_waiting(stored, tool)} to have the client's model asked"
    speaker = format_argument(calls[0].seat)
    call = f"submit_turn(debate_id='{stored.id}', speaker={speaker}, text=…)"
    return f"{call}{describe_awaited_text(stored.debate)}"


def suggest_after_list(query: str, status: str, cursor: str, first_id: str) -> str:
    """What to call after a page of debates. `cursor`: of the next page; `first_id`: the first debate here, or ""."""
    if cursor:
        filters = {name: value for name, value in (("query", query), ("status", status)) if value}
        return f"Next: {format_call('find_debates', **filters, cursor=cursor)} for more."
    call = format_call("read_debate", debate_id=first_id) if first_id else "start_debate(question=…)"
    return f"Next: {call}."


def suggest_waiting(stored: StoredDebate, tool: str) -> str:
    """The call that waits for the debate; after get_verdict, the one that waits for its round."""
    if tool == "get_verdict":
        return format_call("step_round", debate_id=stored.id, round=next_round(stored.debate))
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
        return f"intervene(debate_id='{debate_id}', action='extend', limits=…) to go on"
    resume = f"{format_call('intervene', debate_id=debate_id, action='resume')} when the cause is gone"
    if not debate.round_failures:
        return resume
    seat = format_argument(debate.round_failures[0].seat)
    return f"intervene(debate_id='{debate_id}', action='replace_model', to={seat}, model=…) and then {resume}"


def can_conclude(debate: Debate) -> bool:
    with suppress(InvalidRequestError):
        build_intervention(debate, "conclude", InterventionRequest())
        return True
    return False


def is_unreviewed(debate: Debate) -> bool:
    """Whether there are answers that were to be reviewed, and no review of them can be used."""
    panel = build_panel(debate)
    return bool(panel.answers and panel.reviewers and not panel.readers)


@once
def compute_fork_round(debate: Debate, debate_id: str, entries: Sequence[Recorded]) -> int:
    """The last round of talk if a fork of an ended debate can share it, or 0."""
    with suppress(InvalidRequestError):
        for at_round in debate.talk_rounds[-1:]:
            build_fork(debate_id, debate, entries, at_round, ChangesInput())
            return at_round
    return 0


def format_call(tool: str, **arguments: Any) -> str:
    """A call as code: tool(name='value')."""
    return f"{tool}({', '.join(f'{name}={format_argument(value)}' for name, value in arguments.items())})"


def format_argument(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    is_plain = isinstance(value, str) and text == f'"{value}"' and "'" not in value
    return f"'{value}'" if is_plain else text
