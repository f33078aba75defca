"""Whatever is typed and answered, what this release records it accepts from a file, and writes again byte for byte."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.commands.setup.documents import add_windows
from server.debate.facts.answers import Usage
from server.debate.facts.causes import FailureCause
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Resumed
from server.debate.facts.setup.limits import Window
from server.debate.facts.setup.opened import Opened
from server.debate.facts.text import remove_invisible
from server.debate.records.bounds import MAX_REASON_LENGTH
from server.debate.records.verify import parse_event
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.seats.registry import name_task
from tests.support.event_strategies import SETUPS
from tests.support.records import build_bodies, verify_bodies
from tests.support.searches import search_briefly
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    Script,
    ScriptAnswer,
    build_setup,
    default_script,
    label_positions,
    render_finding,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D8", "N26")

NEW_SIGNS = "\ue000\U0001fae9\U000107c0"
"""Of private use, and newer than the tables of some Python: none of them is printable to it."""

LONG = ("\u03b1" * 50 + " <b>\u202e\x07 word\n") * 400
FIELDS = ("verdict", "reasoning", "recommendation", "would_change")
INTERVENTIONS: tuple[dict[str, Any], ...] = (
    *({"action": action, "text": "n" * 8_000} for action in ("inject", "challenge", "instruct")),
    {"action": "extend", "rounds": 20},
    {"action": "extend", "limits": {"max_cost_usd": 1e6, "max_calls": 100_000}},
    {"action": "tag", "text": "t" * 60},
    {"action": "threshold", "threshold": "999999999/1000000000"},
    {"action": "pause"},
    {"action": "conclude"},
)


def come_back(at: DebateSimulation, actor: str = "counterpoint") -> None:
    """Write the record of a debate, read it as one from elsewhere, and write it again."""
    written = json.dumps(build_bodies(at.events))
    bodies = json.loads(written)
    assert verify_bodies(bodies, actor) == at.debate
    again = [parse_event(seq, body).model_dump(mode="json") for seq, body in enumerate(bodies, start=1)]
    assert json.dumps(again) == written


def fail(random: Random, call: Call) -> ScriptAnswer:
    """No usable answer, for a reason that is long to tell."""
    told = f"{call.seat} " + "gave way " * 200
    causes: tuple[FailureCause, ...] = ("timeout", "unavailable", "refused", "crashed", "too_long")
    wrong = json.dumps({"to": told, "next_speakers": [told], "beliefs": {told: 3}, "winner": told})
    answers: list[ScriptAnswer] = [ProviderFailure(random.choice(causes), told), "{" + "z" * 900, "", wrong]
    return random.choice(answers)


def speak(random: Random, call: Call) -> ScriptAnswer:
    """An answer that is as long, and holds as much, as none should."""
    shares = {"A": 100} if random.random() < 0.5 else {"B": 97, "none": 3}
    words: dict[str, Any] = {
        "argument": random.choice([LONG, f"[1] {LONG}", "[1] So.\n" * 90, f"[read doc 1: {'q' * 400}]\nSo."]),
        "message": {"to": random.choice("AB"), "kind": "question", "text": LONG},
        "answer": LONG,
        "audit": LONG,
        "ballot": {"beliefs": shares, **dict.fromkeys(("position", "would_check", "new_point"), LONG)},
        "judgment": render_finding(random.choice(["A", "B", None]), **dict.fromkeys(FIELDS, LONG)),
        "opening": {"next_speakers": ["A", "B"] * 2, "briefing": LONG, "new_angle": LONG, "done": False},
        "closing": {"summary": LONG, "status": "CONTINUE", "decision": LONG},
        "observation": {
            "marks": [{"pattern": "rebuttal", "speaker": "A", "words": "\u03b1", "why": LONG}] * 60
        },
        "deliverable": {"result": LONG},
        "framing": {"kind": "open", "positions": [f"{n} {LONG}" for n in range(5)], "assumption": LONG},
    }
    found = words.get(name_task(call)) or default_script(call)
    return found if isinstance(found, str) else json.dumps(found)


def answer_extremely(random: Random) -> Script:
    share = random.choice([0.0, 0.1, 0.6])  # of answers that fail
    return lambda call: (fail if random.random() < share else speak)(random, call)


@pytest.mark.full
@search_briefly(10)
@given(st.sampled_from(sorted(SETUPS)), st.integers(0, 2**32))
def test_the_longest_answers_and_interventions_come_back(name: str, seed: int) -> None:
    random = Random(seed)  # noqa: S311  (no secret)
    at = simulate(label_positions(SETUPS[name]), answer_extremely(random))
    while len(at.events) < 150:
        at.play(lambda _: random.random() < 0.1)
        try:
            steered = dict(random.choice(INTERVENTIONS))
            at.intervene(steered.pop("action"), reason="r" * 1_000, **steered)
        except InvalidRequestError:
            pass
        if at.debate.paused:
            at.add_events(Resumed(reason="r" * 1_000))
        elif not at.step():
            break
    come_back(at)


def build_odd_setup(case: str) -> Opened:
    phases = [{"name": f"p{NEW_SIGNS}", "instruction": "Talk."}, "verdict"]
    match case:
        case "tags":
            return build_setup(options={"tags": [f"t{NEW_SIGNS}"]})
        case "model":
            return build_setup([f"m{NEW_SIGNS}"])
        case "phase":
            return build_setup(options={"phases": phases})
        case "query":
            text = "".join(f"Line {number} of a long report.\n" for number in range(4_000))
            setup = build_setup(documents=[{"title": f"R{NEW_SIGNS}", "text": text}])
            return add_windows(setup, [Window(model="scripted", tokens=8_000)])
        case _:
            return build_setup()


@pytest.mark.parametrize("case", ["tags", "model", "phase", "query", "answers", "actor"])
def test_signs_that_a_python_does_not_know_come_back(case: str) -> None:
    def script(call: Call) -> ScriptAnswer:
        said = {"argument": f"So.\n[read doc 1: Line 1234{NEW_SIGNS}]", "digest": {"summary": "Lines."}}
        reply = task_script(said)(call)
        assert isinstance(reply, str)
        name = f"model{NEW_SIGNS}" if case == "answers" else "scripted"
        return Reply(reply, Usage(model=name, reply_id=name, cost_usd="0"))

    at = simulate(label_positions(build_odd_setup(case)), script).play()
    if case == "tags":
        at.intervene("tag", text=f"other{NEW_SIGNS}")
    come_back(at, f"client X{NEW_SIGNS if case == 'actor' else ''}")


def test_a_pause_for_every_breakpoint_there_may_be_comes_back() -> None:
    budgets = [f"budget:0.1{number:08}" for number in range(19)]
    limits = {"max_calls": 100_000, "max_input_tokens": 10**12, "max_output_tokens": 10**12}
    phases = ["cross_examination", "voting"]
    options = {"pause_when": ["failure", *budgets], "limits": limits, "phases": phases, "quorum": 1}
    team = [{"name": letter * 40, "stance": letter} for letter in "abcdefghijklmnopqrstuvwxyz"]

    def script(call: Call) -> ScriptAnswer:
        tokens = 10**11 if call.attempt > 1 else 10
        to = "nobody" if call.seat[0] in "abc" else "A"
        said = task_script({"message": {"to": to, "kind": "question", "text": "Why?"}})(call)
        assert isinstance(said, str)
        return Reply(said, Usage(model="scripted", input_tokens=tokens, output_tokens=tokens, cost_usd="0"))

    at = simulate(label_positions(build_setup(debaters=team, options=options)), script).play()
    assert at.debate.paused
    assert len(at.debate.paused.breakpoints) == 20
    assert len(at.debate.paused.reason) <= MAX_REASON_LENGTH
    come_back(at)


def test_invisible_characters_of_a_result_and_its_schema_come_back_as_escapes() -> None:
    unseen = "\u2764\ufe0f \u202e\x9b\u2028\U000e0001"
    schema = {"type": "object", "properties": {"result": {"type": "string", "description": unseen}}}
    setup = build_setup(format="round_robin", options={"output_schema": schema})
    at = simulate(label_positions(setup), task_script({"deliverable": {"result": unseen}})).play()
    come_back(at)
    assert at.debate.deliverable
    assert json.loads(at.debate.deliverable.text) == {"result": unseen}
    assert remove_invisible(at.debate.deliverable.text) == at.debate.deliverable.text
