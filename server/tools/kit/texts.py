"""Texts of tool results: short Markdown for the model that called the tool."""

from typing import Protocol

from server.debate.commands.intervene import conclude_now
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.state import Debate
from server.debate.facts.text import count_bytes, shorten_to_bytes
from server.debate.rules.decide import is_unattended
from server.debate.views.awaited import AwaitedTurn, awaited_turns, truncate_start
from server.debate.views.markdown import (
    VERDICT_LIMIT as TEXT_LIMIT,
)
from server.debate.views.markdown import (
    format_heading,
    has_result,
    render_verdict,
)
from server.debate.views.state import awaited_seats, status_reason
from server.debate.views.verdict import Turn
from server.engine.debates import next_round
from server.engine.queries import DebateRow, format_list_line
from server.engine.store import DebateSnapshot

MAX_FAILURES = 5
MAX_FAILURE_BYTES = 200
MAX_REASON_BYTES = 800
MAX_AWAITED_BYTES = 300
MIN_PROMPT_BYTES = 200
MAX_STANCE_BYTES = 60
MIN_TURN_BYTES = 20
"""Less than this of a turn is not worth showing."""


class Progress(Protocol):
    """What the text of a progress result is made from."""

    working: bool
    round: int
    turns: list[Turn]
    moderator: str
    awaited: list[AwaitedTurn]
    failures: list[str]
    warnings: list[str]
    estimate: str
    next: str


def format_progress(snapshot: DebateSnapshot, progress: Progress, extra: str) -> str:
    """The verdict if this round ended the debate, else the standing, failures, turns and the next call."""
    debate = snapshot.debate
    if debate.ended and has_result(debate) and progress.round == debate.round:
        ending = f"\n\ndebate_id: {snapshot.id}"
        return render_verdict(debate, TEXT_LIMIT - count_bytes(ending)) + ending
    ending = "\n\n" + progress.next
    parts = [part for part in (extra, format_standing(snapshot, working=progress.working)) if part]
    if progress.round == debate.setup.forked_at_round:  # just opened or forked
        parts += [f"Warning: {warning}" for warning in progress.warnings]
        parts.append(progress.estimate)
    parts += [
        f"Failed: {shorten_to_bytes(line, MAX_FAILURE_BYTES)}" for line in progress.failures[:MAX_FAILURES]
    ]
    if (more := len(progress.failures) - MAX_FAILURES) > 0:
        parts.append(f"And {more} more failed: read_debate(debate_id='{snapshot.id}', view='state').")
    available = TEXT_LIMIT - count_bytes(ending) - sum(count_bytes(part) + 2 for part in parts)
    if progress.awaited:
        share = available // len(progress.awaited) - 2
        parts += [format_awaited_turn(turn, share) for turn in progress.awaited]
    else:
        parts += format_turns(progress, available)
    return shorten_to_bytes("\n\n".join(parts), TEXT_LIMIT - count_bytes(ending)) + ending


def format_awaited_turn(turn: AwaitedTurn, max_bytes: int) -> str:
    """A turn to write, with the end of its prompt, where the instruction stands."""
    title = f"**To write: {turn.speaker}** ({turn.task}). The end of its prompt:\n"
    return title + truncate_start(turn.prompt, max(max_bytes - count_bytes(title), MIN_PROMPT_BYTES))


def format_turns(progress: Progress, max_bytes: int) -> list[str]:
    """The turns of a round and the moderator's text, with an equal share of the bytes each."""
    share = max_bytes // (len(progress.turns) + bool(progress.moderator) or 1) - 2
    parts = [format_turn(turn, share) for turn in progress.turns]
    return [*parts, shorten_to_bytes(progress.moderator, share)] if progress.moderator else parts


def format_turn(turn: Turn, max_bytes: int) -> str:
    """A turn in so many bytes; only its speaker where there are too few."""
    title = f"**{turn.agent}** ({shorten_to_bytes(format_heading(turn.stance), MAX_STANCE_BYTES)}): "
    available = max_bytes - count_bytes(title)
    if available < MIN_TURN_BYTES:
        return shorten_to_bytes(title, max(max_bytes, MIN_TURN_BYTES))
    return title + shorten_to_bytes(turn.text, available)


def format_standing(snapshot: DebateSnapshot, *, working: bool) -> str:
    """Status, round and reason in a sentence or two."""
    debate = snapshot.debate
    where = f"round {debate.round} ({debate.phase.name})" if debate.phase else "not begun"
    activity = "at work, " if working else ""
    line = f"Debate {snapshot.id}: {snapshot.status}, {activity}{where}."
    awaited = awaited_seats(debate)
    if working and awaited:
        line += f" Awaiting {shorten_to_bytes(', '.join(awaited), MAX_AWAITED_BYTES)}."
    reason = status_reason(debate)
    return f"{line} {shorten_to_bytes(reason, MAX_REASON_BYTES)}" if reason else line


def suggest_next_tool(snapshot: DebateSnapshot, *, working: bool) -> str:
    """The next call, written so that it can be made literally. No suggested call is refused."""
    debate = snapshot.debate
    this = f"debate_id='{snapshot.id}'"
    if debate.ended:
        return f"Next: get_verdict({this}) for the finding, read_debate({this}) for everything said."
    conclude = f"get_verdict({this}, conclude=true)" if can_conclude(debate) else ""
    if awaited := awaited_turns(debate):
        return f"Next: submit_turn({this}, speaker='{awaited[0].speaker}', text=…)."
    if debate.paused:
        run = f"get_verdict({this})" if is_unattended(debate) else f"step_round({this})"
        if until := debate.paused.until:
            return f"Next: {run}, from {until} on."
        resume = f"Next: when the cause is gone, intervene({this}, action='resume'), then {run}"
        return f"{resume}; or {conclude} to have what was said judged." if conclude else f"{resume}."
    if working:
        return f"Next: get_verdict({this}) to wait for the end, or step_round({this}) for this round."
    step = f"Next: step_round({this}, round={next_round(debate)})"
    return f"{step}, or {conclude} to have the judges decide on what is there." if conclude else f"{step}."


def can_conclude(debate: Debate) -> bool:
    try:
        conclude_now(debate)
    except InvalidRequestError:
        return False
    return True


def format_debate_list(rows: list[DebateRow], next_cursor: str) -> str:
    """A page of debates, one on a line, with an equal share of the bytes each."""
    if not rows:
        return "No debate matches. Call start_debate to begin one."
    ending = f"\nMore: pass cursor='{next_cursor}'." if next_cursor else ""
    share = (TEXT_LIMIT - count_bytes(ending)) // len(rows) - 1
    return "\n".join(shorten_to_bytes(format_list_line(row), share) for row in rows) + ending
