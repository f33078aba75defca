"""Plain debates and their positions: a second opinion, a verdict, and questions that are framed or not."""

from server.debate.facts.events import Event
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.positions import DeclinePositions, RevisePositions
from server.debate.rules.calls import Call
from tests.support.golden_plays.setups import TEAM, build_setup, intervene
from tests.support.simulation import ProviderFailure, ScriptAnswer, render_finding, simulate, task_script


def answer_opinion(call: Call) -> ScriptAnswer:
    """Replies of every kind: good, empty, too late, unreadable."""
    key = (call.seat, call.round, call.attempt)
    if key == ("Ada", 1, 1):
        return " "
    if key == ("Çelik", 3, 1):
        return ProviderFailure("timeout")
    if call.seat == "judge 2":
        return render_finding(
            "Z" if call.attempt == 1 and call.reading == 1 else "A" if call.reading == 1 else None
        )
    if call.reading:
        return render_finding("Bob", call.reading, reasoning='Żółć: "so"\n\ttabs, 🧪 and \\ too.')
    return f"{call.seat} in round {call.round}.\n\n# Not a heading\n1.5 · 2 = 3, \u202eand so on."


def answer_verdict(call: Call) -> ScriptAnswer:
    if call.task == "comparison":
        return '{"groups": [["R2"], ["R1"]]}'
    if call.reading:
        return f"```json\n{render_finding(None, recommendation=f'Lease it, {call.reading}.')}\n```"
    return ProviderFailure("timeout") if (call.seat, call.round) == ("Opponent", 1) else "Because."


def play_opinion() -> list[Event]:
    at = simulate(
        build_setup(["vendor/a", "vendor/b"], max_rounds=3, run=True, **TEAM), answer_opinion
    ).play_through_round(1)
    intervene(at, "inject", text="Mind the costs.", reason="they forget")
    intervene(at, "inject", text="Name a price.", to="Ada")
    intervene(at, "pause", reason="lunch")
    intervene(at, "resume").play()
    intervene(at, "outcome", to="none", reason="Nobody knows yet.")
    intervene(at, "outcome", to="Ada", reason="Żółć: it was bought.")
    intervene(at, "tag", text="bought, Żółć")
    return intervene(at, "untag", text="bought").events


def play_verdict() -> list[Event]:
    """A provider fails and the debate pauses; it is resumed, and concluded after the round."""
    at = simulate(build_setup(format="verdict", max_rounds=4), answer_verdict).play()
    intervene(at, "resume", reason="the provider is back")
    at.script = lambda call: answer_verdict(call) if call.task in ("judgment", "comparison") else "Because."
    return intervene(at.play_through_round(1), "conclude", reason="enough").play().events


def play_positions() -> list[Event]:
    """Positions are named, and put into other words, before anybody speaks."""
    said = {
        "kind": "open",
        "positions": ["Buy it", "Żółć: lease it", "日本語で待つ"],
        "assumption": "A year.",
    }
    at = simulate(
        build_setup(
            ["vendor/a", "vendor/b"], question="Which one?", max_rounds=1, run=True, options={"framing": True}
        ),
        task_script({"framing": said}),
    ).play(lambda debate: debate.framed is not None)
    at.add_events(
        *RevisePositions()
        .take(at.debate, InterventionRequest(stances={"Debater 1": "Buy it in spring"}))
        .events
    )
    at.add_events(
        *DeclinePositions().take(at.debate, InterventionRequest()).events
    )  # and then stepped all the same
    return at.play().events
