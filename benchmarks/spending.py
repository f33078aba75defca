"""What debates cost with providers' caches of prompts, and without: their published rules, on what a stub was asked.

Anthropic keeps what a request marks, from 1,024 tokens on (more for some models), for five minutes after its last use,
at 1.25 times the price of input; it reads at 0.1 times, up to a block that is at most 20 blocks before a mark. OpenAI
does so from GPT-5.6 on at the same rates, but reads only up to marks, and marks the end of a request itself where it is
not told otherwise. Before GPT-5.6 it reads the longest beginning of 1,024 tokens and more by itself, in steps of 128,
at 0.1 times the price, and keeps for nothing. All can be read once an answer begins. A schema and functions stand in
front of the prompt. Rules: the guides "Prompt caching" of both, November 2026. A token is four characters.
"""

import json
import os
import tempfile
from asyncio import StreamReader, StreamWriter, get_running_loop
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio

from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.settings import Settings
from tests.support.provider import dialects
from tests.support.provider.stub import Stub, StubRequest

ANTHROPIC, OPENAI, OPENAI_BEFORE = "anthropic/claude-sonnet-5-5", "openai/gpt-5.6-terra", "openai/gpt-5"
FAMILIES = ((ANTHROPIC,), (OPENAI,), (OPENAI_BEFORE,), (OPENAI, ANTHROPIC))
DOLLARS = {ANTHROPIC: 2.0, OPENAI: 2.0, OPENAI_BEFORE: 1.25}
"""For a million tokens of input."""

ARMS = (
    *(("second_opinion", effort) for effort in ("quick", "standard", "assured")),
    *((name, "standard") for name in ("advocates", "verdict", "handoff", "round_robin", "oxford")),
)
"""Formats whose every task the stub knows."""

KEYS = {"OPENAI_API_KEY": "sk-stub-0123456789", "ANTHROPIC_API_KEY": "sk-stub-0123456789"}

KEPT, READ = 1.25, 0.1
"""Prices, for one of input that is neither."""

LEAST, STEP, LOOKBACK, KEPT_SECONDS = 1_024, 128, 20, 300
CHARACTERS_A_TOKEN = 4
DOCUMENT_LENGTH = 20_000 * CHARACTERS_A_TOKEN
TEXT_LENGTH = 1_200
"""Characters of a turn, and of the reasons of an answer."""

FIRST_WORDS, REST = 0.04, 0.16
"""Seconds until a reply begins, and from then to its end: a fiftieth of what models take."""


@dataclass
class Timed(Stub):
    """A stub that knows when each request came."""

    times: list[float] = field(default_factory=list)

    async def _serve_request(self, request: StubRequest, reader: StreamReader, writer: StreamWriter) -> None:
        if dialects.is_completion(request.path):
            self.times.append(get_running_loop().time())
        await super()._serve_request(request, reader, writer)


@dataclass
class Bill:
    """Tokens of input by what they cost."""

    plain: float = 0
    kept: float = 0
    read: float = 0

    def add(self, whole: float, read: float, kept: float) -> None:
        self.plain += whole - read - kept
        self.read += read
        self.kept += kept

    def count(self, rate: float) -> tuple[float, float]:
        """Dollars without a cache, and with it."""
        whole = self.plain + self.kept + self.read
        return whole * rate, (self.plain + KEPT * self.kept + READ * self.read) * rate


@dataclass
class Kept:
    """A beginning in a provider's cache."""

    readable_at: float
    used_at: float

    def is_readable(self, now: float) -> bool:
        return self.readable_at <= now <= self.used_at + KEPT_SECONDS


def list_units(body: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """What a request holds in the order in which it is compared: texts, and whether their end is marked."""
    named = ("tools", "response_format", "output_format", "output_config")
    head = [(json.dumps({name: body[name] for name in named if name in body}), False)]
    messages = ([{"content": body["system"]}] if "system" in body else []) + body["messages"]
    for message in messages:
        content = message["content"]
        blocks = [{"text": content}] if isinstance(content, str) else content
        head += [
            (block["text"], "cache_control" in block or "prompt_cache_breakpoint" in block)
            for block in blocks
        ]
    return head


def price_marked(requests: list[tuple[float, dict[str, Any]]], *, is_anthropic: bool) -> Bill:
    """By the rules of Anthropic, or of OpenAI from GPT-5.6 on."""
    bill, known = Bill(), dict[str, Kept]()
    for now, body in requests:
        units = list_units(body)
        marks = [index for index, (_, is_marked) in enumerate(units) if is_marked]
        if not is_anthropic and "prompt_cache_options" not in body:
            marks.append(len(units) - 1)
        beginnings = list(accumulate(text for text, _ in units))
        sizes = [len(text) / CHARACTERS_A_TOKEN for text in beginnings]
        back = LOOKBACK if is_anthropic else 1
        looked_at = {index for mark in marks for index in range(max(mark - back + 1, 0), mark + 1)}
        found = [
            index for index in looked_at if (one := known.get(beginnings[index])) and one.is_readable(now)
        ]
        read = max((sizes[index] for index in found), default=0)
        for index in found:
            known[beginnings[index]].used_at = now
        kept = [index for index in marks if sizes[index] >= LEAST]
        for index in kept:
            known.setdefault(beginnings[index], Kept(now + FIRST_WORDS, now))
        written = max(max((sizes[index] for index in kept), default=0) - read, 0)
        bill.add(sizes[-1], read, written)
    return bill


def price_automatic(requests: list[tuple[float, dict[str, Any]]]) -> Bill:
    """By the rules of OpenAI before GPT-5.6."""
    bill, known = Bill(), list[tuple[float, str]]()
    for now, body in requests:
        text = "".join(text for text, _ in list_units(body))
        shared = max((count_shared(text, one) for at, one in known if at <= now), default=0)
        read = shared // CHARACTERS_A_TOKEN // STEP * STEP
        bill.add(len(text) / CHARACTERS_A_TOKEN, read if read >= LEAST else 0, 0)
        known.append((now + FIRST_WORDS, text))
    return bill


def count_shared(one: str, other: str) -> int:
    """The characters that two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@dataclass
class Debate:
    """What a debate asked, by model, and how long it took."""

    requests: dict[str, list[tuple[float, dict[str, Any]]]]
    seconds: float

    def price(self) -> tuple[float, float]:
        """Dollars of input without a cache, and with it."""
        sums = [self.price_model(name).count(DOLLARS[name] / 1_000_000) for name in self.requests]
        return sum(one for one, _ in sums), sum(two for _, two in sums)

    def price_model(self, name: str) -> Bill:
        requests = self.requests[name]
        if name == OPENAI_BEFORE:
            return price_automatic(requests)
        return price_marked(requests, is_anthropic=name == ANTHROPIC)


async def hold(arm: tuple[str, str], models: tuple[str, ...], *, has_document: bool) -> Debate:
    format_name, effort = arm
    text = " ".join(f"Line {number} of the plan says what is done." for number in range(DOCUMENT_LENGTH))
    documents = [{"title": "plan", "text": text[:DOCUMENT_LENGTH]}] if has_document else []
    request = DebateRequest.model_validate(
        {
            "question": "Should we move the billing service to another database this year?",
            "documents": documents,
            "format": format_name,
            "models": [*models],
            "options": {"effort": effort, "seed": 1},
            "run": True,
        }
    )
    async with Timed(latency=FIRST_WORDS, pause=REST, chars=TEXT_LENGTH) as stub:
        os.environ |= {"OPENAI_API_BASE": stub.url, "ANTHROPIC_API_BASE": stub.url.removesuffix("/v1")}
        with tempfile.TemporaryDirectory() as folder:
            async with open_manager(Settings(db=str(Path(folder) / "debates.db")), environ=KEYS) as manager:
                started = perf_counter()
                snapshot = await manager.start(request, actor="benchmark")
                snapshot = await manager.follow(snapshot.id, wait=60)
                seconds = perf_counter() - started
    assert (snapshot.status, snapshot.debate.failures) == ("concluded", ()), snapshot.debate.failures
    asked = zip(stub.times, stub.chat_requests, strict=True)
    by_model: dict[str, list[tuple[float, dict[str, Any]]]] = {name: [] for name in models}
    for at, one in asked:
        name = next(name for name in models if name.endswith(f"/{one.body['model']}"))
        by_model[name].append((at, one.body))
    return Debate(by_model, seconds)


async def list_rows(arms: tuple[tuple[str, str], ...] = ARMS) -> AsyncIterator[list[str]]:
    for arm in arms:
        for has_document in (False, True):
            debates = [await hold(arm, models, has_document=has_document) for models in FAMILIES]
            usual = debates[-1]  # of two models
            sums = [debate.price() for debate in debates]
            title = f"`{arm[0]}`" + (f" {arm[1]}" if arm[0] == "second_opinion" else "")
            yield [
                title + (", document" if has_document else ""),
                str(sum(map(len, usual.requests.values()))),
                f"{usual.seconds:.2f} s",
                *(f"${with_cache:.3f}, {with_cache / without:.2f} x" for without, with_cache in sums),
            ]


async def print_rows() -> None:
    head = ("", "calls", "time", "Anthropic", "OpenAI", "OpenAI before GPT-5.6", "OpenAI and Anthropic")
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    async for row in list_rows():
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """Print the table."""
    os.environ |= KEYS | {"COUNTERPOINT_OFFLINE": "1"}
    anyio.run(print_rows)
