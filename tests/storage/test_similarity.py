"""What words tell of the streams that share them."""

import pytest

from storage.similarity import MAX_SHARING, SharedWords, compute_weight

pytestmark = pytest.mark.requirement("D18")


def test_a_word_tells_the_more_the_fewer_have_it_and_none_that_a_thousand_have() -> None:
    found = [(0, 1), *((1, number) for number in range(10)), *((2, number) for number in range(MAX_SHARING))]
    titles = {number: f"Title {number}" for number in range(MAX_SHARING)}
    shared = SharedWords.weigh(["reservoir", "government", "everywhere"], found, titles, total=5_000)

    assert shared.weights["reservoir"] > shared.weights["government"] > shared.weights["everywhere"] == 0
    assert {*shared.streams} == {*range(10)}
    assert shared.list_bounds(0)[0] == (1, 1)


def test_streams_of_one_title_count_once() -> None:
    found = [(0, number) for number in range(MAX_SHARING)]
    weights = [
        SharedWords.weigh(
            ["reservoir"], found[:count], dict.fromkeys(range(count), "The same"), total=5_000
        ).weights
        for count in (1, MAX_SHARING)
    ]
    assert weights[0] == weights[1]


def test_while_there_are_few_streams_short_words_tell_less() -> None:
    assert compute_weight("the", 1, 2) < compute_weight("reservoir", 1, 2)
