"""Seeded texts of turns, with word frequencies as in natural language."""

import json
import random

from server.models import Request

VOCABULARY_SIZE = 4_000


class TextGenerator:
    def __init__(self, seed: int, length: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311  (texts, not secrets)
        self.length = length

    def reply(self, request: Request) -> str:
        """The script of a model: a text of its own for each turn, a finding for the first position for a judge."""
        if not request.prompt.schema:
            return self.generate_text()
        winner = request.prompt.summary.positions[0][0] if request.prompt.summary.positions else ""
        reasons = {"reasoning": "because of what was said ", "verdict": "because of what was said "}
        return json.dumps({**reasons, "winner": winner, "margin": 2, "beliefs": {winner: 90, "none": 10}})

    def generate_text(self) -> str:
        words = (
            f"w{min(int(self.rng.paretovariate(0.7)), VOCABULARY_SIZE)}" for _ in range(self.length // 4)
        )
        return " ".join(("common", *words))[: self.length]
