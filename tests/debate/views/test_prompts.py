"""Whoever doubts a verdict can read what its judges read: the exact prompts, made again from the record."""

from typing import Any

import pytest

from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.advice import MINE, Advised
from server.debate.facts.errors import InvalidRequestError
from server.debate.machine.transitions import replay
from server.debate.views.catalog import VIEWS, ViewSource
from tests.support.golden_plays.advice import play_advice
from tests.support.simulation import DebateSimulation, build_setup, default_script, simulate

pytestmark = pytest.mark.requirement("C21")


def view(at: DebateSimulation, **part: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = VIEWS["prompts"].build(ViewSource("d-1", at.debate, at.log, **part))["calls"]
    return rows


@pytest.mark.parametrize("name", FORMATS)
def test_the_prompts_of_every_format_are_those_that_were_sent(name: str) -> None:
    at = simulate(
        build_setup(["one/a", "two/b"], format=name),
        lambda call: "?" if call.attempt == 1 and call.round == 1 else default_script(call),
    ).play_on()
    shown = {(row["seat"], row["round"], row["task"], row["reading"], *texts(row)) for row in view(at)}
    sent = {
        (call.seat, call.round, call.task, call.reading, *(message.content for message in prompt.messages))
        for call, prompt in at.calls_made
    }
    assert sent == shown
    assert len(view(at)) == len(at.calls_made)


def texts(row: dict[str, Any]) -> list[str]:
    return [message["content"] for message in row["messages"]]


def test_one_seat_and_round_can_be_asked_for_and_labels_are_explained() -> None:
    at = simulate(build_setup(max_rounds=2)).play()
    (row,) = view(at, seat=" opponent ", round=2)
    assert (row["seat"], row["round"], row["labels"]) == (
        "Opponent",
        2,
        {"A1": "Proponent", "B1": "Opponent"},
    )
    first, second = view(at, seat="judge 1")
    assert (first["labels"], second["labels"]) == (
        {"A1": "Proponent", "B1": "Opponent"},
        {"A1": "Opponent", "B1": "Proponent"},
    )
    text = VIEWS["prompts"].render_text(ViewSource("d-1", at.debate, at.log, seat="Opponent", round=2))
    assert "Labels: A1 is Proponent; B1 is Opponent." in text
    assert all(part in text for part in texts(row))
    with pytest.raises(InvalidRequestError, match="Nobody is called 'Zoe'"):
        view(at, seat="Zoe")


def test_each_advisor_has_labels_of_its_own_and_the_view_says_for_whom() -> None:
    events = play_advice()
    at = DebateSimulation(replay(events), events=events)
    rows = [row for row in view(at) if row["task"] in ("review", "exchange")]
    assert {row["task"] for row in rows} == {"review", "exchange"}
    assert len({tuple(row["labels"].items()) for row in rows}) > 2
    advice = [answer for answer in at.debate.advice if isinstance(answer, Advised)]
    answers = {answer.seat: answer.recommendation for answer in advice} | {MINE: "keep it."}
    for row in rows:
        for label, seat in row["labels"].items():
            block = texts(row)[1].partition(f"[{label}]\n")[2].partition("\n[")[0]
            assert row["task"] == "exchange" or answers[seat] in block
    assert not any(row["labels"] for row in view(at, round=1))


@pytest.mark.requirement("C17")
def test_what_readers_may_not_see_is_in_no_prompt_that_they_can_ask_for() -> None:
    hidden = simulate(build_setup(options={"visibility": {"hide_from_client": ["judges"]}})).play()
    assert view(hidden) == []
    assert "hides from its readers" in VIEWS["prompts"].render_text(
        ViewSource("d-1", hidden.debate, hidden.log)
    )
    waiting = simulate(build_setup(["caller"])).play()
    assert view(waiting) == []


def test_a_fork_shows_the_prompts_of_its_own_calls() -> None:
    child = simulate(build_setup(max_rounds=2)).play().fork(1).play()
    assert {row["round"] for row in view(child)} == {2, 3}
