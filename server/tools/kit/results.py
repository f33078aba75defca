"""What tools answer: a short text for the model, the same as data for programs, and links to the rest."""

from typing import Annotated, Any

from mcp.types import Annotations, CallToolResult, ContentBlock, ResourceLink, TextContent
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from server.debate.commands.intervene import conclude_now
from server.debate.commands.open import find_setup_warnings
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.state import Debate
from server.debate.facts.text import count_bytes, shorten_to_bytes
from server.debate.rules.decide import is_unattended
from server.debate.views import markdown
from server.debate.views import state as views
from server.debate.views import warnings as cautions
from server.debate.views.awaited import AwaitedTurn, awaited_turns, truncate_start
from server.debate.views.compare import StoredDebate
from server.debate.views.markdown import VERDICT_LIMIT as TEXT_LIMIT
from server.debate.views.markdown import format_heading
from server.engine.debates import next_round
from server.engine.queries import DebateRow, format_list_line
from server.engine.store import DebateSnapshot
from server.models.registry import family

MAX_FAILURES = 5
MAX_FAILURE_BYTES = 200
MAX_PROMPT_BYTES = 20_000
"""Bytes that the prompts in a result share; read_debate(view="prompt") has them whole."""
MAX_REASON_BYTES = 800
MAX_AWAITED_BYTES = 300
"""Bytes, of what stands before the turns of a round: these have to be read, too."""


Deliverable = Annotated[Any, WithJsonSchema({"type": ["string", "object", "array", "number", "boolean"]})]


class ToolResult(BaseModel):
    """A structured result, in which every field is always present."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


class ProgressResult(ToolResult):
    """How far a debate is, with the turns of its last round."""

    debate_id: str
    status: str
    working: Annotated[bool, Field(description="The server goes on with it at this moment")]
    reason: Annotated[str, Field(description="Why it stands where it stands")]
    round: int
    phase: str
    turns: list[views.Turn]
    moderator: Annotated[str, Field(description="What moderator and referee wrote in this round")]
    awaited: Annotated[list[AwaitedTurn], Field(description="Turns to write with submit_turn")]
    failures: list[str]
    warnings: list[str]
    estimate: Annotated[str, Field(description="Calls, tokens and cost of the whole debate")]
    outcome: str
    verdict: str
    next: Annotated[str, Field(description="The tool to call next")]


class VerdictResult(ToolResult, views.Verdict):
    """The verdict, or how far it is."""

    deliverable: Annotated[Deliverable, Field(description="The synthesizer's result")] = ""
    debate_id: str
    status: str
    working: bool
    reason: str
    failures: list[str]
    cost_usd: Annotated[str, Field(description="Decimal; empty: unknown")]
    next: Annotated[str, Field(description="The tool to call next")]


class DebateListResult(ToolResult):
    debates: list[DebateRow]
    cursor: Annotated[str, Field(description="For the next page; empty: this is the last")]


class ViewResult(ToolResult):
    debate_id: str
    view: str
    data: Annotated[
        dict[str, Any],
        WithJsonSchema(
            {
                "type": "object",
                "additionalProperties": True,
                "description": "The view as data, if the text is not in pages; its fields depend on the view",
            }
        ),
    ]
    next_offset: Annotated[int, Field(description="For the next page; 0: this is the last")]


def build_progress_result(
    snapshot: DebateSnapshot, *, working: bool, round_number: int = 0, extra: str = ""
) -> CallToolResult:
    """The state of a debate after a step; `number` names the round to show, the last one where 0."""
    debate = snapshot.debate
    shown = min(round_number or debate.round, debate.round)
    hint, waiting = suggest_next_tool(snapshot, working=working), awaited_turns(debate)
    found = ProgressResult(
        debate_id=snapshot.id,
        status=snapshot.status,
        working=working,
        reason=views.status_reason(debate),
        round=shown,
        phase=debate.rounds[shown - 1].phase if shown else "",
        turns=[turn for turn in views.turns(debate, shown) if turn.round == shown],
        moderator=markdown.render_moderation(debate, shown),
        awaited=[turn.shorten(MAX_PROMPT_BYTES // len(waiting)) for turn in waiting],
        failures=cautions.failure_lines(debate),
        outcome=debate.verdict.outcome if debate.verdict else "",
        verdict=debate.verdict.verdict if debate.verdict else "",
        warnings=collect_warnings(debate),
        estimate=markdown.estimate_line(debate.setup),
        next=hint,
    )
    return build_tool_result(format_progress(snapshot, found, extra), found, snapshot)


def build_verdict_result(snapshot: DebateSnapshot, *, working: bool) -> CallToolResult:
    debate = snapshot.debate
    found = VerdictResult(
        **views.build_verdict(debate).model_dump(),
        debate_id=snapshot.id,
        status=snapshot.status,
        working=working,
        reason=views.status_reason(debate),
        failures=cautions.failure_lines(debate),
        cost_usd=views.usage_sum(debate.usage).cost_usd,
        next=suggest_next_tool(snapshot, working=working),
    )
    if markdown.has_result(debate):
        text = markdown.render_verdict(debate)
    else:
        none = "No verdict." if debate.ended else "No verdict yet."
        text = f"{none} {format_standing(snapshot, working=working)}\n\n{found.next}"
    return build_tool_result(text, found, snapshot)


def format_progress(snapshot: DebateSnapshot, progress: ProgressResult, extra: str) -> str:
    debate = snapshot.debate
    if debate.ended and markdown.has_result(debate) and progress.round == debate.round:
        last = f"\n\ndebate_id: {snapshot.id}"
        return markdown.render_verdict(debate, TEXT_LIMIT - count_bytes(last)) + last
    last = "\n\n" + progress.next
    parts = [part for part in (extra, format_standing(snapshot, working=progress.working)) if part]
    if progress.round == debate.setup.forked_at_round:  # it has just begun
        parts += [f"Warning: {warning}" for warning in progress.warnings]
        parts.append(progress.estimate)
    parts += [
        f"Failed: {shorten_to_bytes(line, MAX_FAILURE_BYTES)}" for line in progress.failures[:MAX_FAILURES]
    ]
    if (more := len(progress.failures) - MAX_FAILURES) > 0:
        parts.append(f"And {more} more failed: read_debate(debate_id='{snapshot.id}', view='state').")
    room = TEXT_LIMIT - count_bytes(last) - sum(count_bytes(part) + 2 for part in parts)
    if progress.awaited:
        parts += [format_awaited_turn(turn, room // len(progress.awaited) - 2) for turn in progress.awaited]
    else:
        parts += format_turns(progress, room)
    return shorten_to_bytes("\n\n".join(parts), TEXT_LIMIT - count_bytes(last)) + last


def format_awaited_turn(turn: AwaitedTurn, max_bytes: int) -> str:
    """What the caller is to write, and the end of the prompt for it, where the instruction stands."""
    who = f"**To write: {turn.speaker}** ({turn.task}). The end of its prompt:\n"
    return who + truncate_start(turn.prompt, max(max_bytes - count_bytes(who), 200))


def format_turns(progress: ProgressResult, max_bytes: int) -> list[str]:
    """The turns of a round and what the moderator said, each with its share of the room."""
    share = max_bytes // (len(progress.turns) + bool(progress.moderator) or 1) - 2
    parts = [format_turn(turn, share) for turn in progress.turns]
    return [*parts, shorten_to_bytes(progress.moderator, share)] if progress.moderator else parts


def format_turn(turn: views.Turn, max_bytes: int) -> str:
    """A turn in so many bytes. Where there is room for little else, who spoke is what stays."""
    who = f"**{turn.agent}** ({shorten_to_bytes(format_heading(turn.stance), 60)}): "
    room = max_bytes - count_bytes(who)
    if room < 20:  # noqa: PLR2004  (fewer are no text)
        return shorten_to_bytes(who, max(max_bytes, 20))
    return who + shorten_to_bytes(turn.text, room)


def format_standing(snapshot: DebateSnapshot, *, working: bool) -> str:
    """Where a debate stands, in a sentence or two."""
    debate = snapshot.debate
    where = f"round {debate.round} ({debate.phase.name})" if debate.phase else "not begun"
    doing = "at work, " if working else ""
    line = f"Debate {snapshot.id}: {snapshot.status}, {doing}{where}."
    waited = views.awaited_seats(debate)
    if working and waited:
        line += f" Awaiting {shorten_to_bytes(', '.join(waited), MAX_AWAITED_BYTES)}."
    why = views.status_reason(debate)
    return f"{line} {shorten_to_bytes(why, MAX_REASON_BYTES)}" if why else line


def suggest_next_tool(snapshot: DebateSnapshot, *, working: bool) -> str:
    """Which tool to call now, in words that can be followed literally: none of these is refused."""
    debate = snapshot.debate
    this = f"debate_id='{snapshot.id}'"
    if debate.ended:
        return f"Next: get_verdict({this}) for the finding, read_debate({this}) for everything said."
    conclude = f"get_verdict({this}, conclude=true)" if can_conclude(debate) else ""
    if waiting := awaited_turns(debate):
        return f"Next: submit_turn({this}, speaker='{waiting[0].speaker}', text=…)."
    if debate.paused:
        on = f"get_verdict({this})" if is_unattended(debate) else f"step_round({this})"
        if until := debate.paused.until:
            return f"Next: {on}, from {until} on."
        first = f"Next: when the cause is gone, intervene({this}, action='resume'), then {on}"
        return f"{first}; or {conclude} to have what was said judged." if conclude else f"{first}."
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
    """A page of debates, a line each; they share the room there is."""
    if not rows:
        return "No debate matches. Call start_debate to begin one."
    last = f"\nMore: pass cursor='{next_cursor}'." if next_cursor else ""
    share = (TEXT_LIMIT - count_bytes(last)) // len(rows) - 1
    return "\n".join(shorten_to_bytes(format_list_line(row), share) for row in rows) + last


def collect_warnings(debate: Debate) -> list[str]:
    return find_setup_warnings(debate.setup, len({family(d.model) for d in debate.setup.debaters}))


def build_tool_result(text: str, data: BaseModel, debate: StoredDebate | None = None) -> CallToolResult:
    content: list[ContentBlock] = [
        TextContent(type="text", text=text, annotations=Annotations(audience=["assistant"], priority=1.0))
    ]
    if debate:
        content.append(build_transcript_link(debate))
    return CallToolResult(content=content, structured_content=data.model_dump(mode="json"))


def build_transcript_link(stored: StoredDebate) -> ResourceLink:
    return ResourceLink(
        type="resource_link",
        uri=f"debate://{stored.id}/transcript",
        name=f"{stored.id}-transcript",
        title=format_heading(stored.debate.setup.question)[:80],
        mime_type="text/markdown",
        annotations=Annotations(audience=["user"], priority=0.5, last_modified=stored.entries[-1].at),
    )
