"""How well a model sees rhetoric, on 64 turns: precision and recall by pattern, through the product's own path.

Usage: python -m benchmarks rhetoric MODEL

Four turns of each pattern have it, four only look like it. A pattern counts as seen where a mark of it is recorded that
shares a word with the place where it stands. One call for each turn; the calls cost what the model costs.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

import anyio

from benchmarks.recorded.rhetoric_cases import CASES, Case
from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.open import open_debate
from server.debate.facts.answers import Observed, Pattern, Usage
from server.debate.prompts.render import render
from server.debate.replies.extract import Reply
from server.debate.replies.interpret import interpret
from server.debate.rules.calls import Call
from server.debate.rules.decide import Ask, Record, decide
from server.debate.rules.transitions import apply, replay
from server.debate.state.debate import Debate
from server.models import Model, ModelError, Request
from server.models.registry import ModelRegistry

TIMEOUT = 120  # seconds for an answer
MAX_TOKENS = 2_000


@dataclass
class RhetoricRow:
    """What came of the turns of one pattern."""

    pattern: Pattern
    counts: Counter[str] = field(default_factory=Counter)  # seen, missed, false, left, failed, others

    @property
    def precision(self) -> str:
        return format_share(self.counts["seen"], self.counts["seen"] + self.counts["false"])

    @property
    def recall(self) -> str:
        return format_share(self.counts["seen"], self.counts["seen"] + self.counts["missed"])


def format_share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def open_case(case: Case) -> tuple[Debate, Call]:
    """A debate in which both turns of the case were made, and the call of its observer."""
    request = DebateRequest.model_validate(
        {
            "question": "Should we rewrite the system?",
            "format": "verdict",
            "debaters": [{"name": "Bob", "stance": "Wait"}, {"name": "Ada", "stance": "Rewrite it now"}],
            "max_rounds": 1,
            "options": {"observer": True, "seed": 1},
        }
    )
    debate = replay([open_debate(request, models=["scripted"], seed=1)])
    texts = {"Bob": case.before, "Ada": case.turn}
    while True:
        match decide(debate):
            case Record(events):
                debate = replay(events, debate)
            case Ask(calls):
                (call,) = calls
                if call.task == "observation":
                    return debate, call
                reply = Reply(texts[call.seat], Usage(model="scripted"))
                debate = apply(debate, interpret(debate, call, reply))


async def observe(model: Model, case: Case) -> Observed | None:
    """What the model marks in the turns of a case; None where it gives no usable answer."""
    debate, call = open_case(case)
    request = Request(
        prompt=render(debate, call), seat=call.seat, seed=call.seed, max_tokens=MAX_TOKENS, timeout=TIMEOUT
    )
    try:
        reply = await model.reply(request)
    except ModelError as error:
        print(f"failed: {error}", file=sys.stderr)
        return None
    found = interpret(debate, call, reply)
    return found if isinstance(found, Observed) else None


def judge_case(case: Case, observed: Observed | None) -> list[str]:
    """What came of a case: seen or missed, false or left; others: marks of other patterns."""
    if observed is None:
        return ["failed"]
    start = case.turn.index(case.words)
    end = start + len(case.words)
    own = [mark for mark in observed.marks if mark.pattern == case.pattern and mark.said.seat == "Ada"]
    is_seen = any(mark.said.start < end and start < mark.said.end for mark in own)
    outcome = ("seen" if is_seen else "missed") if case.is_positive else ("false" if is_seen else "left")
    return [outcome, *["others"] * (len(observed.marks) - len(own))]


async def measure(model: Model, cases: Sequence[Case] = CASES) -> list[RhetoricRow]:
    rows = {pattern: RhetoricRow(pattern) for pattern in get_args(Pattern)}
    for case in cases:
        rows[case.pattern].counts.update(judge_case(case, await observe(model, case)))
    return list(rows.values())


def main(arguments: Sequence[str]) -> None:
    if len(arguments) != 1:
        sys.exit(f"usage: python -m benchmarks rhetoric MODEL\n{__doc__}")
    print("| pattern | seen | missed | false alarms | failed | precision | recall |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in anyio.run(measure, ModelRegistry().get(arguments[0])):
        counts = [row.counts[name] for name in ("seen", "missed", "false", "failed")]
        cells = [row.pattern, *map(str, counts), row.precision, row.recall]
        print(f"| {' | '.join(cells)} |")
