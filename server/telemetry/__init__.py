"""OpenTelemetry: traces and metrics of debates, of their requests to models and of MCP calls.

It sends no text of a prompt, of an answer or of an error, and no key. Nothing of it is imported unless the standard
variables ask for it (`is_wanted`); the engine and the models know only the callables that they are given.
"""

from collections.abc import Mapping
from typing import Literal

OTHER = "_OTHER"  # the conventions' word for what has no name of its own

Signal = Literal["traces", "metrics"]


def is_wanted(environ: Mapping[str, str], signal: Signal) -> bool:
    """Whether the standard variables name a collector for a signal, and do not turn it off."""
    name = signal.upper()
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environ.get(f"OTEL_{name}_EXPORTER", "").strip().lower() == "none":
        return False
    return any(
        environ.get(variable, "").strip()
        for variable in ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT")
    )
