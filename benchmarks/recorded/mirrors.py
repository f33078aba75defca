"""Whether a mirror finds again what was planted: how much better a position is, and how much better a debater.

Usage: python -m benchmarks mirrors [--debates N]

Simulated, and no measurement of models: Ada argues with so many points of skill more than Ben, and her stance is worth
so many points more than his. A judge's belief in a side leads by ten percent for each point that it has more, with an
error of its own that is drawn for each debate anew. Rules, prompts and counts are the product's.
"""

import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.open import open_debate
from server.debate.facts.escalation import MirrorOpened
from server.debate.facts.events import Event
from server.debate.prompts.render import render
from server.debate.replies.interpret import interpret
from server.debate.rules.budget import NO_ELAPSED_TIME
from server.debate.rules.calls import Call
from server.debate.rules.decide import Ask, Record, decide
from server.debate.rules.escalation import Mirror, build_mirror_held, build_mirror_setup
from server.debate.rules.transitions import replay
from server.debate.state.debate import Debate
from server.debate.votes.panel import compare_mirror
from server.models import Reply, Usage

DEBATES = 200
JUDGES = ["mistral/judge", "gemini/judge", "deepseek/judge"]
WORTH = {"Ada": "build it", "Ben": "buy it"}
ERROR = 2.0  # points, the standard deviation of a judge's error in a debate
PLANTED = ((0, 0), (3, 0), (6, 0), (0, 3), (0, 6), (3, 3), (-3, 3), (-3, 6))
MIRROR_ID, HEAD = "222222222222", "0" * 64

Answer = Callable[[Debate, Call], str]


@dataclass(frozen=True, slots=True)
class Planted:
    """Points by which the stance of Ada is worth more, and by which she argues better; the errors of the judges."""

    worth: float
    skill: float
    errors: dict[str, float]

    def answer(self, debate: Debate, call: Call) -> str:
        if call.task == "argument":
            return f"It is so. Skill {self.skill if call.seat == 'Ada' else 0}."
        positions = re.findall(r"^(\w+)\. (.+)$", render(debate, call).messages[-1].content, re.MULTILINE)
        stances = dict(positions[-2:])
        ada = next(name for name in debate.names if name == "Ada")
        own = debate.debater(ada).stance
        lead = self.worth * (1 if own == WORTH["Ada"] else -1) + self.skill + self.errors[call.seat]
        points = {key: lead if stance == own else 0.0 for key, stance in stances.items()}
        best, other = sorted(points, key=lambda key: -points[key])
        percent = min(round(10 * (points[best] - points[other])), 90)
        beliefs = {best: 50 + percent // 2, other: 50 - percent // 2, "none": 0}
        return json.dumps({"winner": best, "beliefs": beliefs, "verdict": "So.", "reasoning": "So."})


def play(debate: Debate, answer: Answer) -> Debate:
    """The debate as far as it goes without somebody else."""
    while True:
        step, events = decide(debate), list[Event]()
        if isinstance(step, Record):
            events = [*step.events]
        elif isinstance(step, Ask):
            events = [
                interpret(debate, call, Reply(answer(debate, call), Usage(model=call.model)))
                for call in step.calls
            ]
        if not events:
            return debate
        debate = replay(events, debate)


def hold(worth: float, skill: float, seed: int) -> tuple[Debate, Debate]:
    """(the debate with its mirror, and the same debate as it ends without one)."""
    chance = random.Random(f"{worth} {skill} {seed}")  # noqa: S311  (a simulation)

    def draw() -> Answer:
        errors = {f"judge {number}": chance.gauss(0, ERROR) for number in range(1, len(JUDGES) + 1)}
        return Planted(worth, skill, errors).answer

    debaters = [{"name": name, "stance": stance} for name, stance in WORTH.items()]
    options = {"ballots": "none", "judges": {"models": JUDGES}, "seed": seed}
    alone, mirrored = (
        replay(
            [
                open_debate(
                    DebateRequest.model_validate(
                        {
                            "question": "What to do?",
                            "debaters": debaters,
                            "options": {**options, "mirror": has_mirror},
                        }
                    ),
                    models=["openai/debater", "anthropic/debater"],
                    seed=seed,
                )
            ]
        )
        for has_mirror in (False, True)
    )
    first = draw()
    debate = play(mirrored, first)
    step = decide(debate)
    assert isinstance(step, Mirror), step
    opened = MirrorOpened(round=debate.round, debate_id=MIRROR_ID, because=step.because)
    debate = replay([opened], debate)
    mirror = play(replay([build_mirror_setup(debate, MIRROR_ID, HEAD, NO_ELAPSED_TIME)]), draw())
    held = build_mirror_held(debate, MIRROR_ID, HEAD, mirror)
    return play(replay([held], debate), first), play(alone, first)


def describe_outcomes(debates: Sequence[Debate], better: str) -> str:
    """How many were decided for the better position, and how many for the other; for a tie in worth for either."""
    verdicts = [debate.verdict for debate in debates if debate.verdict]
    decided = [found.winner for found in verdicts if found.outcome == "decided"]
    return f"{decided.count(better) / len(debates):.2f} / {sum(one != better for one in decided) / len(debates):.2f}"


def main(arguments: Sequence[str]) -> None:
    match list(arguments):
        case []:
            count = DEBATES
        case ["--debates", number] if number.isdecimal() and int(number):
            count = int(number)
        case _:
            sys.exit(f"usage: python -m benchmarks mirrors [--debates N]\n{__doc__}")
    print(
        "| planted: position, debater | found: position | debater | reversed | decided alone | with its mirror |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for worth, skill in PLANTED:
        pairs = [hold(worth, skill, seed) for seed in range(1, count + 1)]
        compared = [found for debate, _ in pairs if (found := compare_mirror(debate))]
        signs = [1 if found.side == "Ada" else -1 for found in compared]
        position = fmean(sign * found.position_effect for sign, found in zip(signs, compared, strict=True))
        debater = fmean(sign * found.debater_effect for sign, found in zip(signs, compared, strict=True))
        reversed_share = fmean(found.is_reversed for found in compared)
        better = "Ada" if worth > 0 else "Ben" if worth < 0 else ""
        told = [describe_outcomes([pair[index] for pair in pairs], better) for index in (1, 0)]
        print(
            f"| {worth:+}, {skill:+} | {position:+.2f} | {debater:+.2f} | {reversed_share:.2f} | {' | '.join(told)} |"
        )
