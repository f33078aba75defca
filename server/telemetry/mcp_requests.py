"""Requests and notifications of MCP clients, as metrics. Their spans are the SDK's."""

from time import perf_counter
from typing import Any

from mcp import MCPError, types
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from pydantic import ValidationError

from server.telemetry.instruments import Instruments
from server.telemetry.labels import McpNames


class RequestMeter:
    def __init__(self, instruments: Instruments, names: McpNames, transport: str) -> None:
        self._instruments, self._names, self._transport = instruments, names, transport

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        method, started, failure = self._names.find_method(ctx.method), perf_counter(), ""
        labels = {"mcp.method.name": method, "network.transport": self._transport}
        if method == "tools/call":
            labels["gen_ai.tool.name"] = self._names.find_tool((ctx.params or {}).get("name"))
        try:
            result = await call_next(ctx)
        except BaseException as error:
            failure = find_error_type(error)
            raise
        else:
            failure = "tool_error" if is_tool_error(result) else ""
            return result
        finally:
            if failure:
                labels["error.type"] = failure
            self._instruments.mcp_seconds.record(perf_counter() - started, labels)


def is_tool_error(result: HandlerResult) -> bool:
    return (
        result.get("isError") is True
        if isinstance(result, dict)
        else getattr(result, "is_error", False) is True
    )


def find_error_type(error: BaseException) -> str:
    if isinstance(error, MCPError):
        return str(error.error.code)
    return str(types.INVALID_PARAMS) if isinstance(error, ValidationError) else type(error).__name__
