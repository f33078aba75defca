"""Effort: what a preset chooses of the options that nobody gave, and what a debate with each level takes."""

from typing import Any

import pytest

from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.effort import PRESETS, apply_effort, describe_effort
from server.debate.commands.setup.estimate import estimate, estimate_levels
from server.debate.commands.setup.open import open_debate
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.records.setup import check_opened
from server.debate.rules.budget import estimate_next_call
from server.debate.state.debate import Debate
from server.debate.views.progress import estimate_line
from tests.support.simulation import ARGUED_FORMATS, simulate, task_script

pytestmark = pytest.mark.requirement("N1", "N10")

SIDES = [{"name": "Ada", "stance": "ship"}, {"name": "Ben", "stance": "wait"}]
FIVE = ["openai/a", "openai/b", "anthropic/c", "gemini/d", "mistral/e", "xai/f"]


def plan(models: list[str], level: str = "", **asked: Any) -> Opened:
    options = {**({"effort": level} if level else {}), **asked.pop("options", {})}
    request = {"question": "Ship it?", "debaters": SIDES, "options": options, **asked}
    return open_debate(
        DebateRequest.model_validate(request),
        models=models,
        seed=1,
        find_price=lambda model: Price(model=model, input="0.000001", output="0.000002"),
    )


def has_baseline(setup: Opened) -> bool:
    return any(phase.is_baseline for phase in setup.phases)


@pytest.mark.parametrize(
    ("level", "ballots", "stop", "judges", "baseline"),
    [
        ("quick", "none", "off", ("anthropic/c",), False),
        ("standard", "blind", "on", ("anthropic/c", "gemini/d", "mistral/e"), False),
        ("", "blind", "on", ("anthropic/c", "gemini/d", "mistral/e"), False),
        ("assured", "rounds", "on", ("gemini/d", "mistral/e", "xai/f", "openai/b", "anthropic/c"), True),
    ],
)
def test_a_level_chooses_ballots_judges_and_more(
    level: str, ballots: str, stop: str, judges: tuple[str, ...], baseline: bool
) -> None:
    setup = plan(FIVE, level)
    assert (setup.ballots, setup.stop, setup.judges.models) == (ballots, stop, judges)
    assert setup.judges.both_orders
    assert has_baseline(setup) == baseline
    assert setup.effort is not None
    assert setup.effort.level == (level or "standard")
    check_opened(setup)


@pytest.mark.parametrize("format_name", ["round_robin", "settle"])
def test_a_panel_with_roles_and_no_stance_is_not_asked_which_of_them_is_right(format_name: str) -> None:
    roles = [{"name": "Ada", "role": "engineer"}, {"name": "Ben", "role": "buyer"}]
    levels = [plan(FIVE, level, format=format_name, debaters=roles) for level in PRESETS]
    assert [setup.ballots for setup in levels] == ["none"] * 3
    with_stance = [{**roles[0], "stance": "ship"}, roles[1]]
    assert plan(FIVE, format=format_name, debaters=with_stance).ballots == "blind"
    asked = plan(FIVE, format=format_name, debaters=roles, options={"ballots": "blind"})
    assert asked.ballots == "blind"


def test_debaters_of_an_assured_debate_are_of_different_families_where_there_are() -> None:
    models = [debater.model for debater in plan(FIVE, "assured").debaters]
    assert models == ["openai/a", "anthropic/c"]
    assert [debater.model for debater in plan(FIVE[:2], "assured").debaters] == FIVE[:2]
    own = plan(FIVE, "assured", debaters=[{**side, "model": "openai/b"} for side in SIDES])
    assert {debater.model for debater in own.debaters} == {"openai/b"}


@pytest.mark.parametrize("level", PRESETS)
def test_whatever_an_option_says_wins(level: str) -> None:
    given = {"ballots": "blind", "stop": "off", "judges": {"models": ["x/1", "x/1"]}, "baseline": False}
    setup = plan(FIVE, level, options=given)
    assert (setup.ballots, setup.stop, setup.judges.models) == ("blind", "off", ("x/1", "x/1"))
    assert not has_baseline(setup)
    assert plan(FIVE, level, options={"stop": "on"}).ballots == "blind"
    counted = plan(FIVE[:3], level, options={"judges": {"count": 4}}).judges.models
    assert len(counted) == 4
    assert len({*counted}) == 3
    once = plan(FIVE, level, options={"judges": {"both_orders": False}}).judges
    assert (once.both_orders, once.models) == (False, plan(FIVE, level).judges.models)
    assert has_baseline(plan(FIVE, level, options={"baseline": True}))


@pytest.mark.parametrize(
    ("models", "judges"),
    [
        (["a/x"], ("a/x",)),
        (["a/x", "a/x"], ("a/x",)),
        (["a/x", "b/y"], ("b/y", "a/x")),
        (["caller"], ("caller",)),
        (["caller", "b/y"], ("b/y",)),
        (["local"], ("local",)),
        (["local", "b/y"], ("b/y",)),
    ],
)
def test_judges_are_the_different_models_there_are_that_can_judge(
    models: list[str], judges: tuple[str, ...]
) -> None:
    assert plan(models).judges.models == judges


@pytest.mark.parametrize(
    ("name", "level"),
    [*((name, "standard") for name in ARGUED_FORMATS), ("advocates", "quick"), ("oxford", "assured")],
)
def test_every_format_is_held_as_estimated(name: str, level: str) -> None:
    setup = plan(FIVE, level, format=name, options={"mirror": False})
    check_opened(setup)
    at = simulate(setup, task_script({}))
    found = estimate(at.debate)
    at.play()
    assert at.status == "concluded"
    judges = len(setup.judges.models)
    assert len(at.debate.judgments) == (judges + (judges == 1)) * (name != "oxford")
    asked = [call for call, _ in at.calls_made if call.slot_index < 200]  # without the baseline
    planned = estimate(Debate(setup.model_copy(update={"phases": drop_baseline(setup)}))).calls
    assert len(asked) == planned <= found.calls


def drop_baseline(setup: Opened) -> tuple[Any, ...]:
    return tuple(phase for phase in setup.phases if not phase.is_baseline)


def test_the_estimate_names_calls_time_and_money_of_all_three() -> None:
    setup = plan(FIVE)
    told = estimate_line(Debate(setup))
    assert told.startswith("Estimate: 11 to 15 calls, 9 to 100 s, ")
    assert "quick 6 to 7 calls, 9 to 80 s, $" in told
    assert "assured " in told
    levels = estimate_levels(setup)
    assert levels["quick"] == estimate(Debate(plan(FIVE, "quick")))
    assert levels["quick"].calls < 11 < levels["assured"].calls
    assert estimate_levels(setup.model_copy(update={"effort": None})) == {}


def test_a_mirror_that_is_asked_for_takes_as_much_again_and_one_before_it_is_decided_may() -> None:
    plain, mirrored = (Debate(plan(FIVE, options={"mirror": mirror})) for mirror in (False, True))
    assert estimate(mirrored).calls == 2 * estimate(plain).calls
    assert estimate(mirrored).seconds == tuple(2 * bound for bound in estimate(plain).seconds)
    assert mirrored.setup.mirror == "on"
    assert "twice that with its mirror" in estimate_line(Debate(plan(FIVE, options={"mirror": "if_decided"})))


def test_a_mirror_and_a_baseline_take_the_debate_three_times_for_a_mirror_has_no_baseline() -> None:
    plain, mirrored, compared, both = (
        estimate(Debate(plan(FIVE, options={"mirror": mirror, "baseline": baseline})))
        for baseline in (False, True)
        for mirror in (False, True)
    )
    assert both.calls == mirrored.calls + compared.calls - plain.calls
    assert both.input_tokens == tuple(3 * tokens for tokens in plain.input_tokens)
    assert both.output_tokens == tuple(3 * tokens for tokens in plain.output_tokens)
    assert both.seconds == tuple(
        one + other - own
        for one, other, own in zip(mirrored.seconds, compared.seconds, plain.seconds, strict=True)
    )


@pytest.mark.parametrize(
    ("models", "asked", "mirror"),
    [
        (FIVE, {}, "if_decided"),
        (FIVE, {"options": {"mirror": False}}, "off"),
        (["caller", "a/x"], {}, "off"),
        (["local"], {}, "off"),
        (FIVE, {"format": "settle"}, "off"),
    ],
)
def test_an_assured_debate_has_a_mirror_where_one_can_be_held(
    models: list[str], asked: dict[str, Any], mirror: str
) -> None:
    setup = plan(models, "assured", **asked)
    assert setup.mirror == mirror
    assert ("a mirror before it counts as decided" in describe_effort(setup)) == (mirror == "if_decided")
    assert ("a blind vote for as many tokens" in describe_effort(setup)) == has_baseline(setup)


def test_a_setup_without_levels_stays_as_it_is() -> None:
    without = plan(FIVE).model_copy(update={"effort": None})
    assert apply_effort(without, "assured") == without
    assert describe_effort(without) == ""
    check_opened(without)


@pytest.mark.parametrize("level", PRESETS)
def test_turns_that_prompts_quote_are_estimated_where_they_are_quoted(level: str) -> None:
    """Steps and quotations are those of the debate as it is held."""
    setup = plan(["a/x", "b/y"], level, options={"baseline": False, "stop": "off"})
    at = simulate(setup, task_script({}))
    found = estimate(at.debate)
    at.play()
    turns = {"quick": (2 * 0 + 2 * 2, 2 * 4), "standard": (4, 2 * 4 + 2 * 4), "assured": (4, 2 * 2 + 4 * 4)}
    quoted, again = sum(turns[level]), 1 if level == "quick" else 3
    prompt_tokens, _ = estimate_next_call(Debate(setup))
    low, high = found.input_tokens
    assert high - low == quoted * 300 + again * (prompt_tokens + 4 * 400)
    assert len(at.calls_made) == found.calls
    assert found.most_calls == found.calls + again


def test_less_effort_is_chosen_where_the_limits_do_not_pay_for_it_and_that_is_told() -> None:
    setup = plan(FIVE, options={"limits": {"max_calls": 13}})
    assert (setup.ballots, len(setup.judges.models)) == ("none", 1)
    assert describe_effort(setup) == (
        "Effort quick: no private ballots, 1 judge (anthropic/c). The limits do not pay for standard."
    )
    check_opened(setup)
    asked_for = plan(FIVE, "standard", options={"limits": {"max_calls": 13}})
    assert len(asked_for.judges.models) == 3
    assert "do not pay" not in describe_effort(asked_for)
    with pytest.raises(InvalidRequestError, match="one round of talk"):
        plan(FIVE, options={"limits": {"max_calls": 3}})


@pytest.mark.parametrize(
    "changes",
    [
        {"open": ("ballots", "ballots")},
        {"instead_of": "quick"},
        {"models": (Price(model="a"), Price(model="a"))},
        {"models": (Price(model=""),)},
    ],
)
def test_an_effort_that_nobody_could_ask_for_is_refused(changes: dict[str, Any]) -> None:
    setup = plan(FIVE)
    assert setup.effort is not None
    altered = setup.model_copy(update={"effort": setup.effort.model_copy(update=changes)})
    with pytest.raises(InvalidRequestError, match="effort"):
        check_opened(altered)
