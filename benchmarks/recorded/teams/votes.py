"""How often the votes of a team are counted right: by the rule of panels, with the weights that a ledger gives.

Answers to the same questions are drawn once for all: a model's answers are the bits of a number, one for each question.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from random import Random

from benchmarks.recorded.teams.planted import COMMON_PART, FAMILY_PART, NAMES
from server.debate.analysis.records import JudgeRecord
from server.debate.votes.counting import UNKNOWN_WEIGHT, Seat, count_votes
from server.debate.votes.skills import Knowledge, Tally

QUESTIONS = 2_000
EVERY = (1 << QUESTIONS) - 1
RIGHT, WRONG = "right", "wrong"


@cache
def draw_errors() -> dict[str, list[float]]:
    """The error of each model in each question."""
    chance = Random("votes")  # noqa: S311  (a simulation)
    common = [math.sqrt(COMMON_PART) * chance.gauss(0, 1) for _ in range(QUESTIONS)]
    families: dict[str, list[float]] = {}
    errors = {}
    for name in NAMES:
        vendor = name.partition("/")[0]
        if vendor not in families:
            families[vendor] = [math.sqrt(FAMILY_PART) * chance.gauss(0, 1) for _ in range(QUESTIONS)]
        own = math.sqrt(1 - FAMILY_PART - COMMON_PART)
        shared = zip(common, families[vendor], strict=True)
        errors[name] = [one + other + own * chance.gauss(0, 1) for one, other in shared]
    return errors


def answer_all(name: str, skill: float) -> int:
    return int("".join("1" if error + skill > 0 else "0" for error in draw_errors()[name]), 2)


def seat_model(name: str, side: str, known: Knowledge) -> Seat:
    tally = known.answers.get(name, Tally())
    right = tally.credit // 2
    record = JudgeRecord(name, tally.items, tally.items, right, tally.items - right)
    return Seat(name, name, side, weight=record.weight / UNKNOWN_WEIGHT)


def count_right(team: Sequence[str], skills: Mapping[str, float], known: Knowledge) -> float:
    """The share of questions in which the side ahead is right; a tie is half right."""
    answers = [answer_all(name, skills[name]) for name in team]
    share = 0.0
    for sides in product((RIGHT, WRONG), repeat=len(team)):
        ahead = count_votes(
            [seat_model(name, side, known) for name, side in zip(team, sides, strict=True)]
        ).ahead
        questions = EVERY
        for answered, side in zip(answers, sides, strict=True):
            questions &= answered if side == RIGHT else ~answered
        share += questions.bit_count() * {RIGHT: 1.0, WRONG: 0.0, "": 0.5}[ahead]
    return share / QUESTIONS
