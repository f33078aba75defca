"""Of what is hidden clients learn no word and no figure.

Two debates differ in nothing but what a hidden seat says and holds: after each of their facts clients read the same.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from server.debate.ballots.waves import BLIND_BALLOT
from server.debate.commands.setup.open import add_meter
from server.debate.facts.answers import Usage
from server.debate.facts.events import Event
from server.debate.facts.setup.seats import WRITTEN
from server.debate.machine.interpret import interpret
from server.debate.machine.transitions import replay
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call, pending_calls
from server.debate.views.catalog import VIEWS, ViewSource
from server.debate.views.compare import build_comparison
from server.debate.views.state import status_reason
from server.engine.database.summaries import build_search_text
from server.web.record import build_debate
from storage.streams import Entry
from tests.support.hollow_debates import DOCUMENTS, NAMES
from tests.support.simulation import (
    DebateSimulation,
    ScriptAnswer,
    build_setup,
    simulate,
    task_script,
    use_labels,
)

pytestmark = pytest.mark.requirement("C17")

CALLER = {"models": ["m0/x", "caller", "m2/x"], "visibility": {}}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sure": ("converged", {"stop": "on"}),
    "measured": ("measured", {"stop": "on", "percent": 80, "meter": "embedder/x"}),
    "moved": ("concluded", {"format": "oxford", "visibility": {"hide_from_client": ["voter 1"]}}),
    "no ballot": ("failed", {"wrong": "ballot", "phases": ["opening", "voting"]}),
    "no message": ("failed", {"wrong": "message", "phases": ["cross_examination", "voting"]}),
    "paused": ("paused", {"wrong": "ballots", "phases": ["opening", "voting"], "pause_when": ["failure"]}),
    "no hand-off": ("handoff_failed", {"wrong": "argument", "format": "handoff"}),
    "caller": ("converged", {**CALLER, "stop": "on", "percent": 70}),
    "caller's rivals fail": ("failed", {**CALLER, "wrong": "ballot"}),
    "caller, and a verdict": ("concluded", {**CALLER, "baseline": True, "percent": 70}),
}
"""The fact that is looked at, and what is asked for, by case."""

WRONG: dict[str, Callable[[str, int], Any]] = {
    "ballot": lambda word, percent: {"position": word, "beliefs": {"A": percent - 30, "B": 7}},
    "message": lambda word, _: {"to": "A", "kind": word, "text": word},
    "argument": lambda word, _: f"I say so.\nTransition to {word}",
}


def play(word: str, share: int, wrong: str = "", **asked: Any) -> DebateSimulation:
    """A debate in which Ada, or voter 1, says `word`, and holds her position that likely in private."""
    hidden, tried = asked.get("visibility", {}).get("hide_from_client", ["Ada"])[0], set[tuple[str, str]]()

    def say(task: str, usual: Callable[[Call, str], Any]) -> Callable[[Call], Any]:
        def answer(call: Call) -> Any:
            is_hidden = call.seat == hidden
            if is_hidden and (wrong == f"{task}s" or (wrong == task and (call.key, task) not in tried)):
                tried.add((call.key, task))
                return WRONG[task](word, share)
            return usual(call, word if is_hidden else "horse")

        return answer

    def vote(call: Call, said: str) -> dict[str, Any]:
        first = "B" if call.seat.startswith("voter") and call.round == 1 else "A"
        belief = (97 if said == "horse" else share) - 10 * call.round * bool(meter)  # it moves
        beliefs = {first: belief, "none": 100 - belief}
        ballot = {"position": f"A {said}.", "beliefs": beliefs, "would_check": said}
        is_new = bool(meter) and call.slot_index != BLIND_BALLOT
        return {**ballot, "new_point": "Taxes."} if is_new else ballot

    asked.pop("percent", 0)
    meter, models = asked.pop("meter", ""), asked.pop("models", [f"m{n}/x" for n in range(3)])
    form = asked.pop("format", "verdict")
    options = {"ballots": "rounds", "visibility": {"hide_from_client": [hidden]}, **asked}
    team = [
        {"name": name, "stance": f"plan of {name}", "model": model}
        for name, model in zip(NAMES, models, strict=False)
    ]
    setup = build_setup(
        format=form,
        max_rounds=3,
        documents=DOCUMENTS,
        debaters=team[:2] if form == "oxford" else team,
        options=options,
    )
    answers = {
        "ballot": say("ballot", vote),
        "argument": say("argument", lambda call, said: f"[1] A {said} in round {call.round}."),
        "message": say(
            "message", lambda call, said: {"to": "B" if call.seat == "Ada" else "A", "text": said}
        ),
        "answer": say("answer", lambda _, said: said),
    }
    at = simulate(add_meter(setup, meter) if meter else setup, task_script(answers))
    while awaited := [call for call in pending_calls(at.play_on().debate) if call.model in WRITTEN]:
        submit(at, awaited[0], at.script(awaited[0]))
    return at


def submit(at: DebateSimulation, call: Call, text: ScriptAnswer) -> None:
    assert isinstance(text, str)
    reply = Reply(use_labels(at.debate, call, text), Usage(model=call.model, cost_usd="0"))
    at.add_events(interpret(at.debate, call, reply))


def read(events: list[Event]) -> str:
    """All that a client can read of a debate that has come so far."""
    at = DebateSimulation(replay(events), events=events)
    stored = at.stored()
    source = ViewSource(stored.id, stored.debate, stored.entries, is_whole=True)
    views = [view for name, view in VIEWS.items() if name not in ("family", "receipt")]
    entries = [Entry(e.seq, e.at, e.actor, e.event.model_dump(mode="json"), e.hash) for e in at.log]
    shown = [
        [view.build(source) for view in views],
        [view.render_text(source) for view in views],
        build_comparison(stored, stored),
        build_debate(source, entries),
        build_search_text(at.debate, events),
        status_reason(at.debate),
    ]
    return "\n".join(map(json.dumps, shown))


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_clients_read_the_same_whatever_a_hidden_seat_says_and_holds(case: str) -> None:
    kind, asked = CASES[case]
    is_callers = "models" in asked  # then what is hidden are private ballots, until the end
    words = ("zebra", "zebra") if is_callers else ("zebra", "tapir")
    one, other = (play(word, asked.get("percent", 92) + n, **asked) for n, word in enumerate(words))
    kinds = [event.kind for event in one.events]
    assert kinds == [event.kind for event in other.events]
    assert kind in kinds
    assert one.events != other.events

    whole = kinds.index("ended") if is_callers and "ended" in kinds else len(kinds)
    for version in range(2, whole + 1):
        if kinds[version - 1] not in ("spoke", "judged") or version == whole:
            assert read(one.events[:version]) == read(other.events[:version]), kinds[version - 1]


def test_private_ballots_of_a_debate_with_a_caller_are_kept_in_its_forks_too() -> None:
    parent = play("zebra", 70, **CASES["caller"][1])
    second = [index for index, event in enumerate(parent.events) if event.kind == "phase_entered"][1]
    waiting = DebateSimulation(replay(parent.events[: second + 1]), events=parent.events[: second + 1])
    at = waiting.fork(1, parent.script, models={"Bob": "m1/x"})

    assert "A zebra in round 1." in read(at.events)
    assert 'A zebra."' not in read(at.events).replace("\\", "")
    assert 'A zebra."' in read(at.play().events).replace("\\", "")
