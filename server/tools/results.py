"""Results of tools: structured data, a short text for the model that called, and a link to the transcript."""

from contextlib import suppress
from typing import Annotated, Any

from mcp import types
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from server.debate.commands.intervene import InterventionRequest, build_intervention
from server.debate.commands.open import find_setup_warnings
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.text import count_bytes, shorten_to_bytes
from server.debate.rules.decide import is_unattended
from server.debate.views import markdown, state, verdict
from server.debate.views.state import StoredDebate
from server.debate.views.warnings import failure_lines
from server.engine.debates import DebateManager, next_round
from server.engine.queries import DebateRow, format_list_line
from server.engine.store import DebateSnapshot
from server.models.registry import family

TEXT_LIMIT = markdown.VERDICT_LIMIT
MAX_FAILURES = 5
MAX_FAILURE_BYTES = 200
MAX_REASON_BYTES = 800
MAX_AWAITED_BYTES = 300
MAX_PROMPTS_BYTES = 20_000
"""Bytes that the prompts in a result share; read_debate(view="prompt") has them whole."""
MIN_PROMPT_BYTES = 200
MAX_STANCE_BYTES = 60
MIN_TURN_BYTES = 20
JOINED = "The same call was made minutes ago: this is its debate, and no other was begun. again=true begins another."

Deliverable = Annotated[Any, WithJsonSchema({"type": ["string", "object", "array", "number", "boolean"]})]


class Position(BaseModel):
    """Who stands for what."""

    debater: str
    stance: str


class ProgressResult(BaseModel):
    """How far a debate is, with the turns of its last round."""

    debate_id: str
    joined: Annotated[bool, Field(description="The same call was made minutes ago: this is its debate")]
    status: str
    working: Annotated[bool, Field(description="The server goes on with it at this moment")]
    reason: Annotated[str, Field(description="Why it stands where it stands")]
    positions: Annotated[list[Position], Field(description="Empty until they are named")]
    framing: Annotated[str, Field(description="How the positions came about, if not from you")]
    round: int
    phase: str
    turns: list[verdict.Turn]
    moderator: Annotated[str, Field(description="What moderator and referee wrote in this round")]
    awaited: Annotated[list[state.AwaitedTurn], Field(description="Turns to write with submit_turn")]
    failures: list[str]
    warnings: list[str]
    estimate: Annotated[str, Field(description="Calls, tokens and cost of the whole debate")]
    outcome: str
    verdict: str
    next: Annotated[str, Field(description="The tool to call next")]


class VerdictResult(verdict.Verdict):
    """The verdict, or how far it is."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    deliverable: Annotated[Deliverable, Field(description="The synthesizer's result")] = ""
    debate_id: str
    status: str
    working: bool
    reason: str
    failures: list[str]
    cost_usd: Annotated[str, Field(description="Decimal; empty: unknown")]
    next: Annotated[str, Field(description="The tool to call next")]


class DebateListResult(BaseModel):
    debates: list[DebateRow]
    cursor: Annotated[str, Field(description="For the next page; empty: this is the last")]


class ViewResult(BaseModel):
    debate_id: str
    view: str
    data: Annotated[
        dict[str, Any],
        Field(description="The view as data, if the text is not in pages; its fields depend on the view"),
    ]
    next_offset: Annotated[int, Field(description="For the next page; 0: this is the last")]


def build_progress_result(
    manager: DebateManager,
    snapshot: DebateSnapshot,
    *,
    round_number: int = 0,
    extra: str = "",
    joined: bool = False,
) -> types.CallToolResult:
    """The state of a debate after a call, with the turns of a round: the latest one for 0."""
    debate, working = snapshot.debate, manager.is_working(snapshot.id)
    shown = min(round_number or debate.round, debate.round)
    turns = state.awaited_turns(debate)
    for turn in turns:
        turn.prompt = state.truncate_start(turn.prompt, MAX_PROMPTS_BYTES // len(turns))
    families = {family(debater.model) for debater in debate.setup.debaters}
    result = ProgressResult(
        debate_id=snapshot.id,
        joined=joined,
        status=snapshot.status,
        working=working,
        reason=state.status_reason(debate),
        positions=[Position(debater=d.name, stance=d.stance) for d in state.known_debaters(debate.setup)],
        framing=state.framing_line(debate.setup),
        round=shown,
        phase=debate.rounds[shown - 1].phase if shown else "",
        turns=[turn for turn in verdict.visible_turns(debate, shown) if turn.round == shown],
        moderator=markdown.render_moderation(debate, shown),
        awaited=turns,
        failures=failure_lines(debate),
        warnings=find_setup_warnings(debate.setup, len(families)),
        estimate=markdown.estimate_line(debate.setup),
        outcome=debate.verdict.outcome if debate.verdict else "",
        verdict=debate.verdict.verdict if debate.verdict else "",
        next=suggest_next_tool(snapshot, working=working),
    )
    return build_tool_result(format_progress(snapshot, result, extra), result, snapshot)


def build_verdict_result(manager: DebateManager, snapshot: DebateSnapshot) -> types.CallToolResult:
    """The verdict of a debate; its standing as long as there is none."""
    debate, working = snapshot.debate, manager.is_working(snapshot.id)
    result = VerdictResult(
        **verdict.build_verdict(debate).model_dump(),
        debate_id=snapshot.id,
        status=snapshot.status,
        working=working,
        reason=state.status_reason(debate),
        failures=failure_lines(debate),
        cost_usd=state.sum_usage(debate.usage).cost_usd,
        next=suggest_next_tool(snapshot, working=working),
    )
    if markdown.has_result(debate):
        text = markdown.render_verdict(debate)
    else:
        missing = "No verdict." if debate.ended else "No verdict yet."
        text = f"{missing} {format_standing(snapshot, working=working)}\n\n{result.next}"
    return build_tool_result(text, result, snapshot)


def build_tool_result(text: str, data: BaseModel, stored: StoredDebate | None = None) -> types.CallToolResult:
    note = types.Annotations(audience=["assistant"], priority=1.0)
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text, annotations=note)]
    if stored:
        link = types.ResourceLink(
            type="resource_link",
            uri=f"debate://{stored.id}/transcript",
            name=f"{stored.id}-transcript",
            title=markdown.format_heading(stored.debate.setup.question)[:80],
            mime_type="text/markdown",
            annotations=types.Annotations(
                audience=["user"], priority=0.5, last_modified=stored.entries[-1].at
            ),
        )
        content.append(link)
    return types.CallToolResult(content=content, structured_content=data.model_dump(mode="json"))


def format_progress(snapshot: DebateSnapshot, progress: ProgressResult, extra: str) -> str:
    """The verdict if this round ended the debate, else the standing, failures, turns and the next call."""
    debate = snapshot.debate
    if debate.ended and markdown.has_result(debate) and progress.round == debate.round:
        ending = f"\n\ndebate_id: {snapshot.id}" + (f"\n\n{JOINED}" if progress.joined else "")
        return markdown.render_verdict(debate, TEXT_LIMIT - count_bytes(ending)) + ending
    ending = "\n\n" + progress.next
    lead = JOINED if progress.joined else ""
    parts = [part for part in (lead, extra, format_standing(snapshot, working=progress.working)) if part]
    if progress.round == debate.setup.forked_at_round:  # just opened or forked
        parts += format_positions(progress)
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
        for turn in progress.awaited:  # with the end of its prompt, where the instruction stands
            title = f"**To write: {turn.speaker}** ({turn.task}). The end of its prompt:\n"
            rest = max(share - count_bytes(title), MIN_PROMPT_BYTES)
            parts.append(title + state.truncate_start(turn.prompt, rest))
    else:
        share = available // (len(progress.turns) + bool(progress.moderator) or 1) - 2
        for said in progress.turns:
            stance = shorten_to_bytes(markdown.format_heading(said.stance), MAX_STANCE_BYTES)
            text = f"**{said.agent}** ({stance}): {said.text}"
            parts.append(shorten_to_bytes(text, max(share, MIN_TURN_BYTES)))
        parts += [shorten_to_bytes(progress.moderator, share)] if progress.moderator else []
    return shorten_to_bytes("\n\n".join(parts), TEXT_LIMIT - count_bytes(ending)) + ending


def format_positions(progress: ProgressResult) -> list[str]:
    """Who stands for what, and how that came about, in equal shares of the bytes they may have."""
    share = markdown.MAX_POSITIONS_BYTES // max(len(progress.positions), 1)
    rows = [f"- {row.debater}: {markdown.format_heading(row.stance)}" for row in progress.positions]
    listed = "\n".join(shorten_to_bytes(row, share) for row in rows)
    is_problem = progress.framing in progress.warnings
    return list(filter(None, ["" if is_problem else progress.framing, listed]))


def format_standing(snapshot: DebateSnapshot, *, working: bool) -> str:
    """Status, round and reason in a sentence or two."""
    debate = snapshot.debate
    where = f"round {debate.round} ({debate.phase.name})" if debate.phase else "not begun"
    line = f"Debate {snapshot.id}: {snapshot.status}, {'at work, ' if working else ''}{where}."
    seats = state.awaited_seats(debate)
    if working and seats:
        line += f" Awaiting {shorten_to_bytes(', '.join(seats), MAX_AWAITED_BYTES)}."
    return f"{line} {shorten_to_bytes(state.status_reason(debate), MAX_REASON_BYTES)}".rstrip()


def suggest_next_tool(snapshot: DebateSnapshot, *, working: bool) -> str:
    """The next call, written so that it can be made literally. No suggested call is refused."""
    debate, this = snapshot.debate, f"debate_id='{snapshot.id}'"
    if debate.ended:
        return f"Next: get_verdict({this}) for the finding, read_debate({this}) for everything said."
    conclude = ""
    with suppress(InvalidRequestError):
        build_intervention(debate, "conclude", InterventionRequest())
        conclude = f"; or get_verdict({this}, conclude=true) to have what was said judged"
    if turns := state.awaited_turns(debate):
        return f"Next: submit_turn({this}, speaker='{turns[0].speaker}', text=…)."
    if debate.paused:
        run = f"get_verdict({this})" if is_unattended(debate) else f"step_round({this})"
        if until := debate.paused.until:
            return f"Next: {run}, from {until} on."
        return f"Next: when the cause is gone, intervene({this}, action='resume'), then {run}{conclude}."
    if working:
        return f"Next: get_verdict({this}) to wait for the end, or step_round({this}) for this round."
    return f"Next: step_round({this}, round={next_round(debate)}){conclude}."


def format_debate_list(rows: list[DebateRow], next_cursor: str) -> str:
    """A page of debates, one on a line, with an equal share of the bytes each."""
    if not rows:
        return "No debate matches. Call start_debate to begin one."
    ending = f"\nMore: pass cursor='{next_cursor}'." if next_cursor else ""
    share = (TEXT_LIMIT - count_bytes(ending)) // len(rows) - 1
    return "\n".join(shorten_to_bytes(format_list_line(row), share) for row in rows) + ending
