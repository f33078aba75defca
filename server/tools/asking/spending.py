"""Has the person at the client confirm a debate whose estimate is above the operator's limit, once.

If nobody answers, the debate is opened: the limits of the debate and of the day still hold.
"""

from dataclasses import dataclass
from decimal import Decimal

import anyio
from mcp.types import ElicitRequestFormParams, ElicitResult

from server.debate.commands.setup.estimate import estimate
from server.debate.facts.errors import InvalidRequestError
from server.debate.state.debate import Debate
from server.debate.views.progress import estimate_line
from server.models.client import Guest
from server.tools.asking.elicitation import State, ask, can_ask, read_answer, read_state
from server.tools.tool import ToolCall

FIELD = "start"


@dataclass(frozen=True, kw_only=True)
class CallingGuest(Guest):
    """Whoever opens a debate by calling a tool. `models`: those that a person named in this call."""

    call: ToolCall
    deadline: float
    models: tuple[str, ...] = ()

    async def approve(self, debate: Debate) -> None:
        """Raises InvalidRequestError for a debate that is impossible or declined, AskFirst with a question."""
        await super().approve(debate)
        call, limit = self.call, self.call.manager.client_terms.confirm_cost_usd
        _, max_cost = estimate(debate).cost_usd
        seconds = self.deadline - anyio.current_time()
        if not limit or Decimal(max_cost or 0) <= limit:
            return
        if (state := read_state(call)) and state.asks == "spending":
            check_answer(debate, read_answer(call, "spending"))
        elif can_ask(call) and seconds > 0:
            state = State(asks="spending", models=[*self.models])
            check_answer(debate, await ask(call, build_form(debate, limit), state, seconds))


def build_form(debate: Debate, limit: Decimal) -> ElicitRequestFormParams:
    message = f"{estimate_line(debate)} That may be more than ${limit:f}. Start this debate?"
    field = {"type": "boolean", "title": "Start it", "default": True}
    return ElicitRequestFormParams(
        message=message, requested_schema={"type": "object", "properties": {FIELD: field}}
    )


def check_answer(debate: Debate, answer: object) -> None:
    """Raises InvalidRequestError if a person declined."""
    if not isinstance(answer, ElicitResult) or answer.action == "cancel":
        return
    if answer.action == "decline" or (answer.content or {}).get(FIELD) is False:
        reason = "The person at the client declined the cost, and the debate was not started."
        raise InvalidRequestError(
            f"{reason} {estimate_line(debate)} Ask for less: options.effort=quick, fewer rounds or other models."
        )
