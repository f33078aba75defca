"""What is promised to whoever steers a talk that is about to end, or says the same thing twice."""

import pytest

from server.debate.commands.intervene import InterventionRequest, build_intervention
from server.debate.commands.submit import build_submission
from server.debate.facts.config import CALLER
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Paused
from server.debate.facts.interventions import TalkConcluded
from tests.support.simulation import DebateSimulation, build_setup, simulate

pytestmark = pytest.mark.requirement("D4")

CONCLUDE = TalkConcluded(round=1)
NOBODY = "The talk is being concluded, and no debater is asked for anything more."


def concluded_in_the_first_round(opened: DebateSimulation) -> DebateSimulation:
    """With a turn that is still on its way."""
    at = opened.play_to_round(1)
    return at.add_events(at.answer(at.pending_calls()[0]), CONCLUDE)


def effect(at: DebateSimulation, action: str, **wish: str) -> str:
    return build_intervention(at.debate, action, InterventionRequest(**wish)).effect  # type: ignore[arg-type]  # texts only


@pytest.mark.parametrize(
    ("action", "to"), [("challenge", ""), ("challenge", "Opponent"), ("inject", "Opponent")]
)
def test_nobody_is_challenged_who_will_not_be_asked_again(action: str, to: str) -> None:
    at = concluded_in_the_first_round(simulate())
    with pytest.raises(InvalidRequestError, match=NOBODY):
        effect(at, action, text="Prove it.", to=to)


def test_a_note_for_all_is_still_read_by_who_decides() -> None:
    at = concluded_in_the_first_round(simulate())
    at.add_events(
        *build_intervention(at.debate, "inject", InterventionRequest(text="The budget was halved.")).events
    ).play()
    assert "The budget was halved." in at.prompts("judge 1")[-1]


def test_debaters_who_are_still_to_vote_can_be_told_something() -> None:
    phases = ["opening", "voting"]
    at = concluded_in_the_first_round(simulate(build_setup(options={"phases": phases})))
    assert "Opponent reads it" in effect(at, "inject", text="News.", to="Opponent")


def test_a_challenge_promises_no_more_than_there_may_be() -> None:
    told = effect(simulate().play_to_round(2), "challenge", text="Prove it.")
    assert told == (
        "Every debater is to answer it in the next turn, if one is left; everybody reads it in the record."
    )


def test_what_is_resumed_goes_on_at_once_where_it_was_promised_to_be_decided() -> None:
    pause = Paused(reason="lunch")
    told = "seats that failed in this round are asked again."
    assert (
        effect(concluded_in_the_first_round(simulate()).add_events(pause), "resume")
        == f"It goes on at once; {told}"
    )
    assert effect(simulate().play_to_round(1).add_events(pause), "resume") == (
        f"It goes on with the next step_round, or at once where answers are on their way; {told}"
    )


@pytest.mark.requirement("N7", "N8")
def test_a_turn_that_is_submitted_again_because_its_answer_was_lost_is_not_taken_for_the_next() -> None:
    at = simulate(build_setup([CALLER], format="verdict")).play()
    first, second = (debater.name for debater in at.debate.setup.debaters)
    for seat in (first, second):
        at.add_events(build_submission(at.debate, seat, "It holds.")).play()

    with pytest.raises(InvalidRequestError) as why:
        build_submission(at.debate, first, " It holds.\n")
    assert str(why.value) == (
        f"{first} said this in these words in round 1, and it is recorded. Awaited now is another turn, in "
        "round 2."
    )
    assert at.add_events(build_submission(at.debate, first, "It still holds.")).debate.turns[-1].round == 2
