from typing import Annotated

from mcp.types import CallToolResult
from pydantic import BeforeValidator, Field

from server.debate.commands.intervene import ACTIONS, InterventionRequest
from server.debate.commands.requests import BudgetInput, ModelName
from server.tools.kit.context import DebateId, ToolCall, ToolContext
from server.tools.kit.results import ProgressResult, build_progress_result

FractionText = Annotated[
    str, BeforeValidator(lambda value: str(value) if type(value) in (int, float) else value)
]
"""A fraction as text; numbers are accepted as well."""


async def intervene(
    debate_id: DebateId,
    action: Annotated[str, Field(json_schema_extra={"enum": list(ACTIONS)})],
    ctx: ToolContext,
    text: Annotated[str, Field(description="The note or instruction")] = "",
    to: Annotated[str, Field(description="A debater or seat; empty: all")] = "",
    rounds: Annotated[int, Field(ge=0, description="For extend: how many more")] = 0,
    round: Annotated[  # noqa: A002  (the argument's name is a contract)
        int, Field(ge=0, description="For retract: round of the turn")
    ] = 0,
    model: ModelName = "",
    weights: Annotated[dict[str, FractionText], Field(description="Fraction by voter, such as 3/2")] = {},  # noqa: B006
    threshold: Annotated[
        FractionText, Field(max_length=20, description="Share needed to win, such as 2/3")
    ] = "",
    limits: Annotated[BudgetInput, Field(description="For extend: the limits to change")] = BudgetInput(),  # noqa: B008
    reason: Annotated[str, Field(max_length=1000, description="Kept in the journal")] = "",
) -> Annotated[CallToolResult, ProgressResult]:
    """Steer a debate, also while it runs. The result says from when on it counts."""
    call = ToolCall(ctx)
    request = InterventionRequest(
        text=text,
        to=to,
        reason=reason,
        rounds=rounds,
        round=round,
        model=model,
        weights=weights,
        threshold=threshold,
        limits=limits.model_dump(exclude_unset=True),
    )
    snapshot, effect = await call.manager.intervene(debate_id, action, request, actor=call.actor)
    return build_progress_result(snapshot, working=call.manager.is_working(debate_id), extra=effect)
