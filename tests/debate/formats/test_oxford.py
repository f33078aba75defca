"""Oxford style: a vote, a talk, a vote; the position that gained most wins."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.events import Concluded
from server.debate.facts.setup.phases import Phase
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from server.debate.rules.verdict import build_verdict_events
from server.debate.views import markdown
from server.debate.views.progress import build_progress, describe_work
from server.debate.views.verdict import build_report
from tests.support import simulation
from tests.support.searches import search_briefly
from tests.support.simulation import build_ballot

pytestmark = pytest.mark.requirement("D1")


def hold(*ballots: str, **interventions: InterventionRequest) -> simulation.DebateSimulation:
    """Each voter's ballots, first and last: A, B, C, "-" abstains, "?" is unreadable."""
    opened = simulation.build_setup(
        format="oxford", debaters=simulation.build_debaters(3), options={"judges": {"count": len(ballots)}}
    )

    def vote(call: Any) -> Any:
        choice = ballots[int(call.seat.removeprefix("voter ")) - 1][call.round > 1]
        return "?" if choice == "?" else build_ballot(None if choice == "-" else choice, "So.")

    at = simulation.simulate(opened, simulation.task_script({"ballot": vote})).play_through_round(1)
    for action, request in interventions.items():
        at.add_events(*build_intervention(at.debate, action, request).events)
    return at.play()


def found(*ballots: str, **interventions: InterventionRequest) -> tuple[str, str]:
    verdict = hold(*ballots, **interventions).debate.verdict
    assert verdict
    return verdict.outcome, verdict.winner.removeprefix("Speaker ")


@pytest.mark.parametrize(
    ("ballots", "expected"),
    [
        (("AB", "AB", "AB"), ("leaning", "2")),
        (("AB", "AA", "AA"), ("leaning", "2")),  # the most moved for it, though it has fewer votes
        (("AB", "AB", "BC"), ("undecided", "")),  # two to B, one away from it: a tie with C
        (("AB", "CB", "CB", "BA"), ("leaning", "2")),
        (("AA", "BB", "CC"), ("undecided", "")),
        (("AB", "BA", "CC"), ("undecided", "")),
        (("AB", "CC", "BC"), ("leaning", "3")),
        (("-B", "-B", "AA"), ("undecided", "")),
        (("A-", "A-", "BB"), ("undecided", "")),
        (("?B", "A?", "AC"), ("leaning", "3")),
        (("--", "??", "-A"), ("undecided", "")),
    ],
)
def test_the_position_that_gained_most_wins(ballots: tuple[str, ...], expected: tuple[str, str]) -> None:
    assert found(*ballots) == expected


@pytest.mark.requirement("D4")
def test_weights_and_a_threshold_count_for_the_movement() -> None:
    heavy = InterventionRequest(weights={"voter 1": 3})
    assert found("AB", "BA", "BA") == ("leaning", "1")
    assert found("AB", "BA", "BA", weights=heavy) == ("leaning", "2")
    assert found("AB", "BA", "BA", threshold=InterventionRequest(threshold="2/3")) == ("leaning", "1")
    assert found("AB", "BA", "BA", threshold=InterventionRequest(threshold="3/4")) == ("contested", "")


def test_the_verdict_says_how_the_audience_voted_before_and_after() -> None:
    at = hold("AB", "AA", "-B")
    text = markdown.render_verdict(at.debate)
    assert (
        "The audience moved to 'stance 2'. Votes: 'stance 1': 2 before, 1 after; 'stance 2': 0 before, 1 after."
        in text
    )
    assert text.count("moved to 'stance 2'") == 1
    assert "abstains: it chose no position in the first vote" in text


@pytest.mark.parametrize(
    ("ballots", "said"),
    [
        (("AA", "BB"), "No position gained votes. Votes: "),
        (("AB", "BA"), "No position gained votes. Votes: "),
        (("AB", "AB", "BC"), "Several positions gained alike. Votes: "),
    ],
)
def test_an_open_vote_says_what_was_gained_and_what_voters_say(ballots: tuple[str, ...], said: str) -> None:
    report = build_report(hold(*ballots).debate)
    assert report.answer.problem.startswith(said)
    voters = {f"voter {number}" for number in range(1, len(ballots) + 1)}
    assert {one.seat for one in report.answer.findings} == voters


def test_an_audience_that_nobody_moved_is_told_with_its_position_and_its_words() -> None:
    debate = hold("AA", "AA", "AA").debate
    report, text = build_report(debate), markdown.render_verdict(debate)
    assert (report.outcome, report.winner, report.answer.side) == ("undecided", "", "Speaker 1")
    said = 'The audience held "stance 1" before and after (3 of 3): the talk moved nobody.'
    assert f"**Open (3 of 3 voters)**: {said} " in text
    assert '**Because**: "So."' in text
    assert "**How sure**: 3 of 3 voters for Speaker 1's position, " in text
    assert said in report.headline
    assert "judge 1" not in text


def test_voters_of_an_audience_are_called_so_while_they_are_awaited() -> None:
    at = simulation.simulate(simulation.build_setup(format="oxford")).play_to_round(1)
    assert describe_work(build_progress(at.debate)).startswith("audience vote: waiting for voter 1 (")
    assert "3 voters (scripted)" in build_report(at.debate).effort


def test_a_single_vote_is_no_movement() -> None:
    phases = (
        Phase(name="opening", participants="debaters", order="together"),
        Phase(name="audience_vote", participants="judges", order="together", wants="ballot"),
    )
    opened = simulation.build_setup(format="oxford").model_copy(update={"phases": phases})
    at = simulation.simulate(opened).play()
    assert at.debate.verdict
    assert (at.status, at.debate.verdict.outcome) == ("concluded", "undecided")


@given(ballots=st.lists(st.text("ABC-", min_size=2, max_size=2), min_size=1, max_size=5))
@search_briefly(10)
def test_who_did_not_change_between_two_positions_moves_nothing(ballots: list[str]) -> None:
    """The winner is the same without the voters who stayed or abstained."""
    movers = [pair for pair in ballots if "-" not in pair and pair[0] != pair[1]]
    verdict = hold(*ballots).debate.verdict
    assert verdict
    assert verdict.winner == (found_winner(movers) if movers else "")


def found_winner(ballots: list[str]) -> str:
    (verdict,) = build_verdict_events(hold(*ballots).debate)
    assert isinstance(verdict, Concluded)
    return verdict.winner
