"""The baseline: a vote of blind ballots for as many tokens as the debate took, at its end."""

import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.ballots.samples import (
    MOST_SAMPLES,
    count_debate_tokens,
    count_samples,
    count_usage,
    describe_baseline,
    list_leaders,
    pool_samples,
)
from server.debate.commands.setup.estimate import estimate
from server.debate.commands.submit import build_submission
from server.debate.facts.answers import Usage
from server.debate.facts.beliefs import Citation
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import Balloted
from server.debate.facts.setup.seats import CALLER
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.markdown import render_verdict
from server.debate.views.progress import build_progress
from server.debate.views.verdict import build_verdict
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    Script,
    build_ballot,
    build_setup,
    default_script,
    simulate,
)

pytestmark = pytest.mark.requirement("N6")

P, OPP = "Proponent", "Opponent"


def count_tokens(model: str, tokens: int) -> Usage:
    return Usage(model=model, input_tokens=tokens - 1, output_tokens=1, cost_usd="0")


def is_sample(call: Call) -> bool:
    return call.slot_index >= 200


def play(
    script: Script = default_script, models: tuple[str, ...] = ("a/x", "b/y"), **fields: Any
) -> DebateSimulation:
    options = {"baseline": True, **fields.pop("options", {})}
    return simulate(build_setup(models=models, options=options, **fields), script).play_on()


def script_sizes(turn: int, ballot: int, choice: str = "A") -> Script:
    """Answers of so many tokens."""

    def script(call: Call) -> Any:
        if is_sample(call):
            return Reply(dump(build_ballot(choice)), count_tokens(call.model, ballot))
        return Reply(str(default_script(call)), count_tokens(call.model, turn))

    return script


def dump(data: Any) -> str:
    return json.dumps(data)


def test_blind_ballots_are_asked_for_after_the_verdict_until_the_tokens_of_the_debate_are_spent() -> None:
    at = play(script_sizes(turn=1_000, ballot=170))
    assert at.debate.ended is not None
    assert count_debate_tokens(at.debate) == 6_000  # four turns, and a judge's two readings
    assert describe_baseline(at.debate).startswith("35 blind ballots for 5,950 tokens")
    tasks = [is_sample(call) for call, _ in at.calls_made]
    assert tasks == sorted(tasks)
    assert at.debate.rounds[-1].phase == "baseline"


def test_the_models_of_the_debate_take_turns_and_each_begins_with_another_position() -> None:
    at = play()
    asked = [(call, prompt) for call, prompt in at.calls_made if is_sample(call)]
    models = [call.model for call, _ in asked]
    assert abs(models.count("a/x") - models.count("b/y")) <= 1
    assert len({call.seed for call, _ in asked}) == len(asked)
    tails = [prompt.messages[-1].content.split("\n") for _, prompt in asked]
    firsts = [next(line for line in tail[::-1] if line.startswith(("A1. ", "B1. "))) for tail in tails]
    assert abs(firsts.count(firsts[0]) - len(firsts) / 2) <= 1


def test_a_sample_is_shown_what_a_blind_ballot_is_and_nothing_that_was_said() -> None:
    at = play(options={"ballots": "blind"})
    blind = {
        (call.model, prompt.messages)
        for call, prompt in at.calls_made
        if call.task == "ballot" and call.slot_index == 100
    }
    samples = [(call.model, prompt.messages) for call, prompt in at.calls_made if is_sample(call)]
    assert blind <= set(samples)
    assert all("Argument" not in message.content for _, messages in samples for message in messages)


def test_the_samples_change_nothing_that_the_debate_found() -> None:
    with_it, without = (
        play(options={"ballots": "blind"}),
        play(options={"ballots": "blind", "baseline": False}),
    )
    own, other = build_verdict(with_it.debate), build_verdict(without.debate)
    assert own.baseline
    assert not other.baseline
    assert own.model_copy(update={"baseline": "", "answer": other.answer}) == other
    assert with_it.debate.ballots == without.debate.ballots
    assert count_debate_tokens(with_it.debate) == count_debate_tokens(without.debate)


def test_the_verdict_says_what_the_vote_found_for_what_price_and_whether_it_agrees() -> None:
    at = play(script_sizes(turn=900, ballot=300, choice="B"))
    text = render_verdict(at.debate)
    told = "18 blind ballots for 5,400 tokens (the debate took 5,400): Opponent is ahead, unlike the verdict."
    assert f"{told} Votes: Opponent 18." in text
    assert "as in the verdict" in render_verdict(play().debate)


def test_a_tie_has_no_choice_and_agrees_with_nothing() -> None:
    def script(call: Call) -> Any:
        if is_sample(call):
            ballot = dump(build_ballot("A" if call.seat == P else "B"))
            return Reply(ballot, count_tokens(call.model, 600))
        return Reply(str(default_script(call)), count_tokens(call.model, 600))

    at = play(script)
    assert describe_baseline(at.debate).startswith("6 blind ballots")
    assert list_leaders(at.debate.samples) == (OPP, P)
    assert "a tie. Votes: Proponent 3, Opponent 3." in render_verdict(at.debate)
    assert list_leaders([]) == ()


def test_samples_that_fail_cost_what_they_cost_and_hold_nothing_up() -> None:
    def script(call: Call) -> Any:
        return (
            ProviderFailure("unavailable") if is_sample(call) and call.seat == OPP else default_script(call)
        )

    at = play(script)
    assert at.debate.ended is not None
    assert len(at.debate.samples) > 2
    assert {sample.seat for sample in at.debate.samples} == {P}
    tokens, debate_tokens = re.findall(r"[\d,]+(?= tokens|\):)", describe_baseline(at.debate))
    assert abs(int(tokens.replace(",", "")) - int(debate_tokens.replace(",", ""))) <= 60

    at = play(lambda call: ProviderFailure("unavailable") if is_sample(call) else default_script(call))
    assert at.debate.ended is not None
    assert at.debate.verdict is not None
    assert describe_baseline(at.debate) == ""
    assert len([call for call, _ in at.calls_made if is_sample(call)]) == 2


def test_a_caller_is_not_asked_again() -> None:
    debaters = [{"name": "Ada", "stance": "yes", "model": CALLER}, {"name": "Ben", "stance": "no"}]
    at = simulate(build_setup(debaters=debaters, models=("a/x",), options={"baseline": True})).play()
    while at.status == "waiting":
        at.add_events(build_submission(at.debate, "Ada", f"Turn of round {at.debate.round}.", "me")).play()
    assert at.debate.ended is not None
    assert {sample.seat for sample in at.debate.samples} == {"Ben"}


def test_without_a_vote_there_is_nothing_to_compare_with() -> None:
    for row in ("round_robin", "settle"):
        with pytest.raises(InvalidRequestError, match="baseline compares a vote with a verdict"):
            build_setup(format=row, options={"baseline": True})


def test_a_budget_pays_for_the_verdict_first() -> None:
    at = play(options={"limits": {"max_calls": 10}})
    assert at.debate.verdict is not None
    assert at.debate.ended is not None
    assert (at.debate.ended.ending, at.debate.ended.cause) == ("concluded", "budget")
    assert len(at.debate.samples) == 4


def test_a_baseline_holds_up_no_verdict_that_is_waited_for() -> None:
    at = simulate(build_setup(options={"baseline": True, "pause_when": ["verdict"]})).play()
    assert at.debate.paused is not None
    at.intervene("resume")
    assert at.play().debate.ended is not None


def test_the_estimate_and_the_progress_have_the_samples() -> None:
    with_it = simulate(build_setup(options={"baseline": True}))
    without = simulate(build_setup())
    own, other = estimate(with_it.debate), estimate(without.debate)
    assert own.calls > other.calls
    assert own.input_tokens == tuple(2 * tokens for tokens in other.input_tokens)
    progress = build_progress(with_it.play().debate)
    assert progress.done == progress.expected == len(with_it.calls_made)


@pytest.mark.full
@given(st.integers(1, 26), st.integers(1, 10**6), st.integers(1, 4_000), st.randoms(use_true_random=False))
def test_the_tokens_spent_come_as_close_to_the_budget_as_a_sample_allows(
    voters: int, budget: int, most: int, chance: Random
) -> None:
    sizes = [chance.randint(1, most) for _ in range(500)]
    costs: list[int | None] = []
    while (count := count_samples(costs, voters, budget)) > len(costs):
        costs = [*sizes[:count]]
    assert voters <= len(costs) <= MOST_SAMPLES
    spent = sum(filter(None, costs))
    if voters < len(costs) < MOST_SAMPLES:
        assert spent >= budget - max(sizes) / 2


@pytest.mark.parametrize(
    ("costs", "voters", "budget", "count"),
    [
        ([], 2, 1_000, 2),
        ([100], 2, 1_000, 2),
        ([100, None, 100], 2, 1_000, 2),
        ([100, 100], 2, 1_000, 6),
        ([0, 0], 2, 1_000, 2),
        ([10, 10], 2, 27, 3),  # the nearest number to 2.7
        ([10, 10], 2, 24, 2),
        ([], 0, 1_000, 0),
    ],
)
def test_a_wave_is_only_followed_by_another_when_it_is_whole(
    costs: list[int | None], voters: int, budget: int, count: int
) -> None:
    assert count_samples(costs, voters, budget) == count


def test_an_answer_costs_at_least_a_token_and_what_it_cost_where_it_was_given_first() -> None:
    reused = Usage(model="m", input_tokens=1, output_tokens=2, reused_tokens=4)
    assert count_usage([Usage(model="m"), reused, None]) == 8


def test_a_sample_cannot_cite_a_turn() -> None:
    at = simulate(build_setup(options={"baseline": True})).play(lambda debate: bool(debate.verdict))
    event = at.answer(at.pending_calls()[0])
    assert isinstance(event, Balloted)
    assert event.moved_by is None
    with pytest.raises(IllegalEvent, match="never made"):
        at.add_events(event.model_copy(update={"moved_by": Citation(seat=P, round=1)}))


def test_the_beliefs_of_samples_are_their_mean_and_sum_to_one() -> None:
    def script(call: Call) -> Any:
        choice = "A" if call.seat == P else "B"
        return dump(build_ballot(choice, percent=60)) if is_sample(call) else default_script(call)

    at = play(script)
    pooled = pool_samples(at.debate, at.debate.samples[:2])
    assert {share.name: share.share for share in pooled} == {P: "0.3000", OPP: "0.3000", "": "0.4000"}
