"""Debates with mirrors: one that agrees, and one that is gone on without."""

from server.debate.facts.escalation import MirrorOpened
from server.debate.facts.events import Event
from tests.support.golden_plays.setups import build_setup
from tests.support.simulation import MIRROR_ID, render_finding, simulate, task_script


def play_mirrored() -> list[Event]:
    """A debate between different models that nobody judges otherwise, and whose mirror agrees."""
    options = {"mirror": "if_decided", "judges": {"models": ["vendor/j", "vendor/k", "vendor/r"]}}
    found = {"judge 1": "A", "judge 2": "A", "judge 3": None}
    script = task_script({"judgment": lambda call: render_finding(found[call.seat])})
    at = simulate(build_setup(["openai/gpt-5", "anthropic/claude-4"], options=options), script).play()
    at.play_mirror(task_script({"judgment": lambda _: render_finding("B")}))
    return at.play().events


def play_without_mirror() -> list[Event]:
    """A debate that somebody concludes while its mirror is held."""
    script = task_script({"judgment": lambda _: render_finding("A")})
    at = simulate(build_setup(format="verdict", max_rounds=1, options={"mirror": True}), script).play()
    at.add_events(MirrorOpened(round=at.debate.round, debate_id=MIRROR_ID, because="request"))
    at.intervene("conclude")
    return at.play().events
