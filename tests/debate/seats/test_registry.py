"""Every seat that reads rounds is whole: whoever forgets a part of one is told here, or by mypy."""

from typing import Any

import pytest

from server.debate.facts.answers import Reading, Remark
from server.debate.machine.kinds import KINDS
from server.debate.records.bounds import TEXT_LENGTHS
from server.debate.seats.registry import SEATS, SeatFindings
from server.debate.seats.seat import Seat
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import build_round, list_tasks
from tests.support.records import build_bodies, list_parts, verify_bodies
from tests.support.seats import ALL_SEATS, read_everything
from tests.support.simulation import DebateSimulation, build_setup, label_positions, simulate

pytestmark = pytest.mark.requirement("M7")
each_seat = pytest.mark.parametrize("seat", SEATS, ids=lambda seat: seat.name)


def play(**options: Any) -> DebateSimulation:
    setup = label_positions(build_setup(format="verdict", options=ALL_SEATS | options))
    return simulate(setup, read_everything(setup)).play()


@each_seat
def test_the_words_of_a_seat_are_known_with_their_lengths(seat: Seat[Any]) -> None:
    """Those that are not are shown to people with labels in them, and a record could hold any."""
    unknown = [
        f"{part.__name__}.{name}"
        for part in list_parts(seat.fact)
        for name, field in part.model_fields.items()
        if part.__module__ == seat.fact.__module__
        and field.annotation is str
        and not field.metadata
        and name not in Reading.model_fields
        if name not in TEXT_LENGTHS.get(part, {})
    ]
    assert unknown == []


@each_seat
def test_what_it_reads_is_recorded_verified_and_shown(seat: Seat[Any]) -> None:
    at = play()
    assert seat.fact in KINDS.values()
    (first, *_) = at.debate.find_readings(seat.fact)
    assert (first.seat, first.round) == (seat.name, 1)
    assert seat.describe(at.debate, at.debate, first)
    assert verify_bodies(build_bodies(at.events)) == at.debate
    assert f"### {seat.title}\n" in render_transcript(at.debate, at.log)
    sections = {name for each in SEATS for name in each.sections}
    assert seat.build_verdict_fields(at.debate).keys() == {*seat.sections}
    assert sections == {*SeatFindings.model_fields}
    done = [(row["seat"], row["task"], row["state"]) for row in list_tasks(at.debate)]
    assert (seat.name, seat.task, "done") in done


@each_seat
@pytest.mark.needs("server.hooks")
def test_hooks_may_ask_for_what_it_names(seat: Seat[Any]) -> None:
    from server.hooks.matching import own_fields  # noqa: PLC0415  (an optional package)

    kind = seat.fact.model_fields["kind"].default
    assert {"seat", "round", *seat.hook_fields} <= {*own_fields(kind)}


@each_seat
def test_what_it_reads_is_hidden_with_it_and_data_with_the_debaters_whose_words_it_is_about(
    seat: Seat[Any],
) -> None:
    debaters = [] if issubclass(seat.fact, Remark) else [["debaters"]]
    for whom in ([seat.name], *debaters):
        check_hidden(seat, whom)


def check_hidden(seat: Seat[Any], whom: list[str]) -> None:
    shown, at = play().debate, play(visibility={"hide_from_client": whom})
    own = seat.build_round_fields(shown, shown, 1)
    assert all(not build_round(at.debate, 1)[field] for field in own)
    assert f"### {seat.title}\n" not in render_transcript(at.debate, at.log)
