"""What tools answer: a short text for the model, the same as data for programs, and links to the rest."""

from pathlib import PurePosixPath
from typing import Any

from mcp.types import Annotations, CallToolResult, ContentBlock, ResourceLink, TextContent
from pydantic import BaseModel

from server.debate import markdown, views
from server.debate.opening import warnings
from server.debate.state import Debate
from server.hall import next_round
from server.models.choice import family
from server.runner import Case

TEXT_LIMIT = 4_000
"""Bytes of a result's text: what a call may take of an assistant's context."""


class Progress(BaseModel):
    """How far a debate is, with the turns of its last round."""

    debate_id: str
    status: str
    working: bool
    reason: str
    round: int
    phase: str
    turns: list[views.Turn]
    failures: list[str]
    warnings: list[str]
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
    cut: bool


def progress(case: Case, *, working: bool, number: int = 0, extra: str = "") -> CallToolResult:
    """The state of a debate after a step; `number` names the round to show, the last one where 0."""
    debate = case.debate
    shown = min(number or debate.round, debate.round)
    hint = next_call(case, working=working)
    found = Progress(
        debate_id=case.id,
        status=debate.status,
        working=working,
        reason=views.reason(debate),
        round=shown,
        phase=debate.rounds[shown - 1].phase if shown else "",
        turns=[turn for turn in views.turns(debate, shown) if turn.round == shown],
        failures=views.failure_lines(debate),
        outcome=debate.verdict.outcome if debate.verdict else "",
        verdict=debate.verdict.verdict if debate.verdict else "",
        warnings=told(debate),
        next=hint,
    )
    return result(progress_text(case, found, extra), found, case)


def finding(case: Case, *, working: bool) -> CallToolResult:
    debate = case.debate
    found = Finding(
        **views.verdict_of(debate).model_dump(),
        debate_id=case.id,
        status=debate.status,
        working=working,
        reason=views.reason(debate),
        failures=views.failure_lines(debate),
        cost_usd=views.usage_sum(debate.usage).cost_usd,
        next=next_call(case, working=working),
    )
    if debate.verdict:
        text = markdown.verdict(debate)
    else:
        text = f"No verdict yet. {standing(case, working=working)}\n\n{found.next}"
    return result(text, found, case)


def progress_text(case: Case, found: Progress, extra: str) -> str:
    debate = case.debate
    parts = [part for part in (extra, standing(case, working=found.working)) if part]
    parts += [f"Warning: {warning}" for warning in found.warnings] if not found.round else []
    parts += [f"Failed: {line}" for line in found.failures[:5]]
    if debate.verdict and found.round == debate.round:
        parts.append(markdown.verdict(debate))
        return markdown.shortened("\n\n".join([*parts[1:], f"debate_id: {case.id}"]), TEXT_LIMIT)
    room = TEXT_LIMIT - sum(markdown.size(part) + 2 for part in parts) - len(found.next) - 10
    share = room // max(len(found.turns), 1) - 80
    parts += [
        f"**{turn.agent}** ({markdown.heading(turn.stance)[:60]}): "
        f"{markdown.shortened(turn.text, max(share, 60))}"
        for turn in found.turns
    ]
    return markdown.shortened("\n\n".join(parts), TEXT_LIMIT - len(found.next) - 2) + "\n\n" + found.next


def standing(case: Case, *, working: bool) -> str:
    """Where a debate stands, in a sentence or two."""
    debate = case.debate
    where = f"round {debate.round} ({debate.phase.name})" if debate.phase else "not begun"
    doing = "at work, " if working else ""
    line = f"Debate {case.id}: {debate.status}, {doing}{where}."
    waited = views.awaiting(debate)
    if working and waited:
        line += f" Awaiting {', '.join(waited)}."
    return line if not views.reason(debate) else f"{line} {views.reason(debate)}"


def next_call(case: Case, *, working: bool) -> str:
    """Which tool to call now, in words that can be followed literally."""
    debate = case.debate
    if debate.ended:
        return f"Next: get_verdict(debate_id='{case.id}') for the finding, read_debate for everything said."
    if debate.paused:
        return (
            f"Next: when the cause is gone, intervene(debate_id='{case.id}', action='resume'), then "
            "step_round; or get_verdict(conclude=true)."
        )
    if working:
        return f"Next: get_verdict(debate_id='{case.id}') to wait for the end, or step_round for this round."
    return (
        f"Next: step_round(debate_id='{case.id}', round={next_round(debate)}), or "
        "get_verdict(conclude=true) to have the judges decide on what is there."
    )


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
        title=markdown.heading(case.debate.setup.question)[:80],
        mime_type="text/markdown",
        annotations=Annotations(audience=["user"], priority=0.5, last_modified=case.log[-1].at),
    )
