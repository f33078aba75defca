"""Names as telemetry shows them: those of the conventions, few enough for metrics, and never a text.

Callers and providers write some of these names. What does not look like one is left out.
"""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from server.debate.facts.setup.seats import is_judge
from server.debate.seats.registry import SEAT_NAMES
from server.debate.state.debate import Debate
from server.models import LITELLM_PREFIX
from server.models.fakes.chaos import unwrap_faulty_name
from server.redaction import redact_error
from server.telemetry import OTHER

MAX_MODELS = 200  # that are told apart in metrics; the others are one

PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""By our names (litellm's), those of the GenAI conventions; a provider that is not here has the same."""

FINISH_REASONS = ("stop", "length", "tool_calls", "function_call", "content_filter")

MCP_METHODS = {
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
}

_NAME = re.compile(r"[\w.:/@+-]{1,200}")


def build_name(text: str) -> str:
    """A name or an id as a provider wrote it; "" for what is none, or holds a secret."""
    return text if _NAME.fullmatch(text) and redact_error(text) == text else ""


@lru_cache(maxsize=1000)
def build_model_name(name: str) -> str:
    """The name of a model without injected faults and parameters, which may be texts."""
    plain = unwrap_faulty_name(name).removeprefix(LITELLM_PREFIX).partition("?")[0]
    return build_name(plain) or OTHER


def build_provider_name(provider: str) -> str:
    return PROVIDERS.get(provider) or build_name(provider) or OTHER


def build_finish_reason(reason: str) -> str:
    return reason if reason in FINISH_REASONS else OTHER


def build_seat_name(debate: Debate, seat: str) -> str:
    """`debater 2`, `judge 1`, `moderator`: callers name debaters as they like, and prompts hold these names."""
    if seat in SEAT_NAMES or is_judge(seat):
        return seat
    names = [debater.name for debater in debate.setup.debaters]
    return f"debater {names.index(seat) + 1}" if seat in names else "debater"


class ModelLabels:
    """The names of models in metrics: callers choose models, and each name costs memory in every reader."""

    def __init__(self) -> None:
        self._known = set[str]()

    def find(self, name: str) -> str:
        if name not in self._known:
            if len(self._known) >= MAX_MODELS:
                return OTHER
            self._known.add(name)
        return name


class McpNames:
    """The names of MCP. Clients may send any text as one: what is unknown here is `_OTHER`."""

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._tools = frozenset(tools)

    def find_method(self, method: Any) -> str:
        return method if method in MCP_METHODS else OTHER

    def find_tool(self, name: Any) -> str:
        return name if name in self._tools else OTHER
