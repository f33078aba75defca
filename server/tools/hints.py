"""What to call next: calls that can be made as they are written, never refused, and never the one just made."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from server.debate.commands.forks.fork import build_fork
from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Paused, PhaseEntered, Recorded
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from server.debate.machine.decide import next_round
from server.debate.state.debate import Debate
from server.debate.state.memo import once
from server.debate.views.awaited import describe_awaited_text, list_written_calls
from server.debate.views.state import StoredDebate


def suggest_next(stored: StoredDebate, status: str, tool: str) -> str:
    """What to call after a call of `tool`. `status`: of the debate, `ready` included."""
    return f"Next: {'; or '.join(suggest_calls(stored, status, tool))}."


def suggest_calls(stored: StoredDebate, status: str, tool: str) -> Iterator[str]:
    debate, this = stored.debate, stored.id
    if debate.ended:
        if tool in ("read_debate", "intervene"):
            yield f"{format_call('get_verdict', debate_id=this)} for the finding"
        else:
            yield f"{format_call('read_debate', debate_id=this)} for everything said"
        fork_call = format_call(
            "fork_debate", debate_id=this, at_round=find_fork_round(debate, this, stored.entries)
        )
        yield f"{fork_call} with changes, to try it otherwise"
    elif status == "waiting":
        yield suggest_turn(stored, tool)
    elif status == "running" or (status == "ready" and stored.is_unattended):
        yield f"{suggest_waiting(stored, tool)} to wait on"
    else:
        if status == "ready":
            yield format_call("step_round", debate_id=this, round=next_round(debate))
        elif debate.paused and (until := debate.paused.until):
            yield f"{suggest_waiting(stored, tool)} from {until} on"
        elif not has_paused_again(stored):
            is_wanted = debate.paused is not None and debate.paused.cause in ("request", "pause_when")
            when = "to go on" if is_wanted else "when the cause is gone"
            yield f"{format_call('intervene', debate_id=this, action='resume')} {when}"
        if can_conclude(debate):
            conclude = format_call("intervene", debate_id=this, action="conclude")
            yield f"{conclude} to have what was said judged"
        if status == "paused" and has_paused_again(stored):
            yield suggest_remedy(stored)


def suggest_turn(stored: StoredDebate, tool: str) -> str:
    """What brings an awaited turn: the call that submits it, or one during which the client's model is asked."""
    written = list_written_calls(stored.debate)
    if not written:
        return f"{suggest_waiting(stored, tool)} to have the client's model asked"
    speaker = format_argument(written[0].seat)
    call = f"submit_turn(debate_id='{stored.id}', speaker={speaker}, text=…)"
    return f"{call}{describe_awaited_text(stored.debate)}"


def suggest_after_list(query: str, status: str, cursor: str, first: str) -> str:
    """What to call after a page of debates. `cursor`: of the next one; `first`: the first debate on the page, or ""."""
    if cursor:
        chosen = {name: given for name, given in (("query", query), ("status", status)) if given}
        return f"Next: {format_call('find_debates', **chosen, cursor=cursor)} for more."
    return f"Next: {format_call('read_debate', debate_id=first) if first else 'start_debate(question=…)'}."


def suggest_waiting(stored: StoredDebate, tool: str) -> str:
    """The call that waits for the debate, or for its round after one that waited for the debate."""
    if tool == "get_verdict":
        return format_call("step_round", debate_id=stored.id, round=next_round(stored.debate))
    return format_call("get_verdict", debate_id=stored.id)


def has_paused_again(stored: StoredDebate) -> bool:
    """Whether to resume it comes to the same pause: its budget is spent, or it was tried in this round."""
    paused = stored.debate.paused
    if paused is None or paused.until or paused.cause not in ("budget", "quorum", "unheard"):
        return False
    since_round = takewhile(
        lambda event: not isinstance(event, PhaseEntered), (entry.event for entry in reversed(stored.entries))
    )
    causes = [event.cause for event in since_round if isinstance(event, Paused)]
    return paused.cause == "budget" or causes.count(paused.cause) > 1


def suggest_remedy(stored: StoredDebate) -> str:
    """What a pause needs that comes back."""
    debate, this = stored.debate, stored.id
    if debate.paused and debate.paused.cause == "budget":
        return f"intervene(debate_id='{this}', action='extend', limits=…) to go on"
    resume = f"{format_call('intervene', debate_id=this, action='resume')} when the cause is gone"
    if not debate.round_failures:
        return resume
    seat = format_argument(debate.round_failures[0].seat)
    return f"intervene(debate_id='{this}', action='replace_model', to={seat}, model=…) and then {resume}"


def can_conclude(debate: Debate) -> bool:
    with suppress(InvalidRequestError):
        build_intervention(debate, "conclude", InterventionRequest())
        return True
    return False


@once
def find_fork_round(debate: Debate, debate_id: str, entries: Sequence[Recorded]) -> int:
    """The last round of talk if a fork of an ended debate can share it, or 0."""
    with suppress(InvalidRequestError):
        for at_round in debate.talk_rounds[-1:]:
            build_fork(debate_id, debate, entries, at_round, ChangesInput())
            return at_round
    return 0


def format_call(tool: str, **arguments: Any) -> str:
    """A call as one would write it, with its arguments."""
    return f"{tool}({', '.join(f'{name}={format_argument(value)}' for name, value in arguments.items())})"


def format_argument(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    is_plain = isinstance(value, str) and text == f'"{value}"' and "'" not in value
    return f"'{value}'" if is_plain else text
