"""Whether judges who advise something of their own advise the same: it is asked, where a finding hangs on it."""

from collections.abc import Sequence
from typing import Any

import pytest

from server.debate.facts.errors import IllegalEvent
from server.debate.facts.events import Compared
from server.debate.machine.transitions import apply
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.findings import describe_comparison
from server.debate.views.verdict import build_verdict
from server.debate.votes.counting import APART, SYNTHESIS, CountedVote, count_votes
from server.debate.votes.panel import list_judgments
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_setup,
    build_usage,
    default_script,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("C8", "C20")

MODELS = ("openai/gpt-5", "anthropic/claude", "mistral/large", "gemini/pro")
OTHER = "advised something else when positions, labels and order were turned"


def advise(text: str) -> str:
    return render_finding(None, recommendation=text, probability=80, verdict=f"Rather: {text}")


def hold(
    *panel: str | tuple[str, str], groups: Any = None, until: str = "", **options: Any
) -> DebateSimulation:
    """A debate whose judges say this, in both readings or in each. `groups`: the answer to the comparison."""

    def script(call: Call) -> ScriptAnswer:
        if call.task == "comparison":
            answer: ScriptAnswer = groups if isinstance(groups, ProviderFailure | Reply) else str(groups)
            return default_script(call) if groups is None else answer
        if not call.reading:
            return default_script(call)
        said = panel[int(call.seat[-1]) - 1]
        return said if isinstance(said, str) else said[call.reading - 1]

    judges = {"models": list(MODELS[: len(panel)]), **options.pop("judges", {})}
    at = simulate(build_setup(options={"judges": judges, **options}), script)
    return at.play(lambda _: any(call.task == until for call in at.due_calls())) if until else at.play()


def list_compared(at: DebateSimulation) -> list[Call]:
    return [call for call, _ in at.calls_made if call.task == "comparison"]


QUEUE, WAIT, FOR = advise("Use a queue."), advise("Wait a year."), render_finding("A1")


def test_advice_that_comes_to_the_same_is_a_finding_and_stands_first() -> None:
    at = hold(QUEUE, advise("Take a queue."), FOR)
    found = build_verdict(at.debate)
    assert (found.outcome, found.answer.head) == ("synthesis", "None of the positions (2 of 3 judges)")
    assert found.answer.recommendation == "Use a queue."
    assert [(call.seat, call.slot_index) for call in list_compared(at)] == [("judge 1", 3)]
    assert at.debate.comparison is not None
    assert describe_comparison(at.debate.comparison) == (
        "Judges advise something of their own: the same thing, as judge 1's model says."
    )
    assert "2 different things" in describe_comparison(
        at.debate.comparison.model_copy(update={"groups": (0, 1)})
    )


@pytest.mark.parametrize(
    ("groups", "outcome", "head"),
    [
        (
            '{"groups": [["R1", "R2", "R3", "R4"], ["R5", "R6"]]}',
            "synthesis",
            "None of the positions (2 of 3 judges)",
        ),
        (
            '{"groups": [["R1", "R2"], ["R3", "R4"], ["R5", "R6"]]}',
            "contested",
            "None of the positions (3 of 3 judges, not the same)",
        ),
    ],
)
def test_advice_counts_with_what_is_the_same_alone(groups: str, outcome: str, head: str) -> None:
    found = build_verdict(hold(QUEUE, QUEUE, WAIT, groups=groups).debate)
    assert (found.outcome, found.answer.head) == (outcome, head)
    assert {"Use a queue.", "Wait a year."} <= {one.text for one in found.answer.findings}
    if outcome == "contested":
        assert found.verdict == "3 of 3 found for a position of their own. These are not the same."
    else:
        assert found.dissent == ["judge 3: Rather: Wait a year."]
        assert found.answer.recommendation == "Use a queue."


def test_a_judge_whose_two_readings_advise_different_things_abstains() -> None:
    at = hold(QUEUE, groups='{"groups": [["R1"], ["R2"]]}')
    found = build_verdict(at.debate)
    assert (found.outcome, found.votes) == ("undecided", [f"judge 1 (openai/gpt-5) abstains: it {OTHER}"])
    at = hold((QUEUE, WAIT), WAIT, QUEUE, groups='{"groups": [["R3", "R4", "R2"], ["R5", "R6"]]}')
    assert at.debate.verdict is not None
    assert [vote.abstains for vote in at.debate.verdict.votes] == [OTHER, "", ""]
    assert build_verdict(at.debate).outcome == "contested"


@pytest.mark.parametrize(
    "answer",
    [
        ProviderFailure("unavailable"),
        "They differ, I think.",
        '{"groups": ["R1", "R2"]}',
        '{"groups": [["R1", "R2"], ["R2"]]}',
        Reply('{"groups": [["R1", "R2", "R3", "R4"]]}', build_usage("local"), informative=False),
    ],
)
def test_without_an_answer_nothing_is_taken_for_the_same_and_the_debate_goes_on(answer: Any) -> None:
    for panel in ((QUEUE,), (QUEUE, QUEUE)):
        found = build_verdict(hold(*panel, groups=answer).debate)
        assert found.outcome == "contested"
        assert found.verdict == (
            f"{len(panel)} of {len(panel)} found for a position of their own. "
            "Whether these are the same, nobody said."
        )
        assert found.answer.head.endswith(", not compared)")
        assert "not the same" not in found.headline


@pytest.mark.parametrize(
    "panel",
    [(FOR, FOR, QUEUE), (FOR, QUEUE), (render_finding("B1"), FOR, QUEUE, WAIT), (render_finding(None),) * 2],
)
def test_nobody_is_asked_where_no_finding_hangs_on_it(panel: Sequence[str]) -> None:
    at = hold(*panel)
    assert not list_compared(at)
    assert at.status == "concluded"


def test_one_piece_of_advice_is_the_same_as_itself() -> None:
    at = hold(QUEUE, judges={"both_orders": False})
    assert not list_compared(at)
    assert build_verdict(at.debate).outcome == "synthesis"


def test_a_rule_of_consensus_counts_what_is_the_same_and_nothing_else() -> None:
    same = hold(QUEUE, QUEUE, FOR, render_finding("B1"), voting="plurality")
    assert build_verdict(same.debate).outcome == "synthesis"
    groups = '{"groups": [["R1", "R2"], ["R3", "R4"]]}'
    at = hold(QUEUE, WAIT, FOR, FOR, groups=groups, voting="plurality")
    assert list_compared(at)
    found = build_verdict(at.debate)
    assert (found.outcome, found.winner) == ("leaning", "Proponent")
    assert "2 abstained" in found.panel.consensus


def test_who_compares_sees_what_was_advised_in_the_labels_of_one_reading_and_no_judge() -> None:
    at = hold((advise("Do A1 first."), advise("Do B1 first.")), until="comparison")
    [call] = at.due_calls()
    at.step()
    [(_, prompt)] = [(made, prompt) for made, prompt in at.calls_made if made == call]
    text = prompt.messages[-1].content
    assert "R1:\n> Do A1 first.\nR2:\n> Do A1 first." in text
    assert "judge 1" not in text


def test_a_turn_that_is_retracted_meanwhile_has_it_asked_again() -> None:
    at = hold(QUEUE, until="comparison")
    late = at.answer(at.due_calls()[0])
    at.add_events(late)
    at.intervene("retract", to="Opponent", round=1)
    assert at.debate.comparison is None
    assert late in at.debate.superseded
    assert build_verdict(at.play().debate).outcome == "synthesis"
    assert len(at.debate.superseded) == 3


def test_a_comparison_of_readings_from_before_a_retraction_is_put_aside() -> None:
    at = hold(QUEUE, until="comparison")
    late = at.answer(at.due_calls()[0])
    at.intervene("retract", to="Opponent", round=1)
    at.play(lambda _: any(call.task == "comparison" for call in at.due_calls()))
    at.add_events(late)
    assert at.debate.comparison is None
    assert late in at.debate.superseded
    assert build_verdict(at.play().debate).outcome == "synthesis"


def test_a_judge_who_is_heard_after_the_comparison_has_it_made_again() -> None:
    def script(call: Call) -> ScriptAnswer:
        if call.seat == "judge 3" and not is_back:
            return ProviderFailure("unavailable")
        return (WAIT if call.seat == "judge 3" else QUEUE) if call.reading else default_script(call)

    is_back = False
    at = simulate(build_setup(options={"judges": {"models": list(MODELS[:3])}}), script)
    at.play(lambda _: any(call.task == "comparison" for call in at.due_calls()))
    under_way = at.answer(at.due_calls()[0])
    at.intervene("pause")
    at.add_events(under_way)
    is_back = True
    at.intervene("resume")
    at.play()
    assert at.debate.comparison is not None
    assert len(at.debate.comparison.groups) == 6
    assert under_way in at.debate.superseded
    assert at.status == "concluded"


def test_who_compares_is_not_told_how_to_judge_and_looks_nothing_up() -> None:
    told = {"prompt": "Name the cheaper side.", "replaces_task": True, "tools": ["search"]}
    prompts = {call.task: prompt for call, prompt in hold(QUEUE, judges=told).calls_made}
    judging, comparing = (prompts[task].messages[-1].content for task in ("judgment", "comparison"))
    assert "R1:\n> Use a queue.\nR2:\n> Use a queue." in comparing
    for text in ("Name the cheaper side.", "search"):
        assert text in judging
        assert text not in comparing


def test_the_first_reading_is_the_one_that_its_judge_gave_first() -> None:
    at = hold(FOR, (FOR, QUEUE))
    stands = [one.stand for one in build_verdict(at.debate).answer.findings if one.seat == "judge 2"]
    assert stands == ["with advice of its own in its first reading", "for Proponent in its second reading"]


def test_who_says_the_same_words_in_both_readings_is_quoted_once() -> None:
    found = build_verdict(hold(render_finding(None)).debate)
    assert [(one.seat, one.stand) for one in found.answer.findings] == [("judge 1", "for no position")]


@pytest.mark.parametrize("groups", [(0,), (1, 0), (0, 2), (0, 0, 0)])
def test_a_record_cannot_compare_what_nobody_advised(groups: tuple[int, ...]) -> None:
    at = hold(QUEUE, until="comparison")
    event = Compared(
        seat="judge 1", round=3, slot_index=3, seen=at.debate.version, usage=build_usage(), groups=groups
    )
    with pytest.raises(IllegalEvent, match="it is no comparison of what judges advise"):
        apply(at.debate, event)


def test_advice_in_the_mirror_is_compared_with_nobodys() -> None:
    asked = build_setup(options={"judges": {"models": [MODELS[0]]}, "mirror": True})
    script = lambda call: QUEUE if call.reading else default_script(call)  # noqa: E731
    at = simulate(asked, script).play()
    at.play_mirror(script)
    at.play()
    assert [one.winner for one in list_judgments(at.debate)] == [""] * 4
    assert build_verdict(at.debate).outcome == "contested"


def test_different_advice_of_most_is_no_synthesis_and_opposes_no_position() -> None:
    def seat(number: int, side: str) -> CountedVote:
        return CountedVote(f"judge {number}", MODELS[number - 1], side)

    apart = [seat(1, f"{APART}judge 1"), seat(2, f"{APART}judge 2"), seat(3, "Ada")]
    assert count_votes(apart).outcome == "contested"
    for_ada = count_votes([*apart[1:], seat(4, "Ada"), seat(1, SYNTHESIS)])
    assert (for_ada.outcome, for_ada.ahead, str(for_ada.against)) == ("leaning", "Ada", "0")
