"""What tools answer: a short text for the model, the same as data for programs, and links to the rest."""

from pathlib import PurePosixPath
from typing import Any

from mcp.types import Annotations, CallToolResult, ContentBlock, ResourceLink, TextContent
from pydantic import BaseModel

from server.debate.commands.intervene import conclude_now
from server.debate.commands.open import warnings
from server.debate.facts.errors import Refused
from server.debate.facts.state import Debate
from server.debate.facts.text import shortened, size
from server.debate.rules.decide import runs_by_itself
from server.debate.views import markdown
from server.debate.views import state as views
from server.debate.views import warnings as cautions
from server.debate.views.markdown import VERDICT_LIMIT as TEXT_LIMIT
from server.debate.views.markdown import heading
from server.engine.debates import next_round
from server.engine.queries import Awaited, awaited, last_of, listed_line
from server.engine.runner import Case
from server.models.registry import family

MOST_FAILURES = 5
LONGEST_FAILURE = 200
LONGEST_PROMPTS = 20_000
"""Bytes that the prompts in a result share; read_debate(view="prompt") has them whole."""
LONGEST_REASON = 800
LONGEST_WAITED = 300
"""Bytes, of what stands before the turns of a round: these have to be read, too."""


class Progress(BaseModel):
    """How far a debate is, with the turns of its last round."""

    debate_id: str
    status: str
    working: bool
    reason: str
    round: int
    phase: str
    turns: list[views.Turn]
    moderator: str  # what the moderator and the referee said in that round
    awaited: list[Awaited]
    failures: list[str]
    warnings: list[str]
    estimate: str  # what the whole debate will take
    outcome: str
    verdict: str
    next: str


class Finding(views.Verdict):
    """The verdict, or how far it is."""

    debate_id: str
    status: str
    working: bool
    reason: str
    failures: list[str]
    cost_usd: str
    next: str


class Page(BaseModel):
    debates: list[dict[str, Any]]
    cursor: str


class View(BaseModel):
    debate_id: str
    view: str
    data: dict[str, Any]
    next_offset: int


def progress(case: Case, *, working: bool, number: int = 0, extra: str = "") -> CallToolResult:
    """The state of a debate after a step; `number` names the round to show, the last one where 0."""
    debate = case.debate
    shown = min(number or debate.round, debate.round)
    hint, waiting = next_call(case, working=working), awaited(debate)
    found = Progress(
        debate_id=case.id,
        status=case.status,
        working=working,
        reason=views.reason(debate),
        round=shown,
        phase=debate.rounds[shown - 1].phase if shown else "",
        turns=[turn for turn in views.turns(debate, shown) if turn.round == shown],
        moderator=markdown.led(debate, shown),
        awaited=[turn.shortened(LONGEST_PROMPTS // len(waiting)) for turn in waiting],
        failures=cautions.failure_lines(debate),
        outcome=debate.verdict.outcome if debate.verdict else "",
        verdict=debate.verdict.verdict if debate.verdict else "",
        warnings=told(debate),
        estimate=markdown.estimate_line(debate.setup),
        next=hint,
    )
    return result(progress_text(case, found, extra), found, case)


def finding(case: Case, *, working: bool) -> CallToolResult:
    debate = case.debate
    found = Finding(
        **views.verdict_of(debate).model_dump(),
        debate_id=case.id,
        status=case.status,
        working=working,
        reason=views.reason(debate),
        failures=cautions.failure_lines(debate),
        cost_usd=views.usage_sum(debate.usage).cost_usd,
        next=next_call(case, working=working),
    )
    if markdown.has_result(debate):
        text = markdown.verdict(debate)
    else:
        none = "No verdict." if debate.ended else "No verdict yet."
        text = f"{none} {standing(case, working=working)}\n\n{found.next}"
    return result(text, found, case)


def progress_text(case: Case, found: Progress, extra: str) -> str:
    debate = case.debate
    if debate.ended and markdown.has_result(debate) and found.round == debate.round:
        last = f"\n\ndebate_id: {case.id}"
        return markdown.verdict(debate, TEXT_LIMIT - size(last)) + last
    last = "\n\n" + found.next
    parts = [part for part in (extra, standing(case, working=found.working)) if part]
    if found.round == debate.setup.forked_at_round:  # it has just begun
        parts += [f"Warning: {warning}" for warning in found.warnings]
        parts.append(found.estimate)
    parts += [f"Failed: {shortened(line, LONGEST_FAILURE)}" for line in found.failures[:MOST_FAILURES]]
    if (more := len(found.failures) - MOST_FAILURES) > 0:
        parts.append(f"And {more} more failed: read_debate(debate_id='{case.id}', view='state').")
    room = TEXT_LIMIT - size(last) - sum(size(part) + 2 for part in parts)
    if found.awaited:
        parts += [awaited_text(turn, room // len(found.awaited) - 2) for turn in found.awaited]
    else:
        parts += turns_text(found, room)
    return shortened("\n\n".join(parts), TEXT_LIMIT - size(last)) + last


def awaited_text(turn: Awaited, most: int) -> str:
    """What the caller is to write, and the end of the prompt for it, where the instruction stands."""
    who = f"**To write: {turn.speaker}** ({turn.task}). The end of its prompt:\n"
    return who + last_of(turn.prompt, max(most - size(who), 200))


def turns_text(found: Progress, room: int) -> list[str]:
    """The turns of a round and what the moderator said, each with its share of the room."""
    share = room // (len(found.turns) + bool(found.moderator) or 1) - 2
    parts = [turn_text(turn, share) for turn in found.turns]
    return [*parts, shortened(found.moderator, share)] if found.moderator else parts


def turn_text(turn: views.Turn, most: int) -> str:
    """A turn in so many bytes. Where there is room for little else, who spoke is what stays."""
    who = f"**{turn.agent}** ({shortened(heading(turn.stance), 60)}): "
    room = most - size(who)
    if room < 20:  # noqa: PLR2004  (fewer are no text)
        return shortened(who, max(most, 20))
    return who + shortened(turn.text, room)


def standing(case: Case, *, working: bool) -> str:
    """Where a debate stands, in a sentence or two."""
    debate = case.debate
    where = f"round {debate.round} ({debate.phase.name})" if debate.phase else "not begun"
    doing = "at work, " if working else ""
    line = f"Debate {case.id}: {case.status}, {doing}{where}."
    waited = views.awaiting(debate)
    if working and waited:
        line += f" Awaiting {shortened(', '.join(waited), LONGEST_WAITED)}."
    why = views.reason(debate)
    return f"{line} {shortened(why, LONGEST_REASON)}" if why else line


def next_call(case: Case, *, working: bool) -> str:
    """Which tool to call now, in words that can be followed literally: none of these is refused."""
    debate = case.debate
    this = f"debate_id='{case.id}'"
    if debate.ended:
        return f"Next: get_verdict({this}) for the finding, read_debate({this}) for everything said."
    conclude = f"get_verdict({this}, conclude=true)" if may_conclude(debate) else ""
    if waiting := awaited(debate):
        return f"Next: submit_turn({this}, speaker='{waiting[0].speaker}', text=…)."
    if debate.paused:
        on = f"get_verdict({this})" if runs_by_itself(debate) else f"step_round({this})"
        if until := debate.paused.until:
            return f"Next: {on}, from {until} on."
        first = f"Next: when the cause is gone, intervene({this}, action='resume'), then {on}"
        return f"{first}; or {conclude} to have what was said judged." if conclude else f"{first}."
    if working:
        return f"Next: get_verdict({this}) to wait for the end, or step_round({this}) for this round."
    step = f"Next: step_round({this}, round={next_round(debate)})"
    return f"{step}, or {conclude} to have the judges decide on what is there." if conclude else f"{step}."


def may_conclude(debate: Debate) -> bool:
    try:
        conclude_now(debate)
    except Refused:
        return False
    return True


def listing(rows: list[dict[str, Any]], following: str) -> str:
    """A page of debates, a line each; they share the room there is."""
    if not rows:
        return "No debate matches. Call start_debate to begin one."
    last = f"\nMore: pass cursor='{following}'." if following else ""
    share = (TEXT_LIMIT - size(last)) // len(rows) - 1
    return "\n".join(shortened(listed_line(row), share) for row in rows) + last


def told(debate: Debate) -> list[str]:
    return warnings(debate.setup, len({family(d.model) for d in debate.setup.debaters}))


def result(text: str, data: BaseModel, case: Case | None = None) -> CallToolResult:
    content: list[ContentBlock] = [
        TextContent(type="text", text=text, annotations=Annotations(audience=["assistant"], priority=1.0))
    ]
    if case:
        content.append(link(case))
    return CallToolResult(content=content, structured_content=data.model_dump(mode="json"))


def link(case: Case) -> ResourceLink:
    uri = f"debate://{case.id}/transcript"
    return ResourceLink(
        type="resource_link",
        uri=uri,
        name=f"{case.id}-{PurePosixPath(uri).name}",
        title=heading(case.debate.setup.question)[:80],
        mime_type="text/markdown",
        annotations=Annotations(audience=["user"], priority=0.5, last_modified=case.log[-1].at),
    )
