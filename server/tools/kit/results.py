"""Results of tools: structured data, a short text for the model, and a link to the transcript."""

from typing import Annotated, Any

from mcp.types import Annotations, CallToolResult, ContentBlock, ResourceLink, TextContent
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from server.debate.commands.open import find_setup_warnings
from server.debate.views.awaited import AwaitedTurn, awaited_turns
from server.debate.views.compare import StoredDebate
from server.debate.views.markdown import (
    estimate_line,
    format_heading,
    has_result,
    render_moderation,
    render_verdict,
)
from server.debate.views.state import status_reason, sum_usage
from server.debate.views.verdict import Turn, Verdict, build_verdict, visible_turns
from server.debate.views.warnings import failure_lines
from server.engine.queries import DebateRow
from server.engine.store import DebateSnapshot
from server.models.registry import family
from server.tools.kit.texts import format_progress, format_standing, suggest_next_tool

MAX_PROMPT_BYTES = 20_000
"""Bytes that the prompts in a result share; read_debate(view="prompt") has them whole."""

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
    turns: list[Turn]
    moderator: Annotated[str, Field(description="What moderator and referee wrote in this round")]
    awaited: Annotated[list[AwaitedTurn], Field(description="Turns to write with submit_turn")]
    failures: list[str]
    warnings: list[str]
    estimate: Annotated[str, Field(description="Calls, tokens and cost of the whole debate")]
    outcome: str
    verdict: str
    next: Annotated[str, Field(description="The tool to call next")]


class VerdictResult(ToolResult, Verdict):
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
    """The state of a debate after a call, with the turns of a round: the latest one for 0."""
    debate = snapshot.debate
    shown = min(round_number or debate.round, debate.round)
    awaited = awaited_turns(debate)
    families = {family(debater.model) for debater in debate.setup.debaters}
    result = ProgressResult(
        debate_id=snapshot.id,
        status=snapshot.status,
        working=working,
        reason=status_reason(debate),
        round=shown,
        phase=debate.rounds[shown - 1].phase if shown else "",
        turns=[turn for turn in visible_turns(debate, shown) if turn.round == shown],
        moderator=render_moderation(debate, shown),
        awaited=[turn.shorten(MAX_PROMPT_BYTES // len(awaited)) for turn in awaited],
        failures=failure_lines(debate),
        warnings=find_setup_warnings(debate.setup, len(families)),
        estimate=estimate_line(debate.setup),
        outcome=debate.verdict.outcome if debate.verdict else "",
        verdict=debate.verdict.verdict if debate.verdict else "",
        next=suggest_next_tool(snapshot, working=working),
    )
    return build_tool_result(format_progress(snapshot, result, extra), result, snapshot)


def build_verdict_result(snapshot: DebateSnapshot, *, working: bool) -> CallToolResult:
    """The verdict of a debate; its standing as long as there is none."""
    debate = snapshot.debate
    result = VerdictResult(
        **build_verdict(debate).model_dump(),
        debate_id=snapshot.id,
        status=snapshot.status,
        working=working,
        reason=status_reason(debate),
        failures=failure_lines(debate),
        cost_usd=sum_usage(debate.usage).cost_usd,
        next=suggest_next_tool(snapshot, working=working),
    )
    if has_result(debate):
        text = render_verdict(debate)
    else:
        missing = "No verdict." if debate.ended else "No verdict yet."
        text = f"{missing} {format_standing(snapshot, working=working)}\n\n{result.next}"
    return build_tool_result(text, result, snapshot)


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
