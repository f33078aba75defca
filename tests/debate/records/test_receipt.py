"""What a receipt states of a debate: the answers that its result rests on, and no others."""

from typing import Any

import pytest

from server.debate.records.receipt import build_statement
from tests.support.simulation import build_setup, simulate

pytestmark = pytest.mark.requirement("N26")


@pytest.mark.parametrize(
    ("asked", "deciding"),
    [
        ({"format": "settle", "max_rounds": 3}, [("moderator", 3)]),
        ({"max_rounds": 1}, [("judge 1", 2), ("judge 1", 2)]),
        ({"options": {"phases": ["opening", "voting"]}}, [("Proponent", 2), ("Opponent", 2)]),
        (
            {"options": {"phases": ["opening", "verdict", "deliverable"]}},
            [("judge 1", 2), ("judge 1", 2), ("synthesizer", 3)],
        ),
    ],
)
def test_the_answers_that_decide_are_named_by_their_entries(
    asked: dict[str, Any], deciding: list[tuple[str, int]]
) -> None:
    at = simulate(build_setup(**asked)).play()
    told = build_statement("k3x9w2m4p7qr", at.log, version="1", public_key="key")["predicate"]
    events: list[Any] = [entry.event for entry in at.log]
    answers = [(answer["seat"], events[answer["seq"] - 1].round) for answer in told["answers"]]
    assert answers == deciding
    assert {answer["model"] for answer in told["answers"]} == {"scripted"}
    assert {*told.get("confidence", {})} <= {"value", "n"}  # a sentence could not be worded anew
    assert told["signer"] == {"algorithm": "ed25519", "public_key": "key"}
    assert told.get("count", {"asked": 0})["asked"] == len(
        {seat for seat, _ in deciding} - {"moderator", "synthesizer"}
    )
    assert (told["entries"], told["ended_seq"], told["ending"]) == (len(at.log), len(at.log), "concluded")
