from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import BeforeValidator, Field

from server.debate.commands.intervene import ACTIONS, InterventionRequest
from server.debate.commands.requests import ModelName
from server.engine.debates import DebateManager
from server.tools.kit.results import ProgressResult, build_progress_result
from server.tools.kit.schema import DebateId, get_actor, get_manager

FractionText = Annotated[
    str, BeforeValidator(lambda share: str(share) if type(share) in (int, float) else share)
]
"""A fraction as text; a number is taken as well."""


async def intervene(
    debate_id: DebateId,
    action: Annotated[str, Field(json_schema_extra={"enum": list(ACTIONS)})],
    ctx: Context[DebateManager, Any],
    text: Annotated[str, Field(description="inject, challenge")] = "",
    to: Annotated[str, Field(description="A debater, empty for all; or a seat")] = "",
    rounds: Annotated[int, Field(ge=0, description="extend: more")] = 0,
    round: Annotated[  # noqa: A002  (the argument's name is a contract)
        int, Field(ge=0, description="retract")
    ] = 0,
    model: ModelName = "",
    weights: Annotated[dict[str, FractionText], Field(description='{voter: "3/2"}')] = {},  # noqa: B006
    threshold: Annotated[FractionText, Field(max_length=20, examples=["2/3"])] = "",
    limits: Annotated[dict[str, Any], Field(description="extend: as in options.limits")] = {},  # noqa: B006
    reason: Annotated[str, Field(max_length=1000, description="Kept in the record")] = "",
) -> Annotated[CallToolResult, ProgressResult]:
    """Steer a debate while it runs; the answer says from when on it counts."""
    hall = get_manager(ctx)
    actor = get_actor(ctx)
    wish = InterventionRequest(
        text=text,
        to=to,
        reason=reason,
        rounds=rounds,
        round=round,
        model=model,
        weights=weights,
        threshold=threshold,
        limits=limits,
    )
    case, effect = await hall.intervene(debate_id, action, wish, actor=actor)
    return build_progress_result(case, working=hall.is_working(debate_id), extra=effect)
