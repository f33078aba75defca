"""Rounds that are over are rendered once for all prompts that quote them."""

from collections.abc import Sequence
from itertools import accumulate

import pytest

from server.debate.facts.events import Event, Spoke
from server.debate.facts.interventions import TurnRetracted
from server.debate.machine.kinds import load
from server.debate.machine.render import render
from server.debate.machine.transitions import apply, replay
from server.debate.prompts.prompt import Prompt
from server.debate.state.debate import Debate
from tests.support.simulation import acceptable_calls
from tests.test_golden import golden

pytestmark = pytest.mark.requirement("N11")

STREAMS = [[load(entry["body"]) for entry in kept] for _, _, kept in golden()]


def versions(events: Sequence[Event]) -> list[Debate]:
    """The debate after each event; all of them share what was rendered for one of them."""
    return list(accumulate(events[1:], apply, initial=apply(None, events[0])))


def prompts(debate: Debate) -> list[Prompt]:
    return [render(debate, call) for call in acceptable_calls(debate) if call.task != "measurement"]


@pytest.mark.parametrize("events", STREAMS, ids=[f"{name}-{stream}" for name, stream, _ in golden()])
def test_prompts_are_the_same_whatever_was_rendered_before(events: list[Event]) -> None:
    debates = versions(events)[::3]
    expected = [prompts(replay(events[: debate.version])) for debate in debates]
    assert list(map(prompts, debates)) == expected
    assert list(map(prompts, reversed(debates))) == expected[::-1]


def test_a_debate_that_went_another_way_is_quoted_as_it_went() -> None:
    events = next(events for events in STREAMS if len(replay(events).round_starts) > 2)
    first = next(number for number, event in enumerate(events) if isinstance(event, Spoke))
    start, spoken = replay(events[:first]), events[first].model_copy(update={"text": "It went another way."})
    quoted = []
    for turn in (events[first], spoken):  # two writers at once: one of them is refused by the journal
        reached = list(accumulate([turn, *events[first + 1 :]], apply, initial=start))
        quoted.append([prompt.messages[-1].content for debate in reached for prompt in prompts(debate)])
    assert "It went another way." not in "".join(quoted[0])
    assert all("It went another way." in content for content in quoted[1][len(quoted[1]) // 2 :])


def test_a_turn_that_is_retracted_after_its_round_is_no_longer_quoted() -> None:
    events = next(events for events in STREAMS if replay(events).setup.format == "verdict")
    for debate in versions(events):
        quoted = prompts(debate)
        if quoted and debate.round > 1:
            break
    turn = debate.turns[0]
    retracted = TurnRetracted(
        seat=turn.seat, turn_round=turn.round, slot_index=turn.slot_index, round=debate.round
    )
    assert ": retracted]" not in quoted[0].messages[-1].content
    assert ": retracted]" in prompts(apply(debate, retracted))[0].messages[-1].content
