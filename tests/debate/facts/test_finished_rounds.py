"""What is found in finished rounds belongs to the rounds that there are."""

import pytest

from server.debate.state.debate import Debate
from server.debate.state.memo import by_round
from tests.support.simulation import build_setup, simulate

pytestmark = pytest.mark.requirement("N11")

Texts = dict[tuple[str, int], str]


def read_round(debate: Debate, round_number: int) -> Texts:
    return {(turn.seat, turn.round): turn.text for turn in debate.round_turns(round_number)}


list_texts = by_round(read_round)


def test_each_version_finds_what_its_rounds_hold() -> None:
    at = simulate(build_setup(format="verdict", max_rounds=5))
    assert list_texts(at.debate) == {}
    while at.step():
        rounds = range(1, at.debate.round + 1)
        held = {key: text for number in rounds for key, text in read_round(at.debate, number).items()}
        assert list_texts(at.debate) == held
    assert len(list_texts(at.debate)) == 10
