"""One debate about one question, as programs with their own questions and scores have it held."""

from decimal import Decimal
from pathlib import Path

import anyio
import pytest

from server.evaluation.plan import Plan
from server.evaluation.questions import Question
from server.evaluation.single import DebateStoppedError, Finding, hold_debate
from server.settings import Settings
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.requirement("N20")

QUESTION = Question("moons", "Which planet has the most moons?", ("Jupiter", "Saturn"), 0)
DEAD = "faulty?model=scripted&failure=1"


def hold(folder: Path, plan: Plan, question: Question = QUESTION) -> Finding:
    async def run() -> Finding:
        with anyio.fail_after(PATIENCE):
            return await hold_debate(Settings(db=str(folder / "a.db"), models=("scripted",)), plan, question)

    return anyio.run(run)


def test_what_was_found_comes_with_all_that_was_said(tmp_path: Path) -> None:
    found = hold(tmp_path, Plan((), votes=False))
    assert found.chosen is not None
    winner = QUESTION.options[found.chosen]
    assert found.outcome == "leaning"
    assert f'Leaning: "{winner}"' in found.verdict
    assert [text.splitlines()[0] for text in found.rounds] == [
        "## Round 1: opening",
        "## Round 2: rebuttal",
        "## Round 3: verdict",
    ]
    assert all(f'("{option}")' in found.rounds[0] for option in QUESTION.options)
    assert (found.calls, found.cost_usd) == (10, Decimal(0))


def test_the_same_question_is_debated_once_whatever_its_right_answer_and_anew_with_another_seed(
    tmp_path: Path,
) -> None:
    first = hold(tmp_path, Plan((), votes=False))
    turned = Question(QUESTION.id, QUESTION.text, QUESTION.options, 1)
    assert hold(tmp_path, Plan((), votes=False), turned) == first
    assert hold(tmp_path, Plan((), votes=False, seed=2)).debate_id != first.debate_id


def test_effort_is_that_of_the_plan_and_votes_are_held_only_where_they_are_wanted(tmp_path: Path) -> None:
    quick, voted = (hold(tmp_path, plan) for plan in (Plan((), votes=False, effort="quick"), Plan(())))
    assert quick.calls == 6
    assert "Effort quick" in quick.verdict
    assert "The same tokens on a blind vote" not in quick.verdict
    assert "The same tokens on a blind vote" in voted.verdict


def test_no_option_is_chosen_where_none_has_won(tmp_path: Path) -> None:
    found = hold(tmp_path, Plan((), ("scripted", DEAD), votes=False))
    assert (found.chosen, found.outcome) == (None, "undecided")


def test_a_debate_that_cannot_go_on_says_why(tmp_path: Path) -> None:
    with pytest.raises(DebateStoppedError, match="0 of 1 answered"):
        hold(tmp_path, Plan((), (DEAD,), votes=False))
