"""Debates written without a clock or a model: seeded texts, with word frequencies as in natural language."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from server.debate.facts.answers import Usage
from server.debate.facts.events import Event
from server.debate.replies.extract import Reply
from server.debate.replies.interpret import interpret
from server.debate.rules.calls import Call
from server.debate.rules.decide import Ask, Record, decide
from server.debate.rules.transitions import apply
from server.debate.state.debate import Debate

VOCABULARY_SIZE = 4_000


@dataclass
class DebateGenerator:
    rng: random.Random
    turn_length: int

    def generate_text(self) -> str:
        words = (
            f"w{min(int(self.rng.paretovariate(0.7)), VOCABULARY_SIZE)}" for _ in range(self.turn_length // 4)
        )
        return " ".join(("common", *words))[: self.turn_length]

    def generate_answer(self, debate: Debate, call: Call) -> str:
        if call.task == "ballot":
            return json.dumps(
                {"beliefs": "/".join(("100", *("0" for _ in debate.names))), "position": "This one."}
            )
        return build_finding("for") if call.reading else self.generate_text()

    def generate_events(self, debate: Debate, max_events: int = 10**9) -> tuple[Debate, list[Event]]:
        """Returns the debate at its end or after `max_events` events, and its events."""
        events: list[Event] = [debate.setup]
        while len(events) < max_events:
            step = decide(debate)
            new: Sequence[Event] = ()
            if isinstance(step, Record):
                new = step.events
            elif isinstance(step, Ask):
                usage = Usage(model="scripted", input_tokens=1000, output_tokens=100)
                answers = [(call, self.generate_answer(debate, call)) for call in step.calls]
                new = [interpret(debate, call, Reply(text, usage)) for call, text in answers]
            else:
                break
            for event in new[: max_events - len(events)]:
                debate = apply(debate, event)
                events.append(event)
        return debate, events


def build_finding(winner: str) -> str:
    reasons = {"reasoning": "because of what was said ", "verdict": "because of what was said "}
    return json.dumps({**reasons, "winner": winner, "margin": 2})
