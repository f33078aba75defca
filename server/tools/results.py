"""Results of tools: one typed object each, complete in itself. Its text is rendered from it alone."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, TypeVar

from mcp import types
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from server.debate.answer.lines import AnswerLines
from server.debate.facts.advice import Sourced
from server.debate.facts.text import count_bytes
from server.debate.machine.decide import status
from server.debate.machine.render import render_rules
from server.debate.views import markdown, state, verdict
from server.debate.views.answer import Advisor
from server.debate.views.awaited import AwaitedTurn, awaited_turns, has_written
from server.debate.views.progress import build_progress, describe_work, estimate_line
from server.debate.views.provenance import RECORDED_HERE, Provenance, leave_out_own
from server.debate.views.state import StoredDebate
from server.debate.views.warnings import list_setup_warnings
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import DebateRow
from server.models.registry import family
from server.tools.fitting import Bounded, count_json, fit
from server.tools.hints import suggest_next

TEXT_LIMIT = 4_000
"""Bytes of the text of a result. Pages of `read_debate` have a limit of their own."""

DATA_LIMIT = 16_000
"""Characters of a structured result, as JSON with everything but ASCII escaped."""

SCHEME = "debate://"

BESIDE_AN_ANSWER = frozenset(
    {
        *("debate_id", "status", "working", "reason", "next", "transcript_uri", "provenance"),
        *("outcome", "winner", "winner_stance", "settled", "positions", "failures", "cost_usd"),
        *("deliverable", "deliverable_problem", "mirror_of", "forked_from", "forked_at_round"),
    }
)
"""Fields of the report that a result has beside an answer."""

LEFT_TO_VIEWS = {*verdict.Verdict.model_fields} - BESIDE_AN_ANSWER
LEFT_TO_VIEWS -= {"answer", "advisors", "ahead", "votes", "cautions"}
"""Fields of the report that no result has: `read_debate(view="verdict")` has their words and figures."""


def leave_to_views(schema: dict[str, Any]) -> None:
    """What a result never has is not in its schema."""
    for name in LEFT_TO_VIEWS & {*schema["properties"]}:
        del schema["properties"][name]


OPENED = "No model was asked: the same call with run=true (and without again) holds all of it, step_round one round."
FOREIGN = "This installation did not record its newest entries, so it does not run by itself."


class DebateResult(Bounded):
    """The fields that every result about a debate has."""

    debate_id: str
    status: Annotated[str, Field(description="ready, running, waiting, paused, concluded or truncated")]
    working: Annotated[bool, Field(description="A server goes on with it at this moment")]
    reason: Annotated[str, Field(description="Why it stands where it stands")]
    next: Annotated[str, Field(description="The tool to call next")]
    transcript_uri: Annotated[str, Field(description="The resource with everything said")]
    provenance: Annotated[Provenance, Field(description="Who recorded it, if others did")] = RECORDED_HERE


class VerdictResult(verdict.Report, DebateResult):
    """The verdict, or how far it is."""

    model_config = ConfigDict(json_schema_extra=leave_to_views)

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

    joined: Annotated[bool, Field(description="The same call was made minutes ago: this is its debate")] = (
        False
    )
    framing: Annotated[str, Field(description="How the positions came about, if not from you")] = ""
    round: int = 0
    phase: str = ""
    turns: list[state.Turn] = Field([])
    moderator: Annotated[str, Field(description="What moderator and referee wrote in this round")] = ""
    awaited: Annotated[list[AwaitedTurn], Field(description="Turns to write with submit_turn")] = Field([])
    rules: Annotated[str, Field(description="Those of every turn, given until the first is in")] = ""
    warnings: list[str] = Field([])
    estimate: Annotated[str, Field(description="Calls, tokens and cost, before the end")] = ""


class TurnResult(StepResult):
    """What followed from a turn."""

    effect: Annotated[str, Field(description="What became of a turn that was sent again")] = ""


class SteerResult(DebateResult):
    """What an intervention changes, and from when on."""

    effect: str
    round: int = 0
    phase: str = ""
    estimate: Annotated[str, Field(description="Calls, tokens and cost, before the end")] = ""


VIEW_SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("debate_id", "question", "status", "reason")},
}
"""Some of the fields of views. Each view has its own."""


class ViewResult(DebateResult):
    """A page of a view: its text, or its data where the view is data and fits."""

    view: str
    text: str = ""
    data: Annotated[dict[str, Any], WithJsonSchema(VIEW_SCHEMA)] = Field({})
    next_offset: Annotated[int, Field(description="For the next page; 0: this is the last")]


NO_DEBATE = {
    **dict.fromkeys(("debate_id", "status", "reason", "transcript_uri"), ""),
    "working": False,
}
"""The fields of a `DebateResult` for a page that is of no debate."""


class DebateListResult(Bounded):
    debates: list[DebateRow]
    cursor: Annotated[str, Field(description="For the next page; none: this is the last")] = ""
    next: Annotated[str, Field(description="The tool to call next")]


R = TypeVar("R", bound=Bounded)


async def describe_debate(manager: DebateManager, stored: StoredDebate, tool: str) -> dict[str, Any]:
    """The fields of a `DebateResult` after a call of `tool`."""
    effective = recorded = status(stored.debate)
    is_foreign = isinstance(stored, DebateSnapshot) and stored.is_foreign
    working = effective in ("running", "waiting") and await manager.is_run(stored.id)
    if effective in ("running", "waiting") and working:
        effective = "running"  # also where a client's model is asked
    elif effective == "running":
        effective = "ready"
    is_only_opened = tool == "start_debate" and not (stored.debate.answers or stored.debate.failures)
    holdup = manager.find_holdup(stored) if working else ""
    work = describe_work(build_progress(stored.debate), holdup) if effective == "running" else ""
    return {
        "debate_id": stored.id,
        "status": effective,
        "working": working,
        "reason": (state.status_reason(stored.debate) if recorded in (effective, "running") else "")
        or (f"{work[:1].upper()}{work[1:]}." if work else "")
        or (FOREIGN if effective == "ready" and is_foreign else "")
        or (OPENED if effective == "ready" and is_only_opened else ""),
        "next": suggest_next(stored, effective, tool),
        "transcript_uri": f"{SCHEME}{stored.id}/transcript",
        "provenance": leave_out_own(stored.provenance),
    }


async def build_verdict_result(
    manager: DebateManager, snapshot: DebateSnapshot, tool: str = "get_verdict"
) -> VerdictResult:
    """The verdict of a debate, or its state while it has none."""
    report = dict(verdict.build_report(snapshot.debate))
    signer = manager.store.signer
    if snapshot.debate.ended and not snapshot.is_foreign and signer and signer.problem:
        unsigned = f"Its receipt is not signed. {signer.problem}"
        kept_in_mind = [*report["answer"].keep_in_mind, unsigned]
        report["answer"] = report["answer"].model_copy(update={"keep_in_mind": kept_in_mind})
        report["cautions"] = [*report["cautions"], unsigned]
    report |= await describe_debate(manager, snapshot, tool)
    return VerdictResult(**tell_once(report))


def tell_once(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a result. Once there is an answer, only what adds to it: it has the words of most others.

    `read_debate(view="verdict")` has them all, with every figure.
    """
    answer: AnswerLines = fields["answer"]
    if not answer.head:
        return fields
    answer_texts = {answer.recommendation, answer.because, answer.against}
    lines = {
        "corrected": [Sourced(text=row.text) for row in answer.corrected],
        "missed": [Sourced(text=row.text) for row in answer.missed],
        "findings": [
            finding
            for finding in answer.findings
            if finding.text not in (answer_texts if finding.side == answer.side != "" else {answer.against})
        ],
        "keep_in_mind": [],
        "differ_in": answer.differ_in if answer.branches else "",
    }
    kept = {name: value for name, value in fields.items() if name in BESIDE_AN_ANSWER}
    kept["answer"] = answer.model_copy(update=lines)
    # What `how_sure` says of an answer is no caution besides.
    kept["cautions"] = [caution for caution in fields["cautions"] if caution in answer.keep_in_mind]
    if advisors := [tell_apart(advisor, fields["ahead"]) for advisor in fields["advisors"]]:
        return kept | {"advisors": advisors}
    return kept | {"ahead": fields["ahead"], "votes": fields["votes"]}


def tell_apart(advisor: Advisor, ahead: str) -> Advisor:
    """An advisor, without what it says as all on its side do."""
    same = {"blind": ""} if advisor.blind in (advisor.side, advisor.name) else {}
    agrees = advisor.side == ahead != ""
    return advisor.model_copy(update=same | ({"recommendation": "", "probability": 0} if agrees else {}))


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
    verdict_result = await build_verdict_result(manager, snapshot, tool)
    awaited = awaited_turns(debate)
    for turn in awaited[1:]:  # the prompt comes once the turn is the next one
        turn.prompt = ""
    rules = render_rules(debate) if awaited and not has_written(debate) else ""
    shown_round = min(round_number or debate.round, debate.round)
    step = StepResult(
        **dict(verdict_result),
        joined=joined,
        round=shown_round,
        awaited=awaited,
        rules=rules,
    )
    if step.answer.head:
        return step
    fields = {
        "framing": state.framing_line(setup),
        "phase": debate.rounds[shown_round - 1].phase if shown_round else "",
        "turns": [turn for turn in state.visible_turns(debate, shown_round) if turn.round == shown_round],
        "moderator": markdown.render_moderation(debate, shown_round),
        "warnings": list_setup_warnings(setup, len({family(debater.model) for debater in setup.debaters})),
        "estimate": "" if debate.ended else estimate_line(debate, with_efforts=not debate.round),
    }
    return step.model_copy(update=fields)


async def build_steer_result(manager: DebateManager, snapshot: DebateSnapshot, effect: str) -> SteerResult:
    debate = snapshot.debate
    return SteerResult(
        **await describe_debate(manager, snapshot, "intervene"),
        effect=effect,
        round=debate.round,
        phase=debate.phase.name if debate.phase else "",
        estimate="" if debate.ended or debate.is_concluding else estimate_line(debate, with_efforts=False),
    )


def build_tool_result(result: R, render: Callable[[R], str]) -> types.CallToolResult:
    """The structured and the text form of a result, each shortened to its limit."""
    data = fit(result, count_json, DATA_LIMIT)
    fitted = fit(result, lambda fitted: count_bytes(render(fitted)), TEXT_LIMIT)
    return build_content(data, render(fitted))


def build_content(data: BaseModel, *texts: str) -> types.CallToolResult:
    note = types.Annotations(audience=["assistant"], priority=1.0)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text, annotations=note) for text in texts],
        structured_content=data.model_dump(mode="json", exclude_defaults=True),
    )
