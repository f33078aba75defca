"""What is found in finished rounds is found once, and belongs to the rounds that there are."""

import pytest

from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.memo import by_round
from tests.support.simulation import DebateSimulation, Script, build_setup, default_script, simulate

pytestmark = pytest.mark.requirement("N11")

Texts = dict[tuple[str, int], str]
ROUNDS = 5

asked: list[tuple[int, int]] = []  # the round that was held, and the one that was read


@by_round
def list_texts(debate: Debate, round_number: int) -> Texts:
    asked.append((debate.round, round_number))
    return read_round(debate, round_number)


def read_round(debate: Debate, round_number: int) -> Texts:
    return {(turn.seat, turn.round): turn.text for turn in debate.round_turns(round_number)}


def read_all(debate: Debate) -> Texts:
    rounds = range(1, debate.round + 1)
    return {key: text for number in rounds for key, text in read_round(debate, number).items()}


def say(text: str) -> Script:
    """Debaters say this, with the number of the round."""

    def script(call: Call) -> str:
        return f"{text} {call.round}" if call.task == "argument" else str(default_script(call))

    return script


def new() -> DebateSimulation:
    return simulate(build_setup(format="verdict", max_rounds=ROUNDS), say("Because"))


def test_each_version_finds_what_its_rounds_hold() -> None:
    at = new()
    assert list_texts(at.debate) == {}
    while at.step():
        assert list_texts(at.debate) == read_all(at.debate)
    assert len(read_all(at.debate)) == 2 * ROUNDS
