"""What follows votes that leave a question open: which judges are added, when a mirror is due, and what it may say."""

from decimal import Decimal
from typing import Any

import pytest

from server.debate.facts.beliefs import Belief
from server.debate.facts.errors import IllegalEvent
from server.debate.facts.escalation import MirrorHeld, MirrorOpened, MirrorReading, MirrorSkipped
from server.debate.facts.events import Judged, Spoke
from server.debate.facts.setup.limits import Limits
from server.debate.facts.setup.seats import Framing
from server.debate.machine.transitions import apply, replay
from server.debate.records.setup import check_opened
from server.debate.rules.budget import NO_ELAPSED_TIME, ElapsedTime, compute_spending
from server.debate.rules.escalation import Mirror, build_mirror_setup, build_spent, find_escalation
from server.debate.rules.verdict import count_panel, find_caps
from server.debate.state.debate import Debate, replace
from server.debate.votes.panel import compare_mirror, compute_judge_vote, list_judgments
from tests.support.simulation import (
    MIRROR_ID,
    DebateSimulation,
    build_setup,
    label_positions,
    render_finding,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("N5")

FOR, AGAINST = "Proponent", "Opponent"
MODELS = ["openai/gpt-5", "anthropic/claude-4"]
JUDGES = ["mistral/large", "gemini/pro", "deepseek/chat"]


def judge(*winners: str | None, margin: int = 2) -> Any:
    """A script in which each judge finds for one side in both readings."""

    def find(call: Any) -> str:
        return render_finding(winners[int(call.seat.split()[-1]) - 1], margin)

    return task_script({"judgment": find})


def play(script: Any, judges: int = 3, **options: Any) -> DebateSimulation:
    """Until the mirror is due, or the debate is over."""
    panel = {"models": JUDGES[:judges], **options.pop("panel", {})}
    asked = build_setup(MODELS, format="verdict", options={"judges": panel, **options})
    return simulate(label_positions(asked), script).play()


def build_held(at: DebateSimulation, **changes: Any) -> MirrorHeld:
    reading = MirrorReading(
        judge="judge 1", number=1, model="m", winner=FOR, margin=2, first=AGAINST
    ).model_copy(update=changes)
    return MirrorHeld(round=at.debate.round, debate_id=MIRROR_ID, head="0" * 64, readings=(reading,))


def test_a_mirror_that_agrees_removes_the_doubt_about_who_spoke_last() -> None:
    at = play(judge(AGAINST, AGAINST, AGAINST), mirror=True)
    alone = find_caps(at.debate, AGAINST, [])
    mirror = at.play_mirror(judge(FOR, FOR, FOR))  # who stands there for what the opponent stands for here

    at.play()
    assert any("that place could have decided" in cap for cap in alone)
    assert compute_spending(at.debate).calls == len(at.calls_made) + len(mirror.calls_made)
    assert at.debate.verdict
    assert (at.debate.verdict.outcome, at.debate.verdict.winner) == ("decided", AGAINST)
    assert len(at.debate.verdict.votes) == 6


def test_a_reversed_mirror_is_never_decided_however_clear_the_votes_are() -> None:
    at = play(judge(FOR, FOR, FOR, margin=3), mirror=True)
    at.play_mirror(judge(FOR, None, None, margin=3))
    at.play()

    compared = compare_mirror(at.debate)
    assert compared
    assert (compared.is_reversed, compared.agrees, compared.mirror_ahead) == (True, False, AGAINST)
    assert at.debate.verdict
    assert at.debate.verdict.outcome == "leaning"
    assert at.debate.verdict.votes[3].winner == AGAINST


@pytest.mark.parametrize(
    ("winners", "models", "is_due"),
    [
        ((FOR, FOR, FOR), MODELS, True),
        ((FOR, FOR, None), MODELS, True),
        ((FOR, FOR, FOR), MODELS[:1] * 2, False),  # nobody can have won by being the better model
        ((FOR, FOR, AGAINST), MODELS, False),  # a split is told as one
        ((None, None, None), MODELS, False),
    ],
)
def test_it_is_asked_before_different_models_are_decided_between(
    winners: tuple[str | None, ...], models: list[str], is_due: bool
) -> None:
    options = {"judges": {"models": JUDGES}, "mirror": "if_decided"}
    at = simulate(
        label_positions(build_setup(models, format="verdict", options=options)), judge(*winners)
    ).play()
    due = Mirror("decided") if is_due else None
    assert find_escalation(at.debate, NO_ELAPSED_TIME) == due
    assert bool(at.debate.verdict) is not is_due


def test_one_that_agrees_lifts_a_label_that_stood_on_low_margins() -> None:
    options = {"judges": {"models": JUDGES}, "mirror": True}
    setup = build_setup(MODELS, format="advocates", options=options)
    at = simulate(label_positions(setup), judge(FOR, FOR, FOR, margin=1)).play()
    alone = count_panel(
        at.debate, tuple(compute_judge_vote(at.debate, f"judge {number}") for number in (1, 2, 3))
    )
    assert alone.outcome == "leaning"
    at.play_mirror(judge(AGAINST, AGAINST, None, margin=1))
    assert at.play().debate.verdict
    assert at.debate.verdict
    assert (at.debate.verdict.outcome, at.debate.verdict.winner) == ("decided", FOR)


def test_it_keeps_the_framing_that_the_debate_was_given() -> None:
    at = play(judge(FOR, FOR, AGAINST), mirror=True)
    framing = Framing(assumption="The team has six people.")
    debate = replace(at.debate, changed_setup=at.debate.setup.model_copy(update={"framing": framing}))
    setup = build_mirror_setup(debate, "k3x9w2m4p7qr", NO_ELAPSED_TIME)
    assert setup.framing == framing
    check_opened(setup)


def test_beliefs_of_the_mirror_are_about_the_positions_here() -> None:
    at = play(judge(FOR, FOR, AGAINST), mirror=True)
    beliefs = {"A": 70, "B": 20, "none": 10}
    at.play_mirror(task_script({"judgment": lambda _: render_finding("A", beliefs=beliefs)}))

    mirrored = [judged for judged in list_judgments(at.debate) if judged.seat.startswith("mirror")]
    assert [(one.winner, [(b.name, b.percent) for b in one.beliefs]) for one in mirrored] == [
        (AGAINST, [(FOR, 20), (AGAINST, 70), ("", 10)])
    ] * 3


def test_the_mirror_of_every_kind_of_debate_could_have_been_opened() -> None:
    for options in (
        {"moderator": {"opens": True}, "referee": True, "synthesizer": True},
        {"limits": {"max_calls": 90, "max_seconds": 900, "max_input_tokens": 10**6}},
        {"ballots": "rounds", "baseline": True},
    ):
        at = play(judge(FOR, FOR, AGAINST), mirror=True, **options)
        step = find_escalation(at.debate, NO_ELAPSED_TIME)
        assert isinstance(step, Mirror), step
        setup = build_mirror_setup(at.debate, "k3x9w2m4p7qr", ElapsedTime(10))
        check_opened(setup)
        assert setup.mirror == "off"
        assert setup.synthesizer is None
        assert not any(phase.is_baseline for phase in setup.phases)
        assert setup.labels != ()


def limit(at: DebateSimulation, **limits: Any) -> Debate:
    """The debate as if it had been opened with these limits."""
    setup = at.debate.setup.model_copy(update={"limits": Limits(**limits)})
    return replace(at.debate, changed_setup=setup)


def test_a_mirror_gets_what_is_left_of_the_limits() -> None:
    at = play(judge(FOR, FOR, AGAINST), mirror=True)
    debate = limit(at, max_calls=100, max_output_tokens=10**6, max_cost_usd="2.5", max_seconds=9)

    spent = compute_spending(debate)
    left = build_mirror_setup(debate, "k3x9w2m4p7qr", ElapsedTime(10)).limits
    assert (left.max_calls, left.max_input_tokens) == (100 - spent.calls, 0)
    assert left.max_output_tokens == 10**6 - spent.output_tokens
    assert (Decimal(left.max_cost_usd), left.max_seconds) == (Decimal("2.5") - spent.cost_usd, 1)


def test_the_cost_of_a_mirror_is_unknown_where_only_reused_turns_have_one() -> None:
    mirror = play(judge(FOR, FOR, FOR))

    def reprice(event: Any, **usage: str) -> Any:
        return event.model_copy(update={"usage": event.usage.model_copy(update=usage)})

    copied = [
        reprice(one, reused_from="k3x9w2m4p7qr#7", cost_usd="0")
        if isinstance(one, Spoke)
        else reprice(one, cost_usd="")
        if isinstance(one, Judged)
        else one
        for one in mirror.events
    ]
    spent = build_spent(replay(copied))

    assert build_spent(mirror.debate).cost_usd not in ("", "0")
    assert (spent.cost_usd, spent.reused_turns) == ("", len(mirror.debate.turns))


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"max_calls": 15}, "calls"),
        ({"max_input_tokens": 199}, "input tokens"),
        ({"max_seconds": 15}, "seconds"),
    ],
)
def test_a_mirror_without_room_for_as_much_again_is_not_begun(limits: dict[str, int], told: str) -> None:
    at = play(judge(FOR, FOR, AGAINST), mirror=True)
    step = find_escalation(limit(at, **limits), ElapsedTime(10))
    assert isinstance(step, MirrorSkipped), step
    assert step.cause == "budget"
    assert f"{told} are spent" in step.reason


def test_a_mirror_is_begun_with_room_for_exactly_as_much_again() -> None:
    at = play(judge(FOR, FOR, AGAINST), mirror=True)
    debate = limit(at, max_calls=2 * compute_spending(at.debate).calls)
    assert find_escalation(debate, NO_ELAPSED_TIME) == Mirror("request")


def test_a_seat_of_the_caller_or_code_of_the_caller_leaves_no_mirror() -> None:
    at = play(judge(FOR, FOR, AGAINST), mirror=True)
    with_code = at.debate.setup.model_copy(update={"prompt_functions": ("",)})
    step = find_escalation(replace(at.debate, changed_setup=with_code), NO_ELAPSED_TIME)
    assert isinstance(step, MirrorSkipped)
    assert step.cause == "code"

    at.intervene("replace_model", to=FOR, model="caller")
    step = find_escalation(at.debate, NO_ELAPSED_TIME)
    assert isinstance(step, MirrorSkipped)
    assert (step.cause, step.reason) == ("caller", f"the server alone can ask nobody for {FOR}")


def test_a_talk_that_somebody_concluded_gets_no_mirror() -> None:
    panel = {"models": JUDGES[:2]}
    asked = build_setup(MODELS, format="verdict", options={"judges": panel, "mirror": True})
    at = simulate(label_positions(asked), judge(FOR, AGAINST)).play_through_round(1)
    at.intervene("conclude")
    at.play()

    assert isinstance(at.debate.mirror, MirrorSkipped)
    assert at.debate.mirror.cause == "request"


def test_judges_too_small_to_judge_are_not_asked_again() -> None:
    at = play(judge(FOR, FOR, FOR), mirror=True)
    small = tuple(judged.model_copy(update={"informative": False}) for judged in at.debate.judgments)
    step = find_escalation(replace(at.debate, judgments=small), NO_ELAPSED_TIME)

    assert isinstance(step, MirrorSkipped)
    assert step.cause == "uninformative"


def test_facts_of_a_mirror_that_cannot_be_are_refused() -> None:
    at = play(judge(FOR, FOR, AGAINST), mirror=True)
    at.add_events(MirrorOpened(round=at.debate.round, debate_id=MIRROR_ID, because="request"))
    held, number = build_held(at), at.debate.round
    for event in (
        MirrorSkipped(round=number + 1, cause="failed", reason="x"),
        held.model_copy(update={"debate_id": "2" * 12}),
        held.model_copy(update={"readings": held.readings * 2}),
        build_held(at, winner="Nobody"),
        build_held(at, judge="judge 9"),
        build_held(at, first="Nobody"),
        build_held(at, for_synthesis=True),
        build_held(at, beliefs=(Belief(name=FOR, percent=100),)),
        build_held(at, number=3),
    ):
        with pytest.raises(IllegalEvent):
            at.add_events(event)


def test_a_mirror_that_nobody_asked_for_is_refused() -> None:
    at = play(judge(FOR, FOR, FOR))
    opened = MirrorOpened(round=at.debate.round, debate_id=MIRROR_ID, because="request")

    with pytest.raises(IllegalEvent, match="nobody wants a mirror"):
        replay([*at.events[:-2], opened])  # before the verdict and the end


def test_a_mirror_is_refused_before_the_judges_are_heard_and_when_it_is_over() -> None:
    at = play(judge(FOR, FOR, AGAINST), mirror=True)
    skipped = MirrorSkipped(round=at.debate.round, cause="failed", reason="x")
    last_turn = max(number for number, event in enumerate(at.events) if isinstance(event, Spoke))
    before = replay(at.events[: last_turn + 1])

    with pytest.raises(IllegalEvent, match="the judges were not heard"):
        apply(before, skipped.model_copy(update={"round": before.round}))
    with pytest.raises(IllegalEvent, match="the mirror is over"):
        at.add_events(skipped, skipped)
