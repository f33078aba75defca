"""What formats read and write on the same questions with the same stub, and how much a provider's cache can serve.

A provider can serve the beginning that a request shares with an earlier one on the same model, answered before. It
does so from 1,024 tokens on. A token is taken for four characters.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import anyio

from benchmarks.answers.questions import Question, load_questions
from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.engine.debates import DebateManager
from server.settings import Settings
from tests.support.provider.stub import Stub, join_prompt

QUESTIONS = ("h01", "h13", "h14", "h09", "h15", "h16")
"""Three without documents, and three with some."""

AGREED, DIVIDED = ("alpha/one-side-a", "beta/two-side-a"), ("alpha/one-side-a", "beta/two-side-b")

ARMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("second_opinion", "quick", AGREED),
    ("second_opinion", "standard", AGREED),
    ("second_opinion", "standard", DIVIDED),
    ("second_opinion", "assured", AGREED),
    ("second_opinion", "assured", DIVIDED),
    ("advocates", "standard", AGREED),
)

CHARACTERS_A_TOKEN = 4
LEAST_SERVED = 1_024
"""Tokens of a beginning that providers keep."""

TEXT_LENGTH = 1_200
"""Characters of a turn, and of the reasons of an answer."""

LATENCY = 0.02
"""Seconds, so that what is asked together is asked before any of it is answered."""


@dataclass
class Measured(Stub):
    """A stub that adds up what it reads and writes, and what a cache could have served."""

    calls: int = 0
    read: int = 0  # characters
    written: int = 0
    shared: int = 0
    served: int = 0  # of `shared`, those of beginnings that are long enough
    known: dict[str, list[str]] = field(default_factory=dict)  # answered prompts, by model

    def _choose_text(self, scenario: str, body: Mapping[str, Any]) -> tuple[str, str]:
        model, prompt = str(body["model"]), join_prompt(body)
        beginning = max((count_shared(prompt, one) for one in self.known.get(model, ())), default=0)
        text, finish = super()._choose_text(scenario, body)
        self.calls += 1
        self.read += len(prompt)
        self.written += len(text)
        self.shared += beginning
        self.served += beginning * (beginning >= LEAST_SERVED * CHARACTERS_A_TOKEN)
        self.known.setdefault(model, []).append(prompt)
        return text, finish


def count_shared(one: str, other: str) -> int:
    """The characters that two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


async def hold(manager: DebateManager, question: Question, arm: tuple[str, str, tuple[str, ...]]) -> None:
    format_name, effort, models = arm
    documents = [{"title": document.title, "text": document.text} for document in question.documents]
    request = DebateRequest.model_validate(
        {
            "question": question.text,
            "documents": documents,
            "format": format_name,
            "models": [*models],
            "options": {"effort": effort, "seed": 1},
            "run": True,
        }
    )
    snapshot = await manager.start(request, actor="benchmark")
    snapshot = await manager.follow(snapshot.id, wait=60)
    assert (snapshot.status, snapshot.debate.failures) == ("concluded", ()), snapshot.debate.failures


async def measure(arm: tuple[str, str, tuple[str, ...]], questions: list[Question]) -> Measured:
    """The sums over all questions. Each debate begins with an empty cache."""
    async with Measured(latency=LATENCY, chars=TEXT_LENGTH) as stub:
        os.environ |= {"ALPHA_API_BASE": stub.url, "BETA_API_BASE": stub.url}
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(db=str(Path(folder) / "debates.db"))
            async with open_manager(settings, environ={}) as manager:
                for question in questions:
                    await hold(manager, question, arm)
                    stub.known.clear()
    return stub


async def list_rows(questions: list[Question]) -> Iterator[str]:
    rows = []
    for arm in ARMS:
        stub, (format_name, effort, models) = await measure(arm, questions), arm
        course = "" if format_name == "advocates" else ", divided" if models == DIVIDED else ", agreed"
        calls, read, written = (
            one / len(questions)
            for one in (stub.calls, stub.read / CHARACTERS_A_TOKEN, stub.written / CHARACTERS_A_TOKEN)
        )
        shares = f"{stub.shared / stub.read:.0%} | {stub.served / stub.read:.0%}"
        rows.append(
            f"| `{format_name}` {effort}{course} | {calls:.0f} | {read:,.0f} | {written:,.0f} | {shares} |"
        )
    return iter(rows)


def main() -> None:
    """Print the table."""
    head = ("", "calls", "tokens in", "tokens out", "begins as an earlier prompt", "of 1,024 tokens or more")
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in anyio.run(list_rows, load_questions(QUESTIONS)):
        print(row)
