"""Entries that were written elsewhere: facts to go on with, or the first of them that is none, named."""

from collections.abc import Callable
from typing import Any

import pytest

from server.debate.commands.restore import rebuild_debate
from server.debate.facts.errors import InvalidRequestError
from tests.support.event_strategies import SETUPS
from tests.support.simulation import build_setup, simulate

pytestmark = pytest.mark.requirement("D8")

Bodies = list[dict[str, Any]]


def bodies(**asked: Any) -> Bodies:
    return [event.model_dump(mode="json") for event in simulate(build_setup(**asked)).play().events]


@pytest.mark.parametrize("name", SETUPS)
def test_every_kind_of_debate_comes_back_as_it_was(name: str) -> None:
    played = simulate(SETUPS[name]).play()

    assert rebuild_debate([event.model_dump(mode="json") for event in played.events]) == played.debate


def refusal(change: Callable[[Bodies], object], **asked: Any) -> str:
    found = bodies(**asked)
    change(found)
    with pytest.raises(InvalidRequestError) as caught:
        rebuild_debate(found)
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda found: found.clear(), "There is no entry"),
        (lambda found: found.pop(0), "Entry 1 (phase_entered) cannot follow those before it"),
        (lambda found: found.pop(1), "Entry 2 (spoke) cannot follow those before it"),
        (lambda found: found.insert(3, found[2]), "Entry 4 (spoke) cannot follow"),
        (lambda found: found.insert(3, found[0]), "Entry 4 (opened) cannot follow those before it: it was"),
        (lambda found: found[2].update(seen=9), "its prompt shows what has not happened yet"),
        (lambda found: found[2].update(seen=0), "seen Input should be greater than or equal to 1"),
        (lambda found: found[2].update(kind="danced"), "Entry 3 (danced) is of a kind that is unknown here."),
        (lambda found: found[2].pop("kind"), "Entry 3 (None) is of a kind that is unknown here"),
        (lambda found: found[2].update(mood="glad"), "Entry 3 (spoke) cannot be read: mood Extra inputs are"),
        (lambda found: found[2].update(text=7), "Entry 3 (spoke) cannot be read: text "),
        (lambda found: found[0].update(forked_at_round=9), "forked after rounds that are not there"),
    ],
)
def test_what_is_no_debate_is_refused_at_its_entry(change: Callable[[Bodies], object], told: str) -> None:
    assert told in refusal(change)


@pytest.mark.parametrize(
    "change",
    [
        lambda opened: opened.update(debaters=opened["debaters"][:1]),
        lambda opened: opened["debaters"][0].update(name="judge 1"),
        lambda opened: opened.update(output_schema="{"),
        lambda opened: opened.update(output_schema="[" * 100_000),
        lambda opened: opened.update(output_schema='{"pattern": "(?=a)"}'),
        lambda opened: opened.update(phases=[]),
        lambda opened: opened["phases"].append(opened["phases"][0]),
        lambda opened: opened["phases"].reverse(),
        lambda opened: opened["judges"].update(models=[]),
        lambda opened: opened.update(synthesizer={"model": "x"}),
        lambda opened: opened["phases"][0].update(order="moderated"),
        lambda opened: opened.update(counting="lottery"),
        lambda opened: opened.update(counting="judges"),
        lambda opened: opened.update(counting="swing"),
    ],
)
def test_a_set_up_that_nobody_could_have_opened_is_refused(
    change: Callable[[dict[str, Any]], object],
) -> None:
    assert "Entry 1 (opened) opens no debate" in refusal(lambda found: change(found[0]))
