"""Mutants that no test can kill, because the program does the same, each with the reason."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "server/engine/recovery.py",
        'paused = await find(StreamFilter("paused", changed_since=format_time(oldest - timedelta(days=1))))',
        'paused = await find(StreamFilter("paused", changed_since=format_time(oldest - timedelta(days=2))))',
    ): "It narrows what is read, and what is read is then compared with the same times: a day is enough.",
    (
        "storage/sqlite/connections/connection.py",
        "return anyio.current_time() + self._delay >= self._deadline",
        "return anyio.current_time() + self._delay > self._deadline",
    ): "No clock is read at the very moment of the deadline.",
}
"""By file, old line and new line, as they are printed."""
