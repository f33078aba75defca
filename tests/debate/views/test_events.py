"""Events as rows: what hooks and clients are told of one."""

import pytest

from server.debate.machine.kinds import KINDS
from server.debate.views.events import EVENT_NAMES, PHASE_END, build_event_row, event_names
from tests.support.simulation import build_setup, simulate

pytestmark = pytest.mark.requirement("D26")


def test_an_end_of_a_phase_tells_which_phase_ended_and_nothing_of_the_event_that_ends_it() -> None:
    at = simulate(build_setup(max_rounds=2)).play()
    ends = [entry for entry in at.log if PHASE_END in event_names(at.debate, entry.event)]
    rows = [build_event_row(at.debate, entry, name=PHASE_END) for entry in ends]

    stored = {"seq", "at", "actor", "hash"}
    assert [{key: row[key] for key in row.keys() - stored} for row in rows] == [
        {"names": ["phase_end"], "kind": kind, "phase": phase, "round": number}
        for kind, phase, number in (
            ("phase_entered", "opening", 1),
            ("phase_entered", "rebuttal", 2),
            ("ended", "verdict", 3),
        )
    ]


@pytest.mark.requirement("D21")
def test_every_kind_of_event_has_a_public_name() -> None:
    assert EVENT_NAMES.keys() == KINDS.keys()
