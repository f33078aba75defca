"""The lines that ask for chaos: written by hand, so spaces do no harm, and odd digits are no numbers."""

import pytest

from server.models.fakes.chaos import Chaos

pytestmark = pytest.mark.requirement("D16")


@pytest.mark.parametrize("line", ["failure = 0.1 , seed = 3", "failure=.1,seed=3", "failure=1e-1,seed= 3"])
def test_spaces_around_words_and_numbers_are_passed_over(line: str) -> None:
    assert Chaos.parse(line) == Chaos(failure=0.1, seed=3)


@pytest.mark.parametrize(
    "number", ["\N{ARABIC-INDIC DIGIT ZERO}.1", "0_1", "nan", "inf", "0x1", "1e9999", "."]
)
def test_what_is_no_plain_number_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match="failure is a number from 0 to 1"):
        Chaos.parse(f"failure={number}")
