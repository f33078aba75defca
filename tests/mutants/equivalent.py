"""Mutants that no test can kill, because the program does the same, each with the reason."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "server/engine/recovery.py",
        'StreamFilter("paused", changed_since=format_time(oldest - timedelta(days=1)))',
        'StreamFilter("paused", changed_since=format_time(oldest - timedelta(days=2)))',
    ): "It narrows what is read, and what is read is then compared with the same times: a day is enough.",
    (
        "server/engine/database/daily_budget.py",
        "self, whole: Spending, own: Spending, cost_per_request: Decimal = Decimal(0)",
        "self, whole: Spending, own: Spending, cost_per_request: Decimal = Decimal(1)",
    ): "Without a price per request only whether requests are left is read, and not how many.",
    (
        "storage/postgres/connections/pool.py",
        "if anyio.current_time() >= self._busy_told_at + BUSY_WARNING_SECONDS:",
        "if anyio.current_time() > self._busy_told_at + BUSY_WARNING_SECONDS:",
    ): "No clock is read at the very moment at which the minute is over.",
    (
        "storage/sqlite/connections/waiting.py",
        "return monotonic() + RETRY_DELAY >= self._deadline",
        "return monotonic() + RETRY_DELAY > self._deadline",
    ): "No clock is read at the very moment of the deadline.",
}
"""By file, old line and new line, as they are printed."""
