"""The prompts of a debate, as a provider receives them: how long they are, and what it may have cached."""

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from benchmarks.processes.children import (
    OUR_SERVER,
    Server,
    provider_environment,
    read_request_bodies,
    start_stub,
)
from benchmarks.speed.debates import DEBATE, NO_BALLOTS, run_debate
from benchmarks.table import Measurement

SEATS = ("ada", "ben", "cy")


async def measure_prompts() -> list[Measurement]:
    lines = []
    for format_name, name in (("second_opinion", "together"), ("verdict", "in sequence")):
        for both_orders in (False, True):
            # With one model per debater the prompts of a seat are known; with one model for all, what they share.
            separate = await collect_request_bodies(format_name, SEATS, both_orders=both_orders)
            shared = build_prompt_texts(
                await collect_request_bodies(format_name, ("one",), both_orders=both_orders)
            )
            by_seat = [
                build_prompt_texts([body for body in separate if body["model"] == seat]) for seat in SEATS
            ]
            suffix = f"{name}, judge in {'both orders' if both_orders else 'one order'}"
            characters = sum(map(len, shared))
            lines += [
                Measurement(
                    f"a seat's previous prompt kept as prefix, {suffix}",
                    compute_kept_prefix_percentage(by_seat),
                    "%",
                    99,
                    at_least=True,
                ),
                Measurement(
                    f"prompt text that an earlier prompt held, {suffix}",
                    compute_shared_percentage(shared),
                    "%",
                    None if both_orders else 70,
                    at_least=True,
                ),
                Measurement(
                    f"prompts of 3 debaters, 3 rounds and a judge, {suffix}",
                    characters,
                    "characters",
                    details=f"{len(shared)} prompts",
                ),
            ]
    return lines


async def collect_request_bodies(
    format_name: str, model_names: Sequence[str], *, both_orders: bool
) -> list[dict[str, Any]]:
    """The request bodies of one debate of 3 x 3 and a judge, in order of arrival."""
    debaters = [
        {
            "name": seat.title(),
            "stance": f"{seat}'s way",
            "model": f"openai/{model_names[index % len(model_names)]}",
        }
        for index, seat in enumerate(SEATS)
    ]
    judge = "openai/judge" if len(model_names) > 1 else "openai/one"
    options = {
        "seed": 1,
        **NO_BALLOTS,
        "judges": {"count": 1, "both_orders": both_orders, "models": [judge]},
    }
    async with start_stub() as url:
        with tempfile.TemporaryDirectory() as folder:
            async with Server.start(*OUR_SERVER, environ=provider_environment(folder, url)) as server:
                await server.initialize()
                await run_debate(server, format_name, **DEBATE | {"debaters": debaters, "options": options})
        return await read_request_bodies(url)


def build_prompt_texts(bodies: Sequence[dict[str, Any]]) -> list[str]:
    return ["".join(message["content"] for message in body["messages"]) for body in bodies]


def compute_kept_prefix_percentage(by_seat: Sequence[Sequence[str]]) -> float:
    """Of all characters of previous prompts, the percentage that the seat's next one begins with."""
    pairs = [(before, after) for seat in by_seat for before, after in pairwise(seat)]
    same = sum(count_common_prefix(*pair) for pair in pairs)
    return 100 * same / sum(len(before) for before, _ in pairs)


def compute_shared_percentage(prompts: Sequence[str]) -> float:
    """Of all characters, the percentage in the longest beginning shared with any earlier prompt."""
    shared = sum(
        max((count_common_prefix(earlier, prompt) for earlier in prompts[:index]), default=0)
        for index, prompt in enumerate(prompts)
    )
    return 100 * shared / sum(map(len, prompts))


def count_common_prefix(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    alike = (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(alike, min(len(one), len(other)))
