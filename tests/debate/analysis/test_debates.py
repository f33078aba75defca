"""What the judges of a debate believe together, and how sure its verdict is."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from server.debate.analysis.confidence import describe_ledger
from server.debate.analysis.debates import build_standing, list_debate_judgments, pool_judges
from server.debate.analysis.judgments import Reading
from server.debate.analysis.records import JudgeRecord
from server.debate.facts.beliefs import Weight
from server.debate.facts.errors import IllegalEvent
from server.debate.facts.escalation import MirrorHeld, MirrorReading, Spent
from server.debate.facts.interventions import InterventionFact, OutcomeRecorded
from server.debate.facts.setup.ledger import LedgerExtract
from server.debate.facts.setup.opened import Opened
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.outcome import Outcome
from server.debate.interventions.registry import find_action
from server.debate.machine.transitions import apply
from server.debate.records.receipt import describe_verdict
from server.debate.state.debate import Debate
from server.debate.views.verdict import build_report
from server.debate.views.warnings import describe_reused
from server.debate.votes.panel import find_rated_model
from tests.support.simulation import ProviderFailure, build_setup, judge_script, render_finding, simulate

pytestmark = pytest.mark.requirement("N3")

GOOD = JudgeRecord("openai/good", 40, 40, 40, 0)
BAD = JudgeRecord("mistral/bad", 40, 40, 0, 40)


def build_ledger(*records: JudgeRecord, **fields: Any) -> LedgerExtract:
    return LedgerExtract(standings=tuple(map(build_standing, records)), **fields)


def judged_setup(*models: str, ledger: LedgerExtract | None = None, **judges: Any) -> Opened:
    options = {"judges": {"models": list(models or ("openai/good", "mistral/bad")), **judges}}
    return build_setup(options=options).model_copy(update={"ledger": ledger})


def play(setup: Opened, *answers: Any) -> Debate:
    """The debate to its end; `answers`: of each judge, in both readings."""
    script = {
        (f"judge {n}", reading): answer for n, answer in enumerate(answers, start=1) for reading in (1, 2)
    }
    return simulate(setup, judge_script(script)).play().debate


def find(winner: str, percent: int) -> str:
    other = "B" if winner == "A" else "A"
    return render_finding(winner, 3, beliefs={winner: percent, other: 100 - percent, "none": 0})


def test_the_confidence_is_the_pooled_belief_once_outcomes_are_settled() -> None:
    settled = build_ledger(calibrated_items=20)
    sure = build_report(play(judged_setup(ledger=settled), find("A", 95), find("A", 95)))
    assert sure.confidence.value == pytest.approx(0.98)
    assert sure.confidence.basis == (
        "The pooled belief of 2 judges. Equal weights; calibrated on 20 settled items."
    )
    unsure = build_report(play(judged_setup(ledger=settled), find("A", 60), find("A", 60)))
    assert unsure.confidence.value == pytest.approx(0.63)
    assert [line.rpartition(" ")[2] for line in unsure.confidence.beliefs] == ["0.63", "0.37"]


@pytest.mark.requirement("D11")
def test_a_receipt_holds_the_weights_with_which_votes_counted() -> None:
    setup = judged_setup(ledger=build_ledger(GOOD, BAD))
    weighted = setup.model_copy(update={"weights": (Weight(seat="judge 1", weight="2"),)})
    votes = describe_verdict(play(weighted, find("A", 95), find("B", 95)), {})["votes"]
    assert [(vote["choice"], vote["weight"]) for vote in votes] == [
        ("Proponent", "314/55"),
        ("Opponent", "0"),
    ]


def test_before_outcomes_are_settled_there_is_no_figure_and_what_agreement_was_worth_elsewhere() -> None:
    agreed = build_report(play(judged_setup(), find("A", 95), find("A", 95))).confidence
    assert "value" not in agreed.model_dump()
    assert agreed.reference == {"low": 0.4, "high": 0.98, "n": 419}
    assert agreed.basis.endswith("Not measured on your questions yet.")
    divided = build_report(play(judged_setup(), find("A", 95), find("B", 95))).confidence
    assert {*divided.model_dump()} == {"basis", "beliefs"}


def test_a_judge_without_beliefs_believes_by_its_margin() -> None:
    debate = play(judged_setup(), render_finding("A", 3), render_finding("A", 0))
    first, second = debate.names[:2]
    pooled = pool_judges(debate, debate.verdict.votes if debate.verdict else ())
    assert pooled.judges == 2
    assert pooled.beliefs[first] == pytest.approx(0.7 ** (4 / 3) / (0.7 ** (4 / 3) + 0.3 ** (4 / 3)))
    assert pooled.beliefs[first] + pooled.beliefs[second] == pytest.approx(1)
    nobody = play(judged_setup(), render_finding(None), render_finding(None))
    assert pool_judges(nobody, nobody.verdict.votes if nobody.verdict else ()).beliefs[first] == 0.5


def test_a_judge_that_did_not_answer_twice_counts_as_unsure() -> None:
    answers: dict[tuple[str, int], Any] = {
        ("judge 1", 1): find("A", 90),
        ("judge 1", 2): find("A", 90),
        ("judge 2", 2): find("B", 90),
        ("judge 2", 1): ProviderFailure("refused"),
    }
    debate = simulate(judged_setup(), judge_script(answers)).play().debate
    assert debate.verdict is not None
    pooled = pool_judges(debate, debate.verdict.votes)
    assert pooled.judges == 1
    assert pooled.beliefs[debate.names[0]] == pytest.approx(0.7)
    settled = apply(debate, OutcomeRecorded(truth=debate.names[0]))
    assert [one.is_turned for one in list_debate_judgments(settled)] == [True, False]


def test_a_proven_judge_decides_alone_and_a_bad_one_does_not_count() -> None:
    ledger = build_ledger(GOOD, BAD)
    alone = build_report(play(judged_setup("openai/good", ledger=ledger), find("A", 95)))
    assert (alone.outcome, alone.panel.proven) == ("decided", ["judge 1"])
    assert build_report(play(judged_setup("openai/good"), find("A", 95))).outcome == "leaning"
    opposed = build_report(play(judged_setup(ledger=ledger), find("A", 95), find("B", 95)))
    assert (opposed.outcome, opposed.panel.support) == ("decided", "1")
    assert build_report(play(judged_setup(), find("A", 95), find("B", 95))).outcome == "contested"


def test_weights_of_a_caller_multiply_what_was_learnt() -> None:
    known = JudgeRecord("openai/good", 30, 30, 24, 6)  # ln 30/8 = 1.32
    setup = judged_setup("openai/good", "x/new", ledger=build_ledger(known))
    answers: dict[tuple[str, int], Any] = {("judge 1", n): find("A", 95) for n in (1, 2)} | {
        ("judge 2", n): find("B", 95) for n in (1, 2)
    }
    learnt = build_report(simulate(setup, judge_script(answers)).play().debate)
    assert (learnt.ahead, learnt.panel.support) == (setup.debaters[0].name, "6/11")  # 1.32 of 2.42
    weighed = simulate(setup, judge_script(answers)).play_to_round(1)
    weighed.intervene("weights", weights={"judge 2": "2"})
    report = build_report(weighed.play().debate)
    assert (report.ahead, report.panel.against) == (setup.debaters[1].name, "3/8")  # 1.32 of 3.52


def test_a_dated_release_has_the_record_of_the_model_that_was_asked() -> None:
    debate = simulate(judged_setup("openai/good")).debate
    assert find_rated_model(debate, "judge 1", "openai/good-2026-01-31") == "openai/good"
    assert find_rated_model(debate, "judge 1", "openai/good") == "openai/good"
    for other in ("mistral/bad", "openai/good-mini", "openai/goods", "openai/good-32k", "mistral/bad-2411"):
        assert find_rated_model(debate, "judge 1", other) == other


def test_what_was_known_is_said_beside_the_confidence() -> None:
    def told(ledger: LedgerExtract | None) -> str:
        return describe_ledger(simulate(judged_setup(ledger=ledger)).debate)

    assert told(None) == told(LedgerExtract())
    assert told(build_ledger(GOOD)) == "Weights from 40 settled votes; too few settled items to calibrate."
    calibrated = {"calibrated_items": 25, "scale": "0.5", "intercept": "-0.1"}
    assert told(build_ledger(GOOD, **calibrated)) == (
        "Weights from 40 settled votes; calibrated on 25 settled items."
    )
    assert told(build_ledger(**calibrated)) == "Equal weights; calibrated on 25 settled items."
    debate = play(judged_setup(ledger=build_ledger(**calibrated)), find("A", 95), find("A", 95))
    votes = debate.verdict.votes if debate.verdict else ()
    assert pool_judges(debate, votes).beliefs[debate.names[0]] < 0.9


def test_none_turned_out_right_is_said_of_nobody_also_where_a_position_is_called_so() -> None:
    rows = [{"name": "Ada", "stance": "PostgreSQL"}, {"name": "Ben", "stance": "none"}]
    ended = simulate(build_setup(debaters=rows)).play().debate
    for said, truth in (("None.", ""), ("Ben", "Ben")):
        made = Outcome().take(ended, InterventionRequest(to=said)).events
        assert [event.truth for event in made if isinstance(event, OutcomeRecorded)] == [truth]


def test_votes_without_judges_are_not_pooled() -> None:
    ballots = simulate(build_setup(options={"phases": ["opening", "voting"]})).play().debate
    report = build_report(ballots)
    assert pool_judges(ballots, ballots.verdict.votes if ballots.verdict else ()).beliefs == {}
    assert not report.confidence.value


def test_an_outcome_comes_after_the_end_and_names_a_debater() -> None:
    running = simulate(judged_setup())
    with pytest.raises(IllegalEvent, match="outcome_recorded before the end"):
        apply(running.debate, OutcomeRecorded(truth=""))
    ended = running.play().debate
    with pytest.raises(IllegalEvent, match="nobody here is called Zoe"):
        apply(ended, OutcomeRecorded(truth="Zoe"))
    settled = apply(ended, OutcomeRecorded(truth=ended.names[0]))
    assert (settled.verdict, settled.ended) == (ended.verdict, ended.ended)
    made: InterventionFact = OutcomeRecorded(truth="")
    assert find_action(made).describe(made) == ("", "no position turned out right")


def test_the_ledger_learns_from_judges_whose_every_reading_is_of_one_model() -> None:
    debate = play(judged_setup(), find("A", 90), render_finding(None))
    assert list_debate_judgments(debate) == []
    first, second = debate.names[:2]
    settled = apply(debate, OutcomeRecorded(truth=first))
    learnt = list_debate_judgments(settled)
    belief = Fraction(9, 10)
    assert [(one.judge, one.gold) for one in learnt] == [("openai/good", first), ("mistral/bad", first)]
    assert learnt[0].readings == (Reading(1, first, belief, first), Reading(2, first, belief, second))
    assert [reading.choice for reading in learnt[1].readings] == ["", ""]
    other = settled.judgments[-1].usage.model_copy(update={"model": "x/fallback"})
    mixed = replace(
        settled,
        judgments=(*settled.judgments[:-1], settled.judgments[-1].model_copy(update={"usage": other})),
    )
    assert len(list_debate_judgments(mixed)) == 1
    small = tuple(judged.model_copy(update={"informative": False}) for judged in settled.judgments)
    assert list_debate_judgments(replace(settled, judgments=small)) == []
    assert pool_judges(replace(debate, judgments=small), debate.verdict.votes).beliefs == {}  # type: ignore[union-attr]


def test_blind_ballots_that_say_nothing_or_were_made_elsewhere_teach_nothing() -> None:
    models = ["openai/good", "mistral/bad"]
    options = {"ballots": "blind", "judges": {"models": ["openai/judge"]}}
    ended = play(build_setup(models=models, options=options), find("A", 90))
    settled = apply(ended, OutcomeRecorded(truth=ended.names[0]))

    def learn(**changes: Any) -> list[str]:
        ballots = tuple(ballot.model_copy(update=changes) for ballot in settled.ballots)
        learnt = list_debate_judgments(replace(settled, ballots=ballots))
        return [one.judge for one in learnt if one.role == "debater"]

    assert learn() == models
    assert learn(informative=False) == []
    assert learn(wave="final") == []
    spoken = settled.turns[0]
    copied = spoken.model_copy(update={"usage": spoken.usage.model_copy(update={"reused_from": "abc#1"})})
    assert list_debate_judgments(replace(settled, turns=(copied, *settled.turns[1:]))) == []


def test_nothing_is_learnt_of_a_mirror_whose_turns_are_of_another_debate() -> None:
    readings = tuple(
        MirrorReading(
            judge="judge 1", number=number, model="openai/x", winner="Opponent", margin=3, first=first
        )
        for number, first in ((1, "Proponent"), (2, "Opponent"))
    )
    ended = play(judged_setup("openai/x"), find("A", 90))
    for reused, items in ((0, ["verdict", "mirror"]), (4, ["verdict"])):
        held = MirrorHeld(
            round=ended.round,
            debate_id="k3x9w2m4p7qr",
            head="0" * 64,
            readings=readings,
            spent=Spent(reused_turns=reused),
        )
        settled = replace(apply(ended, OutcomeRecorded(truth=ended.names[0])), mirror=held)
        assert [one.item for one in list_debate_judgments(settled) if one.role == "judge"] == items
        told = [line for line in describe_reused(settled) if "turns of the mirror" in line]
        assert bool(told) == bool(reused)
