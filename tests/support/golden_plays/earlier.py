"""A debate that recalls an earlier one, which is deleted meanwhile, and another one after its end."""

from server.debate.facts.earlier import EarlierWithdrawn, Recalled
from server.debate.facts.events import Event
from tests.support.golden_plays.setups import PARENT_ID, build_setup
from tests.support.simulation import simulate

RECALLED = Recalled(
    debate_id=PARENT_ID,
    head="ab" * 32,
    at="2026-11-30T09:00:00.000Z",
    question="Who pays?",
    outcome="decided",
    position="日本語で待つ",
    finding="Żółć: costs were never answered.",
    dissent="judge 2: They were.",
    settled="Turned out right: buy it (Bob).",
)


def play_recalled() -> list[Event]:
    setup = build_setup(max_rounds=1, options={"memory": 2})
    assert setup.memory
    other = RECALLED.model_copy(update={"debate_id": PARENT_ID[::-1]})
    memory = setup.memory.model_copy(update={"recalled": (RECALLED, other)})
    at = simulate(setup.model_copy(update={"memory": memory}))
    at.add_events(EarlierWithdrawn(debate_id=PARENT_ID, cause="deleted")).play()
    return at.add_events(EarlierWithdrawn(debate_id=other.debate_id, cause="retracted")).events
