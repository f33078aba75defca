"""Results of tools: one typed object each, complete in itself; its text is rendered from it and nothing else."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, TypeVar

from mcp import types
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from server.debate.facts.text import count_bytes
from server.debate.machine.decide import status
from server.debate.views import markdown, state, verdict
from server.debate.views.awaited import AwaitedTurn, awaited_turns, find_rules, has_written
from server.debate.views.progress import estimate_line
from server.debate.views.provenance import Provenance
from server.debate.views.state import StoredDebate
from server.debate.views.warnings import find_setup_warnings
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import DebateRow
from server.models.registry import family
from server.tools.fitting import Bounded, count_json, fit
from server.tools.hints import suggest_next

TEXT_LIMIT = 4_000
"""Bytes of the text of a result. Pages of `read_debate` are as long as asked for."""

DATA_LIMIT = 16_000
"""Characters of a structured result, as JSON with everything but ASCII escaped."""

SCHEME = "debate://"

FOREIGN = "This installation did not record its newest entries, so that it is not run unasked."


class DebateResult(Bounded):
    """What every result about a debate has."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    debate_id: str
    status: Annotated[str, Field(description="ready, running, waiting, paused, concluded or truncated")]
    working: Annotated[bool, Field(description="A server goes on with it at this moment")]
    reason: Annotated[str, Field(description="Why it stands where it stands")]
    next: Annotated[str, Field(description="The tool to call next")]
    transcript_uri: Annotated[str, Field(description="The resource with everything said")]
    provenance: Annotated[Provenance, Field(description="Who recorded it")]


class VerdictResult(verdict.Report, DebateResult):
    """The verdict, or how far it is."""

    PLACES: ClassVar[dict[str, str]] = {
        **dict.fromkeys(verdict.Verdict.model_fields, "read_debate(debate_id='{debate_id}', view='verdict')"),
        **dict.fromkeys(
            ("question", "reason", "positions", "failures"),
            "read_debate(debate_id='{debate_id}', view='state')",
        ),
        "deliverable": "read_debate(debate_id='{debate_id}', view='result')",
    }


class StepResult(VerdictResult):
    """How far a debate is, with the turns of its last round, and with its verdict as soon as there is one."""

    PLACES: ClassVar[dict[str, str]] = {
        **VerdictResult.PLACES,
        **dict.fromkeys(
            ("turns", "moderator"), "read_debate(debate_id='{debate_id}', view='round', round={round})"
        ),
        **dict.fromkeys(("awaited", "rules"), "read_debate(debate_id='{debate_id}', view='prompt')"),
    }

    joined: Annotated[bool, Field(description="The same call was made minutes ago: this is its debate")]
    framing: Annotated[str, Field(description="How the positions came about, if not from you")]
    round: int
    phase: str
    turns: list[state.Turn]
    moderator: Annotated[str, Field(description="What moderator and referee wrote in this round")]
    awaited: Annotated[list[AwaitedTurn], Field(description="Turns to write with submit_turn")]
    rules: Annotated[str, Field(description="Those of every turn, given until the first is in")]
    warnings: list[str]
    estimate: Annotated[str, Field(description="Calls, tokens and cost of the whole debate")]


class TurnResult(StepResult):
    """What followed from a turn."""

    effect: Annotated[str, Field(description="What became of a turn that was sent again")]


class SteerResult(DebateResult):
    """What an intervention changes, and from when on."""

    effect: str
    round: int
    phase: str
    estimate: Annotated[str, Field(description="Calls, tokens and cost of the whole debate")]


VIEW_SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("debate_id", "question", "status", "reason")},
}
"""Some of the fields of views; which there are depends on the view."""


class ViewResult(DebateResult):
    """A page of a view: its text, or its data where the view is data and fits."""

    view: str
    text: str
    data: Annotated[dict[str, Any], WithJsonSchema(VIEW_SCHEMA)]
    next_offset: Annotated[int, Field(description="For the next page; 0: this is the last")]


class DebateListResult(Bounded):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    debates: list[DebateRow]
    cursor: Annotated[str, Field(description="For the next page; empty: this is the last")]
    next: Annotated[str, Field(description="The tool to call next")]


R = TypeVar("R", bound=Bounded)


async def describe_debate(manager: DebateManager, stored: StoredDebate, tool: str) -> dict[str, Any]:
    """The fields of a `DebateResult` after a call of `tool`."""
    found = stands = status(stored.debate)
    working = found in ("running", "waiting") and await manager.is_run(stored.id)
    if found in ("running", "waiting") and working:
        found = "running"  # also where a client's model is asked
    elif found == "running":
        found = "ready"
    return {
        "debate_id": stored.id,
        "status": found,
        "working": working,
        "reason": (state.status_reason(stored.debate) if stands in (found, "running") else "")
        or describe_holdup(manager, stored, working=working)
        or (FOREIGN if found == "ready" and isinstance(stored, DebateSnapshot) and stored.is_foreign else ""),
        "next": suggest_next(stored, found, tool),
        "transcript_uri": f"{SCHEME}{stored.id}/transcript",
        "provenance": stored.provenance,
    }


def describe_holdup(manager: DebateManager, stored: StoredDebate, *, working: bool) -> str:
    """What a debate waits for before its models can be asked; "" if there is nothing."""
    holdup = manager.find_holdup(stored) if working else ""
    return holdup and f"{holdup}."


async def build_verdict_result(
    manager: DebateManager, snapshot: DebateSnapshot, tool: str = "get_verdict"
) -> VerdictResult:
    """The verdict of a debate; its standing as long as there is none."""
    report = dict(verdict.build_report(snapshot.debate))
    signer = manager.store.signer
    if snapshot.debate.ended and not snapshot.is_foreign and signer and signer.problem:
        report["cautions"] = [*report["cautions"], f"Its receipt is not signed. {signer.problem}"]
    return VerdictResult(**report | await describe_debate(manager, snapshot, tool))


async def build_step_result(
    manager: DebateManager,
    snapshot: DebateSnapshot,
    tool: str,
    *,
    round_number: int = 0,
    joined: bool = False,
) -> StepResult:
    """The state of a debate after a call, with the turns of a round: the latest one for 0."""
    debate, setup = snapshot.debate, snapshot.debate.setup
    shown = min(round_number or debate.round, debate.round)
    awaited = awaited_turns(debate)
    for later in awaited[1:]:  # its prompt comes when it is the next
        later.prompt = ""
    return StepResult(
        **dict(await build_verdict_result(manager, snapshot, tool)),
        joined=joined,
        framing=state.framing_line(setup),
        round=shown,
        phase=debate.rounds[shown - 1].phase if shown else "",
        turns=[turn for turn in state.visible_turns(debate, shown) if turn.round == shown],
        moderator=markdown.render_moderation(debate, shown),
        awaited=awaited,
        rules=find_rules(debate) if awaited and not has_written(debate) else "",
        warnings=find_setup_warnings(setup, len({family(debater.model) for debater in setup.debaters})),
        estimate=estimate_line(debate),
    )


async def build_steer_result(manager: DebateManager, snapshot: DebateSnapshot, effect: str) -> SteerResult:
    debate = snapshot.debate
    return SteerResult(
        **await describe_debate(manager, snapshot, "intervene"),
        effect=effect,
        round=debate.round,
        phase=debate.phase.name if debate.phase else "",
        estimate=estimate_line(debate),
    )


def build_tool_result(result: R, render: Callable[[R], str]) -> types.CallToolResult:
    """Both forms of a result, each with as much in it as its limit allows."""
    data = fit(result, count_json, DATA_LIMIT)
    shown = fit(result, lambda fitted: count_bytes(render(fitted)), TEXT_LIMIT)
    return build_content(data, render(shown))


def build_content(data: BaseModel, *texts: str) -> types.CallToolResult:
    note = types.Annotations(audience=["assistant"], priority=1.0)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text, annotations=note) for text in texts],
        structured_content=data.model_dump(mode="json"),
    )
