"""Judges who misbehave on purpose find for nobody, and those who go by content for one and the same."""

import re
from collections.abc import Sequence
from itertools import permutations, product
from typing import Any

import pytest

from server.debate.views.verdict import build_verdict
from tests.support.biased_judges import (
    BIASED,
    BY_CONTENT,
    BY_LABEL,
    BY_PLACE_OF_TURN,
    DIFFERENT,
    MARKER,
    PANELS,
    SEEDS,
    SEQUENTIAL,
    TURNED,
    Judge,
    PromptText,
    assert_nobody_won,
    choose_longest,
    hold,
    list_cautions,
)
from tests.support.pairwise import parametrize_pairwise
from tests.support.simulation import DebateSimulation

pytestmark = pytest.mark.requirement("C8", "N2")


@parametrize_pairwise(
    panel=PANELS, count={"two": 2, "three": 3, "four": 4}, bias={bias: bias for bias in BIASED}
)
def test_judges_who_go_by_place_or_label_find_for_nobody(bias: str, count: int, panel: Sequence[str]) -> None:
    assert_nobody_won([hold(judge=BIASED[bias], seed=count, sides=range(count), panel=panel)])


@pytest.mark.full
@parametrize_pairwise(
    bias={bias: bias for bias in ("the first listed", "a fixed key", *BY_PLACE_OF_TURN)},
    case={name: (name, options) for name, options in TURNED.items()},
)
def test_they_find_for_nobody_in_any_format_that_turns_what_they_go_by(
    bias: str, case: tuple[str, dict[str, Any]]
) -> None:
    name, options = case
    assert_nobody_won([hold(name, judge=BIASED[bias], sides=range(3), **options)])


@pytest.mark.full
@pytest.mark.parametrize("bias", BY_LABEL)
def test_they_find_for_nobody_by_label_where_debaters_speak_one_after_the_other(bias: str) -> None:
    assert_nobody_won(
        [hold(name, judge=BIASED[bias], sides=range(3), **options) for name, options in SEQUENTIAL.items()]
    )


@pytest.mark.full
@pytest.mark.parametrize("format_name", SEQUENTIAL)
@pytest.mark.parametrize("bias", BY_PLACE_OF_TURN)
def test_who_spoke_last_one_at_a_time_cannot_be_turned_and_is_at_most_leaning_with_a_caution(
    bias: str, format_name: str
) -> None:
    for seed in SEEDS:
        at = hold(
            format_name,
            judge=BIASED[bias],
            seed=seed,
            sides=range(3),
            panel=DIFFERENT,
            **SEQUENTIAL[format_name],
        )
        assert build_verdict(at.debate).outcome == "leaning"
        assert "Who spoke first and last was the same in both readings" in list_cautions(at)


def test_judges_asked_to_read_once_can_be_led_by_the_list_and_are_at_most_leaning_with_a_caution() -> None:
    for seed in SEEDS:
        at = hold(judge=BIASED["the first listed"], seed=seed, panel=DIFFERENT, judges={"both_orders": False})
        assert build_verdict(at.debate).outcome == "leaning"
        assert "Each judge read once" in list_cautions(at)


def test_the_list_of_who_is_who_is_turned_as_well() -> None:
    def choose_first_introduced(prompt: PromptText, _model: str) -> str:
        introduced: list[str] = re.findall(r"(\w+) is (?:Ada|Ben|Cleo)\b", prompt.text)
        return next(key for key in introduced if key in prompt.keys)

    for count, seed in product((2, 3), SEEDS):
        judges = {"anonymize": False}
        assert_nobody_won([hold(judge=choose_first_introduced, seed=seed, sides=range(count), judges=judges)])


@pytest.mark.full
@pytest.mark.parametrize("panel", ["one", "three models", "five of one model"])
@pytest.mark.parametrize("content", BY_CONTENT)
def test_judges_who_go_by_content_find_the_same_winner_in_whatever_order_and_seed(
    content: str, panel: str
) -> None:
    for seed, sides in enumerate([(0, 1), (1, 0), (1, 2, 0), (2, 0, 1), (3, 1, 0, 2)]):
        speeches = {"Ben": f"It costs less, {MARKER}."}
        at = hold(judge=BY_CONTENT[content], seed=seed, sides=sides, panel=PANELS[panel], speeches=speeches)
        found = build_verdict(at.debate)
        is_several = len(set(PANELS[panel])) > 1
        assert (found.outcome, found.winner) == ("decided" if is_several else "leaning", "Ben")
        assert found.winner_stance == "Write a new one"
        assert found.verdict == "Ben it is."


def test_a_side_that_really_is_longer_can_win_for_its_length_which_no_order_of_reading_reveals() -> None:
    speeches = {"Cleo": "There is much to say. " * 40}
    for sides in permutations((0, 1, 2)):
        at = hold(judge=choose_longest, sides=sides, speeches=speeches)
        found = build_verdict(at.debate)
        assert found.winner == "Cleo"
        assert "Cleo wrote" in list_cautions(at)
        assert found.outcome == "leaning"


def vote(
    format_name: str, *, judge: Judge, panel: Sequence[str], seed: int, sides: Sequence[int]
) -> DebateSimulation:
    """A debate that an audience decides: as in Oxford, or by one vote at its end."""
    phases: dict[str, Any] = {} if format_name == "oxford" else {"phases": ["opening", "audience_vote"]}
    return hold(format_name, judge=judge, panel=panel, seed=seed, sides=sides, **phases)


MIXED = {
    **PANELS,
    "one model among others": ("a/x", "b/y", "c/z", "b/y", "d/w"),
    "nine": (*DIFFERENT[:4], *DIFFERENT),
}


@parametrize_pairwise(
    format_name={name: name for name in ("oxford", "advocates")},
    panel=MIXED,
    bias={bias: bias for bias in ("the first listed", "the last listed", "the middle")},
)
def test_an_electorate_that_goes_by_the_list_wins_nothing_for_anybody(
    bias: str, panel: Sequence[str], format_name: str
) -> None:
    for seed, count in enumerate((2, 3, 4)):
        at = vote(format_name, judge=BIASED[bias], panel=panel, seed=seed, sides=range(count))
        found = build_verdict(at.debate)
        if len(panel) > 1 or format_name == "oxford":
            assert (found.outcome in ("contested", "undecided"), found.winner) == (True, "")
        else:
            assert found.outcome == "leaning"  # a vote of one cannot be turned


def test_an_electorate_that_goes_by_one_label_is_at_most_leaning_with_a_caution_since_all_read_the_same() -> (
    None
):
    for bias in ("a fixed key", "the side that spoke last"):
        at = vote("advocates", judge=BIASED[bias], panel=DIFFERENT, seed=1, sides=(0, 1, 2))
        assert build_verdict(at.debate).outcome == "leaning"
        assert "Each voter read once" in list_cautions(at)


@pytest.mark.full
@pytest.mark.parametrize("panel", ["three models", "five of one model"])
@pytest.mark.parametrize("bias", ["a fixed key", *BY_PLACE_OF_TURN])
def test_an_oxford_audience_whose_voters_all_move_to_one_place_or_label_is_at_most_leaning(
    bias: str, panel: str
) -> None:
    def follow(prompt: PromptText, model: str) -> str:
        return BIASED[bias if prompt.turns else "the first listed"](prompt, model)

    for seed, count in product(range(2), (2, 3)):
        at = vote("oxford", judge=follow, panel=PANELS[panel], seed=seed, sides=range(count))
        found = build_verdict(at.debate)
        assert found.outcome in ("leaning", "undecided")
        assert "Each voter read once" in " ".join(found.cautions)


def test_debaters_who_vote_for_the_first_listed_elect_nobody() -> None:
    for seed, count in product(range(2), (2, 3, 4)):
        phases = ["opening", "voting"]
        at = hold(judge=BIASED["the first listed"], seed=seed, sides=range(count), phases=phases, judges=None)
        assert build_verdict(at.debate).outcome == "contested"


@pytest.mark.parametrize(
    ("bias", "outcome"), [("the side that spoke first", "undecided"), ("the side that spoke last", "leaning")]
)
def test_turns_on_either_side_of_a_challenge_are_turned_and_one_alone_is_at_most_leaning(
    bias: str, outcome: str
) -> None:
    """Cleo is asked again after the challenge, which the others did not see: hers stands last in both readings."""
    at = hold(judge=BIASED[bias], sides=range(3), panel=DIFFERENT, interrupted="Cleo", max_rounds=1)
    found = build_verdict(at.debate)
    assert found.outcome == outcome
    assert "Who spoke last was the same" in list_cautions(at)
