import pytest

from server.debate.facts.events import Concluded, Vote
from server.debate.replies.extract import Reply
from server.debate.rules.decide import Call
from server.debate.views.warnings import find_verdict_warnings
from tests.support.simulation import (
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    build_usage,
    default_script,
    judge_script,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("C8")

ELSEWHERE = "found for another side when the order changed"


def judged(*panel: tuple[ScriptAnswer, ScriptAnswer]) -> Concluded:
    """The verdict on three debaters, given what each judge says in the two readings."""
    answers = {
        (f"judge {number}", reading): answer
        for number, readings in enumerate(panel, start=1)
        for reading, answer in enumerate(readings, start=1)
    }
    opened = build_setup(debaters=build_debaters(3), options={"judges": {"count": len(panel)}})
    at = simulate(opened, judge_script(answers)).play()
    assert at.debate.verdict
    return at.debate.verdict


def twice(winner: str | None, margin: int = 2) -> tuple[ScriptAnswer, ScriptAnswer]:
    return render_finding(winner, margin), render_finding(winner, margin)


@pytest.mark.parametrize(
    ("panel", "outcome", "winner"),
    [
        pytest.param([twice("A")], "decided", "Speaker 1", id="one judge, clearly"),
        pytest.param([twice("A", 3)] * 3, "decided", "Speaker 1", id="all, clearly"),
        pytest.param([twice("A", 1)], "leaning", "Speaker 1", id="one judge, narrowly"),
        pytest.param([twice("A"), twice("A", 1)], "leaning", "Speaker 1", id="all, one narrowly"),
        pytest.param([twice("B")] * 2 + [twice("A")], "leaning", "Speaker 2", id="two of three"),
        pytest.param(
            [twice("B")] * 2 + [twice(None)], "leaning", "Speaker 2", id="two of three, one for none"
        ),
        pytest.param(
            [twice("C", 0), twice("C", 1), twice("A", 3)],
            "leaning",
            "Speaker 3",
            id="a majority with a margin somewhere",
        ),
        pytest.param([twice("A", 0)], "contested", "", id="one judge, without a margin"),
        pytest.param([twice("A", 0)] * 3, "contested", "", id="all, without a margin"),
        pytest.param([twice("A", 3), twice("B", 3)], "contested", "", id="a tie"),
        pytest.param([twice("A"), twice("B"), twice("C")], "contested", "", id="three ways"),
        pytest.param([twice("A", 3), twice(None)], "contested", "", id="half for a side, half for none"),
        pytest.param([twice("A")] * 2 + [twice("B")] * 2, "contested", "", id="two against two"),
        pytest.param([twice(None)] * 2, "undecided", "", id="none for a side"),
        pytest.param([(render_finding("A"), render_finding("B"))], "undecided", "", id="nobody left"),
    ],
)
def test_the_outcome_follows_from_the_votes(
    panel: list[tuple[ScriptAnswer, ScriptAnswer]], outcome: str, winner: str
) -> None:
    found = judged(*panel)
    assert (found.outcome, found.winner) == (outcome, winner)


class TestVotes:
    def test_a_judge_whose_two_readings_differ_abstains(self) -> None:
        assert judged((render_finding("A", 3), render_finding("B", 3))).votes == (
            Vote(judge="judge 1", winner="", margin=0, abstains=ELSEWHERE),
        )

    def test_a_judge_who_finds_for_nobody_in_one_order_only_abstains(self) -> None:
        assert judged((render_finding("A"), render_finding(None))).votes[0].abstains == ELSEWHERE

    def test_the_smaller_margin_of_two_readings_counts(self) -> None:
        assert judged((render_finding("A", 3), render_finding("A", 1))).votes[0].margin == 1

    def test_a_finding_for_nobody_is_a_vote_without_a_margin(self) -> None:
        assert judged(twice(None, 3)).votes == (Vote(judge="judge 1", winner="", margin=0),)

    def test_a_judge_who_answers_in_one_order_only_abstains(self) -> None:
        lost = ProviderFailure("timeout")
        for readings in ((render_finding("A"), lost), (lost, render_finding("A"))):
            found = judged(readings, twice("A"))
            assert found.votes[0].abstains == "answered in one of the two orders only"

    def test_a_judge_who_is_asked_once_needs_to_answer_once(self) -> None:
        at = simulate(build_setup(format="verdict")).play()
        assert at.debate.verdict
        assert at.debate.verdict.votes == (Vote(judge="judge 1", winner="Proponent", margin=2),)

    def test_a_judge_who_gives_no_usable_answer_abstains(self) -> None:
        found = judged(twice("A"), ("A, I think", "B, I think"))
        assert found.votes[1].abstains == "gave no usable answer"
        assert (found.outcome, found.winner) == ("decided", "Speaker 1")

    def test_a_judge_who_abstains_takes_no_side_and_hinders_no_decision(self) -> None:
        found = judged(twice("A"), (render_finding("B"), render_finding("C")))
        assert (found.outcome, found.winner) == ("decided", "Speaker 1")

    def test_a_model_too_small_to_judge_never_decides(self) -> None:
        def tiny(call: Call) -> ScriptAnswer:
            return (
                Reply(render_finding("A", 3), build_usage("local"), informative=False)
                if call.reading
                else default_script(call)
            )

        at = simulate(script=tiny).play()
        assert at.debate.verdict
        assert at.debate.verdict.outcome == "undecided"
        assert at.debate.verdict.votes[0].abstains == "is too small a model to judge"
        assert any("embedded model judged" in caution for caution in find_verdict_warnings(at.debate))


class TestWords:
    def test_the_verdict_is_told_by_the_first_judge_who_voted_as_the_panel_did(self) -> None:
        found = judged(
            (render_finding("A", verdict="A, first."), render_finding("A", verdict="A, second.")),
            (
                render_finding("B", verdict="B, first.", reasoning="B wins."),
                render_finding("B", verdict="B, second."),
            ),
            (render_finding("B", verdict="B, third."), render_finding("B", verdict="B, fourth.")),
        )
        assert (found.winner, found.verdict, found.reasoning) == ("Speaker 2", "B, first.", "B wins.")

    def test_where_nobody_won_a_judge_who_found_for_nobody_tells_it(self) -> None:
        found = judged(twice("A"), (render_finding(None, verdict="Neither."), render_finding(None)))
        assert (found.outcome, found.verdict) == ("contested", "Neither.")

    def test_where_the_panel_is_split_its_first_judge_tells_it(self) -> None:
        found = judged((render_finding("A", verdict="A it is."), render_finding("A")), twice("B"))
        assert (found.outcome, found.verdict) == ("contested", "A it is.")

    def test_without_a_vote_that_counts_the_verdict_says_why(self) -> None:
        found = judged(
            (render_finding("A"), render_finding("B")), (render_finding("A"), ProviderFailure("timeout"))
        )
        assert found.reasoning == ""
        assert found.verdict == (
            f"No finding: judge 1 {ELSEWHERE}; judge 2 answered in one of the two orders only."
        )
