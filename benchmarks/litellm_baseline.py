"""The reference for debates through a provider: the same requests through litellm alone."""

import asyncio
import os
from collections.abc import Sequence
from itertools import islice
from typing import Any

from server.models.providers.litellm import get_litellm

PARALLEL_WAVES = (3, 3, 3, 1)
SEQUENTIAL_WAVES = (1,) * 10
"""Number of concurrent calls in each wave of a debate of 3 x 3 and a judge."""


async def run_litellm_baseline(url: str, bodies: Sequence[dict[str, Any]], waves: Sequence[int]) -> None:
    """Repeat the calls of one debate; `bodies` are the request bodies that a stub received."""
    os.environ.setdefault("OPENAI_API_KEY", "sk-loopback")
    litellm = await get_litellm()
    rest = iter(bodies)
    for size in waves:
        calls = [
            litellm.acompletion(
                **{**body, "model": f"openai/{body['model']}"},
                api_base=url,
                num_retries=0,
                max_retries=0,
                drop_params=True,
            )
            for body in islice(rest, size)
        ]
        await asyncio.gather(*calls)
