"""The names of MCP that telemetry shows. Clients may send any text as one: what is unknown here is `_OTHER`."""

from collections.abc import Collection
from typing import Any

from server.telemetry import OTHER

METHODS = {
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


class McpNames:
    def __init__(self, tools: Collection[str] = ()) -> None:
        self._tools = frozenset(tools)

    def find_method(self, method: Any) -> str:
        return method if method in METHODS else OTHER

    def find_tool(self, name: Any) -> str:
        return name if name in self._tools else OTHER
