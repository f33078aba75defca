"""A debate in the answer format: divided, argued over, reported, checked, and written again; one reply is no use."""

import json

from server.debate.commands.submit import build_submission
from server.debate.facts.events import Event
from server.debate.rules.calls import Call
from tests.support.advisors import begin_advice, build_script, open_advice
from tests.support.panels import APART
from tests.support.simulation import ScriptAnswer


def play_advice() -> list[Event]:
    documents = [{"title": "Żółć", "text": "Line one\nThe queue is idle on most days.\u2028🧪"}]
    setup = open_advice(
        ["vendor/a", "vendor/b", "caller"],
        effort="assured",
        documents=documents,
        options={"my_answer": "日本語: keep it.", "tags": ["golden"]},
    )
    at = begin_advice(setup)
    usual = build_script(
        lambda: at.debate, "ABA", [*APART, ("A", 80)], [((), "", 70), ([0], "Advice", 80), ([0], "", 80)]
    )

    def answer(call: Call) -> ScriptAnswer:
        if call.task == "report" and call.attempt == 1 and not call.slot_index:
            return "I would rather not."
        if call.task == "check":
            fault = {"words": "the report", "right": "Not on Monday.", "matters": True}
            return json.dumps({"faults": [fault], "agrees": False})
        return usual(call)

    at.script = answer
    at.play()
    while not at.debate.ended:
        call = at.due_calls()[0]
        at.add_events(build_submission(at.debate, call.seat, str(answer(call)))).play()
    return at.events
