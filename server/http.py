"""The HTTP header `Retry-After` (RFC 9110, 10.2.3)."""

import math
import time
from email.utils import parsedate_to_datetime


def parse_retry_after(value: str) -> float | None:
    """Seconds to wait, from a number or a date; None for anything else."""
    try:
        pause = float(value)
    except ValueError:
        try:
            pause = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, pause) if math.isfinite(pause) else None
