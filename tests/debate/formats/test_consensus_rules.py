"""Rules of consensus in debates: asked for at the start, changed on the way, recorded as a fact, checked on import."""

import json
from fractions import Fraction
from typing import Any

import pytest

from server.debate.facts.beliefs import Agreed, VotingRule
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import BlockEnded, Concluded
from server.debate.machine.transitions import replay
from server.debate.rules.calls import Call
from server.debate.views.events import event_names
from server.debate.views.verdict import build_report, build_verdict
from server.debate.votes.consensus import describe_agreed
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_ballot,
    build_debaters,
    build_setup,
    judge_script,
    render_finding,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D10")

LOST = ProviderFailure("timeout")
VOTE = ["opening", "voting"]


def vote(*ballots: ScriptAnswer, voting: Any = None, phases: Any = VOTE, **asked: Any) -> DebateSimulation:
    """A debate whose debaters cast these ballots, Speaker 1 the first."""
    cast = {f"Speaker {n}": said for n, said in enumerate(ballots, start=1)}
    opened = build_setup(
        [f"vendor {n}/model" for n in range(len(ballots))],
        debaters=build_debaters(len(ballots)),
        options={"phases": phases, **({"voting": voting} if voting else {})},
        **asked,
    )
    return simulate(opened, task_script({"ballot": lambda call: cast[call.seat]}))


def judge(*findings: ScriptAnswer, voting: Any = None) -> DebateSimulation:
    """A debate of two, with these findings of judges in both readings."""
    options = {"judges": {"models": [f"maker {n}/model" for n in range(len(findings))]}, "voting": voting}
    said = {
        (f"judge {n}", reading): finding for n, finding in enumerate(findings, start=1) for reading in (1, 2)
    }
    return simulate(build_setup(["vendor/a", "vendor/b"], options=options), judge_script(said))


def agreed(at: DebateSimulation) -> list[Agreed]:
    return [event for event in at.events if isinstance(event, Agreed)]


def choose(letter: str | None) -> str:
    return json.dumps(build_ballot(letter))


A, B, C, NONE = map(choose, ("A", "B", "C", None))
FOR, AGAINST = render_finding("A"), render_finding("B")


@pytest.mark.parametrize(
    ("voting", "ballots", "outcome", "consensus"),
    [
        ("unanimous", (A, A, A), "leaning", "unanimous"),
        ("unanimous", (A, A, B), "contested", ""),
        ("supermajority", (A, A, B), "leaning", "supermajority"),
        ({"threshold": "2/3", "strict": True}, (A, A, B), "contested", ""),
        ({"threshold": 0.75}, (A, A, A, B), "leaning", "supermajority"),
        ("majority", (A, A, B), "leaning", "supermajority"),
        ("majority", (A, A, LOST, NONE), "undecided", ""),
        ({"kind": "majority", "of": "cast", "quorum": "1/2"}, (A, A, LOST, NONE), "leaning", "plurality"),
        ("plurality", (A, NONE, NONE), "leaning", "plurality"),
        ("none", (A, A, A), "undecided", ""),
    ],
)
def test_the_rule_that_was_asked_for_says_who_wins(
    voting: Any, ballots: tuple[ScriptAnswer, ...], outcome: str, consensus: str
) -> None:
    at = vote(*ballots, voting=voting).play()
    assert at.debate.verdict
    assert at.debate.verdict.outcome == outcome
    assert at.debate.verdict.winner == ("Speaker 1" if consensus else "")
    assert [event.consensus for event in agreed(at)] == ([consensus] if consensus else [])
    assert replay(at.events) == at.debate


def test_a_winner_by_a_rule_is_decided_only_where_the_usual_count_says_so() -> None:
    for findings, outcome in (((FOR, FOR), "decided"), ((FOR, FOR, AGAINST), "leaning")):
        found = build_verdict(judge(*findings, voting="majority").play().debate)
        assert (found.outcome, found.winner) == (outcome, "Proponent")
    assert build_verdict(judge(FOR, FOR, AGAINST).play().debate).outcome == "contested"


def test_the_fact_has_every_weight_as_an_exact_fraction() -> None:
    voting = {"kind": "majority", "weights": {"Speaker 1": "3/2", "Speaker 3": "1/3"}}
    at = vote(A, A, B, NONE, LOST, voting=voting).play()
    (found,) = agreed(at)
    assert found.model_dump() == {
        "kind": "agreed",
        "round": 2,
        "consensus": "majority",
        "winner": "Speaker 1",
        "count": {
            "weights": ({"seat": "Speaker 1", "weight": "5/2"}, {"seat": "Speaker 2", "weight": "1/3"}),
            "abstained": "1",
            "unreadable": "0",
            "inconsistent": "0",
            "missing": "1",
            "seats": "29/6",
            "cast": "17/6",
            "needed": "1/2",
            "share": "15/29",
        },
    }
    assert event_names(at.debate, found) == ["consensus"]
    assert at.events.index(found) < next(
        n for n, event in enumerate(at.events) if isinstance(event, Concluded)
    )


def test_inconsistent_and_unreadable_votes_of_judges_are_told_apart() -> None:
    panel = judge(FOR, FOR, FOR, FOR, voting="plurality")
    turned: dict[tuple[str, int], ScriptAnswer] = {
        ("judge 2", 2): AGAINST,
        ("judge 3", 1): "Well.",
        ("judge 3", 2): "Well.",
        ("judge 4", 1): LOST,
    }
    usual = panel.script

    def answer(call: Call) -> ScriptAnswer:
        return turned.get((call.seat, call.reading)) or usual(call)

    panel.script = answer
    (found,) = agreed(panel.play())
    assert found.count
    silent = found.count.model_dump(include={"abstained", "unreadable", "inconsistent", "missing"})
    assert silent == {"abstained": "0", "unreadable": "1", "inconsistent": "1", "missing": "1"}


def test_a_threshold_and_weights_change_the_rule_while_it_runs() -> None:
    at = vote(A, A, B, voting="unanimous").play_to_round(2)
    at.intervene("threshold", threshold="1/2")
    assert at.debate.voting == VotingRule(kind="supermajority", threshold="1/2")
    at.intervene("weights", weights={"Speaker 3": "2"})
    assert agreed(at.play()) == []  # two to two
    at = vote(A, A, B, voting={"kind": "unanimous", "weights": {"Speaker 3": "9"}}).play_to_round(2)
    at.intervene("threshold", threshold="1/2")
    at.intervene("weights", weights={"Speaker 3": "1"})
    assert [event.winner for event in agreed(at.play())] == ["Speaker 1"]
    assert at.debate.weights == {"Speaker 3": Fraction(1)}


@pytest.mark.requirement("D21")
def test_without_a_rule_a_consensus_is_recorded_by_the_usual_count() -> None:
    (found,) = agreed(vote(A, A, A).play())
    assert (found.consensus, found.winner) == ("unanimous", "Speaker 1")
    assert found.count
    assert (found.count.needed, found.count.share) == ("", "1")
    assert agreed(vote(A, B, C).play()) == []
    made = judge(render_finding(None, recommendation="Both."), render_finding(None, recommendation="Both."))
    (found,) = agreed(made.play())
    assert (found.consensus, found.winner) == ("unanimous", "")
    settle = task_script({"closing": {"summary": "So.", "status": "SETTLED", "decision": "Buy."}})
    (found,) = agreed(simulate(build_setup(format="settle"), settle).play())
    assert (found.consensus, found.winner, found.count) == ("settled", "", None)
    assert describe_agreed(found) == "Consensus: the moderator settled the question."


def test_a_vote_that_ends_a_block_and_the_debate_is_one_consensus() -> None:
    block = {"name": "voting", "repeat_from": "opening", "until": "consensus", "limit": 2}
    at = vote(A, A, A, phases=["opening", block], voting="unanimous").play()
    assert len(agreed(at)) == 1
    ended = next(event for event in at.events if isinstance(event, BlockEnded))
    assert (ended.cause, ended.passes) == ("consensus", 1)
    at = vote(A, A, B, phases=["opening", block], voting="unanimous").play()
    assert agreed(at) == []
    later = vote(A, A, A, phases=["opening", block, "rebuttal", "voting"], voting="unanimous").play()
    assert [event.round for event in agreed(later)] == [2, 4]


def test_the_verdict_says_how_it_was_counted() -> None:
    voting = {"kind": "majority", "of": "cast", "quorum": "1/2"}
    panel = build_report(vote(A, A, B, NONE, voting=voting).play().debate).panel
    assert panel.rule == (
        "a majority, more than 1/2 of the votes cast, of which 1/2 of all seats have to be cast: "
        "reached by Speaker 1 with 2/3"
    )
    assert (
        panel.consensus
        == "Consensus (plurality) for Speaker 1: Speaker 1 2, Speaker 2 1, 1 abstained, of 4 asked."
    )
    panel = build_report(vote(A, NONE, NONE, voting=voting).play().debate).panel
    assert panel.rule.endswith("not reached by Speaker 1 with 1, too few cast")
    assert panel.consensus == ""
    panel = build_report(vote(A, A, A).play().debate).panel
    assert panel.rule == ""
    rules = {
        "none": "none: votes are counted, and nobody wins by them",
        "unanimous": "unanimity of all seats asked",
        "plurality": "a plurality, more than for any other",
        "supermajority": "a supermajority, 2/3 or more of all seats asked",
    }
    for kind, words in rules.items():
        assert build_report(vote(A, B, voting=kind).play().debate).panel.rule == f"{words}: not reached"


@pytest.mark.parametrize(
    ("voting", "problem"),
    [
        ({"kind": "majority", "threshold": "3/4"}, "threshold and strict are for kind=supermajority"),
        ({"kind": "unanimous", "strict": True}, "threshold and strict are for kind=supermajority"),
        ({"threshold": "4/3"}, "is no fraction above 0 and at most 1"),
        ({"threshold": "1e9"}, "is no fraction above 0 and at most 1"),
        ({"of": "cast"}, "of=cast needs a quorum"),
        ({"quorum": "1/2"}, "quorum needs of=cast"),
        ({"weights": {"Nobody": "2"}}, "nobody votes as 'Nobody'"),
        ({"weights": {"Speaker 1": "0"}}, "is no fraction above 0 and at most 1000"),
    ],
)
def test_rules_that_cannot_hold_are_refused(voting: Any, problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        vote(A, B, voting=voting)


def test_a_rule_is_for_debates_with_votes() -> None:
    for name, problem in (("settle", "judges or voters decide"), ("oxford", "counts who changed position")):
        with pytest.raises(InvalidRequestError, match=problem):
            build_setup(format=name, options={"voting": "majority"})
    weighed = build_setup(format="oxford", options={"voting": {"weights": {"voter 1": "2"}}})
    assert (weighed.voting, weighed.weights[0].weight) == (None, "2")
    with pytest.raises(InvalidRequestError, match="Name `debaters`"):
        build_setup(options={"phases": VOTE, "framing": True, "voting": {"weights": {"Proponent": "2"}}})


def test_a_consensus_that_does_not_follow_from_the_votes_is_refused() -> None:
    at = vote(A, A, B, voting="majority").play()
    place = at.events.index(agreed(at)[0])
    before, found = replay(at.events[:place]), agreed(at)[0]
    for change in ({"winner": "Speaker 2"}, {"consensus": "unanimous"}, {"round": 1}):
        with pytest.raises(IllegalEvent):
            replay([found.model_copy(update=change)], before)
    with pytest.raises(IllegalEvent):
        replay([found], replay([found], before))
    with pytest.raises(IllegalEvent, match="does not follow from the votes"):
        replay(at.events[place + 1 :], before)
