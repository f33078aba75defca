"""What is told of a mirror, while it is held and afterwards."""

from typing import Any

import pytest

from server.debate.analysis.mirrors import build_mirror_report, describe_added_work, describe_escalation
from server.debate.facts.escalation import MirrorOpened
from server.debate.facts.interventions import NoteAdded
from server.debate.state.debate import replace
from tests.debate.rules.test_escalation import AGAINST, FOR, judge, play
from tests.support.simulation import MIRROR_ID, render_finding, task_script

pytestmark = pytest.mark.requirement("N5")


def test_while_more_is_asked_than_the_debate_itself_it_is_said_what() -> None:
    at = play(judge(FOR, FOR), 2, mirror="if_decided")
    at.add_events(MirrorOpened(round=at.debate.round, debate_id=MIRROR_ID, because="decided"))
    told = f"The mirror is held before it counts as decided: debate {MIRROR_ID}, with the stances swapped."
    assert describe_added_work(at.debate) == told
    assert build_mirror_report(at.debate).told == told
    at.intervene("conclude")
    at.play()
    assert describe_added_work(at.debate) == ""
    skipped = "No mirror counts: somebody concluded the debate while it was held."
    assert build_mirror_report(at.debate).told == skipped
    assert describe_escalation(at.debate.mirror) == skipped  # type: ignore[arg-type]


def test_a_comparison_says_what_stayed_with_the_position() -> None:
    at = play(judge(FOR, FOR, FOR), mirror=True)
    mirror = at.play_mirror(judge(None, None, FOR))

    report = build_mirror_report(at.debate)
    assert mirror.debate.verdict
    assert (report.debate_id, report.agrees) == (MIRROR_ID, False)
    assert (report.position_effect, report.debater_effect) == (0.67, 1.33)
    assert report.told.startswith(f"The mirror reversed it: {AGAINST}'s position was ahead there.")
    assert "position +0.67, debater +1.33, of 3" in report.told
    held = at.debate.mirror
    assert held
    assert describe_escalation(held) == f"The mirror, debate {MIRROR_ID}, was held; its votes count too."


def test_effects_are_not_told_apart_where_more_differs_than_the_stance() -> None:
    """A role that goes with the debater, a note that the mirror does not have, stances of before a fork."""
    at = play(judge(FOR, FOR, FOR), mirror=True)
    at.play_mirror(judge(AGAINST, AGAINST, AGAINST))
    setup, (first, *others) = at.debate.setup, at.debate.setup.debaters
    with_role = (first.model_copy(update={"role": "an economist"}), *others)
    cases: dict[str, dict[str, Any]] = {
        "debaters have roles or prompts of their own": {
            "changed_setup": setup.model_copy(update={"debaters": with_role})
        },
        "the debate was steered, and its mirror was not": {
            "interventions": (NoteAdded(round=1, text="Mind the cost."),)
        },
        "it was forked with other stances": {
            "changed_setup": setup.model_copy(update={"forked_restanced": (FOR,)})
        },
    }
    for told, changes in cases.items():
        report = build_mirror_report(replace(at.debate, **changes))
        assert report.agrees
        assert report.told.endswith(f"what position and debater count for is unknown: {told}.")
        assert not report.model_dump().keys() & {"position_effect", "debater_effect"}


def test_a_mirror_without_a_winner_says_that_nobody_was_ahead() -> None:
    at = play(judge(FOR, FOR, FOR), mirror=True)
    at.play_mirror(judge(None, None, None))

    assert build_mirror_report(at.debate).told.startswith("In the mirror nobody was ahead.")


def test_a_finding_of_the_mirrors_judges_alone_is_told_as_theirs() -> None:
    def disagree(call: Any) -> str:
        is_steady = call.seat == "judge 1" or call.reading == 1
        return render_finding(FOR if is_steady else AGAINST, 2)

    at = play(task_script({"judgment": disagree}), mirror=True)
    at.play_mirror(judge(FOR, FOR, FOR))
    concluded = at.play().debate.verdict

    assert concluded
    assert (concluded.outcome, concluded.winner) == ("leaning", AGAINST)
    assert concluded.verdict == "Ahead by the votes of the mirror's judges: against."
