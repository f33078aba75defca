"""Models whose skill, shared errors and persuadability are known, and questions for them.

A question is a trap with the probability `traps`: then all models lean to the same wrong option. A model that is asked
alone is right with its `skill`, on a trap with `trapped`. A judge who has read a debate finds the right option with
`insight`, on a trap with `insight_on_traps`: high where arguments show what is right, low where they persuade of what
all believe.
"""

import json
import re
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from string import ascii_uppercase
from typing import Any

from server.models import Request
from server.models.fakes.scripted import ScriptedModel

_ANSWER = re.compile(r"^\[(\w+)\]\n> .*\n> Value: (\w)", re.MULTILINE)
_NUMBER = re.compile(r"\bQ(\d+)-(\d+)\b")


@dataclass(frozen=True)
class Population:
    """`models`: their skill, by name. Every draw is a hash of what is asked and, of a sample, its seed."""

    models: dict[str, float] = field(default_factory=lambda: {"weak": 0.62, "strong": 0.72})
    traps: float = 0.25
    trapped: float = 0.2
    insight: float = 0.85
    insight_on_traps: float = 0.6
    options: int = 2

    def list_questions(self, repetition: int, count: int) -> list[dict[str, Any]]:
        """So many new questions for each repetition, as lines of a file."""
        return [
            {
                "id": f"{repetition}-{number}",
                "question": f"What is the answer to Q{repetition}-{number}?",
                "options": [f"option {index} of {number}" for index in range(self.options)],
                "answer": self.find_right(f"{repetition}-{number}"),
            }
            for number in range(count)
        ]

    def find_right(self, question: str) -> int:
        return int(draw("right", question) * self.options)

    def is_trap(self, question: str) -> bool:
        return draw("trap", question) < self.traps

    def choose(self, question: str, chance: float, luck: float) -> int:
        """The right option with this chance; else a wrong one, for everybody the same."""
        right = self.find_right(question)
        return right if luck < chance else (right + 1) % self.options

    def answer_alone(self, model: str, question: str, luck: float) -> int:
        chance = self.trapped if self.is_trap(question) else self.models[model]
        return self.choose(question, chance, luck)

    def judge(self, judge: str, question: str) -> int:
        chance = self.insight_on_traps if self.is_trap(question) else self.insight
        return self.choose(question, chance, draw("judge", judge, question))

    def build_models(self) -> dict[str, ScriptedModel]:
        """Debaters by name, and the judge "judge"."""
        names = (*self.models, "judge")
        return {
            name: ScriptedModel(partial(self.reply, name), name=name, record_requests=False) for name in names
        }

    def reply(self, name: str, request: Request) -> str:
        summary = request.prompt.summary
        found = _NUMBER.search(summary.question)
        assert found
        question = f"{found[1]}-{found[2]}"
        if summary.task == "report":
            return "It is better supported."
        if summary.task in ("advice", "review", "exchange"):
            return json.dumps(self.advise(name, request, question))
        if summary.task not in ("ballot", "judgment"):
            return "[1] It follows from what is known, and nothing that was said against it holds."
        if name not in self.models:
            choice, sure = self.judge(name, question), 80
        else:
            choice, sure = (
                self.answer_alone(name, question, draw("alone", name, question, str(request.seed))),
                70,
            )
        labels = {stance: label for label, stance in summary.positions}
        label = next(label for stance, label in labels.items() if stance.startswith(f"option {choice} "))
        beliefs = dict.fromkeys(labels.values(), (100 - sure) // (self.options - 1)) | {label: sure}
        beliefs["none"] = 100 - sum(beliefs.values())
        text = {"winner": label, "verdict": "It is better supported.", "reasoning": "Its points stand."}
        ballot = {"position": "It is better supported.", "would_check": "The source.", "moved_by": None}
        return json.dumps({"beliefs": beliefs, **(text if summary.task == "judgment" else ballot)})

    def advise(self, name: str, request: Request, question: str) -> dict[str, Any]:
        """As in a blind ballot, and after reading others as a judge; argued with, it keeps its advice."""
        summary = request.prompt.summary
        luck = draw("alone", name, question, str(request.seed))
        is_blind = summary.task == "advice"
        choice = self.answer_alone(name, question, luck) if is_blind else self.judge(name, question)
        letter = ascii_uppercase[choice]
        shown = _ANSWER.findall(request.prompt.messages[-1].content)
        groups = [
            [label for label, value in shown if value == option] for option in {one for _, one in shown}
        ]
        said = {"recommendation": f"{letter}: it follows.", "because": "It is known.", "probability": 70}
        followed = {"follows": [label for label, value in shown if value == letter], "groups": groups}
        return (
            said | {"value": letter, "errors": [], "missing": []} | (followed if shown else {"follows": []})
        )


def draw(*parts: str) -> float:
    """A number from 0 to 1 that looks random, the same for the same parts."""
    return int.from_bytes(sha256(":".join(parts).encode()).digest()[:6]) / 2**48
